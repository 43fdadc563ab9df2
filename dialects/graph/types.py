"""Tensor types of the `graph` dialect: making, comparing and constraining them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, NoneAttr, TensorType, i1, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import AttrConstraint, InferenceContext, VarConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from ..dims.attributes import DimsAttr
from ..dims.expressions import Extent
from ..element_types import ELEMENT_TYPES, is_float

__all__ = ["shape_of", "tensor_of", "tensor_type_of"]

MAX_ELEMENTS = 2**63 - 1

_ELEMENTS = frozenset(ELEMENT_TYPES)

_ENCODINGS = (NoneAttr, DimsAttr)


@functools.lru_cache(4096)
def tensor_of(element_type: Attribute, shape: tuple[Extent, ...]) -> TensorType[Any]:
    """
    Returns the tensor type with these extents: numbers, `DYNAMIC_INDEX` for one that is known at run time
    only, or expressions of named dims, which become the type's encoding.
    """
    numbers = [extent for extent in shape if isinstance(extent, int)]
    if len(numbers) == len(shape):
        return TensorType(element_type, numbers)
    dims = DimsAttr.of(shape)
    return TensorType(element_type, dims.written, dims)


def shape_of(type: TensorType[Any]) -> tuple[Extent, ...]:
    """Returns the extents of a tensor type; `DYNAMIC_INDEX` is one that is known at run time only."""
    encoding = type.encoding
    return encoding.data if isinstance(encoding, DimsAttr) else type.get_shape()


def is_symbolic(type: TensorType[Any]) -> bool:
    """Returns whether an extent of a tensor type is an expression of named dims."""
    return isinstance(type.encoding, DimsAttr)


def tensor_type_of(value: SSAValue | Attribute, who: str) -> TensorType[Any]:
    """Returns the type of a value, which must be a tensor. Raises `VerifyException`, naming `who`, if not."""
    type = value.type if isinstance(value, SSAValue) else value
    if not isinstance(type, TensorType):
        raise VerifyException(f"{who}: {type} is not a tensor")
    return cast("TensorType[Any]", type)


def extent_text(extent: Extent) -> str:
    return "?" if extent == DYNAMIC_INDEX else str(extent)


def shape_text(shape: Sequence[Extent]) -> str:
    """Returns a shape as diagnostics write it: `[4, ?]`."""
    return f"[{', '.join(map(extent_text, shape))}]"


def are_equal_extents(first: Extent, second: Extent) -> bool:
    """
    Returns whether two extents are the same for all values of their dims; `DYNAMIC_INDEX` agrees with every
    other.
    """
    return first == second or DYNAMIC_INDEX in (first, second)


def difference(found: TensorType[Any], wanted: TensorType[Any]) -> str | None:
    """Returns where two tensor types disagree (`axis 1 is 8, not 4`), None where they agree up to `?`."""
    if found.element_type != wanted.element_type:
        return f"element type {found.element_type}, not {wanted.element_type}"
    found_shape, wanted_shape = shape_of(found), shape_of(wanted)
    if len(found_shape) != len(wanted_shape):
        return f"rank {len(found_shape)}, not {len(wanted_shape)}"
    for axis, (a, b) in enumerate(zip(found_shape, wanted_shape, strict=True)):
        if not are_equal_extents(a, b):
            return f"axis {axis} is {a}, not {b}"
    return None


def check_axes(who: str, axes: Sequence[int], source: TensorType[Any], what: str = "source") -> None:
    """Raises `VerifyException` unless `axes` are axes of `source`, the op's `what`, each at most once."""
    rank = source.get_num_dims()
    for position, axis in enumerate(axes):
        if axis < 0:
            raise VerifyException(f"{who}: axis {axis} is negative (rank {rank}, {what} {source})")
        if axis >= rank:
            raise VerifyException(f"{who}: axis {axis} is out of range for rank {rank} ({what} {source})")
        if axis in axes[:position]:
            raise VerifyException(f"{who}: axis {axis} is given twice ({list(axes)}, {what} {source})")


def check_one_per_axis(who: str, what: str, values: Sequence[Extent], source: TensorType[Any]) -> None:
    """Raises `VerifyException` unless `values` has one entry for each axis of `source`."""
    rank = source.get_num_dims()
    if len(values) != rank:
        raise VerifyException(
            f"{who}: {len(values)} {what} for rank {rank} ({what} {list(values)}, source {source})"
        )


@dataclass(frozen=True)
class TensorConstraint(AttrConstraint[TensorType[Any]]):
    """A tensor of one of the element types of `graph`, of at most `MAX_ELEMENTS` elements."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        if not isinstance(attr, TensorType):
            raise VerifyException(f"{attr} is not a tensor")
        type = cast("TensorType[Any]", attr)
        if type.element_type not in _ELEMENTS or not isinstance(type.encoding, _ENCODINGS):
            allowed = " ".join(map(str, ELEMENT_TYPES))
            raise VerifyException(f"{attr} is not a plain tensor of one of {allowed}")
        count = math.prod(extent for extent in type.get_shape() if extent > 0)
        if count > MAX_ELEMENTS:
            raise VerifyException(f"{attr} has too many elements ({count}, at most {MAX_ELEMENTS})")
        if isinstance(type.encoding, DimsAttr):
            _check_encoding(type, type.encoding)

    def mapping_type_vars(self, type_var_mapping: Any) -> TensorConstraint:
        return self

    def get_bases(self) -> set[type[Attribute]]:
        return {TensorType}


def _check_encoding(type: TensorType[Any], encoding: DimsAttr) -> None:
    if encoding.written != type.get_shape():
        raise VerifyException(
            f"{type} is {shape_text(type.get_shape())}, but its dims are {shape_text(encoding.data)}"
        )


@dataclass(frozen=True)
class SameTensor(VarConstraint[TensorType[Any]]):
    """Tensors of one and the same type."""

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        known = constraint_context.get_variable(self.name)
        if known is None or known == attr:
            super().verify(attr, constraint_context)
            return
        TENSOR.verify(attr, constraint_context)
        found, wanted = cast("TensorType[Any]", attr), cast(TensorType[Any], known)
        where = difference(found, wanted) or "`?` in one of them"
        raise VerifyException(f"{found} is not {wanted} ({where})")

    def mapping_type_vars(self, type_var_mapping: Any) -> SameTensor:
        return self


@dataclass(frozen=True)
class Computed(AttrConstraint[TensorType[Any]]):
    """
    A tensor type that `compute` makes from the constraint variables `sources`, so that formats need not show
    it. The op's verifier compares the type with what it should be, as variables of attributes come last.
    """

    compute: Callable[..., TensorType[Any]]
    sources: tuple[str, ...]

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        TENSOR.verify(attr, constraint_context)

    def can_infer(self, var_constraint_names: AbstractSet[str]) -> bool:
        return all(name in var_constraint_names for name in self.sources)

    def infer(self, context: InferenceContext) -> TensorType[Any]:
        return self.compute(*[context.get_variable(name) for name in self.sources])

    def mapping_type_vars(self, type_var_mapping: Any) -> Computed:
        return self


TENSOR = TensorConstraint()

TENSOR_T = SameTensor("T", TENSOR)


def with_booleans(type: TensorType[Any]) -> TensorType[Any]:
    """Returns the type of one boolean for each element."""
    return tensor_of(i1, shape_of(type))


def scalar_like(type: TensorType[Any]) -> TensorType[Any]:
    """Returns the type of one element as a tensor of rank 0."""
    return tensor_of(type.element_type, ())


@dataclass(frozen=True)
class ElementKind:
    """A set of element types that an op takes."""

    name: str
    types: frozenset[Attribute]

    def check(self, who: str, type: TensorType[Any]) -> None:
        """Raises `VerifyException`, naming `who`, if the elements of `type` are of another kind."""
        if type.element_type not in self.types:
            raise VerifyException(
                f"{who}: cannot take {type} (element type {type.element_type}, needs {self.name})"
            )


FLOATS = ElementKind("a float", frozenset(t for t in ELEMENT_TYPES if is_float(t)))
NUMBERS = ElementKind("a number", frozenset(t for t in ELEMENT_TYPES if t != i1))
INTEGERS = ElementKind("an integer", NUMBERS.types - FLOATS.types)
BITS = ElementKind("an integer or i1", INTEGERS.types | {i1})
BYTES = ElementKind("i8", frozenset({i8}))
ANY = ElementKind("any element type", _ELEMENTS)
