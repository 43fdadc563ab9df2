"""
Calls of array functions that numpy and `tenon.numpy` both have, for tests that compare what they give.

A call takes a namespace and arrays. What the arrays may be is in their kinds: a letter for each argument, of
`DTYPES_OF`, and how their shapes go together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

DTYPES_OF = {
    "b": ("bool",),
    "i": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "f": ("float16", "float32", "float64"),
}
"""The dtypes of a kind; a call that names several kinds takes the dtypes of all."""

ANY, NUMBERS, FLOATS, BITS, INTEGERS = "bif", "if", "f", "bi", "i"


@dataclass(frozen=True)
class Call:
    """
    A call to compare. `elements` says what values an argument may have: `any`, `unit` for [-1, 1],
    `positive`, `nonzero`, `small` for 0 to 7.
    """

    name: str
    apply: Callable[..., Any]
    kinds: str
    arguments: int = 1
    elements: tuple[str, ...] = ("any", "any", "any")
    rank: int = 0
    """The least rank of the first argument."""
    is_nonempty: bool = False


def _accumulated(xp: Any, of_numpy: str, name: str, x: Any) -> Any:
    """Calls what numpy has as a method of a function."""
    return getattr(np, of_numpy).accumulate(x, axis=0) if xp is np else getattr(xp, name)(x, axis=0)


def _named(name: str, kinds: str, arguments: int = 1, *elements: str) -> Call:
    return Call(
        name,
        lambda xp, *arrays: getattr(xp, name)(*arrays),
        kinds,
        arguments,
        elements or ("any", "any", "any"),
    )


ELEMENTWISE = (
    *[
        _named(name, ANY)
        for name in ("abs", "isnan", "isinf", "isfinite", "signbit", "logical_not", "square")
    ],
    *[_named(name, ANY) for name in ("ceil", "floor", "trunc", "round", "real", "conj")],
    *[_named(name, NUMBERS) for name in ("negative", "positive", "sign")],
    *[
        _named(name, ANY)
        for name in ("exp", "expm1", "atan", "asinh", "sin", "cos", "tanh", "sinh", "cosh", "exp2")
    ],
    *[_named(name, ANY, 1, "positive") for name in ("log", "log1p", "log2", "log10", "sqrt")],
    *[_named(name, FLOATS, 1, "unit") for name in ("acos", "asin", "atanh", "tan")],
    _named("acosh", FLOATS, 1, "positive"),
    _named("reciprocal", NUMBERS, 1, "nonzero"),
    *[_named(name, BITS) for name in ("bitwise_invert",)],
    *[
        _named(name, ANY, 2)
        for name in ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or")
    ],
    *[
        _named(name, ANY, 2)
        for name in ("logical_xor", "equal", "not_equal", "less", "less_equal", "greater")
    ],
    *[
        _named(name, ANY, 2)
        for name in ("greater_equal", "atan2", "hypot", "logaddexp", "copysign", "divide")
    ],
    _named("nextafter", FLOATS, 2),
    _named("subtract", NUMBERS, 2),
    *[_named(name, NUMBERS, 2, "any", "nonzero") for name in ("floor_divide", "remainder", "fmod")],
    _named("pow", INTEGERS, 2, "any", "small"),
    _named("pow", FLOATS, 2, "positive", "unit"),
    *[_named(name, BITS, 2) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *[_named(name, INTEGERS, 2, "any", "small") for name in ("bitwise_left_shift", "bitwise_right_shift")],
    Call("clip", lambda xp, x, low, high: xp.clip(x, low, high), NUMBERS, 3),
    Call("clip min", lambda xp, x, low: xp.clip(x, low, None), NUMBERS, 2),
    Call("where", lambda xp, x, y, z: xp.where(x, y, z), ANY, 3),
    Call("isclose", lambda xp, x, y: xp.isclose(x, y), ANY, 2),
    Call("isclose nan", lambda xp, x: xp.isclose(x, x + 1e-9, equal_nan=True), FLOATS),
    Call("allclose", lambda xp, x: xp.allclose(x, x, rtol=0.1, atol=1.0), NUMBERS),
    Call("array_equal", lambda xp, x, y: xp.array_equal(x, y), ANY, 2),
    Call("aliases", lambda xp, x: (xp.absolute(x), xp.concatenate([x, x]), xp.power(x, 2)), NUMBERS, rank=1),
    Call("nan_to_num given", lambda xp, x: xp.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-2.0), FLOATS),
    Call("nan_to_num", lambda xp, x: xp.nan_to_num(x), FLOATS),
    Call("scalars", lambda xp, x: (x + 1) * 2 - (3 - x), INTEGERS),
    Call("float scalars", lambda xp, x: 0.5 * x + 1, NUMBERS),
)

REDUCTIONS = (
    *[
        Call(f"{name} of {axis}", lambda xp, x, n=name, a=axis: getattr(xp, n)(x, axis=a), kinds, rank=2)
        for name, kinds in (("sum", ANY), ("prod", BITS), ("all", ANY), ("any", ANY), ("count_nonzero", ANY))
        for axis in (None, -1, (0, 1))
    ],
    Call("sum keepdims", lambda xp, x: xp.sum(x, axis=0, keepdims=True), ANY, rank=1),
    Call("sum of an array", lambda xp, x: xp.sum(x), ANY),
    Call("sum dtype", lambda xp, x: xp.sum(x, dtype=xp.float32), NUMBERS, 1, ("small",)),
    *[
        Call(
            f"{name} of {axis}",
            lambda xp, x, n=name, a=axis: getattr(xp, n)(x, axis=a),
            ANY,
            rank=1,
            is_nonempty=True,
        )
        for name in ("max", "min", "argmax", "argmin")
        for axis in (None, 0, -1)
    ],
    *[
        Call(
            f"{name} of {axis}",
            lambda xp, x, n=name, a=axis: getattr(xp, n)(x, axis=a),
            ANY,
            1,
            ("unit",),
            1,
            True,
        )
        for name in ("mean", "var", "std")
        for axis in (None, -1)
    ],
    Call("var correction", lambda xp, x: xp.var(x, correction=1), FLOATS, 1, ("unit",), 1, True),
    Call("cumulative_sum", lambda xp, x: xp.cumulative_sum(x, axis=-1), ANY, 1, ("unit",), 1),
    Call(
        "cumulative_sum initial",
        lambda xp, x: xp.cumulative_sum(x, axis=0, include_initial=True),
        NUMBERS,
        1,
        ("unit",),
        1,
    ),
    Call("cumulative_prod", lambda xp, x: xp.cumulative_prod(x, axis=0), BITS, rank=1),
    Call("cumulative_max", lambda xp, x: _accumulated(xp, "maximum", "cumulative_max", x), NUMBERS, rank=1),
    Call("cumulative_min", lambda xp, x: _accumulated(xp, "minimum", "cumulative_min", x), NUMBERS, rank=1),
    Call("cumsum", lambda xp, x: xp.cumsum(x), NUMBERS, 1, ("unit",)),
    Call("diff", lambda xp, x: xp.diff(x, axis=-1), ANY, 1, ("unit",), 1),
    Call("diff twice", lambda xp, x: xp.diff(x, axis=0, n=2), NUMBERS, 1, ("unit",), 1),
    Call("diff prepend", lambda xp, x: xp.diff(x, prepend=x[..., :1], append=x), NUMBERS, 1, ("unit",), 1),
)

MOVEMENT = (
    Call("permute_dims", lambda xp, x: xp.permute_dims(x, tuple(range(x.ndim))[::-1]), ANY),
    Call("moveaxis", lambda xp, x: xp.moveaxis(x, 0, -1), ANY, rank=1),
    Call("matrix_transpose", lambda xp, x: xp.matrix_transpose(x), ANY, rank=2),
    Call("swapaxes", lambda xp, x: xp.swapaxes(x, 0, 1), ANY, rank=2),
    Call("flip", lambda xp, x: xp.flip(x), ANY),
    Call("flip axis", lambda xp, x: xp.flip(x, axis=-1), ANY, rank=1),
    Call("fliplr", lambda xp, x: xp.fliplr(x), ANY, rank=2),
    Call("flipud", lambda xp, x: xp.flipud(x), ANY, rank=1),
    *[Call(f"rot90 {k}", lambda xp, x, k=k: xp.rot90(x, k), ANY, rank=2) for k in (-1, 1, 2)],
    Call("expand_dims", lambda xp, x: xp.expand_dims(x, axis=0), ANY),
    Call("expand_dims two", lambda xp, x: xp.expand_dims(x, axis=(0, -1)), ANY),
    Call("squeeze", lambda xp, x: xp.squeeze(x[None], axis=0), ANY),
    Call("squeeze all", lambda xp, x: xp.squeeze(x), ANY),
    Call("ravel", lambda xp, x: xp.ravel(x), ANY),
    Call("reshape", lambda xp, x: xp.reshape(x, (1, x.size, 1)), ANY),
    Call("reshape unknown", lambda xp, x: xp.reshape(x, (-1, 1)), ANY, is_nonempty=True),
    Call("concat", lambda xp, x: xp.concat([x, xp.astype(x, xp.float64)], axis=-1), ANY, rank=1),
    Call("concat flat", lambda xp, x, y: xp.concat([x, y], axis=None), ANY, 2),
    Call("stack", lambda xp, x, y: xp.stack([x, xp.zeros_like(x)], axis=-1), ANY, 2),
    Call("unstack", lambda xp, x: xp.unstack(x, axis=-1), ANY, rank=1),
    Call("roll", lambda xp, x: xp.roll(x, 2), ANY),
    Call("roll axes", lambda xp, x: xp.roll(x, (1, -2), axis=(0, 1)), ANY, rank=2),
    Call("repeat", lambda xp, x: xp.repeat(x, 2), ANY),
    Call("repeat axis", lambda xp, x: xp.repeat(x, list(range(x.shape[0])), axis=0), ANY, rank=1),
    Call("tile", lambda xp, x: xp.tile(x, (2, 1, 2)), ANY),
    Call("broadcast_to", lambda xp, x: xp.broadcast_to(x, (2, *x.shape)), ANY),
    Call("broadcast_arrays", lambda xp, x, y: xp.broadcast_arrays(x, y), ANY, 2),
    Call("tril", lambda xp, x: xp.tril(x, k=1), ANY, rank=2),
    Call("triu", lambda xp, x: xp.triu(x, k=-1), ANY, rank=2),
    Call("diag", lambda xp, x: (xp.diag(xp.ravel(x), k=-1), xp.diag(xp.ravel(x), k=2)), ANY),
    Call(
        "diag of a matrix",
        lambda xp, x: xp.diag(xp.reshape(x, (x.shape[0], -1)), k=1),
        ANY,
        1,
        ("any",),
        1,
        True,
    ),
    Call("diagonal", lambda xp, x: xp.diagonal(x, offset=1), ANY, rank=2),
    Call("trace", lambda xp, x: xp.trace(x, offset=-1), NUMBERS, 1, ("unit",), 2),
    Call("array_split", lambda xp, x: xp.array_split(x, 2), ANY, rank=1),
    Call("split at", lambda xp, x: xp.split(x, [1, 2], axis=-1), ANY, rank=1),
    Call("vstack", lambda xp, x: xp.vstack([x, x]), ANY),
    Call("hstack", lambda xp, x: xp.hstack([x, x]), ANY),
    Call("dstack", lambda xp, x: xp.dstack([x, x]), ANY),
    Call("column_stack", lambda xp, x: xp.column_stack([x, x]), ANY),
    Call("atleast", lambda xp, x: (xp.atleast_1d(x), xp.atleast_2d(x)), ANY),
    *[
        Call(f"pad {mode}", lambda xp, x, m=mode: xp.pad(x, 2, m), ANY, is_nonempty=True)
        for mode in ("constant", "edge", "reflect", "symmetric", "wrap")
    ],
)

ORDERING = (
    Call("sort", lambda xp, x: xp.sort(x, axis=-1), ANY, rank=1),
    Call("sort axis", lambda xp, x: xp.sort(x, axis=0), NUMBERS, rank=1),
    Call("argsort", lambda xp, x: xp.argsort(x, axis=-1, stable=True), ANY, rank=1),
    Call("searchsorted", lambda xp, x, y: xp.searchsorted(xp.sort(xp.ravel(x)), y, side="right"), NUMBERS, 2),
    Call("take", lambda xp, x: xp.take(x, xp.asarray([0, -1]), axis=-1), ANY, rank=1, is_nonempty=True),
    Call(
        "take_along_axis",
        lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=-1, stable=True), axis=-1),
        ANY,
        rank=1,
    ),
    Call("index", lambda xp, x: (x[..., 0], x[::-1], x[None, 1:]), ANY, rank=1, is_nonempty=True),
    Call("index arrays", lambda xp, x: x[xp.asarray([[0], [-1]]), ...], ANY, rank=1, is_nonempty=True),
    Call("mask", lambda xp, x: x[x == x], NUMBERS, rank=1),
)

PRODUCTS = (
    Call("matmul", lambda xp, x: xp.matmul(x, xp.matrix_transpose(x)), ANY, 1, ("unit",), 2),
    Call("matmul vector", lambda xp, x: xp.matmul(x, x[0]), ANY, 1, ("unit",), 2, True),
    Call("vecdot", lambda xp, x: xp.vecdot(x, x), NUMBERS, 1, ("unit",), 1),
    Call("tensordot", lambda xp, x: xp.tensordot(x, x, axes=((0,), (0,))), NUMBERS, 1, ("unit",), 1),
    Call("outer", lambda xp, x, y: xp.outer(x, y), NUMBERS, 2, ("unit", "unit")),
    Call("inner", lambda xp, x: xp.inner(x, x), NUMBERS, 1, ("unit",)),
    Call("dot", lambda xp, x: xp.dot(x, x[0]), NUMBERS, 1, ("unit",), 2, True),
    Call("kron", lambda xp, x: xp.kron(x, x), NUMBERS, 1, ("unit",), 1),
    Call("einsum", lambda xp, x: xp.einsum("...j->...", x), NUMBERS, 1, ("unit",), 1),
    Call("einsum of two", lambda xp, x: xp.einsum("...i,...j->...ij", x, x), NUMBERS, 1, ("unit",), 1),
    Call("vector_norm", lambda xp, x: xp.linalg.vector_norm(x, axis=-1), FLOATS, 1, ("unit",), 1),
    *[
        Call(f"vector_norm {ord}", lambda xp, x, o=ord: xp.linalg.vector_norm(x, ord=o), FLOATS, 1, ("unit",))
        for ord in (float("inf"), 0, 1, 3.5)
    ],
    *[
        Call(
            f"matrix_norm {ord}",
            lambda xp, x, o=ord: xp.linalg.matrix_norm(x, ord=o),
            FLOATS,
            1,
            ("unit",),
            2,
        )
        for ord in (1, float("inf"))
    ],
    Call("matrix_power", lambda xp, x: xp.linalg.matrix_power(x @ x.mT, 3), FLOATS, 1, ("unit",), 2),
    Call(
        "cross",
        lambda xp, x: xp.linalg.cross(x[..., :1] + xp.ones(3), x[..., :1] * xp.arange(3)),
        FLOATS,
        1,
        ("unit",),
        1,
        True,
    ),
    Call("matrix_norm", lambda xp, x: xp.linalg.matrix_norm(x), FLOATS, 1, ("unit",), 2),
)

CALLS = (*ELEMENTWISE, *REDUCTIONS, *MOVEMENT, *ORDERING, *PRODUCTS)
