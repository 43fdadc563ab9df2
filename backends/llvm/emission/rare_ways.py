"""
Writes a branch one way of which only passes on what there is, and whose other way hardly ever runs: either it
is said to, or it is long. A long one is a call of a function: sin of numbers that are not small has a hundred
ops more, in each place where it stands. What is the same in several places is one function, which LLVM
compiles once.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math, scf
from xdsl.ir import Block, SSAValue

from ....dialects.low import ConvertOp, SelectOp
from ....dialects.low.rare import is_rare
from .emitter import Emitter

LEAST_OPS = 48
"""A way of so many ops is long beside a call, for which values in registers are stored."""

_VALUE_OPS = frozenset((*arith.Arith.operations, *math.Math.operations, SelectOp, ConvertOp))


def has_rare_way(op: scf.IfOp) -> bool:
    """Returns whether one way of a branch passes values on, and the other hardly ever runs."""
    if not op.output or not isinstance(op.true_region.block.first_op, scf.YieldOp):
        return False
    return is_rare(op) or _is_long(op.false_region.block)


def _is_long(block: Block) -> bool:
    """Returns whether a way is a long one that makes values."""
    *ops, _ = block.ops
    return len(ops) >= LEAST_OPS and all(type(each) in _VALUE_OPS for each in ops)


def write_rare(emitter: Emitter, op: scf.IfOp) -> None:
    """Defines the results of `op`, for which `has_rare_way` holds."""
    types = [emitter.type(op, result.type) for result in op.output]
    yielding = op.true_region.block.last_op
    assert yielding is not None, "a block without a terminator"
    on_true = [emitter.values[value] for value in yielding.operands]
    pairs = list(zip(types, on_true, strict=True))
    hints = [result.name_hint for result in op.output]

    def otherwise() -> Sequence[str]:
        other = op.false_region.block
        return _call(emitter, op, other, types) if _is_long(other) else emitter.write_block(other)

    results = emitter.write_unless(emitter.values[op.cond], pairs, otherwise, hints)
    emitter.values.update(zip(op.output, results, strict=True))


def _call(emitter: Emitter, op: scf.IfOp, block: Block, types: list[str]) -> list[str]:
    """Writes a call of the function that is `block`; returns its results."""
    outside = _values_from_outside(block)
    given = [value for value in outside if emitter.values[value].startswith("%")]
    result = f"{{ {', '.join(types)} }}"

    def write(inner: Emitter, names: Sequence[str]) -> str:
        inner.values.update({value: emitter.values[value] for value in outside})
        inner.values.update(zip(given, names, strict=True))
        whole = "poison"
        for number, (type, value) in enumerate(zip(types, inner.write_block(block), strict=True)):
            whole = inner.emit(f"insertvalue {result} {whole}, {type} {value}, {number}")
        return whole

    arguments = [(emitter.type(op, value.type), emitter.values[value]) for value in given]
    found = emitter.emit(emitter.call_apart(result, arguments, write))
    return [emitter.emit(f"extractvalue {result} {found}, {number}") for number in range(len(types))]


def _values_from_outside(block: Block) -> list[SSAValue]:
    """Returns what the ops of a block use that they do not make, in the order of first use."""
    inside = {result for op in block.ops for result in op.results}
    used = (operand for op in block.ops for operand in op.operands)
    return list(dict.fromkeys(operand for operand in used if operand not in inside))
