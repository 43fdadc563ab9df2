"""The memory that a `low` kernel loads from and stores to, seen by all work-items at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from ....semantics.errors import InterpreterError, describe
from ....semantics.numpy_types import Array, strided_view
from .masked_control import Mask
from .shared_access_log import AccessLog

Rows = npt.NDArray[np.int64]


class KernelMemory:
    """
    A buffer. Where work-items have copies of their own, `array` has a row for each copy and `rows` says which
    row a work-item sees; else `array` is one-dimensional and `rows` is None.

    An index is 0-d where it is the same for all work-items, else an array of one index per work-item; so is a
    loaded or stored value, with one more dim of `lanes` for vectors. Under a `mask` only the work-items that
    it names take part; some do.
    """

    __slots__ = ("_views", "array", "is_private", "log", "rows", "size")

    def __init__(
        self,
        array: Array,
        rows: Rows | None = None,
        *,
        is_private: bool = False,
        log: AccessLog | None = None,
    ):
        self.array = array
        self.is_private = is_private
        self.rows = rows
        self.size: int = array.shape[-1]
        self.log = log
        self._views: dict[int, Array] = {}

    def load(self, op: Operation, index: Array, mask: Mask | None, lanes: int | None) -> Array:
        """
        Returns what work-items read; what an inactive work-item gets is left open.

        Raises InterpreterError if an active work-item reads outside, or what another wrote since the last
        barrier.
        """
        self._check(op, index, mask, lanes or 1)
        if self.log is not None:
            self.log.read(op, index, mask, lanes or 1)
        if mask is not None and index.ndim:
            index = np.where(mask, index, 0)
        place = index if self.rows is None else (self.rows, index)
        if lanes is None:
            return self.array[place]
        loaded = self._vectors(lanes)[place]
        return loaded if index.ndim or self.rows is not None else loaded.copy()

    def gather(self, op: Operation, index: Array, offsets: npt.NDArray[np.int64], mask: Mask | None) -> Array:
        """
        Returns the elements that many after `index`: an array of the shape of `offsets`, which has elements,
        with a leading dim where work-items differ. Raises InterpreterError as `load` does.
        """
        low, high = offsets.min(), offsets.max()
        for edge in (low, high):
            self._check(op, np.asarray(index + edge), mask, 1)
        if self.log is not None:
            for offset in np.unique(offsets):
                self.log.read(op, np.asarray(index + offset), mask, 1)
        if mask is not None and index.ndim:
            index = np.where(mask, index, -low)
        places = index.reshape(index.shape + (1,) * offsets.ndim) + offsets
        if self.rows is None:
            return self.array[places]
        return self.array[self.rows.reshape(-1, *(1,) * offsets.ndim), places]

    def store(
        self,
        op: Operation,
        value: Array,
        index: Array,
        mask: Mask | None,
        lanes: int | None,
        check_races: bool,
    ) -> None:
        """
        Writes what active work-items store.

        Raises InterpreterError if an active work-item writes outside or to read-only memory, or what another
        touched since the last barrier, or (if `check_races`) if two write different values to one element.
        """
        self._check(op, index, mask, lanes or 1)
        if not self.array.flags.writeable:
            raise InterpreterError(f"{describe(op)}: the buffer is read-only")
        if self.log is not None:
            self.log.write(op, index, mask, lanes or 1)
        is_varying = value.ndim > (lanes is not None)
        rows = self.rows
        if mask is not None:
            index = index[mask] if index.ndim else index
            value = value[mask] if is_varying else value
            rows = rows[mask] if rows is not None else None
        target = self.array if lanes is None else self._vectors(lanes)
        if rows is None and not index.ndim and is_varying:
            index = np.broadcast_to(index, value.shape[:1])
        place = index if rows is None else (rows, index)
        target[place] = value
        if check_races and is_varying and not self.is_private:
            self._check_stored(op, target[place], value, index)

    def update(
        self,
        op: Operation,
        combine: Callable[[Array, Array], Array],
        value: Array,
        index: Array,
        mask: Mask | None,
        n_items: int,
    ) -> Array:
        """
        Combines elements with the values of active work-items, one work-item after the other. Returns what
        each of them found; what an inactive one gets is left open.

        Raises InterpreterError if an active work-item is outside or in read-only memory, or in a race with
        one that loads or stores.
        """
        self._check(op, index, mask, 1)
        if not self.array.flags.writeable:
            raise InterpreterError(f"{describe(op)}: the buffer is read-only")
        if self.log is not None:
            self.log.update(op, index, mask)
        items = np.arange(n_items) if mask is None else np.flatnonzero(mask)
        places = np.broadcast_to(index, (n_items,))[items]
        if self.rows is not None:
            places = places + self.rows[items] * self.size
        wanted = np.broadcast_to(value, (n_items,))[items]
        elements = self.array.reshape(-1)
        found = np.zeros(n_items, elements.dtype)
        for turn in _turns(places):
            found[items[turn]] = elements[places[turn]]
            elements[places[turn]] = combine(elements[places[turn]], wanted[turn])
        return found if n_items > 1 else found[0]

    def _check_stored(self, op: Operation, found: Array, stored: Array, index: Array) -> None:
        differ = found != stored
        if stored.dtype.kind not in "iu":
            differ &= (found == found) | (stored == stored)
        if differ.any():
            where = np.argwhere(differ)[0]
            at = int(np.broadcast_to(index, stored.shape[:1])[where[0]]) + int(where[1:].sum())
            raise InterpreterError(
                f"{describe(op)}: work-items race to store different values at index {at} "
                f"({stored[tuple(where)]} and {found[tuple(where)]})"
            )

    def _check(self, op: Operation, index: Array, mask: Mask | None, lanes: int) -> None:
        last = self.size - lanes
        if not index.ndim:
            if 0 <= index <= last:
                return
            wrong = int(index)
        else:
            used = index if mask is None else index[mask]
            if not used.size or (used.min() >= 0 and used.max() <= last):
                return
            wrong = int(used[(used < 0) | (used > last)][0])
        read = f"index {wrong}" if lanes == 1 else f"{lanes} elements from index {wrong}"
        raise InterpreterError(f"{describe(op)}: {read} out of bounds of {self.size} elements")

    def _vectors(self, lanes: int) -> Array:
        """A view whose last dim are the `lanes` elements from each index on."""
        view = self._views.get(lanes)
        if view is None:
            *outer, stride = self.array.strides
            shape = (*self.array.shape[:-1], self.size - lanes + 1, lanes)
            view = strided_view(self.array, shape, (*outer, stride, stride))
            self._views[lanes] = view
        return view


def _turns(places: Array) -> list[Array]:
    """Returns the positions of all `places`, of which there are some: of equal ones, each in a later turn."""
    order = np.argsort(places, kind="stable")
    is_first = np.concatenate([[True], np.diff(places[order]) != 0])
    starts = np.flatnonzero(is_first)
    turns = np.empty(len(places), np.int64)
    turns[order] = np.arange(len(places)) - starts[np.cumsum(is_first) - 1]
    return np.split(np.argsort(turns, kind="stable"), np.cumsum(np.bincount(turns))[:-1])
