"""
Runs a softmax, the digits and the transformer of the other examples on gcc, and compares numbers: with the
interpreter's, which are the same bits, and with numpy's. The exit status is 1 where they differ.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import tenon

EXAMPLES = Path(__file__).parents[1]
LEAST_ACCURACY = 0.96
TOLERANCE = 2e-4


def compare(what: str, path: Path, **arguments: np.ndarray) -> np.ndarray:
    """Returns what a program gives, and prints whether the interpreter gives the same bits."""
    text = path.read_text()
    with tenon.compile(text, backend="gcc") as compiled:
        found = np.asarray(compiled(**arguments))
    with tenon.compile(text, backend="reference", level="low") as interpreted:
        expected = np.asarray(interpreted(**arguments))
    if found.tobytes() != expected.tobytes():
        sys.exit(f"{what}: the interpreter gives other bits (up to {np.abs(found - expected).max():.3g} off)")
    print(f"{what}: the bits of the interpreter")
    return found


def recognise() -> None:
    folder = EXAMPLES / "digits"
    with np.load(folder / "digits.npz") as data, np.load(folder / "weights.npz") as weights:
        images, labels = data["images"][data["held_out"]], data["labels"][data["held_out"]]
        found = compare("digits", folder / "digits.mlir", images=images, **weights)
    accuracy = float(np.mean(found.argmax(axis=1) == labels))
    print(f"digits: accuracy {accuracy:.2%}")
    if accuracy < LEAST_ACCURACY:
        sys.exit(f"digits: an accuracy under {LEAST_ACCURACY:.0%}")


def predict() -> None:
    sys.path.insert(0, str(EXAMPLES / "programs"))
    import transformer

    weights = transformer.random_weights(width=16, heads=2, layers=3)
    predict = tenon.jit(transformer.next_token, dynamic={"tokens": {0: transformer.TOKENS}}, backend="gcc")
    for length in (1, 2, 9):
        tokens = np.arange(length) * 7 % transformer.VOCABULARY
        found, expected = (np.asarray(f(tokens, weights)) for f in (predict, transformer.next_token_of_numpy))
        if not np.allclose(found, expected, rtol=TOLERANCE, atol=1e-7):
            sys.exit(f"transformer: up to {np.abs(found - expected).max():.3g} off for {length} tokens")
    print("transformer: the probabilities of numpy")


if __name__ == "__main__":
    x = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
    compare("softmax", EXAMPLES / "softmax.mlir", x=x)
    recognise()
    predict()
