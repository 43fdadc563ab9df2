"""Writes an axis as pieces of it, one after the other, each with the index arithmetic that is left there."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, Region, SSAValue

from .....dialects import low, sched
from ....indices.analysis import IndexAnalysis
from ....indices.expressions import Axis, variable
from ....scalar.builder import INDEX, ConstantPool, ScalarBuilder
from ....scalar.ops import cmpi, integer_op
from .points import Piece, decided

WHOLE_LANES = 64
"""Parts are multiples of this, so that vectors of any width leave nothing over in them."""


class PieceWriter:
    """Replaces one axis of a kernel by pieces of it."""

    def __init__(self, kernel: sched.KernelOp, axis: sched.AxisOp):
        self.kernel = kernel
        self.axis = axis
        self.constants = ConstantPool(kernel.body.block, axis.location, kernel.sizes)
        self.constants.adopt()

    def write(self, pieces: Sequence[Piece]) -> list[sched.AxisOp]:
        """Writes the pieces in the place of the axis, and returns them."""
        found = self._write_at(self._builder_before(self.axis), pieces)
        self._erase()
        return found

    def write_in_parts(
        self, pieces: Sequence[Piece], middle: Piece, part: int, whole: int = WHOLE_LANES
    ) -> sched.AxisOp:
        """
        Writes an axis, which it returns, over parts of `middle`: about `part` iterations each, a multiple of
        `whole` if there are as many. The first one does the pieces before, the last one what is left of
        `middle` and the pieces after.
        """
        count = middle.extent // part
        size = middle.extent // count // whole * whole or middle.extent // count
        end = middle.begin + count * size
        rest = [Piece(end, middle.end, True)] if end < middle.end else []
        before = [piece for piece in pieces if piece.end <= middle.begin]
        after = [*rest, *(piece for piece in pieces if piece.begin >= middle.end)]
        parts = sched.AxisOp(count)
        parts.index.name_hint = "part"
        parts.index.location = parts.location = self.axis.location
        outside = self._builder_before(self.axis)
        outside.insert(parts)
        b = ScalarBuilder(parts.body.block, None, self.constants)
        b.location = self.axis.location
        self._write_if(b, parts.index, 0, before)
        shift = integer_op(b, arith.MuliOp, parts.index, self.constants.get(size, INDEX))
        self._write_piece(b, Piece(middle.begin, middle.begin + size, True), shift)
        self._write_if(b, parts.index, count - 1, after)
        self._erase()
        return parts

    def write_branches(self, middle: Piece) -> scf.IfOp:
        """
        Has the axis run one of two copies of its body: the first, without clamps and comparisons, in the
        iterations of `middle`, the other one in all others. Returns the branch.
        """
        axis = self.axis
        condition, names = self._condition(axis, middle)
        branches: list[Block] = []
        for _ in range(2):
            branches.append(block := Block())
            values: dict[SSAValue, SSAValue] = {}
            for op in axis.body.block.ops:
                if op not in names:
                    block.add_op(op.clone(values))
            end = scf.YieldOp.create()
            end.location = axis.location
            block.add_op(end)
        for op in reversed([op for op in axis.body.block.ops if op not in names]):
            op.detach()
            op.erase()
        new = scf.IfOp.create(operands=(condition,), regions=[Region(block) for block in branches])
        new.location = axis.location
        axis.body.block.add_op(new)
        inside = variable(Axis(middle.extent, axis.index.name_hint or "i")) + middle.begin
        _Simplifier(new.true_region, self.constants, IndexAnalysis({axis.index: inside})).simplify()
        return new

    def _condition(self, axis: sched.AxisOp, middle: Piece) -> tuple[SSAValue, set[Operation]]:
        """Writes whether an iteration is one of `middle`; returns that, and the ops that it took."""
        b = ScalarBuilder(axis.body.block, axis.body.block.first_op, self.constants)
        b.location = axis.location
        before = set(axis.body.block.ops)
        conditions: list[SSAValue] = []
        if middle.begin:
            conditions.append(cmpi(b, "sge", axis.index, self.constants.get(middle.begin, INDEX)))
        if middle.end != axis.extent:
            conditions.append(cmpi(b, "slt", axis.index, self.constants.get(middle.end, INDEX)))
        condition = conditions[0]
        for other in conditions[1:]:
            condition = b.op(arith.AndIOp, condition, other, hint="is_inside")
        return condition, set(axis.body.block.ops) - before

    def _builder_before(self, op: Operation) -> ScalarBuilder:
        block = op.parent
        assert block is not None, f"{op.name}: stands in no block"
        b = ScalarBuilder(block, op, self.constants)
        b.location = op.location
        return b

    def _write_if(self, b: ScalarBuilder, index: SSAValue, number: int, pieces: Sequence[Piece]) -> None:
        """Writes pieces that only the iteration `number` of `index` does."""
        if not pieces:
            return
        condition = cmpi(b, "eq", index, self.constants.get(number, INDEX))
        block = Block()
        inner = ScalarBuilder(block, None, self.constants)
        inner.location = self.axis.location
        self._write_at(inner, pieces)
        end = scf.YieldOp.create()
        end.location = self.axis.location
        block.add_op(end)
        b.insert(scf.IfOp.create(operands=(condition,), regions=[Region(block), Region()]))

    def _write_at(self, b: ScalarBuilder, pieces: Sequence[Piece]) -> list[sched.AxisOp]:
        return [self._write_piece(b, piece) for piece in pieces]

    def _write_piece(self, b: ScalarBuilder, piece: Piece, shift: SSAValue | None = None) -> sched.AxisOp:
        new = sched.AxisOp(piece.extent)
        new.location = self.axis.location
        new.index.name_hint = self.axis.index.name_hint
        new.index.location = self.axis.index.location
        b.insert(new)
        inner = ScalarBuilder(new.body.block, None, self.constants)
        inner.location = self.axis.location
        index: SSAValue = new.index
        if piece.begin != 0:
            index = integer_op(inner, arith.AddiOp, index, self.constants.get(piece.begin, INDEX))
        if shift is not None:
            index = integer_op(inner, arith.AddiOp, index, shift)
        values: dict[SSAValue, SSAValue] = {self.axis.index: index}
        for op in self.axis.body.block.ops:
            inner.insert(op.clone(values))
        if piece.is_linear:
            _Simplifier(new.body, self.constants, IndexAnalysis()).simplify()
        return new

    def _erase(self) -> None:
        self.axis.detach()
        self.axis.erase()


class _Simplifier:
    """Drops the clamps and comparisons of a piece that its ranges decide, and what is then unused."""

    def __init__(self, piece: Region, constants: ConstantPool, analysis: IndexAnalysis):
        self.piece = piece
        self.constants = constants
        self.analysis = analysis
        self.known: dict[SSAValue, bool] = {}

    def simplify(self) -> None:
        inside = list(self.piece.walk())
        for op in inside:
            match op:
                case arith.CmpiOp() if isinstance(op.lhs.type, IndexType):
                    result = decided(op, self.analysis)
                    if result is not None:
                        self.known[op.result] = result
                case arith.AndIOp() | arith.OrIOp():
                    self._simplify_logic(op)
                case low.SelectOp():
                    condition = self.known.get(op.condition)
                    if condition is not None:
                        op.result.replace_all_uses_with(op.on_true if condition else op.on_false)
                case arith.MinSIOp() | arith.MaxSIOp() | arith.RemUIOp() | arith.DivUIOp():
                    self._simplify_index(op)
                case _:
                    pass
        for op in reversed(inside):
            if op.results and not op.regions and not any(result.uses for result in op.results):
                op.detach()
                op.erase()

    def _simplify_logic(self, op: arith.AndIOp | arith.OrIOp) -> None:
        deciding = isinstance(op, arith.OrIOp)
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            known = self.known.get(value)
            if known is deciding:
                self.known[op.result] = deciding
                return
            if known is not None:
                if other in self.known:
                    self.known[op.result] = self.known[other]
                op.result.replace_all_uses_with(other)
                return

    def _simplify_index(self, op: Operation) -> None:
        result = op.results[0]
        if not isinstance(result.type, IndexType):
            return
        expr = self.analysis.expr(result)
        if expr.is_constant:
            result.replace_all_uses_with(self.constants.get(expr.constant, INDEX))
            return
        clamped = op.operands[0]
        if isinstance(op, arith.MinSIOp) and isinstance(clamped.owner, arith.MaxSIOp):
            clamped = clamped.owner.lhs
        if self.analysis.expr(clamped) == expr:
            result.replace_all_uses_with(clamped)
