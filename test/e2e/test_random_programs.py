"""Random programs give numpy's results at every level and on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from hypothesis import HealthCheck, given, settings

from .random_elementwise import ROWS, TYPES, add_elementwise, family_of, types_of
from .random_programs import Program, Value, Writer, assert_agrees, programs

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


def each_row() -> list[Any]:
    return [pytest.param(op, type, id=f"{op.name}-{type}") for op in ROWS for type in types_of(op)]


@pytest.mark.parametrize(("op", "type"), each_row())
def test_an_elementwise_op_of_random_programs_agrees_with_numpy(op: Any, type: str) -> None:
    """So each of them is drawn: there are operands that its row takes."""
    writer = Writer(lambda strategy: pytest.fail("nothing is left to draw"))
    least = 0 if type in ("ui32", "i1") else -6
    numbers = np.random.default_rng(1).integers(least, 2 if type == "i1" else 7, (family_of(op)[0], 33))
    values = [Value(f"x{n}", type, row.astype(TYPES[type]), True) for n, row in enumerate(numbers)]
    writer.program.inputs.extend(values)
    assert ROWS[op].takes(values)
    add_elementwise(writer, op, values)
    writer.program.results = writer.program.values[-1:]
    assert op.name in writer.program.text
    for way in ("graph", "llvm"):
        check(writer.program, way)


@pytest.mark.parametrize("way", ["graph", "sched", "low", "llvm"])
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_program_agrees_with_numpy(way: str, program: Program) -> None:
    check(program, way)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs())
def test_random_program_agrees_with_numpy_on_opencl(program: Program) -> None:
    check(program, "opencl")
