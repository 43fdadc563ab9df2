"""
The choices that a program is made of: each has a name, and a value that follows from the seed and the name.

So a program can be made again with one choice changed and all others as they were, which is what shrinking
does.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class Choice(NamedTuple):
    """A number that was chosen, and the one that makes the simplest program."""

    value: int
    simplest: int


class Draws:
    """Choices by name for a kind of programs; `given` are values that are not drawn."""

    def __init__(self, kind: str, seed: int, given: Mapping[str, int] | None = None) -> None:
        self._kind, self._seed = kind, seed
        self.given = dict(given or {})
        self.made: dict[str, Choice] = {}
        """What was asked for, in the order of asking."""
        self._scope = ""

    @contextmanager
    def scope(self, name: str) -> Generator[None]:
        """Puts `name` before the names of what is drawn meanwhile."""
        outer, self._scope = self._scope, f"{self._scope}{name}."
        try:
            yield
        finally:
            self._scope = outer

    def integer(self, name: str, low: int, high: int, simplest: int | None = None) -> int:
        """Returns an integer from `low` to `high`; a given one is moved into that range."""
        least = low if simplest is None else simplest
        return self._noted(name, low, high, least, lambda rng: rng.randint(low, high))

    def small(self, name: str, low: int, high: int) -> int:
        """As `integer`, but small ones are frequent: the logarithm is what is drawn evenly."""

        def drawn(rng: random.Random) -> int:
            span = high - low + 1
            return low + min(int(span ** rng.random()) - 1, high - low)

        return self._noted(name, low, high, low, drawn)

    def flag(self, name: str, chance: float = 0.5) -> bool:
        """Returns whether; the simplest is not."""
        return bool(self._noted(name, 0, 1, 0, lambda rng: int(rng.random() < chance)))

    def pick(self, name: str, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        """Returns one of `options`, of which the first is the simplest."""
        indices = range(len(options))
        return options[
            self._noted(name, 0, len(options) - 1, 0, lambda rng: rng.choices(indices, weights)[0])
        ]

    def normal(self, name: str, shape: Sequence[int], scale: float = 1.0) -> Array:
        """Returns normally distributed numbers, which follow from the seed, the name and the shape."""
        return self.generator(name).normal(0.0, scale, tuple(shape))

    def integers(self, name: str, low: int, high: int, shape: Sequence[int]) -> Array:
        """Returns integers from `low` to below `high`."""
        return self.generator(name).integers(low, high, tuple(shape))

    def generator(self, name: str) -> np.random.Generator:
        """Returns a generator of data, which is no choice: nothing is noted."""
        return np.random.default_rng([self._seed, zlib.crc32(f"{self._kind}/{self._scope}{name}".encode())])

    def _noted(self, name: str, low: int, high: int, simplest: int, draw: Any) -> int:
        assert low <= simplest <= high, f"{name}: {simplest} is not from {low} to {high}"
        key = self._scope + name
        value = self.given.get(key)
        if value is None:
            value = draw(random.Random(f"{self._kind}/{self._seed}/{key}"))
        value = min(max(value, low), high)
        self.made[key] = Choice(value, simplest)
        return value
