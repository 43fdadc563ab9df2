"""The steps of a program as machine code reads them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ..interface import CompiledArtifact, CopyStep, LaunchStep, Step, SyncStep
from .compile import NativeCode
from .native_library import native_library

LEAST_PARALLEL_NANOSECONDS = 10_000
"""Work that is expected to take less than this is done in the caller's thread."""

LEAST_PART_NANOSECONDS = 2_000
"""A part of a kernel that one thread claims is expected to take at least this."""

_UNKNOWN_GROUP_NANOSECONDS = 500
"""What one work-group is taken to need where nothing is known."""

_COPIED_BYTES_PER_NANOSECOND = 10

_RECORD_WORDS = 4


class StepImage:
    """
    The records of `native_steps` for `steps`, and after them one word for each use of a buffer, in which its
    address is to stand: the tables of the records. Made once, and instantiated for every caller that runs the
    steps at the same time as others.

    `slots_of` tells the words of each buffer that is used; `numbers` the step that each record is of: sync
    steps, which have nothing to wait for, and steps of no extent have none.
    """

    def __init__(self, artifact: CompiledArtifact, steps: Sequence[Step]) -> None:
        self._owner = artifact
        records: list[tuple[int, int, int, int]] = []
        numbers: list[int] = []
        used: list[int] = []
        self.nanoseconds = 0
        """What a run is expected to take on one thread."""
        for number, step in enumerate(steps):
            match step:
                case LaunchStep():
                    function = _function_of(artifact, step)
                    extent = prod(step.grid)
                    nanoseconds = step.nanoseconds or extent * _UNKNOWN_GROUP_NANOSECONDS
                    operands = step.buffers
                case CopyStep():
                    function = native_library().copy_part
                    extent = step.nbytes
                    nanoseconds = extent // _COPIED_BYTES_PER_NANOSECOND
                    operands = (step.target, step.source)
                case SyncStep():
                    continue
            if extent:
                numbers.append(number)
                records.append((function, len(used), extent, _least_part(extent, nanoseconds)))
                used += operands
                self.nanoseconds += nanoseconds
        self.numbers = tuple(numbers)
        first_slot = len(records) * _RECORD_WORDS
        self._words = np.zeros(first_slot + len(used), np.int64)
        self._records = self._words[:first_slot].reshape(-1, _RECORD_WORDS)
        self._records[...] = records or np.zeros((0, _RECORD_WORDS))
        self._records[:, 1] = 8 * (first_slot + self._records[:, 1])
        self.slots_of: dict[int, list[int]] = {}
        for position, buffer in enumerate(used):
            self.slots_of.setdefault(buffer, []).append(first_slot + position)

    def instantiate(self) -> tuple[npt.NDArray[np.int64], int]:
        """Returns the words, in memory of their own, and their address, where the records begin."""
        words = self._words.copy()
        address: int = words.ctypes.data
        words[1 : self._records.size : _RECORD_WORDS] += address
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
    entry_point.check_launch(step.grid, step.block, len(step.buffers))
    return native.addresses[step.kernel]
