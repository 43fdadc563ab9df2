"""The memory mode of a tensor node, and why it has it."""

from __future__ import annotations

from threading import RLock
from typing import Protocol
from weakref import WeakKeyDictionary, proxy

from ...dialects import memory_modes as modes
from ...dialects.memory_modes import MemoryMode, ModeKind, Sharing
from ...errors import MemoryModeError

LOCAL_NBYTES = 16384
"""The most bytes that are kept local where a node may be local or on a device."""


class _Node(Protocol):
    @property
    def debug_name(self) -> str: ...

    @property
    def nbytes(self) -> int: ...


class TensorNodeMemory:
    """
    Where a tensor node may live. Requests narrow the mode by the lattice of dialects/memory_modes.py, each
    with a text that says why. Any thread may call any method; none blocks. Lives as long as its node, whose
    lock it takes.
    """

    __slots__ = ("_lock", "_node", "_own_memory", "memory_mode", "memory_provenance")

    def __init__(self, node: _Node, lock: RLock) -> None:
        self._node: _Node = proxy(node)
        self._lock = lock
        self.memory_mode: MemoryMode | None = None
        """Where it may live, None if nothing is asked for yet."""
        self.memory_provenance = ""
        """Why it has its memory mode; empty if it has none."""
        self._own_memory: WeakKeyDictionary[object, str] = WeakKeyDictionary()
        """The buffers that a context has for itself, as long as they are used, with the devices' names."""

    @property
    def debug_memory_mode(self) -> str:
        """The memory mode and its reason, for people."""
        with self._lock:
            return (
                "no memory mode"
                if self.memory_mode is None
                else f"{self.memory_mode} ({self.memory_provenance})"
            )

    def update_memory_mode(self, mode: MemoryMode | str, provenance: str) -> None:
        """
        Asks for a memory mode, beside all that was asked for earlier; `provenance` says why. A text is
        parsed.

        Raises:
            MemoryModeError: it cannot have both, the text names no mode, or streams were to share what
                contexts have memory of their own for.
        """
        new = MemoryMode.parse(mode) if isinstance(mode, str) else mode
        with self._lock:
            self._set_mode(modes.merge(self.memory_mode, new), new, str(new), provenance)

    def update_memory_sharing(self, sharing: Sharing, provenance: str) -> None:
        """
        Decides whether streams share its buffer, and with that, that it is in the memory of devices: see
        `merge_sharing` of dialects/memory_modes.py.

        Raises:
            MemoryModeError: its memory mode does not allow that, or streams were to share what contexts have
                memory of their own for.
        """
        with self._lock:
            merged = modes.merge_sharing(self.memory_mode, sharing)
            self._set_mode(merged, merged, f"sharing {sharing}", provenance)

    def _set_mode(
        self, merged: MemoryMode | None, asked: MemoryMode | None, request: str, provenance: str
    ) -> None:
        if merged is None:
            raise MemoryModeError(
                f"tensor node {self._node.debug_name}: {request} ({provenance}) conflicts with "
                f"{self.debug_memory_mode}"
            )
        if merged == self.memory_mode:
            return
        if self._own_memory and modes.known_shared_cross_streams(merged):
            devices = ", ".join(sorted(set(self._own_memory.values())))
            raise MemoryModeError(
                f"tensor node {self._node.debug_name}: {request} ({provenance}) comes too late: contexts on "
                f"{devices} have memory of their own for it"
            )
        if self.memory_mode is not None and merged != asked:
            provenance = f"{self.memory_mode}: {self.memory_provenance}; {request}: {provenance}"
        self.memory_mode = merged
        self.memory_provenance = provenance

    def note_own_memory(self, buffer: object, device_name: str) -> None:
        """
        Notes that a context has `buffer` for itself: as long as it is used, it cannot be decided any more
        that streams share one.
        """
        with self._lock:
            self._own_memory[buffer] = device_name

    def default_to_most_local(self, provenance: str) -> None:
        """
        Decides for the most local mode that is left to choose from: virtual, else local up to `LOCAL_NBYTES`
        bytes, else on devices. Sharing stays open.
        """
        with self._lock:
            old = self.memory_mode
            may_be_local = old in (modes.NEVER_VIRTUAL, modes.DEVICE_ONLY)
            new = modes.most_local(old, fits_locally=may_be_local and self._node.nbytes <= LOCAL_NBYTES)
            if new != old:
                old_reason = f"{self.memory_provenance}; " if self.memory_provenance else ""
                self.memory_mode, self.memory_provenance = new, old_reason + provenance

    def is_virtual_force(self, provenance: str) -> bool:
        """Returns whether it is virtual, and makes it so if it may be."""
        with self._lock:
            if self.memory_mode in (None, modes.EFFECTIVELY_CONSTANT):
                self.default_to_most_local(provenance)
            return self.memory_mode == modes.VIRTUAL

    def is_hosted_force(self, provenance: str) -> bool:
        """Returns whether the host keeps a copy; if that is open, decides for the most local mode."""
        with self._lock:
            if self.memory_mode in (
                None,
                modes.NEVER_VIRTUAL,
                modes.MATERIALIZED,
                modes.EFFECTIVELY_CONSTANT,
            ):
                self.default_to_most_local(provenance)
            return self.is_hosted

    def is_materialized_force(self, provenance: str) -> bool:
        """Returns whether it outlives a run; if that is open, decides for the most local mode."""
        with self._lock:
            if self.memory_mode != modes.MATERIALIZED:
                self.default_to_most_local(provenance)
            return not modes.known_not_materialized(self.memory_mode)

    def is_in_context_force(self, provenance: str, *, use_host_memory: bool = False) -> bool:
        """
        Returns whether contexts that use it hold a buffer of it; if that is open, decides for the most local
        mode. With `use_host_memory`, for devices that compute in the host's memory, what only the host
        changes, or nobody, needs none.
        """
        with self._lock:
            if self.memory_mode == modes.MATERIALIZED and not use_host_memory:
                return True
            self.default_to_most_local(provenance)
            if use_host_memory and self.memory_mode in (modes.HOSTED_CONSTANT, modes.HOSTED_VOLATILE):
                return False
            return not modes.known_not_materialized(self.memory_mode)

    @property
    def is_hosted(self) -> bool:
        """Whether the host keeps a copy, as far as that is decided."""
        return self.memory_mode is not None and self.memory_mode.kind is ModeKind.HOSTED
