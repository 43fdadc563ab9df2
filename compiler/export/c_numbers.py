"""Extents as expressions of C, which note in `*wrong` what does not fit."""

from __future__ import annotations

from collections.abc import Mapping

from ...dialects.dims.expressions import (
    DimAtom,
    DimSymbol,
    Extent,
    Greatest,
    Least,
    Monomial,
    Quotient,
    Remainder,
    terms_of,
)

_HELPERS = {
    "aligned": """\
static int64_t aligned(int64_t nbytes, int *wrong) {
  return sum_of(nbytes, 63, wrong) / 64 * 64;
}
""",
    "sum_of": """\
static int64_t sum_of(int64_t a, int64_t b, int *wrong) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return *wrong = 1, 0;
  return a + b;
}
""",
    "product_of": """\
static int64_t product_of(int64_t a, int64_t b, int *wrong) {
  double about = (double)a * (double)b;
  if (about >= 4e18 || about <= -4e18) return *wrong = 1, 0;
  return a * b;
}
""",
    "rest_of": """\
static int64_t rest_of(int64_t a, int64_t b) {
  b = b < 1 ? 1 : b;
  return a % b < 0 ? a % b + b : a % b;
}
""",
    "whole_of": """\
static int64_t whole_of(int64_t a, int64_t b) {
  b = b < 1 ? 1 : b;
  return a / b - (a % b < 0);
}
""",
    "max_of": """\
static int64_t max_of(int64_t a, int64_t b) {
  return a > b ? a : b;
}
""",
    "min_of": """\
static int64_t min_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}
""",
}
"""
The functions that expressions call, each before those that it calls itself. Buffers begin at multiples of 64
bytes.
"""


def helpers_of(text: str) -> str:
    """Returns the functions that a text calls, and those that these call."""
    found = ""
    for name, helper in _HELPERS.items():
        if f"{name}(" in text or f"{name}(" in found:
            found = f"{helper}\n{found}"
    return found


def c_number(extent: Extent, names: Mapping[str, str]) -> str:
    """Returns the expression of an extent, of type int64_t, in the names that dims have in C."""
    if isinstance(extent, int):
        return str(extent)
    found = ""
    for monomial, factor in terms_of(extent):
        term = _term(monomial, factor, names)
        found = f"sum_of({found}, {term}, wrong)" if found else term
    return found


def _term(monomial: Monomial, factor: int, names: Mapping[str, str]) -> str:
    found = str(factor)
    for atom in monomial:
        value = _atom(atom, names)
        found = value if found == "1" else f"product_of({found}, {value}, wrong)"
    return found


def _atom(atom: DimAtom, names: Mapping[str, str]) -> str:
    match atom:
        case DimSymbol():
            return names[atom.name]
        case Quotient(first, second):
            return f"whole_of({c_number(first, names)}, {c_number(second, names)})"
        case Remainder(first, second):
            return f"rest_of({c_number(first, names)}, {c_number(second, names)})"
        case Greatest(first, second):
            return f"max_of({c_number(first, names)}, {c_number(second, names)})"
        case Least(first, second):
            return f"min_of({c_number(first, names)}, {c_number(second, names)})"
