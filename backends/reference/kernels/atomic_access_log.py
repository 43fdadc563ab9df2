"""Finds plain accesses to what other work-items of a kernel combine by `low.atomic_rmw`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from ....semantics.errors import InterpreterError, describe
from ....semantics.numpy_types import Array
from .masked_control import Mask
from .shared_access_log import NOBODY, SEVERAL, AccessLog, elements_of, note

Numbers = npt.NDArray[np.int64]


class _Users:
    """Who used each element in one way: the work-item since its last barrier, and the work-group ever."""

    __slots__ = ("groups", "items")

    def __init__(self, size: int) -> None:
        self.items = np.full(size, NOBODY, np.int64)
        self.groups = np.full(size, NOBODY, np.int64)

    def has_others(self, elements: Array, items: Array, groups: Array) -> Array:
        """Returns where there is another work-item, or group, than the one that is named."""
        others = np.zeros(elements.shape, np.bool_)
        for log, mine in ((self.items, items), (self.groups, groups)):
            before = log[elements]
            others |= (before != NOBODY) & (before != mine)
        return others

    def note(self, elements: Array, items: Array, groups: Array) -> None:
        note(self.items, (elements,), items)
        note(self.groups, (elements,), groups)

    def forget(self, groups: Numbers) -> None:
        """A barrier orders the accesses of a work-group; those of several groups stay in the groups' log."""
        self.items[np.isin(self.groups, [*np.unique(groups), SEVERAL])] = NOBODY


class AtomicAccessLog(AccessLog):
    """
    Who used each element of an argument by `low.atomic_rmw`, and who otherwise.

    The work-items of all groups see an argument, and only those of one group wait for one another. Groups run
    in pieces: `begin` says which are next.
    """

    __slots__ = ("_atomic", "_groups", "_items", "_plain")

    def __init__(self, size: int) -> None:
        self._plain, self._atomic = _Users(size), _Users(size)
        self._items = self._groups = np.zeros(0, np.int64)

    def begin(self, groups: Numbers, first_item: int) -> None:
        """Is told the work-group of each work-item that runs next, and the number of the first of these."""
        self._groups = groups
        self._items = first_item + np.arange(len(groups))

    def forget(self, mask: Mask | None) -> None:
        groups = self._groups if mask is None else self._groups[mask]
        self._plain.forget(groups)
        self._atomic.forget(groups)

    def read(self, op: Operation, index: Array, mask: Mask | None, lanes: int) -> None:
        self._use(op, "reads", index, mask, lanes)

    def write(self, op: Operation, index: Array, mask: Mask | None, lanes: int) -> None:
        self._use(op, "writes", index, mask, lanes)

    def update(self, op: Operation, index: Array, mask: Mask | None) -> None:
        self._use(op, "updates", index, mask, 1)

    def _use(self, op: Operation, does: str, index: Array, mask: Mask | None, lanes: int) -> None:
        elements, items, groups = elements_of(index, mask, lanes, self._items, self._groups)
        is_update = does == "updates"
        mine, theirs = (self._atomic, self._plain) if is_update else (self._plain, self._atomic)
        conflicts = theirs.has_others(elements, items, groups)
        if conflicts.any():
            did = "loads or stores" if is_update else "updates"
            raise InterpreterError(
                f"{describe(op)}: {does} element {int(elements[conflicts][0])}, "
                f"which another work-item {did} without a barrier between them"
            )
        mine.note(elements, items, groups)
