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

Reductions of as many elements of one array, as a sum and a sum of squares, come one after the other in each
iteration, with lanes of their own where neighbours are reduced (a count is narrower than a sum): what the
first one reads is in the caches for the others, if these hold as much. Products of matrices stay apart, as
each has tiles of its own. A reduction also moves up, to one that what stands between waits for: partial
results are combined right after they are made.

Requires: unmapped `sched` kernels, before `build-dependencies`; `l2_nbytes` of the machine that it is for.
Ensures: what each program computes is unchanged, bit for bit, unless a `fastmath` flag lets two ops of
different kernels be contracted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, ShapedType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from ....dialects import sched
from ....dialects.buffer_size import size_of
from ....dialects.dims.expressions import Extent, product, upper_bound
from ....dialects.element_types import NBYTES
from ....dialects.memory_modes import ModeKind
from ....dialects.modules.hazards import Item, accessed_buffers, item_blocks, items_in
from ....dialects.modules.kernel_access import access_of, accesses_of
from ....dialects.sched import OriginAttr, Role
from ...indices.analysis import IndexAnalysis
from ...indices.expressions import Axis
from ...indices.lanes import MOST_LANES, runs_in_lanes
from ...machine.target import L2_NBYTES, check_positive
from ...rewriting.kernel_names import KernelNames
from .handovers import erase_unlaunched, kernel_name, may_overlap, memory_of
from .merged_kernels import (
    Arguments,
    ElementNest,
    copy_kernel,
    drop_stores,
    element_nest,
    merged_kernel,
    nested_axes,
    nested_reductions,
)

MOST_BUFFERS = 24
"""The most buffers of a merged kernel."""

MOST_ITEMS_BACK = 16
"""How many items of a program a launch of reductions moves up at most."""

CACHED_SHARE = 0.5
"""How much of the second cache the reductions of an iteration may read, to be read from there again."""

WORTH = 0.8
"""How many arrays merged launches may read and write at most, as a part of those that they do apart."""

MOST_OPS = 256
"""The most ops of a merged kernel."""


@dataclass(frozen=True)
class MergeLaunchesPass(ModulePass):
    """Merges launches that go over the same elements into one."""

    name = "merge-launches"
    l2_nbytes: int = L2_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "l2_nbytes")
        merger = _Merger(op, int(self.l2_nbytes * CACHED_SHARE))
        for block in _blocks_of(op):
            merger.merge_block(block)
        merger.erase_unused()


def _blocks_of(module: ModuleOp) -> list[Block]:
    return [block for op in module.ops if isinstance(op, sched.ProgramOp) for block in item_blocks(op)]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A kernel that may be merged with others."""

    nest: ElementNest
    nbytes: int
    """How wide the widest of what it computes is; 0 where no axis has lanes, as the reductions do."""
    op_count: int
    reductions: frozenset[_Reduction]

    def is_whole(self, buffer: SSAValue) -> bool:
        """Returns whether a buffer has an element for each iteration, also of the reductions."""
        if not self.reductions:
            return _rank(buffer) >= len(self.nest.axes)
        extents = self.nest.extents
        most = max(upper_bound(product((*extents[: r.depth], *r.extents))) for r in self.reductions)
        return isa(buffer.type, MemRefType[Attribute]) and upper_bound(size_of(buffer.type)) >= most


@dataclass(frozen=True, slots=True)
class _Reduction:
    """How many axes a reduction stands in, its extents, and whether neighbours are along the last of them."""

    depth: int
    extents: tuple[Extent, ...]
    has_lanes: bool


@dataclass(slots=True)
class _Group:
    """
    Launches that become one, at the place of the last that did not move up, which is item number `place`;
    what they read and write.
    """

    launches: list[sched.LaunchOp] = field(default_factory=list[sched.LaunchOp])
    place: int = 0
    moved_up: int = 0
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
        return _conflicts(self.reads, self.writes, reads, writes)

    @property
    def last(self) -> sched.LaunchOp:
        """The launch at whose place the group becomes one."""
        return self.launches[len(self.launches) - 1 - self.moved_up]


class _Merger:
    def __init__(self, module: ModuleOp, cached_nbytes: int):
        self.module, self.cached_nbytes = module, cached_nbytes
        self.accesses = accesses_of(module)
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
        self.candidates: dict[str, _Candidate | None] = {}
        launches = [op for block in _blocks_of(module) for op in block.ops if isinstance(op, sched.LaunchOp)]
        self.launch_counts = Counter(self._extents(kernel_name(launch)) for launch in launches)
        """How many launches have kernels of as many iterations and elements that are reduced."""
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
        passed: list[tuple[Sequence[SSAValue], Sequence[SSAValue]]] = []
        """What items read and write, from the last one on that nothing moves over."""
        closed = 0
        for item in items_in(block):
            if isinstance(item, sched.SyncOp | sched.HostItem):
                finished += groups
                groups = []
                closed = len(finished)
                passed.clear()
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
                earlier = None
                if not target.launches:
                    near = finished[max(closed, len(finished) - MOST_ITEMS_BACK) :]
                    earlier = self._earlier(near, groups, item, reads, writes, passed)
                if earlier is None:
                    target.add(item, reads, writes)
                    target.place = len(passed)
                    groups.append(target)
                else:
                    earlier.add(item, reads, writes)
                    earlier.moved_up += 1
            passed.append((reads, writes))
        for group in (*finished, *groups):
            if len(group.launches) > 1 and self._pays(group):
                self._merge(group)
            else:
                self._restore_transfers(group)

    def _earlier(
        self,
        finished: Sequence[_Group],
        groups: Sequence[_Group],
        launch: sched.LaunchOp,
        reads: Sequence[SSAValue],
        writes: Sequence[SSAValue],
        passed: Sequence[tuple[Sequence[SSAValue], Sequence[SSAValue]]],
    ) -> _Group | None:
        """Returns the group of reductions that a launch moves up to; None if there is none."""
        found = self._candidate(launch)
        if found is None or not found.reductions:
            return None
        for group in reversed(finished):
            if group.place < len(passed) - MOST_ITEMS_BACK:
                continue
            if not self._fits(group, _Group(), launch, reads, writes) or group.conflicts(reads, writes):
                continue
            others = (other for other in (*finished, *groups) if other.place > group.place)
            over = [*passed[group.place + 1 :], *((other.reads, other.writes) for other in others)]
            if not any(_conflicts(*each, reads, writes) for each in over) and all(
                _stands_before(buffer, group.last) for buffer in launch.arguments
            ):
                return group
        return None

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
            kernel, extents = self.kernels.get(name), self._extents(name)
            # Most reductions have no other that they could be merged with.
            is_alone = extents is not None and self.launch_counts[extents] == 1
            if kernel is None or is_alone:
                self.candidates[name] = None
            else:
                self.candidates[name] = _candidate_of(kernel, self.cached_nbytes)
        return None if launch.token.first_use is not None else self.candidates[name]

    def _extents(self, name: str) -> tuple[Extent, ...] | None:
        """Returns the extents of the axes and reductions of a kernel; None where it has no reductions."""
        kernel = self.kernels.get(name)
        if kernel is None:
            return None
        nest = ElementNest(kernel, nested_axes(kernel), {})
        extents = {loop.extent for _, op in nest.reductions for loop in nested_reductions(op)}
        return (*nest.extents, *sorted(extents, key=str)) if extents else None

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
        if first.reductions != new.reductions:
            return False
        buffers = {**group.reads, **group.writes}
        if not any(new.is_whole(buffer) for buffer in (*reads, *writes) if buffer in buffers):
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
            own_reads, own_writes = ([b for b in each if first.is_whole(b)] for each in own)
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
        last = group.last
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


def _candidate_of(kernel: sched.KernelOp, cached_nbytes: int) -> _Candidate | None:
    nest = element_nest(kernel)
    if nest is None:
        return None
    analysis = IndexAnalysis()
    axis, ops = analysis.axis(nest.axes[-1]), [*nest.ops]
    inner = [op for op in ops if op.parent is nest.axes[-1].body.block]
    reductions: set[_Reduction] = set()
    for depth, op in nest.reductions:
        found = _reduction_of(op, depth, axis, analysis, cached_nbytes)
        if found is None:
            return None
        reductions.add(found)
        inner += [computed for computed in op.walk() if computed is not op]
    if not reductions and not all(runs_in_lanes(op, axis, analysis) for op in inner):
        return None
    nbytes = 0
    if not reductions or not all(reduction.has_lanes for reduction in reductions):
        nbytes = max((NBYTES.get(result.type, 1) for op in inner for result in op.results), default=1)
    count = sum(1 for op in ops for _ in op.walk())
    return _Candidate(nest, nbytes, count, frozenset(reductions))


def _reduction_of(
    op: sched.ReduceOp, depth: int, axis: Axis, analysis: IndexAnalysis, cached_nbytes: int
) -> _Reduction | None:
    """
    Returns what must be equal of reductions that stand beside one another in an iteration of the nest whose
    last axis is `axis`. None for one that is better apart.
    """
    loops = nested_reductions(op)
    body = [inner for inner in op.walk() if not isinstance(inner, sched.ReduceOp | sched.YieldOp)]
    loads = [inner for inner in body if isinstance(inner, memref.LoadOp)]
    own = analysis.axis(loops[-1])
    if has_lanes := all(runs_in_lanes(inner, own, analysis) for inner in body):
        width = 1
    elif all(runs_in_lanes(inner, axis, analysis) for inner in body):
        width = MOST_LANES
    else:
        return None
    around = {own, *analysis.axes_around(loops[-1].result)}
    if op.kind.data.adds_products and any(around - {*analysis.address(load).axes()} for load in loads):
        return None
    extents = tuple(loop.extent for loop in loops)
    read = sum(width * NBYTES[load.res.type] for load in loads)
    if upper_bound(product(extents)) * read > cached_nbytes:
        return None
    return _Reduction(depth, extents, has_lanes)


def _conflicts(
    reads: Iterable[SSAValue],
    writes: Iterable[SSAValue],
    other_reads: Sequence[SSAValue],
    other_writes: Sequence[SSAValue],
) -> list[tuple[SSAValue, SSAValue]]:
    """Returns the pairs of a buffer of each of two that must keep their order."""
    pairs = [(own, other) for own in writes for other in (*other_reads, *other_writes)]
    pairs += [(own, other) for own in reads for other in other_writes]
    return [pair for pair in pairs if may_overlap(*pair)]


def _stands_before(value: SSAValue, op: Operation) -> bool:
    """Returns whether a value is known before an op of a program."""
    owner = value.owner
    return isinstance(owner, Block) or owner.parent is not op.parent or owner.is_before_in_block(op)


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
