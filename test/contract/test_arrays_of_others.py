"""Arrays of Tenon's and of other libraries as arguments of programs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.registry import DEVICE_NAMES
from tenon.errors import CallError
from xdsl.dialects.builtin import bf16

from .conftest import build
from .open_platforms import device_of, numbers

__all__ = ["build"]

Build = Callable[..., tenon.Executable]

DOUBLE = """
func.func @double(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = graph.add %x, %x : tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
"""


class Lent:
    """An array that is known by DLPack only, and counts how often it was asked for."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.n_asked = 0

    def __dlpack__(self, **options: Any) -> Any:
        self.n_asked += 1
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.values.__dlpack_device__()


class Distant:
    """An array of a device that the host does not see."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the array is not on the host")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


@pytest.fixture(params=DEVICE_NAMES)
def backend(request: pytest.FixtureRequest) -> str:
    device_of(request.param)
    return request.param


def test_executables_take_arrays_that_dlpack_hands_over(build: Build):
    lent = Lent(numbers(2, 3))
    np.testing.assert_array_equal(build(DOUBLE)(lent), 2 * numbers(2, 3))
    assert lent.n_asked == 1
    np.testing.assert_array_equal(lent.values, numbers(2, 3))


def test_executables_take_arrays_of_tenon(build: Build):
    array = tnp.asarray(numbers(2, 3))
    np.testing.assert_array_equal(build(DOUBLE)(array), 2 * numbers(2, 3))


def test_executables_take_narrow_arrays_of_tenon_where_the_device_has_them(backend: str):
    if not device_of(backend).device.supports(bf16):
        pytest.skip("this device lacks bf16")
    narrow = tnp.asarray(np.ones((2, 3)), dtype=tnp.bfloat16)
    with tenon.compile(DOUBLE.replace("f32", "bf16"), backend=backend) as executable:
        assert executable(narrow).astype(np.float32).tolist() == [[2, 2, 2], [2, 2, 2]]


def test_what_does_not_fit_is_refused_whoever_made_it(build: Build):
    executable = build(DOUBLE)
    with pytest.raises(CallError, match=r"argument 'x': dtype int32, expected float32"):
        executable(Lent(np.ones((2, 3), np.int32)))
    with pytest.raises(CallError, match=r"argument 'x': shape \[3, 2\], expected \[2, 3\]"):
        executable(tnp.asarray(numbers(3, 2)))
    with pytest.raises(CallError, match=r"argument 'x': Distant gives no array of the host: "):
        executable(Distant())
    with pytest.raises(CallError, match=r"argument 'x': expected a numpy array, found list"):
        executable([[1, 2, 3], [4, 5, 6]])


def test_jitted_functions_take_arrays_that_dlpack_hands_over(backend: str):
    @tenon.jit(backend=backend)
    def scaled(pair: tuple[Any, Any], factor: Any) -> Any:
        return (pair[0] + pair[1]) * factor

    lent = Lent(numbers(2, 3))
    for _ in range(2):
        found = scaled((lent, numbers(2, 3)), 3.0)
        np.testing.assert_array_equal(np.asarray(found), 6 * numbers(2, 3))
    lent.values[0, 0] = 5
    assert np.asarray(scaled((lent, numbers(2, 3)), 3.0))[0, 0] == 15


def test_jitted_functions_say_what_they_cannot_take(backend: str):
    @tenon.jit(backend=backend)
    def same(x: Any) -> Any:
        return x

    with pytest.raises(TypeError, match=r"same: argument 'x'.*cannot take Distant: "):
        same(Distant())
    with pytest.raises(TypeError, match=r"same: argument 'x'.*dtype complex64 is not supported"):
        same(Lent(np.ones(2, np.complex64)))


def test_an_array_is_lent_and_not_copied():
    values = numbers(1000)
    array = tnp.from_dlpack(Lent(values))
    assert np.shares_memory(np.from_dlpack(array), values)
    assert np.shares_memory(tenon.frontends.tracing.leaves.values_of(Lent(values)), values)


def test_tensors_of_torch_are_taken(backend: str):
    torch = pytest.importorskip("torch")
    tensor = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    with tenon.compile(DOUBLE, backend=backend) as executable:
        np.testing.assert_array_equal(executable(tensor), 2 * numbers(2, 3))
    np.testing.assert_array_equal(
        np.asarray(tenon.jit(lambda x: x + x, backend=backend)(tensor)), 2 * numbers(2, 3)
    )
