"""Writes index arithmetic into a kernel that is there already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import takewhile

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from .....dialects import sched
from .....dialects.dims.expressions import Extent
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import Atom, Axis, Clamp, Element, FloorDiv, IndexExpr, Mod, Opaque
from ....low.lowering.writer import NO_OVERFLOW
from ....scalar.builder import INDEX, ConstantPool, ScalarBuilder
from .loops import kernel_around


def writer_before(op: Operation) -> ScalarBuilder:
    """Returns what inserts ops right before `op`, with its location; constants go to the kernel's front."""
    block = op.parent
    assert block is not None, f"{op.name}: stands in no block"
    return _writer(block, op, op)


def writer_at_front(block: Block, origin: Operation) -> ScalarBuilder:
    """Returns what inserts ops at the front of a block, in order, with the location of `origin`."""
    return _writer(block, block.first_op, origin)


def _writer(block: Block, anchor: Operation | None, origin: Operation) -> ScalarBuilder:
    kernel = kernel_around(origin)
    writer = ScalarBuilder(block, anchor, _constants_of(kernel))
    writer.location = origin.location
    return writer


def _constants_of(kernel: sched.KernelOp) -> ConstantPool:
    leading = takewhile(lambda op: isinstance(op, arith.ConstantOp), kernel.body.block.ops)
    constants = [op for op in leading if isinstance(op, arith.ConstantOp)]
    return ConstantPool(kernel.body.block, kernel.location, kernel.sizes, constants)


def add(writer: ScalarBuilder, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
    return writer.op(arith.AddiOp, lhs, rhs, properties=dict(NO_OVERFLOW), hint=hint)


def subtract(writer: ScalarBuilder, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
    return writer.op(arith.SubiOp, lhs, rhs, properties=dict(NO_OVERFLOW), hint=hint)


def multiply(writer: ScalarBuilder, value: SSAValue, by: Extent, hint: str | None = None) -> SSAValue:
    factor = writer.constant(by, INDEX)
    return writer.op(arith.MuliOp, value, factor, properties=dict(NO_OVERFLOW), hint=hint)


def least(writer: ScalarBuilder, lhs: SSAValue, rhs: SSAValue, hint: str | None = None) -> SSAValue:
    return writer.op(arith.MinSIOp, lhs, rhs, hint=hint)


def write_index(
    writer: ScalarBuilder,
    analysis: IndexAnalysis,
    expr: IndexExpr,
    replaced: Mapping[SSAValue, SSAValue] | None = None,
    hint: str | None = None,
) -> SSAValue:
    """
    Writes an index; indices of loops, and values that are in no other terms than themselves, are `replaced`
    where there is something for them.
    """
    value: SSAValue | None = None
    for atom, factor in expr.terms.items():
        term = _write_atom(writer, analysis, atom, replaced or {})
        if factor != 1:
            term = multiply(writer, term, factor)
        value = term if value is None else add(writer, value, term)
    if value is None:
        return writer.constant(expr.constant, INDEX)
    if expr.constant != 0:
        value = add(writer, value, writer.constant(expr.constant, INDEX))
    if hint is not None and value.name_hint is None:
        value.name_hint = hint
    return value


def _write_atom(
    writer: ScalarBuilder, analysis: IndexAnalysis, atom: Atom, replaced: Mapping[SSAValue, SSAValue]
) -> SSAValue:
    match atom:
        case Axis():
            index = analysis.loop(atom).index
            return replaced.get(index, index)
        case Opaque(value, _):
            return replaced.get(value, value)
        case FloorDiv(operand, divisor):
            return writer.op(
                arith.DivUIOp,
                write_index(writer, analysis, operand, replaced),
                writer.constant(divisor, INDEX),
            )
        case Mod(operand, divisor):
            return writer.op(
                arith.RemUIOp,
                write_index(writer, analysis, operand, replaced),
                writer.constant(divisor, INDEX),
            )
        case Clamp(operand, last):
            raised = writer.op(
                arith.MaxSIOp,
                write_index(writer, analysis, operand, replaced),
                writer.constant(0, INDEX),
            )
            return least(writer, raised, writer.constant(last, INDEX))
        case Element():
            raise AssertionError(f"{atom} is no index of a kernel")


def erase_unused(values: Iterable[SSAValue]) -> None:
    """Erases the index arithmetic that values were computed by, as far as nothing uses it any more."""
    for value in values:
        op = value.owner
        if (
            isinstance(op, Operation)
            and op.parent is not None
            and not op.regions
            and isinstance(value.type, IndexType)
            and is_side_effect_free(op)
            and all(result.first_use is None for result in op.results)
        ):
            operands = list(op.operands)
            op.detach()
            op.erase()
            erase_unused(operands)


def copy_places(old: Operation, new: Operation) -> None:
    """Gives a copy the locations and the names of what it is a copy of."""
    for here, there in zip(old.walk(), new.walk(), strict=True):
        there.location = here.location
        for before, after in zip(here.results, there.results, strict=True):
            after.name_hint = before.name_hint
        for region, other in zip(here.regions, there.regions, strict=True):
            for block, copied in zip(region.blocks, other.blocks, strict=True):
                for before, after in zip(block.args, copied.args, strict=True):
                    after.name_hint, after.location = before.name_hint, before.location
