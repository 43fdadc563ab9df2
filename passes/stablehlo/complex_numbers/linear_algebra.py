"""
Linear algebra of complex matrices: `stablehlo`'s ops for triangles, and LAPACK's functions as jax calls them
on processors. Each operand and result has the parts of its numbers (`complex_parts.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....algorithms.complex_matrices import (
    ComplexMatrices,
    complex_factored,
    complex_lu,
    complex_qr,
    complex_solved,
    product_of_complex_reflections,
)
from ....algorithms.complex_spectra import (
    complex_eigenvalues,
    complex_eigenvectors,
    complex_singular_values,
    complex_singular_vectors,
)
from ....algorithms.matrices import Matrices, matrices_of
from ....dialects import stablehlo
from ..complex_parts import Parted
from ..conversion import ComplexRule, Conversion
from ..linear_algebra import Call, called

_NAME = re.compile(r"lapack_[cz]([a-z]+)_ffi", re.ASCII)


class _Call(Call):
    """A call of a function of complex matrices: each operand and result is that of two parts."""

    def complex_matrix(self, number: int) -> ComplexMatrices:
        """Returns an operand."""
        if len(self.operands) < 2 * number + 2:
            n = len(self.operands) // 2
            raise VerifyException(f"{self.op.name}: @{self.op.target} has {n} operands")
        re, im = (matrices_of(self.c, self.operands[2 * number + k]) for k in (0, 1))
        return ComplexMatrices(re, im)

    def square(self) -> Matrices:
        """Returns the real parts of the first operand, which must be of square matrices."""
        self.complex_matrix(0)
        return super().square()


def _potrf(call: _Call) -> Sequence[SSAValue]:
    call.square()
    a, lower = call.complex_matrix(0), call.letter("uplo", "LU") == "L"
    found, failed = complex_factored(a, lower)
    kept = found.where(a.re.in_triangle(lower), a)
    return kept.re.value, kept.im.value, call.single(failed)


def _trsm(call: _Call) -> Sequence[SSAValue]:
    call.square()
    a, b = call.complex_matrix(0), call.complex_matrix(1)
    transposition = call.letter("trans_x", "NTC")
    made = complex_solved(
        a.conjugate if transposition == "C" else a,
        b,
        left=call.letter("side", "LR") == "L",
        lower=call.letter("uplo", "LU") == "L",
        unit=call.letter("diag", "NU") == "U",
        transposed=transposition != "N",
    )
    return made.re.value, made.im.value


def _getrf(call: _Call) -> Sequence[SSAValue]:
    factors, pivots, failed = complex_lu(call.complex_matrix(0))
    return factors.re.value, factors.im.value, call.flat(pivots), call.single(failed)


def _geqrf(call: _Call) -> Sequence[SSAValue]:
    reflected, factors = complex_qr(call.complex_matrix(0))
    return reflected.re.value, reflected.im.value, call.flat(factors.re), call.flat(factors.im)


def _ungqr(call: _Call) -> Sequence[SSAValue]:
    a, c = call.complex_matrix(0), call.c
    factors = call.operands[2:] if len(call.operands) == 4 else [a.re.value] * 2
    shape = c.static_shape(factors[0])
    if (
        shape[:-1] != a.re.batch
        or c.element(factors[0]) != c.element(a.re.value)
        or shape[-1] > a.re.n_columns
    ):
        raise VerifyException(f"{call.op.name}: @{call.op.target} of {c.type(factors[0])}")
    columns = (a.re.of(c.reshape(each, (*shape, 1))) for each in factors)
    made = product_of_complex_reflections(a, ComplexMatrices(*columns))
    return made.re.value, made.im.value


def _heevd(call: _Call) -> Sequence[SSAValue]:
    lower = call.letter("uplo", "LU") == "L"
    call.square()
    a = call.complex_matrix(0)
    if call.letter("mode", "NV") == "N":
        # The matrix is what nobody reads.
        return a.re.value, a.im.value, call.flat(complex_eigenvalues(a, lower)), call.info()
    vectors, values = complex_eigenvectors(a, lower)
    return vectors.re.value, vectors.im.value, call.flat(values), call.info()


def _gesdd(call: _Call) -> Sequence[SSAValue]:
    a = call.complex_matrix(0)
    mode = call.letter("mode", "ASN")
    if mode != "N":
        u, values, v = complex_singular_vectors(a, mode == "A")
        vectors = [u.re.value, u.im.value, v.re.value, v.im.value]
    else:
        values = complex_singular_values(a)
        # They are of any shape, and nobody reads them.
        shapes = [call.shape_of_result(number) for number in range(3, len(call.op.results) - 1)]
        vectors = [call.c.full(0, call.c.element(a.re.value), shape) for shape in shapes]
    return a.re.value, a.im.value, call.flat(values), *vectors, call.info()


_FUNCTIONS: dict[str, Callable[[_Call], Sequence[SSAValue]]] = {
    "geqrf": _geqrf,
    "gesdd": _gesdd,
    "getrf": _getrf,
    "heevd": _heevd,
    "potrf": _potrf,
    "trsm": _trsm,
    "ungqr": _ungqr,
}


def _operands(c: Conversion, op: Operation) -> list[ComplexMatrices]:
    parts = [matrices_of(c, value) for value in c.operands(op)]
    return [ComplexMatrices(re, im) for re, im in zip(parts[::2], parts[1::2], strict=True)]


def _triangular_solve(c: Conversion, op: stablehlo.TriangularSolveOp, parted: Parted) -> Sequence[SSAValue]:
    if not all(parted.operands):
        raise c.unsupported("of a complex and a real operand")
    a, b = _operands(c, op)
    assert op.transpose_a is not None, "verified"
    transposition = op.transpose_a.data.value
    made = complex_solved(
        a.conjugate if transposition == "ADJOINT" else a,
        b,
        left=op.number("left_side", 1) != 0,
        lower=op.number("lower", 1) != 0,
        unit=op.number("unit_diagonal", 0) != 0,
        transposed=transposition in ("TRANSPOSE", "ADJOINT"),
    )
    return made.re.value, made.im.value


def _cholesky(c: Conversion, op: stablehlo.CholeskyOp, parted: Parted) -> Sequence[SSAValue]:
    (a,) = _operands(c, op)
    if a.re.n_rows != a.re.n_columns:
        raise VerifyException(f"{op.name}: {c.type(a.re.value)} is not of square matrices")
    made, _ = complex_factored(a, op.number("lower", 0) != 0)
    return made.re.value, made.im.value


def _custom_call(c: Conversion, op: stablehlo.CustomCallOp, parted: Parted) -> Sequence[SSAValue]:
    found = _NAME.fullmatch(op.target)
    function = None if found is None else _FUNCTIONS.get(found[1])
    if function is None:
        raise c.unsupported(f"@{op.target} of complex numbers")
    return called(c, op, lambda operands: function(_Call(c, op, operands)))


RULES: dict[type[Operation], ComplexRule] = {
    stablehlo.CholeskyOp: _cholesky,
    stablehlo.CustomCallOp: _custom_call,
    stablehlo.TriangularSolveOp: _triangular_solve,
}
