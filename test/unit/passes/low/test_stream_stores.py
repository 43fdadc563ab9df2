"""What passes the caches by on its way to memory is what would be stored otherwise, wherever it begins."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm import backend
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.low.stream_stores import StreamStoresPass
from tenon.passes.pass_manager import PassManager
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

Array = npt.NDArray[Any]

STREAMED = "nontemporal = true"


def added(x: Any) -> Any:
    return x + 1


def added_row(x: Any) -> Any:
    return x + tnp.arange(x.shape[1], dtype=x.dtype)


def turned(x: Any) -> Any:
    return tnp.transpose(x) * 2


def of_rows(x: Any) -> Any:
    return x / tnp.sum(x, axis=1, keepdims=True)


def repeated(x: Any) -> Any:
    return tnp.concatenate([x, x], axis=1)


FUNCTIONS = [added, turned, of_rows, repeated]


def low_module(function: Any, x: Array, l3_nbytes: int, vector_nbytes: int = 32) -> ModuleOp:
    """Returns the low program, for a machine with so much of a third cache, and vectors of so many bytes."""
    module = parse_module(str(tenon.jit(function).lower(x).module))
    sizes = f"{{l3-nbytes={l3_nbytes} vector-nbytes={vector_nbytes}}}"
    PassManager(f"graph-pipeline,sched-pipeline{sizes},low-pipeline{sizes}").run(context(), module)
    return module


def placed(x: Array, offset: int) -> Array:
    """Returns a copy that begins so many bytes behind a multiple of 64."""
    memory = np.empty(x.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    found = memory[start : start + x.nbytes].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i1"])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        *((each, (128, 192)) for each in FUNCTIONS),
        *((each, (2, 70_003)) for each in FUNCTIONS if each is not turned),
    ],
)
def test_results_are_the_same_bits(function: Any, shape: tuple[int, int], dtype: str):
    x = np.random.default_rng(0).uniform(1, 9, shape).astype(dtype)
    plain = low_module(function, x, 1 << 25)
    streamed = low_module(function, x, 1)
    assert STREAMED not in str(plain) and STREAMED in str(streamed)
    with tenon.compile(str(plain)) as executable:
        expected = executable(x)
    with tenon.compile(str(streamed)) as executable:
        for offset in (0, expected.itemsize, 32):
            out = placed(np.zeros_like(expected), offset)
            executable(x, out=out)
            assert out.tobytes() == expected.tobytes(), offset
        assert executable(x).tobytes() == expected.tobytes()


@pytest.mark.parametrize("vector_nbytes", [32, 64])
@pytest.mark.parametrize(
    ("function", "shape"), [(added_row, (80, 100)), (turned, (20, 800)), (turned, (36, 160))]
)
def test_rows_that_are_no_whole_lines_stay_in_the_caches(
    function: Any, shape: tuple[int, int], vector_nbytes: int
):
    x = np.ones(shape, np.float32)
    assert STREAMED not in str(low_module(function, x, 1, vector_nbytes))
    whole = np.ones([-(-extent // 16) * 16 for extent in shape], np.float32)
    assert STREAMED in str(low_module(function, whole, 1, vector_nbytes))


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_code_for_processors_has_stores_past_the_caches_and_a_fence(target: str):
    x = np.ones((80, 96), np.float32)
    device = backend(target=target)
    source = device.renderer.render(low_module(added, x, 1), device.device)
    assembly = device.compiler.assembly(source, device.device)
    assert "vmovnt" in assembly or "movntps" in assembly
    assert assembly.count("sfence") == 1


def test_other_backends_pass_over_the_hint():
    x = np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32)
    module = low_module(turned, x, 1)
    for name in ("reference", "opencl"):
        if name == "opencl":
            pytest.importorskip("pyopencl")
        with tenon.compile(str(module), backend=name) as executable:
            assert executable(x).tobytes() == np.ascontiguousarray(x.T * 2).tobytes()


def test_named_extents_may_be_small():
    text = """
    graph.dim @n min 1 max 1000000
    func.func @f(%x: tensor<?x1024xf32, #graph.dims<n, 1024>>) -> tensor<?x1024xf32, #graph.dims<n, 1024>> {
      %y = graph.add %x, %x : tensor<?x1024xf32, #graph.dims<n, 1024>>
      func.return %y : tensor<?x1024xf32, #graph.dims<n, 1024>>
    }
    """
    with tenon.compile(text) as executable:
        assert STREAMED not in str(executable.stages["low"])
        assert executable(np.ones((3, 1024), np.float32)).sum() == 2 * 3 * 1024


def test_the_third_cache_has_a_size():
    with pytest.raises(PassFailedException, match=r"^stream-stores: l3-nbytes 0 must be 1 or more$"):
        StreamStoresPass(l3_nbytes=0).apply(context(), ModuleOp([]))
