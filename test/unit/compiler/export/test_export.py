"""Exported programs give what compiled ones do, from Python and from C, and need libc and libm only."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm.processors import host_processor
from tenon.test.fuzz.kinds import KINDS
from tenon.test.fuzz.runner import made, text_of
from tenon.test.fuzz.tenon_side import TenonSide
from tenon.test.unit.library import ROOT

from .c_programs import built, needs_cc, run

DIGITS = ROOT / "examples" / "digits"

TWICE = """
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}"""

ALLOWED = {"libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}

needs_linker = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("ld")), reason="needs a linker")


def digits() -> tuple[str, dict[str, Any]]:
    with np.load(DIGITS / "digits.npz") as data, np.load(DIGITS / "weights.npz") as weights:
        arrays = {"images": data["images"][data["held_out"]], **weights}
    return (DIGITS / "digits.mlir").read_text(), arrays


def same(first: Any, second: Any) -> bool:
    """Whether results have the same dtypes, shapes and bits."""
    ours, theirs = (each if isinstance(each, tuple | list) else (each,) for each in (first, second))
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True)]
    return all((a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()) for a, b in pairs)


@needs_linker
def test_the_digits_of_a_library_have_the_bits_of_the_compiled_program(tmp_path: Path) -> None:
    text, arrays = digits()
    with tenon.compile(text) as executable:
        exported = tenon.export(executable, tmp_path / "digits")
        assert exported.library == tmp_path / "digits.so" and not exported.note
        assert {file.name for file in exported.files} == {"digits.h", "digits.o", "digits.so"}
        with tenon.load(exported.library) as loaded:
            assert loaded.argument_types == executable.argument_types
            assert loaded.result_types == executable.result_types
            assert same(loaded(**arrays), executable(**arrays))


@needs_cc
def test_the_example_in_c_recognises_digits(tmp_path: Path) -> None:
    text, arrays = digits()
    names = ("w1", "b1", "w2", "b2", "w3", "b3")
    exported = tenon.export(text, tmp_path / "digits", constants={name: arrays[name] for name in names})
    program = built((DIGITS / "digits.c").read_text(), exported, tmp_path)
    found = run(program, arrays["images"], arguments=("2",)).decode().strip()
    with tenon.compile(text) as executable:
        assert found == "".join(map(str, executable(**arrays).argmax(axis=1)))


@needs_cc
@pytest.mark.parametrize("threads", [0, 3])
def test_c_computes_the_digits_with_the_same_bits(tmp_path: Path, threads: int) -> None:
    text, arrays = digits()
    names = ("w1", "b1", "w2", "b2", "w3", "b3")
    exported = tenon.export(text, tmp_path / "digits", constants={name: arrays[name] for name in names})
    program = built(
        """
        #include <stdio.h>
        #include <stdlib.h>
        #include "digits.h"
        static uint8_t images[360 * 64];
        static float result[360 * 10];
        int main(int argc, char **argv) {
          int threads = argc > 1 ? atoi(argv[1]) : 0;
          tenon_executor executor;
          if (fread(images, 1, sizeof images, stdin) != sizeof images) return 10;
          if (threads && digits_threads_start(&executor, threads)) return 11;
          for (int i = 0; i < 20; i++) {
            int code = digits_run(images, result, NULL, threads ? &executor : NULL);
            if (code) return code;
          }
          if (threads) digits_threads_stop(&executor);
          fwrite(result, 1, sizeof result, stdout);
          return 0;
        }""",
        exported,
        tmp_path,
    )
    with tenon.compile(text) as executable:
        expected = executable(**arrays)
    assert run(program, arrays["images"], arguments=(str(threads),)) == expected.tobytes()


@needs_linker
@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_a_library_needs_libc_and_libm_only(tmp_path: Path) -> None:
    @tenon.jit
    def function(x):
        return tnp.fmod(x, 0.7) + tnp.exp(x @ x)

    exported = tenon.export(function, tmp_path / "mod", np.ones((8, 8), np.float32))
    assert exported.library is not None
    dynamic = subprocess.run(
        ["readelf", "-W", "-d", str(exported.library)], capture_output=True, text=True, check=True
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "(NEEDED)" in line}
    assert needed <= ALLOWED
    symbols = subprocess.run(
        ["readelf", "-W", "--dyn-syms", str(exported.library)], capture_output=True, text=True, check=True
    ).stdout.split()
    defined = {"mod_run", "mod_workspace_size", "mod_describe", "mod_threads_start", "mod_threads_stop"}
    assert {name for name in symbols if name.startswith("mod")} == defined
    assert not any(name.startswith(("Py", "LLVM", "omp_", "GOMP")) for name in symbols)


def test_the_same_program_gives_the_same_bytes(tmp_path: Path) -> None:
    found = []
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        with tenon.compile(digits()[0]) as executable:
            exported = tenon.export(executable, tmp_path / folder / "digits")
        found.append({file.name: file.read_bytes() for file in exported.files})
    assert found[0] == found[1]


@needs_linker
def test_weights_are_frozen_arrays_and_lie_inside_or_in_a_file(tmp_path: Path) -> None:
    weight = tenon.freeze(np.random.default_rng(0).normal(size=(64, 96)).astype(np.float32))
    bias = np.arange(96, dtype=np.float32)

    @tenon.jit
    def layer(x):
        return tnp.tanh(x @ weight + bias)

    x = np.random.default_rng(1).normal(size=(17, 64)).astype(np.float32)
    expected = layer(x)
    for where in ("inside", "file"):
        exported = tenon.export(layer, tmp_path / where, x, weights=where)
        assert ((tmp_path / f"{where}.weights") in exported.files) == (where == "file")
        assert exported.library is not None
        with tenon.load(exported.library) as loaded:
            assert loaded.argument_names == ("x",)
            assert same(loaded(x), expected)
    # Both are the values that there were.
    bias[:] = 0
    with tenon.load(tmp_path / "inside.so") as loaded:
        assert same(loaded(x), expected)


@needs_cc
def test_c_maps_a_file_of_weights_and_refuses_another_one(tmp_path: Path) -> None:
    weight = tenon.freeze(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8))
    exported = tenon.export(
        tenon.jit(lambda x: x @ weight), tmp_path / "m", np.ones(8, np.float32), weights="file"
    )
    program = built(
        """
        #include <stdio.h>
        #include "m.h"
        int main(int argc, char **argv) {
          float x[8], result[8];
          const void *weights = &argc;
          (void)argc;
          if (fread(x, 1, sizeof x, stdin) != sizeof x) return 10;
          int code = m_weights_open(argv[1], &weights);
          if (code) return weights == NULL ? 20 + code : 30;
          code = m_run(x, result, weights, NULL, NULL);
          m_weights_close(weights);
          fwrite(result, 1, sizeof result, stdout);
          return code;
        }""",
        exported,
        tmp_path,
    )
    x = np.arange(8, dtype=np.float32)
    with tenon.load(tmp_path / "m.so") as loaded:
        assert run(program, x, arguments=(str(tmp_path / "m.weights"),)) == loaded(x).tobytes()
    damaged = bytearray((tmp_path / "m.weights").read_bytes())
    for contents in (damaged[:-1], b"\0" + damaged[1:], b""):
        (tmp_path / "other").write_bytes(contents)
        assert subprocess.run([program, tmp_path / "other"], input=x.tobytes(), check=False).returncode == 25
        with pytest.raises(tenon.TenonError, match="belongs to another program"):
            tenon.load(tmp_path / "m.so", weights=tmp_path / "other")
    assert subprocess.run([program, tmp_path / "none"], input=x.tobytes(), check=False).returncode == 25


@needs_linker
def test_named_dims_are_arguments_with_a_range(tmp_path: Path) -> None:
    dims = {"x": {0: tenon.Dim("rows", 2, 300)}, "y": {1: tenon.Dim("class", 1, 9)}}

    @tenon.jit(dynamic=dims)
    def function(x, y):
        product = x @ y
        return tnp.cumsum(product, axis=0), tnp.concatenate([product, product]), (x * 2).reshape(-1)

    def arrays(rows: int, columns: int) -> list[Any]:
        generator = np.random.default_rng(rows)
        return [generator.normal(size=size).astype(np.float32) for size in ((rows, 6), (6, columns))]

    exported = tenon.export(function, tmp_path / "sized", *arrays(3, 4))
    header = (tmp_path / "sized.h").read_text()
    assert "int64_t rows, int64_t class_" in header and " *   rows        2 to 300" in header
    assert exported.library is not None
    with tenon.load(exported.library) as loaded:
        for rows, columns in ((2, 1), (7, 9), (300, 5), (64, 8)):
            assert same(loaded(*arrays(rows, columns)), function(*arrays(rows, columns)))
        with pytest.raises(tenon.CallError, match="rows is from 2 to 300"):
            loaded(*arrays(301, 4))
        with pytest.raises(tenon.CallError, match=r"shape \[5, 4\], expected \[6, class\]"):
            loaded(np.ones((4, 6), np.float32), np.ones((5, 4), np.float32))


@needs_linker
def test_loops_and_branches_are_those_of_the_program(tmp_path: Path) -> None:
    @tenon.jit
    def function(x, n):
        first = tenon.fori_loop(0, 5, lambda i, c: tnp.tanh(c @ c) + i.astype("f4") * 0.01, x)
        again = tenon.while_loop(
            lambda s: s[1] < n, lambda s: (s[0] * 1.5 + 1, s[1] + 1), (first, np.int32(0))
        )[0]
        total, rows = tenon.scan(lambda c, row: (c + row, c * row), again[0], again, reverse=True)
        return tenon.cond(n > 3, lambda v: v * 2, lambda v: v - 1, total), rows

    x = np.random.default_rng(3).normal(size=(24, 24)).astype(np.float32) / 8
    exported = tenon.export(function, tmp_path / "steps", x, np.int32(3))
    assert exported.library is not None
    with tenon.load(exported.library) as loaded:
        for n in (0, 3, 9):
            assert same(loaded(x, np.int32(n)), function(x, np.int32(n)))


@needs_linker
def test_a_donated_argument_may_be_the_result_itself(tmp_path: Path) -> None:
    step = tenon.jit(lambda state, x: state * 0.5 + x, donate_argnums=0)
    state, x = (np.arange(5, dtype=np.float32) + n for n in (0, 1))
    exported = tenon.export(step, tmp_path / "step", state, x)
    assert "result may be state" in (tmp_path / "step.h").read_text()
    assert exported.library is not None
    with tenon.load(exported.library) as loaded:
        kept = state.copy()
        result = loaded(state, x)
        assert same(state, kept) and same(result, kept * np.float32(0.5) + x)


@needs_linker
@pytest.mark.parametrize("kind", list(KINDS)[::3])
def test_programs_of_the_fuzzer_agree_bit_for_bit(kind: str, tmp_path: Path) -> None:
    seed = 11
    program, draws = made(kind, seed, {})
    given = [array.copy() for array in program.inputs]
    if program.text is not None:
        function: Any = tenon.compile(text_of(program), entry="main")
        exported = tenon.export(function, tmp_path / "program")
    else:

        def main(*arguments: Any) -> Any:
            return program.function(TenonSide, arguments)

        dynamic = {
            f"argument {number}": {
                axis: tenon.Dim(name, 1, max(1, draws.made[name].value)) for axis, name in axes.items()
            }
            for number, axes in program.dims.items()
        }
        function = tenon.jit(main, dynamic=dynamic)
        exported = tenon.export(function, tmp_path / "program", *given)
    assert exported.library is not None, exported.note
    with tenon.load(exported.library) as loaded:
        assert same(loaded(*[array.copy() for array in given]), function(*[array.copy() for array in given]))


@needs_linker
@pytest.mark.skipif(host_processor().arch != "x86_64", reason="for x86-64")
def test_a_library_for_a_target_has_the_bits_of_that_target(tmp_path: Path) -> None:
    weight = tenon.freeze(np.random.default_rng(0).normal(size=(70, 50)).astype(np.float32))
    x = np.random.default_rng(1).normal(size=(33, 70)).astype(np.float32)

    def function(x):
        return tnp.tanh(x @ weight).sum(axis=0)

    exported = tenon.export(tenon.jit(function), tmp_path / "m", x, target="x86-64-v2")
    assert exported.library is not None
    assert same(tenon.load(exported.library)(x), tenon.jit(function, target="x86-64-v2")(x))
    # What this machine cannot run packs its weights as well.
    sources = [tenon.jit(function, target=target).lower(x).program for target in ("aarch64", "x86-64-v2")]
    assert all(same(one, other) for one, other in zip(*(each.prepared for each in sources), strict=True))


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "aarch64"])
def test_a_target_is_the_processor_of_the_object(target: str, tmp_path: Path) -> None:
    weight = tenon.freeze(np.ones((32, 32), np.float32))
    exported = tenon.export(
        tenon.jit(lambda x: x @ weight), tmp_path / "m", np.ones((4, 32), np.float32), target=target
    )
    machine = (tmp_path / "m.o").read_bytes()[18]
    assert machine == (183 if target == "aarch64" else 62)
    if exported.library is None:
        assert "there is no linker for" in exported.note or "no linker for" in exported.note


def test_what_a_library_cannot_have_is_an_error_that_names_it(tmp_path: Path) -> None:
    path, x = tmp_path / "m", np.ones(3, np.float32)

    def printed(x):
        tenon.debug_print("{}", x)
        return x + 1

    def called(x):
        return tenon.pure_callback(np.sin, tenon.ShapeDtype((3,), np.float32), x)

    with pytest.raises(tenon.TenonError, match=r"@printed: sched\.print: print"):
        tenon.export(tenon.jit(printed), path, x)
    with pytest.raises(tenon.TenonError, match=r"@called: sched\.callback: callback @"):
        tenon.export(tenon.jit(called), path, x)
    nodes = """
    graph.tnode @w : tensor<4xf32>
    func.func @read() -> tensor<4xf32> {
      %w = graph.read @w : tensor<4xf32>
      func.return %w : tensor<4xf32>
    }"""
    with pytest.raises(tenon.TenonError, match="tensor node 'w' keeps its values between calls"):
        tenon.export(nodes, path)
    assert not list(tmp_path.iterdir())


def test_wrong_requests_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "m"
    with pytest.raises(tenon.TenonError, match=r"weights 'here' is not one of inside, file"):
        tenon.export(TWICE, path, weights="here")
    with pytest.raises(tenon.TenonError, match=r"backend 'reference' is not one of llvm, opencl"):
        tenon.export(TWICE, path, backend="reference")
    for wrong in ({"target": "native"}, {"weights": "file"}):
        with pytest.raises(tenon.TenonError, match="takes neither target nor weights"):
            tenon.export(TWICE, path, backend="opencl", **wrong)
    with pytest.raises(tenon.TenonError, match="is no name of files in a folder that exists"):
        tenon.export(TWICE, tmp_path / "none" / "m")
    with pytest.raises(tenon.TenonError, match="is no name of files in a folder that exists"):
        tenon.export(TWICE, tmp_path / "m\0n")
    with pytest.raises(tenon.TenonError, match="expected the path of files"):
        tenon.export(TWICE, 3)  # type: ignore[arg-type]
    with pytest.raises(tenon.TenonError, match="expected a name for C"):
        tenon.export(TWICE, path, name="")
    with pytest.raises(TypeError, match="1 arguments for a program"):
        tenon.export(TWICE, path, np.ones(4))
    with pytest.raises(TypeError, match="is no program"):
        tenon.export(3, path)  # type: ignore[arg-type]
    with pytest.raises(tenon.TenonError, match="constants are 3"):
        tenon.export(TWICE, path, constants=3)  # type: ignore[arg-type]
    with pytest.raises(tenon.TenonError, match="a function reads arrays"):
        tenon.export(lambda x: x, path, np.ones(3), constants={"x": np.ones(3)})
    (tmp_path / "m.h").mkdir()
    with pytest.raises(tenon.TenonError, match="cannot write"):
        tenon.export(TWICE, path)


@needs_linker
def test_a_loaded_library_is_not_exported_again(tmp_path: Path) -> None:
    exported = tenon.export(TWICE, tmp_path / "m")
    assert exported.library is not None and "m.so: " in str(exported)
    with (
        tenon.load(exported.library) as loaded,
        pytest.raises(tenon.TenonError, match="was not compiled here"),
    ):
        tenon.export(loaded, tmp_path / "n")
