"""Kernels that fill a buffer for one other kernel, which may compute its elements itself instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IndexType, IntegerAttr, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects import low, sched
from ....dialects.buffer_size import extents_of
from ....dialects.modules.hazards import base_of
from ....dialects.modules.kernel_access import KernelAccess
from ....dialects.sched import MappingAttr, Role
from ...indices.nests import nest_of
from ...scalar.builder import ScalarBuilder
from ..steps.loop_nests.code import copy_places, writer_before

_SERIAL = MappingAttr.get()

_QUICK_OPS = (
    arith.ConstantOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.CmpiOp,
    arith.CmpfOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.ExtFOp,
    arith.TruncFOp,
    low.SelectOp,
    low.ConvertOp,
    memref.LoadOp,
)
"""Ops that may be done again for elements that are needed more than once."""


@dataclass(frozen=True)
class ElementCode:
    """The code of a kernel that does nothing but compute each element of a buffer on its own."""

    kernel: sched.KernelOp
    store: memref.StoreOp
    code: tuple[Operation, ...]
    before: tuple[Operation, ...] = ()
    """What is computed once for all elements, if that is more than a few quick ops."""

    @property
    def result(self) -> BlockArgument:
        """The argument that is the buffer."""
        buffer = self.store.memref
        assert isinstance(buffer, BlockArgument), "the buffer is an argument"
        return buffer

    @property
    def inputs(self) -> list[BlockArgument]:
        """The other arguments that are buffers."""
        args = self.kernel.body.block.args[len(self.kernel.sizes) :]
        return [argument for argument in args if argument is not self.result]

    def may_be_in(self, kernel: sched.KernelOp) -> bool:
        """Returns whether another kernel knows all the dims that the code is made with."""
        return self.kernel.sizes.keys() <= kernel.sizes.keys()

    def write_before(
        self, b: ScalarBuilder, kernel: sched.KernelOp, inputs: Sequence[SSAValue]
    ) -> dict[SSAValue, SSAValue]:
        """
        Writes what is computed once into a kernel, of its buffers `inputs`, and returns which values of it
        the code for an element is made with.
        """
        values: dict[SSAValue, SSAValue] = dict(zip(self.inputs, inputs, strict=True))
        values.update((size, kernel.sizes[name]) for name, size in self.kernel.sizes.items())
        _copy(b, self.before, values)
        return values

    def write(
        self, b: ScalarBuilder, values: Mapping[SSAValue, SSAValue], indices: Sequence[SSAValue]
    ) -> SSAValue:
        """Writes the code for one element into a kernel, of `values` of it, and returns its value."""
        known = {**values, **dict(zip(self.store.indices, indices, strict=True))}
        _copy(b, self.code, known)
        return known[self.store.value]


def _copy(b: ScalarBuilder, ops: Sequence[Operation], values: dict[SSAValue, SSAValue]) -> None:
    """Copies ops, of which constants stand at the front of a kernel, and adds what they give to `values`."""
    for op in ops:
        if isinstance(op, arith.ConstantOp):
            assert isinstance(op.value, IntegerAttr | FloatAttr), f"{op.name}: {op.value} is no number"
            values[op.result] = b.constants.get(op.value.value.data, op.result.type)
        else:
            b.insert(op.clone(values))


def element_code(kernel: sched.KernelOp) -> ElementCode | None:
    """Returns the code of a kernel that stores each element of one argument once, if that is quick."""
    nest = nest_of(kernel)
    if not nest or any(axis.mapping != _SERIAL or axis.count is not None for axis in nest):
        return None
    before: list[Operation] = []
    code: list[Operation] = []
    store: memref.StoreOp | None = None
    for op in kernel.body.block.walk():
        if isinstance(op, sched.AxisOp):
            if op not in nest:
                return None
        elif isinstance(op, memref.StoreOp):
            if store is not None:
                return None
            store = op
        elif op.parent is kernel.body.block and (_is_quick(op) or is_side_effect_free(op)):
            before.append(op)
        elif _is_quick(op):
            code.append(op)
        else:
            return None
    if store is None or not isinstance(store.memref, BlockArgument) or not _covers(store, nest):
        return None
    if any(isinstance(op, memref.LoadOp) and op.memref is store.memref for op in (*before, *code)):
        return None
    if all(map(_is_quick, before)):
        before, code = [], [*before, *code]
    return ElementCode(kernel, store, tuple(code), tuple(before))


def _is_quick(op: Operation) -> bool:
    if isinstance(op, _QUICK_OPS):
        return True
    return len(op.results) == 1 and isinstance(op.results[0].type, IndexType) and not op.regions


def _covers(store: memref.StoreOp, nest: Sequence[sched.AxisOp]) -> bool:
    """Returns whether axes store each element of a buffer, an axis each dim of more than one."""
    axes: dict[SSAValue, sched.AxisOp] = {axis.index: axis for axis in nest}
    for index, extent in zip(store.indices, extents_of(store.memref.type), strict=True):
        axis = axes.pop(index, None)
        if axis is None and extent == 1 and isinstance(index.owner, arith.ConstantOp):
            continue
        if axis is None or axis.extent != extent:
            return False
    return not axes


def producer_of(
    launch: sched.LaunchOp, number: int, accesses: Mapping[str, KernelAccess]
) -> sched.LaunchOp | None:
    """
    Returns what fills the buffer that is argument `number` of a launch, if that is another launch, for this
    one alone, and all that it reads is the same still.
    """
    buffer = launch.arguments[number]
    if not isinstance(buffer.owner, sched.BufferOp) or buffer.owner.role.data is not Role.TEMPORARY:
        return None
    if buffer.owner.kept is not None:
        return None
    # One producer and one consumer: with another reader the producer would have to stay as well. Some buffers
    # are read by most launches: a third use is enough to know.
    users = [use.operation for use in islice(buffer.uses, 3)]
    if len(users) != 2 or launch not in users:
        return None
    (found,) = [user for user in users if user is not launch]
    if not isinstance(found, sched.LaunchOp) or found.parent is not launch.parent:
        return None
    # An item that waits for one of the two would wait for a launch that is gone.
    if any(item.token.first_use is not None for item in (found, launch)):
        return None
    writes = accesses[found.kernel.root_reference.data].writes
    if [found.arguments[write] for write in writes] != [buffer]:
        return None
    inputs = [
        argument
        for argument in found.arguments
        if argument is not buffer and not isinstance(argument.owner, sched.DimOp)
    ]
    if any(isinstance(value.type, IndexType) or not _is_own(base_of(value)) for value in inputs):
        return None
    # The consumer reads the inputs later than the producer did, so nothing in between may store to them.
    item = found.next_op
    while item is not None:
        if isinstance(item, sched.LaunchOp):
            touched = [item.arguments[write] for write in accesses[item.kernel.root_reference.data].writes]
        elif isinstance(item, sched.TransferOp):
            touched = [item.target]
        elif isinstance(item, sched.BufferOp | sched.ConstantOp):
            touched = []
        else:
            return None
        if any(base_of(value) is base_of(each) for value in touched for each in inputs):
            return None
        if item is launch:
            return found
        item = item.next_op
    return None


def _is_own(value: SSAValue) -> bool:
    """Returns whether no other value of the program is the same memory."""
    owner = value.owner
    if isinstance(owner, Block):
        return isinstance(owner.parent_op(), sched.ProgramOp)
    return isinstance(owner, sched.BufferOp | sched.ConstantOp)


def copied_kernel(kernel: sched.KernelOp, name: str) -> sched.KernelOp:
    """Puts a copy of a kernel, with another name, before it."""
    new = kernel.clone()
    new.sym_name = StringAttr(name)
    copy_places(kernel, new)
    assert kernel.parent is not None, f"{kernel.name}: stands in no module"
    kernel.parent.insert_op_before(new, kernel)
    return new


def known_inputs(
    launch: sched.LaunchOp, producer: sched.LaunchOp, number: int, code: ElementCode
) -> dict[BlockArgument, int]:
    """
    Returns which inputs of `code`, which is that of another launch, a launch has as arguments, apart from
    argument `number`, and the numbers of these.
    """
    numbers = {value: place for place, value in enumerate(launch.arguments) if place != number}
    values = {each: producer.arguments[each.index] for each in code.inputs}
    return {each: numbers[value] for each, value in values.items() if value in numbers}


def compute_argument(
    kernel: sched.KernelOp, argument: BlockArgument, code: ElementCode, known: Mapping[BlockArgument, int]
) -> None:
    """
    Has a kernel compute the elements of an argument, which it only loads, with `code`, whose inputs become
    arguments in its stead, but for those that are `known` by the number of an argument.
    """
    inputs, loads = _inputs(kernel, argument, code, known), [use.operation for use in argument.uses]
    first = next(op for op in kernel.body.block.ops if not isinstance(op, arith.ConstantOp))
    values = code.write_before(writer_before(first), kernel, inputs)
    for load in loads:
        assert isinstance(load, memref.LoadOp), f"{load.name}: loads nothing"
        load.res.replace_all_uses_with(code.write(writer_before(load), values, list(load.indices)))
        load.detach()
        load.erase()
    kernel.body.block.erase_arg(argument)


def _inputs(
    kernel: sched.KernelOp, old: BlockArgument, code: ElementCode, known: Mapping[BlockArgument, int]
) -> list[SSAValue]:
    """
    Returns the inputs of `code` in a kernel, which gets those that are not known right after an argument that
    is to go.
    """
    arguments, found, place = kernel.body.block.args, list[SSAValue](), old.index
    for argument in code.inputs:
        if argument in known:
            found.append(arguments[known[argument]])
            continue
        place += 1
        new = kernel.body.block.insert_arg(argument.type, place)
        new.name_hint, new.location = argument.name_hint, argument.location
        found.append(new)
    return found


def launch_without(
    launch: sched.LaunchOp,
    producer: sched.LaunchOp,
    kernel: str,
    number: int,
    code: ElementCode,
    known: Mapping[BlockArgument, int],
) -> sched.LaunchOp:
    """
    Puts a launch of `kernel` in the place of two, and returns it: it takes the inputs of `code` from argument
    `number` on, but for those that are `known`.
    """
    buffer = launch.arguments[number]
    inputs = [producer.arguments[each.index] for each in code.inputs if each not in known]
    arguments = [*launch.arguments[:number], *inputs, *launch.arguments[number + 1 :]]
    new = sched.LaunchOp(kernel, arguments, list(launch.after))
    new.attributes.update(launch.attributes)
    if producer.origins is not None and launch.origins is not None:
        new.origins = ArrayAttr([*producer.origins, *launch.origins])
    new.location = launch.location
    new.token.name_hint = launch.token.name_hint
    block = launch.parent
    assert block is not None, "a launch stands in a program"
    block.insert_op_before(new, launch)
    for op in (launch, producer, buffer.owner):
        assert isinstance(op, Operation), "a temporary is an op's"
        op.detach()
        op.erase()
    return new
