"""What ruff and basedpyright say: nothing."""

import subprocess
import sys

from tenon.test.unit.library import ROOT


def check(*command: str) -> None:
    result = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_ruff_has_nothing_to_say():
    check("ruff", "check", ".")


def test_the_library_is_strictly_typed():
    check("basedpyright", "--project", "pyproject.toml", "--pythonpath", sys.executable)
