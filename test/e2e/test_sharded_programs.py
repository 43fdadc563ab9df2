"""Random programs over a mesh, split at random, give what they give on one rank."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .random_loops import LoopProgram, loop_programs
from .random_programs import Program, assert_agrees, programs
from .sharded_programs import annotated, run_sharded


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(max_steps=10), data=st.data())
def test_random_programs_over_a_mesh_agree_with_numpy(program: Program, data: st.DataObject) -> None:
    text = data.draw(annotated(program.text))
    shapes = [value.array.shape for value in program.results]
    found, _ = run_sharded(text, [value.array for value in program.inputs], shapes, allow_gather=True)
    assert_agrees(program, found if len(found) > 1 else found[0])


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=loop_programs(), data=st.data())
def test_random_loops_over_a_mesh_agree_with_numpy(program: LoopProgram, data: st.DataObject) -> None:
    text = data.draw(annotated(program.text))
    shapes = [array.shape for array in program.results]
    found, _ = run_sharded(text, program.inputs, shapes, allow_gather=True)
    for one, other in zip(found, program.results, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=text)
