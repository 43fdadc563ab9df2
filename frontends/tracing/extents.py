"""
Extents that are known at each call only, as Python code that is traced sees them: what holds for all values
that their dims may have there is known, and all else is an error at the user's line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from ...dialects.dims.expressions import (
    DimExpr,
    DimSymbol,
    Extent,
    Quotient,
    Remainder,
    bounded,
    parts_of,
    product,
    terms_of,
    unbounded,
)
from ...dialects.dims.expressions import greatest as greatest_of
from ...dialects.dims.expressions import is_at_least as is_known_at_least
from ...dialects.dims.expressions import least as least_of
from ...dialects.graph.dim import dims_of, dims_text
from ...errors import TracingError
from .trace import current_trace


def dims_here() -> Mapping[str, DimSymbol]:
    """Returns the dims of the function that is traced, with their bounds; none outside of a trace."""
    trace = current_trace()
    return {} if trace is None else dims_of(trace.module)


def is_at_least(extent: Extent, limit: Extent) -> bool:
    """Returns whether `extent >= limit` for all values of the dims."""
    if isinstance(extent, int) and isinstance(limit, int):
        return extent >= limit
    dims = dims_here()
    return is_known_at_least(bounded(extent, dims), bounded(limit, dims))


def least(first: Extent, second: Extent) -> Extent:
    """Returns the lesser of two extents."""
    dims = dims_here()
    return traced(unbounded(least_of(bounded(first, dims), bounded(second, dims))))


def greatest(first: Extent, second: Extent) -> Extent:
    """Returns the greater of two extents."""
    dims = dims_here()
    return traced(unbounded(greatest_of(bounded(first, dims), bounded(second, dims))))


def quotient_up(extent: Extent, divisor: int) -> Extent:
    """Returns `extent / divisor`, rounded up."""
    return traced(unbounded((bounded(extent, dims_here()) + (divisor - 1)) // divisor))


def check_divisors(extent: Extent) -> None:
    """Raises TracingError where an extent may divide by 0."""
    for atom in _divisions(extent):
        if not is_at_least(atom.divisor, 1):
            refuse(f"{extent} may divide by 0: {text_of(atom.divisor)}", "a tenon.Dim with another minimum")


def check_quotients(extent: Extent) -> None:
    """Raises TracingError where an extent of a shape may divide by 0, or divide what is negative."""
    check_divisors(extent)
    for atom in _divisions(extent):
        if not is_at_least(atom.operand, 0):
            refuse(
                f"{extent} may divide what is negative: {text_of(atom.operand)}",
                "a tenon.Dim with other bounds",
            )


def _divisions(extent: Extent) -> Iterator[Quotient | Remainder]:
    for monomial, _ in terms_of(extent):
        for atom in monomial:
            if isinstance(atom, DimSymbol):
                continue
            if isinstance(atom, Quotient | Remainder):
                yield atom
            for part in parts_of(atom):
                yield from _divisions(part)


def bounds_text(extent: Extent) -> str:
    """Returns what the dims of an extent may be, for errors: `n from 1 to 64`."""
    return dims_text(extent, dims_here())


def text_of(extent: Extent) -> str:
    """Returns an extent with what its dims may be, for errors: `n + 1 (n from 1 to 64)`."""
    return str(extent) if isinstance(extent, int) else f"{extent} ({bounds_text(extent)})"


def refuse(message: str, hint: str) -> NoReturn:
    """Raises TracingError at the user's line."""
    trace = current_trace()
    if trace is None:
        raise TracingError(f"{message} (hint: {hint})")
    raise trace.error(f"{message} (hint: {hint})")


class TracedExtent(DimExpr):
    """
    An extent as Python code that is traced has it, which takes it for a number: what it is computed to is one
    too, a fraction or a power is an array, and a comparison must hold, or not, for all values of the dims.
    """

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return traced(super().__add__(other)) if _is_extent(other) else _computed("add", self, other)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return traced(super().__neg__())

    def __pos__(self) -> TracedExtent:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + -other if _is_extent(other) else _computed("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _is_extent(other) else _computed("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return traced(super().__mul__(other)) if _is_extent(other) else _computed("mul", self, other)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Any) -> Any:
        return traced(super().__floordiv__(divisor))

    def __rfloordiv__(self, other: Any) -> Any:
        return traced(super().__rfloordiv__(other))

    def __mod__(self, divisor: Any) -> Any:
        return traced(super().__mod__(divisor))

    def __rmod__(self, other: Any) -> Any:
        return traced(super().__rmod__(other))

    def __pow__(self, exponent: object) -> Any:
        if isinstance(exponent, int) and exponent >= 0:
            return product([self] * exponent)
        return _computed("pow", self, exponent)

    def __rpow__(self, base: object) -> Any:
        return _computed("pow", base, self)

    def __truediv__(self, divisor: object) -> Any:
        return _computed("div", self, divisor)

    def __rtruediv__(self, dividend: object) -> Any:
        return _computed("div", dividend, self)

    def __lt__(self, other: object) -> bool:
        return _compared(self, "<", other)

    def __le__(self, other: object) -> bool:
        return _compared(self, "<=", other)

    def __gt__(self, other: object) -> bool:
        return _compared(self, ">", other)

    def __ge__(self, other: object) -> bool:
        return _compared(self, ">=", other)

    def __bool__(self) -> bool:
        # Constructors of ops ask whether an extent is the number 0, which an expression is not.
        if not dims_here() or is_at_least(self, 1) or is_at_least(-1, self):
            return True
        _undecided(f"{self} != 0", self)

    def __index__(self) -> int:
        self._no_value("index")

    def __int__(self) -> int:
        self._no_value("int")

    def __float__(self) -> float:
        self._no_value("float")

    def _no_value(self, what: str) -> NoReturn:
        refuse(
            f"{what}: the extent {self} is known at each call only ({bounds_text(self)})",
            "tenon.scan or tenon.fori_loop instead of a loop, functions of tenon.numpy instead of math's, or "
            "an array without dynamic axes",
        )


def traced(extent: Any) -> Any:
    """Returns an extent as traced code has it; a number, and what is no extent, as it is."""
    return TracedExtent(extent.terms) if isinstance(extent, DimExpr) else extent


def _is_extent(value: object) -> bool:
    return isinstance(value, int | DimExpr)


def _compared(lhs: DimExpr, relation: str, rhs: Any) -> Any:
    """Returns `lhs relation rhs` where all values of the dims agree on it."""
    if not _is_extent(rhs):
        return NotImplemented
    low, high = (lhs, rhs) if relation in ("<=", "<") else (rhs, lhs)
    gap = 1 if relation in ("<", ">") else 0
    if is_at_least(high, low + gap):
        return True
    if is_at_least(low + (gap - 1), high):
        return False
    _undecided(f"{lhs} {relation} {rhs}", lhs - rhs)


def _undecided(text: str, extent: Extent) -> NoReturn:
    refuse(
        f"whether {text} is known at each call only ({bounds_text(extent)})",
        "a tenon.Dim with bounds that decide it, or tenon.cond with tenon.numpy.asarray of the extent",
    )


def _computed(operation: str, *values: Any) -> Any:
    """Returns the array that `add`, `sub`, `mul`, `div` or `pow` gives of numbers and extents."""
    from . import graph_ops as ops

    trace = current_trace()
    if trace is None or not all(isinstance(value, int | float | DimExpr) for value in values):
        return NotImplemented
    dtype = np.dtype(np.float64)
    if operation == "pow" and _is_extent(values[0]) and isinstance(values[1], DimExpr):
        dtype = np.dtype(np.int64)
    operands = [
        ops.cast(ops.extent(value), dtype, True)
        if isinstance(value, DimExpr)
        else trace.constant(np.array(value, dtype), True)
        for value in values
    ]
    return getattr(ops, operation)(*operands)
