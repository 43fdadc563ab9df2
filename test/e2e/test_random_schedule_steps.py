"""
Random legal schedules change no bit of what kernels compute, but for sums that are told that they may; and
what they lower to computes the same on every backend.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest
import tenon
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tenon import Schedule
from tenon.backends.reference.kernels import low as low_interpreter
from tenon.backends.reference.kernels.sched import run_kernel
from tenon.dialects import sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low.lowering.kernel import lower_kernel
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from tenon.passes.sched.steps.kernels import kernels_of
from tenon.semantics.numpy_types import storage_dtype
from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.passes import ModulePass

from .random_kernels import SIZED_KERNELS, kernel_texts
from .random_programs import Program, programs
from .random_schedules import schedule_at_random

Array = np.ndarray[Any, np.dtype[Any]]

SEEDS = st.integers(0, 1 << 30)


def arguments_of(kernel: sched.KernelOp, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    arrays: list[Array] = []
    for argument in kernel.body.block.args:
        type = argument.type
        assert isinstance(type, MemRefType)
        shape, dtype = type.get_shape(), storage_dtype(type.element_type)
        if dtype.kind == "f":
            arrays.append(rng.standard_normal(shape).astype(dtype))
        else:
            arrays.append(rng.integers(-(1 << 31), 1 << 31, shape).astype(dtype))
    return arrays


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS, may_reorder=st.booleans())
@example(seed=134, may_reorder=False).via("a tile of one row, of rows of a number that varies")
def test_scheduled_kernels_compute_what_they_did(seed: int, may_reorder: bool) -> None:
    for text in kernel_texts(Random(seed)):
        schedule = Schedule(text)
        schedule_at_random(schedule, seed, may_reorder=may_reorder)
        where = f"{schedule.steps}\n{schedule}"
        verify_module(parse_module(repr(schedule)))
        original = Schedule(text).kernel
        arrays = arguments_of(original, seed)
        expected = [array.copy() for array in arrays]
        run_kernel(original, expected)
        found = [array.copy() for array in arrays]
        run_kernel(schedule.kernel, found)
        lowered = [array.reshape(-1).copy() for array in arrays]
        low_interpreter.run_kernel(lower_kernel(schedule.kernel), lowered)
        for wanted, array, flat in zip(expected, found, lowered, strict=True):
            assert array.tobytes() == flat.tobytes(), where
            if schedule.keeps_order:
                assert array.tobytes() == wanted.tobytes(), where
            else:
                np.testing.assert_allclose(array, wanted, rtol=1e-3, atol=1e-4, err_msg=where)
        assert repr(Schedule(text).replay(schedule.steps)) == repr(schedule)


@settings(max_examples=10, deadline=None)
@given(seed=SEEDS)
def test_scheduled_kernels_over_named_dims_compute_what_they_did(seed: int) -> None:
    for text in SIZED_KERNELS:
        schedule = Schedule(text)
        schedule_at_random(schedule, seed)
        lowered = lower_kernel(schedule.kernel)
        for n in (1, 3, 7, 20):
            size = np.asarray(n, np.int64)
            x = np.random.default_rng(seed).standard_normal((n, 2 * n)).astype(np.float32)
            expected, found, flat = np.zeros_like(x), np.zeros_like(x), np.zeros(x.size, np.float32)
            run_kernel(Schedule(text).kernel, [size, x, expected])
            run_kernel(schedule.kernel, [size, x, found])
            low_interpreter.run_kernel(lowered, [size, x.reshape(-1), flat])
            assert expected.tobytes() == found.tobytes() == flat.tobytes(), f"n {n}\n{schedule}"


@dataclass(frozen=True)
class ScheduleAtRandom(ModulePass):
    """Schedules all kernels of a module."""

    name = "schedule-at-random"
    seed: int
    shares: bool

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for number, kernel in enumerate(kernels_of(op).values()):
            schedule_at_random(Schedule(kernel), self.seed + number, steps=4, shares=self.shares)


def passes(seed: int, backend: str) -> PassManager:
    """Returns the default passes with a schedule of all kernels; `llvm` has no barriers."""
    schedule = ScheduleAtRandom(seed, backend != "llvm")
    return PassManager([pass_ for phase in phases(schedule=schedule).values() for pass_ in phase])


def check(program: Program, seed: int, backend: str) -> None:
    arrays = [value.array for value in program.inputs]
    reference = tenon.compile(program.text, backend="reference", pipeline=passes(seed, backend))
    expected = reference(*arrays)
    found = tenon.compile(program.text, backend=backend, pipeline=passes(seed, backend))(*arrays)
    if len(program.results) == 1:
        expected, found = (expected,), (found,)
    for result, wanted, value in zip(found, expected, program.results, strict=True):
        assert np.asarray(result).tobytes() == np.asarray(wanted).tobytes(), reference.stages["low"]
        if value.exact:
            np.testing.assert_array_equal(np.asarray(result), value.array)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(), seed=SEEDS)
def test_scheduled_programs_have_the_bits_of_the_reference_on_llvm(program: Program, seed: int) -> None:
    check(program, seed, "llvm")


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(), seed=SEEDS)
def test_scheduled_programs_have_the_bits_of_the_reference_on_opencl(program: Program, seed: int) -> None:
    check(program, seed, "opencl")


def test_what_is_no_remainder_is_the_same_nan_as_in_the_reference_on_opencl() -> None:
    text = """
    func.func @main(%x: tensor<9xf32>, %y: tensor<9xf32>) -> (tensor<9xf32>, tensor<9xf32>) {
      %0 = graph.mod %x, %y : tensor<9xf32>
      %1 = graph.rem %x, %y : tensor<9xf32>
      func.return %0, %1 : tensor<9xf32>, tensor<9xf32>
    }
    """
    x = np.array([-5, 0, 4, -0.0, 6, np.inf, -np.inf, np.nan, 0], np.float32)
    y = np.array([0, 0, 0, 0, -0.0, 3, 2, 1, np.nan], np.float32)
    expected, found = (tenon.compile(text, backend=each)(x, y) for each in ("reference", "opencl"))
    for wanted, result in zip(expected, found, strict=True):
        assert np.isnan(wanted).all()
        assert np.asarray(result).tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_gives_the_same_steps(seed: int) -> None:
    for text in kernel_texts(Random(seed)):
        first, second = Schedule(text), Schedule(text)
        schedule_at_random(first, seed)
        schedule_at_random(second, seed)
        assert first.steps == second.steps
