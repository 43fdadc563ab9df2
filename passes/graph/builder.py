"""Inserts `graph` ops before one that they replace."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import graph
from ...dialects.graph import tensor_of
from ...dialects.graph.types import shape_of, tensor_type_of


class GraphBuilder:
    """
    Inserts ops before `anchor`, with its location. `inserted` lists them in order.
    """

    __slots__ = ("_block", "anchor", "inserted", "location")

    def __init__(self, anchor: Operation):
        block = anchor.parent
        assert block is not None, f"{anchor.name} is in no block"
        self.anchor = anchor
        self.location: LocationAttr = anchor.location
        self.inserted: list[Operation] = []
        self._block: Block = block

    def add(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Inserts an op with one result and returns that, named `hint`."""
        op.location = self.location
        self._block.insert_op_before(op, self.anchor)
        self.inserted.append(op)
        result = op.results[0]
        result.name_hint = hint
        return result

    def scalar(self, value: int | float, element_type: Attribute) -> SSAValue:
        """Returns a constant of rank 0."""
        type = tensor_of(element_type, ())
        return self.add(graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, (value,))))

    def splat_like(self, value: int | float, like: SSAValue) -> SSAValue:
        """Returns `value` for every element of `like`."""
        type = tensor_type_of(like, self.anchor.name)
        return self.add(graph.BroadcastOp(self.scalar(value, type.element_type), type))

    def element_type(self, value: SSAValue) -> Attribute:
        return tensor_type_of(value, self.anchor.name).element_type

    def cast(self, value: SSAValue, element_type: Attribute) -> SSAValue:
        """Returns `value` in another element type; itself if it has that already."""
        type = tensor_type_of(value, self.anchor.name)
        if type.element_type == element_type:
            return value
        return self.add(graph.CastOp(value, tensor_of(element_type, shape_of(type))))
