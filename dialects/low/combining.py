"""The op of `arith` that a kind of `vector.reduction` or `low.atomic_rmw` combines two elements by."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation

from .atomic_rmw import AtomicRmwKind

FLOAT_REDUCTIONS: dict[CombiningKindFlag, type[Operation]] = {
    CombiningKindFlag.ADD: arith.AddfOp,
    CombiningKindFlag.MUL: arith.MulfOp,
    CombiningKindFlag.MAXIMUMF: arith.MaximumfOp,
    CombiningKindFlag.MINIMUMF: arith.MinimumfOp,
}

INTEGER_REDUCTIONS: dict[CombiningKindFlag, type[Operation]] = {
    CombiningKindFlag.ADD: arith.AddiOp,
    CombiningKindFlag.MUL: arith.MuliOp,
    CombiningKindFlag.MAXSI: arith.MaxSIOp,
    CombiningKindFlag.MINSI: arith.MinSIOp,
    CombiningKindFlag.MAXUI: arith.MaxUIOp,
    CombiningKindFlag.MINUI: arith.MinUIOp,
    CombiningKindFlag.AND: arith.AndIOp,
    CombiningKindFlag.OR: arith.OrIOp,
    CombiningKindFlag.XOR: arith.XOrIOp,
}

ATOMICS: dict[AtomicRmwKind, type[Operation]] = {
    AtomicRmwKind.ADDF: arith.AddfOp,
    AtomicRmwKind.MULF: arith.MulfOp,
    AtomicRmwKind.MAXIMUMF: arith.MaximumfOp,
    AtomicRmwKind.MINIMUMF: arith.MinimumfOp,
    AtomicRmwKind.ADDI: arith.AddiOp,
    AtomicRmwKind.MULI: arith.MuliOp,
    AtomicRmwKind.MAXS: arith.MaxSIOp,
    AtomicRmwKind.MINS: arith.MinSIOp,
    AtomicRmwKind.MAXU: arith.MaxUIOp,
    AtomicRmwKind.MINU: arith.MinUIOp,
    AtomicRmwKind.ANDI: arith.AndIOp,
    AtomicRmwKind.ORI: arith.OrIOp,
    AtomicRmwKind.XORI: arith.XOrIOp,
}
"""All kinds but `assign`, which puts the value in the element's place."""
