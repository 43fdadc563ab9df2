"""A step of the host's, in a program whose buffers the host reads and writes through copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .interface import BufferLoc
from .steps import HostStep


class Copies(Protocol):
    """Copies that block, after all that is queued: as those of `Memory`."""

    def copy_to_device(self, target: BufferLoc, source: npt.NDArray[Any]) -> None: ...

    def copy_from_device(self, target: npt.NDArray[Any], source: BufferLoc) -> None: ...


def call_host(memory: Copies, step: HostStep, locations: Sequence[BufferLoc]) -> None:
    """Waits for what is queued, calls the step's function on copies of its buffers, and copies back."""
    assert step.function is not None, f"{step.what} is not linked"
    rows = [np.empty(nbytes, np.uint8) for nbytes in step.nbytes]
    n_reads = len(step.reads)
    for row, location in zip(rows[:n_reads], locations[:n_reads], strict=True):
        if row.size:
            memory.copy_from_device(row, location)
    step.function(rows[:n_reads], rows[n_reads:])
    for row, location in zip(rows[n_reads:], locations[n_reads:], strict=True):
        if row.size:
            memory.copy_to_device(location, row)
