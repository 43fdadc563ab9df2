"""
What a region over elements computes: one operation that `graph` has a reduction or a scatter for, or
something else.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...algorithms.emitter import is_unsigned, width_of
from ...dialects import graph, stablehlo
from ...dialects.element_types import is_float
from ...dialects.graph import ReduceKind

_KINDS: dict[type[Operation], ReduceKind] = {
    stablehlo.AddOp: ReduceKind.ADD,
    stablehlo.MultiplyOp: ReduceKind.MUL,
    stablehlo.MaximumOp: ReduceKind.MAX,
    stablehlo.MinimumOp: ReduceKind.MIN,
    stablehlo.AndOp: ReduceKind.AND,
    stablehlo.OrOp: ReduceKind.OR,
}

_OF_BOOL = {
    ReduceKind.ADD: ReduceKind.OR,
    ReduceKind.MAX: ReduceKind.OR,
    ReduceKind.MUL: ReduceKind.AND,
    ReduceKind.MIN: ReduceKind.AND,
}

COMBINE: dict[ReduceKind, type[graph.BinaryOp]] = {
    ReduceKind.ADD: graph.AddOp,
    ReduceKind.MUL: graph.MulOp,
    ReduceKind.MAX: graph.MaxOp,
    ReduceKind.MIN: graph.MinOp,
    ReduceKind.AND: graph.AndOp,
    ReduceKind.OR: graph.OrOp,
}
"""The op that combines two values as a reduction of that kind does."""


def kind_of(block: Block, element: Attribute) -> ReduceKind | None:
    """Returns the kind of reduction that a region of two elements is, None where it is another."""
    first, last = block.first_op, block.last_op
    if first is None or last is None or first.next_op is not last or len(block.args) != 2:
        return None
    kind = _KINDS.get(type(first))
    if kind is None or set(first.operands) != set(block.args) or list(last.operands) != list(first.results):
        return None
    if first.results[0].type != block.args[0].type or block.args[0].type != block.args[1].type:
        return None
    return _OF_BOOL.get(kind, kind) if element == i1 else kind


def identity_of(kind: ReduceKind, element: Attribute) -> int | float:
    """Returns what changes nothing when it is combined."""
    match kind:
        case ReduceKind.ADD:
            return 0
        case ReduceKind.MUL:
            return 1
        case ReduceKind.OR:
            return 0
        case ReduceKind.AND:
            return 1 if element == i1 else -1
        case ReduceKind.MAX | ReduceKind.MIN:
            if is_float(element):
                return float("-inf") if kind is ReduceKind.MAX else float("inf")
            width, has_no_sign = width_of(element), is_unsigned(element)
            if kind is ReduceKind.MAX:
                return 0 if has_no_sign else -(1 << (width - 1))
            return (1 << (width if has_no_sign else width - 1)) - 1


def constant_of(value: SSAValue) -> int | float | None:
    """Returns the number that a value of `stablehlo` is everywhere, None where it is not known."""
    op = value.owner
    while isinstance(op, stablehlo.BroadcastInDimOp | stablehlo.ReshapeOp):
        op = op.operands[0].owner
    if not isinstance(op, stablehlo.ConstantOp) or not isinstance(op.value, DenseIntOrFPElementsAttr):
        return None
    dense = cast("DenseIntOrFPElementsAttr[Any]", op.value)
    if not dense.is_splat():
        return None
    number = dense.get_values()[0]
    if dense.get_element_type() == i1:
        return int(number != 0)
    return number if isinstance(cast(object, number), int | float) else None


def is_identity(kind: ReduceKind, element: Attribute, value: SSAValue) -> bool:
    """Returns whether a value of `stablehlo` changes nothing when it is combined."""
    number = constant_of(value)
    if number is None:
        return False
    wanted = identity_of(kind, element)
    if kind is ReduceKind.AND and element != i1:
        every = (1 << width_of(element)) - 1
        return int(number) & every == every
    return number == wanted


_LONGEST_TEXT = 4096


def text_of(value: SSAValue, names: dict[SSAValue, str]) -> str:
    """
    Returns an expression for what a region computes, to compare it with others; `?` stands for what is not
    written out. `names` are those of the arguments, and keep what was found.
    """
    if (known := names.get(value)) is not None:
        return known
    op = value.owner
    if not isinstance(op, Operation) or op.regions:
        return "?"
    parts = ", ".join(text_of(operand, names) for operand in op.operands)
    match op:
        case stablehlo.CompareOp() if op.comparison_direction is not None:
            text = f"{op.comparison_direction.data.value}({parts})"
        case stablehlo.ConstantOp():
            text = "?" if (number := constant_of(value)) is None else repr(number)
        case _:
            options = f"{op.properties}" if op.properties else ""
            text = f"{op.name.removeprefix('stablehlo.')}{options}({parts})"
    names[value] = text if len(text) <= _LONGEST_TEXT else "?"
    return names[value]
