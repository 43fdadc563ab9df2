"""GPU schedules, on devices that are none: the results of the other schedules, and the interpreters' bits."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tenon
from hypothesis import HealthCheck, given, settings
from tenon.backends.interface import Backend, DeviceKind
from tenon.backends.registry import get_backend

from .random_programs import Program, programs

pytest.importorskip("pyopencl")

Array = np.ndarray[Any, np.dtype[Any]]

TO_SCHED = "graph-pipeline,sched-pipeline{{target=gpu vector-nbytes=16 max-items={items}}}"
"""The passes to `sched`; few work-items of a group make several rounds of a short axis."""


@functools.cache
def opencl() -> Backend:
    """A device that is said to be a GPU."""
    found = get_backend("opencl")
    device = replace(
        found.device,  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]
        kind=DeviceKind.GPU,
        vector_nbytes=16,
        max_items=64,
        max_shared_nbytes=32768,
        group_multiple=32,
        n_units=16,
    )
    return replace(found, device=device)


def assert_agrees(program: Program, results: Any) -> None:
    found_all = results if len(program.results) > 1 else (results,)
    for expected, found in zip(program.results, found_all, strict=True):
        assert found.dtype == expected.array.dtype and found.shape == expected.array.shape
        if expected.exact:
            np.testing.assert_array_equal(found, expected.array, err_msg=program.text)
        else:
            finite = expected.array[np.isfinite(expected.array)]
            scale = float(np.abs(finite).max()) if finite.size else 1.0
            np.testing.assert_allclose(
                found, expected.array, rtol=2e-5, atol=2e-5 * max(scale, 1.0), err_msg=program.text
            )


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
    executable = tenon.compile(program.text, backend=opencl())
    assert_agrees(program, executable(*[value.array for value in program.inputs]))
