"""Runs every benchmark, each in a process of its own."""

import subprocess
import sys

for _module in ("kernels", "calls", "tracing", "threads", "transfers", "compile_time"):
    subprocess.run([sys.executable, "-m", f"{__package__}.{_module}"], check=True)
