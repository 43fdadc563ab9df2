"""The host's copy of a tensor node's values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index as as_index
from threading import RLock
from typing import Any, Protocol
from weakref import proxy

import numpy as np
import numpy.typing as npt

from ...dialects import memory_modes as modes
from ...errors import MemoryModeError, TenonError
from .host_array import converted
from .host_preparation import HostPreparation
from .lazy import Lazy
from .padding import Padding
from .tensor_node_memory import TensorNodeMemory


class _Node(Protocol):
    @property
    def debug_name(self) -> str: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def padding(self) -> Padding | None: ...

    @property
    def memory(self) -> TensorNodeMemory: ...


class TensorNodeHost:
    """
    The host's copy of a tensor node, if that is hosted, kept in step with devices lazily: whoever changes the
    node on a device says how to fetch its values (`prepare_read`), whoever reads the host's copy says what to
    wait for before it is changed (`prepare_write`).

    Any thread may call any method. `do_read`, `do_write` and the methods that get and set values hold
    `host_lock` while they wait for devices and transfer: work that devices do, and whoever holds what such
    work needs, must call none of these. `array` itself is not guarded. Lives as long as its node, whose lock
    it takes.
    """

    __slots__ = (
        "_array",
        "_lock",
        "_node",
        "_prepare_read",
        "_prepare_write",
        "devices_not_lagging_host",
        "host_lock",
        "host_version",
        "is_initialized",
    )

    def __init__(self, node: _Node, lock: RLock, array: Lazy[Any, npt.NDArray[Any] | None]) -> None:
        self._node: _Node = proxy(node)
        self._lock = lock
        self._array = array
        self.host_lock = RLock()
        self._prepare_read: HostPreparation | None = None
        self._prepare_write: HostPreparation | None = None
        self.is_initialized = False
        """Whether the host's copy ever got values: from an array, by `do_write`, or from a device."""
        self.devices_not_lagging_host: frozenset[int] = frozenset()
        """The ids of the devices that have the host's last change, or computed the last change themselves."""
        self.host_version = 0
        """How often the host has changed its copy, by `do_write`."""

    @property
    def array(self) -> npt.NDArray[Any] | None:
        """
        The host's array itself, with padding, C-contiguous; None if the node is not hosted, which is decided
        now if it was open. Neither waits for devices nor tells them: call `do_read` before reading it,
        `do_write` before changing it.
        """
        return self._array.force(self._node, self._lock)

    @property
    def has_array(self) -> bool:
        """Whether the host has an array by now: it is made when it is first needed. Decides nothing."""
        return self._array.is_forced and self.array is not None

    @property
    def size_text(self) -> str:
        """What the host has, for people. Decides nothing."""
        if not self._array.is_forced:
            return "no array on the host yet"
        array = self.array
        return "not on the host" if array is None else f"{array.nbytes:,} bytes on the host"

    def add_device_not_lagging_host(self, device_id: int) -> None:
        """
        Notes that a device has, or computed, the latest values. Call it before the host's array is sent: if
        the host changes it meanwhile, the device lags again.
        """
        with self._lock:
            self.devices_not_lagging_host |= {device_id}

    def discard_device_not_lagging_host(self, device_id: int) -> None:
        """Notes that a device may not have the latest values, as after a transfer that failed."""
        with self._lock:
            self.devices_not_lagging_host -= {device_id}

    def _note_all_devices_lag(self) -> None:
        with self._lock:
            self.devices_not_lagging_host = frozenset()
            self.host_version += 1

    def prepare_read(
        self,
        is_done: Callable[[], bool],
        sync: Callable[[], None],
        transfer: Callable[[], None] | None = None,
    ) -> None:
        """
        Says what the host must do before it reads its copy: `sync`, and then `transfer`, which brings the
        values into `array`. Only the last of the transfers since the last read is made. `is_done` says that
        the host need not wait any more; it is called with the node's lock held.
        """
        with self._lock:
            if self._prepare_read is None:
                self._prepare_read = HostPreparation()
            self._prepare_read.add(is_done, sync, transfer)

    def prepare_write(self, is_done: Callable[[], bool], sync: Callable[[], None]) -> None:
        """Says what the host must wait for before it changes its copy; `is_done` is as in `prepare_read`."""
        with self._lock:
            if self._prepare_write is None:
                self._prepare_write = HostPreparation()
            self._prepare_write.add(is_done, sync)

    def do_read(self) -> None:
        """
        Brings the host's copy up to date: waits for the work that changed it, and transfers. Blocks. If that
        raises, it is done again by the next call.

        Raises:
            RoutineError, DeviceLostError: the work failed.
        """
        with self.host_lock:
            with self._lock:
                pending, self._prepare_read = self._prepare_read, None
            if pending is None:
                return
            try:
                pending.wait()
                if pending.transfer is not None:
                    self._wait_for_device_reads()
                    pending.transfer()
                    self.is_initialized = True
            except BaseException:
                with self._lock:
                    later = self._prepare_read
                    self._prepare_read = pending if later is None else pending.before(later)
                raise

    def do_write(self, *, overwrite: bool = False) -> None:
        """
        Makes the host's copy ready to be changed: brings it up to date, waits for devices that still read it,
        and notes that all devices lag from now on. With `overwrite`, for changes of all of it, what devices
        changed is forgotten instead. Blocks.

        Raises:
            MemoryModeError: only devices change the node.
            RoutineError, DeviceLostError: work failed. A later call does not wait again for work that read
                the host's copy.
        """
        with self.host_lock:
            self._check_changed_by_host(f"tensor node {self._node.debug_name}: do_write")
            if overwrite:
                with self._lock:
                    self._prepare_read = None
            else:
                self.do_read()
            self._wait_for_device_reads()
            self.is_initialized = True
            self._note_all_devices_lag()

    def _wait_for_device_reads(self) -> None:
        with self._lock:
            pending, self._prepare_write = self._prepare_write, None
        if pending is not None:
            pending.wait()

    def get_value(self, index: Sequence[int]) -> Any:
        """
        Returns one element as a Python number; negative indices count from the end. Waits for devices.

        Raises:
            MemoryModeError: the node is not hosted.
            TenonError: `index` has another rank or is out of bounds.
        """
        who = f"tensor node {self._node.debug_name}: get_value"
        with self.host_lock:
            data = self._data(who)
            place = _checked_index(who, index, data.shape)
            self.do_read()
            return data[place].item()

    def set_value(self, index: Sequence[int], value: complex) -> None:
        """
        Changes one element. A float is converted as `graph.cast` converts it. Waits for devices; those that
        use the node later get the change.

        Raises:
            MemoryModeError: the node is not hosted, or constant, or only devices change it.
            TenonError: `index` has another rank or is out of bounds, or `value` does not fit the dtype.
        """
        who = f"tensor node {self._node.debug_name}: set_value"
        with self.host_lock:
            self._check_changed_by_host(who)
            self._node.memory.update_memory_mode(modes.HOSTED_NONCONSTANT, "a value is set on the host")
            data = self._data(who)
            place = _checked_index(who, index, data.shape)
            element = converted(value, self._node.dtype, who)
            if element.ndim:
                raise TenonError(f"{who}: the value has shape {list(element.shape)}, expected one number")
            self.do_write()
            data[place] = element

    def get_values(self) -> npt.NDArray[Any]:
        """
        Returns a copy of all elements, without padding. Waits for devices.

        Raises:
            MemoryModeError: the node is not hosted.
        """
        with self.host_lock:
            data = self._data(f"tensor node {self._node.debug_name}: get_values")
            self.do_read()
            return data.copy()

    def set_values(self, values: npt.ArrayLike) -> None:
        """
        Changes all elements: `values` has the extents without padding, or is one-dimensional and has them in
        row-major order. Floats are converted as `graph.cast` converts them: rounded once, for integers
        towards zero and into range. A constant can be set once. Waits for devices; those that use the node
        later get the change.

        Raises:
            MemoryModeError: the node is not hosted, or a constant that has values, or only devices change it.
            TenonError: `values` have another shape or dtype.
        """
        who = f"tensor node {self._node.debug_name}: set_values"
        with self.host_lock:
            self._check_changed_by_host(who)
            memory = self._node.memory
            is_first_of_constant = memory.memory_mode == modes.HOSTED_CONSTANT and not self.is_initialized
            if not is_first_of_constant:
                memory.update_memory_mode(modes.HOSTED_NONCONSTANT, "values are set on the host")
            data = self._data(who)
            new = converted(values, self._node.dtype, who)
            if new.shape not in (data.shape, (data.size,)):
                raise TenonError(
                    f"{who}: the values have shape {list(new.shape)}, expected {list(data.shape)} or "
                    f"[{data.size}]"
                )
            self.do_write(overwrite=True)
            data[...] = new.reshape(data.shape)

    def points_1d(self, xdim: int, from_axis: int = -1) -> npt.NDArray[Any]:
        """
        Returns what has the index `xdim` along the axis `from_axis`, in row-major order; the one element of a
        node without axes. Waits for devices.

        Raises:
            MemoryModeError: the node is not hosted.
            TenonError: there is no such axis, or `xdim` is out of its bounds.
        """
        who = f"tensor node {self._node.debug_name}: points_1d"
        values = self.get_values()
        return values.reshape(1) if values.ndim == 0 else _taken(who, values, xdim, from_axis)

    def points_2d(self, xdim: int, ydim: int, from_axis: int = -1) -> npt.NDArray[Any]:
        """
        Returns points in rows of x and y: what has the index `xdim` along the axis `from_axis`, and what has
        `ydim`, in row-major order; a node without axes has none. Waits for devices.

        Raises:
            MemoryModeError: the node is not hosted.
            TenonError: there is no such axis, or `xdim` or `ydim` is out of its bounds.
        """
        who = f"tensor node {self._node.debug_name}: points_2d"
        values = self.get_values()
        if values.ndim == 0:
            return np.empty((0, 2), values.dtype)
        xs, ys = (_taken(who, values, place, from_axis) for place in (xdim, ydim))
        return np.stack((xs, ys), axis=-1)

    def _check_changed_by_host(self, who: str) -> None:
        """Raises `MemoryModeError` where only devices change the node: the host's copy is fetched only."""
        memory = self._node.memory
        if modes.known_changed_on_devices(memory.memory_mode):
            raise MemoryModeError(
                f"{who}: only devices change it, {memory.debug_memory_mode} (hint: Context.from_host)"
            )

    def _data(self, who: str) -> npt.NDArray[Any]:
        """Returns the host's array without its margins, in its memory."""
        array = self.array
        if array is None:
            raise MemoryModeError(f"{who}: not hosted, {self._node.memory.debug_memory_mode}")
        padding = self._node.padding
        return array if padding is None else array[padding.interior(array.shape)]


def _checked_index(who: str, index: Sequence[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    place = tuple(as_index(entry) for entry in index)
    if len(place) != len(shape):
        raise TenonError(f"{who}: index {list(place)} has another rank than shape {list(shape)}")
    for axis, (entry, extent) in enumerate(zip(place, shape, strict=True)):
        if not -extent <= entry < extent:
            raise TenonError(f"{who}: index {list(place)} is out of bounds for axis {axis} of {list(shape)}")
    return place


def _taken(who: str, values: npt.NDArray[Any], place: int, axis: int) -> npt.NDArray[Any]:
    if not -values.ndim <= axis < values.ndim:
        raise TenonError(f"{who}: axis {axis} is out of range for rank {values.ndim}")
    if not -values.shape[axis] <= place < values.shape[axis]:
        raise TenonError(f"{who}: index {place} is out of bounds for axis {axis} of {list(values.shape)}")
    return values.take(place, axis).reshape(-1)
