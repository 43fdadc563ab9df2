"""A program as one batch of commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DeviceError
from ..host_call import HostRows
from ..interface import BufferLoc, CompiledArtifact
from ..step_order import is_chain, leaves_of, runs_as_written, waits_of
from ..step_walk import StepTimes, walk
from ..steps import CopyStep, HostStep, LaunchStep, LoopStep, PlaceStep, Step, StepTime
from .failures import device_error
from .launches import launch_error, make_kernel
from .pools import OpenCLMemory
from .queue_control import Placed, QueueControl

if TYPE_CHECKING:
    import pyopencl


_Command = Callable[[Any], Any]
"""Queues what one step does, after the events in a list (None: after nothing), and returns its event."""


class BatchProgram:
    """
    Queues all its steps at once. Steps of which each waits for the one before it go into the driver's own
    queue, as do all where the device can but keep order; others go into a queue that keeps no order, each
    with the events that it waits for, between two points of the driver's queue. Launches have kernel objects
    of their own, whose arguments are set again only where a buffer moved. Used by the driver's thread.

    Steps with control flow go into the driver's own queue. Counted loops are queued without waiting for
    anything; where data decides, the host waits for the condition, and reads it. Before it is called itself
    it waits for all that is queued.
    """

    def __init__(
        self,
        memory: OpenCLMemory,
        artifact: CompiledArtifact,
        steps: Sequence[Step],
        locations: Sequence[BufferLoc | None],
    ) -> None:
        self._memory = memory
        self._steps = tuple(steps)
        self._is_sequential = runs_as_written(steps)
        self._waits = [] if self._is_sequential else waits_of(steps)
        self._leaves = leaves_of(self._waits)
        self._placed = [Placed(location) for location in locations]
        self._kernels: dict[int, pyopencl.Kernel] = {}
        for number, step in enumerate(steps):
            if isinstance(step, LaunchStep) and 0 not in step.grid:
                self._kernels[number] = self._kernel(artifact, step)
        unordered = memory.unordered_queue
        self._is_ordered = unordered is None or self._is_sequential or is_chain(self._waits)
        self._queue = memory.queue if unordered is None or self._is_ordered else unordered
        rows = {row.row for step in steps if isinstance(step, LoopStep | PlaceStep) for row in step.rows}
        self._moving = {
            number
            for number, step in enumerate(steps)
            if isinstance(step, CopyStep) and rows & {step.source, step.target}
        }
        """The copies whose places are known only when they are queued."""
        self._generation = -1
        self._commands: list[_Command | None] = []
        self._rows = HostRows(memory.empty_host)

    def place(self, buffer: int, location: BufferLoc) -> None:
        self._placed[buffer].location = location
        self._generation = -1

    def run(self) -> None:
        """Raises `DeviceError` naming the kernel that cannot be queued; those before it are queued then."""
        memory = self._memory
        main = memory.queue
        with memory.failing():
            if self._generation != memory.generation:
                self._resolve()
            if self._is_ordered:
                for _ in self._queue_ordered(self._queue):
                    pass
            else:
                self._queue_unordered()
            main.flush()

    def run_timed(self) -> list[StepTime]:
        """Times are the device's own, counted from when this was called on the host."""
        import pyopencl

        began = perf_counter_ns()
        memory = self._memory
        times = StepTimes(len(self._steps))
        with memory.failing(is_wait=True):
            self._resolve()
            memory.synchronize()
            queue = memory.profiling_queue
            waited = perf_counter_ns() - began
            start = pyopencl.enqueue_marker(queue)
            events = list(self._queue_ordered(queue))
            queue.finish()
            origin: int = start.profile.queued - waited
            for number, first, last in events:
                times.add(number, first.profile.start - origin, last.profile.end - origin)
        return times.all()

    def _kernel(self, artifact: CompiledArtifact, step: LaunchStep) -> pyopencl.Kernel:
        kernel = make_kernel(artifact, step.kernel)
        n_sizes = len(step.sizes)
        if kernel.num_args != n_sizes + 2 * len(step.buffers):
            raise DeviceError(
                f"opencl: @{step.kernel} takes {(kernel.num_args - n_sizes) // 2} arguments, "
                f"{len(step.buffers)} are given"
            )
        for index, size in enumerate(step.sizes):
            kernel.set_arg(index, np.int64(size))
        for index, buffer in enumerate(step.buffers):
            self._placed[buffer].arguments.append((kernel, n_sizes + 2 * index))
        return kernel

    def _resolve(self) -> None:
        """Tells kernels and copies where the buffers are that moved, or whose pool is a new one."""
        memory = self._memory
        # Asked first: for another queue pools may come and go meanwhile.
        generation = memory.generation
        has_moved = not self._commands
        for number, placed in enumerate(self._placed):
            location = placed.location
            assert location is not None, f"buffer {number} has no place"
            buffer, offset = memory.range(location, 0).buffer, location.offset
            if placed.buffer is not buffer:
                for kernel, index in placed.arguments:
                    kernel.set_arg(index, buffer)
                placed.buffer, has_moved = buffer, True
            if placed.offset != offset:
                word = np.uint64(offset)
                for kernel, index in placed.arguments:
                    kernel.set_arg(index + 1, word)
                placed.offset, has_moved = offset, True
        if not self._commands:
            self._commands = self._commands_of(self._queue)
        elif has_moved:
            for number, step in enumerate(self._steps):
                if isinstance(step, CopyStep) and number not in self._moving:
                    self._commands[number] = self._command(self._queue, number)
        self._generation = generation

    def _commands_of(self, queue: pyopencl.CommandQueue) -> list[_Command | None]:
        """Returns what queues each step; None also for the copies whose places are not known yet."""
        numbers = range(len(self._steps))
        return [None if number in self._moving else self._command(queue, number) for number in numbers]

    def _command(self, queue: pyopencl.CommandQueue, number: int) -> _Command | None:
        """Returns what queues a step, None for one that only orders others."""
        import pyopencl

        step = self._steps[number]
        if isinstance(step, LaunchStep) and number in self._kernels:
            enqueue, kernel = pyopencl.enqueue_nd_range_kernel, self._kernels[number]
            block = step.block
            items = tuple(groups * extent for groups, extent in zip(step.grid, block, strict=True))
            return lambda events: enqueue(queue, kernel, items, block, None, events)
        if isinstance(step, CopyStep) and step.nbytes:
            target, source = self._placed[step.target].location, self._placed[step.source].location
            assert target is not None and source is not None
            to, origin = self._memory.copied_range(target, source, step.nbytes)
            return lambda events: pyopencl.enqueue_copy(
                queue,
                to.buffer,
                origin.buffer,
                byte_count=step.nbytes,
                src_offset=source.offset,
                dst_offset=target.offset,
                wait_for=events,
            )
        return None

    def _queue_ordered(self, queue: pyopencl.CommandQueue) -> Iterator[tuple[int, Any, Any]]:
        """
        Queues the steps one by one, and yields the number of each that has events, the first and the last.
        """
        import pyopencl

        commands = self._commands if queue is self._queue else self._commands_of(queue)
        number = 0
        try:
            control = QueueControl(self._memory, queue, self._placed, self._rows)
            for number in walk(self._steps, control):
                step = self._steps[number]
                if isinstance(step, HostStep):
                    before = pyopencl.enqueue_marker(queue)
                    control.call_host(step)
                    # Who was called may have waited for the driver, which then takes its queue for empty.
                    self._memory.note_queued()
                    yield number, before, pyopencl.enqueue_marker(queue)
                    continue
                command = self._command(queue, number) if number in self._moving else commands[number]
                if command is not None:
                    event = command(None)
                    yield number, event, event
        except pyopencl.Error as error:
            raise self._error(number, error) from error

    def _queue_unordered(self) -> None:
        import pyopencl

        main, unordered = self._memory.queue, self._queue
        start = [pyopencl.enqueue_marker(main)]
        main.flush()
        events: list[pyopencl.Event] = []
        try:
            for command, wanted in zip(self._commands, self._waits, strict=True):
                wait_for = [events[other] for other in wanted] if wanted else start
                if command is None:
                    events.append(pyopencl.enqueue_marker(unordered, wait_for=wait_for))
                else:
                    events.append(command(wait_for))
        except pyopencl.Error as error:
            raise self._error(len(events), error) from error
        finally:
            # after a failure, too, what comes later waits for what is queued
            unordered.flush()
            last = events
            if len(events) == len(self._steps):
                last = [events[leaf] for leaf in self._leaves]
            if last:
                pyopencl.enqueue_barrier(main, wait_for=last)

    def _error(self, number: int, error: pyopencl.Error) -> DeviceError:
        step = self._steps[number]
        if isinstance(step, LaunchStep):
            return launch_error(self._memory.info, step.kernel, step.grid, step.block, error)
        return device_error(f"opencl: cannot copy on device {self._memory.info.name}", error)
