"""The values of arrays, for functions whose results have as many elements as the values say."""

from __future__ import annotations

import numpy as np

from ..arrays.array import Array
from ..arrays.concrete import NumpyArray, as_concrete
from ..arrays.tracing_state import note_values_read
from ..sharding.sharded_array import ShardedArray
from ..tracing.trace import TracedArray

__all__ = ["nonzero"]


def values_of(who: str, x: object, hint: str) -> NumpyArray:
    """
    Returns the values of an array.

    Raises:
        TracingError: it has none as yet: its shape could not depend on them. `hint` says what to do instead.
        TypeError: it is no array, or one that is spread over ranks or devices.
    """
    if isinstance(x, TracedArray):
        raise x.trace.error(
            f"{who}: the shape of the result depends on the values of an array of dtype {x.dtype} and shape "
            f"{x.shape}, which are not known while @{x.trace.name} is traced (hint: {hint})"
        )
    if isinstance(x, ShardedArray):
        raise TypeError(
            f"{who}: an array of shape {x.shape} is spread over {x.sharding.mesh.size_text}, and the shape "
            f"of the result depends on all its values (hint: {who}(tenon.gather(x)))"
        )
    note_values_read(x)
    return as_concrete(x).numpy()


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """
    Returns the indices of the elements that are not zero, one array in int64 for each axis.

    Raises:
        TracingError: `x` is traced.
        ValueError: its rank is 0.
    """
    values = values_of(
        "nonzero", x, "tenon.numpy.where(condition, x, y), or call nonzero outside of the function"
    )
    if not values.ndim:
        raise ValueError("nonzero: calling nonzero on 0d arrays is not allowed (hint: atleast_1d)")
    return tuple(as_concrete(index) for index in np.nonzero(values))
