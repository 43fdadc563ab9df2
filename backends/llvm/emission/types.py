"""How types, constants and fast-math flags are written in LLVM IR."""

import struct
from functools import cache
from typing import cast

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    PackableType,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute

from ....dialects.element_types import F8_TYPES, element_type_of, is_float, is_narrow_float, lanes_of

_FLOATS: dict[Attribute, str] = {
    f64: "double",
    f32: "float",
    f16: "half",
    bf16: "i16",
    **dict.fromkeys(F8_TYPES, "i8"),
}


def shaped(element: str, lanes: int | None) -> str:
    """Returns the vector of `lanes` elements of LLVM type `element`, or `element` itself for None."""
    return element if lanes is None else f"<{lanes} x {element}>"


@cache
def llvm_type(type: Attribute) -> str | None:
    """
    Returns the LLVM type of the values of `type`, None when there is none.

    bf16 is an i16, as LLVM's own `bfloat` needs library routines that a JIT does not have; floats of 8 bits,
    of which LLVM has none, are an i8.
    """
    match type:
        case IndexType():
            return "i64"
        case IntegerType():
            return f"i{type.width.data}"
        case MemRefType():
            return "ptr"
        case VectorType() if len(type.get_shape()) == 1:
            element = llvm_type(type.element_type)
            return None if element is None else shaped(element, lanes_of(type))
        case _:
            return _FLOATS.get(type)


def mangled(llvm_type: str) -> str:
    """Returns how an intrinsic's name spells an LLVM type: `v8f32` for `<8 x float>`."""
    if llvm_type[0] == "<":
        lanes, element = llvm_type[1:-1].split(" x ")
        return f"v{lanes}{mangled(element)}"
    return {"float": "f32", "double": "f64", "half": "f16"}.get(llvm_type, llvm_type)


def splat(value: str, element: str, lanes: int | None) -> str:
    """Returns the constant whose lanes are all `value`, or `value` itself for `lanes` None."""
    return value if lanes is None else f"splat ({element} {value})"


def float_text(value: float, type: Attribute) -> str:
    """Returns the constant `value` of a float type, by its bits; rounded where it is f64, f32 or f16."""
    match type:
        case _ if type == f64:
            return f"0x{struct.pack('>d', value).hex().upper()}"
        case _ if type == f32:
            (rounded,) = struct.unpack(">f", struct.pack(">f", value))
            return f"0x{struct.pack('>d', rounded).hex().upper()}"
        case _ if type == f16:
            return f"0xH{struct.pack('>e', value).hex().upper()}"
        case _:
            assert is_narrow_float(type), f"no LLVM constant for {type}"
            return str(int.from_bytes(cast("PackableType[float]", type).pack((value,)), "little"))


def _integer_text(value: int, type: Attribute) -> str:
    return ("true" if value else "false") if type == i1 else str(value)


def constant_text(value: Attribute, type: Attribute) -> str:
    """Returns the constant of a float, integer or dense vector attribute of `type`; a float by its bits."""
    match value:
        case FloatAttr():
            return float_text(value.value.data, type)
        case IntegerAttr():
            return _integer_text(value.value.data, type)
        case _:
            assert isinstance(value, DenseIntOrFPElementsAttr), f"no LLVM constant for {value}"
            element = element_type_of(type)
            name = llvm_type(element)
            if value.is_splat():
                return f"splat ({name} {_element_text(next(iter(value.iter_values())), element)})"
            return f"<{', '.join(f'{name} {_element_text(x, element)}' for x in value.iter_values())}>"


def _element_text(value: object, type: Attribute) -> str:
    if is_float(type):
        assert isinstance(value, float)
        return float_text(value, type)
    assert isinstance(value, int)
    return _integer_text(value, type)


@cache
def flags_text(flags: FastMathFlagsAttr) -> str:
    """Returns the fast-math flags as LLVM writes them, each followed by a space."""
    return "".join(f"{flag.value} " for flag in FastMathFlag if flag in flags.data)
