"""Products of matrices and vectors: PolyBench's blas, and its statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import product_loops as loops
from .kernel import Kernel, sizes, uniform
from .sides import Side


def gemm(_: Side, alpha: Any, beta: Any, c: Any, a: Any, b: Any) -> Any:
    return alpha * (a @ b) + beta * c


def k2mm(_: Side, alpha: Any, beta: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return alpha * (a @ b) @ c + beta * d


def k3mm(_: Side, a: Any, b: Any, c: Any, d: Any) -> Any:
    return (a @ b) @ (c @ d)


def atax(_: Side, a: Any, x: Any) -> Any:
    return (a @ x) @ a


def bicg(_: Side, a: Any, p: Any, r: Any) -> Any:
    return r @ a, a @ p


def mvt(_: Side, x1: Any, x2: Any, y1: Any, y2: Any, a: Any) -> Any:
    return x1 + a @ y1, x2 + y2 @ a


def gesummv(_: Side, alpha: Any, beta: Any, a: Any, b: Any, x: Any) -> Any:
    return alpha * (a @ x) + beta * (b @ x)


def gemver(
    t: Side,
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
    a = a + t.np.outer(u1, v1) + t.np.outer(u2, v2)
    x = x + beta * (y @ a) + z
    return a, x, w + alpha * (a @ x)


def doitgen(_: Side, a: Any, c4: Any) -> Any:
    return a @ c4


def symm(t: Side, alpha: Any, beta: Any, c: Any, a: Any, b: Any) -> Any:
    # Of the symmetric matrix only the lower triangle is stored.
    whole = t.np.tril(a) + t.np.tril(a, k=-1).T
    return beta * c + alpha * (whole @ b)


def _lower_of(t: Side, new: Any, old: Any) -> Any:
    return t.np.tril(new) + t.np.triu(old, k=1)


def syrk(t: Side, alpha: Any, beta: Any, c: Any, a: Any) -> Any:
    return _lower_of(t, alpha * (a @ a.T) + beta * c, c)


def syr2k(t: Side, alpha: Any, beta: Any, c: Any, a: Any, b: Any) -> Any:
    return _lower_of(t, alpha * (a @ b.T + b @ a.T) + beta * c, c)


def trmm(t: Side, alpha: Any, a: Any, b: Any) -> Any:
    return alpha * (b + t.np.tril(a, k=-1).T @ b)


def covariance(t: Side, data: Any) -> Any:
    centered = data - t.np.mean(data, axis=0)
    return centered.T @ centered / (data.shape[0] - 1)


def numpy_cov(data: Any) -> Any:
    return np.cov(data.T)


def jax_cov(t: Side, data: Any) -> Any:
    return t.np.cov(data.T)


def correlation(t: Side, data: Any) -> Any:
    count, variables = data.shape
    deviation = t.np.std(data, axis=0)
    deviation = t.np.where(deviation <= 0.1, 1.0, deviation)
    scaled = (data - t.np.mean(data, axis=0)) / (count**0.5 * deviation)
    return t.np.where(t.np.eye(variables, dtype=bool), 1.0, scaled.T @ scaled)


_STATISTICS = sizes({"M": 7, "N": 9}, {"M": 500, "N": 600}, {"M": 1400, "N": 1800})
_TALL = sizes({"M": 7, "N": 9}, {"M": 4000, "N": 5000}, {"M": 10000, "N": 12500})

KERNELS = (
    Kernel(
        "gemm",
        sizes(
            {"NI": 5, "NJ": 6, "NK": 7},
            {"NI": 1000, "NJ": 1100, "NK": 1200},
            {"NI": 2500, "NJ": 2750, "NK": 3000},
        ),
        uniform(alpha=1.5, beta=1.2, C=("NI", "NJ"), A=("NI", "NK"), B=("NK", "NJ")),
        gemm,
    ),
    Kernel(
        "k2mm",
        sizes(
            {"NI": 5, "NJ": 6, "NK": 7, "NL": 8},
            {"NI": 800, "NJ": 850, "NK": 900, "NL": 950},
            {"NI": 2000, "NJ": 2250, "NK": 2500, "NL": 2750},
        ),
        uniform(alpha=1.5, beta=1.2, A=("NI", "NK"), B=("NK", "NJ"), C=("NJ", "NL"), D=("NI", "NL")),
        k2mm,
    ),
    Kernel(
        "k3mm",
        sizes(
            {"NI": 5, "NJ": 6, "NK": 7, "NL": 8, "NM": 9},
            {"NI": 800, "NJ": 850, "NK": 900, "NL": 950, "NM": 1000},
            {"NI": 2000, "NJ": 2200, "NK": 2400, "NL": 2600, "NM": 2800},
        ),
        uniform(A=("NI", "NK"), B=("NK", "NJ"), C=("NJ", "NM"), D=("NM", "NL")),
        k3mm,
    ),
    Kernel("atax", _TALL, uniform(A=("M", "N"), x=("N",)), atax, loops=loops.atax),
    Kernel("bicg", _TALL, uniform(A=("N", "M"), p=("M",), r=("N",)), bicg, loops=loops.bicg),
    Kernel(
        "mvt",
        sizes({"N": 7}, {"N": 5500}, {"N": 11000}),
        uniform(x1=("N",), x2=("N",), y1=("N",), y2=("N",), A=("N", "N")),
        mvt,
        loops=loops.mvt,
    ),
    Kernel(
        "gesummv",
        sizes({"N": 7}, {"N": 2000}, {"N": 4000}),
        uniform(alpha=1.5, beta=1.2, A=("N", "N"), B=("N", "N"), x=("N",)),
        gesummv,
        loops=loops.gesummv,
    ),
    Kernel(
        "gemver",
        sizes({"N": 7}, {"N": 1000}, {"N": 3000}),
        uniform(
            alpha=1.5,
            beta=1.2,
            A=("N", "N"),
            u1=("N",),
            v1=("N",),
            u2=("N",),
            v2=("N",),
            w=("N",),
            x=("N",),
            y=("N",),
            z=("N",),
        ),
        gemver,
        loops=loops.gemver,
    ),
    Kernel(
        "doitgen",
        sizes(
            {"NR": 3, "NQ": 4, "NP": 5},
            {"NR": 60, "NQ": 60, "NP": 128},
            {"NR": 110, "NQ": 125, "NP": 256},
        ),
        uniform(A=("NR", "NQ", "NP"), C4=("NP", "NP")),
        doitgen,
    ),
    Kernel(
        "symm",
        sizes({"M": 5, "N": 6}, {"M": 40, "N": 50}, {"M": 120, "N": 150}),
        uniform(alpha=1.5, beta=1.2, C=("M", "N"), A=("M", "M"), B=("M", "N")),
        symm,
        loops=loops.symm,
    ),
    Kernel(
        "syrk",
        sizes({"M": 5, "N": 6}, {"M": 50, "N": 70}, {"M": 150, "N": 200}),
        uniform(alpha=1.5, beta=1.2, C=("N", "N"), A=("N", "M")),
        syrk,
        loops=loops.syrk,
    ),
    Kernel(
        "syr2k",
        sizes({"M": 5, "N": 6}, {"M": 35, "N": 50}, {"M": 110, "N": 140}),
        uniform(alpha=1.5, beta=1.2, C=("N", "N"), A=("N", "M"), B=("N", "M")),
        syr2k,
        loops=loops.syr2k,
    ),
    Kernel(
        "trmm",
        sizes({"M": 5, "N": 6}, {"M": 65, "N": 80}, {"M": 200, "N": 250}),
        uniform(alpha=1.5, A=("M", "M"), B=("M", "N")),
        trmm,
        loops=loops.trmm,
    ),
    Kernel("covariance", _STATISTICS, uniform(data=("N", "M")), covariance),
    Kernel("covariance2", _STATISTICS, uniform(data=("N", "M")), covariance, numpy_cov, jax_cov),
    Kernel("correlation", _STATISTICS, uniform(data=("N", "M")), correlation),
)
