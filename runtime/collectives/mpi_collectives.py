"""
How each collective is begun with MPI, straight from and into the arrays where their parts lie in one piece.

Each function returns the handles to wait for, what to do once they are done, and what must live until then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from ...dialects.collective import Collective
from ...dialects.grids import part_extents
from ...semantics.collectives import dim_of, split_parts
from ...semantics.world import joined
from .mpi_types import Array, MpiTypes

Begun = tuple[list[Any], Callable[[], None] | None, object]

MOST_TAGS = 32768
"""Tags that every MPI has; messages between two ranks with one tag come in their order."""


def begin_collective(
    types: MpiTypes, comm: Any, collective: Collective, operand: Array, result: Array
) -> Begun:
    """Begins a collective of all ranks of `comm`."""
    return _KINDS[collective.kind](types, comm, collective, operand, result)


def _all_reduce(types: MpiTypes, comm: Any, collective: Collective, operand: Array, result: Array) -> Begun:
    op = types.op(str(collective.reduction), operand.dtype)
    return [comm.Iallreduce(types.whole(operand), types.whole(result), op)], None, op


def _reduce_scatter(
    types: MpiTypes, comm: Any, collective: Collective, operand: Array, result: Array
) -> Begun:
    op, dim = types.op(str(collective.reduction), operand.dtype), dim_of(collective.dim)
    parts = part_extents(operand.shape[dim], collective.parts)
    rest = operand.size // max(operand.shape[dim], 1)
    if rest != operand[:1].size or dim:
        # MPI wants what each rank gets in one piece.
        operand = joined(split_parts(collective, operand, dim))
    handle = comm.Ireduce_scatter(
        types.whole(operand), types.whole(result), [part * rest for part in parts], op
    )
    return [handle], None, operand


def _all_gather(types: MpiTypes, comm: Any, collective: Collective, operand: Array, result: Array) -> Begun:
    dim = dim_of(collective.dim)
    target, finish = _received(types, result, dim, collective)
    return [comm.Iallgatherv(types.whole(operand), target)], finish, target


def _all_to_all(types: MpiTypes, comm: Any, collective: Collective, operand: Array, result: Array) -> Begun:
    split, concat = dim_of(collective.dim), dim_of(collective.concat_dim)
    counts = _counts(operand, split, collective)
    if not _is_outermost(operand, split):
        operand = joined(split_parts(collective, operand, split))
    source = _in_parts(types, operand, counts)
    target, finish = _received(types, result, concat, collective)
    return [comm.Ialltoallv(source, target)], finish, (source, target)


def _collective_permute(
    types: MpiTypes, comm: Any, collective: Collective, operand: Array, result: Array
) -> Begun:
    member, tag = comm.Get_rank(), collective.channel % MOST_TAGS
    handles: list[Any] = []
    is_target = False
    for source, target in collective.pairs:
        if source == target == member:
            result[...] = operand
            is_target = True
            continue
        if target == member:
            handles.append(comm.Irecv(types.whole(result), source, tag))
            is_target = True
        if source == member:
            handles.append(comm.Isend(types.whole(operand), target, tag))
    if not is_target:
        result[...] = np.zeros((), result.dtype)
    return handles, None, None


_KINDS = {
    "all_reduce": _all_reduce,
    "reduce_scatter": _reduce_scatter,
    "all_gather": _all_gather,
    "all_to_all": _all_to_all,
    "collective_permute": _collective_permute,
}


def _is_outermost(array: Array, dim: int) -> bool:
    """Returns whether each part of a row-major array along a dim lies in one piece."""
    return all(extent == 1 for extent in array.shape[:dim])


def _counts(array: Array, dim: int, collective: Collective) -> list[int]:
    """Returns how many elements each part of an array along a dim has."""
    rest = array.size // max(array.shape[dim], 1)
    return [part * rest for part in part_extents(array.shape[dim], collective.parts)]


def _in_parts(types: MpiTypes, array: Array, counts: Sequence[int]) -> list[Any]:
    """Returns memory in which parts lie one after the other, as mpi4py takes it."""
    memory, _, element = types.whole(array)
    return [memory, counts, _starts(counts), element]


def _starts(counts: Sequence[int]) -> list[int]:
    return [0, *accumulate(counts[:-1])]


def _received(
    types: MpiTypes, result: Array, dim: int, collective: Collective
) -> tuple[list[Any], Callable[[], None] | None]:
    """
    Returns where parts of a result along a dim are received one after the other, as mpi4py takes it, and
    what puts them in place then: nothing where they lie so. MPI could be told of rows with gaps, and is slow
    at them: between two ranks of MPICH the halves of 1024 x 1024 f32, split by columns, took 35 ms so and
    1.5 ms through memory in between.
    """
    counts = _counts(result, dim, collective)
    if _is_outermost(result, dim):
        return _in_parts(types, result, counts), None
    received = np.empty(result.size, result.dtype)

    def place() -> None:
        columns = split_parts(collective, result, dim)
        for target, start, count in zip(columns, _starts(counts), counts, strict=True):
            target[...] = received[start : start + count].reshape(target.shape)

    return _in_parts(types, received, counts), place
