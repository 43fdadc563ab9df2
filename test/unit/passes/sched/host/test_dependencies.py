from hypothesis import given
from tenon.dialects import context, sched
from tenon.dialects.modules.hazards import items_of
from tenon.dialects.modules.kernel_access import accesses_of
from tenon.passes.sched.host.build_dependencies import BuildDependenciesPass
from tenon.passes.sched.host.dependencies import fill_dependencies
from tenon.test.unit.host_programs import RandomProgram, programs
from xdsl.dialects.builtin import ModuleOp


def program_of(module: ModuleOp) -> sched.ProgramOp:
    (program,) = (op for op in module.body.ops if isinstance(op, sched.ProgramOp))
    return program


def edges_of(module: ModuleOp) -> list[set[int]]:
    """Returns the items that each item waits for, and last those that the return waits for."""
    program = program_of(module)
    items = items_of(program)
    number = {item.token: index for index, item in enumerate(items)}
    last = program.body.block.last_op
    assert isinstance(last, sched.ReturnOp)
    return [{number[token] for token in op.after} for op in (*items, last)]


def closure(edges: list[set[int]]) -> list[set[int]]:
    before: list[set[int]] = []
    for after in edges:
        before.append(after.union(*(before[index] for index in after)))
    return before


def conflicts(program: RandomProgram, later: int, earlier: int) -> bool:
    if "sync" in (program.items[later][0], program.items[earlier][0]):
        return True
    (_, reads, writes), (_, old_reads, old_writes) = program.items[later], program.items[earlier]
    return bool({*reads, *writes} & {*old_writes} or {*writes} & {*old_reads})


@given(programs())
def test_every_hazard_is_covered(program: RandomProgram):
    module = program.module()
    BuildDependenciesPass().apply(context(), module)
    before = closure(edges_of(module))
    for later in range(len(program.items)):
        for earlier in range(later):
            if conflicts(program, later, earlier):
                assert earlier in before[later]
    for index, (_, _, writes) in enumerate(program.items):
        if {*writes} & {*program.returned}:
            assert index in before[-1]


@given(programs())
def test_no_edge_follows_from_others_and_none_is_without_a_hazard(program: RandomProgram):
    module = program.module()
    BuildDependenciesPass().apply(context(), module)
    edges = edges_of(module)
    before = closure(edges)
    for later, after in enumerate(edges):
        for earlier in after:
            assert not any(earlier in before[other] for other in after)
            assert later == len(edges) - 1 or conflicts(program, later, earlier)


@given(programs())
def test_a_second_run_changes_nothing(program: RandomProgram):
    module = program.module()
    BuildDependenciesPass().apply(context(), module)
    text = str(module)
    BuildDependenciesPass().apply(context(), module)
    assert str(module) == text


def test_partly_overlapping_slabs_are_hazards():
    module = RandomProgram(
        4,
        (("copy", (0,), (1,)), ("copy", (0,), (2,)), ("copy", (0,), (3,))),
        (1,),
    ).module()
    program = program_of(module)
    buffers = [op for op in program.body.block.ops if isinstance(op, sched.BufferOp)]
    for buffer, offset in zip(buffers, (0, 8, 16), strict=True):
        buffer.slab = sched.SlabAttr(2, offset)
    fill_dependencies(program, accesses_of(module))
    assert edges_of(module) == [set(), {0}, {1}, {1}]
