"""
Says how loops of a kernel run.

    sched.axis %i = 64 {           -->       sched.axis %i = 64 block(4) vector(8) {
      ...                                      ...
    }                                        }

Each axis has its mapping: `map-axis{kernel="f" axes="i","j" mappings="block(4)","vector(8)"}`. See
`passes/sched/steps/map.py`.

Requires: `sched` kernels. Ensures: what the kernel computes is unchanged, bit for bit unless `allow-reorder`.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..kernels import run_step_on


@dataclass(frozen=True)
class MapAxisPass(ModulePass):
    """Maps loops of a kernel to work-groups, work-items, vectors or unrolled code."""

    name = "map-axis"
    kernel: str
    axes: tuple[str, ...]
    mappings: tuple[str, ...]
    allow_reorder: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        step = {
            "step": "map",
            "axes": list(self.axes),
            "mappings": list(self.mappings),
            "allow_reorder": self.allow_reorder,
        }
        run_step_on(self.name, op, self.kernel, step)
