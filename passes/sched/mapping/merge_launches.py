"""
Merges launches that go over the same elements into one, whose kernel stores several buffers.

    sched.launch @f_0(%x, %s)  // s = x * x                sched.launch @f_merged(%x, %m, %u)
    sched.launch @f_1(%x, %m)  // m = 0.9 m + x      -->       sched.axis %i = 1000 {
    sched.launch @f_2(%s, %u)  // u = 0.9 u + s                  ... load %x[%i], store %m[%i], store %u[%i]
                                                               }

Planning makes a kernel for each value that is needed as a whole. Where several are computed of the same
arrays, as the next state of a loop or of an optimiser, each kernel reads them again, and what is in between
(`s`) goes through memory.

Kernels are merged whose axes have the same extents, which share an array of that many elements, and which
touch a buffer that one of them stores at one place only in each iteration. All of them run as vectors, or
would have to wait for one that does not; with equally many lanes. A launch moves down to the last one that it
is merged with, so what stands between must not touch the same buffers.

Requires: unmapped `sched` kernels, before `build-dependencies`.
Ensures: what each program computes is unchanged, bit for bit, unless a `fastmath` flag lets two ops of
different kernels be contracted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, ShapedType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from ....dialects import sched
from ....dialects.element_types import NBYTES
from ....dialects.memory_modes import ModeKind
from ....dialects.modules.hazards import Item, accessed_buffers, item_blocks, items_in
from ....dialects.modules.kernel_access import access_of, accesses_of
from ....dialects.sched import OriginAttr, Role
from ...indices.analysis import IndexAnalysis
from ...indices.lanes import runs_in_lanes
from ...rewriting.kernel_names import KernelNames
from .handovers import erase_unlaunched, kernel_name, may_overlap, memory_of
from .merged_kernels import Arguments, ElementNest, copy_kernel, drop_stores, element_nest, merged_kernel

MOST_BUFFERS = 24
"""The most buffers of a merged kernel."""

WORTH = 0.8
"""How many arrays merged launches may read and write at most, as a part of those that they do apart."""

MOST_OPS = 256
"""The most ops of a merged kernel."""


@dataclass(frozen=True)
class MergeLaunchesPass(ModulePass):
    """Merges launches that go over the same elements into one."""

    name = "merge-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        merger = _Merger(op)
        for program in [inner for inner in op.ops if isinstance(inner, sched.ProgramOp)]:
            for block in item_blocks(program):
                merger.merge_block(block)
        merger.erase_unused()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A kernel that may be merged with others, and how wide the widest of what it computes is."""

    nest: ElementNest
    nbytes: int
    op_count: int


@dataclass(slots=True)
class _Group:
    """Launches that become one, at the place of the last; what they read and write."""

    launches: list[sched.LaunchOp] = field(default_factory=list[sched.LaunchOp])
    reads: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    writes: dict[SSAValue, None] = field(default_factory=dict[SSAValue, None])
    memory: set[object] = field(default_factory=set[object])
    """What stands for the memory of both: launches that touch none of it have nothing to do with these."""

    def add(self, launch: sched.LaunchOp, reads: Sequence[SSAValue], writes: Sequence[SSAValue]) -> None:
        self.launches.append(launch)
        self.reads.update(dict.fromkeys(reads))
        self.writes.update(dict.fromkeys(writes))
        self.memory.update(map(memory_of, (*reads, *writes)))

    def join(self, other: _Group) -> None:
        """Takes the launches of another group; no two of different groups conflict."""
        self.launches += other.launches
        self.reads.update(other.reads)
        self.writes.update(other.writes)
        self.memory |= other.memory

    def conflicts(
        self, reads: Sequence[SSAValue], writes: Sequence[SSAValue]
    ) -> list[tuple[SSAValue, SSAValue]]:
        """Returns the pairs of a buffer of the group and another one that must keep their order."""
        pairs = [(own, other) for own in self.writes for other in (*reads, *writes)]
        pairs += [(own, other) for own in self.reads for other in writes]
        return [pair for pair in pairs if may_overlap(*pair)]


class _Merger:
    def __init__(self, module: ModuleOp):
        self.module = module
        self.accesses = accesses_of(module)
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
        self.candidates: dict[str, _Candidate | None] = {}
        self.merged: dict[tuple[object, ...], tuple[sched.KernelOp, tuple[bool, ...]]] = {}
        """What was made of kernels, for other launches of the same."""
        self.copies: dict[Attribute, sched.KernelOp] = {}
        """Kernels that copy buffers of each type; they are not in the module."""
        self.transfers: dict[sched.LaunchOp, sched.TransferOp] = {}
        """What launches stand for, until they are merged with others."""
        self.names = KernelNames(module)
        self.replaced: dict[str, None] = {}
        """Kernels of launches that are gone."""

    def merge_block(self, block: Block) -> None:
        groups: list[_Group] = []
        finished: list[_Group] = []
        for item in items_in(block):
            if isinstance(item, sched.SyncOp | sched.HostItem):
                finished += groups
                groups = []
                continue
            if isinstance(item, sched.TransferOp):
                item = self._as_launch(item, groups)
            reads, writes = accessed_buffers(item, self.accesses)
            memory = {*map(memory_of, (*reads, *writes))}
            target = _Group()
            for group in groups:
                if group.memory.isdisjoint(memory):
                    continue
                if self._fits(group, target, item, reads, writes):
                    target.join(group)
                elif group.conflicts(reads, writes):
                    finished.append(group)
            gone = {*target.launches}.union(*(group.launches for group in finished))
            groups = [group for group in groups if gone.isdisjoint(group.launches)]
            if isinstance(item, sched.LaunchOp) and self._candidate(item) is not None:
                target.add(item, reads, writes)
                groups.append(target)
        for group in (*finished, *groups):
            if len(group.launches) > 1 and self._pays(group):
                self._merge(group)
            else:
                self._restore_transfers(group)

    def _as_launch(
        self, transfer: sched.TransferOp, groups: Sequence[_Group]
    ) -> sched.LaunchOp | sched.TransferOp:
        """
        Returns the launch of a kernel that copies what a transfer does, in its place, if that can be merged
        with the launches of a group that store the source; the transfer otherwise.
        """
        source, target, type = transfer.source, transfer.target, transfer.source.type
        if not isa(type, MemRefType[Attribute]) or not type.has_static_shape() or target.type != type:
            return transfer
        if transfer.token.first_use is not None or not all(
            isinstance(buffer.owner, sched.BufferOp | sched.RowOp) for buffer in (source, target)
        ):
            return transfer
        kernel = self.copies.get(type)
        if kernel is None:
            kernel = self.copies[type] = copy_kernel(type, self.names.fresh("copy"))
            self.kernels[kernel.sym_name.data] = kernel
            self.accesses[kernel.sym_name.data] = access_of(kernel)
        launch = sched.LaunchOp(kernel.sym_name.data, (source, target))
        launch.location = transfer.location
        if not any(
            source in g.writes and self._fits(g, _Group(), launch, (source,), (target,)) for g in groups
        ):
            launch.erase()
            return transfer
        block = transfer.parent
        assert block is not None, "a transfer that stands nowhere"
        block.insert_op_before(launch, transfer)
        transfer.detach()
        self.transfers[launch] = transfer
        return launch

    def _restore_transfers(self, group: _Group) -> None:
        """Puts back the transfers of a group that stays apart, where launches stand for them."""
        for launch in group.launches:
            if (transfer := self.transfers.pop(launch, None)) is not None:
                block = launch.parent
                assert block is not None, "a launch that stands nowhere"
                block.insert_op_before(transfer, launch)
                launch.detach()
                launch.erase()

    def erase_unused(self) -> None:
        """Erases kernels that nothing launches any more."""
        if self.replaced:
            erase_unlaunched(self.module, [self.kernels[name] for name in self.replaced])

    def _candidate(self, launch: sched.LaunchOp) -> _Candidate | None:
        name = kernel_name(launch)
        if name not in self.candidates:
            kernel = self.kernels.get(name)
            self.candidates[name] = None if kernel is None else _candidate_of(kernel)
        return None if launch.token.first_use is not None else self.candidates[name]

    def _fits(
        self,
        group: _Group,
        others: _Group,
        item: Item,
        reads: Sequence[SSAValue],
        writes: Sequence[SSAValue],
    ) -> bool:
        """Returns whether an item is a launch that can be merged with those of a group, and with others."""
        if not isinstance(item, sched.LaunchOp) or (new := self._candidate(item)) is None:
            return False
        first = self._candidate(group.launches[0])
        assert first is not None, "a launch of a group that is no candidate"
        if first.nest.extents != new.nest.extents or first.nbytes != new.nbytes:
            return False
        buffers = {**group.reads, **group.writes}
        if not any(_rank(buffer) >= len(new.nest.axes) for buffer in (*reads, *writes) if buffer in buffers):
            return False
        if len(buffers.keys() | {*others.reads, *others.writes, *reads, *writes}) > MOST_BUFFERS:
            return False
        if self._op_count(group) + self._op_count(others) + new.op_count > MOST_OPS:
            return False
        for own, other in group.conflicts(reads, writes):
            places = [self._places(launch, own) for launch in (*group.launches, item)]
            if (
                own is not other
                or None in places
                or len(set[object]().union(*(each or () for each in places))) > 1
            ):
                return False
        return True

    def _op_count(self, group: _Group) -> int:
        return sum(
            found.op_count for launch in group.launches if (found := self._candidate(launch)) is not None
        )

    def _pays(self, group: _Group) -> bool:
        """Returns whether a group reads and writes fewer arrays as one launch."""
        first = self._candidate(group.launches[0])
        assert first is not None, "a launch of a group that is no candidate"
        apart, reads, writes = 0, set[SSAValue](), set[SSAValue]()
        for launch in group.launches:
            own = accessed_buffers(launch, self.accesses)
            own_reads, own_writes = ([b for b in each if _rank(b) >= len(first.nest.axes)] for each in own)
            apart += len(own_reads) + len(own_writes)
            reads.update(buffer for buffer in own_reads if buffer not in writes)
            writes.update(own_writes)
        users = self._users(group.launches)
        dropped = [buffer for buffer in writes if buffer not in reads and _is_used_only_by(buffer, users)]
        return len(reads) + len(writes) - len(dropped) <= WORTH * apart

    def _places(self, launch: sched.LaunchOp, buffer: SSAValue) -> frozenset[object] | None:
        """Returns where a launch accesses a buffer; None where it is not known, or takes it twice."""
        candidate = self._candidate(launch)
        numbers = [number for number, operand in enumerate(launch.arguments) if operand is buffer]
        if candidate is None or len(numbers) > 1:
            return None
        if not numbers:
            return frozenset()
        places = candidate.nest.places.get(numbers[0], frozenset())
        if any(index is None for place in places for index in place):
            return None
        # The same number of an axis means the same element only where the buffer has the same shape.
        type = candidate.nest.kernel.body.block.args[numbers[0]].type
        return frozenset((type, place) for place in places)

    def _users(self, launches: Sequence[sched.LaunchOp]) -> list[Operation]:
        """Returns launches, and the transfers that some of them stand for, which still use buffers."""
        held = (self.transfers.get(launch) for launch in launches)
        return [*launches, *(transfer for transfer in held if transfer is not None)]

    def _merge(self, group: _Group) -> None:
        """Replaces the launches of a group by one of a kernel that does what theirs do."""
        launches = group.launches
        nests = [found.nest for launch in launches if (found := self._candidate(launch)) is not None]
        operands, arguments = _arguments_of(launches, nests)
        users = self._users(launches)
        only_here = tuple(_is_used_only_by(buffer, users) for buffer in operands)
        key = (tuple(nest.kernel for nest in nests), arguments.numbers, only_here)
        found = self.merged.get(key)
        if found is None:
            found = self.merged[key] = self._write(nests, arguments, only_here)
        kernel, is_kept = found
        last = launches[-1]
        new = sched.LaunchOp(kernel.sym_name.data, [*compress(operands, is_kept)])
        new.location = last.location
        new.token.name_hint = launches[0].token.name_hint
        new.attributes.update(last.attributes)
        gone = [buffer for buffer, is_there in zip(operands, is_kept, strict=True) if not is_there]
        writes = [accessed_buffers(launch, self.accesses)[1] for launch in launches]
        _join_origins(new, launches, [all(buffer in gone for buffer in written) for written in writes])
        block = last.parent
        assert block is not None, "a launch that stands nowhere"
        block.insert_op_before(new, last)
        for launch in launches:
            self.replaced[kernel_name(launch)] = None
            if (transfer := self.transfers.pop(launch, None)) is not None:
                transfer.erase()
            launch.detach()
            launch.erase()
        for buffer in gone:
            assert isinstance(buffer.owner, sched.BufferOp), "a buffer of no program"
            buffer.owner.detach()
            buffer.owner.erase()

    def _write(
        self, nests: Sequence[ElementNest], arguments: Arguments, only_here: Sequence[bool]
    ) -> tuple[sched.KernelOp, tuple[bool, ...]]:
        """
        Writes the kernel in front of that of the last launch; returns it, and of each argument whether it is
        left: what is `only_here` and never loaded is not.
        """
        old = next(nest.kernel for nest in reversed(nests) if nest.kernel.parent is not None)
        kernel = merged_kernel(nests, arguments, self.names.fresh(f"{old.sym_name.data}_merged"))
        stored = [*kernel.body.block.args]
        is_kept = tuple(
            not (is_own and drop_stores(kernel, argument))
            for argument, is_own in zip(stored, only_here, strict=True)
        )
        old_parent = old.parent
        assert old_parent is not None, "a kernel that stands nowhere"
        old_parent.insert_op_before(kernel, old)
        self.accesses[kernel.sym_name.data] = access_of(kernel)
        return kernel, is_kept


def _candidate_of(kernel: sched.KernelOp) -> _Candidate | None:
    nest = element_nest(kernel)
    if nest is None:
        return None
    analysis = IndexAnalysis()
    axis, ops = analysis.axis(nest.axes[-1]), [*nest.ops]
    inner = [op for op in ops if op.parent is nest.axes[-1].body.block]
    if not all(runs_in_lanes(op, axis, analysis) for op in inner):
        return None
    nbytes = max((NBYTES.get(result.type, 1) for op in inner for result in op.results), default=1)
    return _Candidate(nest, nbytes, len(ops))


def _rank(buffer: SSAValue) -> int:
    return buffer.type.get_num_dims() if isinstance(buffer.type, ShapedType) else 0


def _arguments_of(
    launches: Sequence[sched.LaunchOp], nests: Sequence[ElementNest]
) -> tuple[list[SSAValue], Arguments]:
    """Returns what a launch of all takes, and what its kernel calls that."""
    operands: list[SSAValue] = []
    sizes: dict[str, int] = {}
    buffers: dict[tuple[SSAValue, Attribute], int] = {}
    # The values of dims come first; those of one name are one value in a program.
    for launch, nest in zip(launches, nests, strict=True):
        for name, operand in zip(nest.kernel.sizes, launch.arguments, strict=False):
            if sizes.setdefault(name, len(operands)) == len(operands):
                operands.append(operand)
    numbers: list[tuple[int, ...]] = []
    for launch, nest in zip(launches, nests, strict=True):
        dims = nest.kernel.sizes
        own = [sizes[name] for name in dims]
        for operand, argument in [*zip(launch.arguments, nest.kernel.body.block.args, strict=True)][
            len(dims) :
        ]:
            number = buffers.setdefault((operand, argument.type), len(operands))
            if number == len(operands):
                operands.append(operand)
            own.append(number)
        numbers.append(tuple(own))
    types = tuple(type for _, type in buffers)
    return operands, Arguments(tuple(sizes), types, tuple(numbers))


def _is_used_only_by(buffer: SSAValue, users: Sequence[Operation]) -> bool:
    """Returns whether a buffer is a temporary that nothing but these ops uses, and nobody asked for."""
    owner = buffer.owner
    return (
        isinstance(owner, sched.BufferOp)
        and owner.role.data is Role.TEMPORARY
        and owner.kept is None
        and all(use.operation in users for use in buffer.uses)
    )


def _join_origins(new: sched.LaunchOp, launches: Sequence[sched.LaunchOp], is_gone: Sequence[bool]) -> None:
    """Says of a launch all that was said of those that it takes the place of."""
    joined: list[OriginAttr] = []
    for launch, gone in zip(launches, is_gone, strict=True):
        # A copy computes nothing.
        origins = [] if launch.origins is None else list(launch.origins)
        if gone and origins:
            last = origins[-1]
            why = "all that read it are in the same kernel"
            origins[-1] = last.decided(ModeKind.VIRTUAL, why, MergeLaunchesPass.name)
        joined.extend(origins)
    if joined:
        new.origins = ArrayAttr(joined)
