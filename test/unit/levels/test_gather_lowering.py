"""gather and dynamic_slice at every level and on every backend: fused, virtual, never outside."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.dialects import context, sched
from tenon.dialects.element_types import ELEMENT_TYPES
from tenon.dialects.graph.types import INTEGERS
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.semantics.numpy_types import dtype_of
from tenon.test.unit.everywhere import run_everywhere

Array = npt.NDArray[Any]

INDEX_TYPES = [str(type) for type in ELEMENT_TYPES if type in INTEGERS.types]
DTYPES = {str(type): dtype_of(type) for type in ELEMENT_TYPES}


def kernels(text: str) -> list[sched.KernelOp]:
    module = parse_module(text)
    PassManager("graph-pipeline,sched-pipeline").run(context(), module)
    return [op for op in module.ops if isinstance(op, sched.KernelOp)]


def extremes(type: str) -> Array:
    limits = np.iinfo(DTYPES[type])
    return np.array(
        [0, 3, 1, 1, limits.max, limits.min, 4, 5, 6, limits.max - 1, limits.min + 1], limits.dtype
    )


@pytest.mark.parametrize("type", INDEX_TYPES)
def test_indices_of_every_type_are_moved_into_range(type: str) -> None:
    text = f"""func.func @f(%x: tensor<5x7xf32>, %i: tensor<11x{type}>)
        -> (tensor<11x7xf32>, tensor<7x11xf32>) {{
      %a = graph.gather %x[%i] axes [0] : tensor<5x7xf32>[tensor<11x{type}>] -> tensor<11x7xf32>
      %b = graph.gather %x[%i] axes [1] : tensor<5x7xf32>[tensor<11x{type}>] -> tensor<11x5xf32>
      %p = graph.pad %b, %v low [0, 0] high [0, 2] : tensor<11x5xf32>
      %c = graph.permute %p [1, 0] : tensor<11x7xf32>
      func.return %a, %c : tensor<11x7xf32>, tensor<7x11xf32>
    }}""".replace("%p = graph.pad", "%v = graph.constant dense<0.0> : tensor<f32>\n%p = graph.pad")
    x, index = np.arange(35, dtype=np.float32).reshape(5, 7), extremes(type)
    rows, columns = run_everywhere(text, x, index)
    np.testing.assert_array_equal(rows, x[[min(max(int(at), 0), 4) for at in index]])
    np.testing.assert_array_equal(columns[:5].T, x.T[[min(max(int(at), 0), 6) for at in index]])


@pytest.mark.parametrize("type", list(DTYPES))
def test_elements_of_every_type_are_gathered(type: str) -> None:
    text = f"""func.func @f(%x: tensor<6x{type}>, %i: tensor<2x2xi64>) -> tensor<2x2x{type}> {{
      %y = graph.gather %x[%i] axes [0] : tensor<6x{type}>[tensor<2x2xi64>] -> tensor<2x2x{type}>
      func.return %y : tensor<2x2x{type}>
    }}"""
    x = np.array([0, 1, 1, 0, 1, 0]).astype(DTYPES[type])
    (found,) = run_everywhere(text, x, np.array([[5, 4], [0, 9]]))
    np.testing.assert_array_equal(found, x[[[5, 4], [0, 5]]])


def test_two_axes_are_gathered_by_indices_of_two_types() -> None:
    text = """func.func @f(%x: tensor<4x8x5xf32>, %i: tensor<3xi64>, %j: tensor<3xi8>) -> tensor<3x8xf32> {
      %y = graph.gather %x[%j, %i] axes [2, 0]
        : tensor<4x8x5xf32>[tensor<3xi8>, tensor<3xi64>] -> tensor<3x8xf32>
      func.return %y : tensor<3x8xf32>
    }"""
    x = np.arange(160, dtype=np.float32).reshape(4, 8, 5)
    i, j = np.array([3, -1, 2]), np.array([4, 2, 100], np.int8)
    (found,) = run_everywhere(text, x, i, j)
    np.testing.assert_array_equal(found, x[[3, 0, 2], :, [4, 2, 4]])


@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (1, 1)])
def test_indices_of_odd_shapes(shape: tuple[int, ...]) -> None:
    dims = "".join(f"{extent}x" for extent in shape)
    text = f"""func.func @f(%x: tensor<3x1xf32>, %i: tensor<{dims}i64>) -> tensor<{dims}1xf32> {{
      %y = graph.gather %x[%i] axes [0] : tensor<3x1xf32>[tensor<{dims}i64>] -> tensor<{dims}1xf32>
      func.return %y : tensor<{dims}1xf32>
    }}"""
    x = np.arange(3, dtype=np.float32).reshape(3, 1)
    (found,) = run_everywhere(text, x, np.full(shape, 2))
    np.testing.assert_array_equal(found, np.full((*shape, 1), 2))


def test_a_gather_reads_code_through_indices_that_are_code() -> None:
    text = """func.func @f(%x: tensor<16x24xf32>, %i: tensor<5xi32>) -> tensor<5x24xf32> {
      %s = graph.add %x, %x : tensor<16x24xf32>
      %two = graph.constant dense<2> : tensor<5xi32>
      %j = graph.mul %i, %two : tensor<5xi32>
      %y = graph.gather %s[%j] axes [0] : tensor<16x24xf32>[tensor<5xi32>] -> tensor<5x24xf32>
      func.return %y : tensor<5x24xf32>
    }"""
    assert len(kernels(text)) == 1
    x, i = np.arange(384, dtype=np.float32).reshape(16, 24), np.array([3, 7, -4, 9, 0], np.int32)
    (found,) = run_everywhere(text, x, i)
    np.testing.assert_array_equal(found, 2 * x[[6, 14, 0, 15, 0]])


def test_code_that_is_defined_before_its_index_is_computed_after_it() -> None:
    text = """func.func @f(%x: tensor<8xf32>, %i: tensor<4xi64>) -> tensor<4xf32> {
      %s = graph.neg %x : tensor<8xf32>
      %j = graph.add %i, %i : tensor<4xi64>
      %k = graph.gather %j[%i] axes [0] : tensor<4xi64>[tensor<4xi64>] -> tensor<4xi64>
      %y = graph.gather %s[%k] axes [0] : tensor<8xf32>[tensor<4xi64>] -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    x, i = np.arange(8, dtype=np.float32), np.array([3, 0, 2, 7])
    (found,) = run_everywhere(text, x, i)
    np.testing.assert_array_equal(found, -x[[7, 6, 4, 7]])


def test_costly_code_is_not_gathered_more_often_than_it_has_elements() -> None:
    text = """func.func @f(%x: tensor<8xf32>, %i: tensor<100xi64>) -> tensor<100xf32> {
      %s = graph.sqrt %x : tensor<8xf32>
      %y = graph.gather %s[%i] axes [0] : tensor<8xf32>[tensor<100xi64>] -> tensor<100xf32>
      func.return %y : tensor<100xf32>
    }"""
    assert len(kernels(text)) == 2
    assert len(kernels(text.replace("100x", "7x"))) == 1
    x, i = np.arange(8, dtype=np.float32), np.arange(100) % 9
    (found,) = run_everywhere(text, x, i)
    np.testing.assert_array_equal(found, np.sqrt(x)[np.minimum(i, 7)])


def test_a_gather_inside_a_reduction() -> None:
    text = """func.func @f(%x: tensor<50x16xf32>, %i: tensor<6x9xi64>) -> tensor<6x16xf32> {
      %y = graph.gather %x[%i] axes [0] : tensor<50x16xf32>[tensor<6x9xi64>] -> tensor<6x9x16xf32>
      %r = graph.reduce add %y axes [1] : tensor<6x9x16xf32> -> tensor<6x16xf32>
      func.return %r : tensor<6x16xf32>
    }"""
    assert len(kernels(text)) == 1
    x = np.arange(800, dtype=np.float32).reshape(50, 16)
    i = np.random.default_rng(0).integers(0, 50, (6, 9))
    (found,) = run_everywhere(text, x, i)
    np.testing.assert_array_equal(found, x[i].sum(1))


IOTA_TYPES = ["i8", "i32", "i64", "ui8", "f32", "f64"]


@pytest.mark.parametrize("type", IOTA_TYPES)
@pytest.mark.parametrize("index", ["i8", "i32", "i64", "ui8", "ui64"])
def test_what_is_computed_of_a_place_is_gathered_in_vectors(type: str, index: str) -> None:
    text = f"""func.func @f(%i: tensor<66x{index}>) -> tensor<66x{type}> {{
      %n = graph.iota axis 0 : tensor<5x{type}>
      %s = graph.add %n, %n : tensor<5x{type}>
      %y = graph.gather %s[%i] axes [0] : tensor<5x{type}>[tensor<66x{index}>] -> tensor<66x{type}>
      func.return %y : tensor<66x{type}>
    }}"""
    (kernel,) = kernels(text)
    assert any(isinstance(op, sched.AxisOp) and op.mapping.vector.data > 1 for op in kernel.walk())
    places = np.tile(extremes(index), 6)
    (found,) = run_everywhere(text, places)
    np.testing.assert_array_equal(found, [2 * min(max(int(at), 0), 4) for at in places])


def test_what_is_loaded_at_a_place_is_not() -> None:
    text = """func.func @f(%x: tensor<5xf32>, %i: tensor<66xi64>) -> tensor<66xf32> {
      %y = graph.gather %x[%i] axes [0] : tensor<5xf32>[tensor<66xi64>] -> tensor<66xf32>
      func.return %y : tensor<66xf32>
    }"""
    (kernel,) = kernels(text)
    assert all(op.mapping.vector.data == 1 for op in kernel.walk() if isinstance(op, sched.AxisOp))


def test_a_reduction_is_gathered() -> None:
    text = """func.func @f(%x: tensor<50x16xf32>, %i: tensor<6xi64>) -> tensor<6xf32> {
      %r = graph.reduce max %x axes [1] : tensor<50x16xf32> -> tensor<50xf32>
      %y = graph.gather %r[%i] axes [0] : tensor<50xf32>[tensor<6xi64>] -> tensor<6xf32>
      func.return %y : tensor<6xf32>
    }"""
    x = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)
    i = np.array([49, 3, 3, 7, -9, 99])
    (found,) = run_everywhere(text, x, i)
    np.testing.assert_array_equal(found, x.max(1)[[49, 3, 3, 7, 0, 49]])


def test_a_row_that_is_gathered_is_read_in_vectors() -> None:
    text = """func.func @f(%x: tensor<50x64xf32>, %i: tensor<9xi64>) -> tensor<9x64xf32> {
      %y = graph.gather %x[%i] axes [0] : tensor<50x64xf32>[tensor<9xi64>] -> tensor<9x64xf32>
      func.return %y : tensor<9x64xf32>
    }"""
    (kernel,) = kernels(text)
    assert [op.mapping.vector.data for op in kernel.walk() if isinstance(op, sched.AxisOp)] == [1, 8]
    columns = text.replace("[0]", "[1]").replace("9x64xf32", "9x50xf32")
    (kernel,) = kernels(columns)
    assert [op.mapping.vector.data for op in kernel.walk() if isinstance(op, sched.AxisOp)] == [1, 1]


@pytest.mark.parametrize("type", INDEX_TYPES)
def test_a_box_is_moved_so_that_it_fits(type: str) -> None:
    text = f"""func.func @f(%x: tensor<6x20xf32>, %i: tensor<{type}>, %j: tensor<i64>) -> tensor<2x17xf32> {{
      %y = graph.dynamic_slice %x[%i, %j] sizes [2, 17] : tensor<6x20xf32>[tensor<{type}>, tensor<i64>]
      func.return %y : tensor<2x17xf32>
    }}"""
    x = np.arange(120, dtype=np.float32).reshape(6, 20)
    run = {way: tenon.compile(text, backend=way) for way in ("reference", "llvm", "opencl")}
    for start in extremes(type):
        row = min(max(int(start), 0), 4)
        for column in (-(2**63), 2, 3, 4, 2**63 - 1):
            first = min(max(column, 0), 3)
            for way, compiled in run.items():
                found = compiled(x, np.array(start), np.array(column))
                np.testing.assert_array_equal(found, x[row : row + 2, first : first + 17], way)


def test_a_whole_slice_and_a_slice_of_nothing() -> None:
    text = """func.func @f(%x: tensor<3x4xf32>, %i: tensor<i64>, %s: tensor<f32>)
        -> (tensor<3x4xf32>, tensor<0x4xf32>, tensor<f32>) {
      %a = graph.dynamic_slice %x[%i, %i] sizes [3, 4] : tensor<3x4xf32>[tensor<i64>, tensor<i64>]
      %b = graph.dynamic_slice %x[%i, %i] sizes [0, 4] : tensor<3x4xf32>[tensor<i64>, tensor<i64>]
      %c = graph.dynamic_slice %s[] sizes [] : tensor<f32>[]
      func.return %a, %b, %c : tensor<3x4xf32>, tensor<0x4xf32>, tensor<f32>
    }"""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    whole, nothing, scalar = run_everywhere(text, x, np.array(7), np.array(3, np.float32))
    np.testing.assert_array_equal(whole, x)
    assert nothing.shape == (0, 4) and scalar == 3


def test_an_index_that_is_a_reduction_is_combined_in_the_kernel_that_gathers() -> None:
    text = """func.func @f(%x: tensor<6x33xf32>, %w: tensor<33xf32>) -> (tensor<6xf32>, tensor<6xf32>) {
      %best = graph.arg_reduce max %x axis 1 : tensor<6x33xf32> -> tensor<6xi64>
      %rows = graph.iota axis 0 : tensor<6xi64>
      %most = graph.gather %x[%rows, %best] axes [0, 1]
        : tensor<6x33xf32>[tensor<6xi64>, tensor<6xi64>] -> tensor<6xf32>
      %weight = graph.gather %w[%best] axes [0] : tensor<33xf32>[tensor<6xi64>] -> tensor<6xf32>
      %scaled = graph.mul %most, %weight : tensor<6xf32>
      func.return %most, %scaled : tensor<6xf32>, tensor<6xf32>
    }"""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(6, 33)).astype(np.float32), rng.normal(size=33).astype(np.float32)
    most, scaled = run_everywhere(text, x, w)
    np.testing.assert_array_equal(most, x.max(1))
    np.testing.assert_array_equal(scaled, x.max(1) * w[x.argmax(1)])


def test_rows_that_are_gathered_are_contracted() -> None:
    text = """func.func @f(%table: tensor<50x12xi32>, %i: tensor<7xi64>, %w: tensor<12x9xi32>)
        -> tensor<7x9xi32> {
      %rows = graph.gather %table[%i] axes [0] : tensor<50x12xi32>[tensor<7xi64>] -> tensor<7x12xi32>
      %y = graph.contract %rows, %w maps [affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
        : tensor<7x12xi32>, tensor<12x9xi32> -> tensor<7x9xi32>
      func.return %y : tensor<7x9xi32>
    }"""
    rng = np.random.default_rng(0)
    table, w = rng.integers(-9, 9, (50, 12), np.int32), rng.integers(-9, 9, (12, 9), np.int32)
    i = np.array([49, 0, 7, -3, 99, 7, 1])
    (found,) = run_everywhere(text, table, i, w)
    np.testing.assert_array_equal(found, table[np.clip(i, 0, 49)] @ w)


def test_the_greatest_elements_are_a_sort_a_slice_and_a_gather() -> None:
    text = """func.func @f(%x: tensor<4x21xf32>) -> (tensor<4x3xf32>, tensor<4x3xi64>) {
      %p = graph.argsort %x axis 1 descending : tensor<4x21xf32>
      %first = graph.slice %p offsets [0, 0] sizes [4, 3] strides [1, 1] : tensor<4x21xi64>
      %rows = graph.iota axis 0 : tensor<4x3xi64>
      %top = graph.gather %x[%rows, %first] axes [0, 1]
        : tensor<4x21xf32>[tensor<4x3xi64>, tensor<4x3xi64>] -> tensor<4x3xf32>
      func.return %top, %first : tensor<4x3xf32>, tensor<4x3xi64>
    }"""
    x = np.random.default_rng(0).normal(size=(4, 21)).astype(np.float32)
    top, places = run_everywhere(text, x)
    np.testing.assert_array_equal(top, -np.sort(-x, 1)[:, :3])
    np.testing.assert_array_equal(places, np.argsort(-x, 1, kind="stable")[:, :3])


def test_rows_are_gathered_in_a_loop_by_its_counter() -> None:
    text = """func.func @f(%x: tensor<5x8xf32>, %i: tensor<5xi64>) -> tensor<8xf32> {
      %zero = graph.constant dense<0.0> : tensor<8xf32>
      %y = graph.scan %n = 5 (%s = %zero) : (tensor<8xf32>) -> (tensor<8xf32>) {
        %at = graph.gather %i[%n] axes [0] : tensor<5xi64>[tensor<i64>] -> tensor<i64>
        %row = graph.gather %x[%at] axes [0] : tensor<5x8xf32>[tensor<i64>] -> tensor<8xf32>
        %next = graph.sub %row, %s : tensor<8xf32>
        graph.yield %next : tensor<8xf32>
      }
      func.return %y : tensor<8xf32>
    }"""
    x, i = np.arange(40, dtype=np.float32).reshape(5, 8), np.array([3, 9, 0, -1, 2])
    (found,) = run_everywhere(text, x, i)
    expected = np.zeros(8, np.float32)
    for at in i:
        expected = x[min(max(at, 0), 4)] - expected
    np.testing.assert_array_equal(found, expected)
