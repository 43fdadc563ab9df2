"""
Ops of kernels on a device, and numbers to try them on.

A `Case` is an op and what numpy says about it. `run_cases` writes many of them into one kernel of one
work-item for each element or vector: so much is compiled at once. What a device lacks is expanded, as in a
pipeline, and a test of an element type that it does not have is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend
from tenon.compiler.target import target_of
from tenon.dialects import context
from tenon.dialects.element_types import ELEMENT_TYPES
from tenon.passes.pipeline import expansions
from tenon.test.bits import assert_same_bits
from tenon.test.kernels import launch_kernel, parsed
from tenon.test.unit.storage_dtypes import DTYPES, F8

Array = npt.NDArray[Any]

FLOATS = ["f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64"]
NARROW = ["f16", "bf16", *F8]
LANES = [None, 2, 8]
"""None is a scalar."""

N = 256
"""How many numbers most cases have."""

_ELEMENTS = {str(type): type for type in ELEMENT_TYPES}


def run(device: Backend, text: str, *arrays: Array) -> None:
    """Runs the one kernel of `text` on all the arrays, in place."""
    module = parsed(text)
    for expansion in expansions(target_of(device.device)):
        expansion.apply(context(), module)
    launch_kernel(device, module, *arrays)


@dataclass(frozen=True)
class Case:
    """
    One op: its text, where `!f32` is f32 or a vector of it, the type of `%r`, and what numpy says, of all
    inputs. Where it is exact NaNs have the same bits too.
    """

    text: str
    type: str
    expected: Callable[..., Array]
    is_exact: bool = False


def run_cases(
    device: Backend, cases: Sequence[Case], inputs: dict[str, Array], types: dict[str, str], lanes: int | None
) -> None:
    """Runs all cases on inputs of one length, one element or `lanes` at a time, and compares with numpy."""
    stored = ["i8" if case.type == "i1" else case.type for case in cases]
    need(device, *types.values(), *stored)
    (n,) = {len(array) for array in inputs.values()}
    outputs = {type: np.zeros((stored.count(type), n), DTYPES[type]) for type in dict.fromkeys(stored)}
    arguments = [f"%in_{name} : memref<{n}x{types[name]}>" for name in inputs]
    arguments += [f"%out_{type} : memref<{array.size}x{type}>" for type, array in outputs.items()]
    step = lanes or 1
    lines = [f"low.kernel @cases({', '.join(arguments)}) grid [{n // step}, 1, 1] block [1, 1, 1] {{"]
    lines += ["%block = low.block_id x", f"%step = arith.constant {step} : index"]
    lines += ["%i = arith.muli %block, %step : index"]
    for name in inputs:
        buffer = f"%in_{name}[%i] : memref<{n}x{types[name]}>"
        load = f"memref.load {buffer}" if lanes is None else f"vector.load {buffer}, !{types[name]}"
        lines.append(f"%{name} = {load}")
    rows = dict.fromkeys(outputs, 0)
    for number, (case, type) in enumerate(zip(cases, stored, strict=True)):
        lines += [re.sub(r"%(r|t\d*)\b", rf"%\1_{number}", case.text)]
        value = f"%r_{number}"
        if case.type == "i1":
            lines.append(f"%bit_{number} = low.convert extui {value} : !i1 to !i8")
            value = f"%bit_{number}"
        lines.append(f"%row_{number} = arith.constant {rows[type] * n} : index")
        lines.append(f"%j_{number} = arith.addi %i, %row_{number} : index")
        buffer = f"%out_{type}[%j_{number}] : memref<{outputs[type].size}x{type}>"
        suffix = "" if lanes is None else f", !{type}"
        lines.append(f"{'memref' if lanes is None else 'vector'}.store {value}, {buffer}{suffix}")
        rows[type] += 1
    text = "\n".join([*lines, "}"])
    text = re.sub(r"!(\w+)", r"\1" if lanes is None else rf"vector<{lanes}x\1>", text)
    run(device, text, *inputs.values(), *(output.reshape(-1) for output in outputs.values()))
    rows = dict.fromkeys(outputs, 0)
    for case, type in zip(cases, stored, strict=True):
        with np.errstate(all="ignore"):
            expected = case.expected(*inputs.values()).astype(DTYPES[type])
        actual = outputs[type][rows[type]]
        if case.is_exact:
            bits = f"u{actual.itemsize}"
            actual, expected = actual.view(bits), expected.view(bits)
        assert_same_bits(actual, expected, case.text)
        rows[type] += 1


def need(device: Backend, *types: str) -> None:
    """Skips the test where the device lacks an element type."""
    for type in dict.fromkeys(types):
        if not device.device.supports(_ELEMENTS[type]):
            pytest.skip(f"{device.name} has no {type}")


def floats(type: str, seed: int) -> Array:
    """All kinds of floats: every pair of two seeds' special numbers, then random bits, then tame numbers."""
    dtype = DTYPES[type]
    rng = np.random.default_rng(seed)
    info = ml_dtypes.finfo(dtype)
    special = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, float(info.tiny), float(info.max), 0.5]
    special += [-float(info.smallest_subnormal), 2.0**30]
    crossed = np.repeat(special, 12) if seed % 2 else np.tile(special, 12)
    unsigned = f"u{np.dtype(dtype).itemsize}"
    random = rng.integers(0, np.iinfo(unsigned).max, 56, unsigned, endpoint=True).view(dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([crossed.astype(dtype), random, rng.normal(0, 10, 56).astype(dtype)])


def integers(type: str, seed: int) -> Array:
    """As `floats`, of integers."""
    dtype = DTYPES[type]
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    special = np.array([0, 1, -1, 2, -7, info.min, info.max, info.min + 1], dtype)
    crossed = np.repeat(special, 8) if seed % 2 else np.tile(special, 8)
    return np.concatenate([crossed, rng.integers(info.min, info.max, N - 64, dtype, endpoint=True)])


def as_unsigned(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def on_unsigned(f: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Lets `f` read signed integers as unsigned."""

    def compute(a: Array, b: Array) -> Array:
        return f(as_unsigned(a), as_unsigned(b)).astype(as_unsigned(a).dtype).view(a.dtype)

    return compute


def maximum(a: Array, b: Array) -> Array:
    """NaN wins, and -0.0 is below +0.0."""
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def minimum(a: Array, b: Array) -> Array:
    return -maximum(-a, -b)


def powers_of_two(type: str) -> dict[str, Array]:
    """Returns significands and exponents, those of subnormal and of about infinite results among them."""
    n_numbers, random, dtype = 4096, np.random.default_rng(0), DTYPES[type]
    bias, mantissa_bits = 127 if type == "f32" else 1023, np.finfo(dtype).nmant
    x = (random.choice([-1, 1], n_numbers) * random.uniform(0.5, 2, n_numbers)).astype(dtype)
    n = random.integers(-2 * bias, 2 * bias + 1, n_numbers).astype(dtype)
    n[1000:2000] = random.integers(-bias - mantissa_bits - 3, -bias + 3, 1000)
    n[2000:3000] = random.integers(bias - 1, bias + 3, 1000)
    significands = [0.5, -0.5, 1.0, -1.0, 2.0, -2.0, np.nan]
    exponents = [-2.0 * bias, -1.0, 0.0, 1.0, 2.0 * bias, np.nan]
    pairs = np.array([(number, exponent) for number in significands for exponent in exponents], dtype)
    pairs = pairs[np.isnan(pairs[:, 0]) | ~np.isnan(pairs[:, 1])]
    x[: len(pairs)], n[: len(pairs)] = pairs.T
    return {"x": x, "n": n}


def ldexp(x: Array, n: Array) -> Array:
    return np.ldexp(x, np.where(np.isnan(n), 0, n).astype(int)).astype(x.dtype)
