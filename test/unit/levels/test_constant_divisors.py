"""Integers divided by constants: whatever code that takes, results are those of any divisor."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon

DTYPES = {"i8": np.int8, "ui32": np.uint32, "i64": np.int64}


def divisors(element_type: str) -> list[int]:
    limits = np.iinfo(DTYPES[element_type])
    half = limits.max // 2 + 1
    found = [0, 1, 2, 3, 7, 10, 64, half, limits.max]
    return found + ([-1, -2, -7, limits.min] if limits.min else [limits.max - 1])


def dividends(element_type: str) -> npt.NDArray[np.integer]:
    limits = np.iinfo(DTYPES[element_type])
    edges = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 2, 3, 7, 63, 64, 65]
    random = np.random.default_rng(0).integers(limits.min, limits.max, 85, dtype=limits.dtype, endpoint=True)
    return np.concatenate([np.array(edges, limits.dtype), random])


def program(op: str, element_type: str) -> str:
    type = f"tensor<97x{element_type}>"
    numbers = divisors(element_type)
    lines = [
        f"%c{i} = graph.constant dense<{number}> : {type}\n%r{i} = graph.{op} %x, %c{i} : {type}"
        for i, number in enumerate(numbers)
    ]
    results, types = ", ".join(f"%r{i}" for i in range(len(numbers))), ", ".join([type] * len(numbers))
    body = "\n".join(lines)
    return f"func.func @main(%x: {type}) -> ({types}) {{\n{body}\nfunc.return {results} : {types}\n}}"


@pytest.mark.parametrize("backend", ["reference", "llvm", "opencl"])
@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize("op", ["div", "truncdiv", "mod", "rem"])
def test_a_constant_divides_as_any_divisor_does(op: str, element_type: str, backend: str):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    x = dividends(element_type)
    text = program(op, element_type)
    level: dict[str, Any] = {"level": "low"} if backend == "reference" else {}
    found = tenon.compile(text, backend=backend, **level)(x)
    expected = tenon.compile(text, backend="reference", level="graph")(x)
    for divisor, got, right in zip(divisors(element_type), found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(right), f"{op} by {divisor}")


@pytest.mark.parametrize(("op", "code"), [("div", "arith.shrsi"), ("mod", "arith.andi")])
def test_floored_division_by_a_power_of_two_is_one_op(op: str, code: str):
    type = "tensor<97xi32>"
    text = f"""func.func @main(%x: {type}) -> {type} {{
      %c = graph.constant dense<8> : {type}
      %r = graph.{op} %x, %c : {type}
      func.return %r : {type}
    }}"""
    low = tenon.compile(text).stages["low"]
    assert code in low
    assert "divsi" not in low and "remsi" not in low and "low.select" not in low
