"""Constructors and types of the `graph` dialect; its text is tested in test/filecheck/dialects/graph."""

import pytest
from tenon.dialects import graph
from tenon.dialects.element_types import f16, f32, i1, i32
from tenon.dialects.memory_modes import MemoryMode, ModeKind
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    IndexType,
    TensorType,
)
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.traits import Commutative, Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException


def value(*shape: int, element_type: Attribute = f32) -> SSAValue:
    return Block(arg_types=[TensorType(element_type, shape)]).args[0]


def test_result_types_are_computed():
    x = value(4, 8)
    assert graph.ExpOp(x).result.type == x.type
    assert graph.LtOp(x, x).result.type == graph.tensor_of(i1, (4, 8))
    assert graph.PermuteOp(x, [1, 0]).result.type == graph.tensor_of(f32, (8, 4))
    assert graph.PadOp(x, value(), [0, 1], [0, 2]).result.type == graph.tensor_of(f32, (4, 11))
    assert graph.SliceOp(x, [0, 1], [4, 3], [1, 2]).result.type == graph.tensor_of(f32, (4, 3))
    assert graph.ConcatOp([x, x], 1).result.type == graph.tensor_of(f32, (4, 16))
    assert graph.ReduceOp(graph.ReduceKind.ADD, x, [1]).result.type == graph.tensor_of(f32, (4,))
    assert graph.ReduceOp(graph.ReduceKind.ADD, x, [1], keep=True).result.type == graph.tensor_of(f32, (4, 1))


def test_extents_known_at_run_time_only_stay_so():
    x = value(DYNAMIC_INDEX, 8)
    assert graph.PermuteOp(x, [1, 0]).result.type == graph.tensor_of(f32, (8, DYNAMIC_INDEX))
    assert graph.PadOp(x, value(), [3, 1], [0, 0]).result.type == graph.tensor_of(f32, (DYNAMIC_INDEX, 9))
    assert graph.ConcatOp([x, value(4, 8)], 0).result.type == graph.tensor_of(f32, (DYNAMIC_INDEX, 8))
    assert graph.ConcatOp([x, value(4, 8)], 1).result.type == graph.tensor_of(f32, (4, 16))
    assert graph.ReduceOp(graph.ReduceKind.MAX, x, [1]).result.type == graph.tensor_of(f32, (DYNAMIC_INDEX,))


def test_constructed_ops_verify():
    x, c, flags = value(4, 4), value(4, 4, element_type=i1), FastMathFlagsAttr("fast")
    m, n, k = (AffineMap.identity(3).results[dim] for dim in range(3))
    maps = [AffineMap(3, 0, (m, k)), AffineMap(3, 0, (k, n)), AffineMap(3, 0, (m, n))]
    ops = [
        graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(TensorType(f32, (2,)), (1.0, 2.0))),
        graph.IotaOp(1, TensorType(i32, (4, 8))),
        graph.ExpOp(x, flags),
        graph.AddOp(x, x, flags),
        graph.SelectOp(c, x, x),
        graph.FmaOp(x, x, x, flags),
        graph.CastOp(x, TensorType(f16, (4, 4))),
        graph.ReshapeOp(x, TensorType(f32, (16,))),
        graph.BroadcastOp(x, TensorType(f32, (3, 4, 4))),
        graph.FlipOp(x, [1]),
        graph.ReduceOp(graph.ReduceKind.MAX, x, [0], keep=True, fastmath=flags),
        graph.ContractOp([x, x], maps, TensorType(f32, (4, 4)), fastmath=flags),
    ]
    for op in ops:
        op.verify()


def test_constructors_reject_what_has_no_result_type():
    with pytest.raises(VerifyException, match=r"graph\.permute: axis 2 is out of range for rank 2"):
        graph.PermuteOp(value(4, 8), [0, 2])
    with pytest.raises(VerifyException, match=r"graph\.lt: f32 is not a tensor"):
        scalar = Block(arg_types=[f32]).args[0]
        graph.LtOp(scalar, scalar)


def test_a_constant_of_unknown_extent_is_rejected():
    type = TensorType(f32, (DYNAMIC_INDEX,))
    op = graph.ConstantOp(DenseIntOrFPElementsAttr(type, BytesAttr(bytes(4))))
    with pytest.raises(
        VerifyException, match=r"graph\.constant: tensor<.xf32> has a dim that is known at run time"
    ):
        op.verify_()


def test_a_constant_of_too_few_elements_is_rejected():
    op = graph.ConstantOp(DenseIntOrFPElementsAttr(TensorType(f32, (3,)), BytesAttr(bytes(8))))
    with pytest.raises(VerifyException, match=r"graph\.constant: value has 2 elements, tensor<3xf32> has 3"):
        op.verify_()


def test_every_op_on_values_is_pure_and_symmetric_ones_are_commutative():
    with_effects = {graph.DimOp, graph.TnodeOp, graph.ReadOp, graph.WriteOp, graph.MergeOp, graph.PrintOp}
    with_effects |= {op for op in graph.GRAPH.operations if issubclass(op, graph.CollectiveOp)}
    with_regions = {graph.IfOp, graph.WhileOp, graph.ScanOp, graph.ManualComputationOp}
    assert all(op.has_trait(Pure) for op in graph.GRAPH.operations if op not in with_effects | with_regions)
    assert all(op.has_trait(RecursiveMemoryEffect) for op in with_regions)
    assert not any(op.has_trait(Pure) for op in with_effects)
    commutative = {
        op.name.removeprefix("graph.") for op in graph.GRAPH.operations if op.has_trait(Commutative)
    }
    assert commutative == {
        *("add", "mul", "max", "min", "and", "or", "xor", "eq", "ne", "hypot", "logaddexp"),
    }


def test_a_memory_mode_has_a_mode_and_a_reason():
    attribute = graph.MemoryModeAttr(ModeKind.LOCAL, "read twice")
    assert attribute.mode.data is ModeKind.LOCAL
    assert attribute.why.data == "read twice"


def test_nodes_are_made_by_constructors():
    type = TensorType(f32, [2, 3])
    zeros = DenseIntOrFPElementsAttr.from_list(type, [0.0])
    node = graph.TnodeOp("w", type, MemoryMode.parse("hosted(constant)"), zeros)
    assert (node.tensor_type, str(node.memory_mode), node.initial) == (type, "hosted(constant)", zeros)
    assert (node.is_constant, node.is_local, node.is_virtual, node.lives_within_a_run) == (
        True,
        False,
        False,
        False,
    )
    assert graph.TnodeOp("w", type).memory_mode is None
    assert not graph.TnodeOp("w", type).is_constant
    assert graph.TnodeOp("w", type, MemoryMode(ModeKind.VIRTUAL)).lives_within_a_run
    assert graph.node_type(node, 1) == TensorType(f32, [3])


def test_node_accesses_are_made_by_constructors():
    index = Block(arg_types=[IndexType()]).args[0]
    read = graph.ReadOp("w", TensorType(f32, [3]), [index])
    assert (read.node_name, list(read.indices)) == ("w", [index])
    write = graph.WriteOp("w", read.result, [index], accumulate=True)
    assert (write.value, list(write.indices), write.accumulate is not None) == (read.result, [index], True)
    assert graph.WriteOp("w", read.result).accumulate is None
    assert graph.MergeOp("w", TensorType(f32, [3])).node_name == "w"
    assert graph.find_node(read, "w") is None
