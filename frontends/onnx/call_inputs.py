"""What calls of a model take: arrays that fit what it says of its inputs, and extents of its named dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ...errors import CallError
from ..arrays.concrete import as_concrete
from ..jit.dims import Dim
from .loading import dim_names
from .values import GraphInput, NumpyArray, Value

_LARGEST_DIM = 1 << 16
"""The bound of named dims where none is given, so that programs can tell how much memory they take."""


class CallInputs:
    """
    The inputs that calls of a model have, in order. `given` says of named dims what bounds they have, or
    which numbers they are; the others are open.

    Raises:
        TypeError: a dim is neither a number nor a `Dim`.
        ValueError: the model has no such dim.
    """

    def __init__(self, who: str, infos: tuple[GraphInput, ...], given: Mapping[str, int | Dim]) -> None:
        self.who = who
        self.infos = infos
        self.dims = _dims_of(infos, given)
        self._bounded = frozenset(given)

    def bound(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        names = [each.name for each in self.infos]
        if len(inputs) > len(names):
            raise CallError(f"{self.who}: {len(inputs)} inputs, expected {len(names)} ({', '.join(names)})")
        found = dict(zip(names, inputs, strict=False))
        for name, value in named.items():
            if name not in names or name in found:
                why = "given twice" if name in names else f"not an input ({', '.join(names)})"
                raise CallError(f"{self.who}: '{name}' is {why}")
            found[name] = value
        missing = [each.name for each in self.infos if each.name not in found and each.kind != "optional"]
        if missing:
            raise CallError(f"{self.who}: no value for the input '{missing[0]}'")
        return [found.get(name) for name in names]

    def checked(self, info: GraphInput, value: Any) -> Value:
        """Returns what is given for an input, as numpy arrays. Raises CallError where it does not fit."""
        if info.kind == "sequence" and isinstance(value, list | tuple):
            return [self._array(info, each) for each in cast("Sequence[Any]", value)]
        if info.kind != "tensor" and value is None:
            return None
        return self._array(info, value)

    def _array(self, info: GraphInput, value: Any) -> NumpyArray:
        if isinstance(value, np.ndarray | np.generic):
            array: NumpyArray = np.asarray(cast(Any, value))
        else:
            try:
                array = as_concrete(value).values
            except TypeError as error:
                raise CallError(f"{self.who}: input '{info.name}': {error}") from None
        if info.dtype is not None and array.dtype != info.dtype:
            raise CallError(f"{self.who}: input '{info.name}' is {array.dtype}, expected {info.dtype}")
        if info.kind != "tensor" or info.shape is None:
            return array
        wanted = info.shape
        fits = len(wanted) == array.ndim and all(
            not isinstance(extent, int) or extent == found
            for extent, found in zip(wanted, array.shape, strict=True)
        )
        if not fits:
            raise CallError(f"{self.who}: input '{info.name}' has shape {array.shape}, expected {info}")
        return array

    def extents(self, values: Sequence[Value]) -> dict[str, int]:
        """Returns the extents of named dims. Raises CallError where an extent does not fit its dim."""
        found: dict[str, int] = {}
        for info, value in zip(self.infos, values, strict=True):
            if info.kind != "tensor" or info.shape is None:
                continue
            for axis, extent in enumerate(info.shape):
                if not isinstance(extent, str):
                    continue
                number = value.shape[axis]
                if found.setdefault(extent, number) != number:
                    raise CallError(
                        f"{self.who}: the dim '{extent}' is {found[extent]}, and {number} in input "
                        f"'{info.name}' (axis {axis} of shape {value.shape})"
                    )
                dim = self.dims[extent]
                low, high = (dim, dim) if isinstance(dim, int) else (dim.minimum, dim.maximum)
                if extent in self._bounded and not low <= number <= high:
                    raise CallError(
                        f"{self.who}: the dim '{extent}' is {number} in input '{info.name}', expected "
                        f"{low if low == high else f'{low} to {high}'}"
                    )
        return found

    def is_outside(self, extents: Mapping[str, int]) -> bool:
        """Returns whether an extent is out of the bounds that a dim has where none are given."""
        return any(
            isinstance(dim, Dim) and not dim.minimum <= extents.get(name, dim.minimum) <= dim.maximum
            for name, dim in self.dims.items()
        )

    def open_shape(self, info: GraphInput, shape: tuple[int, ...]) -> tuple[Any, ...]:
        if info.kind != "tensor" or info.shape is None:
            return shape
        found: list[Any] = []
        for extent, number in zip(info.shape, shape, strict=True):
            dim = self.dims[extent] if isinstance(extent, str) else number
            found.append(dim.extent if isinstance(dim, Dim) else dim)
        return tuple(found)


def _dims_of(inputs: Sequence[GraphInput], given: Mapping[str, int | Dim]) -> dict[str, int | Dim]:
    """Returns the named dims of inputs, by what the model calls them."""
    params = list(
        dict.fromkeys(extent for info in inputs for extent in info.shape or () if isinstance(extent, str))
    )
    for name, dim in given.items():
        if name not in params:
            raise ValueError(f"from_onnx: dims has '{name}', the model has {params}")
        if not isinstance(dim, Dim) and (isinstance(dim, bool) or not isinstance(cast(object, dim), int)):
            raise TypeError(f"from_onnx: dims has {dim!r} for '{name}', expected a number or a Dim")
    names = dim_names(params)
    return {param: given.get(param, Dim(names[param], 1, _LARGEST_DIM)) for param in params}
