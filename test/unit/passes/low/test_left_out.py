"""Tiles leave out products with 0, and that changes no result, also where weights are not finite."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.reference.kernels import sched as interpreter
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects import low
from tenon.test.unit.passes.low.test_tile import NIBBLES, assert_same, kernel_of, lowered, program_of
from tenon.test.unit.storage_dtypes import DTYPES
from xdsl.dialects.builtin import MemRefType
from xdsl.utils.exceptions import PassFailedException

Array = npt.NDArray[Any]

CONVOLUTION = """sched.kernel @k(%p: memref<{height}x{width}x8x{t}>, %w: memref<3x3x8x{channels}x{t}>,
    %r: memref<6x{pixels}x{channels}x{t}>) {{
  %zero = arith.constant {zero} : {t}
  %c1 = arith.constant 1 : index
  %two = arith.constant 2 : index
  %last_row = arith.constant {last_row} : index
  %last_column = arith.constant {last_column} : index
  %ten = arith.constant {ten} : {t}
  sched.axis %y = 6 {around} {{
    {axes[0]} {{
      {axes[1]} {{
        %s = sched.reduce {kind} %k = 3 : {t} {{
          %row = arith.addi %y, %k : index
          %u = sched.reduce {kind} %l = 3 : {t} {{
            {places}
            %above = arith.cmpi sge, %row, %c1 : index
            %below = arith.cmpi slt, %row, %last_row : index
            %rows = arith.andi %above, %below : i1
            %before = arith.cmpi sge, %column, %c1 : index
            %behind = arith.cmpi slt, %column, %last_column : index
            %columns = arith.andi %before, %behind : i1
            %both = arith.andi %rows, %columns : i1
            %v = sched.reduce {kind} %c = 8 : {t} {{
              %a = memref.load %p[%row, %column, %c] : memref<{height}x{width}x8x{t}>
              %pixel = low.select {mask}, %a, %zero : {t}
              %b = memref.load %w[%k, %l, %c, %o] : memref<3x3x8x{channels}x{t}>
              {yields}
            }}
            sched.yield %v : {t}
          }}
          sched.yield %u : {t}
        }}
        {follow}
        memref.store {stored}, %r[%y, %x, %o] : memref<6x{pixels}x{channels}x{t}>
      }}
    }}
  }}
}}"""


def convolution(
    pixels: int = 14,
    tile: int = 14,
    mask: str = "%both",
    step: int = 1,
    channels: int = 8,
    columns: str = "tile(8) vector(8)",
    is_transposed: bool = False,
    follow: str = "",
    stored: str = "%s",
    rows: int = 7,
    t: str = "f32",
    zero: str = "0.0",
    places: str | None = None,
    axis: str = "",
    around: str = "",
    yields: str = "sched.yield %pixel, %b : {t}",
) -> str:
    """A convolution of windows of 3x3, whose image is 0 where a mask says so, whatever is there."""
    width = (pixels - 1) * step + 3
    axes = [f"sched.axis %x = {pixels} {axis} tile({tile})", f"sched.axis %o = {channels} {columns}"]
    if is_transposed:
        axes = [f"sched.axis %o = {channels} {columns}", f"sched.axis %x = {pixels} {axis} tile({tile})"]
    if places is None:
        places = "%column = arith.addi %x, %l : index"
        if step == 2:
            places = "%at = arith.muli %x, %two : index\n %column = arith.addi %at, %l : index"
    return CONVOLUTION.format(
        height=8,
        width=width,
        pixels=pixels,
        channels=channels,
        axes=axes,
        mask=mask,
        follow=follow,
        stored=stored,
        last_row=rows,
        last_column=width - 1,
        t=t,
        zero=zero,
        places=places,
        around=around,
        kind="muladdi" if t == "i32" else "fma",
        ten="10" if t == "i32" else "10.0",
        yields=yields.format(t=t),
    )


FOLLOW = "%d = arith.addf %s, %ten : f32\n %e = arith.maximumf %d, %zero : f32"

KERNELS = {
    "rows and columns": convolution(),
    "rows": convolution(mask="%rows"),
    "columns": convolution(mask="%columns"),
    "transposed": convolution(columns="tile(8) vector(4)", is_transposed=True),
    "steps of two": convolution(7, 7, step=2),
    "two tiles": convolution(tile=7),
    "tiles and a rest": convolution(tile=5),
    "tiles and a rest, transposed": convolution(tile=5, columns="tile(8) vector(4)", is_transposed=True),
    "what follows": convolution(follow=FOLLOW, stored="%e"),
    "channels that fill no tile": convolution(channels=13, columns="tile(8)"),
    "panels that are wider than their tile": convolution(channels=24, columns="tile(8)"),
    "doubles": convolution(t="f64", columns="tile(8) vector(4)"),
    "no row is outside": convolution(rows=8),
    "several rows are outside": convolution(rows=4),
    "integers": convolution(t="i32", zero="0"),
}

WEIGHTS = ["finite", "inf", "nan", "inf in the middle", "pixels"]


def arrays_of(text: str, what: str) -> list[Array]:
    """Arrays for a kernel. The border of the image, which is not to be read, is NaN."""
    arrays: list[Array] = []
    rng = np.random.default_rng(3)
    for argument in kernel_of(text).body.block.args:
        assert isinstance(argument.type, MemRefType)
        values = 4 * rng.standard_normal(argument.type.get_shape())
        arrays.append(values.astype(DTYPES[str(argument.type.element_type)]))
    image, weights, _ = arrays
    if image.dtype.kind == "i":
        return arrays
    if what == "pixels":
        image[2, 3, 1], image[1, 1, 0], image[5, -2, 2] = np.inf, np.nan, -np.inf
    elif what == "inf in the middle":
        weights[1, 1, 2, 3] = np.inf
    elif what != "finite":
        for at in ((0, 0, 1, 2), (2, 2, 0, 5), (0, 1, 3, 4), (1, 0, 7, 6), (1, 2, 1, 7)):
            weights[at] = {"inf": -np.inf, "nan": np.nan}[what]
    return arrays


def interpreted(text: str, what: str) -> list[Array]:
    arrays = arrays_of(text, what)
    with np.errstate(all="ignore"):
        interpreter.run_kernel(kernel_of(text), arrays)
    return arrays


@pytest.mark.parametrize("what", WEIGHTS)
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_left_out_changes_no_bit(name: str, what: str) -> None:
    text = KERNELS[name]
    arrays = arrays_of(text, what)
    with np.errstate(all="ignore"):
        run_kernel(lowered(text), [array.reshape(-1) for array in arrays])
    assert_same(arrays[2:], interpreted(text, what)[2:])


@pytest.mark.parametrize("what", WEIGHTS)
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("name", KERNELS)
def test_compiled_tiles_leave_out_the_same(name: str, backend: str, what: str) -> None:
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    text = KERNELS[name]
    found = tenon.compile(program_of(text), backend=backend)(*arrays_of(text, what))
    assert_same([np.asarray(found[2])], interpreted(text, what)[2:])


def tiles_of(text: str) -> list[low.TileFmaOp]:
    return [op for op in lowered(text).walk() if isinstance(op, low.TileFmaOp)]


def test_nothing_is_read_of_what_is_left_out() -> None:
    for name in ("rows and columns", "transposed", "tiles and a rest"):
        arrays = arrays_of(KERNELS[name], "finite")
        image = arrays[0]
        image[0] = image[-1] = image[:, 0] = image[:, -1] = np.nan
        run_kernel(lowered(KERNELS[name]), [array.reshape(-1) for array in arrays])
        assert np.isfinite(arrays[2]).all()


def test_a_tile_leaves_out_rows_where_it_is_the_only_one() -> None:
    main, zeros = tiles_of(KERNELS["rows and columns"])
    assert main.ranges is not None and main.ranges[1] == ((1, 14), (0, 14), (0, 13)) and not main.cut
    # What is summed up of 0 times the weights: four steps of the depth beside one another.
    assert (zeros.rows.value.data, zeros.columns.value.data, zeros.ranges) == (1, 32, None)
    (_, panels) = tiles_of(KERNELS["panels that are wider than their tile"])
    assert panels.columns.value.data == 8


def test_of_several_tiles_the_first_and_the_last_one_leave_out_rows() -> None:
    main, _ = tiles_of(KERNELS["two tiles"])
    assert main.ranges is not None and main.ranges[1] == ((1, 7), (0, 7), (0, 6)) and len(main.cut) == 3
    whole, _, left, _ = tiles_of(KERNELS["tiles and a rest"])
    assert whole.ranges is not None and whole.ranges[1] == ((1, 5), (0, 5), (0, 5)) and len(whole.cut) == 3
    assert left.ranges is not None and left.ranges[1] == ((0, 4), (0, 4), (0, 3)) and not left.cut


def test_rows_of_the_window_are_where_the_depth_begins() -> None:
    (main, _) = tiles_of(KERNELS["rows"])
    assert main.ranges is None
    assert "arith.constant" not in str(main.depths[0].owner)


def test_integers_have_nothing_to_add() -> None:
    assert len(tiles_of(KERNELS["integers"])) == 1


REFUSED = {
    "a window of two steps": (
        convolution(places="%far = arith.muli %l, %two : index %column = arith.addi %x, %far : index"),
        r"sched\.axis: axis %o .*what is multiplied is 0 outside of a range of .*, no window",
    ),
    "a window that is larger than the image": (
        convolution(rows=3),
        r"axis %o .*a window along %k is larger than what it is in",
    ),
    "no lower bound": (
        convolution(mask="%below"),
        r"axis %o .*a window along %k is larger than what it is in",
    ),
    "tiles that are shared": (
        convolution(around="block", axis="block(7)", tile=7),
        r"axis %x .*a window moves with it, of which rows are left out of serial tiles alone",
    ),
    "tiles that leave out more": (
        convolution(tile=1),
        r"axis %x .*tiles leave out more rows of a window than the first ones and the last ones",
    ),
    "pixels that come back": (
        convolution(places="%odd = arith.muli %x, %y : index %column = arith.addi %odd, %l : index"),
        r"not linear",
    ),
    "pixels that go back": (
        convolution(places="%back = arith.subi %last_row, %x : index %column = arith.addi %back, %l : index"),
        r"axis %x .*a window moves with it in no steps of a known number",
    ),
    "pixels that move with rows": (
        convolution(places="%far = arith.addi %x, %y : index %column = arith.addi %far, %l : index"),
        r"axis %x .*a window moves with it in no steps of a known number",
    ),
    "a mask of channels": (
        convolution(
            yields="%some = arith.cmpi sge, %c, %two : index %m = low.select %some, %a, %zero : f32 "
            "sched.yield %m, %b : f32"
        ),
        r"axis %o .*axis %c in it, of a window, has no known extent",
    ),
    "two windows": (
        convolution(
            yields="%other = arith.addi %y, %l : index %more = arith.cmpi sge, %other, %c1 : index "
            "%less = arith.cmpi slt, %other, %last_row : index %some = arith.andi %more, %less : i1 "
            "%all = arith.andi %some, %rows : i1 %m = low.select %all, %a, %zero : f32 "
            "sched.yield %m, %b : f32"
        ),
        r"axis %o .*2 and 0 windows in it \(expected one of each, or none\)",
    ),
    "blocks of the depth": (
        convolution().replace("%k = 3 :", "%k = 3 tile(2) :"),
        r"axis %o .*what is 0 outside of ranges is multiplied in blocks of the depth",
    ),
    "numbers of four bits": (
        NIBBLES.replace("AXIS", "tile(8)")
        .replace("AT_A", "%k, %j")
        .replace("AT_B", "%k2, %i")
        .replace(
            "sched.yield %x, %y",
            "%none = arith.constant 0.0 : f32 %is_first = arith.cmpi sge, %k2, %two : index "
            "%m = low.select %is_first, %y, %none : f32 sched.yield %x, %m",
        ),
        r"axis %j .*four bits of bytes are multiplied by what is 0 outside of ranges",
    ),
    "weights": (
        convolution(yields="%m = low.select %both, %b, %zero : f32 sched.yield %a, %m : f32"),
        r"axis %o .*what is contiguous along it is 0 outside of ranges of indices",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_masks_are_refused_with_the_reason(name: str) -> None:
    text, expected = REFUSED[name]
    with pytest.raises(PassFailedException) as error:
        lowered(text)
    assert re.search(expected, str(error.value)), str(error.value)
