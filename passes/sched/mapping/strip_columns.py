"""
Runs several loops over the rows of a matrix row by row, in strips of columns.

    sched.axis %j = 2000 {                          sched.axis %j_outer = 4 {
      %s = sched.reduce addf %i = 1000 : f32 {        %s_kept = sched.alloc local : memref<512xf32>
        ... %x[%i, %j] ...                            sched.axis %j_inner = 512 {
      }                                                 %s = sched.reduce addf %i = 1000 : f32 {
      sched.axis %i_1 = 1000 {             -->            ... %x[%i, %j] ...
        ... %x[%i_1, %j] ... %s ...                     }
      }                                                 memref.store %s, %s_kept[%j_inner]
    }                                                 }
                                                      sched.axis %i_1 = 1000 {
                                                        sched.axis %j_inner_a = 512 {
                                                          ... %x[%i_1, %j] ... %s_kept[%j_inner_a] ...

One column after the other, a kernel reads one element of each row, and no vectors. A strip is a piece of the
rows that is long enough to be fetched by itself. What the loops hand to one another is kept in local buffers,
one element for each column of the strip. The second loop finds in the cache what the first one read, where a
strip fits there: so the kernel is no slower than a kernel for each loop would be.

Only axes along which each access has its neighbours, or one element, and around loops of which none has its
own along itself, but for what is one element for all columns.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import nbytes_of
from ....dialects.element_types import NBYTES, element_type_of
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.lanes import LEAST_LANES, lanes_for, runs_in_lanes
from ...machine.kernel_memory import STRIPS_NBYTES_LIMIT
from ...machine.target import L2_NBYTES, VECTOR_NBYTES, check_positive
from ..steps.loop_nests.errors import ScheduleError
from ..steps.loop_nests.loops import is_mapped
from ..steps.primitives.distribute import distribute
from ..steps.primitives.reorder import reorder
from ..steps.primitives.split import split
from .map_axes import READ_PIECE_NBYTES
from .reasons import add_reason


@dataclass(frozen=True)
class StripColumnsPass(ModulePass):
    """Runs several loops over the rows of a matrix row by row, in strips of columns."""

    name = "strip-columns"
    vector_nbytes: int = VECTOR_NBYTES
    l2_nbytes: int = L2_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l2_nbytes")
        for kernel in list(op.ops):
            if isinstance(kernel, sched.KernelOp) and not is_mapped(kernel) and _columns_in(kernel):
                self._run(kernel)

    def _run(self, kernel: sched.KernelOp) -> None:
        """Replaces a kernel; one whose loops depend on one another stays."""
        trial = kernel.clone()
        assert kernel.parent is not None, f"{kernel.sym_name.data}: stands in no module"
        kernel.parent.insert_op_before(trial, kernel)
        dropped = kernel
        try:
            for axis in _columns_in(trial):
                width = self._width(axis)
                if width:
                    name = axis.index.name_hint or "axis"
                    _strip(axis, width)
                    add_reason(trial, f"{name}: row by row, in strips of up to {width} columns")
        except ScheduleError:
            dropped = trial
        dropped.detach()
        dropped.erase()

    def _width(self, columns: sched.AxisOp) -> int:
        """
        Returns how many columns a strip has; 0 where not even a vector of them has room for buffers, and
        where there are too few for any vector.
        """
        accesses = [op for op in columns.walk() if isinstance(op, memref.LoadOp | memref.StoreOp)]
        nbytes = max(NBYTES[element_type_of(op.memref.type)] for op in accesses)
        lanes = lanes_for(list(columns.walk()), self.vector_nbytes)
        buffers = [op for op in columns.body.block.ops if isinstance(op, sched.AllocOp)]
        kept = sum(nbytes_of(op.result.type) for op in buffers)
        most = min(self.l2_nbytes // 2, STRIPS_NBYTES_LIMIT)
        room = most // kept // lanes * lanes if kept else READ_PIECE_NBYTES
        extent = IndexAnalysis().most(columns)
        return min(READ_PIECE_NBYTES // nbytes, room, extent) if extent >= LEAST_LANES else 0


def _columns_in(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """Returns the axes whose loops are to run row by row, the outermost of each nest."""
    found: list[sched.AxisOp] = []
    axes = [op for op in kernel.body.block.ops if isinstance(op, sched.AxisOp)]
    while axes:
        axis = axes.pop(0)
        if _are_columns(axis):
            found.append(axis)
        else:
            axes.extend(op for op in axis.body.block.ops if isinstance(op, sched.AxisOp))
    return found


def _are_columns(axis: sched.AxisOp) -> bool:
    loops = [op for op in axis.body.block.ops if isinstance(op, Loop)]
    if len(loops) < 2 or not any(isinstance(op, sched.AxisOp) for op in loops):
        return False
    inside = list(axis.walk())
    if any(isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp) for op in inside):
        return False
    analysis = IndexAnalysis()
    own = analysis.axis(axis)
    counts = [op.count for op in inside if isinstance(op, Loop) and op.count is not None]
    if any(own in analysis.expr(count).axes() for count in counts):
        return False
    accesses = [op for op in inside if isinstance(op, memref.LoadOp | memref.StoreOp)]
    local = {op.result for op in axis.body.block.ops if isinstance(op, sched.AllocOp)}
    shared = [op for op in accesses if op.memref not in local]
    if not all(runs_in_lanes(op, own, analysis) for op in inside if op not in accesses or op in shared):
        return False
    moved = [op for op in shared if analysis.address(op).stride(own) != 0]
    return not any(_has_neighbours_along(loop, moved, analysis) for loop in loops)


def _has_neighbours_along(
    loop: Operation, accesses: list[memref.LoadOp | memref.StoreOp], analysis: IndexAnalysis
) -> bool:
    """Returns whether an access has its neighbours along a loop, or a loop inside of it."""
    axes = [analysis.axis(op) for op in loop.walk() if isinstance(op, Loop)]
    return any(analysis.address(op).stride(axis) == 1 for op in accesses for axis in axes)


def _strip(columns: sched.AxisOp, width: int) -> None:
    """Splits the columns, and moves what is in a strip into each loop over the rows."""
    rest: sched.AxisOp | None = columns
    if width < IndexAnalysis().most(columns):
        _, rest = split(columns, width)
    while rest is not None:
        part, rest = _first_part(rest)
        rows = _axes_in(part)
        if rows:
            reorder([*rows, part])


def _first_part(columns: sched.AxisOp) -> tuple[sched.AxisOp, sched.AxisOp | None]:
    """
    Distributes columns over what they do first, an axis or all the reductions before the first one, and the
    rest, of which there may be none.
    """
    ops = list(columns.body.block.ops)
    loops = [op for op in ops if isinstance(op, Loop)]
    if not loops or not any(isinstance(op, sched.AxisOp) for op in loops):
        return columns, None
    if isinstance(loops[0], sched.AxisOp):
        after = ops[ops.index(loops[0]) + 1 :]
        if not any(op.regions or isinstance(op, memref.StoreOp) for op in after):
            return columns, None
        return distribute(columns, loops[0], after=True, innermost=True)
    cut = next(op for op in loops if isinstance(op, sched.AxisOp))
    return distribute(columns, cut, innermost=True)


def _axes_in(columns: sched.AxisOp) -> list[sched.AxisOp]:
    """Returns the axes that stand right inside of one another in others, the outermost first."""
    found: list[sched.AxisOp] = []
    inner = columns
    while True:
        loops = [op for op in inner.body.block.ops if isinstance(op, Loop)]
        if len(loops) != 1 or not isinstance(loops[0], sched.AxisOp):
            return found
        inner = loops[0]
        found.append(inner)
