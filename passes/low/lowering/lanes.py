"""Axes whose iterations run side by side, and values of which there is one for every such iteration."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

from xdsl.ir import SSAValue

from ...indices.analysis import Loop
from ...indices.expressions import Axis, IndexExpr
from ...indices.lanes import LOADED_STRIDES
from .illegal_mapping import refuse_mapping

Lanes = tuple[int, ...]
"""A combination of iterations of some unrolled axes: for each its number, from 0 to below `unroll`."""


@dataclass(frozen=True, slots=True)
class LaneAxis:
    """
    An axis whose iterations run side by side: `vector` lanes, `unroll` times. Between those vectors lie those
    of the other work-items, if `items` share the axis.
    """

    axis: Axis
    vector: int
    unroll: int
    items: int = 1

    @property
    def step(self) -> int:
        return self.vector * self.unroll


@dataclass(frozen=True, slots=True)
class LanedValue:
    """
    A scalar of the `sched` kernel: one value for every combination of the unrolled axes it depends on, each a
    vector if it depends on the vector axis.
    """

    axes: tuple[Axis, ...]
    values: dict[Lanes, SSAValue]
    is_vector: bool

    @staticmethod
    def of(active: Sequence[LaneAxis], values: dict[Lanes, SSAValue], is_vector: bool) -> LanedValue:
        return LanedValue(tuple(lane.axis for lane in active), values, is_vector)

    def pick(self, active: Sequence[LaneAxis], lanes: Lanes) -> SSAValue:
        """Returns the value for one combination of lanes of `active`, which has all that it depends on."""
        by_axis = {lane.axis: number for lane, number in zip(active, lanes, strict=True)}
        return self.values[tuple(by_axis[axis] for axis in self.axes)]


class LaneNest:
    """The axes that run in lanes around the code being lowered, outermost first."""

    __slots__ = ("axes",)

    def __init__(self) -> None:
        self.axes: list[LaneAxis] = []

    def active(self, axes: Collection[Axis]) -> tuple[LaneAxis, ...]:
        """Returns those that are among `axes`."""
        return tuple(lane for lane in self.axes if lane.axis in axes)

    @property
    def vector_axis(self) -> LaneAxis | None:
        return next((lane for lane in self.axes if lane.vector > 1), None)

    @property
    def width(self) -> int:
        """The lanes of the vector axis, which there must be."""
        axis = self.vector_axis
        assert axis is not None, "a vector outside of all vector axes"
        return axis.vector

    @contextmanager
    def within(self, lanes: LaneAxis | None) -> Generator[None, None, None]:
        """Code that is lowered meanwhile is inside of `lanes`, if that is not None."""
        if lanes is None:
            yield
            return
        self.axes.append(lanes)
        yield
        self.axes.pop()

    def check_vector(self, op: Loop) -> None:
        """Raises PassFailedException if `op` is to be a vector inside of one."""
        around = self.vector_axis
        if op.mapping.vector.data > 1 and around is not None:
            refuse_mapping(op, f"axis %{around.axis.hint} around it is a vector")


def turning_axis(nest: LaneNest, address: IndexExpr) -> LaneAxis | None:
    """
    Returns the unrolled axis along which the elements at `address` are neighbours, where they are not along
    the vector axis and both have as many iterations at once: the two may change places by a transposition.
    """
    columns = nest.vector_axis
    if columns is None or columns.unroll != 1 or address.stride(columns.axis) in LOADED_STRIDES:
        return None
    if not isinstance(address.stride(columns.axis), int):
        return None
    return next(
        (
            lane
            for lane in nest.axes
            if lane.vector == 1 and lane.unroll == columns.vector and address.stride(lane.axis) == 1
        ),
        None,
    )


def lane_sets(active: Sequence[LaneAxis]) -> list[Lanes]:
    """Returns every combination of lanes of `active`, the last axis fastest."""
    return list(product(*(range(lane.unroll) for lane in active)))


def lane_offsets(active: Sequence[LaneAxis], lanes: Lanes) -> dict[Axis, int]:
    """Returns how far each axis is ahead of the first iteration in one combination of lanes."""
    return {lane.axis: number * lane.vector * lane.items for lane, number in zip(active, lanes, strict=True)}
