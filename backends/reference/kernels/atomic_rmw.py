"""Runs `low.atomic_rmw` for all work-items at once."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from ....dialects import low
from ....dialects.low.atomic_rmw import AtomicRmwKind
from ....dialects.low.combining import ATOMICS
from ....semantics.numpy_types import Array
from .scalars import FUNCTIONS, Function
from .tile_fma import Run


def _assign(element: Array, value: Array) -> Array:
    return value


_COMBINE: dict[AtomicRmwKind, Function] = {
    **{kind: FUNCTIONS[op] for kind, op in ATOMICS.items()},
    AtomicRmwKind.ASSIGN: _assign,
}
"""What an element becomes, of the element and the value."""


def run_atomic_rmw(op: Operation) -> Callable[[Run], None]:
    """Returns what runs `op`. Work-items come in the order of their numbers, which is one of the possible."""
    assert isinstance(op, low.AtomicRmwOp)
    value, buffer, index, result = op.value, op.buffer, op.index, op.result
    combine = _COMBINE[op.kind.data]

    def step(run: Run) -> None:
        values = run.values
        values[result] = run.memories[buffer].update(
            op, combine, values[value], values[index], run.mask, run.n_items
        )

    return step
