"""Runs the control flow of `graph`; what a region computes is left to the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.ir import Block, Operation

from ...dialects import graph
from ...semantics.errors import InterpreterError, describe
from ...semantics.numpy_types import Array, dtype_of
from ...semantics.tensor_ops import shape_of

RunBlock = Callable[[Block, Sequence[Array]], Sequence[Array]]
"""Runs a block on values for its arguments and returns what it yields."""


def run_control(op: graph.ControlOp, operands: Sequence[Array], run: RunBlock) -> list[Array]:
    """
    Returns the results of an op with regions.

    Raises InterpreterError for an input of a scan whose extent at run time is another one than the number of
    iterations.
    """
    match op:
        case graph.IfOp():
            region = op.then_region if operands[0] else op.else_region
            return list(run(region.block, ()))
        case graph.WhileOp():
            values = list(operands)
            while run(op.before.block, values)[0]:
                values = list(run(op.body.block, values))
            return values
        case graph.ScanOp():
            return _scan(op, operands, run)
        case _:
            raise AssertionError(f"{op.name}: no rule")


def _scan(op: graph.ScanOp, operands: Sequence[Array], run: RunBlock) -> list[Array]:
    count, n_carried = op.trip_count, len(op.initial)
    if not isinstance(count, int):
        raise InterpreterError(f"{describe(op)}: nothing tells how often it runs ({count} times)")
    carried, inputs = list(operands[:n_carried]), operands[n_carried:]
    for number, array in enumerate(inputs):
        if array.shape[0] != count:
            raise InterpreterError(
                f"{describe(op)}: input {number} has extent {array.shape[0]} along axis 0 at run time, "
                f"expected {count}"
            )
    stacks: list[Array] | None = None
    for iteration in reversed(range(count)) if op.reverse is not None else range(count):
        slices = [np.asarray(array[iteration]) for array in inputs]
        yielded = run(op.body.block, [np.array(iteration, np.int64), *carried, *slices])
        carried, elements = list(yielded[:n_carried]), yielded[n_carried:]
        if stacks is None:
            stacks = [np.empty((count, *element.shape), element.dtype) for element in elements]
        for stack, element in zip(stacks, elements, strict=True):
            stack[iteration] = element
    if stacks is None:
        stacks = [_empty_stack(op, number) for number in range(len(op.stacks))]
    return [*carried, *stacks]


def _empty_stack(op: Operation, number: int) -> Array:
    """Returns a stack of no iterations."""
    assert isinstance(op, graph.ScanOp)
    stack = op.stacks[number]
    shape = shape_of(stack)
    if any(extent < 0 for extent in shape):
        raise InterpreterError(f"{describe(op)}: nothing tells the extents of {stack.type}")
    return np.empty(shape, dtype_of(stack.type))
