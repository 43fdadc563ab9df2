"""
Index arithmetic with ranges: linear sums of axes, and quotients, remainders and clamps of such sums.

An `IndexExpr` is always in normal form, so that equal subscripts compare equal and `(e floordiv c) * c + e
mod c` is `e` again: a reshape that only renames dims costs nothing. The rules are the usual ones for
quasi-affine forms (Feautrier, "Parametric integer programming", 1988, uses the same quotients); ranges
decide which apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd

from ...dialects.buffer_size import row_major_strides


class Axis:
    """
    An index variable from 0 to `extent` - 1. Axes are told apart by identity. `hint` names it in the IR.
    """

    __slots__ = ("extent", "hint")

    def __init__(self, extent: int, hint: str = "i"):
        self.extent = extent
        self.hint = hint

    def __repr__(self) -> str:
        return f"{self.hint}<{self.extent}>"


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """`operand floordiv divisor`, with a positive divisor."""

    operand: IndexExpr
    divisor: int


@dataclass(frozen=True, slots=True)
class Mod:
    """`operand mod divisor`, from 0 up, with a positive divisor."""

    operand: IndexExpr
    divisor: int


@dataclass(frozen=True, slots=True)
class Clamp:
    """`operand`, but not below 0 and not above `last`."""

    operand: IndexExpr
    last: int


Atom = Axis | FloorDiv | Mod | Clamp


class IndexExpr:
    """`constant` plus a sum of atoms with factors. Immutable; `low` and `high` bound its value, inclusive."""

    __slots__ = ("_hash", "constant", "high", "low", "terms")

    terms: dict[Atom, int]
    constant: int
    low: int
    high: int

    def __init__(self, terms: dict[Atom, int], constant: int):
        self.terms = terms
        self.constant = constant
        self._hash: int | None = None
        low = high = constant
        for atom, factor in terms.items():
            first, last = _atom_range(atom)
            if factor > 0:
                low += factor * first
                high += factor * last
            else:
                low += factor * last
                high += factor * first
        self.low = low
        self.high = high

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, IndexExpr) and self.constant == other.constant and self.terms == other.terms
        )

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((self.constant, frozenset(self.terms.items())))
        return self._hash

    def __repr__(self) -> str:
        parts = [f"{factor}*{atom!r}" for atom, factor in self.terms.items()]
        return " + ".join([*parts, str(self.constant)])

    @property
    def is_constant(self) -> bool:
        return not self.terms

    def __add__(self, other: IndexExpr | int) -> IndexExpr:
        if isinstance(other, int):
            return self if other == 0 else IndexExpr(self.terms, self.constant + other)
        if not other.terms:
            return self + other.constant
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            total = terms.get(atom, 0) + factor
            if total:
                terms[atom] = total
            else:
                del terms[atom]
        return _recombined(terms, self.constant + other.constant)

    def __mul__(self, factor: int) -> IndexExpr:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return IndexExpr({atom: f * factor for atom, f in self.terms.items()}, self.constant * factor)

    def __sub__(self, other: IndexExpr) -> IndexExpr:
        return self + other * -1

    def floordiv(self, divisor: int) -> IndexExpr:
        """Returns the quotient rounded down, by a positive divisor."""
        assert divisor > 0, f"division by {divisor}"
        if divisor == 1:
            return self
        whole, rest = self._split(divisor)
        if rest.low >= 0 and rest.high < divisor:
            return whole
        inner, common, _ = _take_apart(rest, divisor)
        if divisor == common:
            return whole + inner
        if len(inner.terms) == 1 and inner.constant == 0:
            ((atom, factor),) = inner.terms.items()
            if isinstance(atom, FloorDiv) and factor == 1:
                return whole + atom.operand.floordiv(atom.divisor * (divisor // common))
        return whole + _atom(FloorDiv(inner, divisor // common))

    def mod(self, divisor: int) -> IndexExpr:
        """Returns the remainder, from 0 up, by a positive divisor."""
        assert divisor > 0, f"division by {divisor}"
        _, rest = self._split(divisor)
        if rest.low >= 0 and rest.high < divisor:
            return rest
        inner, common, remainder = _take_apart(rest, divisor)
        if divisor == common:
            return remainder
        return _atom(Mod(inner, divisor // common)) * common + remainder

    def clamp(self, last: int) -> IndexExpr:
        """Returns the expression held between 0 and `last`."""
        if self.low >= 0 and self.high <= last:
            return self
        if last <= 0:
            return ZERO
        return _atom(Clamp(self, last))

    def _split(self, divisor: int) -> tuple[IndexExpr, IndexExpr]:
        """Returns (whole, rest) with self = whole * divisor + rest and rest never negative."""
        whole: dict[Atom, int] = {}
        rest: dict[Atom, int] = {}
        for atom, factor in self.terms.items():
            quotient, remainder = divmod(factor, divisor)
            if remainder == 0:
                whole[atom] = quotient
            else:
                rest[atom] = factor
        quotient, remainder = divmod(self.constant, divisor)
        left = IndexExpr(rest, remainder)
        if left.low < 0:
            raised = -(left.low // divisor)
            quotient -= raised
            left = left + raised * divisor
        return IndexExpr(whole, quotient), left

    def substitute(self, replacement: Callable[[Axis], IndexExpr]) -> IndexExpr:
        """Returns the expression with every axis replaced."""
        result = constant(self.constant)
        for atom, factor in self.terms.items():
            match atom:
                case Axis():
                    value = replacement(atom)
                case FloorDiv(operand, divisor):
                    value = operand.substitute(replacement).floordiv(divisor)
                case Mod(operand, divisor):
                    value = operand.substitute(replacement).mod(divisor)
                case Clamp(operand, last):
                    value = operand.substitute(replacement).clamp(last)
            result = result + value * factor
        return result

    def axes(self) -> list[Axis]:
        """Returns every axis that occurs, each once, in the order of occurrence."""
        found: dict[Axis, None] = {}
        self._collect(found)
        return list(found)

    def _collect(self, found: dict[Axis, None]) -> None:
        for atom in self.terms:
            if isinstance(atom, Axis):
                found[atom] = None
            else:
                atom.operand._collect(found)

    def stride(self, axis: Axis) -> int | None:
        """Returns by how much the value grows with `axis`, or None if that is no constant."""
        for atom in self.terms:
            if not isinstance(atom, Axis) and axis in atom.operand.axes():
                return None
        return self.terms.get(axis, 0)


def _atom_range(atom: Atom) -> tuple[int, int]:
    match atom:
        case Axis():
            return 0, max(atom.extent - 1, 0)
        case FloorDiv(operand, divisor):
            return operand.low // divisor, operand.high // divisor
        case Mod(_, divisor):
            return 0, divisor - 1
        case Clamp(_, last):
            return 0, last


def _take_apart(expr: IndexExpr, divisor: int) -> tuple[IndexExpr, int, IndexExpr]:
    """
    Returns (inner, common, remainder) with expr = inner * common + remainder, 0 <= remainder < common, and
    the greatest `common` there is among the factors of `divisor`; neither part is negative if `expr` is not.
    """
    terms = sorted(expr.terms.items(), key=lambda term: abs(term[1]))
    for count in reversed(range(len(terms))):
        common = reduce(gcd, (factor for _, factor in terms[count:]), divisor)
        remainder = IndexExpr(dict(terms[:count]), expr.constant % common)
        if remainder.low >= 0 and remainder.high < common:
            break
    else:
        common, remainder = divisor, constant(expr.constant % divisor)
    outer = {atom: factor // common for atom, factor in terms if atom not in remainder.terms}
    return IndexExpr(outer, expr.constant // common), common, remainder


def _recombined(terms: dict[Atom, int], constant_: int) -> IndexExpr:
    """`(e floordiv d) * (f * d) + (e mod d) * f  -->  e * f`"""
    for atom, factor in terms.items():
        if isinstance(atom, Mod):
            quotient = FloorDiv(atom.operand, atom.divisor)
            if terms.get(quotient) == factor * atom.divisor:
                rest = {a: f for a, f in terms.items() if a != atom and a != quotient}
                return _recombined(rest, constant_) + atom.operand * factor
            whole = _quotient_of_terms(atom, factor, terms)
            if whole is not None:
                rest = {a: f for a, f in terms.items() if a != atom and a not in whole}
                return _recombined(rest, constant_) + atom.operand * factor
    return IndexExpr(terms, constant_)


def _quotient_of_terms(atom: Mod, factor: int, terms: Mapping[Atom, int]) -> dict[Atom, int] | None:
    """
    The terms that add up to `(atom.operand floordiv atom.divisor) * divisor * factor`, if they are there.
    """
    quotient = atom.operand.floordiv(atom.divisor) * (atom.divisor * factor)
    if (
        quotient.constant == 0
        and quotient.terms
        and all(terms.get(a) == f for a, f in quotient.terms.items())
    ):
        return quotient.terms
    return None


def _atom(atom: Atom) -> IndexExpr:
    return IndexExpr({atom: 1}, 0)


def constant(value: int) -> IndexExpr:
    """Returns the constant `value`."""
    return ZERO if value == 0 else IndexExpr({}, value)


def variable(axis: Axis) -> IndexExpr:
    """Returns the value of `axis`: 0 where it has only that one."""
    return ZERO if axis.extent == 1 else _atom(axis)


ZERO = IndexExpr({}, 0)


def linearize(indices: Sequence[IndexExpr], strides: Iterable[int]) -> IndexExpr:
    """Returns the sum of the indices times their strides."""
    result = ZERO
    for index, stride in zip(indices, strides, strict=True):
        result = result + index * stride
    return result


def delinearize(index: IndexExpr, shape: Sequence[int]) -> tuple[IndexExpr, ...]:
    """Returns the subscripts into a contiguous array of `shape` of its element number `index`."""
    subscripts: list[IndexExpr] = []
    for extent, stride in zip(shape, row_major_strides(shape), strict=True):
        subscripts.append(ZERO if extent <= 1 else index.floordiv(stride).mod(extent))
    return tuple(subscripts)
