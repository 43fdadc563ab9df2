"""
Buffers that kernels hand to one another, and the ordered rules that keep such kernels apart.

The first rule that has an obstacle decides; `tenon.explain` tells it. Kernels that pass all of these rules
are fused if they can be stages of one kernel (`kernel_stages.py` has the rules for that).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import sched
from ....dialects.modules.hazards import accessed_buffers, base_of, items_between
from ....dialects.modules.kernel_access import KernelAccess
from ....dialects.sched import Role
from ...indices.analysis import IndexAnalysis
from .kernel_stages import Obstacle

# By design: the 16 sums of a tile are 16 matrices.
MOST_ACCESSES = 8
"""In how many ways a kernel may access what it hands on, or is handed."""


def kernel_name(launch: sched.LaunchOp) -> str:
    return launch.kernel.root_reference.data


def erase_unlaunched(module: ModuleOp, kernels: Iterable[sched.KernelOp]) -> None:
    """Erases those of some kernels that nothing in a module launches any more."""
    launched = {kernel_name(op) for op in module.walk() if isinstance(op, sched.LaunchOp)}
    for kernel in kernels:
        if kernel.sym_name.data not in launched and kernel.parent is not None:
            kernel.detach()
            kernel.erase()


@dataclass(frozen=True, slots=True)
class Handover:
    """
    A temporary that launches of a block, the producers, store for another one, the consumer; `kernels` and
    `accesses` are those of the program by name, `order` is as `handovers` takes it.
    """

    buffer: SSAValue
    producers: tuple[sched.LaunchOp, ...]
    consumer: sched.LaunchOp
    kernels: Mapping[str, sched.KernelOp]
    accesses: Mapping[str, KernelAccess]
    order: Mapping[Operation, int]

    @property
    def launches(self) -> tuple[sched.LaunchOp, ...]:
        return (*self.producers, self.consumer)

    @property
    def block(self) -> Block:
        block = self.consumer.parent
        assert block is not None, "a launch that stands nowhere"
        return block

    def kernels_of(self) -> list[sched.KernelOp]:
        """Returns the kernels of the launches."""
        return [self.kernels[kernel_name(launch)] for launch in self.launches]


def handovers(
    consumer: sched.LaunchOp,
    kernels: Mapping[str, sched.KernelOp],
    accesses: Mapping[str, KernelAccess],
    order: Mapping[Operation, int],
) -> Iterator[Handover]:
    """
    Yields what other launches of its block store for a launch, in the order of its arguments. `order` has a
    number for each launch of the block, greater than those of the launches before it.
    """
    block = consumer.parent
    assert block is not None, "a launch that stands nowhere"
    reads, _ = accessed_buffers(consumer, accesses)
    for buffer in dict.fromkeys(reads):
        owner = buffer.owner
        if not isinstance(owner, sched.BufferOp) or owner.role.data is not Role.TEMPORARY:
            continue
        users = dict.fromkeys(use.operation for use in buffer.uses)
        launches = [op for op in users if isinstance(op, sched.LaunchOp) and op.parent is block]
        producers = [launch for launch in launches if launch is not consumer]
        if len(producers) > 1:
            producers.sort(key=order.__getitem__)
        if producers:
            yield Handover(buffer, tuple(producers), consumer, kernels, accesses, order)


@dataclass(frozen=True, slots=True)
class HandoverRule:
    """A rule: its name, and the function that returns what keeps the kernels apart, if anything does."""

    name: str
    obstacle: Callable[[Handover], str | None]


def _other_users(it: Handover) -> str | None:
    for use in it.buffer.uses:
        if not isinstance(use.operation, sched.LaunchOp) or use.operation.parent is not it.block:
            return "something else than the kernels beside it uses the buffer"
    return None


def _many_accesses(it: Handover) -> str | None:
    for launch, kernel in zip(it.launches, it.kernels_of(), strict=True):
        argument = kernel.body.block.args[list(launch.arguments).index(it.buffer)]
        count = len(list(argument.uses))
        if count > MOST_ACCESSES:
            return f"a kernel accesses it in {count} ways, which lie in several blocks"
    return None


def _order(it: Handover) -> str | None:
    is_late = it.order[it.consumer] < it.order[it.producers[-1]]
    return "a kernel stores it after it is read" if is_late else None


def _unknown_kernel(it: Handover) -> str | None:
    if any(kernel_name(launch) not in it.kernels for launch in it.launches):
        return "one of the kernels is written by hand"
    if any(list(launch.arguments).count(it.buffer) != 1 for launch in it.launches):
        return "a kernel takes the buffer twice"
    return None


def _waiting(it: Handover) -> str | None:
    if any(launch.token.first_use is not None for launch in it.launches):
        return "something waits for one of the kernels"
    return None


def _several_consumers(it: Handover) -> str | None:
    for launch in it.producers:
        reads, writes = accessed_buffers(launch, it.accesses)
        if it.buffer in reads:
            return "several kernels read it"
        if writes != [it.buffer]:
            return "a kernel that stores it stores something else too"
    return None


def _hazard(it: Handover) -> str | None:
    inputs = [it.buffer]
    for launch in it.producers:
        inputs.extend(accessed_buffers(launch, it.accesses)[0])
    for item in chain(items_between(it.producers[0], it.consumer), (it.consumer,)):
        if item in it.producers:
            continue
        if isinstance(item, sched.SyncOp):
            return "the program waits between them"
        _, writes = accessed_buffers(item, it.accesses)
        if any(may_overlap(written, read) for written in writes for read in inputs):
            return "what it is computed from changes before it is read"
    return None


HANDOVER_RULES: tuple[HandoverRule, ...] = (
    HandoverRule("other-users", _other_users),
    # Before the rules below, which look at the kernels and at the items from the first producer on.
    HandoverRule("unknown-kernel", _unknown_kernel),
    HandoverRule("several-consumers", _several_consumers),
    # It takes long to find out whether each access of many stays in one block.
    HandoverRule("many-accesses", _many_accesses),
    HandoverRule("order", _order),
    HandoverRule("waiting", _waiting),
    # Last: the one rule that looks at all items between the kernels.
    HandoverRule("hazard", _hazard),
)
"""The rules in the order in which they are asked."""


def obstacle_of(handover: Handover) -> Obstacle | None:
    """Returns what the first rule says that has an obstacle."""
    for rule in HANDOVER_RULES:
        why = rule.obstacle(handover)
        if why is not None:
            return Obstacle(rule.name, why)
    return None


def takes_steps(kernel: sched.KernelOp) -> bool:
    """
    Returns whether an innermost axis of a kernel reads an array in steps of more than one element: it is no
    vector, and LLVM makes vectors of kernels only in which there is none.
    """
    analysis = IndexAnalysis()
    for loop in kernel.walk():
        if not isinstance(loop, sched.AxisOp):
            continue
        inside = list(loop.body.walk())
        if any(isinstance(op, sched.AxisOp) for op in inside):
            continue
        axis = analysis.axis(loop)
        for load in inside:
            if isinstance(load, memref.LoadOp):
                strides = [analysis.expr(index).stride(axis) for index in load.indices]
                if any(isinstance(stride, int) and stride > 1 for stride in strides):
                    return True
    return False


def may_overlap(first: SSAValue, second: SSAValue) -> bool:
    """Returns whether two buffers may share memory."""
    return memory_of(first) == memory_of(second)


def memory_of(buffer: SSAValue) -> object:
    """Returns what stands for the memory of a buffer, equal for those that may share some."""
    base = base_of(buffer)
    owner = base.owner
    if isinstance(owner, sched.NodeOp):
        return owner.node_name
    return sched.MergeBufferOp if isinstance(owner, sched.MergeBufferOp) else base
