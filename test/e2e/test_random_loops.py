"""Random programs with loops and branches give numpy's results at every level and on every backend."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from hypothesis import HealthCheck, given, settings
from tenon.backends.reference.execute import run_module
from tenon.dialects import context
from tenon.passes.instruments.verify_semantics import VerifySemantics
from tenon.passes.pass_manager import PassManager

from .random_loops import LoopProgram, loop_programs

WAYS = {
    "graph": {"backend": "reference"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}


def check(program: LoopProgram, way: str) -> None:
    with tenon.compile(program.text, **WAYS[way]) as executable:
        for _ in range(2):
            results = executable(*[array.copy() for array in program.inputs])
            found = results if isinstance(results, tuple) else (results,)
            for a, b in zip(found, program.results, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=program.text)


@pytest.mark.parametrize("way", ["graph", "sched", "low", "llvm"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=loop_programs())
def test_random_loops_agree_with_numpy(way: str, program: LoopProgram) -> None:
    check(program, way)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=loop_programs())
def test_random_loops_agree_with_numpy_on_opencl(program: LoopProgram) -> None:
    check(program, "opencl")


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=loop_programs())
def test_no_pass_changes_what_random_loops_compute(program: LoopProgram) -> None:
    """What `--verify-semantics` does: the module is run before and after every pass."""

    module = tenon.parse_module(program.text)
    PassManager("default-pipeline", [VerifySemantics(run_module)]).run(context(), module)
