"""
Runs what kernels do on OpenCL under Oclgrind, a simulator that reports reads and writes outside of buffers,
data races, and barriers that only some work-items reach.

    make oclgrind

It runs the contract tests of `opencl`, and those of work-groups that share memory, on Oclgrind's device, with
the schedules that processors and GPUs get. Exits with 1 where a test fails or Oclgrind reports something, and
with 2 where there is no Oclgrind.

What Oclgrind 21.10 does not stand, and what is done about it:

* Code that its compiler optimised. Lanes of a vector that are read one by one, `v.s0 + v.s2`, become a
  `shufflevector` with undefined lanes, at which `--uninitialized` reads wild memory and crashes; and the
  negation of a vector of booleans gives wrong ones. `-cl-opt-disable` avoids both: vectors of any width run.
* `--uninitialized` takes what the host writes to any place but the start of a buffer for uninitialised, and
  buffers are parts of pools here: it is not asked for.
* Two threads that copy at once crash it: tests with threads are left out.
* Pools are what it checks accesses against, not the buffers in them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

TESTS = (
    ("test/contract", "opencl and not thread"),
    ("test/unit/passes/low/test_work_items.py", ""),
    ("test/unit/backends/opencl/test_batch_program.py", ""),
    ("test/e2e/test_gpu_schedules.py", "on_opencl"),
)
"""Files or folders, and which of their tests."""

OPTIONS = ("--data-races", "--build-options", "-cl-opt-disable")

_REPORT = re.compile(r"^\s+Kernel: ", re.MULTILINE)

PROBES = {
    "Invalid write of size 4 at global memory": """
        __kernel void probe(__global int *x, __local int *y) {
            x[get_global_id(0) + 1] = 1;
        }""",
    "data race at local memory": """
        __kernel void probe(__global int *x, __local int *y) {
            y[get_local_id(0)] = (int)get_local_id(0);
            x[get_local_id(0)] = y[(get_local_id(0) + 1) % get_local_size(0)];
        }""",
}
"""What is reported, and a kernel of four work-items that does it."""


def main() -> int:
    """Runs the probes and the tests; returns the exit code."""
    if sys.argv[1:2] == ["--probe"]:
        _probe(PROBES[sys.argv[2]])
        return 0
    if shutil.which("oclgrind") is None:
        print("oclgrind: there is none on the PATH (hint: apt-get install oclgrind)", file=sys.stderr)
        return 2
    for report in PROBES:
        _, text = under_oclgrind([__file__, "--probe", report])
        if report not in text:
            print(f"oclgrind: does not report {report!r} of a kernel that does it\n{text}", file=sys.stderr)
            return 1
    code = 0
    for path, chosen in TESTS:
        command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--capture=sys", path]
        failed, text = under_oclgrind([*command, *(("-k", chosen) if chosen else ())])
        reports = len(_REPORT.findall(text))
        if failed or reports:
            code = 1
            print(text)
        summary = text.strip().splitlines()[-1] if text.strip() else f"exit code {failed}"
        print(f"{path}: {reports} reports; {summary}", flush=True)
    return code


def under_oclgrind(command: list[str]) -> tuple[int, str]:
    """Runs Python under Oclgrind and returns the exit code, and what both of them wrote."""
    environment = {**os.environ, "TENON_OPENCL_DEVICE": "oclgrind", "TENON_CACHE": "0"}
    done = subprocess.run(
        ["oclgrind", *OPTIONS, sys.executable, *command],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def _probe(source: str) -> None:
    import numpy as np
    import pyopencl

    (device,) = pyopencl.get_platforms()[0].get_devices()
    context = pyopencl.Context([device])
    queue = pyopencl.CommandQueue(context)
    program = pyopencl.Program(context, source).build()
    buffer = pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 16)
    program.probe(queue, (4,), (4,), buffer, pyopencl.LocalMemory(16))
    pyopencl.enqueue_copy(queue, np.zeros(4, np.int32), buffer)


if __name__ == "__main__":
    sys.exit(main())
