"""
Collapses two axes around a reduction, or two reductions, into one, where all accesses are contiguous.

    sched.axis %i = 56 {                                   sched.axis %i_j = 3136 {
      sched.axis %j = 56 {                                   %i = arith.divui %i_j, %c56 : index
        %s = sched.reduce fma %k = 64 : f32 {                %j = arith.remui %i_j, %c56 : index
          ...                                      -->       %s = sched.reduce fma %k = 64 : f32 {
        }                                                      ...
        memref.store %s, %y[%i, %j]                          }
      }                                                      memref.store %s, %y[%i, %j]
    }                                                      }

The rows and columns of an image are one dim for a convolution with a window of 1, or for a pooling over
channels. Vectors and register tiles then leave nothing over at the end of each row. Rows and columns of a
product of matrices are not: each side has only one of them, also where it lies in panels.

Two reductions, one of what the other gives, become one likewise where their order is of no matter: the
greatest element of a matrix is that of all its elements, and not that of one row after the other. They stay
two where another reduction of what they read does, beside them, and rows are long: the loops of both become
one later.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import NBYTES, element_type_of, is_float
from ....dialects.sched import MappingAttr
from ...indices.analysis import IndexAnalysis
from ...indices.expressions import Atom, Axis, Clamp, Element, FloorDiv, IndexExpr, Mod, Opaque
from ...indices.nests import nest_of
from ..steps.loop_nests.reassociation import rounds
from ..steps.primitives.fuse import fuse
from .merged_kernels import nested_reductions

LEAST_ROW_NBYTES = 1024
"""
How long the rows are that a reduction goes over one after the other because one beside it does: its lanes
are combined after each. On a virtual AMD EPYC (Zen 4), a maximum and a sum of 256,000 to 384,000 f32 take
1.89 of the time in rows of 256 bytes, 1.29 in rows of 512, 0.95 in rows of 1024 and 0.77 in rows of 2048; of
f64 1.31 in rows of 512 bytes and 0.91 in rows of 1024.
"""

LEAST_ROW = 8
"""
The same in elements, of integers and of bits, whose lanes are combined in a few instructions. A masked sum
and a count take 1.2 of the time in rows of 6, 0.85 in rows of 8, 0.7 to 0.9 in rows of 50 to 128.
"""

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class CollapseAxesPass(ModulePass):
    """Collapses two axes around a reduction, or two reductions, into one, where accesses are contiguous."""

    name = "collapse-axes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp) and any(
                isinstance(inner, sched.ReduceOp) for inner in kernel.walk()
            ):
                while (pair := _pair(kernel)) is not None:
                    fuse(*pair)
                while (reductions := _reductions(kernel)) is not None:
                    fuse(*reductions)


def _pair(kernel: sched.KernelOp) -> tuple[sched.AxisOp, sched.AxisOp] | None:
    """Returns two axes of a kernel that can be one."""
    nest = nest_of(kernel)
    if any(axis.mapping != _SERIAL for axis in nest):
        return None
    analysis = IndexAnalysis()
    for outer, inner in pairwise(nest):
        if outer.count is None and inner.count is None and _are_contiguous(kernel, analysis, outer, inner):
            return outer, inner
    return None


def _are_contiguous(
    kernel: sched.KernelOp,
    analysis: IndexAnalysis,
    outer: sched.AxisOp | sched.ReduceOp,
    inner: sched.AxisOp | sched.ReduceOp,
) -> bool:
    """Returns whether two loops of several iterations are one in every index of a kernel."""
    axes = analysis.axis(outer), analysis.axis(inner)
    if any(upper_bound(axis.extent) <= 1 for axis in axes):
        return False
    return all(_is_one(expr, *axes) for expr in _indices(kernel, analysis))


def _reductions(kernel: sched.KernelOp) -> tuple[sched.ReduceOp, sched.ReduceOp] | None:
    """Returns two reductions of a kernel that can be one."""
    analysis = IndexAnalysis()
    for outer in kernel.walk():
        if not isinstance(outer, sched.ReduceOp):
            continue
        last = outer.body.block.last_op
        assert last is not None, "verified"
        inner = last.prev_op
        if not isinstance(inner, sched.ReduceOp) or list(last.operands) != [inner.result]:
            continue
        # The rest of the body makes indices.
        others = [op for op in outer.body.block.ops if op not in (inner, last)]
        if any(
            not isinstance(value.type, IndexType) for op in others for value in (*op.operands, *op.results)
        ):
            continue
        if (
            _are_one_reduction(outer, inner)
            and _are_contiguous(kernel, analysis, outer, inner)
            and not _goes_with_another(outer)
        ):
            return outer, inner
    return None


def _are_one_reduction(outer: sched.ReduceOp, inner: sched.ReduceOp) -> bool:
    """Returns whether two reductions combine all elements alike, in whatever order."""
    kind = outer.kind.data
    if kind is not inner.kind.data or kind.adds_products or rounds(outer):
        return False
    return all(
        each.mapping == _SERIAL and each.count is None and each.init is None and each.tile_shape is None
        for each in (outer, inner)
    )


def _goes_with_another(reduction: sched.ReduceOp) -> bool:
    """Returns whether a reduction of long rows stands beside one of the same, which has to be one of rows."""
    while isinstance(around := reduction.parent_op(), sched.ReduceOp):
        reduction = around
    read = _read(reduction)
    extents = [each.extent for each in nested_reductions(reduction)]
    widest = max((NBYTES[element_type_of(buffer.type)] for buffer in read), default=0)
    least = -(-LEAST_ROW_NBYTES // widest) if is_float(reduction.result.type) and widest else LEAST_ROW
    if not isinstance(extents[-1], int) or extents[-1] < least:
        return False
    assert reduction.parent is not None, "sched.reduce: stands in no block"
    for op in reduction.parent.ops:
        if isinstance(op, sched.ReduceOp) and op is not reduction and not read.isdisjoint(_read(op)):
            others = nested_reductions(op)
            if [each.extent for each in others] == extents and not all(
                _are_one_reduction(*pair) for pair in pairwise(others)
            ):
                return True
    return False


def _read(reduction: sched.ReduceOp) -> set[SSAValue]:
    return {op.memref for op in reduction.walk() if isinstance(op, memref.LoadOp)}


def _indices(kernel: sched.KernelOp, analysis: IndexAnalysis) -> Iterable[IndexExpr]:
    """Yields the addresses of all accesses, and what else is made of indices but other indices."""
    for op in kernel.walk():
        if isinstance(op, memref.LoadOp | memref.StoreOp):
            yield analysis.address(op)
        elif op.results and not isinstance(op.results[0].type, IndexType):
            for operand in op.operands:
                if isinstance(operand.type, IndexType):
                    yield analysis.expr(operand)


def _is_one(expr: IndexExpr, outer: Axis, inner: Axis) -> bool:
    """
    Returns whether an index depends on two axes as on one over all iterations of both, or on neither.

    A value that depends on one of the two alone does not: neither as it is, nor as a part of the index.
    """
    if expr.terms.get(outer, 0) != expr.terms.get(inner, 0) * inner.extent:
        return False
    return all(_is_part_of_one(atom, outer, inner) for atom in expr.terms)


def _is_part_of_one(atom: Atom, outer: Axis, inner: Axis) -> bool:
    match atom:
        case Axis():
            return True
        case FloorDiv(operand, _) | Mod(operand, _) | Clamp(operand, _):
            return _is_one(operand, outer, inner)
        case Element(_, indices, _):
            return all(_is_one(index, outer, inner) for index in indices)
        case Opaque(_, along):
            return (outer in along) == (inner in along)
