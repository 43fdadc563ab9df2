"""The cavity of `flows` as loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np


def cavity_flow(u: Any, v: Any, p: Any, nt: int, nit: int) -> Any:
    ny, nx = u.shape
    dx, dy, dt = 2.0 / (nx - 1), 2.0 / (ny - 1), 0.1 / ((nx - 1) * (ny - 1))
    nu, rho = 0.1, 1.0
    dx2, dy2 = dx * dx, dy * dy
    u, v, p = u.copy(), v.copy(), p.copy()
    u_new, v_new, p_new, source = np.zeros_like(u), np.zeros_like(u), p.copy(), np.zeros_like(u)
    for _ in range(nt):
        for i in range(1, ny - 1):
            for j in range(1, nx - 1):
                u_x, u_y = (u[i, j + 1] - u[i, j - 1]) / (2 * dx), (u[i + 1, j] - u[i - 1, j]) / (2 * dy)
                v_x, v_y = (v[i, j + 1] - v[i, j - 1]) / (2 * dx), (v[i + 1, j] - v[i - 1, j]) / (2 * dy)
                source[i, j] = rho * ((u_x + v_y) / dt - u_x * u_x - 2 * u_y * v_x - v_y * v_y)
        for _ in range(nit):
            for i in range(1, ny - 1):
                for j in range(1, nx - 1):
                    near = (p[i, j + 1] + p[i, j - 1]) * dy2 + (p[i + 1, j] + p[i - 1, j]) * dx2
                    p_new[i, j] = (near - dx2 * dy2 * source[i, j]) / (2 * (dx2 + dy2))
            for i in range(ny):
                p_new[i, nx - 1] = p_new[i, nx - 2]
            for j in range(nx):
                p_new[0, j] = p_new[1, j]
            for i in range(ny):
                p_new[i, 0] = p_new[i, 1]
            for j in range(nx):
                p_new[ny - 1, j] = 0.0
            p, p_new = p_new, p
        for i in range(1, ny - 1):
            for j in range(1, nx - 1):
                a, b = u[i, j], v[i, j]
                u_there = a * (a - u[i, j - 1]) / dx + b * (a - u[i - 1, j]) / dy
                v_there = a * (b - v[i, j - 1]) / dx + b * (b - v[i - 1, j]) / dy
                u_spread = (u[i, j + 1] - 2 * a + u[i, j - 1]) / dx2 + (
                    u[i + 1, j] - 2 * a + u[i - 1, j]
                ) / dy2
                v_spread = (v[i, j + 1] - 2 * b + v[i, j - 1]) / dx2 + (
                    v[i + 1, j] - 2 * b + v[i - 1, j]
                ) / dy2
                u_slope, v_slope = (
                    (p[i, j + 1] - p[i, j - 1]) / (2 * dx),
                    (p[i + 1, j] - p[i - 1, j]) / (2 * dy),
                )
                u_new[i, j] = a + dt * (nu * u_spread - u_there - u_slope / rho)
                v_new[i, j] = b + dt * (nu * v_spread - v_there - v_slope / rho)
        u, u_new = u_new, u
        v, v_new = v_new, v
        for i in range(ny):
            u[i, 0], u[i, nx - 1], v[i, 0], v[i, nx - 1] = 0.0, 0.0, 0.0, 0.0
        for j in range(nx):
            u[0, j], u[ny - 1, j], v[0, j], v[ny - 1, j] = 0.0, 1.0, 0.0, 0.0
    return u, v, p
