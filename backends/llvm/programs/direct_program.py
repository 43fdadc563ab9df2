"""A program that callers run in their own arrays, through a function of the interpreter in machine code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from ...interface import ArrayBuffers, BufferLoc, CompiledArtifact
from ...steps import Step
from ..native.library import native_library
from ..native.line_memory import line_memory
from ..native.object_layout import NEW_FROM_DESCR, numpy_function
from .object_method import install_call
from .program import AddressedMemory
from .same_objects import new_function, same_objects
from .step_image import StepImage

LEAST_RELEASED_NANOSECONDS = 5_000
"""A run that is expected to take less than this keeps the interpreter's lock."""

_WAIT_SECONDS = 0.0005

_N_ARGUMENTS, _RUNNING, _FRAMES = 0, 5, 8
"""The words of the record that are used here."""

Words = npt.NDArray[np.int64]


class HeldMemory(AddressedMemory, Protocol):
    """Memory whose pools live as long as the views of them."""

    def host_view(self, location: BufferLoc, nbytes: int) -> npt.NDArray[np.uint8]: ...


@dataclass(frozen=True, eq=False, slots=True)
class _Frame:
    """A frame with its words, and the memory that they point to."""

    link: Words
    words: Words
    memory: tuple[npt.NDArray[np.uint8], ...]


class DirectProgram:
    """
    Any number of threads may use it: each call has a frame of its own while it runs, with the addresses of
    its buffers. `call` is the function that `native/call.ll` describes.

    It keeps alive all that its machine code reads, and the memory of its frames until it is closed.
    """

    def __init__(
        self,
        memory: HeldMemory,
        artifact: CompiledArtifact,
        steps: Sequence[Step],
        arguments: Sequence[ArrayBuffers],
        results: Sequence[ArrayBuffers],
    ) -> None:
        self._memory = memory
        self._image = image = StepImage(artifact, steps)
        operands = (*arguments, *results)
        patches = [
            (number, slot)
            for number, operand in enumerate(operands)
            for buffer in operand.buffers
            for slot in image.slots_of.get(buffer, ())
        ]
        self._placed = sorted(set(image.slots_of).difference(*(operand.buffers for operand in operands)))
        self._frames: list[_Frame] = []
        shapes = [np.array(operand.shape, np.int64) for operand in operands]
        operand_words = np.array(
            [
                (id(operand.dtype), len(operand.shape), shape.ctypes.data, operand.nbytes)
                for operand, shape in zip(operands, shapes, strict=True)
            ],
            np.int64,
        ).reshape(-1, 4)
        patch_words = np.array(patches, np.int64).reshape(-1, 2)
        lines = line_memory()
        self._record = np.array(
            [
                len(arguments),
                len(results),
                len(patches),
                len(image.numbers),
                image.nanoseconds >= LEAST_RELEASED_NANOSECONDS,
                0,
                operand_words.ctypes.data,
                patch_words.ctypes.data,
                0,
                id(tuple),
                id(np.ndarray),
                id(None),
                numpy_function(NEW_FROM_DESCR),
                lines.least_nbytes,
                lines.set_handler,
                lines.handler,
                lines.default_handler,
            ],
            np.int64,
        )
        self._keeps = (operands, shapes, operand_words, patch_words)
        self.call: Callable[[tuple[Any, ...], Any], Any] = new_function(
            native_library().call_method, self._record
        )
        _PROGRAMS.add(self)

    @property
    def n_frames(self) -> int:
        """How many calls may run at the same time."""
        return len(self._frames)

    @property
    def n_running(self) -> int:
        """How many calls run now."""
        return int(self._record[_RUNNING])

    @property
    def has_free_frame(self) -> bool:
        return bool(self._record[_FRAMES])

    def add_frame(self, locations: Mapping[int, BufferLoc]) -> None:
        """Adds a frame whose buffers, but for those in the arrays, lie at `locations` by their numbers."""
        words, address = self._image.instantiate()
        for buffer in self._placed:
            words[self._image.slots_of[buffer]] = self._memory.address(locations[buffer])
        pool_ids = sorted({locations[buffer].pool_id for buffer in self._placed})
        held = tuple(self._memory.host_view(BufferLoc(pool_id, 0), 0) for pool_id in pool_ids)
        frame = _Frame(np.array([0, address], np.int64), words, held)
        self._frames.append(frame)
        self._push(frame)

    install_call = staticmethod(install_call)

    @property
    def same_objects(self) -> Callable[[tuple[Any, ...]], bool]:
        return same_objects()

    def close(self) -> None:
        """
        Makes `call` refuse from now on, waits for the calls that run, and lets go of the memory of frames.
        At the end of the interpreter, when calls of other threads do not return, it does not wait, and
        their memory stays.
        """
        self._record[_N_ARGUMENTS] = -1
        while self.n_running:
            if sys.is_finalizing():
                return
            time.sleep(_WAIT_SECONDS)
        self._record[_FRAMES] = 0
        self._frames.clear()

    def forget_calls(self) -> None:
        """In the child of a fork: the threads whose calls ran are not here."""
        self._record[_RUNNING] = self._record[_FRAMES] = 0
        for frame in self._frames:
            self._push(frame)

    def _push(self, frame: _Frame) -> None:
        native_library().frame_push(self._record.ctypes.data, frame.link.ctypes.data)


_PROGRAMS: WeakSet[DirectProgram] = WeakSet()


def _forget_calls() -> None:
    for program in _PROGRAMS:
        program.forget_calls()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_calls)
