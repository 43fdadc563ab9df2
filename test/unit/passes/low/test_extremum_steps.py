"""Maxima and minima of floats: NaN wins, and -0.0 is below +0.0, whatever the mapping."""

import numpy as np
import pytest
import tenon
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from xdsl.dialects import arith

SPECIAL = (float("nan"), -float("nan"), 0.0, -0.0, float("inf"), -float("inf"), 1.0, -1.0, 1e-45, -1e-45)
POOLS = {
    "everything": SPECIAL,
    "numbers": SPECIAL[2:],
    "zeros": (0.0, -0.0),
    "negative": (-0.0, -1.0, -2.0, -float("inf")),
    "negative and NaN": (-1.0, -2.0, -3.0, -4.0, -float("nan")),
    "positive and NaN": (1.0, 2.0, 3.0, 4.0, float("nan")),
    "positive": (0.0, 1.0, float("inf")),
}
SHAPES = (
    ((3, 1), 1),
    ((5, 7), 1),
    ((6, 67), 1),
    ((67, 6), 0),
    ((3, 5, 40), 1),
    ((300, 40), 0),
    ((2, 300), 1),
)


def program(kind: str, shape: tuple[int, ...], axis: int, type: str) -> str:
    kept = [extent for dim, extent in enumerate(shape) if dim != axis]
    source = f"tensor<{'x'.join(map(str, shape))}x{type}>"
    target = f"tensor<{'x'.join(map(str, kept))}x{type}>"
    return (
        f"func.func @f(%x: {source}) -> {target} {{\n"
        f"  %y = graph.reduce {kind} %x axes [{axis}] : {source} -> {target}\n"
        f"  func.return %y : {target}\n}}"
    )


def expected(kind: str, x: np.ndarray, axis: int) -> np.ndarray:
    """numpy's result, with the sign of a zero that IEEE 754-2019 says."""
    result = getattr(np, kind)(x, axis=axis)
    zeros = (x == 0) & (np.signbit(x) if kind == "min" else ~np.signbit(x))
    sign = -1.0 if kind == "min" else 1.0
    of_zero = np.where(zeros.any(axis=axis), sign, -sign) * 0.0
    return np.where(result == 0, of_zero, result).astype(x.dtype)


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("type", ["f32", "f64", "f16"])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_extrema_are_those_of_ieee_754(backend: str, type: str, kind: str):
    rng = np.random.default_rng(1)
    for shape, axis in SHAPES:
        run = tenon.compile(program(kind, shape, axis, type), backend=backend)
        for pool in POOLS.values():
            x = rng.choice(np.array(pool), shape).astype({"f32": "f4", "f64": "f8", "f16": "f2"}[type])
            with np.errstate(invalid="ignore"):
                want = expected(kind, x, axis)
            got = np.asarray(run(x))
            np.testing.assert_array_equal(got, want)
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))


@pytest.mark.processor
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("kind", ["max", "min"])
def test_a_signalling_nan_of_one_bit_is_a_nan(kind: str, type: str):
    run = tenon.compile(program(kind, (9, 1000), 1, type))
    dtype = np.dtype({"f32": "f4", "f64": "f8"}[type])
    x = np.random.default_rng(2).standard_normal((9, 1000)).astype(dtype)
    x[0] = -np.inf
    bits = x.view(f"u{dtype.itemsize}")
    signalling = np.array([np.inf, -np.inf], dtype).view(bits.dtype) + np.array(1, bits.dtype)
    for row, place in ((2, 0), (4, 997), (7, 999)):
        bits[row, place] = signalling[row % 3 - 1]
    got = np.asarray(run(x))
    assert [row for row in range(9) if np.isnan(got[row])] == [2, 4, 7]
    rest = [0, 1, 3, 5, 6, 8]
    np.testing.assert_array_equal(got[rest], getattr(np, kind)(x[rest], axis=1))


def lowered(kind: str, fastmath: str = "", type: str = "f32") -> list[object]:
    module = parse_module(f"""
sched.kernel @k(%x: memref<4x100x{type}>, %y: memref<4x{type}>) {{
  sched.axis %i = 4 {{
    %m = sched.reduce {kind} %j = 100 vector(4) unroll(2){fastmath} : {type} {{
      %v = memref.load %x[%i, %j] : memref<4x100x{type}>
      sched.yield %v : {type}
    }}
    memref.store %m, %y[%i] : memref<4x{type}>
  }}
}}""")
    PassManager("convert-sched-to-low").run(context(), module)
    assert not any(isinstance(op, sched.ReduceOp) for op in module.walk())
    return list(module.walk())


@pytest.mark.parametrize("kind", ["maximumf", "minimumf"])
def test_partial_results_are_found_by_plain_comparisons(kind: str):
    ops = lowered(kind)
    assert not any(isinstance(op, arith.MaximumfOp | arith.MinimumfOp) for op in ops)
    assert not any(isinstance(op, arith.MaxSIOp | arith.MaxUIOp) for op in ops)
    assert any(isinstance(op, arith.CmpfOp) for op in ops)


def test_with_fastmath_plain_comparisons_pass_over_nan():
    ops = lowered("maximumf", " fastmath<nnan,nsz>")
    # Not what these flags make of arith.maximumf: LLVM may compute anything of a NaN then.
    assert not any(isinstance(op, arith.MaximumfOp) for op in ops)
    assert {op.predicate.value.data for op in ops if isinstance(op, arith.CmpfOp)} == {
        arith.CMPF_COMPARISON_OPERATIONS.index("ogt")
    }


def test_nnan_alone_leaves_the_sign_of_zeros_to_mind():
    assert not any(isinstance(op, arith.MaximumfOp) for op in lowered("maximumf", " fastmath<nnan>"))
