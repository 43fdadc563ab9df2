"""
How the types and constants of `low` are spelled in OpenCL C.

Integers and indices are signed; arithmetic that may wrap goes through the unsigned type. Floats narrower
than float are held as their bits. A vector of i1 is a mask: lanes of 0 or -1, as wide as what was compared.
"""

from __future__ import annotations

import struct
from typing import cast as cast_type

import numpy as np
from xdsl.dialects.builtin import IndexType, PackableType, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute

from ....dialects.element_types import F8_TYPES, NBYTES, is_narrow_float

LANES = (2, 4, 8, 16)
"""The vector lengths that OpenCL C has, less 3."""

SCALARS: dict[Attribute, str] = {
    f64: "double",
    f32: "float",
    f16: "ushort",
    bf16: "ushort",
    **dict.fromkeys(F8_TYPES, "uchar"),
    i64: "long",
    i32: "int",
    i16: "short",
    i8: "char",
    i1: "bool",
    IndexType(): "long",
}
"""The C type that holds one value of each element type."""

UNSIGNED = {"char": "uchar", "short": "ushort", "int": "uint", "long": "ulong"}
"""The unsigned type of each signed one."""

MASK_ELEMENTS = {
    "double": "long",
    "float": "int",
    "ushort": "short",
    "uchar": "char",
    "long": "long",
    "int": "int",
    "short": "short",
    "char": "char",
}
"""The element type of the mask that comparing vectors of an element type gives."""

NBITS = {"char": 8, "short": 16, "int": 32, "long": 64, "float": 32, "double": 64}
"""Width of the signed and the float types."""

NARROW_NBYTES = {"ushort": 2, "uchar": 1}
"""Bytes of the types that hold floats as their bits, and nothing else."""

_SUFFIX = {"long": "L"}


def vector_type(element: str, lanes: int | None) -> str:
    """Returns `float8` for 8 lanes of float, `float` for None."""
    return element if lanes is None else f"{element}{lanes}"


def integer_literal(element: str, value: int) -> str:
    """Returns `value`, wrapped to the signed type `element`, as a C expression that binds tightly."""
    nbits = NBITS[element]
    wrapped = (value + (1 << nbits - 1)) % (1 << nbits) - (1 << nbits - 1)
    suffix = _SUFFIX.get(element, "")
    if wrapped == -(1 << nbits - 1) and nbits >= 32:
        return f"(-{-wrapped - 1}{suffix} - 1)"
    return f"{wrapped}{suffix}" if wrapped >= 0 else f"({wrapped}{suffix})"


def float_literal(type: Attribute, value: float) -> str:
    """Returns a C expression of exactly `value` in `type`; narrow floats as their bits."""
    if is_narrow_float(type):
        bits = int.from_bytes(cast_type("PackableType[float]", type).pack((value,)), "little")
        return f"({SCALARS[type]}){bits:#0{2 + 2 * NBYTES[type]}x}"
    if type == f32:
        with np.errstate(over="ignore"):
            single = np.float32(value)
        if not np.isfinite(single):
            return f"as_float({int(single.view(np.uint32)):#010x}u)"
        return _decimal(str(single), "f")
    if not np.isfinite(value):
        return f"as_double({struct.unpack('<Q', struct.pack('<d', value))[0]:#018x}UL)"
    return _decimal(repr(float(value)), "")


def cast(to: str, lanes: int | None, text: str) -> str:
    """Returns `text` converted to `lanes` of `to` as C does: exactly, to nearest even, or the low bits."""
    return f"({to}){text}" if lanes is None else f"convert_{to}{lanes}({text})"


def as_unsigned(element: str, lanes: int | None, text: str) -> str:
    """Returns the integers `text` of the signed type `element` read as unsigned."""
    unsigned = UNSIGNED[element]
    return f"({unsigned}){text}" if lanes is None else f"as_{unsigned}{lanes}({text})"


def as_signed(element: str, lanes: int | None, text: str) -> str:
    """Returns the unsigned integers `text` read as the signed type `element`."""
    return f"({element})({text})" if lanes is None else f"as_{element}{lanes}({text})"


def nbytes_of(element: str) -> int:
    """Returns the bytes of one value of the C type `element`."""
    return NARROW_NBYTES[element] if element in NARROW_NBYTES else NBITS[element] // 8


def _decimal(text: str, suffix: str) -> str:
    if "." not in text and "e" not in text:
        text += ".0"
    return f"({text}{suffix})" if text.startswith("-") else f"{text}{suffix}"
