"""Numbers that are computed of open extents, as jax writes them, are extents themselves."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError

HEAD = """func.func @f(%x: tensor<?x3xf32>{more}) -> {result} {{
  %two = stablehlo.constant dense<2> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %none = stablehlo.constant dense<0> : tensor<2xi32>
  %nothing = stablehlo.constant dense<0> : tensor<1xi32>
  %value = stablehlo.constant dense<7.0> : tensor<f32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %above = stablehlo.compare GE, %n, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%above, %n) {{error_message = "'n' = {{0}} from it"}}
      : (tensor<i1>, tensor<i32>) -> ()
"""

QUOTIENT = """
  %q = stablehlo.divide {x}, {y} : tensor<i32>
  %qx = stablehlo.sign {x} : tensor<i32>
  %qy = stablehlo.sign {y} : tensor<i32>
  %qs = stablehlo.compare NE, %qx, %qy, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %qr = stablehlo.remainder {x}, {y} : tensor<i32>
  %qn = stablehlo.compare NE, %qr, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %qb = stablehlo.and %qs, %qn : tensor<i1>
  %ql = stablehlo.subtract %q, %one : tensor<i32>
  %floor = stablehlo.select %qb, %ql, %q : tensor<i1>, tensor<i32>
"""

REMAINDER = """
  %r = stablehlo.remainder {x}, {y} : tensor<i32>
  %rn = stablehlo.compare NE, %r, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %rl = stablehlo.compare LT, %r, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %ry = stablehlo.compare LT, {y}, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %rs = stablehlo.compare NE, %rl, %ry, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %rb = stablehlo.and %rs, %rn : tensor<i1>
  %ra = stablehlo.add %r, {y} : tensor<i32>
  %floor = stablehlo.select %rb, %ra, %r : tensor<i1>, tensor<i32>
"""

COUNTED = """
  %t = stablehlo.reshape {size} : (tensor<i32>) -> tensor<1xi32>
  %z = stablehlo.dynamic_iota %t, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %z : tensor<?xf32> }}"""


def counted(made: str, size: str, x: str = "%n", y: str = "%two") -> str:
    """Returns a program whose result has so many elements as a number says."""
    head = HEAD.format(more="", result="tensor<?xf32>")
    less = """  %m = stablehlo.negate %n : tensor<i32>
    %less = stablehlo.subtract %n, %two : tensor<i32>
    %minus = stablehlo.negate %two : tensor<i32>"""
    return head + less + made.format(x=x, y=y) + COUNTED.format(size=size)


def error_of(text: str) -> str:
    with pytest.raises(TenonError) as caught:
        tenon.compile(text)
    return str(caught.value)


@pytest.mark.parametrize("backend", ["reference", "llvm"])
@pytest.mark.parametrize(
    ("made", "x", "y", "expected"),
    [
        (QUOTIENT, "%n", "%two", lambda n: n // 2),
        (QUOTIENT, "%m", "%two", lambda n: n - n // 2),
        (REMAINDER, "%n", "%two", lambda n: n % 2),
        (REMAINDER, "%m", "%two", lambda n: -n % 2),
        (REMAINDER, "%minus", "%n", lambda n: -2 % n),
    ],
)
def test_quotients_and_remainders_that_are_rounded_down_are_extents(backend, made, x, y, expected):
    text = counted(made, "%floor", x, y)
    if made is QUOTIENT and x == "%m":
        text = counted(made + "  %size = stablehlo.negate %floor : tensor<i32>", "%size", x, y)
    executable = tenon.compile(text, backend=backend)
    for n in (1, 2, 3, 4, 7, 8):
        assert executable(np.ones((n, 3), np.float32)).shape == (expected(n),)


@pytest.mark.parametrize(
    ("made", "x", "y"),
    [
        # Of which nobody knows the sign, by what may be 0, and where something else is selected.
        (QUOTIENT, "%less", "%two"),
        (REMAINDER, "%m", "%less"),
        (QUOTIENT.replace("NE, %qr", "EQ, %qr"), "%m", "%two"),
        (REMAINDER.replace("%rb, %ra, %r ", "%rb, %r, %ra "), "%m", "%two"),
    ],
)
def test_others_are_not(made: str, x: str, y: str):
    message = error_of(counted(made, "%floor", x, y))
    assert "stablehlo.dynamic_iota (operand 0 is known at run time only): 1" in message


PADDED = """
  %p = stablehlo.reshape {low} : (tensor<i32>) -> tensor<1xi32>
  %low = stablehlo.concatenate %p, %nothing, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %h = stablehlo.reshape {high} : (tensor<i32>) -> tensor<1xi32>
  %high = stablehlo.concatenate %h, %nothing, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %y = stablehlo.dynamic_pad %x, %value, %low, %high, %none
      : (tensor<?x3xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32> }}"""


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_how_much_is_put_around_may_depend_on_an_extent(backend: str):
    # Some before, so that there is an even number, and one less than that behind: it may be cut off.
    made = REMAINDER.format(x="%n", y="%two") + "  %back = stablehlo.subtract %floor, %one : tensor<i32>"
    head = HEAD.format(more="", result="tensor<?x3xf32>")
    executable = tenon.compile(head + made + PADDED.format(low="%floor", high="%back"), backend=backend)
    for n in (1, 2, 5, 8):
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        wanted = np.pad(x, ((1, 0), (0, 0)), constant_values=7) if n % 2 else x[:-1]
        np.testing.assert_array_equal(executable(x), wanted)


def test_how_much_is_put_around_has_a_limit():
    text = HEAD.format(more="", result="tensor<?x3xf32>") + PADDED.format(low="%n", high="%zero")
    assert "stablehlo.dynamic_pad (padding by n, which is known at run time only): 1" in error_of(text)


MOVED = """
  %starts = stablehlo.concatenate %begin, %nothing, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %rows = stablehlo.reshape %floor : (tensor<i32>) -> tensor<1xi32>
  %sizes = stablehlo.concatenate %rows, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %ends = stablehlo.{op} %starts, %sizes : tensor<2xi32>
  %y = stablehlo.real_dynamic_slice %x, %starts, %ends, {steps}
      : (tensor<?x3xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>
  return %y : tensor<?x3xf32> }}"""


def moved(op: str = "add", steps: str = "%ones", more: str = ", %begin: tensor<1xi32>") -> str:
    head = HEAD.format(more=more, result="tensor<?x3xf32>")
    return head + QUOTIENT.format(x="%n", y="%two") + MOVED.format(op=op, steps=steps)


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_a_slice_of_an_open_extent_may_begin_where_a_value_says(backend: str):
    executable = tenon.compile(moved(), backend=backend)
    for n in (1, 2, 5, 8):
        x = np.arange(3 * n, dtype=np.float32).reshape(n, 3)
        for begin in range(n - n // 2 + 1):
            found = executable(x, np.array([begin], np.int32))
            np.testing.assert_array_equal(found, x[begin : begin + n // 2])


def test_a_slice_that_ends_elsewhere_or_has_a_stride_is_an_error():
    assert "stablehlo.real_dynamic_slice (operand 1 is known at run time only): 1" in error_of(
        moved("multiply")
    )
    twos = "%twos = stablehlo.constant dense<2> : tensor<2xi32>\n  %nothing ="
    assert "stablehlo.real_dynamic_slice (a stride from where only a call tells): 1" in error_of(
        moved(steps="%twos").replace("%nothing =", twos)
    )
    wrong = moved().replace("%starts, %sizes : tensor<2xi32>", "%begin, %rows : tensor<1xi32>")
    wrong = wrong.replace("%x, %starts, %ends", "%x, %begin, %ends").replace(
        "tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x3xf32>\n  return",
        "tensor<1xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<?x3xf32>\n  return",
    )
    assert "stablehlo.real_dynamic_slice: starts, limits and strides do not fit tensor<?x3" in error_of(wrong)
