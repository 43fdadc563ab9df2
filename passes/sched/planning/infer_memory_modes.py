"""
Decides, for every value of a function, whether it becomes a buffer, and says why.

    %e = graph.exp %d : tensor<4x8xf32>
    %s = graph.reduce add %e axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>

-->

    %e = graph.exp %d {memory_mode = #graph.memory_mode<local, "...", "local-buffer">} ...
    %s = graph.reduce add %e axes [1] keep {memory_mode = #graph.memory_mode<local, "...", "reduction">} ...

The rules are those of passes/sched/planning/fusion_rules.py; each mode names its rule. A mode that is there
already is a request: it is kept, and everything else is decided around it. Markers become requests, and what
costs nothing moves into the regions that read it (passes/sched/planning/region_preparation.py).

Requires: functions of `graph` ops only, over tensors whose extents are numbers or named dims. Ensures: every
op that computes a value has a `memory_mode`, but those with regions and those that read nodes; one that is
impossible as requested is an error with both reasons.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ....dialects.graph import MemoryModeAttr
from ...machine.target import L1_NBYTES, L2_NBYTES, VECTOR_NBYTES, Target, check_positive
from .plan import plan_kernels
from .region_preparation import prepare_regions


@dataclass(frozen=True)
class InferMemoryModesPass(ModulePass):
    """Says which values are virtual, local or materialized, and why."""

    name = "infer-memory-modes"
    vector_nbytes: int = VECTOR_NBYTES
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES
    figures: bool = False
    """Whether reasons tell what was estimated."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l1_nbytes", "l2_nbytes")
        target = Target.told(self)
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                prepare_regions(function)
                for graph_op, decision in plan_kernels(function, target, self.figures).all_decisions():
                    graph_op.attributes["memory_mode"] = MemoryModeAttr(
                        decision.mode, decision.why, decision.rule
                    )
