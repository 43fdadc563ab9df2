"""Runs the model on every backend and in numpy, and prints what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import tenon
from picture import save_picture

FOLDER = Path(__file__).parent
LEVELS = ("graph", "sched", "low")
LEAST_ACCURACY = 0.96
TOLERANCE = 1e-5
TIMING_SECONDS = 0.5

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Run:
    """What one contender answered, and how long compiling, its first call and its best call took."""

    name: str
    probabilities: Array
    compile_seconds: float
    first_seconds: float
    best_seconds: float


def load(path: Path) -> dict[str, Array]:
    """Returns the arrays of an .npz file by name."""
    with np.load(path, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


def digits_in_numpy(images: Array, w1: Array, b1: Array, w2: Array, b2: Array, w3: Array, b3: Array) -> Array:
    """Computes what digits.mlir says."""
    hidden = np.maximum(images.astype(np.float32) * np.float32(0.0625) @ w1 + b1, 0)
    hidden = np.maximum(hidden @ w2 + b2, 0)
    scores = hidden @ w3 + b3
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def measure(
    name: str, call: Callable[..., Array], arguments: Mapping[str, Array], compile_seconds: float = 0.0
) -> Run:
    """Calls once for the answer, then again for about `TIMING_SECONDS` for the best time of one call."""
    start = perf_counter()
    probabilities = call(**arguments)
    first = perf_counter() - start
    seconds: list[float] = []
    while not seconds or sum(seconds) < TIMING_SECONDS:
        start = perf_counter()
        call(**arguments)
        seconds.append(perf_counter() - start)
    return Run(name, np.array(probabilities), compile_seconds, first, min(seconds))


def print_runs(runs: list[Run], labels: Array) -> bool:
    """Prints a line for each run. Returns whether all are accurate enough."""
    print(f"{'':15s}  {'accuracy':>8s}  {'compile':>10s}  {'first call':>10s}  {'best call':>10s}")
    accurate = True
    for run in runs:
        accuracy = float(np.mean(run.probabilities.argmax(axis=1) == labels))
        accurate &= accuracy >= LEAST_ACCURACY
        times = (run.compile_seconds, run.first_seconds, run.best_seconds)
        columns = "  ".join("-".rjust(10) if not time else f"{1e3 * time:7.3f} ms" for time in times)
        print(f"{run.name:15s}  {accuracy:8.2%}  {columns}")
    if not accurate:
        print(f"FAILED: an accuracy is under {LEAST_ACCURACY:.0%}")
    return accurate


def print_agreement(runs: list[Run]) -> bool:
    """Prints how far each two runs lie apart. Returns whether all agree within `TOLERANCE`."""
    agreed = True
    for left, right in combinations(runs, 2):
        difference = float(np.max(np.abs(left.probabilities - right.probabilities)))
        same_bits = left.probabilities.tobytes() == right.probabilities.tobytes()
        # The negation is there for NaN, which compares as neither.
        differs = not difference <= TOLERANCE
        agreed &= not differs
        verdict = "DIFFER" if differs else "agree bit for bit" if same_bits else "agree, not bit for bit"
        print(f"{left.name} and {right.name} {verdict} (largest difference {difference:.3g})")
    if not agreed:
        print(f"FAILED: two answers differ by more than {TOLERANCE:g}")
    return agreed


def recognise(backends: Sequence[str], picture_path: Path) -> bool:
    """
    Does the job and saves the picture. Returns whether every answer is accurate and all agree.

    Raises `TenonError` where a backend is missing or does not take the model.
    """
    data = load(FOLDER / "digits.npz")
    images, labels = data["images"][data["held_out"]], data["labels"][data["held_out"]]
    arguments = {"images": images, **load(FOLDER / "weights.npz")}
    module_path = FOLDER / "digits.mlir"

    runs: list[Run] = []
    stages: Mapping[str, str] = {}
    # The reference interprets what the model says and, with the order of its sums settled, what it became.
    wanted = [
        (backend, level)
        for backend in backends
        for level in (("graph", "low") if backend == "reference" else (None,))
    ]
    for backend, level in wanted:
        start = perf_counter()
        executable = tenon.compile(
            module_path.read_text(), backend=backend, level=level, filename=str(module_path)
        )
        compile_seconds = perf_counter() - start
        name = backend if level is None else f"{backend} {level}"
        runs.append(measure(name, executable, arguments, compile_seconds))
        if len(stages) < len(LEVELS):
            stages = {level: executable.stages[level] for level in LEVELS if level in executable.stages}
    runs.append(measure("numpy", digits_in_numpy, arguments))

    print(f"{len(labels)} held-out images, one batch per call; numpy on one thread")
    accurate = print_runs(runs, labels)
    agreed = print_agreement(runs)
    save_picture(picture_path, images, labels, runs[0].probabilities, stages)
    print(f"picture: {picture_path}")
    return accurate and agreed
