"""
Puts loops of a kernel that stand right inside of one another in another order.

    sched.axis %i = 4 {                      sched.axis %j = 8 {
      sched.axis %j = 8 {          -->         sched.axis %i = 4 {
        ...                                      ...
      }                                        }
    }                                        }

See `passes/sched/steps/reorder.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit unless `allow-reorder`.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..kernels import run_step_on


@dataclass(frozen=True)
class ReorderAxesPass(ModulePass):
    """Puts nested loops of a kernel in the order given."""

    name = "reorder-axes"
    kernel: str
    axes: tuple[str, ...]
    allow_reorder: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        step = {"step": "reorder", "axes": list(self.axes), "allow_reorder": self.allow_reorder}
        run_step_on(self.name, op, self.kernel, step)
