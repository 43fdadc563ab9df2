"""
Makes one kernel of kernels that differ only in which row of a buffer they use: launches hand over the row.

    sched.kernel @f_0(%keys: memref<12x8xf32>, ...) {     sched.kernel @f_0(%keys: memref<8xf32>, ...) {
      ... memref.load %keys[%c0, %i] ...                    ... memref.load %keys[%i] ...
    }                                                     }
    sched.kernel @f_1(%keys: memref<12x8xf32>, ...) {
      ... memref.load %keys[%c1, %i] ...
    }                                                -->
    sched.program @f ... {                                sched.program @f ... {
                                                            %row = sched.row %keys[0] : memref<12x8xf32>
                                                            %row_1 = sched.row %keys[1] : memref<12x8xf32>
      sched.launch @f_0(%keys, ...)                         sched.launch @f_0(%row, ...)
      sched.launch @f_1(%keys, ...)                         sched.launch @f_0(%row_1, ...)
    }                                                     }

Layers of a model that keep what they have in one array (`keys[3]`), or whose weights lie in one, or that each
make a row of a result, have kernels that are equal but for the number of the layer, each of which would be
scheduled and compiled. Rows are handed over where two kernels are equal then. Not of tensor nodes: whoever
asks which nodes a program writes as a whole looks at what its items are given.

Requires: nothing. Ensures: all launches of a kernel that is given rows hand them over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from ....dialects import graph, sched
from ....dialects.buffer_size import extents_of, is_strided
from ....dialects.dims.expressions import bounded, is_at_least
from ....dialects.low.constant_integer import constant_integer
from ....dialects.modules.canonical_text import AttributeTexts, canonical_text
from ....dialects.modules.kernel_access import launches_of

_Rows = dict[int, int]
"""The row that a kernel reads and writes of its arguments, by their numbers: no other."""

_Launches = Mapping[str, Sequence[sched.LaunchOp]]


@dataclass(frozen=True)
class HandOverRowsPass(ModulePass):
    """Makes one kernel of those that differ only in which row of a buffer they use."""

    name = "hand-over-rows"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        launches = launches_of(op)
        alike: dict[object, list[tuple[sched.KernelOp, _Rows]]] = {}
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp) and (rows := _rows_of(kernel, launches)):
                types = tuple(argument.type for argument in kernel.body.block.args)
                n_ops = sum(1 for _ in kernel.walk())
                alike.setdefault((types, n_ops, tuple(rows)), []).append((kernel, rows))
        given = _GivenRows()
        for kernels in alike.values():
            if len({tuple(rows.values()) for _, rows in kernels}) > 1:
                _hand_over(kernels, launches, given)


def _rows_of(kernel: sched.KernelOp, launches: _Launches) -> _Rows:
    """Returns the rows that could be handed over by all launches of a kernel."""
    rows: _Rows = {}
    for argument in kernel.body.block.args:
        if not isinstance(argument.type, MemRefType):
            continue
        type = cast(MemRefType, argument.type)
        extents = type.get_shape()
        if len(extents) < 2 or extents[0] == 1 or is_strided(type):
            continue
        row = _row_used(argument)
        if row is None:
            continue
        if all(_has_row(launch, argument, row) for launch in launches.get(kernel.sym_name.data, ())):
            rows[argument.index] = row
    return rows


_FIRST_INDEX: dict[type[Operation], int] = {memref.LoadOp: 1, memref.StoreOp: 2}
"""The number of the operand that is the first index, by the ops that may use a buffer."""


def _row_used(argument: BlockArgument) -> int | None:
    """Returns the row of a buffer that all loads and stores are of, None where there is not the one."""
    found: int | None = None
    for use in argument.uses:
        place = _FIRST_INDEX.get(type(use.operation))
        row = None if place is None else constant_integer(use.operation.operands[place])
        if row is None or row != (row if found is None else found):
            return None
        found = row
    return found


def _has_row(launch: sched.LaunchOp, parameter: BlockArgument, row: int) -> bool:
    """Returns whether what a launch gives its kernel is a buffer of the program with such a row."""
    source = launch.arguments[parameter.index]
    if source.type != parameter.type:
        return False
    rows = bounded(extents_of(source.type)[0], graph.dims_around(launch))
    if row < 0 or not is_at_least(rows, row + 1):
        return False
    if isinstance(source, BlockArgument):
        return isinstance(source.owner.parent_op(), sched.ProgramOp)
    return isinstance(source.owner, sched.BufferOp | sched.ConstantOp)


def _hand_over(
    kernels: Iterable[tuple[sched.KernelOp, _Rows]], launches: _Launches, given: _GivenRows
) -> None:
    """Makes one kernel, which is given rows, of those that are equal then."""
    attributes: AttributeTexts = {}
    equal: dict[str, list[tuple[sched.KernelOp, _Rows]]] = {}
    for kernel, rows in kernels:
        first_indices = {Use(op, place) for number in rows for op, place in _accesses_of(kernel, number)}
        text = canonical_text(
            kernel,
            without=("sym_name",),
            attributes=attributes,
            constants_in_place=True,
            left_out=first_indices,
        )
        equal.setdefault(text, []).append((kernel, rows))
    for found in equal.values():
        if len(found) < 2:
            continue
        (kept, of_kept), *others = found
        for kernel, rows in found:
            for launch in launches.get(kernel.sym_name.data, ()):
                launch.kernel = SymbolRefAttr(kept.sym_name)
                for number, row in rows.items():
                    launch.operands[number] = given.row(launch.arguments[number], row, launch)
        for number in of_kept:
            _take_row(kept, number)
        for kernel, _ in others:
            kernel.detach()
            kernel.erase()


def _accesses_of(kernel: sched.KernelOp, number: int) -> list[tuple[Operation, int]]:
    """Returns what uses an argument of which there is one row: each op, and which operand the index is."""
    users = [use.operation for use in kernel.body.block.args[number].uses]
    return [(op, _FIRST_INDEX[type(op)]) for op in users]


def _take_row(kernel: sched.KernelOp, number: int) -> None:
    """Gives a kernel the row that it uses of an argument."""
    block = kernel.body.block
    whole = block.args[number]
    assert isa(whole.type, MemRefType[Attribute]), f"{whole.type} has no rows"
    row = block.insert_arg(sched.row_type(whole.type), number)
    row.name_hint = whole.name_hint
    for op, place in _accesses_of(kernel, number + 1):
        at = op.operands[place].owner
        part = _on_row(op, row)
        part.location = op.location
        part.attributes.update(op.attributes)
        for result, old in zip(part.results, op.results, strict=True):
            result.name_hint = old.name_hint
        Rewriter.replace_op(op, part)
        if isinstance(at, arith.ConstantOp) and at.result.first_use is None:
            at.detach()
            at.erase()
    block.erase_arg(whole)


def _on_row(op: Operation, row: SSAValue) -> Operation:
    if isinstance(op, memref.LoadOp):
        return memref.LoadOp.get(row, op.indices[1:])
    assert isinstance(op, memref.StoreOp), f"{op.name}: uses no row"
    return memref.StoreOp.get(op.value, row, op.indices[1:])


class _GivenRows:
    """The rows that launches hand over, each made once, before the first item of its program."""

    def __init__(self) -> None:
        self._rows: dict[tuple[SSAValue, int], SSAValue] = {}

    def row(self, source: SSAValue, number: int, launch: sched.LaunchOp) -> SSAValue:
        known = self._rows.get((source, number))
        if known is None:
            op = sched.RowOp(source, number)
            op.result.name_hint, op.location = source.name_hint, launch.location
            Rewriter.insert_op(op, _place_behind(source))
            known = self._rows[source, number] = op.result
        return known


def _place_behind(source: SSAValue) -> InsertPoint:
    owner = source.owner
    if not isinstance(owner, Block):
        return InsertPoint.after(owner)
    first = next(op for op in owner.ops if isinstance(op, sched.ITEMS))
    return InsertPoint.before(first)
