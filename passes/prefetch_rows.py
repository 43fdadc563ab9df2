"""
Lets kernels that read every row several times fetch the next row while they work on one.

    sched.axis %i = 4096 block(16) {                          sched.axis %i = 4096 block(16) {
      %m = sched.reduce maximumf %j = 1024 vector(16) {         ...
        %v = memref.load %x[%i, %j]
        ...
      sched.axis %j_1 = 1024 vector(16) {               -->     sched.axis %j_1 = 1024 vector(16) {
        %w = memref.load %x[%i, %j_1]                             %w = memref.load %x[%i, %j_1]
        ...                                                           {tenon.prefetch = 1024 : index}

The first loop over a row waits for memory, and computes little; those after it find the row in the caches,
and let memory rest. Processors fetch what comes next in a row by themselves, but not the next row. The last
loop that reads the row names it, a few rows ahead where rows are short.

Only loads of buffers larger than the second cache, whose rows are no more than a quarter of it. Where the row
after the last one would be, there may be nothing: what a load names is never looked at.

Requires: mapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ..dialects import sched
from ..dialects.buffer_size import size_of
from ..dialects.dim_expr import upper_bound
from ..dialects.element_types import NBYTES, element_type_of
from ..dialects.prefetch import set_prefetch_distance
from .util.index_analysis import IndexAnalysis, Loop

LEAST_AHEAD_NBYTES = 4096
"""What is needed sooner than after this many bytes comes too late."""


@dataclass(frozen=True)
class PrefetchRowsPass(ModulePass):
    """Lets kernels that read every row several times fetch the next row while they work on one."""

    name = "prefetch-rows"
    l2_nbytes: int = 1 << 20

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.l2_nbytes < 1:
            raise PassFailedException(f"{self.name}: l2-nbytes {self.l2_nbytes} must be 1 or more")
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                self._visit(kernel)

    def _visit(self, kernel: sched.KernelOp) -> None:
        analysis = IndexAnalysis()
        for rows in kernel.walk():
            if isinstance(rows, sched.AxisOp) and rows.mapping.step == 1:
                for loop, load in _last_reads(rows):
                    distance = self._distance(analysis, rows, loop, load)
                    if distance is not None:
                        set_prefetch_distance(load, distance)
                        _note(kernel, loop, rows)

    def _distance(
        self, analysis: IndexAnalysis, rows: sched.AxisOp, loop: Loop, load: memref.LoadOp
    ) -> int | None:
        """Returns how many elements ahead a load should fetch; None where it need not."""
        address, nbytes = analysis.address(load), NBYTES[element_type_of(load.memref.type)]
        row = address.stride(analysis.axis(rows))
        if not isinstance(row, int) or row <= 0 or address.stride(analysis.axis(loop)) != 1:
            return None
        most = upper_bound(size_of(load.memref.type))
        if most * nbytes <= self.l2_nbytes or row * nbytes > self.l2_nbytes // 4:
            return None
        return row * -(-LEAST_AHEAD_NBYTES // (row * nbytes))


def _last_reads(rows: sched.AxisOp) -> Iterator[tuple[Loop, memref.LoadOp]]:
    """
    Yields the loads of vectors of a kernel's buffers that loops before theirs have too, and none after it,
    with their loops; all of these stand right under `rows` and hold no other loop.
    """
    found: dict[tuple[SSAValue, ...], list[tuple[Loop, memref.LoadOp]]] = {}
    for loop in rows.body.block.ops:
        if not isinstance(loop, Loop) or loop.mapping.vector.data == 1:
            continue
        if any(op.regions for op in loop.body.block.ops):
            continue
        for op in loop.body.block.ops:
            if not isinstance(op, memref.LoadOp) or not isinstance(op.memref, BlockArgument):
                continue
            if op.indices and op.indices[-1] is loop.index:
                found.setdefault((op.memref, *op.indices[:-1]), []).append((loop, op))
    for reads in found.values():
        if reads[0][0] is not reads[-1][0]:
            yield reads[-1]


def _note(kernel: sched.KernelOp, loop: Loop, rows: sched.AxisOp) -> None:
    """Adds to the reasons of a kernel's schedule."""
    clause = f"{loop.index.name_hint or 'axis'}: fetches what later {rows.index.name_hint or 'rows'} need"
    reasons = [] if kernel.schedule is None else kernel.schedule.data.split("; ")
    if clause not in reasons:
        kernel.schedule = StringAttr("; ".join([*reasons, clause]))
