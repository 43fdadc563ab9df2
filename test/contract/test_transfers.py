"""What every copy between host arrays, nodes and devices does."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import HostMapped, HostVisible
from tenon.errors import CallError, ContextError, DeviceError, OutOfMemoryError, RoutineError
from tenon.runtime.nodes.padding import Padding
from tenon.runtime.platforms.context import Context
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform
from tenon.test.gate import Gate

from .open_platforms import (
    COUNT,
    MERGE,
    OF_EACH_BACKEND,
    Array,
    check_all_is_free,
    code_of,
    context_with,
    device,
    hide_memory_from_host,
    kind_of,
    node_of,
    numbers,
    open_kind,
    platform,
)

__all__ = ["device", "platform"]


def grid_on(device: Device) -> tuple[Context, tenon.TensorNode, Array]:
    """Returns a context with a node of 4x5 and its values."""
    node = node_of(4, 5, label="grid")
    values = numbers(4, 5)
    return device.make_context().init_from_host(node, values), node, values


# Whole nodes

DTYPES = ["f8", "f4", "f2", "bfloat16", "i8", "i4", "i2", "i1", "u1", "?"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_come_back(device: Device, dtype: str):
    node = node_of(3, 4, dtype=dtype)
    values = np.arange(12).reshape(3, 4).astype(dtype)
    context = device.make_context().init_from_host(node, values)
    found = context.to_host(node)
    assert (found.dtype, found.shape) == (values.dtype, values.shape)
    np.testing.assert_array_equal(found, values)
    assert found.flags.writeable and found.flags.c_contiguous


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (2, 3, 4)])
def test_nodes_of_any_rank_and_extent_are_copied(device: Device, shape: tuple[int, ...]):
    node, values = node_of(*shape), numbers(*shape)
    context = device.make_context().init_from_host(node, values)
    np.testing.assert_array_equal(context.to_host(node), values)
    context.from_host(node, values + 1)
    np.testing.assert_array_equal(context.to_host(node), values + 1)


def test_nodes_start_with_zeros_where_asked_for(device: Device):
    node = node_of(3, 4)
    context = device.make_context().init_zeros(node)
    assert context.is_initialized(node)
    np.testing.assert_array_equal(context.to_host(node), np.zeros((3, 4)))


def test_each_read_is_a_new_array(device: Device):
    context, node, values = grid_on(device)
    context.to_host(node)[...] = -1
    np.testing.assert_array_equal(context.to_host(node), values)


def test_an_array_may_be_changed_when_from_host_has_returned(device: Device):
    context, node, _ = grid_on(device)
    array = np.full((4, 5), 7, np.float32)
    event = context.from_host(node, array)
    array[...] = -1
    assert event.is_done
    np.testing.assert_array_equal(context.to_host(node), np.full((4, 5), 7))


def test_an_array_may_be_changed_when_init_from_host_has_returned(device: Device):
    node, array = node_of(100_000), numbers(100_000)
    context = device.make_context().init_from_host(node, array)
    array[...] = -1
    np.testing.assert_array_equal(context.to_host(node), numbers(100_000))


def test_values_go_into_given_memory(device: Device):
    context, node, values = grid_on(device)
    out = np.full((4, 5), -1, np.float32)
    assert context.to_host(node, out) is out
    np.testing.assert_array_equal(out, values)


def test_given_memory_may_have_any_layout(device: Device):
    context, node, values = grid_on(device)
    buffer = np.full((5, 2, 8), -1, np.float32)
    out = buffer[::-1, 1, ::2].T
    assert out.shape == (4, 5)
    assert context.to_host(node, out) is out
    np.testing.assert_array_equal(out, values)
    assert (buffer[:, 0] == -1).all() and (buffer[:, 1, 1::2] == -1).all()


LAYOUTS: dict[str, Any] = {
    "column-major": lambda values: np.asfortranarray(values),
    "transposed": lambda values: np.ascontiguousarray(values.T).T,
    "reversed": lambda values: np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1],
    "strided": lambda values: np.repeat(np.repeat(values, 2, 0), 3, 1)[::2, ::3],
    "offset": lambda values: np.pad(values, 1)[1:-1, 1:-1],
    "unaligned": lambda values: np.frombuffer(b"." + values.tobytes(), np.uint8)[1:].view("f4").reshape(4, 5),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_layout_are_taken(device: Device, layout: str):
    context, node, values = grid_on(device)
    array = LAYOUTS[layout](values + 100)
    np.testing.assert_array_equal(array, values + 100)
    context.from_host(node, array)
    np.testing.assert_array_equal(context.to_host(node), values + 100)
    second = device.make_context().init_from_host(node, array)
    np.testing.assert_array_equal(second.to_host(node), values + 100)


def test_repeated_elements_are_taken(device: Device):
    context, node, _ = grid_on(device)
    row = numbers(5)
    context.from_host(node, np.broadcast_to(row, (4, 5)))
    np.testing.assert_array_equal(context.to_host(node), [row] * 4)


def test_read_only_arrays_are_taken(device: Device):
    context, node, values = grid_on(device)
    array = values + 1
    array.flags.writeable = False
    context.from_host(node, array)
    np.testing.assert_array_equal(context.to_host(node), array)
    second = device.make_context().init_from_host(node, array)
    np.testing.assert_array_equal(second.to_host(node), array)


def test_numbers_of_numpy_fill_nodes_without_axes(device: Device):
    node = node_of()
    context = device.make_context().init_from_host(node, np.float32(7))  # pyright: ignore[reportArgumentType]
    assert context.to_host(node) == 7


# Arrays that do not fit


def wrong_arrays() -> dict[str, tuple[Any, str]]:
    grid = numbers(4, 5)
    return {
        "dtype": (grid.astype("f8"), "dtype float64, expected float32"),
        "big-endian": (
            grid.astype(">f4"),
            r"dtype >f4, expected float32 \(the byte order is not the machine's\)",
        ),
        "shape": (grid.T, r"shape \[5, 4\], expected \[4, 5\]"),
        "rank": (grid.reshape(20), r"shape \[20\], expected \[4, 5\]"),
        "broadcast": (grid[:1], r"shape \[1, 5\], expected \[4, 5\]"),
        "list": (grid.tolist(), "expected a numpy array, found list"),
        "number": (1.0, "expected a numpy array, found float"),
        "none": (None, "expected a numpy array, found None"),
        "masked": (np.ma.masked_less(grid, 3), "expected a numpy array, found MaskedArray"),
    }


@pytest.mark.parametrize("wrong", wrong_arrays())
def test_wrong_arrays_are_refused(device: Device, wrong: str):
    context, node, values = grid_on(device)
    array, text = wrong_arrays()[wrong]
    for call in (context.from_host, context.queue_from_host):
        with pytest.raises(CallError, match=f"^from_host grid: {text}"):
            call(node, array)
    with pytest.raises(CallError, match=f"^init_from_host grid: {text}"):
        device.make_context().init_from_host(node, array)
    np.testing.assert_array_equal(context.to_host(node), values)


@pytest.mark.parametrize("wrong", [name for name in wrong_arrays() if name != "none"])
def test_wrong_memory_for_values_is_refused(device: Device, wrong: str):
    context, node, _ = grid_on(device)
    out, text = wrong_arrays()[wrong]
    for call in (context.to_host, context.queue_to_host):
        with pytest.raises(CallError, match=f"^to_host grid: {text}"):
            call(node, out)


def test_read_only_memory_for_values_is_refused(device: Device):
    context, node, _ = grid_on(device)
    out = np.zeros((4, 5), np.float32)
    out.flags.writeable = False
    with pytest.raises(CallError, match="to_host grid: the array is not writeable"):
        context.to_host(node, out)


def test_a_number_is_no_memory_for_values(device: Device):
    node = node_of()
    context = device.make_context().init_zeros(node)
    with pytest.raises(CallError, match="to_host w: expected a numpy array, found float32"):
        context.to_host(node, np.float32(1))  # pyright: ignore[reportArgumentType]


# Parts of nodes

INDICES: list[Any] = [
    0,
    -1,
    (1, 2),
    slice(1, 3),
    slice(None, None, 2),
    slice(None, None, -1),
    (slice(None), 2),
    (slice(None), slice(1, 4)),
    (slice(3, 0, -2), slice(None, None, -3)),
    (..., 0),
    (1, ...),
    ...,
    (),
    slice(2, 2),
    np.int64(3),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_parts_are_copied(device: Device, index: Any):
    context, node, values = grid_on(device)
    np.testing.assert_array_equal(context.to_host(node, index=index), values[index])
    part = np.asarray(values[index] + 100)
    context.from_host(node, part, index=index)
    expected = values.copy()
    expected[index] = part
    np.testing.assert_array_equal(context.to_host(node), expected)


def test_parts_and_layouts_combine(device: Device):
    context, node, values = grid_on(device)
    part = numbers(6, 4)[::3, ::-2].T
    assert part.shape == (2, 2)
    context.from_host(node, part, index=(slice(0, 4, 2), slice(4, 0, -2)))
    values = values.copy()
    values[0:4:2, 4:0:-2] = part
    np.testing.assert_array_equal(context.to_host(node), values)
    out = np.zeros((2, 8), np.float32)[:, ::4]
    context.to_host(node, out, index=(slice(0, 4, 2), slice(4, 0, -2)))
    np.testing.assert_array_equal(out, part)


WRONG_INDICES: list[tuple[Any, str]] = [
    (4, r"index 4 of shape \[4, 5\]: index 4 is out of bounds"),
    ((0, -6), r"index \(0, -6\) of shape \[4, 5\]: index -6 is out of bounds"),
    ((0, 0, 0), r"index .* of shape \[4, 5\]: too many indices"),
    ((..., ...), r"index .* of shape \[4, 5\]: an index can only have a single ellipsis"),
    (slice(0, 4, 0), r"index .* of shape \[4, 5\]: slice step cannot be zero"),
    (True, "index True is not made of integers and slices"),
    ([0, 1], r"index \[0, 1\] is not made of integers and slices"),
    ("0", "index '0' is not made of integers and slices"),
    ((0, None), r"index \(0, None\) is not made of integers and slices"),
    (1.0, "index 1.0 is not made of integers and slices"),
    (np.array([0]), r"index array\(\[0\]\) is not made of integers and slices"),
]


@pytest.mark.parametrize(("index", "text"), WRONG_INDICES, ids=[repr(index) for index, _ in WRONG_INDICES])
def test_wrong_parts_are_refused(device: Device, index: Any, text: str):
    context, node, _ = grid_on(device)
    with pytest.raises(CallError, match=f"to_host.*: {text}"):
        context.to_host(node, index=index)
    with pytest.raises(CallError, match=f"from_host grid: {text}"):
        context.from_host(node, numbers(1), index=index)


def test_the_shape_of_a_part_is_checked(device: Device):
    context, node, _ = grid_on(device)
    with pytest.raises(CallError, match=r"from_host grid: shape \[4, 5\], expected \[5\]"):
        context.from_host(node, numbers(4, 5), index=1)


# Without waiting


def test_queued_copies_are_done_when_their_events_are(device: Device):
    context, node, values = grid_on(device)
    array, out = values + 1, np.zeros((4, 5), np.float32)
    sent = context.queue_from_host(node, array)
    fetched = context.queue_to_host(node, out)
    fetched.sync()
    assert sent.is_done and fetched.is_done
    np.testing.assert_array_equal(out, values + 1)


def test_a_first_copy_may_be_queued(device: Device):
    node, values = node_of(4, 5, label="grid"), numbers(4, 5)
    context, event = device.make_context().queue_init_from_host(node, values)
    assert context.is_initialized(node)
    event.sync()
    values[...] = 0
    np.testing.assert_array_equal(context.to_host(node), numbers(4, 5))
    with pytest.raises(ContextError, match="queue_init_from_host: grid is in the context already"):
        context.queue_init_from_host(node, values)
    with pytest.raises(CallError, match="init_from_host other: dtype float64, expected float32"):
        device.make_context().queue_init_from_host(node_of(4, label="other"), np.zeros(4))


@pytest.mark.parametrize("index", [1, (slice(None), 2), slice(None, None, -1)], ids=repr)
def test_queued_copies_of_parts(device: Device, index: Any):
    context, node, values = grid_on(device)
    part = np.asarray(values[index] + 100)
    out = np.zeros_like(part)
    context.queue_from_host(node, part, index=index)
    context.queue_to_host(node, out, index=index).sync()
    np.testing.assert_array_equal(out, part)


def test_queued_copies_keep_their_order_with_routines(device: Device):
    code = code_of(device.platform, COUNT)
    w = code.nodes["w"]
    context = device.make_context().init_zeros(w)
    routine = context.link(code)
    arrays = [np.full(4, 10 * i, np.float32) for i in range(20)]
    outs = [np.zeros(4, np.float32) for _ in range(20)]
    for array, out in zip(arrays, outs, strict=True):
        context.queue_from_host(w, array)
        routine.run()
        context.queue_to_host(w, out)
    device.await_idle()
    assert [out[0] for out in outs] == [10 * i + 1 for i in range(20)]


def test_host_memory_of_the_device_is_copied_like_any(device: Device):
    context, node, values = grid_on(device)
    array, out = device.empty_host((4, 5), "f4"), device.empty_host((4, 5), "f4")
    array[...] = values + 1
    context.queue_from_host(node, array)
    context.queue_to_host(node, out).sync()
    np.testing.assert_array_equal(out, values + 1)


def test_the_memory_of_a_queued_copy_lives_until_it_is_done(device: Device):
    node = node_of(100_000)
    out = np.zeros(100_000, np.float32)
    device.make_context().init_from_host(node, numbers(100_000)).queue_to_host(node, out)
    device.await_idle()
    np.testing.assert_array_equal(out, numbers(100_000))


# Without copying


def test_the_host_sees_the_memory_of_the_device(device: Device):
    context, node, values = grid_on(device)
    if not isinstance(device.backend.driver, HostVisible):
        with pytest.raises(DeviceError, match=f"host_view: the host cannot see the memory of {device.name}"):
            context.host_view(node)
        return
    view = context.host_view(node)
    np.testing.assert_array_equal(view, values)
    assert not view.flags.writeable
    context.from_host(node, values + 1)
    np.testing.assert_array_equal(view, values + 1)
    assert np.shares_memory(view, context.host_view(node))


def test_memory_that_the_host_does_not_see_has_no_view(platform: Platform):
    opened = open_kind(kind_of(platform), 1)
    device = opened.get_device(0)
    hide_memory_from_host(device.backend)
    context, node, values = grid_on(device)
    with pytest.raises(DeviceError, match=f"host_view: the host cannot see the memory of {device.name}"):
        context.host_view(node)
    np.testing.assert_array_equal(context.to_host(node), values)
    opened.close()


def test_a_view_waits_for_what_is_scheduled(device: Device):
    if not isinstance(device.backend.driver, HostVisible):
        pytest.skip("the host cannot see the memory of this device")
    code = code_of(device.platform, COUNT)
    w = code.nodes["w"]
    context = device.make_context().init_zeros(w)
    routine = context.link(code)
    for _ in range(30):
        routine.run()
    assert context.host_view(w).tolist() == [30] * 4


def test_a_node_may_live_in_an_array(device: Device):
    code = code_of(device.platform, COUNT)
    w = code.nodes["w"]
    array = device.empty_host((4,), "f4")
    array[...] = [5, 6, 7, 8]
    if not isinstance(device.backend.driver, HostMapped):
        with pytest.raises(
            CallError,
            match=f"init_from_host w: copy=False, but {device.name} does not work in the host's memory",
        ):
            device.make_context().init_from_host(w, array, copy=False)
        return
    context = device.make_context().init_from_host(w, array, copy=False)
    assert device.used_memory == 0
    assert context.is_initialized(w)
    context.link(code).run().sync()
    assert context.to_host(w).tolist() == [6, 7, 8, 9]
    if isinstance(device.backend.driver, HostVisible):
        assert array.tolist() == [6, 7, 8, 9]
        assert np.shares_memory(context.host_view(w), array)


def test_an_array_that_is_lived_in_is_kept(device: Device):
    if not isinstance(device.backend.driver, HostMapped):
        pytest.skip("this device does not work in the host's memory")
    node = node_of(1000)
    context = device.make_context().init_from_host(node, numbers(1000), copy=False)
    np.testing.assert_array_equal(context.to_host(node), numbers(1000))


def test_nodes_live_in_arrays_that_fit_only(device: Device):
    if not isinstance(device.backend.driver, HostMapped):
        pytest.skip("this device does not work in the host's memory")
    node, context = node_of(4, 5, label="grid"), device.make_context()
    values = numbers(4, 5)
    read_only = values.copy()
    read_only.flags.writeable = False
    wrong = {
        "the array is not C-contiguous and aligned": values.reshape(5, 4).T,
        "the array is not writeable": read_only,
    }
    for text, array in wrong.items():
        with pytest.raises(CallError, match=f"init_from_host grid: copy=False, but {text}"):
            context.init_from_host(node, array, copy=False)
    with pytest.raises(CallError, match="init_from_host grid: dtype float64, expected float32"):
        context.init_from_host(node, values.astype("f8"), copy=False)
    padded = node_of(4, label="padded", padding=Padding.of((1, 1)))
    with pytest.raises(CallError, match="init_from_host padded: copy=False, but the node has padding"):
        context.init_from_host(padded, numbers(4), copy=False)
    assert device.memory_statistics().n_slabs == 0


def test_constants_may_live_in_read_only_arrays(device: Device):
    if not isinstance(device.backend.driver, HostMapped):
        pytest.skip("this device does not work in the host's memory")
    node = node_of(4, label="table", mode="hosted(constant)")
    array = numbers(4)
    array.flags.writeable = False
    context = device.make_context().init_from_host(node, array, copy=False)
    assert context.to_host(node).tolist() == [0, 1, 2, 3]


# Padding


def test_padding_is_filled_and_not_seen(device: Device):
    node = node_of(2, 3, label="image", padding=Padding.of((1, 1), (0, 2), value=9.0))
    assert node.dims == (4, 5)
    context = device.make_context().init_from_host(node, numbers(2, 3))
    np.testing.assert_array_equal(context.to_host(node), numbers(2, 3))
    assert device.used_memory == 128
    context.from_host(node, numbers(2, 3, start=10))
    np.testing.assert_array_equal(context.to_host(node), numbers(2, 3, start=10))
    context.from_host(node, numbers(2), index=(slice(None), 1))
    np.testing.assert_array_equal(context.to_host(node, index=0), [10, 0, 12])
    if isinstance(device.backend.driver, HostVisible):
        expected = np.full((4, 5), 9, np.float32)
        expected[1:3, :3] = [[10, 0, 12], [13, 1, 15]]
        np.testing.assert_array_equal(context.host_view(node), expected)


def test_padded_values_may_be_given_with_their_padding(device: Device):
    node = node_of(2, label="image", padding=Padding.of((1, 1), value=9.0))
    context = device.make_context().init_from_host(node, np.array([7, 1, 2, 8], np.float32))
    assert context.to_host(node).tolist() == [1, 2]
    with pytest.raises(CallError, match=r"init_from_host image: shape \[3\], expected \[2\]"):
        device.make_context().init_from_host(node, numbers(3))


def test_padded_nodes_go_to_other_devices_whole(platform: Platform):
    node = node_of(2, label="image", padding=Padding.of((1, 1), value=9.0))
    source = platform.get_device(0).make_context().init_from_host(node, numbers(2))
    target = platform.get_device(1).make_context().init_from_device(node, source)
    assert target.to_host(node).tolist() == [0, 1]
    if isinstance(target.device.backend.driver, HostVisible):
        assert target.host_view(node).tolist() == [9, 0, 1, 9]


# Between devices


def test_a_node_goes_to_another_device(platform: Platform):
    first, second = platform.devices
    node = node_of(4)
    source = context_with(first, w=(node, numbers(4)))
    target = second.make_context().init_zeros(node)
    routine = target.device_to_device(node, source)
    assert routine is not None
    assert target.to_host(node).tolist() == [0] * 4, "nothing is copied before it runs"
    assert routine.name == f"w from {first.name} to {second.name}"
    assert routine.device is second
    assert routine.context.parent is target
    assert routine.context.delta == ()
    assert (routine.inputs, routine.outputs) == ((node,), (node,))
    assert routine.merge_buffer_input is None
    assert len(routine.schedule) == 1 and "16 bytes" in routine.schedule[0]
    event = routine.run()
    event.sync()
    assert event.runner is second.runner
    assert target.to_host(node).tolist() == [0, 1, 2, 3]
    source.from_host(node, numbers(4, start=10))
    assert target.to_host(node).tolist() == [0, 1, 2, 3]
    routine.run()
    assert target.to_host(node).tolist() == [10, 11, 12, 13]


def test_a_copy_fills_what_was_never_written(platform: Platform):
    node = node_of(4)
    source = context_with(platform.get_device(0), w=(node, numbers(4)))
    target = platform.get_device(1).make_context().make_child([node])
    routine = target.device_to_device(node, source)
    assert routine is not None
    assert not target.is_initialized(node)
    routine.run()
    assert target.is_initialized(node)
    assert target.to_host(node).tolist() == [0, 1, 2, 3]


def test_copies_go_between_contexts_of_one_device(device: Device):
    node = node_of(4)
    source = context_with(device, w=(node, numbers(4)))
    target = device.make_context().init_zeros(node)
    routine = target.device_to_device(node, source)
    assert routine is not None
    routine.run()
    assert target.to_host(node).tolist() == [0, 1, 2, 3]


def test_there_is_nothing_to_copy_without_memory_on_both_sides(platform: Platform):
    first, second = platform.devices
    node = node_of(4)
    without = second.make_context()
    source = context_with(first, w=(node, numbers(4)))
    assert without.device_to_device(node, source) is None
    assert source.device_to_device(node, without) is None
    assert without.device_to_device(node, first.make_context(), into_merge_buffer=True) is None
    assert first.merge_buffer.node is None


def test_there_is_nothing_to_copy_within_the_same_memory(device: Device):
    node = node_of(4)
    context = context_with(device, w=(node, numbers(4)))
    assert context.device_to_device(node, context) is None
    assert context.make_child().device_to_device(node, context) is None
    assert context.device_to_device(node, context, into_merge_buffer=True) is not None


def test_transfers_have_no_symbols(device: Device):
    node = node_of(4)
    source = context_with(device, w=(node, numbers(4)))
    routine = device.make_context().init_zeros(node).device_to_device(node, source)
    assert routine is not None
    with pytest.raises(CallError, match=r"w from .* to .*: there is no symbol 'i' \(symbols: none\)"):
        routine.run(i=3)


def test_a_node_may_begin_with_what_another_device_has(platform: Platform):
    first, second = platform.devices
    node, absent = node_of(4), node_of(4, label="absent")
    source = context_with(first, w=(node, numbers(4)))
    root = second.make_context()
    target = root.init_from_device(node, source)
    assert node in target and node not in root
    source.from_host(node, numbers(4, start=10))
    assert target.to_host(node).tolist() == [0, 1, 2, 3]
    with pytest.raises(ContextError, match=r"init_from_device: absent is not in the context \(nodes: w\)"):
        root.init_from_device(absent, source)


def test_elements_of_no_bytes_go_to_other_devices(platform: Platform):
    node = node_of(0, 3)
    source = context_with(platform.get_device(0), w=(node, numbers(0, 3)))
    target = platform.get_device(1).make_context().init_from_device(node, source)
    assert target.to_host(node).shape == (0, 3)


@pytest.mark.parametrize("other_kind", OF_EACH_BACKEND)
def test_a_node_goes_to_devices_of_other_platforms(platform: Platform, other_kind: str):
    other = open_kind(other_kind, 1)
    node = node_of(1000)
    source = context_with(platform.get_device(0), w=(node, numbers(1000)))
    there = other.get_device(0).make_context().init_from_device(node, source)
    np.testing.assert_array_equal(there.to_host(node), numbers(1000))
    back = source.device_to_device(node, there)
    assert back is not None
    for i in range(5):
        there.from_host(node, numbers(1000, start=i))
        back.run()
        np.testing.assert_array_equal(source.to_host(node), numbers(1000, start=i))
    merged = source.device_to_device(node, there, into_merge_buffer=True)
    assert merged is not None
    merged.run()
    del there, back, merged
    platform.get_device(0).await_idle()
    check_all_is_free(other)
    other.close()


def test_a_failed_source_is_not_copied(platform: Platform):
    first, second = platform.devices
    node = node_of(4)
    source = context_with(first, w=(node, numbers(4)))
    target = context_with(second, w=(node, numbers(4, start=10)))
    routine = target.device_to_device(node, source)
    assert routine is not None
    source.buffer_of(node, "test").undefined_by = "train step"
    routine.run()
    with pytest.raises(
        RoutineError, match=r"w from .* to .*: w is undefined since train step failed"
    ) as caught:
        target.to_host(node)
    assert caught.value.routine == routine.name
    source.from_host(node, numbers(4, start=20))
    routine.run()
    assert target.to_host(node).tolist() == [20, 21, 22, 23]


# Merge buffers


def test_a_copy_into_the_merge_buffer_leaves_the_node(platform: Platform):
    first, second = platform.devices
    node = node_of(4)
    source = context_with(first, w=(node, numbers(4)))
    target = context_with(second, w=(node, numbers(4, start=10)))
    routine = target.device_to_device(node, source, into_merge_buffer=True)
    assert routine is not None
    assert routine.name == f"w from {first.name} to merge buffer of {second.name}"
    assert routine.context.merge_buffer_node is node
    assert target.merge_buffer_node is None
    assert (routine.inputs, routine.outputs) == ((node,), ())
    assert second.merge_buffer.node is None
    routine.run()
    assert second.merge_buffer.node is node
    assert second.debug_info()["merge_buffer_node"] == "w"
    assert target.to_host(node).tolist() == [10, 11, 12, 13]


def test_nodes_that_are_not_here_may_come_into_the_merge_buffer(platform: Platform):
    first, second = platform.devices
    node = node_of(4)
    source = context_with(first, w=(node, numbers(4)))
    routine = second.make_context().device_to_device(node, source, into_merge_buffer=True)
    assert routine is not None
    assert node not in routine.context
    routine.run().sync()


def test_the_merge_buffer_grows_in_place(platform: Platform):
    first, second = platform.devices
    small, large = node_of(4, label="small"), node_of(1000, label="large")
    source = context_with(first, small=(small, numbers(4)), large=(large, numbers(1000)))
    before = second.used_memory
    context = second.make_context()
    for node, nbytes in ((small, 64), (large, 4032), (small, 4032)):
        routine = context.device_to_device(node, source, into_merge_buffer=True)
        assert routine is not None
        routine.run()
        assert second.used_memory - before == nbytes
    assert second.memory_statistics().n_slabs == 1
    assert second.merge_buffer.location.pool_id == 0


def test_building_a_merge_changes_nothing_and_waits_for_nothing(platform: Platform):
    code = code_of(platform, MERGE)
    w, large = code.nodes["w"], node_of(10_000, label="large")
    first, second = platform.devices
    source = context_with(first, w=(w, numbers(4)), large=(large, numbers(10_000)))
    target = second.make_context().init_zeros(w)
    transfer = target.device_to_device(w, source, into_merge_buffer=True)
    assert transfer is not None
    assert second.merge_buffer.node is None
    transfer.run()
    routine = transfer.context.link(code)
    gate, before = Gate(), second.memory_statistics()
    if platform.scheduler == "multicore":
        second.runner.submit("wait", gate)
        assert gate.begun.wait(10)
    assert target.device_to_device(large, source, into_merge_buffer=True) is not None
    assert second.memory_statistics() == before
    gate.open.set()
    routine.run()
    assert target.to_host(w).tolist() == [0, 1, 2, 3]


def test_growing_the_merge_buffer_keeps_routines_right(platform: Platform):
    """A routine linked before the growth reads the merge buffer after it."""
    code = code_of(platform, MERGE)
    w, large = code.nodes["w"], node_of(10_000, label="large")
    first, second = platform.devices
    source = context_with(first, w=(w, numbers(4)), large=(large, numbers(10_000)))
    target = second.make_context().init_zeros(w)
    transfer = target.device_to_device(w, source, into_merge_buffer=True)
    assert transfer is not None
    routine = transfer.context.link(code)
    transfer.run()
    routine.run()
    larger = target.device_to_device(large, source, into_merge_buffer=True)
    assert larger is not None
    larger.run()
    with pytest.raises(ContextError, match="add_other: the merge buffer holds large, expected w"):
        routine.run()
    transfer.run()
    routine.run()
    assert target.to_host(w).tolist() == [0, 2, 4, 6]


def test_the_merge_buffer_holds_what_the_source_had(platform: Platform):
    code = code_of(platform, MERGE)
    w = code.nodes["w"]
    first, second = platform.devices
    source, target = first.make_context().init_zeros(w), second.make_context().init_zeros(w)
    transfer = target.device_to_device(w, source, into_merge_buffer=True)
    assert transfer is not None
    routine = transfer.context.link(code)
    total = 0
    for i in range(20):
        source.from_host(w, np.full(4, i, np.float32))
        transfer.run()
        routine.run()
        total += i
    assert target.to_host(w).tolist() == [total] * 4


def test_a_failed_copy_leaves_the_merge_buffer_undefined(platform: Platform):
    code = code_of(platform, MERGE)
    w = code.nodes["w"]
    first, second = platform.devices
    source = context_with(first, w=(w, numbers(4)))
    target = context_with(second, w=(w, numbers(4)))
    transfer = target.device_to_device(w, source, into_merge_buffer=True)
    assert transfer is not None
    routine = transfer.context.link(code)
    second.merge_buffer.undefined_by = "the copy"
    second.merge_buffer.node = w
    routine.run()
    with pytest.raises(RoutineError, match="add_other: the merge buffer is undefined since the copy failed"):
        second.await_idle()
    target.from_host(w, numbers(4))
    transfer.run()
    routine.run()
    assert target.to_host(w).tolist() == [0, 2, 4, 6]


def test_a_merge_buffer_that_cannot_grow_is_an_error(platform: Platform):
    limited = open_kind(kind_of(platform), pool_limit=1 << 20)
    node = node_of(1 << 20, label="huge")
    source = context_with(platform.get_device(0), huge=(node, numbers(1 << 20)))
    with pytest.raises(
        OutOfMemoryError, match=r"huge.*4194304 bytes do not fit into a pool of at most 1048576"
    ):
        limited.get_device(0).make_context().device_to_device(node, source, into_merge_buffer=True)
    assert limited.get_device(0).used_memory == 0
    limited.close()


# What failed before


def test_what_failed_work_was_to_write_is_not_read(device: Device):
    context, node, values = grid_on(device)
    context.buffer_of(node, "test").undefined_by = "train step"
    with pytest.raises(RoutineError, match="to_host grid: grid is undefined since train step failed"):
        context.to_host(node)
    if isinstance(device.backend.driver, HostVisible):
        with pytest.raises(DeviceError, match="grid is undefined since train step failed"):
            context.host_view(node)
    context.from_host(node, values)
    np.testing.assert_array_equal(context.to_host(node), values)


def test_a_part_does_not_mend_what_failed(device: Device):
    context, node, values = grid_on(device)
    context.buffer_of(node, "test").undefined_by = "train step"
    with pytest.raises(RoutineError, match="from_host grid: grid is undefined since train step failed"):
        context.from_host(node, values[0], index=0)
    with pytest.raises(RoutineError, match="to_host grid: grid is undefined since train step failed"):
        context.to_host(node)
    context.from_host(node, values)
