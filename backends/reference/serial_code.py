"""
Loops and branches of the serial code in `sched` kernels, for all iterations of the axes around at once.

Where iterations take different ways, each way runs under a mask of those that take it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from xdsl.dialects import scf
from xdsl.ir import Block, Region, SSAValue

from ...semantics.errors import InterpreterError, describe
from ...semantics.numpy_types import Array

Mask = npt.NDArray[np.bool_]


class Run(Protocol):
    """The iterations that are evaluated: their values, and which of them take part (None for all)."""

    values: dict[SSAValue, Array]
    mask: Mask | None

    def block(self, block: Block, extents: tuple[int, ...]) -> None: ...
    def value(self, value: SSAValue, depth: int) -> Array: ...
    def mask_at(self, depth: int) -> Mask: ...


def run_for(run: Run, op: scf.ForOp, extents: tuple[int, ...]) -> None:
    """Raises InterpreterError for a step that is not positive."""
    depth, block = len(extents), op.body.block
    lower, upper, step = (run.value(bound, depth) for bound in (op.lb, op.ub, op.step))
    if np.any(step <= 0):
        raise InterpreterError(f"{describe(op)}: step {step[step <= 0].flat[0]} is not positive")
    current = [run.value(start, depth) for start in op.iter_args]
    trips = np.maximum(-(-(upper - lower) // step), 0)
    outer = run.mask
    active = trips if outer is None else np.where(run.mask_at(depth), trips, 0)
    for trip in range(int(active.max(initial=0))):
        mask = active > trip
        run.mask = outer if mask.all() else mask
        run.values[block.args[0]] = lower + trip * step
        current = _iterate(run, block, block.args[1:], current, extents)
    run.mask = outer
    _bind(run, op.results, current)


def _iterate(
    run: Run, block: Block, arguments: Sequence[SSAValue], current: Sequence[Array], extents: tuple[int, ...]
) -> list[Array]:
    """Runs a block once; returns what it yields where iterations take part, and else what was there."""
    depth = len(extents)
    _bind(run, arguments, current)
    run.block(block, extents)
    yielded = _yielded(run, block, depth)
    if run.mask is None:
        return yielded
    mask = run.mask_at(depth)
    return [np.where(mask, new, old) for new, old in zip(yielded, current, strict=True)]


def run_if(run: Run, op: scf.IfOp, extents: tuple[int, ...]) -> None:
    """Runs each branch for those iterations that take it."""
    depth, outer = len(extents), run.mask
    holds = run.value(op.cond, depth)
    wants_true = holds if outer is None else holds & run.mask_at(depth)
    wants_false = ~holds if outer is None else ~holds & run.mask_at(depth)
    if not wants_false.any():
        chosen = _branch(run, op.true_region, extents)
    elif not wants_true.any():
        chosen = _branch(run, op.false_region, extents)
    else:
        run.mask = wants_true
        on_true = _branch(run, op.true_region, extents)
        run.mask = wants_false
        on_false = _branch(run, op.false_region, extents)
        run.mask = outer
        chosen = [np.where(holds, a, b) for a, b in zip(on_true, on_false, strict=True)]
    _bind(run, op.results, chosen)


def run_while(run: Run, op: scf.WhileOp, extents: tuple[int, ...]) -> None:
    """Runs the body for as long as the condition holds, each iteration of the axes around for itself."""
    depth, outer = len(extents), run.mask
    before, body = op.before_region.block, op.after_region.block
    current = [run.value(value, depth) for value in op.arguments]
    results: list[Array] | None = None
    while True:
        _bind(run, before.args, current)
        run.block(before, extents)
        condition = before.last_op
        assert isinstance(condition, scf.ConditionOp), "scf.while: the region ends in no scf.condition"
        passed = [run.value(value, depth) for value in condition.args]
        if results is None or run.mask is None:
            results = passed
        else:
            mask = run.mask_at(depth)
            results = [np.where(mask, new, old) for new, old in zip(passed, results, strict=True)]
        holds = run.value(condition.condition, depth)
        going_on = holds if run.mask is None else holds & run.mask_at(depth)
        if not going_on.any():
            break
        run.mask = outer if going_on.all() else np.asarray(going_on)
        _bind(run, body.args, results)
        run.block(body, extents)
        yielded = _yielded(run, body, depth)
        if run.mask is None:
            current = yielded
        else:
            mask = run.mask_at(depth)
            current = [np.where(mask, new, old) for new, old in zip(yielded, current, strict=True)]
    run.mask = outer
    _bind(run, op.results, results)


def _branch(run: Run, region: Region, extents: tuple[int, ...]) -> list[Array]:
    """Runs a branch and returns what it yields; one that is not there yields nothing."""
    if not region.blocks:
        return []
    run.block(region.block, extents)
    return _yielded(run, region.block, len(extents))


def _yielded(run: Run, block: Block, depth: int) -> list[Array]:
    last = block.last_op
    return [run.value(value, depth) for value in last.operands] if isinstance(last, scf.YieldOp) else []


def _bind(run: Run, names: Sequence[SSAValue], values: Sequence[Array]) -> None:
    run.values.update(zip(names, values, strict=True))
