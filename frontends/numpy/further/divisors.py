"""What divides integers."""

from __future__ import annotations

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...control_flow import while_loop
from ..arguments.axes import broadcast_shapes
from ..arguments.operands import BOOL, Operand, common, is_integer, no_loop
from ..elementwise import abs, floor_divide, multiply, remainder
from ..manipulation import broadcast_to
from ..predicates import equal, not_equal
from ..searching import where
from ..statistics import any

__all__ = ["gcd", "lcm"]


@array_function
def gcd(x1: Operand, x2: Operand, /) -> Array:
    """
    The greatest integers that divide both of two elements, 0 where both are 0, by Euclid's algorithm
    (Elements, book VII). Raises TypeError for other dtypes than those of integers.
    """
    return _gcd(*_integers("gcd", x1, x2))


@array_function
def lcm(x1: Operand, x2: Operand, /) -> Array:
    """The least positive integers that two elements divide, 0 where one is 0; else as `gcd`."""
    lhs, rhs = _integers("lcm", x1, x2)
    divisor = _gcd(lhs, rhs)
    share = floor_divide(lhs, where(equal(divisor, 0), 1, divisor))
    return abs(multiply(share, rhs))


def _integers(who: str, x1: Operand, x2: Operand) -> tuple[Array, Array]:
    lhs, rhs = common(who, x1, x2)
    if not is_integer(lhs.dtype) or lhs.dtype == BOOL:
        raise no_loop(who, lhs.dtype, rhs.dtype)
    shape = broadcast_shapes(who, [lhs.shape, rhs.shape])
    return broadcast_to(lhs, shape), broadcast_to(rhs, shape)


def _gcd(lhs: Array, rhs: Array) -> Array:
    def is_left(state: tuple[Array, Array]) -> Array:
        return any(not_equal(state[1], 0))

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        larger, smaller = state
        is_done = equal(smaller, 0)
        rest = remainder(larger, where(is_done, 1, smaller))
        return where(is_done, larger, smaller), where(is_done, smaller, rest)

    return abs(while_loop(is_left, step, (lhs, rhs))[0])
