"""
Runs the Array API test suite on `tenon.numpy`:

    git clone --recursive https://github.com/data-apis/array-api-tests
    python -m pip install -r array-api-tests/requirements.txt
    python test/conformance/run.py array-api-tests [--backend reference] [arguments of pytest]

What is skipped, and why, is in `exceptions.py`. Five examples for each test, unless `--max-examples` says
otherwise: each new shape is compiled.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the Array API test suite on tenon.numpy.")
    parser.add_argument(
        "checkout", type=Path, help="a checkout of data-apis/array-api-tests, with its submodule"
    )
    parser.add_argument("--backend", default="llvm", help="what eager calls run on")
    parser.add_argument("--max-examples", default="5", help="how many examples each test tries")
    chosen, rest = parser.parse_known_args()
    checkout: Path = chosen.checkout.resolve()
    if not (checkout / "array-api" / "spec").is_dir():
        print(f"{checkout}: no checkout of data-apis/array-api-tests with its submodule", file=sys.stderr)
        return 2
    paths = [str(checkout), str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "tenon.numpy",
        "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128",
        "TENON_CONFORMANCE_BACKEND": chosen.backend,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    command = [sys.executable, "-m", "pytest", "-p", "conformance_plugin", "-p", "no:cacheprovider", "-q"]
    command += ["--disable-deadline", "--max-examples", chosen.max_examples, "array_api_tests", *rest]
    return subprocess.run(command, cwd=checkout, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
