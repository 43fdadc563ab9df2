"""
Makes one axis of two around a reduction, where every access goes on from the end of the inner one.

    sched.axis %i = 56 {                                   sched.axis %i_j = 3136 {
      sched.axis %j = 56 {                                   %i = arith.divui %i_j, %c56 : index
        %s = sched.reduce fma %k = 64 : f32 {                %j = arith.remui %i_j, %c56 : index
          ...                                      -->       %s = sched.reduce fma %k = 64 : f32 {
        }                                                      ...
        memref.store %s, %y[%i, %j]                          }
      }                                                      memref.store %s, %y[%i, %j]
    }                                                      }

The rows and columns of an image are one dim for a convolution with a window of 1, or for a pooling over
channels. Vectors and register tiles then leave nothing over at the end of each row.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.passes import ModulePass

from ..dialects import sched
from ..dialects.sched import MappingAttr
from .schedule.fuse import fuse
from .util.axis_nest import nest_of
from .util.index_analysis import IndexAnalysis
from .util.index_expr import Axis, IndexExpr, Leaf, Opaque, axes_of, opaque, variable

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class MergeAxesPass(ModulePass):
    """Makes one axis of two around a reduction that go on from one another in every access."""

    name = "merge-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp) and any(
                isinstance(inner, sched.ReduceOp) for inner in kernel.walk()
            ):
                while (pair := _pair(kernel)) is not None:
                    fuse(*pair)


def _pair(kernel: sched.KernelOp) -> tuple[sched.AxisOp, sched.AxisOp] | None:
    """Returns two axes of a kernel that can be one."""
    nest = nest_of(kernel)
    if any(axis.mapping != _SERIAL for axis in nest):
        return None
    analysis = IndexAnalysis()
    for outer, inner in pairwise(nest):
        extents = outer.extent.data, inner.extent.data
        if outer.count is not None or inner.count is not None:
            continue
        if not all(isinstance(extent, int) and extent > 1 for extent in extents):
            continue
        if all(_is_one(expr, outer, inner, analysis) for expr in _indices(kernel, analysis)):
            return outer, inner
    return None


def _indices(kernel: sched.KernelOp, analysis: IndexAnalysis) -> Iterable[IndexExpr]:
    """Yields the addresses of all accesses, and what else is made of indices but other indices."""
    for op in kernel.walk():
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            yield analysis.address(op)
        elif op.results and not isinstance(op.results[0].type, IndexType):
            for operand in op.operands:
                if isinstance(operand.type, IndexType):
                    yield analysis.expr(operand)


def _is_one(expr: IndexExpr, outer: sched.AxisOp, inner: sched.AxisOp, analysis: IndexAnalysis) -> bool:
    """Returns whether an index depends on two axes as on one over all iterations of both."""
    first, second = analysis.axis(outer), analysis.axis(inner)
    if first not in expr.axes() and second not in expr.axes():
        return True
    extent = second.extent
    assert isinstance(first.extent, int) and isinstance(extent, int), "extents are numbers"
    merged = Axis(first.extent * extent, "merged")

    def replacement(leaf: Leaf) -> IndexExpr:
        if leaf is first:
            return variable(merged).floordiv(extent)
        if leaf is second:
            return variable(merged).mod(extent)
        return opaque(leaf.value, leaf.along) if isinstance(leaf, Opaque) else variable(leaf)

    return _bends(expr.substitute(replacement), {merged}) <= _bends(expr, {first, second})


def _bends(expr: IndexExpr, axes: set[Axis]) -> int:
    """Returns how many parts of an index are not linear along some axes."""
    return sum(not isinstance(atom, Axis) and not axes.isdisjoint(axes_of(atom)) for atom in expr.terms)
