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
    return unbounded(least_of(bounded(first, dims), bounded(second, dims)))


def greatest(first: Extent, second: Extent) -> Extent:
    """Returns the greater of two extents."""
    dims = dims_here()
    return unbounded(greatest_of(bounded(first, dims), bounded(second, dims)))


def quotient_up(extent: Extent, divisor: int) -> Extent:
    """Returns `extent / divisor`, rounded up."""
    return unbounded((bounded(extent, dims_here()) + (divisor - 1)) // divisor)


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


class _PythonNumbers:
    def compare(self, lhs: DimExpr, relation: str, rhs: Extent) -> bool:
        low, high = (lhs, rhs) if relation in ("<=", "<") else (rhs, lhs)
        gap = 1 if relation in ("<", ">") else 0
        if is_at_least(high, low + gap):
            return True
        if is_at_least(low + (gap - 1), high):
            return False
        self._undecided(f"{lhs} {relation} {rhs}", lhs - rhs)

    def is_true(self, extent: DimExpr) -> bool:
        # Passes and verifiers ask whether an extent is the number 0, which an expression is not.
        if not dims_here() or is_at_least(extent, 1) or is_at_least(-1, extent):
            return True
        self._undecided(f"{extent} != 0", extent)

    def _undecided(self, text: str, extent: Extent) -> NoReturn:
        refuse(
            f"whether {text} is known at each call only ({bounds_text(extent)})",
            "a tenon.Dim with bounds that decide it, or tenon.cond with tenon.numpy.asarray of the extent",
        )

    def compute(self, operation: str, lhs: float | Extent, rhs: float | Extent) -> Any:
        from . import graph_ops as ops

        trace = current_trace()
        if trace is None:
            return NotImplemented
        dtype = np.dtype(np.float64)
        if operation == "pow" and isinstance(lhs, int | DimExpr) and isinstance(rhs, DimExpr):
            dtype = np.dtype(np.int64)
        operands = [
            ops.cast(ops.extent(each), dtype, True)
            if isinstance(each, DimExpr)
            else trace.constant(np.array(each, dtype), True)
            for each in (lhs, rhs)
        ]
        return getattr(ops, operation)(*operands)

    def value(self, extent: DimExpr, what: str) -> Any:
        refuse(
            f"{what}: the extent {extent} is known at each call only ({bounds_text(extent)})",
            "tenon.scan or tenon.fori_loop instead of a loop, functions of tenon.numpy instead of math's, or "
            "an array without dynamic axes",
        )


DimExpr.PYTHON = _PythonNumbers()
