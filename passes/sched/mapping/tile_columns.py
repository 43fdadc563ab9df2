"""
Lets sums of columns read long pieces of every row, in the order of the rows.

    sched.axis %i = 32768 {                         sched.axis %i_outer = 4 block {
      %s = sched.reduce addf %r = 512 : f32 {         %so_far = sched.alloc local : memref<8192xf32>
        %v = memref.load %x[%r, %i]                   sched.axis %i_inner = 8192 vector(8) {
        sched.yield %v : f32                            memref.store %zero, %so_far[%i_inner]
      }                                               }
      memref.store %s, %y[%i]                         scf.for %r_outer = %c0 to %c64 step %c1 {
    }                                                   sched.axis %a = 8192 vector(8) unroll(8) {
                                           -->            %s = memref.load %so_far[%a]
                                                          %t = sched.reduce addf %r = 8 init(%s) : f32 {
                                                            ...
                                                          }
                                                          memref.store %t, %so_far[%a]
                                                        }
                                                      }
                                                      sched.axis %b = 8192 vector(8) {
                                                        %t = memref.load %so_far[%b]
                                                        memref.store %t, %y[%i]

Summed up in registers, a few hundred columns at once, every row is read in pieces that lie a row apart: too
short for what processors fetch by themselves. The sums of a piece of the length that the first cache holds
are kept in a local buffer instead, and loaded and stored once in eight rows.

Only sums of floats over many long rows of a buffer larger than the second cache, whose columns are one axis
that parts of about this length divide.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import size_of
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.sched import CombineKind, Level, MappingAttr
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.lanes import MOST_LANES
from ...machine.target import L1_NBYTES, L2_NBYTES, VECTOR_NBYTES, check_positive
from ..steps.primitives.distribute import distribute
from ..steps.primitives.reorder import reorder
from ..steps.primitives.split import split

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
                    name = columns.index.name_hint or "axis"
                    lanes = min(self.vector_nbytes // NBYTES[reduce.result.type], MOST_LANES)
                    _tile(columns, reduce, width, lanes)
                    kernel.schedule = StringAttr(f"{name}: sums of {width} columns at once, row by row")

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


def _tile(columns: sched.AxisOp, reduce: sched.ReduceOp, width: int, lanes: int) -> None:
    """Sums up some columns at once, row by row: the sums so far stand in a local buffer."""
    outer, inner = split(columns, width)
    rows, _ = split(reduce, ROWS_AT_ONCE, serial=True)
    clearing, adding = distribute(inner, rows)
    adding, storing = distribute(adding, rows, after=True)
    _, adding = reorder([rows, adding])
    for loop, mapping in (
        (outer, MappingAttr.get(Level.BLOCK)),
        (clearing, MappingAttr.get(vector=lanes)),
        (adding, MappingAttr.get(vector=lanes, unroll=VECTORS_AT_ONCE)),
        (storing, MappingAttr.get(vector=lanes)),
    ):
        assert isinstance(loop, sched.AxisOp), f"{loop.name}: made of an axis"
        loop.mapping = mapping
