"""
Gives every buffer of a program its lifetime, and every temporary and constant its place in device memory.

    %a = sched.buffer global temporary : memref<16xf32>
    %b = sched.buffer global temporary : memref<16xf32>
    %c = sched.buffer global temporary : memref<16xf32>
    %t0 = sched.launch @f(%x, %a) after() : ...
    %t1 = sched.launch @f(%a, %b) after(%t0) : ...
    %t2 = sched.launch @f(%b, %c) after(%t1) : ...

    -->

    %a = sched.buffer global temporary lifetime <0, 1> slab <2, 0> : memref<16xf32>
    %b = sched.buffer global temporary lifetime <1, 2> slab <2, 64> : memref<16xf32>
    %c = sched.buffer global temporary lifetime <2, 3> slab <2, 0> : memref<16xf32>

The pools are the program's own: 0 is the merge buffer, which no program here uses, 1 holds the constants, 2
the temporaries. Arguments and results are the caller's and have no slab. An item's position in the text is
its time, and the return's is that after the last item. Temporaries whose lifetimes have no item in common may
share bytes: the largest are placed first, each into the smallest gap that takes it. A buffer that nothing
uses gets neither a lifetime nor a slab. A buffer that lives within one iteration of a loop has the same
offset in all iterations. A buffer that outlives an iteration lives for the whole loop
(passes/sched/host/lifetimes.py).

A buffer whose size varies with named dims gets the place that its greatest size needs. Such a program is
planned again when its dims have values, and only then is a pool too large.

Requires: extents that are numbers or made of named dims.
Ensures: no two temporaries that are alive at the same item share a byte; `after` holds the edges that the
sharing makes necessary; `memory_plan` of the program says what the plan takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph, sched
from ....dialects.buffer_size import ALIGNMENT, in_a_row, nbytes_bound
from ....dialects.modules.kernel_access import accesses_of
from .dependencies import fill_dependencies
from .lifetimes import lifetimes_of
from .slab_layout import Span, lay_out, peak_nbytes

CONSTANT_POOL = 1
"""The pool, within a program, of its constants."""

TEMPORARY_POOL = 2
"""The pool, within a program, of its temporaries."""


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """Places temporaries and constants in pools; temporaries that live at different times share memory."""

    name = "plan-memory"

    alignment: int = ALIGNMENT
    max_nbytes: int = 2**63 - 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.alignment < 1 or self.alignment & self.alignment - 1:
            raise PassFailedException(f"{self.name}: alignment {self.alignment} is not a power of two")
        accesses = accesses_of(op)
        for program in op.body.ops:
            if isinstance(program, sched.ProgramOp):
                self._place_constants(program)
                self._place_temporaries(program, lifetimes_of(program, accesses))
                fill_dependencies(program, accesses)

    def _place_constants(self, program: sched.ProgramOp) -> None:
        constants = [op for op in program.body.block.ops if isinstance(op, sched.ConstantOp)]
        dims = graph.dims_around(program)
        sizes = [nbytes_bound(constant.result.type, dims) for constant in constants]
        for constant, (offset, end) in zip(constants, pairwise(in_a_row(sizes, self.alignment)), strict=True):
            constant.slab = sched.SlabAttr(CONSTANT_POOL, offset)
            self._check(constant.result, end, "constant")

    def _place_temporaries(
        self, program: sched.ProgramOp, lifetimes: Mapping[SSAValue, tuple[int, int]]
    ) -> None:
        temporaries: list[sched.BufferOp] = []
        spans: list[Span] = []
        dims = graph.dims_around(program)
        for buffer in program.body.block.ops:
            if not isinstance(buffer, sched.BufferOp):
                continue
            buffer.slab = None
            lifetime = lifetimes.get(buffer.result)
            buffer.lifetime = None if lifetime is None else sched.LifetimeAttr(*lifetime)
            if buffer.role.data is sched.Role.TEMPORARY and lifetime is not None:
                temporaries.append(buffer)
                nbytes = in_a_row([nbytes_bound(buffer.result.type, dims)], self.alignment)[-1]
                spans.append(Span(*lifetime, nbytes))
        offsets = lay_out(spans)
        pool_nbytes = 0
        for buffer, span, offset in zip(temporaries, spans, offsets, strict=True):
            buffer.slab = sched.SlabAttr(TEMPORARY_POOL, offset)
            pool_nbytes = max(pool_nbytes, offset + span.nbytes)
            if not dims:
                self._check(buffer.result, offset + span.nbytes, "temporary")
        unshared_nbytes = sum(span.nbytes for span in spans)
        program.attributes["memory_plan"] = sched.MemoryPlanAttr(
            pool_nbytes, unshared_nbytes, peak_nbytes(spans)
        )

    def _check(self, buffer: SSAValue, end: int, pool: str) -> None:
        if end > self.max_nbytes:
            name = f"%{buffer.name_hint} of type {buffer.type}" if buffer.name_hint else f"a {buffer.type}"
            raise PassFailedException(
                f"{self.name}: {name} ends at byte {end} of the {pool} pool (max-nbytes {self.max_nbytes})"
            )
