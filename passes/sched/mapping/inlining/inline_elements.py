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
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.passes import ModulePass

from .....dialects import sched
from .....dialects.buffer_size import extents_of
from .....dialects.low.constant_integer import constant_integer
from .....dialects.memory_modes import ModeKind
from .....dialects.modules.hazards import item_blocks, items_in
from .....dialects.modules.kernel_access import access_of, accesses_of
from ....rewriting.kernel_names import KernelNames
from ..handovers import erase_unlaunched, kernel_name
from ..producing_kernels import (
    ElementCode,
    compute_argument,
    copied_kernel,
    element_code,
    launch_without,
    producer_of,
)

MOST_OPS = 24
"""The most ops of what is computed in a loop: about what is done while an update waits for the one before."""


@dataclass(frozen=True)
class InlineElementsPass(ModulePass):
    """Computes the elements of a buffer in the loops that load each of them once."""

    name = "inline-elements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inliner = _Inliner(op)
        for program in [inner for inner in op.ops if isinstance(inner, sched.ProgramOp)]:
            for block in item_blocks(program):
                inliner.inline_block(block)
        inliner.erase_unused()


class _Inliner:
    def __init__(self, module: ModuleOp):
        self.module = module
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
        self.accesses = accesses_of(module)
        self.names = KernelNames(module)
        self.codes: dict[str, ElementCode | None] = {}
        self.made: dict[tuple[str, int, str], sched.KernelOp] = {}
        """What was made of a kernel, the number of an argument, and the kernel that fills that."""
        self.base_names: dict[sched.KernelOp, str] = {}
        """What a kernel that was made is named after: the kernel of the planner's launch."""
        self.replaced: dict[str, None] = {}
        """Kernels of launches that are gone."""

    def inline_block(self, block: Block) -> None:
        for launch in items_in(block):
            while isinstance(launch, sched.LaunchOp) and (found := self._find(launch)) is not None:
                launch = self._inline(launch, *found)

    def erase_unused(self) -> None:
        """Erases kernels that nothing launches any more."""
        if self.replaced:
            erase_unlaunched(self.module, [self.kernels[name] for name in self.replaced])

    def _find(self, launch: sched.LaunchOp) -> tuple[memref.LoadOp, sched.LaunchOp, ElementCode] | None:
        """Returns a load in the kernel of a launch, and the launch and the code that make what it loads."""
        kernel = self.kernels.get(kernel_name(launch))
        for load in () if kernel is None else _loads_of_all(kernel):
            assert kernel is not None and isinstance(load.memref, BlockArgument), "an argument is loaded"
            producer = producer_of(launch, load.memref.index, self.accesses)
            code = None if producer is None else self._code(kernel_name(producer))
            if producer is None or code is None or not code.may_be_in(kernel):
                continue
            if len(code.code) <= MOST_OPS and code.result.type == load.memref.type:
                return load, producer, code
        return None

    def _code(self, name: str) -> ElementCode | None:
        if name not in self.codes:
            kernel = self.kernels.get(name)
            self.codes[name] = None if kernel is None else element_code(kernel)
        return self.codes[name]

    def _inline(
        self, launch: sched.LaunchOp, load: memref.LoadOp, producer: sched.LaunchOp, code: ElementCode
    ) -> sched.LaunchOp:
        """Puts one launch in the place of two."""
        assert isinstance(load.memref, BlockArgument), "an argument is loaded"
        old, number = kernel_name(launch), load.memref.index
        key = (old, number, kernel_name(producer))
        if key not in self.made:
            self.made[key] = self._write(self.kernels[old], number, code)
        self.replaced.update(dict.fromkeys((old, kernel_name(producer))))
        _note_origin(producer)
        return launch_without(launch, producer, self.made[key].sym_name.data, number, code)

    def _write(self, kernel: sched.KernelOp, number: int, code: ElementCode) -> sched.KernelOp:
        """Adds a copy of a kernel that computes what another one loads as argument `number`."""
        base = self.base_names.get(kernel, kernel.sym_name.data)
        new = copied_kernel(kernel, self.names.fresh(f"{base}_inlined"))
        self.base_names[new] = base
        compute_argument(new, new.body.block.args[number], code)
        name = new.sym_name.data
        self.kernels[name] = new
        self.accesses[name] = access_of(new)
        return new


def _loads_of_all(kernel: sched.KernelOp) -> Iterator[memref.LoadOp]:
    """Yields the loads that are all that is done with an argument, and load each element once at most."""
    for argument in kernel.body.block.args:
        uses = list(argument.uses)
        if len(uses) != 1 or not isinstance(load := uses[0].operation, memref.LoadOp):
            continue
        extents = dict(zip(load.indices, extents_of(argument.type), strict=True))
        if len(extents) == len(load.indices) and extents == _counted_around(load):
            yield load


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


def _note_origin(producer: sched.LaunchOp) -> None:
    """Says of the result of a launch, where it says what it computes, that it is in no memory."""
    if producer.origins is not None and len(producer.origins):
        *others, last = producer.origins
        why = "computed in the loop that reads each element once"
        noted = last.decided(ModeKind.VIRTUAL, why, InlineElementsPass.name)
        producer.origins = ArrayAttr([*others, noted])
