"""Expansions of exp for what is known of its operand and its result: where they are taken, with what bits."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects.float_layout import F32, F64
from tenon.dialects.low import KernelOp
from tenon.passes.low.expand_math import ExpandMathPass
from tenon.passes.low.math.array_arithmetic import evaluate
from tenon.passes.low.math.exp import TABLES, exp, exp_of_not_positive, exp_or_tiny
from tenon.test.bits import assert_same_bits
from tenon.test.kernels import parsed
from tenon.test.unit.ulps import DTYPES, ELEMENT_TYPES, bit_patterns, edges
from xdsl.context import Context

Array = npt.NDArray[Any]


def operands(element: str) -> Array:
    """Edges, any bit patterns, and numbers where results are subnormal, 0 or infinite."""
    dtype, random = DTYPES[element], np.random.default_rng(0)
    bound = 110.0 if element == "f32" else 760.0
    table = TABLES[F32 if element == "f32" else F64]
    steps = np.arange(-300, 301)
    limits = [
        limit + steps * np.spacing(dtype(limit)) for limit in (table.underflow, table.tiny, table.highest)
    ]
    parts = [edges(element), bit_patterns(element, 1 << 14, seed=1), random.uniform(-bound, bound, 1 << 16)]
    return np.concatenate([part.astype(dtype) for part in (*parts, *limits)])


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_an_operand_that_is_not_positive_gives_the_same_bits(element: str):
    x = operands(element)
    x = x[~(x > 0)]
    assert_same_bits(evaluate(exp_of_not_positive, x), evaluate(exp, x))


@pytest.mark.parametrize("element", ELEMENT_TYPES)
def test_results_that_are_not_tiny_have_the_same_bits(element: str):
    x = operands(element)
    tiny = TABLES[F32 if element == "f32" else F64].tiny
    is_tiny = x < tiny
    found = evaluate(exp_or_tiny, x)
    assert_same_bits(found[~is_tiny], evaluate(exp, x[~is_tiny]))
    assert (found[is_tiny] == evaluate(exp, np.array([tiny], x.dtype))[0]).all()
    assert_same_bits(found + x.dtype.type(2.0**-60), evaluate(exp, x) + x.dtype.type(2.0**-60))


def kernel(body: str, lanes: int = 8, element: str = "f32", n: int = 64) -> str:
    """Returns a kernel that makes %r of %a, a vector of %x, with the body."""
    memory, vector = f"memref<{n}x{element}>", f"vector<{lanes}x{element}>"
    return f"""
    low.kernel @k(%x: {memory}, %y: {memory}) grid [1, 1, 1] block [1, 1, 1] {{
      %c0 = arith.constant 0 : index
      %end = arith.constant {n} : index
      %step = arith.constant {lanes} : index
      %one = arith.constant dense<1.0> : {vector}
      %small = arith.constant dense<1.0e-20> : {vector}
      %all = arith.constant dense<[{", ".join(["1.0"] * (lanes - 1) + ["2.0"])}]> : {vector}
      scf.for %i = %c0 to %end step %step {{
        %a = vector.load %x[%i] : {memory}, {vector}
        {body.replace("VECTOR", vector)}
        vector.store %r, %y[%i] : {memory}, {vector}
      }}
    }}
    """


MARKED = "%r = math.exp %a {tenon.not_positive} : VECTOR"
LESS_A_MAGNITUDE = """
    %m = math.absf %a : VECTOR
    %n = arith.negf %m : VECTOR
    %r = math.exp %n : VECTOR
"""
SUM = "%e = math.exp %a : VECTOR\n %r = arith.addf %e, %one : VECTOR"
SUM_ON_THE_LEFT = "%e = math.exp %a : VECTOR\n %r = arith.addf %one, %e : VECTOR"


def expanded(text: str) -> KernelOp:
    module = parsed(text)
    ExpandMathPass().apply(Context(), module)
    module.verify()
    found = module.body.block.first_op
    assert isinstance(found, KernelOp)
    return found


@pytest.mark.parametrize("body", [MARKED, LESS_A_MAGNITUDE, SUM, SUM_ON_THE_LEFT])
def test_one_product_will_do(body: str):
    assert "low.ldexp" not in str(expanded(kernel(body)))


@pytest.mark.parametrize(
    "body",
    [
        "%r = math.exp %a : VECTOR",
        "%m = math.absf %a : VECTOR\n %r = math.exp %m : VECTOR",
        "%m = arith.negf %a : VECTOR\n %r = math.exp %m : VECTOR",
        "%e = math.exp %a : VECTOR\n %r = arith.addf %e, %small : VECTOR",
        "%e = math.exp %a : VECTOR\n %r = arith.addf %e, %all : VECTOR",
        "%e = math.exp %a : VECTOR\n %r = arith.addf %e, %a : VECTOR",
        "%e = math.exp %a : VECTOR\n %r = arith.addf %e, %one fastmath<reassoc> : VECTOR",
        "%e = math.exp %a : VECTOR\n %s = arith.addf %e, %one : VECTOR\n %r = arith.mulf %e, %s : VECTOR",
    ],
    ids=["plain", "magnitude", "negative", "small", "several", "unknown", "reassociated", "used twice"],
)
def test_all_results_are_asked_for(body: str):
    assert "low.ldexp" in str(expanded(kernel(body)))


def test_vectors_with_an_instruction_for_the_product_keep_it_in_sums():
    assert "low.ldexp" in str(expanded(kernel(SUM, lanes=16)))
    assert "low.ldexp" in str(expanded(kernel(SUM, lanes=8, element="f64")))
    assert "low.ldexp" not in str(expanded(kernel(SUM, lanes=4, element="f64")))


@pytest.mark.parametrize("element", ELEMENT_TYPES)
@pytest.mark.parametrize("body", [LESS_A_MAGNITUDE, SUM])
def test_kernels_compute_the_bits_of_exp(body: str, element: str):
    x = operands(element)[::97]
    x = x[: len(x) // 4 * 4]
    y = np.zeros_like(x)
    run_kernel(expanded(kernel(body, 4, element, len(x))), [x, y])
    with np.errstate(all="ignore"):
        assert_same_bits(y, evaluate(exp, -abs(x)) if body == LESS_A_MAGNITUDE else evaluate(exp, x) + 1)


SOFTMAX = """
func.func @f(%x: tensor<4x32xf32>, %z: tensor<4x32xf32>) -> tensor<4x32xf32> {{
  %m = graph.reduce {reduced} axes [1] keep : tensor<4x32xf32> -> tensor<4x1xf32>
  %b = graph.broadcast %m : tensor<4x1xf32> -> tensor<4x32xf32>
  %d = graph.{difference} : tensor<4x32xf32>
  %e = graph.exp %d : tensor<4x32xf32>
  func.return %e : tensor<4x32xf32>
}}
"""


@pytest.mark.parametrize(
    ("reduced", "difference", "is_known"),
    [
        ("max %x", "sub %x, %b", True),
        ("max %z", "sub %x, %b", False),
        ("min %x", "sub %x, %b", False),
        ("max %x", "sub %b, %x", False),
        ("max %x", "sub %x, %z", False),
        ("max %x", "add %x, %b", False),
    ],
)
def test_what_is_less_its_greatest_is_known_not_to_be_positive(reduced: str, difference: str, is_known: bool):
    text = SOFTMAX.format(reduced=reduced, difference=difference)
    stages = tenon.compile(text, backend="llvm").stages
    assert ("tenon.not_positive" in stages["sched"]) == is_known
    assert ("low.ldexp" in stages["low"]) != is_known


@pytest.mark.processor
def test_rows_with_infinities_and_nan_have_the_exponentials_that_they_had():
    row = np.linspace(-120, 0, 32).astype(np.float32)
    rows = np.array([row, row, row, np.full(32, -np.inf)], np.float32)
    rows[0, 3], rows[1, 4], rows[2, 5] = -np.inf, np.inf, np.nan
    text = SOFTMAX.format(reduced="max %x", difference="sub %x, %b")
    with np.errstate(invalid="ignore"):
        expected = evaluate(exp, rows - rows.max(axis=1, keepdims=True))
    assert_same_bits(np.asarray(tenon.compile(text, backend="llvm")(rows, rows)), expected)
