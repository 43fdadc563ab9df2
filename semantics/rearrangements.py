"""Arrays whose elements are those of another one, in another order."""

from __future__ import annotations

import numpy as np

from ..dialects.rearrangement import Rearrangement
from .numpy_types import Array


def rearrange(source: Array, target: Array, what: Rearrangement) -> None:
    """
    Fills `target`, contiguous and of as many elements, with those of `source`, contiguous and of the same
    dtype.

    Raises:
        ValueError: an element that is read lies outside of `source`.
    """
    size, dtype = source.itemsize, source.dtype
    strides = [size * stride for stride in what.strides]
    found = np.ndarray(what.shape, dtype, source.reshape(-1).view(np.uint8).data, size * what.offset, strides)
    places = target.reshape(-1).reshape(what.shape)
    if what.summed:
        np.add(found, dtype.type(0), out=places)
    else:
        np.copyto(places, found, casting="no")
