"""Random programs give the same results whatever the memory modes and the mappings that are asked for."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenon.backends.reference.execute import run_module
from tenon.dialects import context, sched
from tenon.dialects.graph import GraphOp, MemoryModeAttr
from tenon.dialects.memory_modes import ModeKind
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.dialects.sched import Level, MappingAttr
from tenon.errors import TenonError
from tenon.passes.graph.canonicalize_graph import CanonicalizeGraphPass
from tenon.passes.graph.decompose_composites import DecomposeCompositesPass
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from tenon.passes.low.lowering.kernel import lower_kernel
from tenon.passes.low.simplify_low import SimplifyLowPass
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.mapping.fuse_loops import FuseLoopsPass
from tenon.passes.sched.mapping.split_borders import SplitBordersPass
from tenon.passes.sched.planning.convert_graph_to_sched import ConvertGraphToSchedPass
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
from xdsl.transforms.loop_invariant_code_motion import LoopInvariantCodeMotionPass
from xdsl.utils.exceptions import PassFailedException, VerifyException

from .random_programs import Program, programs

QUICK = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def run_passes(module: ModuleOp, *passes: ModulePass) -> None:
    PassManager(passes).run(context(), module)


def assert_agrees(module: ModuleOp, program: Program) -> list[np.ndarray]:
    results = run_module(module, "main", [value.array for value in program.inputs])
    for found, expected in zip(results, program.results, strict=True):
        assert found.shape == expected.array.shape and found.dtype == expected.array.dtype
        if expected.exact:
            np.testing.assert_array_equal(found, expected.array, err_msg=str(module))
    return results


@QUICK
@given(program=programs(), data=st.data())
def test_requested_memory_modes_change_no_result(program: Program, data: st.DataObject) -> None:
    module = parse_module(program.text)
    modes = st.sampled_from([None, None, ModeKind.MATERIALIZED, ModeKind.VIRTUAL])
    for op in module.walk():
        if isinstance(op, GraphOp) and (mode := data.draw(modes)) is not None:
            op.attributes["memory_mode"] = MemoryModeAttr(mode, "a wish")
    try:
        run_passes(module, DecomposeCompositesPass(), ConvertGraphToSchedPass())
    except TenonError as error:
        assert 'asked for by "a wish"' in str(error)
        return
    assert_agrees(module, program)


@QUICK
@given(program=programs(), fuses=st.booleans(), splits=st.booleans(), data=st.data())
def test_lowered_kernels_give_the_bits_of_sched_under_any_mapping(
    program: Program, fuses: bool, splits: bool, data: st.DataObject
) -> None:
    module = parse_module(program.text)
    run_passes(module, DecomposeCompositesPass(), CanonicalizeGraphPass(), ConvertGraphToSchedPass())
    if fuses:
        run_passes(module, FuseLoopsPass())
    if splits:
        run_passes(module, SplitBordersPass(block_elements=4))
    for kernel in module.ops:
        if isinstance(kernel, sched.KernelOp):
            map_at_random(kernel, data)
    verify_module(module)
    expected = assert_agrees(module, program)
    run_passes(
        module,
        ConvertSchedToLowPass(),
        SimplifyLowPass(),
        CommonSubexpressionElimination(),
        LoopInvariantCodeMotionPass(),
    )
    for found, wanted in zip(assert_agrees(module, program), expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=str(module))


def map_at_random(kernel: sched.KernelOp, data: st.DataObject) -> None:
    """Maps every loop of a kernel as drawn, or less where that would be illegal."""
    may_be_outermost = True
    for op in kernel.walk():
        if not isinstance(op, sched.AxisOp | sched.ReduceOp):
            continue
        level, chunk = Level.SERIAL, 1
        if isinstance(op, sched.AxisOp) and may_be_outermost and data.draw(st.booleans()):
            level = data.draw(st.sampled_from([Level.BLOCK, Level.THREAD]))
            chunk = data.draw(st.integers(1, 9))
        may_be_outermost = level is not Level.SERIAL
        vector, unroll = data.draw(st.sampled_from([1, 2, 4, 8])), data.draw(st.sampled_from([1, 2, 4]))
        wishes = [
            MappingAttr.get(level, chunk, vector, unroll),
            MappingAttr.get(level, chunk, 1, unroll),
            MappingAttr.get(level, chunk),
            MappingAttr.get(),
        ]
        op.mapping = next(wish for wish in wishes if is_legal(kernel, op, wish))
        may_be_outermost = op.mapping.level.data is not Level.SERIAL


def is_legal(kernel: sched.KernelOp, op: sched.AxisOp | sched.ReduceOp, mapping: MappingAttr) -> bool:
    op.mapping = mapping
    try:
        op.verify_()
        lower_kernel(kernel)
    except (PassFailedException, VerifyException):
        return False
    return True
