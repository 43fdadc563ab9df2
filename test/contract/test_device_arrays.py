"""Arrays in the memory of a device, and programs that run on them."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.backends.registry import DEVICE_NAMES, REFERENCE
from tenon.errors import CallError, OutOfMemoryError
from tenon.runtime.executables.device_array import DeviceArray
from tenon.runtime.memory.slab_pool import slab_pool_of
from tenon.semantics.numpy_types import DTYPES_BY_NAME

from .conftest import build, device, pair
from .open_platforms import device_of, numbers

__all__ = ["build", "device", "pair"]

Build = Callable[..., tenon.Executable]

SUM_AND_PRODUCT = """
func.func @both(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>)
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %s = graph.add %a, %b : tensor<2x3xf32>
  %p = graph.mul %a, %b : tensor<2x3xf32>
  func.return %s, %p, %a : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}
"""

DONATED = """
func.func @next(%a: tensor<4xf32> {tenon.donated}) -> tensor<4xf32> {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  %b = graph.add %a, %one : tensor<4xf32>
  func.return %b : tensor<4xf32>
}
"""

COUNTED = """
graph.tnode @w : tensor<4xf32> = dense<0.0>
func.func @count(%i: index, %x: tensor<2x4xf32>) -> tensor<4xf32> {
  %row = graph.reduce add %x axes [0] : tensor<2x4xf32> -> tensor<4xf32>
  graph.write add @w, %row : tensor<4xf32>
  %w = graph.read @w : tensor<4xf32>
  func.return %w : tensor<4xf32>
}
"""

SIZED = """
graph.dim @n min 1 max 8
func.func @double(%x: tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<n>> {
  %y = graph.add %x, %x : tensor<?xf32, #graph.dims<n>>
  func.return %y : tensor<?xf32, #graph.dims<n>>
}
"""


def held(backend: Backend) -> int:
    gc.collect()
    return slab_pool_of(backend.driver).statistics().nbytes


def backend_of(executable: tenon.Executable) -> Backend:
    """Returns the device that a program runs on; one that is interpreted runs on none in particular."""
    return executable.backend or device_of(REFERENCE)


def test_an_array_tells_what_it_is(device: Backend):
    before = held(device)
    array = DeviceArray.empty(device, "f4", (3, 5))
    assert (array.dtype, array.shape, array.size, array.nbytes) == (np.dtype("f4"), (3, 5), 15, 60)
    assert array.backend is device
    assert repr(array).startswith(f"<DeviceArray float32[3, 5] on {device.name}: 60 bytes at pool ")
    assert held(device) == before + 64
    del array
    assert held(device) == before


@pytest.mark.parametrize("name", sorted(DTYPES_BY_NAME))
def test_every_dtype_lies_on_a_device(device: Backend, name: str):
    values = np.arange(6).reshape(2, 3).astype(DTYPES_BY_NAME[name])
    array = DeviceArray.of(device, values)
    found = array.read()
    assert found.dtype == values.dtype
    assert found.tobytes() == values.tobytes()
    assert np.asarray(array).tobytes() == values.tobytes()


def test_arrays_of_devices_are_handed_over_as_copies(device: Backend):
    array = DeviceArray.of(device, numbers(2, 3))
    copy = np.from_dlpack(array)
    np.testing.assert_array_equal(copy, numbers(2, 3))
    np.testing.assert_array_equal(np.asarray(tenon.jit(lambda x: x + x)(array)), 2 * numbers(2, 3))
    array.write(np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(copy, numbers(2, 3))
    with pytest.raises(BufferError, match="a DeviceArray has no values on the host without a copy"):
        array.__dlpack__(copy=False)


def test_parts_are_copied(device: Backend):
    array = DeviceArray.of(device, np.arange(10, dtype=np.int32))
    array.write(np.array([7, 8], np.int32), offset=3)
    host = np.arange(100, 120, dtype=np.int32)
    array.write(host[10:12], offset=8)
    assert array.read().tolist() == [0, 1, 2, 7, 8, 5, 6, 7, 110, 111]
    out = np.zeros(3, np.int32)
    assert array.read(out, offset=2) is out
    assert out.tolist() == [2, 7, 8]


def test_any_layout_is_written(device: Backend):
    values = numbers(4, 6)
    array = DeviceArray.of(device, values[::2, ::-1].T)
    np.testing.assert_array_equal(array.read(), values[::2, ::-1].T)


def test_arrays_of_no_elements_are_arrays(device: Backend):
    array = DeviceArray.of(device, np.empty((0, 3), np.float32))
    assert array.read().shape == (0, 3)
    array.write(np.empty(0, np.float32))
    assert array.copy_to(device).shape == (0, 3)


def test_values_go_to_other_devices(pair: list[Backend]):
    first, second = pair
    array = DeviceArray.of(first, numbers(5)).copy_to(second)
    assert array.backend is second
    assert array.read().tolist() == [0, 1, 2, 3, 4]
    same = array.copy_to(second)
    array.write(np.zeros(5, np.float32))
    assert same.read().tolist() == [0, 1, 2, 3, 4]


def test_more_than_there_is_is_an_error(device: Backend):
    with pytest.raises(OutOfMemoryError):
        DeviceArray.empty(device, "f4", (1 << 58,))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda a: a.write(np.zeros(4)), r"DeviceArray.write: dtype float64, expected float32"),
        (lambda a: a.write(numbers(5)), r"DeviceArray.write: 5 elements from 0 on are more than the 4 of"),
        (lambda a: a.write(numbers(2), offset=3), r"2 elements from 3 on are more than the 4 of the array"),
        (lambda a: a.write(numbers(2), offset=-1), r"2 elements from -1 on are more than the 4"),
        (lambda a: a.write(numbers(2), offset="1"), r"offset: expected an integer, found str"),
        (lambda a: a.read(np.zeros((4, 2), np.float32)[:, 0]), r"DeviceArray.read: the array is not contig"),
        (lambda a: a.read(np.broadcast_to(np.float32(1), (1,))), r"DeviceArray.read: the array is not writ"),
        (lambda a: DeviceArray.empty(a.backend, "f4", (-1,)), r"shape \[-1\] has a negative extent"),
        (
            lambda a: DeviceArray.empty(REFERENCE, "f4", 1),
            r"DeviceArray: expected a Backend record, found str",
        ),
    ],
)
def test_what_does_not_fit_an_array_is_refused(use: Callable[[Any], Any], message: str):
    array = DeviceArray.of(device_of(REFERENCE), numbers(4))
    with pytest.raises(CallError, match=message):
        use(array)
    with pytest.raises(ValueError, match="no values on the host without a copy"):
        np.array(array, copy=False)


def test_programs_run_on_arrays_of_their_device(build: Build):
    executable = build(SUM_AND_PRODUCT)
    backend = backend_of(executable)
    a, b = (DeviceArray.of(backend, numbers(2, 3, start=start)) for start in (1, 5))
    results = executable.execute([a, b])
    assert list(results) == [0, 1, 2]
    again = executable.execute({"b": results[0], "a": a})
    np.testing.assert_array_equal(results[0].read(), numbers(2, 3, start=1) + numbers(2, 3, start=5))
    np.testing.assert_array_equal(results[1].read(), numbers(2, 3, start=1) * numbers(2, 3, start=5))
    np.testing.assert_array_equal(results[2].read(), numbers(2, 3, start=1))
    np.testing.assert_array_equal(again[0].read(), 2 * numbers(2, 3, start=1) + numbers(2, 3, start=5))
    np.testing.assert_array_equal(a.read(), numbers(2, 3, start=1))
    a.write(np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(results[2].read(), numbers(2, 3, start=1))


def test_results_are_chosen(build: Build):
    executable = build(SUM_AND_PRODUCT)
    a = numbers(2, 3)
    results = executable.execute([a, a], outputs=[1])
    assert list(results) == [1]
    np.testing.assert_array_equal(results[1].read(), a * a)
    assert executable.execute([a, a], outputs=[]) == {}
    with pytest.raises(CallError, match=r"both: there is no result 3 \(results: 3\)"):
        executable.execute([a, a], outputs=[3])
    with pytest.raises(CallError, match=r"both: outputs: expected numbers of results, found str"):
        executable.execute([a, a], outputs=["s"])  # pyright: ignore[reportArgumentType]


def test_executing_leaves_nothing(device: Backend):
    with tenon.compile(SUM_AND_PRODUCT, backend=device) as executable:
        executable.execute([numbers(2, 3)] * 2)
        before = held(device)
        for _ in range(3):
            executable.execute([numbers(2, 3)] * 2, [0])
        assert held(device) == before


def test_donated_arrays_of_devices_are_left_as_they_are(build: Build):
    executable = build(DONATED)
    array = DeviceArray.of(backend_of(executable), numbers(4))
    (result,) = executable.execute([array]).values()
    assert result.read().tolist() == [1, 2, 3, 4]
    assert array.read().tolist() == [0, 1, 2, 3]


def test_programs_with_nodes_and_symbols_run_on_arrays_of_devices(build: Build):
    executable = build(COUNTED)
    array = DeviceArray.of(backend_of(executable), numbers(2, 4))
    for total in (1, 2):
        (result,) = executable.execute({"x": array, "i": 3}).values()
        assert result.read().tolist() == [4 * total, 6 * total, 8 * total, 10 * total]
    assert executable.nodes["w"].tolist() == [8, 12, 16, 20]


def test_programs_of_varying_size_run_on_arrays_of_devices(build: Build):
    executable = build(SIZED)
    for size in (1, 5, 8):
        array = DeviceArray.of(backend_of(executable), numbers(size))
        (result,) = executable.execute([array]).values()
        np.testing.assert_array_equal(result.read(), 2 * numbers(size))


def test_arrays_of_other_devices_are_copied(build: Build):
    executable = build(SUM_AND_PRODUCT)
    other = next(name for name in DEVICE_NAMES if name != executable.backend_name)
    array = DeviceArray.of(device_of(other), numbers(2, 3))
    results = executable.execute([array, numbers(2, 3)], [0])
    np.testing.assert_array_equal(results[0].read(), 2 * numbers(2, 3))


def test_calls_take_arrays_of_devices(build: Build):
    executable = build(SUM_AND_PRODUCT)
    array = DeviceArray.of(backend_of(executable), numbers(2, 3))
    found, _, _ = executable(array, numbers(2, 3))
    np.testing.assert_array_equal(found, 2 * numbers(2, 3))


def test_arguments_must_fit_on_devices_too(build: Build):
    executable = build(SUM_AND_PRODUCT)
    array = DeviceArray.of(backend_of(executable), numbers(3, 2))
    with pytest.raises(CallError, match=r"argument 'b': shape \[3, 2\], expected \[2, 3\]"):
        executable.execute([numbers(2, 3), array])
    with pytest.raises(CallError, match=r"argument 'a': dtype float64, expected float32"):
        executable.execute([np.zeros((2, 3)), array])
    with pytest.raises(CallError, match=r"both: argument 'b' is missing"):
        executable.execute({"a": numbers(2, 3)})
    executable.close()
    with pytest.raises(CallError, match="both: the executable is closed"):
        executable.execute([numbers(2, 3)] * 2)
