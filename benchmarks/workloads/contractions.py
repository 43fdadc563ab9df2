"""Products of matrices: square, transposed, odd, batched, skinny, with an epilogue."""

from .workload import Workload


def _matmul(m: int, n: int, k: int, name: str = "", kind: str = "matmul", goal: float = 1.0) -> Workload:
    a = (k, m) if kind == "matmul_tn" else (m, k)
    b = (n, k) if kind == "matmul_nt" else (k, n)
    size = str(m) if m == n == k else f"{m}x{n}x{k}"
    return Workload(name or f"matmul {size}", "matmul", kind, {"a": a, "b": b}, (m, n), goal, 2 * m * n * k)


def _skinny(m: int, constants: tuple[str, ...] = (), goal: float = 1.0) -> Workload:
    n = k = 1024
    name = f"matmul {m}x{n}x{k}" + (", constant weights" if constants else "")
    shapes = {"a": (m, k), "b": (k, n)}
    return Workload(name, "skinny", "matmul", shapes, (m, n), goal, 2 * m * n * k, constants=constants)


_BATCHED = Workload(
    "batched 96 x 128x64x128",
    "matmul",
    "matmul",
    {"a": (96, 128, 128), "b": (96, 128, 64)},
    (96, 128, 64),
    1.0,
    2 * 96 * 128 * 64 * 128,
)

_BIAS_GELU = Workload(
    "matmul 1024 + bias + gelu",
    "matmul",
    "matmul_bias_gelu",
    {"a": (1024, 1024), "b": (1024, 1024), "bias": (1024,)},
    (1024, 1024),
    1.0,
    2 * 1024**3,
)

CONTRACTIONS = (
    *(_matmul(n, n, n) for n in (64, 128, 256, 512, 1024, 2048)),
    _matmul(4096, 1024, 1024),
    _matmul(1024, 1024, 1024, "matmul 1024, A^T B", "matmul_tn"),
    _matmul(1024, 1024, 1024, "matmul 1024, A B^T", "matmul_nt"),
    _matmul(257, 257, 257),
    _matmul(1000, 999, 1001),
    _BIAS_GELU,
    _BATCHED,
    _skinny(1),
    _skinny(8),
    _skinny(8, ("b",), 1.4),
)
