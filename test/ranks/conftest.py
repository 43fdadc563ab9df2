"""Runs programs on several ranks, with the MPI of this environment."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parent / "programs"
BIN = Path(sys.executable).parent
MOST_SECONDS = 60
IS_OPEN_MPI = (BIN / "ompi_info").exists()


@dataclass(frozen=True)
class Ran:
    """What a program printed on all its ranks, its exit status, and when it ended."""

    text: str
    status: int
    ended: float
    """When, on the clock of all processes."""

    @property
    def seconds_of_fault(self) -> float:
        """How long it took from where the last rank has said that it begins: starting takes its own time."""
        begins = [float(text) for text in re.findall(r"begins ([\d.]+)\n", self.text)]
        assert begins, self.text
        return self.ended - max(begins)

    @property
    def says(self) -> list[str]:
        """The lines of Tenon's own."""
        return [line for line in self.text.splitlines() if line.startswith("tenon: ")]


Run = Callable[..., Ran]


@pytest.fixture
def mpiexec() -> Run:
    """Runs a program, of `programs/` or at a path, on as many ranks; variables are those of all ranks."""
    command = shutil.which("mpiexec", path=str(BIN))
    if command is None:
        pytest.skip("this environment has no MPI (hint: make test-ranks)")

    def run(ranks: int, program: str | Path, *arguments: object, **variables: str) -> Ran:
        launch = [command, *(["--oversubscribe"] if IS_OPEN_MPI else []), "-n", str(ranks)]
        environment = {
            **os.environ,
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "TENON_NUM_THREADS": "1",
            **variables,
        }
        path = PROGRAMS / program
        done = subprocess.run(
            [*launch, sys.executable, str(path), *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        return Ran(done.stdout, done.returncode, time.monotonic())

    return run


@pytest.fixture
def passes(mpiexec: Run) -> Callable[..., None]:
    """Runs a program that must end well on all ranks."""

    def run(ranks: int, program: str | Path, *arguments: object, **variables: str) -> None:
        done = mpiexec(ranks, program, *arguments, **variables)
        assert done.status == 0, done.text
        # Lines of several ranks may come as one.
        assert done.text.count("passed") == ranks, done.text

    return run
