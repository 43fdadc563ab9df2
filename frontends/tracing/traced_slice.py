"""Slices with traced ends: arrays of as many elements as the program says, within arrays of known shape."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NoReturn, cast

import numpy as np

from ..arrays.array import Array
from ..arrays.aval import Aval
from .slice_ends import End, array_of, bounds_of, length_of
from .trace import TracedArray

_HINT = (
    "sums, products and elementwise functions of such slices, x.at[...] with such a slice, or "
    "tenon.numpy.where(mask, x, other) over the whole axis"
)


@dataclass(frozen=True)
class Window:
    """The part of an axis from `first` up to before `stop`, in reversed order where `backwards`."""

    first: End
    stop: End
    backwards: bool = False

    @property
    def length(self) -> End:
        return length_of(self.first, self.stop)

    def place_of(self, index: End) -> End:
        """Returns where in the axis an element is."""
        return self.stop - index - End(frozenset(), 1) if self.backwards else self.first + index


class TracedSlice(Array):
    """
    A part of a traced array, of which there is a window on some axes. What is computed with it is computed
    on the whole axes, of which only what is in the windows counts in the end: compiled loops are as long as
    these. Its extents there are integers of the program.
    """

    __slots__ = ("base", "windows")

    def __init__(self, base: TracedArray, windows: tuple[Window | None, ...]):
        self.base = base
        self.windows = windows

    @property
    def aval(self) -> Aval:  # type: ignore[override]  # pyright: ignore[reportIncompatibleVariableOverride]
        refuse_slice(self, _caller())

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.base.dtype

    @property
    def weak(self) -> bool:
        return self.base.weak

    @property
    def ndim(self) -> int:
        return len(self.windows)

    @property
    def shape(self) -> Any:
        """
        The extents; those of windows are traced integers, or numbers where they are known.

        Raises:
            TracingError: a function asks for them that knows numbers only.
        """
        if _is_of_house(sys._getframe(1).f_globals):  # pyright: ignore[reportPrivateUsage]
            refuse_slice(self, _caller())
        return self._extents()

    def _extents(self) -> tuple[Any, ...]:
        pairs = zip(self.base.shape, self.windows, strict=True)
        return tuple([extent if window is None else _extent(window) for extent, window in pairs])

    @property
    def size(self) -> Any:
        """The product of the extents."""
        total: Any = 1
        for extent in self._extents():
            total = extent * total
        return total

    def check_usable(self) -> None:
        """Raises TracingError as `TracedArray` does."""
        self.base.check_usable()

    def _known_extent(self, who: str) -> int:
        refuse_slice(self, who)

    def _no_value(self, what: str) -> NoReturn:
        refuse_slice(self, what)

    def __bool__(self) -> bool:
        self._no_value("bool")

    def __int__(self) -> int:
        self._no_value("int")

    def __float__(self) -> float:
        self._no_value("float")

    def __index__(self) -> int:
        self._no_value("index")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._no_value("numpy")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """Numpy's ufuncs are those of `tenon.numpy`, as of all traced arrays."""
        return cast(Any, TracedArray.__array_ufunc__)(self.base, ufunc, method, *inputs, **named)

    def __array_function__(self, called: Any, types: Any, arguments: Any, named: Any) -> Any:
        """Numpy's functions are those of `tenon.numpy`, as of all traced arrays."""
        return cast(Any, TracedArray.__array_function__)(self.base, called, types, arguments, named)

    def __repr__(self) -> str:
        return f"<traced slice {slice_text(self)} of @{self.base.trace.name}>"


_HOUSE = __name__.partition(".tracing.")[0] + "."
"""The names of the front end's modules begin so."""


def _is_of_house(names: dict[str, Any]) -> bool:
    """Returns whether code with these globals is the front end's own."""
    return str(names.get("__name__", "")).startswith(_HOUSE)


def _extent(window: Window) -> Any:
    length = window.length
    return array_of(length) if length.known is None else length.known


def slice_text(x: TracedSlice) -> str:
    """Returns the dtype and the extents of a slice, for errors: those of windows as what they may be."""
    extents: list[str] = []
    for extent, window in zip(x.base.shape, x.windows, strict=True):
        if window is None:
            extents.append(str(extent))
            continue
        low, high = bounds_of(window.length)
        extents.append(f"{0 if low is None else low} to {extent if high is None else high}")
    return f"{x.dtype}[{', '.join(extents)}]"


def refuse_slice(x: TracedSlice, who: str, why: str = "", hint: str = _HINT) -> NoReturn:
    """Raises TracingError: a function does not work on slices with traced ends."""
    x.check_usable()
    why = why or "takes no slice whose ends are traced, as its length is not known while it is traced"
    raise x.base.trace.error(f"{who}: {why} ({slice_text(x)}; hint: {hint})")


def _caller() -> str:
    """Returns the function of the library that the user called."""
    name, frame = "array", sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if not _is_of_house(frame.f_globals):
            break
        module = str(frame.f_globals["__name__"])
        if ".numpy." in module or module.endswith((".control_flow", ".nn", ".random")):
            name = frame.f_code.co_name.lstrip("_")
        frame = frame.f_back
    return name
