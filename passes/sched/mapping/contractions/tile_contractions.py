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
what is around it, and the other stages; also those without rows, unless their columns lie in panels.

Requires: `sched` kernels; those that are mapped already, and those that are no such nest, are left alone.
Ensures: what a kernel computes is unchanged, to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from .....dialects import sched
from .....dialects.buffer_size import known_nbytes
from .....dialects.graph.symmetric import SYMMETRIC
from .....dialects.sched import Level, MappingAttr
from ....indices.analysis import IndexAnalysis, Loop
from ....indices.lanes import lanes_for, runs_in_lanes
from ....indices.nests import nest_from, whole_nest
from ....indices.products import Product, products_in
from ....machine.target import (
    L1_NBYTES,
    L2_NBYTES,
    L3_NBYTES,
    N_THREADS,
    VECTOR_NBYTES,
    Target,
    check_positive,
)
from ...steps.primitives.reorder import reorder_nest
from ..kernel_stages import stages_of
from .chunks import WORK_OF_A_GROUP, chunks_of, depth_block, prefetches
from .contraction import Contraction, choose_tile
from .dots import choose_dots
from .few_rows import chunks_of_few, fetch_ahead, steps_at_once, streamed

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class TileContractionsPass(ModulePass):
    """Maps contractions of floats to register tiles, in chunks that the caches hold."""

    name = "tile-contractions"
    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES
    l3_nbytes: int = L3_NBYTES
    n_threads: int = N_THREADS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l1_nbytes", "l2_nbytes", "l3_nbytes", "n_threads")
        programs = [each for each in op.ops if isinstance(each, sched.ProgramOp)]
        nbytes, in_loops = sum(map(_nbytes_of, programs)), _launched_in_loops(programs)
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                between = 0 if kernel.sym_name.data in in_loops else nbytes
                _KernelTiler(kernel, Target.told(self), between).tile()


def _launched_in_loops(programs: Sequence[sched.ProgramOp]) -> set[str]:
    """Returns the kernels that a loop launches, or a branch: what they read may be what they read before."""
    return {
        op.kernel.root_reference.data
        for program in programs
        for op in program.walk()
        if isinstance(op, sched.LaunchOp) and op.parent_op() is not program
    }


def _nbytes_of(program: sched.ProgramOp) -> int:
    """Returns the bytes of all buffers of a program that have no named extents."""
    buffers: list[SSAValue] = list(program.body.block.args)
    buffers += [op.result for op in program.walk() if isinstance(op, sched.BufferOp | sched.ConstantOp)]
    return sum(known_nbytes(buffer.type) for buffer in buffers)


class _KernelTiler:
    def __init__(self, kernel: sched.KernelOp, target: Target, nbytes_between: int):
        """`nbytes_between` are touched from one time on that a launch reads its weights to the next."""
        self.kernel = kernel
        self.target = target
        self.nbytes_between = nbytes_between
        self.analysis = IndexAnalysis()

    def tile(self) -> None:
        if any(isinstance(op, Loop) and op.mapping != _SERIAL for op in self.kernel.walk()):
            return
        nest = whole_nest(self.kernel.body.block)
        if not nest:
            self._tile_stages()
            return
        products = self._products(nest)
        if not products:
            return
        contraction = choose_tile(nest, products, self.analysis, self.target)
        if contraction is not None:
            self._map(nest, contraction)
        elif len(products) == 1:
            self._map_dots(nest, products[0])

    def _products(self, nest: Sequence[sched.AxisOp]) -> list[Product]:
        """Returns the sums of products in a nest, none where a tile cannot add up one of them."""
        products = products_in(nest[-1], self.analysis) if nest else []
        return products if all(product.is_linear(self.analysis) for product in products) else []

    def _tile_stages(self) -> None:
        """Maps sums of products that are stages of a kernel, and leaves what is around and beside them."""
        reasons: list[str] = []
        for axis in stages_of(self.kernel):
            nest = nest_from(axis)
            products = self._products(nest)
            found = choose_tile(nest, products, self.analysis, self.target) if products else None
            # Columns alone are vectors that `map-axes` makes, but where they lie in panels.
            if found is not None and (found.tile.rows is not None or found.tile.panel is not None):
                lanes = self._lanes(found)
                reorder_nest(nest, [*found.outer, *found.tiled])
                for each, size in zip(found.tiled, found.sizes, strict=True):
                    vector = lanes if each is found.tile.columns else 1
                    each.mapping = MappingAttr.get(vector=vector, tile=size)
                reasons += _reasons(found)
        if reasons:
            self.kernel.schedule = StringAttr("; ".join(reasons))

    def _map(self, nest: list[sched.AxisOp], contraction: Contraction) -> None:
        """Puts the rows and the columns innermost, and maps all axes."""
        target, depth = self.target, contraction.depth
        lanes = self._lanes(contraction)
        stream = streamed(contraction, target, self.nbytes_between)
        # Few rows first: what they read is read once, so no chunk of it would stay in a cache.
        block, fetches = steps_at_once(contraction, stream), False
        if block is not None and stream is not None:
            chunks = chunks_of_few(contraction, stream, target)
        else:
            # What is left out of a symmetric result is half of the work: its tiles take the depth at once.
            is_symmetric = SYMMETRIC in contraction.products[0].op.attributes
            block = None if is_symmetric else depth_block(contraction, target)
            fetches = prefetches(contraction, target)
            chunks = chunks_of(contraction, block, fetches, target)
        if block is not None:
            dim = contraction.products[0].dims[0]
            dim.mapping = MappingAttr.get(tile=max(1, block * self.analysis.most(dim) // depth))
        reorder_nest(nest, [*contraction.outer, *contraction.tiled])
        self._map_outer(contraction)
        self._map_tiled(contraction, chunks, lanes, fetches)
        ahead = fetch_ahead(contraction, stream, block, target)
        self.kernel.schedule = StringAttr("; ".join(_reasons(contraction, ahead)))

    def _map_outer(self, contraction: Contraction) -> None:
        """Makes work-groups of what is around the tiles, of several iterations where one does little."""
        inside = contraction.depth * prod(contraction.extents)
        for number, axis in enumerate(contraction.outer[:3]):
            work = inside * prod(contraction.outer_extents[number + 1 :])
            chunk = min(max(1, WORK_OF_A_GROUP // 8 // max(work, 1)), contraction.outer_extents[number])
            axis.mapping = MappingAttr.get(Level.BLOCK, chunk)

    def _map_tiled(self, contraction: Contraction, chunks: Sequence[int], lanes: int, prefetch: bool) -> None:
        """Maps rows and columns to tiles, and to work-groups where a chunk or one further in is not all."""
        left = 3 - len(contraction.outer)
        extents = contraction.extents
        for number, (axis, chunk, size) in enumerate(
            zip(contraction.tiled, chunks, contraction.sizes, strict=True)
        ):
            is_cut = any(c < e for c, e in zip(chunks[number:], extents[number:], strict=True))
            level = Level.BLOCK if is_cut and left > 0 else Level.SERIAL
            left -= level is Level.BLOCK
            vector = lanes if axis is contraction.tile.columns else 1
            taken = chunk if level is Level.BLOCK else 1
            axis.mapping = MappingAttr.get(level, taken, vector, tile=size, prefetch=prefetch)

    def _map_dots(self, nest: list[sched.AxisOp], product: Product) -> None:
        """Maps sums whose both sides are contiguous along the depth."""
        dots = choose_dots(nest, product, self.analysis, self.target)
        if dots is None:
            return
        dim, rows, columns, across = product.dims[0], dots.rows, dots.columns, dots.across
        depth, extent = self.analysis.most(dim), self.analysis.most(columns)
        outer = [axis for axis in nest if axis is not rows and axis is not columns]
        reorder_nest(nest, [*outer, columns, rows])
        dim.mapping = MappingAttr.get(vector=dots.lanes, unroll=dots.partials // dots.lanes)
        rows.mapping = MappingAttr.get(unroll=dots.down)
        for axis in outer[:2]:
            axis.mapping = MappingAttr.get(Level.BLOCK)
        level, chunk = Level.SERIAL, 1
        if len(outer) <= 2:
            level, work = Level.BLOCK, depth * self.analysis.most(rows)
            chunk = max(WORK_OF_A_GROUP // 8 // work // across * across, across)
            chunk = min(chunk, -(-extent // across) * across)
        columns.mapping = MappingAttr.get(level, chunk, unroll=across)
        j, i, k = (loop.index.name_hint or "axis" for loop in (columns, rows, dim))
        self.kernel.schedule = StringAttr(
            f"{j}: {across} at once, and {dots.down} of {i}, share what is loaded; "
            f"{k}: {dots.partials} partial results for {depth} elements"
        )

    def _lanes(self, contraction: Contraction) -> int:
        """
        Returns how many lanes what follows the sums runs in. What stands between the axes may come into the
        innermost one when they change places.
        """
        axis = self.analysis.axis(contraction.tile.columns)
        ops = [op for each in contraction.nest for op in each.body.block.ops]
        if not all(runs_in_lanes(op, axis, self.analysis) for op in ops):
            return 1
        return lanes_for(ops, self.target.vector_nbytes)


def _reasons(contraction: Contraction, ahead: int = 0) -> list[str]:
    names = [axis.index.name_hint or "axis" for axis in contraction.tiled]
    size = " x ".join(map(str, contraction.sizes))
    reasons = [f"{names[-1]}: the columns of a tile of {size} sums in registers"]
    if len(names) > 1:
        reasons.insert(0, f"{names[0]}: the rows of that tile")
    if contraction.tile.columns.mapping.prefetch.data:
        reasons.append("what the next tiles read is fetched while one is computed")
    dim = contraction.products[0].dims[0]
    name, steps = dim.index.name_hint or "axis", dim.mapping.tile.data
    if steps:
        reasons.append(f"{name}: {steps} steps for all tiles before the next, what they read stays in cache")
    if ahead:
        reasons.append(f"{name}: fetches what is needed {ahead} steps later")
    return reasons
