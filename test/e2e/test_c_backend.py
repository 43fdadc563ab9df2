"""examples/c_backend: a backend from outside of Tenon, in plain C, runs what Tenon's own run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.backends import registry
from tenon.backends.interface import Backend, BufferLoc
from tenon.backends.registry import get_backend
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import KernelCompileError, MissingExtraError
from xdsl.utils.exceptions import DiagnosticException

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


@pytest.fixture(scope="module")
def gcc() -> Iterator[Backend]:
    """The backend, which is registered while the tests of this file run."""
    sys.path.insert(0, str(ROOT / "examples"))
    import c_backend

    if "gcc" not in registry.DEVICE_NAMES:
        tenon.register_backend("gcc", c_backend.open_devices)
    yield get_backend("gcc")
    registry.unregister_backend("gcc")
    sys.path.remove(str(ROOT / "examples"))


def run(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "examples")}
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_runs_the_other_examples():
    assert run("-m", "c_backend").splitlines() == [
        "softmax: the bits of the interpreter",
        "digits: the bits of the interpreter",
        "digits: accuracy 98.33%",
        "transformer: the probabilities of numpy",
    ]


def test_it_passes_the_core_of_the_contract():
    core = [f"test/contract/test_{name}.py" for name in ("launcher", "compile_options", "atomics")]
    found = run("-m", "pytest", "-q", "-p", "c_backend", "-p", "no:cacheprovider", "-k", "gcc", *core)
    assert " passed" in found and "skipped" not in found


ARITHMETIC = """
func.func @f(%x: tensor<8x8xi8>, %y: tensor<8x8xi8>, %z: tensor<8x8xf32>)
    -> (tensor<8x8xi8>, tensor<8x8xi8>, tensor<8x8xi8>, tensor<8x8xui8>, tensor<8x8xi8>, tensor<8x8xf32>) {
  %d = graph.truncdiv %x, %y : tensor<8x8xi8>
  %r = graph.rem %x, %y : tensor<8x8xi8>
  %p = graph.pow %x, %y : tensor<8x8xi8>
  %u = graph.cast %z : tensor<8x8xf32> -> tensor<8x8xui8>
  %s = graph.shl %p, %y : tensor<8x8xi8>
  %m = graph.max %z, %z : tensor<8x8xf32>
  %q = graph.rem %m, %m : tensor<8x8xf32>
  func.return %d, %r, %p, %u, %s, %q
      : tensor<8x8xi8>, tensor<8x8xi8>, tensor<8x8xi8>, tensor<8x8xui8>, tensor<8x8xi8>, tensor<8x8xf32>
}
"""


def test_numbers_at_the_edges_are_those_of_the_interpreter(gcc: Backend):
    x, y = np.meshgrid(*2 * [np.array([-128, -127, -1, 0, 1, 2, 7, 127], np.int8)])
    z = np.resize(np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 255.5, 256, -0.9], np.float32), (8, 8))
    with tenon.compile(ARITHMETIC, backend="gcc") as compiled:
        found = compiled(x, y, z)
    with tenon.compile(ARITHMETIC, backend="reference", level="low") as interpreted:
        for mine, expected in zip(found, interpreted(x, y, z), strict=True):
            np.testing.assert_array_equal(mine, expected)


def kernel(name: str, body: str = "", block: int = 1) -> str:
    return f"""low.kernel @{name}(%x: memref<4xi32>) grid [4, 1, 1] block [{block}, 1, 1] {{
      %i = low.block_id x
      %v = memref.load %x[%i] : memref<4xi32>
      %w = arith.addi %v, %v : i32
      memref.store %w, %x[%i] : memref<4xi32>
      {body}
    }}"""


def render(backend: Backend, text: str) -> str:
    return backend.renderer.render(parse_module(text), backend.device)


@pytest.mark.parametrize("name", ['"*/ int x; /*"', '"a\\\\"', "int", '"\\22é \\0A#error"', "k" * 3000])
def test_names_of_kernels_are_no_c(gcc: Backend, name: str):
    source = render(gcc, kernel(name).replace("%v", "%restrict").replace("%w", "%exit"))
    artifact = gcc.compiler.compile(source, gcc.device)
    gcc.driver.alloc_pool(5, 16, 64)
    gcc.driver.copy_to_device(BufferLoc(5, 0), np.arange(4, dtype=np.int32))
    gcc.driver.launch(
        gcc.driver.get_kernel(artifact, artifact.entry_points[0]), (4, 1, 1), None, [BufferLoc(5, 0)]
    )
    found = np.empty(4, np.int32)
    gcc.driver.copy_from_device(found, BufferLoc(5, 0))
    gcc.driver.free_pool(5)
    assert found.tolist() == [0, 2, 4, 6]


def test_a_kernel_that_does_not_compile_is_named_with_what_gcc_says(gcc: Backend):
    before, after = render(gcc, kernel("good") + kernel("bad")).split("void kernel1_bad")
    source = before + "void kernel1_bad" + after.replace(" + ", " +* nonsense ", 1)
    with pytest.raises(KernelCompileError, match=r"^gcc: cannot compile @bad\n[^@]*nonsense"):
        gcc.compiler.compile(source, gcc.device)


def test_flags_that_gcc_does_not_take_name_all_kernels(gcc: Backend):
    source = render(gcc, kernel("good") + kernel("other"))
    with pytest.raises(KernelCompileError, match=r"^gcc: cannot compile @good, @other\n"):
        gcc.compiler.compile(source, gcc.device, {"flags": ("-no-such-flag",)})


def test_a_source_that_names_no_kernels_is_an_error(gcc: Backend):
    with pytest.raises(KernelCompileError, match=r"^gcc: the first line names no kernels\n"):
        gcc.compiler.compile("int x;", gcc.device)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (kernel("k", "%l = vector.load %x[%i] : memref<4xi32>, vector<2xi32>"), "vector.load: no rule"),
        (
            kernel("k", "low.barrier", block=2),
            r"low.barrier: groups have \[2, 1, 1\] work-items, which do not wait",
        ),
        (
            kernel("k", "%h = low.alloca : memref<4xbf16>"),
            "low.alloca: device gcc lacks bf16",
        ),
    ],
)
def test_what_c_has_no_rule_for_is_an_error_that_names_the_op(gcc: Backend, text: str, message: str):
    with pytest.raises(DiagnosticException, match=f"^gcc: {message}$"):
        render(gcc, text)


def test_a_machine_without_gcc_says_so(gcc: Backend, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingExtraError, match=r"^gcc: the program gcc is not installed$"):
        get_backend("gcc")
