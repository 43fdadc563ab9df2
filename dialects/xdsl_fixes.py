"""
Work-arounds for xDSL 0.74, applied when `dialects` is imported; without them constants are silently wrong.

* `dense<0x7F800000> : tensor<f32>` is read as the integer 2139095040 and not as the bits of +inf, although
  the printer itself writes hex for inf, NaN, and finite values that need no `.` in `%.9g` (16777216.0); in
  parts of complex numbers it is refused, or read as the integer too
* an element that does not fit its type leaves the parser as a ValueError or OverflowError without a place, or
  becomes an infinity or a NaN
* a NaN prints as one and the same NaN of its type
* `dense<[0.0, -0.0]>` prints as the splat `dense<0.0>`; `is_splat` of no elements is an IndexError
* long i1 constants print as one byte per element, which MLIR reads as one bit per element
* splats are expanded element by element (seconds for a few million)
* the values of `true` are -1: `dense_values` gives True
* a string that is not closed takes time exponential in its length
* a `memref.load` or `memref.store` with a wrong number of indices is a plain Exception
* strings that are not ASCII print with escapes that are then read as bytes and not as a string
* `arith.remui`, alone of the divisions, does not say that it touches no memory
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any, NoReturn, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BytesAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    MemRefType,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import NoMemoryEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.lexer import Position, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

from .element_types import element_type_of

MAX_DENSE_NBYTES = 2**31
"""The largest `dense` constant that is read."""

_HEX_ABOVE = 100
"""Constants of more elements print as one hex string, as in MLIR."""


def dense_values(attribute: DenseIntOrFPElementsAttr[Any]) -> tuple[int | float | bool, ...]:
    """Returns all elements in row-major order: bools for i1, ints and floats for the other types."""
    if attribute.get_element_type() == i1:
        return tuple(byte != 0 for byte in attribute.data.data)
    return cast(tuple[int | float, ...], attribute.get_values())


def is_splat(self: DenseIntOrFPElementsAttr[Any]) -> bool:
    """Returns whether there are elements and all have the same bits."""
    data, nbytes = self.data.data, self.get_element_type().compile_time_size
    return bool(data) and data == data[:nbytes] * (len(data) // nbytes)


def print_without_type(self: DenseIntOrFPElementsAttr[Any], printer: Printer) -> None:
    """Prints `dense<...>` so that it is read back as the same bits."""
    element_type, length = self.get_element_type(), len(self)
    printer.print_string("dense")
    with printer.in_angle_brackets():
        if not length:
            return
        if self.is_splat():
            data = self.data.data[: element_type.compile_time_size]
            values = element_type.unpack(data, 1)
            if _are_bits_of(values, element_type, data):
                self._print_one_elem(values[0], printer)  # pyright: ignore[reportPrivateUsage]
                return
        elif length > _HEX_ABOVE and element_type != i1:
            data = self.data.data
        else:
            data, values = self.data.data, self.get_values()
            if _are_bits_of(values, element_type, data):
                shape = self.get_shape() if self.shape_is_complete else (length,)
                self._print_dense_list(values, shape, printer)  # pyright: ignore[reportPrivateUsage]
                return
        printer.print_string(f'"0x{data.hex().upper()}"')


def _are_bits_of(values: Any, element_type: Any, data: bytes) -> bool:
    """Returns whether `values` as Python's numbers have the bits of `data`, as all have but some NaNs."""
    return not isinstance(element_type, AnyFloat) or element_type.pack(values) == data


def checked_dense_type(parser: AttrParser, type: Any, start: Position) -> tuple[Any, list[int], int]:
    """
    Returns the element type, the shape and the number of elements of a constant that begins at `start`.

    Raises `ParseError` where there can be no such constant. Checked before any byte is made: a splat of
    terabytes is a short text.
    """
    element_type = element_type_of(type)
    if element_type is type or not isinstance(element_type, AnyFloat | IntegerType | IndexType | ComplexType):
        parser.raise_error(f"dense: {type} is no tensor, vector or memref of numbers", start, parser.pos)
    shape: list[int] = list(type.get_shape())
    if DYNAMIC_INDEX in shape:
        parser.raise_error(f"dense: {type} has a dim that is known at run time only", start, parser.pos)
    count = math.prod(shape)
    if count * element_type.compile_time_size > MAX_DENSE_NBYTES:
        parser.raise_error(
            f"dense: {type} has {count} elements, more than {MAX_DENSE_NBYTES} bytes "
            "(hint: broadcast a smaller constant)",
            start,
            parser.pos,
        )
    return cast(Any, element_type), shape, count


def parse_dense(self: AttrParser, type: Any) -> DenseIntOrFPElementsAttr[Any]:
    """
    Parses what follows `dense`, and the type too if `type` is None.

    Raises `ParseError` where the elements fit neither the element type nor the shape.
    """
    start = self.pos
    self.parse_punctuation("<", " in dense attribute")
    text, elements, shape = None, list[Any](), [0]
    if self.parse_optional_punctuation(">") is None:
        text = self.parse_optional_str_literal()
        if text is None:
            elements, shape = self._parse_tensor_literal()  # pyright: ignore[reportPrivateUsage]
        self.parse_punctuation(">", " in dense attribute")
    if type is None:
        self.parse_punctuation(":", " in dense attribute")
        type = self.parse_type()
    end = self.pos

    def fail(message: str) -> NoReturn:
        self.raise_error(message, start, end)

    element_type, wanted, count = checked_dense_type(self, type, start)
    if text is not None:
        data = _from_hex(text)
        if data is None:
            fail(f'dense: "{text}" is no hex string that starts with 0x')
        # One bit for each truth, as MLIR writes them.
        if element_type == i1 and len(data) == -(-count // 8) != count and len(data) > 1:
            data = bytes(data[at // 8] >> at % 8 & 1 for at in range(count))
        # One element in hex is a splat, as in MLIR.
        if len(data) == element_type.compile_time_size:
            data *= count
        if len(data) != count * element_type.compile_time_size:
            fail(
                f"dense: {len(data)} bytes do not fit {type} "
                f"({count} elements of {element_type.compile_time_size} bytes)"
            )
        # Constants are compared by their bytes, so true has one form: that of `true` in text, -1.
        if element_type == i1:
            data = bytes(0xFF if byte else 0 for byte in data)
        return DenseIntOrFPElementsAttr(type, BytesAttr(data))
    # Only tensors of no elements may differ in shape: `dense<[]>` does not say which extent is 0.
    is_splat_literal = not shape
    if not is_splat_literal and shape != wanted and not (len(elements) == count == 0):
        fail(f"dense: elements of shape {shape} do not fit {type} (shape {wanted})")
    packed = [_pack(self, element, cast(Attribute, element_type)) for element in elements]
    return DenseIntOrFPElementsAttr(
        type, BytesAttr(packed[0] * count if is_splat_literal else b"".join(packed))
    )


def _from_hex(text: str) -> bytes | None:
    if not text.startswith("0x"):
        return None
    try:
        return bytes.fromhex(text[2:])
    except ValueError:
        return None


def _pack(parser: AttrParser, element: Any, type: Attribute) -> bytes:
    """Returns the bytes of one element of a literal. Raises `ParseError` where it does not fit."""
    text: str = element.span.text
    packable = cast(Any, type)
    is_bits = isinstance(type, AnyFloat) and "0x" in text[:3].lower()
    if isinstance(type, ComplexType) and not _is_of_parts(element.value, cast(Any, type).element_type):
        parser.raise_error(f"dense: {text} is no element of {type}", element.span)
    try:
        part = cast(Any, type).element_type if isinstance(type, ComplexType) else None
        if isinstance(part, AnyFloat):
            return _pack_parts(text, element.value, part)
        if is_bits and isinstance(element.value, int):
            return element.value.to_bytes(packable.compile_time_size, "little")
        value = element.to_type(parser, type)
        if isinstance(type, IntegerType):
            value = type.get_normalized_value(value)
        packed = packable.pack((value,))
        if isinstance(value, float):
            _check_is_kept(value, packed, packable)
        return packed
    except (OverflowError, ValueError, struct.error):
        parser.raise_error(f"dense: {text} is out of range for {type}", element.span)


def _is_of_parts(value: Any, type: Attribute) -> bool:
    """Returns whether a literal is a complex number with parts of a type."""
    return isinstance(value, tuple) and (
        isinstance(type, AnyFloat) or not any(isinstance(part, float) for part in cast("tuple[Any]", value))
    )


def _check_is_kept(value: float, packed: bytes, type: Any) -> None:
    """Raises OverflowError where a finite number became an infinity or a NaN."""
    if math.isfinite(value) and not math.isfinite(type.unpack(packed, 1)[0]):
        raise OverflowError


def _pack_parts(text: str, values: tuple[float, float], type: AnyFloat) -> bytes:
    """Returns the bytes of a complex number, each of whose parts may be bits in hex."""
    packable, found = cast(Any, type), b""
    for part, value in zip(text.strip("()").split(","), values, strict=True):
        if "0x" in part.strip()[:3].lower():
            found += int(value).to_bytes(packable.compile_time_size, "little")
            continue
        packed = packable.pack((float(value),))
        _check_is_kept(float(value), packed, packable)
        found += packed
    return found


def parse_optional_complex(self: Any) -> tuple[tuple[float, float], Span] | None:
    """Parses `(1.0, 0x7FC00000)`, whose parts need not be written alike."""
    begin = self.pos
    if self.parse_optional_punctuation("(") is None:
        return None
    real, _ = self._parse_bool_int_or_float()
    self.parse_punctuation(",")
    imaginary, _ = self._parse_bool_int_or_float()
    end = self._consume_token(MLIRTokenKind.R_PAREN)
    return (real, imaginary), Span(begin, end.span.end, self.lexer.input)


_STRING = re.compile(r'"[^"\\\n\v\f]*(?:\\(?:["nt\\]|[0-9A-Fa-f]{2})[^"\\\n\v\f]*)*"')
"""A string literal; no text matches in two ways, so that matching takes linear time."""

_lex_string_literal = MLIRLexer._lex_string_literal  # pyright: ignore[reportPrivateUsage]


def lex_string(self: MLIRLexer, start_pos: Position) -> MLIRToken:
    """Reads a string literal; it is bytes only where it is no UTF-8."""
    token = _lex_string_literal(self, start_pos)
    if token.kind is MLIRTokenKind.BYTES_LIT:
        try:
            StringLiteral.from_span(token.span).bytes_contents.decode()
        except UnicodeDecodeError:
            return token
        token.kind = MLIRTokenKind.STRING_LIT
    return token


_VERIFY_LOAD, _VERIFY_STORE = memref.LoadOp.verify_, memref.StoreOp.verify_


def verify_load(self: memref.LoadOp) -> None:
    """Also checks the number of indices."""
    _check_indices(self, 0)
    _VERIFY_LOAD(self)


def verify_store(self: memref.StoreOp) -> None:
    """Also checks the number of indices."""
    _check_indices(self, 1)
    _VERIFY_STORE(self)


def _check_indices(op: Operation, memref_index: int) -> None:
    """Checks that the memref at operand `memref_index` is followed by one index for each of its dims."""
    if len(op.operands) <= memref_index or not isinstance(op.operands[memref_index].type, MemRefType):
        return
    type = cast("MemRefType[Attribute]", op.operands[memref_index].type)
    found = len(op.operands) - memref_index - 1
    if found != type.get_num_dims():
        raise VerifyException(f"{op.name}: {found} indices for rank {type.get_num_dims()} ({type})")


def apply() -> None:
    """Installs the work-arounds; a second call changes nothing."""
    arith.RemUIOp.traits.add_trait(NoMemoryEffect())
    memref.LoadOp.verify_ = verify_load
    memref.StoreOp.verify_ = verify_store
    MLIRLexer._unescaped_characters_regex = _STRING  # pyright: ignore[reportPrivateUsage]
    MLIRLexer._lex_string_literal = lex_string  # pyright: ignore[reportPrivateUsage]
    DenseIntOrFPElementsAttr.is_splat = is_splat
    DenseIntOrFPElementsAttr.print_without_type = print_without_type
    AttrParser.parse_dense_int_or_fp_elements_attr = parse_dense
    AttrParser._parse_optional_complex = parse_optional_complex  # pyright: ignore[reportPrivateUsage]
