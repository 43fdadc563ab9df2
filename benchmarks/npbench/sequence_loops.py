"""The kernels of `sequences` as loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np


def crc16(data: Any) -> Any:
    crc = 0xFFFF
    for value in data:
        byte = int(value)
        for _ in range(8):
            is_odd = (crc ^ byte) & 1
            crc >>= 1
            if is_odd:
                crc ^= 0x8408
            byte >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | (crc >> 8)) & 0xFFFF


def floyd_warshall(path: Any) -> Any:
    path = path.copy()
    n = path.shape[0]
    for k in range(n):
        for i in range(n):
            first = path[i, k]
            for j in range(n):
                path[i, j] = min(path[i, j], first + path[k, j])
    return path


def nussinov(sequence: Any) -> Any:
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int32)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = table[i + 1, j - 1]
            if i < j - 1 and sequence[i] + sequence[j] == 3:
                best += 1
            for k in range(i, j):
                best = max(best, table[i, k] + table[k + 1, j])
            table[i, j] = best
    return table


def spmv(starts: Any, columns: Any, values: Any, x: Any) -> Any:
    result = np.empty(starts.shape[0] - 1)
    for i in range(result.shape[0]):
        total = 0.0
        for place in range(starts[i], starts[i + 1]):
            total += values[place] * x[columns[place]]
        result[i] = total
    return result


def azimint_hist(data: Any, radius: Any, npt: int) -> Any:
    low, high = radius[0], radius[0]
    for i in range(radius.shape[0]):
        low, high = min(low, radius[i]), max(high, radius[i])
    edges = low + np.arange(npt + 1) * ((high - low) / npt)
    totals, counts = np.zeros(npt), np.zeros(npt)
    for i in range(radius.shape[0]):
        number = min(int((radius[i] - low) / (high - low) * npt), npt - 1)
        if radius[i] < edges[number]:
            number -= 1
        elif radius[i] >= edges[number + 1] and number < npt - 1:
            number += 1
        totals[number] += data[i]
        counts[number] += 1.0
    return totals / counts


def azimint_naive(data: Any, radius: Any, npt: int) -> Any:
    largest = 0.0
    for i in range(radius.shape[0]):
        largest = max(largest, radius[i])
    result = np.empty(npt)
    for number in range(npt):
        low, high = largest * number / npt, largest * (number + 1) / npt
        total, count = 0.0, 0
        for i in range(radius.shape[0]):
            if low <= radius[i] and radius[i] < high:
                total += data[i]
                count += 1
        result[number] = total / count
    return result
