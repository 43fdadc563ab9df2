"""What the namespace says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments.axes import MAX_RANK
from .dtypes import (
    SIGNED,
    STANDARD_FLOATS,
    UNSIGNED,
    DType,
    bool,
    check_device,
    float64,
    int64,
    isdtype,
)

__all__ = ["__array_namespace_info__"]


class NamespaceInfo:
    """What `__array_namespace_info__` returns, by the Array API standard."""

    def capabilities(self) -> dict[str, Any]:
        """
        Returns what works: boolean masks as indices and shapes that depend on values do, but not of traced
        arrays.
        """
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": MAX_RANK}

    def default_device(self) -> str:
        """Returns the device of new arrays."""
        return "cpu"

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Returns the dtypes of new arrays. The complex one is that of numpy, which no array can have."""
        check_device("default_dtypes", device)
        return {
            "real floating": float64,
            "complex floating": np.dtype(np.complex128),
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """
        Returns by name the dtypes of the standard that arrays can have, those of a kind if one is given.
        There are no complex ones; float16, bfloat16 and the 8-bit floats are no part of the standard.
        """
        check_device("dtypes", device)
        known = (bool, *SIGNED, *UNSIGNED, *STANDARD_FLOATS)
        return {dtype.name: dtype for dtype in known if kind is None or isdtype(dtype, kind)}

    def devices(self) -> list[str]:
        """Returns the devices there are."""
        return ["cpu"]


def __array_namespace_info__() -> NamespaceInfo:
    """Returns what the namespace says of itself."""
    return NamespaceInfo()
