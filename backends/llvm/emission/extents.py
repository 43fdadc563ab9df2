"""Extents made of dims, computed in LLVM IR."""

from __future__ import annotations

from ....dialects.dims.expressions import (
    DimAtom,
    DimSymbol,
    Extent,
    Greatest,
    Least,
    Quotient,
    Remainder,
    terms_of,
)
from .emitter import Emitter


def write_extent(emitter: Emitter, extent: Extent) -> str:
    """Writes what an extent is for the values of the kernel's dims, and returns its name or number."""
    if isinstance(extent, int):
        return str(extent)
    total: str | None = None
    for monomial, factor in terms_of(extent):
        value = str(factor)
        for atom in monomial:
            part = _write_atom(emitter, atom)
            value = part if value == "1" else emitter.emit(f"mul nsw i64 {value}, {part}")
        total = value if total is None else emitter.emit(f"add nsw i64 {total}, {value}")
    assert total is not None, "an extent without terms"
    return total


def _write_atom(emitter: Emitter, atom: DimAtom) -> str:
    match atom:
        case DimSymbol():
            return emitter.values[emitter.kernel.sizes[atom.name]]
        case Quotient(first, second):
            text = "udiv i64 {}, {}"
        case Remainder(first, second):
            text = "urem i64 {}, {}"
        case Greatest(first, second) | Least(first, second):
            name = "smax" if isinstance(atom, Greatest) else "smin"
            operands = [write_extent(emitter, first), write_extent(emitter, second)]
            return emitter.emit(emitter.call_same_type(name, "i64", operands))
    return emitter.emit(text.format(write_extent(emitter, first), write_extent(emitter, second)))
