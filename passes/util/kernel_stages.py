"""Makes kernels that hand a buffer to one another stages of one kernel, under axes that count its blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import sched
from ...dialects.buffer_size import nbytes_of, row_major_strides
from ...dialects.element_types import NBYTES, element_type_of
from ...dialects.sched import CombineKind, MappingAttr, Scope
from ..schedule.code import add, erase_unused, multiply, writer_before
from .axis_nest import nest_of
from .index_analysis import IndexAnalysis, Loop
from .index_expr import Axis, IndexExpr, linearize, variable
from .scalar_builder import INDEX

_SERIAL = MappingAttr.get()


@dataclass(frozen=True, slots=True)
class StageSource:
    """A kernel that is to be a stage, and the number of its argument that is handed over."""

    kernel: sched.KernelOp
    argument: int


@dataclass(frozen=True, slots=True)
class _Stage:
    """A source, how many of its outer axes count blocks, and how many of the buffer's dims they are."""

    source: StageSource
    n_axes: int
    n_dims: int


@dataclass(frozen=True, slots=True)
class StagePlan:
    """How kernels become one: its outer axes, by their extents, and the shape of a block of the buffer."""

    stages: tuple[_Stage, ...]
    extents: tuple[int, ...]
    block: tuple[int, ...]


def plan_stages(sources: Sequence[StageSource], local_nbytes: int, least_blocks: int) -> StagePlan | None:
    """
    Returns how kernels that hand over a buffer, the last one reading it, can be stages of one kernel with at
    least so many blocks and at most so many bytes of local buffers; None where they cannot, or need not.
    """
    readings = [_Reading(source) for source in sources]
    if not all(reading.nest for reading in readings) or not any(reading.sums for reading in readings):
        return None
    buffer = sources[-1].kernel.body.block.args[sources[-1].argument].type
    assert isinstance(buffer, MemRefType), "a buffer that is none"
    shape = buffer.get_shape()
    size, each = prod(shape), NBYTES[element_type_of(buffer)]
    if min(shape, default=1) < 1:
        return None
    taken = sum(
        nbytes_of(op.result.type)
        for source in sources
        for op in source.kernel.walk()
        if isinstance(op, sched.AllocOp)
    )
    for n_axes in range(1, len(readings[-1].nest) + 1):
        blocks = prod(readings[-1].extents[:n_axes])
        if blocks < least_blocks or size % blocks or size // blocks * each + taken > local_nbytes:
            continue
        stages = [reading.stage(blocks, size // blocks) for reading in readings]
        found = [stage for stage in stages if stage is not None]
        if len(found) != len(stages):
            continue
        extents = _refined([reading.extents[: s.n_axes] for reading, s in zip(readings, found, strict=True)])
        if extents is not None:
            return StagePlan(tuple(found), extents, _block_shape(found, size // blocks))
    return None


class _Reading:
    """What a kernel does with the buffer that is handed over."""

    def __init__(self, source: StageSource):
        self.source = source
        self.analysis = IndexAnalysis()
        kernel = source.kernel
        self.nest: list[sched.AxisOp] = []
        loops = [op for op in kernel.walk() if isinstance(op, Loop)]
        if all(op.mapping == _SERIAL for op in loops):
            for axis in nest_of(kernel):
                if axis.count is not None or not isinstance(axis.extent.data, int) or axis.extent.data < 1:
                    break
                self.nest.append(axis)
        self.extents = [axis.extent.data for axis in self.nest if isinstance(axis.extent.data, int)]
        buffer = kernel.body.block.args[source.argument]
        self.accesses = [
            use.operation for use in buffer.uses if isinstance(use.operation, memref.LoadOp | memref.StoreOp)
        ]
        self.sums = [
            op
            for op in loops
            if isinstance(op, sched.ReduceOp) and op.kind.data is CombineKind.FMA and op.continued is None
        ]

    def stage(self, blocks: int, block: int) -> _Stage | None:
        """Returns the kernel as a stage for so many blocks of so many elements, if it is one."""
        n_axes = next((n for n in range(1, len(self.nest) + 1) if prod(self.extents[:n]) == blocks), None)
        buffer = self.source.kernel.body.block.args[self.source.argument].type
        assert isinstance(buffer, MemRefType), "a buffer that is none"
        shape = buffer.get_shape()
        n_dims = next((n for n in range(len(shape) + 1) if prod(shape[n:]) == block), None)
        if n_axes is None or n_dims is None:
            return None
        axes = [self.analysis.axis(axis) for axis in self.nest[:n_axes]]
        strides = row_major_strides(self.extents[:n_axes])
        number = linearize([variable(axis) for axis in axes], strides)
        for access in self.accesses:
            leading = [self.analysis.expr(index) for index in list(access.indices)[:n_dims]]
            if linearize(leading, row_major_strides(shape[:n_dims])) != number:
                return None
        if not all(self._differs(op, axes) for op in self.sums):
            return None
        return _Stage(self.source, n_axes, n_dims)

    def _differs(self, op: sched.ReduceOp, axes: Sequence[Axis]) -> bool:
        """Returns whether all that a sum multiplies is another along each of the axes that count blocks."""
        loads = [inner for inner in op.walk() if isinstance(inner, memref.LoadOp)]
        loads = [load for load in loads if not isinstance(load.memref.owner, sched.AllocOp)]
        return all(axis in _axes_of(self.analysis.address(load)) for load in loads for axis in axes)


def _axes_of(expr: IndexExpr) -> set[Axis]:
    return set(expr.axes())


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


def _block_shape(stages: Sequence[_Stage], block: int) -> tuple[int, ...]:
    """Returns the shape of a block where all kernels see the same one, else one row of its elements."""
    shapes: dict[tuple[int, ...], None] = {}
    for stage in stages:
        buffer = stage.source.kernel.body.block.args[stage.source.argument].type
        assert isinstance(buffer, MemRefType), "a buffer that is none"
        shapes[tuple(buffer.get_shape()[stage.n_dims :])] = None
    return next(iter(shapes)) if len(shapes) == 1 else (block,)


def stages_of(kernel: sched.KernelOp) -> list[sched.AxisOp]:
    """Returns the axes that stand beside one another under the outermost ones of a kernel."""
    nest = nest_of(kernel)
    block = nest[-1].body.block if nest else kernel.body.block
    found = [op for op in block.ops if isinstance(op, sched.AxisOp)]
    return found if nest and len(found) > 1 else []


def write_stages(plan: StagePlan, arguments: Sequence[Sequence[int | None]]) -> sched.KernelOp:
    """
    Returns a kernel of copies of the stages. `arguments` are, for each argument of each of them, the number
    of the argument that it is in the new kernel, None for the buffer that is handed over.
    """
    return _StageWriter(plan, arguments).write()


class _StageWriter:
    def __init__(self, plan: StagePlan, arguments: Sequence[Sequence[int | None]]):
        self.plan, self.arguments = plan, arguments
        old: dict[int, SSAValue] = {}
        for stage, own in zip(plan.stages, arguments, strict=True):
            for argument, number in zip(stage.source.kernel.body.block.args, own, strict=True):
                if number is not None:
                    old.setdefault(number, argument)
        consumer = plan.stages[-1].source.kernel
        self.kernel = sched.KernelOp(consumer.sym_name.data, [old[number].type for number in range(len(old))])
        self.kernel.location = consumer.location
        for number, argument in enumerate(self.kernel.body.block.args):
            argument.name_hint, argument.location = old[number].name_hint, old[number].location
        self.constants: dict[tuple[Attribute, Attribute], SSAValue] = {}

    def write(self) -> sched.KernelOp:
        plan = self.plan
        finest = next(stage for stage in plan.stages if stage.n_axes == len(plan.extents))
        block, axes = self.kernel.body.block, list[sched.AxisOp]()
        for like in nest_of(finest.source.kernel)[: finest.n_axes]:
            axis = sched.AxisOp(like.extent.data)
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
        nest = nest_of(copy)[: stage.n_axes]
        target = axes[-1].body.block
        ops = self._without_constants(copy, axes[0])
        for axis in nest:
            ops.remove(axis)
            ops.extend(axis.body.block.ops)
        for op in ops:
            op.detach()
            target.add_op(op)
        writer = writer_before(ops[0])
        extents = [axis.extent.data for axis in nest if isinstance(axis.extent.data, int)]
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
        handed = copy.body.block.args[stage.source.argument]
        for use in list(handed.uses):
            self._redirect(use.operation, local, stage.n_dims)
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
            if known is None:
                self.constants[key] = op.result
                self.kernel.body.block.insert_op_before(op, outermost)
            else:
                op.result.replace_all_uses_with(known)
                op.erase()
        return rest

    def _redirect(self, op: Operation, local: SSAValue, n_dims: int) -> None:
        """Has an access of the buffer that is handed over use the block that is kept of it."""
        assert isinstance(op, memref.LoadOp | memref.StoreOp), f"{op.name}: uses a buffer"
        writer, old = writer_before(op), list(op.indices)
        indices = old[n_dims:]
        shape = op.memref.type.get_shape()[n_dims:]
        if tuple(shape) != self.plan.block:
            place = writer.constant(0, INDEX)
            for index, stride in zip(indices, row_major_strides(shape), strict=True):
                place = add(writer, place, multiply(writer, index, stride))
            indices = [place]
        if isinstance(op, memref.StoreOp):
            writer.insert(memref.StoreOp.create(operands=(op.value, local, *indices)))
        else:
            type, hint = op.res.type, op.res.name_hint
            new = writer.op(memref.LoadOp, local, *indices, result_type=type, hint=hint)
            op.res.replace_all_uses_with(new)
        op.detach()
        op.erase()
        erase_unused(old)
