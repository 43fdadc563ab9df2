"""What a rank sends, counted in its program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ..element_types import NBYTES, element_type_of
from ..graph import (
    AllGatherOp,
    AllReduceOp,
    AllToAllOp,
    CollectiveOp,
    CollectivePermuteOp,
    ReduceScatterOp,
    ScanOp,
    WhileOp,
)
from ..graph.types import shape_of, tensor_type_of


@dataclass(frozen=True)
class Traffic:
    """
    What one collective sends from a rank: how often it runs, None where a `graph.while` decides, and the
    bytes of each time. Of a reduction, a gather and an exchange of all with all these are the fewest that any
    algorithm sends from a rank on average.
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
    count = prod(op.group_parts)
    match op:
        case AllReduceOp():
            return 2 * _nbytes(op.source) * (count - 1) / count
        case ReduceScatterOp():
            return _nbytes(op.source) - _nbytes(op.result)
        case AllGatherOp():
            return _nbytes(op.source) * (count - 1)
        case AllToAllOp():
            dim = op.split_dim.data
            kept = tensor_type_of(op.result, op.name).get_shape()[dim]
            return _nbytes(op.source) * (1 - kept / tensor_type_of(op.source, op.name).get_shape()[dim])
        case CollectivePermuteOp():
            member = op.member
            is_sent = any(source == member != target for source, target in op.pairs.data)
            return _nbytes(op.source) if is_sent else 0
        case _:
            raise AssertionError(f"{op.name}: nothing says what it sends")


def _nbytes(value: SSAValue) -> int:
    """Returns the bytes of a value, extents that are not known counted as one."""
    shape = shape_of(tensor_type_of(value, "traffic"))
    elements = prod(extent for extent in shape if isinstance(extent, int) and extent >= 0)
    return elements * NBYTES[element_type_of(value.type)]
