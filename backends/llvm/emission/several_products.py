"""
Products of narrow integers in a register tile, several at a time: the instructions that add up those of pairs
of 16 bits, and of four bytes without a sign by four with one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from ....dialects.element_types import NBYTES, element_type_of
from .emitter import Emitter
from .types import llvm_type, shaped

I16_NBYTES = 2

PAIR, QUAD = 2, 4
"""How many products the instructions add up."""


class TileBuffer:
    """One of the buffers of a tile, and how its elements are stored."""

    def __init__(self, value: SSAValue, is_unsigned: bool = False):
        self.value = value
        self.is_unsigned = is_unsigned
        self.stored: Attribute = element_type_of(value.type)
        self.nbytes = NBYTES[self.stored]
        element = llvm_type(self.stored)
        assert element is not None, f"no LLVM type for {self.stored}"
        self.element = element


class SeveralProducts:
    """Adds the products of neighbours along the depth to sums in vectors of so many i32."""

    def __init__(
        self, emitter: Emitter, acc: TileBuffer, lhs: TileBuffer, rhs: TileBuffer, lanes: int
    ) -> None:
        self.emitter, self.lhs, self.rhs, self.lanes = emitter, lhs, rhs, lanes
        self.type = shaped(acc.element, lanes)
        self._pairs = self._quads = None
        if acc.stored == i32 and all(each.nbytes + each.is_unsigned <= I16_NBYTES for each in (lhs, rhs)):
            self._pairs = emitter.processor.pair_products(lanes)
        if acc.stored == i32 and lhs.nbytes == rhs.nbytes == 1 and lhs.is_unsigned != rhs.is_unsigned:
            self._quads = emitter.processor.quad_products(lanes)

    def at_once(self, extent: int | str) -> int:
        """Returns how many of so many steps are one."""
        for count, name in ((QUAD, self._quads), (PAIR, self._pairs)):
            if name is not None and (isinstance(extent, str) or extent >= count):
                return count
        return 1

    def columns(self, loaded: Sequence[str]) -> str:
        """Returns a vector of `rhs` for each of several steps as one, as `added` takes it."""
        emitter, element, count = self.emitter, self.rhs.element, len(loaded)
        places = [self.lanes * part + lane for lane in range(self.lanes) for part in range(count)]
        parts, lanes = list(loaded), self.lanes
        while len(parts) > 1:
            type, length = shaped(element, lanes), 2 * lanes
            order = ", ".join(f"i32 {each}" for each in (places if len(parts) == PAIR else range(length)))
            parts = [
                emitter.emit(f"shufflevector {type} {first}, {type} {second}, <{length} x i32> <{order}>")
                for first, second in zip(parts[::2], parts[1::2], strict=True)
            ]
            lanes = length
        (column,) = parts
        if count == PAIR:
            return self._in_i16(self.rhs, column, lanes)
        return emitter.emit(f"bitcast {shaped(element, lanes)} {column} to {self.type}")

    def added(self, count: int, lhs: str, columns: Sequence[str], sums: Sequence[str]) -> list[str]:
        """Returns the sums of a row with the products of so many elements, from the place `lhs` on."""
        return self._add_pairs(lhs, columns, sums) if count == PAIR else self._add_quads(lhs, columns, sums)

    def _add_pairs(self, lhs: str, columns: Sequence[str], sums: Sequence[str]) -> list[str]:
        emitter, name, type = self.emitter, self._pairs, shaped("i16", PAIR * self.lanes)
        assert name is not None, "no instruction adds products of pairs"
        pair = emitter.emit(f"load <2 x {self.lhs.element}>, ptr {lhs}, align {self.lhs.nbytes}")
        bits = emitter.emit(f"bitcast <2 x i16> {self._in_i16(self.lhs, pair, PAIR)} to i32")
        everywhere = emitter.in_all_lanes("i32", bits, self.lanes)
        factor = emitter.emit(f"bitcast {self.type} {everywhere} to {type}")
        results: list[str] = []
        for column, sum in zip(columns, sums, strict=True):
            both = emitter.emit(emitter.call(name, self.type, [(type, factor), (type, column)]))
            results.append(emitter.emit(f"add {self.type} {sum}, {both}"))
        return results

    def _add_quads(self, lhs: str, columns: Sequence[str], sums: Sequence[str]) -> list[str]:
        emitter, name = self.emitter, self._quads
        assert name is not None, "no instruction adds products of four"
        factor = emitter.in_all_lanes("i32", emitter.emit(f"load i32, ptr {lhs}, align 1"), self.lanes)
        results: list[str] = []
        for column, sum in zip(columns, sums, strict=True):
            # The intrinsic takes the side without a sign first.
            sides = (factor, column) if self.lhs.is_unsigned else (column, factor)
            results.append(
                emitter.emit(emitter.call(name, self.type, [(self.type, x) for x in (sum, *sides)]))
            )
        return results

    def _in_i16(self, buffer: TileBuffer, value: str, lanes: int) -> str:
        if buffer.nbytes == I16_NBYTES:
            return value
        convert = "zext" if buffer.is_unsigned else "sext"
        from_type, to_type = shaped(buffer.element, lanes), shaped("i16", lanes)
        return self.emitter.emit(f"{convert} {from_type} {value} to {to_type}")
