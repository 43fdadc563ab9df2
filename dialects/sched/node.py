"""Buffers of a program that are not its own: those of tensor nodes, and the device's merge buffer."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, IndexType, MemRefType, SymbolRefAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..graph import TnodeOp, check_node_access, node_type
from .program_types import buffer_type

__all__ = ["MergeBufferOp", "NodeOp"]


def _check_type(op: Operation, node: TnodeOp, n_indices: int, found: Attribute) -> None:
    expected = buffer_type(node_type(node, n_indices))
    if found != expected:
        raise VerifyException(f"{op.name}: node @{node.sym_name.data} is {expected} here, found {found}")


@irdl_op_definition
class NodeOp(IRDLOperation):
    """
    The buffer of a tensor node, or the part of it at an index for each of its leading axes: where it begins
    is computed from the program's index arguments when the program runs. Items read and write it in place.

    ```mlir
    %w = sched.node @w : memref<64x10xf32>
    %row = sched.node @x[%i] : memref<4xf32>
    ```
    """

    name = "sched.node"
    node = prop_def(FlatSymbolRefAttrConstr)
    indices = var_operand_def(IndexType())
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$node (`[` $indices^ `]`)? attr-dict `:` type($result)"

    def __init__(self, node: str, result_type: MemRefType, indices: Sequence[SSAValue] = ()):
        Operation.__init__(
            self,
            operands=indices,
            result_types=(result_type,),
            properties={"node": SymbolRefAttr(node)},
        )

    @property
    def node_name(self) -> str:
        return self.node.root_reference.data

    @property
    def symbols(self) -> tuple[BlockArgument, ...]:
        """The program's arguments that index the node."""
        return tuple(index for index in self.indices if isinstance(index, BlockArgument))

    def verify_(self) -> None:
        node = check_node_access(self, self.node_name, self.indices)
        if node.lives_within_a_run:
            raise VerifyException(
                f"{self.name}: node @{self.node_name} is {node.memory_mode}, so it has no buffer of its own"
            )
        _check_type(self, node, len(self.indices), self.result.type)


@irdl_op_definition
class MergeBufferOp(IRDLOperation):
    """
    The device's merge buffer, which holds node `@w` of another device when the program runs. It is only read.

    ```mlir
    %g = sched.merge_buffer @w : memref<64x10xf32>
    ```
    """

    name = "sched.merge_buffer"
    node = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$node attr-dict `:` type($result)"

    def __init__(self, node: str, result_type: MemRefType):
        Operation.__init__(self, result_types=(result_type,), properties={"node": SymbolRefAttr(node)})

    @property
    def node_name(self) -> str:
        return self.node.root_reference.data

    def verify_(self) -> None:
        node = check_node_access(self, self.node_name, ())
        _check_type(self, node, 0, self.result.type)
        for other in self.parent.ops if self.parent is not None else ():
            if isinstance(other, MergeBufferOp) and other.node_name != self.node_name:
                raise VerifyException(
                    f"{self.name}: merges @{self.node_name}, and also @{other.node_name} "
                    "(a program has one merge buffer)"
                )
