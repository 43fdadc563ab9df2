"""
Extents that are known at each call only, as Python code that is traced sees them: what holds for all values
that their dims may have there is known, and all else is an error at the user's line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from ...dialects.dims.expressions import (
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
from .traced_extent import traced


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
