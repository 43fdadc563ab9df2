"""Comparisons of indices, and branches, in the kernel that is being written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..state import KernelState

PREDICATES = {
    name: IntegerAttr(arith.CMPI_COMPARISON_OPERATIONS.index(name), i64)
    for name in ("eq", "ne", "slt", "sgt")
}


def compare(
    state: KernelState, predicate: str, lhs: SSAValue, rhs: SSAValue, op: Operation, hint: str
) -> SSAValue:
    """Returns the comparison of two indices, by a predicate of `arith.cmpi`."""
    properties: dict[str, Attribute] = {"predicate": PREDICATES[predicate]}
    return state.writer.emit(arith.CmpiOp, (lhs, rhs), i1, op.location, hint, properties)


def branch(
    state: KernelState,
    condition: SSAValue,
    op: Operation,
    body: Callable[[], None],
    otherwise: Callable[[], None] | None = None,
) -> None:
    """Writes what is done where a condition holds, and what otherwise."""
    bodies = [body] if otherwise is None else [body, otherwise]
    _write(state, condition, [], op, [partial(_nothing_after, each) for each in bodies])


def choice(
    state: KernelState,
    condition: SSAValue,
    types: Sequence[Attribute],
    op: Operation,
    body: Callable[[], list[SSAValue]],
    otherwise: Callable[[], list[SSAValue]],
) -> list[SSAValue]:
    """Writes a branch whose two ways give values of these types, and returns them."""
    return _write(state, condition, types, op, [body, otherwise])


def _write(
    state: KernelState,
    condition: SSAValue,
    types: Sequence[Attribute],
    op: Operation,
    bodies: Sequence[Callable[[], list[SSAValue]]],
) -> list[SSAValue]:
    writer, point = state.writer, state.writer.point
    blocks = [Block() for _ in bodies]
    regions = [*(Region(block) for block in blocks), *(Region() for _ in range(2 - len(blocks)))]
    new = scf.IfOp.create(operands=(condition,), result_types=types, regions=regions)
    with writer.open(new, op.location):
        for block, each in zip(blocks, bodies, strict=True):
            writer.fill(block, partial(_without_arguments, each), op.location)
    writer.homes.update(dict.fromkeys(new.results, point))
    return list(new.results)


def _without_arguments(body: Callable[[], list[SSAValue]], _: Sequence[SSAValue]) -> list[SSAValue]:
    return body()


def _nothing_after(body: Callable[[], None]) -> list[SSAValue]:
    """Runs what fills a block, which gives nothing."""
    body()
    return []
