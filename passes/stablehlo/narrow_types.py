"""The integers of 2 and 4 bits, and the types of 8 bits that carry their numbers."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import IntegerType, Signedness, TensorType, i8
from xdsl.ir import Attribute, SSAValue

from ...algorithms.emitter import Emitter, is_unsigned, width_of
from ...dialects import graph
from ...dialects.element_types import ui8

_CARRIERS: dict[Attribute, IntegerType] = {
    IntegerType(width, sign): ui8 if sign is Signedness.UNSIGNED else i8
    for width in (2, 4)
    for sign in (Signedness.SIGNLESS, Signedness.UNSIGNED)
}


def is_narrow(element: Attribute | None) -> bool:
    """Returns whether an element type is an integer of 2 or 4 bits."""
    return element in _CARRIERS


def carrier_of(element: Attribute) -> Attribute:
    """Returns the type that carries a narrow integer, and any other element type as it is."""
    return _CARRIERS.get(element, element)


def carried(type: Attribute) -> Attribute:
    """Returns a tensor type with the carriers of its elements, and any other type as it is."""
    if not isinstance(type, TensorType):
        return type
    tensor = cast(TensorType[Any], type)
    if not is_narrow(tensor.element_type):
        return tensor
    made: TensorType[Any] = TensorType(carrier_of(tensor.element_type), tensor.shape, tensor.encoding)
    return made


def wrapped(c: Emitter, x: SSAValue, element: Attribute) -> SSAValue:
    """Returns the low bits of a carrier as a number of a narrow type; `x` itself for another type."""
    if not is_narrow(element):
        return x
    width = width_of(element)
    if is_unsigned(element):
        return c.binary(graph.AndOp, x, (1 << width) - 1)
    return c.binary(graph.ShrOp, c.binary(graph.ShlOp, x, 8 - width), 8 - width)
