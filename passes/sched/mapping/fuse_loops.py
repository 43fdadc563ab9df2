"""
Fuses a loop of a kernel with the reduction next to it, where that reads just what the loop stores.

    sched.axis %j = 1000 {                                  %s = sched.reduce addf %j = 1000 : f32 {
      %e = math.exp %d : f32                                  %e = math.exp %d : f32
      memref.store %e, %row[%j]                               memref.store %e, %row[%j]
    }                                                -->      sched.yield %e : f32
    %s = sched.reduce addf %k = 1000 : f32 {                }
      %v = memref.load %row[%k]
      sched.yield %v : f32
    }

Every element is stored before it is read, and the reduction's order stays. `_RULES` has what keeps loops
apart; `tenon.explain` tells it of a loop and of the reduction next to it that reads what the loop stores.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ...rewriting.rewrite_counts import rewrite_counter


@dataclass(frozen=True)
class FuseLoopsPass(ModulePass):
    """Fuses a loop that fills a local buffer with the reduction that reads it."""

    name = "fuse-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        counts = rewrite_counter()
        for reduce in [inner for inner in op.walk() if isinstance(inner, sched.ReduceOp)]:
            fill = _loop_before(reduce)
            pair = None if fill is None else _pair(fill, reduce)
            if pair is None:
                continue
            rule = next((rule for rule in _RULES if not rule.holds(pair)), None)
            if rule is None:
                _fuse(pair)
            if counts is not None:
                counts[
                    "a loop fused into the reduction that reads it"
                    if rule is None
                    else f"kept apart, as {rule.why} ({rule.name})"
                ] += 1


@dataclass(frozen=True, slots=True)
class _Pair:
    """A loop, its one store, and the reduction after it that reads the buffer which is stored."""

    fill: sched.AxisOp
    store: memref.StoreOp
    reduce: sched.ReduceOp


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule for loops that are fused: its name, what holds of them, and why others are kept apart."""

    name: str
    holds: Callable[[_Pair], bool]
    why: str


def _loop_before(reduce: sched.ReduceOp) -> sched.AxisOp | None:
    """Returns the loop before a reduction if nothing between them touches memory."""
    op = reduce.prev_op
    while op is not None and not op.regions and not isinstance(op, memref.LoadOp | memref.StoreOp):
        op = op.prev_op
    return op if isinstance(op, sched.AxisOp) else None


def _pair(fill: sched.AxisOp, reduce: sched.ReduceOp) -> _Pair | None:
    """Returns a loop and a reduction, if the reduction reads the one buffer that the loop stores."""
    stores = [op for op in fill.body.block.ops if isinstance(op, memref.StoreOp)]
    if len(stores) != 1:
        return None
    pair = _Pair(fill, stores[0], reduce)
    return pair if _reads(pair) else None


def _reads(pair: _Pair) -> list[memref.LoadOp]:
    ops = pair.reduce.body.block.ops
    return [op for op in ops if isinstance(op, memref.LoadOp) and op.memref is pair.store.memref]


def _have_no_loops(pair: _Pair) -> bool:
    return not any(op.regions for loop in (pair.fill, pair.reduce) for op in loop.body.block.ops)


def _stores_its_element(pair: _Pair) -> bool:
    """Returns whether a loop fills a local buffer, or a row of an argument, at the loop's index."""
    indices = list(pair.store.indices)
    if isinstance(pair.store.memref.owner, sched.AllocOp):
        return indices == [pair.fill.index]
    return indices[-1:] == [pair.fill.index] and all(_is_before(index, pair.fill) for index in indices[:-1])


def _have_equal_extents(pair: _Pair) -> bool:
    fill, reduce = pair.fill, pair.reduce
    return (fill.extent, fill.mapping, fill.count) == (reduce.extent, reduce.mapping, reduce.count)


def _reads_its_element(pair: _Pair) -> bool:
    expected = [*list(pair.store.indices)[:-1], pair.reduce.index]
    return all(list(read.indices) == expected for read in _reads(pair))


def _stores_nothing_more(pair: _Pair) -> bool:
    return not any(isinstance(op, memref.StoreOp) for op in pair.reduce.body.block.ops)


_RULES = (
    _Rule("no-loops", _have_no_loops, "one of them holds a loop"),
    # Before `own-element`, which takes the store to be at the loop's index.
    _Rule("own-store", _stores_its_element, "the loop does not store at its own index"),
    _Rule("extents", _have_equal_extents, "they have different extents"),
    _Rule("own-element", _reads_its_element, "the reduction reads other elements than its own"),
    _Rule("one-store", _stores_nothing_more, "the reduction stores something itself"),
)
"""What holds of loops that are fused, in the order in which it is looked at."""


def _is_before(value: SSAValue, loop: sched.AxisOp) -> bool:
    """Returns whether a value is known outside of a loop."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    return block is not loop.body.block


def _fuse(pair: _Pair) -> None:
    block: Block = pair.reduce.body.block
    reads = _reads(pair)
    first = block.first_op
    assert first is not None, "sched.reduce: body ends in no sched.yield"
    pair.fill.index.replace_all_uses_with(pair.reduce.index)
    for op in list(pair.fill.body.block.ops):
        op.detach()
        block.insert_op_before(op, first)
    # What the loop itself reads of the buffer is what was there before.
    for op in reads:
        op.res.replace_all_uses_with(pair.store.value)
        op.detach()
        op.erase()
    pair.fill.detach()
    pair.fill.erase()
