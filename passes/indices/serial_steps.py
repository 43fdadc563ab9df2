"""How far indices move from one iteration of a serial loop to the next."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, memref
from xdsl.ir import SSAValue

from ...dialects.buffer_size import strides_of
from ...dialects.low import SelectOp
from ...dialects.low.constant_integer import constant_integer
from .analysis import IndexAnalysis
from .expressions import Axis, Clamp, IndexExpr, Opaque

Numbers = Mapping[SSAValue, int]
"""Indices of loops, and buffers of one number that have those of loops, each with its step."""


def row_step(load: memref.LoadOp, along: Axis, analysis: IndexAnalysis, numbers: Numbers) -> int | None:
    """
    Returns how many elements lie between what a load reads in one iteration and in the next, where the
    subscripts that do not move along an axis move by a number; None where one of them does otherwise.
    """
    total = 0
    for subscript, stride in zip(load.indices, strides_of(load.memref.type), strict=True):
        index = analysis.expr(subscript)
        if along in index.axes():
            continue
        step = _step_of(index, numbers)
        if step is None or not isinstance(stride, int):
            return None
        total += step * stride
    return total


def _step_of(index: IndexExpr, numbers: Numbers) -> int | None:
    total = 0
    for atom, factor in index.terms.items():
        match atom:
            case Axis():
                step = 0
            case Opaque(value, _):
                step = _step_of_value(value, numbers)
            case Clamp(operand, _):
                step = _step_of(operand, numbers)
            case _:
                step = None
        if step is None or not isinstance(factor, int):
            return None
        total += step * factor
    return total


def _step_of_value(value: SSAValue, numbers: Numbers) -> int | None:
    """Returns how far a number moves that is computed of those of loops; None for any other."""
    if value in numbers:
        return numbers[value]
    match value.owner:
        case memref.LoadOp() as load:
            return numbers.get(load.memref)
        case arith.IndexCastOp() as cast:
            return _step_of_value(cast.input, numbers)
        # A clamp moves but at its ends, and the number of an element from the end is the one from the front.
        case arith.MaxSIOp() | arith.MinSIOp() as clamp if constant_integer(clamp.rhs) is not None:
            return _step_of_value(clamp.lhs, numbers)
        case SelectOp() as select:
            return _step_of_value(select.on_false, numbers)
        case arith.AddiOp() | arith.SubiOp() as op:
            sides = [
                0 if constant_integer(side) is not None else _step_of_value(side, numbers)
                for side in (op.lhs, op.rhs)
            ]
            first, second = sides
            if first is None or second is None:
                return None
            return first + second if isinstance(op, arith.AddiOp) else first - second
        case _:
            return None
