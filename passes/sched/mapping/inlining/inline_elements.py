"""
Computes the elements of a buffer in the loops that load each of them once, one after the other.

    sched.kernel @f_0(%x, %j) {                           sched.kernel @f_1_inlined(%x, %u, %y) {
      sched.axis %i = 8192 {                                scf.for %k = %c0 to %c8192 step %c1 {
        ... store %j[%i]                                      ... what @f_0 stores at %k
      }                                              -->      %at = arith.index_cast %... : i64 to index
    }                                                         ... y[%at] += u[%k]
    sched.kernel @f_1(%j, %u, %y) {                         }
      scf.for %k = %c0 to %c8192 step %c1 {               }
        %a = memref.load %j[%k]
        %at = arith.index_cast %a : i64 to index
        ... y[%at] += u[%k]
      }
    }

Updates at indices, and sums of all elements so far, run one after the other; each waits for the one before.
Meanwhile a processor counts an index from the end, or multiplies what is added, for nothing. Apart that takes
a kernel, and a buffer that may not fit in the caches: 400,000 elements counted in 1000 bins take 0.58 of the
time, their squares added up 0.40 (AVX-512, one thread), and 8192 of them 0.95.

Only elements that are computed by a few quick ops, as a division or an exponential is done faster for several
at once; in loops of numbers of iterations that are known, and branches.

Requires: unmapped `sched` kernels, before `build-dependencies`.
Ensures: what each program computes is unchanged, bit for bit, unless a `fastmath` flag lets two ops of
different kernels be contracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from .....dialects import sched
from .....dialects.buffer_size import extents_of
from .....dialects.low.constant_integer import constant_integer
from ..producing_kernels import ElementCode
from .inliner import Inliner

MOST_OPS = 24
"""The most ops of what is computed in a loop: about what is done while an update waits for the one before."""


@dataclass(frozen=True)
class InlineElementsPass(ModulePass):
    """Computes the elements of a buffer in the loops that load each of them once."""

    name = "inline-elements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        why = "computed in the loop that reads each element once"
        Inliner(op, _arguments, _is_short, (self.name, why)).run()


def _is_short(code: ElementCode) -> bool:
    return not code.before and len(code.code) <= MOST_OPS


def _arguments(kernel: sched.KernelOp) -> Iterator[BlockArgument]:
    """Yields the arguments with which a kernel does no more than load each element once at most."""
    for argument in kernel.body.block.args:
        uses = list(argument.uses)
        if len(uses) != 1 or not isinstance(load := uses[0].operation, memref.LoadOp):
            continue
        extents = dict(zip(load.indices, extents_of(argument.type), strict=True))
        if len(extents) == len(load.indices) and extents == _counted_around(load):
            yield argument


def _counted_around(load: memref.LoadOp) -> dict[SSAValue, object] | None:
    """Returns the indices of all that is around a load with what they count to, if they count from 0 by 1."""
    found: dict[SSAValue, object] = {}
    around = load.parent_op()
    while not isinstance(around, sched.KernelOp):
        if isinstance(around, scf.IfOp):
            around = around.parent_op()
            continue
        if not isinstance(around, scf.ForOp):
            return None
        if constant_integer(around.lb) != 0 or constant_integer(around.step) != 1:
            return None
        end = constant_integer(around.ub)
        if end is None:
            return None
        found[around.body.block.args[0]] = end
        around = around.parent_op()
    return found
