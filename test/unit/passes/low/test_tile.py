"""Axes that are tiles compute what the serial axes do, bit for bit, or say why they cannot."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.reference.kernels import sched as interpreter
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects import context, low, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from tenon.passes.low.lowering.tiles.tile import sizes_of_rows
from tenon.test.unit.storage_dtypes import DTYPES
from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType
from xdsl.utils.exceptions import PassFailedException

Array = npt.NDArray[Any]

MATMUL = """sched.kernel @k(%a: memref<{m}x{k}x{t}>, %b: memref<{k}x{n}x{t}>, %c: memref<{m}x{n}x{t}>) {{
  sched.axis %i = {m} {rows} {{
    sched.axis %j = {n} {columns} {{
      %s = sched.reduce fma %k = {k} : {t} {{
        %x = memref.load %a[%i, %k] : memref<{m}x{k}x{t}>
        %y = memref.load %b[%k, %j] : memref<{k}x{n}x{t}>
        sched.yield %x, %y : {t}
      }}
      memref.store %s, %c[%i, %j] : memref<{m}x{n}x{t}>
    }}
  }}
}}"""


def matmul(m: int, n: int, k: int, rows: str, columns: str, t: str = "f32") -> str:
    return MATMUL.format(m=m, n=n, k=k, rows=rows, columns=columns, t=t)


NIBBLES = """
      sched.kernel @k(%a: memref<32x32xi8>, %b: memref<64x32xf32>, %c: memref<16x32xf32>) {
        %one = arith.constant 1 : i8
        %four = arith.constant 4 : i8
        sched.axis %i = 16 AXIS {
          sched.axis %j = 32 tile(16) {
            %s = sched.reduce fma %k = 10 : f32 {
              %t = sched.reduce fma %h = 2 : f32 {
                %two = arith.constant 2 : index
                %from = arith.muli %k, %two : index
                %k2 = arith.addi %from, %h : index
                %byte = memref.load %a[AT_A] : memref<32x32xi8>
                %y = memref.load %b[AT_B] : memref<64x32xf32>
                %number = arith.index_cast %h : index to i8
                %flipped = arith.xori %number, %one : i8
                %lower = arith.andi %flipped, %one : i8
                %amount = arith.muli %lower, %four : i8
                %raised = arith.shli %byte, %amount : i8
                %nibble = arith.shrsi %raised, %four : i8
                %x = low.convert sitofp %nibble : i8 to f32
                sched.yield %x, %y : f32
              }
              sched.yield %t : f32
            }
            memref.store %s, %c[%i, %j] : memref<16x32xf32>
          }
        }
      }"""
"""A product of numbers that are four bits of bytes."""

PLAIN = matmul(16, 32, 10, "tile(8)", "tile(16)")

BIAS = """sched.kernel @k(%a: memref<6x13xbf16>, %b: memref<13x37xbf16>, %bias: memref<37xf32>,
    %scale: memref<6xf32>, %c: memref<6x37xbf16>) {
  sched.axis %i = 6 tile(4) {
    %z = memref.load %scale[%i] : memref<6xf32>
    sched.axis %j = 37 tile(24) vector(8) {
      %s = sched.reduce fma %k = 13 : f32 {
        %x = memref.load %a[%i, %k] : memref<6x13xbf16>
        %y = memref.load %b[%k, %j] : memref<13x37xbf16>
        %x_1 = arith.extf %x : bf16 to f32
        %y_1 = arith.extf %y : bf16 to f32
        sched.yield %y_1, %x_1 : f32
      }
      %v = memref.load %bias[%j] : memref<37xf32>
      %w = arith.addf %s, %v : f32
      %u = arith.mulf %w, %z : f32
      %r = arith.truncf %u : f32 to bf16
      memref.store %r, %c[%i, %j] : memref<6x37xbf16>
    }
  }
}"""

TWO_SUMS = """sched.kernel @k(%a: memref<9x5xf32>, %b: memref<5x20xf32>, %d: memref<5x20xf32>,
    %c: memref<9x20xf32>, %e: memref<9x20xf32>) {
  sched.axis %i = 9 block(4) tile(4) {
    sched.axis %j = 20 block(8) tile(8) vector(4) {
      %s = sched.reduce fma %k = 5 : f32 {
        %x = memref.load %a[%i, %k] : memref<9x5xf32>
        %y = memref.load %b[%k, %j] : memref<5x20xf32>
        sched.yield %x, %y : f32
      }
      %t = sched.reduce fma %k = 5 : f32 {
        %x = memref.load %a[%i, %k] : memref<9x5xf32>
        %y = memref.load %d[%k, %j] : memref<5x20xf32>
        sched.yield %x, %y : f32
      }
      %p = arith.mulf %s, %t : f32
      memref.store %p, %c[%i, %j] : memref<9x20xf32>
      memref.store %t, %e[%i, %j] : memref<9x20xf32>
    }
  }
}"""

TRANSPOSED = """sched.kernel @k(%a: memref<7x11xf64>, %b: memref<7x30xf64>, %c: memref<11x30xf64>) {
  sched.axis %i = 11 tile(4) {
    sched.axis %j = 30 tile(16) {
      %s = sched.reduce fma %k = 7 : f64 {
        %x = memref.load %a[%k, %i] : memref<7x11xf64>
        %y = memref.load %b[%k, %j] : memref<7x30xf64>
        sched.yield %x, %y : f64
      }
      memref.store %s, %c[%i, %j] : memref<11x30xf64>
    }
  }
}"""

CONVOLUTION = """sched.kernel @k(%x: memref<10x10x3xf32>, %w: memref<3x3x3x20xf32>, %y: memref<8x8x20xf32>) {
  sched.axis %h = 8 block(2) {
    sched.axis %v = 8 tile(6) {
      sched.axis %o = 20 tile(16) {
        %s = sched.reduce fma %p = 3 : f32 {
          %t = sched.reduce fma %q = 3 : f32 {
            %u = sched.reduce fma %c = 3 : f32 {
              %hp = arith.addi %h, %p : index
              %vq = arith.addi %v, %q : index
              %a = memref.load %x[%hp, %vq, %c] : memref<10x10x3xf32>
              %b = memref.load %w[%p, %q, %c, %o] : memref<3x3x3x20xf32>
              sched.yield %a, %b : f32
            }
            sched.yield %u : f32
          }
          sched.yield %t : f32
        }
        memref.store %s, %y[%h, %v, %o] : memref<8x8x20xf32>
      }
    }
  }
}"""

PANELS = """sched.kernel @k(%a: memref<10x6xf32>, %b: memref<3x6x16xf32>, %c: memref<10x40xf32>) {
  %w = arith.constant 16 : index
  sched.axis %i = 10 block(4) tile(4) {
    sched.axis %j = 40 block(16) tile(16) {
      %p = arith.divui %j, %w : index
      %q = arith.remui %j, %w : index
      %s = sched.reduce fma %k = 6 : f32 {
        %x = memref.load %a[%i, %k] : memref<10x6xf32>
        %y = memref.load %b[%p, %k, %q] : memref<3x6x16xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<10x40xf32>
    }
  }
}"""

VECTOR = """sched.kernel @k(%a: memref<9xf32>, %b: memref<9x70xf32>, %c: memref<70xf32>) {
  sched.axis %j = 70 block(64) tile(64) {
    %s = sched.reduce fma %k = 9 : f32 {
      %x = memref.load %a[%k] : memref<9xf32>
      %y = memref.load %b[%k, %j] : memref<9x70xf32>
      sched.yield %x, %y : f32
    }
    memref.store %s, %c[%j] : memref<70xf32>
  }
}"""

GOES_ON = """sched.kernel @k(%a: memref<6x8xf32>, %b: memref<8x20xf32>, %c: memref<6x20xf32>) {
  sched.axis %i = 6 tile(4) {
    sched.axis %j = 20 tile(16) {
      %z = memref.load %c[%i, %j] : memref<6x20xf32>
      %s = sched.reduce fma %k = 8 init(%z) : f32 {
        %x = memref.load %a[%i, %k] : memref<6x8xf32>
        %y = memref.load %b[%k, %j] : memref<8x20xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<6x20xf32>
    }
  }
}"""

COUNTS = """sched.kernel @k(%a: memref<20x8xf32>, %b: memref<8x20xf32>, %c: memref<2x20x20xf32>) {
  %most = arith.constant 13 : index
  sched.axis %g = 2 {
    %five = arith.constant 5 : index
    %rows = arith.subi %most, %five : index
    %n = arith.muli %g, %five : index
    sched.axis %i = 20 count %rows tile(3) {
      sched.axis %j = 20 count %most tile(8) vector(4) {
        %s = sched.reduce fma %k = 8 count %n : f32 {
          %x = memref.load %a[%i, %k] : memref<20x8xf32>
          %y = memref.load %b[%k, %j] : memref<8x20xf32>
          sched.yield %x, %y : f32
        }
        %r = arith.negf %s : f32
        memref.store %r, %c[%g, %i, %j] : memref<2x20x20xf32>
      }
    }
  }
}"""

BLOCKS = """sched.kernel @k(%a: memref<22x9xf32>, %b: memref<9x40xf32>, %bias: memref<40xf32>,
    %c: memref<22x40xf32>) {
  sched.axis %i = 22 block(12) tile(4) {
    sched.axis %j = 40 block(32) tile(16) vector(8) {
      %s = sched.reduce fma %k = 9 tile(4) : f32 {
        %x = memref.load %a[%i, %k] : memref<22x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x40xf32>
        sched.yield %x, %y : f32
      }
      %v = memref.load %bias[%j] : memref<40xf32>
      %w = arith.addf %s, %v : f32
      memref.store %w, %c[%i, %j] : memref<22x40xf32>
    }
  }
}"""

BY_CHANNELS = """sched.kernel @k(%x: memref<4x21xf32>, %w: memref<2x4x3x8xf32>, %bias: memref<13xf32>,
    %y: memref<13x10xf32>) {
  %eight = arith.constant 8 : index
  %two = arith.constant 2 : index
  sched.axis %o = 13 tile(8) vector(4) {
    %p = arith.divui %o, %eight : index
    %l = arith.remui %o, %eight : index
    sched.axis %i = 10 tile(6) vector(4) {
      %i2 = arith.muli %i, %two : index
      %s = sched.reduce fma %c = 4 : f32 {
        %t = sched.reduce fma %k = 3 : f32 {
          %at = arith.addi %i2, %k : index
          %a = memref.load %x[%c, %at] : memref<4x21xf32>
          %b = memref.load %w[%p, %c, %k, %l] : memref<2x4x3x8xf32>
          sched.yield %a, %b : f32
        }
        sched.yield %t : f32
      }
      %z = memref.load %bias[%o] : memref<13xf32>
      %r = arith.addf %s, %z : f32
      memref.store %r, %y[%o, %i] : memref<13x10xf32>
    }
  }
}"""

STORED_BY_CHANNELS = (
    BY_CHANNELS.replace("%z = memref.load %bias[%o] : memref<13xf32>\n", "")
    .replace("%r = arith.addf %s, %z : f32\n", "")
    .replace("memref.store %r", "memref.store %s")
)

GATHERED = """sched.kernel @k(%at: memref<6xi32>, %a: memref<11x9xf32>, %b: memref<9x20xf32>,
    %c: memref<20x6xf32>) {
  %c0 = arith.constant 0 : index
  %c10 = arith.constant 10 : index
  sched.axis %i = 6 {
    sched.axis %j = 20 tile(16) {
      %2 = memref.load %at[%i] : memref<6xi32>
      %3 = arith.index_cast %2 : i32 to index
      %4 = arith.maxsi %3, %c0 : index
      %5 = arith.minsi %4, %c10 : index
      %s = sched.reduce fma %k = 9 : f32 {
        %x = memref.load %a[%5, %k] : memref<11x9xf32>
        %y = memref.load %b[%k, %j] : memref<9x20xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%j, %i] : memref<20x6xf32>
    }
  }
}"""

KERNELS = {
    "a row that an index is loaded of": GATHERED,
    "rows of one that an index is loaded of": GATHERED.replace("20x6xf32", "6x20xf32")
    .replace("%c[%j, %i]", "%c[%i, %j]")
    .replace("tile(16)", "tile(16) vector(4)"),
    "blocks of the depth": BLOCKS,
    "blocks in place": matmul(19, 41, 12, "block(16) tile(8)", "block(32) tile(16) vector(8)").replace(
        "%k = 12", "%k = 12 tile(4)"
    ),
    "blocks of many dims": CONVOLUTION.replace("%p = 3", "%p = 3 tile(2)"),
    "blocks of a vector": VECTOR.replace("%k = 9", "%k = 9 tile(2)"),
    "whole": PLAIN,
    "rest": matmul(19, 41, 10, "tile(8)", "tile(16)"),
    "one tile": matmul(3, 5, 4, "tile(8)", "tile(16)"),
    "blocks": matmul(50, 130, 7, "block(16) tile(8)", "block(48) tile(16)"),
    "one row": matmul(5, 300, 7, "block tile(1)", "block(256) tile(256)"),
    "one column": matmul(5, 3, 7, "tile(2)", "tile(1)"),
    "f64": matmul(9, 21, 6, "block(6) tile(3)", "tile(16)", "f64"),
    "bias": BIAS,
    "two sums": TWO_SUMS,
    "transposed": TRANSPOSED,
    "convolution": CONVOLUTION,
    "panels": PANELS,
    "vector": VECTOR,
    "goes on": GOES_ON,
    "counts": COUNTS,
    "by channels": BY_CHANNELS,
    "stored by channels": STORED_BY_CHANNELS,
}

KERNELS |= {
    f"{name} of {count} places": text.replace(
        "sched.axis %o", f"%count = arith.constant {count} : index\nsched.axis %o", 1
    ).replace("%i = 10 tile(6)", "%i = 10 count %count tile(6)")
    for name, text in (("by channels", BY_CHANNELS), ("stored by channels", STORED_BY_CHANNELS))
    for count in (2, 6, 9, 10)
}

KERNELS |= {
    f"{name}, prefetched": re.sub(r"(sched\.axis .*tile\(\d+\))", r"\1 prefetch", text)
    for name, text in KERNELS.items()
}


def kernel_of(text: str) -> sched.KernelOp:
    module = parse_module(text)
    verify_module(module)
    kernel = module.body.block.first_op
    assert isinstance(kernel, sched.KernelOp)
    return kernel


def lowered(text: str) -> low.KernelOp:
    module = parse_module(text)
    ConvertSchedToLowPass().apply(context(), module)
    verify_module(module)
    kernel = module.body.block.first_op
    assert isinstance(kernel, low.KernelOp)
    return kernel


def arrays_of(kernel: sched.KernelOp) -> list[Array]:
    rng = np.random.default_rng(7)
    arrays: list[Array] = []
    for argument in kernel.body.block.args:
        type = argument.type
        assert isinstance(type, MemRefType)
        values = rng.standard_normal(type.get_shape())
        values.flat[:: max(5, values.size // 3)] = [-0.0, np.inf, np.nan, 3e-40][argument.index % 4]
        arrays.append(values.astype(DTYPES[str(type.element_type)]))
    return arrays


def interpreted(text: str) -> list[Array]:
    kernel = kernel_of(text)
    arrays = arrays_of(kernel)
    interpreter.run_kernel(kernel, arrays)
    return arrays


def assert_same(found: list[Array], expected: list[Array]) -> None:
    for ours, wanted in zip(found, expected, strict=True):
        is_nan = np.isnan(wanted)
        np.testing.assert_array_equal(np.isnan(ours), is_nan)
        assert ours[~is_nan].tobytes() == wanted[~is_nan].tobytes()


@pytest.mark.parametrize("name", KERNELS)
def test_lowered_tiles_give_the_bits_of_serial_axes(name: str) -> None:
    text = KERNELS[name]
    arrays = arrays_of(kernel_of(text))
    kernel = lowered(text)
    assert any(isinstance(op, low.TileFmaOp) for op in kernel.walk())
    run_kernel(kernel, [array.reshape(-1) for array in arrays])
    assert_same(arrays, interpreted(text))


def program_of(text: str) -> str:
    kernel = kernel_of(text)
    types = [argument.type for argument in kernel.body.block.args]
    arguments = ", ".join(f"%x{number}: {type}" for number, type in enumerate(types))
    tensors = ", ".join(str(type).replace("memref", "tensor") for type in types)
    lines = [f"sched.program @main({arguments}) : ({tensors}) -> ({tensors}) {{"]
    for number, type in enumerate(types):
        lines.append(f"%y{number} = sched.buffer global result : {type}")
        lines.append(f"%t{number} = sched.transfer %x{number} to %y{number} after() : {type}")
    names = [f"%y{number}" for number in range(len(types))]
    tokens = ", ".join(f"%t{number}" for number in range(len(types)))
    signature = ", ".join(map(str, types))
    lines.append(f"%t = sched.launch @k({', '.join(names)}) after({tokens}) : {signature}")
    lines.append(f"sched.return {', '.join(names)} after(%t) : {signature}")
    return "\n".join([text, *lines, "}"])


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("name", KERNELS)
def test_compiled_tiles_give_the_bits_of_serial_axes(name: str, backend: str) -> None:
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    text = KERNELS[name]
    found = tenon.compile(program_of(text), backend=backend)(*arrays_of(kernel_of(text)))
    assert_same([np.asarray(each) for each in found], interpreted(text))


def test_a_sum_that_is_only_stored_needs_no_other_buffer():
    ops = [type(op) for op in lowered(KERNELS["rest"]).walk()]
    assert not any(op.name in ("low.alloca", "memref.load", "memref.store") for op in ops)
    assert any(op.name == "low.alloca" for op in lowered(BIAS).walk())


def test_dims_of_the_depth_that_are_one_in_memory_are_one_loop():
    tiles = [op for op in lowered(CONVOLUTION).walk() if isinstance(op, low.TileFmaOp)]
    assert {len(tile.depths) for tile in tiles} == {2}


def prefetches(name: str) -> list[str]:
    """The distinct steps and counts that the tiles of a kernel prefetch of both sides."""
    tiles = [op for op in lowered(KERNELS[f"{name}, prefetched"]).walk() if isinstance(op, low.TileFmaOp)]
    return list(dict.fromkeys(str(tile).partition("prefetch")[2].partition(":")[0] for tile in tiles))


def without_names(texts: list[str]) -> list[str]:
    return [re.sub(r"%\w+", "%", text).strip() for text in texts]


def test_tiles_prefetch_what_the_next_ones_read():
    # A panel of 6 x 16, and 4 rows of 6; nothing of what a tile does not step along whole.
    whole, rows, columns, none = without_names(prefetches("panels"))
    assert whole == "lhs[%, 4, 4] rhs[%, 16, 16]"
    assert (rows, columns, none) == ("lhs[%, 4, 4]", "rhs[%, 16, 16]", "")
    # Three tiles share 8 rows of 7. Rows of the other side lie apart, and each has a piece of the tile.
    assert without_names(prefetches("blocks"))[0] == "lhs[%, 3, 3] rhs[%, 130, 16]"
    # There are more dims of the depth, or blocks of it, of which rows lie apart.
    assert without_names(prefetches("by channels")) == [""]
    assert without_names(prefetches("blocks in place")) == [""]


def test_one_tile_prefetches_a_share_of_the_next_panel():
    text = PANELS.replace("block(4) tile(4)", "block(8) tile(4) prefetch")
    text = text.replace("block(16) tile(16)", "block(16) tile(16) prefetch")
    tiles = [op for op in lowered(text).walk() if isinstance(op, low.TileFmaOp)]
    assert "rhs[%" in str(tiles[0]) and ", 8, 8]" in str(tiles[0])


NAMED = """builtin.module {
  graph.dim @n min 1 max 40
  sched.kernel @k(%n: index, %a: memref<?x9xf32, {dims = #graph.dims<n, 9>}>,
      %b: memref<9x?xf32, {dims = #graph.dims<9, n>}>,
      %c: memref<?x?xf32, {dims = #graph.dims<n, n>}>) dims [n] {
    sched.axis %i = n block(8) tile(4) {
      sched.axis %j = n block(16) tile(16) vector(8) {
        %s = sched.reduce fma %k = 9 : f32 {
          %x = memref.load %a[%i, %k] : memref<?x9xf32, {dims = #graph.dims<n, 9>}>
          %y = memref.load %b[%k, %j] : memref<9x?xf32, {dims = #graph.dims<9, n>}>
          sched.yield %x, %y : f32
        }
        EPILOGUE
        memref.store %r, %c[%i, %j] : memref<?x?xf32, {dims = #graph.dims<n, n>}>
      }
    }
  }
}"""


@pytest.mark.parametrize("depth", ["", " tile(4)"])
@pytest.mark.parametrize("epilogue", ["%r = arith.negf %s : f32", ""])
@pytest.mark.parametrize(
    "rows", ["block(8) tile(4)", "block(30) tile(15)", "block(20) tile(20)", "block(3) tile(3)"]
)
def test_extents_that_are_known_when_a_kernel_runs(epilogue: str, depth: str, rows: str) -> None:
    text = NAMED.replace("EPILOGUE", epilogue).replace("%k = 9", f"%k = 9{depth}")
    text = text.replace("block(8) tile(4)", rows)
    text = text if epilogue else text.replace("%r,", "%s,")
    module, low_module = parse_module(text), parse_module(text)
    ConvertSchedToLowPass().apply(context(), low_module)
    (kernel,) = (op for op in module.walk() if isinstance(op, sched.KernelOp))
    (low_kernel,) = (op for op in low_module.walk() if isinstance(op, low.KernelOp))
    rng = np.random.default_rng(0)
    for n in (1, 2, 4, 5, 7, 8, 9, 15, 16, 23, 24, 29, 31, 33, 39, 40):
        a, b = rng.standard_normal((n, 9)).astype("f"), rng.standard_normal((9, n)).astype("f")
        expected, found = np.zeros((n, n), "f"), np.zeros((n, n), "f")
        size = np.asarray(n)
        interpreter.run_kernel(kernel, [size, a, b, expected])
        run_kernel(low_kernel, [size, a.reshape(-1), b.reshape(-1), found.reshape(-1)])
        assert_same([found], [expected])


def ops_for_rows(rows: str) -> tuple[list[tuple[int, bool]], int]:
    """Returns how many rows each tile has, whether it may lack some, and how many ops follow the sums."""
    text = NAMED.replace("EPILOGUE", "%r = arith.negf %s : f32")
    module = parse_module(text.replace("block(8) tile(4)", rows))
    ConvertSchedToLowPass().apply(context(), module)
    ops = list(module.walk())
    tiles = [(op.rows.value.data, op.live_rows is not None) for op in ops if isinstance(op, low.TileFmaOp)]
    return tiles, len([op for op in ops if isinstance(op, arith.NegfOp)])


def test_rows_that_are_left_over_are_tiles_that_lack_some() -> None:
    found = {rows: ops_for_rows(f"block({2 * rows}) tile({rows})")[0] for rows in (2, 4, 6, 9, 14)}
    assert {rows: sorted(set(tiles), reverse=True) for rows, tiles in found.items()} == {
        2: [(2, True), (1, False)],
        4: [(4, True), (1, False)],
        6: [(6, True), (4, True), (1, False)],
        9: [(9, True), (8, True), (4, True), (1, False)],
        14: [(14, True), (8, True), (4, True), (1, False)],
    }
    # What follows the sums is there once for tiles, and once for all that is left.
    followed = {ops_for_rows(f"block({2 * rows}) tile({rows})")[1] for rows in (2, 4, 6, 9, 14)}
    assert len(followed) == 1


def test_tiles_for_rows_that_are_left_over_are_half_full_at_least() -> None:
    for most in range(1, 100):
        sizes = sizes_of_rows(most)
        assert sizes[0] == most and sizes[-1] == 1 and len(sizes) <= 8
        assert all(size > smaller for size, smaller in pairwise(sizes))
        # A tile takes one row more than the next smaller one has room for, or more.
        assert all(2 * (smaller + 1) >= size for size, smaller in pairwise(sizes))


OPEN_ROWS = """builtin.module {
  graph.dim @n min 1 max 40
  sched.kernel @k(%n: index, %a: memref<?x64xf32, {dims = #graph.dims<n, 64>}>, %b: memref<4x64x16xf32>,
      %c: memref<?x64xf32, {dims = #graph.dims<n, 64>}>) dims [n] {
    %c16 = arith.constant 16 : index
    sched.axis %i = n block(24) tile(12) prefetch {
      sched.axis %j = 64 block(16) tile(16) prefetch vector(8) {
        %panel = arith.divui %j, %c16 : index
        %column = arith.remui %j, %c16 : index
        %s = sched.reduce fma %k = 64 : f32 {
          %x = memref.load %a[%i, %k] : memref<?x64xf32, {dims = #graph.dims<n, 64>}>
          %y = memref.load %b[%panel, %k, %column] : memref<4x64x16xf32>
          sched.yield %x, %y : f32
        }
        memref.store %s, %c[%i, %j] : memref<?x64xf32, {dims = #graph.dims<n, 64>}>
      }
    }
  }
}"""


def open_tiles(text: str) -> list[low.TileFmaOp]:
    module = parse_module(text)
    ConvertSchedToLowPass().apply(context(), module)
    return [op for op in module.walk() if isinstance(op, low.TileFmaOp)]


def test_a_tile_of_rows_that_are_left_over_fetches_all_of_the_next_panel() -> None:
    tiles = open_tiles(OPEN_ROWS)
    counts = {op.rows.value.data: op.rhs_next_steps and op.rhs_next_steps.get_values()[1] for op in tiles}
    assert counts == {12: 8, 8: 16, 4: 16, 1: 16}


def test_only_tiles_of_few_rows_fetch_their_own_panel_ahead() -> None:
    ahead = "memref.load %b[%panel, %k, %column] {tenon.prefetch = 512 : index}"
    tiles = open_tiles(OPEN_ROWS.replace("memref.load %b[%panel, %k, %column]", ahead))
    found = [(op.rows.value.data, op.ahead and op.ahead.value.data, op.rhs_next is not None) for op in tiles]
    first, others = (12, 512, False), (12, None, True)
    # The fewer rows, the sooner comes a step.
    left = [(8, 1024, False), (4, 1536, False), (1, 2048, False)]
    assert found == [first, others, *left]
    # Neither what it reads itself nor what the next tile does.
    no_one = OPEN_ROWS.replace(
        "memref.load %b[%panel, %k, %column]",
        "memref.load %b[%panel, %k, %column] {tenon.prefetch = 512 : index, tenon.prefetch_rows = 4 : index}",
    )
    tiles = open_tiles(no_one)
    found = [(op.rows.value.data, op.ahead and op.ahead.value.data, op.rhs_next is not None) for op in tiles]
    assert found == [first, others, *left[:-1], (1, None, False)]


REFUSED = [
    (
        "axis %o cannot be tile(8) vector(4) (it is a vector, and what is multiplied steps by 12 and 0 along "
        "it, and by 0 and 2 along the columns (expected 0 and 1, anything and 0))",
        STORED_BY_CHANNELS.replace(
            "%w[%p, %c, %k, %l] : memref<2x4x3x8xf32>", "%w[%o, %c, %k] : memref<13x4x3xf32>"
        ).replace("%w: memref<2x4x3x8xf32>", "%w: memref<13x4x3xf32>"),
    ),
    (
        "axis %o cannot be tile(8) vector(4) (it is a vector, and a sum starts from another value than 0)",
        BY_CHANNELS.replace("%s = sched.reduce fma %c = 4 :", "%s = sched.reduce fma %c = 4 init(%z) :")
        .replace("%z = memref.load %bias[%o] : memref<13xf32>\n", "")
        .replace("%p = arith.divui", "%z = memref.load %bias[%o] : memref<13xf32>\n%p = arith.divui"),
    ),
    (
        "axis %j cannot be tile(16) (blocks of the depth are for one sum that starts from 0.0)",
        GOES_ON.replace("%k = 8", "%k = 8 tile(4)"),
    ),
    (
        "axis %i cannot be block(12) tile(8) (12 is no multiple of 8)",
        matmul(40, 32, 10, "block(12) tile(8)", "tile(16)"),
    ),
    (
        "axis %j cannot be tile(16) (a reduction by fma vector(2) in it, expected fma in serial order)",
        PLAIN.replace("%k = 10", "%k = 10 vector(2)"),
    ),
    (
        "axis %j cannot be tile(16) (what is multiplied steps by 7 and 1 along it, expected 0 and 1)",
        PLAIN.replace("%b[%k, %j] : memref<10x32xf32>", "%b[%j, %k] : memref<32x7xf32>")
        .replace("%a[%i, %k] : memref<16x10xf32>", "%a[%k, %j] : memref<10x32xf32>")
        .replace(
            "%a: memref<16x10xf32>, %b: memref<10x32xf32>", "%a: memref<10x32xf32>, %b: memref<32x7xf32>"
        )
        .replace("%k = 10", "%k = 7"),
    ),
    (
        "axis %j cannot be tile(16) (what is contiguous along it steps by 320 from row to row)",
        PLAIN.replace("%b[%k, %j] : memref<10x32xf32>", "%b[%i, %k, %j] : memref<16x10x32xf32>").replace(
            "%b: memref<10x32xf32>", "%b: memref<16x10x32xf32>"
        ),
    ),
    (
        "axis %j cannot be tile(16) (arith.negf is multiplied, expected what is loaded)",
        PLAIN.replace("sched.yield %x, %y", "%z = arith.negf %x : f32\nsched.yield %z, %y"),
    ),
    (
        "axis %j cannot be tile(16) (four bits of bytes are multiplied that are not contiguous along it)",
        NIBBLES.replace("AT_A", "%i, %k").replace("AT_B", "%k2, %j").replace("AXIS", "tile(8)"),
    ),
    (
        "axis %i cannot be tile(8) vector(8) (four bits of bytes are multiplied that are not contiguous "
        "along it)",
        NIBBLES.replace("AT_A", "%k, %j").replace("AT_B", "%k2, %i").replace("AXIS", "tile(8) vector(8)"),
    ),
    (
        "axis %j cannot be tile(16) (nothing in it is a sum of products)",
        """
      sched.kernel @k(%a: memref<32xf32>) {
        sched.axis %j = 32 tile(16) {
          %x = memref.load %a[%j] : memref<32xf32>
          memref.store %x, %a[%j] : memref<32xf32>
        }
      }""",
    ),
    (
        "axis %i cannot be tile(4) (memref.store stands beside axis %j)",
        BIAS.replace("sched.axis %j", "memref.store %z, %scale[%i] : memref<6xf32>\nsched.axis %j"),
    ),
    (
        "axis %j cannot be tile(24) vector(8) (sched.alloc in it, expected sums and what follows them)",
        BIAS.replace("%v = memref.load", "%l = sched.alloc local : memref<4xf32>\n%v = memref.load"),
    ),
    (
        "axis %i cannot be tile(4) (axis %o around it runs in lanes)",
        BIAS.replace(
            "sched.axis %i = 6 tile(4) {", "sched.axis %o = 2 unroll(2) {\nsched.axis %i = 6 tile(4) {"
        )
        + "}",
    ),
    (
        "axis %i cannot be tile(4) (2 axes in it are columns, expected one)",
        BIAS.replace("sched.axis %j", "sched.axis %m = 3 tile(3) {\n}\nsched.axis %j"),
    ),
    (
        "axis %j cannot be tile(16) (a sum starts from what is not the element that it is stored to)",
        GOES_ON.replace(
            "memref.store %s, %c[%i, %j]", "%r = arith.negf %s : f32\nmemref.store %r, %c[%i, %j]"
        ),
    ),
    (
        "axis %j cannot be block(16) tile(16) (memref.load is not linear along %j in a tile)",
        PANELS.replace("constant 16", "constant 10").replace("3x6x16", "4x6x10"),
    ),
    (
        "axis %j cannot be block(16) tile(16) (memref.load is not linear along %k)",
        PANELS.replace(
            "%x = memref.load %a[%i, %k]", "%k2 = arith.divui %k, %w : index\n%x = memref.load %a[%i, %k2]"
        )
        .replace("%k = 6", "%k = 60")
        .replace("3x6x16", "3x60x16"),
    ),
]


@pytest.mark.parametrize(("message", "text"), REFUSED, ids=[message for message, _ in REFUSED])
def test_what_is_no_tile_is_an_error_that_says_why(message: str, text: str) -> None:
    with pytest.raises(PassFailedException) as caught:
        lowered(text)
    assert f"sched.axis: {message}" in str(caught.value)


def test_an_index_of_each_lane_is_no_tile():
    text = GATHERED.replace("%at[%i] : memref<6xi32>", "%at[%j] : memref<20xi32>").replace("6xi32", "20xi32")
    with pytest.raises(PassFailedException, match=r"memref.load is not linear along %j in a tile"):
        lowered(text.replace("220xi32", "20xi32"))


def test_tiles_have_the_same_bits_on_every_width_of_vectors():
    from tenon.backends.llvm.device import cpu_device
    from tenon.backends.llvm.renderer import LLVMRenderer

    module = parse_module(str(lowered(BIAS)))
    texts = {
        LLVMRenderer().render(module, cpu_device(target))
        for target in ("x86-64-v2", "x86-64-v3", "x86-64-v4")
    }
    assert len(texts) == 3
