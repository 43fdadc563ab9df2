from threading import Lock
from types import SimpleNamespace
from typing import Any

import pytest
from tenon.backends.interface import BufferLoc
from tenon.errors import ContextError, DeviceError
from tenon.runtime.nodes.tensor_node import TensorNode
from tenon.runtime.platforms.node_buffer import NodeBuffer, events_of
from tenon.runtime.streams.event import Event
from tenon.runtime.streams.runner import SyncRunner
from tenon.runtime.timeline.spans import Track


class NeverDone(SyncRunner):
    """Its events up to `n_done` are done."""

    n_done = 0

    def is_done(self, event: Event) -> bool:
        return event.ticket <= self.n_done


RUNNER = NeverDone(Track("s", "s:0"), Lock())
DEVICE: Any = SimpleNamespace(name="s:0", runner=RUNNER)


def buffer_of(label: str = "w") -> NodeBuffer:
    node = TensorNode.create("f4", dims=(4,), label=label, memory_mode="on_device")
    return NodeBuffer(node, DEVICE, BufferLoc(1, 0), 16)


def event(ticket: int) -> Event:
    return Event(RUNNER, ticket)


def test_what_nobody_used_needs_no_waiting():
    buffer = buffer_of()
    assert buffer.waits_to_read() == [] == buffer.waits_to_write()


def test_readers_wait_for_the_last_write_only():
    buffer, first, second, reader = buffer_of(), event(1), event(2), event(3)
    buffer.note_write(first)
    buffer.note_write(second)
    buffer.note_read(reader)
    assert buffer.waits_to_read() == [second]


def test_writers_wait_for_the_last_write_and_all_reads_since():
    buffer, write, reads = buffer_of(), event(1), [event(2), event(3)]
    buffer.note_write(write)
    for read in reads:
        buffer.note_read(read)
    assert buffer.waits_to_write() == [write, *reads]
    later = event(4)
    buffer.note_write(later)
    assert buffer.waits_to_write() == [later]


def test_many_readers_that_are_done_are_forgotten():
    buffer = buffer_of()
    RUNNER.n_done = 90
    for ticket in range(1, 101):
        buffer.note_read(event(ticket))
    RUNNER.n_done = 0
    waiting = [read.ticket for read in buffer.waits_to_write()]
    assert waiting[-10:] == [*range(91, 101)]
    assert len(waiting) <= 26


def test_readers_that_are_not_done_are_never_forgotten():
    buffer = buffer_of()
    for ticket in range(1, 101):
        buffer.note_read(event(ticket))
    assert [read.ticket for read in buffer.waits_to_write()] == [*range(1, 101)]


def test_work_waits_for_each_event_once():
    a, b, write, read = buffer_of("a"), buffer_of("b"), event(1), event(2)
    a.note_write(write)
    b.note_write(write)
    b.note_read(read)
    assert events_of([a], [b]) == [write, read]
    assert events_of([a, b], []) == [write]
    assert events_of([], []) == []


def test_what_was_never_written_is_named():
    buffer = buffer_of("weights")
    with pytest.raises(
        ContextError,
        match=r"step: weights was never written on s:0 \(hint: init_from_host, from_host, init_zeros\)",
    ):
        buffer.check_initialized("step")
    buffer.note_write(event(1))
    buffer.check_initialized("step")


def test_what_failed_work_was_to_write_is_named():
    buffer = buffer_of("weights")
    buffer.check_defined()
    buffer.undefined_by = "step"
    with pytest.raises(DeviceError, match="weights is undefined since step failed"):
        buffer.check_defined()
