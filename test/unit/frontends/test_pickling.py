"""What is pickled and copied, and what says what to do instead."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.errors import ProgramError
from tenon.frontends.arrays.aval import aval_of
from tenon.frontends.arrays.concrete import ConcreteArray

TEXT = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""


@tenon.jit
def doubled(x: Any) -> Any:
    return x * 2


def handles() -> dict[str, Any]:
    platform = tenon.open_platform("llvm")
    code = platform.compile("""graph.tnode @w : tensor<4xf32> = dense<1.0>
func.func @main() {
  %w = graph.read @w : tensor<4xf32>
  graph.write @w, %w : tensor<4xf32>
  func.return
}""")
    device = platform.get_device(0)
    root = device.make_context()
    lowered = doubled.lower(np.ones(3))
    routine = root.link(code)
    return {
        "DeviceExecutable": tenon.compile(TEXT),
        "ReferenceExecutable": tenon.compile(TEXT, backend="reference"),
        "Platform": platform,
        "Device": device,
        "Stream": tenon.open_platform("llvm", scheduler="multicore").get_device(0).new_stream(),
        "Context": root,
        "Code": code,
        "ProgramRoutine": routine,
        "Event": routine.run(),
        "TensorNode": tenon.TensorNode.from_array(np.zeros(3), label=("x",)),
        "Lowered": lowered,
        "CompiledCall": lowered.compile(),
    }


def test_what_is_of_one_process_is_neither_pickled_nor_copied() -> None:
    for name, handle in handles().items():
        for move in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=rf"^{name}: cannot be pickled or copied, .* \(hint: "):
                move(handle)


def test_the_text_of_a_stage_compiles_to_the_same_program() -> None:
    text = tenon.compile(TEXT).stages["graph"]
    x = np.arange(4, dtype="f")
    np.testing.assert_array_equal(tenon.compile(pickle.loads(pickle.dumps(text)))(x), x + x)


def test_jitted_functions_are_pickled_by_their_name_and_copied_as_functions_are() -> None:
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.copy(doubled) is doubled and copy.deepcopy([doubled])[0] is doubled
    for other in (tenon.jit(lambda x: x), tenon.jit(doubled.function), tenon.jit(np.sin, name="sine")):
        with pytest.raises(TypeError, match=r"cannot be pickled, .* is not this jitted function \(hint: jit"):
            pickle.dumps(other)


@pytest.mark.parametrize("dtype", [np.float32, np.bool_, np.uint16, ml_dtypes.bfloat16])
def test_arrays_are_pickled_by_value(dtype: Any) -> None:
    x = tnp.asarray(np.arange(6).reshape(2, 3).astype(dtype))
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert y.dtype == x.dtype and y.shape == x.shape and not y.weak
        np.testing.assert_array_equal(np.asarray(y), np.asarray(x))
    weak = ConcreteArray(np.asarray(x)[:0], aval_of(x.dtype, (0, 3), True))
    assert pickle.loads(pickle.dumps(weak)).weak


@pytest.mark.parametrize(
    "error",
    [
        tenon.TenonError("wrong", location="a.mlir:1:2"),
        ProgramError("first", [tenon.TenonError("second")], location="a.mlir:1:2"),
        tenon.RoutineError("main", "failed"),
        tenon.KernelCompileError("failed", "the log"),
        tenon.DeviceLostError("lost", ["main"]),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_are_pickled_with_what_they_know(error: tenon.TenonError) -> None:
    found = pickle.loads(pickle.dumps(error))
    assert type(found) is type(error) and str(found) == str(error)
    assert found.__dict__.keys() == error.__dict__.keys() and found.location == error.location
