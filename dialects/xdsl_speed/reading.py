"""Reading the operands and results of an op, by name or number, and the shape of a tensor."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from struct import unpack
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.core import OpOperands, SSAValues, Use
from xdsl.irdl.operations import (
    BaseAttrAccessor,
    BeforeVariadicSingleAccessor,
    IRDLOperation,
    VarIRConstruct,
    get_op_constructs,
)

_item_of_tuple: Any = vars(tuple)["__getitem__"]


def _value_at(self: SSAValues[Any], index: Any) -> Any:
    found = _item_of_tuple(self, index)
    return SSAValues(found) if type(index) is slice else found


def _read_single(self: BeforeVariadicSingleAccessor, obj: Operation, objtype: type | None = None) -> Any:
    construct = self.construct
    if construct is VarIRConstruct.OPERAND:
        return _item_of_tuple(obj._operands, self.idx)
    if construct is VarIRConstruct.RESULT:
        return _item_of_tuple(obj.results, self.idx)
    return get_op_constructs(obj, construct)[self.idx]


def _read_sized(self: BaseAttrAccessor, obj: Operation, objtype: type | None = None) -> Any:
    sizes: Any = self.option.container(obj)[self.option.attribute_name]
    counts = _counts(sizes.data.data) if sizes.elt_type.width.data == 32 else sizes.get_values()
    construct = self.construct
    values = obj._operands if construct is VarIRConstruct.OPERAND else get_op_constructs(obj, construct)
    return self.index(counts, values)


@cache
def _counts(sizes: bytes) -> tuple[int, ...]:
    """Returns the numbers that xDSL keeps as the bytes of i32."""
    return unpack(f"<{len(sizes) // 4}i", sizes)


def _set_operands(self: Operation, operands: Sequence[SSAValue]) -> None:
    for operand, use in zip(self._operands, self._operand_uses, strict=True):
        operand.remove_use(use)
    self._operands = new = SSAValues(operands)
    self._operand_uses = uses = tuple([Use(self, number) for number in range(len(new))])
    for operand, use in zip(new, uses, strict=True):
        operand.add_use(use)


def _operand_at(self: OpOperands, index: Any) -> Any:
    operands: Any = self._op._operands
    return _item_of_tuple(operands, index) if type(index) is int else operands[index]


def _get_shape(self: TensorType[Any]) -> tuple[int, ...]:
    """A type never changes, so that its shape is kept beside its parameters."""
    known: tuple[int, ...] | None = getattr(self, "_extents", None)
    if known is None:
        known = tuple([extent.data for extent in self.shape.data])
        object.__setattr__(self, "_extents", known)
    return known


def apply() -> None:
    """Installs it."""
    cast(Any, SSAValues).__getitem__ = _value_at
    BeforeVariadicSingleAccessor.__get__ = _read_single
    BaseAttrAccessor.__get__ = _read_sized
    TensorType.get_shape = _get_shape
    cast(Any, Operation).operands = Operation.operands.setter(_set_operands)
    cast(Any, OpOperands).__getitem__ = _operand_at
    for kind in (SSAValue, IRDLOperation):
        # By their addresses, as before, without a call.
        cast(Any, kind).__hash__ = object.__hash__
