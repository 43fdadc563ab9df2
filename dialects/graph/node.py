"""
Ops on tensor nodes: tensors of a module that keep their contents from one run to the next.

A `graph.tnode` declares a node. Reads are snapshots: what a function reads is what the node holds at that
place of the text, whatever is written to it further down.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FlatSymbolRefAttrConstr,
    IndexType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..memory_modes import HostedKind, MemoryMode, ModeKind
from .attributes import NodeModeAttr
from .dim import module_around
from .types import NUMBERS, TENSOR, tensor_of, tensor_type_of

__all__ = [
    "MergeOp",
    "NodeAccessOp",
    "ReadOp",
    "TnodeOp",
    "WriteOp",
    "check_node_access",
    "find_node",
    "node_type",
]

_INDEX = IndexType()

_WITHIN_A_RUN = (ModeKind.LOCAL, ModeKind.VIRTUAL)
"""Modes of nodes that hold nothing before a function writes them."""


@irdl_op_definition
class TnodeOp(IRDLOperation):
    """
    Declares a tensor node: a name, a type of known extents, and, where they are given, the memory mode and
    the value that it holds before it is first written.

    ```mlir
    graph.tnode @w : tensor<64x10xf32> mode on_device = dense<0.0>
    ```
    """

    name = "graph.tnode"
    sym_name = prop_def(StringAttr)
    type = prop_def(TENSOR)
    mode = opt_prop_def(NodeModeAttr)
    initial = opt_prop_def(DenseIntOrFPElementsAttr)
    traits = traits_def(SymbolOpInterface())

    def __init__(
        self,
        name: str | StringAttr,
        type: TensorType[Any],
        mode: MemoryMode | NodeModeAttr | None = None,
        initial: DenseIntOrFPElementsAttr[Any] | None = None,
    ):
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name) if isinstance(name, str) else name,
            "type": type,
        }
        if mode is not None:
            properties["mode"] = mode if isinstance(mode, NodeModeAttr) else NodeModeAttr(mode)
        if initial is not None:
            properties["initial"] = initial
        Operation.__init__(self, properties=properties)

    @property
    def tensor_type(self) -> TensorType[Any]:
        return tensor_type_of(self.type, self.name)

    @property
    def memory_mode(self) -> MemoryMode | None:
        """The memory mode, None where it is not decided."""
        return None if self.mode is None else self.mode.data

    @property
    def is_constant(self) -> bool:
        """Whether nothing changes what the node holds once it is initialised."""
        mode = self.memory_mode
        return mode is not None and (
            mode.kind is ModeKind.EFFECTIVELY_CONSTANT or mode.hosted is HostedKind.CONSTANT
        )

    @property
    def is_volatile(self) -> bool:
        """Whether only the host changes what the node holds."""
        return self.memory_mode is not None and self.memory_mode.hosted is HostedKind.VOLATILE

    @property
    def is_virtual(self) -> bool:
        return self.mode is not None and self.mode.data.kind is ModeKind.VIRTUAL

    @property
    def is_local(self) -> bool:
        return self.mode is not None and self.mode.data.kind is ModeKind.LOCAL

    @property
    def lives_within_a_run(self) -> bool:
        """Whether functions must write the node before they read it, as nothing keeps it between runs."""
        return self.mode is not None and self.mode.data.kind in _WITHIN_A_RUN

    @classmethod
    def parse(cls, parser: Parser) -> TnodeOp:
        name = parser.parse_symbol_name()
        parser.parse_punctuation(":")
        type = tensor_type_of(parser.parse_type(), cls.name)
        mode = initial = None
        if parser.parse_optional_keyword("mode") is not None:
            mode = NodeModeAttr(NodeModeAttr.parse_mode(parser))
        if parser.parse_optional_punctuation("=") is not None:
            parser.parse_keyword("dense")
            initial = parser.parse_dense_int_or_fp_elements_attr(cast(Any, type))
        op = cls(name, type, mode, initial)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        if self.mode is not None:
            printer.print_string(f" mode {self.mode.data}")
        if self.initial is not None:
            printer.print_string(" = ")
            self.initial.print_without_type(printer)
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        name = self.sym_name.data
        if not isinstance(self.parent_op(), ModuleOp):
            raise VerifyException(f"{self.name}: @{name} must stand in a module, beside its functions")
        type = self.tensor_type
        if not type.has_static_shape():
            raise VerifyException(f"{self.name}: @{name} is {type}, which has a dim known at run time only")
        if self.initial is None:
            return
        if self.lives_within_a_run:
            assert self.mode is not None
            raise VerifyException(
                f"{self.name}: @{name} is {self.mode.data}, so it cannot have an initial value "
                "(nothing keeps it before a run)"
            )
        if self.initial.type != type:
            raise VerifyException(f"{self.name}: @{name} is {type}, its initial value {self.initial.type}")


def find_node(op: Operation, name: str) -> TnodeOp | None:
    """Returns the declaration of node `@name` in the module around `op`, None where there is none."""
    around = module_around(op)
    # SymbolTable.lookup_symbol asks every op for its traits, which takes ten times as long.
    for other in () if around is None else around.body.block.ops:
        if isinstance(other, TnodeOp) and other.sym_name.data == name:
            return other
    return None


def node_type(node: TnodeOp, n_indices: int) -> TensorType[Any]:
    """Returns the type of what is left of a node after an index for each of its first `n_indices` axes."""
    type = node.tensor_type
    return tensor_of(type.element_type, tuple(type.get_shape()[n_indices:]))


def check_node_access(op: Operation, name: str, indices: Sequence[SSAValue]) -> TnodeOp:
    """
    Returns the declaration of the node that `op` accesses.

    Raises `VerifyException` where it is not declared, has not so many axes, is not to be indexed at all, or
    an index is no argument of the function around `op`.
    """
    node = find_node(op, name)
    if node is None:
        raise VerifyException(f"{op.name}: there is no node @{name} (hint: graph.tnode @{name} : ...)")
    type = node.tensor_type
    if len(indices) > type.get_num_dims():
        raise VerifyException(
            f"{op.name}: {len(indices)} indices for node @{name} of rank {type.get_num_dims()} ({type})"
        )
    if indices and node.lives_within_a_run:
        raise VerifyException(
            f"{op.name}: node @{name} is {node.memory_mode}, so it is read and written as a whole "
            f"({len(indices)} indices)"
        )
    for position, index in enumerate(indices):
        if not isinstance(index, BlockArgument):
            raise VerifyException(
                f"{op.name}: index {position} of node @{name} is no argument of the function"
            )
    return node


class NodeAccessOp(IRDLOperation, ABC):
    """What reads or writes a node: `node` is its name, `indices` are one symbol per leading axis, or none."""

    @property
    def node_name(self) -> str:
        node = self.properties["node"]
        assert isinstance(node, SymbolRefAttr), f"{self.name}: node is {node}"
        return node.root_reference.data

    def _check(self, value: SSAValue, indices: Sequence[SSAValue]) -> TnodeOp:
        name = self.node_name
        node = check_node_access(self, name, indices)
        expected = node_type(node, len(indices))
        if value.type != expected:
            where = f" with {len(indices)} indices" if indices else ""
            raise VerifyException(f"{self.name}: node @{name}{where} is {expected}, found {value.type}")
        return node


def _is_written_before(op: NodeAccessOp) -> bool:
    """Returns whether a write of the op's node stands before it, in its region or one around it."""
    here: Operation | None = op
    while here is not None:
        other = here.prev_op
        while other is not None:
            if isinstance(other, WriteOp) and other.node_name == op.node_name:
                return True
            other = other.prev_op
        here = here.parent_op()
    return False


@irdl_op_definition
class ReadOp(NodeAccessOp):
    """
    What a node holds here, or the part of it at an index for each of its leading axes. Indices are arguments
    of the function, of type `index`. A node whose mode is `local` or `virtual` must be written before.

    ```mlir
    %x = graph.read @x : tensor<100x4xf32>
    %row = graph.read @x[%i] : tensor<4xf32>
    ```
    """

    name = "graph.read"
    node = prop_def(FlatSymbolRefAttrConstr)
    indices = var_operand_def(_INDEX)
    result = result_def(TENSOR)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$node (`[` $indices^ `]`)? attr-dict `:` type($result)"

    def __init__(self, node: str, result_type: TensorType[Any], indices: Sequence[SSAValue] = ()):
        Operation.__init__(
            self,
            operands=indices,
            result_types=(result_type,),
            properties={"node": SymbolRefAttr(node)},
        )

    def verify_(self) -> None:
        node = self._check(self.result, self.indices)
        if node.is_local and not _is_written_before(self):
            raise VerifyException(
                f"{self.name}: node @{self.node_name} is {node.memory_mode}, and is read before it is written"
            )


@irdl_op_definition
class WriteOp(NodeAccessOp):
    """
    Makes a node, or the part of it at an index for each of its leading axes, hold `value`. With `add` it is
    added to what the node holds, as by `graph.add`.

    ```mlir
    graph.write @y, %v : tensor<4xf32>
    graph.write add @w[%i], %v : tensor<4xf32>
    ```
    """

    name = "graph.write"
    accumulate = opt_prop_def(UnitAttr)
    node = prop_def(FlatSymbolRefAttrConstr)
    indices = var_operand_def(_INDEX)
    value = operand_def(TENSOR)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = "(`add` $accumulate^)? $node (`[` $indices^ `]`)? `,` $value attr-dict `:` type($value)"

    def __init__(
        self, node: str, value: SSAValue, indices: Sequence[SSAValue] = (), accumulate: bool = False
    ):
        properties: dict[str, Attribute] = {"node": SymbolRefAttr(node)}
        if accumulate:
            properties["accumulate"] = UnitAttr()
        Operation.__init__(self, operands=(*indices, value), properties=properties)

    def verify_(self) -> None:
        node = self._check(self.value, self.indices)
        if node.is_constant or node.is_volatile:
            raise VerifyException(
                f"{self.name}: node @{self.node_name} is {node.memory_mode}, so it is not written by programs"
            )
        if self.accumulate is not None:
            if node.is_local and not _is_written_before(self):
                raise VerifyException(
                    f"{self.name} add: node @{self.node_name} is {node.memory_mode}, and is added to before "
                    "it is written"
                )
            NUMBERS.check(f"{self.name} add", tensor_type_of(self.value, self.name))


@irdl_op_definition
class MergeOp(NodeAccessOp):
    """
    What the merge buffer of the device holds here: node `@w` of another device, copied there before the run.
    All merges of a function are of one node.

    ```mlir
    %g = graph.merge @w : tensor<64x10xf32>
    ```
    """

    name = "graph.merge"
    node = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(TENSOR)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$node attr-dict `:` type($result)"

    def __init__(self, node: str, result_type: TensorType[Any]):
        Operation.__init__(self, result_types=(result_type,), properties={"node": SymbolRefAttr(node)})

    def verify_(self) -> None:
        node = self._check(self.result, ())
        if node.lives_within_a_run:
            raise VerifyException(
                f"{self.name}: node @{self.node_name} is {node.memory_mode}, so it is on no other device"
            )
        op = self.prev_op
        while op is not None:
            if isinstance(op, MergeOp):
                if op.node_name != self.node_name:
                    raise VerifyException(
                        f"{self.name}: merges @{self.node_name} after @{op.node_name} "
                        "(a function has one merge buffer)"
                    )
                return
            op = op.prev_op
