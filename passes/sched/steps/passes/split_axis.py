"""
Splits a loop of a kernel in two, at parts of `factor` iterations.

    sched.axis %i = 20 {                     sched.axis %i_outer = 3 {
      ...                                      %base = arith.muli %i_outer, %c8 : index
    }                                          %left = arith.subi %c20, %base : index
                                    -->        sched.axis %i_inner = 8 count %left {
                                                 %i = arith.addi %base, %i_inner : index
                                                 ...
                                               }
                                             }

See `passes/sched/steps/primitives/split.py` for what becomes of reductions; `serial` makes a serial loop of
one.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit unless `allow-reorder`.
"""

from dataclasses import dataclass

from ..kernel_step import KernelStep


@dataclass(frozen=True)
class SplitAxisPass(KernelStep):
    """Splits a loop of a kernel into an outer one and an inner one."""

    name = "split-axis"
    step = "split"
    axis: str
    factor: int
    allow_reorder: bool = False
    serial: bool = False
