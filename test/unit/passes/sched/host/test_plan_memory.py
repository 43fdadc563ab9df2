import pytest
from hypothesis import given
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.sched.host.plan_memory import PlanMemoryPass
from tenon.test.unit.host_programs import RandomProgram, programs
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException


def planned(program: RandomProgram) -> ModuleOp:
    module = program.module()
    PlanMemoryPass().apply(context(), module)
    module.verify()
    return module


def buffers_of(module: ModuleOp) -> list[sched.BufferOp]:
    return [op for op in module.walk() if isinstance(op, sched.BufferOp)]


@given(programs())
def test_buffers_that_are_alive_together_share_no_byte(program: RandomProgram):
    placed = [
        (op.lifetime.first.data, op.lifetime.last.data, op.slab.offset.data)
        for op in buffers_of(planned(program))
        if op.lifetime is not None and op.slab is not None
    ]
    for i, (first, last, offset) in enumerate(placed):
        for other_first, other_last, other_offset in placed[:i]:
            if first <= other_last and other_first <= last:
                assert abs(offset - other_offset) >= 16


@given(programs())
def test_lifetimes_hold_every_use(program: RandomProgram):
    lifetimes = [op.lifetime for op in buffers_of(planned(program))]
    for number, lifetime in enumerate(lifetimes, 1):
        uses = [i for i, (_, reads, writes) in enumerate(program.items) if number in (*reads, *writes)]
        if number in program.returned:
            uses.append(len(program.items))
        found = None if lifetime is None else (lifetime.first.data, lifetime.last.data)
        assert found == ((min(uses), max(uses)) if uses else None)


@given(programs())
def test_the_plan_is_between_the_peak_and_no_sharing(program: RandomProgram):
    module = planned(program)
    (owner,) = (op for op in module.body.ops if isinstance(op, sched.ProgramOp))
    plan = owner.attributes["memory_plan"]
    assert isinstance(plan, sched.MemoryPlanAttr)
    assert plan.peak_nbytes.data <= plan.pool_nbytes.data <= plan.unshared_nbytes.data
    ends = [op.slab.offset.data + 64 for op in buffers_of(module) if op.slab is not None]
    assert plan.pool_nbytes.data == max(ends, default=0)


@given(programs())
def test_planning_twice_is_planning_once(program: RandomProgram):
    module = planned(program)
    text = str(module)
    PlanMemoryPass().apply(context(), module)
    assert str(module) == text


PROGRAM = """
sched.program @p(%x: memref<100xf32>) : (tensor<100xf32>) -> () {
  %w = sched.constant dense<1.0> : tensor<60xf32> : memref<60xf32>
  %large = sched.buffer global temporary : memref<100xf32>
  %t = sched.transfer %x to %large after() : memref<100xf32>
  sched.return after()
}
"""


def test_a_pool_that_grows_too_large_names_the_buffer():
    module = parse_module(PROGRAM)
    with pytest.raises(
        PassFailedException,
        match=r"plan-memory: %large of type memref<100xf32> ends at byte 448 of the temporary pool "
        r"\(max-nbytes 400\)",
    ):
        PlanMemoryPass(max_nbytes=400).apply(context(), module)
    with pytest.raises(PassFailedException, match=r"%w of type .* ends at byte 256 of the constant pool"):
        PlanMemoryPass(max_nbytes=100).apply(context(), module)


def test_a_buffer_without_a_name_is_told_by_its_type():
    module = parse_module(PROGRAM.replace("%large", "%0"))
    with pytest.raises(PassFailedException, match=r"plan-memory: a memref<100xf32> ends at byte 448"):
        PlanMemoryPass(max_nbytes=400).apply(context(), module)


def test_how_large_a_pool_grows_is_checked_when_the_dims_have_values():
    module = parse_module(
        """
graph.dim @n min 0 max 2147483647
graph.dim @m min 0 max 2147483647
sched.program @p(%x: memref<?x?xf32, {dims = #graph.dims<n, m>}>)
    : (tensor<?x?xf32, #graph.dims<n, m>>) -> () {
  %large = sched.buffer global temporary : memref<?x?xf32, {dims = #graph.dims<n, m>}>
  %t = sched.transfer %x to %large after() : memref<?x?xf32, {dims = #graph.dims<n, m>}>
  sched.return after()
}
"""
    )
    PlanMemoryPass().apply(context(), module)
    assert "slab <2, 0>" in str(module)


@pytest.mark.parametrize("alignment", [0, -64, 48])
def test_an_alignment_is_a_power_of_two(alignment: int):
    with pytest.raises(
        PassFailedException, match=rf"plan-memory: alignment {alignment} is not a power of two"
    ):
        PlanMemoryPass(alignment=alignment).apply(context(), parse_module(PROGRAM))


def test_a_dynamic_extent_has_no_size():
    module = parse_module(PROGRAM.replace("memref<100xf32>", "memref<?xf32>").replace("<100xf32>", "<?xf32>"))
    with pytest.raises(TenonError, match=r"the size of memref<\?xf32> is known only at run time"):
        PlanMemoryPass().apply(context(), module)
