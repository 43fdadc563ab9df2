"""
Accesses of kernels that are outside of their buffers whatever the arguments are.

What is looked at happens in every run: what stands in branches, in loops that may run never, or under counts
that are not constants, is left to the interpreters. Indices are sums of counters (ids of work-items, indices
of loops) with constant factors; the counters of an access take all their values independently of one another,
so the least and the greatest index both occur.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..element_types import lanes_of
from ..out_of_bounds import OutOfBoundsError
from .atomic_rmw import AtomicRmwOp
from .tile import TileFmaOp

Counter = tuple[Hashable, range]
"""What stands for one counter wherever it is asked for, and the values that it takes."""

_Index = tuple[int, dict[Hashable, int]]
"""A constant, and the factor of each counter that is added to it."""

_NO_WRAP = 1 << 62
"""Sums of indices below this are what 64 bits make of them; others wrap."""

_BUFFER_OF: dict[type[Operation], int] = {
    memref.LoadOp: 0,
    vector.LoadOp: 0,
    memref.StoreOp: 1,
    vector.StoreOp: 1,
    AtomicRmwOp: 1,
}
"""Which operand of an access is the buffer; the indices come after it."""

_SUMS = frozenset((arith.AddiOp, arith.SubiOp, arith.MuliOp))


def verify_accesses(block: Block, counter_of: Callable[[Operation], Counter | None]) -> None:
    """
    Checks the accesses in the body of a kernel that runs. `counter_of` gives the counter of an op: its
    result's, or that of the loop that it is.

    Raises OutOfBoundsError for the first that is certainly outside of its buffer.
    """
    _Check(counter_of).block(block)


class _Check:
    def __init__(self, counter_of: Callable[[Operation], Counter | None]):
        self.counter_of = counter_of
        self.indices: dict[SSAValue, _Index] = {}
        self.ranges: dict[Hashable, range] = {}

    def block(self, block: Block) -> None:
        indices = self.indices
        for op in block.ops:
            kind = type(op)
            if (position := _BUFFER_OF.get(kind)) is not None:
                self._access(op, position)
            elif kind in _SUMS:
                lhs, rhs = indices.get(op.operands[0]), indices.get(op.operands[1])
                if lhs is not None and rhs is not None and (found := _combined(op, lhs, rhs)) is not None:
                    indices[op.results[0]] = found
            elif kind is arith.ConstantOp:
                if isinstance(value := op.properties.get("value"), IntegerAttr):
                    indices[op.results[0]] = (value.value.data, {})
            elif kind is scf.ForOp:
                bounds = [indices.get(bound) for bound in op.operands[:3]]
                first, end, step = (None if b is None or b[1] else b[0] for b in bounds)
                if first is not None and end is not None and step is not None and step > 0:
                    self._loop(op, (op, range(first, end, step)))
            elif isinstance(op, TileFmaOp):
                self._tile(op)
            elif (counter := self.counter_of(op)) is not None:
                if op.regions:
                    self._loop(op, counter)
                else:
                    self._count(op.results[0], counter)

    def _loop(self, op: Operation, counter: Counter) -> None:
        body = op.regions[0].first_block
        # A kernel is looked at also where ops in it are wrong, which is told apart.
        if counter[1] and body is not None and body.args:
            self._count(body.args[0], counter)
            self.block(body)

    def _count(self, value: SSAValue, counter: Counter) -> None:
        key, self.ranges[key] = counter
        self.indices[value] = (0, {key: 1})

    def _access(self, op: Operation, position: int) -> None:
        operands = op.operands
        type = cast("MemRefType[Attribute]", operands[position].type)
        value = operands[0] if position else op.results[0]
        lanes, last = lanes_of(value.type) or 1, len(operands) - position - 2
        for dim, (extent, subscript) in enumerate(
            zip(type.get_shape(), operands[position + 1 :], strict=False)
        ):
            self._check(op, subscript, extent, ((lanes, 1),) if dim == last else (), dim, last + 1)

    def _tile(self, op: TileFmaOp) -> None:
        if op.live is not None or op.live_rows is not None:
            return
        rows, columns = op.rows.value.data, op.columns.value.data
        depths = [self._constant(depth) for depth in op.depths]
        if op.transposed is not None:
            rows, columns = columns, rows
        self._place(op, op.acc, op.acc_at, ((rows, op.acc_row),), columns)
        if all(depth is not None and depth > 0 for depth in depths):
            rows, columns = op.rows.value.data, op.columns.value.data
            steps = [*zip(depths, op.lhs_steps, strict=True)]
            # Of rows that some steps leave out each may be one that there is not in `lhs`.
            if op.ranges is None:
                self._place(op, op.lhs, op.lhs_at, ((rows, op.lhs_row), *steps), 1)
            self._place(op, op.rhs, op.rhs_at, (*zip(depths, op.rhs_steps, strict=True),), columns)

    def _place(
        self,
        op: TileFmaOp,
        buffer: SSAValue,
        at: SSAValue,
        steps: Sequence[tuple[int | None, SSAValue]],
        contiguous: int,
    ) -> None:
        known = [(count, self._constant(step)) for count, step in steps]
        spans = [(count, step) for count, step in known if count is not None and step is not None]
        extent = cast("MemRefType[Attribute]", buffer.type).get_shape()[0]
        if len(spans) == len(known):
            self._check(op, at, extent, (*spans, (contiguous, 1)), 0, 1)

    def _constant(self, value: SSAValue) -> int | None:
        found = self.indices.get(value)
        return None if found is None or found[1] else found[0]

    def _check(
        self,
        op: Operation,
        subscript: SSAValue,
        extent: int,
        spans: Sequence[tuple[int, int]],
        dim: int,
        rank: int,
    ) -> None:
        """Looks at the elements from `subscript` on, `count` for each of `spans`, `step` from one another."""
        index = self.indices.get(subscript)
        if index is None or extent == DYNAMIC_INDEX:
            return
        low, high = index[0], index[0]
        for first, last in self._ends(index, spans):
            low, high = low + min(first, last), high + max(first, last)
        if (low < 0 or high >= extent) and low > -_NO_WRAP and high < _NO_WRAP:
            wrong = low if low < 0 else high
            where = f"of {extent} elements" if rank == 1 else f"for dim {dim} of extent {extent}"
            reach = "" if low == high else f" (it reaches from {low} to {high})"
            raise OutOfBoundsError(op, f"{op.name}: index {wrong} is out of bounds {where}{reach}")

    def _ends(self, index: _Index, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        for key, factor in index[1].items():
            values = self.ranges[key]
            yield values[0] * factor, values[-1] * factor
        for count, step in spans:
            yield 0, (count - 1) * step


def _combined(op: Operation, lhs: _Index, rhs: _Index) -> _Index | None:
    """Returns the sum, difference or product of two indices; None for a product of counters."""
    if isinstance(op, arith.MuliOp):
        if lhs[1] and rhs[1]:
            return None
        (constant, _), (number, factors) = (rhs, lhs) if lhs[1] else (lhs, rhs)
        return number * constant, {key: factor * constant for key, factor in factors.items()}
    sign = 1 if isinstance(op, arith.AddiOp) else -1
    factors = dict(lhs[1])
    for key, factor in rhs[1].items():
        factors[key] = factors.get(key, 0) + sign * factor
    return lhs[0] + sign * rhs[0], factors
