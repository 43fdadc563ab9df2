"""Functions of complex numbers give what numpy or mpmath's definitions do, on all sides of their branches."""

import math

import numpy as np
import numpy.typing as npt
import pytest
import tenon

Numbers = npt.NDArray[np.complexfloating]

RNG = np.random.default_rng(0)


def parts(z: Numbers) -> npt.NDArray[np.floating]:
    return np.ascontiguousarray(z).reshape(-1).view(z.real.dtype).reshape(*z.shape, 2)


def run(op: str, *arguments: Numbers, backend: str = "llvm") -> Numbers:
    """Returns what an op makes of arrays of complex numbers of one shape."""
    (n,) = arguments[0].shape
    type = f"tensor<{n}xcomplex<f{4 * arguments[0].itemsize}>>"
    names = [f"%x{number}" for number in range(len(arguments))]
    declared = ", ".join(f"{name}: {type}" for name in names)
    arrow = f"({', '.join([type] * len(names))}) -> {type}"
    body = f"%y = {op} {', '.join(names)} : {arrow}\n return %y : {type}"
    text = f"func.func @f({declared}) -> {type} {{ {body} }}"
    found = tenon.compile(text, backend=backend)(*map(parts, arguments))
    return found.reshape(-1).view(arguments[0].dtype)


FUNCTIONS = {
    "stablehlo.exponential": np.exp,
    "stablehlo.exponential_minus_one": np.expm1,
    "stablehlo.log": np.log,
    "stablehlo.log_plus_one": np.log1p,
    "stablehlo.sqrt": np.sqrt,
    "stablehlo.rsqrt": lambda z: 1 / np.sqrt(z),
    "stablehlo.sine": np.sin,
    "stablehlo.cosine": np.cos,
    "stablehlo.tan": np.tan,
    "stablehlo.tanh": np.tanh,
    "stablehlo.logistic": lambda z: 1 / (1 + np.exp(-z)),
    "stablehlo.sign": lambda z: z / np.abs(z),
    "stablehlo.cbrt": lambda z: z ** (1 / 3),
    "chlo.sinh": np.sinh,
    "chlo.cosh": np.cosh,
    "chlo.asin": np.arcsin,
    "chlo.acos": np.arccos,
    "chlo.atan": np.arctan,
    "chlo.asinh": np.arcsinh,
    "chlo.acosh": np.arccosh,
    "chlo.atanh": np.arctanh,
    "chlo.conj": np.conj,
    "chlo.square": np.square,
}


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_functions_are_near_those_of_numpy_in_all_quadrants(op: str, dtype: type):
    sizes = np.repeat([1e-3, 1.0, 8.0], 41)
    z = (sizes * (RNG.normal(size=123) + 1j * RNG.normal(size=123))).astype(dtype)
    wanted = FUNCTIONS[op](z.astype(np.clongdouble)).astype(np.complex128)
    found = run(op, z).astype(np.complex128)
    worst = np.max(np.abs(found - wanted) / np.abs(wanted))
    # numpy itself is some epsilons off, so that it computes with more bits here.
    assert worst < 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("op", FUNCTIONS)
def test_the_reference_and_machine_code_agree(op: str):
    z = RNG.normal(size=19) + 1j * RNG.normal(size=19)
    np.testing.assert_allclose(run(op, z, backend="reference"), run(op, z), rtol=1e-14)


CUT = np.array([complex(2.0, 0.0), complex(2.0, -0.0), complex(-2.0, 0.0), complex(-2.0, -0.0)])


@pytest.mark.parametrize(
    "op", ["stablehlo.sqrt", "stablehlo.log", "chlo.asin", "chlo.acos", "chlo.acosh", "chlo.atanh"]
)
def test_the_sign_of_zero_says_on_which_side_of_a_cut_a_number_lies(op: str):
    found, wanted = run(op, CUT), FUNCTIONS[op](CUT)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(wanted.imag))


@pytest.mark.parametrize("op", ["chlo.asinh", "chlo.atan"])
def test_cuts_along_the_imaginary_axis_have_two_sides_too(op: str):
    z = np.array([complex(0.0, 2.0), complex(-0.0, 2.0), complex(0.0, -2.0), complex(-0.0, -2.0)])
    np.testing.assert_allclose(run(op, z), FUNCTIONS[op](z), rtol=1e-14)


def test_exponentials_at_the_ends_of_the_range():
    z = np.array(
        [89 + 1.6j, 88.5, -200 + 3j, complex(-math.inf, math.inf), complex(math.inf, 0.0)], np.complex64
    )
    found = run("stablehlo.exponential", z)
    # e**89 is too large for f32, and times the cosine of 1.6 it is not.
    wanted = np.exp(z[:2].astype(np.complex128))
    np.testing.assert_allclose([found[0].real, found[0].imag], [wanted[0].real, math.inf], rtol=1e-6)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6)
    np.testing.assert_array_equal(found[2:4], 0)
    np.testing.assert_array_equal([found[4].real, found[4].imag], [math.inf, 0.0])


def test_roots_of_numbers_whose_squares_are_out_of_range():
    z = np.array(
        [3e300 + 4e300j, -3e-310 + 4e-310j, 0.0, complex(-0.0, -0.0), complex(1.0, math.inf), -math.inf]
    )
    found = run("stablehlo.sqrt", z)
    np.testing.assert_allclose(found[0], math.sqrt(1e300) * (2 + 1j), rtol=1e-15)
    np.testing.assert_allclose(found[1], math.sqrt(1e-310) * (1 + 2j), rtol=1e-12)
    np.testing.assert_array_equal(found[2:4], 0)
    np.testing.assert_array_equal(np.signbit(found[2:4].imag), [False, True])
    np.testing.assert_array_equal([found[4].real, found[4].imag], math.inf)
    np.testing.assert_array_equal([found[5].real, found[5].imag], [0.0, math.inf])


def test_the_logarithm_near_1_is_of_what_is_left():
    z = np.array([complex(1.0, 1e-10), complex(0.6, 0.8), complex(1e200, 1e200), 0.0])
    found = run("stablehlo.log", z)
    np.testing.assert_allclose(found[0].real, 5e-21, rtol=1e-12)
    assert abs(found[1].real) < 1e-16
    np.testing.assert_allclose(found[2].real, math.log(1e200) + math.log(2) / 2, rtol=1e-15)
    assert found[3].real == -math.inf


def test_far_out_tanh_is_the_sign_and_a_little():
    z = np.array([400 + 0.5j, -400 + 0.5j, 30 + 1j])
    found = run("stablehlo.tanh", z)
    np.testing.assert_array_equal(found.real, [1, -1, 1])
    np.testing.assert_allclose(found[2].imag, 2 * math.sin(2.0) * math.exp(-60.0), rtol=1e-12)


def test_products_and_quotients():
    x, y = (RNG.normal(size=(2, 50)) + 1j * RNG.normal(size=(2, 50))) * 10.0 ** RNG.integers(-9, 9, (2, 50))
    np.testing.assert_allclose(run("stablehlo.multiply", x, y), x * y, rtol=1e-15)
    np.testing.assert_allclose(run("stablehlo.divide", x, y), x / y, rtol=1e-14)
    np.testing.assert_allclose(
        run("stablehlo.power", x / abs(x), y / abs(y)), (x / abs(x)) ** (y / abs(y)), rtol=1e-13
    )
    np.testing.assert_allclose(
        run("stablehlo.atan2", x.real + 0j, y.real + 0j).real, np.arctan2(x.real, y.real), rtol=1e-6
    )


def test_quotients_whose_squares_are_out_of_range_and_by_zero():
    x = np.array([1 + 1j, 1e-200 + 1e-200j, 2 - 3j])
    y = np.array([1e200 + 1e200j, 1e-200 - 1e-200j, 0.0])
    found = run("stablehlo.divide", x, y)
    np.testing.assert_allclose(found[:2], [1e-200, 1j], rtol=1e-15)
    np.testing.assert_array_equal([found[2].real, found[2].imag], [math.inf, -math.inf])


def test_powers_of_zero():
    x, y = np.zeros(3, complex), np.array([2.0, 0.0, 0.5 + 1j])
    np.testing.assert_array_equal(run("stablehlo.power", x, y), [0, 1, 0])


@pytest.mark.parametrize(
    ("direction", "wanted"),
    [
        ("EQ", [True, False, False, False]),
        ("NE", [False, True, True, True]),
        ("LT", [False, True, False, False]),
        ("LE", [True, True, False, False]),
        ("GT", [False, False, True, False]),
        ("GE", [True, False, True, False]),
    ],
)
def test_numbers_compare_by_real_parts_and_then_by_imaginary_ones(direction: str, wanted: list[bool]):
    x = np.array([1 + 1j, 1 + 1j, 2 + 0j, complex(math.nan, 0.0)])
    y = np.array([1 + 1j, 1 + 2j, 1 + 9j, 1 + 0j])
    type = "tensor<4xcomplex<f64>>"
    text = f"""func.func @f(%x: {type}, %y: {type}) -> tensor<4xi1> {{
      %c = stablehlo.compare {direction}, %x, %y, FLOAT : ({type}, {type}) -> tensor<4xi1>
      return %c : tensor<4xi1> }}"""
    np.testing.assert_array_equal(tenon.compile(text)(parts(x), parts(y)), wanted)
    if direction in ("LE", "GE"):
        op = "stablehlo.minimum" if direction == "LE" else "stablehlo.maximum"
        np.testing.assert_array_equal(run(op, x[:3], y[:3]), np.where(wanted[:3], x[:3], y[:3]))
