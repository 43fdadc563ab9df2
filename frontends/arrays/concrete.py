"""Arrays with values."""

from __future__ import annotations

from types import EllipsisType, NoneType
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt

from ...errors import TenonError
from ...semantics.numpy_types import is_masked
from .array import Array
from .aval import Aval, aval_of
from .tracing_state import ENTERED, note_values_read

NumpyArray = npt.NDArray[Any]


class ConcreteArray(Array):
    """
    An array with values: a C-contiguous numpy array that nobody writes to. Made by the functions of
    `tenon.numpy`, by calls of jitted functions, and by `as_concrete`.
    """

    __slots__ = ("__weakref__", "donated_to", "is_frozen", "shared", "values")

    values: NumpyArray
    """The values. They must not be written to; `numpy()` gives a view that cannot be."""
    shared: NumpyArray
    """The values too, once `__array_interface__` was read: its readers refer to this array, not to them."""
    donated_to: str
    """The function that got the memory, where one did."""
    is_frozen: bool
    """
    Whether programs prepare what they make of the values once: `tenon.freeze` made the array. Not set by
    machine code that makes arrays.
    """

    def __init__(self, values: NumpyArray, aval: Aval):
        self.values = values
        self.aval = aval
        self.is_frozen = False

    def numpy(self) -> NumpyArray:
        """Returns the values as a numpy array that cannot be written to, without a copy."""
        note_values_read(self)
        view = self.values.view()
        view.flags.writeable = False
        return view

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumpyArray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """
        The memory, for dtypes that numpy has by itself.

        Raises:
            AttributeError: the dtype is another one, which the text of the interface cannot name.
        """
        if np.dtype(self.dtype.type).isbuiltin != 1:  # copies of numpy's own dtypes say that they are not
            raise AttributeError(f"array: dtype {self.dtype} has no name in __array_interface__")
        self.shared = self.values
        return self.numpy().__array_interface__

    def __buffer__(self, flags: int, /) -> memoryview:
        """The buffer protocol, which classes written in Python have from Python 3.12 on."""
        return memoryview(cast(Any, self.numpy()))

    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """
        Returns the values as a DLPack capsule, without a copy unless `copy` asks for it. From version 1.0 on
        it is marked as read-only; who asks for an earlier one must not write to it.
        """
        source = self.numpy() if max_version is not None and max_version >= (1, 0) else self.values
        return source.__dlpack__(
            stream=stream,
            max_version=max_version,
            dl_device=dl_device,
            copy=copy,  # type: ignore[arg-type]
        )

    def __getitem__(self, index: Any, /) -> Any:
        """
        As `tenon.numpy` indexes. Of integers, slices, `...` and None the result is a view of the same memory
        where its elements lie one after the other, else a copy: nothing is compiled.
        """
        if not ENTERED[0] and _is_basic(index):
            try:
                found = self.values[index]
            except (IndexError, ValueError):
                pass  # The general way has messages of its own.
            else:
                values = np.asarray(found, self.values.dtype, order="C")
                return array_of_values(values, aval_of(values.dtype, values.shape, self.weak))
        return Array.__getitem__(self, index)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()

    def give_away(self, name: str) -> None:
        """Makes any further use an error that says that a call of the function `name` got the memory."""
        if hasattr(self, "values"):
            del self.values
            self.donated_to = name

    def __getattr__(self, name: str) -> NoReturn:
        if name == "values":
            raise TenonError(
                f"an array of shape {self.shape} is used after it was donated to {self.donated_to} "
                "(hint: use what the call gave, or do not donate it)"
            )
        raise AttributeError(f"'ConcreteArray' object has no attribute '{name}'")

    def item(self, *index: int) -> Any:
        """Returns one element as a Python scalar: the only one, or the one at `index`."""
        note_values_read(self)
        return self.values.item(*index)

    def tolist(self) -> Any:
        """Returns the elements as Python scalars in nested lists."""
        note_values_read(self)
        return self.values.tolist()

    def __bool__(self) -> bool:
        if self.values.size != 1:
            raise ValueError(
                f"bool: the truth value of an array of shape {self.shape} is ambiguous "
                "(hint: tenon.numpy.any or tenon.numpy.all)"
            )
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.values.ndim or self.dtype.kind not in "iu":
            raise TypeError(
                f"index: only an integer array of rank 0 is an index (dtype {self.dtype}, shape {self.shape})"
            )
        return int(self.item())

    def _scalar(self, what: str) -> Any:
        if self.values.ndim:
            raise TypeError(
                f"{what}: only an array of rank 0 is a Python scalar "
                f"(shape {self.shape}) (hint: x[i] or x.item())"
            )
        return self.item()

    def __format__(self, spec: str) -> str:
        return format(self.values[()] if not self.values.ndim else self.values, spec)

    def __str__(self) -> str:
        return str(self.values)

    def __repr__(self) -> str:
        return repr(self.values)

    def __copy__(self) -> ConcreteArray:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ConcreteArray:
        return array_of_values(self.values.copy(), self.aval)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.values, self.aval.weak, is_frozen(self))


class WeakArray(ConcreteArray):
    """
    An array of what was computed of Python scalars alone, which gives way to the dtypes of others as they do.
    It is a class of its own as calls that find their program by class, dtype and shape must not take it.
    """

    __slots__ = ()


def array_of_values(values: NumpyArray, aval: Aval) -> ConcreteArray:
    """Returns an array of values for which `aval` stands."""
    return WeakArray(values, aval) if aval.weak else ConcreteArray(values, aval)


def with_weakness(array: ConcreteArray, weak: bool) -> ConcreteArray:
    """Returns an array as one that gives way to other dtypes, or does not."""
    if array.aval.weak is weak:
        return array
    return array_of_values(array.values, aval_of(array.dtype, array.shape, weak))


def _unpickled(values: NumpyArray, weak: bool, frozen: bool = False) -> ConcreteArray:
    array = array_of_values(values, aval_of(values.dtype, values.shape, weak))
    if frozen:
        values.flags.writeable = False
        array.is_frozen = True
    return array


def _is_basic(index: Any) -> bool:
    """Returns whether an index has no arrays in it."""
    if index.__class__ is tuple:
        return all(part.__class__ in _BASIC for part in index)
    return index.__class__ in _BASIC


_BASIC = (int, slice, EllipsisType, NoneType)


_frozen_slot: Any = ConcreteArray.__dict__["is_frozen"]


def is_frozen(array: object) -> bool:
    """Returns whether an array is one that `tenon.freeze` made."""
    if not isinstance(array, ConcreteArray):
        return False
    try:
        # `getattr` would ask `__getattr__` of what is not set, which writes a message.
        return _frozen_slot.__get__(array)
    except AttributeError:
        return False


def as_concrete(value: Any, *, copy: bool | None = None) -> ConcreteArray:
    """
    Returns a numpy array, one that DLPack hands over, or a numpy or Python scalar, as an array with values.
    Where `copy` is None it shares the memory of an array that is contiguous, aligned and in the machine's
    byte order; who has that array must not write to it any more.

    Raises:
        TypeError: it is of another type, its dtype is none of Tenon's, or it is masked.
        ValueError: `copy` is False and a copy is needed.
    """
    if isinstance(value, ConcreteArray):
        return array_of_values(value.values.copy(), value.aval) if copy else value
    kind = value.__class__.__name__
    if not isinstance(value, np.ndarray | np.generic) and hasattr(value, "__dlpack__"):
        try:
            value = np.from_dlpack(value)
        except (BufferError, RuntimeError, ValueError) as error:
            raise TypeError(f"array: cannot take {kind}: {error}") from None
    if is_masked(cast(object, value)) or not isinstance(value, np.ndarray | np.generic | bool | int | float):
        raise TypeError(f"array: cannot take {kind}, expected a numpy array or a scalar")
    array = np.asarray(cast(Any, value))
    flags = array.flags
    is_fit = flags.c_contiguous and flags.aligned and array.dtype.isnative and type(array) is np.ndarray
    if copy is False and not is_fit:
        raise ValueError(
            f"array: copy=False, and an array of shape {array.shape}, strides {array.strides} and dtype "
            f"{array.dtype} must be copied (hint: copy=None)"
        )
    if copy or not is_fit:
        array = np.array(array, dtype=array.dtype.newbyteorder("="), order="C", subok=False)
    try:
        return ConcreteArray(array, aval_of(array.dtype, array.shape))
    except TenonError:
        _reject(array)


def _reject(array: NumpyArray) -> NoReturn:
    raise TypeError(f"array: dtype {array.dtype} is not supported") from None
