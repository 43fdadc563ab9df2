"""What every executable does, on devices and in the interpreter."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.dialects.element_types import ELEMENT_TYPES, storage_type
from tenon.errors import CallError

BY_NAME = {str(type): type for type in ELEMENT_TYPES}

Build = Callable[..., tenon.Executable]

LAYER = """
func.func @layer(%x: tensor<5x7xf32>, %w: tensor<7x3xf32>, %b: tensor<3xf32>)
    -> (tensor<5x3xf32>, tensor<5xf32>) {
  %xw = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, \
affine_map<(m, n, k) -> (m, n)>] : tensor<5x7xf32>, tensor<7x3xf32> -> tensor<5x3xf32>
  %wide = graph.broadcast %b : tensor<3xf32> -> tensor<5x3xf32>
  %y = graph.add %xw, %wide : tensor<5x3xf32>
  %most = graph.reduce max %y axes [1] : tensor<5x3xf32> -> tensor<5xf32>
  func.return %y, %most : tensor<5x3xf32>, tensor<5xf32>
}
"""


def arrays(seed: int = 0) -> list[npt.NDArray[np.float32]]:
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape).astype(np.float32) for shape in ((5, 7), (7, 3), (3,))]


def check_layer(
    results: tuple[npt.NDArray[np.float32], ...],
    x: npt.NDArray[np.float32],
    w: npt.NDArray[np.float32],
    b: npt.NDArray[np.float32],
) -> None:
    y = x.astype(np.float64) @ w + b
    np.testing.assert_allclose(results[0], y, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(results[1], results[0].max(axis=1))


def test_arguments_go_in_order_and_by_name(build: Build):
    layer = build(LAYER)
    x, w, b = arrays()
    for results in (layer(x, w, b), layer(b=b, x=x, w=w), layer(x, b=b, w=w)):
        assert isinstance(results, tuple)
        check_layer(results, x, w, b)


def test_results_are_new_at_each_call(build: Build):
    layer = build(LAYER)
    first, second = layer(*arrays(0)), layer(*arrays(1))
    assert not any(np.may_share_memory(a, b) for a in first for b in second)
    check_layer(first, *arrays(0))
    check_layer(second, *arrays(1))
    first[0][:] = 0
    check_layer(layer(*arrays(0)), *arrays(0))


def test_the_same_arguments_give_the_same_bits(build: Build):
    layer = build(LAYER)
    first, second = layer(*arrays()), layer(*arrays())
    assert [array.tobytes() for array in first] == [array.tobytes() for array in second]


def test_arguments_are_left_as_they_are(build: Build):
    given = arrays()
    for array in given:
        array.flags.writeable = False
    build(LAYER)(*given)
    assert all((array == same).all() for array, same in zip(given, arrays(), strict=True))


def test_any_layout_of_an_argument_is_taken(build: Build):
    x, w, b = arrays()
    results = build(LAYER)(np.asfortranarray(x), w[::-1][::-1], np.repeat(b, 2)[::2])
    check_layer(results, x, w, b)


def test_results_go_where_they_are_asked_to(build: Build):
    layer = build(LAYER)
    out = np.zeros((5, 3), np.float32), np.zeros(5, np.float32)
    results = layer(*arrays(), out=out)
    assert results[0] is out[0] and results[1] is out[1]
    check_layer(out, *arrays())


SQUARE = """
func.func @square(%x: tensor<4xi32>) -> tensor<4xi32> {
  %y = graph.mul %x, %x : tensor<4xi32>
  func.return %y : tensor<4xi32>
}
"""


def test_one_result_is_an_array(build: Build):
    result = build(SQUARE)(np.array([1, -2, 3, 2**16], np.int32))
    assert isinstance(result, np.ndarray)
    assert result.tolist() == [1, 4, 9, 0]


def test_an_argument_may_be_where_the_result_goes(build: Build):
    memory = np.array([1, 2, 3, 4, 5], np.int32)
    build(SQUARE)(memory[:4], out=memory[1:])
    assert memory.tolist() == [1, 1, 4, 9, 16]


def test_no_result_is_an_empty_tuple(build: Build):
    assert build("func.func @f(%x: tensor<4xi32>) { func.return }")(np.zeros(4, np.int32)) == ()


def test_threads_share_an_executable(build: Build):
    layer = build(LAYER)

    def call(seed: int) -> None:
        check_layer(layer(*arrays(seed)), *arrays(seed))

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(call, range(64)))


def test_threads_share_a_device(build: Build):
    layer, square = build(LAYER), build(SQUARE)

    def call(seed: int) -> None:
        if seed % 2:
            check_layer(layer(*arrays(seed)), *arrays(seed))
        else:
            assert square(np.full(4, seed, np.int32)).tolist() == [seed * seed] * 4

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(call, range(32)))


def test_rank_0_is_a_rank(build: Build):
    norm = build("""
func.func @norm(%x: tensor<4xf32>, %scale: tensor<f32>) -> tensor<f32> {
  %square = graph.mul %x, %x : tensor<4xf32>
  %sum = graph.reduce add %square axes [0] : tensor<4xf32> -> tensor<f32>
  %y = graph.mul %sum, %scale : tensor<f32>
  func.return %y : tensor<f32>
}
""")
    for scale in (np.float32(2), np.array(2, np.float32)):
        result = norm(np.array([1, 2, 3, 4], np.float32), scale)
        assert isinstance(result, np.ndarray)
        assert (result.shape, result.dtype, float(result)) == ((), np.float32, 60)


def test_extents_may_be_0(build: Build):
    reduce = build("""
func.func @reduce(%x: tensor<3x0xf32>, %none: tensor<0x3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<0xf32>) {
  %sum = graph.reduce add %x axes [1] : tensor<3x0xf32> -> tensor<3xf32>
  %max = graph.reduce max %x axes [1] : tensor<3x0xf32> -> tensor<3xf32>
  %empty = graph.reduce add %none axes [1] : tensor<0x3xf32> -> tensor<0xf32>
  func.return %sum, %max, %empty : tensor<3xf32>, tensor<3xf32>, tensor<0xf32>
}
""")
    total, most, empty = reduce(np.zeros((3, 0), np.float32), np.zeros((0, 3), np.float32))
    assert total.tolist() == [0, 0, 0]
    assert most.tolist() == [-np.inf] * 3
    assert empty.shape == (0,)


def test_a_result_may_be_an_argument_a_constant_or_another_result(build: Build):
    same = build("""
func.func @same(%x: tensor<2xf32>)
    -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>) {
  %c = graph.constant dense<[1.5, 2.5]> : tensor<2xf32>
  %t = graph.constant dense<[true, false]> : tensor<2xi1>
  %y = graph.add %x, %c : tensor<2xf32>
  func.return %x, %c, %y, %y, %t : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi1>
}
""")
    x = np.array([10, 20], np.float32)
    results = same(x)
    assert [result.tolist() for result in results] == [
        [10, 20],
        [1.5, 2.5],
        [11.5, 22.5],
        [11.5, 22.5],
        [True, False],
    ]
    for i, one in enumerate((x, *results)):
        assert not any(np.may_share_memory(one, other) for other in results[i:])
    results[1][:] = 0
    assert same(x)[1].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("element_type", "dtype"),
    [
        ("f64", np.float64),
        ("f32", np.float32),
        ("f16", np.float16),
        ("bf16", ml_dtypes.bfloat16),
        ("i64", np.int64),
        ("i32", np.int32),
        ("i16", np.int16),
        ("i8", np.int8),
        ("ui8", np.uint8),
    ],
)
def test_every_element_type_crosses_the_border(device: Backend, element_type: str, dtype: npt.DTypeLike):
    text = f"""
func.func @double(%x: tensor<3x{element_type}>) -> (tensor<3x{element_type}>, tensor<3xi1>) {{
  %y = graph.add %x, %x : tensor<3x{element_type}>
  %less = graph.lt %x, %y : tensor<3x{element_type}>
  func.return %y, %less : tensor<3x{element_type}>, tensor<3xi1>
}}
"""
    if not device.device.supports(storage_type(BY_NAME[element_type])):
        with pytest.raises(tenon.TenonError, match=rf"\b{element_type}\b"):
            tenon.compile(text, backend=device)
        return
    with tenon.compile(text, backend=device) as double:
        y, less = double(np.array([0, 1, 100], dtype))
    assert y.dtype == dtype
    with np.errstate(over="ignore"):
        assert y.tolist() == (np.array([0, 1, 100], dtype) + np.array([0, 1, 100], dtype)).tolist()
    assert less.dtype == np.bool_
    assert less.tolist() == (np.array([0, 1, 100], dtype) < y).tolist()


def test_booleans_go_in_and_out(build: Build):
    both = build("""
func.func @both(%a: tensor<4xi1>, %b: tensor<4xi1>) -> (tensor<4xi1>, tensor<4xi1>) {
  %c = graph.and %a, %b : tensor<4xi1>
  %d = graph.not %a : tensor<4xi1>
  func.return %c, %d : tensor<4xi1>, tensor<4xi1>
}
""")
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    c, d = both(a, b)
    assert c.tolist() == [True, False, False, False]
    assert d.tolist() == [False, False, True, True]
    assert {*c.view(np.uint8).tolist(), *d.view(np.uint8).tolist()} == {0, 1}


def wrong_calls() -> dict[str, Callable[[tenon.Executable], object]]:
    x, w, b = arrays()
    return {
        "layer: takes 3 arguments (x, w, b), found 1": lambda layer: layer(x),
        "layer: there is no argument 'bias' (arguments: x, w, b)": lambda layer: layer(x, w, bias=b),
        "layer: argument 'b' is missing": lambda layer: layer(x, w=w),
        "layer: argument 'x' is given twice": lambda layer: layer(x, w, x=x),
        "argument 'w': dtype float64, expected float32": lambda layer: layer(x, w.astype(np.float64), b),
        "argument 'w': shape [3, 7], expected [7, 3]": lambda layer: layer(x, w.T, b),
        "argument 'b': expected a numpy array, found list (hint: np.asarray(..., dtype=float32))": (
            lambda layer: layer(x, w, [1.0, 2.0, 3.0])
        ),
        "layer: out has 1 array, expected 2": lambda layer: layer(x, w, b, out=np.zeros(5, np.float32)),
    }


@pytest.mark.parametrize("message", wrong_calls())
def test_a_wrong_call_says_the_same_everywhere(build: Build, message: str):
    layer = build(LAYER)
    with pytest.raises(CallError) as caught:
        wrong_calls()[message](layer)
    assert str(caught.value) == message
    check_layer(layer(*arrays()), *arrays())


def test_a_closed_executable_cannot_be_called(build: Build):
    with build(LAYER) as layer:
        check_layer(layer(*arrays()), *arrays())
    with pytest.raises(CallError, match="layer: the executable is closed"):
        layer(*arrays())


CHAIN = """
func.func @chain(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = graph.contract %x, %x maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, \
affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %b = graph.contract %a, %x maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, \
affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %c = graph.contract %b, %x maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, \
affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}
"""


def test_temporaries_are_reused_between_calls_and_not_mixed_up(build: Build):
    chain = build(CHAIN)
    for seed in (0, 1, 0):
        x = (np.random.default_rng(seed).standard_normal((64, 64)) / 8).astype(np.float32)
        wide = x.astype(np.float64)
        np.testing.assert_allclose(chain(x), wide @ wide @ wide @ wide, rtol=1e-3, atol=1e-4)
