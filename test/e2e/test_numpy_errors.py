"""
What numpy rejects is rejected with numpy's exception, and a message with the numbers that disagree. Calls
that numpy has no function for, or that it takes, are in a table of their own.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon.numpy as tnp
from numpy.exceptions import AxisError
from tenon.errors import TracingError
from tenon.frontends.jit.jit import jit

Call = Callable[[Any, Any], Any]
"""A call of functions of a namespace on its array [[0, 1, 2], [3, 4, 5]]."""

REJECTED: tuple[tuple[Call, type[Exception], str], ...] = (
    (lambda xp, x: xp.sum(x, axis=2), AxisError, "sum: axis 2 is out of bounds for array of dimension 2"),
    (lambda xp, x: xp.sum(x, axis=-3), AxisError, "sum: axis -3 is out of bounds for array of dimension 2"),
    (lambda xp, x: xp.sum(x, axis=(0, 0)), ValueError, "sum: an axis is given twice (axis (0, 0), rank 2)"),
    (lambda xp, x: xp.sum(x, axis=1.5), TypeError, "sum: axis is 1.5, of type float, expected an integer"),
    (
        lambda xp, x: xp.zeros((2, -1)),
        ValueError,
        "zeros: negative dimensions are not allowed (shape (2, -1))",
    ),
    (lambda xp, x: xp.zeros((1,) * 65), ValueError, "zeros: 65 dims, at most 64"),
    (lambda xp, x: xp.zeros((2**40, 2**40)), ValueError, f"zeros: the array is too big ({2**80} elements"),
    (
        lambda xp, x: x + xp.zeros(2),
        ValueError,
        "add: shapes (2, 3) (2,) cannot be broadcast together (axis -1",
    ),
    (lambda xp, x: xp.full(2, 300, dtype=xp.uint8), OverflowError, "300"),
    (lambda xp, x: xp.astype(x, xp.uint8) + 300, OverflowError, "Python integer 300 out of bounds for uint8"),
    (lambda xp, x: xp.asarray([1, "a"], dtype=xp.int8), ValueError, "a"),
    (lambda xp, x: xp.asarray([[1, 2], [3]]), ValueError, "inhomogeneous"),
    (
        lambda xp, x: xp.asarray([1, 2], copy=False),
        ValueError,
        "asarray: unable to avoid creating a copy of nested",
    ),
    (lambda xp, x: xp.asarray(1, copy=False), ValueError, "asarray: unable to avoid creating a copy of 1"),
    (
        lambda xp, x: xp.asarray(x, dtype=xp.int8, copy=False),
        ValueError,
        "asarray: unable to avoid a copy from",
    ),
    (lambda xp, x: xp.arange(0, 4, 0), ZeroDivisionError, "arange: step is 0 (start 0, stop 4)"),
    (
        lambda xp, x: xp.linspace(0, 1, -1),
        ValueError,
        "linspace: number of samples, -1, must be non-negative",
    ),
    (lambda xp, x: xp.diag(x[None]), ValueError, "diag: input must be 1- or 2-d (shape (1, 2, 3))"),
    (
        lambda xp, x: xp.meshgrid(x, indexing="kl"),
        ValueError,
        "meshgrid: valid values for indexing are 'xy' and",
    ),
    (lambda xp, x: xp.finfo(xp.int8), ValueError, "finfo: int8 is not of floats"),
    (lambda xp, x: xp.iinfo(xp.float32), ValueError, "iinfo: float32 is not of integers"),
    (lambda xp, x: xp.isdtype(xp.int8, "small"), ValueError, "isdtype: there is no kind 'small'"),
    (lambda xp, x: xp.astype(x, "quux"), TypeError, "astype: 'quux' is not a dtype"),
    (lambda xp, x: xp.zeros(2, device="gpu"), ValueError, "zeros: there is no device 'gpu', only 'cpu'"),
    (lambda xp, x: xp.einsum("...i...->i", x), ValueError, "einsum: more than one ellipsis in a term"),
    (
        lambda xp, x: xp.einsum("i1->i", x),
        ValueError,
        "einsum: invalid subscript '1', subscripts must be letters",
    ),
    (lambda xp, x: xp.einsum("ij->i->j", x), ValueError, "einsum: subscripts can only contain one '->'"),
    (lambda xp, x: xp.einsum("ij,jk", x), ValueError, "einsum: 2 terms for 1 operands"),
    (
        lambda xp, x: xp.einsum("ijk", x),
        ValueError,
        "einsum: operand 0 has 2 dimensions, its term 'ijk' has 3",
    ),
    (lambda xp, x: xp.einsum("i", x), ValueError, "einsum: operand 0 has 2 dimensions, its term 'i' has 1"),
    (lambda xp, x: xp.einsum("ij->ii", x), ValueError, "einsum: output subscript 'i' appears more than once"),
    (lambda xp, x: xp.einsum("ij->k", x), ValueError, "einsum: output subscript 'k' is not in any input"),
    (lambda xp, x: xp.einsum("...j->j", x), ValueError, "einsum: output has no ellipsis"),
    (
        lambda xp, x: xp.einsum("ii", x),
        ValueError,
        "einsum: subscript 'i' is 2 and 3 in operand 0 of shape (2, 3)",
    ),
    (
        lambda xp, x: xp.einsum("ij,ij", x, x.T),
        ValueError,
        "einsum: axis 0 of operand 1, of shape (3, 2), is 3",
    ),
    (lambda xp, x: xp.einsum("ij"), ValueError, "einsum: must provide at least an operand"),
    (
        lambda xp, x: xp.astype(x, xp.int32) ** -1,
        ValueError,
        "pow: integers to negative integer powers are not",
    ),
    (lambda xp, x: xp.negative(x > 1), TypeError, "negative: not supported for the input types (bool)"),
    (
        lambda xp, x: xp.subtract(x > 1, x > 1),
        TypeError,
        "subtract: not supported for the input types (bool, bool)",
    ),
    (
        lambda xp, x: xp.bitwise_and(x, x),
        TypeError,
        "bitwise_and: not supported for the input types (float64, ",
    ),
    (lambda xp, x: x[..., ...], IndexError, "getitem: an index can only have a single ellipsis ('...')"),
    (
        lambda xp, x: x[0, 0, 0],
        IndexError,
        "getitem: too many indices for array: array is 2-dimensional, but 3",
    ),
    (
        lambda xp, x: x[2],
        IndexError,
        "getitem: index 2 is out of bounds for axis 0 with size 2 (shape (2, 3))",
    ),
    (lambda xp, x: x[:, -4], IndexError, "getitem: index -4 is out of bounds for axis 1 with size 3"),
    (lambda xp, x: x[[0, 2]], IndexError, "getitem: index 2 is out of bounds for axis 0 with size 2"),
    (
        lambda xp, x: x[xp.asarray([True])],
        IndexError,
        "getitem: boolean index did not match indexed array along ",
    ),
    (lambda xp, x: x["a"], IndexError, "only integers, slices"),
    (
        lambda xp, x: x[xp.asarray([1.0])],
        IndexError,
        "arrays used as indices must be of integer (or boolean) type",
    ),
    (lambda xp, x: x[0:2:0], ValueError, "slice step cannot be zero"),
    (lambda xp, x: x[1.5:], TypeError, "slice indices must be integers"),
    (
        lambda xp, x: xp.take(x, xp.asarray([3]), axis=1),
        IndexError,
        "take: index 3 is out of bounds for axis 1",
    ),
    (
        lambda xp, x: xp.take(x, xp.asarray([0]), axis=2),
        AxisError,
        "take: axis 2 is out of bounds for array of",
    ),
    (
        lambda xp, x: xp.take_along_axis(x, xp.asarray([0]), axis=1),
        ValueError,
        "take_along_axis: indices and x must have as many dimensions (shapes (1,) and (2, 3))",
    ),
    (
        lambda xp, x: xp.take_along_axis(x, xp.asarray([[0.5]]), axis=1),
        IndexError,
        "take_along_axis: indices must be of integers (dtype float64, shape (1, 1))",
    ),
    (
        lambda xp, x: xp.linalg.cross(x[:, :1], x[:, :1]),
        ValueError,
        "cross: the vectors must have 3 elements",
    ),
    (lambda xp, x: xp.linalg.outer(x, x), ValueError, "outer: both arrays must have one dimension"),
    (lambda xp, x: xp.linalg.matrix_norm(x, ord=7), ValueError, "matrix_norm: there is no norm of ord 7"),
    (
        lambda xp, x: xp.matmul(x, xp.sum(x)),
        ValueError,
        "matmul: input operand 1 does not have enough dimensions",
    ),
    (
        lambda xp, x: x @ x,
        ValueError,
        "matmul: the last axis of (2, 3) and the second last axis of (2, 3) must",
    ),
    (
        lambda xp, x: xp.vecdot(x, x[:, :2]),
        ValueError,
        "vecdot: axis -1 must have one size in shapes (2, 3) and",
    ),
    (
        lambda xp, x: xp.tensordot(x, x, axes=1),
        ValueError,
        "tensordot: shape-mismatch for sum (axis 1 of (2, 3)",
    ),
    (lambda xp, x: xp.tensordot(x, x, axes=((0,), ())), ValueError, "tensordot: 1 axes of x1 and 0 of x2"),
    (
        lambda xp, x: xp.tensordot(x, x, axes=(1, 2, 3)),
        ValueError,
        "tensordot: axes must be an integer or a pair",
    ),
    (
        lambda xp, x: xp.dot(x, x),
        ValueError,
        "dot: shapes (2, 3) and (2, 3) not aligned (3 of axis 1 and 2 of",
    ),
    (
        lambda xp, x: xp.matrix_transpose(x[0]),
        ValueError,
        "matrix_transpose: the array must have 2 dimensions or",
    ),
    (
        lambda xp, x: xp.diagonal(x, 0, 1, 1),
        ValueError,
        "diagonal: axis1 and axis2 cannot be the same (1 and 1",
    ),
    (
        lambda xp, x: xp.broadcast_to(x, (2, 4)),
        ValueError,
        "broadcast_to: shapes (2, 3) (2, 4) cannot be broadcast",
    ),
    (
        lambda xp, x: xp.broadcast_to(x, (3,)),
        ValueError,
        "broadcast_to: cannot broadcast shape (2, 3) to (3,)",
    ),
    (lambda xp, x: xp.concat([]), ValueError, "concat: need at least one array"),
    (lambda xp, x: xp.concat([xp.sum(x)]), ValueError, "concat: zero-dimensional arrays cannot be joined"),
    (
        lambda xp, x: xp.concat([x, x[0]]),
        ValueError,
        "concat: all arrays must have the same number of dimensions",
    ),
    (
        lambda xp, x: xp.concat([x, x.T]),
        ValueError,
        "concat: extents must agree except along axis 0 (axis 1 is 3",
    ),
    (
        lambda xp, x: xp.flipud(xp.sum(x)),
        ValueError,
        "flipud: the array must have 1 dimensions or more (shape ())",
    ),
    (
        lambda xp, x: xp.moveaxis(x, (0, 1), 0),
        ValueError,
        "moveaxis: source and destination must have as many axes",
    ),
    (
        lambda xp, x: xp.permute_dims(x, (0,)),
        ValueError,
        "permute_dims: axes don't match array (axes (0,), shape",
    ),
    (
        lambda xp, x: xp.permute_dims(x, (0, 2)),
        AxisError,
        "permute_dims: axes 2 is out of bounds for array of",
    ),
    (lambda xp, x: xp.repeat(x, -1), ValueError, "repeat: repeats may not be negative (-1)"),
    (lambda xp, x: xp.repeat(x, [1, 2], axis=1), ValueError, "repeat: 2 repeats for 3 elements (axis 1"),
    (
        lambda xp, x: xp.repeat(x, xp.asarray([0.5])),
        TypeError,
        "repeat: repeats must be integers of at most one",
    ),
    (lambda xp, x: xp.reshape(x, (-1, -1)), ValueError, "reshape: can only specify one unknown dimension"),
    (
        lambda xp, x: xp.reshape(x, (-1, 4)),
        ValueError,
        "reshape: cannot reshape array of size 6 into shape (-1, 4)",
    ),
    (
        lambda xp, x: xp.reshape(x, (4,)),
        ValueError,
        "reshape: cannot reshape array of size 6 into shape (4,)",
    ),
    (
        lambda xp, x: xp.roll(x, (1, 2, 3), axis=(0, 1)),
        ValueError,
        "roll: 3 shifts for 2 axes (shift (1, 2, 3)",
    ),
    (
        lambda xp, x: xp.split(x, 2, axis=1),
        ValueError,
        "split: array split does not result in an equal division",
    ),
    (
        lambda xp, x: xp.array_split(x, 0),
        ValueError,
        "array_split: number of sections must be larger than 0 (0)",
    ),
    (
        lambda xp, x: xp.squeeze(x, axis=0),
        ValueError,
        "squeeze: cannot select an axis to squeeze out which has",
    ),
    (lambda xp, x: xp.stack([]), ValueError, "stack: need at least one array to stack"),
    (
        lambda xp, x: xp.stack([x, x[0]]),
        ValueError,
        "stack: all arrays must have the same shape (array 0 has (2, 3)",
    ),
    (
        lambda xp, x: xp.unstack(xp.sum(x)),
        ValueError,
        "unstack: the array must have 1 dimension or more (shape ())",
    ),
    (lambda xp, x: xp.expand_dims(x, axis=4), AxisError, "expand_dims: axis 4 is out of bounds for array of"),
    (lambda xp, x: xp.pad(x, -1), ValueError, "pad: index can't contain negative values (widths -1 and -1)"),
    (lambda xp, x: xp.pad(x, ((1, 1),) * 3), ValueError, "pad: 3 pairs of widths for 2 axes"),
    (lambda xp, x: xp.pad(x, ((1, 1, 1),) * 2), ValueError, "pad: 3 widths for an axis, expected one or two"),
    (lambda xp, x: xp.pad(x, 1, "up"), ValueError, "pad: mode 'up' is not one of 'constant', 'edge'"),
    (
        lambda xp, x: xp.pad(x[:, :0], 1, "edge"),
        ValueError,
        "pad: can't extend empty axis 1 using modes other than",
    ),
    (lambda xp, x: xp.argmax(x[:0]), ValueError, "argmax: attempt to get argmax of an empty sequence"),
    (lambda xp, x: xp.max(x[:0]), ValueError, "max: zero-size array to reduction operation max which has no"),
    (
        lambda xp, x: xp.searchsorted(x[0], x, side="up"),
        ValueError,
        "searchsorted: side must be one of 'left' or",
    ),
    (
        lambda xp, x: xp.cumulative_sum(x),
        ValueError,
        "cumulative_sum: axis must be given for an array that has not",
    ),
    (
        lambda xp, x: xp.cumulative_max(x) if xp is tnp else np.cumulative_sum(x),
        ValueError,
        "cumulative_max: axis must be given for an array that has not",
    ),
    (lambda xp, x: xp.diff(x, n=-1), ValueError, "diff: order must be non-negative but got -1"),
    (
        lambda xp, x: xp.diff(xp.sum(x)),
        ValueError,
        "diff: the array must have 1 dimension or more (shape ())",
    ),
    (lambda xp, x: xp.nonzero(xp.sum(x)), ValueError, "nonzero: calling nonzero on 0d arrays is not allowed"),
    (lambda xp, x: xp.sort(x, axis=2), AxisError, "sort: axis 2 is out of bounds for array of dimension 2"),
    (lambda xp, x: xp.tile(x, (-1,)), ValueError, "tile: negative dimensions are not allowed (shape (-1,))"),
    (
        lambda xp, x: xp.linalg.matrix_power(x, 2),
        ValueError,
        "matrix_power: last 2 dimensions of the array must be",
    ),
)
"""Calls that numpy rejects as well, with the exception, and what the message begins with or has in it."""


def rejected(call: Call, namespace: Any) -> Exception:
    x = namespace.asarray([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    with pytest.raises(Exception) as caught:
        call(namespace, x)
    return caught.value


@pytest.mark.parametrize(("call", "kind", "message"), REJECTED, ids=[entry[2][:40] for entry in REJECTED])
def test_what_numpy_rejects_is_rejected_with_its_exception(call, kind, message):
    with np.errstate(all="ignore"):
        theirs = rejected(call, np)
    ours = rejected(call, tnp)
    assert type(ours) is kind, repr(ours)
    assert message in str(ours)
    assert isinstance(theirs, kind) or isinstance(ours, type(theirs)), (theirs, ours)


ONLY_HERE: tuple[tuple[Call, type[Exception], str], ...] = (
    (lambda xp, x: xp.full(2, 1j), TypeError, "full: 1j is complex (there are no complex dtypes)"),
    (
        lambda xp, x: xp.zeros(2, dtype="complex64"),
        TypeError,
        "zeros: arrays cannot have dtype complex64 (there are",
    ),
    (
        lambda xp, x: xp.asarray(1j),
        TypeError,
        "asarray: arrays cannot have dtype complex128 (there are no complex",
    ),
    (
        lambda xp, x: xp.asarray(["a"]),
        TypeError,
        "asarray: arrays cannot have dtype <U1 (it is none of tenon.numpy's)",
    ),
    (lambda xp, x: xp.asarray(object()), TypeError, "asarray: cannot take object"),
    (
        lambda xp, x: xp.asarray(np.ones(2), dtype=xp.int8, copy=False),
        ValueError,
        "asarray: unable to avoid a copy",
    ),
    (lambda xp, x: xp.from_dlpack(3), TypeError, "from_dlpack: int has no __dlpack__"),
    (lambda xp, x: xp.arange(3, dtype=xp.bool), TypeError, "arange: no arithmetic on bool (dtype bool)"),
    (
        lambda xp, x: xp.arange("a"),
        TypeError,
        "arange: 'a' is not a number that is known when the function is",
    ),
    (
        lambda xp, x: xp.arange(0.0, float("inf")),
        ValueError,
        "arange: the length is not finite (start 0.0, stop inf",
    ),
    (
        lambda xp, x: xp.linspace(x, x, 3),
        ValueError,
        "linspace: start must have no dimensions (shape (2, 3))",
    ),
    (lambda xp, x: xp.tril(x[0]), ValueError, "tril: the array must have 2 dimensions or more (shape (3,))"),
    (lambda xp, x: xp.meshgrid(x), ValueError, "meshgrid: array 0 must have one dimension (shape (2, 3))"),
    (lambda xp, x: xp.einsum(3, x), TypeError, "einsum: subscripts are 3, of type int, expected a string"),
    (
        lambda xp, x: xp.imag(x),
        TypeError,
        "imag: not supported for the input types (float64) (hint: there are no",
    ),
    (lambda xp, x: x[[object()]], IndexError, "arrays used as indices must be of integer (or boolean) type"),
    (
        lambda xp, x: xp.linalg.matrix_norm(x[:0], ord=-float("inf")),
        ValueError,
        "matrix_norm: no rows to choose from",
    ),
    (
        lambda xp, x: xp.linalg.vector_norm(x[:0], ord=-float("inf")),
        ValueError,
        "vector_norm: no elements to choose",
    ),
    (lambda xp, x: xp.tensordot(x, x, axes=3), ValueError, "tensordot: 3 axes of shapes (2, 3) and (2, 3)"),
    (
        lambda xp, x: xp.reshape(x, (6,), copy=False),
        ValueError,
        "reshape: unable to avoid creating a copy while",
    ),
    (
        lambda xp, x: xp.pad(x, 1, constant_values=x),
        ValueError,
        "pad: constant_values must be a scalar (shape (2, 3))",
    ),
    (
        lambda xp, x: xp.searchsorted(x, x),
        ValueError,
        "searchsorted: x1 must be an array of one dimension (shape",
    ),
    (
        lambda xp, x: xp.searchsorted(x[0], x, sorter=x[0]),
        TypeError,
        "searchsorted: not supported for the input",
    ),
    (
        lambda xp, x: xp.searchsorted(x[0], x, sorter=xp.asarray([0])),
        ValueError,
        "searchsorted: sorter has shape (1,), x1 (3,)",
    ),
    (lambda xp, x: xp.top_k(x, 4), ValueError, "top_k: k is 4, for 3 elements (axis 1, shape (2, 3))"),
    (
        lambda xp, x: xp.cumulative_sum(x[0], dtype=xp.bool),
        TypeError,
        "cumulative_sum: not supported for the input types (bool) (hint: accumulate in an integer dtype)",
    ),
    (
        lambda xp, x: x.at[0].set(x),
        ValueError,
        "at: could not broadcast values of shape (2, 3) to what is indexed",
    ),
    (
        lambda xp, x: (x > 1).at[0].add(True),
        TypeError,
        "at: not supported for the input types (bool) (hint: only set",
    ),
    (
        lambda xp, x: xp.astype(x, xp.float32).at[0].set(x[0]),
        TypeError,
        "at: values of dtype float64 do not fit an array of dtype float32 (hint: values.astype, or x.astype)",
    ),
    (
        lambda xp, x: xp.astype(x, xp.float8_e5m2) + xp.arange(3),
        TypeError,
        "promotion: float8_e5m2 and int64 have no dtype in common",
    ),
)
"""Calls that numpy takes, or has no function for."""


@pytest.mark.parametrize(("call", "kind", "message"), ONLY_HERE, ids=[entry[2][:40] for entry in ONLY_HERE])
def test_what_only_tenon_rejects_says_why(call, kind, message):
    ours = rejected(call, tnp)
    assert type(ours) is kind, repr(ours)
    assert message in str(ours)


TRACED: tuple[tuple[Call, type[Exception], str], ...] = (
    (lambda xp, x: xp.nonzero(x), TracingError, "nonzero: the shape of the result depends on the values"),
    (
        lambda xp, x: xp.unique_values(x),
        TracingError,
        "unique_values: the shape of the result depends on the values",
    ),
    (lambda xp, x: x[x > 1], TracingError, "x.at[mask].set(value) to change the elements there"),
    (
        lambda xp, x: xp.arange(xp.sum(x)),
        TypeError,
        "is not a number that is known when the function is traced",
    ),
    (
        lambda xp, x: xp.repeat(x, xp.astype(x[0], xp.int32)),
        TracingError,
        "repeat: the shape of the result depends",
    ),
    (
        lambda xp, x: x[: xp.astype(x[0, 0], xp.int32)],
        TracingError,
        "its result: takes no slice whose ends are traced",
    ),
    (
        lambda xp, x: x[True],
        IndexError,
        "getitem: a boolean scalar is no index of a traced array (shape (2, 3))",
    ),
    (
        lambda xp, x: x.at[x > 1].set(xp.ones(3)),
        ValueError,
        "at: values of shape (3,) for a mask that is traced",
    ),
    (
        lambda xp, x: x[:0][xp.astype(x[0], xp.int32)],
        IndexError,
        "getitem: axis 0 has no elements to index (shape (0, 3))",
    ),
)
"""Calls that need values, in a trace."""


@pytest.mark.parametrize(("call", "kind", "message"), TRACED, ids=[entry[2][:40] for entry in TRACED])
def test_what_needs_values_is_an_error_in_a_trace(call, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        jit(lambda x: call(tnp, x))(tnp.asarray([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]))
