"""
The kernel of `graph.cumulate`: serial along its axis, parallel over all others.

Along the last axis the combined value is carried in a register. Along another one, tiles of the last axis go
side by side as vectors, and what is combined so far is kept in a local buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .....dialects import graph
from .....dialects.element_types import compute_type, is_float
from ....indices.access import shape_of
from ....scalar.ops import select
from ....scalar.rules import element_type
from ..code import KernelCode
from .combining import combine, identity_of, neutral
from .interface import ProgramPart
from .tiles import TILE, tiled


def write(part: ProgramPart, op: graph.CumulateOp) -> None:
    code = KernelCode(op)
    source = code.buffer(op.source.type, op.source.name_hint)
    result = code.buffer(op.result.type, op.result.name_hint)
    _Cumulate(code, op, source, result).write()
    part.launch(code, [part.buffer_of(op.source), part.buffer_of(op.result)])


class _Cumulate:
    def __init__(self, code: KernelCode, op: graph.CumulateOp, source: SSAValue, result: SSAValue):
        self.code = code
        self.op = op
        self.source = source
        self.result = result
        self.shape = shape_of(op.source, op.name)
        self.axis = op.axis.data
        self.type = element_type(op.source)

    def write(self) -> None:
        last = len(self.shape) - 1
        parts, size = tiled(self.shape[last])
        if self.axis == last or not isinstance(size, int) or not 4 <= size <= TILE:
            others = [extent for axis, extent in enumerate(self.shape) if axis != self.axis]
            with self.code.axes(others) as around:
                self._in_a_register(around)
            return
        outer = [extent for axis, extent in enumerate(self.shape[:last]) if axis != self.axis]
        with self.code.axes([*outer, *([parts] if parts > 1 else [])]) as around:
            first: SSAValue | None = None
            if parts > 1:
                first = self.code.integer(arith.MuliOp, around.pop(), self.code.index(size))
            self._in_a_buffer(around, first, size)

    def _in_a_register(self, around: list[SSAValue]) -> None:
        code = self.code

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            number, total = arguments
            return (self._step(number, total, around),)

        start = neutral(code, self.op.kind.data.value, self.type)
        code.count(self.shape[self.axis], (start,), body, ("k", "total"))

    def _in_a_buffer(self, around: list[SSAValue], first: SSAValue | None, size: int) -> None:
        code = self.code
        totals = code.alloc(compute_type(self.type), [size], "totals")
        with code.axis(size, "j") as inner:
            code.store(neutral(code, self.op.kind.data.value, self.type), totals, [inner])

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            with code.axis(size, "j") as inner:
                last = inner if first is None else code.integer(arith.AddiOp, first, inner)
                total = code.load(totals, [inner], "total")
                code.store(self._step(arguments[0], total, [*around, last]), totals, [inner])
            return ()

        code.count(self.shape[self.axis], (), body)

    def _step(self, number: SSAValue, total: SSAValue, around: list[SSAValue]) -> SSAValue:
        """Stores element `number` along the axis; returns what is combined so far with it."""
        code, op, kind = self.code, self.op, self.op.kind.data.value
        position = number
        if op.reverse is not None:
            position = code.integer(arith.SubiOp, code.index(self.shape[self.axis] - 1), number)
        place = [*around[: self.axis], position, *around[self.axis :]]
        after = combine(
            code, kind, self.type, total, code.load_element(self.source, self.type, place), "total"
        )
        stored = after
        if op.exclusive is not None:
            stored = total
            if kind == "add" and is_float(self.type):
                is_first = code.compare("eq", number, code.index(0))
                stored = select(code.b, is_first, identity_of(code, kind, self.type), total)
        code.store_element(stored, self.result, self.type, place)
        return after
