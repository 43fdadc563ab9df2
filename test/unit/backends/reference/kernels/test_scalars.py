"""The ops that compute values from values, as `sched` and `low` share them."""

import math
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.reference.kernels.scalars import evaluate
from tenon.dialects.modules.parsing import parse_module
from tenon.semantics.errors import InterpreterError
from xdsl.dialects.func import FuncOp

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": BF16,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "i1": np.bool_,
    "index": np.int64,
    "memref<4xf32>": np.float32,
}
FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i64", "i32", "i16", "i8", "index")


def run(op: str, types: str, *operands: Any) -> Array:
    """The value of an op over `%x`, `%y`, ..., whose types are given."""
    names = types.split(" ")
    arguments = ", ".join(f"%{name}: {type}" for name, type in zip("xyz", names, strict=False))
    module = parse_module(f"func.func @f({arguments}) {{\n%r = {op}\nfunc.return\n}}", "t.mlir")
    module.verify()
    function = module.body.block.first_op
    assert isinstance(function, FuncOp) and function.body.block.first_op is not None
    arrays = [np.asarray(value).astype(DTYPES[type]) for value, type in zip(operands, names, strict=True)]
    with np.errstate(all="ignore"):
        return np.asarray(evaluate(function.body.block.first_op, arrays))


def binary(op: str, type: str, x: Any, y: Any) -> Array:
    found = run(f"arith.{op} %x, %y : {type}", f"{type} {type}", x, y)
    assert found.dtype == DTYPES[type]
    return found


def bits_of(type: str) -> int:
    return 64 if type == "index" else int(type[1:])


@pytest.mark.parametrize("type", INTEGERS)
def test_integer_arithmetic_wraps(type: str):
    greatest, least = 2 ** (bits_of(type) - 1) - 1, -(2 ** (bits_of(type) - 1))
    assert binary("addi", type, [greatest, 1], [1, 2]).tolist() == [least, 3]
    assert binary("subi", type, [least, 1], [1, 2]).tolist() == [greatest, -1]
    assert binary("muli", type, [greatest, 3], [2, -2]).tolist() == [-2, -6]


@pytest.mark.parametrize("type", INTEGERS)
def test_integer_division_is_towards_zero(type: str):
    x, y = [7, -7, 7, -7, 6, 0], [2, 2, -2, -2, -3, 5]
    assert binary("divsi", type, x, y).tolist() == [3, -3, -3, 3, -2, 0]
    assert binary("remsi", type, x, y).tolist() == [1, -1, 1, -1, 0, 0]
    top = 2 ** bits_of(type)
    assert binary("divui", type, [-1, 7], [2, 2]).tolist() == [(top - 1) // 2, 3]
    assert binary("remui", type, [-1, 7], [10, 2]).tolist() == [(top - 1) % 10, 1]


@pytest.mark.parametrize("type", INTEGERS)
def test_extrema_read_integers_as_signed_or_unsigned(type: str):
    assert binary("minsi", type, [-1], [1]).tolist() == [-1]
    assert binary("maxsi", type, [-1], [1]).tolist() == [1]
    assert binary("minui", type, [-1], [1]).tolist() == [1]
    assert binary("maxui", type, [-1], [1]).tolist() == [-1]


@pytest.mark.parametrize("type", INTEGERS)
def test_bits_and_shifts(type: str):
    width = bits_of(type)
    assert binary("andi", type, [12], [10]).tolist() == [8]
    assert binary("ori", type, [12], [10]).tolist() == [14]
    assert binary("xori", type, [12], [-1]).tolist() == [-13]
    assert binary("shli", type, [3, 1], [1, width - 1]).tolist() == [6, -(2 ** (width - 1))]
    assert binary("shrsi", type, [-8, 8], [1, 2]).tolist() == [-4, 2]
    assert binary("shrui", type, [-1, 8], [width - 1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize("type", INTEGERS)
def test_shifts_by_too_much_take_the_amount_modulo_the_width(type: str):
    width = bits_of(type)
    for op, expected in (("shli", 6), ("shrsi", 1), ("shrui", 1)):
        assert binary(op, type, [3], [width + 1]).tolist() == [expected]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("addi", [0, 1, 1, 0]),
        ("subi", [0, 1, 1, 0]),
        ("muli", [0, 0, 0, 1]),
        ("andi", [0, 0, 0, 1]),
        ("ori", [0, 1, 1, 1]),
        ("xori", [0, 1, 1, 0]),
        ("minui", [0, 0, 0, 1]),
        ("maxui", [0, 1, 1, 1]),
        ("minsi", [0, 1, 1, 1]),
        ("maxsi", [0, 0, 0, 1]),
        ("shli", [0, 0, 1, 1]),
        ("shrsi", [0, 0, 1, 1]),
        ("shrui", [0, 0, 1, 1]),
    ],
)
def test_i1_is_an_integer_of_one_bit(op: str, expected: list[int]):
    assert binary(op, "i1", [0, 0, 1, 1], [0, 1, 0, 1]).astype(int).tolist() == expected


@pytest.mark.parametrize(("op", "expected"), [("divsi", 1), ("divui", 1), ("remsi", 0), ("remui", 0)])
def test_division_of_i1(op: str, expected: int):
    assert binary(op, "i1", [1, 0], [1, 1]).astype(int).tolist() == [expected, 0]


CMPI: dict[str, Any] = {
    "eq": lambda s, t, u, v: s == t,
    "ne": lambda s, t, u, v: s != t,
    "slt": lambda s, t, u, v: s < t,
    "sle": lambda s, t, u, v: s <= t,
    "sgt": lambda s, t, u, v: s > t,
    "sge": lambda s, t, u, v: s >= t,
    "ult": lambda s, t, u, v: u < v,
    "ule": lambda s, t, u, v: u <= v,
    "ugt": lambda s, t, u, v: u > v,
    "uge": lambda s, t, u, v: u >= v,
}


@pytest.mark.parametrize("predicate", CMPI)
@pytest.mark.parametrize("type", [*INTEGERS, "i1"])
def test_every_integer_predicate(predicate: str, type: str):
    values = [0, -1] if type == "i1" else [-2, -1, 0, 1, 2]
    width = bits_of(type)
    x, y = zip(*((a, b) for a in values for b in values), strict=True)
    found = run(f"arith.cmpi {predicate}, %x, %y : {type}", f"{type} {type}", x, y)
    assert found.dtype == np.bool_
    wanted = [CMPI[predicate](a, b, a % 2**width, b % 2**width) for a, b in zip(x, y, strict=True)]
    assert found.tolist() == wanted


CMPF: dict[str, Any] = {
    "eq": lambda a, b: a == b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ne": lambda a, b: a != b,
}


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize(
    "predicate", ["false", "true", "ord", "uno", *(order + name for order in "ou" for name in CMPF)]
)
def test_every_float_predicate(predicate: str, type: str):
    values = [-math.inf, -1.0, -0.0, 0.0, 1.0, math.inf, math.nan]

    def wanted(a: float, b: float) -> bool:
        is_unordered = math.isnan(a) or math.isnan(b)
        match predicate:
            case "false" | "true":
                return predicate == "true"
            case "ord" | "uno":
                return is_unordered == (predicate == "uno")
            case _:
                return predicate[0] == "u" if is_unordered else CMPF[predicate[1:]](a, b)

    x, y = zip(*((a, b) for a in values for b in values), strict=True)
    found = run(f"arith.cmpf {predicate}, %x, %y : {type}", f"{type} {type}", x, y)
    assert found.tolist() == [wanted(a, b) for a, b in zip(x, y, strict=True)]


@pytest.mark.parametrize("type", FLOATS)
def test_float_arithmetic(type: str):
    x, y = [6.0, -0.0, math.inf, 1.0], [4.0, 0.0, math.inf, 0.0]
    expected = {
        "addf": [10.0, 0.0, math.inf, 1.0],
        "subf": [2.0, -0.0, math.nan, 1.0],
        "mulf": [24.0, -0.0, math.inf, 0.0],
        "divf": [1.5, math.nan, math.nan, math.inf],
        "maximumf": [6.0, 0.0, math.inf, 1.0],
        "minimumf": [4.0, -0.0, math.inf, 0.0],
    }
    for op, values in expected.items():
        found = binary(op, type, x, y).astype(np.float64)
        np.testing.assert_array_equal(found, values)
        are_numbers = ~np.isnan(values)
        np.testing.assert_array_equal(np.signbit(found)[are_numbers], np.signbit(values)[are_numbers])
    found = run(f"low.remf %x, %y : {type}", f"{type} {type}", [5.5, -5.5, 1.0], [2.0, 2.0, 0.0])
    np.testing.assert_array_equal(found.astype(np.float64), [1.5, -1.5, math.nan])


@pytest.mark.parametrize("type", FLOATS)
def test_float_functions(type: str):
    x = [2.5, -2.5, 0.0]
    expected = {
        "math.absf": [2.5, 2.5, 0.0],
        "arith.negf": [-2.5, 2.5, -0.0],
        "math.floor": [2.0, -3.0, 0.0],
        "math.ceil": [3.0, -2.0, 0.0],
        "math.trunc": [2.0, -2.0, 0.0],
        "math.roundeven": [2.0, -2.0, 0.0],
        "math.sqrt": [math.sqrt(2.5), math.nan, 0.0],
        "math.exp": [math.exp(2.5), math.exp(-2.5), 1.0],
        "math.log": [math.log(2.5), math.nan, -math.inf],
        "math.tanh": [math.tanh(2.5), math.tanh(-2.5), 0.0],
        "math.erf": [math.erf(2.5), math.erf(-2.5), 0.0],
        "math.sin": [math.sin(2.5), math.sin(-2.5), 0.0],
        "math.cos": [math.cos(2.5), math.cos(-2.5), 1.0],
    }
    rtol = 2.0**-8 if type == "bf16" else float(np.finfo(DTYPES[type]).eps)
    for op, values in expected.items():
        found = run(f"{op} %x : {type}", type, x)
        assert found.dtype == DTYPES[type]
        np.testing.assert_allclose(found.astype(np.float64), values, rtol=rtol)
    pair = f"{type} {type}"
    assert run(f"math.copysign %x, %y : {type}", pair, [1.0, -2.0], [-0.0, 3.0]).tolist() == [-1.0, 2.0]
    assert run(f"math.powf %x, %y : {type}", pair, [2.0, 4.0], [3.0, 0.5]).tolist() == [8.0, 2.0]
    assert run(f"math.fma %x, %y, %z : {type}", f"{pair} {type}", [2.0], [3.0], [0.5]).tolist() == [6.5]


def convert(kind: str, source: str, target: str, values: Any) -> list[Any]:
    found = run(f"low.convert {kind} %x : {source} to {target}", source, values)
    assert found.dtype == DTYPES[target]
    return found.tolist()


def test_conversions_between_integers():
    assert convert("extsi", "i8", "i32", [-1, 5]) == [-1, 5]
    assert convert("extui", "i8", "i32", [-1, 5]) == [255, 5]
    assert convert("extui", "i32", "i64", [-1]) == [2**32 - 1]
    assert convert("extsi", "i1", "i8", [True, False]) == [-1, 0]
    assert convert("extui", "i1", "i8", [True, False]) == [1, 0]
    assert convert("trunci", "i32", "i8", [300, -1]) == [44, -1]
    assert convert("trunci", "i32", "i1", [2, 3]) == [False, True]


@pytest.mark.parametrize("type", FLOATS)
def test_conversions_of_integers_to_floats(type: str):
    assert convert("sitofp", "i8", type, [-1, 5]) == [-1.0, 5.0]
    assert convert("uitofp", "i8", type, [-2, 5]) == [254.0, 5.0]
    assert convert("sitofp", "i1", type, [True, False]) == [-1.0, 0.0]
    assert convert("uitofp", "i1", type, [True, False]) == [1.0, 0.0]


def test_conversions_of_large_integers_round_to_nearest():
    assert convert("sitofp", "i64", "f32", [2**24 + 1, 2**24 + 3, -(2**63)]) == [
        2.0**24,
        2.0**24 + 4,
        -(2.0**63),
    ]
    assert convert("uitofp", "i64", "f64", [-1]) == [2.0**64]


def test_conversions_of_floats_to_integers_saturate():
    values = [1.9, -1.9, math.nan, math.inf, -math.inf, 200.0, 255.0, 256.0]
    for source in FLOATS:
        assert convert("fptosi", source, "i8", values) == [1, -1, 0, 127, -128, 127, 127, 127]
        assert convert("fptoui", source, "i8", values) == [1, 0, 0, -1, 0, -56, -1, -1]
    assert convert("fptosi", "f64", "i64", [2.0**63, -(2.0**63), 1e300]) == [2**63 - 1, -(2**63), 2**63 - 1]
    assert convert("fptoui", "f64", "i64", [2.0**63, 2.0**64, -1.0]) == [-(2**63), -1, 0]
    assert convert("fptosi", "f32", "i32", [2.0**31, -(2.0**31) - 256]) == [2**31 - 1, -(2**31)]
    assert convert("fptoui", "f32", "i1", [0.9, 1.0, 7.0, math.nan]) == [False, True, True, False]
    assert convert("fptosi", "f32", "i1", [-0.9, -1.0, -7.0, 3.0]) == [False, True, True, False]


def test_float_casts_round_to_nearest_even():
    half = 1 + 2.0**-8
    found = run("arith.truncf %x : f64 to bf16", "f64", [half, half + 2.0**-40, math.nan, 1e39, -0.0])
    np.testing.assert_array_equal(found.astype(np.float64), [1.0, 1 + 2.0**-7, math.nan, math.inf, -0.0])
    assert run("arith.truncf %x : f64 to f16", "f64", [65519.0, 65520.0]).tolist() == [65504.0, math.inf]
    assert run("arith.truncf %x : f64 to f32", "f64", [1 + 2.0**-24]).tolist() == [1.0]
    assert run("arith.extf %x : bf16 to f32", "bf16", [1.5]).tolist() == [1.5]


def test_bitcasts_and_index_casts():
    assert run("arith.bitcast %x : f32 to i32", "f32", [1.0, -0.0]).tolist() == [0x3F800000, -(2**31)]
    assert run("arith.bitcast %x : i16 to bf16", "i16", 0x3F80).tolist() == 1.0
    assert run("arith.bitcast %x : i64 to f64", "i64", [0]).dtype == np.float64
    assert run("arith.index_cast %x : index to i8", "index", [300]).tolist() == [44]
    assert run("arith.index_cast %x : i32 to index", "i32", [-1]).tolist() == [-1]
    assert run("arith.index_cast %x : i1 to index", "i1", [True]).tolist() == [-1]
    assert run("arith.index_cast %x : index to i1", "index", [3, 2]).tolist() == [True, False]


def test_select():
    assert run("low.select %x, %y, %z : f32", "i1 f32 f32", [True, False], 1.0, [2.0, 3.0]).tolist() == [
        1.0,
        3.0,
    ]


def test_an_op_without_a_rule_is_an_error():
    with pytest.raises(InterpreterError, match=r"^reference: no rule for math.cbrt at t.mlir:2:\d+$"):
        run("math.cbrt %x : f32", "f32", 1.0)


def test_a_division_that_traps_is_an_error():
    with pytest.raises(InterpreterError, match=r"^arith.divui at t.mlir:2:\d+: division by zero$"):
        binary("divui", "i8", [1, 1], [1, 0])
    with pytest.raises(InterpreterError, match=r"^arith.remsi at t.mlir:2:\d+: -128 / -1 overflows$"):
        binary("remsi", "i8", [1, -128], [-1, -1])


@pytest.mark.parametrize(
    ("source", "target"), [("i32", "index"), ("memref<4xf32>", "memref<4xi32>"), ("index", "i8")]
)
def test_a_bitcast_of_another_size_or_of_memory_is_an_error(source: str, target: str):
    message = rf"^arith.bitcast at t.mlir:2:\d+: cannot bitcast {source} to {target}$"
    with pytest.raises(InterpreterError, match=message):
        run(f"arith.bitcast %x : {source} to {target}", source, 0)
