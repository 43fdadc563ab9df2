"""
Computes the elements of a buffer where several reductions of one kernel load them.

    sched.kernel @f_0(%x, %m) {                        sched.kernel @f_1_inlined(%x, %s, %c) {
      sched.axis %i = 400000 {                           %t = sched.reduce addf %j = 400000 : f64 {
        ... store %m[%i], whether %x[%i] is inside         ... whether %x[%j] is inside, %x[%j] or 0
      }                                                  }
    }                                                    %n = sched.reduce addi %j = 400000 : i64 {
    sched.kernel @f_1(%m, %x, %s, %c) {          -->       ... whether %x[%j] is inside, 1 or 0
      %t = sched.reduce addf %j = 400000 : f64 {         }
        ... %m[%j], %x[%j] or 0                          ...
      }                                                }
      %n = sched.reduce addi %j = 400000 : i64 {
        ... %m[%j], 1 or 0
      }
      ...
    }

What several reductions read, a mask of the elements that count, planning has in memory: each would compute it
again. In one kernel `fuse-sibling-loops` makes one loop of them, which computes it once. The sums and numbers
of 400,000 elements between bounds take 0.6 of the time (AVX-512, one thread).

Only elements that are computed by a few quick ops; what they are computed of, once, may take longer.

Requires: unmapped `sched` kernels that `merge-launches` has merged, before `build-dependencies`.
Ensures: what each program computes is unchanged, bit for bit, unless a `fastmath` flag lets two ops of
different kernels be contracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation
from xdsl.passes import ModulePass

from .....dialects import sched
from .....dialects.buffer_size import size_of
from .....dialects.dims.expressions import product, row_major
from ....indices.analysis import IndexAnalysis, Loop
from ..producing_kernels import ElementCode
from .inliner import Inliner

MOST_OPS = 16
"""The most ops of what is computed for each reduction again, if they are not one loop in the end."""

MOST_REDUCTIONS = 4
"""So many reductions load what is computed: that many times it may be done."""


@dataclass(frozen=True)
class InlineSharedElementsPass(ModulePass):
    """Computes the elements of a buffer where several reductions of one kernel load them."""

    name = "inline-shared-elements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        why = "computed by the reductions that read it, in one loop"
        Inliner(op, _arguments, _is_in_order, (self.name, why)).run()


def _arguments(kernel: sched.KernelOp) -> Iterator[BlockArgument]:
    """Yields the arguments of which a kernel does no more than load each element in several reductions."""
    analysis = IndexAnalysis()
    for argument in kernel.body.block.args:
        loads = [use.operation for use in argument.uses]
        if 2 <= len(loads) <= MOST_REDUCTIONS and all(map(_is_reduced, loads)):
            around = {_reduction_around(load, analysis) for load in loads if isinstance(load, memref.LoadOp)}
            blocks = {None if op is None else op.parent for op in around}
            if len(around) == len(loads) and len(blocks) == 1 and None not in around:
                yield argument


def _is_reduced(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp) and isinstance(op.parent_op(), sched.ReduceOp)


def _reduction_around(load: memref.LoadOp, analysis: IndexAnalysis) -> sched.ReduceOp | None:
    """Returns the reduction that a load stands in, if it loads each element once, in their order."""
    loops: list[Loop] = []
    around, outermost = load.parent_op(), None
    while isinstance(around, Loop):
        if isinstance(around, sched.ReduceOp):
            outermost = around
        if around.extent != 1:
            loops.insert(0, around)
        around = around.parent_op()
    if not isinstance(around, sched.KernelOp) or any(loop.count is not None for loop in loops):
        return None
    extents, address = [loop.extent for loop in loops], analysis.address(load)
    steps = [address.stride(analysis.axis(loop)) for loop in loops]
    is_all = product(extents) == size_of(load.memref.type) and address.constant == 0
    return outermost if is_all and steps == [*row_major(extents)] else None


def _is_in_order(code: ElementCode) -> bool:
    """Returns whether few ops compute an element, of elements that lie as it does, or of the same for all."""
    analysis = IndexAnalysis()
    place = analysis.address(code.store)
    loads = [op for op in code.code if isinstance(op, memref.LoadOp)]
    addresses = [analysis.address(load) for load in loads]
    return len(code.code) <= MOST_OPS and all(not each.axes() or each == place for each in addresses)
