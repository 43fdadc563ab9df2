"""Factorizations of matrices, and systems that are solved."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import solver_loops as loops
from .kernel import Array, Kernel, Size, sizes, uniform_complex
from .sides import Side


def _cholesky_columns(t: Side, a: Any) -> Any:
    """Returns the lower factor, which is made column by column."""

    def column(j: Any, lower: Any) -> Any:
        rest = a[j:, j] - lower[j:, :j] @ lower[j, :j]
        return lower.at[j:, j].set(rest / t.np.sqrt(rest[0]))

    return t.fori_loop(0, a.shape[0], column, t.np.zeros_like(a))


def jax_cholesky(t: Side, a: Any) -> Any:
    """As masks; columns to come are 0."""
    n = a.shape[0]
    row = t.np.arange(n)

    def column(j: Any, lower: Any) -> Any:
        is_known = (row >= j)[:, None] & (row < j)
        rest = a[:, j] - t.np.sum(t.np.where(is_known, lower * lower[j], 0.0), axis=1)
        return lower.at[:, j].set(t.np.where(row >= j, rest / t.np.sqrt(rest[j]), 0.0))

    return t.fori_loop(0, n, column, t.np.zeros_like(a))


def numpy_cholesky(a: Array) -> Array:
    lower = np.zeros_like(a)
    for j in range(a.shape[0]):
        rest = a[j:, j] - lower[j:, :j] @ lower[j, :j]
        lower[j:, j] = rest / np.sqrt(rest[0])
    return lower


def _solve_rows(t: Side, lower: Any, b: Any) -> Any:
    """Returns x of `x @ lower.T = b` for a lower triangle."""

    def column(j: Any, x: Any) -> Any:
        return x.at[:, j].set((b[:, j] - x[:, :j] @ lower[j, :j]) / lower[j, j])

    return t.fori_loop(0, lower.shape[0], column, t.np.zeros_like(b))


def cholesky2(t: Side, a: Any, block: int = 128) -> Any:
    """
    Blocks of columns, each made of those before it, so that most of the work is products of matrices; below
    its first rows a block is multiplied with the inverse of their factor.
    """
    n = a.shape[0]
    factors: list[Any] = []
    columns: list[Any] = []
    for begin in range(0, n, block):
        width = min(block, n - begin)
        rest = a[begin:, begin : begin + width]
        for number, factor in enumerate(factors):
            known = factor[begin - number * block :]
            rest = rest - known @ known[:width].T
        top = _cholesky_columns(t, rest[:width])
        below = rest[width:] @ _solve_rows(t, top, t.np.eye(width))
        factors.append(t.np.concatenate([top, below]))
        columns.append(t.np.concatenate([t.np.zeros((begin, width)), factors[-1]]))
    return t.np.concatenate(columns, axis=1) + t.np.triu(a, k=1)


def numpy_cholesky2(a: Array) -> Array:
    return np.linalg.cholesky(a) + np.triu(a, k=1)


def jax_cholesky2(t: Side, a: Any) -> Any:
    return t.np.linalg.cholesky(a) + t.np.triu(a, k=1)


def lu(t: Side, a: Any) -> Any:
    """Both factors in one matrix, without pivots."""

    def step(k: Any, a: Any) -> Any:
        factors = a[k + 1 :, k] / a[k, k]
        a = a.at[k + 1 :, k + 1 :].subtract(t.np.outer(factors, a[k, k + 1 :]))
        return a.at[k + 1 :, k].set(factors)

    return t.fori_loop(0, a.shape[0] - 1, step, a)


def jax_lu(t: Side, a: Any) -> Any:
    """As masks."""
    n = a.shape[0]
    index = t.np.arange(n)

    def step(k: Any, a: Any) -> Any:
        is_later = index > k
        factors = a[:, k] / a[k, k]
        is_inside = is_later[:, None] & is_later
        updated = t.np.where(is_inside, a - t.np.outer(factors, a[k]), a)
        return updated.at[:, k].set(t.np.where(is_later, factors, updated[:, k]))

    return t.fori_loop(0, n, step, a)


def numpy_lu(a: Array) -> Array:
    a = a.copy()
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a


def ludcmp(t: Side, a: Any, b: Any) -> Any:
    n = a.shape[0]
    factors = lu(t, a)

    def forward(i: Any, y: Any) -> Any:
        return y.at[i].set(b[i] - factors[i, :i] @ y[:i])

    y = t.fori_loop(0, n, forward, t.np.zeros_like(b))

    def backward(step: Any, x: Any) -> Any:
        i = n - 1 - step
        return x.at[i].set((y[i] - factors[i, i + 1 :] @ x[i + 1 :]) / factors[i, i])

    return t.fori_loop(0, n, backward, t.np.zeros_like(b)), y


def jax_ludcmp(t: Side, a: Any, b: Any) -> Any:
    n = a.shape[0]
    factors, index = jax_lu(t, a), t.np.arange(n)

    def forward(i: Any, y: Any) -> Any:
        return y.at[i].set(b[i] - t.np.sum(t.np.where(index < i, factors[i] * y, 0.0)))

    y = t.fori_loop(0, n, forward, t.np.zeros_like(b))

    def backward(step: Any, x: Any) -> Any:
        i = n - 1 - step
        known = t.np.sum(t.np.where(index > i, factors[i] * x, 0.0))
        return x.at[i].set((y[i] - known) / factors[i, i])

    return t.fori_loop(0, n, backward, t.np.zeros_like(b)), y


def numpy_ludcmp(a: Array, b: Array) -> Any:
    n = a.shape[0]
    factors, x, y = numpy_lu(a), np.empty_like(b), np.empty_like(b)
    for i in range(n):
        y[i] = b[i] - factors[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - factors[i, i + 1 :] @ x[i + 1 :]) / factors[i, i]
    return x, y


def trisolv(t: Side, lower: Any, b: Any) -> Any:
    def row(i: Any, x: Any) -> Any:
        return x.at[i].set((b[i] - lower[i, :i] @ x[:i]) / lower[i, i])

    return t.fori_loop(0, b.shape[0], row, t.np.zeros_like(b))


def jax_trisolv(t: Side, lower: Any, b: Any) -> Any:
    index = t.np.arange(b.shape[0])

    def row(i: Any, x: Any) -> Any:
        known = t.np.sum(t.np.where(index < i, lower[i] * x, 0.0))
        return x.at[i].set((b[i] - known) / lower[i, i])

    return t.fori_loop(0, b.shape[0], row, t.np.zeros_like(b))


def numpy_trisolv(lower: Array, b: Array) -> Array:
    x = np.empty_like(b)
    for i in range(b.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def durbin(t: Side, r: Any) -> Any:
    """Durbin's recursion for the Yule-Walker equations."""

    def step(k: Any, state: Any) -> Any:
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        backward = y[:k][::-1]
        alpha = -(r[k] + r[:k] @ backward) / beta
        return y.at[:k].add(alpha * backward).at[k].set(alpha), alpha, beta

    first = t.np.zeros_like(r).at[0].set(-r[0])
    return t.fori_loop(1, r.shape[0], step, (first, -r[0], t.np.ones_like(r[0])))[0]


def jax_durbin(t: Side, r: Any) -> Any:
    """As masks; elements of y to come are 0."""
    n = r.shape[0]
    index = t.np.arange(n)

    def step(k: Any, state: Any) -> Any:
        y, alpha, beta = state
        beta = beta * (1.0 - alpha * alpha)
        reversed_y = t.np.where(index < k, y[k - 1 - index], 0.0)
        alpha = -(r[k] + t.np.dot(r, reversed_y)) / beta
        return (y + alpha * reversed_y).at[k].set(alpha), alpha, beta

    first = t.np.zeros_like(r).at[0].set(-r[0])
    return t.fori_loop(1, n, step, (first, -r[0], t.np.ones_like(r[0])))[0]


def numpy_durbin(r: Array) -> Array:
    y = np.zeros_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        backward = y[:k][::-1].copy()
        alpha = -(r[k] + r[:k] @ backward) / beta
        y[:k] += alpha * backward
        y[k] = alpha
    return y


def gramschmidt(t: Side, a: Any) -> Any:
    n = a.shape[1]

    def step(k: Any, state: Any) -> Any:
        a, q, r = state
        length = t.np.sqrt(t.np.dot(a[:, k], a[:, k]))
        unit = a[:, k] / length
        shares = unit @ a[:, k + 1 :]
        a = a.at[:, k + 1 :].subtract(t.np.outer(unit, shares))
        return a, q.at[:, k].set(unit), r.at[k, k].set(length).at[k, k + 1 :].set(shares)

    return t.fori_loop(0, n, step, (a, t.np.zeros_like(a), t.np.zeros((n, n))))[1:]


def jax_gramschmidt(t: Side, a: Any) -> Any:
    n = a.shape[1]
    index = t.np.arange(n)

    def step(k: Any, state: Any) -> Any:
        a, q, r = state
        column = a[:, k]
        length = t.np.sqrt(t.np.dot(column, column))
        unit = column / length
        shares = t.np.where(index > k, unit @ a, 0.0)
        return a - t.np.outer(unit, shares), q.at[:, k].set(unit), r.at[k].set(shares.at[k].set(length))

    return t.fori_loop(0, n, step, (a, t.np.zeros_like(a), t.np.zeros((n, n))))[1:]


def numpy_gramschmidt(a: Array) -> Any:
    n = a.shape[1]
    a, q, r = a.copy(), np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= np.outer(q[:, k], r[k, k + 1 :])
    return q, r


def contour_integral(t: Side, hamiltonians: Any, points: Any, y: Any) -> Any:
    """
    Sums solutions of complex systems over points of the plane. There are no complex dtypes: arrays are pairs
    of real ones, and a complex system is a real one of twice the size.
    """
    n = y[0].shape[0]
    half = (hamiltonians[0].shape[0] - 1) / 2
    count = hamiltonians[0].shape[0]
    right = t.np.concatenate(y)
    width = right.shape[1]

    def point(sums: Any, z: Any) -> Any:
        z_real, z_imag = z
        radius, angle = t.np.hypot(z_real, z_imag), t.np.atan2(z_imag, z_real)
        real, imag = 0.0, 0.0
        for number in range(count):
            power = half - number
            c, s = radius**power * t.np.cos(power * angle), radius**power * t.np.sin(power * angle)
            real = real + c * hamiltonians[0][number] - s * hamiltonians[1][number]
            imag = imag + c * hamiltonians[1][number] + s * hamiltonians[0][number]
        left = t.np.concatenate(
            [t.np.concatenate([real, -imag], axis=1), t.np.concatenate([imag, real], axis=1)]
        )
        x = _solve(t, left, right)
        x = t.np.where(radius < 1.0, -x, x)
        x_real, x_imag = x[:n], x[n:]
        (p0_real, p0_imag), (p1_real, p1_imag) = sums
        p0 = (p0_real + x_real, p0_imag + x_imag)
        p1 = (p1_real + z_real * x_real - z_imag * x_imag, p1_imag + z_real * x_imag + z_imag * x_real)
        return (p0, p1), None

    zeros = t.np.zeros((n, width))
    return t.scan(point, ((zeros, zeros), (zeros, zeros)), points)[0]


def _solve(t: Side, left: Any, right: Any) -> Any:
    """
    Returns x of `left @ x = right`: Gauss, with pivots. The rows of a pivot change places after the
    elimination, which takes row k with it: so all is stored where it was.
    """
    n = left.shape[0]

    def eliminate(k: Any, both: Any) -> Any:
        pivot = k + t.np.argmax(t.np.abs(both[k:, k]))
        chosen = both[pivot]
        shares = both[k:, k] / chosen[k]
        both = both.at[k:, k + 1 :].subtract(t.np.outer(shares, chosen[k + 1 :]))
        return both.at[pivot].set(both[k]).at[k].set(chosen)

    both = t.fori_loop(0, n, eliminate, t.np.concatenate([left, right], axis=1))

    def row(step: Any, x: Any) -> Any:
        i = n - 1 - step
        return x.at[i].set((both[i, n:] - both[i, i + 1 : n] @ x[i + 1 :]) / both[i, i])

    return t.fori_loop(0, n, row, t.np.zeros_like(right))


def numpy_contour_integral(hamiltonians: Array, points: Array, y: Array) -> Any:
    half = (hamiltonians.shape[0] - 1) / 2
    p0, p1 = np.zeros_like(y), np.zeros_like(y)
    for z in points:
        left = sum(z ** (half - number) * each for number, each in enumerate(hamiltonians))
        x = np.linalg.solve(left, y)
        if abs(z) < 1.0:
            x = -x
        p0 += x
        p1 += z * x
    return p0, p1


def jax_contour_integral(t: Side, hamiltonians: Any, points: Any, y: Any) -> Any:
    half = (hamiltonians.shape[0] - 1) / 2
    powers = points[:, None] ** (half - t.np.arange(hamiltonians.shape[0]))
    left = t.np.einsum("zn,nij->zij", powers, hamiltonians)
    x = t.np.linalg.solve(left, t.np.broadcast_to(y, (left.shape[0], *y.shape)))
    x = t.np.where((t.np.abs(points) < 1.0)[:, None, None], -x, x)
    return t.np.sum(x, axis=0), t.np.einsum("z,zij->ij", points, x)


def _definite(n: int) -> Array:
    """Returns PolyBench's symmetric, positive definite matrix."""
    i, j = np.indices((n, n))
    lower = np.where(i == j, 1.0, np.where(j < i, (-j % n) / n + 1.0, 0.0))
    return lower @ lower.T


def _matrix(_: Any, size: Size) -> dict[str, Any]:
    return {"A": _definite(size["N"])}


def _system(_: Any, size: Size) -> dict[str, Any]:
    n = size["N"]
    return {"A": _definite(n), "b": (np.arange(n) + 1) / n / 2 + 4}


def _triangle(_: Any, size: Size) -> dict[str, Any]:
    n = size["N"]
    i, j = np.indices((n, n))
    # Only the lower triangle counts.
    return {"L": np.where(j <= i, (i + n - j + 1) * 2.0 / n, 0.0), "b": np.arange(n) * 1.0}


def _full_rank(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    return {"A": generator.random((size["M"], size["N"]))}


def _contour(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    nr, nm = size["NR"], size["NM"]
    return {
        "hamiltonians": uniform_complex(generator, (size["slab_per_bc"] + 1, nr, nr)),
        "points": uniform_complex(generator, (size["num_int_pts"],)),
        "Y": uniform_complex(generator, (nr, nm)),
    }


KERNELS = (
    Kernel(
        "cholesky",
        sizes({"N": 7}, {"N": 100}, {"N": 300}),
        _matrix,
        _cholesky_columns,
        numpy_cholesky,
        jax_cholesky,
        loops=loops.cholesky,
    ),
    Kernel(
        "cholesky2",
        sizes({"N": 150}, {"N": 1000}, {"N": 2200}),
        _matrix,
        cholesky2,
        numpy_cholesky2,
        jax_cholesky2,
    ),
    Kernel("lu", sizes({"N": 7}, {"N": 60}, {"N": 220}), _matrix, lu, numpy_lu, jax_lu, loops=loops.lu),
    Kernel(
        "ludcmp",
        sizes({"N": 7}, {"N": 60}, {"N": 220}),
        _system,
        ludcmp,
        numpy_ludcmp,
        jax_ludcmp,
        loops=loops.ludcmp,
    ),
    Kernel(
        "trisolv",
        sizes({"N": 7}, {"N": 2000}, {"N": 5000}),
        _triangle,
        trisolv,
        numpy_trisolv,
        jax_trisolv,
        loops=loops.trisolv,
    ),
    Kernel(
        "durbin",
        sizes({"N": 7}, {"N": 1000}, {"N": 6000}),
        lambda _, size: {"r": size["N"] + 1.0 - np.arange(size["N"])},
        durbin,
        numpy_durbin,
        jax_durbin,
        loops=loops.durbin,
        # The equations are nearly singular: the order of sums shows in the ninth digit.
        tolerance=1e-7,
    ),
    Kernel(
        "gramschmidt",
        sizes({"M": 8, "N": 6}, {"M": 70, "N": 60}, {"M": 220, "N": 180}),
        _full_rank,
        gramschmidt,
        numpy_gramschmidt,
        jax_gramschmidt,
        loops=loops.gramschmidt,
    ),
    Kernel(
        "contour_integral",
        sizes(
            {"NR": 4, "NM": 5, "slab_per_bc": 2, "num_int_pts": 3},
            {"NR": 50, "NM": 150, "slab_per_bc": 2, "num_int_pts": 32},
            {"NR": 200, "NM": 400, "slab_per_bc": 2, "num_int_pts": 32},
        ),
        _contour,
        contour_integral,
        numpy_contour_integral,
        jax_contour_integral,
    ),
)
