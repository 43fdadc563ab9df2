"""
Runs two stages of a kernel in one loop where the second reads just what the first stores.

    sched.axis %j = 1000 {                                  %s = sched.reduce addf %j = 1000 : f32 {
      %e = math.exp %d : f32                                  %e = math.exp %d : f32
      memref.store %e, %row[%j]                               memref.store %e, %row[%j]
    }                                                -->      sched.yield %e : f32
    %s = sched.reduce addf %k = 1000 : f32 {                }
      %v = memref.load %row[%k]
      sched.yield %v : f32
    }

The first loop must be next before the second but for code that does not touch memory, have its extent, hold
no loop of its own, and store one local buffer at the loop's index; the second must hold no loop either and
read that buffer at its own index only. Every element is then stored before it is read, and the reduction's
order stays.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched


@dataclass(frozen=True)
class FuseStagesPass(ModulePass):
    """Fuses a loop that fills a local buffer with the reduction that reads it."""

    name = "fuse-stages"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for reduce in [inner for inner in op.walk() if isinstance(inner, sched.ReduceOp)]:
            fill = _loop_before(reduce)
            if fill is not None:
                stored = _stored_value(fill)
                if stored is not None and _can_fuse(fill, reduce, stored):
                    _fuse(fill, reduce, stored)


def _loop_before(reduce: sched.ReduceOp) -> sched.AxisOp | None:
    """Returns the loop before a reduction if nothing between them touches memory."""
    op = reduce.prev_op
    while op is not None and not op.regions and not isinstance(op, memref.LoadOp | memref.StoreOp):
        op = op.prev_op
    return op if isinstance(op, sched.AxisOp) else None


def _stored_value(fill: sched.AxisOp) -> memref.StoreOp | None:
    """
    Returns the one store of a loop, if it fills a local buffer, or a row of an argument, at the loop's index.
    """
    stores = [op for op in fill.body.block.ops if isinstance(op, memref.StoreOp)]
    if len(stores) != 1 or any(op.regions for op in fill.body.block.ops):
        return None
    (store,) = stores
    if isinstance(store.memref.owner, sched.AllocOp):
        return store if list(store.indices) == [fill.index] else None
    *row, last = store.indices
    return store if last is fill.index and all(_is_before(index, fill) for index in row) else None


def _is_before(value: SSAValue, loop: sched.AxisOp) -> bool:
    """Returns whether a value is known outside of a loop."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    return block is not loop.body.block


def _can_fuse(fill: sched.AxisOp, reduce: sched.ReduceOp, store: memref.StoreOp) -> bool:
    if (fill.extent, fill.mapping, fill.count) != (reduce.extent, reduce.mapping, reduce.count):
        return False
    body = reduce.body.block
    reads = [op for op in body.ops if isinstance(op, memref.LoadOp) and op.memref is store.memref]
    return (
        bool(reads)
        and all(list(read.indices) == [*list(store.indices)[:-1], reduce.index] for read in reads)
        and not any(op.regions or isinstance(op, memref.StoreOp) for op in body.ops)
    )


def _fuse(fill: sched.AxisOp, reduce: sched.ReduceOp, store: memref.StoreOp) -> None:
    block: Block = reduce.body.block
    stored: SSAValue = store.value
    first = block.first_op
    assert first is not None, "sched.reduce: body ends in no sched.yield"
    fill.index.replace_all_uses_with(reduce.index)
    for op in list(fill.body.block.ops):
        op.detach()
        block.insert_op_before(op, first)
    for op in list(block.ops):
        if isinstance(op, memref.LoadOp) and op.memref is store.memref:
            op.res.replace_all_uses_with(stored)
            op.detach()
            op.erase()
    fill.detach()
    fill.erase()
