"""What a rank sends, counted in its program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ..dialects.element_types import NBYTES, element_type_of
from ..dialects.graph import CollectiveOp, ScanOp, WhileOp
from ..dialects.graph.types import shape_of, tensor_type_of
from .collectives import collective_of


@dataclass(frozen=True)
class Traffic:
    """
    What one collective sends from a rank: how often it runs, None where a `graph.while` decides, and the
    bytes of each time, as `Collective.sent_nbytes` counts them.
    """

    op: CollectiveOp
    times: int | None
    nbytes: float

    @property
    def kind(self) -> str:
        return self.op.name.removeprefix("graph.")


def traffic_of(module: ModuleOp) -> list[Traffic]:
    """Returns what the program of a rank sends, in the order of its text."""
    return [Traffic(op, _times(op), _sent(op)) for op in module.walk() if isinstance(op, CollectiveOp)]


def sent_nbytes(module: ModuleOp) -> float:
    """Returns the bytes that the program of a rank sends in all; what is in a `graph.while` counts once."""
    return sum(each.nbytes * (1 if each.times is None else each.times) for each in traffic_of(module))


def _times(op: Operation) -> int | None:
    times = 1
    for around in _around(op):
        if isinstance(around, WhileOp):
            return None
        if isinstance(around, ScanOp):
            if not isinstance(around.trip_count, int):
                return None
            times *= around.trip_count
    return times


def _around(op: Operation) -> Iterator[Operation]:
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def _sent(op: CollectiveOp) -> float:
    """Extents that are not known count as one."""
    shapes = [
        [extent if isinstance(extent, int) and extent >= 0 else 1 for extent in shape_of(type)]
        for type in (tensor_type_of(value, op.name) for value in (op.source, op.result))
    ]
    return collective_of(op).sent_nbytes(shapes[0], shapes[1], NBYTES[element_type_of(op.source.type)])
