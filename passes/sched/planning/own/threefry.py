"""The kernel of `graph.threefry`: all words of a counter in one iteration, written out round by round."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from .....dialects import graph
from .....dialects.graph import THREEFRY_PARITY, THREEFRY_ROTATIONS
from ....indices.access import shape_of
from ..code import KernelCode
from .interface import ProgramPart


def write(part: ProgramPart, op: graph.ThreefryOp) -> None:
    code = KernelCode(op)
    operands = list(dict.fromkeys((op.key, op.counter)))
    arguments = {value: code.buffer(value.type, value.name_hint) for value in operands}
    result = code.buffer(op.result.type, op.result.name_hint)
    keys = [code.load(arguments[op.key], [code.index(word)], "key") for word in range(4)]
    parity = code.b.constant(THREEFRY_PARITY, i32)
    for word in keys:
        parity = code.integer(arith.XOrIOp, parity, word, "parity")
    keys.append(parity)
    with code.axes(shape_of(op.counter, op.name)[1:]) as place:
        words = [code.load(arguments[op.counter], [code.index(word), *place]) for word in range(4)]
        for number, word in enumerate(_encrypted(code, keys, words, op.rounds.data)):
            code.store(word, result, [code.index(number), *place])
    part.launch(code, [*map(part.buffer_of, operands), part.buffer_of(op.result)])


def _encrypted(code: KernelCode, keys: list[SSAValue], words: list[SSAValue], rounds: int) -> list[SSAValue]:
    add, xor = arith.AddiOp, arith.XOrIOp
    words = [code.integer(add, word, key) for word, key in zip(words, keys, strict=False)]
    for number in range(rounds):
        first, second = (1, 3) if number % 2 == 0 else (3, 1)
        left, right = THREEFRY_ROTATIONS[number % len(THREEFRY_ROTATIONS)]
        words[0] = code.integer(add, words[0], words[first])
        words[first] = code.integer(xor, _rotated(code, words[first], left), words[0])
        words[2] = code.integer(add, words[2], words[second])
        words[second] = code.integer(xor, _rotated(code, words[second], right), words[2])
        if number % 4 == 3:
            injected = number // 4 + 1
            words = [code.integer(add, word, keys[(injected + at) % 5]) for at, word in enumerate(words)]
            words[3] = code.integer(add, words[3], code.b.constant(injected, i32))
    return words


def _rotated(code: KernelCode, word: SSAValue, by: int) -> SSAValue:
    up = code.integer(arith.ShLIOp, word, code.b.constant(by, i32))
    down = code.integer(arith.ShRUIOp, word, code.b.constant(32 - by, i32))
    return code.integer(arith.OrIOp, up, down)
