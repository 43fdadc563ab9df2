"""What is folded beside a product of matrices leaves it its tiles: sums of rows, columns, squares, maxima."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.passes.sched.planning import product_tiles

Program = Callable[..., Any]


def distances(x: Any, y: Any, xp: Any = tnp) -> Any:
    squares = xp.sum(x * x, axis=1)[:, None] + xp.sum(y * y, axis=1)[None]
    return squares - 2 * (x @ y.T)


def kernel_matrix(x: Any, y: Any, xp: Any = tnp) -> Any:
    return xp.exp(xp.minimum(-0.01 * distances(x, y, xp), 0))


def scaled_rows(x: Any, y: Any, xp: Any = tnp) -> Any:
    return xp.maximum(x @ y.T + 1, 0) * xp.max(xp.abs(x), axis=1, keepdims=True)


def shifted_columns(x: Any, y: Any, xp: Any = tnp) -> Any:
    return (x @ y.T).reshape(-1) - xp.broadcast_to(xp.sum(y, axis=1), (len(x), len(y))).reshape(-1)


def of_vectors(x: Any, y: Any, xp: Any = tnp) -> Any:
    return (x @ y.T) / (1 + xp.abs(x @ y[0])[:, None])


PROGRAMS: list[Program] = [distances, kernel_matrix, scaled_rows, shifted_columns, of_vectors]


def arrays(rows: int, columns: int, depth: int, dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return tuple(rng.standard_normal((count, depth)).astype(dtype) for count in (rows, columns))


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("shape", [(61, 43, 37), (300, 257, 64)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_products_keep_their_tiles(
    program: Program, dtype: Any, shape: tuple[int, int, int], backend: str
) -> None:
    given = arrays(*shape, dtype)
    jitted = tenon.jit(program, backend=backend)
    eps = 40 * np.finfo(dtype).eps * shape[2]
    wide = [each.astype(np.float64) for each in given]
    np.testing.assert_allclose(np.asarray(jitted(*given)), program(*wide, np), rtol=eps, atol=eps)
    if backend == "llvm":
        assert " tile(" in jitted.lower(*given).text("sched")


@pytest.mark.parametrize("program", [distances, scaled_rows, shifted_columns], ids=lambda each: each.__name__)
def test_the_bits_are_those_of_the_schedule(program: Program) -> None:
    given = arrays(61, 43, 37, np.float32)
    executable = tenon.compile(tenon.jit(program).lower(*given).text("traced"))
    interpreted = tenon.compile(executable.stages["sched"], backend="reference")
    assert np.asarray(executable(*given)).tobytes() == np.asarray(interpreted(*given)).tobytes()


def heads(p: Any, xp: Any) -> Any:
    return xp.permute_dims(p.reshape(len(p), -1, 40), (1, 0, 2)) * 2


VIEWS: dict[str, tuple[Program, int]] = {
    "flattened": (lambda p, xp: p.reshape(-1) * 2, 2),
    "columns from the fifth": (lambda p, xp: p[3:, 5:] * 2, 2),
    "columns from the second panel": (lambda p, xp: p[:, 32:] * 2, 1),
    "every other column": (lambda p, xp: p[:, ::2] + 1, 2),
    "every third row": (lambda p, xp: p[1::3] + 1, 1),
    "columns backwards": (lambda p, xp: xp.flip(p, axis=1) * 2, 2),
    "rows backwards": (lambda p, xp: xp.flip(p, axis=0) * 2, 1),
    "heads": (heads, 2),
    "transposed": (lambda p, xp: p.T + 1, 1),
    "one row": (lambda p, xp: p[7] * 2, 1),
}
"""What is done with a product, and how many kernels multiply and do it, beside those that copy panels."""


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("shape", [(130, 96, 240), (600, 300, 640)])
def test_products_that_are_read_in_another_order_keep_their_tiles(
    view: str, shape: tuple[int, int, int]
) -> None:
    rows, depth, columns = shape
    follow, kernels = VIEWS[view]
    rng = np.random.default_rng(0)
    x, w = (rng.integers(-3, 4, each).astype(np.float32) for each in ((rows, depth), (depth, columns)))
    jitted = tenon.jit(lambda x, w: follow(x @ w, tnp))
    np.testing.assert_array_equal(np.asarray(jitted(x, w)), follow(x @ w, np))
    text = jitted.lower(x, w).text("sched")
    assert " tile(" in text or view == "one row"
    panels = len({line for line in text.splitlines() if "sched.kernel" in line and "_panels: memref" in line})
    assert text.count("sched.launch") <= kernels + panels


def test_what_follows_a_convolution_is_in_its_kernel() -> None:
    def block(x: Any, w: Any, b: Any) -> Any:
        return nn.relu(nn.conv(x, w, padding=1) + b)

    given = [np.zeros(shape, np.float32) for shape in ((1, 64, 56, 56), (64, 64, 3, 3), (1, 64, 1, 1))]
    assert tenon.jit(block).lower(*given).text("sched").count("sched.launch") == 2


def _decisions(program: Program, *given: Any) -> str:
    return tenon.jit(program).lower(*given).text("graph")


def test_sums_of_the_product_itself_are_stages_of_its_kernel() -> None:
    def weighted(x: Any, y: Any) -> Any:
        return nn.softmax(x @ y.T, axis=-1)

    assert "parts-tiles" not in _decisions(weighted, *arrays(128, 128, 64, np.float32))


def test_attention_is_one_kernel() -> None:
    def attention(q: Any, k: Any, v: Any) -> Any:
        return nn.softmax(q @ tnp.swapaxes(k, -1, -2) / 8, axis=-1) @ v

    given = [np.zeros((2, 12, 128, 64), np.float32)] * 3
    text = tenon.jit(attention).lower(*given).text("sched")
    assert "parts-tiles" not in _decisions(attention, *given) and text.count("sched.launch") == 1


def test_other_products_of_the_same_elements_are_beside_it() -> None:
    def both(x: Any, y: Any) -> Any:
        return x @ y.T + (x + 1) @ (y - 1).T

    def maximum(x: Any, y: Any) -> Any:
        return x @ y.T + tnp.max(x[:, None] * y[None], axis=2)

    assert "parts-tiles" not in _decisions(both, *arrays(64, 48, 32, np.float32))
    assert "parts-tiles" in _decisions(maximum, *arrays(64, 48, 32, np.float32))


def test_small_products_and_sums_for_each_matrix_stay() -> None:
    def batched(x: Any, y: Any) -> Any:
        return x @ tnp.swapaxes(y, 1, 2) * tnp.sum(x, axis=(1, 2), keepdims=True)

    assert "parts-tiles" in _decisions(distances, *arrays(64, 64, 16, np.float32))
    assert "parts-tiles" not in _decisions(distances, *arrays(3, 64, 16, np.float32))
    x, y = (each.reshape(4, 32, 32) for each in arrays(128, 128, 32, np.float32))
    assert "parts-tiles" not in _decisions(batched, x, y)


def test_how_far_products_and_their_sources_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    given = arrays(64, 48, 32, np.float32)
    monkeypatch.setattr(product_tiles, "MOST_VALUES_BETWEEN", 0)
    assert "parts-tiles" not in _decisions(scaled_rows, *given)
    monkeypatch.undo()
    monkeypatch.setattr(product_tiles, "MOST_OPS_BEFORE", 0)
    assert "parts-tiles" not in _decisions(scaled_rows, *given)


def test_values_that_are_used_again_and_again_are_looked_at_once() -> None:
    def powers(x: Any, y: Any) -> Any:
        z = x @ y.T
        for _ in range(12):
            z = z * z + z
        return z + tnp.sum(x, axis=1, keepdims=True)

    assert "parts-tiles" in _decisions(powers, *arrays(64, 48, 32, np.float32))


@pytest.mark.parametrize(
    ("read", "n_kernels"),
    [
        (lambda p, b, h: p.reshape(30, 40, 6) * 2, 1),
        (lambda p, b, h: p.reshape(5, 6, 40, 6) * 2, 1),
        (lambda p, b, h: p.reshape(30, 40, 6) + h, 1),
        # What is read for each head, or stored head by head, leaves them two axes.
        (lambda p, b, h: p.reshape(30, 40, 6) * b[:, None], 2),
        (lambda p, b, h: p.reshape(30, 40, 6).transpose(1, 0, 2) * 2, 2),
    ],
)
def test_columns_that_are_two_axes_are_one_where_all_is_contiguous_along_them(
    read: Callable[..., Any], n_kernels: int
) -> None:
    rng = np.random.default_rng(0)
    x, w, b, h = (
        rng.integers(-4, 5, shape).astype(np.float32) for shape in ((30, 64), (64, 240), (40,), (30, 40, 6))
    )
    weights = tenon.freeze(w)
    compiled = tenon.jit(lambda x: read(x @ weights, b, h))
    assert np.array_equal(np.asarray(compiled(x)), read(x @ w, b, h))
    assert compiled.lower(x).text("sched").count("sched.launch") == n_kernels
