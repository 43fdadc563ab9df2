"""Every op of a kernel's body, on scalars and vectors, compared with numpy bit for bit."""

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend, BufferLoc
from tenon.backends.opencl import backend
from tenon.backends.opencl.renderer import RULES
from tenon.backends.reference.low import run_kernel
from tenon.dialects import context
from tenon.dialects.element_types import ELEMENT_TYPES
from tenon.dialects.low import BODY_OPS, EXPANDED_OPS
from tenon.semantics import numerics, numpy_types
from xdsl.dialects import scf
from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from .storage_dtypes import DTYPES, F8

pytest.importorskip("pyopencl")

Array = npt.NDArray[Any]

N = 256
BY_NAME = {str(type): type for type in ELEMENT_TYPES}
FLOATS = ["f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64"]
LANES = [None, 2, 8]


@functools.cache
def opencl() -> Backend:
    return backend()


def parse(text: str) -> ModuleOp:
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def run(text: str, *arrays: Array, is_defined: bool = True) -> None:
    """
    Runs the kernels of `text` one after the other, each on all the arrays, in place.

    Where it is defined what they do, the reference interpreter must do the same.
    """
    it = opencl()
    copies = [array.ravel().copy() for array in arrays]
    module = parse(text)
    artifact = it.compiler.compile(it.renderer.render(module, it.device), it.device)
    locations = [BufferLoc(pool_id, 0) for pool_id in range(len(arrays))]
    for location, array in zip(locations, arrays, strict=True):
        it.driver.alloc_pool(location.pool_id, array.nbytes, 64)
        it.driver.copy_to_device(location, array)
    for kernel in module.body.block.ops:
        name, grid, block = kernel.sym_name.data, kernel.grid.data, kernel.block_dims.data  # pyright: ignore
        it.driver.launch(it.driver.get_kernel(artifact, name), grid, block, locations)
        if is_defined:
            run_kernel(kernel, copies)  # pyright: ignore
    for location, array, copy in zip(locations, arrays, copies, strict=True):
        it.driver.copy_from_device(array, location)
        it.driver.free_pool(location.pool_id)
        if is_defined:
            assert_same_bits(array.ravel(), copy.ravel(), "the reference")


@dataclass(frozen=True)
class Case:
    """One op: its text, where `!f32` is f32 or a vector of it, the type of `%r`, and what numpy says."""

    text: str
    type: str
    expected: Callable[..., Array]


def run_cases(
    cases: Sequence[Case],
    inputs: dict[str, Array],
    types: dict[str, str],
    lanes: int | None,
    is_defined: bool = True,
) -> None:
    """Runs all cases in one kernel of one work-item per element or vector, and compares with numpy."""
    stored = ["i8" if case.type == "i1" else case.type for case in cases]
    outputs = {type: np.zeros((stored.count(type), N), DTYPES[type]) for type in dict.fromkeys(stored)}
    arguments = [f"%in_{name} : memref<{N}x{types[name]}>" for name in inputs]
    arguments += [f"%out_{type} : memref<{array.size}x{type}>" for type, array in outputs.items()]
    step = lanes or 1
    lines = [f"low.kernel @cases({', '.join(arguments)}) grid [{N // step}, 1, 1] block [1, 1, 1] {{"]
    lines += ["%block = low.block_id x", f"%step = arith.constant {step} : index"]
    lines += ["%i = arith.muli %block, %step : index"]
    for name in inputs:
        buffer = f"%in_{name}[%i] : memref<{N}x{types[name]}>"
        lines.append(f"%{name} = {load(buffer, types[name], lanes)}")
    rows = dict.fromkeys(outputs, 0)
    for number, (case, type) in enumerate(zip(cases, stored, strict=True)):
        lines += [re.sub(r"%(r|t\d*)\b", rf"%\1_{number}", case.text)]
        value = f"%r_{number}"
        if case.type == "i1":
            lines.append(f"%bit_{number} = low.convert extui {value} : !i1 to !i8")
            value = f"%bit_{number}"
        lines.append(f"%row_{number} = arith.constant {rows[type] * N} : index")
        lines.append(f"%j_{number} = arith.addi %i, %row_{number} : index")
        buffer = f"%out_{type}[%j_{number}] : memref<{outputs[type].size}x{type}>"
        suffix = "" if lanes is None else f", !{type}"
        lines.append(f"{'memref' if lanes is None else 'vector'}.store {value}, {buffer}{suffix}")
        rows[type] += 1
    text = "\n".join([*lines, "}"])
    text = re.sub(r"!(\w+)", r"\1" if lanes is None else rf"vector<{lanes}x\1>", text)
    run(text, *inputs.values(), *outputs.values(), is_defined=is_defined)
    rows = dict.fromkeys(outputs, 0)
    for case, type in zip(cases, stored, strict=True):
        with np.errstate(all="ignore"):
            expected = case.expected(*inputs.values()).astype(DTYPES[type])
        assert_same_bits(outputs[type][rows[type]], expected, case.text)
        rows[type] += 1


def load(buffer: str, type: str, lanes: int | None) -> str:
    return f"memref.load {buffer}" if lanes is None else f"vector.load {buffer}, !{type}"


def assert_same_bits(actual: Array, expected: Array, what: str) -> None:
    """A NaN equals any NaN; everything else agrees in every bit."""
    bits = f"u{actual.dtype.itemsize}"
    differs = actual.view(bits) != expected.view(bits)
    if actual.dtype.kind in "fV":
        with np.errstate(invalid="ignore"):
            differs &= ~(np.isnan(actual) & np.isnan(expected))
    where = np.flatnonzero(differs)[:4]
    assert not differs.any(), f"{what}: {actual[where]} != {expected[where]} at {where}"


def floats(type: str, seed: int) -> Array:
    """All kinds of floats: every pair of two seeds' special numbers, then random bits, then tame numbers."""
    dtype = DTYPES[type]
    rng = np.random.default_rng(seed)
    info = ml_dtypes.finfo(dtype)
    special = [0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, float(info.tiny), float(info.max), 0.5]
    crossed = np.repeat(special, 10) if seed % 2 else np.tile(special, 10)
    unsigned = f"u{np.dtype(dtype).itemsize}"
    random = rng.integers(0, np.iinfo(unsigned).max, 78, unsigned, endpoint=True).view(dtype)
    tame = rng.normal(0, 10, 78).astype(dtype)
    return np.concatenate([crossed.astype(dtype), random, tame])


def integers(type: str, seed: int) -> Array:
    dtype = DTYPES[type]
    rng = np.random.default_rng(seed)
    info = np.iinfo(dtype)
    special = np.array([0, 1, -1, 2, -7, info.min, info.max, info.min + 1], dtype)
    crossed = np.repeat(special, 8) if seed % 2 else np.tile(special, 8)
    return np.concatenate([crossed, rng.integers(info.min, info.max, N - 64, dtype, endpoint=True)])


def maximum(a: Array, b: Array) -> Array:
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def minimum(a: Array, b: Array) -> Array:
    return -maximum(-a, -b)


def compare_floats(predicate: str, a: Array, b: Array) -> Array:
    if predicate in ("true", "false"):
        return np.full(N, predicate == "true")
    unordered = np.isnan(a) | np.isnan(b)
    if predicate in ("ord", "uno"):
        return unordered == (predicate == "uno")
    return compare(predicate[1:], a, b) & ~unordered | (unordered & (predicate[0] == "u"))


def compare(predicate: str, a: Array, b: Array) -> Array:
    functions = {
        "eq": np.equal,
        "ne": np.not_equal,
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
    }
    if predicate in functions:
        return functions[predicate](a, b)
    if predicate[0] == "u":
        unsigned = f"u{a.dtype.itemsize}"
        a, b = a.view(unsigned), b.view(unsigned)
    return functions[predicate[1:]](a, b)


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


def float_cases(type: str) -> list[Case]:
    binary: dict[str, Callable[[Array, Array], Array]] = {
        "arith.addf": np.add,
        "arith.subf": np.subtract,
        "arith.mulf": np.multiply,
        "arith.divf": np.divide,
        "arith.maximumf": maximum,
        "arith.minimumf": minimum,
        "math.copysign": np.copysign,
        "low.remf": np.fmod,
    }
    unary: dict[str, Callable[[Array], Array]] = {
        "arith.negf": np.negative,
        "math.absf": np.abs,
        "math.sqrt": np.sqrt,
        "math.floor": np.floor,
        "math.ceil": np.ceil,
        "math.trunc": np.trunc,
        "math.roundeven": np.rint,
    }
    cases = [
        Case(f"%r = {op} %a, %b : !{type}", type, lambda a, b, c, f=f: f(a, b)) for op, f in binary.items()
    ]
    cases += [Case(f"%r = {op} %a : !{type}", type, lambda a, b, c, f=f: f(a)) for op, f in unary.items()]
    cases += [
        Case(
            f"%r = arith.cmpf {predicate}, %a, %b : !{type}",
            "i1",
            lambda a, b, c, predicate=predicate: compare_floats(predicate, a, b),
        )
        for predicate in CMPF_COMPARISON_OPERATIONS
    ]
    cases.append(
        Case(
            f"%t0 = arith.mulf %a, %b : !{type}\n%r = arith.addf %t0, %c : !{type}",
            type,
            lambda a, b, c: a * b + c,
        )
    )
    cases.append(
        Case(
            f"%t0 = arith.cmpf olt, %a, %b : !{type}\n%r = low.select %t0, %c, %a : !{type}",
            type,
            lambda a, b, c: np.where(a < b, c, a),
        )
    )
    return cases


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", FLOATS)
def test_float_arithmetic_agrees_with_numpy(type: str, lanes: int | None):
    inputs = {"a": floats(type, 0), "b": floats(type, 1), "c": np.roll(floats(type, 2), 7)}
    run_cases(float_cases(type), inputs, dict.fromkeys(inputs, type), lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", FLOATS)
def test_fma_rounds_once(type: str, lanes: int | None):
    inputs = {"a": floats(type, 0), "b": floats(type, 1), "c": np.roll(floats(type, 2), 7)}
    case = Case(f"%r = math.fma %a, %b, %c : !{type}", type, fma)
    run_cases([case], inputs, dict.fromkeys(inputs, type), lanes, is_defined=False)


def as_unsigned(f: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Lets `f` read signed integers as unsigned."""

    def compute(a: Array, b: Array) -> Array:
        unsigned = np.dtype(f"u{a.dtype.itemsize}")
        return f(a.view(unsigned), b.view(unsigned)).astype(unsigned).view(a.dtype)

    return compute


def division_cases(type: str) -> list[Case]:
    dtype = DTYPES[type]

    def divide(a: Array, b: Array) -> Array:
        safe = np.where((b == 0) | (b == -1), 1, b).astype(dtype)
        quotient = np.floor_divide(a, safe) + ((np.remainder(a, safe) != 0) & ((a < 0) != (safe < 0)))
        return np.where(b == 0, 0, np.where(b == -1, 0 - a, quotient)).astype(dtype)

    def remainder(a: Array, b: Array) -> Array:
        return np.where(b == 0, 0, a - divide(a, b) * b).astype(dtype)

    divisions: dict[str, Callable[[Array, Array], Array]] = {
        "divsi": divide,
        "remsi": remainder,
        "divui": as_unsigned(lambda a, b: np.where(b == 0, 0, a // np.maximum(b, 1))),
        "remui": as_unsigned(lambda a, b: np.where(b == 0, 0, a % np.maximum(b, 1))),
    }
    return [Case(f"%r = arith.{op} %a, %b : !{type}", type, f) for op, f in divisions.items()]


def integer_cases(type: str) -> list[Case]:
    width = np.dtype(DTYPES[type]).itemsize * 8

    def modulo_width(f: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
        return lambda a, b: f(a, b & (width - 1))

    binary: dict[str, Callable[[Array, Array], Array]] = {
        "addi": np.add,
        "subi": np.subtract,
        "muli": np.multiply,
        "shli": modulo_width(np.left_shift),
        "shrsi": modulo_width(np.right_shift),
        "shrui": modulo_width(as_unsigned(np.right_shift)),
        "minsi": np.minimum,
        "maxsi": np.maximum,
        "minui": as_unsigned(np.minimum),
        "maxui": as_unsigned(np.maximum),
        "andi": np.bitwise_and,
        "ori": np.bitwise_or,
        "xori": np.bitwise_xor,
    }
    cases = [
        Case(f"%r = arith.{op} %a, %b : !{type}", type, lambda a, b, f=f: f(a, b)) for op, f in binary.items()
    ]
    cases += [
        Case(
            f"%r = arith.cmpi {predicate}, %a, %b : !{type}",
            "i1",
            lambda a, b, predicate=predicate: compare(predicate, a, b),
        )
        for predicate in CMPI_COMPARISON_OPERATIONS
    ]
    cases.append(
        Case(
            f"%t0 = arith.cmpi slt, %a, %b : !{type}\n%r = low.select %t0, %b, %a : !{type}",
            type,
            np.maximum,
        )
    )
    return cases


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", INTEGERS)
def test_integer_arithmetic_agrees_with_numpy(type: str, lanes: int | None):
    inputs = {"a": integers(type, 0), "b": integers(type, 1)}
    run_cases(integer_cases(type), inputs, dict.fromkeys(inputs, type), lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", INTEGERS)
def test_integer_division_truncates_and_never_traps(type: str, lanes: int | None):
    inputs = {"a": integers(type, 0), "b": integers(type, 1)}
    run_cases(division_cases(type), inputs, dict.fromkeys(inputs, type), lanes, is_defined=False)


def test_division_by_constants_agrees_with_numpy():
    a = integers("i32", 0)
    cases = [
        Case(
            f"%t0 = arith.constant {divisor} : i32\n%r = arith.{op} %a, %t0 : i32",
            "i32",
            lambda a, f=f, divisor=divisor: f(a.astype(np.int64), divisor),
        )
        for divisor in (3, -5, -1)
        for op, f in (("divsi", lambda a, d: np.trunc(a / d)), ("remsi", np.fmod))
    ]
    run_cases(cases, {"a": a}, {"a": "i32"}, None, is_defined=False)


def test_an_index_counts_in_64_bits():
    a = np.arange(N, dtype=np.int64) * 3 - 100
    texts: list[tuple[str, Callable[[Array], Array]]] = [
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
    run_cases(cases, {"a": a}, {"a": "i64"}, None)


def test_index_casts_extend_the_sign_and_keep_the_low_bits():
    a = integers("i16", 0)
    cases = [
        Case(
            "%t0 = arith.index_cast %a : i16 to index\n%r = arith.index_cast %t0 : index to i32",
            "i32",
            lambda a: a,
        ),
        Case(
            "%t0 = arith.index_cast %a : i16 to index\n%r = arith.index_cast %t0 : index to i8",
            "i8",
            lambda a: a.astype(np.int8),
        ),
        Case(
            "%t0 = arith.index_cast %a : i16 to index\n%t1 = arith.index_cast %t0 : index to i1\n"
            "%t2 = arith.index_cast %t1 : i1 to index\n%r = arith.index_cast %t2 : index to i16",
            "i16",
            lambda a: -(a & 1),
        ),
    ]
    run_cases(cases, {"a": a}, {"a": "i16"}, None)


def saturated(a: Array, type: str, is_signed: bool) -> Array:
    width = np.dtype(DTYPES[type]).itemsize * 8
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    exact = [0 if np.isnan(x) else low if x < low else high if x > high else int(x) for x in a.tolist()]
    return np.array([x % (1 << width) for x in exact], np.uint64).astype(f"u{width // 8}").view(DTYPES[type])


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", FLOATS)
def test_floats_convert_to_integers_by_saturating(type: str, lanes: int | None):
    a = floats(type, 0)
    a[100:116] = [float(s * 2.0**e) for e in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1)]
    a[116:122] = np.nextafter(a[[108, 109, 110, 112, 113, 114]], 0)
    cases = [
        Case(
            f"%r = low.convert fpto{sign}i %a : !{type} to !{to}",
            to,
            lambda a, to=to, sign=sign: saturated(a, to, sign == "s"),
        )
        for to in INTEGERS
        for sign in "su"
    ]
    cases.append(Case(f"%r = low.convert fptoui %a : !{type} to !i1", "i1", lambda a: a >= 1))
    cases.append(Case(f"%r = low.convert fptosi %a : !{type} to !i1", "i1", lambda a: a <= -1))
    run_cases(cases, {"a": a}, {"a": type}, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", INTEGERS)
def test_integers_convert_by_value_or_by_low_bits(type: str, lanes: int | None):
    def unsigned(a: Array) -> Array:
        return a.view(f"u{a.dtype.itemsize}")

    cases: list[Case] = []
    for to in FLOATS:
        cases.append(Case(f"%r = low.convert sitofp %a : !{type} to !{to}", to, lambda a: a))
        cases.append(Case(f"%r = low.convert uitofp %a : !{type} to !{to}", to, unsigned))
    for to in INTEGERS:
        width, own = np.dtype(DTYPES[to]).itemsize, np.dtype(DTYPES[type]).itemsize
        if width > own:
            cases.append(Case(f"%r = low.convert extsi %a : !{type} to !{to}", to, lambda a: a))
            cases.append(Case(f"%r = low.convert extui %a : !{type} to !{to}", to, unsigned))
        elif width < own:
            cases.append(
                Case(
                    f"%r = low.convert trunci %a : !{type} to !{to}",
                    to,
                    lambda a, to=to: a.astype(DTYPES[to]),
                )
            )
    cases.append(Case(f"%r = low.convert trunci %a : !{type} to !i1", "i1", lambda a: a & 1))
    run_cases(cases, {"a": integers(type, 0)}, {"a": type}, lanes)


@pytest.mark.parametrize("lanes", LANES)
def test_booleans_are_combined_selected_and_converted(lanes: int | None):
    def lines(op: str) -> str:
        compared = "%t0 = arith.cmpf olt, %a, %b : !f32\n%t1 = arith.cmpf olt, %x, %y : !f64"
        return f"{compared}\n{op}"

    def on(f: Callable[[Array, Array, Array], Array]) -> Callable[..., Array]:
        return lambda a, b, x, y: f(a < b, x < y, a)

    cases = [
        Case(lines("%r = arith.andi %t0, %t1 : !i1"), "i1", on(lambda p, q, a: p & q)),
        Case(lines("%r = arith.ori %t0, %t1 : !i1"), "i1", on(lambda p, q, a: p | q)),
        Case(lines("%r = arith.xori %t1, %t0 : !i1"), "i1", on(lambda p, q, a: p ^ q)),
        Case(lines("%r = low.select %t0, %t1, %t0 : !i1"), "i1", on(lambda p, q, a: p & q)),
        Case(lines("%r = low.select %t1, %a, %b : !f32"), "f32", lambda a, b, x, y: np.where(x < y, a, b)),
        Case(lines("%r = low.convert extui %t0 : !i1 to !i32"), "i32", on(lambda p, q, a: p)),
        Case(lines("%r = low.convert extsi %t0 : !i1 to !i32"), "i32", on(lambda p, q, a: -p.astype(int))),
        Case(lines("%r = low.convert extsi %t1 : !i1 to !i8"), "i8", on(lambda p, q, a: -q.astype(int))),
        Case(lines("%r = low.convert uitofp %t1 : !i1 to !f32"), "f32", on(lambda p, q, a: q)),
        Case(
            lines("%r = low.convert sitofp %t1 : !i1 to !f32"), "f32", on(lambda p, q, a: 0 - q.astype(int))
        ),
    ]
    for predicate in ("eq", "ne", "slt", "sge", "ult", "uge"):
        text = f"%r = arith.cmpi {predicate}, %t0, %t1 : !i1"

        def expected(p: Array, q: Array, a: Array, predicate: str = predicate) -> Array:
            sign = -1 if predicate[0] == "s" else 1
            return compare(
                predicate.lstrip("su") if predicate != "ne" else "ne", sign * p.astype(int), sign * q
            )

        cases.append(Case(lines(text), "i1", on(expected)))
    inputs = {"a": floats("f32", 0), "b": floats("f32", 1), "x": floats("f64", 0), "y": floats("f64", 3)}
    run_cases(cases, inputs, {"a": "f32", "b": "f32", "x": "f64", "y": "f64"}, lanes)


@pytest.mark.parametrize("lanes", LANES)
def test_narrow_floats_are_widened_exactly_and_rounded_once(lanes: int | None):
    h, b, x, y = floats("f16", 0), floats("bf16", 0), floats("f32", 0), floats("f64", 0)
    for numbers, type in ((x, "f32"), (y, "f64")):
        # halfway between two numbers of f16, above and below it, then subnormals of f16 and of bf16
        halfway = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 65520, 65519.996, 2.0**-25, 3 * 2.0**-25, 1e-6])
        numbers[100:107] = halfway
        numbers[107:114] = np.nextafter(numbers[100:107], DTYPES[type](0))
        numbers[114:121] = np.nextafter(numbers[100:107], DTYPES[type](9e9))
        numbers[121:124] = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, 2.0**-133 * 1.5])
    cases = [
        Case("%r = arith.extf %h : !f16 to !f32", "f32", lambda h, b, x, y: h),
        Case("%r = arith.extf %h : !f16 to !f64", "f64", lambda h, b, x, y: h),
        Case("%r = arith.extf %b : !bf16 to !f32", "f32", lambda h, b, x, y: b),
        Case("%r = arith.extf %b : !bf16 to !f64", "f64", lambda h, b, x, y: b),
        Case("%r = arith.extf %x : !f32 to !f64", "f64", lambda h, b, x, y: x),
        Case("%r = arith.truncf %y : !f64 to !f32", "f32", lambda h, b, x, y: y),
        Case("%r = arith.truncf %x : !f32 to !f16", "f16", lambda h, b, x, y: x),
        Case("%r = arith.truncf %y : !f64 to !f16", "f16", lambda h, b, x, y: y),
        Case("%r = arith.truncf %x : !f32 to !bf16", "bf16", lambda h, b, x, y: x),
        Case("%r = arith.truncf %y : !f64 to !bf16", "bf16", lambda h, b, x, y: bf16_of(y)),
    ]
    run_cases(
        cases, {"h": h, "b": b, "x": x, "y": y}, {"h": "f16", "b": "bf16", "x": "f32", "y": "f64"}, lanes
    )


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", F8)
def test_floats_of_8_bits_are_widened_exactly_and_rounded_once(type: str, lanes: int | None):
    e = np.arange(N).astype(np.uint8).view(DTYPES[type])
    inputs = {"e": e, "h": floats("f16", 0), "b": floats("bf16", 0), "x": floats("f32", 0)}
    cases = [
        *[Case(f"%r = arith.extf %e : !{type} to !{to}", to, lambda e, h, b, x: e) for to in FLOATS],
        *[
            Case(f"%r = arith.extf %e : !{type} to !{to}", to, lambda e, h, b, x: e.astype(np.float32))
            for to in ("f16", "bf16")
        ],
        Case(f"%r = arith.truncf %h : !f16 to !{type}", type, lambda e, h, b, x: h.astype(np.float32)),
        Case(f"%r = arith.truncf %b : !bf16 to !{type}", type, lambda e, h, b, x: b.astype(np.float32)),
        Case(f"%r = arith.truncf %x : !f32 to !{type}", type, lambda e, h, b, x: x),
        Case(f"%r = arith.bitcast %e : !{type} to !i8", "i8", lambda e, h, b, x: e.view(np.int8)),
    ]
    run_cases(cases, inputs, {"e": type, "h": "f16", "b": "bf16", "x": "f32"}, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("type", ["f16", "bf16", *F8])
def test_narrow_floats_convert_from_and_to_integers(type: str, lanes: int | None):
    n, m, s = integers("i64", 0), integers("i32", 1), integers("i16", 1)
    n[64:80] = (1 << 40) + (1 << 32) + np.arange(-8, 8)
    values = np.random.default_rng(7).normal(0, 100, N)
    values[:5] = [np.inf, -np.inf, np.nan, 1e9, -0.5]
    with np.errstate(all="ignore"):
        narrow = values.astype(np.float32).astype(DTYPES[type])
    wide = numpy_types.dtype_of(BY_NAME[type])

    def rounded(value: Array) -> Array:
        return numerics.cast(value, wide)

    def unsigned(value: Array) -> Array:
        return value.view(f"u{value.dtype.itemsize}")

    cases = [
        Case(f"%r = low.convert sitofp %n : !i64 to !{type}", type, lambda n, m, s, h: rounded(n)),
        Case(f"%r = low.convert uitofp %n : !i64 to !{type}", type, lambda n, m, s, h: rounded(unsigned(n))),
        Case(f"%r = low.convert sitofp %m : !i32 to !{type}", type, lambda n, m, s, h: rounded(m)),
        Case(f"%r = low.convert uitofp %m : !i32 to !{type}", type, lambda n, m, s, h: rounded(unsigned(m))),
        Case(f"%r = low.convert sitofp %s : !i16 to !{type}", type, lambda n, m, s, h: rounded(s)),
        Case(f"%r = low.convert uitofp %s : !i16 to !{type}", type, lambda n, m, s, h: rounded(unsigned(s))),
        Case(f"%r = low.convert fptosi %h : !{type} to !i32", "i32", lambda n, m, s, h: cast(h, np.int32)),
        Case(f"%r = low.convert fptoui %h : !{type} to !i8", "i8", lambda n, m, s, h: cast(h, np.uint8)),
        Case(
            f"%t = arith.cmpi slt, %m, %m : !i32\n%r = low.convert uitofp %t : !i1 to !{type}",
            type,
            lambda n, m, s, h: np.zeros(N),
        ),
    ]
    run_cases(
        cases, {"n": n, "m": m, "s": s, "h": narrow}, {"n": "i64", "m": "i32", "s": "i16", "h": type}, lanes
    )


def cast(value: Array, dtype: Any) -> Array:
    return numerics.cast(value, np.dtype(dtype))


def bf16_of(y: Array) -> Array:
    """Rounds f64 once: to f32 by truncation, with the last bit set where something was cut off."""
    x = y.astype(np.float32)
    away = np.abs(x.astype(np.float64)) > np.abs(y)
    x = np.where(away, np.nextafter(x, np.float32(0)), x)
    is_inexact = (x.astype(np.float64) != y) & np.isfinite(y)
    return (x.view(np.uint32) | is_inexact).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("lanes", LANES)
def test_bitcasts_keep_the_bits(lanes: int | None):
    inputs = {"a": floats("f32", 0), "n": integers("i64", 1), "h": floats("f16", 1)}
    cases = [
        Case("%r = arith.bitcast %a : !f32 to !i32", "i32", lambda a, n, h: a.view(np.int32)),
        Case("%r = arith.bitcast %n : !i64 to !f64", "f64", lambda a, n, h: n.view(np.float64)),
        Case("%r = arith.bitcast %h : !f16 to !i16", "i16", lambda a, n, h: h.view(np.int16)),
        Case("%r = arith.bitcast %h : !f16 to !bf16", "bf16", lambda a, n, h: h.view(ml_dtypes.bfloat16)),
    ]
    run_cases(cases, inputs, {"a": "f32", "n": "i64", "h": "f16"}, lanes)


CONSTANTS = {
    "f32": [
        "0.1",
        "-0.0",
        "1.0e-45",
        "16777216.0",
        "3.4028235e+38",
        "0x7F800000",
        "0xFF800000",
        "0x7FC00000",
    ],
    "f64": ["0.1", "-0.0", "5.0e-324", "1.0e+300", "0x7FF0000000000000", "0xFFF0000000000000", "-7.25"],
    "f16": ["0.1", "-0.0", "65504.0", "0x7C00"],
    "bf16": ["0.1", "-0.0", "0xFF80"],
    "i64": ["0", "-9223372036854775808", "9223372036854775807", "-1"],
    "i32": ["-2147483648", "2147483647", "-5"],
    "i16": ["-32768", "32767"],
    "i8": ["-128", "127", "-1"],
}


def constant(type: str, text: str) -> Array:
    dtype = np.dtype(DTYPES[type])
    if text.startswith("0x"):
        return np.full(N, int(text, 16), f"u{dtype.itemsize}").view(dtype)
    return np.full(N, int(text) if type[0] == "i" else float(text)).astype(dtype)


@pytest.mark.parametrize("lanes", LANES)
def test_constants_are_exact(lanes: int | None):
    def literal(type: str, text: str) -> str:
        return text if lanes is None else f"dense<{text}>"

    cases = [
        Case(
            f"%r = arith.constant {literal(type, text)} : !{type}",
            type,
            lambda a, type=type, text=text: constant(type, text),
        )
        for type, texts in CONSTANTS.items()
        for text in texts
    ]
    run_cases(cases, {"a": floats("f32", 0)}, {"a": "f32"}, lanes)


def halved(combine: np.ufunc, lanes: np.ndarray) -> np.generic:
    """What `vector.reduction` makes of `lanes`."""
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = combine(lanes[:half], lanes[half:])
    return lanes[0]


def test_vector_constants_broadcasts_and_reductions():
    x = np.linspace(-3, 7, 16, dtype=np.float32)
    n = np.arange(-5, 11, dtype=np.int32)
    floats_out, integers_out = np.zeros(4, np.float32), np.zeros(16, np.int32)
    text = """
    low.kernel @k(%x: memref<16xf32>, %n: memref<16xi32>, %f: memref<4xf32>, %m: memref<16xi32>)
        grid [1, 1, 1] block [1, 1, 1] {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %2 = arith.constant 2 : index
      %3 = arith.constant 3 : index
      %v = vector.load %x[%0] : memref<16xf32>, vector<16xf32>
      %w = vector.load %n[%0] : memref<16xi32>, vector<16xi32>
      %start = arith.constant 1.0e+08 : f32
      %sum = vector.reduction <add>, %v, %start : vector<16xf32> into f32
      memref.store %sum, %f[%0] : memref<4xf32>
      %product = vector.reduction <mul>, %v : vector<16xf32> into f32
      memref.store %product, %f[%1] : memref<4xf32>
      %max = vector.reduction <maximumf>, %v, %start : vector<16xf32> into f32
      memref.store %max, %f[%2] : memref<4xf32>
      %min = vector.reduction <minimumf>, %v : vector<16xf32> into f32
      memref.store %min, %f[%3] : memref<4xf32>
    """
    kinds = ["add", "mul", "minsi", "minui", "maxsi", "maxui", "and", "or", "xor"]
    for row, kind in enumerate(kinds):
        text += f"""
      %r{row} = vector.reduction <{kind}>, %w : vector<16xi32> into i32
      %at{row} = arith.constant {row} : index
      memref.store %r{row}, %m[%at{row}] : memref<16xi32>
    """
    text += """
      %ramp = arith.constant dense<[10, 20]> : vector<2xi32>
      %at = arith.constant 9 : index
      vector.store %ramp, %m[%at] : memref<16xi32>, vector<2xi32>
      %many = vector.broadcast %r0 : i32 to vector<2xi32>
      %after = arith.constant 11 : index
      vector.store %many, %m[%after] : memref<16xi32>, vector<2xi32>
      %mask = arith.constant dense<[true, false]> : vector<2xi1>
      %all = vector.reduction <and>, %mask : vector<2xi1> into i1
      %true = arith.constant true
      %any = vector.reduction <or>, %mask, %true : vector<2xi1> into i1
      %both = vector.broadcast %any : i1 to vector<2xi1>
      %chosen = low.select %mask, %ramp, %many : vector<2xi32>
      %last = low.select %both, %chosen, %ramp : vector<2xi32>
      %end = arith.constant 13 : index
      vector.store %last, %m[%end] : memref<16xi32>, vector<2xi32>
      %bit = low.convert extui %all : i1 to i32
      %final = arith.constant 15 : index
      memref.store %bit, %m[%final] : memref<16xi32>
    }"""
    run(text, x, n, floats_out, integers_out)
    total = np.float32(1e8) + halved(np.add, x)
    product = halved(np.multiply, x)
    assert_same_bits(floats_out, np.array([total, product, 1e8, -3], np.float32), "reductions of floats")
    unsigned = n.view(np.uint32)
    reductions = [f.reduce(n) for f in (np.add, np.multiply, np.minimum)]
    reductions += [unsigned.min().astype(np.int32), n.max(), unsigned.max().view(np.int32)]
    reductions += [f.reduce(n) for f in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)]
    assert integers_out.tolist() == [*reductions, 10, 20, n.sum(), n.sum(), 10, n.sum(), 0]


def test_loops_carry_values_all_at_once():
    out = np.zeros(8, np.float32)
    masks = np.zeros(4, np.int8)
    text = """
    low.kernel @k(%out: memref<8xf32>, %bits: memref<4xi8>) grid [1, 1, 1] block [1, 1, 1] {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %2 = arith.constant 2 : index
      %4 = arith.constant 4 : index
      %5 = arith.constant 5 : index
      %a = arith.constant 1.0 : f32
      %b = arith.constant 2.0 : f32
      %c = arith.constant 3.0 : f32
      %x, %y, %z = scf.for %i = %0 to %5 step %1 iter_args(%p = %a, %q = %b, %r = %c) -> (f32, f32, f32) {
        %inner = scf.for %j = %0 to %i step %2 iter_args(%acc = %p) -> (f32) {
          %next = arith.addf %acc, %q : f32
          scf.yield %next : f32
        }
        scf.yield %q, %r, %inner : f32, f32, f32
      }
      memref.store %x, %out[%0] : memref<8xf32>
      memref.store %y, %out[%1] : memref<8xf32>
      memref.store %z, %out[%2] : memref<8xf32>
      %none = scf.for %i = %5 to %0 step %1 iter_args(%kept = %c) -> (f32) {
        scf.yield %a : f32
      }
      memref.store %none, %out[%4] : memref<8xf32>
      %true = arith.constant dense<true> : vector<4xi1>
      %flipping = arith.constant dense<[true, false, true, false]> : vector<4xi1>
      %mask = scf.for %i = %0 to %5 step %1 iter_args(%m = %flipping) -> (vector<4xi1>) {
        %n = arith.xori %m, %true : vector<4xi1>
        scf.yield %n : vector<4xi1>
      }
      %bytes = low.convert extui %mask : vector<4xi1> to vector<4xi8>
      vector.store %bytes, %bits[%0] : memref<4xi8>, vector<4xi8>
    }"""
    run(text, out, masks)
    p, q, r = 1.0, 2.0, 3.0
    for i in range(5):
        p, q, r = q, r, p + q * len(range(0, i, 2))
    assert out[[0, 1, 2, 4]].tolist() == [p, q, r, 3.0]
    assert masks.tolist() == [0, 1, 0, 1]


def test_branches_give_results():
    x = np.array([-2.0, 3.0], np.float32)
    y = np.zeros(4, np.float32)
    text = """
    low.kernel @k(%x: memref<2xf32>, %y: memref<4xf32>) grid [2, 1, 1] block [1, 1, 1] {
      %i = low.block_id x
      %2 = arith.constant 2 : index
      %zero = arith.constant 0.0 : f32
      %v = memref.load %x[%i] : memref<2xf32>
      %c = arith.cmpf olt, %v, %zero : f32
      %r, %s = scf.if %c -> (f32, f32) {
        %n = arith.negf %v : f32
        scf.yield %n, %v : f32, f32
      } else {
        scf.yield %v, %zero : f32, f32
      }
      memref.store %r, %y[%i] : memref<4xf32>
      %j = arith.addi %i, %2 : index
      scf.if %c {
        memref.store %s, %y[%j] : memref<4xf32>
      }
      scf.if %c {
      } else {
        memref.store %r, %y[%j] : memref<4xf32>
      }
    }"""
    run(text, x, y)
    assert y.tolist() == [2.0, 3.0, -2.0, 3.0]


def test_private_rows_and_shared_tiles():
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    text = """
    low.kernel @reverse(%x: memref<64xf32>, %y: memref<64xf32>) grid [4, 1, 1] block [16, 1, 1] {
      %tile = low.alloca : memref<16xf32, "shared">
      %row = low.alloca : memref<2xf32>
      %b = low.block_id x
      %t = low.thread_id x
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %15 = arith.constant 15 : index
      %16 = arith.constant 16 : index
      %base = arith.muli %b, %16 : index
      %i = arith.addi %base, %t : index
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %tile[%t] : memref<16xf32, "shared">
      low.barrier
      %u = arith.subi %15, %t : index
      %w = memref.load %tile[%u] : memref<16xf32, "shared">
      memref.store %w, %row[%1] : memref<2xf32>
      %double = arith.addf %w, %w : f32
      memref.store %double, %row[%0] : memref<2xf32>
      %pair = vector.load %row[%0] : memref<2xf32>, vector<2xf32>
      %sum = vector.reduction <add>, %pair : vector<2xf32> into f32
      memref.store %sum, %y[%i] : memref<64xf32>
    }"""
    run(text, x, y)
    assert y.tolist() == (3 * x.reshape(4, 16)[:, ::-1]).ravel().tolist()


def test_all_three_dimensions_have_ids():
    y = np.zeros(2 * 3 * 4 * 2, np.int64)
    text = """
    low.kernel @k(%y: memref<48xi64>) grid [2, 3, 4] block [1, 2, 1] {
      %x = low.block_id x
      %b = low.block_id y
      %z = low.block_id z
      %t = low.thread_id y
      %2 = arith.constant 2 : index
      %6 = arith.constant 6 : index
      %12 = arith.constant 12 : index
      %u = arith.muli %b, %2 : index
      %v = arith.muli %t, %6 : index
      %w = arith.muli %z, %12 : index
      %xu = arith.addi %x, %u : index
      %vw = arith.addi %v, %w : index
      %i = arith.addi %xu, %vw : index
      %n = arith.index_cast %i : index to i64
      memref.store %n, %y[%i] : memref<48xi64>
    }"""
    run(text, y)
    assert y.tolist() == list(range(48))


def test_contraction_happens_only_where_it_is_asked_for():
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=N).astype(np.float32) for name in "abc"}

    def text(flags: str, op: str, order: str) -> str:
        return f"%t0 = arith.mulf %a, %b {flags} : !f32\n%r = arith.{op} {order} {flags} : !f32"

    run_cases(
        [
            Case(text("", "addf", "%t0, %c"), "f32", lambda a, b, c: a * b + c),
            Case(text("fastmath<nnan>", "subf", "%c, %t0"), "f32", lambda a, b, c: c - a * b),
        ],
        inputs,
        dict.fromkeys(inputs, "f32"),
        8,
    )
    sums = [
        ("addf", "%t0, %c", 1, 1),
        ("addf", "%c, %t0", 1, 1),
        ("subf", "%t0, %c", 1, -1),
        ("subf", "%c, %t0", -1, 1),
    ]
    a, b, c = inputs.values()
    for op, order, product_sign, sum_sign in sums:
        out = np.zeros(N, np.float32)
        body = text("fastmath<contract>", op, order).replace("!f32", "f32")
        run(kernel_of_three(body), a, b, c, out, is_defined=False)
        product = product_sign * a.astype(np.float64) * b
        np.testing.assert_allclose(out, product + sum_sign * c, rtol=1e-5, atol=1e-6)


def kernel_of_three(body: str) -> str:
    return f"""
    low.kernel @k(%x: memref<{N}xf32>, %y: memref<{N}xf32>, %z: memref<{N}xf32>, %out: memref<{N}xf32>)
        grid [{N}, 1, 1] block [1, 1, 1] {{
      %i = low.block_id x
      %a = memref.load %x[%i] : memref<{N}xf32>
      %b = memref.load %y[%i] : memref<{N}xf32>
      %c = memref.load %z[%i] : memref<{N}xf32>
      {body}
      memref.store %r, %out[%i] : memref<{N}xf32>
    }}"""


def test_every_op_of_a_body_has_a_rule_or_must_be_expanded():
    assert {*RULES, *EXPANDED_OPS, scf.ConditionOp, scf.YieldOp} == {*BODY_OPS}
