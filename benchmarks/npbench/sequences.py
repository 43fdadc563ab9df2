"""Sequences, graphs, sparse matrices, histograms: kernels that are about integers and indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import sequence_loops as loops
from .kernel import Array, Kernel, Size, sizes
from .sides import Side

_POLYNOMIAL = 0x8408
_LEAST = int(np.iinfo(np.int32).min)


def crc16(t: Side, data: Any) -> Any:
    """CRC-16-CCITT, bit by bit."""

    def bit(_: Any, state: Any) -> Any:
        crc, byte = state
        is_odd = ((crc ^ byte) & 1) == 1
        return t.np.where(is_odd, (crc >> 1) ^ _POLYNOMIAL, crc >> 1), byte >> 1

    def byte(crc: Any, value: Any) -> Any:
        return t.fori_loop(0, 8, bit, (crc, value))[0], None

    crc = t.scan(byte, t.np.full((), 0xFFFF, dtype=t.np.int64), data.astype(t.np.int64))[0]
    crc = ~crc & 0xFFFF
    return ((crc << 8) | (crc >> 8)) & 0xFFFF


def numpy_crc16(data: Array) -> Any:
    crc = 0xFFFF
    for byte in data.tolist():
        for _ in range(8):
            crc = (crc >> 1) ^ _POLYNOMIAL if (crc ^ byte) & 1 else crc >> 1
            byte >>= 1
    crc = ~crc & 0xFFFF
    return np.int64(((crc << 8) | (crc >> 8)) & 0xFFFF)


def floyd_warshall(t: Side, path: Any) -> Any:
    def step(k: Any, path: Any) -> Any:
        return t.np.minimum(path, path[:, k][:, None] + path[k])

    return t.fori_loop(0, path.shape[0], step, path)


def numpy_floyd_warshall(path: Array) -> Array:
    path = path.copy()
    for k in range(path.shape[0]):
        np.minimum(path, path[:, k, None] + path[k], out=path)
    return path


def nussinov(t: Side, sequence: Any) -> Any:
    """
    The most pairs of bases in each part of a sequence: `table[i, j]` is the best way to cut the part in two,
    or to pair its ends.
    """
    n = sequence.shape[0]
    index = t.np.arange(n)

    def cell(i: Any, j: Any, table: Any) -> Any:
        # Where the left part ends; rows below i are finished, and so is row i up to j.
        is_cut = (index >= i) & (index < j)
        below = t.np.concatenate([table[1:, j], t.np.zeros((1,), dtype=table.dtype)])
        best = t.np.max(t.np.where(is_cut, table[i] + below, _LEAST))
        pairs = ((sequence[i] + sequence[j] == 3) & (i < j - 1)).astype(table.dtype)
        # There is no row after the last one, and no element of the last row.
        inside = t.np.where(i + 1 < n, below[i], 0)
        inside = t.np.maximum(inside, table[t.np.minimum(i + 1, n - 1), j - 1] + pairs)
        return table.at[i, j].set(t.np.maximum(best, inside))

    def row(step: Any, table: Any) -> Any:
        i = n - 1 - step
        return t.fori_loop(i + 1, n, lambda j, table: cell(i, j, table), table)

    return t.fori_loop(0, n, row, t.np.zeros((n, n), dtype=t.np.int32))


def numpy_nussinov(sequence: Array) -> Array:
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int32)
    bases = sequence.tolist()
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = np.max(table[i, i:j] + table[i + 1 : j + 1, j])
            pairs = bases[i] + bases[j] == 3 and i < j - 1
            table[i, j] = max(best, table[i + 1, j - 1] + pairs)
    return table


def spmv(t: Side, starts: Any, columns: Any, values: Any, x: Any) -> Any:
    """A matrix in compressed rows, times a vector."""
    # The number of rows that end before an element or at it.
    row = t.np.cumsum(t.np.zeros(values.shape, dtype=t.np.int64).at[starts[1:]].add(1))
    return t.np.zeros((starts.shape[0] - 1,)).at[row].add(values * x[columns])


def numpy_spmv(starts: Array, columns: Array, values: Array, x: Array) -> Array:
    rows = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    return np.bincount(rows, values * x[columns], starts.size - 1)


def azimint_hist(t: Side, data: Any, radius: Any, *, npt: int) -> Any:
    """The mean of the data over each bin of the radius."""
    low, high = t.np.min(radius), t.np.max(radius)
    edges = low + t.np.arange(npt + 1) * ((high - low) / npt)
    number = t.np.clip((radius - low) / (high - low) * npt, 0, npt - 1).astype(t.np.int64)
    # The quotient may be rounded over an edge.
    number = number - (radius < edges[number])
    number = number + ((radius >= edges[number + 1]) & (number < npt - 1))
    zeros = t.np.zeros((npt,))
    return zeros.at[number].add(data) / zeros.at[number].add(1.0)


def numpy_azimint_hist(data: Array, radius: Array, *, npt: int) -> Array:
    return np.histogram(radius, npt, weights=data)[0] / np.histogram(radius, npt)[0]


def azimint_naive(t: Side, data: Any, radius: Any, *, npt: int) -> Any:
    """As `azimint_hist` from radius 0 on, one bin after the other."""
    largest = t.np.max(radius)

    def bin_mean(_: Any, number: Any) -> Any:
        inside = (largest * number / npt <= radius) & (radius < largest * (number + 1) / npt)
        return None, t.np.sum(t.np.where(inside, data, 0.0)) / t.np.sum(inside)

    return t.scan(bin_mean, None, t.np.arange(npt))[1]


def numpy_azimint_naive(data: Array, radius: Array, *, npt: int) -> Array:
    largest = radius.max()
    result = np.empty(npt)
    for number in range(npt):
        inside = (largest * number / npt <= radius) & (radius < largest * (number + 1) / npt)
        result[number] = data[inside].mean()
    return result


def _paths(_: Any, size: Size) -> dict[str, Any]:
    i, j = np.indices((size["N"], size["N"]))
    far = ((i + j) % 13 == 0) | ((i + j) % 7 == 0) | ((i + j) % 11 == 0)
    return {"path": np.where(far, 999, i * j % 7 + 1).astype(np.int32)}


def _sparse(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    m, n, count = size["M"], size["N"], size["nnz"]
    places = np.sort(generator.choice(m * n, count, replace=False))
    starts = np.searchsorted(places // n, np.arange(m + 1)).astype(np.int64)
    return {
        "starts": starts,
        "columns": places % n,
        "values": generator.random(count),
        "x": generator.random(n),
    }


def _rings(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    return {"data": generator.random(size["N"]), "radius": generator.random(size["N"])}


_RINGS = sizes({"N": 400, "npt": 6}, {"N": 400_000, "npt": 1000}, {"N": 4_000_000, "npt": 1000})

KERNELS = (
    Kernel(
        "crc16",
        sizes({"N": 5}, {"N": 1600}, {"N": 16000}),
        lambda generator, size: {"data": generator.integers(0, 256, size["N"], np.uint8)},
        crc16,
        numpy_crc16,
        loops=loops.crc16,
    ),
    Kernel(
        "floyd_warshall",
        sizes({"N": 9}, {"N": 200}, {"N": 400}),
        _paths,
        floyd_warshall,
        numpy_floyd_warshall,
        loops=loops.floyd_warshall,
    ),
    Kernel(
        "nussinov",
        sizes({"N": 8}, {"N": 40}, {"N": 90}),
        lambda _, size: {"sequence": ((np.arange(size["N"]) + 1) % 4).astype(np.int32)},
        nussinov,
        numpy_nussinov,
        loops=loops.nussinov,
    ),
    Kernel(
        "spmv",
        sizes(
            {"M": 6, "N": 7, "nnz": 12},
            {"M": 4096, "N": 4096, "nnz": 8192},
            {"M": 32768, "N": 32768, "nnz": 65536},
        ),
        _sparse,
        spmv,
        numpy_spmv,
        loops=loops.spmv,
    ),
    Kernel(
        "azimint_hist",
        _RINGS,
        _rings,
        azimint_hist,
        numpy_azimint_hist,
        loops=loops.azimint_hist,
        static=("npt",),
    ),
    Kernel(
        "azimint_naive",
        _RINGS,
        _rings,
        azimint_naive,
        numpy_azimint_naive,
        loops=loops.azimint_naive,
        static=("npt",),
        # The last bit of a bin's edge decides where an element at the edge belongs.
        chaotic_share=0.005,
    ),
)
