"""Stencils: PolyBench's, and two of weather models."""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from . import stencil_loops as loops
from .kernel import Array, Kernel, Size, sizes
from .sides import Side


def _mean_of_three(x: Any) -> Any:
    return 0.33333 * (x[:-2] + x[1:-1] + x[2:])


def _mean_of_five(x: Any) -> Any:
    return 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])


def _heat(x: Any) -> Any:
    inner = x[1:-1, 1:-1, 1:-1]
    return (
        0.125 * (x[2:, 1:-1, 1:-1] - 2.0 * inner + x[:-2, 1:-1, 1:-1])
        + 0.125 * (x[1:-1, 2:, 1:-1] - 2.0 * inner + x[1:-1, :-2, 1:-1])
        + 0.125 * (x[1:-1, 1:-1, 2:] - 2.0 * inner + x[1:-1, 1:-1, :-2])
        + inner
    )


def jacobi_1d(t: Side, a: Any, b: Any, *, TSTEPS: int) -> Any:
    def step(_: Any, state: Any) -> Any:
        a, b = state
        b = b.at[1:-1].set(_mean_of_three(a))
        return a.at[1:-1].set(_mean_of_three(b)), b

    return t.fori_loop(1, TSTEPS, step, (a, b))


def numpy_jacobi_1d(a: Array, b: Array, *, TSTEPS: int) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(1, TSTEPS):
        b[1:-1] = _mean_of_three(a)
        a[1:-1] = _mean_of_three(b)
    return a, b


def jacobi_2d(t: Side, a: Any, b: Any, *, TSTEPS: int) -> Any:
    def step(_: Any, state: Any) -> Any:
        a, b = state
        b = b.at[1:-1, 1:-1].set(_mean_of_five(a))
        return a.at[1:-1, 1:-1].set(_mean_of_five(b)), b

    return t.fori_loop(1, TSTEPS, step, (a, b))


def numpy_jacobi_2d(a: Array, b: Array, *, TSTEPS: int) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(1, TSTEPS):
        b[1:-1, 1:-1] = _mean_of_five(a)
        a[1:-1, 1:-1] = _mean_of_five(b)
    return a, b


def heat_3d(t: Side, a: Any, b: Any, *, TSTEPS: int) -> Any:
    def step(_: Any, state: Any) -> Any:
        a, b = state
        b = b.at[1:-1, 1:-1, 1:-1].set(_heat(a))
        return a.at[1:-1, 1:-1, 1:-1].set(_heat(b)), b

    return t.fori_loop(1, TSTEPS, step, (a, b))


def numpy_heat_3d(a: Array, b: Array, *, TSTEPS: int) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(1, TSTEPS):
        b[1:-1, 1:-1, 1:-1] = _heat(a)
        a[1:-1, 1:-1, 1:-1] = _heat(b)
    return a, b


def fdtd_2d(t: Side, ex: Any, ey: Any, hz: Any, source: Any) -> Any:
    def step(fields: Any, value: Any) -> Any:
        ex, ey, hz = fields
        ey = ey.at[0].set(value).at[1:].add(-0.5 * (hz[1:] - hz[:-1]))
        ex = ex.at[:, 1:].add(-0.5 * (hz[:, 1:] - hz[:, :-1]))
        hz = hz.at[:-1, :-1].add(-0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]))
        return (ex, ey, hz), None

    return t.scan(step, (ex, ey, hz), source)[0]


def numpy_fdtd_2d(ex: Array, ey: Array, hz: Array, source: Array) -> Any:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for value in source:
        ey[0] = value
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def seidel_2d(t: Side, a: Any, *, TSTEPS: int) -> Any:
    """Each element is the mean of nine, of which four are new already: only the row itself is in sequence."""
    n = a.shape[0]

    def element(left: Any, others: Any) -> Any:
        value = (left + others) / 9.0
        return value, value

    def row(i: Any, a: Any) -> Any:
        above, here, below = a[i - 1], a[i], a[i + 1]
        others = (above[:-2] + above[1:-1] + above[2:] + here[1:-1] + here[2:]) + (
            below[:-2] + below[1:-1] + below[2:]
        )
        return a.at[i, 1:-1].set(t.scan(element, here[0], others)[1])

    return t.fori_loop(0, TSTEPS - 1, lambda _, a: t.fori_loop(1, n - 1, row, a), a)


def numpy_seidel_2d(a: Array, *, TSTEPS: int) -> Array:
    a = a.copy()
    for _ in range(TSTEPS - 1):
        for i in range(1, a.shape[0] - 1):
            above, here, below = a[i - 1], a[i], a[i + 1]
            here[1:-1] += (
                above[:-2] + above[1:-1] + above[2:] + here[2:] + below[:-2] + below[1:-1] + below[2:]
            )
            for j in range(1, a.shape[1] - 1):
                here[j] = (here[j] + here[j - 1]) / 9.0
    return a


def _adi_factors(n: int, steps: int) -> tuple[float, float]:
    """Returns what implicit and explicit neighbours are multiplied with, for either direction."""
    return -2.0 * n * n / steps / 2.0, -1.0 * n * n / steps / 2.0


def adi(t: Side, u: Any, *, TSTEPS: int) -> Any:
    """
    Alternating directions: a tridiagonal system for each column, then for each row. All systems of a
    direction are solved at once.
    """
    n = u.shape[0]
    a, d = _adi_factors(n, TSTEPS)
    ones, zeros = t.np.ones(n - 2), t.np.zeros(n - 2)

    def solve(implicit: float, explicit: float, field: Any) -> Any:
        """Returns the solutions along axis 0, for the inner columns of a field that is constant there."""

        def forward(state: Any, values: Any) -> Any:
            p, q = state
            denominator = implicit * p + (1.0 - 2.0 * implicit)
            right = -explicit * values[:-2] + (1.0 + 2.0 * explicit) * values[1:-1] - explicit * values[2:]
            following = -implicit / denominator, (right - implicit * q) / denominator
            return following, following

        def backward(later: Any, coefficients: Any) -> Any:
            value = coefficients[0] * later + coefficients[1]
            return value, value

        coefficients = t.scan(forward, (zeros, ones), field)[1]
        return t.scan(backward, ones, coefficients, reverse=True)[1]

    def step(_: Any, u: Any) -> Any:
        v = solve(a, d, u[1:-1])
        border = t.np.ones((n - 2, 1))
        u = u.at[1:-1, 0].set(1.0).at[1:-1, -1].set(1.0)
        # The second systems go along the rows, for which v is transposed.
        return u.at[1:-1, 1:-1].set(solve(d, a, t.np.concatenate([border, v.T, border], axis=1)).T)

    return t.fori_loop(0, TSTEPS, step, u)


def numpy_adi(u: Array, *, TSTEPS: int) -> Array:
    n = u.shape[0]
    a, d = _adi_factors(n, TSTEPS)
    u, v = u.copy(), np.ones_like(u)
    p, q = np.zeros_like(u), np.ones_like(u)

    def solve(implicit: float, explicit: float, values: Array, solution: Array) -> None:
        p[0], q[0], solution[0], solution[-1] = 0.0, 1.0, 1.0, 1.0
        for j in range(1, n - 1):
            denominator = implicit * p[j - 1] + (1.0 - 2.0 * implicit)
            right = (1.0 + 2.0 * explicit) * values[j, 1:-1] - explicit * (values[j, :-2] + values[j, 2:])
            p[j] = -implicit / denominator
            q[j, 1:-1] = (right - implicit * q[j - 1, 1:-1]) / denominator[1:-1]
        for j in range(n - 2, 0, -1):
            solution[j] = p[j, 1:-1] * solution[j + 1] + q[j, 1:-1]

    for _ in range(TSTEPS):
        solve(a, d, u, v[:, 1:-1])
        solve(d, a, v.T, u.T[:, 1:-1])
    return u


_DERICHE_ALPHA = 0.25


def _deriche_factors(alpha: float) -> tuple[float, float, float, float, float, float]:
    """Returns what the signal is multiplied with, there and back, and then earlier results."""
    decay = exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - exp(2.0 * alpha))
    near, far = k * decay * (alpha - 1.0), k * decay * (alpha + 1.0)
    return k, near, far, -k * decay**2, 2.0**-alpha, -(decay**2)


def deriche(t: Side, image: Any) -> Any:
    """Deriche's recursive filter: forward and backward along rows, then along columns."""
    a1, a2, a3, a4, b1, b2 = _deriche_factors(_DERICHE_ALPHA)

    def along(image: Any) -> Any:
        zeros = t.np.zeros_like(image[0])

        def forward(state: Any, x: Any) -> Any:
            x1, y1, y2 = state
            y = a1 * x + a2 * x1 + b1 * y1 + b2 * y2
            return (x, y, y1), y

        def backward(state: Any, x: Any) -> Any:
            x1, x2, y1, y2 = state
            y = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            return (x, x1, y, y1), y

        there = t.scan(forward, (zeros,) * 3, image)[1]
        return there + t.scan(backward, (zeros,) * 4, image, reverse=True)[1]

    return along(along(image.T).T)


def numpy_deriche(image: Array) -> Array:
    a1, a2, a3, a4, b1, b2 = _deriche_factors(_DERICHE_ALPHA)

    def along(x: Array) -> Array:
        n = x.shape[0]
        there, back = np.empty_like(x), np.empty_like(x)
        there[0] = a1 * x[0]
        there[1] = a1 * x[1] + a2 * x[0] + b1 * there[0]
        for i in range(2, n):
            there[i] = a1 * x[i] + a2 * x[i - 1] + b1 * there[i - 1] + b2 * there[i - 2]
        back[-1] = 0.0
        back[-2] = a3 * x[-1]
        for i in range(n - 3, -1, -1):
            back[i] = a3 * x[i + 1] + a4 * x[i + 2] + b1 * back[i + 1] + b2 * back[i + 2]
        return there + back

    return along(along(np.ascontiguousarray(image.T)).T.copy())


def hdiff(t: Side, field: Any, coefficients: Any) -> Any:
    """Horizontal diffusion: fluxes of the Laplacian that go against the gradient, and the others are 0."""
    laplacian = 4.0 * field[1:-1, 1:-1] - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    )

    def flux(change: Any, gradient: Any) -> Any:
        return t.np.where(change * gradient > 0, 0.0, change)

    inner = field[2:-2, 2:-2]
    x = flux(laplacian[1:, 1:-1] - laplacian[:-1, 1:-1], field[2:-1, 2:-2] - field[1:-2, 2:-2])
    y = flux(laplacian[1:-1, 1:] - laplacian[1:-1, :-1], field[2:-2, 2:-1] - field[2:-2, 1:-2])
    return inner - coefficients * (x[1:] - x[:-1] + y[:, 1:] - y[:, :-1])


def _advection(
    xp: Any, tendency: Any, u: Any, wind: Any, u_before: Any, tendency_before: Any, rate: float
) -> Any:
    """Returns the tridiagonal system of vertical advection: below, on and above the diagonal, and right."""
    mean = 0.25 * (wind[1:, :, 1:] + wind[:-1, :, 1:])
    none = xp.zeros_like(u[:, :, :1])
    below = xp.concatenate([none, -0.5 * mean], axis=2)
    above = xp.concatenate([0.5 * mean, none], axis=2)
    step = 0.5 * mean * (u[:, :, 1:] - u[:, :, :-1])
    flow = xp.concatenate([none, step], axis=2) + xp.concatenate([step, none], axis=2)
    right = rate * u_before + tendency_before + tendency - flow
    return below, rate - below - above, above, right


def vadv(t: Side, tendency: Any, u: Any, wind: Any, u_before: Any, tendency_before: Any) -> Any:
    """Vertical advection, implicit: Thomas's algorithm along the last axis, on levels one after the other."""
    last = u.shape[2] - 1
    half = t.np.moveaxis(0.125 * (wind[1:] + wind[:-1]), 2, 0)
    known = t.np.moveaxis(_RATE * u_before + tendency_before + tendency, 2, 0)
    u = t.np.moveaxis(u, 2, 0)

    def forward(state: Any, k: Any) -> Any:
        c, d = state
        low = t.np.where(k > 0, half[k], 0.0)
        high = t.np.where(k < last, half[t.np.minimum(k + 1, last)], 0.0)
        flow = low * (u[k] - u[t.np.maximum(k - 1, 0)]) + high * (u[t.np.minimum(k + 1, last)] - u[k])
        scale = 1.0 / (_RATE + low - high + c * low)
        following = high * scale, (known[k] - flow + d * low) * scale
        return following, following

    def backward(x: Any, values: Any) -> Any:
        c, d = values
        x = d - c * x
        return x, x

    zeros = t.np.zeros_like(u[0])
    reduced = t.scan(forward, (zeros, zeros), t.np.arange(last + 1))[1]
    solution = t.np.moveaxis(t.scan(backward, zeros, reduced, reverse=True)[1], 0, 2)
    return _RATE * (solution - u_before)


_RATE = 3.0 / 20.0


def numpy_vadv(tendency: Array, u: Array, wind: Array, u_before: Array, tendency_before: Array) -> Array:
    below, diagonal, above, right = _advection(np, tendency, u, wind, u_before, tendency_before, _RATE)
    count = u.shape[2]
    above[:, :, 0] /= diagonal[:, :, 0]
    right[:, :, 0] /= diagonal[:, :, 0]
    for k in range(1, count):
        scale = 1.0 / (diagonal[:, :, k] - above[:, :, k - 1] * below[:, :, k])
        above[:, :, k] *= scale
        right[:, :, k] = (right[:, :, k] - right[:, :, k - 1] * below[:, :, k]) * scale
    for k in range(count - 2, -1, -1):
        right[:, :, k] -= above[:, :, k] * right[:, :, k + 1]
    return _RATE * (right - u_before)


def _ramp(n: int, offset: int) -> Array:
    i, j = np.indices((n, n))
    return i * (j + offset) / n


def _adi_inputs(_: Any, size: Size) -> dict[str, Any]:
    n = size["N"]
    i, j = np.indices((n, n))
    return {"u": (i + n - j) / n}


def _jacobi_1d_inputs(_: Any, size: Size) -> dict[str, Any]:
    n = size["N"]
    return {"A": (np.arange(n) + 2) / n, "B": (np.arange(n) + 3) / n}


def _jacobi_2d_inputs(_: Any, size: Size) -> dict[str, Any]:
    return {"A": _ramp(size["N"], 2), "B": _ramp(size["N"], 3)}


def _heat_inputs(_: Any, size: Size) -> dict[str, Any]:
    n = size["N"]
    i, j, k = np.indices((n, n, n))
    a = (i + j + (n - k)) * 10.0 / n
    return {"A": a, "B": a.copy()}


def _fdtd_inputs(_: Any, size: Size) -> dict[str, Any]:
    nx, ny = size["NX"], size["NY"]
    i, j = np.indices((nx, ny))
    return {
        "ex": i * (j + 1) / nx,
        "ey": i * (j + 2) / ny,
        "hz": i * (j + 3) / nx,
        "source": np.arange(size["TMAX"]) * 1.0,
    }


def _deriche_inputs(_: Any, size: Size) -> dict[str, Any]:
    i, j = np.indices((size["W"], size["H"]))
    return {"image": (313 * i + 991 * j) % 65536 / 65535.0}


def _hdiff_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    i, j, k = size["I"], size["J"], size["K"]
    return {"field": generator.random((i + 4, j + 4, k)), "coefficients": generator.random((i, j, k))}


def _vadv_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    shape = size["I"], size["J"], size["K"]
    return {
        "tendency": generator.random(shape),
        "u": generator.random(shape),
        "wind": generator.random((shape[0] + 1, *shape[1:])),
        "u_before": generator.random(shape),
        "tendency_before": generator.random(shape),
    }


_STEPS = ("TSTEPS",)

KERNELS = (
    Kernel(
        "jacobi_1d",
        sizes({"TSTEPS": 4, "N": 9}, {"TSTEPS": 800, "N": 3200}, {"TSTEPS": 3000, "N": 12000}),
        _jacobi_1d_inputs,
        jacobi_1d,
        numpy_jacobi_1d,
        loops=loops.jacobi_1d,
        static=_STEPS,
    ),
    Kernel(
        "jacobi_2d",
        sizes({"TSTEPS": 4, "N": 9}, {"TSTEPS": 50, "N": 150}, {"TSTEPS": 80, "N": 350}),
        _jacobi_2d_inputs,
        jacobi_2d,
        numpy_jacobi_2d,
        loops=loops.jacobi_2d,
        static=_STEPS,
    ),
    Kernel(
        "heat_3d",
        sizes({"TSTEPS": 4, "N": 6}, {"TSTEPS": 25, "N": 25}, {"TSTEPS": 50, "N": 40}),
        _heat_inputs,
        heat_3d,
        numpy_heat_3d,
        loops=loops.heat_3d,
        static=_STEPS,
    ),
    Kernel(
        "fdtd_2d",
        sizes(
            {"TMAX": 3, "NX": 6, "NY": 7},
            {"TMAX": 20, "NX": 200, "NY": 220},
            {"TMAX": 60, "NX": 400, "NY": 450},
        ),
        _fdtd_inputs,
        fdtd_2d,
        numpy_fdtd_2d,
        loops=loops.fdtd_2d,
    ),
    Kernel(
        "seidel_2d",
        sizes({"TSTEPS": 3, "N": 7}, {"TSTEPS": 8, "N": 50}, {"TSTEPS": 15, "N": 100}),
        lambda _, size: {"A": _ramp(size["N"], 2) + 2.0 / size["N"]},
        seidel_2d,
        numpy_seidel_2d,
        loops=loops.seidel_2d,
        static=_STEPS,
    ),
    Kernel(
        "adi",
        sizes({"TSTEPS": 3, "N": 7}, {"TSTEPS": 5, "N": 100}, {"TSTEPS": 20, "N": 200}),
        _adi_inputs,
        adi,
        numpy_adi,
        loops=loops.adi,
        static=_STEPS,
    ),
    Kernel(
        "deriche",
        sizes({"W": 7, "H": 6}, {"W": 400, "H": 200}, {"W": 1500, "H": 1000}),
        _deriche_inputs,
        deriche,
        numpy_deriche,
    ),
    Kernel(
        "hdiff",
        sizes({"I": 4, "J": 5, "K": 3}, {"I": 64, "J": 64, "K": 60}, {"I": 128, "J": 128, "K": 160}),
        _hdiff_inputs,
        hdiff,
        loops=loops.hdiff,
    ),
    Kernel(
        "vadv",
        sizes({"I": 4, "J": 5, "K": 6}, {"I": 60, "J": 60, "K": 40}, {"I": 112, "J": 112, "K": 80}),
        _vadv_inputs,
        vadv,
        numpy_vadv,
        loops=loops.vadv,
    ),
)
