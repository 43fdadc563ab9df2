"""
`python -m tenon.test.processors`: runs the tests that are marked `processor` again, as the code of other
processors, and with the code that numpy and the C library have for such processors.

What libraries choose by the processor is chosen when they are loaded: so each target is a process of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..backends.llvm.device import TARGET, cpu_device
from ..backends.llvm.processors import PROCESSOR_NAMES

ROOT = Path(__file__).parent

DEFAULT = ("x86-64-v2", "x86-64-v3")

NEWER = {"x86-64-v2": r".*", "x86-64-v3": r"AVX512.*|X86_V4", "znver3": r"AVX512.*|X86_V4"}
"""Which of the features that numpy has code of its own for a target lacks, of those beyond its baseline."""

LIBRARY_FEATURES = ("AVX", "AVX2", "FMA", "FMA4", "AVX512F", "AVX512VL", "AVX512DQ", "AVX512BW")
"""What the C library is not to use for `x86-64-v2`: there is no instruction for `fma` then."""


def dispatched_by_numpy() -> list[str]:
    """Returns the features that numpy has code of its own for, of those that this processor has."""
    import numpy as np

    about: Any = np.show_config(mode="dicts")
    return about["SIMD Extensions"].get("found", [])


def environment_for(target: str) -> dict[str, str]:
    """Returns the variables with which a process runs as on a target."""
    newer = [name for name in dispatched_by_numpy() if re.fullmatch(NEWER.get(target, ""), name)]
    found = {TARGET: target, "NPY_DISABLE_CPU_FEATURES": " ".join(newer)}
    if target == "x86-64-v2":
        hidden = ",".join(f"-{name}" for name in LIBRARY_FEATURES)
        found["GLIBC_TUNABLES"] = f"glibc.cpu.hwcaps={hidden}"
    return found


def marked_files() -> list[str]:
    """Returns the files of tests some of which are marked, so that no other is read."""
    return sorted(
        str(path)
        for path in ROOT.rglob("test_*.py")
        if "pytest.mark.processor" in path.read_text(encoding="utf-8")
    )


def main(targets: list[str]) -> int:
    """Runs the slice for each target that this machine can run. Returns the first exit status but 0."""
    for target in targets:
        if target not in PROCESSOR_NAMES:
            print(
                f"processors: target '{target}' is not one of {', '.join(PROCESSOR_NAMES)}", file=sys.stderr
            )
            return 2
        if unmet := cpu_device(target).unmet:
            print(f"{target}: skipped: {unmet}", flush=True)
            continue
        variables = environment_for(target)
        for name, value in variables.items():
            print(f"{name}={value!r}", end=" ")
        print(flush=True)
        command = [sys.executable, "-m", "pytest", "-q", "-m", "processor", *marked_files()]
        status = subprocess.run(command, env={**os.environ, **variables}).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:] or list(DEFAULT)))
