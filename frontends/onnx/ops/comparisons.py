"""Comparisons, and what is computed with their results."""

from __future__ import annotations

from collections.abc import Callable

from ... import numpy as tnp
from ...arrays.array import Array
from ..registry import onnx_op
from .elementwise import check_same_dtype

_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "And": tnp.logical_and,
    "Equal": tnp.equal,
    "Greater": tnp.greater,
    "GreaterOrEqual": tnp.greater_equal,
    "Less": tnp.less,
    "LessOrEqual": tnp.less_equal,
    "Or": tnp.logical_or,
    "Xor": tnp.logical_xor,
}


def _register(name: str, function: Callable[[Array, Array], Array]) -> None:
    @onnx_op(name, since=7)
    def compared(x: Array, y: Array) -> Array:  # pyright: ignore[reportUnusedFunction]
        check_same_dtype(name, x, y)
        return function(x, y)


for _name, _function in _BINARY.items():
    _register(_name, _function)


@onnx_op("IsInf", since=10)
def is_inf(x: Array, *, detect_negative: int = 1, detect_positive: int = 1) -> Array:
    found = tnp.isinf(x)
    if not detect_negative:
        found = tnp.logical_and(found, tnp.greater(x, 0))
    if not detect_positive:
        found = tnp.logical_and(found, tnp.less(x, 0))
    return found


@onnx_op("Where", since=9)
def where(condition: Array, x: Array, y: Array) -> Array:
    check_same_dtype("Where", x, y)
    return tnp.where(condition, x, y)
