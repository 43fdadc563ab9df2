"""Indices that are elements of tensors, or values that are known as nothing else."""

from tenon.passes.indices.expressions import Axis, constant, element, opaque, variable
from xdsl.dialects.builtin import IndexType, TensorType, i64
from xdsl.ir import Block

BLOCK = Block(arg_types=[TensorType(i64, [8]), IndexType()])
TENSOR, VALUE = BLOCK.args


def test_an_element_is_between_0_and_its_last() -> None:
    i = Axis(8, "i")
    expr = element(TENSOR, (variable(i),), 4)
    assert (expr.low, expr.high) == (0, 4)
    assert expr.clamp(4) is expr and expr.clamp(3) != expr
    assert expr.has_elements() and (expr.floordiv(2) + 1).has_elements()
    assert not variable(i).has_elements()


def test_an_element_of_one_possible_place_is_0() -> None:
    assert element(TENSOR, (), 0) == constant(0) == element(TENSOR, (), -1)


def test_the_stride_is_known_along_axes_that_an_element_does_not_depend_on() -> None:
    i, j = Axis(8, "i"), Axis(16, "j")
    address = element(TENSOR, (variable(i),), 4) * 16 + variable(j)
    assert address.stride(j) == 1 and address.stride(i) is None
    assert address.axes() == [i, j]


def test_equal_elements_are_equal_expressions() -> None:
    i = Axis(8, "i")
    first, second = (element(TENSOR, (variable(i),), 4) for _ in range(2))
    assert first == second and hash(first) == hash(second) and first - second == constant(0)
    assert first != element(TENSOR, (variable(i),), 5)


def test_substitution_reaches_the_indices_of_an_element() -> None:
    i, j = Axis(8, "i"), Axis(16, "j")
    expr = element(TENSOR, (variable(i),), 4) * 3 + 1
    assert expr.substitute(lambda leaf: variable(j) + 2) == element(TENSOR, (variable(j) + 2,), 4) * 3 + 1


def test_an_opaque_value_may_be_anything_until_it_is_clamped() -> None:
    i = Axis(8, "i")
    expr = opaque(VALUE, (i,))
    assert expr.low == -(1 << 63) and expr.high == (1 << 63) - 1
    assert expr.stride(i) is None and expr.stride(Axis(4)) == 0 and expr.axes() == [i]
    clamped = expr.clamp(9)
    assert (clamped.low, clamped.high) == (0, 9) and clamped.stride(i) is None
    assert clamped.substitute(lambda leaf: constant(20)) == constant(9)
