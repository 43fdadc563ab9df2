"""How many binary digits a number has, in code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...code import KernelCode


def bit_length(code: KernelCode, number: SSAValue) -> SSAValue:
    """Returns, as an index, how often a number without a sign is halved until it is 0."""
    zero, one = code.b.constant(0, number.type), code.b.constant(1, number.type)

    def is_left(arguments: Sequence[SSAValue]) -> SSAValue:
        return code.compare("ne", arguments[1], zero)

    def halve(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
        count, left = arguments
        return code.integer(arith.AddiOp, count, code.index(1)), code.b.op(arith.ShRUIOp, left, one)

    count, _ = code.repeat((code.index(0), number), is_left, halve, ("count", "left"))
    return count
