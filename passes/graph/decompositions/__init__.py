"""
The composite ops of `graph` and what each stands for: one table, from one file for each family.
"""

from __future__ import annotations

from xdsl.ir import Operation

from . import reductions
from .rule import Rule

RULES: dict[type[Operation], Rule] = {**reductions.RULES}
"""Every composite op."""

COMPOSITE_NAMES: tuple[str, ...] = tuple(sorted(op_type.name for op_type in RULES))
"""The composite ops by name, sorted: after `decompose-composites` there are none."""
