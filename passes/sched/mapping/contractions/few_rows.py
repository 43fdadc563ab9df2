"""
Contractions of few rows: each element of the other side is used a few times only, and reading it takes the
time. Some steps of the depth are taken for all tiles before the next ones, so that it is read in the order of
memory, and one row of tiles fetches what it needs some steps later.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import memref
from xdsl.dialects.builtin import DYNAMIC_INDEX

from .....dialects.buffer_size import extents_of
from .....dialects.dims.expressions import upper_bound
from .....dialects.low.prefetch import set_prefetch_distance
from ....machine.target import Target
from .chunks import PRIVATE_SUMS, cache_nbytes
from .contraction import Contraction, products_of_all

STEPS = 16
"""Steps of the depth that each row of tiles takes at once."""

WORK_OF_A_GROUP = 1 << 23
"""Products that a work-group should add at least, and the most work-groups of a thread."""
GROUPS_OF_A_THREAD = 4

SHARED_WORK = 1 << 18
"""Products that are worth a work-group of their own where a thread has nothing else to do."""

MANY_ROWS = 96
"""From this many rows on, the other side is used often enough."""

FAR_NBYTES = 1024
"""Steps of the depth that are as far apart are not fetched by the processor by itself."""

AHEAD_NBYTES = 1 << 12
"""How far ahead what is read once is fetched."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """
    What is read along the columns: how many elements it is from one step of the depth to the next, how many
    bytes they have, whether all are more than the second cache holds, and how many steps there are.
    """

    load: memref.LoadOp
    step: int
    nbytes: int
    is_large: bool
    depth: int


def streamed(contraction: Contraction, target: Target) -> Streamed | None:
    """
    Returns what is contiguous along the columns of the only sum, over one dim that steps evenly, and a second
    one in the bytes that it steps through.
    """
    if len(contraction.products) > 1:
        return None
    (product,) = contraction.products
    side = contraction.column_side(product)
    dim, *others = product.dims
    if len(others) != side.is_of_nibbles:
        return None
    step = side.stride(contraction.analysis.axis(dim))
    if not isinstance(step, int) or step < 1:
        return None
    extents = [upper_bound(extent) for extent in extents_of(side.load.memref.type)]
    is_large = DYNAMIC_INDEX in extents or prod(extents) * side.nbytes > target.l2_nbytes
    return Streamed(side.load, step, side.nbytes, is_large, contraction.analysis.most(dim))


def steps_at_once(contraction: Contraction, found: Streamed | None) -> int | None:
    """
    Returns how many steps of the depth all tiles take before the next ones, where rows are few and what is
    contiguous along the columns lies in whole rows of several tiles: these are read then, one by one. None
    where that is not so, and where the caches hold what lies close together.
    """
    tile, rows = contraction.tile, prod(contraction.extents[:-1])
    if found is None or tile.panel is not None or found.depth < 2 * STEPS:
        return None
    if tile.is_one_row:
        is_far = found.is_large or found.step * found.nbytes >= FAR_NBYTES
        return STEPS if is_far and contraction.extents[-1] > tile.wide else None
    if rows >= MANY_ROWS or not found.is_large:
        return None
    return STEPS * min(-(-rows // tile.tall), 4)


def chunks_of_few(contraction: Contraction, target: Target) -> list[int]:
    """Returns chunks of all rows, and of as many columns as keep some work-groups busy."""
    *rows, columns = contraction.extents
    most = GROUPS_OF_A_THREAD * target.n_threads
    products = products_of_all(contraction)
    # Fewer columns take longer on one thread, by 9 to 16 %, and half as long on two.
    shared = min(target.n_threads, products // SHARED_WORK)
    groups = max(min(most, products // WORK_OF_A_GROUP), shared) // prod(contraction.outer_extents)
    wide = -(-columns // max(groups, 1))
    wide = min(wide, cache_nbytes(target) // 2 // (prod(rows) * contraction.nbytes))
    if contraction.has_follow_up:
        wide = min(wide, PRIVATE_SUMS // prod(rows))
    size = contraction.tile.wide
    chunk = max(wide // size, 1) * size if wide < columns else wide
    return [*rows, -(-chunk // size) * size]


def fetch_ahead(contraction: Contraction, found: Streamed | None, block: int | None) -> int:
    """
    Has what is contiguous along the columns fetched some steps ahead, and returns how many: 0 where it is
    read more than once, or may be in the second cache, as panels are not, which are weights of many.
    """
    tile = contraction.tile
    if found is None or not contraction.may_be_few or tile.tall == 1:
        return 0
    if not found.is_large and tile.panel is None:
        return 0
    ahead = block or -(-AHEAD_NBYTES // (found.step * found.nbytes))
    set_prefetch_distance(found.load, ahead * found.step)
    return ahead
