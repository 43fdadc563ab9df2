"""Casts that change no bits."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects import graph
from ...dialects.element_types import element_type_of, is_float, width_of


def is_same_bits(op: Operation) -> bool:
    """Returns whether an op only says whether integers are signed: a cast between two of one width."""
    if not isinstance(op, graph.CastOp):
        return False
    types = element_type_of(op.source.type), element_type_of(op.result.type)
    return not any(map(is_float, types)) and width_of(types[0]) == width_of(types[1])
