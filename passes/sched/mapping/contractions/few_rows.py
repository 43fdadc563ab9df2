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
from ..prefetch_rows import SMALL_L1_NBYTES
from .chunks import PRIVATE_SUMS, PRIVATE_SUMS_OF_BLOCKS, cache_nbytes
from .contraction import Contraction, Tile, products_of_all

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

STEPS_AHEAD = 32
"""
How many steps ahead the same is fetched at least, into the second cache, where the first one is small. On a
Zen 4 eight rows by 30000x2000 f32 take 13.6 ms with what is next in the first cache, 9.8 so, 10.1 with 48.
Two rows by twelve times 768x3072 and 3072x768 take 0.57 of the time, eight 0.56, and one row, for which
nothing was fetched into the first cache, 0.7. Of what the third cache holds several rows take 0.8 to 1.0, and
one row 1.0 to 1.1, so that it fetches none of that.
"""

PANEL_AHEAD_NBYTES = 2 << 10
MOST_ROWS_OF_SECOND = 6
"""
How far ahead panels are fetched into the second cache where the first one is small, and by tiles of up to
how many rows. On a Zen 4 two rows by twelve times 768x3072 and 3072x768 f32 in panels take 7.4 ms so, and
10.2 with `AHEAD_NBYTES` into the first cache, four rows 7.4 and 8.2, six 7.6 and 7.6, eight 11.0 and 9.3.
"""

OPEN_AHEAD_NBYTES = 3 << 10
"""
The same for rows whose number varies, of which few that are left over fetch some times as far: on that Zen 4
GPT-2 steps take 0.97 of the time so (one row and eight), MiniLM-L6 1x16 0.97. One row fetches nothing of what
the third cache holds, as where there is one row always: an LSTM 1x128 takes 0.82 of the time.
"""

LEAST_NBYTES_OF_ROWS = 8 << 10
"""
How much of a row of what comes from memory a work-group reads at least, if the row has as much, so that the
processor sees few streams. On that Zen 4 the same takes 20.1 ms with work-groups of 480 columns (15.0 if
fetched into the second cache), 15.4 of 1008 (11.7), 13.6 of 2000 (9.8). It is half of that for each thread
beyond two.
"""


@dataclass(frozen=True, slots=True)
class Streamed:
    """
    What is read along the columns: how many elements it is from one step of the depth to the next, how many
    bytes they have, whether all are more than the second cache holds, whether the third one does not hold
    them or all that the program reads, and how many steps there are.
    """

    load: memref.LoadOp
    step: int
    nbytes: int
    is_large: bool
    is_cold: bool
    depth: int

    @property
    def is_in_memory(self) -> bool:
        """Whether they are many, and read from memory."""
        return self.is_large and self.is_cold


def streamed(contraction: Contraction, target: Target, nbytes_between: int) -> Streamed | None:
    """
    Returns what is contiguous along the columns of the only sum, over one dim that steps evenly, and a second
    one in the bytes that it steps through; `nbytes_between` are touched before it is read again.
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
    nbytes = prod(extents) * side.nbytes
    is_large = DYNAMIC_INDEX in extents or nbytes > target.l2_nbytes
    # Of weights that each fit into the third cache, all of a program may not.
    is_cold = DYNAMIC_INDEX not in extents and (
        nbytes > target.l3_nbytes // 2 or nbytes_between > target.l3_nbytes
    )
    return Streamed(side.load, step, side.nbytes, is_large, is_cold, contraction.analysis.most(dim))


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


def chunks_of_few(contraction: Contraction, found: Streamed, target: Target) -> list[int]:
    """
    Returns chunks of all rows, and of as many columns as keep some work-groups busy, but long parts of the
    rows of what comes from memory.
    """
    *rows, columns = contraction.extents
    most = GROUPS_OF_A_THREAD * target.n_threads
    products = products_of_all(contraction)
    # Fewer columns take longer on one thread, by 9 to 16 %, and half as long on two.
    shared = min(target.n_threads, products // SHARED_WORK)
    groups = max(min(most, products // WORK_OF_A_GROUP), shared) // prod(contraction.outer_extents)
    wide = -(-columns // max(groups, 1))
    most_sums = PRIVATE_SUMS
    if found.is_in_memory and is_first_small(target):
        wide = max(wide, min(LEAST_NBYTES_OF_ROWS // found.nbytes, 2 * columns // max(target.n_threads, 2)))
        most_sums = PRIVATE_SUMS_OF_BLOCKS
    wide = min(wide, cache_nbytes(target) // 2 // (prod(rows) * contraction.nbytes))
    if contraction.has_follow_up:
        wide = min(wide, most_sums // prod(rows))
    size = contraction.tile.wide
    chunks = (*rows, max(wide // size, 1) * size if wide < columns else wide)
    # Whole tiles of rows too: of named dims there may be fewer.
    return [-(-chunk // size) * size for chunk, size in zip(chunks, contraction.sizes, strict=True)]


def fetch_ahead(contraction: Contraction, found: Streamed | None, block: int | None, target: Target) -> int:
    """
    Has what is contiguous along the columns fetched some steps ahead, and returns how many: 0 where it is
    read more than once, or may be in the second cache, as panels are not, which are weights of many.
    """
    tile = contraction.tile
    if found is None or not contraction.may_be_few:
        return 0
    is_small, in_panels = is_first_small(target), tile.panel is not None
    if tile.tall == 1:
        # One row reads panels as one stream, which the processor finds.
        is_fetched = is_small and block is not None and found.is_in_memory
    else:
        is_fetched = found.is_large or in_panels
    if not is_fetched:
        return 0
    step_nbytes = found.step * found.nbytes
    if is_small and block is not None:
        ahead, level = max(block, STEPS_AHEAD), 2
    elif is_small and in_panels and (second := _second_ahead(tile)) is not None:
        ahead, level = -(-second // step_nbytes), 2
    else:
        ahead, level = block or -(-AHEAD_NBYTES // step_nbytes), 1
    # One row reads panels as one stream, which the processor finds where they are in the third cache.
    is_found = is_small and in_panels and has_open_rows(tile) and not found.is_cold
    set_prefetch_distance(found.load, ahead * found.step, level, 2 if is_found else 1)
    return ahead


def _second_ahead(tile: Tile) -> int | None:
    """Returns how far ahead a tile fetches panels into the second cache; None where the first gets them."""
    if has_open_rows(tile):
        return OPEN_AHEAD_NBYTES
    return PANEL_AHEAD_NBYTES if tile.tall <= MOST_ROWS_OF_SECOND else None


def has_open_rows(tile: Tile) -> bool:
    """Returns whether the number of rows varies."""
    return tile.rows is not None and not isinstance(tile.rows.extent, int)


def is_first_small(target: Target) -> bool:
    """Returns whether what is fetched for later does not fit into the first cache beside what is in use."""
    return target.l1_nbytes <= SMALL_L1_NBYTES
