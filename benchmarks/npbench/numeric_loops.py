"""The kernels of `numerics` as loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np


def arc_distance(theta1: Any, phi1: Any, theta2: Any, phi2: Any) -> Any:
    result = np.empty(theta1.shape[0])
    for i in range(result.shape[0]):
        across, along = np.sin((theta2[i] - theta1[i]) / 2), np.sin((phi2[i] - phi1[i]) / 2)
        x = across * across + np.cos(theta1[i]) * np.cos(theta2[i]) * along * along
        result[i] = 2 * np.arctan2(np.sqrt(x), np.sqrt(1 - x))
    return result


def compute(x: Any, y: Any) -> Any:
    result = np.empty_like(x)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            result[i, j] = min(max(x[i, j], 2), 10) * 4 + y[i, j] * 3 + 9
    return result


def go_fast(a: Any) -> Any:
    total = 0.0
    for i in range(a.shape[0]):
        total += np.tanh(a[i, i])
    result = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            result[i, j] = a[i, j] + total
    return result


def mandelbrot1(x: Any, y: Any, maxiter: int, horizon: float) -> Any:
    z = np.zeros((y.shape[0], x.shape[0]), np.complex128)
    count = np.zeros((y.shape[0], x.shape[0]), np.int64)
    for i in range(y.shape[0]):
        for j in range(x.shape[0]):
            a, b, n = 0.0, 0.0, 0
            while n < maxiter and a * a + b * b < horizon * horizon:
                a, b = a * a - b * b + x[j], 2 * (a * b) + y[i]
                n += 1
            z[i, j] = complex(a, b)
            count[i, j] = n - 1 if n < maxiter else 0
    return z, count


def mandelbrot2(x: Any, y: Any, maxiter: int, horizon: float) -> Any:
    z = np.zeros((y.shape[0], x.shape[0]), np.complex128)
    count = np.zeros((y.shape[0], x.shape[0]), np.int64)
    for i in range(y.shape[0]):
        for j in range(x.shape[0]):
            a, b = 0.0, 0.0
            for n in range(maxiter):
                a, b = a * a - b * b + x[j], 2 * (a * b) + y[i]
                if a * a + b * b > horizon * horizon:
                    z[i, j] = complex(a, b)
                    count[i, j] = n + 1
                    break
    return z, count


def scattering_self_energies(neighbours: Any, dh: Any, g: Any, d: Any) -> Any:
    momenta, energies, atoms, size, _ = g.shape
    axes = dh.shape[2]
    result = np.zeros_like(g)
    left, right = np.empty((size, size), np.complex128), np.empty((size, size), np.complex128)
    for a in range(atoms):
        for b in range(neighbours.shape[1]):
            for w in range(d.shape[1]):
                for i in range(axes):
                    for m in range(size):
                        for n in range(size):
                            total = 0j
                            for q in range(d.shape[0]):
                                for j in range(axes):
                                    total += dh[a, b, j, m, n] * d[q, w, a, b, i, j]
                            right[m, n] = total
                    for k in range(momenta):
                        for e in range(w, energies):
                            for m in range(size):
                                for n in range(size):
                                    total = 0j
                                    for o in range(size):
                                        total += g[k, e - w, neighbours[a, b], m, o] * dh[a, b, i, o, n]
                                    left[m, n] = total
                            for m in range(size):
                                for n in range(size):
                                    for o in range(size):
                                        result[k, e, a, m, n] += left[m, o] * right[o, n]
    return result
