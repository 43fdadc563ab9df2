"""Divisions of vectors by what a loop does not change: the same bits as divisions, by other instructions."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.llvm import backend
from tenon.backends.llvm.device import host_device
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.test.bits import assert_same_bits
from tenon.test.contract.op_cases import run
from tenon.test.kernels import parsed

Array = npt.NDArray[Any]

MANTISSA_BITS = {"f32": 23, "f64": 52}
DTYPES = {"f32": np.float32, "f64": np.float64}
LANES = {"f32": 16, "f64": 8}


def kernel(element: str, rows: int, columns: int, lanes: int, flags: str = "") -> str:
    """Divides each row of a matrix by a number of its own."""
    vector, n = f"vector<{lanes}x{element}>", rows * columns
    return f"""
    low.kernel @k(%x: memref<{n}x{element}>, %s: memref<{rows}x{element}>, %y: memref<{n}x{element}>)
        grid [1, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %rows = arith.constant {rows} : index
      %columns = arith.constant {columns} : index
      %lanes = arith.constant {lanes} : index
      scf.for %i = %c0 to %rows step %c1 {{
        %b = memref.load %s[%i] : memref<{rows}x{element}>
        %divisor = vector.broadcast %b : {element} to {vector}
        %row = arith.muli %i, %columns : index
        scf.for %j = %c0 to %columns step %lanes {{
          %at = arith.addi %row, %j : index
          %a = vector.load %x[%at] : memref<{n}x{element}>, {vector}
          %q = arith.divf %a, %divisor {flags} : {vector}
          vector.store %q, %y[%at] : memref<{n}x{element}>, {vector}
        }}
      }}
    }}
    """


def check(element: str, dividends: Array, divisors: Array) -> None:
    """Divides each row of `dividends` by one of `divisors`, and compares with numpy."""
    result = np.zeros_like(dividends)
    run(backend(), kernel(element, *dividends.shape, LANES[element]), dividends, divisors, result)
    with np.errstate(all="ignore"):
        assert_same_bits(result, dividends / divisors[:, None])


def special_numbers(element: str) -> Array:
    dtype, bits = DTYPES[element], MANTISSA_BITS[element]
    information = np.finfo(dtype)
    positive = [0.0, 1.0, 3.0, 1 / 3, np.inf, np.nan, information.max, information.tiny]
    positive += [information.smallest_subnormal, information.tiny * (1 - 2.0**-bits), 2 - 2.0 ** (1 - bits)]
    exponents = range(information.minexp - bits, information.maxexp, 7 if element == "f32" else 61)
    random = np.random.default_rng(0)
    positive += [float(np.ldexp(1 + random.random(), exponent)) for exponent in exponents]
    numbers = np.array([*positive, *(-number for number in positive)], dtype)
    return np.resize(numbers, -(-numbers.size // LANES[element]) * LANES[element])


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_all_pairs_of_special_numbers_are_divided_exactly(element: str):
    numbers = special_numbers(element)
    check(element, np.tile(numbers, (numbers.size, 1)), numbers)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_a_number_that_is_special_does_not_change_the_lanes_beside_it(element: str):
    dtype = DTYPES[element]
    random, numbers = np.random.default_rng(1), special_numbers(element)
    dividends = random.standard_normal((numbers.size, LANES[element])).astype(dtype)
    dividends[:, 3] = numbers
    dividends[:, 5] = 0.0
    check(element, dividends, np.abs(random.standard_normal(numbers.size)).astype(dtype))


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_numbers_of_all_sizes_are_divided_exactly(element: str):
    random, dtype = np.random.default_rng(2), DTYPES[element]
    unsigned = np.uint32 if element == "f32" else np.uint64
    highest = np.iinfo(unsigned).max
    dividends = random.integers(0, highest, (2048, 128), unsigned, endpoint=True).view(dtype)
    check(element, dividends, random.integers(0, highest, 2048, unsigned, endpoint=True).view(dtype))
    # Divisors of one size, so that most quotients are not special.
    near = (1 + random.random(2048)).astype(dtype)
    check(element, np.ldexp(random.standard_normal((2048, 128)), -40).astype(dtype), near)


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_quotients_of_the_smallest_numbers_are_divided_exactly(element: str):
    random, dtype, bits = np.random.default_rng(4), DTYPES[element], MANTISSA_BITS[element]
    lowest = int(np.finfo(dtype).minexp)
    exponents = random.integers(lowest - bits, lowest + 3 * bits, 4096)
    dividends = np.ldexp(1 + random.random((4096, 128)), exponents[:, None]).astype(dtype)
    check(element, dividends, (1 + random.random(4096)).astype(dtype))
    check(element, dividends, np.ldexp(1 + random.random(4096), random.integers(-9, 9, 4096)).astype(dtype))


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_rows_of_zeros_keep_their_sign_and_that_of_the_divisor(element: str, zero: float):
    numbers = special_numbers(element)
    check(element, np.full((numbers.size, LANES[element]), zero, DTYPES[element]), numbers)


def hard_cases(bits: int, divisor: int) -> list[int]:
    """
    Returns the numbers of `bits` bits whose quotients by an odd `divisor` of as many bits lie nearest to the
    middle between two such numbers: for some d near 0 it is (divisor * middle + d) / 2^n.
    """
    found: list[int] = []
    for shift in (bits, bits + 1):
        inverse = pow(divisor, -1, 1 << shift)
        for distance in (-6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6):
            middle = -distance * inverse % (1 << shift)
            middle += 1 << bits if middle < 1 << bits else 0
            number = (divisor * middle + distance) >> shift
            is_middle = middle % 2 == 1 and middle < 1 << bits + 1
            if is_middle and number.bit_length() == bits:
                found.append(number)
    return found


@pytest.mark.parametrize("element", ["f32", "f64"])
def test_quotients_near_the_middle_of_two_numbers_are_rounded_to_the_right_side(element: str):
    random, bits, lanes = np.random.default_rng(3), MANTISSA_BITS[element] + 1, LANES[element]
    lowest = 1 << bits - 1
    divisors = [int(random.integers(lowest, 2 * lowest)) | 1 for _ in range(2000)]
    divisors += [lowest + 1, lowest + 3, 2 * lowest - 1, 2 * lowest - 3]
    rows = [(hard_cases(bits, divisor) or [1]) for divisor in divisors]
    assert sum(map(len, rows)) > 4 * len(rows)
    dividends = np.array([np.resize(row, 2 * lanes) for row in rows], DTYPES[element])
    check(element, dividends, np.array(divisors, DTYPES[element]))
    check(element, -dividends * 2.0**-60, np.array(divisors, DTYPES[element]) * DTYPES[element](2.0**20))


def rendered(text: str) -> str:
    return LLVMRenderer().render(parsed(text), host_device())


def test_the_reciprocal_is_written_before_the_loop():
    text = rendered(kernel("f32", 4, 64, 16))
    assert text.count("fdiv <16 x float>") == 2
    assert text.index("%reciprocal = fdiv") < text.index("loop_body.2:") < text.index("%quotient = call")


@pytest.mark.parametrize(
    ("element", "lanes", "flags"), [("f32", 4, ""), ("f64", 2, ""), ("f32", 16, "fastmath<arcp>")]
)
def test_narrow_vectors_and_inexact_quotients_are_divided(element: str, lanes: int, flags: str):
    text = rendered(kernel(element, 4, 64, lanes, flags))
    assert "reciprocal" not in text
    assert text.count("fdiv") == 1


def test_what_changes_in_the_loop_has_no_reciprocal():
    text = kernel("f32", 4, 64, 16).replace("arith.divf %a, %divisor", "arith.divf %divisor, %a")
    assert "reciprocal" not in rendered(text)


def test_loops_beside_one_another_have_reciprocals_of_their_own():
    text = kernel("f32", 4, 64, 16)
    begin, end = text.index("        scf.for %j"), text.rindex("        }\n") + 10
    other = text[begin:end]
    for name in ("%j", "%at", "%a ", "%a,", "%q"):
        other = other.replace(name, f"%other_{name[1:]}")
    twice = text[:end] + other + text[end:]
    assert rendered(twice).count("= fdiv <16 x float> splat") == 2
    x, s = np.arange(256, dtype=np.float32), np.array([3, 0, 7, 11], np.float32)
    y = np.zeros_like(x)
    run(backend(), twice, x, s, y)
    with np.errstate(all="ignore"):
        assert_same_bits(y, (x.reshape(4, 64) / s[:, None]).ravel())
