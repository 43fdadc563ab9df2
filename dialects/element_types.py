"""
Element types and their properties, shared by the three dialects.

`graph` knows f64 f32 f16 bf16 f8E5M2 f8E4M3FN f8E4M3, the signless integers i8 i16 i32 i64 (read as signed),
the unsigned ui8 ui16 ui32 ui64, and i1 (a boolean). Buffers hold storage types: an unsigned integer is stored
as the signless one of its width, an i1 as an i8.
"""

from functools import cache
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E4M3Type,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    Signedness,
    TensorType,
    VectorType,
    bf16,
    f8E4M3,
    f8E4M3FN,
    f8E5M2,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

ui8, ui16, ui32, ui64 = (IntegerType(width, Signedness.UNSIGNED) for width in (8, 16, 32, 64))

F8_TYPES: tuple[AnyFloat, ...] = (f8E5M2, f8E4M3FN, f8E4M3)
"""
The floats of 8 bits. f8E5M2 and f8E4M3 have infinities and NaNs as in IEEE 754; f8E4M3FN has no infinities,
and one NaN of each sign, so that it reaches 448.
"""

NARROW_FLOATS: tuple[AnyFloat, ...] = (f16, bf16, *F8_TYPES)
"""The floats that are stored and converted, but computed in f32."""

ELEMENT_TYPES: tuple[AnyFloat | IntegerType, ...] = (
    *(f64, f32, *NARROW_FLOATS),
    *(i64, i32, i16, i8),
    *(ui64, ui32, ui16, ui8),
    i1,
)
"""Every element type of a `graph` tensor."""

NBYTES: dict[Attribute, int] = {type: -(-type.bitwidth // 8) for type in ELEMENT_TYPES}
"""Bytes of one stored element."""

_NARROW_CLASSES = (Float16Type, BFloat16Type, Float8E5M2Type, Float8E4M3FNType, Float8E4M3Type)
_FLOAT_CLASSES = (Float64Type, Float32Type, *_NARROW_CLASSES)

_COMPUTE_TYPES: dict[Attribute, AnyFloat | IntegerType] = {
    **dict.fromkeys(NARROW_FLOATS, f32),
    ui8: i8,
    ui16: i16,
    ui32: i32,
    ui64: i64,
}

_STORAGE_TYPES: dict[Attribute, AnyFloat | IntegerType] = {ui8: i8, ui16: i16, ui32: i32, ui64: i64, i1: i8}

STORED_TYPES = frozenset(_STORAGE_TYPES.get(type, type) for type in ELEMENT_TYPES)
"""What the elements of a buffer can be."""


def element_type_of(type: Attribute) -> Attribute:
    """Returns the element type of a tensor, memref or vector, and any other type unchanged."""
    if isinstance(type, TensorType | MemRefType | VectorType):
        return cast("TensorType | MemRefType | VectorType", type).element_type
    return type


def lanes_of(type: Attribute) -> int | None:
    """Returns the number of lanes of a 1-d vector type, None for a scalar."""
    return type.get_shape()[0] if isinstance(type, VectorType) else None


@cache
def with_lanes(type: Attribute, lanes: int | None) -> Attribute:
    """Returns the 1-d vector type of so many elements, `type` itself for None."""
    return type if lanes is None else VectorType(type, [lanes])


def width_of(type: Attribute) -> int:
    """Returns the bits of an integer type; an index has 64."""
    assert isinstance(type, IntegerType | IndexType), f"{type} is no integer type"
    return 64 if isinstance(type, IndexType) else type.bitwidth


def is_float(type: Attribute) -> bool:
    """Returns whether a type is one of the floats of `ELEMENT_TYPES`."""
    return isinstance(type, _FLOAT_CLASSES)


def is_narrow_float(type: Attribute) -> bool:
    """Returns whether a type is one of `NARROW_FLOATS`."""
    return isinstance(type, _NARROW_CLASSES)


def is_unsigned(type: Attribute) -> bool:
    """Returns whether an integer type is read as unsigned: ui8 to ui64, and i1."""
    if not isinstance(type, IntegerType):
        return False
    integer = cast(IntegerType, type)
    return integer.signedness.data is Signedness.UNSIGNED or integer.bitwidth == 1


def storage_type(type: Attribute) -> AnyFloat | IntegerType:
    """
    Returns the type an element is stored as: the signless integer of its width for an unsigned one, i8 for
    i1, else the type itself.
    """
    stored = _STORAGE_TYPES.get(type)
    if stored is not None:
        return stored
    assert isinstance(type, AnyFloat | IntegerType), f"no storage type for {type}"
    return cast("AnyFloat | IntegerType", type)


def compute_type(type: Attribute) -> AnyFloat | IntegerType | IndexType:
    """
    Returns the scalar type that arithmetic on `type` is done in inside kernels: f32 for the narrow floats
    (each `graph` op rounds its result once, to the element type), signless for unsigned integers, else the
    type itself.
    """
    computed = _COMPUTE_TYPES.get(type)
    if computed is not None:
        return computed
    assert isinstance(type, AnyFloat | IntegerType | IndexType), f"no compute type for {type}"
    return cast("AnyFloat | IntegerType | IndexType", type)
