"""
Gives contractions of floats their default schedule: register tiles, in chunks that the caches hold.

    sched.axis %i = 1024 {
      sched.axis %j = 1024 {
        %s = sched.reduce fma %k = 1024 : f32 { ... }
        ...
      }
    }

-->

    sched.axis %i = 1024 block(192) tile(8) {
      sched.axis %j = 1024 block(192) tile(48) vector(16) {
        %s = sched.reduce fma %k = 1024 : f32 { ... }
        ...
      }
    }

The columns of the tile are an axis along which one side of every product is contiguous and the other stays;
the rows one along which that stays and the other steps. They become the innermost two axes: parallel axes
may change places where what stands between them only computes and loads. The tile takes the least time for
the extents that there are (`passes/machine/tile_shape.py`). A chunk of rows and a chunk of columns, with the
whole depth, take a part of the second cache each. Of panels that it does not hold, a chunk is one, and tiles
`prefetch`: the next panel while the tiles of this one are computed, and the next rows while one is.

Where rows are few, each element of the other side is used a few times only, and reading it takes the time.
Some steps of the depth are taken for all tiles then before the next ones (`tile(16)` of the sum), so that it
is read in the order of memory, and one row of tiles fetches what it needs some steps later.

In a kernel of several stages each stage that is such a nest gets its tiles, and no chunks: `map-axes` maps
what is around it, and the other stages.

Requires: `sched` kernels; those that are mapped already, and those that are no such nest, are left alone.
Ensures: what a kernel computes is unchanged, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isqrt, prod

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp, StringAttr
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import extents_of
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.low.prefetch import set_prefetch_distance
from ....dialects.sched import CombineKind, Level, MappingAttr
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.expressions import Axis, IndexExpr, Leaf, Mod, opaque, variable
from ...indices.nests import interchange
from ...machine.partial_results import partial_results
from ...machine.target import (
    L1_NBYTES,
    L2_NBYTES,
    N_THREADS,
    VECTOR_NBYTES,
    check_positive,
    usual_registers,
)
from ...machine.tile_shape import MOST_ROWS, most_rows, most_vectors, tile_shape
from .kernel_stages import stages_of

LEAST_COLUMNS = 4
"""An axis with fewer iterations is the columns only where no other one can be."""

LEAST_DEPTH = 8
"""A sum with fewer iterations is no vector."""

WORK_OF_A_GROUP = 1 << 20
"""Products that a work-group should add at least, and groups of each thread, if there are as many."""
GROUPS_OF_A_THREAD = 8

MOST_NBYTES_OF_CHUNKS = 1 << 20
"""
How much of the second cache chunks are made for. With all of 2 MiB (Sapphire Rapids) a product of 2048 x 2048
takes 1.04 of the time: `python -m benchmarks.thresholds MOST_NBYTES_OF_CHUNKS`.
"""

LEAST_CHUNK = 128
"""Rows and columns of a chunk, at least, which decide how much of the depth the second cache holds."""

SKINNY_STEPS = 16
SKINNY_WORK = 1 << 23
SKINNY_GROUPS_OF_A_THREAD = 4
SKINNY_ROWS = 96
FAR = 1024
"""
What few rows read: steps of the depth at once of each row of tiles, products of a work-group, work-groups of
a thread, rows that are not few, bytes between steps.
"""

AHEAD = 1 << 12
"""How many bytes ahead what is read once is fetched."""

PRIVATE_SUMS = 96 * 96
PRIVATE_SUMS_OF_BLOCKS = 64 * 384
"""The most sums that a work-group keeps in private memory; the same where it takes blocks of panels."""

LEAST_BLOCKS = 3
"""A depth of fewer blocks is taken at once, with fewer rows."""

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class TileContractionsPass(ModulePass):
    """Maps contractions of floats to register tiles, in chunks that the caches hold."""

    name = "tile-contractions"
    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES
    n_threads: int = N_THREADS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l1_nbytes", "l2_nbytes", "n_threads")
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                _KernelTiler(kernel, self).tile()


@dataclass(frozen=True, slots=True)
class _Product:
    """What one sum multiplies: the loads of both sides and their addresses, and the dims of the sum."""

    loads: tuple[memref.LoadOp, memref.LoadOp]
    addresses: tuple[IndexExpr, IndexExpr]
    dims: tuple[sched.ReduceOp, ...]
    op: sched.ReduceOp


@dataclass(frozen=True, slots=True)
class _Choice:
    """The axes that are the rows and the columns of the tile, by their places in the nest, and its shape."""

    rows: int | None
    columns: int
    shape: tuple[int, int]
    is_one_row: bool


@dataclass(frozen=True, slots=True)
class _Streamed:
    """
    What is read along the columns: how many elements it is from one step of the depth to the next, how many
    bytes they have, whether all are more than the second cache holds, whether they lie in panels, and how
    many steps there are.
    """

    load: memref.LoadOp
    step: int
    nbytes: int
    is_large: bool
    in_panels: bool
    depth: int


class _KernelTiler:
    def __init__(self, kernel: sched.KernelOp, options: TileContractionsPass):
        self.kernel = kernel
        self.vector_nbytes = options.vector_nbytes
        self.registers = options.vector_registers or usual_registers(options.vector_nbytes)
        self.n_threads = options.n_threads
        self.l1_nbytes = options.l1_nbytes
        self.l2_nbytes = options.l2_nbytes
        self.chunk_nbytes = min(options.l2_nbytes, MOST_NBYTES_OF_CHUNKS)
        self.analysis = IndexAnalysis()

    def tile(self) -> None:
        if any(isinstance(op, Loop) and op.mapping != _SERIAL for op in self.kernel.walk()):
            return
        nest = _nest_of(self.kernel.body.block)
        if not nest:
            self._tile_stages()
            return
        products = self._products(nest[-1])
        if not products:
            return
        choice = self._choose(nest, products)
        if choice is not None:
            self._map(nest, products, choice)
        elif len(products) == 1:
            self._map_dots(nest, products[0])

    def _tile_stages(self) -> None:
        """Maps sums of products that are stages of a kernel, and leaves what is around and beside them."""
        reasons: list[str] = []
        for axis in stages_of(self.kernel):
            nest = _nest_from(axis)
            products = self._products(nest[-1]) if nest else []
            choice = self._choose(nest, products) if products else None
            if choice is not None and choice.rows is not None:
                self._map_stage(nest, products, choice)
                assert self.kernel.schedule is not None, "a tile without a reason"
                reasons.append(self.kernel.schedule.data)
        if reasons:
            self.kernel.schedule = StringAttr("; ".join(reasons))

    def _map_stage(self, nest: list[sched.AxisOp], products: Sequence[_Product], choice: _Choice) -> None:
        """Puts the rows and the columns of a stage innermost, and maps them to tiles."""
        assert choice.rows is not None, "a stage without rows"
        tiled = [nest[choice.rows], nest[choice.columns]]
        lanes = self._lanes(nest, tiled[-1])
        interchange(nest, [*(axis for axis in nest if axis not in tiled), *tiled])
        for axis, tile in zip(tiled, choice.shape, strict=True):
            axis.mapping = MappingAttr.get(vector=lanes if axis is tiled[-1] else 1, tile=tile)
        self._explain(tiled, choice.shape, products[0].dims[0])

    def _most(self, loop: Loop) -> int:
        """Returns how many iterations a loop runs, the most where that varies."""
        return self.analysis.most(loop)

    def _products(self, inner: sched.AxisOp) -> list[_Product]:
        """Returns what the sums of the innermost axis multiply; nothing where something else is in it."""
        found: list[_Product] = []
        for op in inner.body.block.ops:
            if isinstance(op, sched.ReduceOp):
                product = self._product(op)
                if product is None:
                    return []
                found.append(product)
            elif op.regions or isinstance(op, sched.AllocOp):
                return []
        return found

    def _product(self, op: sched.ReduceOp) -> _Product | None:
        dims = [op]
        while (inner := dims[-1].continued) is not None:
            dims.append(inner)
        if op.kind.data is not CombineKind.FMA or op.init is not None:
            return None
        loads: list[memref.LoadOp] = []
        for value in dims[-1].yielded:
            owner = value.owner
            if isinstance(owner, arith.ExtFOp):
                owner = owner.input.owner
            if not isinstance(owner, memref.LoadOp):
                return None
            loads.append(owner)
        for number, dim in enumerate(dims):
            rest = [each for each in dim.body.block.ops if each is not dims[min(number + 1, len(dims) - 1)]]
            if any(each.regions or isinstance(each, memref.StoreOp) for each in rest):
                return None
        lhs, rhs = loads
        addresses = self.analysis.address(lhs), self.analysis.address(rhs)
        axes = [self.analysis.axis(dim) for dim in dims]
        if any(address.stride(axis) is None for address in addresses for axis in axes):
            return None
        # A tile takes as many steps of a dim at each step of the other dims.
        if self._counting_axes(dims).intersection(axes):
            return None
        return _Product((lhs, rhs), addresses, tuple(dims), op)

    def _counting_axes(self, dims: Sequence[sched.ReduceOp]) -> frozenset[Axis]:
        """Returns the axes that the counts of dims depend on."""
        counts = [dim.count for dim in dims if dim.count is not None]
        return frozenset[Axis]().union(*(self.analysis.expr(count).axes() for count in counts))

    def _choose(self, nest: Sequence[sched.AxisOp], products: Sequence[_Product]) -> _Choice | None:
        """Returns the best rows and columns, if there are any."""
        best: tuple[tuple[float, ...], _Choice] | None = None
        widest = max(NBYTES[product.op.result.type] for product in products)
        lanes = max(1, self.vector_nbytes // widest)
        for columns, axis in enumerate(nest):
            if self._most(axis) < 2 or self._is_counting(axis, products):
                continue
            width = self._panel_width(self.analysis.axis(axis), products)
            if not all(self._column_side(product, axis, width) is not None for product in products):
                continue
            stores_apart = not self._stores_are_contiguous(nest[-1], axis)
            for rows in self._rows(nest, products, axis):
                height = 1 if rows is None else self._most(nest[rows])
                most = MOST_ROWS if rows is None else self._most_rows(nest[rows], products, axis, width)
                tall, wide = tile_shape(height, self._most(axis), lanes, self.registers, most)
                if width is not None and width != wide:
                    wide = width
                    while tall > 1 and most_vectors(tall, self.registers) * lanes < wide:
                        tall -= 1
                if rows is not None:
                    tall = self._panel_width(self.analysis.axis(nest[rows]), products) or tall
                # More products for each element that is loaded; then the innermost axes.
                reuse = tall * wide / (tall + wide)
                rank = (self._most(axis) < LEAST_COLUMNS, stores_apart, -reuse, -columns, -(rows or -1))
                if best is None or rank < best[0]:
                    best = rank, _Choice(rows, columns, (tall, wide), tall >= height)
        return None if best is None else best[1]

    def _map_dots(self, nest: list[sched.AxisOp], product: _Product) -> None:
        """
        Maps sums whose both sides are contiguous along the depth: vectors of partial results, as many as
        map-axes has, for some rows and columns at once, so that what is loaded is used more often.
        """
        dim = product.dims[0]
        depth, axis = self._most(dim), self.analysis.axis(dim)
        if len(product.dims) > 1 or any(address.stride(axis) != 1 for address in product.addresses):
            return
        sides: tuple[list[sched.AxisOp], list[sched.AxisOp]] = [], []
        for each in nest:
            strides = [address.stride(self.analysis.axis(each)) for address in product.addresses]
            if None in strides:
                return
            if strides.count(0) == 1:
                sides[strides.index(0)].append(each)
        nbytes = max(NBYTES[product.op.result.type], self._nbytes([product]))
        partials = partial_results(depth)
        lanes = min(self.vector_nbytes // nbytes, 16, partials)
        if depth < LEAST_DEPTH or lanes < 2 or not all(sides):
            return
        first, second = sorted((side[-1] for side in sides), key=self._most)
        across, down = (4, 2) if self.registers >= 32 else (2, 1)
        if self._most(first) < 2 or self._most(second) < across:
            return
        if self._is_counting(first, [product]) or self._is_counting(second, [product]):
            return
        outer = [each for each in nest if each is not first and each is not second]
        interchange(nest, [*outer, second, first])
        dim.mapping = MappingAttr.get(vector=lanes, unroll=partials // lanes)
        first.mapping = MappingAttr.get(unroll=down)
        work = depth * self._most(first)
        chunk = max(WORK_OF_A_GROUP // 8 // work // across * across, across)
        chunk = min(chunk, -(-self._most(second) // across) * across)
        for each in outer[:2]:
            each.mapping = MappingAttr.get(Level.BLOCK)
        level = Level.BLOCK if len(outer) <= 2 else Level.SERIAL
        chunk = chunk if level is Level.BLOCK else 1
        second.mapping = MappingAttr.get(level, chunk, unroll=across)
        names = [each.index.name_hint or "axis" for each in (second, first, dim)]
        self.kernel.schedule = StringAttr(
            f"{names[0]}: {across} at once, and {down} of {names[1]}, share what is loaded; "
            f"{names[2]}: {partials} partial results for {depth} elements"
        )

    def _is_counting(self, axis: sched.AxisOp, products: Sequence[_Product]) -> bool:
        """Returns whether the count of a dim depends on an axis, so that sums along it differ in length."""
        own = self.analysis.axis(axis)
        return any(own in self._counting_axes(product.dims) for product in products)

    def _panel_width(self, axis: Axis, products: Sequence[_Product]) -> int | None:
        """Returns the width of the panels that one side lies in along an axis, if it lies in some."""
        own = variable(axis)
        for product in products:
            for address in product.addresses:
                for atom in address.terms:
                    if isinstance(atom, Mod) and atom.operand == own and isinstance(atom.divisor, int):
                        return atom.divisor
        return None

    def _column_side(self, product: _Product, axis: sched.AxisOp, width: int | None) -> int | None:
        """Returns which side of a product is contiguous along an axis, where the other one stays."""
        own = self.analysis.axis(axis)
        strides = [_stride_in_tiles(address, own, width) for address in product.addresses]
        return strides.index(1) if sorted(map(str, strides)) == ["0", "1"] else None

    def _rows(
        self, nest: Sequence[sched.AxisOp], products: Sequence[_Product], columns: sched.AxisOp
    ) -> list[int | None]:
        """Returns the axes that may be rows: the contiguous side stays along them, the other is linear."""
        width = self._panel_width(self.analysis.axis(columns), products)
        found: list[int | None] = []
        for number, axis in enumerate(nest):
            own = self.analysis.axis(axis)
            if axis is columns or axis.extent == 1 or self._is_counting(axis, products):
                continue
            for product in products:
                side = self._column_side(product, columns, width)
                assert side is not None, f"{columns.name}: no columns"
                other = _stride_in_tiles(product.addresses[1 - side], own, self._panel_width(own, products))
                if product.addresses[side].stride(own) != 0 or other is None:
                    break
            else:
                found.append(number)
        return found or [None]

    def _most_rows(
        self,
        rows: sched.AxisOp,
        products: Sequence[_Product],
        columns: sched.AxisOp,
        width: int | None,
    ) -> int:
        """Returns how many rows a tile may have for what the products read of them."""
        own, most = self.analysis.axis(rows), MOST_ROWS
        for product in products:
            side = self._column_side(product, columns, width)
            assert side is not None, f"{columns.name}: no columns"
            stride = product.addresses[1 - side].stride(own)
            if isinstance(stride, int) and stride > 1:
                each = NBYTES[element_type_of(product.loads[1 - side].memref.type)]
                most = min(most, most_rows(stride * each, self.l1_nbytes))
        return most

    def _stores_are_contiguous(self, inner: sched.AxisOp, axis: sched.AxisOp) -> bool:
        own = self.analysis.axis(axis)
        stores = [op for op in inner.body.block.ops if isinstance(op, memref.StoreOp)]
        return all(self.analysis.address(store).stride(own) == 1 for store in stores)

    def _map(self, nest: list[sched.AxisOp], products: Sequence[_Product], choice: _Choice) -> None:
        """Puts the rows and the columns innermost, and maps all axes."""
        outer = [nest[number] for number in range(len(nest)) if number not in (choice.rows, choice.columns)]
        tiled = [nest[choice.columns]] if choice.rows is None else [nest[choice.rows], nest[choice.columns]]
        tiles = choice.shape[-len(tiled) :]
        lanes = self._lanes(nest, tiled[-1])
        extents = [self._most(axis) for axis in tiled]
        depth = max(prod(self._most(dim) for dim in product.dims) for product in products)
        outer_extents = [self._most(axis) for axis in outer]
        streamed = self._streamed(products, tiled[-1])
        block = self._skinny_steps(streamed, choice, prod(extents[:-1]), extents[-1])
        prefetches = False
        if block is not None:
            chunks = self._skinny_chunks(products, extents, tiles, depth, prod(outer_extents))
        else:
            block = self._depth_block(products, choice, extents, depth)
            chunks = self._chunks(products, block or depth, extents, tiles, block is not None)
            prefetches = self._prefetches(products, choice, tiled, depth)
            if prefetches:
                chunks = self._chunks_of_panels(products, chunks, tiles, block is not None)
            groups = GROUPS_OF_A_THREAD * self.n_threads
            chunks = _smaller_chunks(chunks, extents, tiles, depth, prod(outer_extents), groups)
        if block is not None:
            dim = products[0].dims[0]
            dim.mapping = MappingAttr.get(tile=max(1, block * self._most(dim) // depth))
        interchange(nest, [*outer, *tiled])
        for number, axis in enumerate(outer[:3]):
            work = depth * prod(extents) * prod(outer_extents[number + 1 :])
            chunk = min(max(1, WORK_OF_A_GROUP // 8 // max(work, 1)), outer_extents[number])
            axis.mapping = MappingAttr.get(Level.BLOCK, chunk)
        left = 3 - len(outer)
        for number, (axis, chunk, tile) in enumerate(zip(tiled, chunks, tiles, strict=True)):
            vector = lanes if axis is tiled[-1] else 1
            is_cut = any(c < e for c, e in zip(chunks[number:], extents[number:], strict=True))
            level = Level.BLOCK if is_cut and left > 0 else Level.SERIAL
            left -= level is Level.BLOCK
            chunk = chunk if level is Level.BLOCK else 1
            axis.mapping = MappingAttr.get(level, chunk, vector, tile=tile, prefetch=prefetches)
        ahead = self._fetch_ahead(streamed, choice, block)
        self._explain(tiled, tiles, products[0].dims[0], ahead)

    def _explain(
        self, tiled: Sequence[sched.AxisOp], tiles: Sequence[int], dim: sched.ReduceOp, ahead: int = 0
    ) -> None:
        names = [axis.index.name_hint or "axis" for axis in tiled]
        reasons = [f"{names[-1]}: the columns of a tile of {' x '.join(map(str, tiles))} sums in registers"]
        if len(names) > 1:
            reasons.insert(0, f"{names[0]}: the rows of that tile")
        if tiled[-1].mapping.prefetch.data:
            reasons.append("what the next tiles read is fetched while one is computed")
        if dim.mapping.tile.data:
            what = (
                f"{dim.mapping.tile.data} steps for all tiles before the next, what they read stays in cache"
            )
            reasons.append(f"{dim.index.name_hint or 'axis'}: {what}")
        if ahead:
            reasons.append(f"{dim.index.name_hint or 'axis'}: fetches what is needed {ahead} steps later")
        self.kernel.schedule = StringAttr("; ".join(reasons))

    def _streamed(self, products: Sequence[_Product], columns: sched.AxisOp) -> _Streamed | None:
        """Returns what is contiguous along the columns of the only sum, over one dim that steps evenly."""
        if len(products) > 1 or len(products[0].dims) > 1:
            return None
        (product,) = products
        width = self._panel_width(self.analysis.axis(columns), products)
        side = self._column_side(product, columns, width)
        assert side is not None, f"{columns.name}: no columns"
        step = product.addresses[side].stride(self.analysis.axis(product.dims[0]))
        if not isinstance(step, int) or step < 1:
            return None
        type = product.loads[side].memref.type
        extents = [upper_bound(extent) for extent in extents_of(type)]
        each = NBYTES[element_type_of(type)]
        is_large = DYNAMIC_INDEX in extents or prod(extents) * each > self.l2_nbytes
        depth = self._most(product.dims[0])
        return _Streamed(product.loads[side], step, each, is_large, width is not None, depth)

    def _skinny_steps(
        self, streamed: _Streamed | None, choice: _Choice, rows: int, columns: int
    ) -> int | None:
        """
        Returns how many steps of the depth all tiles take before the next ones, where rows are few and what
        is contiguous along the columns lies in whole rows of several tiles: these are read then, one by one.
        None where that is not so, and where the caches hold what lies close together.
        """
        tall, wide = choice.shape
        if streamed is None or streamed.in_panels or streamed.depth < 2 * SKINNY_STEPS:
            return None
        if choice.is_one_row:
            is_far = streamed.is_large or streamed.step * streamed.nbytes >= FAR
            return SKINNY_STEPS if is_far and columns > wide else None
        if rows >= SKINNY_ROWS or not streamed.is_large:
            return None
        return SKINNY_STEPS * min(-(-rows // tall), 4)

    def _fetch_ahead(self, streamed: _Streamed | None, choice: _Choice, block: int | None) -> int:
        """
        Has what is contiguous along the columns fetched some steps ahead, and returns how many: 0 where it is
        read more than once, or may be in the second cache.
        """
        if streamed is None or not streamed.is_large or not choice.is_one_row or choice.shape[0] == 1:
            return 0
        ahead = block or -(-AHEAD // (streamed.step * streamed.nbytes))
        set_prefetch_distance(streamed.load, ahead * streamed.step)
        return ahead

    def _skinny_chunks(
        self,
        products: Sequence[_Product],
        extents: Sequence[int],
        tiles: Sequence[int],
        depth: int,
        outer: int,
    ) -> list[int]:
        """Returns chunks of all rows, and of as many columns as keep some work-groups busy."""
        most = SKINNY_GROUPS_OF_A_THREAD * self.n_threads
        groups = min(most, outer * depth * prod(extents) // SKINNY_WORK) // outer
        wide = -(-extents[-1] // max(groups, 1))
        wide = min(wide, self.chunk_nbytes // 2 // (prod(extents[:-1]) * self._nbytes(products)))
        if self._follows(products):
            wide = min(wide, PRIVATE_SUMS // prod(extents[:-1]))
        chunk = max(wide // tiles[-1], 1) * tiles[-1] if wide < extents[-1] else wide
        return [*extents[:-1], -(-chunk // tiles[-1]) * tiles[-1]]

    def _follows(self, products: Sequence[_Product]) -> bool:
        """Returns whether more is done with the sums than to store them."""
        uses = [use.operation for product in products for use in product.op.result.uses]
        return not all(isinstance(use, memref.StoreOp) for use in uses)

    def _depth_block(
        self, products: Sequence[_Product], choice: _Choice, extents: Sequence[int], depth: int
    ) -> int | None:
        """Returns how many steps of the depth are taken at once, if not all of them."""
        tall, product = choice.shape[0], products[0]
        if len(products) > 1 or choice.rows is None or extents[0] < 4 * tall:
            return None
        steps = self.chunk_nbytes // (LEAST_CHUNK * 2 * self._nbytes(products))
        inner = depth // self._most(product.dims[0])
        steps = max(steps // inner, 1) * inner
        return steps if LEAST_BLOCKS * steps <= depth else None

    def _prefetches(
        self, products: Sequence[_Product], choice: _Choice, tiled: Sequence[sched.AxisOp], depth: int
    ) -> bool:
        """
        Returns whether tiles prefetch what the next ones read: where columns lie in panels, and all panels
        leave no room for anything else in the second cache.
        """
        width = self._panel_width(self.analysis.axis(tiled[-1]), products)
        nbytes = depth * self._most(tiled[-1]) * self._nbytes(products)
        return (
            len(products) == 1
            and choice.rows is not None
            and not choice.is_one_row
            and width is not None
            and nbytes > self.l2_nbytes // 2
        )

    def _chunks_of_panels(
        self, products: Sequence[_Product], chunks: Sequence[int], tiles: Sequence[int], in_blocks: bool
    ) -> list[int]:
        """
        Returns how many rows and columns a work-group takes of panels that are prefetched: one panel, with as
        many rows as the cache holds beside it; of blocks of the depth, columns for as many sums.
        """
        rows, columns = chunks[0], tiles[-1]
        if in_blocks:
            most = self.chunk_nbytes // 2 // self._nbytes(products)
            if self._follows(products):
                most = PRIVATE_SUMS_OF_BLOCKS
                rows = min(rows, max(LEAST_CHUNK // 2 // tiles[0], 1) * tiles[0])
            columns = max(most // rows // tiles[-1], 1) * tiles[-1]
        return [rows, columns]

    def _nbytes(self, products: Sequence[_Product]) -> int:
        """Returns the bytes of the widest element that is multiplied."""
        loads = [load for product in products for load in product.loads]
        return max(NBYTES[element_type_of(load.memref.type)] for load in loads)

    def _chunks(
        self,
        products: Sequence[_Product],
        steps: int,
        extents: Sequence[int],
        tiles: Sequence[int],
        in_blocks: bool,
    ) -> list[int]:
        """Returns how many rows and columns a work-group takes at most, of `steps` of the depth at once."""
        most = self.chunk_nbytes // 2 // (steps * self._nbytes(products))
        if in_blocks and self._follows(products):
            # All sums of a work-group are in its private memory then.
            most = min(most, isqrt(PRIVATE_SUMS))
        return [
            min(max(most // tile, 1) * tile, -(-extent // tile) * tile)
            for extent, tile in zip(extents, tiles, strict=True)
        ]

    def _lanes(self, nest: Sequence[sched.AxisOp], columns: sched.AxisOp) -> int:
        """
        Returns how many lanes what follows the sums runs in. What stands between the axes may come into the
        innermost one when they change places.
        """
        axis, widest = self.analysis.axis(columns), 1
        for op in (op for each in nest for op in each.body.block.ops):
            if isinstance(op, memref.LoadOp | memref.StoreOp):
                stride = self.analysis.address(op).stride(axis)
                if stride not in ((1,) if isinstance(op, memref.StoreOp) else (0, 1)):
                    return 1
            elif any(isinstance(value.type, IndexType) for value in op.operands) and not (
                op.results and isinstance(op.results[0].type, IndexType)
            ):
                strides = [
                    self.analysis.expr(value).stride(axis)
                    for value in op.operands
                    if isinstance(value.type, IndexType)
                ]
                if any(stride != 0 for stride in strides):
                    return 1
            for result in op.results:
                widest = max(widest, NBYTES.get(result.type, 1))
        return min(max(self.vector_nbytes // widest, 2), 16)


def _nest_of(block: Block) -> list[sched.AxisOp]:
    """
    Returns the axes of a block, each around nothing but the next one and what it computes and loads; none
    where there is more.
    """
    nest: list[sched.AxisOp] = []
    while True:
        axes = [op for op in block.ops if isinstance(op, sched.AxisOp)]
        if len(axes) != 1 or axes[0].count is not None:
            return nest if not axes else []
        if any(
            op is not axes[0] and (op.regions or isinstance(op, memref.StoreOp | sched.AllocOp))
            for op in block.ops
        ):
            return []
        nest.append(axes[0])
        block = axes[0].body.block


def _nest_from(axis: sched.AxisOp) -> list[sched.AxisOp]:
    """Returns an axis and those in it, as `_nest_of` does."""
    inner = _nest_of(axis.body.block)
    has_more = any(isinstance(op, sched.AxisOp) for op in axis.body.block.ops)
    return [axis, *inner] if axis.count is None and (inner or not has_more) else []


def _stride_in_tiles(address: IndexExpr, axis: Axis, width: int | None) -> object:
    """Returns by how much an address grows along an axis, inside of panels of `width` if it lies in some."""
    if width is None:
        return address.stride(axis)
    number, lane = Axis(1 << 31, axis.hint), Axis(width, axis.hint)

    def replacement(leaf: Leaf) -> IndexExpr:
        if leaf is axis:
            return variable(number) * width + variable(lane)
        return variable(leaf) if isinstance(leaf, Axis) else opaque(leaf.value, leaf.along)

    return address.substitute(replacement).stride(lane)


def _smaller_chunks(
    chunks: list[int], extents: Sequence[int], tiles: Sequence[int], depth: int, outer: int, groups: int
) -> list[int]:
    """Returns chunks that give so many work-groups, where there is work for them."""
    total = outer * depth * prod(extents)
    wanted = min(groups, total // WORK_OF_A_GROUP)
    while outer * prod(-(-extent // chunk) for extent, chunk in zip(extents, chunks, strict=True)) < wanted:
        ratios = [chunk // tile for chunk, tile in zip(chunks, tiles, strict=True)]
        number = max(range(len(ratios)), key=lambda each: (ratios[each], each))
        if ratios[number] == 1:
            break
        chunks[number] = -(-ratios[number] // 2) * tiles[number]
    return [_even(chunk, extent, tile) for chunk, extent, tile in zip(chunks, extents, tiles, strict=True)]


def _even(chunk: int, extent: int, tile: int) -> int:
    """Returns a chunk of whole tiles, about as large, of which the last is no much smaller one."""
    groups = -(-extent // chunk)
    return (extent + groups * tile - 1) // (groups * tile) * tile
