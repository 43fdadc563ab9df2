"""
Lets kernels prefetch what they will read soon: the next row while they work on one.

    sched.axis %i = 4096 block(16) {                          sched.axis %i = 4096 block(16) {
      %m = sched.reduce maximumf %j = 1024 vector(16) {         ...
        %v = memref.load %x[%i, %j]
        ...
      sched.axis %j_1 = 1024 vector(16) {               -->     sched.axis %j_1 = 1024 vector(16) {
        %w = memref.load %x[%i, %j_1]                             %w = memref.load %x[%i, %j_1]
        ...                                                           {tenon.prefetch = 1024 : index}

The first loop over a row waits for memory and computes little. The loops after it find the row in the caches,
and memory rests. So the last loop that reads the row prefetches the next one. A row that only one loop reads,
or that is larger than the second cache, is prefetched `AHEAD_NBYTES` ahead: the prefetcher of a processor
stops at the end of a page, and it is too late for loops that compute much. Short rows are prefetched a few
rows ahead.

The row that the next iteration of a serial loop reads is fetched into the second cache, unless it is a whole
row right behind this one: rows of triangles, and those that are read from the last one on. On a Zen 4 solves
with a triangle of 2000 f64 take 0.4 to 0.5 of the time.

Where the first cache is small, the next row goes into the second one: it would take the place of what the
loops over this one go on reading. Long rows of loops that compute little are left to the processor there,
and rows that one loop alone reads to store others: prefetches stand in the way of what it stores.
Where half of the third cache does not hold the array, short rows that a reduction of little work alone reads
go into the second one too, `NEAR_NBYTES` ahead, be it one row or several at once, and so do rows that are
reduced to columns side by side, one behind the other. What is transposed in squares fetches the next line of
each row there: these are more streams than the processor finds.

The pass marks loads of vectors from buffers larger than the second cache. The loop must load from the buffer
once: windows that overlap would prefetch the same elements several times. The last row prefetches beyond the
buffer. That is safe, as a prefetch of an address that does not exist does nothing.

Requires: mapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from ....dialects import low, sched
from ....dialects.buffer_size import size_of
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.low.prefetch import set_prefetch_distance
from ....dialects.modules.kernel_access import kernels_of
from ....dialects.sched import CombineKind
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.lanes import LOADED_STRIDES
from ...indices.nests import axes_around
from ...indices.serial_steps import Numbers, row_step
from ...machine.cost import LINE_NBYTES
from ...machine.target import L1_NBYTES, L2_NBYTES, L3_NBYTES, check_positive
from .reasons import add_reason

AHEAD_NBYTES = 4096
"""How far ahead a load prefetches: elements that are read sooner would arrive too late."""

NEAR_NBYTES = 2048
"""
How far ahead a reduction fetches short rows of what is in memory into the second cache. On a Zen 4 matrices
of 64 MB by a vector take 0.6 to 0.95 of the time so, sums and maxima of rows 0.55 to 0.95, the least where
rows are short; with 1024 as long, with 4096 up to 1.5 times as long. Rows of 32 KiB take 1.0 to 1.1 of the
time, of 200 KB 1.1 to 1.25, and what computes much 1.0 to 1.2.
"""

SMALL_L1_NBYTES = 32 << 10
"""
A first cache of up to so much is small. With 32 KiB (Zen 4), norms and a softmax of 4096 rows of 1024 f32
take 0.74 to 0.93 of the time where the second cache gets the next row; with 48 KiB (Xeons) the first one
does. Sums of 512x512x64 f32 take 0.75 to 0.9 of the time along the last axis than with the first one, and
along the middle axis than without fetching.
"""

MUCH_FLOPS = 16
"""
Loops that do so many operations for an element fetch what lies in long rows, also where the first cache is
small, and where they store what they compute of short ones. On a Zen 4 logsumexp of 128 rows of 50257 f32
takes 0.75 of the time with it, but rmsnorm 1.2, and the sum of those of 400,000 f64 that are between bounds
1.28. Adding 1 to 4096 rows of 1024 f32 takes 1.53 of the time with it, to 8192 1.06.
"""

LONG_NBYTES = 4 * AHEAD_NBYTES
"""Rows from this size on are long: a prefetch `AHEAD_NBYTES` ahead mostly stays in the same row."""


_Read = tuple[Loop, memref.LoadOp]

_Fetch = tuple[Loop, memref.LoadOp, int, int]
"""A loop, a load in it, how many elements ahead it fetches, and into which cache."""

_Around = sched.KernelOp | sched.AxisOp | scf.ForOp
"""What loops over rows stand right under."""


@dataclass(frozen=True)
class PrefetchRowsPass(ModulePass):
    """Lets kernels prefetch what they will read soon: the next row while they work on one."""

    name = "prefetch-rows"
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES
    l3_nbytes: int = L3_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "l1_nbytes", "l2_nbytes", "l3_nbytes")
        counters = _counters(op)
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                self._visit(kernel, counters.get(kernel.sym_name.data, {}))

    def _visit(self, kernel: sched.KernelOp, counters: Numbers) -> None:
        analysis = IndexAnalysis()
        if self.l1_nbytes <= SMALL_L1_NBYTES:
            for sum, load in _columns_side_by_side(analysis, kernel):
                nbytes, whole = _nbytes_of(load.memref)
                if whole > self.l3_nbytes // 2:
                    set_prefetch_distance(load, AHEAD_NBYTES // nbytes, 2)
                    _note(kernel, sum)
            for rows, load in _turned(analysis, kernel):
                nbytes, whole = _nbytes_of(load.memref)
                if whole > self.l2_nbytes:
                    set_prefetch_distance(load, LINE_NBYTES // nbytes)
                    _note(kernel, rows)
        for around in kernel.walk():
            if not isinstance(around, _Around):
                continue
            for reads in map(_complete, _reads_of_rows(analysis, around)):
                fetches: Iterator[_Fetch] = iter(())
                if (step := self._step(analysis, around, reads, counters)) is not None:
                    fetches = iter([(*reads[-1], step, 2)])
                elif not isinstance(around, scf.ForOp):
                    fetches = self._fetches(analysis, around, reads)
                for loop, load, distance, level in fetches:
                    set_prefetch_distance(load, distance, level)
                    _note(kernel, loop)

    def _step(
        self, analysis: IndexAnalysis, around: _Around, reads: Sequence[_Read], counters: Numbers
    ) -> int | None:
        """
        Returns how far ahead the row is that the next iteration of a serial loop reads, that loop being
        `around` or what launches the kernel; None where it should not be fetched.
        """
        loop, load = reads[-1]
        nbytes, whole = _nbytes_of(load.memref)
        if isinstance(around, sched.AxisOp) or whole <= self.l2_nbytes:
            return None
        numbers = counters
        if isinstance(around, scf.ForOp):
            numbers = dict[SSAValue, int]([(around.body.block.args[0], 1)])
        step = row_step(load, analysis.axis(loop), analysis, numbers)
        # Whole rows one behind the other are one stream, which the processor finds.
        if not step or (loop.count is None and step == analysis.extent(loop)):
            return None
        return step if abs(step) * nbytes <= self.l2_nbytes // 2 else None

    def _fetches(
        self, analysis: IndexAnalysis, around: sched.KernelOp | sched.AxisOp, reads: Sequence[_Read]
    ) -> Iterator[_Fetch]:
        """
        Yields the loads, of those that read one row, that should fetch, how many elements ahead, and into
        which cache.
        """
        loop, load = reads[-1]
        nbytes, whole = _nbytes_of(load.memref)
        if whole <= self.l2_nbytes:
            return
        is_small = self.l1_nbytes <= SMALL_L1_NBYTES
        is_in_memory = whole > self.l3_nbytes // 2
        is_long = upper_bound(analysis.extent(loop)) * nbytes >= LONG_NBYTES
        has_much_work = max(_flops(each) for each, _ in reads) >= MUCH_FLOPS
        is_alone = len(reads) == 1 and isinstance(loop, sched.ReduceOp) and isinstance(around, sched.AxisOp)
        if is_small and is_in_memory and is_alone and not is_long and not has_much_work:
            yield loop, load, NEAR_NBYTES // nbytes, 2
            return
        if isinstance(around, sched.AxisOp) and around.mapping.step > 1:
            return
        row = None
        # Softmax of rows of 200 to 400 KB takes 0.82 to 0.86 of the time where the second cache has 512 KiB:
        # what leaves it again before it is read is still in the third one.
        if isinstance(around, sched.AxisOp):
            row = analysis.address(load).stride(analysis.axis(around))
        has_near_rows = isinstance(row, int) and 0 < row * nbytes <= self.l2_nbytes
        is_only_loop = sum(isinstance(op, Loop) for op in around.body.block.ops) == 1
        stores_alone = is_only_loop and isinstance(loop, sched.AxisOp)
        if is_small and not has_much_work and (is_long or stores_alone):
            return
        if has_near_rows and (len(reads) > 1 or not is_long):
            assert isinstance(row, int)
            level = 2 if is_small and (len(reads) > 1 or is_in_memory) else 1
            yield loop, load, row * -(-AHEAD_NBYTES // (row * nbytes)), level
        elif is_long:
            for each, read in reads:
                yield each, read, AHEAD_NBYTES // nbytes, 1


def _columns_side_by_side(
    analysis: IndexAnalysis, kernel: sched.KernelOp
) -> Iterator[tuple[Loop, memref.LoadOp]]:
    """
    Yields the loads of reductions over rows that are as long as the vector axis around, and their loops: such
    rows lie one behind the other.
    """
    for sum in kernel.walk():
        axis = sum.parent_op()
        if not isinstance(sum, sched.ReduceOp) or sum.mapping.step > 1 or not isinstance(axis, sched.AxisOp):
            continue
        if axis.mapping.vector.data == 1 or any(op.regions for op in sum.body.block.ops):
            continue
        loads = [op for op in sum.body.block.ops if isinstance(op, memref.LoadOp)]
        for load in loads if len(loads) == 1 else ():
            address = analysis.address(load)
            steps = address.stride(analysis.axis(axis)), address.stride(analysis.axis(sum))
            if isinstance(load.memref, BlockArgument) and steps == (1, axis.extent):
                yield sum, load


def _turned(analysis: IndexAnalysis, kernel: sched.KernelOp) -> Iterator[tuple[sched.AxisOp, memref.LoadOp]]:
    """Yields the loads of squares that are transposed in registers, and the axis of their rows."""
    for columns in kernel.walk():
        if not isinstance(columns, sched.AxisOp) or columns.mapping.vector.data == 1:
            continue
        around = [
            axis for axis in axes_around(columns) if axis.mapping.unroll.data == columns.mapping.vector.data
        ]
        for load in columns.body.block.ops if around else ():
            if not isinstance(load, memref.LoadOp) or not isinstance(load.memref, BlockArgument):
                continue
            address = analysis.address(load)
            if address.stride(analysis.axis(columns)) in LOADED_STRIDES:
                continue
            for rows in around:
                if address.stride(analysis.axis(rows)) == 1:
                    yield rows, load


def _complete(reads: Sequence[_Read]) -> Sequence[_Read]:
    """Returns the reads of loops that run to the end: searches, as of argmax, are left early."""
    return [read for read in reads if not _is_search(read[0])] or reads


def _is_search(loop: Loop) -> bool:
    """Returns whether a loop gives the first of its indices at which something holds."""
    if not isinstance(loop, sched.ReduceOp) or loop.kind.data is not CombineKind.MINSI:
        return False
    (yielded,) = loop.yielded
    chosen = yielded.owner
    return (
        isinstance(chosen, low.SelectOp)
        and isinstance(index := chosen.on_true.owner, arith.IndexCastOp)
        and index.input is loop.index
        and isinstance(chosen.on_false.owner, arith.ConstantOp)
    )


def _flops(loop: Loop) -> int:
    """Returns how many operations a loop does for an element."""
    return sum(low.FLOPS.get(type(op), 0) for op in loop.body.block.ops)


def _nbytes_of(buffer: SSAValue) -> tuple[int, int]:
    """Returns the bytes of an element of a buffer, and of all of it, at most."""
    nbytes = NBYTES[element_type_of(buffer.type)]
    return nbytes, upper_bound(size_of(buffer.type)) * nbytes


def _counters(module: ModuleOp) -> dict[str, dict[SSAValue, int]]:
    """Returns the arguments of kernels that have the number of the loop around in all launches: its steps."""
    found: dict[str, dict[SSAValue, int]] = {}
    kernels = kernels_of(module)
    for launch in module.walk():
        if not isinstance(launch, sched.LaunchOp):
            continue
        name, loop = launch.kernel.root_reference.data, launch.parent_op()
        counters: dict[SSAValue, int] = {}
        if isinstance(loop, sched.ForOp) and loop.counter is not None:
            arguments = kernels[name].body.block.args
            for argument, given in zip(arguments, launch.arguments, strict=True):
                if given is loop.counter:
                    counters[argument] = -1 if loop.reverse else 1
        known = found.setdefault(name, counters)
        found[name] = {key: step for key, step in known.items() if counters.get(key) == step}
    return found


def _reads_of_rows(analysis: IndexAnalysis, around: _Around) -> Iterator[Sequence[_Read]]:
    """
    Yields the loads of vectors from a kernel's buffers, with their loops, by the row that they read. The
    loops stand right under `around` and hold no other loop, and read one element of that buffer.
    """
    found: dict[tuple[SSAValue | None, ...], list[_Read]] = {}
    for loop in around.body.block.ops:
        if not isinstance(loop, Loop) or loop.mapping.vector.data == 1:
            continue
        if any(op.regions for op in loop.body.block.ops):
            continue
        loads = [op for op in loop.body.block.ops if isinstance(op, memref.LoadOp)]
        times = Counter(op.memref for op in loads)
        for op in loads:
            if not isinstance(op.memref, BlockArgument) or times[op.memref] > 1:
                continue
            if analysis.address(op).stride(analysis.axis(loop)) == 1:
                row = tuple(None if index is loop.index else index for index in op.indices)
                found.setdefault((op.memref, *row), []).append((loop, op))
    return iter(found.values())


def _note(kernel: sched.KernelOp, loop: Loop) -> None:
    add_reason(kernel, f"{loop.index.name_hint or 'axis'}: fetches what is read later")
