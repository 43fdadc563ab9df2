"""Processes that fork or end while devices work."""

import os
import subprocess
import sys

import pytest

SETUP = """
import os, sys, time
import numpy as np
import tenon

platform = tenon.open_platform(*{arguments})
code = platform.compile('''
graph.tnode @w : tensor<{size}xf32>
func.func @count() {{
  %w = graph.read @w : tensor<{size}xf32>
  %one = graph.constant dense<1.0> : tensor<{size}xf32>
  %y = graph.add %w, %one : tensor<{size}xf32>
  %s = graph.sin %y : tensor<{size}xf32>
  %z = graph.sub %y, %s : tensor<{size}xf32>
  %t = graph.add %z, %s : tensor<{size}xf32>
  graph.write @w, %t : tensor<{size}xf32>
  func.return
}}
''')
w = code.nodes["w"]
routine = platform.get_device(0).make_context().init_zeros(w).link(code)
for _ in range({runs}):
    routine.run()
"""

FORK = """
time.sleep(0.01)
child = os.fork()
if child == 0:
    try:
        routine.run()
        assert abs(float(routine.context.to_host(w)[0]) - {runs} - 1) < 1e-2
    except tenon.DeviceLostError as error:
        os._exit(3 if "a forked process cannot use OpenCL" in str(error) else 4)
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert abs(float(routine.context.to_host(w)[0]) - {runs}) < 1e-2
sys.exit(status)
"""


def run(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=600)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("('llvm',), scheduler='multicore'", 0),
        ("('llvm',), scheduler='sync'", 0),
        ("('opencl',)", 3),
    ],
)
def test_a_fork_waits_for_queued_work_and_the_child_works_or_says_why_not(arguments: str, status: int):
    setup = SETUP.format(arguments=arguments, size=200_000, runs=40)
    result = run(setup + FORK.format(runs=40))
    assert result.returncode == status, result.stderr


@pytest.mark.parametrize("arguments", ["('llvm',), scheduler='multicore'", "('opencl',)"])
@pytest.mark.parametrize(("end", "status"), [("", 0), ("sys.exit(5)", 5), ("raise ValueError", 1)])
def test_a_process_ends_well_with_work_queued(arguments: str, end: str, status: int):
    result = run(SETUP.format(arguments=arguments, size=500_000, runs=20) + end)
    assert result.returncode == status, result.stderr
