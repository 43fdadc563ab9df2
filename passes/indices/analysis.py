"""Index values of a `sched` kernel as expressions of its axes, and the axes that every value depends on."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import sched
from ...dialects.buffer_size import strides_of
from ...dialects.dims.expressions import (
    DimExpr,
    DimSymbol,
    Extent,
    bounded,
    dim,
    greatest,
    is_at_least,
    least,
    upper_bound,
)
from ...dialects.low.constant_integer import constant_integer
from .access import planned_dims
from .expressions import Axis, IndexExpr, Opaque, constant, linearize, opaque, variable

Loop = sched.AxisOp | sched.ReduceOp
"""An op that runs its body for every index of an axis."""


class IndexAnalysis:
    """
    Reads the index arithmetic of one kernel back into normal form. Results are kept: the kernel stays as it
    is. `known` are index values of which more is known than where they come from tells.
    """

    def __init__(self, known: Mapping[SSAValue, IndexExpr] | None = None) -> None:
        self._axes: dict[Operation, Axis] = {}
        self._loops: dict[Axis, Loop] = {}
        self._exprs: dict[SSAValue, IndexExpr] = dict(known or {})
        self._dependences: dict[SSAValue, frozenset[Axis]] = {}
        self._dims: dict[str, DimSymbol] | None = None

    def _dims_around(self, op: Operation) -> dict[str, DimSymbol]:
        """Returns the dims of the module around the kernel, with their bounds."""
        if self._dims is None:
            self._dims = planned_dims(op)
        return self._dims

    def extent(self, op: Loop) -> Extent:
        """Returns how many iterations a loop runs; its dims have their bounds."""
        return self.axis(op).extent

    def most(self, op: Loop) -> int:
        """Returns how many iterations a loop runs, the most where that varies."""
        return upper_bound(self.extent(op))

    def axis(self, op: Loop) -> Axis:
        """Returns the axis that a loop runs over."""
        axis = self._axes.get(op)
        if axis is None:
            extent = op.extent
            if isinstance(extent, DimExpr):
                extent = bounded(extent, self._dims_around(op))
            axis = self._axes[op] = Axis(extent, op.index.name_hint or "i")
            self._loops[axis] = op
        return axis

    def loop(self, axis: Axis) -> Loop:
        """Returns the loop that runs over an axis."""
        return self._loops[axis]

    def expr(self, value: SSAValue) -> IndexExpr:
        """Returns what an index value is in terms of the axes around it."""
        known = self._exprs.get(value)
        if known is None:
            known = self._exprs[value] = self._read(value)
        return known

    def _read(self, value: SSAValue) -> IndexExpr:
        """
        Returns the expression of a value that `_exprs` does not know. Whatever is not understood becomes an
        opaque atom, which is safe: two opaque atoms are equal for the same value only.
        """
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op()
            if isinstance(loop, Loop):
                return variable(self.axis(loop))
            if isinstance(loop, sched.KernelOp):
                return self._read_size(loop, value)
            return self._opaque(value)
        number = constant_integer(value)
        if number is not None:
            return constant(number)
        if isinstance(owner, arith.MinSIOp | arith.MaxSIOp):
            lhs, rhs = self.expr(owner.lhs), self.expr(owner.rhs)
            if lhs.is_constant and rhs.is_constant:
                is_least = isinstance(owner, arith.MinSIOp)
                return constant((least if is_least else greatest)(lhs.constant, rhs.constant))
        if isinstance(owner, arith.MinSIOp):
            clamped = self._read_clamp(owner)
            return self._opaque(value) if clamped is None else clamped
        if len(owner.operands) != 2 or not all(isinstance(v.type, IndexType) for v in owner.operands):
            return self._opaque(value)
        lhs, rhs = self.expr(owner.operands[0]), self.expr(owner.operands[1])
        match owner:
            case arith.AddiOp():
                return lhs + rhs
            case arith.SubiOp():
                return lhs - rhs
            case arith.MuliOp() if rhs.is_constant:
                return lhs * rhs.constant
            case arith.MuliOp() if lhs.is_constant:
                return rhs * lhs.constant
            # Unsigned ops and `floordiv` agree where no operand is negative, which `_is_division` proves.
            case arith.DivUIOp() if _is_division(lhs, rhs):
                return lhs.floordiv(rhs.constant)
            case arith.RemUIOp() if _is_division(lhs, rhs):
                return lhs.mod(rhs.constant)
            case _:
                return self._opaque(value)

    def _read_clamp(self, op: arith.MinSIOp) -> IndexExpr | None:
        raised, last = op.lhs.owner, self.expr(op.rhs)
        if not isinstance(raised, arith.MaxSIOp) or not last.is_constant:
            return None
        return self.expr(raised.lhs).clamp(last.constant) if self.expr(raised.rhs) == constant(0) else None

    def _read_size(self, kernel: sched.KernelOp, value: SSAValue) -> IndexExpr:
        """Returns the dim whose value an argument of a kernel is."""
        for name, size in kernel.sizes.items():
            if size is value:
                return constant(bounded(dim(name), self._dims_around(kernel)))
        return self._opaque(value)

    def _opaque(self, value: SSAValue) -> IndexExpr:
        depends = self.dependences(value)
        return opaque(value, tuple(axis for axis in self.axes_around(value) if axis in depends))

    def is_opaque(self, value: SSAValue) -> bool:
        """Returns whether an index value is in no other terms than itself, so that code must compute it."""
        return any(isinstance(atom, Opaque) and atom.value is value for atom in self.expr(value).terms)

    def address(self, op: memref.LoadOp | memref.StoreOp) -> IndexExpr:
        """Returns the linear index, in elements, of the element that a load or store touches."""
        indices = [self.expr(index) for index in op.indices]
        strides = strides_of(op.memref.type)
        if any(isinstance(stride, DimExpr) for stride in strides):
            dims = self._dims_around(op)
            strides = tuple(bounded(stride, dims) for stride in strides)
        return linearize(indices, strides)

    def dependences(self, value: SSAValue) -> frozenset[Axis]:
        """Returns the axes whose iterations may see different values of a scalar."""
        known = self._dependences.get(value)
        if known is None:
            known = self._dependences[value] = self._find_dependences(value)
        return known

    def _find_dependences(self, value: SSAValue) -> frozenset[Axis]:
        owner = value.owner
        if isinstance(owner, Block):
            return self._dependences_of_argument(value, owner)
        if isinstance(owner, memref.LoadOp):
            found = frozenset(self.address(owner).axes())
            # A local buffer is another one in each iteration around its alloc, at equal indices too.
            buffer = owner.memref.owner
            if isinstance(buffer, sched.AllocOp):
                found |= frozenset(self.axes_around(buffer.result))
            return found
        if isinstance(owner, sched.ReduceOp):
            yielded = frozenset[Axis]().union(*map(self.dependences, owner.yielded))
            return (yielded - {self.axis(owner)}).union(*map(self.dependences, owner.operands))
        # A region may read any axis around it.
        if owner.regions:
            return frozenset(self.axes_around(value))
        if not owner.operands:
            return frozenset()
        return frozenset[Axis]().union(*(self.dependences(operand) for operand in owner.operands))

    def _dependences_of_argument(self, value: SSAValue, block: Block) -> frozenset[Axis]:
        """Values that serial code carries from one iteration to the next may depend on all axes around it."""
        around = block.parent_op()
        match around:
            case sched.AxisOp() | sched.ReduceOp():
                return frozenset(variable(self.axis(around)).axes())
            case scf.ForOp() if value is block.args[0]:
                return frozenset[Axis]().union(*(self.dependences(bound) for bound in around.operands[:3]))
            case _:
                return frozenset(self.axes_around(value))

    def axes_around(self, value: SSAValue) -> list[Axis]:
        """Returns the axes around the place where a value is defined, innermost first."""
        axes: list[Axis] = []
        parent = value.owner.parent_op()
        while parent is not None:
            if isinstance(parent, Loop):
                axes.append(self.axis(parent))
            parent = parent.parent_op()
        return axes


def _is_division(lhs: IndexExpr, rhs: IndexExpr) -> bool:
    return rhs.is_constant and is_at_least(rhs.constant, 1) and is_at_least(lhs.low, 0)
