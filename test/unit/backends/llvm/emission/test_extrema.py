"""Maxima and minima of floats: what they are of NaN and zeros, and the instructions for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.llvm.device import CpuDevice
from tenon.backends.llvm.processors import Processor
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.backends.registry import get_backend
from tenon.test.bits import assert_same_bits
from tenon.test.kernels import launch_kernel, parsed

Array = npt.NDArray[Any]

SPECIAL = (0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan, -np.nan, 1e-40, -1e-40, 3.0, -7.0)

N = 144
"""So many pairs there are of these, which is a whole number of vectors."""


def kernel(op: str, element: str, lanes: int, flags: str = "", rhs: str = "%b") -> str:
    type = f"vector<{lanes}x{element}>"
    return f"""
    low.kernel @k(%x: memref<{N}x{element}>, %y: memref<{N}x{element}>, %z: memref<{N}x{element}>)
        grid [1, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %end = arith.constant {N} : index
      %step = arith.constant {lanes} : index
      %one = arith.constant dense<1.0> : {type}
      scf.for %i = %c0 to %end step %step {{
        %a = vector.load %x[%i] : memref<{N}x{element}>, {type}
        %b = vector.load %y[%i] : memref<{N}x{element}>, {type}
        %r = arith.{op} %a, {rhs} {flags} : {type}
        vector.store %r, %z[%i] : memref<{N}x{element}>, {type}
      }}
    }}
    """


def text_for(features: str, op: str, element: str, lanes: int, flags: str = "", rhs: str = "%b") -> str:
    device = CpuDevice(Processor("abacus", "x86_64", "generic", features, 64))
    return LLVMRenderer().render(parsed(kernel(op, element, lanes, flags, rhs)), device)


def ordered(op: str, expected: np.ufunc, x: Array, y: Array) -> Array:
    """Returns the extrema of two arrays, where -0 is less than 0; numpy takes any of two zeros."""
    number: Array = expected(x, y)
    both = (x == 0) & (y == 0)
    is_negative = np.signbit(x) & np.signbit(y) if op == "maximumf" else np.signbit(x) | np.signbit(y)
    number[both] = np.where(is_negative, x.dtype.type(-0.0), x.dtype.type(0.0))[both]
    return number


@pytest.mark.processor
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(("op", "expected"), [("maximumf", np.maximum), ("minimumf", np.minimum)])
def test_nan_is_kept_and_zeros_are_in_order(op: str, expected: np.ufunc, element: str, lanes: int) -> None:
    dtype = np.float32 if element == "f32" else np.float64
    x, y = (each.astype(dtype).ravel() for each in np.meshgrid(SPECIAL, SPECIAL))
    z = np.zeros(N, dtype)
    launch_kernel(get_backend("llvm"), parsed(kernel(op, element, lanes)), x, y, z)
    assert_same_bits(z, ordered(op, expected, x, y))


@pytest.mark.parametrize(
    ("element", "lanes", "name"),
    [
        ("f32", 16, "range.ps.512"),
        ("f32", 8, "range.ps.256"),
        ("f32", 4, "range.ps.128"),
        ("f64", 8, "range.pd.512"),
        ("f64", 2, "range.pd.128"),
    ],
)
def test_avx512_has_an_instruction(element: str, lanes: int, name: str) -> None:
    whole = "512" in name
    for op, which in (("maximumf", "i32 5"), ("minimumf", "i32 4")):
        assert f"{name}(" in (text := text_for("+avx512f,+avx512dq,+avx512vl", op, element, lanes))
        assert which in text
    assert (name in text_for("+avx512f,+avx512dq", "maximumf", element, lanes)) is whole
    for features in ("+avx512f,+avx512vl", "+avx2"):
        assert "llvm.maximum" in text_for(features, "maximumf", element, lanes)


@pytest.mark.parametrize(
    ("lanes", "flags", "rhs"),
    [(2, "", "%b"), (16, "fastmath<nnan>", "%b"), (16, "fastmath<nsz>", "%b"), (16, "", "%one")],
    ids=["half a register", "nan undefined", "any zero", "a constant"],
)
def test_where_llvm_needs_no_more_its_intrinsic_is_taken(lanes: int, flags: str, rhs: str) -> None:
    text = text_for("+avx512f,+avx512dq,+avx512vl", "maximumf", "f32", lanes, flags, rhs)
    assert "llvm.maximum" in text and "mask.range" not in text


def serial_kernel(op: str, element: str, rhs: str = "%b", flags: str = "", carried: bool = True) -> str:
    """One element after the other; what is carried does not reach the results."""
    loop, ends = ("scf.for", "") if not carried else ("%last = scf.for", f"scf.yield %next : {element}")
    head = f" iter_args(%so_far = %one) -> ({element})" if carried else ""
    return f"""
    low.kernel @k(%x: memref<{N}x{element}>, %y: memref<{N}x{element}>, %z: memref<{N}x{element}>)
        grid [1, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %end = arith.constant {N} : index
      %step = arith.constant 1 : index
      %one = arith.constant 1.0 : {element}
      {loop} %i = %c0 to %end step %step{head} {{
        %a = memref.load %x[%i] : memref<{N}x{element}>
        %b = memref.load %y[%i] : memref<{N}x{element}>
        %r = arith.{op} %a, {rhs} {flags} : {element}
        memref.store %r, %z[%i] : memref<{N}x{element}>
        {"%next = arith.addf %so_far, %r : " + element if carried else ""}
        {ends}
      }}
    }}
    """


def reducing_kernel() -> str:
    text = serial_kernel("minimumf", "f64", "%so_far")
    text = text.replace("%next = arith.addf %so_far, %r : f64", "").replace("yield %next", "yield %r")
    return text.replace(f"memref.store %r, %z[%i] : memref<{N}xf64>", "")


def rendered(text: str, arch: str = "x86_64") -> str:
    return LLVMRenderer().render(parsed(text), CpuDevice(Processor("abacus", arch, "generic", "", 16)))


@pytest.mark.processor
@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(("op", "expected"), [("maximumf", np.maximum), ("minimumf", np.minimum)])
def test_in_series_nan_is_kept_and_zeros_are_in_order(op: str, expected: np.ufunc, element: str) -> None:
    dtype = np.float32 if element == "f32" else np.float64
    x, y = (each.astype(dtype).ravel() for each in np.meshgrid(SPECIAL, SPECIAL))
    z = np.zeros(N, dtype)
    launch_kernel(get_backend("llvm"), parsed(serial_kernel(op, element)), x, y, z)
    assert_same_bits(z, ordered(op, expected, x, y))


@pytest.mark.parametrize(
    ("text", "arch", "name"),
    [
        (serial_kernel("minimumf", "f32"), "x86_64", "x86.sse.min.ss"),
        (serial_kernel("maximumf", "f64"), "x86_64", "x86.sse2.min.sd"),
        (serial_kernel("minimumf", "f64"), "aarch64", "llvm.minimum.f64"),
        (serial_kernel("minimumf", "f64", rhs="%one"), "x86_64", "llvm.minimum.f64"),
        (serial_kernel("minimumf", "f64", flags="fastmath<nnan>"), "x86_64", "llvm.minimum.f64"),
        (serial_kernel("minimumf", "f64", carried=False), "x86_64", "llvm.minimum.f64"),
        (reducing_kernel(), "x86_64", "llvm.minimum.f64"),
    ],
    ids=["f32", "f64", "another processor", "a constant", "relaxed", "in any order", "all that is carried"],
)
def test_two_sides_where_iterations_wait_for_one_another(text: str, arch: str, name: str) -> None:
    assert {each for each in ("x86.sse", "llvm.minimum.") if each in rendered(text, arch)} == {
        "x86.sse" if name.startswith("x86") else "llvm.minimum."
    }
    assert f"{name}(" in rendered(text, arch)
