"""
Linear algebra of complex matrices, whose real and imaginary parts are matrices of their own.

A complex number is also the real matrix `[[re, -im], [im, re]]`, and a matrix of such blocks is multiplied
and solved with as the complex one is. Its triangles are triangles where their diagonals are real: Cholesky's
are, and what is solved is divided by its diagonal first.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import graph
from .factorizations import first_failed, first_failure, pivot_row
from .matrices import Matrices
from .triangles import factored, solved


@dataclass(frozen=True, eq=False)
class ComplexMatrices:
    """Complex numbers of shape (batch..., rows, columns), by their parts, both of f32 or f64."""

    re: Matrices
    im: Matrices

    @property
    def conjugate(self) -> ComplexMatrices:
        return ComplexMatrices(self.re, self.im * -1)

    @property
    def transposed(self) -> ComplexMatrices:
        return ComplexMatrices(self.re.transposed, self.im.transposed)

    @property
    def with_real_diagonal(self) -> ComplexMatrices:
        return ComplexMatrices(self.re, self.im.on_diagonal.where(0, self.im))

    @property
    def diagonal(self) -> ComplexMatrices:
        """The elements of the diagonal, as a column."""
        return ComplexMatrices(self.re.diagonal.transposed, self.im.diagonal.transposed)

    @property
    def inverse(self) -> ComplexMatrices:
        """1 divided by each element: NaN where that is 0. Scaled, so that no square overflows or vanishes."""
        size = self.re.magnitude.at_least(self.im.magnitude)
        re, im = self.re / size, self.im / size
        square = re * re + im * im
        return ComplexMatrices(re / square / size, im * -1 / square / size)

    def __mul__(self, other: ComplexMatrices) -> ComplexMatrices:
        return ComplexMatrices(
            self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re
        )

    def __matmul__(self, other: ComplexMatrices) -> ComplexMatrices:
        return ComplexMatrices(
            self.re @ other.re - self.im @ other.im, self.re @ other.im + self.im @ other.re
        )

    def __sub__(self, other: ComplexMatrices) -> ComplexMatrices:
        return ComplexMatrices(self.re - other.re, self.im - other.im)

    def column(self, at: SSAValue) -> ComplexMatrices:
        return ComplexMatrices(self.re.column(at), self.im.column(at))

    def with_rows_exchanged(self, at: SSAValue, other: Matrices) -> ComplexMatrices:
        return ComplexMatrices(self.re.with_rows_exchanged(at, other), self.im.with_rows_exchanged(at, other))

    def row(self, at: SSAValue) -> ComplexMatrices:
        return ComplexMatrices(self.re.row(at), self.im.row(at))

    def kept(self, condition: Matrices) -> ComplexMatrices:
        """Returns these, with 0 where something does not hold."""
        return ComplexMatrices(condition.where(self.re, 0), condition.where(self.im, 0))

    def where(self, condition: Matrices, other: ComplexMatrices) -> ComplexMatrices:
        """Returns these where something holds, else others."""
        return ComplexMatrices(condition.where(self.re, other.re), condition.where(self.im, other.im))

    @property
    def stacked(self) -> Matrices:
        """Real matrices of twice as many rows, a real and an imaginary part in turns."""
        c, shape = self.re.c, self.re.shape
        single = (*shape[:-1], 1, shape[-1])
        parts = [c.reshape(each.value, single) for each in (self.re, self.im)]
        rows = c.concat(parts, len(shape) - 1)
        return self.re.of(c.reshape(rows, (*shape[:-2], 2 * shape[-2], shape[-1])))

    @property
    def blocks(self) -> Matrices:
        """Real matrices of twice as many rows and columns, of a block for each number."""
        turned = ComplexMatrices(self.im * -1, self.re)
        c, shape = self.re.c, self.re.shape
        single = (*shape[:-2], 2 * shape[-2], shape[-1], 1)
        columns = [c.reshape(each.stacked.value, single) for each in (self, turned)]
        pairs = c.concat(columns, len(shape))
        return self.re.of(c.reshape(pairs, (*shape[:-2], 2 * shape[-2], 2 * shape[-1])))


def from_stacked(x: Matrices) -> ComplexMatrices:
    """Returns what `ComplexMatrices.stacked` was made of."""
    axis, half = len(x.shape) - 2, x.n_rows // 2
    re, im = (x.of(x.c.part(x.value, axis, begin, half, 2)) for begin in (0, 1))
    return ComplexMatrices(re, im)


def complex_factored(a: ComplexMatrices, lower: bool) -> tuple[ComplexMatrices, Matrices]:
    """
    Returns Cholesky's triangle of Hermitian matrices, of which one triangle is read, 0 elsewhere, and the
    number from 1 of the first row that shows that one is not positive definite, else 0, as i32. What is not
    is NaN from there on.
    """
    c = a.re.c
    blocks = a.with_real_diagonal.blocks
    made = factored(blocks, lower)
    failed = first_failure(made.diagonal)
    number = failed.of(c.binary(graph.DivOp, (failed + 1).value, 2))
    columns = made.of(c.part(made.value, len(made.shape) - 1, 0, made.n_columns // 2, 2))
    return from_stacked(columns).with_real_diagonal, number


def complex_solved(
    a: ComplexMatrices, b: ComplexMatrices, *, left: bool, lower: bool, unit: bool, transposed: bool
) -> ComplexMatrices:
    """Returns x of `a x = b`, or of `x a = b` where not `left`, by substitution, as `triangles.solved`."""
    if a.re.batch != b.re.batch or a.re.n_rows != a.re.n_columns:
        raise VerifyException(f"{a.re.c.who}: operands are {_type(a)} and {_type(b)}")
    if not left:
        # x a = b is the transposed a' x' = b'.
        b, transposed = b.transposed, not transposed
    if transposed:
        a, lower = a.transposed, not lower
    if a.re.n_rows != b.re.n_rows:
        raise VerifyException(f"{a.re.c.who}: operands are {_type(a)} and {_type(b)}")
    if not unit:
        inverse = a.diagonal.inverse
        a, b = inverse * a, inverse * b
    blocks, right = a.with_real_diagonal.blocks, b.stacked
    x = solved(blocks, right, left=True, lower=lower, unit=True, transposed=False)
    found = from_stacked(x)
    return found if left else found.transposed


def _type(a: ComplexMatrices) -> str:
    return f"complex numbers by their parts of {a.re.c.type(a.re.value)}"


def complex_lu(a: ComplexMatrices) -> tuple[ComplexMatrices, Matrices, Matrices]:
    """
    Returns what `factorizations.lu` does of complex matrices, column by column: the pivot is the number with
    the largest sum of the sizes of its parts (getrf).
    """
    count = min(a.re.n_rows, a.re.n_columns)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, pivots, failed = ComplexMatrices(values[0], values[1]), values[2], values[3]
        number, rows, columns = a.re.number(at), a.re.places(-2), a.re.places(-1)
        column = a.column(at)
        chosen = pivot_row(column.re.magnitude + column.im.magnitude, number)
        a = a.with_rows_exchanged(at, chosen)
        own, column = a.row(at), a.column(at)
        pivot = own.column(at)
        is_zero = pivot.re.equals(0) & pivot.im.equals(0)
        one = ComplexMatrices(pivot.re.ones, pivot.im * 0)
        factor = (column * one.where(is_zero, pivot).inverse).kept(rows > number)
        a = a - factor * own.kept(columns > number)
        a = factor.where((rows > number) & columns.equals(number), a)
        failed = first_failed(failed, is_zero, number)
        return [a.re, a.im, pivots.with_row(at, (chosen + 1).cast(i32)), failed]

    pivots, failed = a.re.filled(0, count, 1, i32), a.re.filled(0, 1, 1, i32)
    re, im, pivots, failed = a.re.repeated(count, (a.re, a.im, pivots, failed), step)
    return ComplexMatrices(re, im), pivots, failed


def complex_reflection(
    a: ComplexMatrices, at: SSAValue, below: int = 0
) -> tuple[ComplexMatrices, ComplexMatrices, Matrices]:
    """
    Returns the vector, 1 in the row of a number, or so many below it, and 0 above that, and the factor of the
    reflection whose adjoint takes the column of that number to a real multiple of the row's unit vector, and
    that multiple (larfg).
    """
    c = a.re.c
    row = c.binary(graph.AddOp, at, c.scalar(below, i64)) if below else at
    # A row below the last one is none: then all is done.
    rows, number = a.re.places(-2), a.re.number(row)
    column = a.column(at)
    alpha = column.row(row).kept(number.of(c.binary(graph.LtOp, number.value, a.re.n_rows)))
    # Scaled, so that no square overflows or vanishes.
    seen = column.kept(rows >= number)
    unit = seen.re.largest.at_least(seen.im.largest).divisor
    first = ComplexMatrices(alpha.re / unit, alpha.im / unit)
    rest = column.kept(rows > number)
    rest = ComplexMatrices(rest.re / unit, rest.im / unit)
    tail = (rest.re * rest.re + rest.im * rest.im).summed(-2)
    is_done = (tail + first.im * first.im).equals(0)
    beta = (first.re * first.re + first.im * first.im + tail).root.signed_as(first.re) * -1
    divisor = is_done.where(beta.ones, beta)
    factor = ComplexMatrices((beta - first.re) / divisor, first.im * -1 / divisor).kept(is_done.equals(0))
    # Where all is done, what is left is 0.
    difference = ComplexMatrices(is_done.where(beta.ones, first.re - beta), first.im)
    left = rest * difference.inverse
    vector = ComplexMatrices(rows.equals(number).where(left.re.ones, left.re), left.im)
    return vector, factor, is_done.where(alpha.re, beta * unit)


def complex_qr(a: ComplexMatrices) -> tuple[ComplexMatrices, ComplexMatrices]:
    """
    Returns the upper triangle of each matrix, with a real diagonal, with the vectors of the reflections below
    it, and the factors of these, as a column (geqrf).
    """
    count = min(a.re.n_rows, a.re.n_columns)

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        a, factors = ComplexMatrices(values[0], values[1]), values[2:]
        vector, factor, diagonal = complex_reflection(a, at)
        rows, columns, number = a.re.places(-2), a.re.places(-1), a.re.number(at)
        changed = a - vector * (factor.conjugate * (vector.conjugate.transposed @ a))
        done = ComplexMatrices(diagonal, diagonal * 0).where(
            rows.equals(number), vector.where(rows > number, a.column(at))
        )
        a = changed.where(columns > number, done.where(columns.equals(number), a))
        return [a.re, a.im, factors[0].with_row(at, factor.re), factors[1].with_row(at, factor.im)]

    nothing = a.re.filled(0, count, 1)
    re, im, *factors = a.re.repeated(count, (a.re, a.im, nothing, nothing), step)
    return ComplexMatrices(re, im), ComplexMatrices(*factors)


def product_of_complex_reflections(a: ComplexMatrices, factors: ComplexMatrices) -> ComplexMatrices:
    """Returns the first columns, as many as `a` has, of the product of `complex_qr`'s reflections (ungqr)."""

    def step(at: SSAValue, values: list[Matrices]) -> list[Matrices]:
        q = ComplexMatrices(*values)
        rows, number = a.re.places(-2), a.re.number(at)
        column = a.column(at).kept(rows > number)
        vector = ComplexMatrices(rows.equals(number).where(column.re.ones, column.re), column.im)
        q = q - vector * (factors.row(at) * (vector.conjugate.transposed @ q))
        return [q.re, q.im]

    identity = a.re.identity(a.re.n_rows, a.re.n_columns)
    found = a.re.repeated(factors.re.n_rows, (identity, identity * 0), step, reverse=True)
    return ComplexMatrices(*found)
