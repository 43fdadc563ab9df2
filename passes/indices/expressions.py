"""
Index arithmetic with ranges: linear sums of axes, and quotients, remainders and clamps of such sums.

An `IndexExpr` is always in normal form, so that equal subscripts compare equal and `(e floordiv c) * c + e
mod c` is `e` again: a reshape that only renames dims costs nothing. The rules are the usual ones for
quasi-affine forms (Feautrier, "Parametric integer programming", 1988, uses the same quotients); ranges
decide which apply. Extents, factors and divisors may be expressions of dims with bounds; a rule then applies
where it holds for all values within these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from ...dialects.dims.expressions import (
    DimExpr,
    Extent,
    divided,
    exact_quotient,
    is_at_least,
    quotient,
    remainder,
    row_major,
    upper_bound,
)


class Axis:
    """
    An index variable from 0 to `extent` - 1. Axes are told apart by identity. `hint` names it in the IR.
    """

    __slots__ = ("extent", "hint")

    extent: Extent
    hint: str

    def __init__(self, extent: Extent, hint: str = "i"):
        self.extent = extent
        self.hint = hint

    def __repr__(self) -> str:
        return f"{self.hint}<{self.extent}>"


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """`operand floordiv divisor`, with a positive divisor."""

    operand: IndexExpr
    divisor: Extent


@dataclass(frozen=True, slots=True)
class Mod:
    """`operand mod divisor`, from 0 up, with a positive divisor."""

    operand: IndexExpr
    divisor: Extent


@dataclass(frozen=True, slots=True)
class Clamp:
    """`operand`, but not below 0 and not above `last`."""

    operand: IndexExpr
    last: Extent


@dataclass(frozen=True, slots=True)
class Element:
    """The integer element of the tensor `tensor` at `indices`, but not below 0 and not above `last`."""

    tensor: SSAValue
    indices: tuple[IndexExpr, ...]
    last: Extent


@dataclass(frozen=True, slots=True)
class Opaque:
    """An index of which only the value of a kernel that it is is known; it may differ along `along`."""

    value: SSAValue
    along: tuple[Axis, ...]


_UNKNOWN = 1 << 80
"""How far a term whose factor has no known sign may reach; more than any index."""

_LEAST_INDEX, _GREATEST_INDEX = -(1 << 63), (1 << 63) - 1

Leaf = Axis | Opaque
"""What an expression is made of that is no expression itself."""

Atom = Axis | FloorDiv | Mod | Clamp | Element | Opaque


class IndexExpr:
    """`constant` plus a sum of atoms with factors. Immutable; `low` and `high` bound its value, inclusive."""

    __slots__ = ("_hash", "_range", "constant", "terms")

    terms: dict[Atom, Extent]
    constant: Extent

    def __init__(self, terms: dict[Atom, Extent], constant: Extent):
        self.terms = terms
        self.constant = constant
        self._hash: int | None = None
        self._range: tuple[Extent, Extent] | None = None

    @property
    def low(self) -> Extent:
        return (self._range or self._find_range())[0]

    @property
    def high(self) -> Extent:
        return (self._range or self._find_range())[1]

    def _find_range(self) -> tuple[Extent, Extent]:
        low = high = self.constant
        for atom, factor in self.terms.items():
            first, last = _atom_range(atom)
            if factor > 0 if isinstance(factor, int) else is_at_least(factor, 0):
                low += factor * first
                high += factor * last
            elif isinstance(factor, int) or is_at_least(0, factor):
                low += factor * last
                high += factor * first
            else:
                low, high = low - _UNKNOWN, high + _UNKNOWN
        self._range = low, high
        return self._range

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

    def __add__(self, other: IndexExpr | Extent) -> IndexExpr:
        if not isinstance(other, IndexExpr):
            return self if other == 0 else IndexExpr(self.terms, self.constant + other)
        if not other.terms:
            other = other.constant
            return self if other == 0 else IndexExpr(self.terms, self.constant + other)
        if not self.terms and self.constant == 0:
            return other
        terms = dict(self.terms)
        for atom, factor in other.terms.items():
            total = terms.get(atom, 0) + factor
            if total != 0:
                terms[atom] = total
            else:
                del terms[atom]
        return _recombined(terms, self.constant + other.constant)

    def __mul__(self, factor: Extent) -> IndexExpr:
        if factor == 1:
            return self
        if factor == 0:
            return ZERO
        return IndexExpr({atom: f * factor for atom, f in self.terms.items()}, self.constant * factor)

    def __sub__(self, other: IndexExpr) -> IndexExpr:
        return self + other * -1

    def is_within(self, extent: Extent) -> bool:
        """Returns whether the value is known to be from 0 to below `extent`."""
        low, high = self.low, self.high
        if isinstance(low, int) and isinstance(high, int) and isinstance(extent, int):
            return low >= 0 and high < extent
        return is_at_least(low, 0) and is_at_least(extent, high + 1)

    def floordiv(self, divisor: Extent) -> IndexExpr:
        """Returns the quotient rounded down, by a positive divisor."""
        assert isinstance(divisor, DimExpr) or divisor > 0, f"division by {divisor}"
        if divisor == 1:
            return self
        if not self.terms:
            return constant(quotient(self.constant, divisor))
        whole, rest = self._split(divisor)
        if rest.is_within(divisor):
            return whole
        inner, common, _ = _take_apart(rest, divisor)
        if divisor == common:
            return whole + inner
        if len(inner.terms) == 1 and inner.constant == 0:
            ((atom, factor),) = inner.terms.items()
            if isinstance(atom, FloorDiv) and factor == 1:
                return whole + atom.operand.floordiv(atom.divisor * _exact(divisor, common))
        return whole + _atom(FloorDiv(inner, _exact(divisor, common)))

    def mod(self, divisor: Extent) -> IndexExpr:
        """Returns the remainder, from 0 up, by a positive divisor."""
        assert isinstance(divisor, DimExpr) or divisor > 0, f"division by {divisor}"
        if not self.terms:
            return constant(remainder(self.constant, divisor))
        _, rest = self._split(divisor)
        if rest.is_within(divisor):
            return rest
        inner, common, left = _take_apart(rest, divisor)
        if divisor == common:
            return left
        return _atom(Mod(inner, _exact(divisor, common))) * common + left

    def clamp(self, last: Extent) -> IndexExpr:
        """Returns the expression held between 0 and `last`."""
        if self.is_within(last + 1):
            return self
        if last <= 0 if isinstance(last, int) else is_at_least(0, last):
            return ZERO
        if isinstance(self.high, int) and self.high <= 0:
            return ZERO
        if isinstance(self.low, int) and isinstance(last, int) and self.low >= last:
            return constant(last)
        return _atom(Clamp(self, last))

    def _split(self, divisor: Extent) -> tuple[IndexExpr, IndexExpr]:
        """Returns (whole, rest) with self = whole * divisor + rest and rest never negative."""
        whole, left = self.split_terms(divisor)
        if not is_at_least(left.low, 0):
            # Of a divisor that varies as many are enough as the least index is below 0: none is less than 1.
            is_bounded = isinstance(left.low, int) and not isinstance(divisor, int)
            raised = -left.low if is_bounded else -(left.low // divisor)
            whole = whole + raised * -1
            left = left + raised * divisor
        return whole, left

    def split_terms(self, divisor: Extent) -> tuple[IndexExpr, IndexExpr]:
        """Returns (whole, rest) with self = whole * divisor + rest: what divides exactly, term by term."""
        whole: dict[Atom, Extent] = {}
        rest: dict[Atom, Extent] = {}
        for atom, factor in self.terms.items():
            exact = exact_quotient(factor, divisor)
            if exact is None:
                rest[atom] = factor
            else:
                whole[atom] = exact
        quotient_, remainder_ = divided(self.constant, divisor)
        return IndexExpr(whole, quotient_), IndexExpr(rest, remainder_)

    def substitute(self, replacement: Callable[[Leaf], IndexExpr]) -> IndexExpr:
        """Returns the expression with every axis, and every opaque value, replaced."""
        result = constant(self.constant)
        for atom, factor in self.terms.items():
            match atom:
                case Axis() | Opaque():
                    value = replacement(atom)
                case Element(tensor, indices, last):
                    value = element(tensor, tuple(i.substitute(replacement) for i in indices), last)
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
        self.collect_axes(found)
        return list(found)

    def collect_axes(self, found: dict[Axis, None]) -> None:
        """Adds every axis that occurs to `found`."""
        for atom in self.terms:
            _collect(atom, found)

    def has_elements(self) -> bool:
        """Returns whether an element of a tensor is part of the expression."""
        return any(
            isinstance(atom, Element)
            or (isinstance(atom, FloorDiv | Mod | Clamp) and atom.operand.has_elements())
            for atom in self.terms
        )

    def stride(self, axis: Axis) -> Extent | None:
        """Returns by how much the value grows with `axis`, or None if that is no constant."""
        for atom in self.terms:
            if not isinstance(atom, Axis) and axis in axes_of(atom):
                return None
        return self.terms.get(axis, 0)


def _collect(atom: Atom, found: dict[Axis, None]) -> None:
    match atom:
        case Axis():
            found[atom] = None
        case Opaque(_, along):
            found.update(dict.fromkeys(along))
        case Element(_, indices, _):
            for index in indices:
                index.collect_axes(found)
        case FloorDiv() | Mod() | Clamp():
            atom.operand.collect_axes(found)


def axes_of(atom: Atom) -> list[Axis]:
    """Returns the axes that an atom depends on, each once."""
    found: dict[Axis, None] = {}
    _collect(atom, found)
    return list(found)


def _atom_range(atom: Atom) -> tuple[Extent, Extent]:
    match atom:
        case Axis():
            extent = atom.extent
            return 0, max(extent - 1, 0) if isinstance(extent, int) else extent - 1
        case FloorDiv(operand, divisor):
            return operand.low // divisor, operand.high // divisor
        case Mod(_, divisor):
            return 0, divisor - 1
        case Clamp(_, last) | Element(_, _, last):
            return 0, last
        case Opaque():
            return _LEAST_INDEX, _GREATEST_INDEX


def _exact(extent: Extent, divisor: Extent) -> Extent:
    found = exact_quotient(extent, divisor)
    assert found is not None, f"{extent} is no multiple of {divisor}"
    return found


def _take_apart(expr: IndexExpr, divisor: Extent) -> tuple[IndexExpr, Extent, IndexExpr]:
    """
    Returns (inner, common, remainder) with expr = inner * common + remainder, 0 <= remainder < common, and
    the greatest `common` there is among the factors of `divisor`; neither part is negative if `expr` is not.
    """
    factors = list(expr.terms.values())
    numbers = {atom: factor for atom, factor in expr.terms.items() if isinstance(factor, int)}
    if isinstance(divisor, DimExpr) or len(numbers) < len(factors) or isinstance(expr.constant, DimExpr):
        return _take_apart_symbolic(expr, divisor)
    return _take_apart_numbers(numbers, expr.constant, divisor)


def _take_apart_symbolic(expr: IndexExpr, divisor: Extent) -> tuple[IndexExpr, Extent, IndexExpr]:
    """As `_take_apart`; the candidates for `common` are the factors of the terms that divide `divisor`."""
    candidates = sorted({*expr.terms.values()}, key=lambda factor: (-upper_bound(factor), str(factor)))
    for common in candidates:
        if common == 1 or exact_quotient(divisor, common) is None or not is_at_least(common, 1):
            continue
        outer, remainder_ = expr.split_terms(common)
        if remainder_.is_within(common):
            return outer, common, remainder_
    return expr, 1, ZERO


def _take_apart_numbers(
    numbers: dict[Atom, int], constant_: int, divisor: int
) -> tuple[IndexExpr, Extent, IndexExpr]:
    terms = sorted(numbers.items(), key=lambda term: abs(term[1]))
    for count in reversed(range(len(terms))):
        common = reduce(gcd, (factor for _, factor in terms[count:]), divisor)
        remainder_ = IndexExpr(dict[Atom, Extent](terms[:count]), constant_ % common)
        if remainder_.is_within(common):
            break
    else:
        common, remainder_ = divisor, constant(constant_ % divisor)
    outer: dict[Atom, Extent] = {
        atom: factor // common for atom, factor in terms if atom not in remainder_.terms
    }
    return IndexExpr(outer, constant_ // common), common, remainder_


def _recombined(terms: dict[Atom, Extent], constant_: Extent) -> IndexExpr:
    """
    `(e floordiv d) * (f * d) + (e mod d) * f  -->  e * f`, also where the quotient is within a remainder:
    `((e floordiv d + r) mod m) * (f * d) + (e mod d) * f  -->  ((e + r * d) mod (m * d)) * f`
    """
    for atom, factor in terms.items():
        if isinstance(atom, Mod):
            whole_atom = FloorDiv(atom.operand, atom.divisor)
            if terms.get(whole_atom) == factor * atom.divisor:
                rest = {a: f for a, f in terms.items() if a != atom and a != whole_atom}
                return _recombined(rest, constant_) + atom.operand * factor
            whole = _quotient_of_terms(atom, factor, terms)
            if whole is not None:
                rest = {a: f for a, f in terms.items() if a != atom and a not in whole}
                return _recombined(rest, constant_) + atom.operand * factor
            outer = _remainder_of_quotient(atom, factor, terms)
            if outer is not None:
                rest = {a: f for a, f in terms.items() if a not in (atom, outer)}
                above = outer.operand + _atom(FloorDiv(atom.operand, atom.divisor)) * -1
                both = (atom.operand + above * atom.divisor).mod(outer.divisor * atom.divisor)
                return _recombined(rest, constant_) + both * factor
    return IndexExpr(terms, constant_)


def _quotient_of_terms(atom: Mod, factor: Extent, terms: Mapping[Atom, Extent]) -> dict[Atom, Extent] | None:
    """
    The terms that add up to `(atom.operand floordiv atom.divisor) * divisor * factor`, if they are there.
    """
    whole = atom.operand.floordiv(atom.divisor) * (atom.divisor * factor)
    if whole.constant == 0 and whole.terms and all(terms.get(a) == f for a, f in whole.terms.items()):
        return whole.terms
    return None


def _remainder_of_quotient(atom: Mod, factor: Extent, terms: Mapping[Atom, Extent]) -> Mod | None:
    """The remainder of what `atom.operand floordiv atom.divisor` is a term of, if it is next to `atom`."""
    quotient_ = FloorDiv(atom.operand, atom.divisor)
    for other, its in terms.items():
        if (
            isinstance(other, Mod)
            and its == factor * atom.divisor
            and other.operand.terms.get(quotient_) == 1
        ):
            return other
    return None


def _atom(atom: Atom) -> IndexExpr:
    return IndexExpr({atom: 1}, 0)


def constant(value: Extent) -> IndexExpr:
    """Returns the constant `value`."""
    return ZERO if value == 0 else IndexExpr({}, value)


def variable(axis: Axis) -> IndexExpr:
    """Returns the value of `axis`: 0 where it has only that one."""
    return ZERO if axis.extent == 1 else _atom(axis)


def element(tensor: SSAValue, indices: tuple[IndexExpr, ...], last: Extent) -> IndexExpr:
    """Returns an integer element of a tensor as an index, held between 0 and `last`."""
    if last <= 0 if isinstance(last, int) else is_at_least(0, last):
        return ZERO
    return _atom(Element(tensor, indices, last))


def opaque(value: SSAValue, along: tuple[Axis, ...]) -> IndexExpr:
    """Returns an index value of a kernel as it is; it may differ along the axes `along`."""
    return _atom(Opaque(value, along))


ZERO = IndexExpr({}, 0)


def linearize(indices: Sequence[IndexExpr], strides: Iterable[Extent]) -> IndexExpr:
    """Returns the sum of the indices times their strides."""
    result = ZERO
    for index, stride in zip(indices, strides, strict=True):
        result = result + index * stride
    return result


def delinearize(index: IndexExpr, shape: Sequence[Extent]) -> tuple[IndexExpr, ...]:
    """Returns the subscripts into a contiguous array of `shape` of its element number `index`."""
    subscripts: list[IndexExpr] = []
    for extent, stride in zip(shape, row_major(shape), strict=True):
        is_one = isinstance(extent, int) and extent <= 1
        subscripts.append(ZERO if is_one else index.floordiv(stride).mod(extent))
    return tuple(subscripts)


def check_not_negative(who: str, operand: IndexExpr) -> None:
    """Raises PassFailedException, naming `who`, where an index that is to be divided may be below 0."""
    if not is_at_least(operand.low, 0):
        raise PassFailedException(
            f"{who}: cannot divide the index {operand!r}, which may be as low as {operand.low}"
        )
