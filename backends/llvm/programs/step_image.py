"""The steps of a program as machine code reads them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...interface import CompiledArtifact
from ...steps import (
    BranchStep,
    ControlStep,
    CopyStep,
    HostStep,
    JumpStep,
    LaunchStep,
    LoopStep,
    NextStep,
    PlaceStep,
    RowPlace,
    Step,
    SyncStep,
)
from ..compile import NativeCode
from ..native.library import native_library
from .host_call import native_call_of

LEAST_PARALLEL_NANOSECONDS = 10_000
"""Work that is expected to take less than this is done in the caller's thread."""

LEAST_PART_NANOSECONDS = 2_000
"""A part of a kernel that one thread claims is expected to take at least this."""

UNKNOWN_GROUP_NANOSECONDS = 500
"""What one work-group is taken to need where nothing is known."""

COPIED_BYTES_PER_NANOSECOND = 10

_UNKNOWN_LOOP_NANOSECONDS = 1_000_000
"""What a loop is taken to need where data decides how often it runs, and what the host does."""

_RECORD_WORDS = 4

LOOP, NEXT, BRANCH, JUMP, HOST = -1, -2, -3, -4, -5
"""What stands for `least` in the records of control steps."""

_AIMED = (NEXT, BRANCH, JUMP)
"""The kinds of records whose extent is the number of a step."""

_COUNT, _N_ROWS, _ROWS = 3, 6, 7
"""The words of a loop's table that are used here."""


class StepImage:
    """
    The records of `native/steps.ll` for `steps`, and after them their tables: one word for each use of a
    buffer, in which its address is to stand, one for each size that a kernel takes, and the words of loops.
    Made once, and instantiated for every caller that runs the steps at the same time as others.

    `slots_of` tells the words of each buffer that is used; `numbers` the step that each record is of: sync
    steps, which have nothing to wait for, and steps of no extent have none.
    """

    def __init__(self, artifact: CompiledArtifact, steps: Sequence[Step]) -> None:
        self._owner = artifact
        self._records: list[tuple[int, int, int, int]] = []
        self._tables: list[int] = []
        """The words after the records; those of buffers are 0."""
        self._uses: list[tuple[int, int]] = []
        """The buffers that are used, each with the word of the tables that its address is to stand in."""
        self._loops: dict[int, int] = {}
        """The tables of loops, by the steps that begin them, and of what places rows."""
        self._times = 1
        """How often the step that is being added runs."""
        self.nanoseconds = 0
        """What a run is expected to take on one thread; much where data or the host decides."""
        self._host_calls: list[Callable[[int], None]] = []
        """What records of the host call, which this keeps alive."""
        self.numbers = tuple(n for n, step in enumerate(steps) if self._add(artifact, n, step))
        first_slot = len(self._records) * _RECORD_WORDS
        self._n_record_words = first_slot
        self.slots_of: dict[int, list[int]] = {}
        for buffer, word in self._uses:
            self.slots_of.setdefault(buffer, []).append(first_slot + word)
        self._add_rows(steps, first_slot)
        self._words = np.zeros(first_slot + len(self._tables), np.int64)
        self._words[first_slot:] = self._tables
        records = self._words[:first_slot].reshape(-1, _RECORD_WORDS)
        records[...] = self._targeted() or np.zeros((0, _RECORD_WORDS))
        records[:, 1] = 8 * (first_slot + records[:, 1])

    def _add(self, artifact: CompiledArtifact, number: int, step: Step) -> bool:
        """Adds the record of a step and its table, unless there is nothing to run."""
        match step:
            case LaunchStep():
                function = _function_of(artifact, step)
                extent = prod(step.grid)
                nanoseconds = step.nanoseconds or extent * UNKNOWN_GROUP_NANOSECONDS
                operands, sizes = step.buffers, step.sizes
            case CopyStep():
                function = native_library().copy_part
                extent = step.nbytes
                nanoseconds = extent // COPIED_BYTES_PER_NANOSECOND
                operands, sizes = (step.target, step.source), ()
            case SyncStep():
                return False
            case HostStep():
                called = native_call_of(step)
                self._host_calls.append(called)
                self._records.append((id(called), len(self._tables), 0, HOST))
                self._use(step.buffers)
                self.nanoseconds += _UNKNOWN_LOOP_NANOSECONDS
                return True
            case _:
                self._add_control(number, step)
                return True
        if extent:
            self._records.append((function, len(self._tables), extent, _least_part(extent, nanoseconds)))
            self._tables += sizes
            self._use(operands)
            self.nanoseconds += self._times * nanoseconds
        return bool(extent)

    def _use(self, buffers: Sequence[int]) -> None:
        for buffer in buffers:
            self._uses.append((buffer, len(self._tables)))
            self._tables.append(0)

    def _add_control(self, number: int, step: ControlStep) -> None:
        table = len(self._tables)
        match step:
            case LoopStep():
                self._loops[number] = table
                self._times *= step.count
                self._records.append((0, table, 0, LOOP))
                if step.counter is None:
                    self._tables.append(0)
                else:
                    self._use((step.counter,))
                first, by = (step.count - 1, -1) if step.reverse else (0, 1)
                self._tables += [0, 0, step.count, first, by, 0, 0]
            case PlaceStep():
                # As a loop places them that begins with iteration 1, and is never gone on with.
                self._loops[number] = table
                self._records.append((0, table, 0, LOOP))
                self._tables += [0, 0, 0, 1, 1, 1, 0, 0]
            case NextStep():
                table = self._loops[step.begin]
                self._times //= self._tables[table + _COUNT]
                self._records.append((0, table, step.begin + 1, NEXT))
            case BranchStep():
                self._records.append((0, table, step.target, BRANCH))
                self._use((step.condition,))
            case JumpStep():
                self._records.append((0, table, step.target, JUMP))
                if step.target <= number:
                    self.nanoseconds += _UNKNOWN_LOOP_NANOSECONDS

    def _add_rows(self, steps: Sequence[Step], first_slot: int) -> None:
        """Adds the rows that each step places: where the addresses of their sources and their own stand."""
        placed: dict[int, list[tuple[int, RowPlace]]] = {}
        for number in self._loops:
            step = steps[number]
            assert isinstance(step, LoopStep | PlaceStep), f"step {number} places no rows"
            placed[number] = []
            for row in step.rows:
                source = first_slot + len(self._tables)
                self._tables.append(0)
                self.slots_of.setdefault(row.source, []).append(source)
                placed[number].append((source, row))
        for number, rows in placed.items():
            words = [
                (source, slot, row.stride_nbytes)
                for source, row in rows
                for slot in self.slots_of.get(row.row, ())
            ]
            table = self._loops[number]
            self._tables[table + _N_ROWS] = len(words)
            self._tables[table + _ROWS] = first_slot + len(self._tables)
            self._tables += [word for row in words for word in row]

    def _targeted(self) -> list[tuple[int, int, int, int]]:
        """Returns the records, where those that name a step name its record."""
        return [
            (function, table, bisect_left(self.numbers, extent) if least in _AIMED else extent, least)
            for function, table, extent, least in self._records
        ]

    def instantiate(self) -> tuple[npt.NDArray[np.int64], int]:
        """Returns the words, in memory of their own, and their address, where the records begin."""
        words = self._words.copy()
        address: int = words.ctypes.data
        words[1 : self._n_record_words : _RECORD_WORDS] += address
        return words, address


def _least_part(extent: int, nanoseconds: int) -> int:
    """Returns the least part of a range that a thread may claim, 0 for a range that is not shared out."""
    if extent < 2 or nanoseconds < LEAST_PARALLEL_NANOSECONDS:
        return 0
    return max(1, extent * LEAST_PART_NANOSECONDS // nanoseconds)


def _function_of(artifact: CompiledArtifact, step: LaunchStep) -> int:
    native: Any = artifact.native
    assert isinstance(native, NativeCode), f"not an artifact of llvm: {native}"
    entry_point = native.entry_point(step.kernel)
    entry_point.check_step(step.grid, step.block, len(step.sizes) + len(step.buffers))
    return native.addresses[step.kernel]
