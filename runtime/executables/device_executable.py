"""A program compiled for a backend's device."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import RLock, Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from ...backends.interface import (
    ArrayBuffers,
    Backend,
    BufferLoc,
    CallProgram,
    CompiledArtifact,
    DirectCalls,
    DirectProgram,
    HostMapped,
)
from ...backends.steps import CopyStep, Step
from ...errors import TenonError
from ...semantics.host_calls import HostFunctions
from ...semantics.world import DeviceRank, World
from ..memory.segments import aligned, offsets_of
from ..memory.slab_pool import Slab, SlabPool, slab_pool_of
from ..plan.argument_kinds import check_kind
from ..plan.host_calls import is_called_back, same_calls
from ..plan.program_plan import BufferKind, Launch, ProgramPlan
from ..plan.signature import Array, ArrayType
from ..plan.stages import Stages
from ..timeline.spans import Category, Track
from ..timeline.timeline import active, record_timeline, span
from .device_array import DeviceArray
from .executable import CompiledFunction, Executable
from .node_arrays import NodeArrays
from .ordered_calls import OrderedCalls
from .placed_calls import PlacedCalls
from .turn import RunningCalls, Turn

if TYPE_CHECKING:
    from ..reports.kernel_statistics import ProgramStatistics
    from ..reports.memory_plan import MemoryPlan
    from ..reports.roofline import Roofline

_MOST_REFUSALS = 10_000


class DeviceExecutable(Executable):
    """
    Owns the memory of its constants, its temporaries and its tensor nodes and, where the device cannot work
    in host arrays, of its arguments and results, until it is closed. Any thread may call it.

    On a device that runs programs in the caller's thread and arrays (`DirectCalls`), calls run at the same
    time. Each has temporaries of its own: there are as many as calls have ever run at once. Programs with
    tensor nodes, all on other devices, and all while a timeline is recorded, run one call after the other.
    """

    def __init__(
        self,
        backend: Backend,
        artifact: CompiledArtifact,
        plan: ProgramPlan,
        stages: Stages,
        keeper: DeviceExecutable | None = None,
        callbacks: HostFunctions | None = None,
        world: World | None = None,
    ) -> None:
        """
        A `keeper`, the same program for other sizes, shares its tensor nodes. `callbacks` are the functions
        that the program may call, `world` is where it meets other ranks.
        """
        super().__init__(CompiledFunction(plan.signature, backend.name, stages, plan.symbols))
        if plan.merge_node is not None:
            raise TenonError(
                f"{self.name}: reads the merge buffer of node '{plan.merge_node}', which an executable has "
                "not (hint: tenon.open_platform, Context.link)"
            )
        self._pool = slab_pool_of(backend.driver)
        same = same_calls(self.name, plan.host_calls, world)
        self._call: Callable[[], AbstractContextManager[None]] = nullcontext if same is None else same.call
        """What each call runs in."""
        self.program = plan = plan.linked(callbacks or {}, self._pool.lock, world)
        self._taken = plan.taken_arguments
        """The arguments in whose memory results are computed, by result."""
        self._given = frozenset(self._taken.values())
        self._keeper = keeper
        self._backend = backend
        self._driver = backend.driver
        self._artifact = artifact
        self._track = Track(backend.name, _lane(backend, world))
        self._slabs: list[Slab] = []
        self._running = RunningCalls()
        self._bound: list[DirectProgram | RunningCalls] = [self._running]
        # Given the lists that grow, before anything is allocated: a failure frees what there is.
        self._finalizer = weakref.finalize(self, _release, self._bound, self._pool, self._slabs)
        self._finalizer.atexit = False
        self._growth = RLock()
        """
        Guards what is allocated later: frames, and the ordered calls of a program called directly. Finalizers
        that run meanwhile, in the same thread, may close the executable.
        """
        self._direct: DirectProgram | None = None
        self._placed: PlacedCalls | None = None
        self._ordered: list[OrderedCalls] = []
        """Those that no call uses now: there are several where calls began while others called the host."""
        self._turn = Turn(self.name) if keeper is None else keeper.turn
        try:
            self._node_locations = self._place_nodes() if keeper is None else keeper.node_locations
            self._located = self._place_buffers()
            self.nodes = (
                NodeArrays(self.name, plan.nodes, self._node_locations, self._read_node, self._write_node)
                if keeper is None
                else keeper.nodes
            )
            temporaries = self._place_temporaries()
            self._locations_of_first_call = {**self._located, **temporaries}
            self._direct = self._bind_direct()
            if self._direct is None:
                self._ordered.append(self._order_calls(temporaries))
            else:
                self._bound.append(self._direct)
                self._direct.add_frame(self._locations_of_first_call)
                # Calls of programs with collectives are compared with those of the other ranks first.
                if not self._takes_out and same is None:
                    self.direct_call = self._donate_directly if self._taken else self._direct.call
                    if not self._taken and isinstance(self._direct, CallProgram):
                        self.call_program = self._direct
        except BaseException:
            self.close()
            raise

    @property
    def direct_program(self) -> DirectProgram | None:
        """What runs whole calls in machine code; None where their steps run one after the other."""
        return self._direct

    @property
    def node_locations(self) -> Mapping[str, BufferLoc]:
        """Where the tensor nodes lie."""
        return self._node_locations

    @property
    def launches(self) -> tuple[Launch, ...]:
        return self.program.launches

    @property
    def turn(self) -> Turn:
        """Whose turn it is to use the tensor nodes."""
        return self._turn

    def close(self) -> None:
        # Not with the lock: calls that run, which are waited for, may take it.
        with self._growth:
            release = self._finalizer.detach()
        if release is not None:
            _, function, arguments, _ = release
            function(*arguments)

    def memory_plan(self) -> MemoryPlan:
        """
        Returns where every buffer lies and when it is used. Calls that run at the same time as others have
        temporaries besides.
        """
        from ..reports.memory_plan import memory_plan_of

        located = self._locations_of_first_call
        if self._ordered and not isinstance(self._driver, HostMapped):
            located = dict(enumerate(self._ordered[0].locations))
        locations = [located.get(number) for number in range(len(self.program.buffers))]
        with self._growth:
            pool_nbytes = {slab.pool_id: slab.nbytes for slab in self._slabs}
        return memory_plan_of(self.program, locations, pool_nbytes)

    def statistics(
        self, *arguments: Any, runs: int = 10, roofline: Roofline | bool = True
    ) -> ProgramStatistics:
        from ..reports.kernel_statistics import kernel_statistics
        from ..reports.measured_rooflines import device_roofline
        from ..reports.roofline import Roofline

        check_kind(f"{self.name}: runs of statistics", runs, "an integer", int)
        check_kind(
            f"{self.name}: roofline of statistics", roofline, "a roofline, True or False", Roofline, bool
        )
        if runs < 1:
            raise TenonError(f"{self.name}: statistics of {runs} runs, expected 1 or more")
        limits = device_roofline(self._backend) if roofline is True else roofline or None
        with record_timeline() as timeline:
            for _ in range(runs):
                self(*arguments)
        mine = [span for span in timeline.spans if span.track == self._track]
        return kernel_statistics(self.program, mine, limits)

    def _place_buffers(self) -> dict[int, BufferLoc]:
        """Allocates the slabs that all calls use, and returns where the buffers in them lie."""
        plan = self.program
        empty = self._allocate(aligned(0) if any(not buffer.nbytes for buffer in plan.buffers) else 0)
        constants = self._allocate(plan.constants.nbytes)
        if constants is not None:
            with self._pool.lock:
                self._driver.copy_to_device(constants.at(0), plan.constants)
        located: dict[int, BufferLoc] = {}
        for number, buffer in enumerate(plan.buffers):
            if not buffer.nbytes:
                assert empty is not None
                located[number] = empty.at(0)
            elif buffer.kind is BufferKind.CONSTANT:
                assert constants is not None
                located[number] = constants.at(buffer.offset)
            elif buffer.kind is BufferKind.NODE:
                located[number] = self._node_locations[buffer.node]
        return located

    def _place_temporaries(self) -> dict[int, BufferLoc]:
        """Allocates temporaries for one call at a time, and returns where they lie."""
        slab = self._allocate(self.program.temporary_nbytes)
        return {
            number: slab.at(buffer.offset)
            for number, buffer in enumerate(self.program.buffers)
            if slab is not None and buffer.kind is BufferKind.TEMPORARY and buffer.nbytes
        }

    def _place_nodes(self) -> dict[str, BufferLoc]:
        """Allocates the nodes, all bytes 0, and returns where they lie."""
        *offsets, nbytes = offsets_of(node.nbytes for node in self.program.nodes)
        slab = self._allocate(nbytes)
        if slab is None:
            return {}
        with self._pool.lock:
            self._driver.memset_zero(slab.at(0), slab.nbytes)
        return {node.name: slab.at(offset) for node, offset in zip(self.program.nodes, offsets, strict=True)}

    def _allocate(self, nbytes: int) -> Slab | None:
        if not nbytes:
            return None
        slab = self._pool.allocate(nbytes)
        self._slabs.append(slab)
        if not self._finalizer.alive:
            self._pool.free([slab])
            raise self._closed_error()
        return slab

    def _order_calls(self, temporaries: Mapping[int, BufferLoc]) -> OrderedCalls:
        located = {**self._located, **temporaries}
        return OrderedCalls(
            self._driver, self._artifact, self.program, located, self._pool, self._slabs, self._track
        )

    def _bind_direct(self) -> DirectProgram | None:
        """Returns the program for direct calls, without frames, where there are such calls."""
        plan, driver = self.program, self._driver
        if not isinstance(driver, DirectCalls) or plan.nodes or plan.symbols or not plan.returned:
            return None
        if frozenset(plan.donated) != self._given:
            return None
        if any(-1 in type.shape for type in (*plan.signature.argument_types, *plan.signature.result_types)):
            return None
        steps: list[Step] = list(plan.steps)
        results: list[ArrayBuffers] = []
        for number, (index, type) in enumerate(zip(plan.returned, plan.signature.result_types, strict=True)):
            nbytes = plan.buffers[index].nbytes
            own = index
            if nbytes and number not in self._taken and not plan.is_computed_in_place(number):
                own = len(plan.buffers) + number
                steps.append(CopyStep(index, own, nbytes))
            results.append(_array_buffers(type, nbytes, own))
        arguments = [
            _array_buffers(plan.signature.argument_types[buffer.number], buffer.nbytes, number)
            for number, buffer in enumerate(plan.buffers)
            if buffer.kind is BufferKind.ARGUMENT and buffer.number not in self._given
        ]
        n_arguments = len(plan.signature.argument_types) - len(self._taken)
        assert len(arguments) == n_arguments, f"{self.name}: an argument has no buffer"
        return driver.bind_direct(self._artifact, steps, arguments, results)

    def _run(
        self, arrays: list[Array], targets: list[Array] | None, values: Mapping[str, int]
    ) -> list[Array]:
        if self.program.donated:
            results = self._give(arrays, targets)
        else:
            results = self.signature.empty_results() if targets is None else targets
        with span(self.name, Category.ROUTINE, self._track), self._call():
            if self._direct is not None and active() is None:
                self._run_directly(self._direct, arrays, results)
            else:
                self._run_in_order(arrays, results, values)
        return results

    def _execute(
        self, given: list[Array | DeviceArray], chosen: Sequence[int], values: Mapping[str, int]
    ) -> dict[int, DeviceArray]:
        with self._growth:
            self._check_open()
            if self._placed is None:
                located = {**self._located, **self._place_temporaries()}
                self._placed = PlacedCalls(
                    self._backend, self._artifact, self.program, located, self._pool, self._track
                )
            placed = self._placed
        arguments = placed.arguments(given)
        results = placed.results(arguments)
        turn = self._turn if self.program.host_calls else nullcontext()
        routine = span(self.name, Category.ROUTINE, self._track)
        with self._running, turn, routine, self._call(), self._pool.lock:
            self._check_open()
            self.nodes.check_written(self.program.reads)
            placed.run(arguments, results, values)
            self.nodes.note_written(self.program.writes)
        return {number: results[number] for number in chosen}

    def _give(self, arrays: list[Array], targets: list[Array] | None) -> list[Array]:
        """
        Returns the arrays of the results, and puts them in the places of the donated arguments whose memory
        they take. An array that is not the program's alone is copied first: one that cannot be written, that
        overlaps another argument, or whose memory no result takes.
        """
        results: list[Array] = []
        by_result = self._taken
        for number in range(len(self.result_types)):
            if number not in by_result:
                fresh = self.signature.empty_result(number) if targets is None else targets[number]
                results.append(fresh)
                continue
            argument = by_result[number]
            array = arrays[argument]
            if targets is not None:
                np.copyto(targets[number], array)
                array = targets[number]
            elif not _is_own(array, argument, arrays):
                array = array.copy()
            arrays[argument] = array
            results.append(array)
        for argument in self.program.donated:
            if argument not in self._given:
                arrays[argument] = arrays[argument].copy()
        return results

    def _donate_directly(self, arguments: tuple[Any, ...], out: Any) -> Any:
        """
        Does what `DirectProgram.call` does. Donated arguments are arrays to be filled: they must be writeable
        and overlap no other, else it returns None.
        """
        direct = self._direct
        if direct is None or out is not None or len(arguments) != len(self.argument_types):
            return None
        taken, given = self._taken, self._given
        results = tuple(
            arguments[taken[number]] if number in taken else self.signature.empty_result(number)
            for number in range(len(self.result_types))
        )
        others = tuple(array for number, array in enumerate(arguments) if number not in given)
        return direct.call(others, results if len(results) != 1 else results[0])

    def _run_directly(self, direct: DirectProgram, arrays: list[Array], results: list[Array]) -> None:
        declared = _as_declared(arrays, self.argument_types)
        arguments = tuple(array for number, array in enumerate(declared) if number not in self._given)
        out = _as_declared(results, self.result_types)
        for _ in range(_MOST_REFUSALS):
            if direct.call(arguments, out) is not None:
                return
            with self._growth:
                self._check_open()
                if not direct.has_free_frame:
                    direct.add_frame({**self._located, **self._place_temporaries()})
        raise AssertionError(f"{self.name}: arrays that fit were refused")

    def _run_in_order(self, arrays: list[Array], results: list[Array], values: Mapping[str, int]) -> None:
        if not self.program.host_calls:
            ordered = self._ordered_calls()
            with self._pool.lock:
                self._run_ordered(ordered, arrays, results, values)
            return
        with self._running, self._turn if self.program.nodes else nullcontext():
            with self._growth:
                ordered = self._ordered.pop() if self._ordered else self._new_ordered_calls()
            try:
                with self._pool.lock:
                    self._run_ordered(ordered, arrays, results, values)
            finally:
                self._ordered.append(ordered)

    def _ordered_calls(self) -> OrderedCalls:
        """Returns what all calls use that do not call the host: they run one after the other."""
        with self._growth:
            if not self._ordered:
                self._ordered.append(self._new_ordered_calls())
            return self._ordered[0]

    def _new_ordered_calls(self) -> OrderedCalls:
        self._check_open()
        return self._order_calls(self._place_temporaries())

    def _run_ordered(
        self, ordered: OrderedCalls, arrays: list[Array], results: list[Array], values: Mapping[str, int]
    ) -> None:
        self._check_open()
        self.nodes.check_written(self.program.reads)
        ordered.run(arrays, results, values)
        self.nodes.note_written(self.program.writes)

    def _read_node(self, array: Array, place: BufferLoc) -> None:
        with self._pool.lock:
            self._check_open()
            self._driver.copy_from_device(array, place)

    def _write_node(self, place: BufferLoc, array: Array) -> None:
        with self._pool.lock:
            self._check_open()
            self._driver.copy_to_device(place, array)

    def _check_open(self) -> None:
        if not self._finalizer.alive:
            raise self._closed_error()


def _release(bound: list[DirectProgram | RunningCalls], pool: SlabPool, slabs: list[Slab]) -> None:
    """
    Closes what is called first: what is garbage together with an executable may still call it. In a callback
    another thread does so, as the call that waits for the callback may be one of them.
    """
    if is_called_back():
        Thread(target=_release_now, args=(bound, pool, slabs), daemon=True).start()
    else:
        _release_now(bound, pool, slabs)


def _release_now(bound: list[DirectProgram | RunningCalls], pool: SlabPool, slabs: list[Slab]) -> None:
    for calls in bound:
        calls.close()
    pool.free(slabs)


def _lane(backend: Backend, world: World | None) -> str:
    """Returns what the row of a program in a timeline is called."""
    if world is None:
        return backend.device.name
    if isinstance(world, DeviceRank):
        return world.device_name
    return f"{backend.device.name}, rank {world.rank}"


def _array_buffers(type: ArrayType, nbytes: int, buffer: int) -> ArrayBuffers:
    return ArrayBuffers(type.dtype, type.shape, nbytes, (buffer,) if nbytes else ())


def _is_own(array: Array, number: int, arrays: Sequence[Array]) -> bool:
    """Returns whether nothing but argument `number` is in the memory of `array`, and it can be written."""
    others = (other for n, other in enumerate(arrays) if n != number)
    return array.flags.writeable and not any(np.may_share_memory(array, other) for other in others)


def _as_declared(arrays: list[Array], types: tuple[ArrayType, ...]) -> tuple[Array, ...]:
    """Returns arrays whose dtypes equal those of `types` with the very dtypes, without copies."""
    return tuple(
        array if array.dtype is type.dtype else array.view(type.dtype)
        for array, type in zip(arrays, types, strict=True)
    )
