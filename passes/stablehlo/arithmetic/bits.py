"""Random bits, and floats rounded to few bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from xdsl.dialects.builtin import Signedness, f32
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....algorithms.emitter import Emitter, width_of, with_sign
from ....dialects import graph, stablehlo
from ....dialects.element_types import NARROW_FLOATS, is_float, ui32, ui64
from ..conversion import Conversion, Rule

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


_PHILOX_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_PHILOX_STEPS = 0x9E3779B9, 0xBB67AE85


def philox4x32(c: Emitter, key: Sequence[SSAValue], counter: Sequence[SSAValue]) -> list[SSAValue]:
    """Ten rounds of Philox on four words (Salmon, Parallel Random Numbers: As Easy as 1, 2, 3)."""
    words, keys, shape = list(counter), list(key), c.shape(counter[0])
    for _ in range(10):
        products = [
            c.binary(graph.MulOp, c.cast(words[number], ui64), multiplier)
            for number, multiplier in zip((0, 2), _PHILOX_MULTIPLIERS, strict=True)
        ]
        (low, high), (other_low, other_high) = map(partial(_halves, c), products)
        mixed = [
            c.binary(graph.XorOp, c.binary(graph.XorOp, upper, word), c.broadcast(each, shape))
            for upper, word, each in zip((other_high, high), (words[1], words[3]), keys, strict=True)
        ]
        words = [mixed[0], other_low, mixed[1], low]
        keys = [c.binary(graph.AddOp, each, step) for each, step in zip(keys, _PHILOX_STEPS, strict=True)]
    return words


def _halves(c: Emitter, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Returns the lower and the upper words of numbers of 64 bits."""
    return c.cast(x, ui32), c.cast(c.binary(graph.ShrOp, x, 32), ui32)


def _rng_bit_generator(c: Conversion, op: stablehlo.RngBitGeneratorOp) -> Sequence[SSAValue]:
    """
    ThreeFry or Philox of a counter, in which the state ends. What the specification leaves open is what XLA
    does on processors: `DEFAULT` is Philox, and where in an array the words of a step are.
    """
    assert op.rng_algorithm is not None, "verified"
    name = op.rng_algorithm.data.value
    state = c.operand(op, 0)
    if c.element(state) != ui64 or c.shape(state) != (2,):
        raise c.unsupported(f"algorithm {name} on {c.type(state)}")
    shape, element = c.static_result(op, 1), c.result_element(op, 1)
    width = width_of(element)
    if width > 64:
        raise c.unsupported(f"of {element}")
    first = c.reshape(c.part(state, 0, 0, 1), ())
    position = c.reshape(c.part(state, 0, 1, 1), ())
    if name != "THREE_FRY":
        bits, steps = _philox_bits(c, first, position, shape, width)
    elif width == 64:
        steps = math.prod(shape)
        words = threefry2x32(c, _halves(c, first), _halves(c, _places(c, position, steps)))
        bits = _of_words(c, words)
    else:
        bits, steps = _threefry_words(c, first, position, shape)
    bits = c.cast(c.reshape(bits, shape), with_sign(element, Signedness.UNSIGNED))
    after = c.binary(graph.AddOp, position, steps)
    ended = c.concat([c.reshape(each, (1,)) for each in (first, after)], 0)
    return ended, c.bitcast(bits, element)


def _places(c: Emitter, position: SSAValue, steps: int) -> SSAValue:
    """Returns so many numbers from a position on."""
    return c.binary(graph.AddOp, c.iota(0, ui64, (steps,)), c.broadcast(position, (steps,)))


def _of_words(c: Emitter, words: Sequence[SSAValue]) -> SSAValue:
    """Returns numbers of 64 bits, of which the lower words come first."""
    low, high = (c.cast(each, ui64) for each in words)
    return c.binary(graph.OrOp, low, c.binary(graph.ShlOp, high, 32))


def _threefry_words(
    c: Emitter, key: SSAValue, position: SSAValue, shape: Sequence[int]
) -> tuple[SSAValue, int]:
    """
    Returns words in an array of a shape, and the steps that they took. The two words of a step are neighbours
    along the first axis of an even extent, or else the longest one, of which the last word is dropped.
    """
    extents = list(shape) or [1]
    axis = next((n for n, extent in enumerate(extents) if extent % 2 == 0), extents.index(max(extents)))
    halves = [*extents[:axis], -(-extents[axis] // 2), 1, *extents[axis + 1 :]]
    steps = math.prod(halves)
    words = threefry2x32(c, _halves(c, key), _halves(c, _places(c, position, steps)))
    joined = c.concat([c.reshape(each, halves) for each in words], axis + 1)
    doubled = [*extents[:axis], 2 * halves[axis], *extents[axis + 1 :]]
    return c.part(c.reshape(joined, doubled), axis, 0, extents[axis]), steps


def _philox_bits(
    c: Emitter, key: SSAValue, position: SSAValue, shape: Sequence[int], width: int
) -> tuple[SSAValue, int]:
    """
    Returns numbers of 32 or 64 bits, and the steps that they took, of four words each. The counter has 128
    bits, of which the key is the upper half.
    """
    count = math.prod(shape)
    n_words = 2 * count if width == 64 else count
    steps = -(-n_words // 4)
    place = _places(c, position, steps)
    has_wrapped = c.cast(c.binary(graph.LtOp, place, c.broadcast(position, (steps,))), ui64)
    upper = c.binary(graph.AddOp, c.broadcast(key, (steps,)), has_wrapped)
    words = philox4x32(c, _halves(c, key), (*_halves(c, place), *_halves(c, upper)))
    joined = c.concat([c.reshape(each, (steps, 1)) for each in words], 1)
    flat = c.part(c.reshape(joined, (4 * steps,)), 0, 0, n_words)
    if width != 64:
        return flat, steps
    return _of_words(c, [c.part(flat, 0, first, count, 2) for first in (0, 1)]), steps


RULES: dict[type[Operation], Rule] = {
    stablehlo.ReducePrecisionOp: _reduce_precision,
    stablehlo.RngBitGeneratorOp: _rng_bit_generator,
}
