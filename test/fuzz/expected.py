"""What a program should give, and how far off a right one may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .draws import Array
from .numpy_side import NumpySide
from .program import Program
from .values import Noise, Value, is_float

SAFETY = 8.0
"""
How many times as far off as the runs with noise a result may be. One run shows the size of errors, but of few
elements it may show too little by chance: who fails is measured against more runs.
"""

MORE_RUNS = 24

LOOSE = 1e-2
"""A result with a bound of more than this, relative to its size, hardly shows anything: such are counted."""


@dataclass(frozen=True)
class Verdict:
    """What a comparison found: None where all is right, else what is wrong and where."""

    wrong: str | None
    is_loose: bool = False
    is_undecided: bool = False
    """A choice of the program hung on rounding: whole numbers differ where runs with noise differ, too."""


class Expected:
    """
    The results of `program` after `steps` steps, in each of which it is given, for the arguments of its
    `feedback`, results of the last.
    """

    def __init__(self, program: Program, steps: int = 1) -> None:
        self._program, self._steps = program, steps
        noise = Noise()
        self.values = self._run(noise)
        self.work = noise.work
        """About how many scalar operations one run takes."""
        self._deviations: list[Array] | None = None
        self._runs = 0

    def _run(self, noise: Noise) -> list[Value]:
        side = NumpySide(noise)
        given = [Value(array, array.dtype, noise) for array in self._program.inputs]
        results: tuple[Any, ...] = ()
        for _ in range(self._steps):
            results = self._program.function(side, given)
            for argument, result in self._program.feedback.items():
                given[argument] = results[result]
        return list(results)

    def _add_runs(self, count: int) -> None:
        """Makes more runs with noise: `_deviations` are the greatest of each element."""
        if self._deviations is None:
            self._deviations = [np.zeros(value.shape) for value in self.values]
        for seed in range(self._runs + 1, self._runs + count + 1):
            for deviation, clean, noisy in zip(
                self._deviations, self.values, self._run(Noise(1.0, seed)), strict=True
            ):
                apart = np.abs(noisy.array.astype(np.float64) - clean.array.astype(np.float64))
                np.maximum(deviation, apart, out=deviation)
        self._runs += count

    def compare(self, found: Sequence[Array]) -> Verdict:
        """Compares results with what they should be."""
        if len(found) != len(self.values):
            return Verdict(f"{len(found)} results, expected {len(self.values)}")
        for number, (array, value) in enumerate(zip(found, self.values, strict=True)):
            if array.shape != value.shape or array.dtype != value.dtype:
                return Verdict(
                    f"result {number} is {array.dtype}{list(array.shape)}, "
                    f"expected {value.dtype}{list(value.shape)}"
                )
        verdict = Verdict(None)
        for runs in (1, MORE_RUNS):
            if self._runs < runs:
                self._add_runs(runs - self._runs)
            verdict = self._judged(found)
            if verdict.wrong is None:
                break
        return verdict

    def _judged(self, found: Sequence[Array]) -> Verdict:
        assert self._deviations is not None
        is_loose = is_undecided = False
        for number, (array, value) in enumerate(zip(found, self.values, strict=True)):
            deviation = self._deviations[number]
            if not value.array.size:
                continue
            if not is_float(value.dtype):
                differs = array != value.array
                if np.any(differs & (deviation == 0)):
                    return Verdict(f"result {number}: {_where(array, value.array, differs)}")
                is_undecided |= bool(np.any(differs))
                continue
            apart = np.abs(array.astype(np.float64) - value.array)
            largest = float(np.max(np.abs(value.array)))
            bound = SAFETY * float(np.max(deviation))
            if np.any(apart > bound) or not np.all(np.isfinite(apart)):
                share = float(np.max(apart)) / (largest or 1.0)
                places = ~(apart <= bound)
                return Verdict(
                    f"result {number} of {value.dtype}{list(value.shape)} is off by {share:.1e} of its "
                    f"largest element, bound {bound / (largest or 1.0):.1e}: "
                    f"{_where(array.astype(np.float64), value.array, places)}"
                )
            is_loose |= bound > max(LOOSE * largest, 1e-4) and value.dtype.itemsize >= 4
        return Verdict(None, is_loose, is_undecided)


def _where(found: Array, expected: Array, places: Array) -> str:
    count = int(np.count_nonzero(places))
    first = tuple(int(k) for k in np.argwhere(places)[0]) if found.ndim else ()
    which = f"{count} of {found.size} elements differ, first at {list(first)}"
    return f"{which}: {found[first]} and {expected[first]}"
