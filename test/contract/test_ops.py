"""Arithmetic, comparisons and conversions in kernels: numpy's numbers bit for bit, on scalars and vectors."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tenon.backends.interface import Backend
from tenon.dialects.element_types import ELEMENT_TYPES
from tenon.semantics import numerics, numpy_types
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS

from .op_cases import (
    DTYPES,
    F8,
    FLOATS,
    INTEGERS,
    LANES,
    NARROW,
    Array,
    Case,
    N,
    as_unsigned,
    floats,
    integers,
    ldexp,
    maximum,
    minimum,
    on_unsigned,
    powers_of_two,
    run_cases,
)

Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]

BY_NAME = {str(type): type for type in ELEMENT_TYPES}

FLOAT_BINARY: dict[str, Binary] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": maximum,
    "arith.minimumf": minimum,
    "math.copysign": np.copysign,
    "low.remf": np.fmod,
}
FLOAT_UNARY: dict[str, Unary] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.sqrt": np.sqrt,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
}
ORDERED: dict[str, Binary] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def compare_floats(predicate: str, a: Array, b: Array) -> Array:
    if predicate in ("true", "false"):
        return np.full(a.shape, predicate == "true")
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    return ORDERED[predicate[1:]](a, b) & ~unordered | (unordered & (predicate[0] == "u"))


def compare(predicate: str, a: Array, b: Array) -> Array:
    if predicate in ORDERED:
        return ORDERED[predicate](a, b)
    return ORDERED[predicate[1:]](*(as_unsigned(x) if predicate[0] == "u" else x for x in (a, b)))


def float_cases(type: str) -> list[Case]:
    cases = [
        Case(f"%r = {op} %a, %b : !{type}", type, lambda a, b, c, f=f: f(a, b))
        for op, f in FLOAT_BINARY.items()
    ]
    cases += [
        Case(f"%r = {op} %a : !{type}", type, lambda a, b, c, f=f: f(a)) for op, f in FLOAT_UNARY.items()
    ]
    cases += [
        Case(
            f"%r = arith.cmpf {predicate}, %a, %b : !{type}",
            "i1",
            lambda a, b, c, predicate=predicate: compare_floats(predicate, a, b),
        )
        for predicate in CMPF_COMPARISON_OPERATIONS
    ]
    return [
        *cases,
        Case(
            f"%t0 = arith.mulf %a, %b : !{type}\n%r = arith.addf %t0, %c : !{type}",
            type,
            lambda a, b, c: a * b + c,
        ),
        Case(
            f"%t0 = arith.cmpf olt, %a, %b : !{type}\n%r = low.select %t0, %c, %a : !{type}",
            type,
            lambda a, b, c: np.where(a < b, c, a),
        ),
    ]


@pytest.mark.parametrize("lanes", [None, 2, 4, 8])
@pytest.mark.parametrize("type", FLOATS)
def test_float_arithmetic_is_numpys(device: Backend, type: str, lanes: int | None):
    inputs = {"a": floats(type, 0), "b": floats(type, 1), "c": np.roll(floats(type, 2), 7)}
    run_cases(device, float_cases(type), inputs, dict.fromkeys(inputs, type), lanes)


def fma(a: Array, b: Array, c: Array) -> Array:
    """Returns `a * b + c` rounded once; in f32 a sum in f64 is close enough for the numbers here."""
    rounded = a.astype(np.float64) * b + c
    if a.dtype == np.float32:
        return rounded
    are_factors_finite = np.isfinite(a) & np.isfinite(b)
    rounded = np.where(are_factors_finite & np.isinf(c), c, rounded)
    for i in np.flatnonzero(are_factors_finite & np.isfinite(c)):
        exact = Fraction(a[i]) * Fraction(b[i]) + Fraction(c[i])
        if exact:
            is_finite = abs(exact) < Fraction(2) ** 1024 - Fraction(2) ** 970
            rounded[i] = float(exact) if is_finite else (np.inf if exact > 0 else -np.inf)
    return rounded


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", FLOATS)
def test_fma_rounds_once(device: Backend, type: str, lanes: int | None):
    inputs = {"a": floats(type, 0), "b": floats(type, 1), "c": np.roll(floats(type, 2), 7)}
    small = 2.0 ** (-12 if type == "f32" else -27)
    inputs["a"][:8] = inputs["b"][:8] = 1 + small
    inputs["c"][:8] = -(1 + 2 * small)
    case = Case(f"%r = math.fma %a, %b, %c : !{type}", type, fma)
    run_cases(device, [case], inputs, dict.fromkeys(inputs, type), lanes)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", FLOATS)
def test_remainders_are_exact(device: Backend, type: str, lanes: int | None):
    """Dividends beside multiples of divisors, quotients of any size, and subnormal numbers."""
    dtype, random, n = DTYPES[type], np.random.default_rng(8), 1 << 12
    information = np.finfo(dtype)
    divisors = random.uniform(0.5, 2, n).astype(dtype)
    multiples = (divisors * random.integers(1, 1 << 24, n)).astype(dtype)
    exponents = random.integers(-3, information.nmant + 3, n)
    scaled = np.ldexp(random.uniform(0.5, 1, n), random.integers(information.minexp - 20, 10, n))
    scaled = scaled.astype(dtype)
    tiny = (random.integers(-60, 60, n) * information.smallest_subnormal).astype(dtype)
    pairs: list[tuple[Array, Array]] = [
        (multiples, divisors),
        (np.nextafter(multiples, dtype(np.inf)), -divisors),
        (-np.nextafter(multiples, dtype(0)), divisors),
        ((scaled * np.ldexp(random.uniform(0.5, 1, n), exponents)).astype(dtype), scaled),
        ((tiny * random.integers(-60, 60, n)).astype(dtype), tiny),
    ]
    inputs = {"a": np.concatenate([a for a, _ in pairs]), "b": np.concatenate([b for _, b in pairs])}
    case = Case(f"%r = low.remf %a, %b : !{type}", type, np.fmod)
    run_cases(device, [case], inputs, dict.fromkeys(inputs, type), lanes)


@pytest.mark.parametrize("lanes", [None, 2, 4, 8, 16])
@pytest.mark.parametrize("type", FLOATS)
def test_products_with_powers_of_two_are_rounded_once(device: Backend, type: str, lanes: int | None):
    case = Case(f"%r = low.ldexp %x, %n : !{type}", type, ldexp)
    run_cases(device, [case], powers_of_two(type), {"x": type, "n": type}, lanes)


@pytest.mark.parametrize("lanes", [None, 8])
def test_products_are_rounded_before_sums_where_nothing_else_is_asked_for(device: Backend, lanes: int | None):
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=N).astype(np.float32) for name in "abc"}
    inputs["a"][:8] = inputs["b"][:8] = 1 + 2.0**-12
    inputs["c"][:8] = -(1 + 2.0**-11)
    cases = [
        Case(product_and("", "addf", "%t0, %c"), "f32", lambda a, b, c: a * b + c),
        Case(product_and("fastmath<nnan>", "subf", "%c, %t0"), "f32", lambda a, b, c: c - a * b),
    ]
    run_cases(device, cases, inputs, dict.fromkeys(inputs, "f32"), lanes)


def product_and(flags: str, op: str, order: str) -> str:
    return f"%t0 = arith.mulf %a, %b {flags} : !f32\n%r = arith.{op} {order} {flags} : !f32"


def division_cases(type: str) -> list[Case]:
    def divide(a: Array, b: Array) -> Array:
        return np.floor_divide(a, b) + ((np.remainder(a, b) != 0) & ((a < 0) != (b < 0)))

    divisions: dict[str, Binary] = {
        "divsi": divide,
        "remsi": np.fmod,
        "divui": on_unsigned(np.floor_divide),
        "remui": on_unsigned(np.remainder),
    }
    return [Case(f"%r = arith.{op} %a, %b : !{type}", type, f) for op, f in divisions.items()]


@pytest.mark.parametrize("lanes", [None, 2, 4, 8])
@pytest.mark.parametrize("type", INTEGERS)
def test_integer_division_truncates(device: Backend, type: str, lanes: int | None):
    """By what is not 0, nor -1, which the least number cannot be divided by."""
    inputs = {"a": integers(type, 0), "b": integers(type, 1)}
    inputs["b"][np.isin(inputs["b"], (0, -1))] = 3
    run_cases(device, division_cases(type), inputs, dict.fromkeys(inputs, type), lanes)


def test_integer_division_by_constants_truncates(device: Backend):
    cases = [
        Case(
            f"%t0 = arith.constant {divisor} : i32\n%r = arith.{op} %a, %t0 : i32",
            "i32",
            lambda a, f=f, divisor=divisor: f(a.astype(np.int64), divisor),
        )
        for divisor in (3, -5)
        for op, f in (("divsi", lambda a, d: np.trunc(a / d)), ("remsi", np.fmod))
    ]
    run_cases(device, cases, {"a": integers("i32", 0)}, {"a": "i32"}, None)


def integer_cases(type: str) -> list[Case]:
    width = np.dtype(DTYPES[type]).itemsize * 8
    binary: dict[str, Binary] = {
        "addi": np.add,
        "subi": np.subtract,
        "muli": np.multiply,
        "minsi": np.minimum,
        "maxsi": np.maximum,
        "minui": on_unsigned(np.minimum),
        "maxui": on_unsigned(np.maximum),
        "andi": np.bitwise_and,
        "ori": np.bitwise_or,
        "xori": np.bitwise_xor,
    }
    shifts: dict[str, Binary] = {
        "shli": np.left_shift,
        "shrsi": np.right_shift,
        "shrui": on_unsigned(np.right_shift),
    }
    cases = [Case(f"%r = arith.{op} %a, %b : !{type}", type, f) for op, f in binary.items()]
    mask = f"%t0 = arith.constant {{}} : !{type}\n%t1 = arith.andi %b, %t0 : !{type}\n"
    cases += [
        Case(
            mask + f"%r = arith.{op} %a, %t1 : !{type}",
            type,
            lambda a, b, f=f: f(a, b & a.dtype.type(width - 1)),
        )
        for op, f in shifts.items()
    ]
    cases += [
        Case(
            f"%r = arith.cmpi {predicate}, %a, %b : !{type}",
            "i1",
            lambda a, b, predicate=predicate: compare(predicate, a, b),
        )
        for predicate in CMPI_COMPARISON_OPERATIONS
    ]
    text = f"%t0 = arith.cmpi slt, %a, %b : !{type}\n%r = low.select %t0, %b, %a : !{type}"
    return [*cases, Case(text, type, np.maximum)]


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", INTEGERS)
def test_integer_arithmetic_is_numpys(device: Backend, type: str, lanes: int | None):
    inputs = {"a": integers(type, 0), "b": integers(type, 1)}
    most = np.dtype(DTYPES[type]).itemsize * 8 - 1
    literal = str(most) if lanes is None else f"dense<{most}>"
    cases = [Case(case.text.replace("{}", literal), case.type, case.expected) for case in integer_cases(type)]
    run_cases(device, cases, inputs, dict.fromkeys(inputs, type), lanes)


def test_an_index_counts_in_64_bits(device: Backend):
    texts: list[tuple[str, Unary]] = [
        ("%r = arith.addi %t0, %t1 : index", lambda a: a + 10**12),
        ("%r = arith.subi %t0, %t1 : index", lambda a: a - 10**12),
        ("%r = arith.muli %t0, %t1 : index", lambda a: a * 10**12),
        ("%r = arith.divsi %t1, %t0 : index", lambda a: np.trunc(10**12 / a)),
        ("%r = arith.remui %t1, %t0 : index", lambda a: np.where(a > 0, 10**12 % np.abs(a), 10**12)),
        ("%r = arith.maxsi %t1, %t0 : index", lambda a: np.maximum(a, 10**12)),
        ("%r = arith.shli %t0, %t2 : index", lambda a: a << 3),
    ]
    cases = [
        Case(
            "%t0 = arith.index_cast %a : i64 to index\n%t1 = arith.constant 1000000000000 : index\n"
            f"%t2 = arith.constant 3 : index\n{text.replace('%r', '%t3')}\n"
            "%r = arith.index_cast %t3 : index to i64",
            "i64",
            expected,
        )
        for text, expected in texts
    ]
    run_cases(device, cases, {"a": np.arange(N, dtype=np.int64) * 3 - 100}, {"a": "i64"}, None)


@pytest.mark.parametrize("type", INTEGERS)
def test_index_casts_extend_the_sign_and_keep_the_low_bits(device: Backend, type: str):
    index = f"%t0 = arith.index_cast %a : {type} to index\n"
    cases = [
        Case(f"{index}%r = arith.index_cast %t0 : index to {to}", to, lambda a, to=to: a.astype(DTYPES[to]))
        for to in INTEGERS
    ]
    bit = f"{index}%t1 = arith.index_cast %t0 : index to i1\n%t2 = arith.index_cast %t1 : i1 to index\n"
    cases.append(Case(f"{bit}%r = arith.index_cast %t2 : index to {type}", type, lambda a: -(a & 1)))
    run_cases(device, cases, {"a": integers(type, 0)}, {"a": type}, None)


def saturated(a: Array, type: str, is_signed: bool) -> Array:
    width = np.dtype(DTYPES[type]).itemsize * 8
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    numbers = a.astype(np.float64).tolist()
    exact = [0 if np.isnan(x) else low if x < low else high if x > high else int(x) for x in numbers]
    return np.array([x % (1 << width) for x in exact], np.uint64).astype(f"u{width // 8}").view(DTYPES[type])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", [*FLOATS, *NARROW])
def test_floats_convert_to_integers_by_saturating(device: Backend, type: str, lanes: int | None):
    a = floats(type, 0)
    with np.errstate(all="ignore"):
        a[100:116] = [float(s * 2.0**e) for e in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1)]
        a[116:122] = np.nextafter(a[[108, 109, 110, 112, 113, 114]], a.dtype.type(0))
        a[122:128] = [1e9, -0.5, 1.0, -1.0, 127.5, -128.5]
    cases = [
        Case(
            f"%r = low.convert fpto{sign}i %a : !{type} to !{to}",
            to,
            lambda a, to=to, sign=sign: saturated(a, to, sign == "s"),
        )
        for to in INTEGERS
        for sign in "su"
    ]
    if type in FLOATS:
        cases.append(Case(f"%r = low.convert fptoui %a : !{type} to !i1", "i1", lambda a: a >= 1))
        cases.append(Case(f"%r = low.convert fptosi %a : !{type} to !i1", "i1", lambda a: a <= -1))
    run_cases(device, cases, {"a": a}, {"a": type}, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", INTEGERS)
def test_integers_convert_by_value_or_by_low_bits(device: Backend, type: str, lanes: int | None):
    cases: list[Case] = []
    for to in FLOATS:
        cases.append(Case(f"%r = low.convert sitofp %a : !{type} to !{to}", to, lambda a: a))
        cases.append(Case(f"%r = low.convert uitofp %a : !{type} to !{to}", to, as_unsigned))
    for to in INTEGERS:
        width, own = np.dtype(DTYPES[to]).itemsize, np.dtype(DTYPES[type]).itemsize
        if width > own:
            cases.append(Case(f"%r = low.convert extsi %a : !{type} to !{to}", to, lambda a: a))
            cases.append(Case(f"%r = low.convert extui %a : !{type} to !{to}", to, as_unsigned))
        elif width < own:
            text = f"%r = low.convert trunci %a : !{type} to !{to}"
            cases.append(Case(text, to, lambda a, to=to: a.astype(DTYPES[to])))
    cases.append(Case(f"%r = low.convert trunci %a : !{type} to !i1", "i1", lambda a: a & 1))
    run_cases(device, cases, {"a": integers(type, 0)}, {"a": type}, lanes)


@pytest.mark.parametrize("lanes", LANES)
def test_booleans_are_combined_selected_and_converted(device: Backend, lanes: int | None):
    def lines(op: str) -> str:
        compared = "%t0 = arith.cmpf olt, %a, %b : !f32\n%t1 = arith.cmpf olt, %x, %y : !f64"
        return f"{compared}\n{op}"

    def on(f: Binary) -> Callable[..., Array]:
        return lambda a, b, x, y: f(a < b, x < y)

    cases = [
        Case(lines("%r = arith.andi %t0, %t1 : !i1"), "i1", on(lambda p, q: p & q)),
        Case(lines("%r = arith.ori %t0, %t1 : !i1"), "i1", on(lambda p, q: p | q)),
        Case(lines("%r = arith.xori %t1, %t0 : !i1"), "i1", on(lambda p, q: p ^ q)),
        Case(lines("%r = low.select %t0, %t1, %t0 : !i1"), "i1", on(lambda p, q: p & q)),
        Case(lines("%r = low.select %t1, %a, %b : !f32"), "f32", lambda a, b, x, y: np.where(x < y, a, b)),
        Case(lines("%r = low.convert extui %t0 : !i1 to !i32"), "i32", on(lambda p, q: p)),
        Case(lines("%r = low.convert extsi %t0 : !i1 to !i32"), "i32", on(lambda p, q: -p.astype(int))),
        Case(lines("%r = low.convert extsi %t1 : !i1 to !i8"), "i8", on(lambda p, q: -q.astype(int))),
        Case(lines("%r = low.convert uitofp %t1 : !i1 to !f32"), "f32", on(lambda p, q: q)),
        Case(lines("%r = low.convert sitofp %t1 : !i1 to !f32"), "f32", on(lambda p, q: 0 - q.astype(int))),
    ]
    for predicate in ("eq", "ne", "slt", "sge", "ult", "uge"):
        sign = -1 if predicate[0] == "s" else 1
        ordered = ORDERED[predicate if predicate in ORDERED else predicate[1:]]
        cases.append(
            Case(
                lines(f"%r = arith.cmpi {predicate}, %t0, %t1 : !i1"),
                "i1",
                on(lambda p, q, f=ordered, sign=sign: f(sign * p.astype(int), sign * q)),
            )
        )
    inputs = {"a": floats("f32", 0), "b": floats("f32", 1), "x": floats("f64", 0), "y": floats("f64", 3)}
    run_cases(device, cases, inputs, {"a": "f32", "b": "f32", "x": "f64", "y": "f64"}, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", [*NARROW, "f32"])
def test_floats_are_widened_exactly(device: Backend, type: str, lanes: int | None):
    a = np.arange(N).astype(np.uint8).view(DTYPES[type]) if type in F8 else floats(type, 0)
    wider = FLOATS if type in ("f16", "bf16") else ["f64"] if type == "f32" else ["f16", "bf16", *FLOATS]
    cases = [
        Case(f"%r = arith.extf %a : !{type} to !{to}", to, lambda a: a.astype(np.float32)) for to in wider
    ]
    run_cases(device, cases, {"a": a}, {"a": type}, lanes)


def round_to_odd(y: Array) -> Array:
    """Rounds f64 to f32 to odd, so that rounding again is right: what is cut off sets the last bit."""
    x = y.astype(np.float32)
    away = np.abs(x.astype(np.float64)) > np.abs(y)
    x = np.where(away, np.nextafter(x, np.float32(0)), x)
    is_inexact = (x.astype(np.float64) != y) & np.isfinite(y)
    return (x.view(np.uint32) | is_inexact).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("lanes", LANES)
def test_floats_are_narrowed_by_rounding_once(device: Backend, lanes: int | None):
    x, y = floats("f32", 0), floats("f64", 0)
    specials = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, -1e-300, 3.3e38]
    signalling = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    for numbers, type in ((x, "f32"), (y, "f64")):
        # Halfway between two numbers of f16, above and below it, then subnormals of f16 and of bf16.
        halfway = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 65520, 65519.996, 2.0**-25, 3 * 2.0**-25, 1e-6])
        numbers[:7] = halfway
        numbers[7:14] = np.nextafter(numbers[:7], DTYPES[type](0))
        numbers[14:21] = np.nextafter(numbers[:7], DTYPES[type](9e9))
        numbers[21:24] = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 2.0**-133 * 1.5])
        with np.errstate(all="ignore"):
            numbers[24:34] = specials
            numbers[34:36] = signalling
    cases = [
        Case("%r = arith.truncf %y : !f64 to !f32", "f32", lambda x, y: y),
        Case("%r = arith.truncf %x : !f32 to !f16", "f16", lambda x, y: x),
        Case("%r = arith.truncf %y : !f64 to !f16", "f16", lambda x, y: y),
        Case("%r = arith.truncf %x : !f32 to !bf16", "bf16", lambda x, y: x),
        Case("%r = arith.truncf %y : !f64 to !bf16", "bf16", lambda x, y: round_to_odd(y)),
        *[Case(f"%r = arith.truncf %x : !f32 to !{to}", to, lambda x, y: x) for to in F8],
    ]
    run_cases(device, cases, {"x": x, "y": y}, {"x": "f32", "y": "f64"}, lanes)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_every_short_float_is_narrowed_to_8_bits_by_rounding_once(
    device: Backend, type: str, lanes: int | None
):
    a = np.arange(1 << 16).astype(np.uint16).view(DTYPES[type])
    cases = [
        Case(f"%r = arith.truncf %a : !{type} to !{to}", to, lambda a: a.astype(np.float32)) for to in F8
    ]
    run_cases(device, cases, {"a": a}, {"a": type}, lanes)


def neighbours(narrow: str) -> tuple[Array, Array, Array]:
    """
    Numbers halfway between two neighbours of the float type `narrow`, as f64, with the lower and the upper
    one: a sample of every exponent, the subnormals included, and the last ones before infinity.
    """
    dtype = DTYPES[narrow]
    infinity = int(np.array(np.inf, dtype).view(np.uint16))
    low_bits = np.arange(0, infinity - 1, 7, dtype=np.uint16)[:4096]
    low_bits = np.concatenate([low_bits, np.arange(infinity - 65, infinity - 1, dtype=np.uint16)])
    low, high = low_bits.view(dtype), (low_bits + np.uint16(1)).view(dtype)
    middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
    return low, middle, high


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("narrow", ["f16", "bf16"])
@pytest.mark.parametrize("wide", FLOATS)
def test_ties_are_narrowed_to_even(device: Backend, wide: str, narrow: str, lanes: int | None):
    low, middle, high = neighbours(narrow)
    even = np.where(low.view(np.uint16) % 2 == 0, low, high)
    numbers: list[Array] = []
    expected: list[Array] = []
    for sign in (1.0, -1.0):
        x = (sign * middle).astype(DTYPES[wide])
        numbers += [x, np.nextafter(x, x.dtype.type(sign * np.inf)), np.nextafter(x, x.dtype.type(0))]
        expected += [(a * np.array(sign, a.dtype)).astype(a.dtype) for a in (even, high, low)]
    case = Case(f"%r = arith.truncf %a : !{wide} to !{narrow}", narrow, lambda a: np.concatenate(expected))
    run_cases(device, [case], {"a": np.concatenate(numbers)}, {"a": wide}, lanes)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("narrow", ["f16", "bf16"])
def test_integers_between_short_floats_round_once(
    device: Backend, narrow: str, integer: str, is_signed: bool, lanes: int | None
):
    info = np.iinfo(DTYPES[integer] if is_signed else as_unsigned(np.zeros(1, DTYPES[integer])).dtype)
    low, middle, high = neighbours(narrow)
    inside = (middle >= 1) & (middle < info.max) & (middle == np.floor(middle)) & np.isfinite(high)
    low, middle, high = (a[inside][:: max(1, inside.sum() // 500)] for a in (low, middle, high))
    n = len(middle) // 8 * 8
    even = np.where(low.view(np.uint16) % 2 == 0, low, high)
    exact = np.array([int(v) for v in middle[:n]], info.dtype)
    numbers: list[Array] = []
    expected: list[Array] = []
    for sign in (1, -1) if is_signed else (1,):
        numbers += [(a * info.dtype.type(sign)).astype(info.dtype) for a in (exact, exact + 1, exact - 1)]
        expected += [(a[:n] * np.array(sign, a.dtype)).astype(a.dtype) for a in (even, high, low)]
    text = f"%r = low.convert {'sitofp' if is_signed else 'uitofp'} %a : !{integer} to !{narrow}"
    case = Case(text, narrow, lambda a: np.concatenate(expected))
    run_cases(device, [case], {"a": np.concatenate(numbers).view(DTYPES[integer])}, {"a": integer}, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", NARROW)
def test_narrow_floats_convert_from_and_to_integers(device: Backend, type: str, lanes: int | None):
    n, m, s = integers("i64", 0), integers("i32", 1), integers("i16", 1)
    n[64:80] = (1 << 40) + (1 << 32) + np.arange(-8, 8)
    values = np.random.default_rng(7).normal(0, 100, N)
    values[:5] = [np.inf, -np.inf, np.nan, 1e9, -0.5]
    with np.errstate(all="ignore"):
        narrow = values.astype(np.float32).astype(DTYPES[type])
    wide = numpy_types.dtype_of(BY_NAME[type])

    def rounded(value: Array) -> Array:
        return numerics.cast(value, wide)

    def cast(value: Array, dtype: Any) -> Array:
        return numerics.cast(value, np.dtype(dtype))

    cases = [
        Case(f"%r = low.convert sitofp %n : !i64 to !{type}", type, lambda n, m, s, h: rounded(n)),
        Case(
            f"%r = low.convert uitofp %n : !i64 to !{type}", type, lambda n, m, s, h: rounded(as_unsigned(n))
        ),
        Case(f"%r = low.convert sitofp %m : !i32 to !{type}", type, lambda n, m, s, h: rounded(m)),
        Case(
            f"%r = low.convert uitofp %m : !i32 to !{type}", type, lambda n, m, s, h: rounded(as_unsigned(m))
        ),
        Case(f"%r = low.convert sitofp %s : !i16 to !{type}", type, lambda n, m, s, h: rounded(s)),
        Case(
            f"%r = low.convert uitofp %s : !i16 to !{type}", type, lambda n, m, s, h: rounded(as_unsigned(s))
        ),
        Case(f"%r = low.convert fptosi %h : !{type} to !i32", "i32", lambda n, m, s, h: cast(h, np.int32)),
        Case(f"%r = low.convert fptoui %h : !{type} to !i8", "i8", lambda n, m, s, h: cast(h, np.uint8)),
        Case(
            f"%t = arith.cmpi slt, %m, %m : !i32\n%r = low.convert uitofp %t : !i1 to !{type}",
            type,
            lambda n, m, s, h: np.zeros(N),
        ),
    ]
    types = {"n": "i64", "m": "i32", "s": "i16", "h": type}
    run_cases(device, cases, {"n": n, "m": m, "s": s, "h": narrow}, types, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(
    ("integer", "other"),
    [("i32", "f32"), ("i64", "f64"), ("i16", "f16"), ("i16", "bf16"), *[("i8", type) for type in F8]],
)
def test_bitcasts_keep_the_bits(device: Backend, integer: str, other: str, lanes: int | None):
    there = f"arith.bitcast %a : !{integer} to !{other}"
    cases = [
        Case(f"%r = {there}", other, lambda a, b: a.view(DTYPES[other]), is_exact=True),
        Case(f"%t0 = {there}\n%r = arith.bitcast %t0 : !{other} to !{integer}", integer, lambda a, b: a),
        Case(f"%r = arith.bitcast %b : !{other} to !{integer}", integer, lambda a, b: b.view(a.dtype)),
    ]
    b = np.arange(N).astype(np.uint8).view(DTYPES[other]) if other in F8 else floats(other, 1)
    run_cases(device, cases, {"a": integers(integer, 1), "b": b}, {"a": integer, "b": other}, lanes)


def test_bitcasts_keep_the_bits_of_other_floats(device: Backend):
    for lanes in LANES:
        case = Case(
            "%r = arith.bitcast %h : !f16 to !bf16", "bf16", lambda h: h.view(DTYPES["bf16"]), is_exact=True
        )
        run_cases(device, [case], {"h": floats("f16", 1)}, {"h": "f16"}, lanes)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", list(DTYPES))
def test_load_and_store_keep_every_storage_type(device: Backend, type: str, lanes: int | None):
    raw = np.random.default_rng(4).integers(0, 256, N * np.dtype(DTYPES[type]).itemsize, np.uint8)
    zero, mask = "0" if type[0] == "i" else "0.0", "true"
    if lanes is not None:
        zero, mask = f"dense<{zero}>", f"dense<true> : vector<{lanes}xi1>"
    text = f"%t0 = arith.constant {zero} : !{type}\n%t1 = arith.constant {mask}\n"
    case = Case(f"{text}%r = low.select %t1, %a, %t0 : !{type}", type, lambda a: a, is_exact=True)
    run_cases(device, [case], {"a": raw.view(DTYPES[type])}, {"a": type}, lanes)


CONSTANTS = {
    "f32": [
        *["0.1", "-0.0", "1.0e-45", "1.0e-40", "16777216.0", "0.5", "3.4028235e+38"],
        *["0x7F800000", "0xFF800000", "0x7FC00000"],
    ],
    "f64": [
        *["0.1", "-0.0", "5.0e-324", "1.0e-310", "1.0e+300", "-7.25", "16777217.0", "0.5", "2.0"],
        *["0x7FF0000000000000", "0xFFF0000000000000"],
    ],
    "f16": ["0.1", "-0.0", "6.0e-8", "2048.0", "0.5", "65504.0", "0x7C00", "0xFC00"],
    "bf16": ["0.1", "-0.0", "1.0e-39", "256.0", "0.5", "3.0e38", "0x7F80", "0xFF80"],
    "i64": ["0", "1", "2", "3", "4", "-9223372036854775808", "9223372036854775807", "-1"],
    "i32": ["-2147483648", "2147483647", "-5"],
    "i16": ["-32768", "32767"],
    "i8": ["-128", "127", "-1", "0", "1", "2", "3", "4"],
}


def constant(type: str, text: str, n: int) -> Array:
    dtype = np.dtype(DTYPES[type])
    if text.startswith("0x"):
        return np.full(n, int(text, 16), f"u{dtype.itemsize}").view(dtype)
    return np.full(n, int(text) if type[0] == "i" else float(text)).astype(dtype)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", CONSTANTS)
def test_constants_are_exact(device: Backend, type: str, lanes: int | None):
    cases = [
        Case(
            f"%r = arith.constant {text if lanes is None else f'dense<{text}>'} : !{type}",
            type,
            lambda a, text=text: constant(type, text, len(a)),
        )
        for text in CONSTANTS[type]
    ]
    run_cases(device, cases, {"a": np.zeros(16, np.float32)}, {"a": "f32"}, lanes)
