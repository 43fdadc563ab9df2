"""Random programs give numpy's results at every level and on every backend."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from hypothesis import HealthCheck, given, settings

from .random_programs import Program, programs

WAYS = {
    "graph": {"backend": "reference"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}


def check(program: Program, way: str) -> None:
    executable = tenon.compile(program.text, **WAYS[way])
    results = executable(*[value.array for value in program.inputs])
    for expected, found in zip(
        program.results, results if len(program.results) > 1 else (results,), strict=True
    ):
        assert found.dtype == expected.array.dtype and found.shape == expected.array.shape
        if expected.exact:
            np.testing.assert_array_equal(found, expected.array, err_msg=program.text)
        else:
            finite = expected.array[np.isfinite(expected.array)]
            scale = float(np.abs(finite).max()) if finite.size else 1.0
            np.testing.assert_allclose(
                found, expected.array, rtol=2e-5, atol=2e-5 * max(scale, 1.0), err_msg=program.text
            )


@pytest.mark.parametrize("way", ["graph", "sched", "low", "llvm"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_program_agrees_with_numpy(way: str, program: Program) -> None:
    check(program, way)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_program_agrees_with_numpy_on_opencl(program: Program) -> None:
    check(program, "opencl")
