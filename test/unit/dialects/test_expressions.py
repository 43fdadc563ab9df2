"""The algebra of extents, compared with the same integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenon.dialects import context
from tenon.dialects.dims.expressions import (
    DimExpr,
    DimSymbol,
    Extent,
    bounded,
    dim,
    evaluated,
    exact_quotient,
    greatest,
    is_at_least,
    least,
    lower_bound,
    product,
    quotient,
    remainder,
    row_major,
    substituted,
    symbols_of,
    unbounded,
    upper_bound,
    where_positive,
)
from tenon.dialects.dims.text import parse_extent
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

DIMS = {"n": (0, 6), "m": (1, 5), "k": (3, 4)}

Case = tuple[Extent, Callable[[Mapping[str, int]], int]]
"""An extent, and what it is for values of the dims."""


def dims() -> st.SearchStrategy[Case]:
    def case(name: str) -> Case:
        return dim(name, *DIMS[name]), lambda at: at[name]

    return st.sampled_from(sorted(DIMS)).map(case)


def numbers() -> st.SearchStrategy[Case]:
    return st.integers(-9, 9).map(lambda number: (number, lambda at: number))


def grown(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    pairs, divisor = st.tuples(inner, inner), st.integers(1, 7)
    divisors = st.one_of(
        divisor.map(lambda d: (d, lambda at: d)), st.just((dim("k", 3, 4), lambda at: at["k"]))
    )
    divided = st.tuples(inner, divisors)
    return st.one_of(
        pairs.map(lambda p: (p[0][0] + p[1][0], lambda at: p[0][1](at) + p[1][1](at))),
        pairs.map(lambda p: (p[0][0] - p[1][0], lambda at: p[0][1](at) - p[1][1](at))),
        pairs.map(lambda p: (p[0][0] * p[1][0], lambda at: p[0][1](at) * p[1][1](at))),
        pairs.map(lambda p: (greatest(p[0][0], p[1][0]), lambda at: max(p[0][1](at), p[1][1](at)))),
        pairs.map(lambda p: (least(p[0][0], p[1][0]), lambda at: min(p[0][1](at), p[1][1](at)))),
        divided.map(lambda p: (p[0][0] // p[1][0], lambda at: p[0][1](at) // p[1][1](at))),
        divided.map(lambda p: (p[0][0] % p[1][0], lambda at: p[0][1](at) % p[1][1](at))),
    )


cases = st.recursive(st.one_of(dims(), numbers()), grown, max_leaves=6)
values = st.fixed_dictionaries({name: st.integers(*bounds) for name, bounds in DIMS.items()})


@given(cases, values)
def test_an_extent_has_the_value_of_the_same_integers(case: Case, at: dict[str, int]):
    extent, expected = case
    assert evaluated(extent, at) == expected(at)


@given(cases, values)
def test_bounds_hold(case: Case, at: dict[str, int]):
    extent, expected = case
    assert lower_bound(extent) <= expected(at) <= upper_bound(extent)


@given(cases, cases, values)
def test_what_is_said_to_be_at_least_is(first: Case, second: Case, at: dict[str, int]):
    if is_at_least(first[0], second[0]):
        assert first[1](at) >= second[1](at)


@given(cases, cases)
def test_an_exact_quotient_gives_the_dividend_again(first: Case, second: Case):
    if second[0] != 0:
        found = exact_quotient(first[0] * second[0], second[0])
        assert found is not None and found * second[0] == first[0] * second[0]


@given(cases)
def test_text_parses_to_the_same_extent(case: Case):
    extent = unbounded(case[0])
    assert parse_extent(Parser(context(), str(extent))) == extent


@given(cases, values)
def test_extents_without_bounds_and_with_others_have_the_same_values(case: Case, at: dict[str, int]):
    bare = unbounded(case[0])
    assert evaluated(bare, at) == case[1](at)
    symbols = {name: DimSymbol(name, *bounds) for name, bounds in DIMS.items()}
    assert evaluated(bounded(bare, symbols), at) == case[1](at)


def one_value(name: str, value: int, symbol: DimSymbol) -> Extent:
    return value if symbol.name == name else dim(symbol.name)


@given(cases, values)
def test_dims_can_be_replaced_one_by_one(case: Case, at: dict[str, int]):
    extent = unbounded(case[0])
    for name in DIMS:
        extent = substituted(extent, partial(one_value, name, at[name]))
    assert extent == case[1](at)


N, M = dim("n"), dim("m")


@pytest.mark.parametrize(
    "extent,text",
    [
        (N + N, "2 * n"),
        (M * N, "m * n"),
        (1 + 2 * N, "2 * n + 1"),
        (3 - N, "-n + 3"),
        (N - N, "0"),
        ((2 * N + 1) // 2, "n"),
        ((4 * N) // 8, "n floordiv 2"),
        (N // 2 + 1, "(n floordiv 2) + 1"),
        (((N + 1) // 2 + 1) // 2, "(n + 3) floordiv 4"),
        ((N // 2 + M) // 3, "(2 * m + n) floordiv 6"),
        ((N // 2 + M // 2) // 3, "((m floordiv 2) + (n floordiv 2)) floordiv 3"),
        ((2 * (N // 2) + 1) // 4, "(2 * (n floordiv 2) + 1) floordiv 4"),
        ((N + 1) % 3, "(n + 1) mod 3"),
        ((M * N) // N, "m"),
        ((M * N) % N, "0"),
        (greatest(N, M), "max(m, n)"),
        (least(N, 4), "min(4, n)"),
        (least(N, N + 1), "n"),
        (greatest(N, 0), "n"),
        (7 // N, "7 floordiv n"),
        (7 % N, "7 mod n"),
    ],
)
def test_normal_forms(extent: Extent, text: str):
    assert str(extent) == text
    assert repr(extent) == text


def test_products_of_bounds_are_tight_where_dims_are_from_1():
    n, m = dim("n", 1, 64), dim("m", 1, 8)
    assert is_at_least(n * m, n)
    assert is_at_least(n * m - 1, n * (m - 1))
    assert not is_at_least(n * m, n + m)
    assert not is_at_least(N * M, N)
    assert (lower_bound(n * m - 1), upper_bound(n * m - 1)) == (0, 511)
    assert (n + 63) // 64 == 1
    assert is_at_least(n, 2 * (n // 2))
    assert is_at_least(n * n, (n // 2) * n)
    assert is_at_least(n * n * m, (n // 3) * n * m + m * n)
    assert not is_at_least(n * n, (n // 2) * n + n * m)
    assert not is_at_least(2 * (n // 2), n)


def test_symbols_strides_and_products():
    assert symbols_of([N * M, 4, dim("a") // 2]) == ("a", "m", "n")
    assert row_major((N, M, 4)) == (4 * M, 4, 1)
    assert product([N, 2, M]) == 2 * N * M
    assert product([]) == 1
    assert quotient(7, 2) == 3 and remainder(7, 2) == 1 and exact_quotient(7, 2) is None
    assert exact_quotient(0, N) == 0 and exact_quotient(N + 1, N) is None
    assert isinstance(N, DimExpr) and hash(N + M) == hash(M + N) and N != 1


@pytest.mark.parametrize(
    "text,message",
    [
        ("n floordiv 0", "a division by 0, expected a positive divisor"),
        ("n mod (1 - 2)", "a division by -1, expected a positive divisor"),
        ("n * floordiv", "'floordiv' is no name of a dim"),
        ("(n + 1", r"Expected '\)'"),
        ("+", "identifier expected of a dim"),
    ],
)
def test_text_that_is_no_extent_is_an_error(text: str, message: str):
    with pytest.raises(ParseError, match=message):
        parse_extent(Parser(context(), text))


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        (greatest(dim("n") - 4, 0), dim("n") - 4),
        (greatest(-2, dim("n") - 4), dim("n") - 4),
        # It may be 1 where n is 3; it is twice as much; there is something else beside it.
        (greatest(dim("n") - 4, 1), greatest(dim("n") - 4, 1)),
        (greatest(dim("n") - 4, 0) * 2, greatest(dim("n") - 4, 0) * 2),
        (greatest(dim("n") - 4, 0) + 1, greatest(dim("n") - 4, 0) + 1),
        (dim("n"), dim("n")),
        (3, 3),
    ],
    ids=str,
)
def test_what_is_positive_is_the_part_that_can_be(extent: Extent, expected: Extent):
    assert where_positive(extent) == expected


def test_lower_bounds_see_what_least_and_greatest_share_with_the_rest():
    n = dim("n", 1, 64)
    assert lower_bound(n - least(5, n)) == 0
    assert lower_bound(least(5, n) - 1) == 0
    assert lower_bound(greatest(n - 5, 0) + 5 - n) == 0
    assert lower_bound(n - least(3, n) - greatest(n - 3, 0)) == 0
    assert lower_bound(n - remainder(5, n)) >= 1
    assert lower_bound(least(5, n) - n) == -59


def test_extents_without_a_front_end_have_no_value():
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        range(dim("n"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'<' not supported"):
        _ = dim("n") < 3  # type: ignore[operator]
    assert dim("n")
