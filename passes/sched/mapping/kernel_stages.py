"""Makes producers and the consumer of a buffer stages of one kernel, under axes that count its blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ....dialects import sched
from ....dialects.buffer_size import extents_of, nbytes_of, row_major_strides
from ....dialects.dims.expressions import (
    Extent,
    bounded,
    from_terms,
    lower_bound,
    terms_of,
    upper_bound,
)
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.sched import MappingAttr, Scope
from ...indices.access import planned_dims
from ...indices.analysis import IndexAnalysis, Loop
from ...indices.expressions import Axis, IndexExpr, constant, linearize, variable
from ...indices.nests import nest_of
from ...indices.products import forget_panels
from ...scalar.builder import INDEX
from ..steps.loop_nests.code import add, erase_unused, multiply, write_index, writer_before
from ..steps.primitives.split import split

_SERIAL = MappingAttr.get()


# By design: blocks are counted with it in the place of what varies of the outermost extents. No other extent
# has it as a factor, so that what holds for it holds for all numbers.
_ANY_NUMBER = (1 << 31) - 1

# By design: no fewer rows than a register tile has.
LEAST_ROWS = 8
"""The rows of a block, at least, where a kernel takes those of one product of matrices in parts."""


@dataclass(frozen=True, slots=True)
class StageSource:
    """
    A kernel that is to be a stage, the number of the argument that is the buffer between producer and
    consumer, and the most bytes of a side that stays from one block to the next, which a cache holds.
    """

    kernel: sched.KernelOp
    argument: int
    staying_nbytes: int

    @property
    def extents(self) -> tuple[Extent, ...]:
        """The extents of the buffer between producer and consumer, as the kernel sees it."""
        return tuple(extents_of(self.kernel.body.block.args[self.argument].type))

    @property
    def shape(self) -> tuple[int, ...]:
        """The same as numbers."""
        return _numbers(self.extents)


@dataclass(frozen=True, slots=True)
class _Stage:
    """
    A source, how many of its outer axes count blocks, and how many of the buffer's dims they are; of the next
    dim a block has `rows`, where they are not all of it.
    """

    source: StageSource
    n_axes: int
    n_dims: int
    rows: int | None

    @property
    def block(self) -> tuple[int, ...]:
        """The shape of a block as the kernel sees it."""
        rest = self.source.shape[self.n_dims :]
        return rest if self.rows is None else (self.rows, *rest[1:])


@dataclass(frozen=True, slots=True)
class StagePlan:
    """How kernels become one: its outer axes, by their extents, and the shape of a block of the buffer."""

    stages: tuple[_Stage, ...]
    extents: tuple[int, ...]
    block: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What keeps kernels apart: the name of a rule, and its reason in one clause."""

    rule: str
    why: str


def plan_stages(sources: Sequence[StageSource], local_nbytes: int, least_blocks: int) -> StagePlan | Obstacle:
    """
    Returns how the producers of a buffer and its consumer, which comes last, can be stages of one kernel, or
    why they cannot, or need not. The kernel has at least `least_blocks` blocks, and at most `local_nbytes`
    bytes of local buffers.

    The outermost extent of the buffer and of all kernels may vary from call to call; there are at least as
    many blocks when it is least.

    The first buffer of a kernel takes at most half of the bytes, or a third if it is a part of the rows: its
    operands may be blocks of the same size.
    """
    if any(_varies(extent) for source in sources for extent in source.extents[1:]):
        return Obstacle("varying-extents", "an extent within its blocks varies from call to call")
    readings = [_Reading(source) for source in sources]
    if not all(reading.nest for reading in readings):
        return Obstacle("no-nest", "a kernel has no axes, is mapped, or has one whose extent varies")
    # A kernel without sums of products has been given what it can take in when it was planned.
    if not any(reading.sums for reading in readings):
        return Obstacle("no-products", "no kernel of them sums up products")
    shape = sources[-1].shape
    if min(shape, default=1) < 1:
        return Obstacle("empty", "it has no elements")
    outermost = [extent for source in sources for extent in source.extents[:1]]
    parts = {
        _varying_part(extent) for extent in (*outermost, *(reading.nest[0].extent for reading in readings))
    }
    if len(parts) != 1 or None in parts:
        return Obstacle("varying-extents", "its outermost extent and those of the kernels vary in other ways")
    part = next(extent for extent in parts if extent is not None)
    least = max(lower_bound(bounded(part, planned_dims(sources[-1].kernel))), 1)
    size, each = prod(shape), NBYTES[element_type_of(readings[-1].buffer.type)]
    consumer, taken = readings[-1], sum(reading.taken_nbytes for reading in readings)
    most = local_nbytes - taken if consumer.has_blocks else local_nbytes // 2
    for blocks, in_parts in _block_counts(consumer.extents):
        nbytes = size // blocks * each
        n_blocks = blocks if part == 1 else blocks // _ANY_NUMBER * least
        if n_blocks < least_blocks or size % blocks or nbytes * (3 if in_parts else 2) > 2 * most:
            continue
        if not all(reading.may_be_stage(blocks) for reading in readings):
            continue
        stages: list[_Stage] = []
        for reading in readings:
            stage = reading.stage(blocks)
            if stage is None:
                break
            stages.append(stage)
        else:
            nests = [_Reading(stage.source).extents[: stage.n_axes] for stage in stages]
            extents = _refined(nests)
            if extents is not None:
                return StagePlan(tuple(stages), extents, _block_shape(stages))
    return Obstacle(
        "no-blocks",
        f"their outer axes count no {least_blocks} or more blocks of up to {most} bytes that each touch one",
    )


def _block_counts(extents: Sequence[int]) -> Iterator[tuple[int, bool]]:
    """
    Yields how many blocks the outer axes of a nest can count: those of whole axes, few first, then those of
    parts of the axis after them, large ones first.
    """
    for n_axes in range(1, len(extents) + 1):
        yield prod(extents[:n_axes]), False
    for n_axes in range(1, len(extents)):
        whole = prod(extents[:n_axes])
        for parts in range(2, extents[n_axes] // LEAST_ROWS + 1):
            if extents[n_axes] % parts == 0:
                yield whole * parts, True


class _Reading:
    """How a kernel accesses the buffer between producer and consumer."""

    def __init__(self, source: StageSource):
        self.source = source
        self.analysis = IndexAnalysis()
        kernel = source.kernel
        self.buffer = kernel.body.block.args[source.argument]
        self.nest: list[sched.AxisOp] = []
        loops = [op for op in kernel.walk() if isinstance(op, Loop)]
        if all(op.mapping == _SERIAL for op in loops):
            for axis in nest_of(kernel):
                if axis.count is not None or axis.extent == 0 or (self.nest and _varies(axis.extent)):
                    break
                self.nest.append(axis)
        self.extents = _numbers([axis.extent for axis in self.nest])
        self.accesses = [
            use.operation
            for use in self.buffer.uses
            if isinstance(use.operation, memref.LoadOp | memref.StoreOp)
        ]
        self.sums = [
            op
            for op in loops
            if isinstance(op, sched.ReduceOp) and op.kind.data.adds_products and op.continued is None
        ]
        self._may_be_apart: dict[int, bool] = {}
        """By how many axes count blocks."""
        allocs = [op for op in kernel.walk() if isinstance(op, sched.AllocOp)]
        self.taken_nbytes = sum(nbytes_of(op.result.type) for op in allocs)
        self.has_blocks = bool(self.nest) and any(op.parent is self.nest[-1].body.block for op in allocs)

    def may_be_stage(self, blocks: int) -> bool:
        """Returns whether `stage` may find one, as far as the kernel as it is tells: that takes no copy."""
        n_axes, parts = self._counting(blocks)
        if parts > 1 and (n_axes == len(self.nest) or self.extents[n_axes] % parts):
            return False
        n_axes += parts > 1
        known = self._may_be_apart.get(n_axes)
        if known is None:
            axes = [self.analysis.axis(axis) for axis in self.nest[:n_axes]]
            needed = axes if n_axes == 1 else axes[:-1]
            addresses = [address for op in self.sums for address in self._multiplied(op)]
            known = all(axis in address.axes() for address in addresses for axis in needed)
            self._may_be_apart[n_axes] = known
        return known

    def _counting(self, blocks: int) -> tuple[int, int]:
        """Returns how many axes count blocks as a whole, and in how many parts the next one is to do so."""
        n_axes, counted = 0, 1
        while n_axes < len(self.nest) and counted < blocks:
            if blocks % (counted * self.extents[n_axes]):
                break
            counted *= self.extents[n_axes]
            n_axes += 1
        return n_axes, blocks // counted

    def stage(self, blocks: int) -> _Stage | None:
        """Returns the kernel, or one with an axis in two, as a stage for so many blocks, if it is one."""
        n_axes, parts = self._counting(blocks)
        if parts == 1:
            return self._stage(blocks, n_axes)
        if n_axes == len(self.nest) or self.extents[n_axes] % parts:
            return None
        copy = self.source.kernel.clone()
        split(nest_of(copy)[n_axes], self.extents[n_axes] // parts)
        return _Reading(replace(self.source, kernel=copy))._stage(blocks, n_axes + 1)

    def _stage(self, blocks: int, n_axes: int) -> _Stage | None:
        """Returns the kernel as a stage whose first axes count the blocks, if each touches its own only."""
        shape = self.source.shape
        block = prod(shape) // blocks
        n_dims = next((n for n in range(len(shape), -1, -1) if prod(shape[n:]) >= block), 0)
        inner = prod(shape[n_dims + 1 :])
        rows = None if prod(shape[n_dims:]) == block else block // inner
        if rows is not None and (block % inner or shape[n_dims] % rows):
            return None
        stage = _Stage(self.source, n_axes, n_dims, rows)
        axes = [self.analysis.axis(axis) for axis in self.nest[:n_axes]]
        if any(self.first_in_block(stage, access) is None for access in self.accesses):
            return None
        if not all(self._is_apart(op, axes) for op in self.sums):
            return None
        return stage

    def first_in_block(self, stage: _Stage, access: memref.LoadOp | memref.StoreOp) -> IndexExpr | None:
        """
        Returns the index of an access, in its block, along the first dim that is not counted by blocks (0
        where there is none); None where it may lie in another block than the one that the axes count.
        """
        nest, shape, n = self.nest[: stage.n_axes], self.source.shape, stage.n_dims
        extents = self.extents[: stage.n_axes]
        axes = [self.analysis.axis(axis) for axis in nest]
        number = linearize([variable(axis) for axis in axes], row_major_strides(extents))
        indices = [self.analysis.expr(index) for index in access.indices]
        leading = linearize(indices[:n], row_major_strides(shape[:n]))
        if stage.rows is None:
            if leading != number:
                return None
            return indices[n] if n < len(indices) else constant(0)
        first = indices[n] - (number - leading * (shape[n] // stage.rows)) * stage.rows
        is_own = first.is_within(stage.rows) and not any(axis in axes for axis in first.axes())
        return first if is_own else None

    def _is_apart(self, op: sched.ReduceOp, axes: Sequence[Axis]) -> bool:
        """
        Returns whether all that a sum multiplies is another along each of the axes that count blocks. Along
        the last one a side that a cache holds may stay, if there are rows in a block of the other one.
        """
        addresses = self._multiplied(op)
        if any(axis not in address.axes() for address in addresses for axis in axes[:-1]):
            return False
        last = axes[-1]
        if all(last in address.axes() for address in addresses):
            return True
        return len(axes) > 1 and all(
            self._has_rows(address, last)
            if last in address.axes()
            else self._most(address, axes) * NBYTES[op.result.type] <= self.source.staying_nbytes
            for address in addresses
        )

    def _multiplied(self, op: sched.ReduceOp) -> list[IndexExpr]:
        """Returns where what a sum multiplies lies, but for what is in local buffers."""
        loads = [inner for inner in op.walk() if isinstance(inner, memref.LoadOp)]
        return [
            self.analysis.address(load) for load in loads if not isinstance(load.memref.owner, sched.AllocOp)
        ]

    def _has_rows(self, address: IndexExpr, axis: Axis) -> bool:
        """Returns whether an address goes on along a parallel axis as along one that counts blocks."""
        step = address.stride(axis)
        return any(
            isinstance(self.analysis.loop(other), sched.AxisOp)
            and other is not axis
            and isinstance(stride := address.stride(other), int)
            and stride * other.extent == step
            for other in address.axes()
        )

    def _most(self, address: IndexExpr, axes: Sequence[Axis]) -> int:
        """Returns how many elements an address reaches in one block, at most."""
        return prod(upper_bound(axis.extent) for axis in set(address.axes()) if axis not in axes)


def _varies(extent: Extent) -> bool:
    return not isinstance(extent, int)


def _varying_part(extent: Extent) -> Extent | None:
    """Returns what an extent is a multiple of that varies, 1 where none does; None for a sum of several."""
    monomials = [monomial for monomial, _ in terms_of(extent)]
    return from_terms({monomials[0]: 1}) if len(monomials) == 1 else None


def _numbers(extents: Sequence[Extent]) -> tuple[int, ...]:
    """Returns extents with a number in the place of what varies of them."""
    return tuple(
        extent if isinstance(extent, int) else _ANY_NUMBER * sum(factor for _, factor in terms_of(extent))
        for extent in extents
    )


def _refined(nests: Sequence[Sequence[int]]) -> tuple[int, ...] | None:
    """Returns the extents of the nest of most axes, if the axes of all others are some of its in a row."""
    finest = max(nests, key=len)
    for extents in nests:
        if _groups(extents, finest) is None:
            return None
    return tuple(finest)


def _groups(extents: Sequence[int], finest: Sequence[int]) -> list[list[int]] | None:
    """Returns which axes of the finest nest each axis of another one stands for."""
    groups: list[list[int]] = []
    number = 0
    for extent in extents:
        group: list[int] = []
        while number < len(finest) and (prod(finest[n] for n in group) < extent or finest[number] == 1):
            group.append(number)
            number += 1
        if prod(finest[n] for n in group) != extent:
            return None
        groups.append(group)
    return groups if number == len(finest) else None


def _block_shape(stages: Sequence[_Stage]) -> tuple[int, ...]:
    """Returns the shape of a block where all kernels see the same one, else one row of its elements."""
    shapes = {stage.block: None for stage in stages}
    first = next(iter(shapes))
    return first if len(shapes) == 1 else (prod(first),)


def stages_of(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """Returns the axes that stand beside others in a kernel, under its outer ones; none if there is one."""
    found = _stages_in(kernel.body.block)
    return found if len(found) > 1 else []


def _stages_in(block: Block) -> list[sched.AxisOp]:
    found: list[sched.AxisOp] = []
    for op in block.ops:
        if isinstance(op, sched.AxisOp):
            inner = _stages_in(op.body.block)
            found.extend(inner if len(inner) > 1 else [op])
    return found


def write_stages(plan: StagePlan, arguments: Sequence[Sequence[int | None]], name: str) -> sched.KernelOp:
    """
    Returns a kernel of copies of the stages, called `name`. `arguments` are, for each argument of each of
    them, the number of the argument that it is in the new kernel, None for the buffer between the stages. The
    values of dims come first.
    """
    return _StageWriter(plan, arguments, name).write()


class _StageWriter:
    def __init__(self, plan: StagePlan, arguments: Sequence[Sequence[int | None]], name: str):
        self.plan, self.arguments = plan, arguments
        old: dict[int, BlockArgument] = {}
        for stage, own in zip(plan.stages, arguments, strict=True):
            for argument, number in zip(stage.source.kernel.body.block.args, own, strict=True):
                if number is not None:
                    old.setdefault(number, argument)
        consumer = plan.stages[-1].source.kernel
        sizes: dict[int, str] = {}
        for stage, own in zip(plan.stages, arguments, strict=True):
            kernel = stage.source.kernel
            sizes |= {
                number: dim for dim, number in zip(kernel.sizes, own, strict=False) if number is not None
            }
        dims = [sizes[number] for number in range(len(sizes))]
        types = [old[number].type for number in range(len(dims), len(old))]
        self.kernel = sched.KernelOp(name, types, dims)
        self.kernel.location = consumer.location
        for number, argument in enumerate(self.kernel.body.block.args):
            argument.name_hint, argument.location = old[number].name_hint, old[number].location
        self.constants: dict[tuple[Attribute, Attribute], SSAValue] = {}

    def write(self) -> sched.KernelOp:
        plan = self.plan
        finest = next(stage for stage in plan.stages if stage.n_axes == len(plan.extents))
        block, axes = self.kernel.body.block, list[sched.AxisOp]()
        for like in nest_of(finest.source.kernel)[: finest.n_axes]:
            axis = sched.AxisOp(like.extent)
            axis.location = like.location
            axis.index.name_hint, axis.index.location = like.index.name_hint, like.index.location
            block.add_op(axis)
            axes.append(axis)
            block = axis.body.block
        producer = plan.stages[0].source
        handed = producer.kernel.body.block.args[producer.argument]
        alloc = sched.AllocOp(Scope.LOCAL, MemRefType(element_type_of(handed.type), plan.block))
        alloc.location, alloc.result.name_hint = handed.location, handed.name_hint
        block.add_op(alloc)
        for stage, own in zip(plan.stages, self.arguments, strict=True):
            self._write_stage(stage, own, axes, alloc.result)
        return self.kernel

    def _write_stage(
        self, stage: _Stage, own: Sequence[int | None], axes: Sequence[sched.AxisOp], local: SSAValue
    ) -> None:
        copy = stage.source.kernel.clone()
        reading = _Reading(replace(stage.source, kernel=copy))
        nest = reading.nest[: stage.n_axes]
        accesses = [(access, reading.first_in_block(stage, access)) for access in reading.accesses]
        target = axes[-1].body.block
        ops = self._without_constants(copy, axes[0])
        for axis in nest:
            ops.remove(axis)
            ops.extend(axis.body.block.ops)
        for op in ops:
            op.detach()
            target.add_op(op)
        writer = writer_before(ops[0])
        extents = reading.extents[: stage.n_axes]
        groups = _groups(extents, self.plan.extents)
        assert groups is not None, "the axes of a stage are none of the nest"
        for axis, group in zip(nest, groups, strict=True):
            index: SSAValue | None = None
            for number in group:
                own_index = axes[number].index
                if index is None:
                    index = own_index
                    continue
                scaled = multiply(writer, index, self.plan.extents[number])
                index = add(writer, scaled, own_index, axis.index.name_hint)
            axis.index.replace_all_uses_with(writer.constant(0, INDEX) if index is None else index)
        for access, first in accesses:
            assert first is not None, f"{access.name}: lies in another block"
            self._redirect(access, local, stage, reading.analysis, first)
        for argument, number in zip(copy.body.block.args, own, strict=True):
            if number is not None:
                argument.replace_all_uses_with(self.kernel.body.block.args[number])
        copy.erase()

    def _without_constants(self, copy: sched.KernelOp, outermost: sched.AxisOp) -> list[Operation]:
        """Moves the constants of a stage to the front of the kernel, each once; returns its other ops."""
        rest: list[Operation] = []
        for op in list(copy.body.block.ops):
            if not isinstance(op, arith.ConstantOp):
                rest.append(op)
                continue
            key = op.value, op.result.type
            known = self.constants.get(key)
            op.detach()
            if known is None or known.owner.parent is None:
                self.constants[key] = op.result
                self.kernel.body.block.insert_op_before(op, outermost)
            else:
                op.result.replace_all_uses_with(known)
                op.erase()
        return rest

    def _redirect(
        self,
        op: memref.LoadOp | memref.StoreOp,
        local: SSAValue,
        stage: _Stage,
        analysis: IndexAnalysis,
        first: IndexExpr,
    ) -> None:
        """Has an access of the buffer use the local block instead."""
        writer, old = writer_before(op), list(op.indices)
        indices = old[stage.n_dims :]
        if stage.rows is not None:
            indices[0] = write_index(writer, analysis, first, hint="row")
        if stage.block != self.plan.block:
            place = writer.constant(0, INDEX)
            for index, stride in zip(indices, row_major_strides(stage.block), strict=True):
                place = add(writer, place, multiply(writer, index, stride))
            indices = [place]
        if isinstance(op, memref.StoreOp):
            writer.insert(memref.StoreOp.create(operands=(op.value, local, *indices)))
        else:
            type, hint = op.res.type, op.res.name_hint
            new = writer.op(memref.LoadOp, local, *indices, result_type=type, hint=hint)
            op.res.replace_all_uses_with(new)
        around = op.parent_op()
        op.detach()
        op.erase()
        forget_panels(around)
        erase_unused(old)
