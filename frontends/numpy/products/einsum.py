"""Sums of products in Einstein's notation."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ...tracing.trace import TracedArray
from ..arguments.axes import is_known
from .contraction import Names, factors, permuted, product, summed, without_repeats

_ELLIPSIS = "..."

_OPEN_EXTENT = 1024
"""What an extent counts for that is known at each call only."""

_Named = tuple[TracedArray, tuple[Hashable, ...]]
"""An array with a name for each axis."""


@dataclass(frozen=True)
class _Subscripts:
    """
    The names of the axes of each operand and of the result. Those of an ellipsis are integers, from the end
    on.
    """

    operands: tuple[tuple[str | int, ...], ...]
    result: tuple[str | int, ...]


def _fail(subscripts: str, why: str) -> ValueError:
    return ValueError(f"einsum: {why} (subscripts {subscripts!r})")


def _names(term: str, dims_of_ellipsis: int, subscripts: str) -> tuple[str | int, ...]:
    if term.count(_ELLIPSIS) > 1:
        raise _fail(subscripts, "more than one ellipsis in a term")
    before, dots, after = term.partition(_ELLIPSIS)
    for letter in before + after:
        if not letter.isascii() or not letter.isalpha():
            raise _fail(subscripts, f"invalid subscript {letter!r}, subscripts must be letters")
    middle = tuple(range(-dims_of_ellipsis, 0)) if dots else ()
    return (*before, *middle, *after)


def _parsed(subscripts: str, ranks: list[int]) -> _Subscripts:
    text = subscripts.replace(" ", "")
    if text.count("->") > 1 or (("-" in text or ">" in text) and "->" not in text):
        raise _fail(subscripts, "subscripts can only contain one '->'")
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise _fail(subscripts, f"{len(terms)} terms for {len(ranks)} operands")
    named: list[tuple[str | int, ...]] = []
    for position, (term, rank) in enumerate(zip(terms, ranks, strict=True)):
        letters = len(term.replace(_ELLIPSIS, ""))
        if letters > rank or (letters < rank and _ELLIPSIS not in term):
            raise _fail(
                subscripts, f"operand {position} has {rank} dimensions, its term {term!r} has {letters}"
            )
        named.append(_names(term, rank - letters, subscripts))
    widest = max((-name for names in named for name in names if isinstance(name, int)), default=0)
    if arrow:
        result = _names(output, widest, subscripts)
        for name in result:
            if result.count(name) > 1:
                raise _fail(subscripts, f"output subscript {name!r} appears more than once")
            if isinstance(name, str) and not any(name in names for names in named):
                raise _fail(subscripts, f"output subscript {name!r} is not in any input")
        if widest and _ELLIPSIS not in output:
            raise _fail(subscripts, "output has no ellipsis, but an operand has dimensions for one")
    else:
        letters = [name for names in named for name in names if isinstance(name, str)]
        single = sorted({letter for letter in letters if letters.count(letter) == 1})
        result = (*range(-widest, 0), *single)
    return _Subscripts(tuple(named), tuple(result))


def _check_extents(subscripts: str, parsed: _Subscripts, arrays: list[TracedArray]) -> None:
    extents: dict[str | int, int] = {}
    for position, (names, x) in enumerate(zip(parsed.operands, arrays, strict=True)):
        for axis, (name, extent) in enumerate(zip(names, x.shape, strict=True)):
            if extent != x.shape[names.index(name)]:
                raise _fail(
                    subscripts,
                    f"subscript {name!r} is {x.shape[names.index(name)]} and {extent} in operand {position} "
                    f"of shape {x.shape}",
                )
            known = extents.get(name, 1)
            if extent != known and 1 not in (extent, known):
                raise _fail(
                    subscripts,
                    f"axis {axis} of operand {position}, of shape {x.shape}, is {extent}, but subscript "
                    f"{name!r} was {known}",
                )
            extents[name] = extent if known == 1 else known


@array_function(static=("subscripts", "preferred_element_type"))
def einsum(subscripts: object, /, *operands: Array, preferred_element_type: object = None) -> Array:
    """
    The sum of products that `subscripts` describe: a term of letters for each operand, one for each axis,
    with `...` for axes that broadcast. A letter twice in a term takes the diagonal; one that is not in the
    output is summed over. Without `->` the output has the ellipsis and the letters that are there once, in
    alphabetical order.

    dtypes are promoted; integers wrap. More than two operands are contracted pair by pair, the pair first
    that leaves the least to do. `preferred_element_type` is that of `matmul`, of all products and sums.

    Raises:
        TypeError: the preferred dtype does not hold that of an operand.
        ValueError: the subscripts are malformed, or do not fit the shapes.
    """
    if not isinstance(subscripts, str):
        raise TypeError(
            f"einsum: subscripts are {subscripts!r}, of type {type(subscripts).__name__}, expected a string"
        )
    if not operands:
        raise ValueError(f"einsum: must provide at least an operand (subscripts {subscripts!r})")
    arrays, dtype = factors("einsum", preferred_element_type, *operands)
    parsed = _parsed(subscripts, [len(x.shape) for x in arrays])
    _check_extents(subscripts, parsed, arrays)
    pending = [without_repeats(x, names) for x, names in zip(arrays, parsed.operands, strict=True)]
    while len(pending) > 1:
        first, second = _cheapest_pair(pending)
        rhs, lhs = pending.pop(second), pending.pop(first)
        pending.append(_contracted(lhs, rhs, pending, parsed.result, dtype))
    x, names = pending[0]
    x = ops.cast(x, dtype, x.weak)
    x, names = summed(x, names, parsed.result)
    return permuted(x, names, parsed.result)


def _cheapest_pair(operands: Sequence[_Named]) -> tuple[int, int]:
    """
    Returns the positions of the two operands whose product has the smallest iteration space, the first of
    several.
    """

    def cost(pair: tuple[int, int]) -> int:
        extents: dict[Hashable, int] = {}
        for position in pair:
            x, names = operands[position]
            for name, extent in zip(names, x.shape, strict=True):
                extents[name] = max(extents.get(name, 1), extent if is_known(extent) else _OPEN_EXTENT)
        return math.prod(extents.values())

    return min(combinations(range(len(operands)), 2), key=cost)


def _contracted(
    lhs: _Named, rhs: _Named, others: Sequence[_Named], result: Names, dtype: np.dtype[Any]
) -> _Named:
    """Returns the product of two operands in `dtype`, with the axes that others or the result have."""
    if not others:
        return product(*lhs, *rhs, result, dtype), tuple(result)
    needed = {*result, *(name for _, names in others for name in names)}
    kept = tuple(name for name in dict.fromkeys((*lhs[1], *rhs[1])) if name in needed)
    return product(*lhs, *rhs, kept, dtype), kept
