"""Writes `low.atomic_rmw`: one instruction where LLVM has it, else a loop around a `cmpxchg`."""

from __future__ import annotations

from ....dialects.element_types import NBYTES, is_float
from ....dialects.low.atomic_rmw import AtomicRmwKind, AtomicRmwOp
from .emitter import Emitter

_INSTRUCTIONS: dict[AtomicRmwKind, str] = {
    AtomicRmwKind.ADDF: "fadd",
    AtomicRmwKind.ADDI: "add",
    AtomicRmwKind.MAXS: "max",
    AtomicRmwKind.MINS: "min",
    AtomicRmwKind.MAXU: "umax",
    AtomicRmwKind.MINU: "umin",
    AtomicRmwKind.ANDI: "and",
    AtomicRmwKind.ORI: "or",
    AtomicRmwKind.XORI: "xor",
    AtomicRmwKind.ASSIGN: "xchg",
}
"""What `atomicrmw` is told. Its `fmax` and `fmin` let numbers win over NaN, which those of `low` do not."""

_EXTREMA = {AtomicRmwKind.MAXIMUMF: "maximum", AtomicRmwKind.MINIMUMF: "minimum"}


def write_atomic_rmw(emitter: Emitter, op: AtomicRmwOp) -> None:
    """Writes `op`, in the ordering that asks for nothing more than that it is one piece."""
    type, nbytes = emitter.type(op, op.value.type), NBYTES[op.value.type]
    at = emitter.element_at(type, emitter.values[op.buffer], emitter.values[op.index])
    value, instruction = emitter.values[op.value], _INSTRUCTIONS.get(op.kind.data)
    if instruction is None:
        emitter.values[op.result] = _exchange_loop(emitter, op, type, nbytes, at)
    else:
        emitter.define(
            op.result, f"atomicrmw {instruction} ptr {at}, {type} {value} monotonic, align {nbytes}"
        )


def _exchange_loop(emitter: Emitter, op: AtomicRmwOp, type: str, nbytes: int, at: str) -> str:
    """Tries again for as long as another has changed the element meanwhile; returns what was replaced."""
    bits = f"i{8 * nbytes}"
    first = emitter.emit(f"load atomic {bits}, ptr {at} monotonic, align {nbytes}", "first")
    before, retry, end = emitter.label, emitter.names.fresh("retry"), emitter.names.fresh("end_retry")
    seen, found = emitter.names.fresh("seen"), emitter.names.fresh("found")
    emitter.branch(retry)
    emitter.start(retry)
    emitter.lines.append(f"  {seen} = phi {bits} [ {first}, {before} ], [ {found}, {retry} ]")
    is_bits = not is_float(op.value.type)
    old = seen if is_bits else emitter.emit(f"bitcast {bits} {seen} to {type}", op.result.name_hint)
    new = emitter.emit(_combined(emitter, op, type, old), "new")
    new = new if is_bits else emitter.emit(f"bitcast {type} {new} to {bits}")
    # Compared as bits: no NaN is equal to itself, and the zeros are equal.
    pair = emitter.emit(
        f"cmpxchg weak ptr {at}, {bits} {seen}, {bits} {new} monotonic monotonic, align {nbytes}", "pair"
    )
    emitter.lines.append(f"  {found} = extractvalue {{ {bits}, i1 }} {pair}, 0")
    done = emitter.emit(f"extractvalue {{ {bits}, i1 }} {pair}, 1", "done")
    emitter.lines.append(f"  br i1 {done}, label {end}, label {retry}")
    emitter.start(end)
    return old


def _combined(emitter: Emitter, op: AtomicRmwOp, type: str, old: str) -> str:
    kind, value = op.kind.data, emitter.values[op.value]
    if kind in _EXTREMA:
        return emitter.call_same_type(_EXTREMA[kind], type, [old, value])
    return f"{'fmul' if kind is AtomicRmwKind.MULF else 'mul'} {type} {old}, {value}"
