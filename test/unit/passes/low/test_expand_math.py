"""The expansions of math functions: their error, their special cases, and the pass that writes them."""

import decimal
import functools
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy
from hypothesis import given
from hypothesis import strategies as st
from tenon.backends.interface import Backend
from tenon.backends.reference.kernels.low import run_kernel
from tenon.backends.registry import DEVICE_NAMES, get_backend
from tenon.dialects.low import BODY_OPS, EXPANDED_OPS, LOW, KernelOp
from tenon.passes.low import math as expansions
from tenon.passes.low.expand_math import ExpandMathPass
from tenon.passes.low.math.array_arithmetic import evaluate
from tenon.test.bits import assert_same_bits
from tenon.test.kernels import launch_kernel
from tenon.test.unit.library import ROOT
from tenon.test.unit.ulps import (
    BITS,
    DTYPES,
    ELEMENT_TYPES,
    bit_patterns,
    edges,
    errors_in_ulps,
    needs_wide_reference,
)
from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import Builtin, FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import PassFailedException

Array = npt.NDArray[Any]

BINARY = ["powf", "atan2"]
ULP_BOUNDS = {op.name.removeprefix("math."): row.ulps for op, row in expansions.EXPANSIONS.items()}
UNARY = [name for name in ULP_BOUNDS if name not in BINARY]
EXPANSIONS: dict[str, Callable[..., Any]] = {
    op.name.removeprefix("math."): row.function for op, row in expansions.EXPANSIONS.items()
}
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803")


def exact_erf(x: float) -> Decimal:
    """Returns erf(x) by its Taylor series, to some forty digits."""
    if np.isnan(x) or abs(x) > 7:
        return Decimal("NaN") if np.isnan(x) else Decimal(1).copy_sign(Decimal(x))
    with decimal.localcontext(prec=70):
        value = Decimal(x)
        term = total = value
        n = 0
        while abs(term) > abs(total) * Decimal("1e-60"):
            n += 1
            term = -term * value * value / n
            total += term / (2 * n + 1)
        return 2 / PI.sqrt() * total


def wide_erf(x: Array) -> Array:
    exact = [exact_erf(float(value)) for value in x]
    high = np.array([float(value) for value in exact])
    low = np.array(
        [0.0 if value.is_nan() else float(value - Decimal(h)) for value, h in zip(exact, high, strict=True)]
    )
    return np.copysign(high.astype(np.longdouble) + low.astype(np.longdouble), x)


REFERENCES: dict[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "erf": wide_erf,
    "sin": np.sin,
    "cos": np.cos,
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
    "powf": np.power,
    "atan2": np.arctan2,
}


PART = 1 << 14
"""What is checked at once, so that intermediates fit into a cache."""


def check(name: str, element_type: str, *operands: Array) -> None:
    """Checks an expansion against its stated bound."""
    wide = np.float64 if element_type == "f32" and name != "erf" else np.longdouble
    for start in range(0, len(operands[0]), PART):
        part = [operand[start : start + PART] for operand in operands]
        with np.errstate(all="ignore"):
            exact = REFERENCES[name](*(operand.astype(wide) for operand in part))
        computed = evaluate(EXPANSIONS[name], *part)
        assert computed.dtype == DTYPES[element_type]
        errors = errors_in_ulps(computed, exact)
        worst = int(np.argmax(errors))
        assert errors[worst] <= ULP_BOUNDS[name][element_type], (
            f"{name} {element_type} at {[operand[worst] for operand in part]}: "
            f"{computed[worst]} is {errors[worst]} ulp off {exact[worst]}"
        )


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_a_function_is_within_its_bound_at_the_edges(name: str, element_type: str):
    check(name, element_type, edges(element_type))


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_a_function_is_within_its_bound_for_all_exponents(name: str, element_type: str):
    check(name, element_type, bit_patterns(element_type, 500 if name == "erf" else 1 << 19, seed=1))


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("bound", [0.1, 0.6, 1.0, 2.0, 6.0, 100.0, 750.0, 1e5, 1e15])
def test_a_function_is_within_its_bound_up_to(bound: float, name: str, element_type: str):
    random = np.random.default_rng(2)
    n = 300 if name == "erf" else 1 << 16
    check(name, element_type, random.uniform(-bound, bound, n).astype(DTYPES[element_type]))


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_waves_are_within_their_bounds_near_multiples_of_half_pi(name: str, element_type: str):
    random = np.random.default_rng(3)
    multiples = np.round(random.uniform(1, 2.0 ** random.uniform(1, 60, 1 << 16)))
    check(name, element_type, (multiples * (np.pi / 2)).astype(DTYPES[element_type]))


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_waves_are_within_their_bounds_where_arguments_begin_to_be_far(name: str, element_type: str):
    dtype = DTYPES[element_type]
    near = dtype(2.0**15 if element_type == "f32" else 2.0**30)
    around = near + np.arange(-20000, 20001) * np.spacing(near)
    check(name, element_type, np.concatenate([around, -around]).astype(dtype))


@pytest.mark.parametrize("backend", ["reference", "llvm", "opencl"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_a_wave_does_not_depend_on_the_other_lanes(name: str, backend: str):
    """A vector with an argument that is far computes all lanes in both ways."""
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    near = np.random.default_rng(15).uniform(-2000, 2000, 64).astype(np.float32)
    mixed = near.copy()
    mixed[::16] = [3e4, -4e4, 1e30, np.inf]
    function = tenon.jit(lambda x: getattr(tenon.numpy, name)(x), backend=backend)
    alone, together = (np.asarray(function(values)).reshape(4, 16)[:, 1:] for values in (near, mixed))
    assert alone.tobytes() == together.tobytes()


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sin_and_cos_know_the_float_nearest_to_a_multiple_of_half_pi(name: str):
    # 16367173 * 2^72 and 6381956970095103 * 2^797: cos is 1.6e-9 and 4.7e-19 there.
    check(name, "f32", np.array([16367173 * 2.0**72], dtype=np.float32))
    computed = evaluate(EXPANSIONS[name], np.array([6381956970095103 * 2.0**797]))
    assert abs(computed[0]) == (4.6871659242546277e-19 if name == "cos" else 1.0)


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
@pytest.mark.parametrize("name", BINARY)
def test_a_function_of_two_has_all_special_cases_of_ieee(name: str, element_type: str):
    x, y = (grid.ravel() for grid in np.meshgrid(edges(element_type), edges(element_type)))
    check(name, element_type, x, y)


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_atan2_is_within_its_bound(element_type: str):
    dtype = DTYPES[element_type]
    check("atan2", element_type, *(bit_patterns(element_type, 1 << 18, seed=seed) for seed in (10, 11)))
    random = np.random.default_rng(12)
    height = random.uniform(-1, 1, 1 << 18)
    for ratio in (random.uniform(-3, 3, 1 << 18), 2.0 ** random.uniform(-60, 60, 1 << 18)):
        check("atan2", element_type, height.astype(dtype), (height * ratio).astype(dtype))


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_atan2_loses_nothing_where_operands_are_extreme(element_type: str):
    information = np.finfo(DTYPES[element_type])
    random = np.random.default_rng(13)
    least = random.integers(-40, 41, (2, 1 << 12)).astype(information.dtype) * information.smallest_subnormal
    check("atan2", element_type, least[0], least[1])
    largest = random.uniform(-1, 1, (2, 1 << 12)).astype(information.dtype) * information.max
    check("atan2", element_type, largest[0], largest[1])
    check("atan2", element_type, least[0], largest[1])


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
@pytest.mark.parametrize("name", ["expm1", "log1p", "asin", "sinh", "asinh", "acosh", "atanh", "atan"])
def test_a_function_is_within_its_bound_near_0_and_1(name: str, element_type: str):
    distance = 2.0 ** np.random.default_rng(14).uniform(-60, 0, 1 << 16)
    for values in (distance, -distance, 1 - distance, distance - 1, 1 + distance):
        check(name, element_type, values.astype(DTYPES[element_type]))


@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_logarithms_and_exponentials_know_the_powers_of_their_base(element_type: str):
    dtype = DTYPES[element_type]
    information = np.finfo(dtype)
    lowest = int(information.minexp) - int(information.nmant)
    exponents = np.arange(lowest, int(information.maxexp)).astype(dtype)
    powers = np.ldexp(dtype(1), exponents.astype(np.int32))
    assert np.array_equal(evaluate(EXPANSIONS["exp2"], exponents), powers)
    assert np.array_equal(evaluate(EXPANSIONS["log2"], powers), exponents)
    # the powers of ten that the type holds exactly
    exponents = np.arange(11 if element_type == "f32" else 23).astype(dtype)
    powers = np.array([10 ** int(exponent) for exponent in exponents], dtype)
    assert np.array_equal(evaluate(EXPANSIONS["log10"], powers), exponents)


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_powf_is_within_its_bound_for_all_exponents(element_type: str):
    x, y = bit_patterns(element_type, 1 << 18, seed=4), bit_patterns(element_type, 1 << 18, seed=5)
    check("powf", element_type, x, y)
    largest = 88.0 if element_type == "f32" else 709.0
    random = np.random.default_rng(6)
    base = np.exp(random.uniform(-largest, largest, 1 << 18)).astype(x.dtype)
    exponent = random.uniform(-1.1 * largest, 1.1 * largest, 1 << 18) / np.log(base.astype(np.float64))
    check("powf", element_type, base, exponent.astype(x.dtype))


@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_powf_is_within_its_bound_for_bases_near_1_and_integer_powers(element_type: str):
    dtype = DTYPES[element_type]
    random = np.random.default_rng(7)
    largest = 88.0 if element_type == "f32" else 709.0
    offsets = random.uniform(-0.5, 1, 1 << 18) * 2.0 ** -random.integers(0, 22, 1 << 18)
    base = (1 + offsets).astype(dtype)
    base = np.where(base == 1, dtype(2), base)
    exponent = random.uniform(-largest, largest, 1 << 18) / np.log(base.astype(np.float64))
    check("powf", element_type, base, exponent.astype(dtype))
    integers = random.integers(-200, 200, 1 << 18).astype(dtype)
    check("powf", element_type, random.uniform(-50, 50, 1 << 18).astype(dtype), integers)


def floats(width: int) -> st.SearchStrategy[float]:
    return st.floats(width=width, allow_nan=True, allow_infinity=True, allow_subnormal=True)


@given(floats(32), floats(32), st.sampled_from(list(EXPANSIONS)))
def test_any_f32_is_within_the_bound(x: float, y: float, name: str):
    operands = (x, y) if name in BINARY else (x,)
    check(name, "f32", *(np.array([operand], dtype=np.float32) for operand in operands))


@needs_wide_reference
@given(floats(64), floats(64), st.sampled_from(list(EXPANSIONS)))
def test_any_f64_is_within_the_bound(x: float, y: float, name: str):
    operands = (x, y) if name in BINARY else (x,)
    check(name, "f64", *(np.array([operand], dtype=np.float64) for operand in operands))


@pytest.mark.parametrize("element_type", ["f32", "f64"])
@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_a_saturating_function_never_passes_1(name: str, element_type: str):
    x = np.linspace(0, 25, 1 << 18).astype(DTYPES[element_type])
    computed = evaluate(EXPANSIONS[name], x)
    assert computed.max() == 1.0
    assert computed[-1] == 1.0


@pytest.mark.parametrize("element_type", ["f32", "f64"])
@pytest.mark.parametrize("name", ["tanh", "erf", "sinh"])
def test_an_odd_function_is_odd_to_the_last_bit(name: str, element_type: str):
    x = np.concatenate([bit_patterns(element_type, 1 << 16, seed=16), edges(element_type)])
    x = np.concatenate([x, np.linspace(0, 25, 1 << 16).astype(x.dtype)])
    assert_same_bits(evaluate(EXPANSIONS[name], -x), -evaluate(EXPANSIONS[name], x))


def test_docs_state_the_bounds_that_are_tested():
    text = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `math\.(\w+)` \| (f\d\d) \| ([\d.]+) \|", text, re.MULTILINE)
    stated: dict[str, dict[str, float]] = {}
    for name, element_type, bound in rows:
        stated.setdefault(name, {})[element_type] = float(bound)
    assert stated == ULP_BOUNDS


def context() -> Context:
    loaded = Context()
    for dialect in (Builtin, arith.Arith, math.Math, memref.MemRef, scf.Scf, vector.Vector, LOW):
        loaded.load_dialect(dialect)
    return loaded


def parse(body: str, element_type: str = "f32") -> ModuleOp:
    memory = f"memref<64x{element_type}>"
    text = f"""
      low.kernel @k(%x: {memory}, %y: {memory}) grid [1, 1, 1] block [1, 1, 1] {{
        %i = low.block_id x
        {body}
      }}
    """
    return Parser(context(), text).parse_module()


def expand(module: ModuleOp) -> ModuleOp:
    ExpandMathPass().apply(context(), module)
    return module


def scalar(name: str, element_type: str, flags: str = "") -> str:
    operands = "%a, %a" if name in BINARY else "%a"
    return f"""
        %a = memref.load %x[%i] : memref<64x{element_type}>
        %r = math.{name} {operands}{flags} : {element_type}
        memref.store %r, %y[%i] : memref<64x{element_type}>
    """


def vectorial(name: str, element_type: str) -> str:
    operands = "%a, %a" if name in BINARY else "%a"
    return f"""
        %a = vector.load %x[%i] : memref<64x{element_type}>, vector<4x{element_type}>
        %r = math.{name} {operands} : vector<4x{element_type}>
        vector.store %r, %y[%i] : memref<64x{element_type}>, vector<4x{element_type}>
    """


def kernel_of(name: str, element_type: str, lanes: int, n: int) -> ModuleOp:
    """Returns a module with a kernel @k(x, z, y) that sets y to the function of x, or of x and z."""
    memory = f"memref<{n}x{element_type}>"
    type = element_type if lanes == 1 else f"vector<{lanes}x{element_type}>"
    prefix, suffix = ("memref", f"{memory}") if lanes == 1 else ("vector", f"{memory}, {type}")
    operands = "%a, %b" if name in BINARY else "%a"
    text = f"""
      low.kernel @k(%x: {memory}, %z: {memory}, %y: {memory}) grid [{n // lanes}, 1, 1] block [1, 1, 1] {{
        %block = low.block_id x
        %lanes = arith.constant {lanes} : index
        %i = arith.muli %block, %lanes : index
        %a = {prefix}.load %x[%i] : {suffix}
        %b = {prefix}.load %z[%i] : {suffix}
        %r = math.{name} {operands} : {type}
        {prefix}.store %r, %y[%i] : {suffix}
      }}
    """
    return expand(Parser(context(), text).parse_module())


def run_on_reference(module: ModuleOp, x: Array, z: Array) -> Array:
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    y = np.zeros_like(x)
    run_kernel(kernel, [x, z, y])
    return y


def run_on(backend: Backend, module: ModuleOp, x: Array, z: Array) -> Array:
    y = np.zeros_like(x)
    launch_kernel(backend, module, x, z, y)
    return y


cached_backend = functools.cache(get_backend)


@pytest.mark.parametrize(
    ("runner", "element_type", "lanes"),
    [
        pytest.param(
            runner, type, lanes, marks=[pytest.mark.processor] if runner == "llvm" and lanes > 1 else []
        )
        for runner in DEVICE_NAMES
        for type, lanes in (("f32", 1), ("f32", 8), ("f64", 1), ("f64", 4))
    ],
)
@pytest.mark.parametrize("name", list(EXPANSIONS))
def test_every_backend_computes_the_same_bits(name: str, runner: str, element_type: str, lanes: int):
    if runner == "opencl":
        pytest.importorskip("pyopencl")
    x, z = (grid.ravel() for grid in np.meshgrid(edges(element_type), edges(element_type)[::3]))
    n = len(x) // lanes * lanes
    x = np.concatenate([x[:n], bit_patterns(element_type, 512, seed=8)])
    z = np.concatenate([z[:n], bit_patterns(element_type, 512, seed=9)])
    module = kernel_of(name, element_type, lanes, len(x))
    if runner == "reference":
        computed = run_on_reference(module, x, z)
    else:
        computed = run_on(cached_backend(runner), module, x, z)
    expected = evaluate(EXPANSIONS[name], *((x, z) if name in BINARY else (x,)))
    bits = BITS[element_type]
    same = (computed.view(bits) == expected.view(bits)) | (np.isnan(computed) & np.isnan(expected))
    assert same.all(), [(x[i], z[i], computed[i], expected[i]) for i in np.flatnonzero(~same)[:5]]


def test_every_expanded_op_has_an_expansion():
    assert list(expansions.EXPANSIONS) == list(EXPANDED_OPS)


@pytest.mark.parametrize("element_type", ["f32", "f64"])
@pytest.mark.parametrize("body", [scalar, vectorial])
@pytest.mark.parametrize("name", list(EXPANSIONS))
def test_what_is_left_verifies_and_is_plain_arithmetic(
    name: str, body: Callable[[str, str], str], element_type: str
):
    module = expand(parse(body(name, element_type), element_type))
    module.verify()
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    left = {type(op) for op in kernel.body.walk()}
    assert left <= set(BODY_OPS) - set(EXPANDED_OPS)


@pytest.mark.parametrize("name", list(EXPANSIONS))
def test_f32_is_expanded_without_f64(name: str):
    assert "f64" not in str(expand(parse(scalar(name, "f32"))))


def test_a_constant_is_written_once_and_before_everything_else():
    module = expand(
        parse(
            """
        %a = memref.load %x[%i] : memref<64xf32>
        %r = math.exp %a : f32
        %s = math.exp %r : f32
        memref.store %s, %y[%i] : memref<64xf32>
        """
        )
    )
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    ops = list(kernel.body.block.ops)
    constants = [op for op in ops if isinstance(op, arith.ConstantOp)]
    assert ops[: len(constants)] == constants
    assert len({str(op.value) for op in constants}) == len(constants)


def test_the_result_keeps_its_name_and_new_ops_have_the_location_of_the_old():
    module = parse(scalar("tanh", "f32"))
    location = FileLineColLoc(StringAttr("here.mlir"), IntAttr(7), IntAttr(3))
    old = next(op for op in module.walk() if isinstance(op, math.TanhOp))
    old.location = location
    before = set(module.walk())
    expand(module)
    store = next(op for op in module.walk() if isinstance(op, memref.StoreOp))
    assert store.value.name_hint == "r"
    assert all(op.location == location for op in module.walk() if op not in before)


def float_flags(module: ModuleOp) -> set[tuple[Any, ...]]:
    return {
        tuple(flags.data)
        for op in module.walk()
        if isinstance(flags := op.properties.get("fastmath"), arith.FastMathFlagsAttr)
    }


def test_no_fastmath_is_added():
    assert float_flags(expand(parse(scalar("exp", "f32")))) == {()}


def test_fastmath_of_the_function_is_not_taken_over():
    assert float_flags(expand(parse(scalar("powf", "f32", " fastmath<fast>")))) == {()}


def test_multiply_adds_are_fused():
    module = expand(parse(scalar("exp", "f32")))
    assert sum(isinstance(op, math.FmaOp) for op in module.walk()) == 9


def test_a_kernel_without_functions_stays_as_it_is():
    module = parse("%a = memref.load %x[%i] : memref<64xf32>\n memref.store %a, %y[%i] : memref<64xf32>")
    before = str(module)
    assert str(expand(module)) == before


def test_f16_is_no_type_to_expand_in():
    message = r"^expand-math: no expansion of math\.exp on f16 \(need f32 or f64\)$"
    with pytest.raises(PassFailedException, match=message):
        expand(parse(scalar("exp", "f16"), "f16"))


def test_an_op_of_math_that_kernels_do_not_know_is_an_error():
    message = r"^expand-math: no expansion of math\.cbrt \(not an op of kernels\)$"
    with pytest.raises(PassFailedException, match=message):
        expand(parse(scalar("cbrt", "f32")))
