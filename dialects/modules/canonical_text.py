"""
An op as text that equals another op's text just where both mean the same: for keys, not for reading back.

Values are numbered in the order in which they appear, attributes are sorted by name, floats are given by
their bits, and long data by its digest. Locations are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache
from hashlib import blake2b
from struct import pack
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    FloatData,
    IntAttr,
    StringAttr,
)
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region, SSAValue, Use

from ..graph.attributes import IntsAttr

Kept = Callable[[Operation], Collection[str] | None]
"""Which properties of an op are part of its text, without attributes; None for all of both."""

_LONGEST_DATA = 64
"""Data of more bytes is given by its digest."""


AttributeTexts = dict[int, tuple[Attribute, str]]
"""The texts of attributes, by their identities: to compare them takes longer than to write them."""


def canonical_text(
    op: Operation,
    *,
    without: Collection[str] = (),
    hints: bool = False,
    attributes: AttributeTexts | None = None,
    kept: Kept | None = None,
    constants_in_place: bool = False,
    left_out: Collection[Use] = (),
) -> str:
    """
    Returns the text of `op`, without those of its own properties and attributes that `without` names, and
    with those of it and of all ops in it that `kept` names only. With `hints` the names of values are part of
    it. `attributes` are texts that are known, and get those that are
    not, for who asks about several ops. With `constants_in_place` each operand that an `arith.constant` makes
    is given by that op: in which order constants stand, and how often, makes no other text. Operands in
    `left_out` are left out.
    """
    writer = _Writer(hints, {} if attributes is None else attributes, kept, constants_in_place, left_out)
    writer.write_op(op, without)
    return "".join(writer.parts)


def bytes_text(data: bytes) -> str:
    """Returns `data` in hexadecimal or, where it is long, how long it is and its digest."""
    if len(data) <= _LONGEST_DATA:
        return data.hex()
    return f"{len(data)}:{blake2b(data, digest_size=32).hexdigest()}"


class _Writer:
    """Collects the text in `parts`."""

    __slots__ = (
        "_attributes",
        "_constants",
        "_constants_in_place",
        "_hints",
        "_kept",
        "_left_out",
        "_values",
        "parts",
    )

    def __init__(
        self,
        hints: bool,
        attributes: AttributeTexts,
        kept: Kept | None,
        constants_in_place: bool,
        left_out: Collection[Use],
    ) -> None:
        self.parts: list[str] = []
        self._hints = hints
        self._kept = kept
        self._values: dict[SSAValue, str] = {}
        self._constants: dict[SSAValue, str] = {}
        self._attributes = attributes
        self._constants_in_place = constants_in_place
        self._left_out: dict[Operation, set[int]] = {}
        for use in left_out:
            self._left_out.setdefault(use.operation, set()).add(use.index)

    def write_op(self, op: Operation, without: Collection[str] = ()) -> None:
        parts = self.parts
        if self._constants_in_place and isinstance(op, arith.ConstantOp):
            self._constants[op.result] = self._constant(op)
            return
        if op.results:
            parts.append(",".join([self._defined(result) for result in op.results]))
            parts.append("=")
        parts.append(op.name)
        operands: Iterable[SSAValue] = op.operands
        if op in self._left_out:
            left_out = self._left_out[op]
            operands = [operand for number, operand in enumerate(operands) if number not in left_out]
        if operands:
            parts.append(f"({','.join([self._value(operand) for operand in operands])})")
        properties, attributes = op.properties, op.attributes
        kept = None if self._kept is None else self._kept(op)
        if kept is not None:
            properties, attributes = {name: properties[name] for name in kept if name in properties}, {}
        self._write_attributes("<", properties, without)
        if without:
            attributes = {name: each for name, each in attributes.items() if name not in without}
        self._write_attributes("{", attributes, without)
        if op.successors:
            numbers = [str(block.parent.get_block_index(block)) for block in op.successors if block.parent]
            parts.append(f"[{','.join(numbers)}]")
        for region in op.regions:
            self._write_region(region)
        parts.append("\n")

    def _write_region(self, region: Region) -> None:
        parts = self.parts
        parts.append("(\n")
        for block in region.blocks:
            parts.append(f"^{','.join([self._defined(argument) for argument in block.args])}\n")
            for op in block.ops:
                self.write_op(op)
        parts.append(")")

    def _write_attributes(
        self, opening: str, attributes: dict[str, Attribute], without: Collection[str]
    ) -> None:
        if not attributes:
            return
        names: Iterable[str] = attributes if len(attributes) == 1 else sorted(attributes)
        texts = [f"{name}={self._attribute(attributes[name])}" for name in names if name not in without]
        self.parts.append(f"{opening}{';'.join(texts)}")

    def _defined(self, value: SSAValue) -> str:
        hint = f"#{value.name_hint}" if self._hints and value.name_hint is not None else ""
        return f"{self._value(value)}{hint}:{self._attribute(value.type)}"

    def _constant(self, op: arith.ConstantOp) -> str:
        named = sorted({**op.attributes, **op.properties}.items())
        texts = [f"{name}={self._attribute(attribute)}" for name, attribute in named]
        return f"({';'.join(texts)}:{self._attribute(op.result.type)})"

    def _value(self, value: SSAValue) -> str:
        text = self._values.get(value) or self._constants.get(value)
        if text is None:
            text = self._values[value] = f"%{len(self._values)}"
        return text

    def _attribute(self, attribute: Attribute) -> str:
        known = self._attributes.get(id(attribute))
        if known is None:
            known = self._attributes[id(attribute)] = attribute, self._attribute_text(attribute)
        return known[1]

    def _attribute_text(self, attribute: Attribute) -> str:
        write = _TEXTS.get(type(attribute))
        if write is not None:
            return write(attribute)
        match attribute:
            case ParametrizedAttribute():
                texts = [self._attribute(parameter) for parameter in attribute.parameters]
                return f"{attribute.name}<{','.join(texts)}>"
            case ArrayAttr():
                elements: tuple[Attribute, ...] = attribute.data
                return f"[{','.join([self._attribute(element) for element in elements])}]"
            case DictionaryAttr():
                named = attribute.data
                entries = [f"{name!r}:{self._attribute(named[name])}" for name in sorted(named)]
                return f"{{{','.join(entries)}}}"
            case EnumAttribute():
                return _printed(attribute)
            case _:
                return str(attribute)


@lru_cache(maxsize=1024)
def _printed(attribute: Attribute) -> str:
    """Returns the text of an attribute that equals only those of the same text."""
    return str(attribute)


_TEXTS: dict[type[Attribute], Callable[[Any], str]] = {
    IntAttr: lambda attribute: str(attribute.data),
    StringAttr: lambda attribute: repr(attribute.data),
    FloatData: lambda attribute: pack("<d", attribute.data).hex(),
    BytesAttr: lambda attribute: bytes_text(attribute.data),
    AffineMapAttr: _printed,
    IntsAttr: lambda attribute: f"#{IntsAttr.name}{list(attribute.data)}",
}
"""What writes the attributes that hold data, and are not as exact or as short when printed."""
