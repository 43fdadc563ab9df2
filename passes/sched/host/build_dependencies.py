"""
Fills in which items of a program each item has to wait for.

    %t0 = sched.launch @f(%x, %a) after() : ...        %t0 = sched.launch @f(%x, %a) after() : ...
    %t1 = sched.launch @g(%x, %b) after() : ...   -->  %t1 = sched.launch @g(%x, %b) after() : ...
    %t2 = sched.launch @h(%a, %b, %y) after() : ...    %t2 = sched.launch @h(%a, %b, %y) after(%t0, %t1) : ...
    sched.return %y after() : ...                      sched.return %y after(%t2) : ...

An item waits for the items before it that write what it reads, and that read or write what it writes. Buffers
whose slabs share bytes count as the same. Edges that follow from others are left out. The `after` that an
item had is replaced.

Requires: every launch's kernel is in the module.
Ensures: any order of items that respects `after` computes what the order of the text computes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.modules.kernel_access import accesses_of
from .dependencies import fill_dependencies


@dataclass(frozen=True)
class BuildDependenciesPass(ModulePass):
    """Makes every item of a program wait for the items that it conflicts with."""

    name = "build-dependencies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        accesses = accesses_of(op)
        for program in op.body.ops:
            if isinstance(program, sched.ProgramOp):
                fill_dependencies(program, accesses)
