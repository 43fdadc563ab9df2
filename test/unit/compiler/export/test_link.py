"""Linkers: the system's, one that fails, `ld` alone, and none."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm.processors import host_processor
from tenon.compiler.export import link

X = np.linspace(0.1, 9, 12, dtype=np.float32)


def function(x):
    return tnp.fmod(x, 0.7)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with programs, and no package with a linker."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(link, "find_spec", lambda name: None)
    return programs


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!{sys.executable}\n{text}\n")
    (folder / name).chmod(0o755)


def test_without_a_linker_there_is_an_object_only(folder: Path, tmp_path: Path) -> None:
    exported = tenon.export(function, tmp_path / "m", X)
    assert exported.library is None and not (tmp_path / "m.so").exists()
    assert exported.note.startswith(f"there is no linker for {host_processor().arch} (cc, ")
    assert "no shared library: there is no linker" in str(exported)


def test_a_linker_that_fails_is_told(folder: Path, tmp_path: Path) -> None:
    program(folder, "cc", "import sys\nsys.exit('first\\ncannot find -lm')")
    program(folder, "gcc", "")
    (folder / "clang").write_text("no program")
    (folder / "clang").chmod(0o755)
    exported = tenon.export(function, tmp_path / "m", X)
    assert exported.library is None
    for part in ("cc: cannot find -lm", "gcc: exit code 0", "clang: "):
        assert part in exported.note
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.skipif(shutil.which("ld") is None, reason="needs ld")
def test_ld_is_enough(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which("ld", path="/usr/bin:/usr/local/bin:/bin")
    if found is None:
        pytest.skip("ld is somewhere else")
    (folder / "ld").symlink_to(found)
    exported = tenon.export(function, tmp_path / "m", X)
    assert exported.library is not None, exported.note
    assert tenon.load(exported.library)(X).tobytes() == np.asarray(tenon.jit(function)(X)).tobytes()


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a linker")
def test_a_library_in_use_is_replaced_and_stays(tmp_path: Path) -> None:
    first = tenon.export(lambda x: x + 1, tmp_path / "m", X).library
    assert first is not None
    loaded = tenon.load(first)
    assert tenon.export(lambda x: x + 1, tmp_path / "m", X).library == first
    assert tenon.load(first)(X).tolist() == (X + 1).tolist()
    assert tenon.export(lambda x: x * 2, tmp_path / "m", X).library == first
    # The system gives the one that it has.
    with pytest.raises(tenon.TenonError, match="another library was loaded from there before"):
        tenon.load(first)
    shutil.copy(first, tmp_path / "n.so")
    assert tenon.load(tmp_path / "n.so")(X).tolist() == (X * 2).tolist()
    assert loaded(X).tolist() == (X + 1).tolist()
