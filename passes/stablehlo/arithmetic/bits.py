"""Random bits, and floats rounded to few bits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import Signedness, f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects import graph, stablehlo
from ....dialects.element_types import NARROW_FLOATS, is_float, ui32, ui64
from ..conversion import Conversion, Rule
from ..emitter import Emitter, width_of, with_sign

_MANTISSA = {16: 10, 32: 23, 64: 52}


def _reduce_precision(c: Conversion, op: stablehlo.ReducePrecisionOp) -> SSAValue:
    exponent, mantissa = op.number("exponent_bits", 0), op.number("mantissa_bits", 0)
    if exponent < 1 or mantissa < 0:
        raise VerifyException(f"{op.name}: a float of {exponent} and {mantissa} bits")
    x = c.operand(op, 0)
    element = c.element(x)
    if not is_float(element):
        raise VerifyException(f"{op.name}: elements are {element}, expected floats")
    if element in NARROW_FLOATS:
        return c.cast(_rounded(c, c.cast(x, f32), exponent, mantissa), element)
    return _rounded(c, x, exponent, mantissa)


def _rounded(c: Emitter, x: SSAValue, exponent: int, mantissa: int) -> SSAValue:
    """
    Returns elements of f32 or f64 as the nearest floats of so many bits: what is too large is infinite, what
    is too small is 0, as such floats have no denormal numbers.
    """
    width = width_of(c.element(x))
    own_mantissa = _MANTISSA[width]
    own_exponent = width - own_mantissa - 1
    integer = with_sign(c.element(x), Signedness.UNSIGNED)
    bits = c.bitcast(x, integer)
    if mantissa < own_mantissa:
        dropped = own_mantissa - mantissa
        # To the even one of two: half a step less one, and one more where the last bit that is kept is set.
        last = c.binary(graph.AndOp, c.binary(graph.ShrOp, bits, dropped), 1)
        more = c.binary(graph.AddOp, last, (1 << (dropped - 1)) - 1)
        kept = ((1 << width) - 1) ^ ((1 << dropped) - 1)
        bits = c.binary(graph.AndOp, c.binary(graph.AddOp, bits, more), kept)
    if exponent < own_exponent:
        sign_bit = 1 << (width - 1)
        sign = c.binary(graph.AndOp, bits, sign_bit)
        field = c.binary(graph.AndOp, bits, ((1 << own_exponent) - 1) << own_mantissa)
        bias, own_bias = (1 << (exponent - 1)) - 1, (1 << (own_exponent - 1)) - 1
        greatest, least = (own_bias + bias) << own_mantissa, (own_bias - bias) << own_mantissa
        infinity = c.binary(graph.OrOp, sign, ((1 << own_exponent) - 1) << own_mantissa)
        bits = c.select(c.binary(graph.GtOp, field, greatest), infinity, bits)
        bits = c.select(c.binary(graph.LeOp, field, least), sign, bits)
    # A float without a mantissa has no NaN: what is one is infinite.
    other = x if mantissa else c.binary(graph.CopysignOp, c.like(math.inf, x), x)
    return c.select(c.unary(graph.IsnanOp, x), other, c.bitcast(bits, c.element(x)))


_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))

_PARITY = 0x1BD11BDA


def threefry2x32(
    c: Emitter, key: tuple[SSAValue, SSAValue], counter: tuple[SSAValue, SSAValue]
) -> tuple[SSAValue, SSAValue]:
    """Twenty rounds of Threefry on two words (Salmon, Parallel Random Numbers: As Easy as 1, 2, 3)."""
    shape = c.shape(counter[0])
    third = c.binary(graph.XorOp, c.binary(graph.XorOp, key[0], key[1]), _PARITY)
    keys = [c.broadcast(each, shape) for each in (*key, third)]
    x, y = c.binary(graph.AddOp, counter[0], keys[0]), c.binary(graph.AddOp, counter[1], keys[1])
    for step in range(5):
        for amount in _ROTATIONS[step % 2]:
            x = c.binary(graph.AddOp, x, y)
            high, low = c.binary(graph.ShlOp, y, amount), c.binary(graph.ShrOp, y, 32 - amount)
            y = c.binary(graph.XorOp, x, c.binary(graph.OrOp, high, low))
        x = c.binary(graph.AddOp, x, keys[(step + 1) % 3])
        y = c.binary(graph.AddOp, c.binary(graph.AddOp, y, keys[(step + 2) % 3]), step + 1)
    return x, y


def _rng_bit_generator(c: Conversion, op: stablehlo.RngBitGeneratorOp) -> Sequence[SSAValue]:
    """
    Threefry of a counter, in which the state ends: two words of 32 bits for each step of it.
    """
    assert op.rng_algorithm is not None, "verified"
    name = op.rng_algorithm.data.value
    state = c.operand(op, 0)
    if name == "PHILOX" or c.element(state) != ui64 or c.shape(state) != (2,):
        raise c.unsupported(f"algorithm {name} on {c.type(state)}")
    shape, element = c.static_result(op, 1), c.result_element(op, 1)
    width = width_of(element)
    count = 1
    for extent in shape:
        count *= extent
    first = c.reshape(c.part(state, 0, 0, 1), ())
    position = c.reshape(c.part(state, 0, 1, 1), ())
    key = (c.cast(first, ui32), c.cast(c.binary(graph.ShrOp, first, 32), ui32))
    integer = with_sign(element, Signedness.UNSIGNED)
    if width == 64:
        steps = count
    elif width <= 32:
        steps = -(-count // 2)
    else:
        raise c.unsupported(f"of {element}")
    place = c.binary(graph.AddOp, c.iota(0, ui64, (steps,)), c.broadcast(position, (steps,)))
    low, high = c.cast(place, ui32), c.cast(c.binary(graph.ShrOp, place, 32), ui32)
    x, y = threefry2x32(c, key, (low, high))
    if width == 64:
        bits = c.binary(graph.OrOp, c.cast(x, ui64), c.binary(graph.ShlOp, c.cast(y, ui64), 32))
    else:
        pairs = c.concat([c.reshape(each, (steps, 1)) for each in (x, y)], 1)
        bits = c.cast(c.part(c.reshape(pairs, (2 * steps,)), 0, 0, count), integer)
    after = c.binary(graph.AddOp, position, steps)
    ended = c.concat([c.reshape(each, (1,)) for each in (first, after)], 0)
    return ended, c.bitcast(c.reshape(bits, shape), element)


RULES: dict[type[Operation], Rule] = {
    stablehlo.ReducePrecisionOp: _reduce_precision,
    stablehlo.RngBitGeneratorOp: _rng_bit_generator,
}
