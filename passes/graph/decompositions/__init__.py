"""
The composite ops of `graph` and what each stands for: one table, from one file for each.
"""

from __future__ import annotations

from xdsl.ir import Operation

from ....dialects import graph
from .arg_reduce import decompose_arg_reduce
from .logsumexp import decompose_logsumexp
from .rule import Rule

RULES: dict[type[Operation], Rule] = {
    graph.ArgReduceOp: decompose_arg_reduce,
    graph.LogsumexpOp: decompose_logsumexp,
}
"""Every composite op."""

COMPOSITE_NAMES: tuple[str, ...] = tuple(sorted(op_type.name for op_type in RULES))
"""The composite ops by name, sorted: after `decompose-composites` there are none."""
