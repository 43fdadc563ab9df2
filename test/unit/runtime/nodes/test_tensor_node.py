import gc
import logging
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.dialects import memory_modes as modes
from tenon.dialects.element_types import ui8
from tenon.dialects.memory_modes import known_virtual
from tenon.errors import MemoryModeError, TenonError
from tenon.runtime.nodes.delayed_dtype import DefaultDtype, InferredDtype, SpecifiedDtype
from tenon.runtime.nodes.padding import Padding
from tenon.runtime.nodes.tensor_identifiers import IdentStyle
from tenon.runtime.nodes.tensor_node import TensorNode
from tenon.runtime.nodes.tensor_node_host import TensorNodeHost
from tenon.runtime.nodes.tensor_node_memory import TensorNodeMemory
from xdsl.dialects.builtin import f32, i1

F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
BF16 = np.dtype(ml_dtypes.bfloat16)


def make(**options: Any) -> TensorNode:
    return TensorNode.create(**{"dims": (2, 3), "label": "w", **options})


def test_a_node_knows_its_extents_and_sizes():
    node = make(dtype="float16")
    assert (node.dims, node.dims_without_padding, node.size, node.nbytes) == ((2, 3), (2, 3), 6, 12)
    scalar = make(dims=())
    assert (scalar.dims, scalar.size, scalar.nbytes) == ((), 1, 4)
    assert make(dims=(0, 5)).nbytes == 0


def test_padding_adds_to_the_extents():
    node = make(padding=Padding.of((1, 2), (0, 1)))
    assert (node.dims, node.dims_without_padding, node.size) == ((5, 4), (2, 3), 20)
    assert node.padding == Padding.of((1, 2), (0, 1))


def test_lazy_extents_and_padding_are_computed_once_when_needed():
    calls: list[str] = []

    def dims() -> list[int]:
        calls.append("dims")
        return [2, 3]

    def padding() -> Padding:
        calls.append("padding")
        return Padding.of((1, 0), (0, 0))

    node = make(dims=dims, padding=padding)
    assert calls == []
    assert node.dims == node.dims == (3, 3)
    assert node.dims_without_padding == (2, 3)
    assert sorted(calls) == ["dims", "padding"]


def test_wrong_extents_are_an_error_at_once_where_they_are_known():
    with pytest.raises(TenonError, match=r"tensor node w: axis 1 of \[2, -3\] has a negative extent"):
        make(dims=(2, -3))
    with pytest.raises(TenonError, match=r"padding: 1 axes have margins, dims \[2, 3\] 2"):
        make(padding=Padding.of((1, 1)))
    node = make(dims=lambda: (-1,))
    with pytest.raises(TenonError, match=r"tensor node w: axis 0 of \[-1\] has a negative extent"):
        _ = node.size


def test_extents_that_need_themselves_are_an_error():
    nodes: list[TensorNode] = []
    nodes.append(make(dims=lambda: nodes[0].dims_without_padding))
    with pytest.raises(TenonError, match="tensor node w: dims depends on itself"):
        _ = nodes[0].dims


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, F32),
        ("bfloat16", BF16),
        (np.int8, np.dtype(np.int8)),
        (i1, np.dtype(np.bool_)),
        (ui8, np.dtype(np.uint8)),
        (DefaultDtype(F64), F64),
        (SpecifiedDtype(F16, "because"), F16),
        (InferredDtype((lambda: F16, lambda: F32)), F32),
    ],
)
def test_a_dtype_can_be_given_in_every_form(given: Any, expected: np.dtype[Any]):
    assert make(dtype=given).dtype == expected


def test_a_node_knows_its_element_type():
    assert make().element_type == f32
    assert make(dtype=np.bool_).element_type == i1


def test_a_default_dtype_gives_way_to_what_is_inferred_and_that_to_what_is_specified():
    node = make()
    node.infer_dtype("float16")
    assert isinstance(node.delayed_dtype, InferredDtype)
    assert node.specified_dtype is None
    node.update_dtype("int8", "asked for")
    node.infer_dtype("float64")
    assert node.specified_dtype == node.dtype == np.dtype(np.int8)


def test_an_inferred_dtype_is_the_promotion_of_all_its_sources():
    half, brain = make(dtype="float16"), make(dtype="bfloat16")
    node = make()
    node.infer_dtype(half)
    node.infer_dtype(brain, lambda: np.dtype(np.int64))
    assert node.dtype == F32


def test_sources_are_asked_only_when_the_dtype_is_needed():
    source = make()
    node = make()
    node.infer_dtype(source)
    source.update_dtype("float64", "asked for")
    assert node.dtype == F64


def test_a_node_does_not_keep_its_sources_once_its_dtype_is_decided():
    source, node = make(), make()
    node.infer_dtype(source)
    reference = weakref.ref(source)
    del source
    assert reference() is not None
    assert node.dtype == F32
    assert reference() is None


def test_a_dtype_inferred_from_itself_is_an_error():
    first, second = make(label="a"), make(label="b")
    first.infer_dtype(second)
    second.infer_dtype(first)
    with pytest.raises(TenonError, match="tensor node a: dtype depends on itself"):
        _ = first.dtype


def test_two_specified_dtypes_that_differ_are_an_error_that_names_both():
    node = make(dtype="int8")
    node.update_dtype("int8", "the same")
    with pytest.raises(
        TenonError,
        match=r"tensor node w: dtype float16 \(weights are half\) disagrees with int8 "
        r"\(given where it was created\)",
    ):
        node.update_dtype("float16", "weights are half")


def test_a_dtype_specified_after_another_is_used_is_an_error_that_names_both():
    node = make()
    assert node.dtype == F32
    node.update_dtype("float32", "the same")
    with pytest.raises(
        TenonError,
        match=r"tensor node w: dtype float16 \(weights are half\) comes too late, float32 is used already "
        r"\(default float32\)",
    ):
        node.update_dtype("float16", "weights are half")


def test_a_dtype_inferred_after_another_is_used_is_an_error():
    node = make()
    assert node.dtype == F32
    node.infer_dtype("float32")
    with pytest.raises(
        TenonError, match=r"tensor node w: dtype float64 \(inferred\) comes too late, float32 is used already"
    ):
        node.infer_dtype("float64")
    inferred = make()
    inferred.infer_dtype("float32")
    assert inferred.dtype == F32
    inferred.infer_dtype("float16")
    assert inferred.dtype == F32


def test_nothing_to_infer_from_changes_nothing():
    node = make()
    node.infer_dtype()
    assert isinstance(node.delayed_dtype, DefaultDtype)


def test_a_node_from_an_array_is_hosted_and_has_its_values():
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    node = TensorNode.from_array(array, label="w", code_name="weights")
    array[...] = 0
    assert (node.dtype, node.dims, node.code_name) == (np.dtype(np.int16), (2, 3), "weights")
    assert (node.memory_mode, node.memory_provenance) == (modes.HOSTED, "created from an array")
    assert node.is_initialized
    assert node.get_values().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_an_array_that_is_not_copied_is_the_nodes_own():
    array = np.zeros((2, 3), np.float32)
    node = TensorNode.from_array(array, copy=False)
    node.set_value((0, 1), 7)
    assert array[0, 1] == 7
    assert node.array is not None
    assert np.shares_memory(node.array, array)


@pytest.mark.parametrize(
    "array", [np.zeros((2, 3), np.float32).T, np.zeros(2, ">f4"), np.broadcast_to(np.float32(1), (2,))]
)
def test_an_array_that_is_not_copied_must_be_one_a_node_can_use(array: np.ndarray[Any, Any]):
    with pytest.raises(
        TenonError,
        match="create_with_reshape: an array that is not copied must be C-contiguous, writable and in the "
        "host's byte order",
    ):
        TensorNode.from_array(array, copy=False)
    assert np.array_equal(TensorNode.from_array(array).get_values(), array)


def test_a_node_from_an_array_can_ask_for_a_narrower_mode():
    node = TensorNode.from_array(np.zeros(2), memory_mode="hosted(constant)")
    assert node.memory_mode == modes.HOSTED_CONSTANT
    with pytest.raises(
        MemoryModeError, match=r"local \(created from an array with this mode\) conflicts with"
    ):
        TensorNode.from_array(np.zeros(2), memory_mode="local")


def test_what_is_no_array_makes_no_node():
    with pytest.raises(TenonError, match="create_from_padded: expected a numpy array, found list"):
        TensorNode.from_array([1.0, 2.0])  # pyright: ignore
    with pytest.raises(TenonError, match="create_with_reshape: expected a numpy array, found list"):
        TensorNode.create_with_reshape([1.0, 2.0], dims=(2,))  # pyright: ignore
    with pytest.raises(TenonError, match="no element type for dtype complex128"):
        TensorNode.from_array(np.zeros(2, complex))


def test_a_padded_array_gives_the_padded_extents():
    padded = np.pad(np.ones((2, 3), np.float32), ((1, 0), (0, 1)), constant_values=9)
    node = TensorNode.create_from_padded(padded, padding=Padding.of((1, 0), (0, 1), value=9))
    assert (node.dims, node.dims_without_padding) == ((3, 4), (2, 3))
    assert node.get_values().tolist() == np.ones((2, 3)).tolist()
    assert node.array is not None
    assert np.array_equal(node.array, padded)


def test_a_reshaped_array_gets_margins_around_its_elements():
    node = TensorNode.create_with_reshape(
        np.arange(6.0), dims=lambda: (2, 3), padding=lambda: Padding.of((0, 0), (1, 0), value=9)
    )
    assert not node.has_array
    assert node.array is not None
    assert node.array.tolist() == [[9, 0, 1, 2], [9, 3, 4, 5]]
    assert node.get_values().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_reshaped_padded_array_keeps_its_margins():
    node = TensorNode.create_with_reshape(
        np.arange(8.0), dims=(2, 3), padding=Padding.of((0, 0), (1, 0)), from_padded=True
    )
    assert node.has_array
    assert node.get_values().tolist() == [[1, 2, 3], [5, 6, 7]]


def test_an_array_of_another_size_is_an_error_when_the_extents_are_known():
    message = r"tensor node w: the array \[5\] has 5 elements, \[2, 3\] has 6"
    with pytest.raises(TenonError, match=message):
        TensorNode.create_with_reshape(np.zeros(5), dims=(2, 3), label="w")
    node = TensorNode.create_with_reshape(np.zeros(5), dims=lambda: (2, 3), label="w")
    with pytest.raises(TenonError, match=message):
        _ = node.array


def test_a_node_has_names_for_code_and_for_people():
    node = make(label=["grad", "layer", "w"], id=4_000_042)
    assert (node.ident, node.label_text, node.debug_name) == ("n4000042", "grad_layer_w", "layer_w.grad")
    assert node.no_grad_ident_label() == (True, "layer_w")
    assert node.styled_ident(IdentStyle.HEURISTIC_UNDER_GRAD) == "layer_w_grad"
    assert node.styled_ident(IdentStyle.NAME_ONLY) == "n4000042"
    assert (
        node.styled_ident(IdentStyle.HEURISTIC_DOT_GRAD, repeating_grad_idents={"layer_w"})
        == "n4000042_layer_w.grad"
    )
    assert node.code_name is None
    node.update_code_name("w_grad")
    node.update_code_name("w")
    assert (node.code_name, node.debug_name) == ("w_grad", "w.grad")


def test_several_nodes_get_names_that_differ():
    first, second, other = make(), make(), make(label="b")
    names = TensorNode.styled_idents([first, second, other], IdentStyle.HEURISTIC_UNDER_GRAD)
    assert names == {first: f"{first.ident}_w", second: f"{second.ident}_w", other: "b"}


def test_extents_print_with_margins_or_with_axis_numbers():
    assert make().dims_to_string() == "default float32 2x3"
    assert make(dtype="int8").dims_to_string(with_axis_numbers=True) == "int8 0:2 x 1:3"
    padded = make(dtype="int8", padding=Padding.of((1, 2), (0, 0)))
    assert padded.dims_to_string() == "int8 2+3x3"
    assert padded.dims_to_string(with_axis_numbers=True) == "int8 0:5 x 1:3"
    assert make(dims=()).dims_to_string() == "default float32 -"


def test_printing_decides_nothing():
    node = make(dims=lambda: (2, 3), label=["layer", "w"], id=4_000_050)
    assert node.dims_to_string() == "default float32 with dims not known yet"
    assert node.header == (
        "n4000050 layer_w as layer_w: no memory mode; default float32 with dims not known yet; "
        "no array on the host yet"
    )
    assert repr(node) == ("<TensorNode n4000050 layer_w: default float32 with dims not known yet, no mode>")
    assert node.memory_mode is None
    node.update_dtype("int8", "still possible")
    assert node.dims == (2, 3)


def test_a_header_says_where_and_why_and_how_much():
    hosted = TensorNode.from_array(np.zeros((40, 50)), label="w", id=4_000_060)
    assert hosted.header == (
        "n4000060 w as w: hosted (created from an array); float64 40x50; 16,000 bytes on the host"
    )
    local = make(memory_mode="local", provenance="small", id=4_000_061, label=())
    assert local.array is None
    assert local.header == "n4000061 as n4000061: local (small); default float32 2x3; not on the host"


def test_what_is_known_is_logged(caplog: pytest.LogCaptureFixture):
    node = make(dtype="int8", id=4_000_070, code_name="weights")
    node.update_backend_info("opencl", "pool 2")
    node.update_backend_info("llvm", "pool 1")
    node.add_device_not_lagging_host(3)
    with caplog.at_level(logging.DEBUG, "tenon.tensor_node"):
        node.log_debug_info()
    assert caplog.messages == [
        "n4000070 w as w: no memory mode; int8 2x3; no array on the host yet; code name weights; "
        "backends {llvm: pool 1, opencl: pool 2}; devices not lagging host [3]"
    ]
    assert node.backend_info == {"llvm": "pool 1", "opencl": "pool 2"}
    caplog.clear()
    with caplog.at_level(logging.INFO, "tenon.tensor_node"):
        node.log_debug_info()
    assert caplog.messages == []


def test_nodes_are_ordered_by_id_and_equal_only_to_themselves():
    first, second = make(), make()
    assert first < second
    assert second >= first
    assert first != second
    assert first == first
    assert sorted([second, first]) == [first, second]
    assert {first: 1}[first] == 1
    assert hash(first) == hash(first.id)
    with pytest.raises(TypeError):
        _ = first < 1  # pyright: ignore


def test_a_node_dies_with_its_last_reference():
    gc.disable()
    try:
        nodes = [make(), make(memory_mode="hosted"), TensorNode.from_array(np.zeros(2))]
        nodes.append(TensorNode.create_with_reshape(np.zeros(2), dims=lambda: (2,)))
        references = [weakref.ref(node) for node in nodes]
        nodes.clear()
        assert [reference() for reference in references] == [None] * 4
    finally:
        gc.enable()


def test_a_node_has_what_its_parts_have():
    node = make(memory_mode="hosted")
    assert TensorNode.do_read is TensorNodeHost.do_read
    assert TensorNode.update_memory_mode is TensorNodeMemory.update_memory_mode
    assert TensorNode.known_virtual is known_virtual
    assert node.memory_mode is node.memory.memory_mode
    assert node.array is node.host.array
    with pytest.raises(AttributeError):
        node.is_initialized = True  # pyright: ignore
