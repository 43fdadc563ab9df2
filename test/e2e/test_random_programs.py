"""Random programs give numpy's results at every level and on every backend."""

from __future__ import annotations

import pytest
import tenon
from hypothesis import HealthCheck, given, settings

from .random_programs import Program, assert_agrees, programs

WAYS = {
    "graph": {"backend": "reference"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}


def check(program: Program, way: str) -> None:
    executable = tenon.compile(program.text, **WAYS[way])
    assert_agrees(program, executable(*[value.array for value in program.inputs]))


@pytest.mark.parametrize("way", ["graph", "sched", "low", "llvm"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_program_agrees_with_numpy(way: str, program: Program) -> None:
    check(program, way)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_program_agrees_with_numpy_on_opencl(program: Program) -> None:
    check(program, "opencl")
