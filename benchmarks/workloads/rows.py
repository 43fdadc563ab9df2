"""Elementwise work and work on rows, of a middling width and as wide as a vocabulary."""

from .workload import Workload

GOAL, MEAN_GOAL = 1.2, 1.5
"""The least ratio of each, and of their geometric mean."""


def _row_work(kind: str, rows: int, columns: int) -> Workload:
    shapes: dict[str, tuple[int, ...]] = {"x": (rows, columns)}
    if kind in ("layernorm", "rmsnorm"):
        shapes["gamma"] = (columns,)
    if kind == "layernorm":
        shapes["beta"] = (columns,)
    result = (rows,) if kind == "logsumexp" else (rows, columns)
    return Workload(f"{kind} {rows}x{columns}", "rows", kind, shapes, result, GOAL)


ROWS = tuple(
    _row_work(kind, rows, columns)
    for kind in ("gelu", "softmax", "layernorm", "rmsnorm", "logsumexp")
    for rows, columns in ((4096, 1024), (128, 50257))
)
