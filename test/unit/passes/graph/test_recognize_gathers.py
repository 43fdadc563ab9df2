"""Sums that pick one element are gathers, and give what they gave."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.dialects import context, sched
from tenon.dialects.element_types import ELEMENT_TYPES
from tenon.dialects.graph.types import INTEGERS, NUMBERS
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.semantics.numpy_types import dtype_of
from tenon.test.bits import are_same
from tenon.test.unit.everywhere import run_everywhere

Array = npt.NDArray[Any]

DTYPES = {str(type): dtype_of(type) for type in ELEMENT_TYPES}


def lookup(element_type: str, index_type: str, kind: str = "add", zero: str = "0") -> str:
    return f"""func.func @f(%x: tensor<3x7x{element_type}>, %i: tensor<3x1x{index_type}>)
        -> tensor<3x{element_type}> {{
      %n = graph.iota axis 1 : tensor<3x7x{index_type}>
      %at = graph.broadcast %i : tensor<3x1x{index_type}> -> tensor<3x7x{index_type}>
      %hit = graph.eq %n, %at : tensor<3x7x{index_type}>
      %zero = graph.constant dense<{zero}> : tensor<3x7x{element_type}>
      %picked = graph.select %hit, %x, %zero : tensor<3x7x{element_type}>
      %y = graph.reduce {kind} %picked axes [1] : tensor<3x7x{element_type}> -> tensor<3x{element_type}>
      func.return %y : tensor<3x{element_type}>
    }}"""


def check(text: str, *inputs: Array) -> None:
    """The default pipeline gathers; every way gives what the program says."""
    module = parse_module(text)
    PassManager("graph-pipeline").run(context(), module)
    names = [op.name for op in module.walk()]
    assert "graph.gather" in names and "graph.reduce" not in names
    before = tenon.compile(text, backend="reference")(*inputs)
    (after,) = run_everywhere(text, *inputs)
    assert are_same(after, before)


@pytest.mark.parametrize("type", [str(type) for type in ELEMENT_TYPES if type in NUMBERS.types])
def test_elements_of_every_type_are_picked(type: str) -> None:
    is_integer = DTYPES[type].kind in "iu"
    if is_integer:
        limits = np.iinfo(DTYPES[type])
        x = np.array([[limits.min, 1, 2, 3, 4, 5, limits.max]] * 3, DTYPES[type])
    else:
        x = np.array([[-0.0, np.nan, np.inf, -np.inf, 1.5, 0.0, -2.0]] * 3).astype(DTYPES[type])
    for at in ([0, 1, 2], [3, 4, 5], [6, 7, -1]):
        check(lookup(type, "i32", zero="0" if is_integer else "0.0"), x, np.array(at, np.int32)[:, None])


@pytest.mark.parametrize("type", [str(type) for type in ELEMENT_TYPES if type in INTEGERS.types])
def test_an_index_of_every_type_picks_nothing_where_it_is_out_of_range(type: str) -> None:
    limits = np.iinfo(DTYPES[type])
    x = np.arange(1, 22, dtype=np.float32).reshape(3, 7)
    for at in ([0, 6, 7], [limits.max, limits.min, 3]):
        check(lookup("f32", type, zero="0.0"), x, np.array(at, DTYPES[type])[:, None])


def test_booleans_are_picked_by_or() -> None:
    x = np.array([[True, False] * 3 + [True]] * 3)
    check(lookup("i1", "i64", "or", "false"), x, np.array([[0], [1], [9]]))


def test_negative_zero_as_the_filler_changes_nothing() -> None:
    x = np.full((3, 7), -0.0, np.float32)
    check(lookup("f32", "i64", zero="-0.0"), x, np.array([[0], [1], [9]]))


def test_a_table_is_looked_up_in_one_kernel_and_in_vectors() -> None:
    text = """func.func @f(%table: tensor<100x32xf32>, %i: tensor<9xi64>) -> tensor<9x32xf32> {
      %n = graph.iota axis 1 : tensor<9x100x32xi64>
      %column = graph.reshape %i : tensor<9xi64> -> tensor<9x1x1xi64>
      %at = graph.broadcast %column : tensor<9x1x1xi64> -> tensor<9x100x32xi64>
      %hit = graph.eq %n, %at : tensor<9x100x32xi64>
      %rows = graph.broadcast %table : tensor<100x32xf32> -> tensor<9x100x32xf32>
      %zero = graph.constant dense<0.0> : tensor<9x100x32xf32>
      %picked = graph.select %hit, %rows, %zero : tensor<9x100x32xf32>
      %y = graph.reduce add %picked axes [1] : tensor<9x100x32xf32> -> tensor<9x32xf32>
      func.return %y : tensor<9x32xf32>
    }"""
    table = np.random.default_rng(0).normal(size=(100, 32)).astype(np.float32)
    check(text, table, np.array([0, 99, 100, -1, 5, 5, 50, 1 << 40, 7]))
    module = parse_module(text)
    PassManager("graph-pipeline,sched-pipeline").run(context(), module)
    (kernel,) = [op for op in module.ops if isinstance(op, sched.KernelOp)]
    assert [op.mapping.vector.data for op in kernel.walk() if isinstance(op, sched.AxisOp)] == [1, 8]


def test_an_index_that_is_computed_by_many_doublings_is_looked_through_once() -> None:
    doublings = "".join(f"%i{n + 1} = graph.add %i{n}, %i{n} : tensor<3x7xi32>\n" for n in range(3000))
    text = lookup("f32", "i32").replace(
        "%hit = graph.eq %n, %at",
        f"%i0 = graph.abs %at : tensor<3x7xi32>\n{doublings}%hit = graph.eq %n, %i3000",
    )
    module = parse_module(text)
    PassManager("recognize-gathers").run(context(), module)
    assert "graph.gather" in [op.name for op in module.walk()]
