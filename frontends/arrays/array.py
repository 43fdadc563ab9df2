"""`Array`: what arrays with values and traced ones have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from math import prod
from typing import Any, ClassVar, cast

import numpy as np

from ...dialects.dims.expressions import DimExpr
from ...errors import TracingError
from .aval import Aval

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def function(name: str) -> Callable[..., Any]:
    """Returns a function of `tenon.numpy`, which is imported when it is first asked for."""
    found = _FUNCTIONS.get(name)
    if found is None:
        found = _FUNCTIONS[name] = getattr(import_module("..numpy", __package__), name)
    return found


def _unary(name: str) -> Callable[[Any], Any]:
    called: Callable[..., Any] | None = None

    def operator(self: Array) -> Any:
        nonlocal called
        if called is None:
            called = function(name)
        return called(self)

    return operator


def _binary(name: str) -> Callable[[Any, Any], Any]:
    called: Callable[..., Any] | None = None

    def operator(self: Array, other: object, /) -> Any:
        nonlocal called
        if called is None:
            called = function(name)
        return called(self, other) if isinstance(other, OPERANDS) else NotImplemented

    return operator


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    called: Callable[..., Any] | None = None

    def operator(self: Array, other: object, /) -> Any:
        nonlocal called
        if called is None:
            called = function(name)
        return called(other, self) if isinstance(other, OPERANDS) else NotImplemented

    return operator


def _method(name: str) -> Callable[..., Any]:
    def method(self: Array, /, *arguments: Any, **named: Any) -> Any:
        return function(name)(self, *arguments, **named)

    method.__name__ = name
    method.__doc__ = f"As `tenon.numpy.{name}` of this array."
    return method


class Array:
    """
    An immutable array. Operators and methods are the functions of `tenon.numpy`; `x += y` makes `x` a new
    array and leaves others that were the same.
    """

    __slots__ = ("aval",)

    aval: Aval
    """The dtype and the shape."""

    __array_priority__: ClassVar[int] = 1000
    __hash__: ClassVar[None]  # pyright: ignore[reportIncompatibleMethodOverride, reportIncompatibleVariableOverride]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def weak(self) -> bool:
        """Whether a Python scalar gave it, so that it takes the dtype of other arrays."""
        return self.aval.weak

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def device(self) -> str:
        """Where the values are: `cpu`."""
        return "cpu"

    @property
    def T(self) -> Array:
        """The array with its axes reversed; of one with two axes the transpose."""
        return function("permute_dims")(self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Array:
        """
        The array with its last two axes exchanged.

        Raises:
            ValueError: it has less than two axes.
        """
        return function("matrix_transpose")(self)

    @property
    def at(self) -> Any:
        """`x.at[index].set(values)`, `add`, `multiply`, `max`, `min`: a copy with other elements there."""
        return function("IndexUpdate")(self)

    def to_device(self, device: str, /, *, stream: None = None) -> Array:
        """
        Returns the array on a device, which can be `cpu` only.

        Raises:
            ValueError: it is another device, or a stream is given.
        """
        if device != "cpu" or stream is not None:
            raise ValueError(f"to_device: device {device!r} and stream {stream!r}, expected 'cpu' and None")
        return self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """
        Returns `tenon.numpy`.

        Raises:
            ValueError: the version of the standard is none that it follows.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(
                f"__array_namespace__: version {api_version!r} of the Array API, expected up to '2024.12'"
            )
        return import_module("...numpy", __package__)

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len: an array of rank 0 has no length")
        return self._known_extent("len")

    def __iter__(self) -> Iterator[Any]:
        if not self.aval.shape:
            raise TypeError("iter: an array of rank 0 cannot be iterated over")
        return (self[number] for number in range(self._known_extent("iter")))

    def _known_extent(self, who: str) -> int:
        """Returns the extent of axis 0, which must be no named dim."""
        extent: Any = self.shape[0]
        if not isinstance(extent, int):
            raise TracingError(
                f"{who}: axis 0 of an array of shape {self.shape} is known at each call only "
                "(hint: tenon.scan or tenon.fori_loop)"
            )
        return extent

    def __getitem__(self, index: Any, /) -> Any:
        return (_FUNCTIONS.get("get_item") or function("get_item"))(self, index)

    def __setitem__(self, index: Any, value: Any, /) -> None:
        raise TypeError(
            "arrays are immutable: x[index] = value is not possible (hint: x = x.at[index].set(value))"
        )

    __eq__ = _binary("equal")
    __ne__ = _binary("not_equal")
    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("greater")
    __ge__ = _binary("greater_equal")
    __hash__ = None  # type: ignore[assignment]

    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("abs")
    __invert__ = _unary("bitwise_invert")

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("subtract"), _reflected("subtract")
    __mul__, __rmul__ = _binary("multiply"), _reflected("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _reflected("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide"), _reflected("floor_divide")
    __mod__, __rmod__ = _binary("remainder"), _reflected("remainder")
    __pow__, __rpow__ = _binary("pow"), _reflected("pow")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")
    __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")
    __lshift__, __rlshift__ = _binary("bitwise_left_shift"), _reflected("bitwise_left_shift")
    __rshift__, __rrshift__ = _binary("bitwise_right_shift"), _reflected("bitwise_right_shift")

    all = _method("all")
    any = _method("any")
    argmax = _method("argmax")
    argmin = _method("argmin")
    argsort = _method("argsort")
    astype = _method("astype")
    clip = _method("clip")
    cumsum = _method("cumsum")
    cumprod = _method("cumprod")
    diagonal = _method("diagonal")
    dot = _method("dot")
    max = _method("max")
    mean = _method("mean")
    min = _method("min")
    nonzero = _method("nonzero")
    prod = _method("prod")
    repeat = _method("repeat")
    round = _method("round")
    sort = _method("sort")
    squeeze = _method("squeeze")
    std = _method("std")
    sum = _method("sum")
    swapaxes = _method("swapaxes")
    take = _method("take")
    trace = _method("trace")
    var = _method("var")

    def reshape(self, *shape: Any, copy: bool | None = None) -> Any:
        """As `tenon.numpy.reshape`; the extents may be given one by one."""
        return function("reshape")(self, shape[0] if len(shape) == 1 else shape, copy=copy)

    def ravel(self) -> Any:
        """Returns the array with one axis, in row-major order."""
        return function("reshape")(self, (-1,))

    flatten = ravel

    def transpose(self, *axes: Any) -> Any:
        """Returns the array with its axes in the order `axes`, by default reversed."""
        if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
            axes = () if axes[0] is None else tuple(cast("Sequence[Any]", axes[0]))
        return function("permute_dims")(self, axes or tuple(reversed(range(self.ndim))))


OPERANDS = (Array, bool, int, float, np.ndarray, np.generic, DimExpr)
"""What operators take. A dim, of a shape whose extents vary, is an integer in a trace."""
