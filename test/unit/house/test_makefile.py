"""Which Python the Makefile takes, and when it makes an environment anew."""

import os
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from tenon.test.unit.library import ROOT

REAL = os.path.realpath(sys.executable)
OWN = ".venv-{}.{}".format(*sys.version_info[:2])
ANEW = "-m venv --clear"

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def add_environment(checkout: Path, name: str) -> Path:
    environment = checkout / name
    venv.create(environment, symlinks=True)
    (environment / ".python").touch()
    return environment


def make(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHON", "MAKEFLAGS")}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=checkout, env=variables, capture_output=True, text=True)


def test_it_says_each_time_which_python_it_took(checkout: Path):
    add_environment(checkout, ".venv")
    add_environment(checkout, OWN)
    version = platform.python_version()
    assert make(checkout, "which-python").stdout == f"tenon: Python {version} ({REAL}), .venv\n"
    own = make(checkout, "which-python", f"PYTHON={sys.executable}")
    assert own.stdout == f"tenon: Python {version} ({REAL}), {OWN}\n"
    for target in ("run", "unit", "lit", "check", "fuzz"):
        assert "tenon: Python" in make(checkout, "-n", target).stdout


def test_a_python_that_does_not_run_is_an_error(checkout: Path):
    result = make(checkout, "test", "PYTHON=no-such-python")
    assert result.returncode != 0
    assert "PYTHON=no-such-python does not run" in result.stderr


def test_an_environment_that_is_missing_or_whose_python_is_another_one_now_is_made_anew(checkout: Path):
    assert ANEW in make(checkout, "-n", "which-python").stdout
    environment = add_environment(checkout, ".venv")
    assert ANEW not in make(checkout, "-n", "which-python").stdout
    (packages,) = environment.glob("lib/python*/site-packages")
    packages.rename(packages.with_name("packages-of-the-version-before"))
    assert ANEW in make(checkout, "-n", "which-python").stdout
    shutil.rmtree(environment)
    environment = add_environment(checkout, ".venv")
    for python in environment.glob("bin/python*"):
        python.unlink()
    assert ANEW in make(checkout, "-n", "which-python").stdout


def test_an_environment_of_another_python_of_the_same_version_is_made_anew(checkout: Path):
    environment = add_environment(checkout, OWN)
    assert ANEW not in make(checkout, "-n", "which-python", f"PYTHON={sys.executable}").stdout
    other = checkout / "another-python"
    other.write_text(f"#!/bin/sh\necho {OWN.removeprefix('.venv-')} /another/python\n")
    other.chmod(0o755)
    stated = make(checkout, "-n", "which-python", f"PYTHON={other}").stdout
    assert ANEW in stated and environment.name in stated
