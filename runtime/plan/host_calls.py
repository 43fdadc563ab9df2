"""The calls of the host in a program: functions, lines, collectives, and the steps that call them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from traceback import walk_tb
from typing import Any

import numpy as np
import numpy.typing as npt

from ...backends.steps import HostFunction, HostStep, Step
from ...dialects.collective import Collective
from ...dialects.rearrangement import Rearrangement
from ...semantics.host_calls import HostFunctions, call_function, function_called, print_values
from ...semantics.rearrangements import rearrange
from ...semantics.world import World, check_world
from ..collectives.agreement import SameCalls
from ..collectives.pending import PendingCollectives
from ..device_lock import DeviceLock
from .signature import Array, ArrayType

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class HostCall:
    """
    What a program asks of the host: to call the function that it has a name for, to print a text, to
    rearrange an array, or to begin a collective or, where it `awaits`, to wait for it. The types are those of
    the arrays that the host is given and gives.
    """

    callback: str | None
    format: str | None
    argument_types: tuple[ArrayType, ...]
    result_types: tuple[ArrayType, ...]
    collective: Collective | None = None
    awaits: bool = False
    rearrangement: Rearrangement | None = None

    def at(self, values: Mapping[str, int]) -> HostCall:
        """Returns the call for these values of the program's dims."""
        return replace(
            self,
            argument_types=tuple(type.at(values) for type in self.argument_types),
            result_types=tuple(type.at(values) for type in self.result_types),
        )

    @property
    def nbytes(self) -> tuple[int, ...]:
        """The bytes of each array that the host is given, then of those that it gives."""
        types = (*self.argument_types, *self.result_types)
        return tuple(type.dtype.itemsize * prod(type.shape) for type in types)

    def __str__(self) -> str:
        if self.collective is not None:
            return f"{'await' if self.awaits else 'begin'} {self.collective}"
        if self.rearrangement is not None:
            return f"rearrange as {list(self.rearrangement.shape)}"
        return f"print {self.format!r}" if self.callback is None else f"callback @{self.callback}"

    @property
    def op_name(self) -> str:
        """The name of the item of `sched` that it is of."""
        if self.collective is not None:
            return "sched.await" if self.awaits else "sched.collective"
        if self.rearrangement is not None:
            return "sched.rearrange"
        return "sched.print" if self.callback is None else "sched.callback"


class _Calls(threading.local):
    depth = 0


_CALLS = _Calls()


def is_called_back() -> bool:
    """Returns whether this thread is in a function that a program called, and that has not returned."""
    return _CALLS.depth > 0


def check_callbacks(calls: Sequence[HostCall], functions: HostFunctions) -> None:
    """Raises `TenonError` where a program calls what no function is given for."""
    for call in calls:
        if call.callback is not None:
            function_called(call.callback, functions, "sched.callback")


def check_collectives(calls: Sequence[HostCall], world: World | None) -> None:
    """Raises `RankError` where a program has collectives and not the world that they are for."""
    check_world([call.collective for call in calls if call.collective is not None], world)


def same_calls(name: str, calls: Sequence[HostCall], world: World | None) -> SameCalls | None:
    """Returns what compares calls of a program with those of the other ranks, None where it sends nothing."""
    begun = [call.collective for call in calls if call.collective is not None and not call.awaits]
    return SameCalls(world, name, begun) if begun and world is not None else None


def linked_steps(
    steps: Sequence[Step],
    calls: Sequence[HostCall],
    functions: HostFunctions,
    lock: DeviceLock | None,
    world: World | None,
) -> tuple[Step, ...]:
    """
    Returns the steps of a program of known sizes, where those that call the host have what they call.
    Functions are called without the device's `lock`, where one is given; collectives meet in `world`.
    """
    pending = None if world is None else PendingCollectives(world)
    return tuple(
        _linked(step, calls[step.call], functions, lock, pending) if isinstance(step, HostStep) else step
        for step in steps
    )


def _linked(
    step: HostStep,
    call: HostCall,
    functions: HostFunctions,
    lock: DeviceLock | None,
    pending: PendingCollectives | None,
) -> HostStep:
    function: HostFunction
    if call.collective is not None:
        assert pending is not None, f"{call}: there is no world"
        function = _Exchange(call, lock, pending)
    elif call.rearrangement is not None:
        function = partial(_rearrange, call)
    elif call.callback is None:
        function = partial(_print, call, lock)
    else:
        called = function_called(call.callback, functions, "sched.callback")
        function = partial(_call_back, call, called, lock)
    return replace(step, nbytes=call.nbytes, function=function)


def _call_back(
    call: HostCall, function: Any, lock: DeviceLock | None, reads: Sequence[Bytes], writes: Sequence[Bytes]
) -> None:
    arguments = _arrays(call.argument_types, reads)
    types = [(type.dtype, type.shape) for type in call.result_types]
    _CALLS.depth += 1
    try:
        with _aside(lock):
            results = call_function(f"sched.callback: callback @{call.callback}", function, arguments, types)
    finally:
        _CALLS.depth -= 1
    for target, result in zip(_arrays(call.result_types, writes), results, strict=True):
        target[...] = result


def _rearrange(call: HostCall, reads: Sequence[Bytes], writes: Sequence[Bytes]) -> None:
    assert call.rearrangement is not None, f"{call}: rearranges nothing"
    (source,), (target,) = _arrays(call.argument_types, reads), _arrays(call.result_types, writes)
    rearrange(source, target, call.rearrangement)


def is_of_callback(error: BaseException) -> bool:
    """
    Returns whether an exception that was caught came out of a function that a program called, or of the other
    ranks.
    """
    called = (_call_back.__code__, _Exchange.__call__.__code__)
    return any(frame.f_code in called for frame, _ in walk_tb(error.__traceback__))


def _print(call: HostCall, lock: DeviceLock | None, reads: Sequence[Bytes], writes: Sequence[Bytes]) -> None:
    assert call.format is not None and not writes, f"{call}: prints nothing"
    with _aside(lock):
        print_values(call.format, _arrays(call.argument_types, reads))


class _Exchange:
    """
    Begins a collective, or waits for it. It holds on to the arrays of the last call: one with the same lists,
    as in a loop, takes them again.
    """

    def __init__(self, call: HostCall, lock: DeviceLock | None, pending: PendingCollectives) -> None:
        assert call.collective is not None, f"{call}: exchanges nothing"
        self._call = call
        self._collective = call.collective
        self._lock = lock
        self._pending = pending
        self._last: tuple[Sequence[Bytes], Sequence[Bytes], list[Array], list[Array]] = ((), (), [], [])

    def __call__(self, reads: Sequence[Bytes], writes: Sequence[Bytes]) -> None:
        last = self._last
        if last[0] is not reads or last[1] is not writes:
            types = self._call.argument_types
            # Backends may leave out what nobody looks at.
            nothing = [np.empty((0,) * len(type.shape), type.dtype) for type in types]
            operands = _arrays(types, reads) if reads else nothing
            last = self._last = reads, writes, operands, _arrays(self._call.result_types, writes)
        if self._lock is None:
            self._exchange(last[2], last[3])
            return
        with self._lock.aside():
            self._exchange(last[2], last[3])

    def _exchange(self, operands: Sequence[Array], results: Sequence[Array]) -> None:
        if self._call.awaits:
            self._pending.wait(self._collective, results)
        else:
            self._pending.begin(self._collective, operands, results)


def _aside(lock: DeviceLock | None) -> AbstractContextManager[None]:
    return nullcontext() if lock is None else lock.aside()


def _arrays(types: Sequence[ArrayType], rows: Sequence[Bytes]) -> list[Array]:
    """Returns rows of bytes as the arrays that they hold, without a copy."""
    return [row.view(type.dtype).reshape(type.shape) for type, row in zip(types, rows, strict=True)]
