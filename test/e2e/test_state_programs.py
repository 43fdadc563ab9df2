"""Random programs that read and write tensor nodes do what numpy does, at every level."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from hypothesis import given, settings
from tenon.backends.reference.execute import run_module
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from tenon.runtime.plan.plan_reader import plan_program

from .state_programs import StateProgram, state_programs

PIPELINES = {
    "graph": "",
    "simple": "simplify-nodes",
    "better graph": "graph-pipeline",
    "cse": "cse,dce,canonicalize,simplify-nodes,dce",
    "sched": "convert-graph-to-sched",
    "planned": "graph-pipeline,sched-pipeline",
    "low": "default-pipeline",
}


@pytest.mark.parametrize("level", PIPELINES)
@given(program=state_programs())
def test_random_programs_over_nodes_do_what_numpy_does(level: str, program: StateProgram):
    module = parse_module(program.text)
    verify_module(module)
    if PIPELINES[level]:
        PassManager(PIPELINES[level]).run(context(), module)
        verify_module(module)
        assert str(parse_module(str(module))) == str(module)
    nodes = {name: array.copy() for name, array in program.before.items()}
    results = run_module(module, "step", [program.argument], nodes, program.merge, program.symbols)
    for (name, expected), found in zip(program.results, results, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=name)
    for name, expected in nodes.items():
        np.testing.assert_array_equal(expected, program.after[name], err_msg=name)


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@settings(max_examples=15)
@given(program=state_programs(merges=False))
def test_executables_keep_their_nodes(backend: str, program: StateProgram):
    with tenon.compile(program.text, backend=backend) as executable:
        for name in executable.nodes:
            executable.nodes[name] = program.before[name]
        results = executable(x=program.argument, **program.symbols)
        results = results if isinstance(results, tuple) else (results,)
        for (name, expected), found in zip(program.results, results, strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=name)
        for name in executable.nodes:
            np.testing.assert_array_equal(executable.nodes[name], program.after[name], err_msg=name)


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@settings(max_examples=10)
@given(program=state_programs(merges=False))
def test_routines_do_what_numpy_does(backend: str, program: StateProgram):
    platform = tenon.open_platform(backend)
    code = platform.compile(program.routine_text)
    before = {**program.before, "x": program.argument}
    after = {**program.after, **{f"result{n}": value for n, (_, value) in enumerate(program.results)}}
    context = platform.get_device(0).make_context()
    for name, node in code.nodes.items():
        if name in before and not node.known_not_materialized:
            context = context.init_from_host(node, before[name])
    routine = context.link(code)
    routine.run(**program.symbols)
    for node in routine.outputs:
        (name,) = [name for name, other in code.nodes.items() if other is node]
        np.testing.assert_array_equal(routine.context.to_host(node), after[name], err_msg=name)
    routine.context.finalize()


@given(program=state_programs())
def test_what_a_plan_does_not_say_is_read_makes_no_difference(program: StateProgram):
    module = parse_module(program.text)
    PassManager("default-pipeline").run(context(), module)
    (entry,) = [op for op in module.body.ops if isinstance(op, sched.ProgramOp)]
    plan = plan_program(module, entry)
    nodes = {
        name: array.copy() if name in plan.reads else np.full_like(array, -1)
        for name, array in program.before.items()
    }
    merge = program.merge if plan.merge_node else None
    results = run_module(module, "step", [program.argument], nodes, merge, program.symbols)
    for (name, expected), found in zip(program.results, results, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=name)
    for name in program.before:
        if name in plan.reads:
            np.testing.assert_array_equal(nodes[name], program.after[name], err_msg=name)
        elif name not in plan.writes:
            np.testing.assert_array_equal(program.before[name], program.after[name], err_msg=name)
