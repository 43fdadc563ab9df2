"""Index expressions over extents made of named dims, compared with the same integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.dialects.dims.expressions import Extent, dim, evaluated, product
from tenon.passes.indices.expressions import (
    Axis,
    Clamp,
    FloorDiv,
    IndexExpr,
    Mod,
    constant,
    delinearize,
    linearize,
    variable,
)

N, M = dim("n", 1, 5), dim("m", 2, 4)
AXES = (Axis(N, "i"), Axis(M, "j"), Axis(3, "k"), Axis(2 * N, "l"))
A, B, C, D = (variable(axis) for axis in AXES)

Dims = Mapping[str, int]
Point = Mapping[Axis, int]
Case = tuple[IndexExpr, Callable[[Dims, Point], int]]
"""An expression, and what it should be for values of the dims at a point."""


def value(expr: IndexExpr, dims: Dims, point: Point) -> int:
    total = evaluated(expr.constant, dims)
    for atom, factor in expr.terms.items():
        total += evaluated(factor, dims) * atom_value(atom, dims, point)
    return total


def atom_value(atom: object, dims: Dims, point: Point) -> int:
    match atom:
        case Axis():
            return point[atom]
        case FloorDiv(operand, divisor):
            return value(operand, dims, point) // evaluated(divisor, dims)
        case Mod(operand, divisor):
            return value(operand, dims, point) % evaluated(divisor, dims)
        case Clamp(operand, last):
            return min(max(value(operand, dims, point), 0), evaluated(last, dims))
        case _:
            raise AssertionError(f"{atom} in an expression of axes")


def divisors() -> st.SearchStrategy[Extent]:
    return st.sampled_from([1, 2, 3, 6, N, M, 2 * N, N * M, N + 1, 3 * M])


def factors() -> st.SearchStrategy[Extent]:
    return st.sampled_from([-2, -1, 1, 2, 3, N, M, N * M, -1 * N, M - 1, N - M])


def grown(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: (p[0][0] + p[1][0], lambda d, at: p[0][1](d, at) + p[1][1](d, at))),
        pairs.map(lambda p: (p[0][0] - p[1][0], lambda d, at: p[0][1](d, at) - p[1][1](d, at))),
        st.tuples(inner, factors()).map(
            lambda p: (p[0][0] * p[1], lambda d, at: p[0][1](d, at) * evaluated(p[1], d))
        ),
        st.tuples(inner, divisors()).map(
            lambda p: (p[0][0].floordiv(p[1]), lambda d, at: p[0][1](d, at) // evaluated(p[1], d))
        ),
        st.tuples(inner, divisors()).map(
            lambda p: (p[0][0].mod(p[1]), lambda d, at: p[0][1](d, at) % evaluated(p[1], d))
        ),
        st.tuples(inner, divisors()).map(
            lambda p: (
                p[0][0].clamp(p[1] - 1),
                lambda d, at: min(max(p[0][1](d, at), 0), evaluated(p[1], d) - 1),
            )
        ),
    )


def leaf(axis: Axis) -> Case:
    return variable(axis), lambda d, at: at[axis]


LEAVES: st.SearchStrategy[Case] = st.one_of(
    st.sampled_from(AXES).map(leaf),
    st.integers(-9, 9).map(lambda number: (constant(number), lambda d, at: number)),
    factors().map(lambda extent: (constant(extent), lambda d, at: evaluated(extent, d))),
)
CASES = st.recursive(LEAVES, grown, max_leaves=8)


@st.composite
def places(draw: st.DrawFn) -> tuple[Dims, Point]:
    """Returns values of the dims, and a point within the axes."""
    dims = {"n": draw(st.integers(1, 5)), "m": draw(st.integers(2, 4))}
    return dims, {axis: draw(st.integers(0, evaluated(axis.extent, dims) - 1)) for axis in AXES}


@settings(max_examples=600, deadline=None)
@given(CASES, places())
def test_an_expression_has_the_value_of_the_same_integers(case: Case, place: tuple[Dims, Point]):
    expr, expected = case
    assert value(expr, *place) == expected(*place)


@settings(max_examples=300, deadline=None)
@given(CASES, places())
def test_ranges_hold(case: Case, place: tuple[Dims, Point]):
    expr, expected = case
    dims, point = place
    assert evaluated(expr.low, dims) <= expected(dims, point) <= evaluated(expr.high, dims)


def test_reshapes_that_only_join_and_split_dims_cost_nothing():
    joined = linearize((A, B), (M, 1))
    assert delinearize(joined, (N, M)) == (A, B)
    assert delinearize(linearize((A, B, C), (3 * M, 3, 1)), (N, 3 * M)) == (A, B * 3 + C)
    assert delinearize(linearize((A, B * 3 + C), (3 * M, 1)), (N, M, 3)) == (A, B, C)
    assert linearize(delinearize(D, (N, 2)), (2, 1)) == D
    assert delinearize(D, (2 * N,)) == (D,)
    whole = variable(Axis(product((N, M)), "p"))
    assert linearize(delinearize(whole, (N, M)), (M, 1)) == whole
    assert joined.stride(AXES[0]) == M
