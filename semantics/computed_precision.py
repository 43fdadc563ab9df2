"""In which floats results were computed, whatever they are given in: by that two runs may differ."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import graph
from ..dialects.element_types import element_type_of
from ..dialects.float_layout import LAYOUTS
from ..dialects.graph.base import MovementOp


def result_precisions(function: Operation) -> list[Attribute]:
    """
    Returns for each result of a function of `graph` the element type with the fewest digits among the floats
    that it was computed in, that of the result itself included: f32 for a sum in f32 that is cast to f64. Of
    what is no function of `graph` there are none.
    """
    if not isinstance(function, func.FuncOp) or not function.body.blocks:
        return []
    end = function.body.blocks.last.last_op if function.body.blocks.last is not None else None
    return [_precision(value) for value in end.operands] if isinstance(end, func.ReturnOp) else []


def _precision(value: SSAValue) -> Attribute:
    own = element_type_of(value.type)
    if own not in LAYOUTS:
        return own
    found, seen = {own}, {value}
    left = [value]
    while left:
        op = left.pop().owner
        if isinstance(op, Block):
            continue
        for nested in op.walk():
            # What is moved or cast is as exact as it was.
            if not isinstance(nested, graph.ConstantOp | graph.CastOp | MovementOp):
                found.update(element_type_of(result.type) for result in nested.results)
            for operand in nested.operands:
                if operand not in seen:
                    seen.add(operand)
                    left.append(operand)
    floats = [type for type in found if type in LAYOUTS]
    return min(floats, key=lambda type: LAYOUTS[type].n_mantissa_bits)
