"""
Element types and their properties, shared by the three dialects.

`graph` knows f64 f32 f16 bf16, the signless integers i8 i16 i32 i64 (read as signed), ui8, and i1 (a
boolean). Buffers hold storage types: a ui8 and an i1 are stored as i8.
"""

from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
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

ui8 = IntegerType(8, Signedness.UNSIGNED)


ELEMENT_TYPES: tuple[AnyFloat | IntegerType, ...] = (f64, f32, f16, bf16, i64, i32, i16, i8, ui8, i1)
"""Every element type of a `graph` tensor."""

NBYTES: dict[Attribute, int] = {f64: 8, f32: 4, f16: 2, bf16: 2, i64: 8, i32: 4, i16: 2, i8: 1, ui8: 1, i1: 1}
"""Bytes of one stored element."""


def element_type_of(type: Attribute) -> Attribute:
    """Returns the element type of a tensor, memref or vector, and any other type unchanged."""
    if isinstance(type, TensorType | MemRefType | VectorType):
        return cast("TensorType | MemRefType | VectorType", type).element_type
    return type


def lanes_of(type: Attribute) -> int | None:
    """Returns the number of lanes of a 1-d vector type, None for a scalar."""
    return type.get_shape()[0] if isinstance(type, VectorType) else None


def width_of(type: Attribute) -> int:
    """Returns the bits of an integer type; an index has 64."""
    assert isinstance(type, IntegerType | IndexType), f"{type} is no integer type"
    return 64 if isinstance(type, IndexType) else type.bitwidth


def is_float(type: Attribute) -> bool:
    return isinstance(type, Float16Type | Float32Type | Float64Type | BFloat16Type)


def is_unsigned(type: Attribute) -> bool:
    """Returns whether an integer type is read as unsigned: ui8, and i1."""
    if not isinstance(type, IntegerType):
        return False
    integer = cast(IntegerType, type)
    return integer.signedness.data is Signedness.UNSIGNED or integer.bitwidth == 1


def storage_type(type: Attribute) -> AnyFloat | IntegerType:
    """Returns the type an element is stored as: i8 for ui8 and i1, else the type itself."""
    if type in (ui8, i1):
        return i8
    assert isinstance(type, AnyFloat | IntegerType), f"no storage type for {type}"
    return cast("AnyFloat | IntegerType", type)


def compute_type(type: Attribute) -> AnyFloat | IntegerType | IndexType:
    """
    Returns the scalar type that arithmetic on `type` is done in inside kernels: f32 for f16 and bf16 (each
    `graph` op rounds its result once, to the element type), signless for ui8, else the type itself.
    """
    if type in (f16, bf16):
        return f32
    if type == ui8:
        return i8
    assert isinstance(type, AnyFloat | IntegerType | IndexType), f"no compute type for {type}"
    return cast("AnyFloat | IntegerType | IndexType", type)
