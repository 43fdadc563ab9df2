import pytest
from hypothesis import given
from tenon.backends.reference.dependency_check import check_dependencies
from tenon.dialects import context, sched
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.kernel_access import accesses_of
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.sched.host.build_dependencies import BuildDependenciesPass
from tenon.passes.sched.host.plan_memory import PlanMemoryPass
from tenon.test.unit.host_programs import KERNELS, RandomProgram, programs
from xdsl.dialects.builtin import ModuleOp


def check(module: ModuleOp) -> None:
    program = find_entry(module, None)
    assert isinstance(program, sched.ProgramOp)
    check_dependencies(program, accesses_of(module))


@given(programs())
def test_what_build_dependencies_makes_is_enough(program: RandomProgram):
    module = program.module()
    BuildDependenciesPass().apply(context(), module)
    check(module)


@given(programs())
def test_what_plan_memory_makes_is_enough(program: RandomProgram):
    module = program.module()
    PlanMemoryPass().apply(context(), module)
    check(module)


def program(second: str, returned: str, slabs: tuple[int, int] | None = None) -> ModuleOp:
    a, b = ("", "") if slabs is None else (f"slab <2, {slabs[0]}> ", f"slab <2, {slabs[1]}> ")
    return parse_module(f"""{KERNELS}
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> tensor<4xi32> {{
  %a = sched.buffer global temporary {a}: memref<4xi32>
  %b = sched.buffer global temporary {b}: memref<4xi32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<4xi32>, memref<4xi32>
  %t1 = sched.sync after(%t0)
  {second} : memref<4xi32>, memref<4xi32>
  {returned} : memref<4xi32>
}}
""")


READ = r"sched.launch: item 2 of @p does not wait for item 0, with which it conflicts on buffer 'a'"


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (program("%t2 = sched.launch @copy(%a, %b) after()", "sched.return %b after(%t2)"), READ),
        (program("%t2 = sched.launch @copy(%x, %a) after()", "sched.return %a after(%t2)"), READ),
        (
            program("%t2 = sched.launch @copy(%a, %b) after(%t1)", "sched.return %b after()"),
            r"sched.return: item 3 of @p does not wait for item 2, with which it conflicts on buffer 'b'",
        ),
        (
            program("%t2 = sched.launch @copy(%x, %b) after()", "sched.return %b after(%t2)", (0, 8)),
            r"sched.launch: item 2 of @p does not wait for item 0, with which it conflicts on buffer 'b'",
        ),
    ],
    ids=["read after write", "write after write", "return", "shared bytes"],
)
def test_a_hazard_that_is_left_open_is_an_error(module: ModuleOp, message: str):
    with pytest.raises(TenonError, match=message):
        check(module)


def test_buffers_beside_one_another_do_not_conflict():
    check(program("%t2 = sched.launch @copy(%x, %b) after()", "sched.return %b after(%t2)", (0, 16)))


def test_without_any_dependency_the_order_of_the_text_counts():
    module = parse_module(f"""{KERNELS}
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> tensor<4xi32> {{
  %a = sched.buffer global temporary : memref<4xi32>
  %b = sched.buffer global temporary : memref<4xi32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<4xi32>, memref<4xi32>
  %t1 = sched.launch @copy(%a, %b) after() : memref<4xi32>, memref<4xi32>
  sched.return %b after() : memref<4xi32>
}}
""")
    check(module)


def test_a_buffer_without_a_name_is_told_by_its_type():
    module = program("%t2 = sched.launch @copy(%a, %b) after()", "sched.return %b after(%t2)")
    for op in module.walk():
        if isinstance(op, sched.BufferOp):
            op.result.name_hint = None
    with pytest.raises(TenonError, match=r"conflicts on buffer of type memref<4xi32>"):
        check(module)
