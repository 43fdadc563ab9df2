"""
Which last axes of a result are made several, so that each of them goes on in equal steps in what is loaded.

    reshape(permute_dims(x, (1, 0, 2)), (128, 768)), of x: 12x128x64

    for j < 128:                                          for j < 128:
      for k < 768:                                          for k < 12:
        y[j, k] = x[k floordiv 64, j, k mod 64]     -->       for l < 64:
                                                                y[j, 64 k + l] = x[k, j, l]

Heads that become one dim again, patches of an image, Kronecker products and elements that come many times in
a row are such. With a division for each element there are no vectors. Least times on a Zen 4 with it over
those before, f32: heads of 64 0.25, patches of 16x16 0.20, a Kronecker product 0.09, each element nine times
0.20; eight times, which LLVM does as a shift, 1.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from .....dialects.dims.expressions import Extent, exact_quotient
from ....indices.expressions import Atom, Axis, FloorDiv, IndexExpr, Mod


def piece_extents(axis: Axis, addresses: Iterable[IndexExpr]) -> tuple[int, ...]:
    """
    Returns after how many elements along an axis the addresses go on otherwise, the least number first: each
    divides the next one, and the last the extent; none where they are no such numbers.
    """
    turns = (_turns(atom, axis) for address in addresses for atom in address.terms)
    numbers = sorted({number for found in turns if found is not None for number in found[0]})
    whole: list[Extent] = [*numbers, axis.extent]
    if any(exact_quotient(after, before) is None for before, after in pairwise(whole)):
        return ()
    return tuple(number for number in numbers if number not in (1, axis.extent))


def _turns(atom: Atom, axis: Axis) -> tuple[list[int], int] | None:
    """
    Returns after how many elements along an axis a part of an address goes on otherwise, and for how many it
    stays the same; None where it is made of other things than quotients and remainders of the axis.
    """
    if atom == axis:
        return [], 1
    if not isinstance(atom, FloorDiv | Mod) or not isinstance(atom.divisor, int):
        return None
    if list(atom.operand.terms.values()) != [1] or atom.operand.constant != 0:
        return None
    (inner,) = atom.operand.terms
    found = _turns(inner, axis)
    if found is None:
        return None
    numbers, same = found
    turn = same * atom.divisor
    return [*numbers, turn], turn if isinstance(atom, FloorDiv) else same
