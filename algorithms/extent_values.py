"""Extents that are known at each call only, as numbers of the program."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ..dialects import graph
from ..dialects.dims.expressions import (
    DimAtom,
    DimSymbol,
    Extent,
    Greatest,
    Least,
    Quotient,
    Remainder,
    dim,
    parts_of,
    terms_of,
)
from .emitter import Emitter


def extent_value(c: Emitter, extent: Extent) -> SSAValue:
    """Returns an extent as an i64 that is known at each call."""
    total: SSAValue | None = None
    for monomial, factor in terms_of(extent):
        term = c.scalar(factor, i64)
        for atom in monomial:
            term = c.binary(graph.MulOp, term, _atom_value(c, atom))
        total = term if total is None else c.binary(graph.AddOp, total, term)
    return c.scalar(0, i64) if total is None else total


def _atom_value(c: Emitter, atom: DimAtom) -> SSAValue:
    if isinstance(atom, DimSymbol):
        # The index behind the last one, which no memory holds.
        count: Extent = dim(atom.name)
        behind = c.iota(0, i64, (count + 1,))
        return c.reshape(c.slice(behind, (count,), (1,)), ())
    kinds: dict[type[DimAtom], type[graph.BinaryOp]] = {
        Quotient: graph.DivOp,
        Remainder: graph.ModOp,
        Greatest: graph.MaxOp,
        Least: graph.MinOp,
    }
    first, second = (extent_value(c, part) for part in parts_of(atom))
    return c.binary(kinds[type(atom)], first, second)
