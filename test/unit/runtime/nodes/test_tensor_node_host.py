"""Hosted nodes, with a device that is played by the test."""

from collections.abc import Callable
from threading import Event, Thread
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.dialects import memory_modes as modes
from tenon.errors import DeviceLostError, MemoryModeError, RoutineError, TenonError
from tenon.runtime.nodes.padding import Padding
from tenon.runtime.nodes.tensor_node import TensorNode

PADDING = Padding.of((1, 0), (0, 2), value=9)


def make(values: Any = ((1, 2, 3), (4, 5, 6)), **options: Any) -> TensorNode:
    return TensorNode.from_array(np.array(values, np.float32), label="w", **options)


class FakeDevice:
    """Has values of its own, and remembers what the host did."""

    def __init__(self, node: TensorNode, values: Any = 0.0) -> None:
        self.node = node
        self.values = values
        self.calls: list[str] = []
        self.is_done = False
        self.failure: BaseException | None = None

    def sync(self) -> None:
        self.calls.append("sync")
        if self.failure is not None:
            raise self.failure
        self.is_done = True

    def transfer(self) -> None:
        self.calls.append("transfer")
        assert self.node.array is not None
        self.node.array[...] = self.values

    def write(self, values: Any) -> None:
        """Changes the node on the device."""
        self.values, self.is_done = values, False
        self.node.prepare_read(lambda: self.is_done, self.sync, self.transfer)

    def read(self) -> None:
        """Starts to read the host's array."""
        self.is_done = False
        self.node.prepare_write(lambda: self.is_done, self.sync)


def test_values_can_be_got_and_set():
    node = make()
    assert node.get_value((1, 2)) == 6
    assert type(node.get_value((1, -1))) is float
    node.set_value((-1, 0), 7)
    assert node.get_values().tolist() == [[1, 2, 3], [7, 5, 6]]
    node.set_values([[0, 1, 2], [3, 4, 5]])
    assert node.get_values().tolist() == [[0, 1, 2], [3, 4, 5]]
    node.set_values(np.arange(6, dtype=np.float32) * 2)
    assert node.get_values().tolist() == [[0, 2, 4], [6, 8, 10]]


def test_margins_are_no_values():
    node = TensorNode.create("int8", dims=(2, 2), padding=PADDING, memory_mode="hosted")
    node.set_value((0, 0), 1)
    node.set_value((-1, -1), 4)
    assert node.get_values().tolist() == [[1, 0], [0, 4]]
    node.set_values([[5, 6], [7, 8]])
    assert node.array is not None
    assert node.array.tolist() == [[9, 9, 9, 9], [5, 6, 9, 9], [7, 8, 9, 9]]
    with pytest.raises(
        TenonError, match=r"get_value: index \[2, 0\] is out of bounds for axis 0 of \[2, 2\]"
    ):
        node.get_value((2, 0))


@pytest.mark.parametrize(
    ("dtype", "value", "type_of_value"),
    [("bool", True, bool), (ml_dtypes.bfloat16, 1.5, float), ("uint8", 200, int), ("int64", -(2**62), int)],
)
def test_values_of_every_kind_are_pythons(dtype: Any, value: Any, type_of_value: type):
    node = TensorNode.create(dtype, dims=(), memory_mode="hosted")
    node.set_value((), value)
    assert node.get_value(()) == value
    assert type(node.get_value(())) is type_of_value


def test_what_is_got_is_a_copy():
    node = make()
    node.get_values()[...] = 0
    assert node.get_value((0, 0)) == 1


def test_a_node_without_a_mode_is_hosted_once_it_is_set():
    node = TensorNode.create(dims=(2,))
    assert not node.is_initialized
    node.set_values([1, 2])
    assert node.memory_mode == modes.HOSTED_NONCONSTANT
    assert node.memory_provenance == "values are set on the host"
    assert node.is_initialized


def test_a_constant_can_be_set_once():
    node = TensorNode.create(dims=(2,), label="w", memory_mode="hosted(constant)", provenance="asked for")
    node.set_values([1, 2])
    message = r"hosted\(nonconstant\) \(values are set on the host\) conflicts with hosted\(constant\)"
    with pytest.raises(MemoryModeError, match=message):
        node.set_values([3, 4])
    with pytest.raises(MemoryModeError, match=r"\(a value is set on the host\) conflicts with"):
        node.set_value((0,), 3)
    assert node.get_values().tolist() == [1, 2]


@pytest.mark.parametrize(
    "use",
    [
        lambda node: node.get_value((0,)),
        lambda node: node.get_values(),
        lambda node: node.points_1d(0),
        lambda node: node.points_2d(0, 1),
    ],
)
def test_what_is_not_hosted_has_no_values_to_get(use: Callable[[TensorNode], Any]):
    node = TensorNode.create(dims=(2,), label="w", memory_mode="on_device", provenance="asked for")
    with pytest.raises(
        MemoryModeError, match=r"tensor node w: get_value.*: not hosted, on_device \(asked for\)"
    ):
        use(node)
    with pytest.raises(MemoryModeError, match=r"conflicts with on_device \(asked for\)"):
        node.set_values([1, 2])


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda node: node.get_value((1,)), r"get_value: index \[1\] has another rank than shape \[2, 3\]"),
        (
            lambda node: node.get_value((1, 3)),
            r"get_value: index \[1, 3\] is out of bounds for axis 1 of \[2, 3\]",
        ),
        (lambda node: node.set_value((-3, 0), 1), r"set_value: index \[-3, 0\] is out of bounds for axis 0"),
        (
            lambda node: node.set_value((0, 0), [1, 2]),
            r"set_value: the value has shape \[2\], expected one number",
        ),
        (lambda node: node.set_value((0, 0), 1j), "set_value: the values are complex128, expected float32"),
        (
            lambda node: node.set_values(np.ones((2, 3), np.int32)),
            "set_values: the values are int32, expected float32",
        ),
        (
            lambda node: node.set_values([[1, 2], [3, 4], [5, 6]]),
            r"set_values: the values have shape \[3, 2\], expected \[2, 3\] or \[6\]",
        ),
        (lambda node: node.set_values([1, 2]), r"set_values: the values have shape \[2\], expected"),
        (lambda node: node.points_1d(3), r"points_1d: index 3 is out of bounds for axis -1 of \[2, 3\]"),
        (lambda node: node.points_2d(0, 2, 0), r"points_2d: index 2 is out of bounds for axis 0 of \[2, 3\]"),
        (lambda node: node.points_1d(0, 2), "points_1d: axis 2 is out of range for rank 2"),
    ],
)
def test_what_does_not_fit_is_an_error_and_changes_nothing(use: Callable[[TensorNode], Any], message: str):
    node = make()
    node.add_device_not_lagging_host(1)
    with pytest.raises(TenonError, match=f"tensor node w: {message}"):
        use(node)
    assert node.get_values().tolist() == [[1, 2, 3], [4, 5, 6]]
    assert node.devices_not_lagging_host == {1}


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "bfloat16", "i4", "u1", "?"])
def test_floats_set_a_node_of_any_dtype(dtype: str):
    node = TensorNode.create(dtype, dims=(3,), memory_mode="hosted")
    node.set_values(np.array([0.0, 1.0, 2.0]))
    expected = np.array([0, 1, 2]).astype(dtype)
    assert node.get_values().tolist() == expected.tolist()
    node.set_value((1,), 2.75)
    assert node.get_value((1,)) == (2 if node.dtype.kind in "iu" else 2.75 if dtype != "?" else True)


@pytest.mark.parametrize(
    "change",
    [
        lambda node: node.set_values([1, 2]),
        lambda node: node.set_value((0,), 1),
        lambda node: node.do_write(),
    ],
)
def test_the_host_does_not_set_what_only_devices_change(change: Callable[[TensorNode], Any]):
    node = TensorNode.from_array(np.zeros(2, np.float32), label="w", memory_mode="hosted(changed_on_devices)")
    message = r"w: \w+: only devices change it, hosted\(changed_on_devices\) \(.*hint: Context.from_host"
    with pytest.raises(MemoryModeError, match=message):
        change(node)
    assert node.get_values().tolist() == [0, 0]


def test_points_are_taken_along_an_axis():
    node = make()
    assert node.points_1d(1).tolist() == [2, 5]
    assert node.points_1d(1, from_axis=0).tolist() == [4, 5, 6]
    assert node.points_2d(0, -1).tolist() == [[1, 3], [4, 6]]
    assert node.points_2d(1, 0, from_axis=0).tolist() == [[4, 1], [5, 2], [6, 3]]
    assert make(np.arange(24).reshape(2, 3, 4)).points_1d(0, 1).tolist() == [0, 1, 2, 3, 12, 13, 14, 15]


def test_a_node_without_axes_has_one_point_and_no_pairs():
    node = make(7)
    assert node.points_1d(0).tolist() == [7]
    assert (node.points_2d(0, 0).shape, node.points_2d(0, 0).dtype) == ((0, 2), np.float32)


def test_reading_fetches_what_a_device_wrote_once():
    node = make()
    device = FakeDevice(node)
    device.write(8)
    assert device.calls == []
    assert node.get_value((0, 0)) == 8
    assert node.get_values().tolist() == [[8, 8, 8], [8, 8, 8]]
    assert device.calls == ["sync", "transfer"]


def test_of_several_writes_only_the_last_is_fetched():
    node = make()
    first, second = FakeDevice(node), FakeDevice(node)
    first.write(8)
    second.write(9)
    assert node.get_value((0, 0)) == 9
    assert (first.calls, second.calls) == (["sync"], ["sync", "transfer"])


def test_work_that_is_done_is_not_waited_for_again():
    node = make()
    first, second = FakeDevice(node), FakeDevice(node)
    first.write(8)
    first.is_done = True
    second.write(9)
    node.do_read()
    assert (first.calls, second.calls) == ([], ["sync", "transfer"])


def test_many_writes_without_a_read_are_forgotten_when_done():
    node = make()
    for value in range(20_000):
        device = FakeDevice(node)
        device.write(value)
        device.is_done = True
    node.do_read()
    assert device.calls == ["sync", "transfer"]
    assert node.get_value((0, 0)) == 19_999
    unfinished = [FakeDevice(node) for _ in range(2_000)]
    for device in unfinished:
        device.write(1)
    node.do_read()
    assert all(device.calls[:1] == ["sync"] for device in unfinished)


def test_a_read_without_a_transfer_waits_only():
    node = make()
    device = FakeDevice(node)
    node.prepare_read(lambda: device.is_done, device.sync)
    assert node.get_value((0, 0)) == 1
    assert device.calls == ["sync"]


def test_a_fetched_node_is_initialized():
    node = TensorNode.create(dims=(2,), memory_mode="hosted")
    assert not node.is_initialized
    assert not node.has_array
    FakeDevice(node).write(3)
    assert node.get_values().tolist() == [3, 3]
    assert node.is_initialized
    assert node.has_array


def test_a_change_of_one_value_keeps_what_a_device_wrote():
    node = make()
    device = FakeDevice(node)
    device.write(8)
    node.set_value((0, 0), 1)
    assert node.get_values().tolist() == [[1, 8, 8], [8, 8, 8]]
    assert device.calls == ["sync", "transfer"]


def test_a_change_of_all_values_forgets_what_a_device_wrote():
    node = make()
    device = FakeDevice(node)
    device.write(8)
    node.set_values([1] * 6)
    assert node.get_values().tolist() == [[1, 1, 1], [1, 1, 1]]
    assert device.calls == []


def test_a_change_waits_for_devices_that_still_read():
    node = make()
    device = FakeDevice(node)
    device.read()
    assert node.get_value((0, 0)) == 1
    assert device.calls == []
    node.set_value((0, 0), 2)
    node.set_value((0, 0), 3)
    assert device.calls == ["sync"]


def test_a_fetch_waits_for_devices_that_still_read():
    node = make()
    reader, writer = FakeDevice(node), FakeDevice(node)
    reader.read()
    writer.write(8)
    node.do_read()
    assert (reader.calls, writer.calls) == (["sync"], ["sync", "transfer"])


def test_a_change_makes_all_devices_lag():
    node = make()
    node.add_device_not_lagging_host(1)
    node.add_device_not_lagging_host(2)
    assert node.devices_not_lagging_host == {1, 2}
    node.discard_device_not_lagging_host(1)
    node.discard_device_not_lagging_host(7)
    assert node.devices_not_lagging_host == {2}
    node.set_value((0, 0), 2)
    assert node.devices_not_lagging_host == set()
    node.add_device_not_lagging_host(1)
    node.set_values([1] * 6)
    assert node.devices_not_lagging_host == set()
    node.add_device_not_lagging_host(1)
    node.do_write()
    assert node.devices_not_lagging_host == set()


def test_reading_makes_no_device_lag():
    node = make()
    node.add_device_not_lagging_host(1)
    FakeDevice(node).write(8)
    node.get_values()
    assert node.devices_not_lagging_host == {1}


def test_a_read_that_failed_is_done_again():
    node = make()
    device = FakeDevice(node)
    device.write(8)
    device.failure = RoutineError("step", "the kernel failed")
    with pytest.raises(RoutineError, match="step: the kernel failed"):
        node.get_values()
    later = FakeDevice(node)
    node.prepare_read(lambda: later.is_done, later.sync)
    device.failure = None
    assert node.get_value((0, 0)) == 8
    assert device.calls == ["sync", "sync", "transfer"]
    assert later.calls == ["sync"]


def test_what_is_prepared_while_a_read_fails_comes_after_it():
    node = make()
    first, second = FakeDevice(node), FakeDevice(node)
    attempts: list[str] = []

    def sync() -> None:
        attempts.append("sync")
        if len(attempts) == 1:
            second.write(9)
            raise RoutineError("step", "the kernel failed")

    node.prepare_read(lambda: False, sync, first.transfer)
    with pytest.raises(RoutineError, match="the kernel failed"):
        node.do_read()
    assert node.get_value((0, 0)) == 9
    assert (attempts, first.calls, second.calls) == (["sync", "sync"], [], ["sync", "transfer"])


def test_a_node_can_be_set_again_after_its_device_was_lost():
    node = make()
    device = FakeDevice(node)
    device.failure = DeviceLostError("llvm:0 is lost")
    device.write(8)
    device.read()
    with pytest.raises(DeviceLostError, match="llvm:0 is lost"):
        node.get_values()
    with pytest.raises(DeviceLostError, match="llvm:0 is lost"):
        node.set_values([1] * 6)
    node.set_values([2] * 6)
    assert node.get_value((0, 0)) == 2


def test_a_second_reader_waits_for_the_first_ones_transfer():
    node = make()
    is_transferring, may_go_on = Event(), Event()
    found: list[float] = []

    def transfer() -> None:
        is_transferring.set()
        assert may_go_on.wait(10)
        assert node.array is not None
        node.array[...] = 8

    node.prepare_read(lambda: False, lambda: None, transfer)
    readers = [Thread(target=lambda: found.append(node.get_value((0, 0)))) for _ in range(2)]
    readers[0].start()
    assert is_transferring.wait(10)
    readers[1].start()
    # What devices do needs no lock that a reader holds.
    node.prepare_write(lambda: True, lambda: None)
    node.add_device_not_lagging_host(1)
    may_go_on.set()
    for reader in readers:
        reader.join()
    assert found == [8, 8]


def test_changes_from_several_threads_are_all_kept():
    node = TensorNode.create("int64", dims=(8, 200), memory_mode="hosted")

    def fill(row: int) -> None:
        for column in range(200):
            node.set_value((row, column), row + 1)
            node.add_device_not_lagging_host(row)
            node.prepare_read(lambda: True, lambda: None)

    threads = [Thread(target=fill, args=(row,)) for row in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(node.get_values(), np.repeat(np.arange(1, 9)[:, None], 200, axis=1))
