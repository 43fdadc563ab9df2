"""What is copied for steps of the host, and which memory these are given."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tenon.backends.host_call import Bytes, HostRows, call_host
from tenon.backends.interface import BufferLoc
from tenon.backends.steps import HostStep


class Memory:
    """Pools of bytes, and what was copied from and to them."""

    def __init__(self) -> None:
        self.pools = {0: np.arange(4, dtype=np.uint8), 1: np.zeros(4, np.uint8)}
        self.copied: list[str] = []

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None:
        self.pools[target.pool_id][:] = source
        self.copied.append(f"to {target.pool_id}")

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None:
        target[:] = self.pools[source.pool_id]
        self.copied.append(f"from {source.pool_id}")


PLACES = [BufferLoc(0, 0), BufferLoc(1, 0)]


class Calls:
    """A function that is called, with what it was given; it doubles what it reads, or what it got before."""

    def __init__(self) -> None:
        self.given: list[tuple[Sequence[Bytes], Sequence[Bytes]]] = []

    def __call__(self, reads: Sequence[Bytes], writes: Sequence[Bytes]) -> None:
        self.given.append((reads, writes))
        if reads:
            writes[0][:] = 2 * reads[0]


def test_a_callback_gets_copies_of_its_own_each_time():
    memory, rows, calls = Memory(), HostRows(), Calls()
    step = HostStep("callback", 0, (0,), (1,), nbytes=(4, 4), function=calls)
    for _ in range(2):
        call_host(memory, step, PLACES, rows)
    assert memory.copied == ["from 0", "to 1"] * 2
    assert memory.pools[1].tolist() == [0, 2, 4, 6]
    (first, _), (second, _) = calls.given
    assert first[0] is not second[0]


def test_what_is_exchanged_is_copied_once_in_memory_that_is_kept():
    made: list[int] = []

    def pinned(nbytes: int) -> Bytes:
        made.append(nbytes)
        return np.empty(nbytes, np.uint8)

    memory, rows, calls = Memory(), HostRows(pinned), Calls()
    begin = HostStep("begin", 0, (0,), (1,), nbytes=(4, 4), fills=False, function=calls)
    wait = HostStep("await", 1, (0,), (1,), nbytes=(4, 4), takes=False, function=calls)
    for _ in range(2):
        call_host(memory, begin, PLACES, rows)
        assert memory.pools[1].tolist() == [0] * 4 or len(calls.given) > 2
        call_host(memory, wait, PLACES, rows)
        assert memory.pools[1].tolist() == [0, 2, 4, 6]
    assert memory.copied == ["from 0", "to 1"] * 2
    assert made == [4, 4]
    assert [len(reads) for reads, _ in calls.given] == [1, 0, 1, 0]
    assert len({id(writes[0]) for _, writes in calls.given}) == 1


def test_nothing_is_copied_of_buffers_without_bytes():
    memory, calls = Memory(), Calls()
    step = HostStep("begin", 0, (0,), (1,), nbytes=(0, 0), fills=False, function=calls)
    call_host(memory, step, PLACES, HostRows(np.empty))
    assert memory.copied == []
