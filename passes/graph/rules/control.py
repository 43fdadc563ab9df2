"""Rules of loops and branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.traits import is_side_effect_free
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ....dialects import graph
from ....dialects.collective import DIVERGENT
from ....dialects.graph.types import tensor_type_of
from .splats import splat


def _inline(block: Block, op: Operation, rewriter: PatternRewriter) -> list[SSAValue]:
    """Copies the ops of a block without arguments before `op`, and returns what it yields."""
    values: dict[SSAValue, SSAValue] = {}
    for inner in block.ops:
        if isinstance(inner, graph.YieldOp):
            return [values.get(value, value) for value in inner.values]
        rewriter.insert(inner.clone(values))
    raise AssertionError(f"{op.name}: a region ends in no graph.yield")


def _is_divergent(op: Operation) -> bool:
    """
    Returns whether other ranks may exchange something in an op that this one does not run: it stays in the
    program of each, whose calls are compared where it sends anything.
    """
    return any(DIVERGENT in inner.attributes for inner in op.walk())


class IfOfConstant(RewritePattern):
    """`if true {A} else {B} --> A`, `if false {A} else {B} --> B`"""

    ROOTS: ClassVar = (graph.IfOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, graph.IfOp)
        number = splat(op.condition)
        if number is not None and not _is_divergent(op):
            region = op.then_region if number else op.else_region
            rewriter.replace(op, (), _inline(region.block, op, rewriter))


class LoopWithoutIterations(RewritePattern):
    """`while (x = a) {false} do {B} --> a`, `scan 0 (x = a) {B} --> a, []`"""

    ROOTS: ClassVar = (graph.WhileOp, graph.ScanOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, graph.WhileOp):
            condition = splat(op.condition)
            has_effect = not all(map(is_side_effect_free, op.before.block.ops))
            if condition is not None and not condition and not has_effect and not _is_divergent(op):
                rewriter.replace(op, (), tuple(op.initial))
            return
        assert isinstance(op, graph.ScanOp)
        if op.trip_count != 0:
            return
        types = [tensor_type_of(stack, op.name) for stack in op.stacks]
        if any(not type.has_static_shape() for type in types):
            return
        empty = [graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, ())) for type in types]
        rewriter.insert(empty)
        rewriter.replace(op, (), (*op.initial, *(constant.result for constant in empty)))


class DropUnusedOfIf(RewritePattern):
    """`a, _ = if c {yield x, y} else {yield z, w} --> a = if c {yield x} else {yield z}`"""

    ROOTS: ClassVar = (graph.IfOp,)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, graph.IfOp)
        kept = [number for number, result in enumerate(op.results) if result.first_use is not None]
        if len(kept) == len(op.results):
            return
        regions: list[Region] = []
        for region in op.regions:
            last = region.block.last_op
            assert isinstance(last, graph.YieldOp)
            last.operands = [last.values[number] for number in kept]
            regions.append(rewriter.move_region_contents_to_new_regions(region))
        types = [op.result_types[number] for number in kept]
        new = graph.IfOp(op.condition, types, regions[0], regions[1])
        _replace(op, new, kept, rewriter)


class DropUnusedOfLoop(RewritePattern):
    """
    A carried value that is not read after the loop and changes nothing else in it, a stack that is not read,
    and a slice that is not read, are not there.
    """

    ROOTS: ClassVar = (graph.WhileOp, graph.ScanOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, graph.WhileOp | graph.ScanOp)
        needed = _needed_results(op)
        unread = [
            number
            for number, slice in enumerate(op.slices if isinstance(op, graph.ScanOp) else ())
            if slice.first_use is None
        ]
        if len(needed) < len(op.results) or unread:
            _rebuild(op, needed, unread, rewriter)


class CarriedUnchanged(RewritePattern):
    """`y = while (x = a) {.. yield x} --> y = a`, where `x` in the loop is `a`; so for `scan`"""

    ROOTS: ClassVar = (graph.WhileOp, graph.ScanOp)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        assert isinstance(op, graph.WhileOp | graph.ScanOp)
        last = op.body.block.last_op
        assert isinstance(last, graph.YieldOp)
        changed = False
        for number, (argument, value) in enumerate(zip(_carried(op), op.initial, strict=True)):
            result = op.results[number]
            if last.values[number] is not argument or result.type != value.type:
                continue
            arguments = [argument]
            if isinstance(op, graph.WhileOp):
                arguments.append(op.before.block.args[number])
            is_read = any(use.operation is not last or use.index != number for use in argument.uses)
            is_read |= any(other.first_use is not None for other in arguments[1:])
            if result.first_use is None and not is_read:
                continue
            result.replace_all_uses_with(value)
            for other in arguments:
                other.replace_all_uses_with(value)
            last.operands[number] = argument
            changed = True
        if changed:
            rewriter.notify_op_modified(op)


def _carried(op: graph.WhileOp | graph.ScanOp) -> Sequence[BlockArgument]:
    return op.carried if isinstance(op, graph.ScanOp) else op.body.block.args


def _needed_results(op: graph.WhileOp | graph.ScanOp) -> list[int]:
    """Returns the results that are read, and the carried values that something in the loop needs."""
    last = op.body.block.last_op
    assert isinstance(last, graph.YieldOp)
    carried = _carried(op)
    numbers: dict[SSAValue, int] = {argument: number for number, argument in enumerate(carried)}
    waiting: list[SSAValue] = []
    if isinstance(op, graph.WhileOp):
        numbers |= {argument: number for number, argument in enumerate(op.before.block.args)}
        waiting.append(op.condition)
    needed: dict[int, None] = {}

    def need(number: int) -> None:
        if number not in needed:
            needed[number] = None
            waiting.append(last.values[number])

    for region in op.regions:
        for inner in region.block.ops:
            if not isinstance(inner, graph.YieldOp | graph.ConditionOp) and not is_side_effect_free(inner):
                waiting.extend(_read_by(inner))
    for number, result in enumerate(op.results):
        if result.first_use is not None:
            need(number)
    seen: set[SSAValue] = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in numbers:
            need(numbers[value])
        elif isinstance(value.owner, Operation) and op.is_ancestor(value.owner):
            waiting.extend(_read_by(value.owner))
    return sorted(needed)


def _read_by(op: Operation) -> list[SSAValue]:
    """Returns what an op reads, in its regions too."""
    return [operand for inner in op.walk() for operand in inner.operands]


def _rebuild(
    op: graph.WhileOp | graph.ScanOp, kept: Sequence[int], unread: Sequence[int], rewriter: PatternRewriter
) -> None:
    """Replaces a loop by one with the results `kept`, and without the inputs `unread`."""
    n_carried = len(op.initial)
    initial = [op.initial[number] for number in kept if number < n_carried]
    dropped = [number for number in range(n_carried) if number not in kept]
    last = op.body.block.last_op
    assert isinstance(last, graph.YieldOp)
    last.operands = [last.values[number] for number in kept]
    if isinstance(op, graph.WhileOp):
        for block in (op.body.block, op.before.block):
            _drop_arguments(block, [block.args[number] for number in dropped], rewriter)
        before = rewriter.move_region_contents_to_new_regions(op.before)
        body = rewriter.move_region_contents_to_new_regions(op.body)
        new: graph.WhileOp | graph.ScanOp = graph.WhileOp(initial, before, body)
    else:
        unneeded = [*(op.carried[number] for number in dropped), *(op.slices[number] for number in unread)]
        inputs = [value for number, value in enumerate(op.inputs) if number not in unread]
        types = [op.result_types[number] for number in kept]
        _drop_arguments(op.body.block, unneeded, rewriter)
        body = rewriter.move_region_contents_to_new_regions(op.body)
        new = graph.ScanOp(op.trip_count, initial, inputs, types, body, op.reverse is not None)
    _replace(op, new, kept, rewriter)


def _drop_arguments(block: Block, arguments: Sequence[BlockArgument], rewriter: PatternRewriter) -> None:
    """Drops arguments of a loop's block, and the ops that only computed what is not carried any more."""
    for op in reversed(list(block.ops)):
        if is_trivially_dead(op):
            rewriter.erase(op)
    for argument in arguments:
        rewriter.erase_block_argument(argument)


def _replace(
    op: Operation,
    new: Operation,
    kept: Sequence[int],
    rewriter: PatternRewriter,
) -> None:
    """Replaces an op by one that has its results `kept`."""
    new.location = op.location
    new.attributes.update(op.attributes)
    results: list[SSAValue | None] = [None] * len(op.results)
    for number, result in zip(kept, new.results, strict=True):
        result.name_hint = op.results[number].name_hint
        results[number] = result
    rewriter.replace(op, new, results)


PATTERNS = (IfOfConstant, LoopWithoutIterations, DropUnusedOfIf, CarriedUnchanged, DropUnusedOfLoop)
