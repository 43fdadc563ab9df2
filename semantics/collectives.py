"""
What collectives mean, on the arrays of all members of a group.

This is what the interpreters do, and what ranks must give however they are run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from xdsl.utils.exceptions import VerifyException

from ..dialects import sched
from ..dialects.collective import DIVERGENT, Collective
from ..dialects.graph import (
    AllGatherOp,
    AllToAllOp,
    CollectiveOp,
    CollectivePermuteOp,
    ReduceKind,
    ReduceScatterOp,
    ReducingOp,
    grid_extents,
    program_around,
    rank_around,
)
from ..dialects.grids import member_of, part_extents, part_offset
from ..dialects.modules.parsing import location_text
from ..errors import RankError
from .numpy_types import Array
from .reductions import reduce


def collective_of(op: CollectiveOp | sched.CollectiveOp | sched.AwaitOp) -> Collective:
    """
    Returns what an op asks of the other ranks; one that awaits, what it awaits.

    Raises VerifyException where its grid, or what it awaits, is not there.
    """
    if isinstance(op, sched.AwaitOp):
        begun = op.begun
        if begun is None:
            raise VerifyException(f"{op.name}: awaits what has not begun on channel {op.channel.data}")
        return replace(collective_of(begun), where=location_text(op.location) or "")
    if isinstance(op, sched.CollectiveOp):
        where = location_text(op.location) or ""
        return replace(
            op.collective.data,
            where=where,
            rank=rank_around(op),
            program=program_around(op),
            is_divergent=DIVERGENT in op.attributes,
        )
    dim, concat_dim, pairs = None, None, ()
    match op:
        case AllGatherOp() | ReduceScatterOp():
            dim = op.dim.data
        case AllToAllOp():
            dim, concat_dim = op.split_dim.data, op.concat_dim.data
        case CollectivePermuteOp():
            pairs = op.pairs.data
        case _:
            pass
    return Collective(
        op.name.removeprefix("graph."),
        op.channel.data,
        grid_extents(op, op.grid_name),
        op.axes.data,
        op.kind.data.value if isinstance(op, ReducingOp) else None,
        dim,
        concat_dim,
        pairs,
        location_text(op.location) or "",
        rank_around(op),
        program_around(op),
        DIVERGENT in op.attributes,
    )


def part_of(
    shape: Sequence[int], grid: Sequence[int], split: Sequence[Sequence[int]], rank: int
) -> tuple[slice, ...]:
    """
    Returns which elements of an array a rank has, of which each dim is split over some axes of the grid; that
    is the same for ranks which differ in other axes only.
    """
    box: list[slice] = []
    for extent, axes in zip(shape, split, strict=True):
        parts, member = tuple(grid[axis] for axis in axes), member_of(grid, axes, rank)
        begin = part_offset(extent, parts, member)
        box.append(slice(begin, begin + part_extents(extent, parts)[member]))
    return tuple(box)


def transfer(
    collective: Collective, operands: Sequence[Array], results: Sequence[Array], ranks: Sequence[int]
) -> None:
    """
    Fills `results` with what each member gets where they give `operands`, both in the order of members, who
    share memory: what each gets is copied to where it wants it, and nowhere else. `ranks` is what errors call
    them.

    Raises:
        RankError: the members' operands, or their results, do not fit one another.
    """
    _check_alike(collective, operands, ranks)
    match collective.kind:
        case "all_reduce":
            total = _reduced(collective, operands)
            _check_shapes(collective, [total.shape] * len(ranks), results, ranks)
            for result in results:
                np.copyto(result, total, casting="no")
        case "all_gather":
            _concatenate(collective, [operands] * len(ranks), results, dim_of(collective.dim), ranks)
        case "reduce_scatter":
            dim = dim_of(collective.dim)
            split = [split_parts(collective, operand, dim) for operand in operands]
            totals = [_reduced(collective, parts) for parts in zip(*split, strict=True)]
            _check_shapes(collective, [total.shape for total in totals], results, ranks)
            for result, total in zip(results, totals, strict=True):
                np.copyto(result, total, casting="no")
        case "all_to_all":
            split = [split_parts(collective, operand, dim_of(collective.dim)) for operand in operands]
            gathered = list(zip(*split, strict=True))
            _concatenate(collective, gathered, results, dim_of(collective.concat_dim), ranks)
        case "collective_permute":
            sources = {target: operands[source] for source, target in collective.pairs}
            shapes = [
                sources[member].shape if member in sources else result.shape
                for member, result in enumerate(results)
            ]
            _check_shapes(collective, shapes, results, ranks)
            for member, result in enumerate(results):
                if member in sources:
                    np.copyto(result, sources[member], casting="no")
                else:
                    result[...] = 0
        case _:
            raise AssertionError(f"{collective.kind} is no collective")


def _concatenate(
    collective: Collective,
    parts_of: Sequence[Sequence[Array]],
    results: Sequence[Array],
    dim: int,
    ranks: Sequence[int],
) -> None:
    """Fills each result with its parts, one behind the other along a dim."""
    shapes: list[tuple[int, ...]] = []
    for parts in parts_of:
        extent = sum(part.shape[dim] for part in parts)
        shapes.append((*parts[0].shape[:dim], extent, *parts[0].shape[dim + 1 :]))
    _check_parts(collective, shapes[0], parts_of[0], dim, ranks)
    _check_shapes(collective, shapes, results, ranks)
    for result, parts in zip(results, parts_of, strict=True):
        np.concatenate(parts, dim, out=result, casting="no")


def _check_shapes(
    collective: Collective, shapes: Sequence[Sequence[int]], results: Sequence[Array], ranks: Sequence[int]
) -> None:
    """Raises RankError where a member gets what has another shape than the array for it."""
    for rank, result, shape in zip(ranks, results, shapes, strict=True):
        if tuple(shape) != result.shape:
            raise RankError(
                f"{collective}: rank {rank} gets {list(shape)}, expects {list(result.shape)}", rank
            )


def dim_of(dim: int | None) -> int:
    """Returns the dim of a collective that goes along one."""
    assert dim is not None, "a collective along no dim"
    return dim


def _check_alike(collective: Collective, operands: Sequence[Array], ranks: Sequence[int]) -> None:
    """Raises RankError unless operands differ at most in the extents that the collective lets differ."""
    first = operands[0]
    match collective.kind:
        case "all_gather":
            free = collective.dim
        case "all_to_all":
            free = collective.concat_dim
        case _:
            free = None
    for rank, operand in zip(ranks, operands, strict=True):
        is_alike = collective.kind == "collective_permute" or (
            operand.ndim == first.ndim
            and all(
                axis == free or mine == its
                for axis, (mine, its) in enumerate(zip(operand.shape, first.shape, strict=True))
            )
        )
        if operand.dtype != first.dtype or not is_alike:
            raise RankError(
                f"{collective}: rank {rank} gives {operand.dtype}{list(operand.shape)}, "
                f"rank {ranks[0]} {first.dtype}{list(first.shape)}",
                rank,
            )


def _check_parts(
    collective: Collective, whole: Sequence[int], parts: Sequence[Array], dim: int, ranks: Sequence[int]
) -> None:
    """Raises RankError unless the members' parts are those of an array of the shape `whole`."""
    expected = part_extents(whole[dim], collective.parts)
    for rank, part, extent in zip(ranks, parts, expected, strict=True):
        if part.shape[dim] != extent:
            raise RankError(
                f"{collective}: rank {rank} gives an extent of {part.shape[dim]} in dim {dim}, expected "
                f"{extent} (a part of {whole[dim]} over {len(expected)} ranks)",
                rank,
            )


def split_parts(collective: Collective, whole: Array, dim: int) -> list[Array]:
    """Returns the part of an array that is each member's, as views."""
    ends = np.cumsum(part_extents(whole.shape[dim], collective.parts))
    return np.split(whole, ends[:-1], dim)


def _reduced(collective: Collective, operands: Sequence[Array]) -> Array:
    """
    Returns the operands combined in the order of members. Sums and products are rounded to the element type
    at each step, and do not start from an identity: one member's alone are its own.
    """
    kind = ReduceKind(collective.reduction)
    with np.errstate(all="ignore"):
        match kind:
            case ReduceKind.ADD | ReduceKind.MUL:
                combine = np.add if kind is ReduceKind.ADD else np.multiply
                total = operands[0]
                for operand in operands[1:]:
                    total = combine(total, operand, dtype=total.dtype)
                return np.asarray(total)
            case ReduceKind.MAX | ReduceKind.MIN | ReduceKind.AND | ReduceKind.OR:
                return reduce(kind, np.stack(operands), [0], False)
