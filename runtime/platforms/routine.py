"""What a context can run: linked programs, and copies between devices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.interface import BufferLoc, HostVisible, PeerCopies, Program
from ...backends.steps import CopyStep, LaunchStep, Step
from ...errors import CallError, DeviceError
from ..nodes.tensor_node import TensorNode
from ..plan.program_plan import Launch, ProgramPlan
from ..process_bound import ProcessBound
from ..reports.memory_plan import MemoryPlan, memory_plan_of
from ..streams.event import Event
from ..streams.runner import Work
from ..timeline.spans import Category, Track
from ..timeline.text import control_text
from ..timeline.timeline import active, report_steps
from .device import Device, Stream
from .hosted import held_for_sending, note_written_on_device, ready_to_read
from .node_buffer import NodeBuffer, events_of, fills

if TYPE_CHECKING:
    from .context import Context


class Routine(ProcessBound, ABC):
    """
    Something ready to run on the nodes of a context. `run` schedules it; it runs after everything that was
    scheduled before on its stream, and after whatever on other streams and devices writes what it reads or
    uses what it writes. Any thread may run it; runs are ordered by who comes first.
    """

    COPY_HINT = "pickle the text of the program, and compile that"

    def __init__(
        self,
        name: str,
        context: Context,
        reads: Sequence[NodeBuffer],
        writes: Sequence[NodeBuffer],
        merge_buffer_input: TensorNode | None = None,
    ) -> None:
        self.name = name
        self.context = context
        """The context after the routine: a child of the one it was made in."""
        self.merge_buffer_input = merge_buffer_input
        """The node whose values it reads from the merge buffer; None if it reads no merge buffer."""
        self.reads = tuple(reads)
        self.writes = tuple(writes)

    @property
    def device(self) -> Device:
        return self.context.device

    @property
    def inputs(self) -> tuple[TensorNode, ...]:
        """The nodes that must have been written before a run."""
        return tuple(buffer.node for buffer in self.reads)

    @property
    def outputs(self) -> tuple[TensorNode, ...]:
        """The nodes that a run writes."""
        return tuple(buffer.node for buffer in self.writes)

    @property
    @abstractmethod
    def schedule(self) -> tuple[str, ...]:
        """What a run does, step by step, as text."""

    @abstractmethod
    def run(self, **bindings: int) -> Event:
        """
        Schedules one run and returns the event of its end. A failure while running is raised where the host
        next waits. `bindings` give static symbols new values first; the others keep theirs.

        Raises:
            ContextError: the context is finalized, an input was never written, or the merge buffer holds
                something else.
            CallError: a symbol has no value, a wrong one, or is not known.
            DeviceLostError: the device is lost.
        """

    def dependencies_on(self, earlier: Routine) -> frozenset[str]:
        """
        Returns why this routine must wait for an earlier one, if it must: it reads what that writes (`RAW`),
        writes what that reads (`WAR`), or writes what that writes (`WAW`).
        """
        found = {
            "RAW": not set(self.reads).isdisjoint(earlier.writes),
            "WAR": not set(self.writes).isdisjoint(earlier.reads),
            "WAW": not set(self.writes).isdisjoint(earlier.writes),
        }
        return frozenset(kind for kind, is_so in found.items() if is_so)

    def __repr__(self) -> str:
        inputs = ", ".join(node.debug_name for node in self.inputs)
        outputs = ", ".join(node.debug_name for node in self.outputs)
        return f"<Routine {self.name} on {self.context.stream.name} ({inputs}) -> ({outputs})>"


@dataclass(frozen=True)
class LinkedProgram:
    """A program on the device, and where each of its buffers lies."""

    program: Program
    plan: ProgramPlan
    locations: Sequence[BufferLoc]
    constants: object
    """What keeps the memory of its constants."""


class ProgramRoutine(Routine):
    """A compiled program, linked to the buffers of a context."""

    def __init__(
        self,
        context: Context,
        linked: LinkedProgram,
        reads: Sequence[NodeBuffer],
        writes: Sequence[NodeBuffer],
        merge_buffer_input: TensorNode | None,
    ) -> None:
        super().__init__(linked.plan.signature.name, context, reads, writes, merge_buffer_input)
        self._linked = linked
        self._plan = linked.plan
        self._symbols = {symbol.name: symbol for symbol in linked.plan.symbols}
        self._values: dict[str, int] = {}
        self._track = Track(context.device.platform.name, context.stream.name)

    @property
    def schedule(self) -> tuple[str, ...]:
        return tuple(_step_text(self._plan, step) for step in self._plan.steps)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of kernels that a run makes, with what each reads and writes."""
        return self._plan.launches

    def memory_plan(self) -> MemoryPlan:
        """
        Returns where every buffer of the program lies and when it is used. Pools of a context may also hold
        nodes that the program does not use.

        Raises:
            ContextError: the context is finalized.
        """
        self.context.check_usable(self.name)
        return memory_plan_of(self._plan, self._linked.locations, self.device.pools.sizes())

    @property
    def bindings(self) -> dict[str, int | None]:
        """The static symbols and their values; None for those without one yet."""
        return {name: self._values.get(name) for name in self._symbols}

    def bind(self, **values: Any) -> None:
        """
        Gives static symbols values for the runs to come.

        Raises:
            CallError: a symbol is not known, or its value is no integer or outside the axis that it indexes.
        """
        checked: dict[str, int] = {}
        for name, value in values.items():
            symbol = self._symbols.get(name)
            if symbol is None:
                present = ", ".join(self._symbols) or "none"
                raise CallError(f"{self.name}: there is no symbol '{name}' (symbols: {present})")
            checked[name] = symbol.checked(value, self.name)
        self._values.update(checked)

    def run(self, **bindings: int) -> Event:
        stream = self.context.stream
        self.context.check_usable(self.name)
        stream.runner.check_open()
        with held_for_sending(self.reads) as held, stream.device.schedule_lock:
            self.context.check_usable(self.name)  # another thread may have finalized it
            self.bind(**bindings)
            missing = [name for name in self._symbols if name not in self._values]
            if missing:
                hint = f"hint: run({missing[0]}=0)"
                raise CallError(f"{self.name}: symbol '{missing[0]}' has no value ({hint})")
            for buffer in self.reads:
                ready_to_read(self.context, buffer, self.name, held)
            if self.merge_buffer_input is not None:
                stream.merge_buffer.check(self.name, self.merge_buffer_input)
            places = [
                (number, buffer.moved(self._linked.locations[number], self._values))
                for number, buffer in self._plan.moving
            ]
            waits = events_of(self.reads, self.writes)
            event = stream.runner.submit(self.name, partial(self._work, places), waits, keeps=self)
            for buffer in self.reads:
                buffer.note_read(event)
            for buffer in self.writes:
                buffer.note_write(event)
                note_written_on_device(buffer, event)
        return event

    def _work(self, places: Sequence[tuple[int, BufferLoc]]) -> None:
        with fills(self.writes, self.name):
            for buffer in self.reads:
                buffer.check_defined()
            if self.merge_buffer_input is not None:
                self.context.stream.merge_buffer.check_defined()
            program = self._linked.program
            for number, location in places:
                program.place(number, location)
            timeline = active()
            if timeline is None:
                program.run()
            else:
                start = perf_counter_ns()
                times = program.run_timed()
                report_steps(timeline, self._track, self._plan.steps, times, start, self._plan.costs or None)


class TransferRoutine(Routine):
    """
    Copies a node from one context to another: into `target`, or into the stream's merge buffer where that is
    None.
    """

    def __init__(
        self, context: Context, source_context: Context, source: NodeBuffer, target: NodeBuffer | None
    ) -> None:
        node = source.node
        place = "merge buffer of " if target is None else ""
        name = f"{node.debug_name} from {source_context.stream.name} to {place}{context.stream.name}"
        super().__init__(name, context, [source], [] if target is None else [target])
        self._source_context = source_context
        self._source = source
        self._target = target
        self._location = context.stream.merge_buffer.location if target is None else target.location
        self._staging = None if self._is_direct() else np.empty(source.nbytes, np.uint8)
        self._is_staged = False
        self._last_run: Event | None = None

    @property
    def schedule(self) -> tuple[str, ...]:
        how = "" if self._staging is None else ", through the host"
        return (f"copy {self._source.nbytes} bytes of {self.name}{how}",)

    def run(self, **bindings: int) -> Event:
        if bindings:
            raise CallError(f"{self.name}: there is no symbol '{next(iter(bindings))}' (symbols: none)")
        self.context.check_usable(self.name)
        self._source_context.check_usable(self.name)
        stream, origin = self.context.stream, self._source_context.stream
        stream.runner.check_open()
        source, target = self._source, self._target
        with held_for_sending(self.reads) as held, ExitStack() as locks:
            for each in sorted({stream.device, origin.device}, key=lambda one: one.id):
                locks.enter_context(each.schedule_lock)
            self.context.check_usable(self.name)  # another thread may have finalized it
            self._source_context.check_usable(self.name)
            ready_to_read(self._source_context, source, self.name, held)
            if target is None:
                stream.make_room_for_merging(source.nbytes)
            waits = events_of([source], self.writes)
            if self._staging is not None:
                if self._last_run is not None:
                    waits.append(self._last_run)
                staged = self._submit(origin, self._fetch, waits)
                source.note_read(staged)
                waits = [*waits, staged]
            event = self._last_run = self._submit(stream, self._work, waits)
            source.note_read(event)
            if target is None:
                stream.merge_buffer.node = source.node
            else:
                target.note_write(event)
                note_written_on_device(target, event)
        return event

    def _submit(self, stream: Stream, work: Work, waits: Sequence[Event]) -> Event:
        return stream.runner.submit(self.name, work, waits, category=Category.TRANSFER, keeps=self)

    def _is_direct(self) -> bool:
        """Whether the target's driver can copy from the source's memory itself."""
        source, target = self._source.device.backend.driver, self.device.backend.driver
        if source is target or isinstance(source, HostVisible):
            return True
        return isinstance(target, PeerCopies) and target.reaches(source)

    def _fetch(self) -> None:
        source, staging = self._source, self._staging
        assert staging is not None, f"{self.name} needs no staging"
        self._is_staged = False
        source.check_defined()
        self._source_context.stream.driver.copy_from_device(staging, source.location)
        self._is_staged = True

    def _work(self) -> None:
        target = self.context.stream.merge_buffer if self._target is None else self._target
        with fills([target], self.name):
            self._source.check_defined()
            if self._staging is not None and not self._is_staged:
                raise DeviceError(f"what {self._source.device.name} was to send did not arrive")
            self._copy()

    def _copy(self) -> None:
        driver, peer = self.context.stream.driver, self._source.device.backend.driver
        nbytes, origin = self._source.nbytes, self._source.location
        if not nbytes:
            return
        if self._staging is not None:
            driver.copy_to_device(self._location, self._staging)
        elif self.device.backend.driver is peer:
            driver.copy_on_device(self._location, origin, nbytes)
        elif isinstance(driver, PeerCopies) and driver.reaches(peer):
            driver.copy_from_peer(self._location, peer, origin, nbytes)
        else:
            assert isinstance(peer, HostVisible), f"{self.name} needs staging"
            driver.copy_to_device(self._location, peer.host_view(origin, nbytes))


def _step_text(plan: ProgramPlan, step: Step) -> str:
    """Returns a step as a line: `@step_0(x[i], w, y)`."""
    match step:
        case LaunchStep():
            arguments = ", ".join(plan.buffers[number].text for number in step.buffers)
            return f"@{step.kernel}({arguments})"
        case CopyStep():
            source, target = plan.buffers[step.source], plan.buffers[step.target]
            return f"copy {step.nbytes} bytes of {source.text} to {target.text}"
        case _:
            return control_text(step)
