"""Every op of a kernel's body, compiled for the host and compared with numpy bit for bit."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.interface import Backend, BufferLoc
from tenon.backends.llvm import backend
from tenon.backends.llvm.rules import RULES
from tenon.dialects.low import BODY_OPS, EXPANDED_OPS, LOW
from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from .storage_dtypes import DTYPES, F8

Array = npt.NDArray[Any]

N = 64
FLOATS = ["f64", "f32"]
INTEGERS = ["i64", "i32", "i16", "i8"]


@functools.cache
def llvm() -> Backend:
    return backend()


def parse(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, arith.Arith, math.Math, memref.MemRef, scf.Scf, vector.Vector, LOW):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def run(text: str, *arrays: Array, grid: tuple[int, int, int] = (1, 1, 1)) -> None:
    """Runs the one kernel of `text`, called @k, on the arrays in place."""
    it = llvm()
    artifact = it.compiler.compile(it.renderer.render(parse(text), it.device), it.device)
    driver = backend().driver
    for pool_id, array in enumerate(arrays):
        driver.alloc_pool(pool_id, array.nbytes, 64)
        driver.copy_to_device(BufferLoc(pool_id, 0), array)
    locations = [BufferLoc(pool_id, 0) for pool_id in range(len(arrays))]
    driver.launch(driver.get_kernel(artifact, "k"), grid, (1, 1, 1), locations)
    driver.synchronize()
    for pool_id, array in enumerate(arrays):
        driver.copy_from_device(array, BufferLoc(pool_id, 0))


def assert_same(got: Array, expected: Array) -> None:
    """Bit for bit, but any NaN is as good as another."""
    assert got.dtype == expected.dtype
    if got.dtype.kind not in "iub":
        with np.errstate(invalid="ignore"):
            got_nan, expected_nan = np.isnan(got), np.isnan(expected)
        np.testing.assert_array_equal(got_nan, expected_nan)
        got, expected = got[~got_nan], expected[~got_nan]
    np.testing.assert_array_equal(got.view(np.uint8), expected.view(np.uint8))


def elementwise(lines: str, types: list[str], lanes: int | None, *inputs: Array, n: int = N) -> Array:
    """
    Runs `lines` over inputs %a, %b, ... of `types[:-1]` to %r of `types[-1]`, one element or `lanes` at a
    time. In `lines`, `{f32}` stands for f32 or the vector of it.
    """
    shaped = {t: t if lanes is None else f"vector<{lanes}x{t}>" for t in [*DTYPES, "i1"]}
    step = lanes or 1
    buffers = ["x", "y", "z"][: len(inputs)]
    arguments = ", ".join(f"%{b}: memref<{n}x{t}>" for b, t in zip([*buffers, "out"], types, strict=True))
    loads = "\n".join(
        f"%{value} = memref.load %{b}[%i] : memref<{n}x{t}>"
        if lanes is None
        else f"%{value} = vector.load %{b}[%i] : memref<{n}x{t}>, {shaped[t]}"
        for value, b, t in zip("abc", buffers, types[:-1], strict=False)
    )
    store = (
        f"memref.store %r, %out[%i] : memref<{n}x{types[-1]}>"
        if lanes is None
        else f"vector.store %r, %out[%i] : memref<{n}x{types[-1]}>, {shaped[types[-1]]}"
    )
    for name, text in shaped.items():
        lines = lines.replace(f"{{{name}}}", text)
    out = np.zeros(n, DTYPES[types[-1]])
    run(
        f"""low.kernel @k({arguments}) grid [{n // step}, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          %w = arith.constant {step} : index
          %i = arith.muli %g, %w : index
          {loads}
          {lines}
          {store}
        }}""",
        *inputs,
        out,
        grid=(n // step, 1, 1),
    )
    return out


def floats(name: str, seed: int) -> Array:
    """Random numbers of mixed size, and the special ones at places that differ by seed."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(N) * 10.0 ** generator.integers(-3, 4, N)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.5, 0.5, 1e-40, -1e-310, 2.0**30, -1.0]
    values[:48] = np.roll(np.repeat(special, 4), 5 * seed)
    return values.astype(DTYPES[name])


def integers(name: str, seed: int) -> Array:
    info = np.iinfo(DTYPES[name])
    values = np.random.default_rng(seed).integers(info.min, info.max, N, DTYPES[name], endpoint=True)
    values[:4] = np.roll([info.min, info.max, -1, 0], seed)
    return values


def maximum(a: Array, b: Array) -> Array:
    tie = np.where(np.signbit(a), b, a)
    return np.where((a == 0) & (b == 0), tie, np.maximum(a, b)).astype(a.dtype)


def minimum(a: Array, b: Array) -> Array:
    return -maximum(-a, -b)


UNARY: dict[str, Callable[[Array], Array]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.sqrt": np.sqrt,
    "math.floor": np.floor,
    "math.ceil": np.ceil,
    "math.trunc": np.trunc,
    "math.roundeven": np.rint,
}

BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addf": np.add,
    "arith.subf": np.subtract,
    "arith.mulf": np.multiply,
    "arith.divf": np.divide,
    "arith.maximumf": maximum,
    "arith.minimumf": minimum,
    "math.copysign": np.copysign,
    "low.remf": np.fmod,
}


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_unary_float_op_is_numpys(op: str, type: str, lanes: int | None) -> None:
    x = floats(type, 1)
    with np.errstate(all="ignore"):
        expected = UNARY[op](x)
    assert_same(elementwise(f"%r = {op} %a : {{{type}}}", [type, type], lanes, x), expected)


@pytest.mark.parametrize("lanes", [None, 4])
@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op", BINARY)
def test_binary_float_op_is_numpys(op: str, type: str, lanes: int | None) -> None:
    x, y = floats(type, 1), floats(type, 2)
    with np.errstate(all="ignore"):
        expected = BINARY[op](x, y)
    assert_same(elementwise(f"%r = {op} %a, %b : {{{type}}}", [type] * 3, lanes, x, y), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_remainders_are_exact(type: str, lanes: int | None) -> None:
    """Dividends beside multiples of divisors, quotients of any size, and subnormal numbers."""
    dtype, random, n = DTYPES[type], np.random.default_rng(8), 1 << 12
    information = np.finfo(dtype)
    divisors = random.uniform(0.5, 2, n).astype(dtype)
    multiples = (divisors * random.integers(1, 1 << 24, n)).astype(dtype)
    exponents = random.integers(-3, information.nmant + 3, n)
    scaled = np.ldexp(random.uniform(0.5, 1, n), random.integers(information.minexp - 20, 10, n)).astype(
        dtype
    )
    tiny = (random.integers(-60, 60, n) * information.smallest_subnormal).astype(dtype)
    pairs: list[tuple[Array, Array]] = [
        (multiples, divisors),
        (np.nextafter(multiples, dtype(np.inf)), -divisors),
        (-np.nextafter(multiples, dtype(0)), divisors),
        ((scaled * np.ldexp(random.uniform(0.5, 1, n), exponents)).astype(dtype), scaled),
        ((tiny * random.integers(-60, 60, n)).astype(dtype), tiny),
    ]
    x = np.concatenate([dividend for dividend, _ in pairs])
    y = np.concatenate([divisor for _, divisor in pairs])
    with np.errstate(all="ignore"):
        expected = np.fmod(x, y)
    line = "%r = low.remf %a, %b : {" + type + "}"
    assert_same(elementwise(line, [type] * 3, lanes, x, y, n=len(x)), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", FLOATS)
def test_fma_rounds_once(type: str, lanes: int | None) -> None:
    small = 2.0 ** (-12 if type == "f32" else -27)
    x = np.full(N, 1 + small, DTYPES[type])
    z = np.full(N, -(1 + 2 * small), DTYPES[type])
    got = elementwise(f"%r = math.fma %a, %a, %b : {{{type}}}", [type] * 3, lanes, x, z)
    assert_same(got, np.full(N, small * small, DTYPES[type]))


@pytest.mark.parametrize("lanes", [None, 8])
def test_product_and_sum_are_not_contracted(lanes: int | None) -> None:
    x = np.full(N, 1 + 2.0**-12, np.float32)
    z = np.full(N, -(1 + 2.0**-11), np.float32)
    lines = "%p = arith.mulf %a, %a : {f32}\n%r = arith.addf %p, %b : {f32}"
    assert_same(elementwise(lines, ["f32"] * 3, lanes, x, z), np.zeros(N, np.float32))


def wrapped_divide(a: Array, b: Array) -> Array:
    quotient = np.trunc(a.astype(np.longdouble) / b.astype(np.longdouble))
    return quotient.astype(a.dtype)


INTEGER_BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.minui": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    "arith.maxui": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
}


def unsigned(a: Array) -> Array:
    return a.view(f"u{a.dtype.itemsize}")


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", INTEGER_BINARY)
def test_integer_op_is_numpys(op: str, type: str, lanes: int | None) -> None:
    x, y = integers(type, 1), integers(type, 2)
    expected = INTEGER_BINARY[op](x, y)
    assert_same(elementwise(f"%r = {op} %a, %b : {{{type}}}", [type] * 3, lanes, x, y), expected)


DIVISIONS: dict[str, Callable[[Array, Array], Array]] = {
    "arith.divsi": wrapped_divide,
    "arith.remsi": np.fmod,
    "arith.divui": lambda a, b: (unsigned(a) // unsigned(b)).view(a.dtype),
    "arith.remui": lambda a, b: (unsigned(a) % unsigned(b)).view(a.dtype),
}


@pytest.mark.parametrize("lanes", [None, 4])
@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", DIVISIONS)
def test_integer_division_is_numpys(op: str, type: str, lanes: int | None) -> None:
    x, y = integers(type, 1), integers(type, 2)
    y[(y == 0) | (y == -1)] = 3
    expected = DIVISIONS[op](x, y)
    assert_same(elementwise(f"%r = {op} %a, %b : {{{type}}}", [type] * 3, lanes, x, y), expected)


SHIFTS: dict[str, Callable[[Array, Array], Array]] = {
    "arith.shli": np.left_shift,
    "arith.shrsi": np.right_shift,
    "arith.shrui": lambda a, b: np.right_shift(unsigned(a), unsigned(b)).view(a.dtype),
}


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", SHIFTS)
def test_shift_is_numpys(op: str, type: str, lanes: int | None) -> None:
    x = integers(type, 1)
    amounts = (np.arange(N) % (8 * x.dtype.itemsize)).astype(x.dtype)
    expected = SHIFTS[op](x, amounts)
    assert_same(elementwise(f"%r = {op} %a, %b : {{{type}}}", [type] * 3, lanes, x, amounts), expected)


CMPI: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
    "ult": lambda a, b: unsigned(a) < unsigned(b),
    "ule": lambda a, b: unsigned(a) <= unsigned(b),
    "ugt": lambda a, b: unsigned(a) > unsigned(b),
    "uge": lambda a, b: unsigned(a) >= unsigned(b),
}


def either_nan(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


CMPF: dict[str, Callable[[Array, Array], Array]] = {
    "false": lambda a, b: np.zeros(a.shape, bool),
    "oeq": np.equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "one": lambda a, b: (a != b) & ~either_nan(a, b),
    "ord": lambda a, b: ~either_nan(a, b),
    "ueq": lambda a, b: (a == b) | either_nan(a, b),
    "ugt": lambda a, b: (a > b) | either_nan(a, b),
    "uge": lambda a, b: (a >= b) | either_nan(a, b),
    "ult": lambda a, b: (a < b) | either_nan(a, b),
    "ule": lambda a, b: (a <= b) | either_nan(a, b),
    "une": np.not_equal,
    "uno": either_nan,
    "true": lambda a, b: np.ones(a.shape, bool),
}


def compare(op: str, number: int, type: str) -> str:
    """A comparison in generic form, which can say that vectors give a vector, and its result as an i8."""
    return (
        f'%c = "arith.{op}"(%a, %b) <{{predicate = {number} : i64}}> : ({{{type}}}, {{{type}}}) -> {{i1}}\n'
        "%r = low.convert extui %c : {i1} to {i8}"
    )


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("predicate", CMPI)
def test_integer_comparison_is_numpys(predicate: str, lanes: int | None) -> None:
    x, y = integers("i32", 1), integers("i32", 2)
    y[8:16] = x[8:16]
    lines = compare("cmpi", list(CMPI).index(predicate), "i32")
    expected = CMPI[predicate](x, y).astype(np.int8)
    assert_same(elementwise(lines, ["i32", "i32", "i8"], lanes, x, y), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("predicate", CMPF)
def test_float_comparison_is_numpys(predicate: str, lanes: int | None) -> None:
    x, y = floats("f32", 1), floats("f32", 2)
    y[8:16] = x[8:16]
    lines = compare("cmpf", list(CMPF).index(predicate), "f32")
    expected = CMPF[predicate](x, y).astype(np.int8)
    assert_same(elementwise(lines, ["f32", "f32", "i8"], lanes, x, y), expected)


@pytest.mark.parametrize("lanes", [None, 8])
def test_select_takes_lanes_by_condition(lanes: int | None) -> None:
    x, y = floats("f32", 1), floats("f32", 2)
    lines = (
        '%c = "arith.cmpf"(%a, %b) <{predicate = 4 : i64}> : ({f32}, {f32}) -> {i1}\n'
        "%r = low.select %c, %a, %b : {f32}"
    )
    assert_same(elementwise(lines, ["f32"] * 3, lanes, x, y), np.where(x < y, x, y))


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize(
    ("integer", "float"), [("i32", "f32"), ("i64", "f64"), ("i16", "f16"), ("i16", "bf16")]
)
def test_bitcast_keeps_the_bits(integer: str, float: str, lanes: int | None) -> None:
    x = integers(integer, 1)
    lines = f"%s = arith.bitcast %a : {{{integer}}} to {{{float}}}\n"
    lines += f"%r = arith.bitcast %s : {{{float}}} to {{{integer}}}"
    assert_same(elementwise(lines, [integer, integer], lanes, x), x)
    lines = f"%r = arith.bitcast %a : {{{integer}}} to {{{float}}}"
    assert_same(elementwise(lines, [integer, float], lanes, x).view(x.dtype), x)


@pytest.mark.parametrize("type", ["i64", "i32", "i8"])
def test_index_cast_sign_extends_and_keeps_low_bits(type: str) -> None:
    x = integers(type, 1)
    lines = f"%j = arith.index_cast %a : {type} to index\n%r = arith.index_cast %j : index to i64"
    assert_same(elementwise(lines, [type, "i64"], None, x), x.astype(np.int64))
    lines = "%j = arith.index_cast %a : i64 to index\n%r = arith.index_cast %j : index to i8"
    y = integers("i64", 3)
    assert_same(elementwise(lines, ["i64", "i8"], None, y), y.astype(np.int8))


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("kind", ["extsi", "extui", "trunci"])
@pytest.mark.parametrize(("narrow", "wide"), [("i8", "i16"), ("i8", "i64"), ("i16", "i32"), ("i32", "i64")])
def test_integer_conversion_is_numpys(narrow: str, wide: str, kind: str, lanes: int | None) -> None:
    source, target = (wide, narrow) if kind == "trunci" else (narrow, wide)
    x = integers(source, 1)
    expected = (unsigned(x) if kind == "extui" else x).astype(DTYPES[target])
    lines = f"%r = low.convert {kind} %a : {{{source}}} to {{{target}}}"
    assert_same(elementwise(lines, [source, target], lanes, x), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("kind", ["sitofp", "uitofp"])
@pytest.mark.parametrize("float", FLOATS)
@pytest.mark.parametrize("integer", INTEGERS)
def test_integer_to_float_rounds_once(integer: str, float: str, kind: str, lanes: int | None) -> None:
    x = integers(integer, 1)
    expected = (unsigned(x) if kind == "uitofp" else x).astype(DTYPES[float])
    lines = f"%r = low.convert {kind} %a : {{{integer}}} to {{{float}}}"
    assert_same(elementwise(lines, [integer, float], lanes, x), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("float", ["f64", "f32", "f16", "bf16", *F8])
def test_float_to_integer_saturates(float: str, integer: str, is_signed: bool, lanes: int | None) -> None:
    with np.errstate(all="ignore"):
        x = floats("f64", 1).astype(DTYPES[float])
    info = np.iinfo(DTYPES[integer] if is_signed else unsigned(np.zeros(1, DTYPES[integer])).dtype)
    kind = "fptosi" if is_signed else "fptoui"
    clamped = [
        0 if np.isnan(v) else max(info.min, min(info.max, int(max(-1e30, min(1e30, v.item()))))) for v in x
    ]
    expected = np.array(clamped, info.dtype).view(DTYPES[integer])
    lines = f"%r = low.convert {kind} %a : {{{float}}} to {{{integer}}}"
    assert_same(elementwise(lines, [float, integer], lanes, x), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize(
    ("source", "target"),
    [
        *[("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")],
        *[(narrow, wide) for narrow in F8 for wide in ("f16", "bf16", "f32", "f64")],
    ],
)
def test_extf_is_exact(source: str, target: str, lanes: int | None) -> None:
    with np.errstate(all="ignore"):
        x = floats("f64", 1).astype(DTYPES[source])
        expected = x.astype(DTYPES[target])
    lines = f"%r = arith.extf %a : {{{source}}} to {{{target}}}"
    assert_same(elementwise(lines, [source, target], lanes, x), expected)


def neighbours(narrow: str) -> tuple[Array, Array, Array]:
    """
    Numbers halfway between two neighbours of the float type `narrow`, as f64, with the lower and the upper
    one: a sample of every exponent, the subnormals included, and the last ones before infinity.
    """
    dtype = DTYPES[narrow]
    infinity = int(np.array(np.inf, dtype).view(np.uint16))
    low_bits = np.arange(0, infinity - 1, 7, dtype=np.uint16)[: N * 64]
    low_bits = np.concatenate([low_bits, np.arange(infinity - 65, infinity - 1, dtype=np.uint16)])
    low, high = low_bits.view(dtype), (low_bits + np.uint16(1)).view(dtype)
    middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
    return low, middle, high


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("narrow", ["f16", "bf16"])
@pytest.mark.parametrize("wide", ["f64", "f32"])
def test_truncf_rounds_once_to_nearest_even(wide: str, narrow: str, sign: float, lanes: int | None) -> None:
    low, middle, high = neighbours(narrow)
    x = (sign * middle).astype(DTYPES[wide])
    away, towards = np.nextafter(x, x.dtype.type(sign * np.inf)), np.nextafter(x, x.dtype.type(0))
    even = np.where(low.view(np.uint16) % 2 == 0, low, high)
    lines = f"%r = arith.truncf %a : {{{wide}}} to {{{narrow}}}"
    for source, expected in ((x, even), (away, high), (towards, low)):
        got = elementwise(lines, [wide, narrow], lanes, source, n=len(source))
        assert_same(got, (expected * np.array(sign, expected.dtype)).astype(expected.dtype))


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("narrow", ["f16", "bf16"])
@pytest.mark.parametrize("wide", ["f64", "f32"])
def test_truncf_keeps_special_values(wide: str, narrow: str, lanes: int | None) -> None:
    signalling = np.array([0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    specials = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-300, -1e-300, 3.3e38])
    x = np.zeros(N, DTYPES[wide])
    with np.errstate(all="ignore"):
        x[: len(specials)] = specials
        x[len(specials) : len(specials) + 2] = signalling
        expected = x.astype(DTYPES[narrow])
    lines = f"%r = arith.truncf %a : {{{wide}}} to {{{narrow}}}"
    assert_same(elementwise(lines, [wide, narrow], lanes, x), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("narrow", F8)
@pytest.mark.parametrize("wide", ["f16", "bf16"])
def test_truncf_of_every_short_float_to_8_bits_is_rounded_once(
    wide: str, narrow: str, lanes: int | None
) -> None:
    x = np.arange(1 << 16).astype(np.uint16).view(DTYPES[wide])
    with np.errstate(all="ignore"):
        expected = x.astype(np.float32).astype(DTYPES[narrow])
    lines = f"%r = arith.truncf %a : {{{wide}}} to {{{narrow}}}"
    assert_same(elementwise(lines, [wide, narrow], lanes, x, n=len(x)), expected)


@pytest.mark.parametrize("lanes", [None, 8])
def test_truncf_to_f32_is_numpys(lanes: int | None) -> None:
    with np.errstate(all="ignore"):
        x = floats("f64", 1)
        expected = x.astype(np.float32)
    assert_same(elementwise("%r = arith.truncf %a : {f64} to {f32}", ["f64", "f32"], lanes, x), expected)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("integer", INTEGERS)
@pytest.mark.parametrize("narrow", ["f16", "bf16"])
def test_integer_to_short_float_rounds_once(
    narrow: str, integer: str, is_signed: bool, lanes: int | None
) -> None:
    info = np.iinfo(DTYPES[integer] if is_signed else unsigned(np.zeros(1, DTYPES[integer])).dtype)
    low, middle, high = neighbours(narrow)
    inside = (middle >= 1) & (middle < info.max) & (middle == np.floor(middle)) & np.isfinite(high)
    low, middle, high = (a[inside][:: max(1, inside.sum() // 500)] for a in (low, middle, high))
    n = len(middle) // 8 * 8
    even = np.where(low.view(np.uint16) % 2 == 0, low, high)
    lines = f"%r = low.convert {'sitofp' if is_signed else 'uitofp'} %a : {{{integer}}} to {{{narrow}}}"
    exact = np.array([int(v) for v in middle[:n]], info.dtype)
    for sign in (1, -1) if is_signed else (1,):
        for source, expected in ((exact, even), (exact + 1, high), (exact - 1, low)):
            x = (source * info.dtype.type(sign)).astype(info.dtype).view(DTYPES[integer])
            got = elementwise(lines, [integer, narrow], lanes, x, n=n)
            signed = (expected[:n] * np.array(sign, expected.dtype)).astype(expected.dtype)
            assert_same(got, signed)


@pytest.mark.parametrize("lanes", [None, 8])
@pytest.mark.parametrize("type", list(DTYPES))
def test_load_and_store_keep_every_storage_type(type: str, lanes: int | None) -> None:
    raw = np.random.default_rng(4).integers(0, 256, N * np.dtype(DTYPES[type]).itemsize, np.uint8)
    x = raw.view(DTYPES[type])
    shaped = type if lanes is None else f"vector<{lanes}x{type}>"
    zero = "0" if type[0] == "i" else "0.0"
    mask = "true"
    if lanes is not None:
        zero, mask = f"dense<{zero}>", f"dense<true> : vector<{lanes}xi1>"
    lines = f"%zero = arith.constant {zero} : {shaped}\n%mask = arith.constant {mask}\n"
    lines += f"%r = low.select %mask, %a, %zero : {shaped}"
    got = elementwise(lines, [type, type], lanes, x)
    np.testing.assert_array_equal(got.view(np.uint8), raw)


CONSTANTS = {
    "f64": [
        "0.1",
        "-0.0",
        "0x7FF0000000000000",
        "0xFFF0000000000000",
        "1.0e-310",
        "16777217.0",
        "0.5",
        "2.0",
    ],
    "f32": ["0.1", "-0.0", "0x7F800000", "0xFF800000", "1.0e-40", "16777216.0", "0.5", "3.4028235e38"],
    "f16": ["0.1", "-0.0", "0x7C00", "0xFC00", "6.0e-8", "2048.0", "0.5", "65504.0"],
    "bf16": ["0.1", "-0.0", "0x7F80", "0xFF80", "1.0e-39", "256.0", "0.5", "3.0e38"],
    "i64": ["-9223372036854775808", "9223372036854775807", "-1", "0", "1", "2", "3", "4"],
    "i8": ["-128", "127", "-1", "0", "1", "2", "3", "4"],
}


@pytest.mark.parametrize("type", CONSTANTS)
def test_constant_has_its_exact_bits(type: str) -> None:
    lines, expected = "", []
    for position, literal in enumerate(CONSTANTS[type]):
        lines += f"%c{position} = arith.constant {literal} : {type}\n"
        lines += f"%i{position} = arith.constant {position} : index\n"
        lines += f"memref.store %c{position}, %out[%i{position}] : memref<8x{type}>\n"
        if literal.startswith("0x"):
            sign = -1 if literal[2] == "F" else 1
            expected.append(sign * np.inf)
        else:
            expected.append(float(literal) if type[0] != "i" else int(literal))
    out = np.zeros(8, DTYPES[type])
    run(f"low.kernel @k(%out: memref<8x{type}>) grid [1, 1, 1] block [1, 1, 1] {{\n{lines}}}", out)
    assert_same(out, np.array(expected, DTYPES[type]))


def test_dense_constant_keeps_its_order() -> None:
    out = np.zeros(8, np.int32)
    run(
        """low.kernel @k(%out: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
          %zero = arith.constant 0 : index
          %lanes = arith.constant dense<[7, -6, 5, 4, 3, 2, 1, 0]> : vector<8xi32>
          %mask = arith.constant dense<[true, false, true, true, true, true, true, false]> : vector<8xi1>
          %other = arith.constant dense<9> : vector<8xi32>
          %r = low.select %mask, %lanes, %other : vector<8xi32>
          vector.store %r, %out[%zero] : memref<8xi32>, vector<8xi32>
        }""",
        out,
    )
    assert out.tolist() == [7, 9, 5, 4, 3, 2, 1, 9]


def reduce_in_order(combine: Callable[[Array, Array], Array], values: list[Array]) -> Array:
    return functools.reduce(combine, values)


REDUCTIONS: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "add f32": ("add", np.add),
    "mul f32": ("mul", np.multiply),
    "maximumf f32": ("maximumf", maximum),
    "minimumf f64": ("minimumf", minimum),
    "add f64": ("add", np.add),
    "add i32": ("add", np.add),
    "mul i64": ("mul", np.multiply),
    "minsi i8": ("minsi", np.minimum),
    "maxsi i32": ("maxsi", np.maximum),
    "minui i16": ("minui", INTEGER_BINARY["arith.minui"]),
    "maxui i32": ("maxui", INTEGER_BINARY["arith.maxui"]),
    "and i32": ("and", np.bitwise_and),
    "or i8": ("or", np.bitwise_or),
    "xor i64": ("xor", np.bitwise_xor),
}


@pytest.mark.parametrize("lanes", [2, 8, 16])
@pytest.mark.parametrize("has_accumulator", [False, True])
@pytest.mark.parametrize("case", REDUCTIONS)
def test_reduction_halves_its_lanes(case: str, has_accumulator: bool, lanes: int) -> None:
    kind, combine = REDUCTIONS[case]
    type = case.split()[1]
    is_float = type[0] == "f"
    generator = np.random.default_rng(7)
    x = generator.standard_normal(N).astype(DTYPES[type]) if is_float else integers(type, 1)
    if kind == "maximumf":
        x[::5], x[1::5], x[16] = 0.0, -0.0, np.nan
    start = x[:1] * DTYPES[type](3)
    out = np.zeros(N // lanes, DTYPES[type])
    accumulator = ", %start" if has_accumulator else ""
    run(
        f"""low.kernel @k(%x: memref<{N}x{type}>, %s: memref<1x{type}>, %out: memref<{N // lanes}x{type}>)
              grid [{N // lanes}, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          %zero = arith.constant 0 : index
          %w = arith.constant {lanes} : index
          %i = arith.muli %g, %w : index
          %start = memref.load %s[%zero] : memref<1x{type}>
          %v = vector.load %x[%i] : memref<{N}x{type}>, vector<{lanes}x{type}>
          %r = vector.reduction <{kind}>, %v{accumulator} : vector<{lanes}x{type}> into {type}
          memref.store %r, %out[%g] : memref<{N // lanes}x{type}>
        }}""",
        x,
        start,
        out,
        grid=(N // lanes, 1, 1),
    )
    rows = x.reshape(-1, lanes)
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = combine(rows[:, :half], rows[:, half:])
    total = rows[:, 0]
    assert_same(out, combine(start.repeat(len(total)), total) if has_accumulator else total)


def test_boolean_vectors_combine_and_reduce() -> None:
    x, out = floats("f32", 1), np.zeros(N // 8, np.int8)
    run(
        f"""low.kernel @k(%x: memref<{N}xf32>, %out: memref<{N // 8}xi8>) grid [8, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          %w = arith.constant 8 : index
          %i = arith.muli %g, %w : index
          %v = vector.load %x[%i] : memref<{N}xf32>, vector<8xf32>
          %zero = arith.constant dense<0.0> : vector<8xf32>
          %a = "arith.cmpf"(%v, %zero) <{{predicate = 4 : i64}}>
            : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
          %b = "arith.cmpf"(%v, %v) <{{predicate = 14 : i64}}>
            : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
          %c = arith.ori %a, %b : vector<8xi1>
          %r = vector.reduction <or>, %c : vector<8xi1> into i1
          %n = low.convert extui %r : i1 to i8
          memref.store %n, %out[%g] : memref<{N // 8}xi8>
        }}""",
        x,
        out,
        grid=(8, 1, 1),
    )
    expected = ((x < 0) | np.isnan(x)).reshape(8, 8).any(axis=1)
    assert out.astype(bool).tolist() == expected.tolist()


def test_broadcast_fills_every_lane() -> None:
    x, out = np.array([3.5, -1.0], np.float64), np.zeros(8)
    run(
        """low.kernel @k(%x: memref<2xf64>, %out: memref<8xf64>) grid [2, 1, 1] block [1, 1, 1] {
          %g = low.block_id x
          %w = arith.constant 4 : index
          %i = arith.muli %g, %w : index
          %v = memref.load %x[%g] : memref<2xf64>
          %r = vector.broadcast %v : f64 to vector<4xf64>
          vector.store %r, %out[%i] : memref<8xf64>, vector<4xf64>
        }""",
        x,
        out,
        grid=(2, 1, 1),
    )
    assert out.tolist() == [3.5] * 4 + [-1.0] * 4


def test_for_carries_scalars_and_vectors_through_nested_loops() -> None:
    x = np.random.default_rng(5).standard_normal((6, 16)).astype(np.float32)
    sums, total = np.zeros(8, np.float32), np.zeros(2, np.float32)
    run(
        """low.kernel @k(%x: memref<96xf32>, %sums: memref<8xf32>, %total: memref<2xf32>)
              grid [1, 1, 1] block [1, 1, 1] {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c6 = arith.constant 6 : index
          %c8 = arith.constant 8 : index
          %c16 = arith.constant 16 : index
          %zeros = arith.constant dense<0.0> : vector<8xf32>
          %zero = arith.constant 0.0 : f32
          %acc, %sum = scf.for %i = %c0 to %c6 step %c1
              iter_args(%a = %zeros, %s = %zero) -> (vector<8xf32>, f32) {
            %row = arith.muli %i, %c16 : index
            %b, %t = scf.for %j = %c0 to %c16 step %c8 iter_args(%p = %a, %q = %s) -> (vector<8xf32>, f32) {
              %at = arith.addi %row, %j : index
              %v = vector.load %x[%at] : memref<96xf32>, vector<8xf32>
              %p2 = arith.addf %p, %v : vector<8xf32>
              %q2 = vector.reduction <add>, %v, %q : vector<8xf32> into f32
              scf.yield %p2, %q2 : vector<8xf32>, f32
            }
            scf.yield %b, %t : vector<8xf32>, f32
          }
          vector.store %acc, %sums[%c0] : memref<8xf32>, vector<8xf32>
          memref.store %sum, %total[%c0] : memref<2xf32>
          %none = scf.for %i2 = %c6 to %c0 step %c1 iter_args(%n = %sum) -> (f32) {
            scf.yield %zero : f32
          }
          memref.store %none, %total[%c1] : memref<2xf32>
        }""",
        x.reshape(-1),
        sums,
        total,
    )
    assert_same(sums, functools.reduce(np.add, x.reshape(-1, 8), np.zeros(8, np.float32)))
    in_order = functools.reduce(np.add, x.reshape(-1), np.float32(0))
    assert_same(total, np.array([in_order, in_order], np.float32))


def test_if_gives_the_values_of_the_branch_taken() -> None:
    x, out = floats("f32", 1), np.zeros(N, np.float32)
    run(
        f"""low.kernel @k(%x: memref<{N}xf32>, %out: memref<{N}xf32>) grid [{N}, 1, 1] block [1, 1, 1] {{
          %i = low.block_id x
          %v = memref.load %x[%i] : memref<{N}xf32>
          %zero = arith.constant 0.0 : f32
          %two = arith.constant 2.0 : f32
          %negative = arith.cmpf olt, %v, %zero : f32
          %a, %b = scf.if %negative -> (f32, f32) {{
            %large = arith.cmpf olt, %v, %two : f32
            %n = arith.negf %v : f32
            %inner = scf.if %large -> (f32) {{
              scf.yield %n : f32
            }} else {{
              scf.yield %zero : f32
            }}
            scf.yield %inner, %two : f32, f32
          }} else {{
            scf.yield %v, %zero : f32, f32
          }}
          %r = arith.addf %a, %b : f32
          scf.if %negative {{
            memref.store %r, %out[%i] : memref<{N}xf32>
          }}
          scf.if %negative {{
          }} else {{
            memref.store %a, %out[%i] : memref<{N}xf32>
          }}
        }}""",
        x,
        out,
        grid=(N, 1, 1),
    )
    assert_same(out, np.where(x < 0, -x + np.float32(2), x).astype(np.float32))


def test_alloca_holds_a_row_in_private_and_shared_memory() -> None:
    x, out = floats("f32", 1), np.zeros(N, np.float32)
    run(
        f"""low.kernel @k(%x: memref<{N}xf32>, %out: memref<{N}xf32>) grid [4, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          %t = low.thread_id x
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c16 = arith.constant 16 : index
          %c15 = arith.constant 15 : index
          %row = low.alloca : memref<16xf32>
          %half = low.alloca : memref<16xbf16, "shared">
          %base = arith.muli %g, %c16 : index
          scf.for %j = %c0 to %c16 step %c1 {{
            %at = arith.addi %base, %j : index
            %v = memref.load %x[%at] : memref<{N}xf32>
            memref.store %v, %row[%j] : memref<16xf32>
            %s = arith.truncf %v : f32 to bf16
            memref.store %s, %half[%j] : memref<16xbf16, "shared">
          }}
          low.barrier
          scf.for %j2 = %c0 to %c16 step %c1 {{
            %k = arith.subi %c15, %j2 : index
            %v2 = memref.load %row[%k] : memref<16xf32>
            %h = memref.load %half[%k] : memref<16xbf16, "shared">
            %w = arith.extf %h : bf16 to f32
            %d = arith.subf %v2, %w : f32
            %at2 = arith.addi %base, %j2 : index
            %at3 = arith.addi %at2, %t : index
            memref.store %d, %out[%at3] : memref<{N}xf32>
          }}
        }}""",
        x,
        out,
        grid=(4, 1, 1),
    )
    with np.errstate(all="ignore"):
        expected = x - x.astype(DTYPES["bf16"]).astype(np.float32)
    assert_same(out, expected.reshape(4, 16)[:, ::-1].reshape(-1))


def test_there_is_a_rule_for_every_body_op() -> None:
    assert [op.name for op in BODY_OPS if op not in RULES and op not in EXPANDED_OPS] == [
        "scf.condition",
        "scf.yield",
    ]
    assert [op for op in RULES if op not in BODY_OPS] == []
