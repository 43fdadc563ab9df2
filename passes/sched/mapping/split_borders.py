"""
Splits axes where the borders of an array change what an index is, so that what lies between runs as vectors.

    sched.axis %i = 64 {
      %below = arith.addi %i, %cm1 : index
      %is_inside = arith.cmpi sge, %below, %c0 : index
      %raised = arith.maxsi %below, %c0 : index
      %held = arith.minsi %raised, %c62 : index
      %v = memref.load %x[%held] : memref<63xf32>
      %w = low.select %is_inside, %v, %zero : f32
      memref.store %w, %y[%i] : memref<64xf32>
    }

-->

    sched.axis %i = 1 { ... }
    sched.axis %i_1 = 63 {
      %at = arith.addi %i_1, %c1 : index
      %below = arith.addi %at, %cm1 : index
      %v = memref.load %x[%below] : memref<63xf32>
      memref.store %v, %y[%at] : memref<64xf32>
    }

Pads, rolls, concatenations and whatever else clamps, compares or wraps indices leave an innermost axis whose
accesses have no stride. It is split at the iterations where a clamp, a comparison, a quotient or a remainder
changes; what is not linear in between, or too short to be a vector, stays as it was.

The only axis of a kernel is to become work-groups. It is then split into parts of about `block-elements`
iterations, of which the first and the last do what is left over at the ends too:

    sched.axis %part = 8 {
      scf.if %is_first { sched.axis ... }
      sched.axis %i = 16384 { ... }
      scf.if %is_last { sched.axis ... }
    }

Where an innermost axis stores neighbours and loads none, the axis around it along which the loads have their
neighbours is split likewise: what lies between is transposed in registers.

A kernel that combines what lies in windows is split further out, too: the axis right around the innermost
one, and those around that by a branch, so that they stay one axis:

    sched.axis %y = 56 {
      scf.if %is_inside {
        sched.axis %x = 1 { ... }
        sched.axis %x_1 = 54 { ... }
        sched.axis %x_2 = 1 { ... }
      } else {
        sched.axis %x_3 = 56 { ... }
      }
    }

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import sched
from ....dialects.sched import MappingAttr
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.lanes import LOADED_STRIDES
from ...indices.nests import axes_inside, nest_of
from ..steps.borders.points import LEAST_LANES
from ..steps.primitives.partition import cut, longest_piece, pieces_along

ROWS = 8
"""As many iterations of the axis around a vector may be unrolled."""

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class SplitBordersPass(ModulePass):
    """Splits axes where pads, rolls and concatenations begin and end, so that the rest runs as vectors."""

    name = "split-borders"
    block_elements: int = 16384

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.block_elements < 1:
            raise PassFailedException(f"{self.name}: block-elements {self.block_elements} must be 1 or more")
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                self._split(kernel)

    def _split(self, kernel: sched.KernelOp) -> None:
        self._separate(kernel, _windowed_nest(kernel))
        for axis in _turned_rows(kernel):
            pieces = pieces_along(axis, outer=True)
            if pieces is None or len(pieces) == 1:
                continue
            if longest_piece(pieces).extent >= LEAST_LANES:
                cut(axis, pieces, outer=True)
        for axis in [op for op in kernel.walk() if isinstance(op, sched.AxisOp)]:
            if not _may_split(axis):
                continue
            pieces = pieces_along(axis)
            if pieces is None or not any(piece.is_linear for piece in pieces) or len(pieces) == 1:
                continue
            is_long = longest_piece(pieces).extent >= 2 * self.block_elements
            cut(axis, pieces, self.block_elements if is_long and _is_all(axis, kernel) else 0)

    def _separate(self, kernel: sched.KernelOp, nest: list[sched.AxisOp]) -> None:
        """Separates what windows read inside of an array from what they read across its borders."""
        for number, axis in enumerate(nest[:-1]):
            pieces = pieces_along(axis, outer=True)
            if pieces is None:
                return
            longest = longest_piece(pieces).extent
            assert isinstance(axis.extent, int), "an axis of a windowed nest"
            if len(pieces) == 1 or 2 * longest < axis.extent:
                continue
            if number < len(nest) - 2:
                _, inner = cut(axis, pieces, branch=True, outer=True)
                assert isinstance(inner, sched.AxisOp), "a branch around the next axis"
                self._separate(kernel, axes_inside(inner))
            elif _is_all(axis, kernel):
                rows = -(-self.block_elements // _iterations(axis) // ROWS) * ROWS
                cut(axis, pieces, min(rows, longest), ROWS, outer=True)
            else:
                cut(axis, pieces, outer=True)
            return


def _windowed_nest(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """
    Returns the axes of a kernel that does nothing but combine elements in the innermost of them, without the
    outermost ones whose extents vary; none of another kernel.
    """
    nest = nest_of(kernel)
    while nest and not isinstance(nest[0].extent, int):
        nest = nest[1:]
    if not nest or any(axis.mapping != _SERIAL or axis.count is not None for axis in nest):
        return []
    if not all(isinstance(axis.extent, int) and axis.extent > 0 for axis in nest):
        return []
    inside = [op for op in nest[-1].walk() if op is not nest[-1] and op.regions]
    if not inside or not all(isinstance(op, sched.ReduceOp) and op.mapping == _SERIAL for op in inside):
        return []
    return nest


def _turned_rows(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """
    Returns the axis, if there is one, along which the loads of a kernel have their neighbours where they have
    none along the innermost one, which combines nothing.
    """
    nest = nest_of(kernel)
    if not nest or any(axis.mapping != _SERIAL or axis.count is not None for axis in nest):
        return []
    columns, analysis = nest[-1], IndexAnalysis()
    if any(op.regions for op in columns.body.block.ops):
        return []
    loads = [op for op in columns.walk() if isinstance(op, memref.LoadOp)]
    strides = [analysis.address(op).stride(analysis.axis(columns)) for op in loads]
    turned = [op for op, stride in zip(loads, strides, strict=True) if stride not in LOADED_STRIDES]
    along = {axis for op in turned for axis in analysis.expr(op.indices[-1]).axes()}
    rows = [axis for axis in nest[:-1] if analysis.axis(axis) in along]
    return rows if len(rows) == 1 and isinstance(rows[0].extent, int) else []


def _iterations(axis: sched.AxisOp) -> int:
    """Returns how often what is innermost below an axis runs in one iteration."""
    loops = [op for op in axis.walk() if op is not axis and isinstance(op, Loop)]
    return prod(op.extent for op in loops if isinstance(op.extent, int))


def _may_split(axis: sched.AxisOp) -> bool:
    """Returns whether an axis is unmapped, of known extent, and has none but reductions in it."""
    if axis.mapping != _SERIAL or axis.count is not None or not isinstance(axis.extent, int):
        return False
    return axis.extent > LEAST_LANES and not any(
        op is not axis and isinstance(op, sched.AxisOp | sched.AllocOp | scf.ForOp | scf.IfOp | scf.WhileOp)
        for op in axis.walk()
    )


def _is_all(axis: sched.AxisOp, kernel: sched.KernelOp) -> bool:
    """Returns whether a kernel does nothing beside an axis."""
    return axis.parent is kernel.body.block and not any(
        op is not axis and (bool(op.regions) or isinstance(op, memref.StoreOp | sched.AllocOp))
        for op in kernel.body.block.ops
    )
