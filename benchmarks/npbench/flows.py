"""Flows of an incompressible fluid: the lid-driven cavity, and a channel that is periodic along x."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import flow_loops as loops
from .kernel import Array, Kernel, Size, sizes
from .sides import Side

_RHO, _NU, _FORCE = 1.0, 0.1, 1.0
_TOLERANCE = 1e-3
"""The channel's flow is steady when its sum grows by less than this share."""


class _Grid:
    """The equations on arrays of neighbours: what depends on where these are is the callers'."""

    def __init__(self, nx: int, ny: int) -> None:
        self.dx, self.dy = 2 / (nx - 1), 2 / (ny - 1)
        self.dt = 0.1 / ((nx - 1) * (ny - 1))

    def source(self, u: Any, v: Any) -> Any:
        """Returns the right side of Poisson's equation."""
        _, uw, ue, us, un = u
        _, vw, ve, vs, vn = v
        u_x, u_y = (ue - uw) / (2 * self.dx), (un - us) / (2 * self.dy)
        v_x, v_y = (ve - vw) / (2 * self.dx), (vn - vs) / (2 * self.dy)
        return _RHO * ((u_x + v_y) / self.dt - u_x * u_x - 2 * u_y * v_x - v_y * v_y)

    def pressure(self, p: Any, source: Any) -> Any:
        """Returns the next approximation of Jacobi's iteration."""
        _, west, east, south, north = p
        dx2, dy2 = self.dx**2, self.dy**2
        return ((east + west) * dy2 + (north + south) * dx2 - dx2 * dy2 * source) / (2 * (dx2 + dy2))

    def velocity(self, w: Any, u: Any, v: Any, slope: Any) -> Any:
        """Returns a component of the velocity one step later; `slope` is the pressure's, along it."""
        here, west, east, south, north = w
        advection = u * (here - west) / self.dx + v * (here - south) / self.dy
        diffusion = (east - 2 * here + west) / self.dx**2 + (north - 2 * here + south) / self.dy**2
        return here + self.dt * (_NU * diffusion - advection - slope / _RHO)


def _inner(x: Any) -> Any:
    """Returns the inner points, and their neighbours to the west, east, south and north."""
    return x[1:-1, 1:-1], x[1:-1, :-2], x[1:-1, 2:], x[:-2, 1:-1], x[2:, 1:-1]


def _periodic(xp: Any, x: Any) -> Any:
    """As `_inner`, where the first and the last column are neighbours."""
    here = x[1:-1]
    return here, xp.roll(here, 1, axis=1), xp.roll(here, -1, axis=1), x[:-2], x[2:]


def cavity_flow(t: Side, u: Any, v: Any, p: Any, *, nt: int, nit: int) -> Any:
    ny, nx = u.shape
    grid = _Grid(nx, ny)

    def walls(p: Any) -> Any:
        p = p.at[:, -1].set(p[:, -2])
        p = p.at[0].set(p[1])
        p = p.at[:, 0].set(p[:, 1])
        return p.at[-1].set(0.0)

    def step(_: Any, state: Any) -> Any:
        u, v, p = state
        near_u, near_v = _inner(u), _inner(v)
        source = grid.source(near_u, near_v)

        def iterate(_: Any, p: Any) -> Any:
            return walls(p.at[1:-1, 1:-1].set(grid.pressure(_inner(p), source)))

        p = t.fori_loop(0, nit, iterate, p)
        _, west, east, south, north = _inner(p)
        u_slope, v_slope = (east - west) / (2 * grid.dx), (north - south) / (2 * grid.dy)
        # The walls' velocity is 0, but for the lid's.
        u_inner = grid.velocity(near_u, near_u[0], near_v[0], u_slope)
        v_inner = grid.velocity(near_v, near_u[0], near_v[0], v_slope)
        zeros = t.np.zeros_like(u)
        return zeros.at[1:-1, 1:-1].set(u_inner).at[-1].set(1.0), zeros.at[1:-1, 1:-1].set(v_inner), p

    return t.fori_loop(0, nt, step, (u, v, p))


def numpy_cavity_flow(u: Array, v: Array, p: Array, *, nt: int, nit: int) -> Any:
    u, v, p = u.copy(), v.copy(), p.copy()
    ny, nx = u.shape
    grid = _Grid(nx, ny)
    for _ in range(nt):
        near_u, near_v = _inner(u), _inner(v)
        source = grid.source(near_u, near_v)
        for _ in range(nit):
            p[1:-1, 1:-1] = grid.pressure(_inner(p), source)
            p[:, -1] = p[:, -2]
            p[0] = p[1]
            p[:, 0] = p[:, 1]
            p[-1] = 0.0
        _, west, east, south, north = _inner(p)
        u_slope, v_slope = (east - west) / (2 * grid.dx), (north - south) / (2 * grid.dy)
        u_inner = grid.velocity(near_u, near_u[0], near_v[0], u_slope)
        v[1:-1, 1:-1] = grid.velocity(near_v, near_u[0], near_v[0], v_slope)
        u[1:-1, 1:-1] = u_inner
        u[0], u[:, 0], u[:, -1], u[-1] = 0.0, 0.0, 0.0, 1.0
        v[0], v[-1], v[:, 0], v[:, -1] = 0.0, 0.0, 0.0, 0.0
    return u, v, p


def channel_flow(t: Side, u: Any, v: Any, p: Any, *, nit: int) -> Any:
    ny, nx = u.shape
    grid = _Grid(nx, ny)

    def step(state: Any) -> Any:
        u, v, p, _, count = state
        near_u, near_v = _periodic(t.np, u), _periodic(t.np, v)
        source = grid.source(near_u, near_v)

        def iterate(_: Any, p: Any) -> Any:
            p = p.at[1:-1].set(grid.pressure(_periodic(t.np, p), source))
            return p.at[-1].set(p[-2]).at[0].set(p[1])

        p = t.fori_loop(0, nit, iterate, p)
        _, west, east, south, north = _periodic(t.np, p)
        u_slope, v_slope = (east - west) / (2 * grid.dx) - _FORCE * _RHO, (north - south) / (2 * grid.dy)
        wall = t.np.zeros((1, nx))
        u_inner = grid.velocity(near_u, near_u[0], near_v[0], u_slope)
        v_inner = grid.velocity(near_v, near_u[0], near_v[0], v_slope)
        u_new = t.np.concatenate([wall, u_inner, wall])
        total = t.np.sum(u_new)
        growth = (total - t.np.sum(u)) / total
        return u_new, t.np.concatenate([wall, v_inner, wall]), p, growth, count + 1

    one = t.np.ones_like(u[0, 0])
    u, v, p, _, count = t.while_loop(lambda state: state[3] > _TOLERANCE, step, (u, v, p, one, 0))
    return u, v, p, count


def numpy_channel_flow(u: Array, v: Array, p: Array, *, nit: int) -> Any:
    u, v, p = u.copy(), v.copy(), p.copy()
    ny, nx = u.shape
    grid = _Grid(nx, ny)
    growth, count = 1.0, 0
    while growth > _TOLERANCE:
        near_u, near_v = _periodic(np, u), _periodic(np, v)
        before = np.sum(u)
        source = grid.source(near_u, near_v)
        for _ in range(nit):
            p[1:-1] = grid.pressure(_periodic(np, p), source)
            p[-1], p[0] = p[-2], p[1]
        _, west, east, south, north = _periodic(np, p)
        u_slope, v_slope = (east - west) / (2 * grid.dx) - _FORCE * _RHO, (north - south) / (2 * grid.dy)
        u_inner = grid.velocity(near_u, near_u[0], near_v[0], u_slope)
        v[1:-1] = grid.velocity(near_v, near_u[0], near_v[0], v_slope)
        u[1:-1] = u_inner
        u[0], u[-1], v[0], v[-1] = 0.0, 0.0, 0.0, 0.0
        growth, count = (np.sum(u) - before) / np.sum(u), count + 1
    return u, v, p, np.int64(count)


def _cavity_inputs(_: Any, size: Size) -> dict[str, Any]:
    return {name: np.zeros((size["ny"], size["nx"])) for name in ("u", "v", "p")}


def _channel_inputs(_: Any, size: Size) -> dict[str, Any]:
    return _cavity_inputs(_, size) | {"p": np.ones((size["ny"], size["nx"]))}


KERNELS = (
    Kernel(
        "cavity_flow",
        sizes(
            {"ny": 7, "nx": 6, "nt": 3, "nit": 2},
            {"ny": 61, "nx": 61, "nt": 25, "nit": 5},
            {"ny": 121, "nx": 121, "nt": 50, "nit": 10},
        ),
        _cavity_inputs,
        cavity_flow,
        numpy_cavity_flow,
        loops=loops.cavity_flow,
        static=("nt", "nit"),
    ),
    Kernel(
        "channel_flow",
        sizes(
            {"ny": 7, "nx": 6, "nit": 2},
            {"ny": 61, "nx": 61, "nit": 5},
            {"ny": 121, "nx": 121, "nit": 10},
        ),
        _channel_inputs,
        channel_flow,
        numpy_channel_flow,
        static=("nit",),
    ),
)
