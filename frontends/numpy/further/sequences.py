"""Products of sequences that slide along one another, and of vectors."""

from __future__ import annotations

from xdsl.ir.affine import AffineExpr, AffineMap

from ...arrays.array import Array
from ...calls.dispatch import array_function
from ...tracing import graph_ops as ops
from ..arguments.operands import BOOL, common, no_loop, reshaped
from ..creation import asarray
from ..linalg.vectors import cross as cross_of
from ..manipulation import flip, reshape
from ..products.linear_algebra import dot, matmul

__all__ = ["convolve", "correlate", "cross", "matvec", "vdot", "vecmat"]

MODES = ("full", "same", "valid")


def convolve(a: Array, v: Array, /, mode: str = "full") -> Array:
    """
    The sums of products of a sequence with another one that is turned round and slides along it: where they
    meet at all (`full`), as many as the longer one has (`same`), or where all of the shorter one meets
    (`valid`).

    Raises ValueError for an unknown mode, other ranks than 1, and no elements; TypeError for booleans.
    """
    longer, shorter = asarray(a), asarray(v)
    _check("convolve", longer, shorter, mode)
    if shorter.shape[0] > longer.shape[0]:
        longer, shorter = shorter, longer
    return _slid(longer, flip(shorter), mode)


def correlate(a: Array, v: Array, /, mode: str = "valid") -> Array:
    """The sums of products of a sequence with another one that slides along it. Else as `convolve`."""
    first, second = asarray(a), asarray(v)
    _check("correlate", first, second, mode)
    if second.shape[0] > first.shape[0]:
        return flip(_slid(second, first, mode))
    return _slid(first, second, mode)


def _check(who: str, a: Array, v: Array, mode: str) -> None:
    if mode not in MODES:
        raise ValueError(f"{who}: mode is {mode!r}, expected one of {', '.join(MODES)}")
    if a.ndim != 1 or v.ndim != 1 or 0 in (*a.shape, *v.shape):
        raise ValueError(
            f"{who}: sequences have shapes {a.shape} and {v.shape}, expected one axis of 1 or more"
        )
    if BOOL in (a.dtype, v.dtype):
        raise no_loop(who, a.dtype, v.dtype)


@array_function(static=("mode",))
def _slid(longer: Array, shorter: Array, mode: str) -> Array:
    count = shorter.shape[0]
    padding = {"full": (count - 1, count - 1), "same": (count // 2, (count - 1) // 2), "valid": (0, 0)}[mode]
    source, kernel = common("convolve", longer, shorter)
    low, high = padding
    zero = ops.full(0, source.dtype, ())
    images, weights = (reshaped(each, (1, 1, *each.shape)) for each in (source, kernel))
    padded = ops.pad(images, zero, (0, 0, low), (0, 0, high))
    # As a convolution of one image of one channel, which has kernels of its own.
    image, out, place, channel, inside = (AffineExpr.dimension(number) for number in range(5))
    maps = [(image, channel, place + inside), (out, channel, inside), (image, out, place)]
    shape = (1, 1, padded.shape[2] - count + 1)
    found = ops.contract(
        (padded, weights),
        [AffineMap(5, 0, each) for each in maps],
        source.dtype,
        shape,
        bounds=(*shape, 1, count),
    )
    return reshape(found, (-1,))


def cross(a: Array, b: Array, /, axis: int = -1) -> Array:
    """The vectors that stand on two vectors of three elements, along `axis`."""
    return cross_of(a, b, axis=axis)


@array_function
def vdot(x1: Array, x2: Array, /) -> Array:
    """
    The sum of the products of the elements of two arrays, in row-major order. Raises ValueError where there
    are not as many.
    """
    lhs, rhs = common("vdot", reshape(x1, (-1,)), reshape(x2, (-1,)))
    return dot(lhs, rhs)


@array_function
def matvec(x1: Array, x2: Array, /) -> Array:
    """The products of matrices, the last two axes, with vectors, the last axis; axes before broadcast."""
    matrices, vectors = common("matvec", x1, x2)
    _check_vectors("matvec", matrices, vectors, -1)
    return matmul(matrices, vectors[..., None])[..., 0]


@array_function
def vecmat(x1: Array, x2: Array, /) -> Array:
    """The products of vectors, the last axis, with matrices, the last two axes; axes before broadcast."""
    vectors, matrices = common("vecmat", x1, x2)
    _check_vectors("vecmat", matrices, vectors, -2)
    return matmul(vectors[..., None, :], matrices)[..., 0, :]


def _check_vectors(who: str, matrices: Array, vectors: Array, axis: int) -> None:
    """Raises ValueError where vectors are not as long as matrices along an axis."""
    if matrices.ndim < 2 or vectors.ndim < 1 or matrices.shape[axis] != vectors.shape[-1]:
        raise ValueError(f"{who}: matrices of shape {matrices.shape} and vectors of {vectors.shape}")
