"""
What iterations for eigenvalues and for singular values have in common: plane rotations, scales and order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from ..dialects import graph
from .matrices import Matrices

EPSILON = 2.0**-52
"""How small an element beside the diagonal is to be, beside the others, to be left out."""

_EXPONENT = 0x7FF0_0000_0000_0000
_LEAST_SCALE = 2.0**-1022


@dataclass(frozen=True)
class Rotation:
    """The rotation of a plane by an angle, of which cosine and sine are matrices of one element."""

    cosine: Matrices
    sine: Matrices

    def of_pair(self, first: Matrices, second: Matrices) -> tuple[Matrices, Matrices]:
        """Returns what two numbers, or two rows, become."""
        return first * self.cosine + second * self.sine, second * self.cosine - first * self.sine

    def of_rows(self, a: Matrices, at: Matrices) -> Matrices:
        """Returns one matrix of which a row and the next are rotated."""
        first, second = self.of_pair(a.row_of_each(at), a.row_of_each(at + 1))
        return a.with_row_of_each(at, first).with_row_of_each(at + 1, second)


def rotation(f: Matrices, g: Matrices) -> tuple[Rotation, Matrices]:
    """
    Returns the rotation that takes (f, g) to (r, 0), and r; none where both vanish. Both are matrices of one
    element, and not far from 1 in size: what a square loses is below the last bit of others.
    """
    r = (f * f + g * g).root
    divisor = r.divisor
    return Rotation(r.equals(0).where(r.ones, f / divisor), g / divisor), r


def scaled(a: Matrices) -> tuple[Matrices, Matrices, Matrices]:
    """
    Returns f64 matrices divided by a power of two, so that no element is above 2, that power, and whether all
    elements are finite; where they are not, the matrix is 0. Both are matrices of one element.
    """
    c, size = a.c, a.largest
    bits = c.binary(graph.AndOp, c.bitcast(size.value, i64), _EXPONENT)
    scale = a.of(c.bitcast(bits, f64)).at_least(_LEAST_SCALE)
    is_finite = (scale - scale).equals(0)
    scale = is_finite.where(scale, 1.0)
    return is_finite.where(a / scale, 0.0), scale, is_finite


def after_one(a: Matrices) -> Matrices:
    """Returns matrices with a row and a column before the others, of 1 on the diagonal and 0 elsewhere."""
    first = a.identity(1, a.n_columns + 1)
    return first.joined(-2, a.filled(0, a.n_rows, 1).joined(-1, a))


def each_in_f64(a: Matrices, algorithm: Callable[[Matrices], Sequence[Matrices]]) -> list[Matrices]:
    """Returns what an algorithm of one f64 matrix makes of each; what it makes of f32 is of f32 again."""
    if a.c.element(a.value) != f64:
        return [found.cast(f32) for found in each_in_f64(a.cast(f64), algorithm)]
    return a.each(algorithm) if a.batch else list(algorithm(a))


def order_of(column: Matrices, descending: bool) -> SSAValue:
    """Returns the numbers of the elements of a column of one matrix in order, of shape (rows)."""
    places = column.c.add(graph.ArgsortOp(column.value, 0, descending))
    return column.c.reshape(places, (column.n_rows,))


def in_order(rows: Matrices, order: SSAValue) -> Matrices:
    """Returns the rows of one matrix in an order."""
    return rows.of(rows.c.add(graph.GatherOp(rows.value, [order], [0])))
