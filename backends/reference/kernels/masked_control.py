"""
Loops and branches, for all work-items of a kernel or all iterations of the axes around at once.

Each branch that only some take runs under a mask of those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Region, SSAValue

from ....semantics.errors import InterpreterError, describe
from ....semantics.numpy_types import Array, dtype_of

Mask = npt.NDArray[np.bool_]
"""Who takes part."""


class Run(Protocol):
    """What is evaluated at once: which of it takes part (None for all), and how a block of code is run."""

    @property
    def mask(self) -> Mask | None: ...

    @mask.setter
    def mask(self, mask: Mask | None) -> None: ...

    def value(self, value: SSAValue) -> Array: ...

    def bind(self, names: Sequence[SSAValue], values: Sequence[Array]) -> None: ...

    def block(self, block: Block) -> None: ...

    def active(self, condition: Mask) -> Mask:
        """Returns where `condition` holds among what takes part."""
        ...

    def merged(self, mask: Mask, chosen: Array, other: Array, type: Attribute) -> Array:
        """Returns `chosen` where the mask holds, else `other`."""
        ...


def run_control(run: Run, op: scf.ForOp | scf.IfOp | scf.WhileOp) -> None:
    """Raises InterpreterError for a step that is not positive."""
    outer = run.mask
    match op:
        case scf.ForOp():
            results = _for(run, op)
        case scf.IfOp():
            results = _if(run, op)
        case scf.WhileOp():
            results = _while(run, op)
    run.mask = outer
    run.bind(op.results, results)


def _for(run: Run, op: scf.ForOp) -> list[Array]:
    block, outer = op.body.block, run.mask
    lower, upper, step = (run.value(bound) for bound in (op.lb, op.ub, op.step))
    wrong = run.active(step <= 0)
    if wrong.any():
        first = np.broadcast_to(step, wrong.shape)[wrong].flat[0]
        raise InterpreterError(f"{describe(op)}: step {first} is not positive")
    dtype = dtype_of(block.args[0].type)
    current = [run.value(start) for start in op.iter_args]

    def iterate(index: Array) -> list[Array]:
        run.bind(block.args, (index, *current))
        run.block(block)
        return _yielded(run, block)

    if not (lower.ndim or upper.ndim or step.ndim):
        for index in range(int(lower), int(upper), int(step)):
            current = iterate(np.asarray(index, dtype))
        return current
    lower, upper, step = (np.asarray(bound, np.int64) for bound in (lower, upper, step))
    trips = _trips(lower, upper, step)
    trips = np.where(run.active(trips > 0), trips, 0)
    for trip in range(int(trips.max(initial=0))):
        mask = trips > trip
        run.mask = outer if mask.all() else mask
        current = _kept(run, iterate((lower + trip * step).astype(dtype)), current, op.iter_args)
    return current


def _trips(lower: Array, upper: Array, step: Array) -> Array:
    """Returns how often loops run. Their span is right where `upper` > `lower`, even across 2**63."""
    one = np.uint64(1)
    span = upper.view(np.uint64) - lower.view(np.uint64)
    trips = (span - one) // np.maximum(step, 1).view(np.uint64) + one
    return np.where(upper > lower, trips, np.uint64(0))


def _if(run: Run, op: scf.IfOp) -> list[Array]:
    """Runs each branch for those that take it."""
    holds = run.value(op.cond)
    wants_true, wants_false = run.active(holds), run.active(~holds)
    if not wants_false.any():
        return _branch(run, op.true_region)
    if not wants_true.any():
        return _branch(run, op.false_region)
    run.mask = wants_true
    on_true = _branch(run, op.true_region)
    run.mask = wants_false
    on_false = _branch(run, op.false_region)
    return [
        run.merged(holds, chosen, other, result.type)
        for chosen, other, result in zip(on_true, on_false, op.results, strict=True)
    ]


def _while(run: Run, op: scf.WhileOp) -> list[Array]:
    """Runs the body for as long as the condition holds, each for itself."""
    before, body, outer = op.before_region.block, op.after_region.block, run.mask
    condition = before.last_op
    if not isinstance(condition, scf.ConditionOp):
        raise InterpreterError(f"{describe(op)}: the first region ends in no scf.condition")
    current = [run.value(start) for start in op.arguments]
    given: list[Array] | None = None
    while True:
        run.bind(before.args, current)
        run.block(before)
        passed = [run.value(value) for value in condition.args]
        given = passed if given is None else _kept(run, passed, given, op.results)
        going_on = run.active(run.value(condition.condition))
        if not going_on.any():
            return given
        run.mask = outer if going_on.all() else going_on
        run.bind(body.args, given)
        run.block(body)
        current = _kept(run, _yielded(run, body), current, op.arguments)


def _kept(run: Run, new: list[Array], old: Sequence[Array], named: Sequence[SSAValue]) -> list[Array]:
    """Returns new values for what takes part, and the old ones of the rest."""
    mask = run.mask
    if mask is None:
        return new
    return [run.merged(mask, a, b, name.type) for a, b, name in zip(new, old, named, strict=True)]


def _branch(run: Run, region: Region) -> list[Array]:
    """Runs a branch and returns what it yields; one that is not there yields nothing."""
    if not region.blocks:
        return []
    run.block(region.block)
    return _yielded(run, region.block)


def _yielded(run: Run, block: Block) -> list[Array]:
    last = block.last_op
    return [run.value(value) for value in last.operands] if isinstance(last, scf.YieldOp) else []
