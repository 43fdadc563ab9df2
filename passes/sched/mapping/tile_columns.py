"""
Lets sums of columns read long pieces of every row, in the order of the rows.

    sched.axis %i = 32768 {                         sched.axis %i_outer = 4 block {
      %s = sched.reduce addf %r = 512 : f32 {         %sums = sched.alloc local : memref<8192xf32>
        %v = memref.load %x[%r, %i]                   sched.axis %a = 8192 vector(8) {
        sched.yield %v : f32                            memref.store %zero, %sums[%a]
      }                                               }
      memref.store %s, %y[%i]                         scf.for %r_outer = %c0 to %c512 step %c8 {
    }                                                   sched.axis %b = 8192 vector(8) unroll(8) {
                                           -->            %so_far = memref.load %sums[%b]
                                                          %s = sched.reduce addf %r = 8 init(%so_far) : f32 {
                                                            ...
                                                          }
                                                          memref.store %s, %sums[%b]
                                                        }
                                                      }
                                                      sched.axis %c = 8192 vector(8) {
                                                        %s = memref.load %sums[%c]
                                                        memref.store %s, %y[%i]

Summed up in registers, a few hundred columns at once, every row is read in pieces that lie a row apart: too
short for what processors fetch by themselves. The sums of a piece of the length that the first cache holds
are kept in a local buffer instead, and loaded and stored once in eight rows.

Only sums of floats over many long rows of a buffer larger than the second cache, whose columns are one axis
that parts of about this length divide.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import size_of
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.sched import CombineKind, Level, MappingAttr, Scope
from ...indices.analysis import IndexAnalysis, Loop
from ...machine.target import L1_NBYTES, L2_NBYTES, VECTOR_NBYTES, check_positive
from ...scalar.builder import INDEX, ScalarBuilder
from ...scalar.reduction_identity import identity
from ..steps.code import add, multiply, writer_before

_SERIAL = MappingAttr.get()

ROWS_AT_ONCE = 8
VECTORS_AT_ONCE = 8


@dataclass(frozen=True)
class TileColumnsPass(ModulePass):
    """Lets sums of columns read long pieces of every row, in the order of the rows."""

    name = "tile-columns"
    vector_nbytes: int = VECTOR_NBYTES
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l1_nbytes", "l2_nbytes")
        for kernel in list(op.ops):
            if isinstance(kernel, sched.KernelOp):
                columns = _only_loop(kernel)
                reduce = None if columns is None else _sum_in(columns)
                if columns is None or reduce is None:
                    continue
                width = self._width(columns, reduce)
                if width:
                    _Tiling(columns, reduce, width, self.vector_nbytes).write()
                    kernel.schedule = StringAttr(
                        f"{columns.index.name_hint or 'axis'}: sums of {width} columns at once, row by row"
                    )

    def _width(self, columns: sched.AxisOp, reduce: sched.ReduceOp) -> int:
        """Returns how many columns are summed at once; 0 where it does not pay."""
        analysis = IndexAnalysis()
        loads = [op for op in reduce.body.block.ops if isinstance(op, memref.LoadOp)]
        if len(loads) != 1 or not isinstance(loads[0].memref, BlockArgument):
            return 0
        (load,) = loads
        address, type = analysis.address(load), load.memref.type
        row, extent = address.stride(analysis.axis(reduce)), columns.extent
        nbytes = NBYTES[reduce.result.type]
        most = self.l1_nbytes // nbytes
        if address.stride(analysis.axis(columns)) != 1 or not isinstance(row, int) or row < most:
            return 0
        if upper_bound(size_of(type)) * NBYTES[element_type_of(type)] <= self.l2_nbytes:
            return 0
        assert isinstance(extent, int), "extents are numbers here"
        step = self.vector_nbytes // nbytes * VECTORS_AT_ONCE
        if not step:
            return 0
        widths = range(most // step * step, most // 4, -step)
        return next((width for width in widths if extent % width == 0), 0)


def _only_loop(kernel: sched.KernelOp) -> sched.AxisOp | None:
    """Returns the axis that is all that an unmapped kernel does."""
    if kernel.sizes or any(isinstance(op, Loop) and op.mapping != _SERIAL for op in kernel.walk()):
        return None
    found = [op for op in kernel.body.block.ops if op.regions or isinstance(op, sched.AllocOp)]
    stores = any(isinstance(op, memref.StoreOp | memref.LoadOp) for op in kernel.body.block.ops)
    if stores or len(found) != 1 or not isinstance(found[0], sched.AxisOp):
        return None
    return found[0] if found[0].count is None else None


def _sum_in(columns: sched.AxisOp) -> sched.ReduceOp | None:
    """Returns the sum of floats that is the only loop of an axis, with nothing but index code before it."""
    loops = [op for op in columns.body.block.ops if op.regions or isinstance(op, sched.AllocOp)]
    if len(loops) != 1 or not isinstance(loops[0], sched.ReduceOp):
        return None
    reduce = loops[0]
    if reduce.kind.data is not CombineKind.ADDF or reduce.count is not None or reduce.init is not None:
        return None
    rows = reduce.extent
    if not isinstance(rows, int) or rows % ROWS_AT_ONCE or rows < 8 * ROWS_AT_ONCE:
        return None
    if any(op.regions or isinstance(op, memref.StoreOp) for op in reduce.body.block.ops):
        return None
    before = columns.body.block.ops
    for op in before:
        if op is reduce:
            return reduce
        if not op.results or not isinstance(op.results[0].type, IndexType):
            return None
    return None


_Body = Callable[[ScalarBuilder, SSAValue], None]
"""Writes what an axis does at an index."""


def _copy(ops: Sequence[Operation], values: dict[SSAValue, SSAValue], writer: ScalarBuilder) -> None:
    """Copies ops without regions; `values` says what stands for those of outside, and learns theirs."""
    for op in ops:
        writer.insert(op.clone_without_regions(values))


class _Tiling:
    """Writes the sums of some columns at once in the place of an axis."""

    def __init__(self, columns: sched.AxisOp, reduce: sched.ReduceOp, width: int, vector_nbytes: int):
        self.columns, self.reduce, self.width = columns, reduce, width
        self.lanes = min(vector_nbytes // NBYTES[reduce.result.type], 16)
        self.hint = columns.index.name_hint or "i"
        ops = list(columns.body.block.ops)
        position = ops.index(reduce)
        self.index_code, self.rest = ops[:position], ops[position + 1 :]

    def write(self) -> None:
        extent, type = self.columns.extent, self.reduce.result.type
        assert isinstance(extent, int), "extents are numbers here"
        outer = sched.AxisOp(extent // self.width, MappingAttr.get(Level.BLOCK, 1))
        outer.index.name_hint = f"{self.hint}_outer"
        writer_before(self.columns).insert(outer)
        writer = self._writer(outer.body.block)
        base = multiply(writer, outer.index, self.width, "base")
        sums = writer.insert(sched.AllocOp(Scope.LOCAL, MemRefType(type, [self.width])), "sums").results[0]
        self._axis(writer, 1, lambda inside, index: self._clear(inside, index, sums))
        rows = Block(arg_types=[INDEX])
        rows.args[0].name_hint = f"{self.reduce.index.name_hint or 'r'}_outer"
        numbers = (0, self.reduce.extent, ROWS_AT_ONCE)
        bounds = [writer.constant(number, INDEX) for number in numbers]
        writer.insert(scf.ForOp.create(operands=bounds, regions=[Region(rows)]))
        within = self._writer(rows)
        self._axis(
            within, VECTORS_AT_ONCE, lambda inside, index: self._add(inside, base, index, sums, rows.args[0])
        )
        within.insert(scf.YieldOp.create())
        self._axis(writer, 1, lambda inside, index: self._finish(inside, base, index, sums))
        self.columns.detach()
        self.columns.erase()

    def _writer(self, block: Block) -> ScalarBuilder:
        writer = writer_before(self.columns)
        writer.block, writer.anchor = block, None
        return writer

    def _axis(self, writer: ScalarBuilder, unroll: int, body: _Body) -> None:
        axis = sched.AxisOp(self.width, MappingAttr.get(vector=self.lanes, unroll=unroll))
        axis.index.name_hint = self.hint
        writer.insert(axis)
        body(self._writer(axis.body.block), axis.index)

    def _clear(self, writer: ScalarBuilder, index: SSAValue, sums: SSAValue) -> None:
        type = self.reduce.result.type
        zero = writer.constant(identity(self.reduce.kind.data, type), type)
        writer.insert(memref.StoreOp.create(operands=(zero, sums, index)))

    def _add(
        self, writer: ScalarBuilder, base: SSAValue, index: SSAValue, sums: SSAValue, first: SSAValue
    ) -> None:
        reduce = self.reduce
        values = self._index_values(writer, base, index)
        so_far = writer.op(memref.LoadOp, sums, index, result_type=reduce.result.type, hint="so_far")
        inner = sched.ReduceOp(
            reduce.kind.data, ROWS_AT_ONCE, reduce.result.type, fastmath=reduce.fastmath, init=so_far
        )
        inner.index.name_hint = reduce.index.name_hint
        writer.insert(inner, reduce.result.name_hint)
        inside = self._writer(inner.body.block)
        values[reduce.index] = add(inside, first, inner.index, reduce.index.name_hint)
        _copy(list(reduce.body.block.ops), values, inside)
        writer.insert(memref.StoreOp.create(operands=(inner.result, sums, index)))

    def _finish(self, writer: ScalarBuilder, base: SSAValue, index: SSAValue, sums: SSAValue) -> None:
        reduce = self.reduce
        values = self._index_values(writer, base, index)
        values[reduce.result] = writer.op(
            memref.LoadOp, sums, index, result_type=reduce.result.type, hint=reduce.result.name_hint
        )
        _copy(self.rest, values, writer)

    def _index_values(
        self, writer: ScalarBuilder, base: SSAValue, index: SSAValue
    ) -> dict[SSAValue, SSAValue]:
        values: dict[SSAValue, SSAValue] = {self.columns.index: add(writer, base, index, self.hint)}
        _copy(self.index_code, values, writer)
        return values
