"""Every collective, on every group of a mesh, of every kind of element, against what it means in numpy."""

from itertools import permutations

import ml_dtypes
import numpy as np
from tenon.dialects.grids import group_of, member_of, part_extents
from tenon.runtime.collectives.mpi_world import mpi_world
from tenon.semantics.collectives import Collective
from tenon.test.contract.world_cases import transferred

ROWS, COLUMNS = 7, 5
DTYPES = [np.dtype(each) for each in ("f4", "f8", "i8", "i4", "u1", "?", "f2", ml_dtypes.bfloat16)]


def values(rank, shape, dtype):
    generator = np.random.default_rng(rank)
    drawn = generator.integers(-4, 5, shape)
    if dtype.kind == "b":
        return drawn > 0
    if dtype.kind in "iu":
        # They wrap where they are summed.
        return (drawn * (np.iinfo(dtype).max // 5)).astype(dtype)
    found = drawn.astype(dtype)
    found = np.where(generator.random(shape) < 0.1, np.array(np.nan, dtype), found)
    return np.where(found == 0, np.array(-0.0 if rank % 2 else 0.0, dtype), found).astype(dtype)


def cases(grid, axes, dtype):
    parts = tuple(grid[axis] for axis in axes)
    whole = [(ROWS, COLUMNS)] * len(part_extents(1, parts))
    rows = [(extent, COLUMNS) for extent in part_extents(ROWS, parts)]
    columns = [(ROWS, extent) for extent in part_extents(COLUMNS, parts)]
    reductions = ("and", "or") if dtype.kind == "b" else ("add", "max", "min")
    for kind in reductions:
        yield dict(kind="all_reduce", reduction=kind), whole, whole
        yield dict(kind="reduce_scatter", reduction=kind, dim=0), whole, rows
        yield dict(kind="reduce_scatter", reduction=kind, dim=1), whole, columns
    yield dict(kind="all_gather", dim=0), rows, whole
    yield dict(kind="all_gather", dim=1), columns, whole
    yield dict(kind="all_to_all", dim=0, concat_dim=1), columns, rows
    yield dict(kind="all_to_all", dim=1, concat_dim=0), rows, columns
    count = len(whole)
    sources = [(number + 1, 3) for number in range(count)]
    # The first one gets nothing.
    pairs = tuple((number, number + 1) for number in range(count - 1))
    yield dict(kind="collective_permute", pairs=pairs), sources, [(2, 2), *sources[:-1]]


def same(found, expected):
    found, expected = np.asarray(found, "f8"), np.asarray(expected, "f8")
    is_number = ~np.isnan(expected)
    return np.array_equal(found, expected, equal_nan=True) and np.array_equal(
        np.signbit(found)[is_number], np.signbit(expected)[is_number]
    )


world = mpi_world()
grids = [(world.size,)] + ([(2, 2), (1, 4)] if world.size == 4 else [])
channel = 0
for grid in grids:
    for count in range(1, len(grid) + 1):
        for axes in permutations(range(len(grid)), count):
            ranks, member = group_of(grid, axes, world.rank), member_of(grid, axes, world.rank)
            for dtype in DTYPES:
                for fields, given, expected in cases(grid, axes, dtype):
                    channel += 1
                    collective = Collective(channel=channel, grid=grid, axes=axes, **fields)
                    operands = [
                        np.ascontiguousarray(values(rank, shape, dtype))
                        for rank, shape in zip(ranks, given, strict=True)
                    ]
                    wanted = transferred(collective, operands, expected, ranks)[member]
                    result = np.ones(expected[member], dtype)
                    world.begin(collective, operands[member], result).wait()
                    assert same(result, wanted), f"{collective} of {dtype}: {result}, expected {wanted}"
print("passed", flush=True)
