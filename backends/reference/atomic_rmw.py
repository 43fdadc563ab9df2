"""Runs `low.atomic_rmw` for all work-items at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from ...dialects import low
from ...dialects.low.atomic_rmw import AtomicRmwKind
from ...semantics import numerics
from ...semantics.numpy_types import Array
from .tile_fma import Run

Combine = Callable[[Array, Array], Array]
"""What an element becomes, of the element and the value."""

_COMBINE: dict[AtomicRmwKind, Combine] = {
    AtomicRmwKind.ADDF: numerics.add,
    AtomicRmwKind.MULF: numerics.multiply,
    AtomicRmwKind.MAXIMUMF: numerics.maximum,
    AtomicRmwKind.MINIMUMF: numerics.minimum,
    AtomicRmwKind.ADDI: numerics.on_signed(np.add),
    AtomicRmwKind.MULI: numerics.on_signed(np.multiply),
    AtomicRmwKind.MAXS: numerics.on_signed(np.maximum),
    AtomicRmwKind.MINS: numerics.on_signed(np.minimum),
    AtomicRmwKind.MAXU: numerics.on_unsigned(np.maximum),
    AtomicRmwKind.MINU: numerics.on_unsigned(np.minimum),
    AtomicRmwKind.ANDI: np.bitwise_and,
    AtomicRmwKind.ORI: np.bitwise_or,
    AtomicRmwKind.XORI: np.bitwise_xor,
    AtomicRmwKind.ASSIGN: lambda element, value: value,
}


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
