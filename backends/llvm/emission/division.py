"""
Writes divisions of vectors by what a loop does not change: the reciprocal before the loop, and in it three
multiplications and additions for a division, which takes several times as long.

With r the reciprocal of b and q the product a r, both rounded, q - (q b - a) r, rounded once, is a / b
rounded (Brisebarre, Muller and Raina, Accelerating Correctly Rounded Floating-Point Division when the Divisor
is Known in Advance, 2004), where nothing overflows, underflows or is NaN, that is where:

* b is positive, and b and r are normal numbers
* the quotient is a normal number, and large enough for q b - a to be exact, or a is 0

A comparison finds lanes where that may not hold, and another whether it is more than zeros. Then the vector
is divided: results are those of a division in all cases.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import VectorType, f32, f64
from xdsl.ir import Attribute, SSAValue

from ....dialects.element_types import NBYTES, element_type_of, lanes_of
from ....dialects.graph.base import fastmath_of
from .emitter import Emitter, Reciprocal, branch_weights
from .multiply_add import write_multiply_add
from .types import float_text, splat

_UNLIKELY = branch_weights(1, 1000)
"""What branches end with that are hardly ever taken."""

LEAST_NBYTES = 32
"""Narrower vectors are divided as fast."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """Between which bounds the reciprocal must be, and what the least quotient is."""

    least: float
    greatest: float
    factor: float
    """The least quotient over the reciprocal, so that the remainder is exact."""
    least_quotient: float


_LIMITS: dict[Attribute, _Limits] = {
    f32: _Limits(2.0**-126, 2.0**126, 2.0**-98, 2.0**-120),
    f64: _Limits(2.0**-1022, 2.0**1022, 2.0**-965, 2.0**-1010),
}


def write_reciprocals(emitter: Emitter, loop: scf.ForOp) -> dict[SSAValue, Reciprocal]:
    """
    Writes the reciprocals of a loop's divisors that are known before it. Returns those that there were.
    """
    before = emitter.reciprocals
    found = dict(before)
    for op in loop.body.block.ops:
        if not isinstance(op, arith.DivfOp) or not has_reciprocal_form(op):
            continue
        if op.rhs in emitter.values and op.rhs not in found:
            found[op.rhs] = _reciprocal(emitter, op)
    emitter.reciprocals = found
    return before


def has_reciprocal_form(op: arith.DivfOp) -> bool:
    """Returns whether a division is one of wide vectors, and no approximation is asked for."""
    type, flags = op.result.type, fastmath_of(op)
    if not isinstance(type, VectorType) or (flags is not None and flags.data):
        return False
    element, lanes = type.element_type, lanes_of(type)
    return element in _LIMITS and lanes is not None and lanes * NBYTES[element] >= LEAST_NBYTES


def _reciprocal(emitter: Emitter, op: arith.DivfOp) -> Reciprocal:
    type, element = emitter.type(op, op.rhs.type), element_type_of(op.rhs.type)
    lanes, limits = lanes_of(op.rhs.type), _LIMITS[element]
    scalar = emitter.type(op, element)

    def number(value: float) -> str:
        return splat(float_text(value, element), scalar, lanes)

    value = emitter.emit(f"fdiv {type} {number(1.0)}, {emitter.values[op.rhs]}", "reciprocal")
    exact = emitter.emit(f"fmul {type} {value}, {number(limits.factor)}")
    floor = number(limits.least_quotient)
    is_more = emitter.emit(f"fcmp ogt {type} {exact}, {floor}")
    masks = f"<{lanes} x i1>"
    least = emitter.emit(f"select {masks} {is_more}, {type} {exact}, {type} {floor}")
    above = emitter.emit(f"fcmp oge {type} {value}, {number(limits.least)}")
    below = emitter.emit(f"fcmp ole {type} {value}, {number(limits.greatest)}")
    fits = emitter.emit(f"and {masks} {above}, {below}", "fits")
    nan = number(float("nan"))
    return Reciprocal(
        value,
        emitter.emit(f"select {masks} {fits}, {type} {least}, {type} {nan}", "least"),
        emitter.emit(f"select {masks} {fits}, {type} {number(0.0)}, {type} {nan}", "zero"),
    )


def write_division(emitter: Emitter, op: arith.DivfOp, reciprocal: Reciprocal) -> None:
    """Writes a division by what has a reciprocal."""
    type, lanes = emitter.type(op, op.result.type), lanes_of(op.result.type)
    dividend, divisor, factor = emitter.values[op.lhs], emitter.values[op.rhs], reciprocal.value
    first = emitter.emit(f"fmul {type} {dividend}, {factor}")
    negated = emitter.emit(f"fneg {type} {dividend}")
    excess = write_multiply_add(emitter, type, [first, divisor, negated], "excess")
    missing = emitter.emit(f"fneg {type} {excess}")
    quotient = write_multiply_add(emitter, type, [missing, factor, first], "quotient")
    size = emitter.emit(emitter.call_same_type("fabs", type, [quotient]))
    masks = f"<{lanes} x i1>"
    is_small = emitter.emit(f"fcmp ult {type} {size}, {reciprocal.least}", "is_small")
    check, divide, done = (emitter.names.fresh(name) for name in ("check", "divide", "divided"))
    start = emitter.label
    _branch_if_any(emitter, is_small, masks, check, done)
    emitter.start(check)
    # Unordered: true of the NaN that stands for a zero where the divisor is no number for it.
    is_not_zero = emitter.emit(f"fcmp une {type} {dividend}, {reciprocal.zero}")
    is_wrong = emitter.emit(f"and {masks} {is_small}, {is_not_zero}")
    _branch_if_any(emitter, is_wrong, masks, divide, done)
    emitter.start(divide)
    exact = emitter.emit(f"fdiv {type} {dividend}, {divisor}")
    emitter.branch(done)
    emitter.start(done)
    emitter.define(
        op.result,
        f"phi {type} [ {quotient}, {start} ], [ {quotient}, {check} ], [ {exact}, {divide} ]",
    )


def _branch_if_any(emitter: Emitter, mask: str, masks: str, unlikely: str, likely: str) -> None:
    """Goes to `unlikely` if a lane of a mask is set."""
    bits = f"i{masks[1:].split(' ')[0]}"
    number = emitter.emit(f"bitcast {masks} {mask} to {bits}")
    any_lane = emitter.emit(f"icmp ne {bits} {number}, 0")
    emitter.lines.append(f"  br i1 {any_lane}, label {unlikely}, label {likely}{_UNLIKELY}")
