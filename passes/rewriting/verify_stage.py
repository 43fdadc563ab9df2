"""
Checks that a lowering left nothing behind.

    verify-stage{absent=func,graph,"sched.kernel" allowed="graph.tnode"}

Before and after: the module is the same. An op of a dialect or of a name in `absent`, but not of a name in
`allowed`, is an error that lists the offenders by name with how often each occurs.

Requires: nothing. Ensures: none of the named ops is in the module.
"""

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException


@dataclass(frozen=True)
class VerifyStagePass(ModulePass):
    """Fails if an op remains that this stage must not have."""

    name = "verify-stage"
    absent: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        absent, allowed = frozenset(self.absent), frozenset(self.allowed)
        found = Counter(
            inner.name
            for inner in op.walk()
            if (inner.name in absent or inner.name.partition(".")[0] in absent) and inner.name not in allowed
        )
        if found:
            listed = ", ".join(f"{name} ({count})" for name, count in sorted(found.items()))
            raise PassFailedException(f"{self.name}: ops remain that this stage must not have: {listed}")
