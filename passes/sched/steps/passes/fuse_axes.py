"""
Fuses two loops of a kernel, one right inside of the other, into one.

    sched.axis %i = 4 {                      sched.axis %i_j = 32 {
      sched.axis %j = 8 {                      %i = arith.divui %i_j, %c8 : index
        ...                        -->         %j = arith.remui %i_j, %c8 : index
      }                                        ...
    }                                        }

See `passes/sched/steps/fuse.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit unless `allow-reorder`.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..kernels import run_step_on


@dataclass(frozen=True)
class FuseAxesPass(ModulePass):
    """Fuses two nested loops of a kernel."""

    name = "fuse-axes"
    kernel: str
    axes: tuple[str, ...]
    allow_reorder: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        step = {"step": "fuse", "axes": list(self.axes), "allow_reorder": self.allow_reorder}
        run_step_on(self.name, op, self.kernel, step)
