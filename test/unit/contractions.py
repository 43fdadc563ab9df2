"""Contractions of every kind, with what numpy says of them: products, convolutions, pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from tenon.dialects.element_types import ui8
from tenon.semantics.numpy_types import dtype_of
from xdsl.dialects.builtin import f16, f32, f64, i1, i8, i32, i64
from xdsl.ir import Attribute

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Contraction:
    """
    One contraction: its dims, the index of each operand and of the result, the shapes of the operands and of
    the result, and what else the op says.
    """

    name: str
    dims: str
    indices: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    bounds: tuple[int, ...] | None = None
    accumulate: str = "add"
    combine: str = "mul"
    type: Attribute = f32
    expected: Callable[..., Array] | None = None
    """The result by other means; without it, a loop over the iteration space computes it."""

    @property
    def text(self) -> str:
        maps = ", ".join(f"affine_map<({self.dims}) -> ({index})>" for index in self.indices)
        *operands, result = (tensor(shape, self.type) for shape in self.shapes)
        arguments = ", ".join(f"%a{number}: {each}" for number, each in enumerate(operands))
        names = ", ".join(f"%a{number}" for number in range(len(operands)))
        words = "" if self.bounds is None else f" bounds {list(self.bounds)}"
        words += "" if self.accumulate == "add" else f" accumulate {self.accumulate}"
        words += "" if self.combine == "mul" else f" combine {self.combine}"
        return (
            f"func.func @main({arguments}) -> {result} {{\n"
            f"  %r = graph.contract {names} maps [{maps}]{words} : {', '.join(operands)} -> {result}\n"
            f"  func.return %r : {result}\n}}"
        )

    def inputs(self) -> list[Array]:
        rng, dtype = np.random.default_rng(len(self.name)), dtype_of(self.type)
        low = 0 if dtype.kind in "bu" else -3
        return [rng.integers(low, 4, shape).astype(dtype) for shape in self.shapes[:-1]]


def tensor(shape: Sequence[int], type: Attribute) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{type}>"


def conv2d(x: Array, w: Array, stride: int, dilation: int) -> Array:
    """Convolves NHWC by HWIO, window by window."""
    kh, kw, _, out = w.shape
    rows = (x.shape[1] - dilation * (kh - 1) - 1) // stride + 1
    columns = (x.shape[2] - dilation * (kw - 1) - 1) // stride + 1
    result = np.zeros((x.shape[0], rows, columns, out), x.dtype)
    for i, j in product(range(rows), range(columns)):
        top, left = i * stride, j * stride
        window = x[:, top : top + dilation * kh : dilation, left : left + dilation * kw : dilation][
            :, :kh, :kw
        ]
        result[:, i, j] = np.tensordot(window, w, 3)
    return result


def conv1d(x: Array, w: Array) -> Array:
    """Convolves NCW by OIW with numpy's own correlation."""
    return np.array([[sum(np.correlate(c, f) for c, f in zip(n, o, strict=True)) for o in w] for n in x])


def conv3d(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape[:3], (0, 1, 2))
    return np.einsum("xyzciju,ijuco->xyzo", windows, w)


def max_pool(x: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))[:, ::2, ::2]
    return windows.max((-1, -2))


PRODUCT = ("m, k", "k, n", "m, n")

EXACT = (
    Contraction("matmul", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), expected=np.matmul),
    Contraction("matmul of f16", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), type=f16),
    Contraction("matmul of i8", "m, n, k", PRODUCT, ((5, 70), (70, 9), (5, 9)), type=i8),
    Contraction(
        "batched, transposed",
        "b, m, n, k",
        ("b, k, m", "n, b, k", "b, m, n"),
        ((3, 6, 4), (5, 3, 6), (3, 4, 5)),
        expected=lambda a, b: np.einsum("bkm,nbk->bmn", a, b),
    ),
    Contraction("transposed result", "m, n, k", ("m, k", "k, n", "n, m"), ((5, 7), (7, 9), (9, 5)), type=f64),
    Contraction("dot product", "k", ("k", "k", ""), ((37,), (37,), ()), expected=np.dot),
    Contraction("outer product", "m, n", ("m", "n", "m, n"), ((5,), (9,), (5, 9)), expected=np.outer),
    Contraction("trace", "k", ("k, k", ""), ((9, 9), ()), expected=np.trace),
    Contraction("of an inner square", "k, i", ("k, i, k", "i"), ((4, 3, 4), (3,)), type=i32),
    Contraction(
        "convolution NHWC",
        "n, i, j, o, k, l, c",
        ("n, i + k, j + l, c", "k, l, c, o", "n, i, j, o"),
        ((2, 8, 9, 5), (3, 3, 5, 19), (2, 6, 7, 19)),
        expected=lambda x, w: conv2d(x, w, 1, 1),
    ),
    Contraction(
        "convolution NHWC, strided, dilated",
        "n, i, j, o, k, l, c",
        ("n, i * 2 + k * 3, j * 2 + l * 3, c", "k, l, c, o", "n, i, j, o"),
        ((2, 13, 12, 5), (3, 2, 5, 8), (2, 4, 5, 8)),
        expected=lambda x, w: conv2d(x, w, 2, 3)[:, :4, :5],
    ),
    Contraction(
        "convolution NCW",
        "n, o, i, c, k",
        ("n, c, i + k", "o, c, k", "n, o, i"),
        ((2, 3, 40), (4, 3, 5), (2, 4, 36)),
        expected=conv1d,
    ),
    Contraction(
        "convolution NCW, strided",
        "n, o, i, c, k",
        ("n, c, i * 3 + k", "o, c, k", "n, o, i"),
        ((2, 3, 40), (4, 3, 5), (2, 4, 12)),
        expected=lambda x, w: conv1d(x, w)[..., ::3],
    ),
    Contraction(
        "convolution with the kernel turned round",
        "i, k",
        ("i + 4 - k", "k", "i"),
        ((40,), (5,), (36,)),
        expected=lambda x, w: np.convolve(x, w, "valid"),
    ),
    Contraction(
        "convolution 3d",
        "x, y, z, o, i, j, k, c",
        ("x + i, y + j, z + k, c", "i, j, k, c, o", "x, y, z, o"),
        ((5, 6, 7, 3), (2, 3, 2, 3, 4), (4, 4, 6, 4)),
        expected=conv3d,
    ),
    Contraction(
        "grouped convolution",
        "n, i, g, o, k, c",
        ("n, i + k, g, c", "k, g, c, o", "n, i, g, o"),
        ((2, 11, 3, 2), (3, 3, 2, 4), (2, 9, 3, 4)),
        expected=lambda x, w: np.stack(
            [
                np.einsum(
                    "nick,kco->nio", np.lib.stride_tricks.sliding_window_view(x[:, :, g], 3, 1), w[:, g]
                )
                for g in range(3)
            ],
            2,
        ),
    ),
    Contraction(
        "depthwise convolution",
        "i, j, c, k, l",
        ("i + k, j + l, c", "k, l, c", "i, j, c"),
        ((7, 8, 19), (3, 3, 19), (5, 6, 19)),
        expected=lambda x, w: np.einsum(
            "ijckl,klc->ijc", np.lib.stride_tricks.sliding_window_view(x, (3, 3), (0, 1)), w
        ),
    ),
    Contraction(
        "max pooling",
        "n, i, j, c, k, l",
        ("n, i * 2 + k, j * 2 + l, c", "n, i, j, c"),
        ((2, 9, 9, 19), (2, 4, 4, 19)),
        (2, 4, 4, 19, 3, 3),
        "max",
        expected=max_pool,
    ),
    Contraction(
        "max pooling of ui8",
        "i, k",
        ("i * 3 + k", "i"),
        ((33,), (11,)),
        (11, 3),
        "max",
        type=ui8,
        expected=lambda x: x.reshape(11, 3).max(1),
    ),
    Contraction(
        "sum pooling NCW",
        "n, i, k",
        ("n, i * 2 + k", "n, i"),
        ((3, 30), (3, 14)),
        (3, 14, 4),
        expected=lambda x: np.lib.stride_tricks.sliding_window_view(x, 4, 1)[:, ::2].sum(-1),
    ),
    Contraction("min-plus", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), None, "min", "add"),
    Contraction("max-plus of i32", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), None, "max", "add", i32),
    Contraction("min-max", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), None, "min", "max", f64),
    Contraction("sum of differences", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), None, "add", "sub"),
    Contraction("product of sums", "m, n, k", PRODUCT, ((3, 4), (4, 5), (3, 5)), None, "mul", "add", i64),
    Contraction("or-and of i1", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), None, "or", "and", i1),
    Contraction("and-xor of i32", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), None, "and", "xor", i32),
    Contraction("add-min of f16", "m, n, k", PRODUCT, ((5, 7), (7, 9), (5, 9)), None, "add", "min", f16),
    Contraction("max of nothing", "m, n, k", PRODUCT, ((5, 0), (0, 9), (5, 9)), None, "max", "add"),
    Contraction("sum of nothing", "m, n, k", PRODUCT, ((5, 0), (0, 9), (5, 9))),
    Contraction("nothing", "m, n, k", PRODUCT, ((0, 7), (7, 9), (0, 9))),
    Contraction("windows of nothing", "i, k", ("i + k", "i"), ((0,), (4,)), (4, 0), "min"),
    Contraction("one", "k", ("k", "k", ""), ((1,), (1,), ()), type=i64),
    Contraction("of rank 0", "", ("", "", ""), ((), (), ()), None, "max", "sub"),
    Contraction("an element", "i", ("3, i", "i"), ((5, 9), (9,))),
    Contraction("a diagonal band", "i, k", ("i, i * 2 + k", "i"), ((5, 11), (5,)), (5, 3), "max", "mul", i32),
)

IDS = [case.name for case in EXACT]


def assert_same(found: Array, wanted: Array) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def matmul(m: int, n: int, k: int, a: str = "m, k", b: str = "k, n", batch: int = 0) -> str:
    dims = {"m": m, "n": n, "k": k}
    lead, shape = ("b, ", f"{batch}x") if batch else ("", "")

    def tensor(names: str) -> str:
        return f"tensor<{shape}{'x'.join(str(dims[name]) for name in names.split(', '))}xf32>"

    maps = ", ".join(f"affine_map<({lead}m, n, k) -> ({lead}{names})>" for names in (a, b, "m, n"))
    types = f"{tensor(a)}, {tensor(b)} -> {tensor('m, n')}"
    return f"""func.func @main(%a: {tensor(a)}, %b: {tensor(b)}) -> {tensor("m, n")} {{
      %c = graph.contract %a, %b maps [{maps}] : {types}
      func.return %c : {tensor("m, n")}
    }}"""
