"""The ops that an expansion puts at the front of a kernel."""

from __future__ import annotations

from math import copysign

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.hints import isa

_INDEX = IndexType()


class KernelFront:
    """
    Constants, each once, and memory that loops use again and again. Added ops are in no block until `insert`.
    Integers that are at the front already are used as they are.
    """

    def __init__(self, block: Block) -> None:
        self._block = block
        self._ops: list[Operation] = []
        self._constants: dict[object, SSAValue] = {}
        for op in block.ops:
            if not isinstance(op, arith.ConstantOp):
                break
            if isinstance(op.value, IntegerAttr):
                self._constants[op.value] = op.result

    def index(self, value: int, location: LocationAttr) -> SSAValue:
        """Returns an index constant."""
        hint = f"c{value}" if value >= 0 else f"cm{-value}"
        return self.constant(IntegerAttr(value, _INDEX), _INDEX, hint, location)

    def constant(self, value: Attribute, type: Attribute, hint: str, location: LocationAttr) -> SSAValue:
        """Returns a constant."""
        key: object = value
        if isa(value, FloatAttr):  # 0.0 and -0.0 are equal, as attributes too.
            key = value, copysign(1.0, value.value.data)
        if key not in self._constants:
            op = arith.ConstantOp.create(result_types=(type,), properties={"value": value})
            self._constants[key] = self.add(op, hint, location)
        return self._constants[key]

    def add(self, op: Operation, hint: str, location: LocationAttr) -> SSAValue:
        """Adds an op and returns its result."""
        op.location = location
        op.results[0].name_hint = hint
        self._ops.append(op)
        return op.results[0]

    def insert(self) -> None:
        """Puts what was added where it belongs. To be called once, at the end."""
        first = self._block.first_op
        if first is None:
            self._block.add_ops(self._ops)
        else:
            self._block.insert_ops_before(self._ops, first)
