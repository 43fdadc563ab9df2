import numpy as np
import pytest
from tenon.backends.interface import BufferLoc
from tenon.backends.steps import CopyStep, LaunchStep, SyncStep
from tenon.dialects import memory_modes, sched
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError
from tenon.runtime.plan.plan_codec import UnknownDataError, decode
from tenon.runtime.plan.plan_reader import plan_program
from tenon.runtime.plan.program_plan import (
    BufferKind,
    BufferPlan,
    NodePlan,
    ProgramPlan,
    SymbolIndex,
    SymbolPlan,
)
from tenon.runtime.plan.signature import ArrayType

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


NODES = """
graph.tnode @w : tensor<8xf32> mode on_device
graph.tnode @rows : tensor<5x3x8xf32> = dense<1.0>
graph.tnode @flags : tensor<8xi1>
graph.tnode @unused : tensor<8xf32>
"""


def plan(body: str, results: str = "()") -> ProgramPlan:
    return plan_of(
        f"{KERNELS}sched.program @p(%x: memref<2x4xf32>) : (tensor<2x4xf32>) -> {results} {{\n{body}\n}}"
    )


def plan_of(text: str) -> ProgramPlan:
    module = parse_module(text)
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
        BufferPlan(BufferKind.ARGUMENT, 32, name="x", lifetime=(0, 3)),
        BufferPlan(BufferKind.CONSTANT, 3, name="c"),
        BufferPlan(BufferKind.CONSTANT, 8, offset=64, name="w", lifetime=(3, 3)),
        BufferPlan(BufferKind.TEMPORARY, 32, offset=64, name="a", lifetime=(0, 2)),
        BufferPlan(BufferKind.RESULT, 32, number=1, name="y", lifetime=(2, 3)),
    )
    assert found.steps == (
        LaunchStep("copy", (4, 2, 1), (1, 1, 1), (0, 3)),
        SyncStep(),
        CopyStep(3, 4, 32, after=(1,)),
    )
    assert found.returned == (0, 4, 4, 2)
    assert found.temporary_nbytes == 96
    assert found.constants[:3].tolist() == [1, 0, 1]
    assert found.constants[64:].view(np.int16).tolist() == [1, 1, 1, 1]
    assert found.kernel_names == ("copy",)
    assert str(found) == "1 kernels, 1 launches, 72 bytes of constants, 96 bytes of temporaries"


def test_nodes_are_buffers_that_symbols_place():
    found = plan_of(
        f"""{NODES}{KERNELS}
sched.program @p(%i: index, %x: memref<8xf32>, %j: index, %k: index)
    : (index, tensor<8xf32>, index, index) -> () {{
  %row = sched.node @rows[%i, %j] : memref<8xf32>
  %again = sched.node @rows[%i, %j] : memref<8xf32>
  %w = sched.node @w : memref<8xf32>
  %m = sched.merge_buffer @w : memref<8xf32>
  %f = sched.node @flags : memref<8xi8>
  %t0 = sched.launch @copy(%row, %w) after() : memref<8xf32>, memref<8xf32>
  %t1 = sched.launch @copy(%w, %again) after() : memref<8xf32>, memref<8xf32>
  %t2 = sched.launch @copy(%m, %w) after() : memref<8xf32>, memref<8xf32>
  %t3 = sched.transfer %f to %f after() : memref<8xi8>
  sched.return after()
}}
"""
    )
    indices = (SymbolIndex("i", 96, 5), SymbolIndex("j", 32, 3))
    assert found.buffers == (
        BufferPlan(BufferKind.ARGUMENT, 32, name="x"),
        BufferPlan(BufferKind.NODE, 32, node="rows", indices=indices, name="row", lifetime=(0, 1)),
        BufferPlan(BufferKind.NODE, 32, node="w", name="w", lifetime=(0, 2)),
        BufferPlan(BufferKind.MERGE, 32, node="w", name="m", lifetime=(2, 2)),
        BufferPlan(BufferKind.NODE, 8, node="flags", name="f", lifetime=(3, 3)),
    )
    assert found.buffers[1].moved(BufferLoc(1, 64), {"i": 2, "j": 1}) == BufferLoc(1, 64 + 224)
    assert found.symbols == (SymbolPlan("i", 5), SymbolPlan("j", 3), SymbolPlan("k", None))
    assert found.reads == ("rows", "flags")
    assert found.writes == ("w", "rows", "flags")
    assert found.merge_node == "w"
    assert found.signature.argument_names == ("x",)
    assert found.nodes == (
        NodePlan("w", ArrayType(np.dtype(np.float32), (8,)), 32, memory_modes.ON_DEVICE),
        NodePlan("rows", ArrayType(np.dtype(np.float32), (5, 3, 8)), 480),
        NodePlan("flags", ArrayType(np.dtype(np.bool_), (8,)), 8),
    )
    assert found.nodes[0].initial is None
    np.testing.assert_array_equal(found.nodes[1].initial, np.ones((5, 3, 8), np.float32))


def test_what_waits_for_an_empty_item_waits_for_what_that_waits_for():
    found = plan(
        """
  %a = sched.buffer global temporary slab <2, 0> : memref<2x4xf32>
  %e = sched.buffer global temporary slab <2, 0> : memref<0xf32>
  %t0 = sched.launch @copy(%x, %a) after() : memref<2x4xf32>, memref<2x4xf32>
  %t1 = sched.launch @nothing(%a) after(%t0) : memref<2x4xf32>
  %t2 = sched.transfer %e to %e after(%t1) : memref<0xf32>
  %t3 = sched.launch @copy(%x, %a) after(%t2) analysis<flops 1, read_nbytes 2, written_nbytes 3, registers 4,
    shared_nbytes 5, occupancy 6, estimated_ns 7> : memref<2x4xf32>, memref<2x4xf32>
  sched.return after(%t3)
"""
    )
    assert found.steps == (
        LaunchStep("copy", (4, 2, 1), (1, 1, 1), (0, 1)),
        LaunchStep("copy", (4, 2, 1), (1, 1, 1), (0, 1), after=(0,), nanoseconds=7),
    )


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
    "merge buffer": (
        "%m = sched.merge_buffer @w : memref<8xf32>\n"
        "%t = sched.transfer %m to %m after() : memref<8xf32>\nsched.return after()",
        r"sched.transfer: writes to merge 'm' of @p",
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
        plan_of(
            f"{NODES}{KERNELS}sched.program @p(%x: memref<2x4xf32>) : (tensor<2x4xf32>) -> () {{\n{body}\n}}"
        )


@pytest.mark.parametrize(
    "data",
    [
        {"BufferKind": "zap"},
        {"zap": []},
        {"mapping": 3},
        {"extent": [[1]]},
        {"dtype": "zap"},
        {"array": ["float32", [3], 0]},
        {"array": ["float32", [2], 1]},
        {"SyncStep": [1]},
        {},
        {"dtype": "float32", "mapping": []},
    ],
)
def test_data_that_no_plan_was_written_as_is_told(data: object):
    with pytest.raises(UnknownDataError, match="no part of a plan"):
        decode(data, [bytes(8)])
