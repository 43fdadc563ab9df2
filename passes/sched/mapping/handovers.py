"""
Buffers that kernels hand to one another, and the ordered rules that keep such kernels apart.

The first rule that has an obstacle decides; `tenon.explain` tells it. Kernels that pass all of these rules
are fused if they can be stages of one kernel (`kernel_stages.py` has the rules for that).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import sched
from ....dialects.modules.hazards import accessed_buffers, base_of, items_between, items_in
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


@dataclass(eq=False)
class Temporary:
    """
    A temporary, and the launches of a block that use it, in their order. `kernels` and `accesses` are those
    of the program by name. What is found of it holds as long as the same launches use it.
    """

    buffer: SSAValue
    block: Block
    launches: tuple[sched.LaunchOp, ...]
    kernels: Mapping[str, sched.KernelOp]
    accesses: Mapping[str, KernelAccess]

    @cached_property
    def other_users(self) -> str | None:
        """What the rule of that name says."""
        for use in self.buffer.uses:
            if not isinstance(use.operation, sched.LaunchOp) or use.operation.parent is not self.block:
                return "something else than the kernels beside it uses the buffer"
        return None

    @cached_property
    def unknown_kernel(self) -> str | None:
        """What the rule of that name says where the launches alone use the buffer."""
        if any(kernel_name(launch) not in self.kernels for launch in self.launches):
            return "one of the kernels is written by hand"
        if self.buffer.uses.get_length() != len(self.launches):
            return "a kernel takes the buffer twice"
        return None

    @cached_property
    def unfit(self) -> list[tuple[sched.LaunchOp, str]]:
        """The first two launches that do not just store the buffer, and what that keeps apart."""
        found: list[tuple[sched.LaunchOp, str]] = []
        for launch in self.launches:
            reads, writes = accessed_buffers(launch, self.accesses)
            if self.buffer in reads:
                found.append((launch, "several kernels read it"))
            elif writes != [self.buffer]:
                found.append((launch, "a kernel that stores it stores something else too"))
            if len(found) == 2:
                break
        return found


@dataclass(frozen=True, slots=True)
class Handover:
    """
    A temporary that launches of a block, the producers, store for another one, the consumer; `order` has a
    number for each launch, greater than those of the launches before it.
    """

    temporary: Temporary
    consumer: sched.LaunchOp
    order: Mapping[Operation, int]

    @property
    def buffer(self) -> SSAValue:
        return self.temporary.buffer

    @property
    def first_producer(self) -> sched.LaunchOp:
        return next(launch for launch in self.temporary.launches if launch is not self.consumer)

    @property
    def producers(self) -> tuple[sched.LaunchOp, ...]:
        return tuple(launch for launch in self.temporary.launches if launch is not self.consumer)

    @property
    def launches(self) -> tuple[sched.LaunchOp, ...]:
        return (*self.producers, self.consumer)

    def kernels_of(self) -> list[sched.KernelOp]:
        """Returns the kernels of the launches."""
        return [self.temporary.kernels[kernel_name(launch)] for launch in self.launches]


class Handovers:
    """
    What launches of a block hand to one another.

    A temporary is looked at once, not for each launch that reads it: each time all of its users are.
    """

    def __init__(
        self, block: Block, kernels: Mapping[str, sched.KernelOp], accesses: Mapping[str, KernelAccess]
    ):
        self.launches = [item for item in items_in(block) if isinstance(item, sched.LaunchOp)]
        self._block, self._kernels, self._accesses = block, kernels, accesses
        self._order: dict[Operation, int] = {launch: number for number, launch in enumerate(self.launches)}
        """The place of each launch among those of the block; of one that is fused, that of its consumer."""
        self._temporaries: dict[SSAValue, Temporary] = {}
        """Those that were looked at, as long as the same launches use them."""

    def to(self, consumer: sched.LaunchOp) -> Iterator[Handover]:
        """Yields what other launches store for one, in the order of its arguments."""
        reads, _ = accessed_buffers(consumer, self._accesses)
        for buffer in dict.fromkeys(reads):
            owner = buffer.owner
            if not isinstance(owner, sched.BufferOp) or owner.role.data is not Role.TEMPORARY:
                continue
            temporary = self._temporaries.get(buffer)
            if temporary is None:
                temporary = self._temporaries[buffer] = self._temporary(buffer)
            if len(temporary.launches) > 1:
                yield Handover(temporary, consumer, self._order)

    def replace(self, launches: Sequence[sched.LaunchOp], new: sched.LaunchOp) -> None:
        """Has one launch stand for several that are about to go, the last of which it takes the place of."""
        self._order[new] = self._order[launches[-1]]
        # The new one takes what these do.
        for launch in launches:
            for buffer in launch.arguments:
                self._temporaries.pop(buffer, None)

    def _temporary(self, buffer: SSAValue) -> Temporary:
        users = dict.fromkeys(use.operation for use in buffer.uses)
        launches = [op for op in users if isinstance(op, sched.LaunchOp) and op.parent is self._block]
        launches.sort(key=self._order.__getitem__)
        return Temporary(buffer, self._block, tuple(launches), self._kernels, self._accesses)


@dataclass(frozen=True, slots=True)
class HandoverRule:
    """A rule: its name, and the function that returns what keeps the kernels apart, if anything does."""

    name: str
    obstacle: Callable[[Handover], str | None]


def _other_users(it: Handover) -> str | None:
    return it.temporary.other_users


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
    return it.temporary.unknown_kernel


def _waiting(it: Handover) -> str | None:
    if any(launch.token.first_use is not None for launch in it.launches):
        return "something waits for one of the kernels"
    return None


def _several_consumers(it: Handover) -> str | None:
    # Two are enough: one of them may be the consumer itself.
    return next((why for launch, why in it.temporary.unfit if launch is not it.consumer), None)


def _hazard(it: Handover) -> str | None:
    accesses, producers = it.temporary.accesses, it.producers
    inputs = {memory_of(it.buffer)}
    for launch in producers:
        inputs.update(map(memory_of, accessed_buffers(launch, accesses)[0]))
    for item in chain(items_between(producers[0], it.consumer), (it.consumer,)):
        if item in producers:
            continue
        if isinstance(item, sched.SyncOp):
            return "the program waits between them"
        _, writes = accessed_buffers(item, accesses)
        if not inputs.isdisjoint(map(memory_of, writes)):
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
