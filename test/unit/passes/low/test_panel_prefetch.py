"""What the tiles of a convolution prefetch of the next panel of weights."""

from __future__ import annotations

import numpy as np
import pytest
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects import low
from tenon.test.unit.passes.low.test_tile import lowered
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import f32, i32
from xdsl.rewriter import InsertPoint, Rewriter

PANEL = 3 * 3 * 4 * 8

CONVOLUTION = """sched.kernel @k(%i: memref<4x4x9xf32>, %w: memref<2x3x3x4x8xf32>,
    %r: memref<2x2x8x2x7xf32>) {
  sched.axis %p = 2 block {
    sched.axis %y = 2 {
      sched.axis %o = 8 tile(8) prefetch vector(4) {
        sched.axis %x = 7 tile(4) vector(4) {
          %s = sched.reduce fma %h = 3 : f32 {
            %yh = arith.addi %y, %h : index
            %t = sched.reduce fma %v = 3 : f32 {
              %xv = arith.addi %x, %v : index
              %u = sched.reduce fma %c = 4 : f32 {
                %a = memref.load %i[%c, %yh, %xv] : memref<4x4x9xf32>
                %e = memref.load %w[%p, %h, %v, %c, %o] : memref<2x3x3x4x8xf32>
                sched.yield %a, %e : f32
              }
              sched.yield %u : f32
            }
            sched.yield %t : f32
          }
          memref.store %s, %r[%p, %y, %o, %y, %x] : memref<2x2x8x2x7xf32>
        }
      }
    }
  }
}"""


def tiles_of(kernel: low.KernelOp) -> list[low.TileFmaOp]:
    return [op for op in kernel.walk() if isinstance(op, low.TileFmaOp)]


def fetched_places(text: str) -> dict[int, int]:
    """Returns where each tile begins to prefetch, by where it stores its first sum."""
    kernel = lowered(text)
    for tile in tiles_of(kernel):
        assert tile.rhs_next is not None
        number = arith.IndexCastOp(tile.rhs_next, i32)
        value = arith.BitcastOp(number.result, f32)
        store = memref.StoreOp.get(value.result, tile.acc, [tile.acc_at])
        Rewriter.insert_op([number, value, store], InsertPoint.before(tile))
        Rewriter.erase_op(tile)
    arrays = [
        np.full(argument.type.get_shape(), -1, np.int32).view(np.float32)
        for argument in kernel.body.block.args
    ]
    run_kernel(kernel, arrays)
    return {at: int(place) for at, place in enumerate(arrays[2].view(np.int32)) if place >= 0}


@pytest.mark.parametrize(("tile", "shares"), [(4, 4), (7, 2), (3, 6)])
def test_tiles_share_the_next_panel(tile: int, shares: int) -> None:
    text = CONVOLUTION.replace("tile(4)", f"tile({tile})")
    for each in tiles_of(lowered(text)):
        assert each.lhs_next is None and each.rhs_next_steps is not None
        step, count = each.rhs_next_steps.get_values()
        # Nine steps of a tile, all that the window takes, bring its share.
        assert step == count and 9 * step * shares >= PANEL > 9 * (step - 1) * shares
    places = list(fetched_places(text).values())
    share = 9 * -(-PANEL // (9 * shares))
    # The last panel has none after it, and need not.
    expected = [panel * PANEL + number * share for panel in (1, 2) for number in range(shares)]
    assert places == expected


def test_panels_of_which_one_image_each_is_computed_at_a_time() -> None:
    batches = CONVOLUTION.replace("sched.axis %y = 2 {", "sched.axis %n = 5 { sched.axis %y = 2 {") + "}"
    (steps,) = {each.rhs_next_steps for each in tiles_of(lowered(batches))}
    assert steps is not None and list(steps.get_values()) == [2, 2]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" prefetch", ""),
        # The channels are two tiles, and the next one is no other panel.
        ("%o = 8 tile(8)", "%o = 8 tile(4)"),
        # All tiles read one panel.
        ("%e = memref.load %w[%p,", "%zero = arith.constant 0 : index %e = memref.load %w[%zero,"),
        # Something lies between what two steps read.
        ("2x3x3x4x8", "2x3x3x5x8"),
        ("2x3x3x4x8", "2x3x4x4x8"),
        # How many rows there are is known when the kernel runs.
        ("%y = 2", "%y = 2 count %p"),
    ],
)
def test_nothing_is_prefetched(old: str, new: str) -> None:
    text = CONVOLUTION.replace(old, new)
    assert text != CONVOLUTION
    assert all(each.rhs_next is None for each in tiles_of(lowered(text)))
