"""Compiles and runs C programs that use exported libraries."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tenon.compiler.export.export import Exported

CC = shutil.which("cc")

needs_cc = pytest.mark.skipif(CC is None, reason="needs a C compiler, cc")


def built(source: str, exported: Exported, folder: Path, *flags: str) -> Path:
    """Returns a program of C, linked with the object of what was exported; warnings are errors."""
    assert CC is not None
    file, program = folder / "main.c", folder / "main"
    file.write_text(source)
    (object_file,) = [str(each) for each in exported.files if each.suffix == ".o"]
    command = [CC, "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{folder}", *flags]
    found = subprocess.run(
        [*command, str(file), object_file, "-o", str(program), "-lm", "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return program


def run(program: Path, *arrays: np.ndarray, arguments: tuple[str, ...] = ()) -> bytes:
    """Runs a program that reads arrays from its standard input, and returns what it writes."""
    contents = b"".join(array.tobytes() for array in arrays)
    found = subprocess.run([str(program), *arguments], input=contents, capture_output=True, check=False)
    assert found.returncode == 0, (found.returncode, found.stderr)
    return found.stdout
