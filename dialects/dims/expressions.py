"""
Extents that are not numbers yet: polynomials over named dims, with quotients, remainders, greatest and least.

An extent is an `int` or a `DimExpr`; arithmetic on either gives an `int` where nothing symbolic is left. A
`DimExpr` is always in normal form, so that equal polynomials compare equal: `n + n` is `2 * n`, and
`(2 * n + 1) floordiv 2` is `n`. What a dim may be is part of its `DimSymbol`; expressions in types know names
only, and `bounded` puts the bounds in. Expressions have no order of their own: `is_at_least` asks whether one
holds for every value within the bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod
from typing import TypeAlias

LARGEST_DIM = 2**31 - 1
"""The greatest value that a dim may be declared to have."""

KEYWORDS = frozenset(("floordiv", "mod", "max", "min"))
"""Words of the text of expressions, which name no dim."""


@dataclass(frozen=True, slots=True)
class DimSymbol:
    """A named dim, and its least and greatest value."""

    name: str
    minimum: int = 0
    maximum: int = LARGEST_DIM


@dataclass(frozen=True, slots=True)
class Quotient:
    """`operand floordiv divisor`; the divisor is positive."""

    operand: Extent
    divisor: Extent


@dataclass(frozen=True, slots=True)
class Remainder:
    """`operand mod divisor`, from 0 up; the divisor is positive."""

    operand: Extent
    divisor: Extent


@dataclass(frozen=True, slots=True)
class Greatest:
    """`max(first, second)`."""

    first: Extent
    second: Extent


@dataclass(frozen=True, slots=True)
class Least:
    """`min(first, second)`."""

    first: Extent
    second: Extent


DimAtom: TypeAlias = DimSymbol | Quotient | Remainder | Greatest | Least

Monomial: TypeAlias = tuple[DimAtom, ...]
"""Atoms multiplied with one another, in the order of their texts; none for 1."""


class DimExpr:
    """
    A sum of monomials with factors, of which one at least is not constant. Immutable.

    `==` is about polynomials. There are no comparisons, fractions or values: a front end has those, for the
    code that it traces, in a class of its own.
    """

    __slots__ = ("_hash", "_text", "terms")

    terms: Mapping[Monomial, int]

    def __init__(self, terms: Mapping[Monomial, int]):
        self.terms = terms
        self._hash: int | None = None
        self._text: str | None = None

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DimExpr) and self.terms == other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __str__(self) -> str:
        if self._text is None:
            self._text = _text_of(self)
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def __add__(self, other: Extent) -> Extent:
        if not isinstance(other, int | DimExpr):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        terms = dict(self.terms)
        for monomial, factor in terms_of(other):
            total = terms.get(monomial, 0) + factor
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
        return from_terms(terms)

    __radd__ = __add__

    def __neg__(self) -> Extent:
        return DimExpr({monomial: -factor for monomial, factor in self.terms.items()})

    def __sub__(self, other: Extent) -> Extent:
        if not isinstance(other, int | DimExpr):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return self + other * -1

    def __rsub__(self, other: int) -> Extent:
        if not isinstance(other, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return -self + other

    def __mul__(self, other: Extent) -> Extent:
        if not isinstance(other, int | DimExpr):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if isinstance(other, int):
            if other == 0:
                return 0
            return self if other == 1 else DimExpr({m: f * other for m, f in self.terms.items()})
        terms: dict[Monomial, int] = {}
        for mine, factor in self.terms.items():
            for theirs, by in other.terms.items():
                monomial = _product(mine, theirs)
                terms[monomial] = terms.get(monomial, 0) + factor * by
        return from_terms({monomial: factor for monomial, factor in terms.items() if factor})

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Extent) -> Extent:
        if not isinstance(divisor, int | DimExpr):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return quotient(self, divisor)

    def __rfloordiv__(self, other: int) -> Extent:
        return quotient(other, self)

    def __mod__(self, divisor: Extent) -> Extent:
        if not isinstance(divisor, int | DimExpr):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return remainder(self, divisor)

    def __rmod__(self, other: int) -> Extent:
        return remainder(other, self)

    def __divmod__(self, divisor: Extent) -> tuple[Extent, Extent]:
        return self // divisor, self % divisor


Extent: TypeAlias = int | DimExpr
"""A number of elements along an axis."""


def dim(name: str, minimum: int = 0, maximum: int = LARGEST_DIM) -> DimExpr:
    """Returns the dim of this name as an expression."""
    return DimExpr({(DimSymbol(name, minimum, maximum),): 1})


def terms_of(extent: Extent) -> Iterable[tuple[Monomial, int]]:
    """Returns the monomials of an extent with their factors."""
    if isinstance(extent, DimExpr):
        return extent.terms.items()
    return (((), extent),) if extent else ()


def from_terms(terms: Mapping[Monomial, int]) -> Extent:
    """Returns the sum of monomials with factors other than 0."""
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return DimExpr(terms)


def product(extents: Iterable[Extent]) -> Extent:
    """Returns the product of extents; 1 for none."""
    return prod(extents, start=1)


def exact_quotient(extent: Extent, divisor: Extent) -> Extent | None:
    """Returns what `divisor` has to be multiplied with to give `extent`, None where that is no polynomial."""
    if isinstance(extent, int) and isinstance(divisor, int):
        return extent // divisor if divisor and extent % divisor == 0 else None
    if extent == 0:
        return 0
    leading, by = _leading(divisor)
    result: Extent = 0
    rest = extent
    while rest != 0:
        monomial, factor = _leading(rest)
        left = _without(monomial, leading)
        if left is None or factor % by:
            return None
        part = from_terms({left: factor // by})
        result = result + part
        rest = rest - part * divisor
    return result


def quotient(extent: Extent, divisor: Extent) -> Extent:
    """Returns `extent floordiv divisor`, by a positive divisor."""
    if isinstance(extent, int) and isinstance(divisor, int):
        return extent // divisor
    if divisor == 1:
        return extent
    if isinstance(divisor, int):
        least_quotient = lower_bound(extent) // divisor
        if least_quotient == upper_bound(extent) // divisor:
            return least_quotient
    whole, rest = divided(extent, divisor)
    if rest == 0 or (is_at_least(rest, 0) and is_at_least(divisor, rest + 1)):
        return whole
    rest, divisor = _reduced(rest, divisor)
    if isinstance(rest, int) and isinstance(divisor, int):
        return whole + rest // divisor
    flat = _flattened(rest, divisor)
    if flat is not None:
        return whole + quotient(*flat)
    return whole + DimExpr({(Quotient(rest, divisor),): 1})


def remainder(extent: Extent, divisor: Extent) -> Extent:
    """Returns `extent mod divisor`, by a positive divisor."""
    if isinstance(extent, int) and isinstance(divisor, int):
        return extent % divisor
    if divisor == 1:
        return 0
    _, rest = divided(extent, divisor)
    if rest == 0 or (is_at_least(rest, 0) and is_at_least(divisor, rest + 1)):
        return rest
    return DimExpr({(Remainder(rest, divisor),): 1})


def divided(extent: Extent, divisor: Extent) -> tuple[Extent, Extent]:
    """Returns (whole, rest) with extent = whole * divisor + rest, and as much in `whole` as can be."""
    whole, rest = _split(extent, divisor)
    if is_at_least(-1, rest) and is_at_least(rest + divisor, 0):
        return whole - 1, rest + divisor
    return whole, rest


def greatest(first: Extent, second: Extent) -> Extent:
    """Returns the greater of two extents."""
    if is_at_least(first, second):
        return first
    if is_at_least(second, first):
        return second
    first, second = sorted((first, second), key=str)
    return DimExpr({(Greatest(first, second),): 1})


def where_positive(extent: Extent) -> Extent:
    """Returns what an extent is wherever it is 1 or more: of `max(n - 4, 0)` that is `n - 4`."""
    terms = tuple(terms_of(extent))
    if len(terms) == 1 and len(terms[0][0]) == 1 and terms[0][1] == 1:
        (atom,) = terms[0][0]
        if isinstance(atom, Greatest):
            for part, other in ((atom.first, atom.second), (atom.second, atom.first)):
                if is_at_least(0, part):
                    return other
    return extent


def least(first: Extent, second: Extent) -> Extent:
    """Returns the lesser of two extents."""
    if is_at_least(first, second):
        return second
    if is_at_least(second, first):
        return first
    first, second = sorted((first, second), key=str)
    return DimExpr({(Least(first, second),): 1})


def is_at_least(extent: Extent, limit: Extent) -> bool:
    """Returns whether `extent >= limit` is known for all values within the bounds."""
    if isinstance(extent, int) and isinstance(limit, int):
        return extent >= limit
    return lower_bound(extent - limit) >= 0


def lower_bound(extent: Extent) -> int:
    """Returns a number that the extent is never below, within the bounds of its dims."""
    return extent if isinstance(extent, int) else _lower_bound(extent)


def upper_bound(extent: Extent) -> int:
    """Returns a number that the extent is never above, within the bounds of its dims."""
    return extent if isinstance(extent, int) else -_lower_bound(extent * -1)


@lru_cache(65536)
def _lower_bound(extent: Extent) -> int:
    """
    Each atom is written as its least value plus something that is not negative: `n * m - n` with both from 1
    up is then `m' + n' * m'`, so never below 0. A quotient `e floordiv d` is also between `(e - d + 1) / d`
    and `e / d`.
    """
    parts: dict[tuple[tuple[DimAtom, int], ...], int] = {}
    for monomial, factor in terms_of(extent):
        expanded: list[tuple[tuple[tuple[DimAtom, int], ...], int]] = [((), factor)]
        for atom in monomial:
            low, high = _atom_range(atom)
            grown = [((*rest, (atom, high - low)), by) for rest, by in expanded]
            expanded = [*grown, *((rest, by * low) for rest, by in expanded)]
        for rest, by in expanded:
            parts[rest] = parts.get(rest, 0) + by
    least_sum = sum(
        by if not rest else min(by, 0) * prod(width for _, width in rest) for rest, by in parts.items()
    )
    return max([least_sum, *_bounds_by_atoms(extent)])


def _bounds_by_atoms(extent: Extent) -> Iterable[int]:
    """
    Returns numbers that an extent is never below, with one of its atoms replaced by what that is never above
    or below: `n - min(2, n)` is not below `n - n`.
    """
    # `max(a, b)` that is added is at least each of both, so the better bound counts; that is subtracted, it
    # may be either, so the worse one counts. For `min` it is the other way round.
    every: list[tuple[Extent, Extent]] = []
    one: list[tuple[Extent, Extent]] = []
    for monomial, factor in terms_of(extent):
        if len(monomial) != 1:
            continue
        atom = monomial[0]
        rest = extent - from_terms({monomial: factor})
        match atom:
            case Quotient(operand, divisor) if isinstance(divisor, int):
                operand = operand if factor < 0 else operand - (divisor - 1)
                scaled = rest * divisor + operand * factor
                yield -(-lower_bound(scaled) // divisor)
            case Remainder(_, divisor) if factor < 0:
                yield lower_bound(rest + (divisor - 1) * factor)
            case Greatest(first, second):
                (one if factor > 0 else every).append((rest + first * factor, rest + second * factor))
            case Least(first, second):
                (every if factor > 0 else one).append((rest + first * factor, rest + second * factor))
            case _:
                pass
    yield from _bounds_by_factor(extent)
    # One pair only: `lower_bound` takes the other atoms apart in turn, so all pairs would be tried in all
    # orders.
    for first, second in every[:1]:
        yield min(lower_bound(first), lower_bound(second))
    if not every:
        for first, second in one:
            yield max(lower_bound(first), lower_bound(second))


def _bounds_by_factor(extent: Extent) -> Iterable[int]:
    """
    Returns numbers that an extent is never below as one of its atoms, which all terms have and which is not
    negative, times the rest: `n * n - (n floordiv 2) * n` is `n` times what is not negative.
    """
    terms = list(terms_of(extent))
    if len(terms) < 2:
        return
    for atom in dict.fromkeys(terms[0][0]):
        low, high = _atom_range(atom)
        rest = exact_quotient(extent, from_terms({(atom,): 1}))
        if low < 0 or rest is None:
            continue
        bound = lower_bound(rest)
        yield bound * (low if bound >= 0 else high)


def _atom_range(atom: DimAtom) -> tuple[int, int]:
    match atom:
        case DimSymbol():
            return atom.minimum, atom.maximum
        case Quotient(operand, divisor):
            low, high = lower_bound(operand), upper_bound(operand)
            least_divisor, greatest_divisor = max(lower_bound(divisor), 1), max(upper_bound(divisor), 1)
            return (
                low // (greatest_divisor if low >= 0 else least_divisor),
                high // (least_divisor if high >= 0 else greatest_divisor),
            )
        case Remainder(_, divisor):
            return 0, max(upper_bound(divisor) - 1, 0)
        case Greatest(first, second):
            return (
                max(lower_bound(first), lower_bound(second)),
                max(upper_bound(first), upper_bound(second)),
            )
        case Least(first, second):
            return (
                min(lower_bound(first), lower_bound(second)),
                min(upper_bound(first), upper_bound(second)),
            )


def symbols_of(extents: Iterable[Extent]) -> tuple[str, ...]:
    """Returns the names of the dims in some extents, each once, in order."""
    found: set[str] = set()
    for extent in extents:
        for monomial, _ in terms_of(extent):
            for atom in monomial:
                if isinstance(atom, DimSymbol):
                    found.add(atom.name)
                else:
                    found.update(symbols_of(parts_of(atom)))
    return tuple(sorted(found))


def parts_of(atom: Quotient | Remainder | Greatest | Least) -> tuple[Extent, Extent]:
    """Returns the two extents that an atom is made of."""
    match atom:
        case (
            Quotient(first, second)
            | Remainder(first, second)
            | Greatest(first, second)
            | Least(first, second)
        ):
            return first, second


def substituted(extent: Extent, value_of: Callable[[DimSymbol], Extent]) -> Extent:
    """Returns an extent with every dim replaced."""
    if isinstance(extent, int):
        return extent
    result: Extent = 0
    for monomial, factor in extent.terms.items():
        term: Extent = factor
        for atom in monomial:
            term = term * _substituted_atom(atom, value_of)
        result = result + term
    return result


def _substituted_atom(atom: DimAtom, value_of: Callable[[DimSymbol], Extent]) -> Extent:
    if isinstance(atom, DimSymbol):
        return value_of(atom)
    first, second = (substituted(part, value_of) for part in parts_of(atom))
    match atom:
        case Quotient():
            return quotient(first, second)
        case Remainder():
            return remainder(first, second)
        case Greatest():
            return greatest(first, second)
        case Least():
            return least(first, second)


def evaluated(extent: Extent, values: Mapping[str, int]) -> int:
    """Returns what an extent is for these values of its dims, all of which must be there."""
    value = substituted(extent, lambda symbol: values[symbol.name])
    assert isinstance(value, int), f"{value}: a dim without a value"
    return value


def bounded(extent: Extent, dims: Mapping[str, DimSymbol]) -> Extent:
    """Returns an extent over the dims in `dims` of the same names, which have bounds."""
    if isinstance(extent, int):
        return extent
    return substituted(extent, lambda symbol: DimExpr({(dims.get(symbol.name, symbol),): 1}))


def unbounded(extent: Extent) -> Extent:
    """Returns an extent whose dims are names only, as types have them."""
    if isinstance(extent, int):
        return extent
    return substituted(extent, lambda symbol: dim(symbol.name))


def row_major(shape: Sequence[Extent]) -> tuple[Extent, ...]:
    """Returns the strides of a contiguous array of `shape`, in elements."""
    strides: list[Extent] = []
    reach: Extent = 1
    for extent in reversed(shape):
        strides.append(reach)
        reach = reach * extent
    return tuple(reversed(strides))


def without_ones(shape: Sequence[Extent]) -> list[Extent]:
    """Returns the extents of a shape that are more than one element, or may be."""
    return [extent for extent in shape if extent != 1]


def _product(first: Monomial, second: Monomial) -> Monomial:
    if not first or not second:
        return first or second
    return tuple(sorted((*first, *second), key=_atom_text))


def _order(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    """Higher degrees first, and those alike by their text: the order of the terms of a text."""
    return -len(monomial), tuple(map(_atom_text, monomial))


def _leading(extent: Extent) -> tuple[Monomial, int]:
    """Returns the term that decides in a division: the first in a fixed order that products keep."""
    return min(terms_of(extent), key=lambda term: _order(term[0]))


def _without(monomial: Monomial, factor: Monomial) -> Monomial | None:
    """Returns a monomial divided by another, None where it is no multiple of that."""
    left = list(monomial)
    for atom in factor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _split(extent: Extent, divisor: Extent) -> tuple[Extent, Extent]:
    exact = exact_quotient(extent, divisor)
    if exact is not None:
        return exact, 0
    if isinstance(divisor, int):
        whole = {m: f // divisor for m, f in terms_of(extent) if f // divisor}
        rest = {m: f % divisor for m, f in terms_of(extent) if f % divisor}
        return from_terms(whole), from_terms(rest)
    leading, by = _leading(divisor)
    whole_: Extent = 0
    rest_ = extent
    for monomial, factor in sorted(terms_of(extent), key=lambda term: _order(term[0])):
        left = _without(monomial, leading)
        if left is not None and factor // by:
            part = from_terms({left: factor // by})
            whole_ = whole_ + part
            rest_ = rest_ - part * divisor
    return whole_, rest_


def _reduced(extent: Extent, divisor: Extent) -> tuple[Extent, Extent]:
    """`(2 * n) floordiv 4  -->  n floordiv 2`"""
    common = 0
    for _, factor in (*terms_of(extent), *terms_of(divisor)):
        common = gcd(common, factor)
    if common <= 1:
        return extent, divisor
    first = from_terms({m: f // common for m, f in terms_of(extent)})
    return first, from_terms({m: f // common for m, f in terms_of(divisor)})


def _flattened(extent: Extent, divisor: Extent) -> tuple[Extent, Extent] | None:
    """`(n floordiv 2 + m) floordiv 3  -->  (n + 2 * m) floordiv 6`, None where it is no such quotient."""
    if not isinstance(divisor, int):
        return None
    inner = [
        monomial[0]
        for monomial, factor in terms_of(extent)
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], Quotient)
    ]
    if len(inner) != 1 or not isinstance(inner[0].divisor, int):
        return None
    by = inner[0].divisor
    return inner[0].operand + (extent - DimExpr({(inner[0],): 1})) * by, divisor * by


def _text_of(extent: Extent) -> str:
    match list(terms_of(extent)):
        case [((Quotient(first, second),), 1)]:
            return f"{_operand_text(first)} floordiv {_operand_text(second)}"
        case [((Remainder(first, second),), 1)]:
            return f"{_operand_text(first)} mod {_operand_text(second)}"
        case _:
            pass
    text = ""
    for monomial, factor in sorted(terms_of(extent), key=lambda term: _order(term[0])):
        parts = [_atom_text(atom) for atom in monomial]
        if abs(factor) != 1 or not parts:
            parts.insert(0, str(abs(factor)))
        sign = "-" if factor < 0 else "+"
        text += f" {sign} {' * '.join(parts)}" if text else ("-" if factor < 0 else "") + " * ".join(parts)
    return text or "0"


def _atom_text(atom: DimAtom) -> str:
    match atom:
        case DimSymbol():
            return atom.name
        case Quotient(operand, divisor):
            return f"({_operand_text(operand)} floordiv {_operand_text(divisor)})"
        case Remainder(operand, divisor):
            return f"({_operand_text(operand)} mod {_operand_text(divisor)})"
        case Greatest(first, second):
            return f"max({first}, {second})"
        case Least(first, second):
            return f"min({first}, {second})"


def _operand_text(extent: Extent) -> str:
    if isinstance(extent, int):
        return str(extent) if extent >= 0 else f"({extent})"
    (monomial, factor), *others = extent.terms.items()
    is_name = not others and factor == 1 and len(monomial) == 1 and isinstance(monomial[0], DimSymbol)
    return str(extent) if is_name else f"({extent})"
