"""Programs of StableHLO give what numpy does; what is wrong or has no conversion is an error."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import TenonError
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager

RNG = np.random.default_rng(0)


def run(text: str, *arguments, backend: str = "reference"):
    return tenon.compile(text, backend=backend)(*arguments)


def unary(op: str, x: np.ndarray, dtype: str = "f32"):
    shape = "x".join(map(str, x.shape))
    type = f"tensor<{shape}x{dtype}>"
    arrow = f"{type} -> {type}" if op.startswith("chlo.") else type
    return run(f"func.func @f(%x: {type}) -> {type} {{ %y = {op} %x : {arrow}\n return %y : {type} }}", x)


def error_of(text: str) -> str:
    with pytest.raises(TenonError) as caught:
        run(text)
    return str(caught.value)


def function(body: str, result: str = "tensor<4xf32>") -> str:
    return (
        f"func.func @f(%x: tensor<4xf32>, %m: tensor<4x8xf32>, %i: tensor<3x1xi32>) -> {result} {{ {body} }}"
    )


@pytest.mark.parametrize(
    ("op", "expected", "worst"),
    [
        ("stablehlo.cbrt", np.cbrt, 3e-16),
        ("stablehlo.logistic", lambda x: 1 / (1 + np.exp(-x)), 3e-16),
        ("chlo.erfc", np.vectorize(math.erfc), 2e-15),
        ("chlo.lgamma", np.vectorize(math.lgamma), 1e-13),
    ],
)
def test_functions_are_as_exact_as_their_type(op: str, expected, worst: float):
    x = np.concatenate([RNG.uniform(0.1, 6.0, 50), RNG.uniform(0.1, 20.0, 50)])
    found = unary(op, x, "f64")
    wanted = expected(x)
    assert np.max(np.abs(found - wanted) / np.maximum(np.abs(wanted), 1e-300)) < max(worst * 50, 1e-14)


def test_erf_inv_is_the_inverse_also_far_out():
    x = np.concatenate([RNG.uniform(-1, 1, 200), [1 - 1e-12, -1 + 1e-15, 0.0, -0.0, 1.0, -1.0, 2.0]])
    found = unary("chlo.erf_inv", x, "f64")
    inside = found[:203]
    np.testing.assert_allclose(np.vectorize(math.erf)(inside), x[:203], rtol=1e-14)
    np.testing.assert_array_equal(found[203:], [-0.0, np.inf, -np.inf, np.nan])
    assert np.signbit(found[203])


def test_digamma_has_its_recurrence_and_poles():
    x = RNG.uniform(-5.0, 5.0, 100)
    step = unary("chlo.digamma", x + 1, "f64") - unary("chlo.digamma", x, "f64")
    np.testing.assert_allclose(step, 1 / x, rtol=1e-9, atol=1e-10)
    poles = unary("chlo.digamma", np.array([0.0, -0.0, -1.0]), "f64")
    np.testing.assert_array_equal(poles, [-np.inf, np.inf, np.nan])


def test_zeta_and_polygamma_give_known_values():
    text = """func.func @f(%s: tensor<3xf64>, %q: tensor<3xf64>) -> (tensor<3xf64>, tensor<3xf64>) {
      %z = chlo.zeta %s, %q : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
      %p = chlo.polygamma %q, %s : tensor<3xf64>, tensor<3xf64> -> tensor<3xf64>
      return %z, %p : tensor<3xf64>, tensor<3xf64> }"""
    zeta, polygamma = run(text, np.array([2.0, 4.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    np.testing.assert_allclose(zeta, [math.pi**2 / 6, math.pi**4 / 90, math.inf], rtol=1e-14)
    np.testing.assert_allclose(polygamma[0], math.pi**2 / 6 - 1, rtol=1e-13)


def test_bessel_is_continuous_where_the_series_change():
    x = np.array([19.999999, 20.0, 20.000001, 0.0, -3.0, np.inf])
    found = unary("chlo.bessel_i1e", x, "f64")
    np.testing.assert_allclose(found[0], found[2], rtol=1e-7)
    np.testing.assert_allclose(found[1], 0.08750622218328866, rtol=1e-13)
    np.testing.assert_allclose(found[4], -0.19682671329730, rtol=1e-12)
    np.testing.assert_array_equal(found[[3, 5]], [0.0, 0.0])


def test_numbers_are_rounded_away_from_zero_and_keep_their_sign():
    x = np.array([0.49999997, 0.5, -0.5, 2.5, -0.0, 8388609.0, np.inf, np.nan], np.float32)
    found = unary("stablehlo.round_nearest_afz", x)
    np.testing.assert_array_equal(found, np.array([0, 1, -1, 3, -0.0, 8388609.0, np.inf, np.nan], np.float32))
    assert np.signbit(found[4])


RANDOM = """func.func @f(%s: tensor<2xui64>) -> (tensor<2xui64>, {type}) {{
  %t, %y = stablehlo.rng_bit_generator %s, algorithm = {name} : (tensor<2xui64>) -> (tensor<2xui64>, {type})
  return %t, %y : tensor<2xui64>, {type}
}}"""

GREATEST = 2**64 - 1


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        # The published words of Random123's tests: of Philox4x32-10 for counters and keys of all 0 and all 1,
        # and of Threefry2x32-20.
        ("DEFAULT", 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("PHILOX", GREATEST, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("THREE_FRY", 0, "6b200159 99ba4efe"),
        ("THREE_FRY", GREATEST, "1cb996fc bb002be7"),
    ],
)
def test_random_words_are_the_published_ones(name: str, state: int, words: str):
    expected = [int(word, 16) for word in words.split()]
    given = np.full(2, state, np.uint64)
    after, found = run(RANDOM.format(name=name, type=f"tensor<{len(expected)}xui32>"), given)
    assert found.tolist() == expected
    # One step of the counter, which wraps; the key stays.
    assert after.tolist() == [state, (state + 1) % 2**64]


def words_of(name: str, type: str, state: tuple[int, int]) -> tuple[list[int], np.ndarray]:
    after, found = run(RANDOM.format(name=name, type=f"tensor<{type}>"), np.array(state, np.uint64))
    return after.tolist(), found


def test_wider_and_narrower_numbers_are_made_of_the_same_words():
    state = (5, GREATEST)
    # The counter of Philox carries into its upper half.
    after, words = words_of("PHILOX", "12xui32", state)
    assert after == [5, 2]
    _, wide = words_of("PHILOX", "2x3xui64", state)
    assert wide.reshape(-1).tolist() == [int(low) | int(high) << 32 for low, high in words.reshape(-1, 2)]
    after, narrow = words_of("PHILOX", "9xui8", state)
    assert after == [5, 2] and narrow.tolist() == (words[:9] & 255).tolist()
    assert words_of("PHILOX", "0xui32", state)[0] == list(state)


def test_the_words_of_a_step_of_threefry_are_neighbours_along_an_even_axis():
    state = (5, 7)
    after, words = words_of("THREE_FRY", "30xui32", state)
    assert after == [5, 22]
    first, second = words[::2], words[1::2]
    after, found = words_of("THREE_FRY", "3x4x1xui32", state)
    assert after == [5, 13]
    assert found[:, ::2].reshape(-1).tolist() == first[:6].tolist()
    assert found[:, 1::2].reshape(-1).tolist() == second[:6].tolist()
    # Of odd extents the longest, whose last step has a word too many.
    after, found = words_of("THREE_FRY", "3x5xui8", state)
    assert after == [5, 16]
    assert found[:, ::2].reshape(-1).tolist() == (first[:9] & 255).tolist()
    assert found[:, 1::2].tolist() == (second[:9].reshape(3, 3)[:, :2] & 255).tolist()
    _, wide = words_of("THREE_FRY", "3x5xui64", state)
    assert wide.reshape(-1).tolist() == [int(x) | int(y) << 32 for x, y in zip(first, second, strict=True)]


def test_a_state_that_has_no_two_words_is_an_error_that_names_the_algorithm():
    text = RANDOM.format(name="PHILOX", type="tensor<4xui32>").replace("tensor<2xui64>", "tensor<3xui64>")
    assert "algorithm PHILOX on tensor<3xui64>" in error_of(text)


def test_bits_are_counted():
    x = np.array([0, 1, -1, 2**31 - 1, -(2**31)], np.int32)
    np.testing.assert_array_equal(unary("stablehlo.popcnt", x, "i32"), [0, 1, 32, 31, 1])
    np.testing.assert_array_equal(unary("stablehlo.count_leading_zeros", x, "i32"), [32, 31, 0, 1, 0])


def test_a_total_order_has_nan_at_its_ends():
    text = """func.func @f(%x: tensor<6xf32>) -> tensor<6xf32> {
      %y = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }) : (tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32> }"""
    x = np.array([np.nan, 0.0, -np.nan, -0.0, -np.inf, 1.0], np.float32)
    x[2] = np.copysign(np.float32(np.nan), np.float32(-1))
    found = run(text, x)
    assert np.isnan(found[[0, 5]]).all() and np.signbit(found[0])
    np.testing.assert_array_equal(found[1:5], [-np.inf, -0.0, 0.0, 1.0])
    assert np.signbit(found[2]) and not np.signbit(found[3])


SORT_BY_MAGNITUDE = """func.func @f(%x: tensor<{n}xi32>, %y: tensor<{n}xi32>)
    -> (tensor<{n}xi32>, tensor<{n}xi32>) {{
  %r:2 = "stablehlo.sort"(%x, %y) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %m = stablehlo.multiply %a, %a : tensor<i32>
    %k = stablehlo.multiply %b, %b : tensor<i32>
    %l = stablehlo.compare {direction}, %m, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    {end}
  }}) : (tensor<{n}xi32>, tensor<{n}xi32>) -> (tensor<{n}xi32>, tensor<{n}xi32>)
  return %r#0, %r#1 : tensor<{n}xi32>, tensor<{n}xi32> }}"""

PLAIN = "stablehlo.return %l : tensor<i1>"

NEGATED = "%n = stablehlo.not %l : tensor<i1>\n stablehlo.return %n : tensor<i1>"


@pytest.mark.parametrize(("direction", "end"), [("LT", PLAIN), ("GE", NEGATED)], ids=["key", "exchanges"])
@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_rows_are_sorted_stably_by_any_comparator(n: int, direction: str, end: str):
    x, y = RNG.integers(-4, 5, n, np.int32), np.arange(n, dtype=np.int32)
    found = run(SORT_BY_MAGNITUDE.format(n=n, direction=direction, end=end), x, y)
    order = np.argsort(x * x, kind="stable")
    np.testing.assert_array_equal(found[0], x[order])
    np.testing.assert_array_equal(found[1], y[order])


REDUCE = """func.func @f(%x: tensor<{n}x3xf32>, %init: tensor<f32>) -> tensor<3xf32> {{
  %y = stablehlo.reduce(%x init: %init) across dimensions = [0]
    : (tensor<{n}x3xf32>, tensor<f32>) -> tensor<3xf32>
    reducer(%a: tensor<f32>, %b: tensor<f32>) {{
      %two = stablehlo.constant dense<2.0> : tensor<f32>
      %p = stablehlo.multiply %a, %b : tensor<f32>
      %q = stablehlo.multiply %p, %two : tensor<f32>
      stablehlo.return %q : tensor<f32>
    }}
  return %y : tensor<3xf32> }}"""


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8])
def test_a_reducer_of_several_ops_is_applied_to_pairs(n: int):
    x = RNG.uniform(0.5, 1.5, (n, 3)).astype(np.float32)
    found = run(REDUCE.format(n=n), x, np.float32(0.5))
    np.testing.assert_allclose(found, 0.5 * np.prod(2 * x, axis=0, dtype=np.float64), rtol=1e-5)


SCATTER = """func.func @f(%x: tensor<5xf32>, %i: tensor<4x1xi32>, %u: tensor<4xf32>) -> tensor<5xf32> {
  %y = "stablehlo.scatter"(%x, %i, %u) <{
      scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %d = stablehlo.subtract %b, %a : tensor<f32>
    stablehlo.return %d : tensor<f32>
  }) : (tensor<5xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32> }"""


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_updates_that_meet_are_applied_one_after_the_other(backend: str):
    x, updates = np.arange(5, dtype=np.float32), np.array([10, 20, 30, 40], np.float32)
    found = run(SCATTER, x, np.array([[1], [1], [-1], [4]], np.int32), updates, backend=backend)
    np.testing.assert_array_equal(found, [0, 20 - (10 - 1), 2, 3, 40 - 4])


def test_a_batch_is_normalised_as_its_definition_says():
    text = """func.func @f(%x: tensor<6x3xf32>, %s: tensor<3xf32>, %o: tensor<3xf32>, %g: tensor<6x3xf32>)
        -> (tensor<6x3xf32>, tensor<6x3xf32>, tensor<3xf32>, tensor<3xf32>) {
      %y, %m, %v = "stablehlo.batch_norm_training"(%x, %s, %o)
          <{epsilon = 0.001 : f32, feature_index = 1 : i64}>
          : (tensor<6x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<6x3xf32>, tensor<3xf32>, tensor<3xf32>)
      %dx, %ds, %do = "stablehlo.batch_norm_grad"(%x, %s, %m, %v, %g)
          <{epsilon = 0.001 : f32, feature_index = 1 : i64}>
          : (tensor<6x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<6x3xf32>)
          -> (tensor<6x3xf32>, tensor<3xf32>, tensor<3xf32>)
      return %y, %dx, %ds, %do : tensor<6x3xf32>, tensor<6x3xf32>, tensor<3xf32>, tensor<3xf32> }"""
    x, gradient = RNG.normal(size=(2, 6, 3)).astype(np.float32)
    scale, offset = RNG.normal(size=(2, 3)).astype(np.float32)
    y, to_x, to_scale, to_offset = run(text, x, scale, offset, gradient)
    root = np.sqrt(x.var(0) + 0.001)
    normal = (x - x.mean(0)) / root
    np.testing.assert_allclose(y, normal * scale + offset, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(to_offset, gradient.sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(to_scale, (gradient * normal).sum(0), rtol=1e-4, atol=1e-5)
    expected = scale / root * (gradient - gradient.mean(0) - normal * (gradient * normal).mean(0))
    np.testing.assert_allclose(to_x, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky_gives_the_triangle_of_its_square(lower: bool):
    x = RNG.normal(size=(2, 5, 5))
    positive = x @ x.transpose(0, 2, 1) + 5 * np.eye(5)
    flag = "true" if lower else "false"
    text = f"""func.func @f(%a: tensor<2x5x5xf64>) -> tensor<2x5x5xf64> {{
      %l = stablehlo.cholesky %a, lower = {flag} : tensor<2x5x5xf64>
      return %l : tensor<2x5x5xf64> }}"""
    wanted = np.linalg.cholesky(positive)
    np.testing.assert_allclose(
        run(text, positive), wanted if lower else wanted.transpose(0, 2, 1), rtol=1e-12
    )


OPEN = """func.func @f(%x: tensor<?x8xf32>) -> tensor<?xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %eight = stablehlo.constant dense<8> : tensor<1xi32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
  %c = stablehlo.compare GE, %n, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%c, %n) {error_message = "'rows' = {0} from it"}
      : (tensor<i1>, tensor<i32>) -> ()
  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %t = stablehlo.multiply %s, %eight : tensor<1xi32>
  %y = stablehlo.dynamic_reshape %x, %t : (tensor<?x8xf32>, tensor<1xi32>) -> tensor<?xf32>
  %i = stablehlo.dynamic_iota %t, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %z = stablehlo.add %y, %i : tensor<?xf32>
  return %z : tensor<?xf32> }"""


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_open_extents_are_named_dims(backend: str):
    executable = tenon.compile(OPEN, backend=backend)
    assert str(executable.argument_types[0].extents) == "(rows, 8)"
    for n in (1, 3, 17):
        x = RNG.normal(size=(n, 8)).astype(np.float32)
        np.testing.assert_array_equal(executable(x), x.reshape(-1) + np.arange(8 * n, dtype=np.float32))


WINDOWS = """
func.func @reducer(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {{
  %c = stablehlo.{op} %a, %b : tensor<f32>
  return %c : tensor<f32>
}}
func.func @f(%x: tensor<?x3xf32>) -> tensor<?x3xf32> {{
  %init = stablehlo.constant dense<{init}> : tensor<f32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %none = stablehlo.constant dense<0> : tensor<1x2xi32>
  %zero = stablehlo.constant dense<0> : tensor<1xi32>
  %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %holds = stablehlo.compare EQ, %size, %size, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%holds, %size) {{error_message = "'rows' = {{0}} from it"}}
      : (tensor<i1>, tensor<i32>) -> ()
  %n = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %less = stablehlo.subtract %n, %one : tensor<1xi32>
  %ends = stablehlo.concatenate {ends}, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %pair = stablehlo.reshape %ends : (tensor<2xi32>) -> tensor<1x2xi32>
  %padding = stablehlo.concatenate %pair, %none, dim = 0
      : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  %sizes = stablehlo.concatenate {sizes}, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %y = stablehlo.custom_call @stablehlo.dynamic_reduce_window(
      %x, %init, %sizes, %ones, %ones, %ones, %padding) {{called_computations = [@{called}]}}
      : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>,
         tensor<2x2xi32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}}"""


def windows(**given: str) -> str:
    usual = {"op": "add", "init": "0.0", "ends": "%less, %zero", "sizes": "%n, %one", "called": "reducer"}
    return WINDOWS.format(**usual | given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, lambda x: np.cumsum(x, 0, dtype=np.float64)),
        (
            {"op": "maximum", "init": "0xFF800000", "ends": "%zero, %less"},
            lambda x: np.maximum.accumulate(x[::-1])[::-1],
        ),
        # Two rows each, with another one before the first: no row is there behind the last.
        (
            {"sizes": "%two, %one", "ends": "%one, %zero"},
            lambda x: x + np.concatenate([np.zeros((1, 3)), x[:-1]]),
        ),
    ],
    ids=["forward", "backward", "of two"],
)
def test_windows_along_named_dims(given: dict[str, str], expected):
    text = windows(**given).replace("%none =", "%two = stablehlo.constant dense<2> : tensor<1xi32>\n%none =")
    executable = tenon.compile(text)
    for n in (1, 2, 17):
        x = RNG.normal(size=(n, 3)).astype(np.float32)
        np.testing.assert_allclose(executable(x), expected(x), rtol=1e-5, atol=1e-5)


def test_a_reducer_of_windows_may_be_of_several_ops():
    text = windows(sizes="%two, %one", ends="%one, %zero")
    text = text.replace("%none =", "%two = stablehlo.constant dense<2> : tensor<1xi32>\n%none =")
    text = text.replace(
        "add %a, %b : tensor<f32>", "add %a, %b : tensor<f32>\n %d = stablehlo.negate %c : tensor<f32>"
    )
    executable = tenon.compile(text.replace("return %c : tensor<f32>", "return %d : tensor<f32>", 1))
    x = RNG.normal(size=(4, 3)).astype(np.float32)
    before = np.concatenate([np.zeros((1, 3), np.float32), x[:-1]])
    # -(-(0 + before) + x).
    np.testing.assert_allclose(executable(x), before - x, rtol=1e-5, atol=1e-5)


def test_functions_that_other_calls_name_stay():
    # It would be an error of another op that there is none.
    text = windows().replace("@stablehlo.dynamic_reduce_window", "@another")
    assert "no conversion for 1 op (stablehlo.custom_call (@another): 1)" in error_of(text)


@pytest.mark.parametrize("stride", [1, 2])
def test_windows_that_do_not_fit_are_none(stride: int):
    text = f"""func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {{
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %y = "stablehlo.reduce_window"(%x, %z) <{{
          window_dimensions = array<i64: 5>, window_strides = array<i64: {stride}>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }}) : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
      return %y : tensor<?xf32> }}"""
    executable = tenon.compile(text)
    for n in (1, 2, 4, 5, 6, 9):
        count = max((n - 5) // stride + 1, 0)
        np.testing.assert_array_equal(executable(np.ones(n, np.float32)), np.full(count, 5))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"called": "other"}, "@stablehlo.dynamic_reduce_window has 7 operands and 1 results"),
        ({"ends": "%one, %zero"}, "windows whose extents are known at run time only"),
        ({"sizes": "%one, %n", "ends": "%zero, %less"}, "windows whose extents are known at run"),
    ],
)
def test_windows_that_are_no_running_sums_have_numbers(given: dict[str, str], message: str):
    assert message in error_of(windows(**given))


def test_windows_have_numbers_for_each_dim():
    text = windows().replace("%ones, %ones, %ones,", "%ones, %ones, %one,")
    text = text.replace("tensor<2xi32>,\n", "tensor<1xi32>,\n")
    assert "of windows that do not fit 2 dims" in error_of(text)


def test_what_stands_for_an_op_without_conversion_is_not_checked():
    text = OPEN.replace(
        "%y = stablehlo.dynamic_reshape %x, %t :",
        "%w = stablehlo.custom_call @elsewhere(%x, %s)\n"
        "      {indices_of_shape_operands = dense<1> : tensor<1xi64>}\n"
        "      : (tensor<?x8xf32>, tensor<1xi32>) -> tensor<?x8xf32>\n"
        "  %y = stablehlo.dynamic_reshape %w, %t :",
    )
    message = error_of(text)
    assert "no conversion for 1 op (stablehlo.custom_call (@elsewhere of a shape that is" in message


@pytest.mark.parametrize(("op", "extent"), [("remainder", "rows - 2"), ("divide", "rows")])
def test_quotients_of_negative_numbers_are_cut_towards_zero(op: str, extent: str):
    # 2 rows less, or as many: no row is negative.
    text = f"""func.func @f(%x: tensor<?x8xf32>) -> tensor<?xf32> {{
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
      %least = stablehlo.constant dense<3> : tensor<i32>
      %c = stablehlo.compare GE, %n, %least, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%c, %n) {{error_message = "'rows' = {{0}} from it"}}
          : (tensor<i1>, tensor<i32>) -> ()
      %two = stablehlo.constant dense<-2> : tensor<i32>
      %r = stablehlo.{op} %two, %n : tensor<i32>
      %m = stablehlo.add %n, %r : tensor<i32>
      %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
      %y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
      return %y : tensor<?xf32> }}"""
    executable = tenon.compile(text)
    assert str(executable.result_types[0].extents) == f"({extent},)"
    count = 5 - 2 * (op == "remainder")
    np.testing.assert_array_equal(executable(np.zeros((5, 8), np.float32)), np.arange(count))


def test_dynamic_ops_of_constants_are_static_ones():
    text = """func.func @f(%x: tensor<2x4xf32>) -> tensor<3x6xf32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<[1, 0]> : tensor<2xi64>
      %high = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
      %none = stablehlo.constant dense<0> : tensor<2xi64>
      %y = stablehlo.dynamic_pad %x, %zero, %low, %high, %none
          : (tensor<2x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
      %shape = stablehlo.constant dense<[3, 6]> : tensor<2xi64>
      %z = stablehlo.dynamic_reshape %y, %shape : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<3x6xf32>
      return %z : tensor<3x6xf32> }"""
    x = RNG.normal(size=(2, 4)).astype(np.float32)
    np.testing.assert_array_equal(run(text, x), np.pad(x, ((1, 0), (0, 2))))


@pytest.mark.parametrize(
    ("shape", "op"), [("1x1x4", "graph.reshape"), ("1x2x4", "graph.broadcast"), ("2x1x4", "graph.broadcast")]
)
def test_what_repeats_nothing_is_a_reshape(shape: str, op: str):
    """Products see through a reshape, not through a broadcast."""
    type = f"tensor<{shape}xf32>"
    body = f"%y = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<4xf32>) -> {type} return %y : {type}"
    module = parse_module(function(body, type))
    PassManager("convert-stablehlo-to-graph").run(context(), module)
    found = [each.name for each in module.walk() if each.name in ("graph.reshape", "graph.broadcast")]
    assert found[-1] == op and (op == "graph.broadcast" or "graph.broadcast" not in found)


def test_locations_of_the_text_stay():
    text = function(
        '%y = stablehlo.negate %x : tensor<4xf32> loc("jit(f)/neg"(#loc1)) return %y : tensor<4xf32>'
    )
    module = parse_module(text + '\n#loc1 = loc("model.py":5:6 to :97)\n')
    verify_module(module)
    PassManager("convert-stablehlo-to-graph").run(context(), module)
    (op,) = [op for op in module.walk() if op.name == "graph.neg"]
    assert "model.py" in str(op.location) and "5" in str(op.location)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%y = stablehlo.transpose %m, dims = [0, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>",
            "axis 0 is given twice",
        ),
        (
            "%y = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<4xf32>) -> tensor<4x8xf32>",
            "dim 2 is out of range for rank 2",
        ),
        (
            "%y = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<4x8xf32>",
            "axis 0 of 4 elements cannot be repeated to 8",
        ),
        (
            "%y = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<4xf32>) -> tensor<4x8xf32>",
            "dims are [], expected one for each axis",
        ),
        ("%y = stablehlo.slice %x [0:4:0] : (tensor<4xf32>) -> tensor<4xf32>", "strides are [0]"),
        ("%y = stablehlo.slice %x [0:5] : (tensor<4xf32>) -> tensor<5xf32>", "axis 0 is read up to 5 of 4"),
        (
            "%y = stablehlo.dot_general %m, %m, batching_dims = [0] x [], contracting_dims = [1] x [1] : "
            "(tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>",
            "batching dims are [0] and []",
        ),
        (
            '%y = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
            "collapsed_slice_dims = [5], start_index_map = [0], index_vector_dim = 1>, "
            "slice_sizes = array<i64: 1, 8>}> "
            ": (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>",
            "collapsed_slice_dims is [5], expected dims below 2",
        ),
        (
            "%y = stablehlo.fft %x, type = FFT, length = [4] : tensor<4xf32>",
            "stablehlo.fft",
        ),
        (
            "%y = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4x3xi16>",
            "result 0 is tensor<4x3xi16>, expected tensor<4x2xi16>",
        ),
        (
            "%y = stablehlo.reduce_precision %i, format = e5m2 : tensor<3x1xi32>",
            "stablehlo.reduce_precision: elements are i32, expected floats",
        ),
        (
            "%y = chlo.lgamma %i : tensor<3x1xi32> -> tensor<3x1xi32>",
            "chlo.lgamma: elements are i32, expected floats",
        ),
        (
            '%y = "stablehlo.batch_norm_inference"(%m, %m, %x, %x, %x) <{epsilon = 0.1 : f32, '
            "feature_index = 0 : i64}> : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<4xf32>, "
            "tensor<4xf32>) -> tensor<4x8xf32>",
            "stablehlo.batch_norm_inference: tensor<4x8xf32> is not of 1 dims",
        ),
        (
            '%y:2 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({\n^bb0(%a: tensor<f32>):\n'
            "stablehlo.return %a, %a : tensor<f32>, tensor<f32>\n}) : (tensor<4xf32>) -> (tensor<4xf32>, "
            "tensor<4xf32>)",
            "stablehlo.map: 2 results, expected 1",
        ),
        (
            '%y = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({\n^bb0(%a: tensor<f32>):\n'
            "stablehlo.return %a, %a : tensor<f32>, tensor<f32>\n}) : (tensor<4xf32>) -> tensor<4xf32>",
            "stablehlo.map: a region gives 2 results, expected 1",
        ),
        (
            '%n = stablehlo.constant dense<1> : tensor<i32>\n%y = "stablehlo.case"(%n) : (tensor<i32>) -> '
            "tensor<4xf32>",
            "stablehlo.case: there is no branch",
        ),
        (
            '%n = stablehlo.constant dense<1> : tensor<i32>\n%y = "stablehlo.case"(%n) ({\n'
            "stablehlo.return %x, %x : tensor<4xf32>, tensor<4xf32>\n}) : (tensor<i32>) -> tensor<4xf32>",
            "stablehlo.case: declares 1 results, expected 2",
        ),
        (
            "%y:2 = chlo.top_k(%x, k = 9) : tensor<4xf32> -> (tensor<9xf32>, tensor<9xi32>)",
            "read up to 9 of 4",
        ),
    ],
)
def test_a_wrong_op_is_an_error_that_names_it(body: str, message: str):
    found = error_of(function(f"{body}\n return %x : tensor<4xf32>"))
    assert message in found
    assert re.search(r"(stablehlo|chlo)\.\w+", found)


def test_quantised_types_are_an_error_that_names_the_op():
    body = "%y = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 0.1>>"
    found = error_of(function(f"{body}\n return %x : tensor<4xf32>"))
    assert "stablehlo.uniform_quantize: unknown type quant.uniform" in found


def test_a_check_that_no_dim_can_say_is_an_error():
    text = OPEN.replace("compare GE, %n, %one", "compare NE, %n, %one")
    assert "stablehlo.custom_call: @shape_assertion is of what named dims cannot say" in error_of(text)


def test_a_composite_is_what_its_function_says():
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.composite "my.twice" %x {decomposition = @twice} : (tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32> }
    func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
      %y = stablehlo.add %x, %x : tensor<4xf32>
      return %y : tensor<4xf32> }"""
    np.testing.assert_array_equal(run(text, np.ones(4, np.float32)), np.full(4, 2, np.float32))


def test_a_composite_without_its_function_is_an_error():
    body = '%y = stablehlo.composite "my.twice" %x {decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>'
    found = error_of(function(f"{body}\n return %y : tensor<4xf32>"))
    assert "stablehlo.composite: decomposition is no function of its operands and results" in found


def test_a_file_is_read_and_one_that_is_not_there_is_named(tmp_path: Path):
    path = tmp_path / "model.mlir"
    path.write_text(function("%y = stablehlo.negate %x : tensor<4xf32>\n return %y : tensor<4xf32>"))
    x = np.ones(4, np.float32)
    found = tenon.from_stablehlo(path)(x, np.ones((4, 8), np.float32), np.zeros((3, 1), np.int32))
    np.testing.assert_array_equal(found, -x)
    with pytest.raises(TenonError, match=r"from_stablehlo: cannot read .*missing\.mlir"):
        tenon.from_stablehlo(tmp_path / "missing.mlir")


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint32])
def test_integers_divided_by_zero_are_as_in_xla(dtype: type):
    info = np.iinfo(dtype)
    element = ("ui" if info.min == 0 else "i") + str(info.bits)
    type = f"tensor<6x{element}>"
    text = f"""func.func @f(%x: {type}, %y: {type}) -> ({type}, {type}, {type}) {{
      %q = stablehlo.divide %x, %y : {type}
      %r = stablehlo.remainder %x, %y : {type}
      %two = stablehlo.constant dense<2> : {type}
      %h = stablehlo.divide %x, %two : {type}
      return %q, %r, %h : {type}, {type}, {type} }}"""
    x = np.array([0, 5, info.max, info.min, info.min, 7]).astype(dtype)
    y = np.array([0, 0, 0, 0, -1 if info.min else 3, 2]).astype(dtype)
    module = parse_module(text, "<text>")
    PassManager("convert-stablehlo-to-graph").run(context(), module)
    # What is divided by a number is not asked whether that is 0.
    assert str(module).count("graph.select") == 2
    for backend in ("reference", "llvm"):
        quotient, remainder, half = run(text, x, y, backend=backend)
        ones = np.array(-1).astype(dtype)
        last = [info.min, 0] if info.min else [0, 0]
        np.testing.assert_array_equal(quotient, np.array([ones, ones, ones, ones, last[0], 3]).astype(dtype))
        np.testing.assert_array_equal(
            remainder, np.array([0, 5, info.max, info.min, last[1], 1]).astype(dtype)
        )
        np.testing.assert_array_equal(half, (x.astype(np.int64) / 2).astype(np.int64).astype(dtype))


def scatter_of_a_window(op: str, start: str, window: str, inserted: str = "[]") -> str:
    """Returns a program that updates a window of %x, of 6x8, which begins at a constant, or at -%i."""
    constant = f"stablehlo.constant dense<{start}>"
    at = f"%at = {constant if start else 'stablehlo.negate %i'} : tensor<2xi32>"
    dims = "[0, 1]" if window.count("x") == 2 else "[]"
    result = "%b" if op == "set" else "%c"
    combined = "" if op == "set" else f"%c = stablehlo.{op} %a, %b : tensor<f32>"
    numbers = f"update_window_dims = {dims}, inserted_window_dims = {inserted}"
    return f"""
      func.func @f(%x: tensor<6x8xf32>, %u: tensor<{window}>, %i: tensor<2xi32>) -> tensor<6x8xf32> {{
      {at}
      %y = "stablehlo.scatter"(%x, %at, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<
        {numbers}, scatter_dims_to_operand_dims = [0, 1]>}}> ({{
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        {combined}
        stablehlo.return {result} : tensor<f32>
      }}) : (tensor<6x8xf32>, tensor<2xi32>, tensor<{window}>) -> tensor<6x8xf32>
      return %y : tensor<6x8xf32> }}"""


def converted(text: str) -> str:
    module = parse_module(text, "<text>")
    PassManager("convert-stablehlo-to-graph").run(context(), module)
    return str(module)


@pytest.mark.parametrize("op", ["set", "add", "maximum"])
def test_a_window_at_a_known_place_is_updated_as_a_whole(op: str):
    text = scatter_of_a_window(op, "[1, 2]", "4x5xf32")
    assert "graph.scatter" not in converted(text) and "graph.select" not in converted(text)
    x, u = (RNG.normal(size=shape).astype(np.float32) for shape in ((6, 8), (4, 5)))
    wanted, part = x.copy(), x[1:5, 2:7]
    wanted[1:5, 2:7] = {"set": u, "add": part + u, "maximum": np.maximum(part, u)}[op]
    np.testing.assert_array_equal(run(text, x, u, np.zeros(2, np.int32)), wanted)


@pytest.mark.parametrize("op", ["set", "add"])
def test_an_element_at_a_place_outside_is_left_out(op: str):
    text = scatter_of_a_window(op, "", "f32", "[0, 1]")
    assert "graph.scatter" not in converted(text)
    x, u = RNG.normal(size=(6, 8)).astype(np.float32), np.float32(3.0)
    for i in ((0, 0), (5, 7), (6, 0), (0, 8), (-1, 3), (2, -(2**31))):
        wanted = x.copy()
        if 0 <= i[0] < 6 and 0 <= i[1] < 8:
            wanted[i] = u if op == "set" else x[i] + u
        given = -np.array(i, np.int64)
        np.testing.assert_array_equal(run(text, x, u, given.astype(np.int32), backend="llvm"), wanted)


def test_elements_of_a_window_that_lie_outside_are_left_out():
    text = scatter_of_a_window("set", "[4, 6]", "4x5xf32")
    assert "graph.scatter" in converted(text)
    x, u = (RNG.normal(size=shape).astype(np.float32) for shape in ((6, 8), (4, 5)))
    wanted = x.copy()
    wanted[4:, 6:] = u[:2, :2]
    np.testing.assert_array_equal(run(text, x, u, np.zeros(2, np.int32)), wanted)


def top_k_of(x: np.ndarray, element: str, k: int, is_composite: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns the greatest elements of the rows of an array, and their places."""
    source = f"tensor<{x.shape[0]}x{x.shape[1]}x{element}>"
    values, places = f"tensor<{x.shape[0]}x{k}x{element}>", f"tensor<{x.shape[0]}x{k}xi32>"
    own = f"chlo.top_k(%x, k = {k}) : {source} -> ({values}, {places})"
    composite = (
        f'stablehlo.composite "chlo.top_k" %x {{composite_attributes = {{k = {k} : i64}}, '
        f"decomposition = @impl}} : ({source}) -> ({values}, {places})"
    )

    def function(name: str, op: str) -> str:
        return f"""func.func {name}(%x: {source}) -> ({values}, {places}) {{
          %v:2 = {op}
          return %v#0, %v#1 : {values}, {places} }}
        """

    text = function("public @f", composite if is_composite else own)
    text += function("private @impl", own) if is_composite else ""
    # A few are looked for one after the other, more are sorted.
    assert ("graph.argsort" in converted(text)) == (k > 16)
    return run(text, x, backend="llvm")


@pytest.mark.parametrize("is_composite", [True, False])
@pytest.mark.parametrize("k", [1, 2, 16, 17])
def test_the_greatest_elements_come_in_order(k: int, is_composite: bool):
    x = RNG.integers(-3, 4, (5, 40)).astype(np.float32)
    x[0, ::5], x[1, 3], x[1, 30], x[2, 7], x[3] = -0.0, np.nan, -np.nan, np.inf, -np.inf
    values, places = top_k_of(x, "f32", k, is_composite)
    bits = x.view(np.int32).astype(np.int64)
    keys = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    wanted = np.argsort(-keys, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(values, np.take_along_axis(x, wanted, 1))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32])
def test_the_greatest_of_few_integers_are_all_of_them(dtype: type):
    info = np.iinfo(dtype)
    x = np.array([[info.min, info.max, info.min, 3, info.min, info.max]]).astype(dtype)
    values, places = top_k_of(x, ("ui" if info.min == 0 else "i") + str(info.bits), 6, False)
    np.testing.assert_array_equal(places, [[1, 5, 3, 0, 2, 4]])
    np.testing.assert_array_equal(values, x[:, places[0]])
