"""
How each collective is begun with MPI, straight from and into the arrays.

Each function returns the handles to wait for, what to do once they are done, and what must live until then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    parts = part_extents(result.shape[dim], collective.parts)
    if dim == 0 or all(extent == 1 for extent in result.shape[:dim]):
        rest = operand.size // max(operand.shape[dim], 1)
        counts = [part * rest for part in parts]
        starts = [sum(counts[:number]) for number in range(len(counts))]
        memory, _, element = types.whole(result)
        handle = comm.Iallgatherv(types.whole(operand), [memory, counts, starts, element])
        return [handle], None, None
    whole = types.part(operand, [0] * operand.ndim, operand.shape)
    targets = _part_types(types, result, dim, parts)
    return _exchange(comm, operand, [whole] * len(parts), result, targets)


def _all_to_all(types: MpiTypes, comm: Any, collective: Collective, operand: Array, result: Array) -> Begun:
    split, concat = dim_of(collective.dim), dim_of(collective.concat_dim)
    sources = _part_types(types, operand, split, part_extents(operand.shape[split], collective.parts))
    targets = _part_types(types, result, concat, part_extents(result.shape[concat], collective.parts))
    return _exchange(comm, operand, sources, result, targets)


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


def _part_types(types: MpiTypes, array: Array, dim: int, parts: Sequence[int]) -> list[Any]:
    """Returns a datatype for each part of an array along a dim, None for parts without elements."""
    made: list[Any] = []
    starts, sizes = [0] * array.ndim, list(array.shape)
    for part in parts:
        sizes[dim] = part
        made.append(types.part(array, starts, sizes))
        starts[dim] += part
    return made


def _exchange(
    comm: Any, operand: Array, sources: Sequence[Any], result: Array, targets: Sequence[Any]
) -> Begun:
    """Sends to each rank a part of the operand, and puts what comes from each into a part of the result."""
    size = comm.Get_size()
    ones, zeros = [1] * size, [0] * size
    handle = comm.Ialltoallw(
        [_memory(operand), (ones, zeros), list(sources)], [_memory(result), (ones, zeros), list(targets)]
    )

    def free() -> None:
        for made in {id(each): each for each in (*sources, *targets)}.values():
            made.Free()

    return [handle], free, (sources, targets)


def _memory(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
