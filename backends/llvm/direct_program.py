"""A program that callers run in their own arrays, through a function of the interpreter in machine code."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..interface import ArrayBuffers, BufferLoc, CompiledArtifact, Step
from .native_library import native_library
from .program import AddressedMemory
from .step_image import StepImage

LEAST_RELEASED_NANOSECONDS = 5_000
"""A run that is expected to take less than this keeps the interpreter's lock."""

_WAIT_SECONDS = 0.0005

_N_ARGUMENTS, _RUNNING, _FRAMES = 0, 5, 8
"""The words of the record that are used here."""

Words = npt.NDArray[np.int64]


class DirectProgram:
    """
    Any number of threads may use it: each call has a frame of its own while it runs, with the addresses of
    its buffers. `call` is the function that `native_call` describes.

    It keeps alive all that its machine code reads; frames need their memory until it is closed.
    """

    def __init__(
        self,
        memory: AddressedMemory,
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
        self._frames: list[tuple[Words, Words]] = []
        shapes = [np.array(operand.shape, np.int64) for operand in operands]
        new_arguments = [(operand.shape, operand.dtype) for operand in operands]
        operand_words = np.array(
            [
                (id(operand.dtype), len(operand.shape), shape.ctypes.data, operand.nbytes, id(new))
                for operand, shape, new in zip(operands, shapes, new_arguments, strict=True)
            ],
            np.int64,
        ).reshape(-1, 5)
        patch_words = np.array(patches, np.int64).reshape(-1, 2)
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
                id(np.empty),
            ],
            np.int64,
        )
        self._keeps = (operands, shapes, new_arguments, operand_words, patch_words)
        self._process_id = os.getpid()
        self.call: Callable[[tuple[Any, ...], Any], Any] = _new_function(self._record)

    @property
    def has_free_frame(self) -> bool:
        return bool(self._record[_FRAMES])

    def add_frame(self, locations: Mapping[int, BufferLoc]) -> None:
        """Adds a frame whose buffers, but for those in the arrays, lie at `locations` by their numbers."""
        words, address = self._image.instantiate()
        for buffer in self._placed:
            words[self._image.slots_of[buffer]] = self._memory.address(locations[buffer])
        frame = np.array([0, address], np.int64)
        self._frames.append((frame, words))
        native_library().frame_push(self._record.ctypes.data, frame.ctypes.data)

    def close(self) -> None:
        """Makes `call` refuse from now on, and waits for the calls that run."""
        self._record[_N_ARGUMENTS] = -1
        while self._record[_RUNNING] and os.getpid() == self._process_id:
            time.sleep(_WAIT_SECONDS)


def _new_function(record: Words) -> Callable[[tuple[Any, ...], Any], Any]:
    """Returns `program_call` as a function of the interpreter, which keeps its record alive."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    return new(ctypes.addressof(native_library().call_method), record, None)
