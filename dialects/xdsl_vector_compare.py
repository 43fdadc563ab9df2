"""
Lets `arith.cmpi` and `arith.cmpf` compare vectors. In xDSL 0.74 their result is always an i1, where MLIR's
is a vector of i1 for vector operands: such an op neither parses nor verifies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, i1
from xdsl.irdl import EqAttrConstraint, RangeOf
from xdsl.rewriter import Rewriter

_BOOLEAN_LIKE = RangeOf(EqAttrConstraint(i1) | VectorType.constr(i1)).of_length(1)


def _with_vector_result(initialize: Callable[..., None]) -> Callable[..., None]:
    @wraps(initialize)
    def wrapped(self: Any, *arguments: Any, **named: Any) -> None:
        initialize(self, *arguments, **named)
        operand = self.operands[0].type
        if isinstance(operand, VectorType):
            Rewriter.replace_value_with_new_type(self.results[0], VectorType(i1, operand.shape))

    return wrapped


def apply() -> None:
    """Installs the work-around; a second call changes nothing."""
    for op_type in (arith.CmpiOp, arith.CmpfOp):
        ((_, result),) = op_type.get_irdl_definition().results
        if result.constr is _BOOLEAN_LIKE:
            continue
        result.constr = _BOOLEAN_LIKE
        op_type.__init__ = _with_vector_result(op_type.__init__)
