"""What comes from the cache on disk is what was compiled: the same bits, texts and plans."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.cache.place import FOLDER, LIMIT, SWITCH
from tenon.backends.interface import Backend
from tenon.backends.registry import compiling_names
from tenon.compiler.kept_programs import keeps_programs_for
from tenon.errors import KernelCompileError
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.plan.plan_codec import encode

from .open_platforms import device_of

Array = npt.NDArray[Any]

RNG = np.random.default_rng(0)


def random(*shape: int, dtype: Any = np.float32) -> Array:
    return RNG.standard_normal(shape).astype(dtype)


SOFTMAX = """
func.func @softmax(%x: tensor<5x37xf32>) -> tensor<5x37xf32> {
  %most = graph.reduce max %x axes [1] keep : tensor<5x37xf32> -> tensor<5x1xf32>
  %wide = graph.broadcast %most : tensor<5x1xf32> -> tensor<5x37xf32>
  %d = graph.sub %x, %wide : tensor<5x37xf32>
  %e = graph.exp %d : tensor<5x37xf32>
  %s = graph.reduce add %e axes [1] keep : tensor<5x37xf32> -> tensor<5x1xf32>
  %t = graph.broadcast %s : tensor<5x1xf32> -> tensor<5x37xf32>
  %y = graph.div %e, %t : tensor<5x37xf32>
  func.return %y : tensor<5x37xf32>
}
"""

DIMS = """
graph.dim @n min 0 max 64
func.func @scale(%x: tensor<?x8xf32, #graph.dims<n, 8>>, %w: tensor<8xf32>) -> (tensor<?x8xf32, \
#graph.dims<n, 8>>, tensor<8xf32>) {
  %b = graph.broadcast %w : tensor<8xf32> -> tensor<?x8xf32, #graph.dims<n, 8>>
  %y = graph.mul %x, %b : tensor<?x8xf32, #graph.dims<n, 8>>
  %s = graph.reduce add %y axes [0] : tensor<?x8xf32, #graph.dims<n, 8>> -> tensor<8xf32>
  func.return %y, %s : tensor<?x8xf32, #graph.dims<n, 8>>, tensor<8xf32>
}
"""

NODES = """
graph.tnode @w : tensor<4x8xf32> mode on_device = dense<2.0>
graph.tnode @steps : tensor<i32> = dense<0>
func.func @step(%x: tensor<8xf32>, %i: index) -> tensor<8xf32> {
  %row = graph.read @w[%i] : tensor<8xf32>
  %y = graph.add %row, %x : tensor<8xf32>
  graph.write @w[%i], %y : tensor<8xf32>
  %one = graph.constant dense<1> : tensor<i32>
  graph.write add @steps, %one : tensor<i32>
  func.return %y : tensor<8xf32>
}
"""

SCAN = """
func.func @f(%x: tensor<10x4xf32>) -> (tensor<4xf32>, tensor<10x4xf32>) {
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %s, %all = graph.scan %i = 10 reverse (%c = %zero) over (%row = %x) : (tensor<4xf32>, tensor<10x4xf32>) -> \
(tensor<4xf32>, tensor<10x4xf32>) {
    %d = graph.add %c, %row : tensor<4xf32>
    graph.yield %d, %d : tensor<4xf32>, tensor<4xf32>
  }
  func.return %s, %all : tensor<4xf32>, tensor<10x4xf32>
}
"""

IDENTITY = "func.func @same(%x: tensor<3xi1>) -> tensor<3xi1> { func.return %x : tensor<3xi1> }"

DONATED = """
func.func @add(%x: tensor<100xf32> {tenon.donated}, %y: tensor<100xf32>) -> tensor<100xf32> {
  %z = graph.add %x, %y : tensor<100xf32>
  func.return %z : tensor<100xf32>
}
"""

LARGE_CONSTANT = f"""
func.func @shift(%x: tensor<20000xf32>) -> (tensor<20000xf32>, tensor<20000xbf16>) {{
  %c = graph.constant dense<"0x{random(20000).tobytes().hex()}"> : tensor<20000xf32>
  %y = graph.add %x, %c : tensor<20000xf32>
  %z = graph.cast %y : tensor<20000xf32> -> tensor<20000xbf16>
  func.return %y, %z : tensor<20000xf32>, tensor<20000xbf16>
}}
"""

CASES: dict[str, tuple[str, tuple[tuple[Any, ...], ...], dict[str, Any]]] = {
    "softmax": (SOFTMAX, ((random(5, 37),),), {}),
    "dims": (
        DIMS,
        tuple((random(n, 8), random(8)) for n in (5, 64, 8, 0, 1)),
        {"specialize": {"n": [8]}},
    ),
    "nodes": (NODES, ((random(8), 1), (random(8), 1), (random(8), 3)), {}),
    "scan": (SCAN, ((random(10, 4),),), {}),
    "no kernel": (IDENTITY, ((np.array([True, False, True]),),), {}),
    "donated": (DONATED, ((random(100), random(100)),), {}),
    "large constant": (LARGE_CONSTANT, ((random(20000),),), {}),
    "pipeline": (SOFTMAX, ((random(5, 37),),), {"pipeline": "graph-pipeline,sched-pipeline,low-pipeline"}),
}


@pytest.fixture(params=compiling_names())
def backend(request: pytest.FixtureRequest) -> Backend:
    """Each backend with something to keep."""
    backend = device_of(request.param)
    if not keeps_programs_for(backend):
        pytest.skip("programs for this device are not kept")
    return backend


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own, which is on."""
    path = tmp_path / "kept"
    monkeypatch.setenv(FOLDER, str(path))
    monkeypatch.setenv(SWITCH, "1")
    return path


def lookups() -> tuple[int, int]:
    return tenon.cache_info()[:2]


def bits(results: Any) -> list[tuple[str, tuple[int, ...], bytes]]:
    arrays: tuple[Array, ...] = results if isinstance(results, tuple) else (results,)
    return [(array.dtype.name, array.shape, array.tobytes()) for array in arrays]


def copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]


@pytest.mark.parametrize("case", CASES)
def test_cached_is_uncached(
    backend: Backend, folder: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, calls, options = CASES[case]
    monkeypatch.setenv(SWITCH, "0")
    fresh = tenon.compile(text, backend=backend, **options)
    expected = [bits(fresh(*copied(arguments))) for arguments in calls]
    monkeypatch.setenv(SWITCH, "1")
    for module in (text, tenon.parse_module(text)):
        for is_hit in (False, True):
            before = lookups()
            found = tenon.compile(module, backend=backend, **options)
            hits, misses = np.subtract(lookups(), before)
            assert (hits, misses) == ((1, 0) if is_hit else (0, 1))
            assert [bits(found(*copied(arguments))) for arguments in calls] == expected
            assert repr(found) == repr(fresh)
            assert (found.signature, found.name) == (fresh.signature, fresh.name)
            assert list(found.stages) == list(fresh.stages)
            assert dict(found.stages) == dict(fresh.stages)
            assert found.source == fresh.source
            assert sorted(found.nodes) == sorted(fresh.nodes)
            if isinstance(found, DeviceExecutable) and isinstance(fresh, DeviceExecutable):
                assert encode(found.program, []) == encode(fresh.program, [])
            found.close()
    fresh.close()


def test_values_of_nodes_are_kept_from_call_to_call(backend: Backend, folder: Path) -> None:
    for _ in range(2):
        with tenon.compile(NODES, backend=backend) as step:
            step.nodes["w"] = np.ones((4, 8), np.float32)
            step.nodes["steps"] = np.zeros((), np.int32)
            x = random(8)
            step(x, 2)
            np.testing.assert_array_equal(step(x, 2), 1 + x + x)
            assert step.nodes["steps"] == 2


def test_texts_with_ops_of_users_are_compiled_each_time(
    backend: Backend, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenon.compiler.kept_programs.CUSTOM_DIALECTS", {"mine"})
    for text, expected in ((SOFTMAX, (0, 1)), (f"{SOFTMAX}// mine.softshrink", (0, 0))):
        before = lookups()
        tenon.compile(text, backend=backend).close()
        assert tuple(np.subtract(lookups(), before)) == expected


PROGRAM = """
import sys
import numpy as np
import tenon
import tenon.numpy as tnp

@tenon.jit(backend=sys.argv[1])
def f(x, w):
    return tnp.tanh(x @ w) * 2 + 1

x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(4, 16)
y = np.asarray(f(x, x.T.copy()))
z = np.asarray(tnp.exp(tnp.asarray(y)))
print(y.tobytes().hex(), z.tobytes().hex(), *tenon.cache_info()[:2])
"""


def test_processes_give_programs_to_one_another(backend: Backend, folder: Path) -> None:
    def outcome() -> list[str]:
        command = [sys.executable, "-c", PROGRAM, backend.name]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    first, second = outcome(), outcome()
    assert first[:2] == second[:2]
    n_programs = int(first[3])
    assert first[2:] == ["0", str(n_programs)]
    assert second[2:] == [str(n_programs), "0"]


def test_jitted_functions_and_platforms_find_their_programs(backend: Backend, folder: Path) -> None:
    def f(x: Any, y: Any) -> Any:
        return tnp.sin(x) * y

    x = random(3, 5)
    before = lookups()
    results = [np.asarray(tenon.jit(f, backend=backend.name)(x, x)) for _ in range(2)]
    assert results[0].tobytes() == results[1].tobytes()
    assert tuple(np.subtract(lookups(), before)) == (1, 1)
    text = NODES.replace("%x: tensor<8xf32>, ", "").replace(" -> tensor<8xf32> {", " {", 1)
    text = text.replace("%row, %x", "%row, %row").replace("return %y : tensor<8xf32>", "return")
    for is_hit in (False, True):
        before = lookups()
        with tenon.open_platform(backend.name, num_devices=2) as platform:
            code = platform.compile(text)
            assert list(code.nodes) == ["w", "steps"]
            assert code.source == code.stages["source"]
            two = platform.compile_batch([text, text], names=["a", "b"])
            assert [each.name for each in two if each is not None] == ["a", "b"]
        assert tuple(np.subtract(lookups(), before)) == ((3, 0) if is_hit else (0, 3))


def test_damaged_programs_and_code_are_compiled_again(backend: Backend, folder: Path) -> None:
    x = random(5, 37)
    first = tenon.compile(SOFTMAX, backend=backend)(x)
    for pattern in ("program-*", "code-*"):
        (path,) = folder.glob(pattern)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        before = lookups()
        assert bits(tenon.compile(SOFTMAX, backend=backend)(x)) == bits(first)
        assert tuple(np.subtract(lookups(), before)) == (0, 1)
        (again,) = folder.glob(pattern)
        assert again.stat().st_size == len(data)
        assert bits(tenon.compile(SOFTMAX, backend=backend)(x)) == bits(first)
        assert tuple(np.subtract(lookups(), before)) == (1, 1)


def test_code_that_does_not_load_is_compiled_again(
    backend: Backend, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = random(5, 37)
    first = bits(tenon.compile(SOFTMAX, backend=backend)(x))
    compiler: Any = type(backend.compiler)
    load = compiler.load
    refused: list[bytes] = []

    def refuse_once(self: Any, image: bytes, device: Any) -> Any:
        if not refused:
            refused.append(image)
            raise KernelCompileError("the device takes no such code", "")
        return load(self, image, device)

    monkeypatch.setattr(compiler, "load", refuse_once)
    before = lookups()
    assert [bits(tenon.compile(SOFTMAX, backend=backend)(x)) for _ in range(2)] == [first, first]
    assert len(refused) == 1
    assert tuple(np.subtract(lookups(), before)) == (1, 1)


def test_a_limit_of_no_bytes_keeps_nothing(
    backend: Backend, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(LIMIT, "0")
    for _ in range(2):
        assert tenon.compile(SOFTMAX, backend=backend)(random(5, 37)).shape == (5, 37)
    assert list(folder.iterdir()) == []
