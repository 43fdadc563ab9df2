"""
What every world must do, each case a function that all ranks call with their worlds. Sizes from 2 up.

`test_worlds.py` runs them in threads; whoever has other worlds runs them there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tenon.dialects.graph import ReduceKind
from tenon.dialects.grids import group_of, member_of, part_extents, part_offset
from tenon.errors import RankError
from tenon.semantics.collectives import Collective, transfer
from tenon.semantics.numpy_types import DTYPES_BY_NAME, Array
from tenon.semantics.world import Request, World

Case = Callable[[World], None]


def drawn(rank: int, shape: Sequence[int], dtype: Any = np.float32) -> Array:
    """Returns what a rank holds: small numbers, whose sums are exact in every dtype that has as many."""
    return np.random.default_rng((7, rank)).integers(0, 4, tuple(shape)).astype(dtype)


def begun(
    world: World, collective: Collective, operand: Array, shape: Sequence[int]
) -> tuple[Request, Array]:
    result: Array = np.empty(tuple(shape), operand.dtype)
    return world.begin(collective, operand, result), result


def exchanged(world: World, collective: Collective, operand: Array, shape: Sequence[int]) -> Array:
    request, result = begun(world, collective, operand, shape)
    request.wait()
    return result


def check(
    world: World, collective: Collective, operand_of: Callable[[int], Array], shape: Sequence[int]
) -> None:
    """Runs a collective and compares what this rank gets with what it means."""
    group = group_of(collective.grid, collective.axes, world.rank)
    operands = [operand_of(rank) for rank in group]
    found = exchanged(world, collective, operands[group.index(world.rank)], shape)
    shapes: list[Sequence[int]] = [shape] * len(group)
    if collective.kind != "collective_permute":
        shapes = [result_shape(collective, operands, member) for member in range(len(group))]
    wanted = transferred(collective, operands, shapes, group)[group.index(world.rank)]
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


def transferred(
    collective: Collective,
    operands: Sequence[Array],
    shapes: Sequence[Sequence[int]],
    ranks: Sequence[int],
) -> list[Array]:
    """Returns what each member gets, in arrays of these shapes."""
    results: list[Array] = [np.empty(tuple(shape), operands[0].dtype) for shape in shapes]
    transfer(collective, operands, results, ranks)
    return results


def result_shape(collective: Collective, operands: Sequence[Array], member: int) -> Sequence[int]:
    shape = list(operands[member].shape)
    match collective.kind:
        case "all_gather":
            assert collective.dim is not None
            shape[collective.dim] = sum(operand.shape[collective.dim] for operand in operands)
        case "reduce_scatter":
            assert collective.dim is not None
            shape[collective.dim] = part_extents(shape[collective.dim], collective.parts)[member]
        case "all_to_all":
            assert collective.dim is not None and collective.concat_dim is not None
            shape[collective.dim] = part_extents(shape[collective.dim], collective.parts)[member]
            shape[collective.concat_dim] = sum(each.shape[collective.concat_dim] for each in operands)
        case _:
            pass
    return shape


def line(world: World, kind: str, channel: int = 1, **fields: Any) -> Collective:
    """Returns a collective of all ranks."""
    return Collective(kind, channel, (world.size,), (0,), **fields)


def case_reductions_of_all_dtypes(world: World) -> None:
    channel = 0
    for name, dtype in DTYPES_BY_NAME.items():
        for kind in ReduceKind:
            if (kind in (ReduceKind.AND, ReduceKind.OR)) != (dtype.kind == "b" or dtype.kind in "iu"):
                continue
            if dtype.kind == "b" and kind not in (ReduceKind.AND, ReduceKind.OR):
                continue
            channel += 1
            asked = line(world, "all_reduce", channel, reduction=kind.value, where=name)
            check(world, asked, lambda rank, dtype=dtype: drawn(rank, (5, 3), dtype), (5, 3))


def case_sums_of_integers(world: World) -> None:
    for channel, name in enumerate(
        ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), 1
    ):
        dtype = DTYPES_BY_NAME[name]
        for kind in ("add", "mul", "max", "min"):
            asked = line(world, "all_reduce", channel, reduction=kind)
            check(world, asked, lambda rank, dtype=dtype: drawn(rank, (7,), dtype) + dtype.type(90), (7,))


def case_nan_and_zeros(world: World) -> None:
    values = np.array([[np.nan, 1.0, -0.0, 0.0], [1.0, np.nan, 0.0, -0.0]])
    for channel, name in enumerate(("float64", "float32", "float16", "bfloat16", "float8_e5m2"), 1):
        for kind in ("max", "min"):
            asked = line(world, "all_reduce", channel, reduction=kind)
            operand = values[world.rank % 2].astype(DTYPES_BY_NAME[name])
            found = exchanged(world, asked, operand, (4,)).astype(np.float64)
            assert np.isnan(found[:2]).all(), (name, kind, found)
            assert (np.signbit(found[2:]) == (kind == "min")).all(), (name, kind, found)


def case_scalars_and_empty_arrays(world: World) -> None:
    check(world, line(world, "all_reduce", reduction="add"), lambda rank: drawn(rank, ()), ())
    check(world, line(world, "all_reduce", reduction="max"), lambda rank: drawn(rank, (0, 3)), (0, 3))


def case_gathering_parts_that_are_uneven(world: World) -> None:
    total = 2 * world.size + 1
    extents = part_extents(total, (world.size,))
    for dim, shape in ((0, (total, 3)), (1, (2, total, 2)), (0, (total,))):

        def operand_of(rank: int, dim: int = dim, shape: tuple[int, ...] = shape) -> Array:
            return drawn(rank, (*shape[:dim], extents[rank], *shape[dim + 1 :]))

        check(world, line(world, "all_gather", dim + 1, dim=dim), operand_of, shape)


def case_scattering_sums_to_parts_that_are_uneven(world: World) -> None:
    total = 2 * world.size + 1
    mine = part_extents(total, (world.size,))[world.rank]
    for dim, shape in ((0, (total, 3)), (1, (2, total, 2))):
        part = (*shape[:dim], mine, *shape[dim + 1 :])
        for kind in ("add", "max"):
            asked = line(world, "reduce_scatter", dim + 1, reduction=kind, dim=dim)
            check(world, asked, lambda rank, shape=shape: drawn(rank, shape), part)


def case_all_to_all_of_parts_that_are_uneven(world: World) -> None:
    rows, columns = 2 * world.size + 1, 3 * world.size + 2
    mine = part_extents(rows, (world.size,))[world.rank]
    extents = part_extents(columns, (world.size,))
    asked = line(world, "all_to_all", dim=0, concat_dim=1)
    check(world, asked, lambda rank: drawn(rank, (rows, extents[rank])), (mine, columns))
    asked = line(world, "all_to_all", 2, dim=2, concat_dim=0)
    mine = part_extents(columns, (world.size,))[world.rank]
    heights = part_extents(rows, (world.size,))
    check(world, asked, lambda rank: drawn(rank, (heights[rank], 2, columns)), (rows, 2, mine))


def case_permuting(world: World) -> None:
    size = world.size
    ring = tuple((rank, (rank + 1) % size) for rank in range(size))
    check(world, line(world, "collective_permute", pairs=ring), lambda rank: drawn(rank, (3, 2)), (3, 2))
    # Borders of blocks: the last rank sends nothing, the first one gets zeros.
    shift = ring[:-1]
    result = exchanged(
        world,
        line(world, "collective_permute", 2, pairs=shift),
        drawn(world.rank, (1, world.rank + 1)),
        (1, max(world.rank, 1)),
    )
    wanted = np.zeros((1, 1), np.float32) if world.rank == 0 else drawn(world.rank - 1, (1, world.rank))
    np.testing.assert_array_equal(result, wanted)
    # To oneself, and nothing at all.
    check(world, line(world, "collective_permute", 3, pairs=((1, 1),)), lambda rank: drawn(rank, (4,)), (4,))
    check(world, line(world, "collective_permute", 4, pairs=()), lambda rank: drawn(rank, (4,)), (2,))


def case_groups_of_a_grid(world: World) -> None:
    """Ranks on a grid of two dims, where there are as many: sums along each, and a gather over both."""
    if world.size % 2:
        return
    grid = (world.size // 2, 2)
    for channel, axes in enumerate(((0,), (1,), (0, 1), (1, 0)), 1):
        asked = Collective("all_reduce", channel, grid, axes, "add")
        check(world, asked, lambda rank: drawn(rank, (3,)), (3,))
        total = 11
        parts = tuple(grid[axis] for axis in axes)
        extents = part_extents(total, parts)
        asked = Collective("all_gather", channel + 10, grid, axes, dim=0)
        check(
            world,
            asked,
            lambda rank, axes=axes, extents=extents: drawn(rank, (extents[member_of(grid, axes, rank)],)),
            (total,),
        )
        assert part_offset(total, parts, len(extents) - 1) == total - extents[-1]


def case_several_at_once(world: World) -> None:
    """Collectives that have begun are awaited in another order, and one channel is used again and again."""
    asked = [line(world, "all_reduce", channel, reduction="add") for channel in (1, 2, 3, 1, 1)]
    operands = [np.full((4,), 10 * number + world.rank, np.float32) for number in range(len(asked))]
    pending = [begun(world, each, operand, (4,)) for each, operand in zip(asked, operands, strict=True)]
    base = sum(range(world.size))
    for number in (4, 0, 2, 1, 3):
        request, result = pending[number]
        request.wait()
        assert (result == 10 * number * world.size + base).all()


def case_large_arrays(world: World) -> None:
    shape = (1 << 18,)
    check(world, line(world, "all_reduce", reduction="add"), lambda rank: drawn(rank, shape), shape)


def case_sums_keep_to_their_bound(world: World) -> None:
    """In any order, p - 1 roundings of the sum of the magnitudes: docs/accuracy.md."""
    for dtype in (np.float16, np.float32, np.float64):
        arrays = [
            (np.random.default_rng((8, rank)).standard_normal(257) * 10.0 ** (rank % 3)).astype(dtype)
            for rank in range(world.size)
        ]
        asked = line(world, "all_reduce", reduction="add")
        request, result = begun(world, asked, arrays[world.rank], (257,))
        request.wait()
        roundings = (world.size - 1) * float(np.finfo(dtype).eps) / 2
        for place, found in enumerate(result.tolist()):
            terms = [float(array[place]) for array in arrays]
            # What is exact is rounded to f64 once more.
            most = roundings * math.fsum(map(abs, terms)) * (1 + roundings) + abs(found) * 2.0**-53
            assert abs(found - math.fsum(terms)) <= most, (dtype, place)


def case_digests_that_agree(world: World) -> None:
    world.begin_check(b"program", "program").wait()
    world.begin_check(b"another", "program").wait()


def case_digests_that_differ(world: World) -> None:
    digest = b"other" if world.rank == 1 else b"program"
    with pytest.raises(RankError, match="the ranks differ in their program: 1 from rank 0"):
        world.begin_check(digest, "program").wait()


def case_checks_that_are_waited_for_later(world: World) -> None:
    """Collectives run meanwhile."""
    first, second = (world.begin_check(what, "program") for what in (b"program", b"another"))
    check(world, line(world, "all_reduce", reduction="add"), lambda rank: drawn(rank, (4,)), (4,))
    second.wait()
    first.wait()


def case_what_the_ranks_do_differs(world: World) -> None:
    what = "program @g" if world.rank == 1 else "program @f"
    with pytest.raises(RankError, match="rank 1 is at its program @g, and rank 0 at its program @f"):
        world.begin_check(b"the same", what).wait()


CASES: dict[str, Case] = {
    name.removeprefix("case_"): case for name, case in globals().items() if name.startswith("case_")
}
"""All cases, by name."""
