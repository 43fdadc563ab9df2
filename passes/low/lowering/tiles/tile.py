"""
Lowers axes that are tiles: loops over whole tiles and what is left of them, in each a `low.tile_fma` for
every sum, and then what follows the sums, element by element.

A sum that is only stored is added up in the buffer that it is stored to; any other in a private one, from
which what follows loads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import MemRefType, i1
from xdsl.ir import Operation, SSAValue

from .....dialects import low, sched
from .....dialects.dims.expressions import Extent, upper_bound
from .....dialects.low.prefetch import LEVELS, prefetch_distance, prefetch_level, prefetch_rows
from .....dialects.low.tile import RowRanges
from ....indices.analysis import Loop
from ....indices.expressions import IndexExpr, constant
from ....scalar.builder import INDEX
from ....scalar.reduction_identity import identity
from ..axis import AxisLowering
from ..illegal_mapping import refuse_mapping
from ..lanes import LanedValue
from ..loop_count import count_of
from ..state import KernelState
from ..writer import vector_type
from .branches import branch, compare
from .depths import Depth, merged
from .left_out_products import LeftOutProducts, SumPlace, Weights
from .mirrored_tiles import mirror_of
from .panel_prefetch import next_panel
from .tile_prefetch import Prefetched, prefetched
from .tile_sums import TileOperand, TileReader, TileSum

LEFT_ROWS = 8, 4, 1
"""
How many rows tiles have of what is left over, in a number that varies; all but the last may lack some, up to
half of them. Fewer rows than four take as long, as sums wait for those before them, but one: it leaves more
loads under way, and a step of GPT-2 took 1.14 of the time in four rows.
"""

MOST_TIMES_AHEAD = 4
"""
How many times as far ahead as a whole tile one of fewer rows may fetch what it reads of columns: a step of
GPT-2 of one row took 40.5 ms with 1, 36.1 with 4 and 38.9 with 8 (with static shapes 36.3).
"""

LEFT_COLUMNS = 4
"""Columns that are left over where rows are vectors are added up so many at once."""


def lower_tile(state: KernelState, op: sched.AxisOp) -> None:
    """
    Lowers an axis that is a tile, with the one in it, if it is the rows.

    Raises PassFailedException, naming the axis, where what is in it is no tile, and says why.
    """
    if state.lanes.axes:
        refuse_mapping(op, f"axis %{state.lanes.axes[-1].axis.hint} around it runs in lanes")
    inner = [
        child for child in op.body.block.ops if isinstance(child, sched.AxisOp) and child.mapping.tile.data
    ]
    if len(inner) > 1:
        refuse_mapping(op, f"{len(inner)} axes in it are columns, expected one")
    rows, columns = (op, inner[0]) if inner else (None, op)
    if 0 in (op.extent, columns.extent):
        return
    _TileLowering(state, rows, columns).lower()


@dataclass(frozen=True, slots=True)
class _Span:
    """
    Some iterations of an axis at once: how many, or how many at most and the value that says; and the number
    of the tile that they are, of those that a work-item takes.
    """

    first: IndexExpr
    size: int
    live: SSAValue | None = None
    number: IndexExpr = field(default_factory=lambda: constant(0))
    is_tile: bool = False
    """Whether one tile of `size` adds them up, which half of them may lack."""
    is_next: bool = False
    """Whether there is another such tile before it."""


class _TileLowering:
    def __init__(self, state: KernelState, rows: sched.AxisOp | None, columns: sched.AxisOp):
        self.state = state
        self.rows = None if rows is None else AxisLowering(state, rows)
        self.columns = AxisLowering(state, columns)
        reader = TileReader(state.analysis, rows, columns, state.ids)
        self.row_axis, self.column_axis = reader.row_axis, reader.column_axis
        self.is_transposed = reader.is_transposed
        self.strides = reader.strides
        self.sums = reader.sums()
        self.mirror = mirror_of(rows, columns, reader, self.sums)
        self.private = {sum.op: self._private(sum.op) for sum in self.sums if sum.store is None}
        """The buffers of sums that are not stored as they are."""

    def lower(self) -> None:
        before = dict(self.state.overrides)
        for op in self._index_ops():
            self.state.lower_op(op)
            self.state.overrides[op] = _nothing
        self._lower_tiles()
        self.state.overrides = before

    def _index_ops(self) -> list[Operation]:
        """
        Returns the ops in the tile, in their order, that the indices of its sums are computed of and that are
        the same for all of it: an index that is loaded, say. They are lowered once, before the tile.
        """
        outermost = (self.columns if self.rows is None else self.rows).op
        stored = {op.memref for op in outermost.walk() if isinstance(op, memref.StoreOp)}
        analysis = self.state.analysis
        varying = {analysis.axis(op) for op in outermost.walk() if isinstance(op, Loop)}
        found: dict[Operation, None] = {}

        def collect(value: SSAValue) -> None:
            op = value.owner
            if not isinstance(op, Operation) or not outermost.is_ancestor(op) or op.regions or op in found:
                return
            for operand in op.operands:
                collect(operand)
            is_stored = isinstance(op, memref.LoadOp) and op.memref in stored
            if not is_stored and varying.isdisjoint(analysis.dependences(value)):
                found[op] = None

        for sum in self.sums:
            for access in (sum.lhs.load, sum.rhs.load, sum.store):
                for index in () if access is None else access.indices:
                    collect(index)
        return list(found)

    def _lower_tiles(self) -> None:
        if any(sum.dims[0].mapping.tile.data for sum in self.sums):
            self._lower_in_blocks()
        elif self.rows is None:
            self._columns(_Span(constant(0), 1))
        else:
            self._spans(self.rows, self._columns)

    def _lower_in_blocks(self) -> None:
        """Lowers a sum that takes some steps of the depth for all tiles before the next ones."""
        if len(self.sums) != 1 or self.sums[0].accumulates or self.is_transposed:
            refuse_mapping(self.columns.op, "blocks of the depth are for one sum that starts from 0.0")
        (sum,) = self.sums
        state, dim = self.state, sum.dims[0]
        first = _Span(constant(0), 1) if self.rows is None else _Span(self.rows.share()[0], 1)
        whole = first, _Span(self.columns.share()[0], 1)
        self._each_element({sum.op: partial(self._store_zero, sum, *whole)})
        extent, size = self.state.analysis.extent(dim), dim.mapping.tile.data
        count = state.writer.constants.get((extent + (size - 1)) // size, INDEX)

        def block(index: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            begin = (
                state.indices.bind(index, (extent + (size - 1)) // size, dim.index.name_hint or "k") * size
            )
            steps: Extent | SSAValue = size
            if not isinstance(extent, int) or extent % size:
                left = state.indices.op(
                    arith.SubiOp,
                    state.writer.constants.get(extent, INDEX),
                    state.indices.write(begin, dim.location),
                    dim.location,
                )
                most = state.writer.constants.get(size, INDEX)
                steps = state.indices.op(arith.MinSIOp, left, most, dim.location)
            depth = begin, steps

            def tile(rows: _Span, columns: _Span) -> None:
                self._add_up_rows(sum, rows, columns, depth, whole)

            def tiles(columns: _Span) -> None:
                if self.rows is None:
                    tile(whole[0], columns)
                else:
                    self._spans(self.rows, lambda rows: tile(rows, columns))

            self._spans(self.columns, tiles)
            return []

        get = state.writer.constants.get
        state.writer.loop((get(0, INDEX), count, get(1, INDEX)), (), block, dim.location, dim.index.name_hint)
        stores = [op for op in self.columns.op.body.block.ops if isinstance(op, memref.StoreOp)]
        if sum.store is None:
            self._each_element({sum.op: partial(self._load_sum, sum, *whole)}, skips=False)
        elif len(stores) > 1:
            self._each_element({sum.op: _nothing, sum.store: _nothing}, skips=False)

    def _each_element(self, overrides: dict[Operation, Callable[[], None]], skips: bool = True) -> None:
        """
        Lowers the axes once more, element by element, some ops in another way; `skips` leaves out all others.
        """
        state, columns = self.state, self.columns
        before = dict(state.overrides)
        if skips:
            blocks = [columns.op.body.block, *([] if self.rows is None else [self.rows.op.body.block])]
            for block in blocks:
                state.overrides.update((op, _nothing) for op in block.ops if op is not columns.op)
        state.overrides.update(overrides)
        for axis in (self.rows, columns):
            if axis is not None:
                state.overrides[axis.op] = partial(_lower_elements, axis)
        state.overrides[(columns if self.rows is None else self.rows).op]()
        state.overrides = before

    def _store_zero(self, sum: TileSum, rows: _Span, columns: _Span) -> None:
        """Stores 0 where a sum is added up, for the rows and columns that the axes are bound to."""
        state, op, lanes = self.state, sum.op, self.state.lanes.vector_axis
        type, writer = op.result.type, state.writer
        nothing = identity(op.kind.data, type)
        if sum.store is None:
            buffer, place = self.private[op], self._place_in_private(op, rows, columns)
        else:
            buffer = state.buffers[sum.store.memref]
            place = state.indices.write_for(sum.store, state.analysis.address(sum.store))
        if lanes is None:
            zero, store_type = writer.constants.get(nothing, type), memref.StoreOp
        else:
            zero, store_type = writer.dense([nothing], type, lanes.vector, "zero"), vector.StoreOp
        writer.insert(store_type.create(operands=(zero, buffer, place)), op.location)

    def _place_in_private(self, op: sched.ReduceOp, rows: _Span, columns: _Span) -> SSAValue:
        """Returns where in its private buffer a sum is, for what the axes are bound to."""
        bindings = self.state.indices.bindings
        at = bindings[self.columns.axis] - columns.first
        if self.rows is not None:
            at = (bindings[self.rows.axis] - rows.first) * self._private_row(op) + at
        return self.state.indices.write(at, op.location)

    def _columns(self, rows: _Span) -> None:
        """Lowers all tiles of some rows."""
        self._spans(self.columns, lambda columns: self._tile(rows, columns))

    def _tile(self, rows: _Span, columns: _Span) -> None:
        """Lowers one tile: its sums, and what follows them; of a symmetric result where it is needed."""
        mirror = self.mirror
        if mirror is None:
            self._whole_tile(rows, columns)
            return

        def write() -> None:
            self._whole_tile(rows, columns)
            mirror.copy(self.state, rows.first, rows.size, columns.first, columns.size)

        is_needed = mirror.is_needed(self.state, rows.first, columns.first, columns.size)
        branch(self.state, is_needed, mirror.store, write)

    def _whole_tile(self, rows: _Span, columns: _Span) -> None:
        state = self.state
        for sum in self.sums:
            self._add_up_rows(sum, rows, columns)
        done = {sum.store for sum in self.sums}
        if all(op in done for op in self.columns.op.body.block.ops if isinstance(op, memref.StoreOp)):
            return
        before = dict(state.overrides)
        for sum in self.sums:
            if sum.store is None:
                state.overrides[sum.op] = partial(self._load_sum, sum, rows, columns)
            else:
                state.overrides[sum.op] = state.overrides[sum.store] = _nothing
        state.overrides[self.columns.op] = lambda: self._follow_columns(columns)
        self._follow_rows(rows)
        state.overrides = before

    def _bind(self, rows: _Span, columns: _Span) -> None:
        bindings = self.state.indices.bindings
        bindings[self.columns.axis] = columns.first
        if self.rows is not None:
            bindings[self.rows.axis] = rows.first

    def _add_up_rows(
        self,
        sum: TileSum,
        rows: _Span,
        columns: _Span,
        block: tuple[IndexExpr, Extent | SSAValue] | None = None,
        whole: tuple[_Span, _Span] | None = None,
    ) -> None:
        """
        As `_add_up`, of as many rows as there are: of a number that varies in tiles that some rows of lack.
        Where rows are vectors, each of them is one, and of the columns some are added up at once, then each.
        """

        def add_up(some_rows: _Span, some_columns: _Span) -> None:
            self._bind(some_rows, some_columns)
            self._add_up(sum, some_rows, some_columns, block, whole or (rows, columns))

        def each_column(some_rows: _Span) -> None:
            if self.is_transposed:
                self._in_known_spans(
                    self.columns, columns, lambda some: add_up(some_rows, some), LEFT_COLUMNS
                )
            else:
                add_up(some_rows, columns)

        if self.rows is None or rows.live is None:
            each_column(rows)
        elif self.is_transposed:
            self._in_known_spans(self.rows, rows, each_column, 1)
        elif rows.is_tile:
            each_column(rows)
        else:
            self._in_one_tile(rows, each_column)

    def _in_known_spans(
        self, axis: AxisLowering, span: _Span, body: Callable[[_Span], None], at_once: int
    ) -> None:
        """Runs `body` for a span; of a size that varies, for so many iterations at once, then for each."""
        if span.live is None:
            body(span)
            return
        first, left, most = span.first, span.live, span.size
        if most > at_once > 1:
            indices, location = self.state.indices, axis.op.location
            by, most_times = self.state.writer.constants.get(at_once, INDEX), -(-most // at_once)
            times = indices.op(arith.DivUIOp, left, by, location)
            left, most = indices.op(arith.RemUIOp, left, by, location), at_once
            self._repeat(axis, first, times, most_times, body, step=at_once)
            first = first + indices.bind(times, most_times, axis.axis.hint) * at_once
        self._repeat(axis, first, left, most, body, step=1)

    def _in_one_tile(self, span: _Span, body: Callable[[_Span], None]) -> None:
        """Runs `body` for rows that are left over, in the smallest tile that has room for all of them."""
        assert self.rows is not None and span.live is not None, "rows of a number that varies"
        size, *others = sizes_of_rows(span.size)
        in_this = partial(body, replace(span, size=size))
        if not others:
            in_this()
            return
        get, op = self.state.writer.constants.get, self.rows.op
        is_needed = compare(self.state, "sgt", span.live, get(others[0], INDEX), op, "is_needed")
        in_smaller = partial(self._in_one_tile, replace(span, size=others[0]), body)
        branch(self.state, is_needed, op, in_this, in_smaller)

    def _add_up(
        self,
        sum: TileSum,
        rows: _Span,
        columns: _Span,
        block: tuple[IndexExpr, Extent | SSAValue] | None,
        whole: tuple[_Span, _Span],
    ) -> None:
        """
        Inserts the op that adds up one sum of a tile: all of it, or a `block` of the outermost depth, which
        goes on. `whole` is where the rows and columns begin for which the private buffer is.
        """
        state, location = self.state, sum.op.location
        get, write = state.writer.constants.get, state.indices.write_for
        for dim in sum.dims:
            state.indices.bindings[state.analysis.axis(dim)] = constant(0)
        if block is not None:
            state.indices.bindings[state.analysis.axis(sum.dims[0])] = block[0]
        if sum.store is None:
            acc, acc_at = self.private[sum.op], self._place_in_private(sum.op, *whole)
            acc_row = get(self._private_row(sum.op), INDEX)
        else:
            store = sum.store
            assert store is not None, f"{sum.op.name}: sums of no buffer"
            address = state.analysis.address(store)
            acc, acc_at = state.buffers[store.memref], write(store, address)
            acc_row = get(self.strides(store, address)[0], INDEX)
        steps = zip(sum.dims, sum.lhs.depths, sum.rhs.depths, strict=True)
        depths = [Depth(self._extent(dim), lhs, rhs) for dim, lhs, rhs in steps]
        if block is not None:
            depths[0] = Depth(block[1], depths[0].lhs, depths[0].rhs)
        nibbles = sum.rhs.is_of_nibbles
        whole_depths = [*merged(depths[:-1]), depths[-1]] if nibbles else merged(depths)
        nexts = (
            self._next(sum, rows, columns, *whole_depths)
            if len(whole_depths) == 1
            else (None, self._next_panel(sum, rows, columns, whole_depths))
        )
        pixels = columns if self.is_transposed else rows
        left = self._left_out(sum, depths, pixels)
        ranges: RowRanges | None = None
        cut: list[SSAValue] = []
        if left is not None:
            left.begin()
            whole_depths, ranges = left.taken_depths()
            cut = self._are_cut(left, pixels)
        ahead = self._ahead(sum, rows) or None
        new = low.TileFmaOp(
            (columns.size, rows.size) if self.is_transposed else (rows.size, columns.size),
            (acc, acc_at, acc_row),
            [
                state.buffers[sum.lhs.load.memref],
                write(sum.lhs.load, sum.lhs.address),
                get(sum.lhs.column if self.is_transposed else sum.lhs.row, INDEX),
                *(get(depth.lhs, INDEX) for depth in whole_depths),
            ],
            [
                state.buffers[sum.rhs.load.memref],
                write(sum.rhs.load, sum.rhs.address),
                *(get(depth.rhs, INDEX) for depth in whole_depths),
            ],
            [self._written(depth.extent) for depth in whole_depths],
            columns.live,
            sum.accumulates or block is not None,
            self.is_transposed,
            ahead,
            *nexts,
            unsigned=(sum.lhs.is_unsigned, sum.rhs.is_unsigned),
            nibbles=nibbles,
            live_rows=None if self.is_transposed or rows.size == 1 else rows.live,
            ranges=ranges,
            cut=cut,
            ahead_level=LEVELS[0] if ahead is None else prefetch_level(sum.rhs.load),
        )
        state.writer.insert(new, location)
        if left is not None:
            n_rows, n_columns = new.live_rows or get(new.rows.value.data, INDEX), new.columns.value.data
            left.add(SumPlace(acc, acc_at, acc_row, self.is_transposed, n_rows, n_columns, columns.live))

    def _left_out(self, sum: TileSum, depths: Sequence[Depth], pixels: _Span) -> LeftOutProducts | None:
        """Returns what writes the products that a sum leaves out, None where it takes all."""
        what, axis = sum.left_out, self.column_axis if self.is_transposed else self.row_axis
        if what is None:
            return None
        axes = [self.state.analysis.axis(dim) for dim in sum.dims]
        windows = None
        if what.tiles:
            assert axis is not None, "a window moves with the rows"
            windows = what.tiles[0 if pixels.size == axis.tile else -1]
        rhs = sum.rhs
        weights = Weights(rhs.load, rhs.address, depths, axes, None if axis is None else axis.axis, windows)
        return LeftOutProducts(self.state, sum.op, what, weights)

    def _are_cut(self, left: LeftOutProducts, pixels: _Span) -> list[SSAValue]:
        """Returns whether a tile is the one that leaves out rows of each step; nothing where all do."""
        tiles, op = () if left.weights.windows is None else left.weights.windows.tiles, left.op
        if all(number is None for number in tiles):
            return []
        get, at = self.state.writer.constants.get, self.state.indices.write(pixels.number, op.location)
        return [
            get(1, i1) if number is None else compare(self.state, "eq", at, get(number, INDEX), op, "is_cut")
            for number in tiles
        ]

    def _next(
        self, sum: TileSum, rows: _Span, columns: _Span, depth: Depth
    ) -> list[tuple[SSAValue, int, int] | None]:
        """
        Returns what is prefetched of `lhs` and of `rhs`: what the next tile reads along an axis that says so,
        if it lies together. The tiles of one axis run first: for all of them the next one of the other axis
        is the same, and each fetches its share of that. A tile of what is left over, in a number that varies,
        fetches all of it: it may be the only one.
        """
        found: list[tuple[SSAValue, int, int] | None] = [None, None]
        if self._ahead(sum, rows) is not None:
            return found
        block = sum.dims[0].mapping.tile.data
        outer = self.columns if block or self._tiles(self.columns) == 1 else self.rows
        steps = depth.extent if isinstance(depth.extent, int) else block
        for axis, span, inner, others in (
            (self.rows, rows, self.columns, columns),
            (self.columns, columns, self.rows, rows),
        ):
            if axis is None or not axis.op.mapping.prefetch.data or span.size != axis.op.mapping.tile.data:
                continue
            side = int((axis is self.rows) == self.is_transposed)
            operand = (sum.lhs, sum.rhs)[side]
            stride = operand.row if axis is self.rows else operand.column
            step = (depth.lhs, depth.rhs)[side]
            shares, number = 1, constant(0)
            if axis is outer and inner is not None and (others.live is None or others.is_tile):
                shares, number = self._tiles(inner), others.number
            if not steps or not isinstance(stride, int) or not isinstance(step, int):
                continue
            how = prefetched(steps, step, span.size, stride, shares)
            if how is not None:
                found[side] = self._prefetch(operand, axis, span, number * how.share, how)
        return found

    def _ahead(self, sum: TileSum, rows: _Span) -> int | None:
        """
        Returns how far ahead a tile fetches what it reads of columns, 0 for not at all: one that others of
        the same columns came before does not, but where so few rows are left that there may be no others.
        None where it may fetch what the next tile reads.
        """
        distance = prefetch_distance(sum.rhs.load)
        if rows.is_next or distance is None:
            return None
        if self.rows is None or rows.live is None:
            return distance
        if rows.size < prefetch_rows(sum.rhs.load):
            return 0
        # Fewer rows take each step sooner, and the memory no less long.
        return distance * min(-(-self.rows.op.mapping.tile.data // rows.size), MOST_TIMES_AHEAD)

    def _next_panel(
        self, sum: TileSum, rows: _Span, columns: _Span, depths: Sequence[Depth]
    ) -> tuple[SSAValue, int, int] | None:
        """
        Returns what is prefetched of `rhs`, which has a panel for an axis outside of the tiles, if the axis
        that is contiguous in it says so and is one tile.
        """
        along, other = (self.rows, self.columns) if self.is_transposed else (self.columns, self.rows)
        if along is None or other is None or not along.op.mapping.prefetch.data or self._tiles(along) != 1:
            return None
        outermost = (self.columns if self.rows is None else self.rows).op
        span = columns if self.is_transposed else rows
        share = (self._tiles(other), span.number) if span.live is None else (1, constant(0))
        steps = [(depth.extent, depth.rhs) for depth in depths]
        return next_panel(self.state, sum.rhs, outermost, share, steps)

    def _prefetch(
        self, operand: TileOperand, axis: AxisLowering, span: _Span, share: IndexExpr, how: Prefetched
    ) -> tuple[SSAValue, int, int]:
        """Returns where a share of what the next tile reads begins, and the step and the count of it."""
        indices, location = self.state.indices, axis.op.location
        indices.bindings[axis.axis] = span.first + span.size
        place = indices.write_for(operand.load, operand.address)
        indices.bindings[axis.axis] = span.first
        if share != constant(0):
            place = indices.op(arith.AddiOp, place, indices.write(share, location), location)
        return place, how.step, how.count

    def _tiles(self, axis: AxisLowering) -> int:
        """Returns how many tiles, at most, a work-item takes along an axis."""
        most = upper_bound(axis.axis.extent)
        most = min(axis.op.mapping.chunk.data, most) if axis.op in self.state.ids else most
        return -(-most // axis.op.mapping.tile.data)

    def _extent(self, dim: sched.ReduceOp) -> Extent | SSAValue:
        return self.state.analysis.extent(dim) if dim.count is None else count_of(self.state, dim)

    def _written(self, extent: Extent | SSAValue) -> SSAValue:
        return extent if isinstance(extent, SSAValue) else self.state.writer.constants.get(extent, INDEX)

    def _follow_rows(self, rows: _Span) -> None:
        """Lowers what follows the sums, row by row."""
        if self.rows is None:
            self.state.overrides[self.columns.op]()
            return
        axis, indices = self.rows, self.state.indices

        def row(first: IndexExpr) -> None:
            indices.bindings[axis.axis] = first
            self.state.lower_block(axis.op.body.block)

        if rows.size == 1:
            row(rows.first)
            return

        def one(index: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            row(rows.first + indices.bind(index, rows.size, axis.axis.hint))
            return []

        get = self.state.writer.constants.get
        bounds = get(0, INDEX), rows.live or get(rows.size, INDEX), get(1, INDEX)
        self.state.writer.loop(bounds, (), one, axis.op.location, axis.axis.hint)

    def _follow_columns(self, columns: _Span) -> None:
        if columns.live is None:
            self.columns.lower_known(columns.first, columns.size)
        else:
            self.columns.lower_guarded(columns.first, columns.live)

    def _load_sum(self, sum: TileSum, rows: _Span, columns: _Span) -> None:
        """Loads a sum from the private buffer, for the rows and columns that the axes are bound to."""
        state, op = self.state, sum.op
        lanes = state.lanes
        active, vector_axis = tuple(lanes.axes), lanes.vector_axis
        op_type, type = memref.LoadOp, op.result.type
        if vector_axis is not None:
            op_type, type = vector.LoadOp, vector_type(op.result.type, vector_axis.vector)
        place = self._place_in_private(op, rows, columns)
        value = state.writer.emit(op_type, (self.private[op], place), type, op.location, op.result.name_hint)
        sets = {(0,) * len(active): value}
        state.scalars[op.result] = LanedValue.of(active, sets, vector_axis is not None)

    def _private(self, op: sched.ReduceOp) -> SSAValue:
        rows = 1 if self.rows is None else self._most_at_once(op, self.rows)
        type = MemRefType(op.result.type, [rows * self._private_row(op)])
        new = low.AllocaOp(type)
        return self.state.writer.insert_at_front(new, op.location, op.result.name_hint)

    def _private_row(self, op: sched.ReduceOp) -> int:
        return self._most_at_once(op, self.columns)

    def _most_at_once(self, op: sched.ReduceOp, axis: AxisLowering) -> int:
        """Returns for how many iterations of an axis there are sums at once: a tile's, or all."""
        if op.mapping.tile.data == 0:
            return axis.op.mapping.tile.data
        most = upper_bound(axis.axis.extent)
        return min(axis.op.mapping.chunk.data, most) if axis.op in self.state.ids else most

    def _spans(self, axis: AxisLowering, body: Callable[[_Span], None]) -> None:
        """Runs `body` for the tiles that a work-item takes of an axis, and for what fills none."""
        first, count = axis.share()
        tile, op, state = axis.op.mapping.tile.data, axis.op, self.state
        if isinstance(count, int):
            whole = count // tile
            if whole == 1:
                body(_Span(first, tile))
            elif whole:
                self._repeat(axis, first, state.writer.constants.get(whole, INDEX), whole, body)
            if count % tile:
                body(_Span(first + whole * tile, count % tile, number=constant(whole)))
            return
        constants, indices = state.writer.constants, state.indices
        extent = axis.axis.extent
        known = extent % tile if isinstance(extent, int) and op.count is None else None
        if known is None and axis is self.rows and tile > 1 and not self.is_transposed:
            self._row_spans(axis, first, count, body)
            return
        by = constants.get(tile, INDEX)
        whole = indices.op(arith.DivUIOp, count, by, op.location)
        left = indices.op(arith.RemUIOp, count, by, op.location)
        most = (extent + (tile - 1)) // tile
        self._repeat(axis, first, whole, most, body)
        # Tiles of one leave nothing over, however many there are.
        if known == 0 or tile == 1:
            return
        number = indices.bind(whole, most + 1, axis.axis.hint)
        rest = first + number * tile
        size, live = (tile, left) if known is None else (known, None)
        self._if_any(left, op, lambda: body(_Span(rest, size, live, number)))

    def _row_spans(
        self, axis: AxisLowering, first: IndexExpr, count: SSAValue, body: Callable[[_Span], None]
    ) -> None:
        """
        Runs `body` for so many rows, a number that varies: for tiles, of which the last may lack some, and
        once for as few as a smaller tile has room for.
        """
        size, smaller, *_ = sizes_of_rows(axis.op.mapping.tile.data)
        indices, op, get = self.state.indices, axis.op, self.state.writer.constants.get
        by = get(size, INDEX)
        most = (axis.axis.extent + (size - smaller - 1)) // size
        more = indices.op(arith.AddiOp, count, get(size - smaller - 1, INDEX), op.location)
        times = indices.op(arith.DivUIOp, more, by, op.location)

        def left_after(number: IndexExpr) -> SSAValue:
            done = indices.write(number * size, op.location)
            return indices.op(arith.SubiOp, count, done, op.location)

        def tile(span: _Span) -> None:
            live = indices.op(arith.MinSIOp, left_after(span.number), by, op.location)
            body(replace(span, live=live, is_tile=True, is_next=begin > 0))

        begin = 0
        if any(prefetch_distance(sum.rhs.load) is not None for sum in self.sums):
            there = compare(self.state, "sgt", times, get(0, INDEX), op, "there")
            branch(self.state, there, op, lambda: tile(_Span(first, size)))
            begin = 1
        self._repeat(axis, first, times, most, tile, begin=begin)
        number = indices.bind(times, most + 1, axis.axis.hint)
        left = left_after(number)
        has_any = compare(self.state, "sgt", left, get(0, INDEX), op, "has_any")
        branch(self.state, has_any, op, lambda: body(_Span(first + number * size, smaller, left, number)))

    def _repeat(
        self,
        axis: AxisLowering,
        first: IndexExpr,
        times: SSAValue,
        most: Extent,
        body: Callable[[_Span], None],
        step: int | None = None,
        begin: int = 0,
    ) -> None:
        """
        Runs `body` for that many tiles after `first`, or for so many spans of `step` iterations, from number
        `begin` on.
        """
        state, size = self.state, step or axis.op.mapping.tile.data

        def one(index: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            number = state.indices.bind(index, most, axis.axis.hint)
            body(_Span(first + number * size, size, number=number))
            return []

        get = state.writer.constants.get
        bounds = get(begin, INDEX), times, get(1, INDEX)
        state.writer.loop(bounds, (), one, axis.op.location, axis.axis.hint)

    def _if_any(self, count: SSAValue, op: Loop, body: Callable[[], None]) -> None:
        zero = self.state.writer.constants.get(0, INDEX)
        branch(self.state, compare(self.state, "ne", count, zero, op, "has_any"), op, body)


def sizes_of_rows(most: int) -> list[int]:
    """
    Returns how many rows tiles have that are made for up to `most`: this many, and fewer. Of each at least
    half are there where the next smaller one has no room for them.
    """
    sizes = [most]
    while sizes[-1] > 1:
        least = (sizes[-1] + 1) // 2 - 1
        sizes.append(max((size for size in LEFT_ROWS if least <= size < sizes[-1]), default=least))
    return sizes


def _nothing() -> None:
    """What is left of an op that is lowered already."""


def _lower_elements(axis: AxisLowering) -> None:
    """Lowers the share that a work-item takes of an axis, element by element or in its lanes."""
    first, count = axis.share()
    if isinstance(count, int):
        axis.lower_known(first, count)
    else:
        axis.lower_guarded(first, count)
