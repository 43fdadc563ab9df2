"""scatter, cumulate, sort, argsort, search_sorted and threefry at every level and on every backend."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tenon.dialects import context, sched
from tenon.dialects.element_types import ELEMENT_TYPES, is_float
from tenon.dialects.graph.types import INTEGERS, NUMBERS
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.planning.own.sorting import (
    bucket_sort,
    digit_sort,
    few_values,
    network_sort,
    scratch,
    vector_sort,
)
from tenon.semantics.numpy_types import dtype_of
from tenon.test.unit.everywhere import run_everywhere
from tenon.test.unit.threefry_vectors import VECTORS
from xdsl.dialects.builtin import i32

Array = npt.NDArray[Any]

TYPES = {str(type): dtype_of(type) for type in ELEMENT_TYPES}
NUMBER_TYPES = [str(type) for type in ELEMENT_TYPES if type in NUMBERS.types]
INDEX_TYPES = [str(type) for type in ELEMENT_TYPES if type in INTEGERS.types]
FLOAT_TYPES = [str(type) for type in ELEMENT_TYPES if is_float(type)]
KINDS = ["add", "mul", "max", "min"]


def tensor(shape: tuple[int, ...], type: str) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{type}>"


def values(type: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Values with repetitions; floats have zeros of both signs, infinities and NaN."""
    rng, dtype = np.random.default_rng(seed), TYPES[type]
    if type in FLOAT_TYPES:
        edges = np.array([0.0, -0.0, 1.5, -1.5, 2.0, np.inf, -np.inf, np.nan, 0.25, 7.0])
        return edges[rng.integers(0, len(edges), shape)].astype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(dtype)
    limits = np.iinfo(dtype)
    edges = np.array([0, 1, 2, 3, 5, limits.max, limits.min, limits.max - 1], dtype)
    return edges[rng.integers(0, len(edges), shape)]


def indices(type: str, shape: tuple[int, ...], extent: int, seed: int = 0) -> Array:
    """Indices that repeat, and some out of range."""
    rng, limits = np.random.default_rng(seed), np.iinfo(TYPES[type])
    edges = [*range(extent), *range(extent), extent, limits.max, limits.min, -1 if limits.min else limits.max]
    return np.array(edges, limits.dtype)[rng.integers(0, len(edges), shape)]


def run_op(op: str, result: str, *inputs: tuple[Array, str]) -> Array:
    """Runs one op on inputs %a, %b, ... of the given types."""
    names = "abcdef"
    arguments = ", ".join(f"%{name}: {type}" for name, (_, type) in zip(names, inputs, strict=False))
    text = f"func.func @f({arguments}) -> {result} {{\n%r = graph.{op}\nfunc.return %r : {result}\n}}"
    (found,) = run_everywhere(text, *(array for array, _ in inputs))
    return found


@pytest.mark.parametrize("type", list(TYPES))
@pytest.mark.parametrize("kind", ["set", *KINDS])
def test_scatter_of_every_type(kind: str, type: str) -> None:
    if kind != "set" and type not in NUMBER_TYPES:
        return
    s, i, u = tensor((7, 5), type), tensor((9,), "i64"), tensor((9, 5), type)
    run_op(
        f"scatter {kind} %a[%b], %c axes [0] : {s}[{i}], {u}",
        s,
        (values(type, (7, 5)), s),
        (indices("i64", (9,), 7), i),
        (values(type, (9, 5), 1), u),
    )


def scheduled(text: str) -> str:
    """Returns the `sched` module that a `graph` function becomes."""
    module = parse_module(text)
    PassManager("graph-pipeline,sched-pipeline").run(context(), module)
    return str(module)


@pytest.mark.parametrize("type", ["f64", "bf16", "i64", "i1"])
@pytest.mark.parametrize("kind", ["set", "add"])
def test_scatter_of_one_number(kind: str, type: str) -> None:
    """The number is written in the kernel, as a broadcast scalar or as a constant of all updates."""
    if kind != "set" and type not in NUMBER_TYPES:
        return
    s, i, u = tensor((7, 5), type), tensor((9,), "i64"), tensor((9, 5), type)
    number = "true" if type == "i1" else "1.5" if type in FLOAT_TYPES else "3"
    source, index = values(type, (7, 5)), indices("i64", (9,), 7)
    update = np.full((9, 5), 1.0 if number == "true" else float(number)).astype(TYPES[type])
    expected = run_op(
        f"scatter {kind} %a[%b], %c axes [0] : {s}[{i}], {u}", s, (source, s), (index, i), (update, u)
    )
    scalar = f"tensor<{type}>"
    for made in (
        f"%u = graph.constant dense<{number}> : {u}",
        f"%n = graph.constant dense<{number}> : {scalar}\n%u = graph.broadcast %n : {scalar} -> {u}",
    ):
        text = (
            f"func.func @f(%a: {s}, %b: {i}) -> {s} {{\n{made}\n"
            f"%r = graph.scatter {kind} %a[%b], %u axes [0] : {s}[{i}], {u}\nfunc.return %r : {s}\n}}"
        )
        (found,) = run_everywhere(text, source, index)
        assert found.tobytes() == expected.tobytes()


COUNTS = """
func.func @f(%i: tensor<9xi64>) -> tensor<9xf32> {{
  %zeros = graph.constant dense<0.0> : tensor<9xf32>
  %u = graph.constant dense<{updates}> : tensor<9xf32>
  %r = graph.scatter add %{source}[%i], %u axes [0] : tensor<9xf32>[tensor<9xi64>], tensor<9xf32>
  func.return %r : tensor<9xf32>
}}
"""


def test_updates_of_one_number_have_no_buffer() -> None:
    text = scheduled(COUNTS.format(updates="1.0", source="zeros"))
    assert "@f_0(%zeros: memref<9xf32>)" in text, "what is updated is filled"
    assert "@f_1(%i: memref<9xi64>, %r: memref<9xf32>)" in text
    assert "sched.constant" not in text


def test_updates_of_several_numbers_have_a_buffer() -> None:
    numbers = ", ".join(f"{number}.0" for number in range(9))
    text = scheduled(COUNTS.format(updates=f"[{numbers}]", source="zeros"))
    assert text.count("sched.constant") == 1


def test_one_constant_is_what_is_updated_and_what_with() -> None:
    """The buffer is that of the source: the updates take nothing away from it."""
    text = COUNTS.format(updates="1.0", source="u")
    assert "@f_0(%u: memref<9xf32>)" in scheduled(text) and "sched.constant" not in scheduled(text)
    (found,) = run_everywhere(text, np.array([0, 0, 3, 9, -1, 8, 8, 8, 1]))
    np.testing.assert_array_equal(found, np.array([3, 2, 1, 2, 1, 1, 1, 1, 4], np.float32))


def test_scatter_of_windows_of_many_axes() -> None:
    s, i, u = tensor((3, 2, 1, 2, 1, 2), "f32"), tensor((4,), "i32"), tensor((4, 2, 1, 2, 1, 2), "f32")
    run_op(
        f"scatter add %a[%b], %c axes [0] : {s}[{i}], {u}",
        s,
        (values("f32", (3, 2, 1, 2, 1, 2)), s),
        (indices("i32", (4,), 3), i),
        (values("f32", (4, 2, 1, 2, 1, 2), 1), u),
    )


@pytest.mark.parametrize("type", INDEX_TYPES)
def test_scatter_by_indices_of_every_type(type: str) -> None:
    s, i, u = tensor((6,), "f32"), tensor((3, 8), type), tensor((3, 8), "f32")
    index = indices(type, (3, 8), 6)
    updates = np.arange(24, dtype=np.float32).reshape(3, 8)
    found = run_op(
        f"scatter set %a[%b], %c axes [0] : {s}[{i}], {u}",
        s,
        (np.full(6, -1, np.float32), s),
        (index, i),
        (updates, u),
    )
    expected = np.full(6, -1, np.float32)
    for at, value in zip(index.flat, updates.flat, strict=True):
        if 0 <= int(at) < 6:
            expected[int(at)] = value
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("source", "shape", "axes"),
    [
        ((4, 3, 128), (5,), [0]),
        ((4, 3, 128), (5,), [1]),
        ((4, 3, 6), (5,), [2]),
        ((4, 3, 72), (2, 2), [1, 0]),
        ((4, 3, 6), (5,), [2, 0, 1]),
        ((4, 3), (), [0]),
        ((1, 1), (1, 1), [1]),
        ((4, 3), (0,), [0]),
        ((4, 0), (5,), [0]),
        ((0, 3), (5,), [0]),
        ((4, 100), (5,), [0]),
    ],
)
def test_scatter_of_odd_shapes(source: tuple[int, ...], shape: tuple[int, ...], axes: list[int]) -> None:
    rest = tuple(extent for axis, extent in enumerate(source) if axis not in axes)
    s, i, u = tensor(source, "f32"), tensor(shape, "i32"), tensor((*shape, *rest), "f32")
    names = "".join(f"%{'cdef'[number]}, " for number in range(len(axes)))[:-2]
    rng = np.random.default_rng(0)
    run_op(
        f"scatter add %a[{names}], %b axes {axes} : {s}[{', '.join([i] * len(axes))}], {u}",
        s,
        (rng.normal(size=source).astype(np.float32), s),
        (rng.normal(size=(*shape, *rest)).astype(np.float32), u),
        *((indices("i32", shape, source[axis], axis), i) for axis in axes),
    )


@pytest.mark.parametrize("type", NUMBER_TYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_cumulate_of_every_type(kind: str, type: str) -> None:
    t = tensor((3, 6, 5), type)
    run_op(f"cumulate {kind} %a axis 1 : {t}", t, (values(type, (3, 6, 5)), t))


@pytest.mark.parametrize("words", ["", " reverse", " exclusive", " reverse exclusive"])
@pytest.mark.parametrize("shape", [(3, 5, 128), (4, 9), (1,), (0,), (3, 0), (2, 70)])
def test_cumulate_of_every_shape(shape: tuple[int, ...], words: str) -> None:
    t = tensor(shape, "f32")
    for axis in range(len(shape)):
        array = np.random.default_rng(axis).normal(size=shape).astype(np.float32)
        run_op(f"cumulate {KINDS[axis]} %a axis {axis}{words} : {t}", t, (array, t))


def test_a_running_sum_of_negative_zeros_is_negative() -> None:
    t = tensor((2, 8), "f32")
    found = run_op(f"cumulate add %a axis 0 : {t}", t, (np.full((2, 8), -0.0, np.float32), t))
    assert np.signbit(found).all()
    found = run_op(f"cumulate add %a axis 1 exclusive : {t}", t, (np.full((2, 8), -0.0, np.float32), t))
    assert np.signbit(found).tolist() == [[False, *[True] * 7]] * 2


@pytest.mark.parametrize("type", list(TYPES))
@pytest.mark.parametrize("descending", ["", " descending"])
def test_sort_of_every_type(type: str, descending: str) -> None:
    t, p = tensor((3, 17), type), tensor((3, 17), "i64")
    array = values(type, (3, 17))
    found = run_op(f"sort %a axis 1{descending} : {t}", t, (array, t))
    where = run_op(f"argsort %a axis 1{descending} : {t}", p, (array, t))
    picked = np.take_along_axis(array, where, 1)
    assert picked.tobytes() == found.tobytes()
    for row in where:
        assert sorted(row.tolist()) == list(range(17))


@pytest.mark.parametrize("shape", [(1,), (2,), (0,), (3, 0), (0, 3), (5, 1), (2, 33, 3), (100,), (1, 64)])
def test_sort_of_every_shape(shape: tuple[int, ...]) -> None:
    t, p = tensor(shape, "i32"), tensor(shape, "i64")
    array = np.random.default_rng(0).integers(-5, 5, shape).astype(np.int32)
    for axis in range(len(shape)):
        found = run_op(f"sort %a axis {axis} : {t}", t, (array, t))
        np.testing.assert_array_equal(found, np.sort(array, axis, kind="stable"))
        found = run_op(f"argsort %a axis {axis} : {t}", p, (array, t))
        np.testing.assert_array_equal(found, np.argsort(array, axis, kind="stable"))


@pytest.mark.parametrize("type", list(TYPES))
@pytest.mark.parametrize("side", ["left", "right"])
def test_search_sorted_of_every_type(type: str, side: str) -> None:
    for extent in (0, 21):
        s, v, p = tensor((extent,), type), tensor((3, 5), type), tensor((3, 5), "i64")
        elements = values(type, (extent,))
        key = elements.astype(np.float64) if type in FLOAT_TYPES else elements
        elements = elements[np.argsort(key, kind="stable")]
        wanted = values(type, (3, 5), 1)
        found = run_op(f"search_sorted {side} %a, %b : {s}, {v}", p, (elements, s), (wanted, v))
        if type in ("f64", "f32", "f16") or type not in FLOAT_TYPES:
            np.testing.assert_array_equal(found, np.searchsorted(elements, wanted, side))


@pytest.mark.parametrize("extent", [1, 2, 3, 9, 64])
@pytest.mark.parametrize("shape", [(), (11,), (13,), (2, 3, 5), (0, 4)])
def test_searches_of_every_extent(extent: int, shape: tuple[int, ...]) -> None:
    s, v, p = tensor((extent,), "f32"), tensor(shape, "f32"), tensor(shape, "i64")
    elements = np.repeat(np.arange(extent), 2)[:extent].astype(np.float32)
    wanted = np.random.default_rng(0).integers(-2, extent + 2, shape).astype(np.float32)
    for side in ("left", "right"):
        found = run_op(f"search_sorted {side} %a, %b : {s}, {v}", p, (elements, s), (wanted, v))
        np.testing.assert_array_equal(found, np.searchsorted(elements, wanted, side))


@pytest.mark.parametrize("numbers", [0, 1, 5, 9])
def test_a_search_for_nan_and_zeros(numbers: int) -> None:
    """NaN is found before and behind those that are there, beside other values of its block."""
    s, v, p = tensor((9,), "f64"), tensor((10,), "f64"), tensor((10,), "i64")
    elements = np.full(9, np.nan)
    elements[:numbers] = [-np.inf, -0.0, 0.0, 0.0, 2.0, 3.0, np.inf, np.inf, np.inf][:numbers]
    wanted = np.array([np.nan, 0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 2.0, np.nan, 5.0])
    for side in ("left", "right"):
        found = run_op(f"search_sorted {side} %a, %b : {s}, {v}", p, (elements, s), (wanted, v))
        np.testing.assert_array_equal(found, np.searchsorted(elements, wanted, side))


def test_a_search_of_elements_in_no_order_is_the_same_everywhere() -> None:
    s, p = tensor((37,), "f32"), tensor((37,), "i64")
    array = values("f32", (37,))
    run_op(f"search_sorted left %a, %b : {s}, {s}", p, (array, s), (array[::-1].copy(), s))


def test_a_tensor_is_searched_for_its_own_elements() -> None:
    s, p = tensor((9,), "i16"), tensor((9,), "i64")
    found = run_op(f"search_sorted left %a, %a : {s}, {s}", p, (np.arange(9, dtype=np.int16), s))
    assert found.tolist() == list(range(9))


@pytest.mark.parametrize("rounds,counter,key,expected", VECTORS)
def test_threefry_gives_the_published_words_everywhere(
    rounds: int, counter: Array, key: Array, expected: Array
) -> None:
    k = tensor((4,), "ui32")
    found = run_op(f"threefry %a, %b rounds {rounds} : {k}, {k}", k, (key, k), (counter, k))
    np.testing.assert_array_equal(found, expected)
    c = tensor((4, 19), "ui32")
    many = np.repeat(counter[:, None], 19, 1)
    found = run_op(f"threefry %a, %b rounds {rounds} : {k}, {c}", c, (key, k), (many, c))
    np.testing.assert_array_equal(found, np.repeat(expected[:, None], 19, 1))


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 12])
@pytest.mark.parametrize("shape", [(4, 3, 8), (4, 0), (4, 1)])
def test_threefry_of_other_rounds_and_shapes(rounds: int, shape: tuple[int, ...]) -> None:
    k, c = tensor((4,), "ui32"), tensor(shape, "ui32")
    rng = np.random.default_rng(0)
    run_op(
        f"threefry %a, %b rounds {rounds} : {k}, {c}",
        c,
        (rng.integers(0, 2**32, 4).astype(np.uint32), k),
        (rng.integers(0, 2**32, shape).astype(np.uint32), c),
    )


def kernels(text: str) -> list[sched.KernelOp]:
    module = parse_module(text)
    PassManager("graph-pipeline,sched-pipeline").run(context(), module)
    return [op for op in module.ops if isinstance(op, sched.KernelOp)]


def test_counters_are_encrypted_in_vectors() -> None:
    k, c = tensor((4,), "ui32"), tensor((4, 64), "ui32")
    (kernel,) = kernels(f"""func.func @f(%k: {k}, %c: {c}) -> {c} {{
      %r = graph.threefry %k, %c rounds 20 : {k}, {c}
      func.return %r : {c}
    }}""")
    assert [op.mapping.vector.data for op in kernel.walk() if isinstance(op, sched.AxisOp)] == [8]


def test_operands_that_are_computed_have_buffers_of_their_own() -> None:
    text = """func.func @f(%x: tensor<40xf32>) -> (tensor<40xf32>, tensor<40xi64>, tensor<40xf32>) {
      %n = graph.neg %x : tensor<40xf32>
      %s = graph.sort %n axis 0 : tensor<40xf32>
      %a = graph.argsort %n axis 0 : tensor<40xf32>
      %g = graph.gather %x[%a] axes [0] : tensor<40xf32>[tensor<40xi64>] -> tensor<40xf32>
      %c = graph.cumulate add %g axis 0 : tensor<40xf32>
      %u = graph.scatter set %c[%a], %s axes [0] : tensor<40xf32>[tensor<40xi64>], tensor<40xf32>
      %m = graph.mul %u, %c : tensor<40xf32>
      %p = graph.search_sorted left %s, %m : tensor<40xf32>, tensor<40xf32>
      func.return %m, %p, %s : tensor<40xf32>, tensor<40xi64>, tensor<40xf32>
    }"""
    run_everywhere(text, np.random.default_rng(0).normal(size=40).astype(np.float32))


def test_a_scatter_over_what_is_not_needed_afterwards_is_in_place() -> None:
    text = """func.func @f(%x: tensor<8xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) -> tensor<8xf32> {
      %n = graph.neg %x : tensor<8xf32>
      %r = graph.scatter add %n[%i], %u axes [0] : tensor<8xf32>[tensor<3xi64>], tensor<3xf32>
      func.return %r : tensor<8xf32>
    }"""
    module = parse_module(text)
    PassManager("graph-pipeline,convert-graph-to-sched").run(context(), module)
    assert not any(isinstance(op, sched.TransferOp) for op in module.walk())
    (found,) = run_everywhere(
        text, np.arange(8, dtype=np.float32), np.array([1, 1, 9]), np.ones(3, np.float32)
    )
    np.testing.assert_array_equal(found, [0, 1, -2, -3, -4, -5, -6, -7])


def sort_as_long_rows(
    monkeypatch: pytest.MonkeyPatch, most_of_a_group: int = 1 << 12, by_digits: bool = False
) -> None:
    """Sorts rows by groups or by digits, however short they are."""
    monkeypatch.setattr(network_sort, "MOST_EXTENT", 0)
    monkeypatch.setattr(vector_sort, "MOST_NBYTES", 0)
    monkeypatch.setattr(vector_sort, "suits", lambda types, vector_nbytes: not by_digits)
    monkeypatch.setattr(few_values, "LEAST_EXTENT", 64)
    monkeypatch.setattr(bucket_sort, "MOST_OF_A_GROUP", most_of_a_group)


def sort_in_both_ways(array: Array, type: str, axis: int, order: str) -> None:
    x = tensor(array.shape, type)
    run_op(f"sort %a axis {axis}{order} : {x}", x, (array, x))
    run_op(f"argsort %a axis {axis}{order} : {x}", tensor(array.shape, "i64"), (array, x))


SORTED_TYPES = ["f32", "f64", "f16", "i32", "ui64", "i8"]
"""One or two for each kind of number and of lanes."""


@pytest.mark.parametrize("order", ["", " descending"])
@pytest.mark.parametrize("type", list(TYPES))
def test_rows_are_sorted_side_by_side(type: str, order: str) -> None:
    """One row more than there are lanes."""
    sort_in_both_ways(values(type, (17, 9)), type, 1, order)


@pytest.mark.parametrize("type", SORTED_TYPES)
def test_fewer_rows_than_lanes_are_sorted_along_another_axis_than_the_last(type: str) -> None:
    sort_in_both_ways(values(type, (3, 7, 2)), type, 0, "")


@pytest.mark.parametrize("extent", [1, 2, 3, 8, 31])
def test_networks_of_every_extent(extent: int) -> None:
    x = tensor((extent, 16), "i32")
    array = np.random.default_rng(0).integers(-50, 50, (extent, 16)).astype(np.int32)
    found = run_op(f"sort %a axis 0 : {x}", x, (array, x))
    np.testing.assert_array_equal(found, np.sort(array, 0))


def test_rows_side_by_side_that_are_no_local_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "LOCAL_NBYTES_LIMIT", 64)
    x = tensor((2, 17, 9), "f32")
    run_op(f"sort %a axis 2 : {x}", x, (values("f32", (2, 17, 9)), x))


@pytest.mark.parametrize("order", ["", " descending"])
@pytest.mark.parametrize("type", SORTED_TYPES)
def test_single_rows_are_sorted_with_vectors(type: str, order: str) -> None:
    """Two that lie apart, of a tile that is not full, or of two."""
    sort_in_both_ways(values(type, (70, 2)), type, 0, order)


def test_a_row_of_a_tile_and_a_little_more() -> None:
    sort_in_both_ways(values("f32", (259,)), "f32", 0, "")


@pytest.mark.parametrize("order", ["", " descending"])
@pytest.mark.parametrize("type", SORTED_TYPES)
@pytest.mark.parametrize("by_digits", [False, True])
def test_long_rows_are_sorted_by_parts(
    type: str, order: str, by_digits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By groups of up to 40, each of which has some of the values; or by digits."""
    sort_as_long_rows(monkeypatch, 40, by_digits)
    sort_in_both_ways(values(type, (97, 2)), type, 0, order)


@pytest.mark.parametrize("type", SORTED_TYPES)
def test_groups_of_numbers_of_many_sizes(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floats of all exponents, with infinity and NaN: those far below the greatest have a key in common."""
    sort_as_long_rows(monkeypatch, 24)
    rng, dtype = np.random.default_rng(0), TYPES[type]
    if type in FLOAT_TYPES:
        array = (rng.normal(size=150) * np.exp(rng.normal(size=150) * 2)).astype(dtype)
        array[rng.integers(0, 150, 12)] = np.array([np.inf, -np.inf, np.nan, -0.0, 0.0, 1e-30] * 2).astype(
            dtype
        )
    else:
        array = rng.integers(0, 100, 150).astype(dtype) - dtype.type(30 * (type[0] == "i"))
    sort_and_argsort(array, type)


@pytest.mark.parametrize("count", [16, 17])
@pytest.mark.parametrize("type", ["i64", "f32"])
def test_a_key_that_is_there_more_often_than_a_group_has_places(
    type: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of equal numbers, which are sorted; and of two numbers, after which all are sorted by digits."""
    sort_as_long_rows(monkeypatch, 16)
    others = np.random.default_rng(0).permutation(60) * (1 << 20)
    often = 59 << 20
    array = np.concatenate([others[:30], np.full(count - 1, often), others[30:], [2, often]])
    sort_in_both_ways(array.astype(TYPES[type]), type, 0, "")
    array[32] += 1
    sort_in_both_ways(array.astype(TYPES[type]), type, 0, "")


def test_the_first_key_is_there_more_often_than_a_group_has_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """No group is before it: the first one begins where all begin."""
    sort_as_long_rows(monkeypatch, 16)
    array = np.random.default_rng(0).normal(size=80).astype(np.float32)
    array[::4] = -np.inf
    sort_in_both_ways(array, "f32", 0, "")


@pytest.mark.parametrize("place", [0, 30, 59])
def test_an_integer_that_is_half_of_a_row_has_a_key_of_its_own(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least, one in the middle and the greatest, next to others that would have its key."""
    sort_as_long_rows(monkeypatch, 16)
    array = np.random.default_rng(0).permutation(np.repeat(np.arange(60), 2))
    array[::2] = place
    sort_in_both_ways(array.astype(np.int32), "i32", 0, "")


@pytest.mark.parametrize("type", ["f32", "f64", "i32", "ui64", "bf16", "i8"])
@pytest.mark.parametrize("bits", [2, 11])
def test_long_rows_are_sorted_by_digits_of_other_sizes(
    bits: int, type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two bits, most windows leave too much to insertion, and many more are sorted by."""
    sort_as_long_rows(monkeypatch, by_digits=True)
    monkeypatch.setattr(digit_sort, "LEAST_BITS", bits)
    monkeypatch.setattr(digit_sort, "MOST_BITS", bits)
    shape = (2, 70)
    x = tensor(shape, type)
    dtype = TYPES[type]
    array = np.random.default_rng(0).integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)
    array = array.reshape(shape)
    run_op(f"sort %a axis 1 : {x}", x, (array, x))
    run_op(f"argsort %a axis 1 : {x}", tensor(shape, "i64"), (array, x))


@pytest.mark.parametrize(
    ("extent", "nbits", "is_float", "digits"),
    [
        (64, 8, False, (1, 8)),
        (1 << 20, 16, False, (2, 8)),
        (1000, 32, False, (2, 8)),
        (100000, 64, False, (2, 11)),
        ((1 << 20) + 1, 32, False, (3, 11)),
        (1 << 14, 32, True, (2, 11)),
        ((1 << 14) + 1, 32, True, (3, 11)),
        (1000, 64, True, (3, 8)),
        (100000, 64, True, (3, 10)),
        (1 << 40, 64, True, (3, 11)),
    ],
)
def test_windows_are_as_long_as_the_number_of_elements_asks_for(
    extent: int, nbits: int, is_float: bool, digits: tuple[int, int]
) -> None:
    assert digit_sort.digits_of(extent, nbits, is_float) == digits


def sort_and_argsort(array: Array, type: str) -> None:
    x = tensor(array.shape, type)
    for order in ("", " descending"):
        found = run_op(f"sort %a axis 0{order} : {x}", x, (array, x))
        where = run_op(f"argsort %a axis 0{order} : {x}", tensor(array.shape, "i64"), (array, x))
        assert array[where].tobytes() == found.tobytes()


@pytest.mark.parametrize("type", ["f32", "i64"])
def test_rows_in_order_and_in_the_opposite_order(type: str) -> None:
    """Of elements that are equal and of others; more than are compared at once, and two of them exchanged."""
    strict = np.arange(300).astype(TYPES[type])
    exchanged = strict[::-1].copy()
    exchanged[-2:] = exchanged[:-3:-1]
    for array in (strict // 2, (strict // 2)[::-1].copy(), strict[:65][::-1].copy(), exchanged):
        sort_and_argsort(array, type)


def test_rows_of_zeros_and_nan_are_in_order() -> None:
    zeros = np.tile(np.array([0.0, -0.0], np.float32), 40)
    sort_and_argsort(zeros, "f32")
    zeros[0] = 1
    sort_and_argsort(zeros, "f32")
    numbers = np.full(80, np.nan, np.float32)
    numbers[0] = -1
    sort_and_argsort(numbers, "f32")
    sort_and_argsort(numbers[::-1].copy(), "f32")


@pytest.mark.parametrize("count", [1, 2, 8, 9])
@pytest.mark.parametrize("type", ["i32", "f64", "ui8"])
def test_few_values_are_counted(type: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are few, and one more; the first one is the least of them, and one in between."""
    sort_as_long_rows(monkeypatch)
    monkeypatch.setattr(few_values, "LEAST_SHARE", 16)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, count, (2, 131))
    rows[:, :2] = 0, min(1, count - 1)
    rows[:, -count:] = range(count)
    rows[1, 0] = count // 2
    x = tensor((2, 131), type)
    for order in ("", " descending"):
        run_op(f"sort %a axis 1{order} : {x}", x, (np.arange(count).astype(TYPES[type])[rows], x))


@pytest.mark.parametrize("type", ["f32", "f16", "i1"])
def test_few_values_of_which_some_are_equal_are_counted(type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sort_as_long_rows(monkeypatch)
    monkeypatch.setattr(few_values, "LEAST_SHARE", 4)
    x = tensor((90,), type)
    run_op(f"sort %a axis 0 : {x}", x, (values(type, (90,)), x))


def test_values_that_have_one_place_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers whose products with the multiplier are neighbours are looked for in one place first."""
    sort_as_long_rows(monkeypatch)
    monkeypatch.setattr(few_values, "LEAST_SHARE", 4)
    inverse = pow(few_values.MULTIPLIERS[i32], -1, 1 << 32)
    # Of the first place of the table, and of the last one, after which the first one comes.
    products = np.concatenate([np.arange(16), (1 << 32) - 1 - np.arange(16)]).astype(np.uint64)
    found = (products * np.uint64(inverse) & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)
    array = found[np.random.default_rng(0).integers(0, 32, 150)]
    x = tensor((150,), "i32")
    run_op(f"sort %a axis 0 : {x}", x, (array ^ np.int32(-1 << 31), x))
    array[0] = found[-1]
    run_op(f"sort %a axis 0 : {x}", x, (array ^ np.int32(-1 << 31), x))


@pytest.mark.parametrize("type", ["i32", "i64", "f32", "f64"])
def test_numbers_that_differ_below_the_highest_digits_are_put_in_order(
    type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few of them by insertion; many by all digits, of which the highest were sorted by once already."""
    sort_as_long_rows(monkeypatch, by_digits=True)
    dtype = TYPES[type]
    bits = np.dtype(f"i{dtype.itemsize}")
    highest = np.arange(-40, 40).astype(bits) << (8 * dtype.itemsize - 8)
    array = np.random.default_rng(0).permutation(highest)
    array[7], array[30] = array[50] + 1, array[49] + 2
    sort_and_argsort(array.view(dtype), type)
    array[:] = np.random.default_rng(1).integers(1, 1 << 7, 80)
    array[3] = 5 << (8 * dtype.itemsize - 4)
    sort_and_argsort(array.view(dtype), type)


@pytest.mark.parametrize("type", ["i32", "f64"])
def test_rows_in_order_stay_as_they_are(type: str) -> None:
    """Among them rows of equal elements; but not one whose last element is out of order."""
    array = np.arange(65).astype(TYPES[type])
    sort_and_argsort(array, type)
    sort_and_argsort(np.full_like(array, 3), type)
    array[64] = -1
    sort_and_argsort(array, type)


@pytest.mark.parametrize("type", ["i32", "f64", "f16", "bf16"])
def test_rows_in_the_opposite_order_are_turned_around(type: str) -> None:
    """Among them rows some of whose elements are equal; but not one that ends out of this order."""
    array = (np.arange(80)[::-1] // 3).astype(TYPES[type])
    sort_and_argsort(array, type)
    array[79] = 1
    sort_and_argsort(array, type)


@pytest.mark.parametrize("type", ["f32", "f64", "f16"])
def test_rows_in_the_opposite_order_keep_equal_elements_of_other_bits_in_theirs(type: str) -> None:
    dtype = TYPES[type]
    array = np.arange(40, -40, -1).astype(dtype)
    array[:3] = np.nan
    sort_and_argsort(array, type)
    array[40:44] = 0.0, -0.0, 0.0, -0.0
    array[44:] = -1
    sort_and_argsort(array, type)
    array[40:44] = 0.0
    array.view(f"u{dtype.itemsize}")[1] += 1
    sort_and_argsort(array, type)


@pytest.mark.parametrize(("shape", "type"), [(9, "f32"), (64, "i64"), (71, "f32")])
def test_rows_in_orders_that_slow_other_sorts_down(type: str, shape: int) -> None:
    """Organ pipes, saw teeth, both ends in turns, and one element out of place."""
    count = np.arange(shape)
    for array in (
        np.minimum(count, shape - 1 - count),
        count % 5,
        np.concatenate([count[::2], count[1::2][::-1]]),
        np.concatenate([count[1:], count[:1]]),
        np.concatenate([count[-1:], count[:-1]]),
    ):
        sort_and_argsort(array.astype(TYPES[type]), type)


@pytest.mark.parametrize("type", ["f32", "f64", "f16"])
def test_usual_nan_come_last(type: str) -> None:
    """Alone, beside zeros of two signs, and beside NaN of a sign."""
    array = np.random.default_rng(0).standard_normal(75).astype(TYPES[type])
    array[::4] = np.nan
    sort_and_argsort(array, type)
    array[5:9] = 0.0, -0.0, -0.0, 0.0
    sort_and_argsort(array, type)
    array[10] = -array[0]
    sort_and_argsort(array, type)


@pytest.mark.parametrize("type", ["f32", "f64", "bf16"])
def test_zeros_of_two_signs_and_nan_keep_their_order_and_bits(type: str) -> None:
    dtype = TYPES[type]
    array = values(type, (71,), 3)
    bits = array.view(f"u{dtype.itemsize}")
    bits[5::9] = np.array(np.nan, dtype).view(bits.dtype) | np.arange(1, 9).astype(bits.dtype)
    bits[6::9] |= np.array(1 << (8 * dtype.itemsize - 1), bits.dtype)
    sort_and_argsort(array, type)


def test_elements_of_one_digit_stay_where_they_are() -> None:
    """Nothing is moved by a digit that all have; with one element more of another one, everything is."""
    x = tensor((65,), "i32")
    for last in (7, 7 + (1 << 8), 7 - (1 << 24)):
        array = np.full(65, 7, np.int32)
        array[64] = last
        run_op(f"argsort %a axis 0 : {x}", tensor((65,), "i64"), (array, x))
