"""Models whose layers keep what they have in one array: the bits of those with arrays of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

LAYERS, WIDTH, HEADS, LENGTH = 9, 24, 3, 13


def weights() -> list[Any]:
    generator = np.random.default_rng(5)
    shapes = [(WIDTH, 3 * WIDTH), (3 * WIDTH,), (WIDTH, WIDTH), (WIDTH,)]
    caches = [(HEADS, LENGTH, WIDTH // HEADS)] * 2
    return [generator.normal(size=(LAYERS, *shape)).astype(np.float32) / 4 for shape in (*shapes, *caches)]


def step(x: Any, layers: Any) -> Any:
    """One token through layers of attention to a cache: a few dozen kernels."""
    new = []
    for inner, bias, outer, end, keys, values in layers:
        mean = tnp.mean(x, axis=-1, keepdims=True)
        normal = (x - mean) / tnp.sqrt(tnp.mean((x - mean) ** 2, axis=-1, keepdims=True) + 1e-5)
        query, key, value = tnp.split(
            (normal @ inner + bias).reshape(-1, 3, HEADS, WIDTH // HEADS), 3, axis=1
        )
        query, key, value = (each.reshape(-1, HEADS, WIDTH // HEADS) for each in (query, key, value))
        scores = tnp.einsum("bhd,hld->bhl", query, keys)
        scores = tnp.concatenate([scores, tnp.sum(query * key, axis=-1, keepdims=True)], axis=-1)
        scores = tnp.exp(scores - tnp.max(scores, axis=-1, keepdims=True))
        scores = scores / tnp.sum(scores, axis=-1, keepdims=True)
        mixed = tnp.einsum("bhl,hld->bhd", scores[:, :, :-1], values) + scores[:, :, -1:] * value
        x = x + tnp.tanh(mixed.reshape(-1, WIDTH) @ outer + end)
        new.append((key, value))
    keys, values = (tnp.stack(each) for each in zip(*new, strict=True))
    return x, keys, values


def together(x: Any, *arrays: Any) -> Any:
    return step(x, [[array[layer] for array in arrays] for layer in range(LAYERS)])


def apart(x: Any, *arrays: Any) -> Any:
    each = [arrays[n * LAYERS : (n + 1) * LAYERS] for n in range(len(arrays) // LAYERS)]
    return step(x, list(zip(*each, strict=True)))


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("is_named", [False, True])
def test_layers_of_one_array_give_the_bits_of_layers_of_many(backend: str, is_named: bool) -> None:
    arrays = weights()
    pieces = [np.ascontiguousarray(array[layer]) for array in arrays for layer in range(LAYERS)]
    dims: Any = {"x": {0: tenon.Dim("rows", 1, 20)}} if is_named else None
    one, many = (tenon.jit(f, backend=backend, dynamic=dims) for f in (together, apart))
    for rows in (1, 5, 18) if is_named else (3,):
        x = np.random.default_rng(rows).normal(size=(rows, WIDTH)).astype(np.float32)
        found, expected = one(x, *arrays), many(x, *pieces)
        for mine, its in zip(found, expected, strict=True):
            assert np.asarray(mine).tobytes() == np.asarray(its).tobytes()
        with np.errstate(all="ignore"):
            plain = together(x, *arrays)
        for mine, its in zip(found, plain, strict=True):
            np.testing.assert_allclose(np.asarray(mine), np.asarray(its), rtol=2e-4, atol=2e-5)


def test_layers_of_one_array_have_the_kernels_of_one_layer() -> None:
    x, arrays = np.ones((3, WIDTH), np.float32), weights()

    def kernels(layers: int) -> int:
        def some(x: Any, *arrays: Any) -> Any:
            return step(x, [[array[layer] for array in arrays] for layer in range(layers)])

        return len({kernel.name for kernel in tenon.explain(some, x, *arrays).kernels})

    assert kernels(9) == kernels(2)
