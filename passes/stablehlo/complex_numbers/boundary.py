"""
Complex numbers where a program begins and ends: arrays of their parts, with a last axis of 2.

That is how they lie in memory: an array of numpy's is `x.view(numpy.float32)`, of a shape with one axis more.
"""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from ....algorithms.emitter import Emitter
from ....dialects.graph import tensor_of
from ....dialects.graph.types import shape_of
from ..complex_parts import Pair, part_type


def bounded_type(type: Attribute) -> Attribute:
    """Returns the type of an argument or a result of a program, whose elements may be complex numbers."""
    part = part_type(type)
    return type if part is None else tensor_of(part.element_type, (*shape_of(part), 2))


def unpaired(c: Emitter, x: SSAValue) -> Pair:
    """Returns the parts of complex numbers, which lie side by side."""
    *shape, _ = c.shape(x)
    re, im = (c.reshape(c.part(x, len(shape), number, 1), shape) for number in range(2))
    return re, im


def paired(c: Emitter, re: SSAValue, im: SSAValue) -> SSAValue:
    """Returns parts side by side."""
    shape = c.shape(re)
    return c.concat([c.reshape(part, (*shape, 1)) for part in (re, im)], len(shape))
