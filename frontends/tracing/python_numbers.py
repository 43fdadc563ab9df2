"""Extents as numbers of Python code that is traced: compared, computed with, and asked for."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ...dialects.dims.expressions import DimExpr, Extent
from . import graph_ops as ops
from .extents import bounds_text, dims_here, is_at_least, refuse
from .trace import current_trace


class TracedNumbers:
    """What operators of Python give for extents, `TracedExtent.NUMBERS` while functions are traced."""

    def compare(self, lhs: DimExpr, relation: str, rhs: Extent) -> bool:
        low, high = (lhs, rhs) if relation in ("<=", "<") else (rhs, lhs)
        gap = 1 if relation in ("<", ">") else 0
        if is_at_least(high, low + gap):
            return True
        if is_at_least(low + (gap - 1), high):
            return False
        self._undecided(f"{lhs} {relation} {rhs}", lhs - rhs)

    def is_true(self, extent: DimExpr) -> bool:
        # Constructors of ops ask whether an extent is the number 0, which an expression is not.
        if not dims_here() or is_at_least(extent, 1) or is_at_least(-1, extent):
            return True
        self._undecided(f"{extent} != 0", extent)

    def _undecided(self, text: str, extent: Extent) -> NoReturn:
        refuse(
            f"whether {text} is known at each call only ({bounds_text(extent)})",
            "a tenon.Dim with bounds that decide it, or tenon.cond with tenon.numpy.asarray of the extent",
        )

    def compute(self, operation: str, lhs: Any, rhs: Any) -> Any:
        trace = current_trace()
        if trace is None or not all(isinstance(each, int | float | DimExpr) for each in (lhs, rhs)):
            return NotImplemented
        dtype = np.dtype(np.float64)
        if operation == "pow" and isinstance(lhs, int | DimExpr) and isinstance(rhs, DimExpr):
            dtype = np.dtype(np.int64)
        operands = [
            ops.cast(ops.extent(each), dtype, True)
            if isinstance(each, DimExpr)
            else trace.constant(np.array(each, dtype), True)
            for each in (lhs, rhs)
        ]
        return getattr(ops, operation)(*operands)

    def refuse_value(self, extent: DimExpr, what: str) -> NoReturn:
        refuse(
            f"{what}: the extent {extent} is known at each call only ({bounds_text(extent)})",
            "tenon.scan or tenon.fori_loop instead of a loop, functions of tenon.numpy instead of math's, or "
            "an array without dynamic axes",
        )
