import numpy as np
import pytest
from tenon.dialects import sched
from tenon.dialects.entry import find_entry
from tenon.dialects.parsing import parse_module, verify_module
from tenon.errors import TenonError
from tenon.runtime.program_plan import (
    BufferKind,
    BufferPlan,
    LaunchStep,
    ProgramPlan,
    SyncStep,
    TransferStep,
    plan_program,
)

KERNELS = """
low.kernel @copy(%x: memref<8xf32>, %y: memref<8xf32>) grid [4, 2, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xf32>
  memref.store %v, %y[%i] : memref<8xf32>
}
low.kernel @nothing(%y: memref<8xf32>) grid [0, 1, 1] block [1, 1, 1] {
}
sched.kernel @high(%y: memref<8xf32>) {
}
"""


def plan(body: str, results: str = "()") -> ProgramPlan:
    module = parse_module(
        f"{KERNELS}sched.program @p(%x: memref<2x4xf32>) : (tensor<2x4xf32>) -> {results} {{\n{body}\n}}"
    )
    verify_module(module)
    program = find_entry(module, None)
    assert isinstance(program, sched.ProgramOp)
    return plan_program(module, program)


def test_a_program_is_read_into_buffers_and_steps():
    found = plan(
        """
  %c = sched.constant dense<[true, false, true]> : tensor<3xi1> slab <1, 0> : memref<3xi8>
  %w = sched.constant dense<1> : tensor<4xi16> slab <1, 64> : memref<4xi16>
  %a = sched.buffer global temporary slab <2, 64> : memref<2x4xf32>
  %unused = sched.buffer global temporary : memref<2x4xf32>
  %y = sched.buffer global result : memref<2x4xf32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<2x4xf32>, memref<2x4xf32>
  %t1 = sched.launch @nothing(%a) after() : memref<2x4xf32>
  %t2 = sched.sync after()
  %t3 = sched.transfer %a to %y after() : memref<2x4xf32>
  sched.return %x, %y, %y, %w after() : memref<2x4xf32>, memref<2x4xf32>, memref<2x4xf32>, memref<4xi16>
""",
        "(tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<4xi16>)",
    )
    assert found.buffers == (
        BufferPlan(BufferKind.ARGUMENT, 32, number=0),
        BufferPlan(BufferKind.CONSTANT, 3),
        BufferPlan(BufferKind.CONSTANT, 8, offset=64),
        BufferPlan(BufferKind.TEMPORARY, 32, offset=64),
        BufferPlan(BufferKind.RESULT, 32, number=1),
    )
    assert found.steps == (
        LaunchStep("copy", (4, 2, 1), (1, 1, 1), (0, 3)),
        SyncStep(),
        TransferStep(3, 4, 32),
    )
    assert found.returned == (0, 4, 4, 2)
    assert found.temporary_nbytes == 96
    assert found.constants[:3].tolist() == [1, 0, 1]
    assert found.constants[64:].view(np.int16).tolist() == [1, 1, 1, 1]
    assert found.kernel_names == ("copy",)
    assert str(found) == "1 kernels, 1 launches, 72 bytes of constants, 96 bytes of temporaries"


WRONG = {
    "temporary": (
        "%a = sched.buffer global temporary : memref<8xf32>\n"
        "%t = sched.launch @nothing(%a) after() : memref<8xf32>\nsched.return after()",
        r"sched.buffer: 'a' of @p has no slab \(hint: run plan-memory\)",
    ),
    "constant": (
        "%0 = sched.constant dense<1.0> : tensor<8xf32> : memref<8xf32>\nsched.return after()",
        r"sched.constant: a buffer without a name of @p has no slab \(hint: run plan-memory\)",
    ),
    "result": (
        "%y = sched.buffer global result : memref<8xf32>\n"
        "%t = sched.launch @nothing(%y) after() : memref<8xf32>\nsched.return after()",
        r"sched.buffer: result 'y' of @p is not returned",
    ),
    "kernel": (
        "%a = sched.buffer global temporary slab <2, 0> : memref<8xf32>\n"
        "%t = sched.launch @high(%a) after() : memref<8xf32>\nsched.return after()",
        r"sched.launch: @high is no low.kernel \(hint: run convert-sched-to-low\)",
    ),
    "argument": (
        "%t = sched.launch @copy(%x, %x) after() : memref<2x4xf32>, memref<2x4xf32>\nsched.return after()",
        r"sched.launch: @copy: writes to argument 'x' of @p",
    ),
    "constant target": (
        "%c = sched.constant dense<1.0> : tensor<2x4xf32> slab <1, 0> : memref<2x4xf32>\n"
        "%t = sched.transfer %x to %c after() : memref<2x4xf32>\nsched.return after()",
        r"sched.transfer: writes to constant 'c' of @p",
    ),
    "dynamic": (
        "%a = sched.buffer global temporary slab <2, 0> : memref<?xf32>\n"
        "%t = sched.transfer %a to %a after() : memref<?xf32>\nsched.return after()",
        r"the size of memref<\?xf32> is known only at run time",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_program_that_cannot_run_says_why(name: str):
    body, message = WRONG[name]
    with pytest.raises(TenonError, match=message):
        plan(body)
