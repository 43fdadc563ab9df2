"""The plan of a host program, as data: read from its op once, so that a call touches no IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np
import numpy.typing as npt

from ...backends.interface import BufferLoc
from ...backends.steps import CopyStep, JumpStep, LaunchStep, LoopStep, PlaceStep, Step, SyncStep
from ...dialects.dims.expressions import Extent, evaluated
from ...dialects.memory_modes import MemoryMode
from ...dialects.modules.dim_values import DimTable
from ...errors import CallError
from ...semantics.host_calls import HostFunctions
from ...semantics.world import World
from ..device_lock import DeviceLock
from ..memory.segments import aligned
from ..timeline.step_cost import StepCost
from .host_calls import HostCall, linked_steps
from .signature import Array, ArrayType, Signature


class BufferKind(Enum):
    """
    Whose memory a buffer is: the caller's, the program's constants', its temporaries', a result's, a tensor
    node's, or the device's merge buffer. A row is a part of another buffer, and may move with a loop.
    """

    ARGUMENT = "argument"
    CONSTANT = "constant"
    TEMPORARY = "temporary"
    RESULT = "result"
    NODE = "node"
    MERGE = "merge"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class SymbolIndex:
    """An index of a node: a static symbol, the bytes from one index to the next, and how many there are."""

    symbol: str
    stride_nbytes: int
    extent: int


@dataclass(frozen=True)
class BufferPlan:
    """
    One buffer. `offset` is its place among the constants or the temporaries; `number` is its number among the
    arguments or the results; of a row, which has no bytes of its own, it is that of the buffer that it is a
    part of. `node` is the tensor node that it holds, or that the merge buffer holds. With `indices` it begins
    `sum(value * stride_nbytes)` bytes into the node.
    """

    kind: BufferKind
    nbytes: int
    offset: int = 0
    number: int = 0
    node: str = ""
    indices: tuple[SymbolIndex, ...] = ()
    name: str = ""
    """What the buffer is called in the program's text; empty where it has no name."""
    lifetime: tuple[int, int] | None = None
    """The first and the last step that use it, where the return is one more step; None where none does."""

    @property
    def text(self) -> str:
        """What people call it: `x[i]` of a node, the name that it has in the program, or `temporary 0x40`."""
        indices = ", ".join(index.symbol for index in self.indices)
        name = self.node or self.name or f"{self.kind.value} {self.number or self.offset:#x}"
        return f"{name}[{indices}]" if indices else name

    def moved(self, node: BufferLoc, bindings: Mapping[str, int]) -> BufferLoc:
        """Returns where the buffer lies for these values of the symbols, of a node that lies there."""
        offset = sum(bindings[index.symbol] * index.stride_nbytes for index in self.indices)
        return BufferLoc(node.pool_id, node.offset + offset)


@dataclass(frozen=True)
class Launch:
    """
    One launch of a kernel. Launches of one kernel have one `kernel_id`, counted from 0 in the order of first
    launches. `arguments` are the buffers that the kernel is given, in order, by name; it reads `inputs` and
    writes `outputs`, and may do both.
    """

    kernel_id: int
    kernel_name: str
    arguments: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(frozen=True)
class NodePlan:
    """
    A tensor node that a program reads, writes or merges, as it is declared. `nbytes` are those of its stored
    elements, `mode` and `initial` are None where the declaration does not say.
    """

    name: str
    type: ArrayType
    nbytes: int
    mode: MemoryMode | None = None
    initial: Array | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SymbolPlan:
    """
    A static symbol: its values are from 0 up to below `bound`, the least extent of the axes that it indexes.
    One that indexes nothing has a bound of None.
    """

    name: str
    bound: int | None
    position: int = field(default=0, compare=False)
    """Its number among all arguments of the function."""

    def checked(self, value: Any, program: str) -> int:
        """Returns a value of the symbol. Raises `CallError` where it is no integer, or outside the axis."""
        who = f"{program}: symbol '{self.name}'"
        number: Any = value
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise CallError(f"{who} is {value!r}, expected an integer")
        if self.bound is not None and not 0 <= number < self.bound:
            raise CallError(f"{who} is {number}, expected 0 to {self.bound - 1}")
        return int(number)


@dataclass(frozen=True)
class VaryingSizes:
    """
    The sizes of a program with named dims: `dims` finds their values; the bytes of each buffer; the grid of
    each launch and the bytes of each copy, and the dims that a launch takes the values of, by the step.
    """

    dims: DimTable
    buffer_nbytes: tuple[Extent, ...]
    grids: Mapping[int, tuple[Extent, Extent, Extent]]
    copied_nbytes: Mapping[int, Extent]
    taken: Mapping[int, tuple[str, ...]]
    row_nbytes: Mapping[int, tuple[Extent, ...]]
    """The `stride_nbytes` of each row that a loop or a `PlaceStep` places, by the step."""
    lengths: Mapping[int, Extent]
    """How often each loop runs, by the step that begins it."""


def _without_empty_loops(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Returns steps with a jump in place of each loop of no iterations, of which nothing else is left."""
    result = list(steps)
    for number, step in enumerate(steps):
        if isinstance(step, LoopStep) and step.count == 0:
            result[number : step.end + 1] = [JumpStep(step.end + 1)] + [SyncStep()] * (step.end - number)
    return tuple(result)


def packing(
    buffers: Sequence[BufferPlan], planned_nbytes: Sequence[int]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """
    Yields the temporaries, by their numbers, in the order in which they are placed where they have other
    sizes than those they were planned for, `planned_nbytes`; each with those before it that it must lie
    behind, but for what others of them were to lie behind. Those that were to share no byte share none: the
    order of the steps was made for that.
    """
    by_offset = sorted(
        (number for number, buffer in enumerate(buffers) if buffer.kind is BufferKind.TEMPORARY),
        key=lambda number: (buffers[number].offset, number),
    )
    below: list[tuple[int, int]] = []
    """Where those before were planned to end, and their numbers."""
    for number in by_offset:
        offset = buffers[number].offset
        passed: list[int] = []
        while below and below[0][0] <= offset:
            passed.append(heappop(below)[1])
        yield number, tuple(passed)
        heappush(below, (offset + planned_nbytes[number], number))


def _packed(buffers: Sequence[BufferPlan], planned_nbytes: Sequence[int]) -> tuple[BufferPlan, ...]:
    """Moves temporaries together that were planned for other sizes, `planned_nbytes`."""
    found = list(buffers)
    ends: dict[int, int] = {}
    end = 0
    for number, passed in packing(buffers, planned_nbytes):
        end = max([end, *(ends[other] for other in passed)])
        found[number] = replace(buffers[number], offset=end)
        ends[number] = aligned(end + buffers[number].nbytes)
    return tuple(found)


@dataclass(frozen=True)
class ProgramPlan:
    """
    A program as data. `returned` are the numbers of the buffers that hold the results; a result's buffer is
    in the memory of the first result that returns it. `constants` are the bytes of the constant pool.

    `nodes` are the tensor nodes that it uses, in the order of their declarations. The contents of `reads`
    before the run matter, and `writes` are changed; both are in the order of first use. `merge_node` is the
    node that the merge buffer must hold. `symbols` are the `index` arguments in order.
    """

    signature: Signature
    buffers: tuple[BufferPlan, ...]
    steps: tuple[Step, ...]
    returned: tuple[int, ...]
    constants: npt.NDArray[np.uint8]
    temporary_nbytes: int
    nodes: tuple[NodePlan, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    merge_node: str | None = None
    symbols: tuple[SymbolPlan, ...] = ()
    costs: tuple[StepCost | None, ...] = ()
    """What each step costs; None for a sync and where the schedule was not analyzed."""
    varying: VaryingSizes | None = None
    """What depends on named dims; all else then holds for the greatest sizes. None where nothing does."""
    donated: tuple[int, ...] = ()
    """The arguments, by their numbers among the arrays, that the program may write to."""
    host_calls: tuple[HostCall, ...] = ()
    """What the program asks of the host; its steps refer to them by their numbers."""

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The kernels that the program launches, each once, in the order of their first launches."""
        return tuple(dict.fromkeys(step.kernel for step in self.steps if isinstance(step, LaunchStep)))

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches of kernels, in the order of the steps; one in a loop is there once."""
        ids = {name: number for number, name in enumerate(self.kernel_names)}
        return tuple(
            Launch(
                ids[step.kernel],
                step.kernel,
                self._texts(step.buffers),
                self._texts(step.reads),
                self._texts(step.writes),
                step.grid,
                step.block,
            )
            for step in self.steps
            if isinstance(step, LaunchStep)
        )

    def _texts(self, buffers: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.buffers[number].text for number in buffers)

    def at(self, values: Mapping[str, int]) -> ProgramPlan:
        """Returns the program for these values of its dims: all its sizes are numbers."""
        varying = self.varying
        if varying is None:
            return self
        nbytes = [evaluated(size, values) for size in varying.buffer_nbytes]
        greatest = sum(buffer.nbytes for buffer in self.buffers)
        share = sum(nbytes) / greatest if greatest else 1.0
        steps: list[Step] = []
        for number, step in enumerate(self.steps):
            match step:
                case LaunchStep():
                    x, y, z = (evaluated(extent, values) for extent in varying.grids[number])
                    sizes = tuple(values[name] for name in varying.taken[number])
                    expected = int(step.nanoseconds * share)
                    steps.append(replace(step, grid=(x, y, z), sizes=sizes, nanoseconds=expected))
                case CopyStep():
                    copied = evaluated(varying.copied_nbytes[number], values)
                    steps.append(replace(step, nbytes=copied))
                case LoopStep() | PlaceStep():
                    strides = [evaluated(stride, values) for stride in varying.row_nbytes[number]]
                    rows = tuple(
                        replace(row, stride_nbytes=stride)
                        for row, stride in zip(step.rows, strides, strict=True)
                    )
                    step = replace(step, rows=rows)
                    if isinstance(step, LoopStep):
                        step = replace(step, count=evaluated(varying.lengths[number], values))
                    steps.append(step)
                case _:
                    steps.append(step)
        buffers = _packed(
            [replace(buffer, nbytes=size) for buffer, size in zip(self.buffers, nbytes, strict=True)],
            [buffer.nbytes for buffer in self.buffers],
        )
        temporaries = (b.offset + b.nbytes for b in buffers if b.kind is BufferKind.TEMPORARY)
        return replace(
            self,
            signature=self.signature.at(values),
            buffers=buffers,
            steps=_without_empty_loops(steps),
            host_calls=tuple(call.at(values) for call in self.host_calls),
            temporary_nbytes=max(temporaries, default=0),
            varying=None,
        )

    def linked(
        self, callbacks: HostFunctions, lock: DeviceLock | None = None, world: World | None = None
    ) -> ProgramPlan:
        """
        Returns the program, of known sizes, with what its steps call of the host: functions are called
        without the device's `lock`, where one is given; collectives meet in `world`.
        """
        if not self.host_calls:
            return self
        return replace(self, steps=linked_steps(self.steps, self.host_calls, callbacks, lock, world))

    @cached_property
    def moving(self) -> tuple[tuple[int, BufferPlan], ...]:
        """The buffers, by their numbers, that lie somewhere else for other values of the symbols."""
        numbered = enumerate(self.buffers)
        return tuple((number, buffer) for number, buffer in numbered if buffer.indices and buffer.nbytes)

    @property
    def taken_arguments(self) -> dict[int, int]:
        """The results that are computed in the memory of a donated argument, each with that argument."""
        taken: dict[int, int] = {}
        for result, index in enumerate(self.returned):
            buffer = self.buffers[index]
            is_argument = buffer.kind is BufferKind.ARGUMENT and buffer.number in self.donated
            if is_argument and buffer.number not in taken.values():
                taken[result] = buffer.number
        return taken

    def is_computed_in_place(self, result: int) -> bool:
        """
        Returns whether a result is computed in its own memory. The others are copies: of an argument, a
        constant, a temporary, a node, or an earlier result.
        """
        buffer = self.buffers[self.returned[result]]
        return buffer.kind is BufferKind.RESULT and buffer.number == result

    def __str__(self) -> str:
        n_launches = sum(isinstance(step, LaunchStep) for step in self.steps)
        return (
            f"{len(self.kernel_names)} kernels, {n_launches} launches, {self.constants.nbytes} bytes of "
            f"constants, {self.temporary_nbytes} bytes of temporaries"
        )
