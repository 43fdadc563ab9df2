"""Reductions of numpy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dialects.graph import Extremum, ReduceKind
from .numpy_types import F32, F64, Array, is_floating, is_narrow, widened

_UFUNCS: dict[ReduceKind, np.ufunc] = {
    ReduceKind.ADD: np.add,
    ReduceKind.MUL: np.multiply,
    ReduceKind.MAX: np.maximum,
    ReduceKind.MIN: np.minimum,
    ReduceKind.AND: np.bitwise_and,
    ReduceKind.OR: np.bitwise_or,
}


def reduce(kind: ReduceKind, source: Array, axes: Sequence[int], keep: bool) -> Array:
    """
    Returns the elements of `source` combined along `axes`, which go or (if `keep`) stay with an extent of 1.

    Narrow floats are combined in f32 and rounded once; integers wrap; of no elements the result is the
    identity. Sums of floats start from 0.0, also those of one element.
    """
    if is_narrow(source.dtype):
        return reduce(kind, source.astype(F32), axes, keep).astype(source.dtype)
    dtype, over = source.dtype, tuple(axes)
    initial = identity_of(kind, dtype)
    result = np.asarray(_UFUNCS[kind].reduce(source, axis=over, dtype=dtype, keepdims=keep, initial=initial))
    if kind in (ReduceKind.MAX, ReduceKind.MIN) and is_floating(dtype) and np.any(result == 0):
        return _with_signed_zeros(kind, source, over, keep, result)
    return result


def identity_of(kind: ReduceKind, dtype: np.dtype[Any]) -> Array:
    """Returns what combining no elements gives."""
    match kind:
        case ReduceKind.ADD | ReduceKind.OR:
            return np.zeros((), dtype)
        case ReduceKind.MUL:
            return np.ones((), dtype)
        case ReduceKind.AND:
            return np.invert(np.zeros((), dtype), dtype=dtype)
        case ReduceKind.MAX | ReduceKind.MIN:
            if is_floating(dtype):
                return np.array(-np.inf if kind is ReduceKind.MAX else np.inf, dtype)
            limits = np.iinfo(dtype)
            return np.array(limits.min if kind is ReduceKind.MAX else limits.max, dtype)


def _with_signed_zeros(
    kind: ReduceKind, source: Array, axes: tuple[int, ...], keep: bool, result: Array
) -> Array:
    """Gives zeros the sign that numpy leaves open: +0.0 is greater than -0.0."""
    wants_negative = kind is ReduceKind.MIN
    wanted = (source == 0) & (np.signbit(source) == wants_negative)
    has_wanted = np.any(wanted, axis=axes, keepdims=keep)
    zero = np.where(has_wanted == wants_negative, -0.0, 0.0).astype(result.dtype)
    return np.where(result == 0, zero, result)


def arg_reduce(kind: Extremum, source: Array, axis: int, keep: bool) -> Array:
    """Returns where along `axis` the greatest or least element is, the first of several, or the first NaN."""
    wide = widened(source)
    find = np.argmax if kind is Extremum.MAX else np.argmin
    return np.asarray(find(wide, axis=axis, keepdims=keep), np.int64)


def logsumexp(source: Array, axes: Sequence[int], keep: bool) -> Array:
    """Returns `log(sum(exp(source)))` along `axes`, computed in f64 and rounded once, without overflow."""
    wide, over = source.astype(F64), tuple(axes)
    greatest = np.max(wide, axis=over, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(greatest), greatest, 0.0)
    total = np.log(np.sum(np.exp(wide - shift), axis=over, keepdims=True)) + shift
    return (total if keep else np.squeeze(total, over)).astype(source.dtype)
