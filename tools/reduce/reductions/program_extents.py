"""Which extents of host programs and kernels belong together, and modules with other ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, cast

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    TensorType,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....dialects import low, sched
from ....dialects.dims.attributes import length_attribute
from ....dialects.graph import tensor_of
from ....dialects.modules.hazards import return_of
from ....dialects.modules.kernel_access import kernels_of
from .extents import ExtentClasses, NewExtent, Place
from .graph_extents import cut
from .surgery import retype


def extents_of_programs(module: ModuleOp) -> ExtentClasses:
    """Returns the extents of buffers, axes, loops and grids of a module, as far as they are numbers."""
    classes = ExtentClasses()
    kernels = kernels_of(module)
    for op in module.walk():
        for value in _values(op):
            for axis, extent in enumerate(_shape(value)):
                classes.add((value, axis), extent)
        match op:
            case sched.AxisOp() | sched.ReduceOp() if isinstance(op.extent, int):
                classes.add((op, 0), op.extent)
            case sched.ForOp() if isinstance(op.trip_count, int):
                classes.add((op, 0), op.trip_count)
            case _:
                pass
    # Relations come second: `join` passes over an extent that was not added yet, and a kernel may stand
    # below.
    for op in module.walk():
        match op:
            case sched.LaunchOp():
                kernel = kernels[op.kernel.root_reference.data]
                for mine, its in zip(op.arguments, kernel.body.block.args, strict=True):
                    _relate_buffers(classes, mine, its)
            case sched.TransferOp():
                _relate_buffers(classes, op.source, op.target)
            case sched.RowOp():
                for axis in range(len(_shape(op.result))):
                    classes.join((op.source, axis + 1), (op.result, axis))
                loop = op.parent_op()
                if op.index is not None and isinstance(loop, sched.ForOp):
                    classes.join((op.source, 0), (loop, 0))
            case memref.LoadOp() | memref.StoreOp():
                for axis, index in enumerate(op.indices):
                    if isinstance(index, BlockArgument):
                        loop = index.owner.parent_op()
                        if isinstance(loop, sched.AxisOp | sched.ReduceOp):
                            classes.join((op.memref, axis), (loop, 0))
            case _:
                pass
    _add_numbers(classes, kernels.values())
    return classes


def _values(op: Operation) -> list[SSAValue]:
    return [*op.results, *(value for region in op.regions for block in region.blocks for value in block.args)]


def _shape(value: SSAValue) -> tuple[int, ...]:
    """Returns the extents of a dense buffer of known size, none for other values."""
    type: Attribute = value.type
    if not isinstance(type, MemRefType) or not isinstance(type.layout, NoneAttr):
        return ()
    return type.get_shape() if type.has_static_shape() else ()


def _relate_buffers(classes: ExtentClasses, first: SSAValue, second: SSAValue) -> None:
    """Relates two buffers that are the same memory, in one shape or as one row."""
    if len(_shape(first)) == len(_shape(second)):
        for axis in range(len(_shape(first))):
            classes.join((first, axis), (second, axis))
    elif len(_shape(second)) == 1:
        classes.relate((second, 0), [(first, axis) for axis in range(len(_shape(first)))], math.prod)


def _numbers(kernel: low.KernelOp) -> Iterator[tuple[Place, int]]:
    """Yields what counts in a kernel of plain loops: its grid, and its constants above 1."""
    for number, extent in enumerate(kernel.grid.data):
        if isinstance(extent, int) and extent > 1:
            yield (kernel, number), extent
    for op in kernel.walk():
        if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
            value = op.value.value.data
            if isinstance(op.value.type, IndexType) and value > 1:
                yield (op, 0), value


def _add_numbers(classes: ExtentClasses, kernels: Iterable[Operation]) -> None:
    """
    Adds the numbers of kernels of plain loops, in which nothing says what an extent is: equal numbers are
    taken to be one, and that of a buffer of so many elements.
    """
    for kernel in kernels:
        if not isinstance(kernel, low.KernelOp):
            continue
        first: dict[int, Place] = {}
        for argument in kernel.body.block.args:
            for axis, extent in enumerate(_shape(argument)):
                first.setdefault(extent, (argument, axis))
        for place, number in _numbers(kernel):
            classes.add(place, number)
            classes.join(first.setdefault(number, place), place)


def resize_programs(module: ModuleOp, extent_of: NewExtent) -> None:
    """Gives the buffers, axes and loops of a module other extents, and changes what follows from these."""
    for op in module.walk():
        for value in _values(op):
            if _shape(value):
                buffer = cast("MemRefType[Attribute]", value.type)
                shape = [new(extent_of, (value, axis), old) for axis, old in enumerate(_shape(value))]
                retype(value, MemRefType(buffer.element_type, shape, buffer.layout, buffer.memory_space))
        match op:
            case sched.AxisOp() | sched.ReduceOp() if isinstance(op.extent, int):
                op.length = length_attribute(new(extent_of, (op, 0), op.extent))
            case sched.ForOp() if isinstance(op.trip_count, int):
                op.length = length_attribute(new(extent_of, (op, 0), op.trip_count))
            case sched.ConstantOp():
                op.value = cut(op.value, _held(op.value.type, op.result))
            case low.KernelOp():
                grid = op.grid.data
                found = [new(extent_of, (op, number), old) for number, old in enumerate(grid)]
                op.grid = low.DimsAttr(tuple(found))
            # A `low` kernel has its extents as constants, each joined with the extents of equal number.
            case arith.ConstantOp() if isinstance(op.value, IntegerAttr):
                number = op.value.value.data
                if isinstance(op.value.type, IndexType):
                    op.value = IntegerAttr(new(extent_of, (op, 0), number), IndexType())
            case _:
                pass
    for op in module.body.ops:
        if isinstance(op, sched.ProgramOp):
            returned = return_of(op).buffers
            op.function_type = FunctionType.from_lists(
                [_held(*pair) for pair in zip(op.function_type.inputs, op.body.block.args, strict=True)],
                [_held(*pair) for pair in zip(op.function_type.outputs, returned, strict=True)],
            )


def new(extent_of: NewExtent, place: Place, old: Any) -> Any:
    """Returns the new extent of a place, the old one where nothing is known about it."""
    found = extent_of(place)
    return old if found is None else found


def _held(type: Attribute, buffer: SSAValue) -> Any:
    """Returns the type of a tensor with the shape of the buffer that holds it."""
    if isinstance(type, TensorType) and _shape(buffer):
        return tensor_of(cast("TensorType[Any]", type).element_type, _shape(buffer))
    return cast(Any, type)
