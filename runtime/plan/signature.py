"""What a program takes and gives, and the check of what it is called with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import FunctionType, IndexType, TensorType
from xdsl.ir import Attribute

from ...dialects.dims.attributes import DimsAttr
from ...dialects.dims.expressions import Extent, evaluated
from ...dialects.element_types import ELEMENT_TYPES, element_type_of
from ...errors import CallError, OutOfMemoryError, TenonError
from ...semantics.numpy_types import dtype_of, is_masked

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """
    The dtype and shape of an array; an extent of -1 agrees with every extent. With `extents` some are made of
    named dims, and are -1 in the shape.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    extents: tuple[Extent, ...] | None = None

    def __str__(self) -> str:
        return f"{self.dtype}{self.shape_text}"

    @property
    def shape_text(self) -> str:
        """The shape as messages write it."""
        if self.extents is None:
            return shape_text(self.shape)
        return f"[{', '.join('?' if extent == -1 else str(extent) for extent in self.extents)}]"

    def at(self, values: Mapping[str, int]) -> ArrayType:
        """Returns the type for these values of the dims."""
        if self.extents is None:
            return self
        return ArrayType(self.dtype, tuple(evaluated(extent, values) for extent in self.extents))

    def accepts_shape(self, shape: tuple[int, ...]) -> bool:
        """Returns whether an array may have `shape`."""
        return shape == self.shape or (
            len(shape) == len(self.shape)
            and all(mine in (-1, extent) for mine, extent in zip(self.shape, shape, strict=True))
        )


def shape_text(shape: Sequence[int]) -> str:
    """Returns a shape as messages write it: `[4, ?]`."""
    return f"[{', '.join('?' if extent < 0 else str(extent) for extent in shape)}]"


@dataclass(frozen=True)
class Signature:
    """The names and types of a program's arguments, and the types of its results."""

    name: str
    argument_names: tuple[str, ...]
    argument_types: tuple[ArrayType, ...]
    result_types: tuple[ArrayType, ...]
    _indices: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_indices", {name: i for i, name in enumerate(self.argument_names)})

    @staticmethod
    def of(name: str, argument_names: Sequence[str], function_type: FunctionType) -> Signature:
        """
        Returns the signature of a function over tensors. Arguments of type `index` are static symbols and no
        arrays: they are not in it.

        Raises:
            TenonError: another argument or a result is no tensor.
        """
        arguments = {
            argument: array_type(type, f"{name}: argument '{argument}'")
            for argument, type in zip(argument_names, function_type.inputs, strict=True)
            if not isinstance(type, IndexType)
        }
        return Signature(
            name,
            tuple(arguments),
            tuple(arguments.values()),
            tuple(array_type(type, f"{name}: result {i}") for i, type in enumerate(function_type.outputs)),
        )

    def at(self, values: Mapping[str, int]) -> Signature:
        """Returns the signature for these values of the dims."""
        return Signature(
            self.name,
            self.argument_names,
            tuple(type.at(values) for type in self.argument_types),
            tuple(type.at(values) for type in self.result_types),
        )

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        """
        Returns the arguments in order, each C-contiguous and aligned: what is not is copied. Numpy scalars
        count as arrays of rank 0, instances of subclasses such as `np.memmap` as the arrays they are.

        Raises:
            CallError: the arguments are too many, too few or not known, or one has another dtype or shape, or
                is masked.
        """
        values = self.ordered(positional, named) if named else positional
        types = self.argument_types
        if len(values) != len(types):
            raise CallError(self._wrong_arity(len(values)))
        arrays: list[Array] = []
        for i, (value, type) in enumerate(zip(values, types, strict=True)):
            array: Array = value
            # A subclass may have views and reshapes of its own.
            is_plain = value.__class__ is np.ndarray
            if not (is_plain and array.dtype == type.dtype and array.shape == type.shape):
                array = checked_array(value, type, f"argument '{self.argument_names[i]}'")
            flags = array.flags
            arrays.append(array if flags.c_contiguous and flags.aligned else np.array(array, order="C"))
        return arrays

    def bind_out(self, out: Any) -> list[Array]:
        """
        Returns the arrays to write the results into: `out` is one array for one result, else a sequence of
        them.

        Raises:
            CallError: their number, a dtype, a shape or a layout is wrong, or two of them overlap.
        """
        types = self.result_types
        values = cast(Sequence[Any], out) if isinstance(out, tuple | list) else (cast(Array, out),)
        if not isinstance(out, np.ndarray | tuple | list):
            raise CallError(f"{self.name}: out is {_kind(out)}, expected a numpy array or a tuple of them")
        if len(values) != len(types):
            raise CallError(f"{self.name}: out has {_counted(len(values), 'array')}, expected {len(types)}")
        arrays: list[Array] = []
        for i, (value, type) in enumerate(zip(values, types, strict=True)):
            who = f"out {i}"
            if not isinstance(value, np.ndarray):
                raise CallError(f"{who}: expected a numpy array, found {_kind(value)}")
            array = checked_array(cast(object, value), type, who)
            flags = array.flags
            if not (flags.c_contiguous and flags.aligned and flags.writeable):
                problem = "not writeable" if not flags.writeable else "not contiguous and aligned"
                raise CallError(f"{who}: the array is {problem}")
            for j, other in enumerate(arrays):
                if np.may_share_memory(array, other):
                    raise CallError(f"{who}: the array overlaps out {j}")
            arrays.append(array)
        return arrays

    def empty_results(self) -> list[Array]:
        """Returns fresh arrays for the results. Raises `OutOfMemoryError` where there is no room for one."""
        return [self.empty_result(number) for number in range(len(self.result_types))]

    def empty_result(self, number: int) -> Array:
        """Returns a fresh array for one result. Raises `OutOfMemoryError` where there is no room for it."""
        type = self.result_types[number]
        try:
            return np.empty(type.shape, type.dtype)
        except (MemoryError, ValueError) as error:
            message = f"{self.name}: cannot allocate result {number}, {type} ({error})"
            raise OutOfMemoryError(message) from None

    def ordered(self, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """
        Returns the arguments in order, whatever they are.

        Raises:
            CallError: they are too many, too few or not known.
        """
        names = self.argument_names
        if not positional and len(named) == len(names):
            try:
                return tuple([named[name] for name in names])
            except KeyError:
                pass  # Below it is found out which.
        if len(positional) > len(names):
            raise CallError(self._wrong_arity(len(positional) + len(named)))
        given: dict[int, Any] = dict(enumerate(positional))
        for name, value in named.items():
            index = self._indices.get(name)
            if index is None:
                nearest = get_close_matches(name, names, n=1, cutoff=0.5)
                hint = f", did you mean '{nearest[0]}'?" if nearest else ""
                listed = ", ".join(names) or "none"
                raise CallError(f"{self.name}: there is no argument '{name}' (arguments: {listed}){hint}")
            if index in given:
                raise CallError(f"{self.name}: argument '{name}' is given twice")
            given[index] = value
        for index, name in enumerate(names):
            if index not in given:
                raise CallError(f"{self.name}: argument '{name}' is missing")
        return tuple(given[index] for index in range(len(names)))

    def _wrong_arity(self, found: int) -> str:
        names = f" ({', '.join(self.argument_names)})" if self.argument_names else ""
        return f"{self.name}: takes {_counted(len(self.argument_names), 'argument')}{names}, found {found}"


def checked_array(value: object, type: ArrayType, who: str) -> Array:
    """
    Returns an array as a plain one. Numpy scalars count as arrays of rank 0; what gives its elements by
    DLPack or `__array__`, arrays of Tenon's own among it, is an array without a copy where it allows that.

    Raises:
        CallError: it is none, is masked, or its dtype, byte order or shape is not that of `type`.
    """
    given = _in_numpy(value, who)
    if is_masked(given) or not isinstance(given, np.ndarray | np.generic):
        raise CallError(
            f"{who}: expected a numpy array, found {_kind(value)} (hint: np.asarray(..., dtype={type.dtype}))"
        )
    array: Array = np.asarray(cast(Any, given))
    if array.dtype != type.dtype:
        hint = ""
        if not array.dtype.isnative and array.dtype.newbyteorder("=") == type.dtype:
            hint = " (the byte order is not the machine's)"
        raise CallError(f"{who}: dtype {array.dtype}, expected {type.dtype}{hint}")
    if not type.accepts_shape(array.shape):
        raise CallError(f"{who}: shape {shape_text(array.shape)}, expected {type.shape_text}")
    return array


def _in_numpy(value: object, who: str) -> object:
    """Returns another library's array as numpy's, in the same memory where it can be; all else as it is."""
    if isinstance(value, np.ndarray | np.generic):
        return cast(object, value)
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(cast(Any, value))
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            if not hasattr(value, "__array__"):
                raise CallError(f"{who}: {_kind(value)} gives no array of the host: {error}") from None
    return np.asarray(cast(Any, value)) if hasattr(value, "__array__") else value


def array_type(type: Attribute, who: str) -> ArrayType:
    """Returns what arrays are that a tensor holds. Raises `TenonError` for what is no tensor of numbers."""
    if not isinstance(type, TensorType):
        raise TenonError(f"{who}: {type} is no tensor")
    element_type = element_type_of(cast(Attribute, type))
    if element_type not in ELEMENT_TYPES:
        raise TenonError(f"{who}: there are no numpy arrays of {element_type}")
    shape = tuple(max(extent, -1) for extent in type.get_shape())
    encoding = type.encoding
    extents = encoding.data if isinstance(encoding, DimsAttr) else None
    return ArrayType(dtype_of(element_type), shape, extents)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
