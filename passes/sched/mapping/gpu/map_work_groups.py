"""
Gives every kernel its schedule for a GPU: which axes run as work-groups, and which their work-items share.

    sched.axis %i = 4096 {
      %s = sched.reduce addf %j = 1000 : f32 { ... }
      sched.axis %j_1 = 1000 { ... }
    }

-->

    sched.axis %i = 4096 block {
      %s = sched.reduce addf %j = 1000 items(256) unroll(2) : f32 { ... }
      sched.axis %j_1 = 1000 items(256) { ... }
    }

* Rows: where the loops in a nest of axes run over neighbours in memory, each iteration of the nest is a
  work-group, whose work-items share those loops. Local buffers become shared ones, as far as they fit.
* Sums of products, and elements that are neighbours where they are read but not where they are written:
  work-groups stage tiles in shared memory.
* Everything else: each work-item takes elements of its own, so that neighbours work on neighbours in memory,
  a vector each where all accesses are contiguous or the same for all.

Requires: `sched` kernels. Ensures: work-groups of at most `max_items` work-items, and of at most `max_block`
along each dimension, which share at most `shared_nbytes`; what each kernel computes is unchanged but for the
order of combination of reductions, which the mapping defines. A kernel that is mapped already is left alone,
as is one without an axis or reduction to share.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from .....dialects import sched
from .....dialects.sched import MappingAttr
from ....indices.analysis import Loop
from ....machine.groups import GroupLimits
from ....machine.target import figures_for
from .schedules import KernelSchedule

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class MapWorkGroupsPass(ModulePass):
    """Maps the axes of every kernel to work-groups and to the work-items that share them."""

    name = "map-work-groups"
    max_items: int = GroupLimits.max_items
    max_block: tuple[int, ...] = GroupLimits.max_block
    shared_nbytes: int = GroupLimits.shared_nbytes
    vector_nbytes: int = GroupLimits.vector_nbytes
    multiple: int = GroupLimits.multiple
    n_units: int = GroupLimits.n_units

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Raises PassFailedException for limits that no device has."""
        if len(self.max_block) != 3 or min(self.max_items, *self.max_block) < 1:
            raise PassFailedException(
                f"{self.name}: max-items {self.max_items} and max-block {','.join(map(str, self.max_block))} "
                "must be 1 or more, and three of the latter"
            )
        if min(self.multiple, self.n_units, self.vector_nbytes) < 1 or self.shared_nbytes < 0:
            raise PassFailedException(
                f"{self.name}: multiple {self.multiple}, n-units {self.n_units} and vector-nbytes "
                f"{self.vector_nbytes} must be 1 or more, shared-nbytes {self.shared_nbytes} 0 or more"
            )
        limits = GroupLimits(**figures_for(GroupLimits, self))
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp) and _is_serial(kernel):
                reasons = KernelSchedule(kernel, limits).apply()
                if reasons:
                    kernel.schedule = StringAttr("; ".join(reasons))


def _is_serial(kernel: sched.KernelOp) -> bool:
    return all(op.mapping == _SERIAL for op in kernel.walk() if isinstance(op, Loop))
