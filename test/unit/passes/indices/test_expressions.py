"""Index expressions: their values, their ranges, and that equal subscripts have one normal form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.dialects.buffer_size import row_major_strides
from tenon.passes.indices.expressions import (
    ZERO,
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

AXES = (Axis(4, "i"), Axis(6, "j"), Axis(5, "k"))
A, B, C = (variable(axis) for axis in AXES)

Point = Mapping[Axis, int]


def value(expr: IndexExpr, point: Point) -> int:
    total = expr.constant
    for atom, factor in expr.terms.items():
        match atom:
            case Axis():
                total += factor * point[atom]
            case FloorDiv(operand, divisor):
                total += factor * (value(operand, point) // divisor)
            case Mod(operand, divisor):
                total += factor * (value(operand, point) % divisor)
            case Clamp(operand, last):
                total += factor * min(max(value(operand, point), 0), last)
    return total


Built = tuple[IndexExpr, Callable[[Point], int]]
"""An expression, and what it should be at a point."""


def _grown(inner: st.SearchStrategy[Built]) -> st.SearchStrategy[Built]:
    number = st.integers(1, 12)
    return st.one_of(
        st.tuples(inner, inner).map(lambda p: (p[0][0] + p[1][0], lambda at: p[0][1](at) + p[1][1](at))),
        st.tuples(inner, inner).map(lambda p: (p[0][0] - p[1][0], lambda at: p[0][1](at) - p[1][1](at))),
        st.tuples(inner, st.integers(-4, 12)).map(lambda p: (p[0][0] * p[1], lambda at: p[0][1](at) * p[1])),
        st.tuples(inner, number).map(lambda p: (p[0][0].floordiv(p[1]), lambda at: p[0][1](at) // p[1])),
        st.tuples(inner, number).map(lambda p: (p[0][0].mod(p[1]), lambda at: p[0][1](at) % p[1])),
        st.tuples(inner, st.integers(0, 12)).map(
            lambda p: (p[0][0].clamp(p[1]), lambda at: min(max(p[0][1](at), 0), p[1]))
        ),
    )


LEAVES: st.SearchStrategy[Built] = st.one_of(
    st.sampled_from(AXES).map(lambda axis: (variable(axis), lambda at: at[axis])),
    st.integers(-20, 20).map(lambda number: (constant(number), lambda at: number)),
)
EXPRESSIONS = st.recursive(LEAVES, _grown, max_leaves=10)
POINTS = st.tuples(*(st.integers(0, axis.extent - 1) for axis in AXES)).map(
    lambda numbers: dict(zip(AXES, numbers, strict=True))
)


@settings(max_examples=400, deadline=None)
@given(built=EXPRESSIONS, point=POINTS)
def test_expression_has_the_value_of_the_same_integers(built: Built, point: Point) -> None:
    expr, expected = built
    assert value(expr, point) == expected(point)


@settings(max_examples=400, deadline=None)
@given(built=EXPRESSIONS, point=POINTS)
def test_value_lies_in_the_range(built: Built, point: Point) -> None:
    expr, expected = built
    assert expr.low <= expected(point) <= expr.high


@settings(max_examples=200, deadline=None)
@given(built=EXPRESSIONS)
def test_operands_of_divisions_are_never_negative(built: Built) -> None:
    def check(expr: IndexExpr) -> None:
        for atom in expr.terms:
            if isinstance(atom, FloorDiv | Mod):
                assert atom.operand.low >= 0
            if not isinstance(atom, Axis):
                check(atom.operand)

    check(built[0])


@settings(max_examples=200, deadline=None)
@given(built=EXPRESSIONS, others=st.tuples(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS), point=POINTS)
def test_substitution_replaces_the_axes_of_the_value(
    built: Built, others: tuple[Built, ...], point: Point
) -> None:
    expr, expected = built
    inside = {axis: other[0].mod(axis.extent) for axis, other in zip(AXES, others, strict=True)}
    moved = {axis: other[1](point) % axis.extent for axis, other in zip(AXES, others, strict=True)}
    assert value(expr.substitute(lambda axis: inside[axis]), point) == expected(moved)


@settings(max_examples=200, deadline=None)
@given(built=EXPRESSIONS, axis=st.sampled_from(AXES), point=POINTS)
def test_stride_is_how_the_value_grows(built: Built, axis: Axis, point: Point) -> None:
    expr, expected = built
    stride = expr.stride(axis)
    if stride is not None:
        assert expected({**point, axis: axis.extent - 1}) - expected({**point, axis: 0}) == stride * (
            axis.extent - 1
        )


@settings(max_examples=200, deadline=None)
@given(built=EXPRESSIONS)
def test_axes_are_those_that_occur(built: Built) -> None:
    expr, _ = built
    assert len(expr.axes()) == len(set(expr.axes()))
    fixed = expr.substitute(lambda axis: variable(axis) if axis in expr.axes() else constant(99))
    assert fixed == expr


@settings(max_examples=200, deadline=None)
@given(first=EXPRESSIONS, second=EXPRESSIONS)
def test_equal_expressions_have_equal_hashes_and_differ_by_zero(first: Built, second: Built) -> None:
    total, mirrored = first[0] + second[0], second[0] + first[0]
    assert total == mirrored and hash(total) == hash(mirrored)
    assert total - mirrored == ZERO


SHAPES = [(120,), (24, 5), (4, 30), (8, 15), (2, 3, 20), (2, 2, 30), (1, 120), (40, 3), (2, 2, 2, 3, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_reshape_there_and_back_is_nothing(shape: tuple[int, ...]) -> None:
    indices = (A, B, C)
    flat = linearize(indices, row_major_strides((4, 6, 5)))
    moved = delinearize(flat, shape)
    assert linearize(moved, row_major_strides(shape)) == flat
    assert delinearize(linearize(moved, row_major_strides(shape)), (4, 6, 5)) == indices


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_subscripts_of_a_flat_index_count_through_a_shape(shape: tuple[int, ...]) -> None:
    flat = variable(axis := Axis(prod(shape), "f"))
    subscripts = delinearize(flat, shape)
    for number, expected in enumerate(product(*map(range, shape))):
        assert tuple(value(index, {axis: number}) for index in subscripts) == expected
    assert linearize(subscripts, row_major_strides(shape)) == flat


def test_dims_that_only_merge_or_split_at_their_borders_need_no_division():
    flat = linearize((A, B, C), row_major_strides((4, 6, 5)))
    assert delinearize(flat, (24, 5)) == (A * 6 + B, C)
    assert delinearize(flat, (4, 30)) == (A, B * 5 + C)


def test_quotient_and_remainder_join_again():
    flat = variable(Axis(100, "f"))
    assert flat.floordiv(7) * 7 + flat.mod(7) == flat
    assert flat.mod(7) * 3 + flat.floordiv(7) * 21 == flat * 3


@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 5, 7), (2, 3, 4, 8), (24, 8)], ids=str)
@pytest.mark.parametrize("count", [2, 3, 4, 6, 8, 12])
def test_parts_of_a_flat_index_lie_together(shape: tuple[int, ...], count: int):
    length = prod(shape) // count
    part, place = Axis(count, "p"), Axis(length, "q")
    flat = variable(part) * length + variable(place)
    subscripts = delinearize(flat, shape)
    assert linearize(subscripts, row_major_strides(shape)) == flat
    for number, index in product(range(count), range(length)):
        at = {part: number, place: index}
        assert value(linearize(subscripts, row_major_strides(shape)), at) == number * length + index


def test_remainders_of_other_quotients_stay_apart():
    f, r = variable(first := Axis(100, "f")), variable(second := Axis(5, "r"))
    together = (f.floordiv(7) + r).mod(10) * 7 + f.mod(7)
    assert together == (f + r * 7).mod(70)
    for other in ((f.floordiv(7) * 2 + r).mod(10) * 7 + f.mod(7), (f.floordiv(7) + r).mod(10) * 8 + f.mod(7)):
        assert sum(isinstance(atom, Mod) for atom in other.terms) == 2
    for number, index in product(range(100), range(5)):
        at = {first: number, second: index}
        assert value(together, at) == (number // 7 + index) % 10 * 7 + number % 7


def test_quotient_of_a_quotient_is_one_quotient():
    flat = variable(Axis(100, "f"))
    assert flat.floordiv(3).floordiv(5) == flat.floordiv(15)


def test_ranges_decide_quotients_and_remainders():
    assert (B + 6).floordiv(6) == constant(1)
    assert (B + 6).mod(6) == B
    assert (A * 12 + B).floordiv(6) == A * 2
    assert (A * 12 + 4).mod(6) == constant(4)


def test_clamp_within_its_range_is_nothing():
    assert B.clamp(5) == B
    assert (B - 3).clamp(0) == ZERO
    clamped = (B - 3).clamp(2)
    assert (clamped.low, clamped.high) == (0, 2)


def test_axis_of_one_iteration_is_zero():
    assert variable(Axis(1)) == ZERO and not variable(Axis(0)).is_constant


def test_stride_through_a_division_is_unknown():
    flat = variable(axis := Axis(100, "f"))
    assert flat.floordiv(7).stride(axis) is None
    assert (flat * 3 + 1).stride(axis) == 3 and A.stride(axis) == 0


def test_repr_shows_atoms_with_factors():
    assert repr(A * 6 + B + 2) == "6*i<4> + 1*j<6> + 2"


@pytest.mark.parametrize("divisor", [0, -3])
def test_divisor_must_be_positive(divisor: int) -> None:
    with pytest.raises(AssertionError, match=f"division by {divisor}"):
        A.floordiv(divisor)
    with pytest.raises(AssertionError, match=f"division by {divisor}"):
        A.mod(divisor)
