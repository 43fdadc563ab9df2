"""Elementwise work, fractals, bodies, and transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import numeric_loops as loops
from .kernel import Array, Kernel, Size, sizes, uniform, uniform_complex
from .sides import Side


def arc_distance(t: Side, theta1: Any, phi1: Any, theta2: Any, phi2: Any) -> Any:
    """The haversine formula."""
    x = t.np.sin((theta2 - theta1) / 2) ** 2
    x = x + t.np.cos(theta1) * t.np.cos(theta2) * t.np.sin((phi2 - phi1) / 2) ** 2
    return 2 * t.np.arctan2(t.np.sqrt(x), t.np.sqrt(1 - x))


def compute(t: Side, x: Any, y: Any) -> Any:
    return t.np.clip(x, 2, 10) * 4 + y * 3 + 9


def go_fast(t: Side, a: Any) -> Any:
    return a + t.np.sum(t.np.tanh(t.np.diagonal(a)))


def mandelbrot1(t: Side, x: Any, y: Any, *, maxiter: int, horizon: float) -> Any:
    """Points stop where they leave the horizon, and it counts when that was."""
    real, imag = t.np.broadcast_arrays(x[None, :], y[:, None])

    def step(n: Any, state: Any) -> Any:
        a, b, count = state
        a2, b2 = a * a, b * b
        is_near = a2 + b2 < horizon * horizon
        following = t.np.where(is_near, a2 - b2 + real, a), t.np.where(is_near, 2 * (a * b) + imag, b)
        return *following, t.np.where(is_near, n, count)

    zeros = t.np.zeros_like(real)
    a, b, count = t.fori_loop(0, maxiter, step, (zeros, zeros, t.np.zeros(real.shape, dtype=t.np.int64)))
    return (a, b), t.np.where(count == maxiter - 1, 0, count)


def numpy_mandelbrot1(x: Array, y: Array, *, maxiter: int, horizon: float) -> Any:
    c = x + 1j * y[:, None]
    z, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    for n in range(maxiter):
        near = np.abs(z) < horizon
        count[near] = n
        z[near] = z[near] ** 2 + c[near]
    count[count == maxiter - 1] = 0
    return z, count


def mandelbrot2(t: Side, x: Any, y: Any, *, maxiter: int, horizon: float) -> Any:
    """As `mandelbrot1`, where only points that left have a value and a count."""
    real, imag = t.np.broadcast_arrays(x[None, :], y[:, None])

    def step(n: Any, state: Any) -> Any:
        a, b, a_left, b_left, count = state
        a, b = a * a - b * b + real, 2 * (a * b) + imag
        leaves = (a * a + b * b > horizon * horizon) & (count == 0)
        left = t.np.where(leaves, a, a_left), t.np.where(leaves, b, b_left)
        return a, b, *left, t.np.where(leaves, n + 1, count)

    zeros = t.np.zeros_like(real)
    counts = t.np.zeros(real.shape, dtype=t.np.int64)
    _, _, a, b, count = t.fori_loop(0, maxiter, step, (zeros, zeros, zeros, zeros, counts))
    return (a, b), count


def numpy_mandelbrot2(x: Array, y: Array, *, maxiter: int, horizon: float) -> Any:
    c = (x + 1j * y[:, None]).ravel()
    left, count = np.zeros_like(c), np.zeros(c.shape, np.int64)
    z, place = np.zeros_like(c), np.arange(c.size)
    for n in range(maxiter):
        z = z * z + c
        leaves = np.abs(z) > horizon
        left[place[leaves]], count[place[leaves]] = z[leaves], n + 1
        z, c, place = z[~leaves], c[~leaves], place[~leaves]
    shape = y.size, x.size
    return left.reshape(shape), count.reshape(shape)


_SOFTENING = 0.1


def _nearness(xp: Any, places: Any) -> tuple[Any, Any]:
    """Returns differences (axis, i, j) of places, and softened distances."""
    x = places.T
    difference = x[:, None, :] - x[:, :, None]
    return difference, xp.sqrt(xp.sum(difference * difference, axis=0) + _SOFTENING**2)


def _energies(xp: Any, mass: Any, places: Any, velocities: Any) -> tuple[Any, Any]:
    kinetic = 0.5 * xp.sum(mass[:, None] * velocities * velocities)
    x = places.T
    difference = x[:, None, :] - x[:, :, None]
    squares = xp.sum(difference * difference, axis=0)
    # A body and itself have no energy.
    inverse = xp.where(squares > 0, 1.0 / xp.sqrt(xp.where(squares > 0, squares, 1.0)), 0.0)
    return kinetic, -0.5 * xp.sum(mass[:, None] * mass * inverse)


def _acceleration(xp: Any, mass: Any, places: Any) -> Any:
    difference, distance = _nearness(xp, places)
    return ((difference / (distance * distance * distance)) @ mass).T


def _at_rest(xp: Any, mass: Any, velocities: Any) -> Any:
    return velocities - xp.mean(mass[:, None] * velocities, axis=0) / xp.mean(mass)


def nbody(t: Side, mass: Any, places: Any, velocities: Any, *, steps: int, dt: float) -> Any:
    """Bodies under gravity by leapfrog; returns the energies at each time."""
    velocities = _at_rest(t.np, mass, velocities)

    def step(state: Any, _: Any) -> Any:
        places, velocities, acceleration = state
        velocities = velocities + acceleration * (dt / 2)
        places = places + velocities * dt
        acceleration = _acceleration(t.np, mass, places)
        velocities = velocities + acceleration * (dt / 2)
        return (places, velocities, acceleration), _energies(t.np, mass, places, velocities)

    first = _energies(t.np, mass, places, velocities)
    state = places, velocities, _acceleration(t.np, mass, places)
    later = t.scan(step, state, None, length=steps)[1]
    return tuple(t.np.concatenate([one[None], rest]) for one, rest in zip(first, later, strict=True))


def numpy_nbody(mass: Array, places: Array, velocities: Array, *, steps: int, dt: float) -> Any:
    velocities = _at_rest(np, mass, velocities)
    acceleration = _acceleration(np, mass, places)
    energies = np.empty((2, steps + 1))
    energies[:, 0] = _energies(np, mass, places, velocities)
    for number in range(steps):
        velocities = velocities + acceleration * (dt / 2)
        places = places + velocities * dt
        acceleration = _acceleration(np, mass, places)
        velocities = velocities + acceleration * (dt / 2)
        energies[:, number + 1] = _energies(np, mass, places, velocities)
    return energies[0], energies[1]


def stockham_fft(t: Side, x: Any, *, R: int, K: int) -> Any:
    """Stockham's transform of R ** K elements: K stages, each of which sorts the axes along."""
    real, imag = x
    angle = -2 * np.pi / R * np.outer(np.arange(R), np.arange(R))
    c, s = np.cos(angle), np.sin(angle)
    for stage in range(K):
        before, after = R**stage, R ** (K - stage - 1)
        turn = -2 * np.pi / (before * R) * np.outer(np.arange(R), np.arange(before))[:, :, None]
        cos, sin = np.cos(turn), np.sin(turn)
        a, b = (t.np.permute_dims(t.np.reshape(each, (before, R, after)), (1, 0, 2)) for each in (real, imag))
        a, b = t.np.reshape(a * cos - b * sin, (R, -1)), t.np.reshape(a * sin + b * cos, (R, -1))
        real, imag = t.np.reshape(c @ a - s @ b, (-1,)), t.np.reshape(s @ a + c @ b, (-1,))
    return real, imag


def numpy_stockham_fft(x: Array, *, R: int, K: int) -> Array:
    matrix = np.exp(-2j * np.pi / R * np.outer(np.arange(R), np.arange(R)))
    for stage in range(K):
        before, after = R**stage, R ** (K - stage - 1)
        turn = np.exp(-2j * np.pi / (before * R) * np.outer(np.arange(R), np.arange(before)))
        parts = x.reshape(before, R, after).transpose(1, 0, 2) * turn[:, :, None]
        x = (matrix @ parts.reshape(R, -1)).ravel()
    return x


def jax_stockham_fft(t: Side, x: Any, *, R: int, K: int) -> Any:
    matrix = np.exp(-2j * np.pi / R * np.outer(np.arange(R), np.arange(R)))
    for stage in range(K):
        before, after = R**stage, R ** (K - stage - 1)
        turn = np.exp(-2j * np.pi / (before * R) * np.outer(np.arange(R), np.arange(before)))
        parts = x.reshape(before, R, after).transpose(1, 0, 2) * turn[:, :, None]
        x = (matrix @ parts.reshape(R, -1)).ravel()
    return x


def _shifted(xp: Any, g: Any, steps: int) -> Any:
    """Returns the function of energies `steps` later: 0 where there was none."""
    count = g.shape[1]
    if steps >= count:
        return xp.zeros_like(g)
    return xp.concatenate([xp.zeros_like(g[:, :steps]), g[:, : count - steps]], axis=1)


def scattering_self_energies(t: Side, neighbours: Any, dh: Any, g: Any, d: Any) -> Any:
    """
    Sums products of small complex matrices, which are pairs of real ones here:
    `sigma[k, e, a] = sum over q, w, b, i, j of g[k, e - w, neighbours[a, b]] dh[a, b, i] dh[a, b, j]
    d[q, w, a, b, i, j]`.
    """

    def product(subscripts: str, x: Any, y: Any) -> Any:
        def one(a: Any, b: Any) -> Any:
            return t.np.einsum(subscripts, a, b)

        return one(x[0], y[0]) - one(x[1], y[1]), one(x[0], y[1]) + one(x[1], y[0])

    summed = tuple(t.np.sum(each, axis=0) for each in d)
    real, imag = 0.0, 0.0
    for w in range(summed[0].shape[0]):
        near = tuple(_shifted(t.np, each, w)[:, :, neighbours] for each in g)
        left = product("keabmn,abino->keabimo", near, dh)
        right = product("abjmo,abij->abimo", dh, tuple(each[w] for each in summed))
        both = product("keabimo,abiop->keamp", left, right)
        real, imag = real + both[0], imag + both[1]
    return real, imag


def numpy_scattering_self_energies(neighbours: Array, dh: Array, g: Array, d: Array) -> Array:
    summed = d.sum(axis=0)
    result = np.zeros_like(g)
    for w in range(summed.shape[0]):
        near = _shifted(np, g, w)[:, :, neighbours]
        left = near[:, :, :, :, None] @ dh
        right = np.einsum("abjmo,abij->abimo", dh, summed[w])
        result += (left @ right).sum(axis=(3, 4))
    return result


def jax_scattering_self_energies(t: Side, neighbours: Any, dh: Any, g: Any, d: Any) -> Any:
    summed = d.sum(axis=0)
    result = t.np.zeros_like(g)
    for w in range(summed.shape[0]):
        near = _shifted(t.np, g, w)[:, :, neighbours]
        left = near[:, :, :, :, None] @ dh
        right = t.np.einsum("abjmo,abij->abimo", dh, summed[w])
        result = result + (left @ right).sum(axis=(3, 4))
    return result


def _compute_inputs(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    shape = size["M"], size["N"]
    return {"x": generator.integers(0, 1000, shape), "y": generator.integers(0, 1000, shape)}


def _plane(_: Any, size: Size) -> dict[str, Any]:
    return {
        "x": np.linspace(size["xmin"], size["xmax"], size["XN"]),
        "y": np.linspace(size["ymin"], size["ymax"], size["YN"]),
    }


def _plane_size(x: tuple[float, float], y: tuple[float, float], points: int, maxiter: int) -> Size:
    ends = {"xmin": x[0], "xmax": x[1], "ymin": y[0], "ymax": y[1]}
    return {**ends, "XN": points, "YN": points, "maxiter": maxiter, "horizon": 2.0}


def _bodies(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    n = size["N"]
    return {
        "mass": np.full(n, 20.0 / n),
        "places": generator.random((n, 3)),
        "velocities": generator.random((n, 3)),
    }


def _device(generator: np.random.Generator, size: Size) -> dict[str, Any]:
    na, nb, n3d, norb = size["NA"], size["NB"], size["N3D"], size["Norb"]
    neighbours = (np.arange(na)[:, None] + np.arange(nb) - nb // 2) % na
    return {
        "neighbours": neighbours,
        "dh": uniform_complex(generator, (na, nb, n3d, norb, norb)),
        "g": uniform_complex(generator, (size["Nkz"], size["NE"], na, norb, norb)),
        "d": uniform_complex(generator, (size["Nqz"], size["Nw"], na, nb, n3d, n3d)),
    }


_ITERATED = ("maxiter", "horizon")

KERNELS = (
    Kernel(
        "arc_distance",
        sizes({"N": 7}, {"N": 100_000}, {"N": 1_000_000}),
        uniform(theta1=("N",), phi1=("N",), theta2=("N",), phi2=("N",)),
        arc_distance,
        loops=loops.arc_distance,
    ),
    Kernel(
        "compute",
        sizes({"M": 5, "N": 6}, {"M": 2000, "N": 2000}, {"M": 5000, "N": 5000}),
        _compute_inputs,
        compute,
        loops=loops.compute,
    ),
    Kernel(
        "go_fast",
        sizes({"N": 6}, {"N": 2000}, {"N": 6000}),
        uniform(a=("N", "N")),
        go_fast,
        loops=loops.go_fast,
    ),
    Kernel(
        "mandelbrot1",
        sizes(
            _plane_size((-1.75, 0.25), (-1.0, 1.0), 9, 12),
            _plane_size((-1.75, 0.25), (-1.0, 1.0), 125, 60),
            _plane_size((-1.75, 0.25), (-1.0, 1.0), 250, 150),
        ),
        _plane,
        mandelbrot1,
        numpy_mandelbrot1,
        loops=loops.mandelbrot1,
        static=_ITERATED,
        chaotic_share=0.01,
    ),
    Kernel(
        "mandelbrot2",
        sizes(
            _plane_size((-2.0, 0.5), (-1.25, 1.25), 9, 12),
            _plane_size((-2.0, 0.5), (-1.25, 1.25), 200, 40),
            _plane_size((-2.0, 0.5), (-1.25, 1.25), 500, 80),
        ),
        _plane,
        mandelbrot2,
        numpy_mandelbrot2,
        loops=loops.mandelbrot2,
        static=_ITERATED,
        chaotic_share=0.01,
    ),
    Kernel(
        "nbody",
        sizes(
            {"N": 5, "steps": 4, "dt": 0.05},
            {"N": 25, "steps": 40, "dt": 0.05},
            # NPBench takes 250 steps, by when the last bits decide where the bodies are.
            {"N": 50, "steps": 100, "dt": 0.02},
        ),
        _bodies,
        nbody,
        numpy_nbody,
        static=("steps", "dt"),
    ),
    Kernel(
        "stockham_fft",
        sizes({"R": 2, "K": 4}, {"R": 2, "K": 15}, {"R": 2, "K": 18}),
        lambda generator, size: {"x": uniform_complex(generator, (size["R"] ** size["K"],))},
        stockham_fft,
        numpy_stockham_fft,
        jax_stockham_fft,
        static=("R", "K"),
    ),
    Kernel(
        "scattering_self_energies",
        sizes(
            {"Nkz": 2, "NE": 3, "Nqz": 2, "Nw": 2, "N3D": 2, "NA": 4, "NB": 2, "Norb": 2},
            {"Nkz": 2, "NE": 4, "Nqz": 2, "Nw": 2, "N3D": 2, "NA": 6, "NB": 2, "Norb": 3},
            {"Nkz": 3, "NE": 5, "Nqz": 3, "Nw": 2, "N3D": 2, "NA": 10, "NB": 3, "Norb": 4},
        ),
        _device,
        scattering_self_energies,
        numpy_scattering_self_energies,
        jax_scattering_self_energies,
        loops=loops.scattering_self_energies,
    ),
)
