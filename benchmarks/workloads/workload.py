"""What a workload is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Workload:
    """
    Work that contenders do on f32 arrays. `kind` names the function that each of them has for it;
    `parameters` are known beforehand and given to it by name.
    """

    name: str
    group: str
    kind: str
    shapes: Mapping[str, tuple[int, ...]]
    """Of the arguments, in order."""
    result_shape: tuple[int, ...]
    goal: float
    """The least ratio of the best peer's time over Tenon's that is wanted."""
    flops: int = 0
    """Multiplications and additions of contractions; other work is bounded by its traffic."""
    parameters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constants: tuple[str, ...] = ()
    """Arguments whose values are known when the work is compiled, as the weights of a finished model."""

    @property
    def nbytes(self) -> int:
        """What has to be read and written at least."""
        return 4 * (sum(map(prod, self.shapes.values())) + prod(self.result_shape))

    def arguments(self) -> dict[str, Array]:
        """Returns new arrays of normally distributed numbers, the same ones each time."""
        generator = np.random.default_rng(0)
        return {name: _filled(shape, generator) for name, shape in self.shapes.items()}

    def result(self) -> Array:
        """Returns a new array that can hold the result."""
        return aligned_empty(self.result_shape)


def aligned_empty(shape: tuple[int, ...]) -> Array:
    """
    Returns a new f32 array that begins at a cache line, as the arrays of torch and jax do by themselves, so
    that nobody's arrays lie better than the others'.
    """
    nbytes = 4 * prod(shape)
    memory = np.empty(nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + nbytes].view(np.float32).reshape(shape)


def _filled(shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    array = aligned_empty(shape)
    generator.standard_normal(out=array, dtype=np.float32)
    return array
