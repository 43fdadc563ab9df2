"""
Writes symbolic indices as index arithmetic.

An index is written term by term, each where all of it is first known, so that it stands outside of loops it
does not need; a term that is there already is used again.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ....dialects.dims.expressions import Extent
from ...indices.expressions import (
    Atom,
    Axis,
    Clamp,
    Element,
    FloorDiv,
    IndexExpr,
    Leaf,
    Mod,
    Opaque,
    check_not_negative,
    constant,
    opaque,
    variable,
)
from ...scalar.builder import INDEX
from .lanes import LaneAxis, LanedValue, Lanes, lane_offsets
from .writer import NO_OVERFLOW, InsertionPoint, KernelWriter


class IndexWriter:
    """
    Writes the indices of one kernel. `bindings` says for each axis of the `sched` kernel what its index is
    now, in terms of axes that `bind` made of values of the `low` kernel; `scalars` are what the values of the
    `sched` kernel are there.
    """

    __slots__ = ("_points", "_values", "bindings", "scalars", "writer")

    def __init__(self, writer: KernelWriter, scalars: dict[SSAValue, LanedValue]):
        self.writer = writer
        self.scalars = scalars
        self.bindings: dict[Axis, IndexExpr] = {}
        self._values: dict[Axis, SSAValue] = {}
        self._points: dict[Axis, InsertionPoint] = {}

    def bind(self, value: SSAValue, extent: Extent, hint: str) -> IndexExpr:
        """Makes an index value of the `low` kernel an axis that expressions are written in."""
        axis = Axis(max(extent, 2) if isinstance(extent, int) else extent, hint)
        self._values[axis] = value
        self._points[axis] = self.writer.homes[value] = self.writer.point
        return variable(axis)

    def write_for(
        self, op: Operation, expr: IndexExpr, active: Sequence[LaneAxis] = (), lanes: Lanes = ()
    ) -> SSAValue:
        """
        Returns an index that `op` uses, for one combination of lanes of `active`.

        Raises PassFailedException, naming the op, for one that each lane of a vector has of its own.
        """
        offsets = lane_offsets(active, lanes)

        def replacement(leaf: Leaf) -> IndexExpr:
            if isinstance(leaf, Axis):
                bound = self.bindings.get(leaf)
                if bound is not None:
                    return bound + offsets.get(leaf, 0)
            else:
                value = self.scalars.get(leaf.value)
                if value is not None:
                    return opaque(value.pick(active, lanes), ())
            raise PassFailedException(
                f"{op.name}: cannot be a vector (its index is loaded or computed for each lane)"
            )

        return self.write(expr.substitute(replacement), op.location)

    def write(self, expr: IndexExpr, location: LocationAttr) -> SSAValue:
        """Returns an index over axes that `bind` made, term by term, the outermost first."""
        if expr.is_constant:
            return self.writer.constants.get(expr.constant, INDEX)
        by_depth = sorted(expr.terms.items(), key=lambda term: self._depth(term[0]))
        so_far, value = constant(0), None
        for atom, factor in by_depth:
            so_far = so_far + IndexExpr({atom: factor}, 0)
            point = self.writer.points[self._depth(by_depth[len(so_far.terms) - 1][0])]
            known = point.indices.get(so_far)
            if known is None:
                known = self._term(point, atom, factor, location)
                if value is not None:
                    known = self._op_at(point, arith.AddiOp, value, known, location)
                point.indices[so_far] = known
            value = known
        assert value is not None, "an index without terms is a constant"
        return self._add_constant(expr, value, location) if expr.constant != 0 else value

    def _add_constant(self, expr: IndexExpr, value: SSAValue, location: LocationAttr) -> SSAValue:
        point = self.writer.points[max(self._depth(atom) for atom in expr.terms)]
        known = point.indices.get(expr)
        if known is None:
            offset = self.writer.constants.get(expr.constant, INDEX)
            known = point.indices[expr] = self._op_at(point, arith.AddiOp, value, offset, location)
        return known

    def op(self, op_type: type[Operation], lhs: SSAValue, rhs: SSAValue, location: LocationAttr) -> SSAValue:
        """Inserts an op on two indices at the innermost insertion point."""
        return self._op_at(self.writer.point, op_type, lhs, rhs, location)

    def _term(self, point: InsertionPoint, atom: Atom, factor: Extent, location: LocationAttr) -> SSAValue:
        alone = IndexExpr({atom: 1}, 0)
        value = point.indices.get(alone)
        if value is None:
            value = point.indices[alone] = self._atom(point, atom, location)
        if factor == 1:
            return value
        scaled = IndexExpr({atom: factor}, 0)
        known = point.indices.get(scaled)
        if known is None:
            by = self.writer.constants.get(factor, INDEX)
            known = point.indices[scaled] = self._op_at(point, arith.MuliOp, value, by, location)
        return known

    def _atom(self, point: InsertionPoint, atom: Atom, location: LocationAttr) -> SSAValue:
        if isinstance(atom, Axis):
            return self._values[atom]
        if isinstance(atom, Opaque):
            return atom.value
        assert not isinstance(atom, Element), f"{atom} is no index of a kernel"
        operand = self.write(atom.operand, location)
        constants = self.writer.constants
        if isinstance(atom, Clamp):
            zero, last = constants.get(0, INDEX), constants.get(atom.last, INDEX)
            raised = self._op_at(point, arith.MaxSIOp, operand, zero, location)
            return self._op_at(point, arith.MinSIOp, raised, last, location)
        check_not_negative("arith", atom.operand)
        op_type = arith.DivUIOp if isinstance(atom, FloorDiv) else arith.RemUIOp
        return self._op_at(point, op_type, operand, constants.get(atom.divisor, INDEX), location)

    def _op_at(
        self,
        point: InsertionPoint,
        op_type: type[Operation],
        lhs: SSAValue,
        rhs: SSAValue,
        location: LocationAttr,
    ) -> SSAValue:
        properties = NO_OVERFLOW if op_type in (arith.AddiOp, arith.MuliOp, arith.SubiOp) else {}
        point.builder.location = location
        value = point.builder.op(op_type, lhs, rhs, properties=dict(properties))
        self.writer.homes[value] = point
        return value

    def _depth(self, atom: Atom) -> int:
        match atom:
            case Axis():
                return self._points[atom].depth
            case Opaque(value, _):
                return self.writer.homes.get(value, self.writer.top).depth
            case Element():
                raise AssertionError(f"{atom} is no index of a kernel")
            case FloorDiv() | Mod() | Clamp():
                return max((self._depth(inner) for inner in atom.operand.terms), default=0)
