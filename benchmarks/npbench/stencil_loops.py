"""The kernels of `stencils` as loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np


def jacobi_1d(a: Any, b: Any, TSTEPS: int) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(1, TSTEPS):
        for i in range(1, a.shape[0] - 1):
            b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
        for i in range(1, a.shape[0] - 1):
            a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1])
    return a, b


def jacobi_2d(a: Any, b: Any, TSTEPS: int) -> Any:
    a, b = a.copy(), b.copy()
    n = a.shape[0]
    for _ in range(1, TSTEPS):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])
    return a, b


def heat_3d(a: Any, b: Any, TSTEPS: int) -> Any:
    a, b = a.copy(), b.copy()
    n = a.shape[0]
    for _ in range(1, TSTEPS):
        for half in range(2):
            x, y = (a, b) if half == 0 else (b, a)
            for i in range(1, n - 1):
                for j in range(1, n - 1):
                    for k in range(1, n - 1):
                        twice = 2.0 * x[i, j, k]
                        y[i, j, k] = (
                            0.125 * (x[i + 1, j, k] - twice + x[i - 1, j, k])
                            + 0.125 * (x[i, j + 1, k] - twice + x[i, j - 1, k])
                            + 0.125 * (x[i, j, k + 1] - twice + x[i, j, k - 1])
                            + x[i, j, k]
                        )
    return a, b


def fdtd_2d(ex: Any, ey: Any, hz: Any, source: Any) -> Any:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    nx, ny = ex.shape
    for t in range(source.shape[0]):
        for j in range(ny):
            ey[0, j] = source[t]
        for i in range(1, nx):
            for j in range(ny):
                ey[i, j] -= 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] -= 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])
    return ex, ey, hz


def seidel_2d(a: Any, TSTEPS: int) -> Any:
    a = a.copy()
    n = a.shape[0]
    for _ in range(TSTEPS - 1):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                above = a[i - 1, j - 1] + a[i - 1, j] + a[i - 1, j + 1]
                below = a[i + 1, j - 1] + a[i + 1, j] + a[i + 1, j + 1]
                a[i, j] = (above + a[i, j - 1] + a[i, j] + a[i, j + 1] + below) / 9.0
    return a


def adi(u: Any, TSTEPS: int) -> Any:
    n = u.shape[0]
    u, v = u.copy(), np.ones_like(u)
    p, q = np.empty(n), np.empty((n, n))
    a, d = -1.0 * n * n / TSTEPS, -0.5 * n * n / TSTEPS
    for _ in range(TSTEPS):
        p[0] = 0.0
        for j in range(1, n - 1):
            p[j] = -a / (a * p[j - 1] + 1.0 - 2.0 * a)
        for i in range(n):
            q[0, i] = 1.0
        for j in range(1, n - 1):
            scale = 1.0 / (a * p[j - 1] + 1.0 - 2.0 * a)
            for i in range(1, n - 1):
                right = (1.0 + 2.0 * d) * u[j, i] - d * (u[j, i - 1] + u[j, i + 1])
                q[j, i] = (right - a * q[j - 1, i]) * scale
        for j in range(n - 2, 0, -1):
            for i in range(1, n - 1):
                v[j, i] = p[j] * v[j + 1, i] + q[j, i]
        for j in range(1, n - 1):
            p[j] = -d / (d * p[j - 1] + 1.0 - 2.0 * d)
        for i in range(1, n - 1):
            q[i, 0] = 1.0
            for j in range(1, n - 1):
                right = (1.0 + 2.0 * a) * v[i, j] - a * (v[i - 1, j] + v[i + 1, j])
                q[i, j] = (right - d * q[i, j - 1]) / (d * p[j - 1] + 1.0 - 2.0 * d)
            u[i, 0], u[i, n - 1] = 1.0, 1.0
            for j in range(n - 2, 0, -1):
                u[i, j] = p[j] * u[i, j + 1] + q[i, j]
    return u


def hdiff(field: Any, coefficients: Any) -> Any:
    rows, columns, levels = coefficients.shape
    result = np.empty((rows, columns, levels))
    laplacian = np.empty((rows + 2, columns + 2, levels))
    for i in range(rows + 2):
        for j in range(columns + 2):
            for k in range(levels):
                laplacian[i, j, k] = 4.0 * field[i + 1, j + 1, k] - (
                    field[i + 2, j + 1, k] + field[i, j + 1, k] + field[i + 1, j + 2, k] + field[i + 1, j, k]
                )
    for i in range(rows):
        for j in range(columns):
            for k in range(levels):
                here, value = laplacian[i + 1, j + 1, k], field[i + 2, j + 2, k]
                east = laplacian[i + 2, j + 1, k] - here
                west = here - laplacian[i, j + 1, k]
                north = laplacian[i + 1, j + 2, k] - here
                south = here - laplacian[i + 1, j, k]
                east = 0.0 if east * (field[i + 3, j + 2, k] - value) > 0 else east
                west = 0.0 if west * (value - field[i + 1, j + 2, k]) > 0 else west
                north = 0.0 if north * (field[i + 2, j + 3, k] - value) > 0 else north
                south = 0.0 if south * (value - field[i + 2, j + 1, k]) > 0 else south
                result[i, j, k] = value - coefficients[i, j, k] * (east - west + north - south)
    return result


def vadv(tendency: Any, u: Any, wind: Any, u_before: Any, tendency_before: Any) -> Any:
    rate = 3.0 / 20.0
    rows, columns, levels = u.shape
    c, d = np.empty(levels), np.empty(levels)
    result = np.empty((rows, columns, levels))
    for i in range(rows):
        for j in range(columns):
            for k in range(levels):
                low, high = 0.0, 0.0
                right = rate * u_before[i, j, k] + tendency_before[i, j, k] + tendency[i, j, k]
                if k > 0:
                    low = -0.125 * (wind[i + 1, j, k] + wind[i, j, k])
                    right -= low * (u[i, j, k - 1] - u[i, j, k])
                if k < levels - 1:
                    high = 0.125 * (wind[i + 1, j, k + 1] + wind[i, j, k + 1])
                    right -= high * (u[i, j, k + 1] - u[i, j, k])
                if k > 0:
                    scale = 1.0 / (rate - low - high - c[k - 1] * low)
                    d[k] = (right - d[k - 1] * low) * scale
                else:
                    scale = 1.0 / (rate - high)
                    d[k] = right * scale
                c[k] = high * scale
            x = 0.0
            for k in range(levels - 1, -1, -1):
                x = d[k] - c[k] * x
                result[i, j, k] = rate * (x - u_before[i, j, k])
    return result
