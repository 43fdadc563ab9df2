"""Finds accesses to shared memory that lack a barrier."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from ....semantics.errors import InterpreterError, describe
from ....semantics.numpy_types import Array
from .masked_control import Mask

NOBODY, SEVERAL = -1, -2
"""What stands in a log of who used an element where that is no single work-item."""


class AccessLog(Protocol):
    """
    What is told of the accesses to a buffer. Each of them raises InterpreterError if it races with another.
    """

    def forget(self, mask: Mask | None) -> None:
        """A barrier for the work-groups of the active work-items."""
        ...

    def read(self, op: Operation, index: Array, mask: Mask | None, lanes: int) -> None: ...

    def write(self, op: Operation, index: Array, mask: Mask | None, lanes: int) -> None: ...

    def update(self, op: Operation, index: Array, mask: Mask | None) -> None:
        """A `low.atomic_rmw`, which races with loads and stores, and not with others like it."""
        ...


def note(log: Array, place: tuple[Array, ...], items: Array) -> None:
    """Adds `items` to those that used the elements at `place`."""
    others = (log[place] != NOBODY) & (log[place] != items)
    log[place] = items
    shared = others | (log[place] != items)
    log[tuple(np.broadcast_to(part, shared.shape)[shared] for part in place)] = SEVERAL


def elements_of(
    index: Array, mask: Mask | None, lanes: int, items: Array, groups: Array
) -> tuple[Array, ...]:
    """
    Returns the elements that each active work-item uses, a row for each, with the numbers of it and of its
    work-group for each element.
    """
    index = np.broadcast_to(index, items.shape)
    if mask is not None:
        index, items, groups = index[mask], items[mask], groups[mask]
    elements = index[:, None] + np.arange(lanes)
    return elements, *(np.broadcast_to(each[:, None], elements.shape) for each in (items, groups))


class SharedAccessLog(AccessLog):
    """
    Who read, wrote and updated each element of one shared buffer since its work-group's last barrier.

    The interpreter runs work-items in step, so that a missing barrier would not show in its results; on a
    device it is a race. Work-items are numbered across all work-groups at hand, `threads` to a work-group.
    """

    __slots__ = ("_groups", "_items", "_readers", "_updaters", "_writers")

    def __init__(self, groups: npt.NDArray[np.int64], size: int):
        self._items = np.arange(len(groups))
        self._groups = groups
        n_groups = int(groups[-1]) + 1
        self._readers = np.full((n_groups, size), NOBODY, np.int64)
        self._writers = np.full((n_groups, size), NOBODY, np.int64)
        self._updaters = np.full((n_groups, size), NOBODY, np.int64)

    def forget(self, mask: Mask | None) -> None:
        """A barrier for the work-groups of the active work-items."""
        groups = slice(None) if mask is None else self._groups[mask]
        self._readers[groups] = NOBODY
        self._writers[groups] = NOBODY
        self._updaters[groups] = NOBODY

    def read(self, op: Operation, index: Array, mask: Mask | None, lanes: int) -> None:
        """Raises InterpreterError if another work-item changed an element since the last barrier."""
        place, items = self._place(index, mask, lanes)
        self._check(op, "reads", "wrote", place, items, self._writers)
        self._check(op, "reads", "updated", place, items, self._updaters)
        note(self._readers, place, items)

    def write(self, op: Operation, index: Array, mask: Mask | None, lanes: int) -> None:
        """Raises InterpreterError if another work-item used an element since the last barrier."""
        place, items = self._place(index, mask, lanes)
        self._check(op, "writes", "read", place, items, self._readers)
        self._check(op, "writes", "wrote", place, items, self._writers)
        self._check(op, "writes", "updated", place, items, self._updaters)
        note(self._writers, place, items)

    def update(self, op: Operation, index: Array, mask: Mask | None) -> None:
        """Raises InterpreterError if another work-item read or wrote an element since the last barrier."""
        place, items = self._place(index, mask, 1)
        self._check(op, "updates", "read", place, items, self._readers)
        self._check(op, "updates", "wrote", place, items, self._writers)
        note(self._updaters, place, items)

    def _place(self, index: Array, mask: Mask | None, lanes: int) -> tuple[tuple[Array, Array], Array]:
        elements, items, groups = elements_of(index, mask, lanes, self._items, self._groups)
        return (groups, elements), items

    def _check(
        self, op: Operation, does: str, did: str, place: tuple[Array, Array], items: Array, log: Array
    ) -> None:
        before = log[place]
        conflicts = (before != NOBODY) & (before != items)
        if conflicts.any():
            at = int(place[1][conflicts][0])
            raise InterpreterError(
                f"{describe(op)}: {does} shared element {at}, "
                f"which another work-item {did} since the last barrier"
            )
