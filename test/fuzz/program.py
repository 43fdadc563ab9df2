"""A random program: a function of a side (`tenon_side` or `numpy_side`) and arrays, and what it is given."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .draws import Array, Draws

EXAMPLES = Path(__file__).parents[2] / "examples"

Layer = Callable[[Any, Any, Any], Any]
"""A part of a program: of a side, the arguments by number, and a value."""


@dataclass(frozen=True)
class Shards:
    """
    A program whose arguments `data` are shards, along axis 0, that several devices may take in turns: `sums`
    of a side, the values of `shared` and the data of one shard are added up over all of them, and `update` of
    a side, the shared values and the sums gives the next shared values.
    """

    shared: tuple[int, ...]
    data: tuple[int, ...]
    sums: Callable[[Any, Sequence[Any], Sequence[Any]], Sequence[Any]]
    update: Callable[[Any, Sequence[Any], Sequence[Any]], Sequence[Any]]
    results: tuple[int, ...]
    """The sums that are the first results of the program; the next shared values are the others."""


@dataclass
class Program:
    """`function(t, arguments)` gives a tuple of arrays."""

    kind: str
    function: Callable[[Any, Sequence[Any]], tuple[Any, ...]]
    inputs: list[Array]
    feedback: dict[int, int] = field(default_factory=dict)
    """The arguments that a result, by number, may be given as in the next step."""
    text: str | None = None
    """The program as text, where it is not to be traced; its dims are open."""
    has_own_ops: bool = False
    """Whether the text has ops of `examples/custom_op`."""
    shards: Shards | None = None
    """How it may be run by several devices."""
    dims: dict[int, dict[int, str]] = field(default_factory=dict)
    """The axes of arguments whose extents may be left open, with the names of the choices that they are."""


class Builder:
    """What kinds make programs with: draws, and the arguments that were added."""

    def __init__(self, kind: str, draws: Draws) -> None:
        self.kind = kind
        self.draws = draws
        self.inputs: list[Array] = []
        self.feedback: dict[int, int] = {}
        self.dims: dict[int, dict[int, str]] = {}
        self.dtype = np.dtype(np.float32)

    def input(self, array: Array, dtype: Any = None, dims: dict[int, str] | None = None) -> int:
        """Adds an argument, of the program's dtype unless told another one; returns its number."""
        self.inputs.append(np.asarray(array).astype(self.dtype if dtype is None else dtype))
        if dims:
            self.dims[len(self.inputs) - 1] = dims
        return len(self.inputs) - 1

    def normal(
        self, name: str, shape: Sequence[int], scale: float = 1.0, dims: dict[int, str] | None = None
    ) -> int:
        """Adds an argument of normally distributed numbers."""
        return self.input(self.draws.normal(name, shape, scale), dims=dims)

    def weight(self, name: str, shape: Sequence[int], fan_in: int) -> int:
        """Adds a weight, of a scale that keeps values about as large as they are."""
        return self.normal(name, shape, 1 / max(fan_in, 1) ** 0.5)

    @contextmanager
    def scope(self, name: str) -> Generator[None]:
        with self.draws.scope(name):
            yield

    def program(self, function: Callable[[Any, Sequence[Any]], tuple[Any, ...]]) -> Program:
        return Program(self.kind, function, self.inputs, self.feedback, dims=self.dims)


MakeProgram = Callable[[Builder], Program]
