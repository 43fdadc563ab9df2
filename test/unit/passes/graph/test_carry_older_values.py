"""Loops that write into a value of two iterations before, where what an iteration changes grows."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects import context, graph
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.loops.carry_older_values import MOST_PAIRS, CarryOlderValuesPass
from tenon.passes.pass_manager import PassManager

N = 61
"""No multiple of a vector."""


def turned(y: Any, part: Any = slice(None)) -> Any:
    """A part of an array, and what lies the other way round there."""
    return y[part] + 0.5 * y[part][::-1]


def changed(y: Any, part: Any, value: Any) -> Any:
    """Returns an array with a part replaced."""
    if isinstance(y, np.ndarray):
        copy = y.copy()
        copy[part] = value
        return copy
    return y.at[part].set(value)


def prefix(xp: Any, k: Any, y: Any) -> Any:
    return changed(changed(y, slice(0, k), turned(y, slice(0, k))), k, 1.0)


def suffix(xp: Any, k: Any, y: Any) -> Any:
    part = slice(N - k, None)
    return changed(y, part, turned(y, part))


def middle(xp: Any, k: Any, y: Any) -> Any:
    return changed(changed(y, slice(5, k), turned(y, slice(5, k))), k, 1.0)


def two_at_once(xp: Any, k: Any, y: Any) -> Any:
    part = slice(0, 2 * k)
    return changed(changed(changed(y, part, turned(y, part)), 2 * k, 1.0), 2 * k + 1, 2.0)


def mask_from_both_sides(xp: Any, k: Any, y: Any) -> Any:
    is_left_alone = (k <= xp.arange(N)) | (xp.arange(N) < 3)
    return xp.where(is_left_alone, y, turned(y))


def mask_with_its_end(xp: Any, k: Any, y: Any) -> Any:
    return xp.where(k >= xp.arange(N), turned(y), y)


def mask_downwards(xp: Any, k: Any, y: Any) -> Any:
    return xp.where(N - 3 - 2 * k < xp.arange(N), turned(y), y)


def rows(xp: Any, k: Any, y: Any) -> Any:
    return xp.where((xp.arange(20) < k)[:, None], turned(y), y)


def columns(xp: Any, k: Any, y: Any) -> Any:
    return changed(y, (slice(None), slice(0, k)), turned(y[:, :k].T).T)


def shrinking(xp: Any, k: Any, y: Any) -> Any:
    return changed(y, slice(k, None), turned(y, slice(k, None)))


def moving(xp: Any, k: Any, y: Any) -> Any:
    return changed(y, slice(k, k + 5), turned(y, slice(k, k + 5)))


def update_behind(xp: Any, k: Any, y: Any) -> Any:
    return changed(changed(y, slice(0, k), turned(y, slice(0, k))), k + 1, 1.0)


def update_before(xp: Any, k: Any, y: Any) -> Any:
    z = changed(y, k, 1.0)
    return changed(z, slice(0, k + 1), turned(z, slice(0, k + 1)))


def update_elsewhere(xp: Any, k: Any, y: Any) -> Any:
    return changed(changed(y, slice(0, k), turned(y, slice(0, k))), N - 1 - k, 1.0)


def some_of_a_prefix(xp: Any, k: Any, y: Any) -> Any:
    return xp.where((k > xp.arange(N)) & (xp.arange(N) % 2 == 0), turned(y), y)


def two_axes(xp: Any, k: Any, y: Any) -> Any:
    return xp.where((xp.arange(20) < k)[:, None] & (xp.arange(7) < k), turned(y), y)


def squares(xp: Any, k: Any, y: Any) -> Any:
    return xp.where(k * k > xp.arange(N), turned(y), y)


GROWING = [
    (prefix, 1, N),
    (prefix, 1, N - 1),
    (suffix, 1, N),
    (middle, 6, N),
    (two_at_once, 1, N // 2),
    (mask_from_both_sides, 0, N),
    (mask_with_its_end, 0, N),
    (mask_downwards, 0, N // 2),
    (rows, 0, 20),
    (columns, 1, 7),
]

OTHERS = [
    (shrinking, 0, N - 1),
    (moving, 0, N - 5),
    (update_behind, 1, N - 1),
    (update_before, 0, N - 1),
    (update_elsewhere, 1, N - 1),
    (some_of_a_prefix, 0, N),
    (two_axes, 0, 7),
    (squares, 0, 8),
]


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize(
    ("step", "first", "end", "grows"),
    [*((*each, True) for each in GROWING), *((*each, False) for each in OTHERS)],
)
def test_loops_compute_what_numpy_does(
    step: Callable[..., Any], first: int, end: int, grows: bool, backend: str
) -> None:
    shape = (20, 7) if step in (rows, columns, two_axes) else (N,)
    start = np.random.default_rng(3).standard_normal(shape)
    expected = start
    for k in range(first, end):
        expected = step(np, k, expected)

    def run(y: Any) -> Any:
        return tenon.fori_loop(first, end, lambda k, y: step(tnp, k, y), y)

    compiled = tenon.jit(run, backend=backend)
    np.testing.assert_allclose(compiled(start), expected, rtol=1e-12)
    if backend == "llvm":
        assert _carried(compiled.lower(start).text("graph")) == (2 if grows else 1)


def _carried(text: str) -> int:
    """Returns how many values the only loop of a program carries."""
    (loop,) = [op for op in parse_module(text).walk() if isinstance(op, graph.ScanOp)]
    return len(loop.initial)


def loop(body: str, length: str = "20", count: str = "i64", select: str = "%m, %s, %c") -> str:
    return f"""
    func.func @f(%x: tensor<64xf32>, %e: tensor<1xf32>, %v: tensor<i64>) -> tensor<64xf32> {{
      %y = graph.scan %i = {length} (%c = %x) : (tensor<64xf32>) -> (tensor<64xf32>) {{
        %count = graph.iota axis 0 : tensor<64x{count}>
        %r = graph.flip %c axes [0] : tensor<64xf32>
        %s = graph.add %c, %r : tensor<64xf32>
        {body}
        %n = graph.select {select} : tensor<64xf32>
        graph.yield %n : tensor<64xf32>
      }}
      func.return %y : tensor<64xf32>
    }}"""


def ends(value: str, type: str = "i64", compare: str = "lt") -> str:
    return f"""%b = graph.broadcast {value} : tensor<{type}> -> tensor<64x{type}>
        %m = graph.{compare} %count, %b : tensor<64x{type}>"""


def constant(name: str, number: int, type: str = "i64") -> str:
    return f"%{name} = graph.constant dense<{number}> : tensor<{type}>\n"


def masks(number: int) -> str:
    """So many masks and one more, all of which hold."""
    both = [f"%m{n} = graph.and %m{n - 1}, %m : tensor<64xi1>" for n in range(1, number + 1)]
    return "\n".join([ends("%i"), "%m0 = graph.and %m, %m : tensor<64xi1>", *both])


def least(number: int, of: str) -> str:
    """The least of a number and itself, so many times."""
    names = [of, *(f"%e{n}" for n in range(number))]
    return "".join(f"{after} = graph.min {e}, {e} : tensor<i64>\n" for e, after in pairwise(names))


TIMES_A_LOT = constant("lot", 1 << 30) + "%far = graph.mul %i, %lot : tensor<i64>\n"
"""More than 32 bits hold."""

NARROW = "%k = graph.cast %i : tensor<i64> -> tensor<i8>\n"

UNSIGNED = "%k = graph.cast %i : tensor<i64> -> tensor<ui64>\n"

BACKWARDS = constant("last", 40) + "%k = graph.sub %last, %i : tensor<i64>\n"


@pytest.mark.parametrize(
    ("text", "carries"),
    [
        (loop(ends("%i")), 2),
        # The last iteration comes first, and most elements with it.
        (loop(ends("%i"), "20 reverse"), 1),
        (loop(BACKWARDS + ends("%k"), "20 reverse"), 2),
        (loop(BACKWARDS + ends("%k")), 1),
        (loop(ends("%i"), select="%m, %c, %s"), 1),
        (loop(ends("%i", compare="ge"), select="%m, %c, %s"), 2),
        # Numbers of a call, that wrap or might, and no numbers.
        (loop(ends("%v")), 1),
        (loop(TIMES_A_LOT + ends("%far")), 1),
        (loop(NARROW + ends("%k", "i8"), count="i8"), 1),
        (loop(UNSIGNED + ends("%k", "ui64"), count="ui64"), 1),
        (loop(ends("%i", compare="ne")), 1),
        (loop(masks(3), select="%m3, %s, %c"), 2),
        (loop(masks(MOST_PAIRS + 1), select=f"%m{MOST_PAIRS + 1}, %s, %c"), 1),
        # Each is made of the one before twice: there are more ways to the first one than can be gone.
        (loop(least(60, "%i") + ends("%e59")), 2),
        (loop(least(60, "%v") + ends("%e59")), 1),
        # One iteration is no loop.
        (loop(ends("%i"), "1"), 1),
        # What is computed in its place is left to be.
        (loop(ends("%i"), select="%m, %c, %c"), 1),
    ],
)
def test_masks_grow_along_with_the_iterations(text: str, carries: int) -> None:
    module = parse_module(text)
    PassManager([CarryOlderValuesPass()]).run(context(), module)
    assert _carried(str(module)) == carries
    x, e, v = np.arange(64, dtype=np.float32), np.ones(1, np.float32), np.array(7)
    before, after = (tenon.compile(each, backend="reference", level="graph") for each in (text, str(module)))
    np.testing.assert_array_equal(before(x, e, v), after(x, e, v))
