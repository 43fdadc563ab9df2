"""
Writes the transposition of a square of lanes, in steps of which each is one instruction of an x86 processor.

Such a processor interleaves two vectors block by block, of 16 bytes each, and picks whole blocks of two
vectors. So first the square in each block is turned, and then the square of the blocks.

LLVM does not see through a fence between the two where there is one. It would try to join the steps of both,
and find nothing: each is an instruction already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .emitter import Emitter

_BLOCK_NBYTES = 16

_FENCED_BLOCKS = 4
"""
A square of so many blocks each way has a fence. Code generation for the transposition of a matrix of f32 with
AVX-512 takes 16 ms then and not 22; with AVX2, where there are two blocks, 14 ms with and without.
"""

NOTHING = "poison"
"""A row of which no lane is wanted."""


def transposed(emitter: Emitter, type: str, rows: Sequence[str], nbytes: int) -> list[str]:
    """
    Returns the vectors of the first lanes of `rows`, of their second lanes, and so on: as many as there are
    rows, a power of two, of as many lanes of `nbytes` bytes. Rows may be `NOTHING`.
    """
    n = len(rows)
    length = max(1, min(n, _BLOCK_NBYTES // nbytes))
    values = list(rows)
    width = 1
    while width < length:
        low, high = _interleaved(n, length, width, 0), _interleaved(n, length, width, length // 2)
        for row in range(n):
            if not row & width:
                pair = values[row], values[row + width]
                values[row], values[row + width] = _picked(emitter, type, pair, low, high)
        width *= 2
    if n >= _FENCED_BLOCKS * length:
        values = [_fenced(emitter, type, value, n * nbytes) for value in values]
    even, odd = _every_second_block(n, length, 0), _every_second_block(n, length, 1)
    columns = [NOTHING] * n
    for lane in range(length):
        blocks = values[_reversed(lane, length) :: length]
        count = 1
        while count < len(blocks):
            pairs = zip(blocks[::2], blocks[1::2], strict=True)
            halves = [_picked(emitter, type, pair, even, odd) for pair in pairs]
            blocks = [half[0] for half in halves] + [half[1] for half in halves]
            count *= 2
        columns[lane::length] = blocks
    return columns


def _fenced(emitter: Emitter, type: str, value: str, nbytes: int) -> str:
    """Returns a value of so many bytes of which LLVM does not see where its lanes are from."""
    if value == NOTHING:
        return value
    floats = f"<{nbytes // 4} x float>"
    is_floats = type == floats
    if not is_floats:
        value = emitter.emit(f"bitcast {type} {value} to {floats}")
    value = emitter.emit(emitter.call_same_type("arithmetic.fence", floats, [value]))
    return value if is_floats else emitter.emit(f"bitcast {floats} {value} to {type}")


def _picked(emitter: Emitter, type: str, pair: tuple[str, str], first: str, second: str) -> tuple[str, str]:
    """Returns what two masks pick of two vectors."""
    if pair == (NOTHING, NOTHING):
        return pair
    operands = ", ".join(f"{type} {value}" for value in pair)
    one = emitter.emit(f"shufflevector {operands}, {first}")
    return one, emitter.emit(f"shufflevector {operands}, {second}")


def _interleaved(n: int, length: int, width: int, begin: int) -> str:
    """Returns the mask that interleaves half a block of each, from lane `begin` on, in pieces of `width`."""
    return _mask(
        vector + block + piece + lane
        for block in range(0, n, length)
        for piece in range(begin, begin + length // 2, width)
        for vector in (0, n)
        for lane in range(width)
    )


def _every_second_block(n: int, length: int, first: int) -> str:
    blocks = range(first * length, 2 * n, 2 * length)
    return _mask(block + lane for block in blocks for lane in range(length))


def _reversed(number: int, count: int) -> int:
    """Returns the number whose bits, of those that numbers below `count` have, are in the other order."""
    result = 0
    while count > 1:
        result, number, count = 2 * result + number % 2, number // 2, count // 2
    return result


def _mask(lanes: Iterable[int]) -> str:
    chosen = list(lanes)
    return f"<{len(chosen)} x i32> <{', '.join(f'i32 {lane}' for lane in chosen)}>"
