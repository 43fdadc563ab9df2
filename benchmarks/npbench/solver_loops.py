"""The kernels of `solvers` as loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np


def cholesky(a: Any) -> Any:
    n = a.shape[0]
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = np.sqrt(total)
            else:
                lower[i, j] = total / lower[j, j]
    return lower


def lu(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k] = factor
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
    return a


def ludcmp(a: Any, b: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    x, y = np.empty(n), np.empty(n)
    for k in range(n):
        for i in range(k + 1, n):
            factor = a[i, k] / a[k, k]
            a[i, k] = factor
            for j in range(k + 1, n):
                a[i, j] -= factor * a[k, j]
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= a[i, j] * y[j]
        y[i] = total
    for i in range(n - 1, -1, -1):
        total = y[i]
        for j in range(i + 1, n):
            total -= a[i, j] * x[j]
        x[i] = total / a[i, i]
    return x, y


def trisolv(lower: Any, b: Any) -> Any:
    x = np.empty(b.shape[0])
    for i in range(b.shape[0]):
        total = b[i]
        for j in range(i):
            total -= lower[i, j] * x[j]
        x[i] = total / lower[i, i]
    return x


def durbin(r: Any) -> Any:
    n = r.shape[0]
    y, updated = np.zeros(n), np.empty(n)
    y[0] = -r[0]
    alpha, beta = -r[0], 1.0
    for k in range(1, n):
        beta *= 1.0 - alpha * alpha
        total = r[k]
        for i in range(k):
            total += r[k - 1 - i] * y[i]
        alpha = -total / beta
        for i in range(k):
            updated[i] = y[i] + alpha * y[k - 1 - i]
        for i in range(k):
            y[i] = updated[i]
        y[k] = alpha
    return y


def gramschmidt(a: Any) -> Any:
    a = a.copy()
    m, n = a.shape
    q, r = np.zeros((m, n)), np.zeros((n, n))
    for k in range(n):
        total = 0.0
        for i in range(m):
            total += a[i, k] * a[i, k]
        r[k, k] = np.sqrt(total)
        for i in range(m):
            q[i, k] = a[i, k] / r[k, k]
        for i in range(m):
            for j in range(k + 1, n):
                r[k, j] += q[i, k] * a[i, j]
        for i in range(m):
            for j in range(k + 1, n):
                a[i, j] -= q[i, k] * r[k, j]
    return q, r
