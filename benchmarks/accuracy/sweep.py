"""
Measures the error of every expansion of `expand-math`; where the numbers of docs/accuracy.md come from.

    python benchmarks/accuracy/sweep.py [--stride N] [--rounds R] [exp log ... atan2]

Runs the expansions compiled by LLVM, which are the same bits as everywhere else. f32 functions of one operand
are compared with float64 at every N-th bit pattern (default 1, all of them: minutes each); f32 powf, atan2,
erf and the f64 functions with long double at random and at hard operands, R times (default 20) as many. erf
needs mpmath. Prints the largest error in units in the last place, and where it is.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import tenon
from tenon.passes.low import math

Array = npt.NDArray[Any]

TWO_OPERANDS = ("powf", "atan2")

EXPANSIONS = tuple(op.name.removeprefix("math.") for op in math.EXPANSIONS)


@cache
def compiled(name: str, type: str, size: int) -> Callable[..., Any]:
    """Returns a function of arrays of `size` elements, made of the op of `graph` that has the expansion."""
    tensor = f"tensor<{size}x{type}>"
    names = ["%x", "%y"] if name in TWO_OPERANDS else ["%x"]
    arguments = ", ".join(f"{argument}: {tensor}" for argument in names)
    op = "pow" if name == "powf" else name
    return tenon.compile(
        f"func.func @f({arguments}) -> {tensor} {{\n"
        f"  %z = graph.{op} {', '.join(names)} : {tensor}\n"
        f"  func.return %z : {tensor}\n}}",
        backend="llvm",
    )


def exact_erf(x: Array) -> Array:
    """Returns erf(x) to the precision of long double."""
    from mpmath import mp

    mp.prec = 80
    parts = [(float(value), float(value - float(value))) for value in (mp.erf(float(v)) for v in x)]
    return np.array([np.longdouble(high) + np.longdouble(low) for high, low in parts], dtype=np.longdouble)


REFERENCES: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": exact_erf,
    "sin": np.sin,
    "cos": np.cos,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log1p": np.log1p,
    "log2": np.log2,
    "log10": np.log10,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "powf": np.power,
    "atan2": np.arctan2,
}


def errors_in_ulps(computed: Array, exact: Array) -> Array:
    """
    Returns the error of each element in units in the last place of `computed`'s type, infinite where one is
    NaN or infinite and the other is not. `exact` has a wider type.
    """
    information = np.finfo(computed.dtype)
    with np.errstate(all="ignore"):
        rounded = exact.astype(computed.dtype)
        exponent = np.frexp(np.abs(exact))[1]
        lowest = int(information.minexp) - int(information.nmant)
        unit = np.ldexp(np.ones_like(exact), np.maximum(exponent - information.nmant - 1, lowest))
        error = np.abs(computed.astype(exact.dtype) - exact) / unit
    agrees = (computed == rounded) & (np.signbit(computed) == np.signbit(rounded))
    agrees |= np.isnan(computed) & np.isnan(exact)
    special = ~np.isfinite(computed) | ~np.isfinite(rounded) | ((computed == 0) & (rounded == 0))
    return np.where(special, np.where(agrees, 0, np.inf), error)


class Worst:
    """The largest error seen."""

    def __init__(self) -> None:
        self.error = -1.0
        self.operands: list[Any] = []
        self.n_points = 0

    def add(self, name: str, *operands: Array) -> None:
        wide = np.float64 if operands[0].dtype == np.float32 and name != "erf" else np.longdouble
        with np.errstate(all="ignore"):
            exact = REFERENCES[name](*(operand.astype(wide) for operand in operands))
        type = "f32" if operands[0].dtype == np.float32 else "f64"
        errors = errors_in_ulps(np.asarray(compiled(name, type, len(exact))(*operands)), exact)
        at = int(np.argmax(errors))
        self.n_points += len(errors)
        if errors[at] > self.error:
            self.error = float(errors[at])
            self.operands = [operand[at] for operand in operands]

    def show(self, name: str, kind: str) -> None:
        print(
            f"{name:5} {kind}  {self.error:.3f} ulp at {self.operands} of {self.n_points} points", flush=True
        )


def bit_patterns(stride: int) -> Iterator[Array]:
    """Yields f32 arrays of every `stride`-th bit pattern."""
    for start in range(0, 1 << 32, stride << 20):
        patterns = np.arange(start, min(start + (stride << 20), 1 << 32), stride, dtype=np.uint64)
        yield patterns.astype(np.uint32).view(np.float32)


def operands_of_one(random: np.random.Generator, dtype: Any, n: int) -> Iterator[Array]:
    bits = np.uint32 if dtype == np.float32 else np.uint64
    yield random.integers(0, np.iinfo(bits).max, n, dtype=bits, endpoint=True).view(dtype)
    for bound in (1e-3, 0.1, 1.0, 6.0, 20.0, 100.0, 750.0, 1e5, 1e15):
        yield random.uniform(-bound, bound, n).astype(dtype)
    for bound in (0.3, 0.6, 2.0):
        yield random.uniform(-bound, bound, n).astype(dtype)
    yield (2.0 ** random.uniform(-60, 0, n)).astype(dtype)
    yield (2.0 ** random.uniform(-60, 0, n) - 1).astype(dtype)
    # Near multiples of pi/2, and near 1.
    multiples = np.round(random.uniform(1, 2.0 ** random.uniform(1, 60, n)))
    yield (multiples * (np.pi / 2)).astype(dtype)
    yield (1 + random.uniform(-1, 1, n) * 2.0 ** -random.integers(0, 52, n)).astype(dtype)


def operands_of_two(
    name: str, random: np.random.Generator, dtype: Any, n: int
) -> Iterator[tuple[Array, Array]]:
    bits = np.uint32 if dtype == np.float32 else np.uint64
    patterns = random.integers(0, np.iinfo(bits).max, (2, n), dtype=bits, endpoint=True).view(dtype)
    yield patterns[0], patterns[1]
    if name == "atan2":
        height = random.uniform(-1, 1, n)
        for ratio in (random.uniform(-3, 3, n), 2.0 ** random.uniform(-60, 60, n)):
            yield height.astype(dtype), (height * ratio).astype(dtype)
        information = np.finfo(dtype)
        least = random.integers(-40, 41, (2, n)).astype(dtype) * information.smallest_subnormal
        yield least[0], least[1]
        largest = random.uniform(-1, 1, (2, n)).astype(dtype) * information.max
        yield largest[0], largest[1]
        return
    largest = 88.0 if dtype == np.float32 else 709.0
    spread = np.exp(random.uniform(-largest, largest, n)).astype(dtype)
    near_one = (1 + random.uniform(-0.5, 1, n) * 2.0 ** -random.integers(0, 52, n)).astype(dtype)
    for base in (spread, np.where(near_one == 1, dtype(2), near_one)):
        exponent = random.uniform(-1.05 * largest, largest, n) / np.log(base.astype(np.float64))
        yield base, exponent.astype(dtype)
    yield random.uniform(-50, 50, n).astype(dtype), random.integers(-200, 200, n).astype(dtype)


def measure(name: str, stride: int, rounds: int) -> None:
    n = 2_000 if name == "erf" else 200_000
    random = np.random.default_rng(0)
    for dtype, kind in ((np.float32, "f32"), (np.float64, "f64")):
        worst = Worst()
        if name in TWO_OPERANDS:
            for _ in range(rounds):
                for base, exponent in operands_of_two(name, random, dtype, n):
                    worst.add(name, base, exponent)
        elif dtype == np.float32 and name != "erf":
            for x in bit_patterns(stride):
                worst.add(name, x)
        else:
            for _ in range(rounds):
                for x in operands_of_one(random, dtype, n):
                    worst.add(name, x)
        worst.show(name, kind)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the error of every expansion of expand-math.")
    parser.add_argument("names", nargs="*", default=list(EXPANSIONS), metavar="function")
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    for name in arguments.names:
        measure(name, arguments.stride, arguments.rounds)


if __name__ == "__main__":
    main()
