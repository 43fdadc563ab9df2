"""Writes index arithmetic into a kernel that is there already."""

from __future__ import annotations

from itertools import takewhile

from xdsl.dialects import arith
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import sched
from ...dialects.dim_expr import Extent
from ..util.kernel_writer import NO_OVERFLOW
from ..util.scalar_builder import INDEX, ConstantPool, ScalarBuilder
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
