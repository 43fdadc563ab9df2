"""`tenon-compile`: what it writes, says and refuses."""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.tools import tenon_compile
from tenon.tools.exit_codes import DIAGNOSTICS, INTERNAL, SUCCESS, USAGE

TEXT = """\
func.func @scaled(%x: tensor<4xf32>, %by: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.mul %x, %by : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.mlir"
    path.write_text(TEXT)
    return path


def test_it_writes_a_library_beside_the_module(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tenon_compile.main([str(module)]) == SUCCESS
    written = {line.partition(":")[0] for line in capsys.readouterr().out.splitlines()}
    assert {str(module.with_suffix(suffix)) for suffix in (".h", ".o")} <= written
    assert (
        "int scaled_run(const float *x, const float *by, float *result,"
        in module.with_suffix(".h").read_text()
    )


def test_constants_are_in_the_library_or_in_a_file(module: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "by.npz", by=np.arange(4, dtype=np.float32))
    constants = ["--constants", str(tmp_path / "by.npz")]
    for where in ("inside", "file"):
        output = tmp_path / where
        code = tenon_compile.main([str(module), "-o", str(output), *constants, "--weights", where])
        assert code == SUCCESS and output.with_suffix(".weights").exists() == (where == "file")
        if output.with_suffix(".so").exists():
            loaded = tenon.load(output.with_suffix(".so"))
            assert loaded(np.full(4, 2, np.float32)).tolist() == [0, 2, 4, 6]


def test_wrong_constants_are_errors(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arrays, message in (
        ({"to": np.ones(4, np.float32)}, "there is no argument 'to' (arguments: x, by)"),
        ({"by": np.ones(3, np.float32)}, "constant 'by': shape [3], expected [4]"),
        ({"by": np.ones(4)}, "constant 'by': dtype float64, expected float32"),
    ):
        np.savez(tmp_path / "by.npz", **arrays)
        assert tenon_compile.main([str(module), "--constants", str(tmp_path / "by.npz")]) == DIAGNOSTICS
        assert message in capsys.readouterr().err


def test_another_processor_has_an_object_and_a_note(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("tenon.compiler.export.link.find_spec", lambda name: None)
    code = tenon_compile.main([str(module), "-o", str(tmp_path / "m"), "--target", "aarch64", "--name", "f"])
    said = capsys.readouterr()
    assert code == SUCCESS and (tmp_path / "m.o").read_bytes()[:4] == b"\x7fELF"
    assert "tenon-compile: note: no shared library: there is no linker for aarch64" in said.err
    assert "f_run(" in (tmp_path / "m.h").read_text()


@pytest.mark.skipif(find_spec("pyopencl") is None, reason="needs pyopencl")
def test_sources_for_opencl(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tenon_compile.main([str(module), "-o", str(tmp_path / "m"), "--backend", "opencl"]) == SUCCESS
    said = capsys.readouterr()
    written = [line.partition(":")[0] for line in said.out.splitlines()]
    assert written == [str(tmp_path / f"m{suffix}") for suffix in (".cl", ".c", ".h")] and not said.err


def test_errors_have_places(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module.write_text(TEXT.replace("graph.mul %x, %by", "graph.mul %x, %z"))
    assert tenon_compile.main([str(module)]) == DIAGNOSTICS
    assert "scaled.mlir:2" in capsys.readouterr().err
    assert tenon_compile.main([str(tmp_path / "none.mlir")]) == DIAGNOSTICS
    assert "tenon-compile: error: no such file" in capsys.readouterr().err
    module.write_text(TEXT)
    assert tenon_compile.main([str(module), "--entry", "other"]) == DIAGNOSTICS
    assert "other" in capsys.readouterr().err
    assert tenon_compile.main([str(module), "-o", str(tmp_path / "none" / "m")]) == DIAGNOSTICS
    assert "is no name of files in a folder that exists" in capsys.readouterr().err

    def fails(*_: object, **__: object) -> None:
        raise ZeroDivisionError("made up")

    monkeypatch.setattr(tenon_compile, "export", fails)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert tenon_compile.main(["-", "-o", str(tmp_path / "m")]) == INTERNAL
    said = capsys.readouterr().err
    assert "internal error: ZeroDivisionError: made up" in said and "to reproduce: tenon-compile /" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-"], "standard input has no name"),
        (["m.mlir", "--target", "z80"], "invalid choice: 'z80'"),
        (["m.mlir", "--weights", "here"], "invalid choice: 'here'"),
        (["m.mlir", "--backend", "reference"], "invalid choice: 'reference'"),
        (["m.mlir", "--backend", "opencl", "--weights", "file"], "are for --backend llvm only, found opencl"),
        (["m.mlir", "--load-dialect", "/nowhere/d.py"], "/nowhere/d.py"),
    ],
)
def test_a_wrong_command_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        tenon_compile.main(arguments)
    assert ended.value.code == USAGE and message in capsys.readouterr().err
