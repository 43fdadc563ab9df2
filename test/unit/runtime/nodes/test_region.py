from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tenon.backends.interface import BufferLoc, StridedLoc
from tenon.errors import CallError
from tenon.runtime.nodes.padding import Padding
from tenon.runtime.nodes.region import Region, region_of, whole_region, without_padding
from tenon.runtime.nodes.tensor_node import TensorNode


def node_of(*dims: int, dtype: str = "f4", padding: Padding | None = None) -> TensorNode:
    return TensorNode.create(dtype, dims=dims, padding=padding, memory_mode="on_device")


def elements(region: Region, memory: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns the elements of a region in the memory of the node."""
    dtype, shape = region.type.dtype, region.type.shape
    return np.ndarray(shape, dtype, memory.data, region.offset, region.strides)


def memory_of(node: TensorNode) -> npt.NDArray[Any]:
    return np.arange(node.size).astype(node.dtype).reshape(node.dims)


@given(data=st.data(), shape=hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
def test_regions_are_what_numpy_selects(data: st.DataObject, shape: tuple[int, ...]):
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
    node = node_of(*shape)
    memory = memory_of(node)
    expected = memory[index]
    region = region_of(node, index, "test")
    assert region.type.shape == np.shape(expected)
    assert region.nbytes == np.asarray(expected).nbytes
    if np.size(expected):
        np.testing.assert_array_equal(elements(region, memory), expected)
    if region.is_contiguous and region.nbytes:
        start = region.offset // 4
        np.testing.assert_array_equal(
            memory.reshape(-1)[start : start + np.size(expected)].reshape(np.shape(expected)), expected
        )
    else:
        assert not np.size(expected) or not np.asarray(expected).flags.c_contiguous
    assert not region.is_whole or np.array_equal(np.unique(expected), np.unique(memory))


@given(
    data=st.data(),
    margins=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=3),
)
def test_indices_count_without_padding(data: st.DataObject, margins: list[tuple[int, int]]):
    shape = tuple(data.draw(st.integers(1, 3)) for _ in margins)
    node = node_of(*shape, padding=Padding.of(*margins))
    memory = memory_of(node)
    index = data.draw(hnp.basic_indices(shape, allow_newaxis=False))
    inner = memory[
        tuple(slice(left, left + extent) for (left, _), extent in zip(margins, shape, strict=True))
    ]
    region = region_of(node, index, "test")
    if np.size(inner[index]):
        np.testing.assert_array_equal(elements(region, memory), inner[index])


def test_no_index_selects_all_but_the_padding():
    node = node_of(2, 3, padding=Padding.of((1, 0), (0, 1)))
    region = region_of(node, None, "test")
    assert (region.type.shape, region.offset, region.strides) == ((2, 3), 16, (16, 4))
    assert not region.is_contiguous and not region.is_whole
    whole = whole_region(node)
    assert (whole.type.shape, whole.offset, whole.strides) == ((3, 4), 0, (16, 4))
    assert whole.is_contiguous and whole.is_whole
    assert without_padding(node) == (slice(1, 3), slice(0, 3))
    assert without_padding(node_of(2, 3)) == (slice(None), slice(None))


@pytest.mark.parametrize(
    "index", [None, ..., (), slice(None), (slice(0, 9), slice(0, 9)), slice(None, None, -1)]
)
def test_all_elements_are_the_whole_in_any_order(index: Any):
    assert region_of(node_of(2, 3), index, "test").is_whole


@pytest.mark.parametrize("index", [0, slice(1), (..., 0), slice(2, 2), slice(None, None, 2)])
def test_some_elements_are_not_the_whole(index: Any):
    assert not region_of(node_of(2, 3), index, "test").is_whole


def test_what_has_no_elements_is_whole_and_contiguous():
    region = region_of(node_of(0, 3), None, "test")
    assert region.is_whole and region.is_contiguous
    assert region.nbytes == 0


def test_huge_nodes_need_no_memory_to_be_indexed():
    region = region_of(node_of(1 << 20, 1 << 20, dtype="f8"), (-1, -2), "test")
    assert region.offset == ((1 << 40) - 2) * 8
    assert region.type.shape == ()


def test_regions_lie_where_their_node_does():
    region = region_of(node_of(4, 5), (slice(None, None, -2), 1), "test")
    assert region.at(BufferLoc(3, 64)) == BufferLoc(3, 64 + 64)
    assert region.strided(BufferLoc(3, 64)) == StridedLoc(BufferLoc(3, 128), (2,), (-40,), 4)


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (2, r"who: index 2 of shape \[2, 3\]: index 2 is out of bounds for axis 0 with size 2"),
        ((0, 0, 0), r"who: index \(0, 0, 0\) of shape \[2, 3\]: too many indices"),
        (slice(0, 1, 0), r"who: index slice\(0, 1, 0\) of shape \[2, 3\]: slice step cannot be zero"),
        (False, "who: index False is not made of integers and slices"),
        ((0, None), r"who: index \(0, None\) is not made of integers and slices"),
        ([0], r"who: index \[0\] is not made of integers and slices"),
    ],
)
def test_other_indices_are_refused(index: Any, text: str):
    with pytest.raises(CallError, match=text):
        region_of(node_of(2, 3), index, "who")


def test_slices_of_other_things_than_integers_are_refused():
    with pytest.raises(CallError, match=r"who: index slice\('a', None, None\)"):
        region_of(node_of(2, 3), slice("a", None), "who")


def test_arrays_that_fit_are_taken_as_plain_ones():
    region = region_of(node_of(2), None, "who")
    array = np.zeros(2, np.float32).view(np.recarray)
    checked = region.check(array, "who")
    assert type(checked) is np.ndarray
    assert np.shares_memory(checked, array)
    assert region_of(node_of(), None, "who").check(np.float32(3), "who").shape == ()


WRONG = [
    (np.zeros(2), "who: dtype float64, expected float32"),
    (np.zeros(2, ">f4"), r"who: dtype >f4, expected float32 \(the byte order is not the machine's\)"),
    (np.zeros((2, 1), "f4"), r"who: shape \[2, 1\], expected \[2\]"),
    ([0.0, 0.0], "who: expected a numpy array, found list"),
    (np.ma.masked_less(np.zeros(2, "f4"), 1), "who: expected a numpy array, found MaskedArray"),
]


@pytest.mark.parametrize(("array", "text"), WRONG)
def test_arrays_that_do_not_fit_are_refused(array: Any, text: str):
    region = region_of(node_of(2), None, "who")
    with pytest.raises(CallError, match=text):
        region.check(array, "who")
    with pytest.raises(CallError, match=text):
        region.check_target(array, "who")


def test_targets_are_writeable_arrays():
    region = region_of(node_of(), None, "who")
    with pytest.raises(CallError, match="who: expected a numpy array, found float32"):
        region.check_target(np.float32(1), "who")
    read_only = np.zeros((), "f4")
    read_only.flags.writeable = False
    with pytest.raises(CallError, match="who: the array is not writeable"):
        region.check_target(read_only, "who")
    target = np.zeros((), "f4")
    assert np.shares_memory(region.check_target(target, "who"), target)
