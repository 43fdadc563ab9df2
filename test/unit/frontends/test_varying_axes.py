"""Functions of arrays with an axis whose extent varies, against numpy: one program for all extents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn

ROWS = np.arange(64 * 3, dtype=np.float32).reshape(64, 3)

Function = Callable[[Any, Any], Any]
"""A function of a namespace, numpy's or Tenon's, and an array."""


def ordered(xp: Any, x: Any) -> Any:
    """Returns the stable order along axis 0."""
    return xp.argsort(x, axis=0, stable=True)


ANY: dict[str, Function] = {
    "x[:,1]": lambda xp, x: x[:, 1],
    "x[...,::2]": lambda xp, x: x[..., ::2],
    "x[:,::-1]": lambda xp, x: x[:, ::-1],
    "newaxis": lambda xp, x: x[:, None, 1:],
    "x[1:]": lambda xp, x: x[1:],
    "x[:-1]": lambda xp, x: x[:-1],
    "x[::2]": lambda xp, x: x[::2],
    "x[::-1]": lambda xp, x: x[::-1],
    "x[-2::-3]": lambda xp, x: x[-2::-3],
    "x[5:10]": lambda xp, x: x[5:10],
    "x[:5]": lambda xp, x: x[:5],
    "x[-5:]": lambda xp, x: x[-5:],
    "x[-5:-2]": lambda xp, x: x[-5:-2],
    "x[3:-2:2]": lambda xp, x: x[3:-2:2],
    "x[0]": lambda xp, x: x[0],
    "x[-1]": lambda xp, x: x[-1],
    "x[n//2]": lambda xp, x: x[x.shape[0] // 2],
    "x[:n//2]": lambda xp, x: x[: x.shape[0] // 2],
    "x[n//2:]": lambda xp, x: x[x.shape[0] // 2 :],
    "W[:n]": lambda xp, x: xp.asarray(ROWS)[: x.shape[0]] + x,
    "x[1:]-x[:-1]": lambda xp, x: x[1:] - x[:-1],
    "x[idx]": lambda xp, x: x[xp.asarray([0, -1, 0])],
    "x[:,idx]": lambda xp, x: x[:, xp.asarray([0, 2])],
    "x[argsort]": lambda xp, x: x[xp.argsort(-x[:, 0])],
    "x[argsort,1]": lambda xp, x: x[xp.argsort(-x[:, 0]), 1],
    "take": lambda xp, x: xp.take(x, xp.asarray([0, 0]), axis=0),
    "take other": lambda xp, x: xp.take(x, xp.asarray([2, 0]), axis=1),
    "take None": lambda xp, x: xp.take(x, xp.asarray([2, 0])),
    "take_along0": lambda xp, x: xp.take_along_axis(x, xp.argsort(-x, axis=0), axis=0),
    "take_along1": lambda xp, x: xp.take_along_axis(x, xp.argsort(-x, axis=1), axis=1),
    "concat1": lambda xp, x: xp.concat([x, x[:, :1]], axis=1),
    "concat0": lambda xp, x: xp.concat([x, xp.asarray(ROWS)[:2], x], axis=0),
    "stack1": lambda xp, x: xp.stack([x, x * 2], axis=1),
    "split1": lambda xp, x: xp.split(x, 3, axis=1),
    "split idx": lambda xp, x: xp.split(x, [1, 4], axis=0),
    "split 2n": lambda xp, x: xp.split(xp.concat([x, x]), 2, axis=0),
    "array_split": lambda xp, x: xp.array_split(x, 3, axis=0),
    "roll1": lambda xp, x: xp.roll(x, 1, axis=1),
    "roll0": lambda xp, x: xp.roll(x, 2, axis=0),
    "roll-": lambda xp, x: xp.roll(x, -3, axis=0),
    "roll None": lambda xp, x: xp.roll(x, 5),
    "diff": lambda xp, x: xp.diff(x, axis=0),
    "diff2": lambda xp, x: xp.diff(x, axis=0, n=2),
    "diff1": lambda xp, x: xp.diff(x, axis=1),
    "flip": lambda xp, x: xp.flip(x),
    "repeat0": lambda xp, x: xp.repeat(x, 3, axis=0),
    "repeat1": lambda xp, x: xp.repeat(x, xp.asarray([1, 0, 2]), axis=1),
    "repeat None": lambda xp, x: xp.repeat(x, 2),
    "tile": lambda xp, x: xp.tile(x, (2, 2)),
    "pad": lambda xp, x: xp.pad(x, ((1, 2), (0, 1))),
    "pad edge": lambda xp, x: xp.pad(x, ((2, 1), (0, 1)), mode="edge"),
    "pad edge1": lambda xp, x: xp.pad(x, ((0, 0), (1, 1)), mode="edge"),
    "pad reflect1": lambda xp, x: xp.pad(x, ((0, 0), (1, 1)), mode="reflect"),
    "sort": lambda xp, x: xp.sort(-x, axis=0),
    "sort1": lambda xp, x: xp.sort(-x, axis=1),
    "sort None": lambda xp, x: xp.sort(-x, axis=None),
    "argsort": lambda xp, x: ordered(xp, -x),
    "cumsum": lambda xp, x: xp.cumsum(x, axis=0),
    "cumsum1": lambda xp, x: xp.cumsum(x, axis=1),
    "cumsum None": lambda xp, x: xp.cumsum(x),
    "searchsorted": lambda xp, x: xp.searchsorted(x[:, 0], xp.asarray([1.0, 7.0], dtype=np.float32)),
    "searchsorted n": lambda xp, x: xp.searchsorted(xp.asarray([1.0, 7.0], dtype=np.float32), x[:, 0]),
    "argmax": lambda xp, x: xp.argmax(-x, axis=0),
    "argmax None": lambda xp, x: xp.argmax(x),
    "mean": lambda xp, x: xp.mean(x, axis=0),
    "var": lambda xp, x: xp.var(x, axis=0),
    "std": lambda xp, x: xp.std(x),
    "arange": lambda xp, x: xp.arange(x.shape[0]),
    "arange2": lambda xp, x: xp.arange(1, x.shape[0] + 1),
    "arange3": lambda xp, x: xp.arange(0, x.shape[0], 2),
    "arange f": lambda xp, x: xp.arange(0, x.shape[0], 2, dtype=np.float32),
    "arange -": lambda xp, x: xp.arange(x.shape[0] - 1, -1, -1),
    "linspace": lambda xp, x: xp.linspace(0.0, 1.0, x.shape[0]),
    "zeros": lambda xp, x: xp.zeros((x.shape[0], 4)),
    "full": lambda xp, x: xp.full((x.shape[0], 4), 7),
    "ones_like": lambda xp, x: xp.ones_like(x),
    "eye": lambda xp, x: xp.eye(x.shape[0]),
    "eye k": lambda xp, x: xp.eye(x.shape[0], k=1),
    "tril": lambda xp, x: xp.tril(x @ x.T),
    "diag": lambda xp, x: xp.diag(x[:, 0]),
    "diagonal": lambda xp, x: xp.diagonal(x @ x.T),
    "trace": lambda xp, x: xp.trace(x @ x.T),
    "diag rect": lambda xp, x: xp.diag(x),
    "meshgrid": lambda xp, x: list(xp.meshgrid(x[:, 0], x[0])),
    "matmul": lambda xp, x: x @ x.T,
    "matmulT": lambda xp, x: x.T @ x,
    "einsum": lambda xp, x: xp.einsum("ni,nj->nij", x, x),
    "einsum2": lambda xp, x: xp.einsum("ni,mi->nm", x, x),
    "einsum3": lambda xp, x: xp.einsum("ni->i", x),
    "outer": lambda xp, x: xp.outer(x[:, 0], x[:, 1]),
    "tensordot": lambda xp, x: xp.tensordot(x, x, axes=((0,), (0,))),
    "vecdot": lambda xp, x: xp.vecdot(x, x),
    "bcast": lambda xp, x: x + x[:1],
    "bcast_to": lambda xp, x: xp.broadcast_to(x[:, None], (x.shape[0], 2, 3)),
    "1/n": lambda xp, x: x * (1 / x.shape[0]),
    "n/2": lambda xp, x: x * (x.shape[0] / 2),
    "n**0.5": lambda xp, x: x * x.shape[0] ** 0.5,
    "n**2": lambda xp, x: x * x.shape[0] ** 2,
    "sqrt(n)": lambda xp, x: x * xp.sqrt(x.shape[0]),
    "cmp": lambda xp, x: x if x.shape[0] > 0 else -x,
    "cmp2": lambda xp, x: x if x.shape[0] <= 64 else -x,
    "cmp3": lambda xp, x: x if 2 * x.shape[0] > x.shape[0] else -x,
    "size": lambda xp, x: x / x.size,
    "swapaxes": lambda xp, x: xp.swapaxes(x, 0, 1)[1:],
    "reshape": lambda xp, x: xp.reshape(x, (x.shape[0] * 3,)),
    "reshape-1": lambda xp, x: xp.reshape(x, (-1, 1, 3)),
    "median-ish": lambda xp, x: xp.sort(x, axis=0)[x.shape[0] // 2],
    "all": lambda xp, x: xp.all(x > -1, axis=0),
    "max": lambda xp, x: xp.max(x, axis=0),
    "unstack": lambda xp, x: list(xp.unstack(x, axis=1)),
    "hstack": lambda xp, x: xp.hstack([x, x]),
    "vstack": lambda xp, x: xp.vstack([x, x[0]]),
    "rot90": lambda xp, x: xp.rot90(x),
    "moveaxis": lambda xp, x: xp.moveaxis(x, 0, 1),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x),
    "clip": lambda xp, x: xp.clip(x, 1, 5),
    "where": lambda xp, x: xp.where(x > 3, x, 0),
}
"""Of one row or more."""

FOUR: dict[str, Function] = {
    "x[3]": lambda xp, x: x[3],
    "x[-4,1]": lambda xp, x: x[-4, 1],
    "roll m": lambda xp, x: xp.roll(x, -3, axis=0),
    "pad reflect": lambda xp, x: xp.pad(x, ((2, 1), (0, 1)), mode="reflect"),
    "pad wrap": lambda xp, x: xp.pad(x, ((2, 1), (0, 1)), mode="wrap"),
    "pad symmetric": lambda xp, x: xp.pad(x, ((2, 1), (0, 1)), mode="symmetric"),
    "squeeze": lambda xp, x: xp.squeeze(x[:, :1]),
    "moving": lambda xp, x: (x[2:] + x[1:-1] + x[:-2]) / 3,
}
"""Of four rows or more."""


def check(function: Function, sizes: tuple[int, ...], backend: str, least: int = 1) -> None:
    n = tenon.Dim("n", least, 64)
    compiled = tenon.jit(lambda x: function(tnp, x), dynamic={"x": {0: n}}, backend=backend)
    for size in sizes:
        x = (np.arange(size * 3, dtype=np.float32).reshape(size, 3) * 7) % 11
        expected, found = function(np, x), compiled(x)
        if not isinstance(expected, list | tuple):
            expected, found = [expected], [found]
        for want, have in zip(expected, found, strict=True):
            assert np.shape(want) == have.shape, f"n = {size}"
            np.testing.assert_allclose(np.asarray(have), want, rtol=2e-5, atol=1e-5, err_msg=f"n = {size}")
    assert len(compiled.explain_misses()) == 1


@pytest.mark.parametrize("name", ANY)
def test_one_program_gives_what_numpy_gives(name: str):
    check(ANY[name], (1, 2, 5, 7, 32, 63, 64), "llvm")


@pytest.mark.parametrize("name", FOUR)
def test_one_program_of_more_rows_gives_what_numpy_gives(name: str):
    check(FOUR[name], (4, 5, 7, 32, 63, 64), "llvm", least=4)


@pytest.mark.parametrize("backend", ["opencl", "reference"])
@pytest.mark.parametrize("name", [*list(ANY)[::3], *list(FOUR)[::3]])
def test_other_backends_give_the_same(name: str, backend: str):
    is_any = name in ANY
    check((ANY if is_any else FOUR)[name], (1, 6, 64) if is_any else (4, 6, 64), backend, 1 if is_any else 4)


def zeros() -> Any:
    return tnp.zeros(3, dtype=tnp.float32)


def add_rows(carried: Any, row: Any) -> tuple[Any, Any]:
    return carried + row, carried


PAIRS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "scan": (lambda x: tenon.scan(add_rows, zeros(), x)[1], lambda x: np.cumsum(x, axis=0) - x),
    "scan backwards": (lambda x: tenon.scan(add_rows, zeros(), x, reverse=True)[0], lambda x: x.sum(0)),
    "scan of a length": (
        lambda x: tenon.scan(lambda c, _: (c / 2, c), 1.0, length=x.shape[0])[1],
        lambda x: 0.5 ** np.arange(len(x)),
    ),
    "scan of none": (
        lambda x: tenon.scan(add_rows, zeros(), x[1:])[1],
        lambda x: np.cumsum(x[1:], axis=0) - x[1:],
    ),
    "scan in scan": (
        lambda x: tenon.scan(lambda c, r: (tenon.scan(add_rows, c, x[1:])[0] + r, None), zeros(), x)[0],
        lambda x: x.sum(0) + len(x) * x[1:].sum(0),
    ),
    "fori_loop": (
        lambda x: tenon.fori_loop(0, x.shape[0], lambda i, v: v + x[i] * i, zeros()),
        lambda x: (x * np.arange(len(x))[:, None]).sum(0),
    ),
    "fori_loop from the second": (
        lambda x: tenon.fori_loop(1, x.shape[0], lambda i, v: v + x[i], x[0]),
        lambda x: x.sum(0),
    ),
    "fori_loop from an extent": (
        lambda x: tenon.fori_loop(x.shape[0], 10, lambda i, v: v + i, 0),
        lambda x: sum(range(len(x), 10)),
    ),
    "while_loop": (
        lambda x: tenon.while_loop(
            lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, s[1] + x[s[0]]), (0, zeros())
        )[1],
        lambda x: x.sum(0),
    ),
    "cond": (
        lambda x: tenon.cond(tnp.asarray(x.shape[0]) > 5, lambda: x * 2, lambda: x),
        lambda x: x * 2 if len(x) > 5 else x,
    ),
    "softmax": (lambda x: nn.softmax(x, axis=0), lambda x: np.exp(x) / np.exp(x).sum(0)),
    "set a row": (lambda x: x.at[0].set(1), lambda x: np.concatenate([np.ones((1, 3)), x[1:]])),
    "add to the last": (lambda x: x.at[-1].add(1), lambda x: np.concatenate([x[:-1], x[-1:] + 1])),
    "multiply all but one": (
        lambda x: x.at[1:].multiply(2),
        lambda x: np.concatenate([x[:1], x[1:] * 2]),
    ),
    "shift": (lambda x: x.at[1:].set(x[:-1]), lambda x: np.concatenate([x[:1], x[:-1]])),
    "set backwards": (lambda x: x.at[::-1].set(x), lambda x: x[::-1]),
    "set every second of a column": (
        lambda x: x.at[::2, 1].set(0),
        lambda x: np.where((np.arange(len(x)) % 2 == 0)[:, None] & (np.arange(3) == 1), 0, x),
    ),
    "set by a mask": (lambda x: x.at[x > 4].set(0), lambda x: np.where(x > 4, 0, x)),
    "sum of none": (lambda x: tnp.sum(x[1:], axis=0), lambda x: x[1:].sum(0)),
    "product of none": (lambda x: x[1:].T @ x[1:], lambda x: x[1:].T @ x[1:]),
    "a negative number": (lambda x: x * (x.shape[0] - 4), lambda x: x * (len(x) - 4)),
    "a negative quotient": (lambda x: x * ((x.shape[0] - 4) // 3), lambda x: x * ((len(x) - 4) // 3)),
    "a remainder": (lambda x: x * (-3 % x.shape[0]), lambda x: x * (-3 % len(x))),
    "fractions": (
        lambda x: (1 / x.shape[0] + x.shape[0] / 2 - 0.5 * x.shape[0] + (x.shape[0] - 0.5)) * x,
        lambda x: (1 / len(x) + len(x) - 0.5) * x,
    ),
    "powers": (lambda x: x.shape[0] ** -1 * x + 2.0 ** x.shape[0], lambda x: x / len(x) + 2.0 ** len(x)),
    "an unbiased deviation": (
        lambda x: tnp.std(tnp.concat([x, -x]), axis=0, correction=1),
        lambda x: np.std(np.concatenate([x, -x]), axis=0, ddof=1),
    ),
}


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("name", PAIRS)
def test_loops_updates_and_numbers_follow_the_extent(name: str, backend: str):
    traced, by_numpy = PAIRS[name]
    check(lambda xp, x: (traced if xp is tnp else by_numpy)(x), (1, 2, 7, 64), backend)


NONE: dict[str, Function] = {
    name: ANY[name]
    for name in (
        "x[1:]",
        "x[:-1]",
        "x[::2]",
        "x[::-1]",
        "x[-2::-3]",
        "x[:5]",
        "x[1:]-x[:-1]",
        "x[argsort]",
        "concat0",
        "split idx",
        "array_split",
        "roll0",
        "diff",
        "repeat0",
        "tile",
        "pad",
        "sort",
        "cumsum",
        "arange3",
        "linspace",
        "diag",
        "diagonal",
        "matmul",
        "reshape",
    )
}


@pytest.mark.parametrize("name", NONE)
def test_no_rows_are_an_extent_too(name: str):
    check(NONE[name], (0, 1, 3, 64, 0), "llvm", least=0)


def test_extents_as_numbers_are_weak():
    f = tenon.jit(lambda x: x * (1 / x.shape[0]), dynamic={"x": {0: tenon.Dim("n", 1, 8)}})
    assert f(np.ones(2, np.float32)).dtype == np.float32


def test_axes_of_two_dims_do_not_broadcast():
    dynamic = {"x": {0: tenon.Dim("n", 1, 8)}, "y": {0: tenon.Dim("m", 1, 8)}}
    with pytest.raises(ValueError, match=r"shapes \(n,\) \(m,\) cannot be broadcast together"):
        tenon.jit(lambda x, y: x + y, dynamic=dynamic)(np.ones(2), np.ones(2))
    f = tenon.jit(lambda x, y: x[:, None] * y, dynamic=dynamic)
    assert f(np.ones(2), np.ones(3)).shape == (2, 3) and f(np.ones(1), np.ones(8)).shape == (1, 8)
    assert len(f.explain_misses()) == 1


def test_values_of_dims_can_have_programs_of_their_own():
    dynamic = {"x": {0: tenon.Dim("n", 1, 64)}, "y": {0: tenon.Dim("m", 1, 8)}}
    f = tenon.jit(
        lambda x, y=None: x * 2 if y is None else x * 2 + tnp.sum(y),
        name="f",
        dynamic=dynamic,
        specialize={"n": [8], "m": [2]},
    )
    for size in (8, 7, 8):
        np.testing.assert_array_equal(np.asarray(f(np.ones(size))), np.full(size, 2.0))
        np.testing.assert_array_equal(np.asarray(f(np.ones(size), np.ones(2))), np.full(size, 4.0))
    assert len(f.explain_misses()) == 2


@pytest.mark.parametrize(
    ("specialize", "kind", "message"),
    [
        ({"k": [1]}, ValueError, r"jit: specialize of f has 'k', expected one of \['n'\]"),
        ({"n": [65]}, ValueError, "jit: specialize of f has n = 65, which is from 1 to 64"),
        ({"n": ["a"]}, TypeError, "jit: specialize of f has n = 'a', expected integers"),
    ],
)
def test_programs_of_values_that_there_are_not_are_errors(specialize: Any, kind: Any, message: str):
    with pytest.raises(kind, match=message):
        tenon.jit(lambda x: x, name="f", dynamic={"x": {0: tenon.Dim("n", 1, 64)}}, specialize=specialize)
