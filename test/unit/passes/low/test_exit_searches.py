"""Loops that look for a first index are left once they have found it, and find the same one."""

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm import backend
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.low.exit_searches import ExitSearchesPass
from tenon.passes.machine.groups import GroupLimits
from tenon.passes.machine.target import Target
from tenon.passes.pipeline import low_passes
from tenon.test.kernels import interpret_kernel, launch_kernel, passed
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp

CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "another start": (("%a = %none", "%a = %steps"),),
    "another index where there is none": (("%high, %none :", "%high, %steps :"),),
    "a greatest index": (("arith.minsi", "arith.maxsi"),),
    "an index that goes down": (("arith.addi %at, %steps", "arith.subi %steps, %at"),),
    "indices of the next iteration": (
        ("%high = arith.addi %next, %steps", "%high = arith.addi %next, %far"),
    ),
    "indices of the iteration before": (("%low = arith.addi %at, %steps", "%low = arith.addi %at, %before"),),
    "indices of 8 bits, which do not hold them": (
        ("i32", "i8"),
        ("2147483647", "127"),
        ("24xf32", "140xf32"),
        ("%c24 = arith.constant 24", "%c24 = arith.constant 128"),
    ),
    "a search of each lane": (
        ("%least = vector.reduction <minsi>, %first", "%least = vector.reduction <maxsi>, %first"),
    ),
    "lanes that are read": (
        (
            "%least = vector",
            "vector.store %first, %lanes[%c0] : memref<4xi32>, vector<4xi32>\n%least = vector",
        ),
        ("%found: memref", "%lanes: memref<4xi32>, %found: memref"),
    ),
    "two searches": (("%first = arith.minsi %f, %g", "%first = arith.addi %f, %g"),),
    "a store": (
        ("%high = arith.addi", "memref.store %zero, %found[%c0] : memref<1xi32>\n%high = arith.addi"),
    ),
    "an end that is not known": (("to %c24 step", "to %end step"),),
    "no iteration": (("to %c24 step", "to %c0 step"),),
}
"""What makes a loop one that is not left early."""


def kernel(*changes: tuple[str, str]) -> str:
    """Looks for a number among 24, in two vectors of four at a time."""
    text = """
low.kernel @k(%x: memref<24xf32>, %of: memref<1xf32>, %found: memref<1xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c24 = arith.constant 24 : index
  %end = low.block_id x
  %zero = arith.constant 0 : i32
  %none = arith.constant dense<2147483647> : vector<4xi32>
  %steps = arith.constant dense<[0, 1, 2, 3]> : vector<4xi32>
  %far = arith.constant dense<[1, 2, 3, 4]> : vector<4xi32>
  %before = arith.constant dense<[-1, 0, 1, 2]> : vector<4xi32>
  %one = memref.load %of[%c0] : memref<1xf32>
  %wanted = vector.broadcast %one : f32 to vector<4xf32>
  %f, %g = scf.for %j = %c0 to %c24 step %c8
      iter_args(%a = %none, %b = %none) -> (vector<4xi32>, vector<4xi32>) {
    %k = arith.addi %j, %c4 : index
    %v = vector.load %x[%j] : memref<24xf32>, vector<4xf32>
    %w = vector.load %x[%k] : memref<24xf32>, vector<4xf32>
    %is_v = arith.cmpf oeq, %v, %wanted : vector<4xf32>
    %is_w = arith.cmpf oeq, %w, %wanted : vector<4xf32>
    %i = arith.index_cast %j : index to i32
    %at = vector.broadcast %i : i32 to vector<4xi32>
    %low = arith.addi %at, %steps : vector<4xi32>
    %l = arith.index_cast %k : index to i32
    %next = vector.broadcast %l : i32 to vector<4xi32>
    %high = arith.addi %next, %steps : vector<4xi32>
    %p = low.select %is_v, %low, %none : vector<4xi32>
    %q = low.select %is_w, %high, %none : vector<4xi32>
    %m = arith.minsi %a, %p : vector<4xi32>
    %n = arith.minsi %b, %q : vector<4xi32>
    scf.yield %m, %n : vector<4xi32>, vector<4xi32>
  }
  %first = arith.minsi %f, %g : vector<4xi32>
  %least = vector.reduction <minsi>, %first : vector<4xi32> into i32
  memref.store %least, %found[%c0] : memref<1xi32>
}"""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def changed(text: str) -> ModuleOp:
    return passed(text, ExitSearchesPass())


def searches(module: ModuleOp) -> int:
    return sum(isinstance(op, scf.WhileOp) for op in module.walk())


def first(module: ModuleOp, x: Any, wanted: float, on_llvm: bool) -> int:
    arrays = [x, np.array([wanted], np.float32), np.zeros(1, np.int32)]
    if on_llvm:
        launch_kernel(backend(), module, *arrays)
    else:
        interpret_kernel(module, *arrays)
    return int(arrays[2][0])


@pytest.mark.parametrize("on_llvm", [False, True])
def test_the_first_index_is_found_wherever_it_is(on_llvm: bool) -> None:
    module = changed(kernel())
    assert searches(module) == 1
    assert searches(parse_module(str(module), "again.mlir")) == 1
    for place in range(24):
        x = np.zeros(24, np.float32)
        x[place] = x[(place * 7 + 11) % 24] = x[-1] = 3
        assert first(module, x, 3, on_llvm) == int(np.flatnonzero(x == 3)[0])
    for x, wanted in ((np.zeros(24, np.float32), 3), (np.full(24, np.nan, np.float32), np.nan)):
        assert first(module, x, wanted, on_llvm) == 2**31 - 1


@pytest.mark.parametrize("change", CHANGES)
def test_other_loops_are_left_alone(change: str) -> None:
    assert not searches(changed(kernel(*CHANGES[change])))


def test_loops_of_scalars_are_left_alone() -> None:
    text = kernel(("vector<4xi32>", "i32"), ("vector<4xf32>", "f32"))
    for old, new in (
        ("dense<2147483647>", "2147483647"),
        ("dense<[0, 1, 2, 3]>", "0"),
        ("dense<[1, 2, 3, 4]>", "1"),
        ("dense<[-1, 0, 1, 2]>", "-1"),
        ("vector.load %x[%j] : memref<24xf32>, f32", "memref.load %x[%j] : memref<24xf32>"),
        ("vector.load %x[%k] : memref<24xf32>, f32", "memref.load %x[%k] : memref<24xf32>"),
        (
            "%least = vector.reduction <minsi>, %first : i32 into i32",
            "%least = arith.minsi %first, %first : i32",
        ),
        ("%at = vector.broadcast %i : i32 to i32", "%at = arith.addi %i, %zero : i32"),
        ("%next = vector.broadcast %l : i32 to i32", "%next = arith.addi %l, %zero : i32"),
        ("%wanted = vector.broadcast %one : f32 to f32", "%wanted = arith.addf %one, %one : f32"),
    ):
        assert old in text
        text = text.replace(old, new)
    assert not searches(changed(text))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint8, np.int64, bool])
@pytest.mark.parametrize("shape", [(5, 1000), (3, 4097), (1, 30011)])
def test_rows_are_searched_as_by_numpy(name: str, dtype: Any, shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(11)
    x = generator.integers(0, 90, shape).astype(dtype)
    x[-1] = x[-1, 0]
    if np.dtype(dtype).kind == "f":
        x[0, shape[1] // 2 :: 7] = np.nan
        x[-1, 3:] = -x[-1, 3:] * 0
    found = tenon.jit(lambda x: getattr(tnp, name)(x, axis=1))
    np.testing.assert_array_equal(found(x), getattr(np, name)(x, axis=1))
    assert "scf.while" in found.lower(x).text("low")


def test_columns_are_searched_apart() -> None:
    x = np.random.default_rng(13).integers(0, 3, (211, 48)).astype(np.float32)
    for dtype in (np.float32, bool, np.int8):
        found = tenon.jit(lambda x: tnp.argmax(x, axis=0))(x.astype(dtype))
        np.testing.assert_array_equal(found, x.astype(dtype).argmax(0))
        rows = np.ascontiguousarray(x.astype(dtype).T)
        found = tenon.jit(lambda x: tnp.argmin(tnp.permute_dims(x, (1, 0)), axis=0))(rows)
        np.testing.assert_array_equal(found, rows.T.argmin(0))


def test_two_searches_of_one_row_both_go_on() -> None:
    x = np.random.default_rng(12).normal(size=(7, 3001)).astype(np.float32)
    both = tenon.jit(lambda x: (tnp.argmax(x, axis=1), tnp.argmin(x, axis=1)))
    for found, wanted in zip(both(x), (x.argmax(1), x.argmin(1)), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_only_processors_leave_early() -> None:
    on_processor, on_gpu = (
        [each.name for each in low_passes(Target(groups=groups))] for groups in (None, GroupLimits())
    )
    assert ExitSearchesPass.name in on_processor
    assert ExitSearchesPass.name not in on_gpu
