"""
Recognises the held-out digits with the model in digits.mlir, on every backend.

Prints the accuracy, the time per batch beside numpy's, and whether the answers agree; saves a picture of some
digits with their predictions and of the size of the program at each level. The exit status is 1 where an
accuracy is under 96 % or two answers differ by more than 1e-5 in a probability.
"""

import argparse
import os
import sys
from pathlib import Path

BACKENDS = ("llvm", "opencl", "reference")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Recognises the held-out handwritten digits.")
    parser.add_argument(
        "--backend", action="append", choices=BACKENDS, help="run on this backend only; may be repeated"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("out/digits.png"), help="the picture (default: %(default)s)"
    )
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    # Read when numpy is imported. On so small a batch more threads spend their time waiting for each other.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    try:
        from recognise import recognise
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        print("run.py: error: matplotlib is missing (pip install 'tenon[examples]')", file=sys.stderr)
        return 1
    from tenon import TenonError

    try:
        return 0 if recognise(tuple(dict.fromkeys(options.backend or BACKENDS)), options.output) else 1
    except TenonError as error:
        print(f"run.py: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
