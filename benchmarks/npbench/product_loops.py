"""The products of `products` as loops over elements; those that are numpy's BLAS have none."""

from __future__ import annotations

from typing import Any

import numpy as np


def atax(a: Any, x: Any) -> Any:
    result = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        for j in range(a.shape[1]):
            result[j] += total * a[i, j]
    return result


def bicg(a: Any, p: Any, r: Any) -> Any:
    s, q = np.zeros(a.shape[1]), np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            s[j] += r[i] * a[i, j]
            total += a[i, j] * p[j]
        q[i] = total
    return s, q


def mvt(x1: Any, x2: Any, y1: Any, y2: Any, a: Any) -> Any:
    first, second = x1.copy(), x2.copy()
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * y1[j]
            second[j] += y2[i] * a[i, j]
        first[i] += total
    return first, second


def gesummv(alpha: Any, beta: Any, a: Any, b: Any, x: Any) -> Any:
    result = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        first, second = 0.0, 0.0
        for j in range(a.shape[1]):
            first += a[i, j] * x[j]
            second += b[i, j] * x[j]
        result[i] = alpha * first + beta * second
    return result


def gemver(
    alpha: Any,
    beta: Any,
    a: Any,
    u1: Any,
    v1: Any,
    u2: Any,
    v2: Any,
    w: Any,
    x: Any,
    y: Any,
    z: Any,
) -> Any:
    n = a.shape[0]
    updated, x_out, w_out = np.empty((n, n)), x + z, np.empty(n)
    for i in range(n):
        for j in range(n):
            updated[i, j] = a[i, j] + u1[i] * v1[j] + u2[i] * v2[j]
            x_out[j] += beta * y[i] * updated[i, j]
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += updated[i, j] * x_out[j]
        w_out[i] = w[i] + alpha * total
    return updated, x_out, w_out


def symm(alpha: Any, beta: Any, c: Any, a: Any, b: Any) -> Any:
    result = beta * c
    for i in range(c.shape[0]):
        for k in range(i):
            for j in range(c.shape[1]):
                result[i, j] += alpha * a[i, k] * b[k, j]
                result[k, j] += alpha * a[i, k] * b[i, j]
        for j in range(c.shape[1]):
            result[i, j] += alpha * a[i, i] * b[i, j]
    return result


def syrk(alpha: Any, beta: Any, c: Any, a: Any) -> Any:
    result = c.copy()
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * a[j, k]
            result[i, j] = beta * c[i, j] + alpha * total
    return result


def syr2k(alpha: Any, beta: Any, c: Any, a: Any, b: Any) -> Any:
    result = c.copy()
    for i in range(a.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[j, k] + b[i, k] * a[j, k]
            result[i, j] = beta * c[i, j] + alpha * total
    return result


def trmm(alpha: Any, a: Any, b: Any) -> Any:
    result = b.copy()
    for i in range(b.shape[0]):
        for k in range(i + 1, b.shape[0]):
            for j in range(b.shape[1]):
                result[i, j] += a[k, i] * b[k, j]
        for j in range(b.shape[1]):
            result[i, j] *= alpha
    return result
