"""
Devices that fail when a test wants them to.

`inject_faults(backend)` makes the driver and the compiler of a backend ask a `Faults` before each call; they
stay what they are, with all their abilities. What then fails is planned at any time:

    faults = inject_faults(get_backend(name))
    faults.plan("alloc_pool", OutOfMemoryError("no more"), after=2)    # the third one
    faults.plan("run", DeviceLostError("gone"), times=None)            # each one from now on
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from tenon.backends.interface import (
    Backend,
    Compiler,
    DirectCalls,
    HostMapped,
    HostVisible,
    Launcher,
    Memory,
    NativeEvent,
    PeerCopies,
    PinnedHost,
    Program,
    Queued,
    Streams,
)

PROGRAM_CALLS = ("run", "run_timed", "call")
"""What programs are asked to do; `call` is the direct one."""


def _names_of(*protocols: type[Any]) -> tuple[str, ...]:
    return tuple(
        name
        for protocol in protocols
        for name, value in vars(protocol).items()
        if callable(value) and not name.startswith("_")
    )


DRIVER_CALLS = _names_of(
    Memory, Launcher, HostMapped, HostVisible, PinnedHost, PeerCopies, Queued, Streams, DirectCalls
)
"""What drivers are asked to do."""

EVENT_CALLS = _names_of(NativeEvent)
"""What the points of a queue are asked."""

CALLS = (*DRIVER_CALLS, *PROGRAM_CALLS, *EVENT_CALLS, *_names_of(Compiler))
"""All that a fault can be planned for."""


@dataclass
class _Fault:
    call: str
    error: BaseException
    after: int
    times: int | None


@dataclass
class Faults:
    """What is to fail, and how often each call was made. Any thread may use it."""

    calls: Counter[str] = field(default_factory=Counter[str])
    _faults: list[_Fault] = field(default_factory=list[_Fault])
    _lock: Lock = field(default_factory=Lock)

    def plan(self, call: str, error: BaseException, *, after: int = 0, times: int | None = 1) -> None:
        """
        Lets `call` raise `error` once `after` more of them were made, `times` times; for ever for None.
        """
        assert call in CALLS, f"no call {call} among {', '.join(CALLS)}"
        with self._lock:
            self._faults.append(_Fault(call, error, after, times))

    def clear(self) -> None:
        """Lets nothing fail any more."""
        with self._lock:
            self._faults.clear()

    def check(self, call: str) -> None:
        """Counts a call, and raises what is planned for it."""
        with self._lock:
            self.calls[call] += 1
            for fault in self._faults:
                if fault.call != call:
                    continue
                if fault.after:
                    fault.after -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                    if not fault.times:
                        self._faults.remove(fault)
                raise fault.error


def inject_faults(backend: Backend) -> Faults:
    """
    Makes the driver and the compiler of `backend`, which no other test may use, ask the faults that this
    returns. Devices that share a compiler share its faults, until `mend_compilers`.
    """
    faults = Faults()
    _SOUND_COMPILERS.append((backend.compiler, type(backend.compiler)))
    _instrument(backend.driver, DRIVER_CALLS, faults)
    _instrument(backend.compiler, _names_of(Compiler), faults)
    return faults


_SOUND_COMPILERS: list[tuple[Any, type[Any]]] = []
"""The compilers that are faulty, and their classes before they were."""


def mend_compilers() -> None:
    """Makes all compilers sound again: a backend's may be shared with those of later tests."""
    while _SOUND_COMPILERS:
        compiler, kind = _SOUND_COMPILERS.pop()
        object.__setattr__(compiler, "__class__", kind)


def _instrument(thing: Any, names: tuple[str, ...], faults: Faults) -> None:
    """Gives `thing` a subclass of its class, so that it stays an instance of all that it was one of."""
    kind: Any = type(thing)
    methods = {name: _checked(getattr(kind, name), name, faults) for name in names if hasattr(kind, name)}
    faulty: Any = type(f"Faulty{kind.__name__}", (kind,), {"__slots__": (), **methods})
    object.__setattr__(thing, "__class__", faulty)


def _checked(method: Callable[..., Any], name: str, faults: Faults) -> Callable[..., Any]:
    @functools.wraps(method)
    def checked(*arguments: Any, **options: Any) -> Any:
        faults.check(name)
        result = method(*arguments, **options)
        if name == "bind":
            _instrument(result, _names_of(Program), faults)
        elif name == "record":
            _instrument(result, EVENT_CALLS, faults)
        elif name == "bind_direct" and result is not None:
            result.call = _checked(result.call, "call", faults)
        return result

    return checked
