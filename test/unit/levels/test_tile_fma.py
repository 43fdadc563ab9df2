"""`low.tile_fma` gives the same bits in the interpreter, as LLVM IR, as OpenCL C and expanded to loops."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.llvm import backend as llvm_backend
from tenon.backends.llvm.compile import LLVMCompiler
from tenon.backends.llvm.device import CpuDevice, cpu_device
from tenon.backends.llvm.limits import NEEDS_STRENGTH_REDUCTION
from tenon.backends.llvm.processors import host_processor
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects import context
from tenon.dialects.low import KernelOp, TileFmaOp
from tenon.dialects.low.prefetch import prefetch_distance, prefetch_level
from tenon.dialects.low.tile import RowRanges
from tenon.dialects.modules.kernel_access import access_of
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError
from tenon.passes.low.expand_tiles import ExpandTilesPass
from tenon.passes.pass_manager import PassManager
from tenon.semantics import numerics
from tenon.semantics.errors import InterpreterError
from tenon.test.kernels import launch_kernel
from tenon.test.unit.storage_dtypes import DTYPES
from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, ModuleOp, i64
from xdsl.utils.exceptions import PassFailedException, VerifyException

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Tile:
    """A tile for each of `grid` work-groups, which lie one below the other in all buffers."""

    rows: int
    columns: int
    depths: tuple[int, ...] = (7,)
    types: tuple[str, str, str] = ("f32", "f32", "f32")
    lhs_row: int = 1
    accumulates: bool = False
    live: int | None = None
    transposed: bool = False
    ahead: int = 0
    level: int = 1
    prefetch: str = ""
    grid: int = 3
    unsigned: tuple[bool, bool] = (False, False)
    nibbles: bool = False
    live_rows: int | None = None
    ranges: RowRanges | None = None
    cut: tuple[str, ...] = ()
    """The condition of each range: `%is_first`, which holds in the first work-group, `%true` or `%false`."""

    @property
    def steps(self) -> tuple[list[int], list[int]]:
        """How far each depth goes in lhs, the last one least, and in rhs."""
        lhs, rhs = self.rows * self.lhs_row if self.lhs_row == 1 else 1, self.columns + 3
        lhs_steps: list[int] = []
        rhs_steps: list[int] = []
        for depth in reversed(self.depths):
            lhs_steps.insert(0, lhs)
            rhs_steps.insert(0, rhs)
            lhs, rhs = lhs * depth, rhs * depth + 1
        if self.nibbles:
            rhs_steps = [*(step // 2 for step in rhs_steps[:-1]), 0]
        return lhs_steps, rhs_steps

    @property
    def row(self) -> int:
        """From one row of acc to the next, or from one column to the next."""
        return (self.rows if self.transposed else self.columns) + 5

    @property
    def sizes(self) -> tuple[int, int, int]:
        """The elements of acc, lhs and rhs that one work-group has."""
        lhs_steps, rhs_steps = self.steps
        lhs = 1 + (self.rows - 1) * self.lhs_row
        lhs += sum(step * (depth - 1) for step, depth in zip(lhs_steps, self.depths, strict=True))
        rhs = self.columns
        rhs += sum(step * (depth - 1) for step, depth in zip(rhs_steps, self.depths, strict=True))
        return (self.columns if self.transposed else self.rows) * self.row, lhs, rhs

    @property
    def text(self) -> str:
        lhs_steps, rhs_steps = self.steps
        numbers = {"acc_row": self.row, "lhs_row": self.lhs_row}
        numbers |= {f"l{number}": step for number, step in enumerate(lhs_steps)}
        numbers |= {f"r{number}": step for number, step in enumerate(rhs_steps)}
        numbers |= {f"d{number}": depth for number, depth in enumerate(self.depths)}
        numbers |= {
            f"{name}_size": size for name, size in zip(("acc", "lhs", "rhs"), self.sizes, strict=True)
        }
        if self.live is not None:
            numbers["live"] = self.live
        if self.live_rows is not None:
            numbers["live_rows"] = self.live_rows
        lines = [f"%{name} = arith.constant {number} : index" for name, number in numbers.items()]
        lines += [f"%{name}_at = arith.muli %g, %{name}_size : index" for name in ("acc", "lhs", "rhs")]
        range_ = range(len(self.depths))
        lhs = ", ".join(f"%l{number}" for number in range_)
        rhs = ", ".join(f"%r{number}" for number in range_)
        depths = ", ".join(f"%d{number}" for number in range_)
        buffers = [
            f"memref<{self.grid * size}x{type}>" for size, type in zip(self.sizes, self.types, strict=True)
        ]
        live = "" if self.live is None else " live %live"
        live_rows = "" if self.live_rows is None else " live %live_rows"
        transposed = " transposed" if self.transposed else ""
        ahead = f" ahead {self.ahead}" if self.ahead else ""
        ahead += f" level {self.level}" if self.level > 1 else ""
        sign = "+=" if self.accumulates else "="
        of_lhs, of_rhs = (" unsigned" if each else "" for each in self.unsigned)
        of_rhs += " nibbles" if self.nibbles else ""
        rows = ""
        if self.ranges is not None:
            words = ", ".join(f"{first} to {end}" for first, end in self.ranges[1])
            rows = f"rows {self.ranges[0]} [{words}]"
            rows += f" if [{', '.join(self.cut)}]" if self.cut else ""
            lines += ["%zero = arith.constant 0 : index", "%is_first = arith.cmpi eq, %g, %zero : index"]
            lines += ["%true = arith.constant true", "%false = arith.constant false"]
        return f"""low.kernel @k(%acc: {buffers[0]}, %lhs: {buffers[1]}, %rhs: {buffers[2]})
            grid [{self.grid}, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          {" ".join(lines)}
          low.tile_fma {self.rows}{live_rows} x {self.columns}{live}{transposed}{ahead}
            %acc[%acc_at, %acc_row] {sign}{of_lhs}
            %lhs[%lhs_at, %lhs_row, {lhs}] *{of_rhs} %rhs[%rhs_at, {rhs}]
            depth [{depths}] {rows} {self.prefetch} : {", ".join(buffers)}
        }}"""

    def arrays(self) -> list[Array]:
        rng = np.random.default_rng(self.rows * self.columns)
        found: list[Array] = []
        for size, type in zip(self.sizes, self.types, strict=True):
            if type.startswith("i"):
                limits = np.iinfo(DTYPES[type])
                found.append(rng.integers(limits.min, limits.max, self.grid * size, DTYPES[type], True))
                continue
            values = rng.standard_normal(self.grid * size)
            values[:: max(7, size // 3)] = [-0.0, np.inf, np.nan, 1e-40][size % 4]
            found.append(values.astype(DTYPES[type]))
        return found

    def expected(self, acc: Array, lhs: Array, rhs: Array) -> Array:
        acc = acc.copy()
        lhs, rhs = (
            each.view(f"u{each.itemsize}") if is_unsigned else each
            for each, is_unsigned in zip((lhs, rhs), self.unsigned, strict=True)
        )
        columns = self.columns if self.live is None else self.live
        lhs_steps, rhs_steps = self.steps
        for group in range(self.grid):
            acc_at, lhs_at, rhs_at = (group * size for size in self.sizes)
            for row in range(self.rows if self.live_rows is None else self.live_rows):
                place = slice(acc_at + row * self.row, acc_at + row * self.row + columns)
                if self.transposed:
                    place = slice(acc_at + row, acc_at + row + columns * self.row, self.row)
                total = acc[place] if self.accumulates else np.zeros(columns, acc.dtype)
                for at in np.ndindex(self.depths):
                    if self.ranges is not None:
                        first, end = self.ranges[1][at[self.ranges[0]]]
                        cut = self.cut[at[self.ranges[0]]] if self.cut else "%true"
                        is_cut = {"%true": True, "%false": False, "%is_first": group == 0}[cut]
                        if is_cut and not first <= row < end:
                            continue
                    a = lhs[lhs_at + row * self.lhs_row + int(np.dot(lhs_steps, at))]
                    first = rhs_at + int(np.dot(rhs_steps, at))
                    b = rhs[first : first + columns]
                    if self.nibbles:
                        b = ((b.astype(np.int64) >> 4 * at[-1]) + 8) % 16 - 8
                    b = b.astype(acc.dtype)
                    total = numerics.add_product(np.full_like(b, a), b, total)
                acc[place] = total
        return acc


def kernel_of(text: str) -> KernelOp:
    module = parse_module(text)
    verify_module(module)
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    return kernel


def assert_same_bits(found: Array, expected: Array) -> None:
    is_nan = expected != expected
    np.testing.assert_array_equal(found != found, is_nan)
    assert found[~is_nan].tobytes() == expected[~is_nan].tobytes()


TILES = [
    Tile(1, 1),
    Tile(1, 16, (1,)),
    Tile(3, 17),
    Tile(8, 48, lhs_row=40),
    Tile(14, 32, (33,), lhs_row=50),
    Tile(5, 31, (3, 2, 4), lhs_row=100),
    Tile(40, 3, (2, 5)),
    Tile(4, 200, (3,)),
    Tile(1, 256, (9,)),
    Tile(2, 9, accumulates=True),
    Tile(7, 48, (2, 3), accumulates=True, lhs_row=20),
    Tile(4, 20, types=("f64", "f64", "f64")),
    Tile(3, 10, types=("f64", "f32", "f64"), lhs_row=11),
    Tile(3, 10, types=("f64", "bf16", "f8E4M3FN")),
    Tile(6, 33, types=("f32", "bf16", "bf16"), lhs_row=9),
    Tile(6, 33, types=("f32", "f16", "f16"), accumulates=True),
    Tile(6, 33, types=("f32", "f32", "f8E5M2")),
    Tile(3, 48, live=0),
    Tile(3, 48, live=17, accumulates=True),
    Tile(2, 8, live=8),
    # One row, all rows; several parts, of which some have no row; one column at a time.
    Tile(4, 32, (9,), lhs_row=10, live_rows=2),
    Tile(8, 48, (9,), lhs_row=10, live_rows=5),
    Tile(8, 32, (40,), lhs_row=40, live_rows=8, ahead=4),
    Tile(40, 3, (2, 5), live_rows=20),
    Tile(40, 17, (5,), lhs_row=6, live_rows=23, accumulates=True),
    Tile(8, 48, (3, 4), lhs_row=20, live_rows=7, live=17, accumulates=True),
    Tile(7, 20, types=("f64", "f32", "f64"), live_rows=4),
    Tile(6, 33, types=("f32", "bf16", "bf16"), lhs_row=9, live_rows=5, accumulates=True),
    Tile(5, 35, (7,), types=("i32", "i16", "i8"), lhs_row=7, live_rows=3),
    Tile(6, 35, (8,), types=("i32", "i8", "i8"), lhs_row=9, unsigned=(True, False), live_rows=3),
    Tile(8, 48, (9, 2), types=("f32", "f32", "i8"), lhs_row=40, nibbles=True, live_rows=6),
    Tile(8, 32, (40,), lhs_row=40, ahead=4),
    Tile(3, 37, (2, 9), accumulates=True, lhs_row=18, ahead=100000),
    Tile(2, 20, live=17, ahead=1),
    Tile(2, 20, live=17, ahead=9, level=2),
    Tile(6, 33, types=("f32", "f16", "bf16"), transposed=True, ahead=3),
    Tile(8, 32, (40,), lhs_row=40, prefetch="prefetch lhs[%g, 8, 8] rhs[%lhs_row, 100000, 40]"),
    Tile(2, 16, (41,), types=("f64", "f32", "f64"), accumulates=True, prefetch="prefetch rhs[%g, 3, 3]"),
    Tile(40, 3, (9,), prefetch="prefetch lhs[%l0, 1, 1]"),
    Tile(17, 5, (12,), lhs_row=90, transposed=True, prefetch="prefetch lhs[%l0, 2, 1] rhs[%r0, 4, 4]"),
    # One line for each of six steps around five; around steps that are a loop, and in a number that varies.
    Tile(8, 32, (3, 2, 5), lhs_row=40, prefetch="prefetch rhs[%g, 16, 16]"),
    Tile(8, 32, (2, 40), lhs_row=90, transposed=True, prefetch="prefetch lhs[%g, 3, 3] rhs[%l0, 40, 40]"),
    Tile(14, 32, (3, 3), transposed=True),
    Tile(1, 16, transposed=True),
    Tile(17, 5, (2, 9), lhs_row=90, transposed=True),
    Tile(40, 35, (11,), transposed=True),
    Tile(7, 20, types=("f64", "f32", "f64"), transposed=True),
    Tile(5, 18, types=("f32", "bf16", "f16"), transposed=True),
    # Rows that read in one step what others read in the next, and rows that just do not.
    Tile(14, 32, (2, 7), lhs_row=2, transposed=True),
    Tile(6, 17, (3,), lhs_row=2),
    Tile(2, 8, (43,), lhs_row=7),
    Tile(4, 35, types=("f32", "f32", "i8"), lhs_row=7),
    Tile(4, 35, types=("f32", "i16", "i8"), unsigned=(True, True)),
    Tile(3, 33, types=("f64", "i32", "i16"), unsigned=(True, False), live=18),
    Tile(3, 40, types=("f64", "f32", "i32"), unsigned=(False, True), transposed=True),
    # Steps that add to some rows alone: of one part and of several, to none, beside all else that there is.
    Tile(14, 32, (3, 7), lhs_row=20, ranges=(0, ((1, 14), (0, 14), (0, 13)))),
    Tile(14, 32, (2, 3, 40), lhs_row=2, ranges=(1, ((1, 14), (0, 14), (0, 13))), transposed=True, ahead=9),
    Tile(5, 31, (3, 2, 4), lhs_row=100, ranges=(1, ((0, 0), (2, 5)))),
    Tile(40, 19, (2, 5), lhs_row=7, ranges=(0, ((39, 40), (0, 3))), accumulates=True),
    Tile(7, 33, (2, 2, 40), types=("f64", "f32", "f64"), lhs_row=7, ranges=(0, ((2, 5), (7, 7)))),
    Tile(6, 33, (2, 9), types=("f32", "bf16", "bf16"), lhs_row=9, ranges=(0, ((1, 6), (0, 1))), live=18),
    Tile(4, 35, (2, 7), types=("i32", "i16", "i8"), lhs_row=7, ranges=(0, ((3, 4), (0, 4)))),
    Tile(4, 20, (2, 4, 2), types=("f32", "f32", "i8"), lhs_row=8, ranges=(0, ((1, 2), (0, 4))), nibbles=True),
    Tile(
        8, 32, (3, 2, 5), lhs_row=40, ranges=(0, ((1, 8), (8, 8), (0, 7))), prefetch="prefetch rhs[%g, 9, 9]"
    ),
    # The same in the first tile alone, or where that is known.
    Tile(
        14,
        32,
        (2, 3, 40),
        lhs_row=2,
        ranges=(1, ((1, 14), (0, 14), (0, 13))),
        cut=("%is_first", "%true", "%is_first"),
    ),
    Tile(
        40,
        19,
        (3, 5),
        lhs_row=7,
        ranges=(0, ((39, 40), (0, 3), (1, 1))),
        cut=("%is_first", "%is_first", "%false"),
        accumulates=True,
    ),
    # Pairs of products, of even and odd depths, in loops and not, around other dims, and what makes none.
    Tile(5, 35, (7,), types=("i32", "i16", "i8"), lhs_row=7),
    Tile(14, 32, (40,), types=("i32", "i16", "i8"), lhs_row=40, unsigned=(False, True), ahead=9),
    Tile(3, 37, (41,), types=("i32", "i8", "i8"), lhs_row=50, unsigned=(True, False), accumulates=True),
    Tile(2, 18, (3, 5), types=("i32", "i8", "i16"), lhs_row=20),
    Tile(3, 24, (1,), types=("i32", "i16", "i16"), lhs_row=20),
    Tile(3, 20, (6,), types=("i32", "i16", "i16"), lhs_row=20, unsigned=(False, True)),
    Tile(3, 20, (6,), types=("i32", "i16", "i8"), live=11, lhs_row=20),
    Tile(3, 20, (6,), types=("i32", "i16", "i8"), transposed=True, lhs_row=20),
    Tile(3, 20, (6,), types=("i32", "i16", "i8")),
    Tile(3, 20, (6,), types=("i32", "i32", "i32"), lhs_row=20),
    Tile(4, 11, (6,), types=("i64", "i8", "i64"), lhs_row=20, unsigned=(True, False)),
    # Four products of bytes with a sign by those without: either side, some steps left over, few steps.
    Tile(5, 35, (8,), types=("i32", "i8", "i8"), lhs_row=9, unsigned=(True, False)),
    Tile(14, 32, (43,), types=("i32", "i8", "i8"), lhs_row=50, unsigned=(False, True), ahead=9),
    Tile(3, 37, (2, 6), types=("i32", "i8", "i8"), lhs_row=20, unsigned=(True, False), accumulates=True),
    Tile(2, 16, (3,), types=("i32", "i8", "i8"), lhs_row=20, unsigned=(True, False)),
    Tile(3, 20, (9,), types=("i32", "i8", "i8"), live=11, lhs_row=20, unsigned=(False, True)),
    Tile(17, 5, (12,), types=("i32", "i8", "i8"), lhs_row=20, unsigned=(True, False), transposed=True),
    Tile(3, 20, (12,), types=("i32", "i8", "i8"), lhs_row=20, unsigned=(True, True)),
    Tile(3, 20, (12,), types=("i64", "i8", "i8"), lhs_row=20, unsigned=(True, False)),
    # Two numbers of four bits in a byte: one row and several, with and without whole vectors, in each type.
    Tile(1, 256, (9, 2), types=("f32", "f32", "i8"), nibbles=True, ahead=32),
    Tile(8, 48, (9, 2), types=("f32", "f32", "i8"), lhs_row=40, nibbles=True, accumulates=True),
    Tile(3, 37, (3, 4, 2), types=("f32", "bf16", "i8"), lhs_row=30, nibbles=True),
    Tile(1, 33, (5, 2), types=("f32", "f32", "i8"), nibbles=True, live=18),
    Tile(5, 20, (5, 2), types=("f32", "f32", "i8"), nibbles=True, transposed=True),
    Tile(2, 21, (5, 2), types=("f64", "f32", "i8"), lhs_row=20, nibbles=True),
    Tile(2, 35, (6, 2), types=("i32", "i8", "i8"), lhs_row=20, nibbles=True),
    Tile(2, 1, (6, 2), types=("i64", "i16", "i8"), lhs_row=20, nibbles=True, unsigned=(True, False)),
]


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_interpreter_adds_products_in_the_order_of_the_depth(tile: Tile) -> None:
    arrays = tile.arrays()
    with np.errstate(all="ignore"):
        expected = tile.expected(*arrays)
        run_kernel(kernel_of(tile.text), arrays)
    assert_same_bits(arrays[0], expected)


@pytest.mark.parametrize("vector_nbytes", [16, 32, 64])
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_llvm_gives_the_bits_of_the_interpreter(tile: Tile, vector_nbytes: int) -> None:
    it = llvm_backend()
    processor = replace(host_processor(), vector_nbytes=vector_nbytes)
    it = replace(it, device=CpuDevice(processor))
    arrays = tile.arrays()
    expected = [array.copy() for array in arrays]
    run_kernel(kernel_of(tile.text), expected)
    launch_kernel(it, parse_module(tile.text), *arrays)
    assert_same_bits(arrays[0], expected[0])


def in_a_rare_loop(text: str) -> str:
    """A tile in a loop of one iteration, which is said to hardly ever run."""
    before, rest = text.split("low.tile_fma")
    bounds = "%begin = arith.constant 0 : index %end = arith.constant 1 : index"
    loop = f"scf.for %turn = %begin to %end step %end {{ low.tile_fma{rest.rstrip().removesuffix('}')} }}"
    return f"{before}{bounds} {loop} {{tenon.rare}} }}"


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_llvm_gives_the_bits_of_the_interpreter_in_a_function(tile: Tile) -> None:
    it, module = llvm_backend(), parse_module(in_a_rare_loop(tile.text))
    verify_module(module)
    arrays = tile.arrays()
    expected = [array.copy() for array in arrays]
    run_kernel(kernel_of(tile.text), expected)
    assert "call void @apart" in it.renderer.render(module, it.device)
    launch_kernel(it, module, *arrays)
    assert_same_bits(arrays[0], expected[0])


def test_rare_tiles_of_one_shape_are_one_function() -> None:
    tiles = (
        Tile(1, 32, (3, 7)),
        Tile(1, 32, (4, 9)),
        Tile(1, 16, (3, 7)),
        Tile(1, 32, (3, 7), accumulates=True),
    )
    texts = [in_a_rare_loop(tile.text).replace("@k", f"@k{number}") for number, tile in enumerate(tiles)]
    text = LLVMRenderer().render(parse_module(" ".join(texts)), cpu_device())
    assert text.count("define internal void @apart") == 3
    assert text.count("call void @apart") == 4


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_opencl_gives_the_bits_of_the_interpreter(tile: Tile) -> None:
    pytest.importorskip("pyopencl")
    from tenon.backends.opencl import backend as opencl_backend

    arrays = tile.arrays()
    expected = [array.copy() for array in arrays]
    run_kernel(kernel_of(tile.text), expected)
    launch_kernel(opencl_backend(), parse_module(tile.text), *arrays)
    assert_same_bits(arrays[0], expected[0])


@pytest.mark.parametrize(
    ("tile", "n_hidden"),
    [
        (Tile(14, 32, (3, 7), lhs_row=2), 6),
        (Tile(2, 32, (7,), lhs_row=6), 6),
        (Tile(2, 32, (7,), lhs_row=7), 0),
        (Tile(1, 32, (7,), lhs_row=1), 0),
        # Steps of a loop, and two that are left over.
        (Tile(2, 8, (42,), lhs_row=7), 7),
        (Tile(2, 8, (40,), lhs_row=8), 0),
        (Tile(14, 32, (40,), lhs_row=1), 0),
    ],
    ids=str,
)
def test_llvm_does_not_keep_what_windows_share(tile: Tile, n_hidden: int) -> None:
    text = LLVMRenderer().render(parse_module(tile.text), cpu_device("x86-64-v4"))
    assert text.count('asm ""') == n_hidden


@pytest.mark.parametrize(
    ("features", "lanes", "name"),
    [
        ("+avx512f,+avx512bw,+avx512vl,+avx512vnni", 16, "x86.avx512.vpdpbusd.512"),
        ("+avx512f,+avx512bw,+avx512vl,+avx512vnni", 8, "x86.avx512.vpdpbusd.256"),
        ("+avx512f,+avx512vnni", 4, None),
        ("+avx2,+avxvnni", 8, "x86.avx512.vpdpbusd.256"),
        ("+avx2,+avxvnni", 16, None),
        ("+avx2", 8, None),
        ("+avx2,+avxvnni", 2, None),
    ],
)
def test_processors_tell_how_they_multiply_bytes(features: str, lanes: int, name: str | None) -> None:
    processor = replace(host_processor(), arch="x86_64", features=features)
    assert processor.quad_products(lanes) == name
    assert replace(processor, arch="aarch64").quad_products(lanes) is None
    assert replace(processor, vector_nbytes=4 * lanes).multiplies_bytes == (name is not None)


def test_quads_of_bytes_are_one_instruction_for_a_row() -> None:
    tile = Tile(3, 16, (8,), types=("i32", "i8", "i8"), lhs_row=9, unsigned=(True, False))
    features = "+avx2,+avx512f,+avx512bw,+avx512vl,+avx512vnni"
    processor = replace(host_processor(), arch="x86_64", features=features, vector_nbytes=64)
    module = parse_module(tile.text)
    text = LLVMRenderer().render(module, CpuDevice(processor))
    assert text.count("call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(") == 2 * tile.rows
    pairs = LLVMRenderer().render(module, CpuDevice(replace(processor, features="+avx512f,+avx512bw")))
    assert "vpdpbusd" not in pairs and "pmaddw.d.512(" in pairs


def test_llvm_fetches_at_each_step_of_all_depths_but_the_last_one() -> None:
    tile = Tile(2, 32, (3, 2, 5), lhs_row=40, prefetch="prefetch rhs[%g, 20, 20]")
    text = LLVMRenderer().render(parse_module(tile.text), cpu_device("x86-64-v4"))
    numbered = (
        r"%number = add nsw i64 %k, 3\n(?s:.*)%number\.1 = add nsw i64 %k\.1, 2\n"
        r"  (%\S+) = mul nsw i64 %number, 2\n  (%\S+) = add nsw i64 \1, %number\.1\n"
        r"  (%\S+) = mul nsw i64 \2, 20\n  %later\.1 = getelementptr float, ptr %later, i64 \3\n"
    )
    assert re.search(numbered, text)
    # 80 bytes are two lines.
    assert text.count("call void @llvm.prefetch") == 2


@pytest.mark.parametrize(("target", "needs"), [("x86-64-v3", True), ("znver3", False)])
def test_addresses_of_a_prefetch_are_stepped_along_where_they_cost_beside_the_sums(
    target: str, needs: bool
) -> None:
    tile = Tile(2, 32, (3, 2, 5), lhs_row=40, prefetch="prefetch rhs[%g, 20, 20]")
    text = LLVMRenderer().render(parse_module(tile.text), cpu_device(target))
    assert (NEEDS_STRENGTH_REDUCTION in text) is needs
    alone = Tile(2, 32, (3, 2, 5), lhs_row=40)
    assert NEEDS_STRENGTH_REDUCTION not in LLVMRenderer().render(parse_module(alone.text), cpu_device(target))


def test_steps_of_a_prefetch_are_a_step_and_a_count() -> None:
    kernel = kernel_of(Tile(2, 32, (3, 2), lhs_row=40, prefetch="prefetch rhs[%g, 20, 20]").text)
    (tile,) = [op for op in kernel.walk() if isinstance(op, TileFmaOp)]
    tile.rhs_next_steps = DenseArrayBase.from_list(i64, [20])
    expected = r"low\.tile_fma: prefetch rhs by \[20\] \(expected a place, a step and a count\)"
    with pytest.raises(VerifyException, match=expected):
        tile.verify()


def test_ranges_of_rows_are_of_a_depth_and_their_conditions_of_ranges() -> None:
    tile = Tile(4, 8, (2, 3), lhs_row=9, ranges=(0, ((1, 4), (0, 4))), cut=("%true", "%false"))
    (op,) = [op for op in kernel_of(tile.text).walk() if isinstance(op, TileFmaOp)]
    assert op.ranges == (0, ((1, 4), (0, 4))) and len(op.cut) == 2
    op.ranged_depth = None
    with pytest.raises(
        VerifyException, match=r"rows of a depth \(expected its number and its ranges, or none\)"
    ):
        op.verify()
    op.row_ranges = None
    with pytest.raises(VerifyException, match=r"2 conditions and no ranges of rows"):
        op.verify()


def test_a_step_that_some_rows_leave_out_has_less_code() -> None:
    tile = Tile(14, 32, (3, 40), lhs_row=50, ranges=(0, ((1, 14), (0, 14), (0, 13))))
    text = LLVMRenderer().render(parse_module(tile.text), cpu_device("x86-64-v4"))
    assert len(re.findall(r"= call .*@llvm\.fma", text)) == 2 * (13 + 14 + 13)
    # Where that is known when the kernel runs there are both ways.
    text = LLVMRenderer().render(
        parse_module(replace(tile, cut=("%is_first", "%true", "%is_first")).text), cpu_device("x86-64-v4")
    )
    assert len(re.findall(r"= call .*@llvm\.fma", text)) == 2 * (13 + 14 + 14 + 13 + 14)


def expanded(text: str, vector_nbytes: int) -> KernelOp:
    """Returns the kernel of `text` with loops for its tile; all ops of it have a place in the text."""
    kernel = kernel_of(text)
    module = kernel.parent_op()
    assert isinstance(module, ModuleOp)
    PassManager((ExpandTilesPass(vector_nbytes),)).run(context(), module)
    assert not any(isinstance(op, TileFmaOp) or op.location == UNKNOWN_LOC for op in kernel.walk())
    return kernel


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_loops_give_the_bits_of_the_tile(tile: Tile) -> None:
    arrays = tile.arrays()
    expected = [array.copy() for array in arrays]
    run_kernel(kernel_of(tile.text), expected)
    run_kernel(expanded(tile.text, 32), arrays)
    assert_same_bits(arrays[0], expected[0])


@pytest.mark.parametrize("vector_nbytes", [1, 8, 4096])
@pytest.mark.parametrize("tile", [Tile(2, 5), Tile(2, 5, live=3), Tile(3, 5, transposed=True)], ids=str)
def test_loops_of_any_vectors_give_the_bits_of_the_tile(tile: Tile, vector_nbytes: int) -> None:
    arrays = tile.arrays()
    expected = [array.copy() for array in arrays]
    run_kernel(kernel_of(tile.text), expected)
    run_kernel(expanded(tile.text, vector_nbytes), arrays)
    assert_same_bits(arrays[0], expected[0])


def test_loops_of_a_vector_of_no_bytes_are_an_error() -> None:
    with pytest.raises(PassFailedException, match=r"^expand-tiles: vector-nbytes 0 must be 1 or more$"):
        ExpandTilesPass(0).apply(context(), ModuleOp([]))


SIZES = """low.kernel @k(%acc: memref<60xf32>, %lhs: memref<60xf32>, %rhs: memref<60xf32>)
    grid [4, 1, 1] block [1, 1, 1] {
  %g = low.block_id x
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %fifteen = arith.constant 15 : index
  %at = arith.muli %g, %fifteen : index
  %is_some = arith.cmpi ne, %g, %two : index
  scf.if %is_some {
    low.tile_fma 2 x 4 live %g %acc[%at, %fifteen0] = %lhs[%at, %three, %one] * %rhs[%at, %three] depth [%g]
      : memref<60xf32>, memref<60xf32>, memref<60xf32>
  }
}""".replace("%fifteen0", "%three")


def test_sizes_may_differ_from_one_work_group_to_the_next():
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(60).astype(np.float32) for _ in range(3)]
    expected = [array.copy() for array in arrays]
    acc, lhs, rhs = expected
    for group in (1, 3):
        at = 15 * group
        for row in range(2):
            total = np.zeros(group, np.float32)
            for k in range(group):
                a = np.full(group, lhs[at + 3 * row + k])
                total = numerics.fma(a, rhs[at + 3 * k : at + 3 * k + group], total)
            acc[at + 3 * row : at + 3 * row + group] = total
    interpreted = [array.copy() for array in arrays]
    run_kernel(kernel_of(SIZES), interpreted)
    assert_same_bits(interpreted[0], acc)
    launch_kernel(llvm_backend(), parse_module(SIZES), *arrays)
    assert_same_bits(arrays[0], acc)


def test_tile_outside_of_a_buffer_is_an_error():
    tile = Tile(2, 4, grid=1)
    arrays = tile.arrays()
    text = tile.text.replace("%g = low.block_id x", "%g = arith.constant 1 : index")
    with pytest.raises(TenonError, match=r"low\.tile_fma.*out of bounds of 18 elements"):
        kernel_of(text)
    kernel = parse_module(text).body.block.first_op
    assert isinstance(kernel, KernelOp)
    with pytest.raises(InterpreterError, match=r"low\.tile_fma.*out of bounds of 14 elements"):
        run_kernel(kernel, arrays)
    text = Tile(2, 4, live=2, grid=1).text.replace("%live = arith.constant 2", "%live = arith.constant 5")
    with pytest.raises(InterpreterError, match=r"low\.tile_fma.*5 live columns of 4"):
        run_kernel(kernel_of(text), arrays)
    tile = Tile(5, 4, live_rows=3, grid=1)
    for number in (0, 2, 6):
        wrong = tile.text.replace("%live_rows = arith.constant 3", f"%live_rows = arith.constant {number}")
        with pytest.raises(InterpreterError, match=rf"low\.tile_fma.*{number} live rows of 5"):
            run_kernel(kernel_of(wrong), tile.arrays())


def assembly_for(target: str, text: str) -> str:
    device = cpu_device(target)
    return LLVMCompiler().assembly(LLVMRenderer().render(parse_module(text), device), device)


def test_sums_of_a_full_tile_stay_in_registers():
    tile = Tile(8, 48, (64,), lhs_row=64)
    assembly = assembly_for("x86-64-v4", tile.text)
    assert len(re.findall(r"vfmadd\w+\s", assembly)) == 24
    assert not re.findall(r"\(%rsp\), %zmm|%zmm\d+, [-\d]*\(%rsp\)", assembly)


@pytest.mark.parametrize(
    ("target", "tile"),
    [
        ("x86-64-v4", Tile(8, 32, (64,), lhs_row=64)),
        ("x86-64-v4", Tile(14, 32, (64,), lhs_row=64)),
        ("x86-64-v3", Tile(4, 16, (64,), lhs_row=64)),
        ("x86-64-v3", Tile(6, 16, (64,), lhs_row=64)),
    ],
    ids=str,
)
def test_rows_that_may_lack_are_in_registers_with_their_places(target: str, tile: Tile) -> None:
    tile = replace(tile, live_rows=tile.rows)
    # How many there are is known when the kernel runs.
    text = tile.text.replace("%live_rows = arith.constant", "%most_rows = arith.constant")
    text = text.replace("live %live_rows", "live %g")
    assembly = assembly_for(target, text)
    (loop,) = re.findall(r"\n(\.L\w+):\n((?:(?!\n\.L).)*vfmadd(?:(?!\n\.L).)*)\1\n", assembly, re.DOTALL)
    assert loop[1].count("vfmadd") in (2 * tile.rows, 4 * tile.rows, 8 * tile.rows)
    assert "(%rsp)" not in loop[1]


@pytest.mark.parametrize(
    ("tile", "lines"),
    [
        (Tile(8, 32, (64,), ahead=16), 2),
        (Tile(8, 32, (64,), ahead=16, level=2), 2),
        (Tile(8, 40, (64,), ahead=16), 3),
        (Tile(8, 8, (64,), types=("f32", "f32", "bf16"), ahead=16), 1),
        (Tile(8, 32, (64,)), 0),
    ],
)
def test_each_cache_line_is_fetched_once_a_step(tile: Tile, lines: int):
    it = llvm_backend("x86-64-v4")
    text = it.renderer.render(parse_module(tile.text), it.device)
    assert isinstance(text, str)
    steps = len(re.findall(r"= call .*@llvm\.fma", text)) // (tile.rows * -(-tile.columns // 16))
    locality = {1: 3, 2: 2}[tile.level]
    calls = re.findall(r"call void @llvm\.prefetch\.p0\(ptr %[\w.]+, i32 0, i32 (\d), i32 1\)", text)
    assert calls == [str(locality)] * (lines * steps)


@pytest.mark.parametrize("level", [1, 2])
def test_loops_fetch_into_the_cache_that_a_tile_names(level: int):
    module = parse_module(Tile(2, 8, (64,), ahead=16, level=level).text)
    PassManager((ExpandTilesPass(),)).run(context(), module)
    (load,) = {(prefetch_distance(op), prefetch_level(op)) for op in module.walk() if prefetch_distance(op)}
    assert load == (16, level)


def test_what_a_tile_reads_and_writes():
    assert access_of(kernel_of(Tile(2, 4).text)).reads == (1, 2)
    assert access_of(kernel_of(Tile(2, 4).text)).writes == (0,)
    assert access_of(kernel_of(Tile(2, 4, accumulates=True).text)).reads == (0, 1, 2)


def test_what_follows_a_tile_takes_no_registers_from_its_sums() -> None:
    tile = replace(Tile(14, 32, (64,), lhs_row=64), live_rows=14)
    text = tile.text.replace("%live_rows = arith.constant", "%most_rows = arith.constant")
    text = text.replace("live %live_rows", "live %live")
    numbers = range(24)
    constants = [f"%f{n} = arith.constant dense<{n}.5> : vector<16xf32>" for n in numbers]
    bounds = "%begin = arith.constant 0 : index %by = arith.constant 1 : index %w = arith.constant 16 : index"
    live = "%live = arith.minsi %g, %most_rows : index"
    steps = [f"%v{n + 1} = math.fma %v{n}, %v{n}, %f{n} : vector<16xf32>" for n in numbers]
    buffer = f"memref<{tile.grid * tile.sizes[0]}xf32>"
    follow = f"""scf.for %row = %begin to %live step %by {{
      %place = arith.muli %row, %acc_row : index
      scf.for %column = %begin to %acc_row step %w {{
        %at = arith.addi %place, %column : index
        %v0 = vector.load %acc[%at] : {buffer}, vector<16xf32>
        {" ".join(steps)}
        vector.store %v{len(numbers)}, %acc[%at] : {buffer}, vector<16xf32>
      }}
    }}"""
    first, *_ = text.split("low.tile_fma")
    op = text[len(first) : text.rindex("}")]
    again = op + follow
    is_first = "%is_first = arith.cmpi sgt, %g, %begin : index scf.if %is_first {"
    others = f"scf.for %other = %by to %g step %by {{ {again} }} {again}"
    body = f"{' '.join(constants)} {bounds} {live} {is_first} {again} }} {others}"
    assembly = assembly_for("x86-64-v4", f"{first} {body} }}")
    loops = re.findall(r"\n(\.L\w+):\n((?:(?!\n\.L).)*vbroadcastss(?:(?!\n\.L).)*)\1\n", assembly, re.DOTALL)
    sums = [body for _, body in loops if body.count("vfmadd") == 2 * tile.rows]
    assert len(sums) == 3
    assert not any("(%rsp)" in body for body in sums)
