"""Writes vectors of the signed four bits of bytes, as numbers of another type."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute

from ....dialects.element_types import is_float
from .emitter import Emitter
from .types import llvm_type, shaped

_NUMBERS = (*range(8), *range(-8, 0))
"""The signed number that four bits are."""


def write_nibble(emitter: Emitter, bytes: str, number: int, type: Attribute, lanes: int) -> str:
    """
    Returns the lower four bits of bytes (`number` is 0) or the upper ones as elements of `type`. Where the
    processor has a table look-up by four bits of each lane, that is the number itself.
    """
    if type == f32 and (look_up := emitter.processor.look_up_of_nibbles(lanes)) is not None:
        narrow, wide = shaped("i8", lanes), shaped("i32", lanes)
        value = emitter.emit(f"zext {narrow} {bytes} to {wide}")
        if number:
            value = emitter.emit(f"lshr {wide} {value}, {_everywhere(32, 4, lanes)}")
        table = f"<{', '.join(f'float {each}.0' for each in _NUMBERS)}>"
        floats = shaped("float", lanes)
        return emitter.emit(emitter.call(look_up, floats, [(floats, table), (wide, value)]))
    bits = 64 if type in (f64, i64) else 32
    narrow, wide = shaped("i8", lanes), shaped(f"i{bits}", lanes)
    value = emitter.emit(f"sext {narrow} {bytes} to {wide}")
    # Bytes are not shifted as such: x86 has no shift of vectors of them.
    if number == 0:
        value = emitter.emit(f"shl {wide} {value}, {_everywhere(bits, bits - 4, lanes)}")
    value = emitter.emit(f"ashr {wide} {value}, {_everywhere(bits, 4 if number else bits - 4, lanes)}")
    if not is_float(type):
        return value
    element = llvm_type(type)
    assert element is not None, f"no LLVM type for {type}"
    return emitter.emit(f"sitofp {wide} {value} to {shaped(element, lanes)}")


def _everywhere(bits: int, amount: int, lanes: int) -> str:
    return f"<{', '.join([f'i{bits} {amount}'] * lanes)}>"
