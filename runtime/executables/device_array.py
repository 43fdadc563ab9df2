"""Arrays in the memory of a device, which programs take and give without copies."""

from __future__ import annotations

import weakref
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...backends.interface import Backend, BufferLoc
from ...errors import CallError
from ..memory.segments import aligned
from ..memory.slab_pool import slab_pool_of
from ..nodes.delayed_dtype import DtypeLike, normalize_dtype
from ..plan.argument_kinds import check_kind
from ..plan.signature import Array, ArrayType, checked_array
from ..process_bound import ProcessBound


class DeviceArray(ProcessBound):
    """
    A C-contiguous array in the memory of `backend`'s device, which is freed when nothing refers to it any
    more. Made by `empty`, `of` and `Executable.execute`. Any thread may use it; what reads and writes it runs
    in the order of the device's queue.
    """

    COPY_HINT = "pickle its values, array.read()"

    def __init__(self, backend: Backend, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        """Use `empty` or `of`."""
        self.backend = backend
        self.dtype = dtype
        self.shape = shape
        self.size = prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self._pool = slab_pool_of(backend.driver)
        slab = self._pool.allocate(aligned(self.nbytes), None, self.nbytes)
        self.location: BufferLoc = slab.at(0)
        """Where it lies: no address, which stays in the driver."""
        weakref.finalize(self, self._pool.free, [slab]).atexit = False

    @classmethod
    def empty(cls, backend: Backend, dtype: DtypeLike, shape: int | tuple[int, ...]) -> DeviceArray:
        """
        Returns a new array; its elements hold anything.

        Raises:
            TenonError: no element type has this dtype.
            OutOfMemoryError: the device has not that much memory.
        """
        check_kind("DeviceArray", backend, "a Backend record", Backend)
        extents = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(extent < 0 for extent in extents):
            raise CallError(f"DeviceArray: shape {list(extents)} has a negative extent")
        return cls(backend, normalize_dtype(dtype), extents)

    @classmethod
    def of(cls, backend: Backend, array: npt.ArrayLike) -> DeviceArray:
        """Returns a new array with the values, dtype and shape of `array`. Raises what `empty` raises."""
        source = np.asarray(array)
        made = cls.empty(backend, source.dtype, source.shape)
        made.write(source)
        return made

    def write(self, array: Array, *, offset: int = 0) -> None:
        """
        Copies the elements of a host array here, from element `offset` on, both in row-major order. The host
        array may be changed as soon as this returns.

        Raises:
            CallError: it has another dtype, or more elements than there are from `offset` on.
        """
        source = np.ascontiguousarray(self._checked(array, offset, "write"))
        if source.nbytes:
            with self._pool.lock:
                self.backend.driver.copy_to_device(self._at(offset), source)

    def read(self, out: Array | None = None, *, offset: int = 0) -> Array:
        """
        Returns a copy of all elements; or fills `out` with those from element `offset` on, in row-major
        order, and returns it. Waits for what writes them.

        Raises:
            CallError: `out` has another dtype, has more elements than there are from `offset` on, or is
                read-only or not contiguous.
        """
        target = np.empty(self.shape, self.dtype) if out is None else out
        plain = self._checked(target, offset, "read")
        if not (plain.flags.c_contiguous and plain.flags.writeable):
            problem = "not contiguous" if plain.flags.writeable else "not writeable"
            raise CallError(f"DeviceArray.read: the array is {problem}")
        if plain.nbytes:
            with self._pool.lock:
                self.backend.driver.copy_from_device(plain, self._at(offset))
        return target

    def copy_to(self, backend: Backend) -> DeviceArray:
        """Returns a new array with these values on the device of `backend`."""
        if backend.driver is not self.backend.driver:
            return DeviceArray.of(backend, self.read())
        made = DeviceArray(backend, self.dtype, self.shape)
        if self.nbytes:
            with self._pool.lock:
                backend.driver.copy_on_device(made.location, self.location, self.nbytes)
        return made

    def check(self, type: ArrayType, who: str) -> None:
        """Raises `CallError` where dtype or shape are not those of `type`."""
        if self.dtype == type.dtype and self.shape == type.shape:
            return
        # One element that stands for all costs no memory.
        checked_array(np.broadcast_to(np.empty((), self.dtype), self.shape), type, who)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Returns a copy of the elements. Raises `ValueError` where none may be made."""
        if copy is False:
            raise ValueError("a DeviceArray has no values on the host without a copy")
        values = self.read()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __dlpack__(self, *, copy: bool | None = None, **options: Any) -> Any:
        """Returns a copy on the host as a DLPack capsule. Raises `BufferError` where none may be made."""
        if copy is False:
            raise BufferError("a DeviceArray has no values on the host without a copy")
        return self.read().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host: what `__dlpack__` gives is a copy there."""
        return np.empty(0).__dlpack_device__()

    def _at(self, offset: int) -> BufferLoc:
        return BufferLoc(self.location.pool_id, self.location.offset + offset * self.dtype.itemsize)

    def _checked(self, array: Array, offset: int, what: str) -> Array:
        who = f"DeviceArray.{what}"
        check_kind(f"{who}: offset", offset, "an integer", int)
        plain = checked_array(array, ArrayType(self.dtype, (-1,) * np.ndim(array)), who)
        if not 0 <= offset <= self.size - plain.size:
            raise CallError(
                f"{who}: {plain.size} elements from {offset} on are more than the {self.size} of the array"
            )
        return plain

    def __repr__(self) -> str:
        where = f"on {self.backend.name}: {self.nbytes} bytes at {self.location}"
        return f"<DeviceArray {self.dtype}{list(self.shape)} {where}>"
