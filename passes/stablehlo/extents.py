"""
What is known of whole numbers when a program is converted: constants, extents of named dims, and what is
computed of them. So operands that say a shape become that shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerType, TensorType, i1
from xdsl.ir import Operation, SSAValue

from ...dialects import stablehlo
from ...dialects.dims.expressions import (
    DimSymbol,
    Extent,
    bounded,
    greatest,
    is_at_least,
    least,
    quotient,
    remainder,
)
from ...dialects.graph.types import shape_of
from ...dialects.xdsl_fixes import dense_values
from .combining import text_of

Known = Extent | bool | None
"""A number, a truth, or what is not known."""

_MOST_NUMBERS = 1024


class KnownNumbers:
    """Numbers of values of `stablehlo`; `shapes` gives what stands for a value whose extents matter."""

    def __init__(self, shapes: Callable[[SSAValue], SSAValue | None], dims: Mapping[str, DimSymbol]) -> None:
        self._shapes, self._dims = shapes, dims
        self._found: dict[SSAValue, tuple[Known, ...] | None] = {}

    def of(self, value: SSAValue) -> tuple[Known, ...] | None:
        """Returns the numbers of a value in row-major order, None where nothing is known."""
        waiting = [value]
        while waiting:
            each = waiting[-1]
            op = each.owner
            if each in self._found or not isinstance(op, Operation) or not _is_small(each):
                self._found.setdefault(each, None)
                waiting.pop()
                continue
            missing = [operand for operand in op.operands if operand not in self._found]
            if missing and not isinstance(op, stablehlo.GetDimensionSizeOp):
                waiting += missing
                continue
            self._found[each] = self._evaluated(op)
            waiting.pop()
        return self._found[value]

    def extents(self, value: SSAValue) -> tuple[Extent, ...] | None:
        """Returns the numbers of a value, None where one is not known."""
        found = self.of(value)
        if found is None:
            return None
        extents = tuple(each for each in found if each is not None and not isinstance(each, bool))
        return extents if len(extents) == len(found) else None

    def _evaluated(self, op: Operation) -> tuple[Known, ...] | None:
        match op:
            case stablehlo.ConstantOp() if isinstance(op.value, DenseIntOrFPElementsAttr):
                values = dense_values(cast("DenseIntOrFPElementsAttr[Any]", op.value))
                return tuple(each if isinstance(each, int) else None for each in values)
            case stablehlo.GetDimensionSizeOp():
                new = self._shapes(op.operands[0])
                axis = op.number("dimension", 0)
                if new is None or not isinstance(new.type, TensorType):
                    return None
                shape = shape_of(cast(TensorType[Any], new.type))
                return (bounded(shape[axis], self._dims),) if 0 <= axis < len(shape) else None
            case stablehlo.ConvertOp() | stablehlo.ReshapeOp() | stablehlo.OptimizationBarrierOp():
                return self._found[op.operands[0]]
            case stablehlo.BroadcastInDimOp():
                found, count = self._found[op.operands[0]], _count(op.results[0])
                return (found[0],) * count if found and len(found) == 1 and count is not None else None
            case stablehlo.ConcatenateOp() if op.number("dimension", 0) == 0:
                parts = [self._found[operand] for operand in op.operands]
                return tuple(
                    each
                    for part, operand in zip(parts, op.operands, strict=True)
                    for each in (part if part is not None else (None,) * (_count(operand) or 0))
                )
            case stablehlo.SliceOp() if _rank(op.results[0]) == 1:
                found = self._found[op.operands[0]]
                begin, end = op.ints("start_indices") or (0,), op.ints("limit_indices") or (0,)
                step = op.ints("strides") or (1,)
                if min(*begin, *end, 0) < 0 or min(step) < 1:
                    return None
                is_one = found is not None and len(begin) == len(end) == len(step) == 1
                return found[begin[0] : end[0] : step[0]] if found is not None and is_one else None
            case stablehlo.SelectOp() if (floored := self._floored(op)) is not None:
                return floored
            case _:
                return self._elementwise(op)

    def _floored(self, op: Operation) -> tuple[Known, ...] | None:
        """
        Returns the quotients or the remainders that jax makes of those of `stablehlo`, which round towards 0:
        the greatest quotients that are not above the fractions, and the remainders of those.
        """
        whole = op.operands[2].owner
        if not isinstance(whole, stablehlo.DivideOp | stablehlo.RemainderOp):
            return None
        names = dict(zip(whole.operands, "xy", strict=True))
        if tuple(text_of(value, names) for value in op.operands) not in _FLOORED:
            return None
        operands = [self._found[operand] for operand in whole.operands]
        if operands[0] is None or operands[1] is None:
            return None
        is_quotient = isinstance(whole, stablehlo.DivideOp)
        return tuple(_floor(x, y, is_quotient) for x, y in zip(*operands, strict=True))

    def _elementwise(self, op: Operation) -> tuple[Known, ...] | None:
        count = _count(op.results[0]) if len(op.results) == 1 else None
        if count is None:
            return None
        columns: list[tuple[Known, ...]] = []
        for operand in op.operands:
            column = self._found[operand] or (None,) * count
            columns.append((column[0],) * count if len(column) == 1 else column)
        if any(len(column) != count for column in columns):
            return None
        return tuple(_computed(op, row) for row in zip(*columns, strict=True)) if columns else None


def _is_small(value: SSAValue) -> bool:
    count = _count(value)
    return count is not None and count <= _MOST_NUMBERS


def _rank(value: SSAValue) -> int:
    return len(cast(TensorType[Any], value.type).get_shape()) if isinstance(value.type, TensorType) else 0


def _count(value: SSAValue) -> int | None:
    """Returns how many numbers a value has, None where it is not of whole numbers or of an open shape."""
    if not isinstance(value.type, TensorType):
        return None
    type = cast(TensorType[Any], value.type)
    shape = type.get_shape()
    if any(extent < 0 for extent in shape) or not isinstance(type.element_type, IntegerType):
        return None
    return math.prod(shape)


def _computed(op: Operation, row: tuple[Known, ...]) -> Known:
    match op, row:
        case stablehlo.SelectOp(), (bool(condition), x, y):
            return x if condition else y
        case stablehlo.AndOp() | stablehlo.MultiplyOp() | stablehlo.MinimumOp(), _ if _is_truth(op):
            return False if False in row else True if row == (True, True) else None
        case stablehlo.OrOp() | stablehlo.AddOp() | stablehlo.MaximumOp(), _ if _is_truth(op):
            return True if any(each is True for each in row) else False if row == (False, False) else None
        case stablehlo.NotOp(), (bool(truth),):
            return not truth
        case stablehlo.CompareOp(), (x, y) if op.comparison_direction is not None:
            return compared(op.comparison_direction.data.value, x, y)
        case _:
            numbers = [each for each in row if each is not None and not isinstance(each, bool)]
            return _number(op, numbers) if len(numbers) == len(row) else None


def _number(op: Operation, row: list[Extent]) -> Known:
    match op, row:
        case stablehlo.AddOp(), [x, y]:
            return x + y
        case stablehlo.SubtractOp(), [x, y]:
            return x - y
        case stablehlo.MultiplyOp(), [x, y]:
            return x * y
        case stablehlo.MaximumOp(), [x, y]:
            return greatest(x, y)
        case stablehlo.MinimumOp(), [x, y]:
            return least(x, y)
        case stablehlo.ClampOp(), [low, x, high]:
            return least(greatest(x, low), high)
        case stablehlo.NegateOp(), [x]:
            return x * -1
        case stablehlo.AbsOp(), [x] if is_at_least(x, 0):
            return x
        case stablehlo.SignOp(), [x]:
            return 1 if is_at_least(x, 1) else -1 if is_at_least(-1, x) else 0 if x == 0 else None
        case stablehlo.DivideOp(), [x, y] if is_at_least(x, 0) and is_at_least(y, 1):
            return quotient(x, y)
        case stablehlo.RemainderOp(), [x, y] if is_at_least(x, 0) and is_at_least(y, 1):
            return remainder(x, y)
        # Towards 0, and with the sign of the dividend.
        case stablehlo.DivideOp(), [x, y] if is_at_least(0, x) and is_at_least(y, 1):
            return quotient(x * -1, y) * -1
        case stablehlo.RemainderOp(), [x, y] if is_at_least(0, x) and is_at_least(y, 1):
            return remainder(x * -1, y) * -1
        case stablehlo.DivideOp(), [int(x), int(y)] if y:
            return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        case stablehlo.RemainderOp(), [int(x), int(y)] if y:
            return abs(x) % abs(y) * (-1 if x < 0 else 1)
        case _:
            return None


_FLOORED = (
    (
        "and(NE(sign(x), sign(y)), NE(remainder(x, y), 0))",
        "subtract(divide(x, y), 1)",
        "divide(x, y)",
    ),
    (
        "and(NE(LT(remainder(x, y), 0), LT(y, 0)), NE(remainder(x, y), 0))",
        "add(remainder(x, y), y)",
        "remainder(x, y)",
    ),
)
"""What jax selects of: the condition, what is then, and what is else."""


def _floor(x: Known, y: Known, is_quotient: bool) -> Known:
    """Returns a quotient that is rounded down, or its remainder, of a number whose sign is known."""
    if x is None or y is None or isinstance(x, bool) or isinstance(y, bool) or not is_at_least(y, 1):
        return None
    if is_at_least(x, 0):
        return quotient(x, y) if is_quotient else remainder(x, y)
    if not is_at_least(-1, x):
        return None
    # Of numbers that are not negative, as sizes are computed of them.
    below = x * -1 - 1
    return quotient(below, y) * -1 - 1 if is_quotient else y - 1 - remainder(below, y)


def _is_truth(op: Operation) -> bool:
    type = op.results[0].type
    return isinstance(type, TensorType) and cast(TensorType[Any], type).element_type == i1


def compared(direction: str, x: Known, y: Known) -> bool | None:
    """Returns whether two numbers compare so for all values of their dims, None where that is not known."""
    if x is None or y is None:
        return None
    if isinstance(x, bool) or isinstance(y, bool):
        return (x == y) == (direction == "EQ") if direction in ("EQ", "NE") else None
    match direction:
        case "LT" | "LE":
            return compared("GT" if direction == "LT" else "GE", y, x)
        case "GE":
            return True if is_at_least(x, y) else False if is_at_least(y, x + 1) else None
        case "GT":
            return True if is_at_least(x, y + 1) else False if is_at_least(y, x) else None
        case _:
            same = True if x == y else None
            if same is None and (is_at_least(x, y + 1) or is_at_least(y, x + 1)):
                same = False
            return same if direction == "EQ" or same is None else not same
