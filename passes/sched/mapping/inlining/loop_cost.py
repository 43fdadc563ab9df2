"""What a loop over launches of small kernels does, and whether it can be one kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Block, Operation

from .....dialects import low, sched
from .....dialects.buffer_size import extents_of
from ....indices.analysis import Loop

# `python -m benchmarks.thresholds` shows what each limit is worth; times here: one core, AVX-512.

MOST_ELEMENTS = 512
"""The most elements, and steps of reductions, that kernels which are inlined compute on average."""

MOST_OF_ONE = 2048
"""The most that one of them computes: more is better off with a schedule of its own."""

MOST_STEPS = 1 << 26
"""The most of them before a kernel pauses: about a tenth of a second, in which nothing interrupts it."""

LONG_OPS = 32
"""
How many quick ops, of 1.5 ns at most, an op of the `math` dialect counts for where a kernel pauses: 25 to 90
ns for one scalar. Divisions, square roots and remainders, of 6 to 23 ns, count for a quarter of it.
"""

MOST_OPS = 512
"""The most ops of what is inlined into one kernel."""

_SLOW_OPS = (
    arith.DivfOp,
    arith.DivSIOp,
    arith.DivUIOp,
    arith.RemSIOp,
    arith.RemUIOp,
    low.RemfOp,
    math.SqrtOp,
)


@dataclass(slots=True)
class LoopCost:
    """
    What items do: kernels and copies, elements that are computed, and steps of reductions, in all iterations;
    ops of the code; `work`, how many quick ops take about as long. Of a loop that goes on while a condition
    holds, one iteration counts.
    """

    items: int = 0
    steps: int = 0
    ops: int = 0
    work: int = 0

    @property
    def is_small(self) -> bool:
        """Whether all may be one kernel: its items are small on average, and are not too much code."""
        return self.steps <= MOST_ELEMENTS * self.items and self.ops <= MOST_OPS

    def add(self, other: LoopCost, times: int = 1) -> None:
        self.items += other.items * times
        self.steps += other.steps * times
        self.ops += other.ops
        self.work += other.work * times


class LoopCosts:
    """What loops over launches of `kernels` do; a kernel is looked through once."""

    def __init__(self, kernels: Mapping[str, sched.KernelOp]):
        self.kernels = kernels
        self._of_kernels: dict[str, LoopCost | None] = {}

    def of(self, item: Operation) -> LoopCost | None:
        """Returns what an item does, None where it cannot be a part of a kernel."""
        match item:
            case sched.RowOp() | sched.SyncOp():
                return LoopCost()
            case sched.LaunchOp():
                return self._of_kernel(item.kernel.root_reference.data)
            case sched.TransferOp():
                extents = extents_of(item.source.type)
                numbers = [
                    extent for extent in extents if isinstance(extent, int) and extent != DYNAMIC_INDEX
                ]
                if len(numbers) < len(extents) or prod(numbers) > MOST_OF_ONE:
                    return None
                return LoopCost(1, prod(numbers), 2, prod(numbers))
            case sched.ForOp():
                times = item.trip_count
                return self._of_blocks(item, times) if isinstance(times, int) else None
            case sched.IfOp():
                return self._of_blocks(item)
            case sched.WhileOp():
                # What makes the condition runs through at once: the body must not begin before it is made.
                may_pause = any(map(self.pausing, item.before.block.ops))
                return None if may_pause else self._of_blocks(item)
            case _:
                return None

    def pausing(self, item: Operation) -> list[sched.ForOp | sched.WhileOp]:
        """
        Returns the loops in an item, itself included, of which nobody knows that they take less than a kernel
        may at once: those that go on while a condition holds, and counted ones of many steps.
        """
        return [
            op
            for op in item.walk()
            if isinstance(op, sched.WhileOp) or (isinstance(op, sched.ForOp) and self._takes_long(op))
        ]

    def _takes_long(self, loop: sched.ForOp) -> bool:
        cost = self.of(loop)
        return cost is not None and cost.steps > MOST_STEPS

    def _of_kernel(self, name: str) -> LoopCost | None:
        if name not in self._of_kernels:
            kernel = self.kernels.get(name)
            self._of_kernels[name] = None if kernel is None else _kernel_cost(kernel)
        return self._of_kernels[name]

    def _of_blocks(self, item: sched.ControlItem, times: int = 1) -> LoopCost | None:
        cost = LoopCost()
        for block in item.blocks:
            for op in block.ops:
                inner = self.of(op)
                if inner is None:
                    return None
                cost.add(inner, times)
        return cost


def _kernel_cost(kernel: sched.KernelOp) -> LoopCost | None:
    if kernel.sizes:
        return None
    ops = list(kernel.walk())
    if any(isinstance(op, Loop) and op.mapping.words() for op in ops):
        return None
    if any(isinstance(op, scf.WhileOp | sched.AllocOp) for op in ops):
        return None
    buffers = [argument for argument in kernel.body.block.args if isinstance(argument.type, MemRefType)]
    for buffer in buffers:
        if any(not isinstance(use.operation, memref.LoadOp | memref.StoreOp) for use in buffer.uses):
            return None
    elements = _steps(kernel.body.block)
    return None if elements > MOST_OF_ONE else LoopCost(1, elements, len(ops), _work(kernel.body.block))


def _steps(block: Block) -> int:
    """Returns how many innermost iterations a block runs, at most; many where that is not known."""
    total = 1
    for op in block.ops:
        times = 1
        if isinstance(op, Loop):
            if not isinstance(op.extent, int):
                return MOST_OF_ONE + 1
            times = op.extent
        elif isinstance(op, scf.ForOp):
            return MOST_OF_ONE + 1
        total += sum(times * _steps(inner) for region in op.regions for inner in region.blocks)
    return total


def _work(block: Block) -> int:
    """Returns how many quick ops take about as long as what a block runs, of loops that are known."""
    total = 0
    for op in block.ops:
        if isinstance(op, arith.ConstantOp):
            continue
        if isinstance(op, _SLOW_OPS):
            total += LONG_OPS // 4
        elif op.name.startswith("math."):
            total += LONG_OPS
        else:
            times = op.extent if isinstance(op, Loop) and isinstance(op.extent, int) else 1
            total += 1 + sum(times * _work(inner) for region in op.regions for inner in region.blocks)
    return total
