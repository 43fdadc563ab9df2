"""
Gives every kernel its default schedule: which axes run as vectors, unrolled, or as work-groups.

    sched.axis %i = 128 {
      %s = sched.reduce addf %j = 1000 : f32 { ... }
      sched.axis %j_1 = 1000 { ... }
    }

-->

    sched.axis %i = 128 block(16) {
      %s = sched.reduce addf %j = 1000 vector(8) unroll(4) : f32 { ... }
      sched.axis %j_1 = 1000 vector(8) { ... }
    }
    and on the kernel {schedule = "j: 32 partial results for 1000 elements; j: neighbours in memory; ..."}

* An axis becomes a vector if every access below it has stride 0 or 1 along it, or -1 for a load (the
  innermost such axis wins), a reduction likewise if no axis around it is one. Reductions get four
  accumulators where they are long.
* A vector axis around reductions is unrolled by two, and the axis right around it by four (eight where
  vectors have 64 bytes): a register tile, in which every loaded vector is used that often.
* Columns that a reduction over rows combines are unrolled as often as there are registers, those of several
  rows of the result together where they follow one another: so that of every row a long piece is read.
* Where loads have their neighbours along an axis further out, that axis is unrolled as often as the vectors
  are wide: such squares of elements are transposed in registers. If it fills no whole squares and the loads
  go on along another axis, the two become one: of weights of 3x3 windows, say, which are 9 neighbours.
* Panels of a matrix that hold a part of a cache line of each of many rows are copied several side by side.
* The outermost axis becomes work-groups, large enough to be worth starting.

An extent that is made of named dims is mapped as if it were the greatest that it can be: the order in which
its reductions combine is that of a static program of that size.

Only mappings change, and `schedule` says why; a kernel that is mapped already is left alone.

Requires: `sched` kernels. Ensures: what each kernel computes is unchanged but for the order of combination of
reductions, which the mapping defines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IntegerType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ....dialects import low, sched
from ....dialects.buffer_size import size_of
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.sched import CombineKind, Level, MappingAttr
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.expressions import Axis
from ...indices.lanes import LEAST_LANES, LOADED_STRIDES, lanes_for, runs_in_lanes
from ...indices.nests import nest_of
from ...indices.products import loaded
from ...low.lowering.extremum_steps import is_extremum
from ...machine.cost import LINE_NBYTES
from ...machine.partial_results import LEAST, MANY, SEVERAL, partial_results
from ...machine.target import (
    L1_NBYTES,
    L2_NBYTES,
    L3_NBYTES,
    VECTOR_NBYTES,
    check_positive,
    usual_registers,
)
from ...scalar.combine_kinds import IDEMPOTENT
from ..host.kernel_cost import trip_count
from ..steps.loop_nests.loops import kernel_around
from ..steps.primitives.fuse import fuse
from ..steps.primitives.reorder import reorder_nest
from ..steps.primitives.split import split
from .kernel_stages import stages_of
from .prefetch_rows import SMALL_L1_NBYTES
from .reasons import reasons_of

_SERIAL = MappingAttr.get()

MANY_ROWS = 64
"""From this many on, what a reduction takes is reading its rows, and not what windows share."""

ROWS_AT_ONCE = 4
"""The most rows of a matrix that are multiplied with a vector at once."""

SHORT_ROW_NBYTES = 12 << 10
"""
Rows of less are short. Where the first cache is small, a matrix of short rows that half of the third cache
does not hold is read row by row, as one stream. On a Zen 4, matrices of 24 to 64 MB by a vector take 0.36 to
0.8 of the time that four rows at once take, of f32 and f64, with rows of 512 bytes to 8 KiB; of 6 to 14 MB
1.0 to 1.3, and 1.3 with rows of 16 and 32 KiB. Of two matrices at once, rows of 16 KiB are short too: they
take 0.93 of the time, and rows of 32 KiB 1.0 to 1.25.
"""

STORED_NBYTES = 128
"""So many bytes, and four vectors, are stored to an array before anything is to the next one: two lines."""

MANY_VECTORS = 64
"""From so many vectors on, several are stored to one of a kernel's arrays before any is to the next."""

STORED_PIECE_NBYTES = 128
READ_PIECE_NBYTES = 2048
"""How much of a row of a larger one is stored, and how much of one is read, by a work-group."""


FEW_SQUARES = 4
"""
Rows of less squares than that, of which the last one is not whole, go on along another axis. Permutations of
512x64x28 f32 take 0.5 of the time so on a Zen 4, weights of 3x3 windows 0.4; of 64x40x1001 1.2 to 1.5.
"""

LEAST_TALL = 512
"""So many rows, of each of which one line is read, are more than the first cache keeps."""

READ_LINES_NBYTES = 256
"""How much of each row is read at once by what copies narrow panels: some whole lines."""


@dataclass(frozen=True)
class MapAxesPass(ModulePass):
    """Maps the axes of every kernel to vectors, register tiles and work-groups."""

    name = "map-axes"
    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES
    l3_nbytes: int = L3_NBYTES
    block_elements: int = 16384

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l1_nbytes", "l2_nbytes", "l3_nbytes", "block_elements")
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                _KernelMapper(self).map(kernel)


class _KernelMapper:
    def __init__(self, options: MapAxesPass):
        self.vector_nbytes = options.vector_nbytes
        self.registers = options.vector_registers or usual_registers(options.vector_nbytes)
        self.unblocked_nbytes = options.l2_nbytes // 4
        self.streamed_nbytes = options.l3_nbytes // 2 if options.l1_nbytes <= SMALL_L1_NBYTES else None
        """Matrices of more are in memory, which is read as one stream; None where that is no matter."""
        self.block_elements = options.block_elements
        self.analysis = IndexAnalysis()
        self.reasons: list[str] = []

    def map(self, kernel: sched.KernelOp) -> None:
        mapped = [op for op in kernel.walk() if isinstance(op, Loop) and op.mapping != _SERIAL]
        if any(loop.mapping.tile.data == 0 for loop in mapped) or (mapped and not stages_of(kernel)):
            return
        self.reasons.extend(reasons_of(kernel))
        for op in _loops_in(kernel.body.block):
            self._map_vectors(op)
        self._read_whole_lines(nest_of(kernel))
        self._map_blocks(kernel)
        if self.reasons:
            kernel.schedule = StringAttr("; ".join(self.reasons))

    def _set(self, loop: Loop, mapping: MappingAttr, why: str) -> None:
        """Maps an axis, and notes why."""
        loop.mapping = mapping
        clause = f"{loop.index.name_hint or 'axis'}: {why}"
        if clause not in self.reasons:
            self.reasons.append(clause)

    def _most(self, loop: Loop) -> int:
        """Returns how many iterations a loop runs, the most where that varies."""
        return self.analysis.most(loop)

    def _map_vectors(self, loop: Loop) -> None:
        """Maps the innermost loops below `loop` that can be vectors, or `loop` itself; tiles are mapped."""
        if loop.mapping.tile.data:
            return
        below = _loops_in(loop.body.block)
        if isinstance(loop, sched.AxisOp) and not any(isinstance(op, sched.AxisOp) for op in below):
            lanes = self._lanes(loop)
            if lanes:
                self._map_vector_axis(loop, lanes)
                return
            if self._map_transpose(loop):
                return
        if isinstance(loop, sched.ReduceOp) and not below:
            lanes = self._lanes(loop)
            if lanes:
                extent = self._most(loop)
                partials = partial_results(extent, _least_partials(loop))
                lanes = min(lanes, partials)
                mapping = MappingAttr.get(vector=lanes, unroll=partials // lanes)
                self._set(loop, mapping, f"{partials} partial results for {extent} elements")
            return
        for op in below:
            self._map_vectors(op)
        if isinstance(loop, sched.AxisOp):
            self._map_rows(loop, below)

    def _map_rows(self, rows: sched.AxisOp, sums: Sequence[Loop]) -> None:
        """
        Maps an axis right around sums of products that run as vectors, where one of the sides is the same for
        all of its iterations: as many of them side by side as there are registers for their partial results.
        """
        if self._has_counts_along(rows) or any(_is_serial(op) for op in rows.body.block.ops):
            return
        if any(isinstance(op, sched.AllocOp) for op in rows.body.block.ops):
            return
        axis, most, matrices = self.analysis.axis(rows), 0, list[memref.LoadOp | None]()
        for op in sums:
            if not isinstance(op, sched.ReduceOp) or op.kind.data is not CombineKind.FMA:
                return
            sides = [axis in self.analysis.dependences(value) for value in op.yielded]
            if op.mapping.vector.data == 1 or sorted(sides) != [False, True]:
                return
            matrices.append(loaded(op.yielded[sides.index(True)]))
            most = max(most, op.mapping.unroll.data)
        n_streams = len({each.memref for each in matrices if each is not None})
        if any(self._is_streamed(each, axis, n_streams) for each in matrices):
            return
        count = min(self.registers // 2 // max(most, 1), ROWS_AT_ONCE)
        if sums and count > 1 and self._most(rows) >= count:
            self._set(rows, MappingAttr.get(unroll=count), f"each loaded vector is used {count} times")

    def _is_streamed(self, matrix: memref.LoadOp | None, rows: Axis, n_streams: int) -> bool:
        """Returns whether a matrix of short rows, one of so many, is read from memory."""
        if matrix is None or self.streamed_nbytes is None:
            return False
        type, stride = matrix.memref.type, self.analysis.address(matrix).stride(rows)
        nbytes = NBYTES[element_type_of(type)]
        is_short = isinstance(stride, int) and 0 < stride * nbytes < SHORT_ROW_NBYTES * n_streams
        return is_short and upper_bound(size_of(type)) * nbytes > self.streamed_nbytes

    def _map_vector_axis(self, axis: sched.AxisOp, lanes: int) -> None:
        if self._map_columns(axis, lanes):
            return
        reduces = any(isinstance(op, sched.ReduceOp) for op in axis.walk())
        unroll, why = 1, "neighbours in memory"
        if reduces and self._most(axis) >= 2 * lanes:
            unroll, why = 2, f"{why}, two vectors to hide latency"
        elif not reduces and (vectors := self._stored_in_a_row(axis, lanes)) > 1:
            unroll, why = vectors, f"{why}, {vectors} vectors of each array that is stored"
        self._set(axis, MappingAttr.get(vector=lanes, unroll=unroll), why)
        outer = axis.parent_op()
        rows = self.registers // 4
        if (
            reduces
            and isinstance(outer, sched.AxisOp)
            and self._most(outer) >= rows
            and not any(isinstance(op, sched.AllocOp | sched.ReduceOp) for op in outer.body.block.ops)
            and not any(_is_serial(op) for op in outer.body.block.ops)
            and not self._has_counts_along(outer)
            and sum(isinstance(op, sched.AxisOp) for op in outer.body.block.ops) == 1
        ):
            self._set(outer, MappingAttr.get(unroll=rows), f"each loaded vector is used {rows} times")

    def _stored_in_a_row(self, axis: sched.AxisOp, lanes: int) -> int:
        """
        Returns how many vectors are stored to an array before one is to the next: more than one where there
        are several. A vector that begins in the middle of a line of the cache is half a line of two; the
        halves meet in the processor's buffer of stores only if no store to another line came between.
        """
        arrays = {op.memref for op in axis.body.block.ops if isinstance(op, memref.StoreOp)}
        vectors, extent = max(4, STORED_NBYTES // self.vector_nbytes), self._most(axis)
        # What is left over at the end is not stored in vectors side by side.
        is_long = extent >= MANY_VECTORS * lanes or (
            extent == axis.extent and extent % (vectors * lanes) == 0
        )
        return vectors if len(arrays) > 1 and is_long else 1

    def _map_columns(self, axis: sched.AxisOp, lanes: int) -> bool:
        """
        Maps the columns that a reduction over rows combines: as many side by side as there are registers, so
        that of every row a long piece is read. Returns whether it is one: it loads one element in each of
        many steps, more than a window has.
        """
        reductions = [op for op in axis.walk() if isinstance(op, sched.ReduceOp)]
        loads = [op for op in axis.walk() if isinstance(op, memref.LoadOp)]
        if not reductions or len(loads) != 1 or loads[0].parent_op() not in reductions:
            return False
        if prod(self._most(op) for op in reductions) < MANY_ROWS:
            return False
        along = self.analysis.axis(axis)
        if any(self.analysis.address(op).stride(along) != 1 for op in loads):
            return False
        registers = self.registers
        if len(reductions) > 1 or any(is_extremum(op) for op in reductions):
            registers //= 4
        vectors = max(self._most(axis) // lanes, 1)
        unroll = vectors // -(-vectors // registers)
        self._set(
            axis, MappingAttr.get(vector=lanes, unroll=unroll), f"{unroll * lanes} columns side by side"
        )
        outer, rows = axis.parent_op(), registers // unroll
        if (
            rows > 1
            and isinstance(outer, sched.AxisOp)
            and self._most(outer) >= rows
            and _is_nest(outer, axis, reductions)
            and not self._has_counts_along(outer)
            and self._continues(outer, axis, loads)
        ):
            self._set(outer, MappingAttr.get(unroll=rows), f"{rows} times as many columns")
        return True

    def _continues(self, outer: sched.AxisOp, inner: sched.AxisOp, accesses: Sequence[memref.LoadOp]) -> bool:
        """Returns whether each iteration of `outer` begins where the inner axis ends in the one before."""
        axis, extent = self.analysis.axis(outer), inner.extent
        return all(self.analysis.address(op).stride(axis) == extent for op in accesses)

    def _read_whole_lines(self, nest: Sequence[sched.AxisOp]) -> None:
        """
        Copies some panels of a matrix side by side, where a panel has a part of a cache line of each row, and
        more rows than the first cache has room for: lines would be read once for each panel.
        """
        if len(nest) < 3 or nest[-1].mapping.vector.data == 1 or not _is_nest(nest[0], nest[-1]):
            return
        around, rows, columns = nest[-3:]
        loads = [op for op in columns.walk() if isinstance(op, memref.LoadOp)]
        if any(axis.count is not None or not isinstance(axis.extent, int) for axis in nest):
            return
        if len(loads) != 1 or self._most(rows) < LEAST_TALL or around.mapping != _SERIAL:
            return
        nbytes = _nbytes(loads[0]) * self._most(columns)
        if nbytes >= LINE_NBYTES:
            return
        wanted = READ_LINES_NBYTES // nbytes
        panels = max((n for n in range(1, wanted + 1) if self._most(around) % n == 0), default=1)
        if panels < 2 or rows.mapping != _SERIAL or not self._continues(around, columns, loads):
            return
        vector, columns.mapping = columns.mapping, _SERIAL
        outer, inner = split(around, panels)
        reorder_nest([inner, rows], [rows, inner])
        columns.mapping = vector
        self.analysis = IndexAnalysis()
        name = outer.index.name_hint or "axis"
        self.reasons.append(f"{name}: whole lines are read of {panels} panels side by side")

    def _map_transpose(self, columns: sched.AxisOp) -> bool:
        """
        Maps an axis, and the one around it along which the loads have their neighbours, to the columns and
        rows of squares that are transposed in registers. Returns whether there is such an axis.
        """
        turned = self._turned_loads(columns)
        around = columns.parent_op()
        while turned and isinstance(around, sched.AxisOp):
            rows = self.analysis.axis(around)
            if all(self.analysis.address(op).stride(rows) == 1 for op in turned):
                lanes = self._lanes(columns, frozenset(turned))
                if lanes < LEAST_LANES or not _is_nest(around, columns) or self._has_counts_along(around):
                    return False
                if self._most(around) % lanes and self._most(around) < FEW_SQUARES * lanes:
                    around = self._lengthened(around, columns, turned)
                lanes = min(lanes, 1 << (self._most(around).bit_length() - 1))
                if lanes < LEAST_LANES:
                    return False
                self._set(columns, MappingAttr.get(vector=lanes), "neighbours in what is stored")
                why = "neighbours in what is loaded, transposed in registers"
                self._set(around, MappingAttr.get(unroll=lanes), why)
                self._block_transpose(around, columns, max(_nbytes(op) for op in turned))
                return True
            around = around.parent_op()
        return False

    def _lengthened(
        self, rows: sched.AxisOp, columns: sched.AxisOp, turned: Sequence[memref.LoadOp]
    ) -> sched.AxisOp:
        """
        Returns rows that fill no whole squares, made one with the axis along which all loads go on where the
        rows end, if there is one, right around the columns.
        """
        nest = nest_of(kernel_around(columns))
        if columns not in nest or not _is_nest(nest[0], columns):
            return rows
        if any(
            axis.count is not None or not isinstance(axis.extent, int) or axis.mapping != _SERIAL
            for axis in nest
        ):
            return rows
        for axis in nest:
            if axis in (rows, columns):
                continue
            along = self.analysis.axis(axis)
            if all(self.analysis.address(op).stride(along) == rows.extent for op in turned):
                others = [each for each in nest if each not in (axis, rows, columns)]
                reorder_nest(nest, [*others, axis, rows, columns])
                self.analysis = IndexAnalysis()
                return _fused(axis, rows)
        return rows

    def _block_transpose(self, rows: sched.AxisOp, columns: sched.AxisOp, nbytes: int) -> None:
        """
        Makes work-groups of the parts of a large matrix that is transposed: each reads long pieces of some
        rows, and stores some whole cache lines of each row of the result. Parts side by side follow one
        another, so that rows are read as streams.
        """
        kernel = kernel_around(columns)
        nest, step = nest_of(kernel), columns.mapping.vector.data
        wide = max(STORED_PIECE_NBYTES // nbytes, step)
        if columns not in nest or not _is_nest(nest[0], columns):
            return
        if any(op is not nest[0] and isinstance(op, Loop) for op in kernel.body.block.ops):
            return
        if any(axis.count is not None or not isinstance(axis.extent, int) for axis in nest):
            return
        if (
            self._most(rows) * self._most(columns) * nbytes <= self.unblocked_nbytes
            or self._most(columns) <= wide
        ):
            return
        others = [axis for axis in nest if axis is not rows and axis is not columns]
        reorder_nest(nest, [*others, rows, columns])
        while len(others) > 1:
            others[:2] = [_fused(others[0], others[1])]
        for axis in others:
            axis.mapping = MappingAttr.get(Level.BLOCK)
        vector, columns.mapping = columns.mapping, _SERIAL
        outer, inner = split(columns, wide)
        reorder_nest([rows, outer], [outer, rows])
        inner.mapping = vector
        self._set(
            outer, MappingAttr.get(Level.BLOCK), f"{wide * nbytes} bytes of each row are stored at once"
        )
        tall = _even_chunk(self._most(rows), max(READ_PIECE_NBYTES // nbytes, step), step)
        mapping = MappingAttr.get(Level.BLOCK, tall, unroll=rows.mapping.unroll.data)
        self._set(rows, mapping, f"{tall * nbytes} bytes of each row are read at once")
        self.analysis = IndexAnalysis()

    def _turned_loads(self, columns: sched.AxisOp) -> list[memref.LoadOp]:
        """Returns the loads below an axis that are neither of one element nor of neighbours along it."""
        axis = self.analysis.axis(columns)
        return [
            op
            for op in columns.walk()
            if isinstance(op, memref.LoadOp)
            and isinstance(stride := self.analysis.address(op).stride(axis), int)
            and stride not in LOADED_STRIDES
        ]

    def _lanes(self, loop: Loop, turned: frozenset[Operation] = frozenset()) -> int:
        """
        Returns how many lanes `loop` can run in, 0 if it cannot be a vector; the loads `turned` may have any
        stride.
        """
        axis, ops = self.analysis.axis(loop), list(loop.walk())
        if self._has_counts_along(loop) or any(not _may_be_vector(op) for op in ops):
            return 0
        if not all(op in turned or runs_in_lanes(op, axis, self.analysis) for op in ops):
            return 0
        extent = self._most(loop)
        if extent < LEAST_LANES:
            return 0
        return min(lanes_for(ops, self.vector_nbytes), 1 << (extent.bit_length() - 1))

    def _has_counts_along(self, loop: Loop) -> bool:
        """Returns whether a loop below `loop` has another number of iterations for each of its indices."""
        axis = self.analysis.axis(loop)
        return any(
            isinstance(op, Loop) and op.count is not None and axis in self.analysis.expr(op.count).axes()
            for op in loop.walk()
        )

    def _map_blocks(self, kernel: sched.KernelOp) -> None:
        """Makes work-groups of the outermost axis, if it is all that the kernel does."""
        outermost = [
            op
            for op in kernel.body.block.ops
            if isinstance(op, Loop | memref.StoreOp | sched.AllocOp) or _is_serial(op)
        ]
        if len(outermost) != 1 or not isinstance(outermost[0], sched.AxisOp):
            return
        axis = outermost[0]
        if axis.mapping.level.data is Level.BLOCK:
            return
        work = max(self._work(op) for op in [*axis.body.block.ops])
        mapping, step = axis.mapping, axis.mapping.step
        wanted = -(-self.block_elements // max(work, 1))
        chunk = _even_chunk(self._most(axis), -(-wanted // step) * step, step)
        self._set(
            axis,
            MappingAttr.get(Level.BLOCK, chunk, mapping.vector.data, mapping.unroll.data),
            f"work-groups of up to {self.block_elements} elements",
        )

    def _work(self, op: Operation) -> int:
        """Returns how many innermost iterations there are below `op`, the most of its branches."""
        if isinstance(op, scf.IfOp):
            inner = [child for region in op.regions for block in region.blocks for child in block.ops]
            return max((self._work(child) for child in inner), default=1)
        if not isinstance(op, Loop | scf.ForOp):
            return 1
        loops = [child for child in op.body.block.ops if isinstance(child, Loop | scf.ForOp | scf.IfOp)]
        times = self._most(op) if isinstance(op, Loop) else trip_count(op)
        return times * max(sum(self._work(child) for child in loops), 1)


def _may_be_vector(op: Operation) -> bool:
    """Returns whether an op has a vector form at all."""
    if isinstance(op, sched.ReduceOp):
        return op.result.type != IntegerType(1)
    return not isinstance(op, sched.AllocOp) and not _is_serial(op)


def _is_nest(outer: sched.AxisOp, inner: sched.AxisOp, known: Sequence[Operation] = ()) -> bool:
    """Returns whether only axes stand between two of them, and no loop in the inner one but the `known`."""
    if any(isinstance(op, Loop) and op is not inner and op not in known for op in inner.walk()):
        return False
    op: Operation = inner
    while op is not outer:
        around = op.parent_op()
        if not isinstance(around, sched.AxisOp):
            return False
        for beside in around.body.block.ops:
            if beside is not op and (
                beside.regions or isinstance(beside, memref.LoadOp | memref.StoreOp | sched.AllocOp)
            ):
                return False
        op = around
    return True


def _fused(outer: sched.AxisOp, inner: sched.AxisOp) -> sched.AxisOp:
    axis = fuse(outer, inner)
    assert isinstance(axis, sched.AxisOp), "two axes are one axis"
    return axis


def _nbytes(op: memref.LoadOp) -> int:
    return NBYTES[element_type_of(op.memref.type)]


def _is_serial(op: Operation) -> bool:
    return isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp)


def _least_partials(loop: sched.ReduceOp) -> int:
    """Returns how few partial results may be best, for what is left over to be combined sooner."""
    # What is left over runs as vectors, or is combined by another reduction.
    if loop.kind.data in IDEMPOTENT or loop.count is not None:
        return MANY
    return SEVERAL if any(type(op) in low.EXPANDED_OPS for op in loop.body.walk()) else LEAST


def _loops_in(block: Block) -> list[Loop]:
    """Returns the axes of a block that have no axis around them there."""
    found: list[Loop] = []
    for op in block.ops:
        if isinstance(op, Loop):
            found.append(op)
        elif _is_serial(op):
            for region in op.regions:
                found.extend(loop for inner in region.blocks for loop in _loops_in(inner))
    return found


def _even_chunk(extent: int, wanted: int, step: int) -> int:
    """Returns a multiple of `step` up to `wanted` that divides `extent`, if one is at least half of it."""
    if extent <= wanted:
        return max(extent, 1)
    for chunk in range(wanted, wanted // 2, -step):
        if extent % chunk == 0:
            return chunk
    return wanted
