"""Collectives of ranks that share memory: what each gets is copied to where it wants it, and nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..collectives import Collective, check_alike, check_parts, check_shapes, dim_of, reduced, split_parts
from ..numpy_types import Array


def transfer(
    collective: Collective, operands: Sequence[Array], results: Sequence[Array], ranks: Sequence[int]
) -> None:
    """
    Fills `results` with what each member gets where they give `operands`, both in the order of members:
    with what `combined` says, bit for bit. `ranks` is what errors call them.

    Raises:
        RankError: the members' operands, or their results, do not fit one another.
    """
    check_alike(collective, operands, ranks)
    match collective.kind:
        case "all_reduce":
            total = reduced(collective, operands)
            check_shapes(collective, [total.shape] * len(ranks), results, ranks)
            for result in results:
                np.copyto(result, total, casting="no")
        case "all_gather":
            _concatenate(collective, [operands] * len(ranks), results, dim_of(collective.dim), ranks)
        case "reduce_scatter":
            dim = dim_of(collective.dim)
            split = [split_parts(collective, operand, dim) for operand in operands]
            totals = [reduced(collective, parts) for parts in zip(*split, strict=True)]
            check_shapes(collective, [total.shape for total in totals], results, ranks)
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
            check_shapes(collective, shapes, results, ranks)
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
    check_parts(collective, shapes[0], parts_of[0], dim, ranks)
    check_shapes(collective, shapes, results, ranks)
    for result, parts in zip(results, parts_of, strict=True):
        np.concatenate(parts, dim, out=result, casting="no")
