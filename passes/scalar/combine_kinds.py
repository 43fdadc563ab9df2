"""The op that combines two elements: the kind of a `sched.reduce`, and the op that does one step of it."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation

from ...dialects.element_types import is_float, is_unsigned
from ...dialects.graph import ReduceKind
from ...dialects.sched import CombineKind

_FLOAT_KINDS = {
    ReduceKind.ADD: CombineKind.ADDF,
    ReduceKind.MUL: CombineKind.MULF,
    ReduceKind.MAX: CombineKind.MAXIMUMF,
    ReduceKind.MIN: CombineKind.MINIMUMF,
}
_INTEGER_KINDS = {
    ReduceKind.ADD: CombineKind.ADDI,
    ReduceKind.MUL: CombineKind.MULI,
    ReduceKind.MAX: CombineKind.MAXSI,
    ReduceKind.MIN: CombineKind.MINSI,
    ReduceKind.AND: CombineKind.ANDI,
    ReduceKind.OR: CombineKind.ORI,
}
_UNSIGNED_KINDS = {**_INTEGER_KINDS, ReduceKind.MAX: CombineKind.MAXUI, ReduceKind.MIN: CombineKind.MINUI}

COMBINE_OPS: dict[CombineKind, type[Operation]] = {
    CombineKind.FMA: arith.AddfOp,
    CombineKind.MULADDI: arith.AddiOp,
    CombineKind.ADDF: arith.AddfOp,
    CombineKind.MULF: arith.MulfOp,
    CombineKind.MAXIMUMF: arith.MaximumfOp,
    CombineKind.MINIMUMF: arith.MinimumfOp,
    CombineKind.ADDI: arith.AddiOp,
    CombineKind.MULI: arith.MuliOp,
    CombineKind.MAXSI: arith.MaxSIOp,
    CombineKind.MINSI: arith.MinSIOp,
    CombineKind.MAXUI: arith.MaxUIOp,
    CombineKind.MINUI: arith.MinUIOp,
    CombineKind.ANDI: arith.AndIOp,
    CombineKind.ORI: arith.OrIOp,
}
"""The op that combines two partial results."""

IDEMPOTENT = {
    CombineKind.MAXIMUMF,
    CombineKind.MINIMUMF,
    CombineKind.MAXSI,
    CombineKind.MINSI,
    CombineKind.MAXUI,
    CombineKind.MINUI,
    CombineKind.ANDI,
    CombineKind.ORI,
}
"""Where it changes nothing to combine an element twice, or in another order."""


def combine_kind(kind: ReduceKind, element_type: Attribute) -> CombineKind:
    """Returns what combines elements of a tensor by `kind`."""
    if is_float(element_type):
        return _FLOAT_KINDS[kind]
    return (_UNSIGNED_KINDS if is_unsigned(element_type) else _INTEGER_KINDS)[kind]
