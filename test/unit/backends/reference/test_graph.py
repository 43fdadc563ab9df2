"""The interpreter of `graph`."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.reference.graph import run_function, run_graph
from tenon.dialects.graph import (
    GRAPH,
    AxisIndexOp,
    CallbackOp,
    CollectiveOp,
    ConditionOp,
    CustomOp,
    DimOp,
    IfOp,
    ManualComputationOp,
    MergeOp,
    PrintOp,
    ReadOp,
    ScanOp,
    TnodeOp,
    WhileOp,
    WriteOp,
    YieldOp,
)
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import CallError
from tenon.semantics import tensor_ops
from tenon.semantics.errors import InterpreterError
from xdsl.dialects.func import FuncOp

Array = npt.NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": BF16,
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "ui8": np.dtype(np.uint8),
    "i1": np.dtype(np.bool_),
}
FLOATS = ("f64", "f32", "f16", "bf16")


def run(text: str, *inputs: Array, name: str = "f") -> Any:
    """The results of function `@f`; one result without a list around it."""
    module = parse_module(text, "t.mlir")
    module.verify()
    results = run_graph(module, name, inputs)
    return results[0] if len(results) == 1 else results


def run_op(op: str, *inputs: Array, arguments: str, result: str) -> Array:
    """The result of one op over `%x`, `%y`, ..."""
    types = arguments.split(" ")
    names = [f"%{name}: tensor<{type}>" for name, type in zip("xyzw", types, strict=False)]
    return run(
        f"""func.func @f({", ".join(names)}) -> tensor<{result}> {{
          %r = graph.{op}
          func.return %r : tensor<{result}>
        }}""",
        *inputs,
    )


def numbers(dtype: np.dtype[Any], *shape: int, seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def same(found: Array, expected: Any, dtype: Any = None) -> None:
    expected = np.asarray(expected) if dtype is None else np.array(expected).astype(dtype)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


def test_every_op_has_a_rule():
    on_nodes = (DimOp, TnodeOp, ReadOp, WriteOp, MergeOp)
    with_regions = (IfOp, WhileOp, ScanOp, ManualComputationOp)
    others = (*on_nodes, *with_regions, YieldOp, ConditionOp, CallbackOp, PrintOp, AxisIndexOp)
    own = {op for op in tensor_ops.RULES if not issubclass(op, CustomOp)}
    alone = {op for op in GRAPH.operations if op not in others and not issubclass(op, CollectiveOp)}
    assert alone == own


UNARY: dict[str, Any] = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "recip": lambda x: 1 / x,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "relu": lambda x: np.maximum(x, 0),
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
    "round": np.rint,
    "sign": np.sign,
}


THROUGH_WIDER = ("expm1", "exp2", "log1p", "log2", "log10", "tan", "asin", "acos", "atan")
THROUGH_WIDER += ("sinh", "cosh", "asinh", "acosh", "atanh")
"""Functions that are computed in a wider type, also of f64: numpy's own differ with the processor there."""


@pytest.mark.processor
@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op", UNARY)
def test_unary_float_ops_are_those_of_numpy(op: str, type: str):
    x = np.abs(numbers(DTYPES[type], 2, 3)) + np.array(0.5).astype(DTYPES[type])
    found = run_op(f"{op} %x : tensor<2x3x{type}>", x, arguments=f"2x3x{type}", result=f"2x3x{type}")
    wide = np.longdouble if op in THROUGH_WIDER else np.float64
    with np.errstate(all="ignore"):
        exact = UNARY[op](x.astype(wide))
    eps = 2.0 ** -(8 if type == "bf16" else np.finfo(DTYPES[type]).nmant + 1)
    assert found.dtype == DTYPES[type]
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=1.6 * eps)


@pytest.mark.parametrize("type", ["i64", "i32", "i16", "i8", "ui8"])
def test_unary_integer_ops(type: str):
    dtype = DTYPES[type]
    x = np.array([0, 1, 5, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    for op, expected in (("neg", -x), ("abs", np.abs(x)), ("relu", np.maximum(x, 0)), ("not", ~x)):
        same(run_op(f"{op} %x : tensor<5x{type}>", x, arguments=f"5x{type}", result=f"5x{type}"), expected)


def test_not_of_booleans_exchanges_them():
    x = np.array([True, False])
    same(run_op("not %x : tensor<2xi1>", x, arguments="2xi1", result="2xi1"), ~x)


def binary(op: str, x: Array, y: Array, type: str) -> Array:
    shaped = f"{len(x)}x{type}"
    return run_op(f"{op} %x, %y : tensor<{shaped}>", x, y, arguments=f"{shaped} {shaped}", result=shaped)


@pytest.mark.parametrize("type", [type for type in DTYPES if type != "i1"])
def test_binary_ops_are_those_of_numpy(type: str):
    dtype = DTYPES[type]
    x, y = numbers(dtype, 40, seed=1), numbers(dtype, 40, seed=2)
    wide = np.float32 if type in ("f16", "bf16") else dtype
    operands = x.astype(wide), y.astype(wide)
    ops: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "mod": np.mod}
    ops |= {"max": np.maximum, "min": np.minimum}
    ops["div"] = np.divide if type in FLOATS else np.floor_divide
    with np.errstate(all="ignore"):
        for op, function in ops.items():
            same(binary(op, x, y, type), function(*operands), dtype)


FUNCTIONS_OF_TWO: dict[str, Any] = {
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "copysign": np.copysign,
    "floordiv": np.floor_divide,
    "rem": np.fmod,
}


@pytest.mark.processor
@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op", FUNCTIONS_OF_TWO)
def test_functions_of_two_floats_are_those_of_numpy(op: str, type: str):
    dtype = DTYPES[type]
    x, y = numbers(dtype, 40, seed=1), numbers(dtype, 40, seed=2)
    with np.errstate(all="ignore"):
        exact = FUNCTIONS_OF_TWO[op](x.astype(np.longdouble), y.astype(np.longdouble))
    found = binary(op, x, y, type)
    assert found.dtype == dtype
    eps = float(ml_dtypes.finfo(dtype).eps) / 2
    np.testing.assert_allclose(found.astype(np.float64), exact, rtol=3 * eps, atol=3 * eps)


@pytest.mark.parametrize("type", FLOATS)
def test_a_test_gives_booleans(type: str):
    x = np.array([0.0, -0.0, -1.5, np.inf, -np.inf, np.nan]).astype(DTYPES[type])
    for op, function in (
        ("isnan", np.isnan),
        ("isinf", np.isinf),
        ("isfinite", np.isfinite),
        ("signbit", np.signbit),
    ):
        same(run_op(f"{op} %x : tensor<6x{type}>", x, arguments=f"6x{type}", result="6xi1"), function(x))


@pytest.mark.parametrize("type", ["i64", "i32", "i16", "i8", "ui8", "i1"])
def test_bit_ops_are_those_of_numpy(type: str):
    x, y = numbers(DTYPES[type], 20, seed=1), numbers(DTYPES[type], 20, seed=2)
    for op, function in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        same(binary(op, x, y, type), function(x, y))


def test_shifts_and_powers():
    x, y = np.array([1, -8, 3, 100], np.int8), np.array([7, 1, 8, -1], np.int8)
    same(binary("shl", x, y, "i8"), [-128, -16, 0, 0], np.int8)
    same(binary("shr", x, y, "i8"), [0, -4, 0, 0], np.int8)
    same(binary("pow", x, y, "i8"), [1, -8, -95, 0], np.int8)
    same(binary("pow", np.array([2.0, 0.5]), np.array([3.0, -1.0]), "f64"), [8.0, 2.0])


@pytest.mark.parametrize("type", DTYPES)
def test_comparisons_are_those_of_numpy(type: str):
    x, y = numbers(DTYPES[type], 20, seed=1), numbers(DTYPES[type], 20, seed=2)
    y[:5] = x[:5]
    names = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater"}
    for op, name in {**names, "ge": "greater_equal"}.items():
        shaped = f"20x{type}"
        found = run_op(
            f"{op} %x, %y : tensor<{shaped}>", x, y, arguments=f"{shaped} {shaped}", result="20xi1"
        )
        same(found, getattr(np, name)(x, y))


def test_comparisons_with_nan_are_false_but_ne():
    x = np.array([np.nan, np.nan, 1.0]).astype(BF16)
    y = np.array([np.nan, 1.0, np.nan]).astype(BF16)
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        found = run_op(f"{op} %x, %y : tensor<3xbf16>", x, y, arguments="3xbf16 3xbf16", result="3xi1")
        assert found.tolist() == [op == "ne"] * 3


def test_select_and_fma():
    condition, x, y = np.array([True, False]), np.array([1.0, 2.0]), np.array([3.0, 4.0])
    found = run_op(
        "select %x, %y, %z : tensor<2xf64>", condition, x, y, arguments="2xi1 2xf64 2xf64", result="2xf64"
    )
    same(found, [1.0, 4.0])
    almost_one = np.array([1.0 + 2.0**-52])
    found = run_op(
        "fma %x, %y, %z : tensor<1xf64>", almost_one, almost_one, np.array([-1.0]),
        arguments="1xf64 1xf64 1xf64", result="1xf64",
    )  # fmt: skip
    same(found, [2.0**-51 + 2.0**-104])


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_every_cast_keeps_small_numbers(source: str, target: str):
    x = np.array([0, 1, 0, 1] if "i1" in (source, target) else [0, 1, 7, 100]).astype(DTYPES[source])
    op = f"cast %x : tensor<4x{source}> -> tensor<4x{target}>"
    same(run_op(op, x, arguments=f"4x{source}", result=f"4x{target}"), x.astype(DTYPES[target]))


def test_constants_and_iota():
    found = run("""func.func @f()
        -> (tensor<2x3xi32>, tensor<f32>, tensor<2x3xbf16>, tensor<300xi8>, tensor<0x2xf32>) {
      %c = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
      %s = graph.constant dense<0x7F800000> : tensor<f32>
      %i = graph.iota axis 1 : tensor<2x3xbf16>
      %w = graph.iota axis 0 : tensor<300xi8>
      %e = graph.iota axis 0 : tensor<0x2xf32>
      func.return %c, %s, %i, %w, %e
        : tensor<2x3xi32>, tensor<f32>, tensor<2x3xbf16>, tensor<300xi8>, tensor<0x2xf32>
    }""")
    same(found[0], [[1, 2, 3], [4, 5, 6]], np.int32)
    same(found[1], np.inf, np.float32)
    same(found[2], [[0, 1, 2], [0, 1, 2]], BF16)
    same(found[3], np.arange(300), np.int8)
    same(found[4], np.zeros((0, 2), np.float32))


@pytest.mark.parametrize("type", ["f32", "bf16", "i1", "ui8"])
def test_movement_is_that_of_numpy(type: str):
    dtype = DTYPES[type]
    x, y, v = numbers(dtype, 2, 3, 4), numbers(dtype, 2, 1, 4, seed=1), numbers(dtype, seed=2)

    def check(op: str, expected: Array, *more: Array) -> None:
        result = "x".join([*map(str, expected.shape), type])
        types = " ".join("x".join([*map(str, operand.shape), type]) for operand in (x, *more))
        same(run_op(op, x, *more, arguments=types, result=result), expected)

    t = f"tensor<2x3x4x{type}>"
    check(f"reshape %x : {t} -> tensor<4x6x{type}>", x.reshape(4, 6))
    check(f"permute %x [2, 0, 1] : {t}", x.transpose(2, 0, 1))
    check(f"broadcast %x : {t} -> tensor<5x2x3x4x{type}>", np.broadcast_to(x, (5, 2, 3, 4)))
    padded = np.full((2, 6, 6), v, dtype)
    padded[:, 1:4, 2:] = x
    check(f"pad %x, %y low [0, 1, 2] high [0, 2, 0] : {t}", padded, v)
    check(f"slice %x offsets [1, 0, 1] sizes [1, 2, 2] strides [1, 2, 2] : {t}", x[1:2, ::2, 1:4:2])
    check(f"slice %x offsets [2, 0, 0] sizes [0, 3, 4] strides [1, 1, 1] : {t}", x[2:])
    check(f"flip %x axes [0, 2] : {t}", x[::-1, :, ::-1])
    check(
        f"concat %x, %y axis 1 : {t}, tensor<2x1x4x{type}> -> tensor<2x4x4x{type}>",
        np.concatenate([x, y], axis=1),
        y,
    )


def reduce(kind: str, x: Array, axes: list[int], type: str, keep: bool = False) -> Array:
    shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
    if not keep:
        shape = [extent for axis, extent in enumerate(x.shape) if axis not in axes]
    source, result = ("x".join([*map(str, dims), type]) for dims in (x.shape, shape))
    op = f"reduce {kind} %x axes {axes}{' keep' if keep else ''} : tensor<{source}> -> tensor<{result}>"
    return run_op(op, x, arguments=source, result=result)


@pytest.mark.parametrize("type", [type for type in DTYPES if type != "i1"])
def test_reductions_are_those_of_numpy(type: str):
    dtype = DTYPES[type]
    x = numbers(dtype, 3, 4, 5)
    wide = x.astype(np.float32) if type in ("f16", "bf16") else x
    for axes in ([1], [0, 2], [0, 1, 2]):
        over = tuple(axes)
        for keep in (False, True):
            if dtype.kind in "iu":
                expected = np.sum(wide, axis=over, keepdims=keep, dtype=dtype)
                product = np.prod(wide, axis=over, keepdims=keep, dtype=dtype)
                same(reduce("add", x, axes, type, keep), expected, dtype)
                same(reduce("mul", x, axes, type, keep), product, dtype)
            else:
                found = reduce("add", x, axes, type, keep)
                rtol = 2.0**-7 if type == "bf16" else 4 * float(np.finfo(dtype).eps)
                expected = np.sum(wide, axis=over, keepdims=keep).astype(np.float64)
                np.testing.assert_allclose(found.astype(np.float64), expected, rtol=rtol, atol=rtol)
            same(reduce("max", x, axes, type, keep), np.max(wide, axis=over, keepdims=keep), dtype)
            same(reduce("min", x, axes, type, keep), np.min(wide, axis=over, keepdims=keep), dtype)


@pytest.mark.parametrize("type", ["i64", "i8", "ui8", "i1"])
def test_bit_reductions_are_those_of_numpy(type: str):
    x = numbers(DTYPES[type], 3, 4)
    same(reduce("and", x, [0], type), np.bitwise_and.reduce(x, axis=0))
    same(reduce("or", x, [0, 1], type), np.bitwise_or.reduce(x, axis=(0, 1)))


def test_reducing_over_no_axes_gives_the_source_and_sums_start_from_zero():
    x = np.array([[-0.0, np.nan]], np.float32)
    assert reduce("mul", x, [], "f32").tobytes() == x.tobytes()
    assert reduce("add", x, [], "f32").tobytes() == (x + 0.0).tobytes()


@pytest.mark.parametrize(
    ("kind", "type", "expected"),
    [
        ("add", "f32", 0),
        ("mul", "bf16", 1),
        ("max", "f16", -np.inf),
        ("min", "f64", np.inf),
        ("add", "i8", 0),
        ("mul", "ui8", 1),
        ("max", "i32", -(2**31)),
        ("max", "ui8", 0),
        ("min", "i16", 2**15 - 1),
        ("min", "ui8", 255),
        ("and", "i1", True),
        ("or", "i1", False),
        ("and", "i32", -1),
        ("and", "ui8", 255),
        ("or", "i64", 0),
    ],
)
def test_reducing_no_elements_gives_the_identity(kind: str, type: str, expected: Any):
    x = np.zeros((2, 0, 3), DTYPES[type])
    same(reduce(kind, x, [1], type), np.full((2, 3), expected, dtype=DTYPES[type]))
    same(reduce(kind, x, [0], type), np.zeros((0, 3), DTYPES[type]))


@pytest.mark.parametrize("type", FLOATS)
def test_extrema_prefer_nan_and_order_zeros(type: str):
    x = np.array(
        [[0.0, -0.0, -1.0], [-0.0, -0.0, -1.0], [1.0, np.nan, 0.0], [0.0, -0.0, 1.0], [-0.0, -0.0, 1.0]]
    )
    x = x.astype(DTYPES[type])
    greatest, least = reduce("max", x, [1], type), reduce("min", x, [1], type)
    same(greatest, [0.0, -0.0, np.nan, 1.0, 1.0], DTYPES[type])
    same(least, [-1.0, -1.0, np.nan, -0.0, -0.0], DTYPES[type])
    assert np.signbit(greatest[:2]).tolist() == [False, True]
    assert np.signbit(least[3:]).tolist() == [True, True]
    assert not np.signbit(reduce("min", np.zeros((1, 2), DTYPES[type]), [1], type))[0]


def test_narrow_sums_are_accumulated_in_f32():
    x = np.ones((1, 4096)).astype(BF16)
    same(reduce("add", x, [1], "bf16"), [4096.0], BF16)


def contract(maps: str, x: Array, y: Array, types: str, result: str) -> Array:
    """`maps` as `m n k: m k, k n, m n`."""
    dims, rest = maps.split(": ")
    texts = [
        f"affine_map<({', '.join(dims.split())}) -> ({', '.join(part.split())})>" for part in rest.split(",")
    ]
    lhs, rhs = types.split(" ")
    op = f"contract %x, %y maps [{', '.join(texts)}] : tensor<{lhs}>, tensor<{rhs}> -> tensor<{result}>"
    return run_op(op, x, y, arguments=types, result=result)


@pytest.mark.parametrize(
    ("maps", "einsum", "x_shape", "y_shape", "shape"),
    [
        ("m n k: m k, k n, m n", "mk,kn->mn", (3, 4), (4, 2), (3, 2)),
        ("m n k: m k, k n, n m", "mk,kn->nm", (3, 4), (4, 2), (2, 3)),
        ("b m n k: b m k, k n b, m b n", "bmk,knb->mbn", (2, 3, 4), (4, 5, 2), (3, 2, 5)),
        ("m n: m, n, m n", "m,n->mn", (3,), (4,), (3, 4)),
        ("k: k, k, ", "k,k->", (5,), (5,), ()),
        ("m k: m k, k, m", "mk,k->m", (3, 4), (4,), (3,)),
        ("m k l: m k, m l, m", "mk,ml->m", (3, 4), (3, 2), (3,)),
        ("m: m, m, m", "m,m->m", (3,), (3,), (3,)),
        ("m k: k, m, m", "k,m->m", (4,), (3,), (3,)),
        ("a b c d: a c b, d c b, d a", "acb,dcb->da", (2, 3, 4), (5, 3, 4), (5, 2)),
    ],
)
@pytest.mark.parametrize("type", ["f32", "i8", "i64", "bf16"])
def test_contract_is_einsum(maps: str, einsum: str, x_shape: Any, y_shape: Any, shape: Any, type: str):
    dtype = DTYPES[type]
    x, y = (
        np.round(numbers(dtype, *s, seed=i).astype(np.float64) * 2).astype(dtype)
        for i, s in enumerate((x_shape, y_shape))
    )
    types = " ".join("x".join([*map(str, s), type]) for s in (x_shape, y_shape))
    result = "x".join([*map(str, shape), type])
    exact = np.einsum(einsum, x.astype(np.int64), y.astype(np.int64))
    same(contract(maps, x, y, types, result), exact.astype(dtype))


@pytest.mark.parametrize("type", ["f64", "f16", "i32", "ui8"])
def test_contracting_no_elements_gives_zeros(type: str):
    dtype = DTYPES[type]
    x, y = np.ones((2, 0), dtype), np.ones((0, 3), dtype)
    found = contract("m n k: m k, k n, m n", x, y, f"2x0x{type} 0x3x{type}", f"2x3x{type}")
    same(found, np.zeros((2, 3), dtype))
    found = contract(
        "m n k: m k, k n, m n", y, np.ones((3, 4), dtype), f"0x3x{type} 3x4x{type}", f"0x4x{type}"
    )
    same(found, np.zeros((0, 4), dtype))


def test_contract_casts_its_operands_first():
    x, y = np.array([[300, 2]], np.int32), np.array([[1.5], [1.0]], np.float32)
    maps = "m n k: m k, k n, m n"
    same(contract(maps, x, y, "1x2xi32 2x1xf32", "1x1xf32"), [[452.0]], np.float32)
    same(contract(maps, x, y, "1x2xi32 2x1xf32", "1x1xi8"), [[46]], np.int8)
    x, y = np.array([[200, 200]], np.uint8), np.array([[2], [1]], np.uint8)
    same(contract(maps, x, y, "1x2xui8 2x1xui8", "1x1xi32"), [[600]], np.int32)


def test_narrow_contractions_are_accumulated_in_f32():
    x = np.ones((1, 4096), np.float16)
    found = contract("m n k: m k, k n, m n", x, x.T, "1x4096xf16 4096x1xf16", "1x1xf16")
    same(found, [[4096.0]], np.float16)


def test_contraction_does_not_sum_a_lone_dim_before_the_product():
    x, y = np.array([3e38, 3e38], np.float32), np.array([0.25], np.float32)
    same(
        contract("m k: k, m, m", x, y, "2xf32 1xf32", "1xf32"),
        [np.float32(3e38) * np.float32(0.5)],
        np.float32,
    )


# functions


def test_a_function_may_return_its_argument_and_several_values():
    x = np.arange(3, dtype=np.float32)
    first, second = run(
        """func.func @f(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
          %y = graph.add %x, %x : tensor<3xf32>
          func.return %x, %y : tensor<3xf32>, tensor<3xf32>
        }""",
        x,
    )
    same(first, x)
    same(second, 2 * x)
    assert not np.shares_memory(first, x)


CALLS = """
func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = graph.add %x, %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = func.call @twice(%x) : (tensor<?xf32>) -> tensor<?xf32>
  %z = func.call @twice(%y) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %z : tensor<?xf32>
}
func.func @forever(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = func.call @forever(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
func.func private @outside(tensor<?xf32>) -> tensor<?xf32>
func.func @calls_outside(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = func.call @outside(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}
"""


def test_a_function_may_call_another():
    x = np.array([1.0, 2.0], np.float32)
    same(run(CALLS, x), 4 * x)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("forever", r"^func.call at t.mlir:12:\d+: @forever calls itself$"),
        ("calls_outside", r"^func.call at t.mlir:17:\d+: @outside has no body$"),
        ("nothing", r"^reference: there is no function @nothing$"),
    ],
)
def test_calls_that_lead_nowhere_are_errors(name: str, message: str):
    with pytest.raises(InterpreterError, match=message):
        run(CALLS, np.zeros(1, np.float32), name=name)


def test_a_call_needs_a_module():
    (_, function, *_) = parse_module(CALLS).body.block.ops
    assert isinstance(function, FuncOp)
    function.detach()
    with pytest.raises(InterpreterError, match=r"^func.call.*: there is no module to find @twice in$"):
        run_function(function, [np.zeros(1, np.float32)])


IDENTITY = """func.func @f(%x: tensor<2x?xf32>, tensor<i1>) -> tensor<2x?xf32> {
  func.return %x : tensor<2x?xf32>
}"""


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], r"^f: takes 2 arguments, found 0$"),
        ([np.zeros((2, 3)), np.array(True)], r"^f: argument 'x' has dtype float64, expected float32$"),
        (
            [np.zeros((3, 3), np.float32), np.array(True)],
            r"^f: argument 'x' has shape \[3, 3\], expected \[2, \?\]$",
        ),
        (
            [np.zeros((2, 3), np.float32), np.array([True])],
            r"^f: argument 'y' has shape \[1\], expected \[\]$",
        ),
        ([np.zeros(2, np.float32), np.array(True)], r"^f: argument 'x' has shape \[2\], expected \[2, \?\]$"),
    ],
)
def test_wrong_arguments_are_errors(inputs: list[Array], message: str):
    text = IDENTITY.replace(", tensor<i1>", ", %y: tensor<i1>")
    with pytest.raises(CallError, match=message):
        run(text, *inputs)


def test_an_argument_that_is_no_tensor_is_an_error():
    with pytest.raises(InterpreterError, match=r"^reference: f32 is not a tensor"):
        run("func.func @f(%x: f32) { func.return }", np.float32(1))


def test_an_unknown_op_is_an_error():
    with pytest.raises(InterpreterError, match=r"^reference: no rule for arith.negf at t.mlir:2:\d+$"):
        run(
            """func.func @f(%x: tensor<f32>) -> tensor<f32> {
              %y = arith.negf %x : tensor<f32>
              func.return %y : tensor<f32>
            }""",
            np.array(1, np.float32),
        )


# extents that are known at run time only


def test_unknown_extents_are_those_of_the_arrays():
    text = """func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x1xf32>) -> tensor<?xf32> {
      %r = graph.reduce add %x axes [0] keep : tensor<?x4xf32> -> tensor<1x4xf32>
      %w = graph.broadcast %y : tensor<?x1xf32> -> tensor<?x4xf32>
      %s = graph.sub %x, %w : tensor<?x4xf32>
      %c = graph.concat %s, %r axis 0 : tensor<?x4xf32>, tensor<1x4xf32> -> tensor<?x4xf32>
      %z = graph.reshape %c : tensor<?x4xf32> -> tensor<?xf32>
      func.return %z : tensor<?xf32>
    }"""
    for rows in (0, 1, 3):
        x, y = numbers(np.dtype(np.float32), rows, 4), numbers(np.dtype(np.float32), rows, 1)
        expected = np.concatenate([x - y, x.sum(axis=0, keepdims=True)]).reshape(-1)
        found = run(text, x, y)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_extents_that_disagree_at_run_time_are_errors():
    def check(op: str, arguments: str, result: str, message: str, *inputs: Array) -> None:
        with pytest.raises(InterpreterError, match=rf"^graph\.\w+ at t.mlir:2:\d+: {message}$"):
            run_op(op, *inputs, arguments=arguments, result=result)

    three, four = np.zeros(3, np.float32), np.zeros(4, np.float32)
    check(
        "add %x, %y : tensor<?xf32>", "?xf32 ?xf32", "?xf32",
        r"operands 0 and 1 have shapes \[3\] and \[4\] at run time", three, four,
    )  # fmt: skip
    check(
        "reshape %x : tensor<?xf32> -> tensor<2x?xf32>", "?xf32", "2x?xf32",
        r"cannot reshape \[3\] to \[2, \?\] at run time", three,
    )  # fmt: skip
    check(
        "reshape %x : tensor<?xf32> -> tensor<4xf32>", "?xf32", "4xf32",
        r"cannot reshape \[3\] to \[4\] at run time", three,
    )  # fmt: skip
    check(
        "reshape %x : tensor<?xf32> -> tensor<?x?xf32>", "?xf32", "?x?xf32",
        r"nothing tells the extents of tensor<\?x\?xf32>", three,
    )  # fmt: skip
    check(
        "reshape %x : tensor<?xf32> -> tensor<0x?xf32>", "?xf32", "0x?xf32",
        r"nothing tells the extents of tensor<0x\?xf32>", three,
    )  # fmt: skip
    check(
        "broadcast %x : tensor<?xf32> -> tensor<4xf32>", "?xf32", "4xf32",
        r"cannot broadcast \[3\] to \[4\] at run time", three,
    )  # fmt: skip
    check(
        "broadcast %x : tensor<3xf32> -> tensor<?x3xf32>", "3xf32", "?x3xf32",
        r"nothing tells the extents of tensor<\?x3xf32>", three,
    )  # fmt: skip
    check(
        "broadcast %x : tensor<1xf32> -> tensor<?xf32>", "1xf32", "?xf32",
        r"nothing tells the extents of tensor<\?xf32>", three[:1],
    )  # fmt: skip
    check(
        "slice %x offsets [1] sizes [2] strides [2] : tensor<?xf32>", "?xf32", "2xf32",
        r"axis 0 is read up to 4 of 3 at run time", three,
    )  # fmt: skip
    check(
        "concat %x, %y axis 0 : tensor<?x?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>", "?x?xf32 ?x?xf32",
        "?x?xf32", r"cannot join \[1, 3\], \[1, 4\] along axis 0 at run time", three[None], four[None],
    )  # fmt: skip
    check(
        "contract %x, %y maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] "
        ": tensor<?xf32>, tensor<?xf32> -> tensor<f32>", "?xf32 ?xf32", "f32",
        r"dim d0 is both 3 and 4 at run time", three, four,
    )  # fmt: skip
    check(
        "contract %x, %y maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> (k)>] "
        ": tensor<?xf32>, tensor<?xf32> -> tensor<4xf32>", "?xf32 ?xf32", "4xf32",
        r"dim d0 is both 3 and 4 at run time", three, three,
    )  # fmt: skip
    check(
        "iota axis 0 : tensor<?xf32>", "?xf32", "?xf32", r"nothing tells the extents of tensor<\?xf32>", three
    )


def test_tensors_of_rank_zero_and_of_no_elements():
    text = """func.func @f(%x: tensor<f32>, %y: tensor<0x3xf32>)
        -> (tensor<f32>, tensor<0x3xf32>, tensor<2x3xf32>) {
      %e = graph.exp %x : tensor<f32>
      %t = graph.tanh %y : tensor<0x3xf32>
      %p = graph.pad %t, %e low [1, 0] high [1, 0] : tensor<0x3xf32>
      func.return %e, %t, %p : tensor<f32>, tensor<0x3xf32>, tensor<2x3xf32>
    }"""
    found = run(text, np.array(0.0, np.float32), np.zeros((0, 3), np.float32))
    same(found[0], 1.0, np.float32)
    same(found[1], np.zeros((0, 3)), np.float32)
    same(found[2], np.ones((2, 3)), np.float32)


def test_softmax():
    text = """func.func @f(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
      %max = graph.reduce max %x axes [1] keep : tensor<8x16xf32> -> tensor<8x1xf32>
      %base = graph.broadcast %max : tensor<8x1xf32> -> tensor<8x16xf32>
      %diff = graph.sub %x, %base : tensor<8x16xf32>
      %e = graph.exp %diff : tensor<8x16xf32>
      %sum = graph.reduce add %e axes [1] keep : tensor<8x16xf32> -> tensor<8x1xf32>
      %den = graph.broadcast %sum : tensor<8x1xf32> -> tensor<8x16xf32>
      %y = graph.div %e, %den : tensor<8x16xf32>
      func.return %y : tensor<8x16xf32>
    }"""
    x = numbers(np.dtype(np.float32), 8, 16)
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(run(text, x), e / e.sum(axis=1, keepdims=True), rtol=1e-6)
