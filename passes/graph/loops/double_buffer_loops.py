"""
Lets loops go to and fro between two buffers, by doing two iterations in one.

    %y = graph.scan %i = 20 (%c = %x) : (tensor<1000xf32>) -> (tensor<1000xf32>) {
      %n = ... %c, its elements and their neighbours ...
      graph.yield %n : tensor<1000xf32>
    }

-->

    %y = graph.scan %i = 10 (%c = %x) : (tensor<1000xf32>) -> (tensor<1000xf32>) {
      %n = ... %c ... {memory_mode = #graph.memory_mode<materialized, "the other buffer of a loop">}
      %n_1 = ... %n ...
      graph.yield %n_1 : tensor<1000xf32>
    }

A kernel cannot store an element over a value of which another iteration reads that element: what it computes
lies elsewhere, and would be copied to where the loop carries it. Of two such iterations the second one stores
there itself. So do two values that change places in each iteration. An odd number of iterations has the last
one after the loop.

Only counted loops that carry all that they compute, of few ops and with a value of some size. Collectives
are done in the order that they had, so that ranks need not do alike: what the n-th begins on a channel meets
what the others begin there for the n-th time.

Requires: nothing. Ensures: what the module computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import upper_bound
from ....dialects.element_types import NBYTES
from ....dialects.graph import MemoryModeAttr
from ....dialects.graph.collectives import CollectiveOp
from ....dialects.graph.control import yield_of
from ....dialects.graph.types import shape_of, tensor_type_of
from ....dialects.memory_modes import ModeKind
from ..rules.splats import constant_like

# `python -m benchmarks.thresholds` shows what each limit is worth; times here: one core, AVX-512.

LEAST_NBYTES = 16
"""A smaller value is copied in about the time that nothing else takes."""

MOST_OPS = 96
"""The most ops of a body that is worth compiling twice."""

WHY = "the other buffer of a loop"

_Places = tuple[int | None, ...]


@dataclass(frozen=True)
class DoubleBufferLoopsPass(ModulePass):
    """Lets loops go to and fro between two buffers, by doing two iterations in one."""

    name = "double-buffer-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for loop in [inner for inner in op.walk() if isinstance(inner, graph.ScanOp)]:
            if would_copy(loop):
                _double(loop)


def would_copy(loop: graph.ScanOp) -> bool:
    """Returns whether a loop can be doubled, and carries a large value that is not computed in its place."""
    length, block = loop.trip_count, loop.body.block
    if not isinstance(length, int) or length < 2 or loop.inputs or loop.stacks:
        return False
    if sum(1 for _ in block.walk()) > MOST_OPS or any(op.regions for op in block.ops):
        return False
    if not all(isinstance(op, graph.GraphOp | CollectiveOp | graph.YieldOp) for op in block.ops):
        return False
    end = yield_of(block, loop.name, "body")
    return any(
        _nbytes(carried) >= LEAST_NBYTES and is_computed_elsewhere(value, carried, loop)
        for carried, value in zip(loop.carried, end.values, strict=True)
    )


def _nbytes(value: SSAValue) -> int:
    """Returns the bytes of a value, the most that it may have."""
    type = tensor_type_of(value, "graph.scan")
    return prod(upper_bound(extent) for extent in shape_of(type)) * NBYTES[type.element_type]


def is_computed_elsewhere(value: SSAValue, carried: SSAValue, loop: graph.ScanOp) -> bool:
    """Returns whether the kernel of a value reads other elements of the carried one than it stores."""
    if isinstance(value, BlockArgument):
        return value is not carried and value in loop.carried
    apart = _reduced_apart(value, loop)
    # A value, whether its elements are read where they are stored, and whether a heavy op reads them.
    waiting: list[tuple[SSAValue, bool, bool]] = [(value, True, False)]
    seen = set[tuple[SSAValue, bool, bool]]()
    while waiting:
        entry = waiting.pop()
        if entry in seen:
            continue
        seen.add(entry)
        each, is_same, is_heavy = entry
        if each is carried and not is_same:
            return True
        op = each.owner
        if not isinstance(op, graph.GraphOp) or op.parent is not loop.body.block or _is_copied(op):
            continue
        if isinstance(op, graph.DynamicUpdateOp | graph.ScatterOp):
            # What is put there is computed before, where it is made of what is stored over.
            waiting.append((op.source, is_same, is_heavy))
            continue
        if op in apart or (op.IS_HEAVY and is_heavy):
            continue
        is_same = is_same and isinstance(op, graph.ElementwiseOp)
        waiting.extend((operand, is_same, is_heavy or op.IS_HEAVY) for operand in op.operands)
    return False


def _reduced_apart(value: SSAValue, loop: graph.ScanOp) -> set[Operation]:
    """
    Returns the reductions and contractions that have a kernel of their own, which is done before the value's:
    each of their elements is read for several of an outer dim, as the sums of columns are for each row.
    """
    found = set[Operation]()
    # A value, and the dims of the first one that its dims go along with; extents of 1 do not count, nor go
    # along.
    extents = shape_of(tensor_type_of(value, loop.name))
    numbers = iter(range(len(extents)))
    first = tuple(None if extent == 1 else next(numbers) for extent in extents)
    waiting: list[tuple[SSAValue, _Places]] = [(value, first)]
    seen = set[tuple[SSAValue, _Places]]()
    while waiting:
        entry = waiting.pop()
        each, places = entry
        op = each.owner
        if entry in seen or not isinstance(op, graph.GraphOp) or op.parent is not loop.body.block:
            continue
        seen.add(entry)
        match op:
            case graph.ReduceOp() | graph.ContractOp():
                known = {place for place in places if place is not None}
                if known != set(range(len(known))):
                    found.add(op)
            case graph.ElementwiseOp():
                waiting.extend((operand, places) for operand in op.operands)
            case graph.DynamicUpdateOp() | graph.ScatterOp():
                waiting.append((op.source, places))
            case graph.PermuteOp():
                order = op.permutation.data
                waiting.append((op.source, tuple(places[order.index(dim)] for dim in range(len(order)))))
            case graph.BroadcastOp() | graph.ReshapeOp():
                waiting.extend((op.source, moved) for moved in places_of_view(op, places))
            case _:
                pass
    return found


def places_of_view(op: graph.BroadcastOp | graph.ReshapeOp, places: _Places) -> list[_Places]:
    """Returns what the dims of what a view is of go along with, nothing where it is not known."""
    inner, outer = (shape_of(tensor_type_of(value, op.name)) for value in (op.source, op.result))
    if isinstance(op, graph.BroadcastOp):
        kept = places[len(outer) - len(inner) :]
        return [tuple(None if extent == 1 else place for extent, place in zip(inner, kept, strict=True))]
    if [extent for extent in inner if extent != 1] != [extent for extent in outer if extent != 1]:
        return []
    rest = iter([place for extent, place in zip(outer, places, strict=True) if extent != 1])
    return [tuple(None if extent == 1 else next(rest) for extent in inner)]


def _is_copied(op: graph.GraphOp) -> bool:
    """Returns whether an op is told to have a buffer of its own."""
    mode = op.attributes.get("memory_mode")
    return isinstance(mode, MemoryModeAttr) and mode.mode.data is ModeKind.MATERIALIZED


def _double(loop: graph.ScanOp) -> None:
    length = loop.trip_count
    assert isinstance(length, int), f"{loop.name}: a varying number of iterations"
    around = loop.parent
    assert around is not None, f"{loop.name}: stands in no block"
    block = Block(arg_types=[argument.type for argument in (loop.counter, *loop.carried)])
    for new, old in zip(block.args, (loop.counter, *loop.carried), strict=True):
        new.name_hint, new.location = old.name_hint, old.location
    values: list[SSAValue] = list(block.args[1:])
    for half in (0, 1):
        number = _number(block, loop, half)
        values = _copy_body(loop, block, number, values)
        if not half:
            _materialize(loop, values)
    block.add_op(graph.YieldOp(values))
    doubled = graph.ScanOp(length // 2, loop.initial, (), loop.result_types, Region(block))
    doubled.attributes.update(loop.attributes)
    doubled.location = loop.location
    around.insert_op_before(doubled, loop)
    results: list[SSAValue] = list(doubled.results)
    if length % 2:
        rest = Block()
        last = constant_like(loop.counter, 0 if loop.reverse is not None else length - 1)
        rest.add_op(last)
        results = _copy_body(loop, rest, last.result, results)
        for op in list(rest.ops):
            op.detach()
            around.insert_op_before(op, loop)
    for old, new in zip(loop.results, results, strict=True):
        old.replace_all_uses_with(new)
    loop.detach()
    loop.erase()


def _number(block: Block, loop: graph.ScanOp, half: int) -> SSAValue:
    """Adds the number that the first or the second half of an iteration has in `loop` to a block."""
    length = loop.trip_count
    assert isinstance(length, int), f"{loop.name}: a varying number of iterations"
    is_reverse = loop.reverse is not None
    step, first = (-2, length - 1 - half) if is_reverse else (2, half)
    counter = block.args[0]
    by, more = constant_like(counter, step), constant_like(counter, first)
    double = graph.MulOp(counter, by.result)
    number = graph.AddOp(double.result, more.result)
    block.add_ops([by, more, double, number])
    return number.result


def _copy_body(loop: graph.ScanOp, block: Block, number: SSAValue, carried: list[SSAValue]) -> list[SSAValue]:
    """Adds what an iteration computes to a block, and returns what it carries on."""
    known: dict[SSAValue, SSAValue] = {loop.counter: number, **dict(zip(loop.carried, carried, strict=True))}
    end = yield_of(loop.body.block, loop.name, "body")
    for op in loop.body.block.ops:
        if op is end:
            break
        copy = op.clone(known)
        copy.location = op.location
        block.add_op(copy)
    return [known.get(value, value) for value in end.values]


def _materialize(loop: graph.ScanOp, values: list[SSAValue]) -> None:
    """Has kernels compute values between two iterations that are computed elsewhere than they are carried."""
    end = yield_of(loop.body.block, loop.name, "body")
    for value, carried, original in zip(values, loop.carried, end.values, strict=True):
        op = value.owner
        if isinstance(op, graph.GraphOp) and is_computed_elsewhere(original, carried, loop):
            op.attributes.setdefault("memory_mode", MemoryModeAttr(ModeKind.MATERIALIZED, WHY))
