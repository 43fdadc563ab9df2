"""
One kernel that does what several do, element by element.

Each kernel is a nest of axes with the same extents, whose innermost body loads, computes and stores. Their
bodies are written one after the other: what two of them load or compute is written once, and what one stores
and a later one loads stays in a register.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects import low, sched
from ....dialects.dims.expressions import Extent
from ....dialects.low.constant_integer import constant_integer


def copy_kernel(type: MemRefType[Attribute], name: str) -> sched.KernelOp:
    """Returns a kernel that copies a buffer of static shape to another one, element by element."""
    kernel = sched.KernelOp(name, (type, type))
    block, indices = kernel.body.block, list[SSAValue]()
    for extent in type.get_shape():
        axis = sched.AxisOp(extent)
        axis.index.name_hint = "i" if block is kernel.body.block else "j"
        block.add_op(axis)
        block = axis.body.block
        indices.append(axis.index)
    source, target = kernel.body.block.args
    value = memref.LoadOp.get(source, indices)
    block.add_op(value)
    block.add_op(memref.StoreOp.get(value, target, indices))
    return kernel


Place = tuple[int | str | None, ...]
"""Of each index of an access: the number of the axis that it is, or the constant as text, else None."""


@dataclass(frozen=True, slots=True)
class ElementNest:
    """
    A kernel of one nest of axes that are mapped to nothing, with code before each and in the innermost, also
    reductions. `places` are those that each of its buffers is accessed at; what a reduction reads is at none
    that is known.
    """

    kernel: sched.KernelOp
    axes: tuple[sched.AxisOp, ...]
    places: Mapping[int, frozenset[Place]]

    @property
    def extents(self) -> tuple[Extent, ...]:
        return tuple(axis.extent for axis in self.axes)

    @property
    def ops(self) -> Iterator[Operation]:
        """The ops that are no axes, from the outside in."""
        for block in (self.kernel.body.block, *(axis.body.block for axis in self.axes)):
            for op in block.ops:
                if not isinstance(op, sched.AxisOp):
                    yield op

    @property
    def reductions(self) -> list[tuple[int, sched.ReduceOp]]:
        """The reductions, the outermost of several dims, and how many axes each stands in."""
        return [(self.depth(op), op) for op in self.ops if isinstance(op, sched.ReduceOp)]

    def depth(self, op: Operation) -> int:
        """Returns how many of the axes one of `ops` stands in."""
        around = op.parent_op()
        return self.axes.index(around) + 1 if isinstance(around, sched.AxisOp) else 0


def nested_axes(kernel: sched.KernelOp) -> tuple[sched.AxisOp, ...]:
    """Returns the axes of a kernel that each end what is around them, from the outside in."""
    axes: list[sched.AxisOp] = []
    inner = kernel.body.block.last_op
    while isinstance(inner, sched.AxisOp):
        axes.append(inner)
        inner = inner.body.block.last_op
    return tuple(axes)


def nested_reductions(op: sched.ReduceOp) -> list[sched.ReduceOp]:
    """Returns a reduction and those in it, one in the other: all those of several dims."""
    return [inner for inner in op.walk() if isinstance(inner, sched.ReduceOp)]


def element_nest(kernel: sched.KernelOp) -> ElementNest | None:
    """Returns a kernel as a nest of which each iteration stores elements of its own; None if it is none."""
    axes = nested_axes(kernel)
    if any(axis.count is not None or axis.mapping != sched.MappingAttr.get() for axis in axes):
        return None
    block = axes[-1].body.block if axes else kernel.body.block
    nest = ElementNest(kernel, axes, {})
    numbers: dict[SSAValue, int] = {axis.index: number for number, axis in enumerate(axes)}
    places: dict[int, set[Place]] = {}
    for op in nest.ops:
        if isinstance(op, sched.ReduceOp):
            loads = _loads_of_reduction(op)
            if loads is None:
                return None
            for load in loads:
                places.setdefault(load, set()).add((None,))
        elif isinstance(op, memref.LoadOp | memref.StoreOp):
            place = tuple(_index_kind(index, numbers) for index in op.indices)
            if isinstance(op, memref.StoreOp) and (
                op.parent is not block or not {*numbers.values()} <= {*place}
            ):
                return None
            if not isinstance(op.memref, BlockArgument):
                return None
            places.setdefault(op.memref.index, set()).add(place)
        elif op.regions or not is_side_effect_free(op):
            return None
    found = {number: frozenset(each) for number, each in places.items()}
    return ElementNest(kernel, axes, found) if axes else None


def _loads_of_reduction(op: sched.ReduceOp) -> list[int] | None:
    """Returns the arguments that a reduction reads; None where it does anything but compute, or is mapped."""
    found: list[int] = []
    for inner in op.walk():
        if isinstance(inner, sched.ReduceOp):
            if inner.count is not None or inner.tile_shape or inner.mapping != sched.MappingAttr.get():
                return None
        elif isinstance(inner, memref.LoadOp):
            if not isinstance(inner.memref, BlockArgument):
                return None
            found.append(inner.memref.index)
        elif inner.regions or not (isinstance(inner, sched.YieldOp) or is_side_effect_free(inner)):
            return None
    return found


def _index_kind(index: SSAValue, numbers: Mapping[SSAValue, int]) -> int | str | None:
    if index in numbers:
        return numbers[index]
    known = constant_integer(index)
    return None if known is None else str(known)


@dataclass(frozen=True, slots=True)
class Arguments:
    """
    The arguments of the kernel that is written: the values of `dims` come first, `types` are those of the
    buffers. `numbers` are, for each argument of each kernel, which one it is.
    """

    dims: tuple[str, ...]
    types: tuple[Attribute, ...]
    numbers: tuple[tuple[int, ...], ...]


def merged_kernel(nests: Sequence[ElementNest], arguments: Arguments, name: str) -> sched.KernelOp:
    """
    Returns a kernel, called `name`, that does what the nests do one after the other. A buffer that one of
    them stores is accessed at one place by all.
    """
    writer = _Writer(nests, arguments, name)
    for nest, numbers in zip(nests, arguments.numbers, strict=True):
        writer.write(nest, numbers)
    for op in reversed([*writer.kernel.walk()]):
        if op.results and not any(result.first_use for result in op.results):
            op.detach()
            op.erase()
    return writer.kernel


class _Writer:
    def __init__(self, nests: Sequence[ElementNest], arguments: Arguments, name: str):
        self.nests, self.arguments = nests, arguments
        self.kernel = sched.KernelOp(name, arguments.types, arguments.dims)
        self.kernel.location = nests[-1].kernel.location
        self.blocks = [self.kernel.body.block]
        self.axes: list[sched.AxisOp] = []
        for like in nests[0].axes:
            axis = sched.AxisOp(like.extent)
            axis.location = like.location
            axis.index.name_hint, axis.index.location = like.index.name_hint, like.index.location
            self.blocks[-1].add_op(axis)
            self.axes.append(axis)
            self.blocks.append(axis.body.block)
        self.known: dict[object, tuple[SSAValue, int]] = {}
        """What is computed, by what it is computed of, and how many axes it stands in."""
        self.stored: dict[SSAValue, SSAValue] = {}
        """What each buffer holds at the one place that it is accessed at."""
        self.has_reductions = any(nest.reductions for nest in nests)
        self.first_store: memref.StoreOp | None = None

    def write(self, nest: ElementNest, numbers: Sequence[int]) -> None:
        new = self.kernel.body.block.args
        values: dict[SSAValue, SSAValue] = {}
        for argument, number in zip(nest.kernel.body.block.args, numbers, strict=True):
            values[argument] = new[number]
            if new[number].name_hint is None:
                new[number].name_hint, new[number].location = argument.name_hint, argument.location
        for axis, like in zip(self.axes, nest.axes, strict=True):
            values[like.index] = axis.index
        for op in nest.ops:
            self._write_op(op, nest.depth(op), values)

    def _write_op(self, op: Operation, depth: int, values: dict[SSAValue, SSAValue]) -> None:
        if isinstance(op, sched.ReduceOp):
            copy = op.clone(values)
            self._insert(copy, depth)
            values[op.result] = copy.result
            return
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, memref.StoreOp):
            self._insert(op.clone(values), depth)
            self.stored[operands[1]] = operands[0]
            return
        (result,) = op.results
        known = self.stored.get(operands[0]) if isinstance(op, memref.LoadOp) else _stored_bit(op, operands)
        if known is not None:
            values[result] = known
            return
        key = (op.name, *operands, *sorted(op.properties.items(), key=itemgetter(0)), result.type)
        found, found_depth = self.known.get(key, (None, 0))
        if found is None or found_depth > depth:
            copy = op.clone(values)
            self._insert(copy, depth)
            found = copy.results[0]
            self.known[key] = found, depth
        values[result] = found

    def _insert(self, op: Operation, depth: int) -> None:
        block = self.blocks[depth]
        if depth < len(self.axes):
            block.insert_op_before(op, self.axes[depth])
        elif self.first_store is not None and not isinstance(op, memref.StoreOp):
            # So that reductions stand beside one another. What is loaded of a buffer that is stored is known.
            block.insert_op_before(op, self.first_store)
        else:
            block.add_op(op)
            if isinstance(op, memref.StoreOp) and self.has_reductions and self.first_store is None:
                self.first_store = op


def _stored_bit(op: Operation, operands: Sequence[SSAValue]) -> SSAValue | None:
    """Returns the bit whose byte an op compares with 0, as bits are read that lie in memory."""
    if not isinstance(op, arith.CmpiOp) or op.predicate.value.data != _NOT_EQUAL:
        return None
    byte = operands[0].owner
    if isinstance(byte, low.ConvertOp) and byte.conversion.data is low.Conversion.EXTUI:
        zero = constant_integer(operands[1])
        if zero == 0 and byte.operands[0].type == op.result.type:
            return byte.operands[0]
    return None


_NOT_EQUAL = arith.CMPI_COMPARISON_OPERATIONS.index("ne")


def drop_stores(kernel: sched.KernelOp, argument: BlockArgument) -> bool:
    """Drops an argument that a kernel only stores to, and what it stores; returns whether it is one."""
    stores = [use.operation for use in argument.uses]
    if not all(isinstance(op, memref.StoreOp) for op in stores):
        return False
    for op in stores:
        _erase_unused(op)
    kernel.body.block.erase_arg(argument)
    return True


def _erase_unused(op: Operation) -> None:
    """Erases an op, and what was computed for it alone."""
    operands = list(op.operands)
    op.detach()
    op.erase()
    for operand in operands:
        owner = operand.owner
        if isinstance(owner, Operation) and operand.first_use is None and not owner.regions and owner.parent:
            _erase_unused(owner)
