"""The tile that was chosen for a sum stays with it, until what it was chosen for is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tenon import Schedule
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.mapping.fuse_producers import FuseProducersPass
from tenon.passes.sched.mapping.gpu.map_work_groups import MapWorkGroupsPass

PRODUCT = """sched.kernel @mm(%a: memref<12x6x4xf32>, %b: memref<2x6x4x8xf32>, %c: memref<12x16xf32>) {
  %w = arith.constant 8 : index
  sched.axis %i = 12 {
    sched.axis %j = 16 {
      %p = arith.divui %j, %w : index
      %l = arith.remui %j, %w : index
      %s = sched.reduce fma %h = 6 tile_shape [6, 8 in panels] fastmath<contract> : f32 {
        %t = sched.reduce fma %k = 4 : f32 {
          %x = memref.load %a[%i, %h, %k] : memref<12x6x4xf32>
          %y = memref.load %b[%p, %h, %k, %l] : memref<2x6x4x8xf32>
          sched.yield %x, %y : f32
        }
        sched.yield %t : f32
      }
      memref.store %s, %c[%i, %j] : memref<12x16xf32>
    }
  }
}"""

CHOSEN = "tile_shape [6, 8 in panels]"


def chosen(schedule: Schedule) -> list[str]:
    """The loops that have the tile."""
    module = parse_module(str(schedule))
    found = [op for op in module.walk() if isinstance(op, sched.ReduceOp) and op.tile_shape is not None]
    return [op.index.name_hint or "" for op in found]


KEPT: dict[str, tuple[Callable[[Schedule], Any], list[str]]] = {
    "nothing": (lambda s: None, ["h"]),
    "split of the sum": (lambda s: s.split("h", 3), ["h_outer"]),
    "split of another dim of the sum": (lambda s: s.split("k", 2), ["h"]),
    "dims that are one": (lambda s: s.fuse("h", "k"), ["h_k"]),
    "dims that change places": (lambda s: s.reorder("k", "h", allow_reorder=True), ["h"]),
    "axes that change places": (lambda s: s.reorder("j", "i"), ["h"]),
    "split of the columns": (lambda s: s.split("j", 8), ["h"]),
    "a serial loop": (lambda s: s.split("h", 3, serial=True), ["h_inner"]),
    "a copy of the other side": (lambda s: s.pack("i", "a", ["h", "k"]), ["h"]),
    "a copy as wide as the panels": (lambda s: s.stage("i", "b"), ["h"]),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_sum_keeps_its_tile(name: str):
    step, expected = KEPT[name]
    schedule = Schedule(PRODUCT)
    step(schedule)
    assert chosen(schedule) == expected


def test_the_tile_goes_with_the_panels():
    schedule = Schedule(PRODUCT)
    schedule.pack("i", "b", ["j", "h", "k"])
    assert CHOSEN not in str(schedule)


def test_a_tile_without_panels_stays():
    schedule = Schedule(PRODUCT.replace("8 in panels", "8"))
    schedule.pack("i", "b", ["j", "h", "k"])
    assert "tile_shape [6, 8]" in str(schedule)


HANDED_OVER = """
sched.kernel @rows(%x: memref<8x6x10xf32>, %t: memref<{handed}xf32>) {{
  sched.axis %b = 8 {{
    sched.axis %r = 6 {{
      sched.axis %c = 10 {{
        %n = arith.constant 10 : index
        %p = arith.muli %r, %n : index
        %q = arith.addi %p, %c : index
        %v = memref.load %x[%b, %r, %c] : memref<8x6x10xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %t[{at}] : memref<{handed}xf32>
      }}
    }}
  }}
}}
sched.kernel @product(%t: memref<8x6x10xf32>, %y: memref<8x10x5xf32>, %z: memref<8x6x5xf32>) {{
  sched.axis %h = 8 {{
    sched.axis %i = 6 {{
      sched.axis %j = 5 {{
        %s = sched.reduce fma %k = 10 tile_shape [3, 10 in panels] : f32 {{
          %a = memref.load %t[%h, %i, %k] : memref<8x6x10xf32>
          %b = memref.load %y[%h, %k, %j] : memref<8x10x5xf32>
          sched.yield %a, %b : f32
        }}
        memref.store %s, %z[%h, %i, %j] : memref<8x6x5xf32>
      }}
    }}
  }}
}}
sched.program @f(%x: memref<8x6x10xf32>, %y: memref<8x10x5xf32>)
    : (tensor<8x6x10xf32>, tensor<8x10x5xf32>) -> tensor<8x6x5xf32> {{
  %t = sched.buffer global temporary : memref<8x6x10xf32>
  %z = sched.buffer global result : memref<8x6x5xf32>
  %0 = sched.launch @rows(%x, %t) after() : memref<8x6x10xf32>, memref<8x6x10xf32>
  %1 = sched.launch @product(%t, %y, %z) after()
    : memref<8x6x10xf32>, memref<8x10x5xf32>, memref<8x6x5xf32>
  sched.return %z after() : memref<8x6x5xf32>
}}
"""


@pytest.mark.parametrize(
    ("handed", "at", "stays"), [("8x6x10", "%b, %r, %c", True), ("8x60", "%b, %q", False)]
)
def test_a_block_that_is_handed_over_has_panels_where_it_has_their_shape(handed: str, at: str, stays: bool):
    module = parse_module(HANDED_OVER.format(handed=handed, at=at))
    PassManager([FuseProducersPass()]).run(context(), module)
    verify_module(module)
    text = str(module)
    assert "@product_fused" in text
    assert ("tile_shape [3, 10 in panels]" in text) == stays


LARGE = """sched.kernel @product(%a: memref<64x512xf32>, %b: memref<512x64xf32>, %c: memref<64x64xf32>) {
  sched.axis %i = 64 {
    sched.axis %j = 64 {
      %s = sched.reduce fma %k = 512 tile_shape [6, 64 in panels] : f32 {
        %x = memref.load %a[%i, %k] : memref<64x512xf32>
        %y = memref.load %b[%k, %j] : memref<512x64xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<64x64xf32>
    }
  }
}"""


def test_work_groups_stage_tiles_of_their_own():
    module = parse_module(LARGE)
    PassManager([MapWorkGroupsPass()]).run(context(), module)
    verify_module(module)
    assert "sched.alloc shared" in str(module) and "tile_shape" not in str(module)
