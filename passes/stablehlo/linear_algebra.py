"""
Linear algebra: `stablehlo`'s ops for triangles, and LAPACK's functions, which jax calls for
`jax.numpy.linalg` on processors. All are loops over whole matrices (`algorithms/`).

What LAPACK's functions leave unsaid is as LAPACK has it: signs of reflections, rows exchanged from 1 on,
what `info` says. Errors are those of the algorithm, a small multiple of the element type's epsilon times the
size of the matrix; the bits are not LAPACK's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DictionaryAttr, IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.eigenvalues import eigenvalues, eigenvectors
from ...algorithms.emitter import yield_of
from ...algorithms.factorizations import first_failure, lu, product_of_reflections, qr
from ...algorithms.matrices import Matrices, matrices_of, stacked_types
from ...algorithms.singular_values import singular_values, singular_vectors
from ...algorithms.triangles import factored, solved
from ...algorithms.tridiagonal import tridiagonal_solved
from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import product
from ...dialects.graph import tensor_of
from ...dialects.graph.control import COUNTER
from ...dialects.xdsl_fixes import dense_values
from .conversion import Conversion, Rule

_NAME = re.compile(r"lapack_[sd]([a-z]+)_ffi", re.ASCII)

OPEN_SHAPES = "indices_of_shape_operands"
"""The attribute of calls whose last operands are the shapes of their results."""

_OPTIONS = "mhlo.backend_config"


class Call:
    """A call of a function, its operands and its options, which are letters of LAPACK's."""

    def __init__(self, c: Conversion, op: stablehlo.CustomCallOp, operands: Sequence[SSAValue]) -> None:
        self.c, self.op, self.operands = c, op, operands

    def matrix(self) -> Matrices:
        """Returns the first operand."""
        if not self.operands:
            raise VerifyException(f"{self.op.name}: @{self.op.target} has no operand")
        return matrices_of(self.c, self.operands[0])

    def square(self) -> Matrices:
        """Returns the first operand, which must be of square matrices."""
        found = self.matrix()
        if found.n_rows != found.n_columns:
            raise VerifyException(f"{self.op.name}: @{self.op.target} of {self.c.type(found.value)}")
        return found

    def letter(self, name: str, allowed: str) -> str:
        """Returns an option, which must be one of some letters."""
        options = self.op.attributes.get(_OPTIONS)
        value = options.data.get(name) if isinstance(options, DictionaryAttr) else None
        number = cast("IntegerAttr[Any]", value).value.data if isinstance(value, IntegerAttr) else 0
        if number not in allowed.encode():
            raise VerifyException(f"{self.op.name}: @{self.op.target} has {name} {value}, expected {allowed}")
        return chr(number)

    def shape_of_result(self, number: int) -> tuple[int, ...]:
        """Returns the shape of a result that is of matrices, as many as there are operands."""
        sizes = self.c.declared(self.op, number).get_shape()[-2:]
        return (*self.matrix().batch, *self.c.static(sizes, "the shape of the result"))

    def flat(self, found: Matrices) -> SSAValue:
        """Returns rows or columns, of which there is one, as vectors."""
        shape = found.shape
        return self.c.reshape(found.value, (*shape[:-2], shape[-2] * shape[-1]))

    def single(self, found: Matrices) -> SSAValue:
        """Returns matrices of one element as that."""
        return self.c.reshape(found.value, found.batch)

    def info(self) -> SSAValue:
        """Returns that all went well, for each matrix."""
        return self.c.full(0, i32, self.matrix().batch)


def _potrf(call: Call) -> Sequence[SSAValue]:
    a, lower = call.square(), call.letter("uplo", "LU") == "L"
    found = factored(a, lower)
    kept = a.in_triangle(lower).where(found, a)
    return kept.value, call.single(first_failure(found.diagonal))


def _trsm(call: Call) -> Sequence[SSAValue]:
    if len(call.operands) != 2:
        raise VerifyException(f"{call.op.name}: @{call.op.target} has {len(call.operands)} operands")
    made = solved(
        call.square(),
        Matrices(call.c, call.operands[1]),
        left=call.letter("side", "LR") == "L",
        lower=call.letter("uplo", "LU") == "L",
        unit=call.letter("diag", "NU") == "U",
        transposed=call.letter("trans_x", "NTC") != "N",
    )
    return (made.value,)


def _getrf(call: Call) -> Sequence[SSAValue]:
    factors, pivots, failed = lu(call.matrix())
    return factors.value, call.flat(pivots), call.single(failed)


def _geqrf(call: Call) -> Sequence[SSAValue]:
    reflected, factors = qr(call.matrix())
    return reflected.value, call.flat(factors)


def _orgqr(call: Call) -> Sequence[SSAValue]:
    a = call.matrix()
    factors = call.operands[1] if len(call.operands) == 2 else a.value
    shape = call.c.static_shape(factors)
    if shape[:-1] != a.batch or call.c.element(factors) != call.c.element(a.value) or shape[-1] > a.n_columns:
        raise VerifyException(f"{call.op.name}: @{call.op.target} of {call.c.type(factors)}")
    column = a.of(call.c.reshape(factors, (*shape, 1)))
    return (product_of_reflections(a, column).value,)


def _syevd(call: Call) -> Sequence[SSAValue]:
    lower = call.letter("uplo", "LU") == "L"
    a = call.square()
    if call.letter("mode", "NV") == "N":
        # The matrix is what nobody reads.
        return a.value, call.flat(eigenvalues(a, lower)), call.info()
    vectors, values = eigenvectors(a, lower)
    return vectors.value, call.flat(values), call.info()


def _gesdd(call: Call) -> Sequence[SSAValue]:
    a = call.matrix()
    mode = call.letter("mode", "ASN")
    if mode != "N":
        u, values, v = singular_vectors(a, mode == "A")
        vectors = [u.value, v.value]
    else:
        values = singular_values(a)
        # They are of any shape, and nobody reads them.
        numbers = range(2, len(call.op.results) - 1)
        vectors = [call.c.full(0, call.c.element(a.value), call.shape_of_result(each)) for each in numbers]
    return a.value, call.flat(values), *vectors, call.info()


def _gtsv(call: Call) -> Sequence[SSAValue]:
    """The first element of the lower diagonal, and the last of the upper one, are there and mean nothing."""
    c, op = call.c, call.op
    if len(call.operands) != 4:
        raise VerifyException(f"{op.name}: @{op.target} has {len(call.operands)} operands")
    b = matrices_of(c, call.operands[3])
    diagonals: list[Matrices] = []
    for value in call.operands[:3]:
        if c.static_shape(value) != b.shape[:-1] or c.element(value) != c.element(b.value):
            raise VerifyException(f"{op.name}: @{op.target} of {c.type(value)} and {c.type(b.value)}")
        diagonals.append(b.of(c.reshape(value, (*b.shape[:-1], 1))))
    lower, diagonal, upper = diagonals
    found, n = tridiagonal_solved(lower, diagonal, upper, b), b.n_rows
    # What has no place in the triangle is left as it was.
    above = found.above.joined(-2, upper.part(-2, max(n - 1, 0), min(n, 1)))
    if n > 2:
        lower = lower.part(-2, 0, 1).joined(-2, found.second_above, lower.part(-2, n - 1, 1))
    flat = [call.flat(each) for each in (lower, found.diagonal, above)]
    return *flat, found.solution.value, call.single(found.failed)


_FUNCTIONS: dict[str, Callable[[Call], Sequence[SSAValue]]] = {
    "geqrf": _geqrf,
    "gesdd": _gesdd,
    "getrf": _getrf,
    "gtsv": _gtsv,
    "orgqr": _orgqr,
    "potrf": _potrf,
    "syevd": _syevd,
    "trsm": _trsm,
}


def lapack_call(c: Conversion, op: stablehlo.CustomCallOp) -> Sequence[SSAValue] | None:
    """Returns the results of a call of LAPACK, None where it is of something else."""
    found = _NAME.fullmatch(op.target)
    function = None if found is None else _FUNCTIONS.get(found[1])
    if function is None:
        return None
    return called(c, op, lambda operands: function(Call(c, op, operands)))


def called(
    c: Conversion, op: stablehlo.CustomCallOp, function: Callable[[list[SSAValue]], Sequence[SSAValue]]
) -> Sequence[SSAValue]:
    """
    Returns what a function of matrices gives of the operands of a call. Where it is known at run time only
    how many matrices there are, they are taken one after the other.
    """
    # Behind the operands are the shapes of results, where these are open.
    shapes = op.attributes.get(OPEN_SHAPES)
    n_shapes = 0
    if isinstance(shapes, DenseIntOrFPElementsAttr):
        n_shapes = len(dense_values(cast("DenseIntOrFPElementsAttr[Any]", shapes)))
    operands = c.operands(op)[: len(op.operands) - n_shapes]
    batch = max((c.shape(each)[:-2] for each in operands), key=len, default=())
    if all(isinstance(extent, int) for extent in batch):
        return function(operands)
    n, count = len(batch), product(batch)
    if any(c.shape(each)[:n] != batch for each in operands):
        raise VerifyException(f"{op.name}: @{op.target} of batches of {list(map(c.type, operands))}")
    stacks = [c.reshape(each, (count, *c.static(c.shape(each)[n:], "the shape"))) for each in operands]
    inner = Block(arg_types=[COUNTER, *(tensor_of(c.element(each), c.shape(each)[1:]) for each in stacks)])
    body = c.nested(lambda: list(function(list(inner.args[1:]))), yield_of, inner)
    made = c.put(graph.ScanOp(count, [], stacks, stacked_types(body, count), body))
    return [c.reshape(each, (*batch, *c.shape(each)[1:])) for each in made.results]


def _triangular_solve(c: Conversion, op: stablehlo.TriangularSolveOp) -> SSAValue:
    a, b = c.operands(op)
    left, lower = op.number("left_side", 1) != 0, op.number("lower", 1) != 0
    unit = op.number("unit_diagonal", 0) != 0
    assert op.transpose_a is not None, "verified"
    transposed = op.transpose_a.data.value in ("TRANSPOSE", "ADJOINT")
    sides = (Matrices(c, side) for side in (a, b))
    return solved(*sides, left=left, lower=lower, unit=unit, transposed=transposed).value


def _cholesky(c: Conversion, op: stablehlo.CholeskyOp) -> SSAValue:
    return factored(Matrices(c, c.operand(op, 0)), op.number("lower", 0) != 0).value


RULES: dict[type[Operation], Rule] = {
    stablehlo.CholeskyOp: _cholesky,
    stablehlo.TriangularSolveOp: _triangular_solve,
}
