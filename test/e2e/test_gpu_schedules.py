"""GPU schedules, on devices that are none: the results of the other schedules, and the interpreters' bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from hypothesis import HealthCheck, given, settings
from tenon.test.gpus import opencl_as_gpu

from .random_programs import Program, assert_agrees, programs

pytest.importorskip("pyopencl")

Array = np.ndarray[Any, np.dtype[Any]]

TO_SCHED = "graph-pipeline,sched-pipeline{{target=gpu vector-nbytes=16 max-items={items}}}"
"""The passes to `sched`; few work-items of a group make several rounds of a short axis."""


@pytest.mark.parametrize("items", [4, 64])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_programs_agree_with_numpy_in_the_interpreters(items: int, program: Program) -> None:
    arrays = [value.array for value in program.inputs]
    to_sched = TO_SCHED.format(items=items)
    for pipeline in (to_sched, f"{to_sched},low-pipeline"):
        executable = tenon.compile(program.text, backend="reference", pipeline=pipeline)
        assert_agrees(program, executable(*arrays))


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_programs_agree_with_numpy_on_opencl(program: Program) -> None:
    executable = tenon.compile(program.text, backend=opencl_as_gpu())
    assert_agrees(program, executable(*[value.array for value in program.inputs]))
