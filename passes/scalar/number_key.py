"""The key of a constant: the text of its number, equal for the very same number only."""

from __future__ import annotations

from struct import pack

from ...dialects.dims.expressions import DimExpr


def number_key(value: float | DimExpr) -> str:
    """Returns a text that is another one for 0.0 and -0.0, 1 and 1.0, and NaNs of different bits."""
    if isinstance(value, float) and value != value:
        return pack("<d", value).hex()
    return repr(value)
