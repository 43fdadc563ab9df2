"""A process that makes programs without end does not grow."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks glibc what is allocated")

N_PROGRAMS = 16
"""As many as an engine loads: what it keeps of them comes and goes."""

SCRIPT = """
import ctypes, functools, gc, json, sys
import numpy as np
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm import compile as compiling

N_PROGRAMS = int(sys.argv[1])
assert compiling.MOST_LIBRARIES == N_PROGRAMS

class Heap(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Heap

def used():
    gc.collect()
    heap = mallinfo()
    return heap.uordblks + heap.hblkhd, sys.getallocatedblocks()

def run(first, size):
    for number in range(first, first + N_PROGRAMS):
        x, c = np.arange(2.0 + size + number % N_PROGRAMS), 0.5 + number
        programs = [
            (lambda a: a["x"] * c + a["x"][::-1], lambda a: a * c + a[::-1]),
            (lambda a: tnp.fmod(a["x"], c).sum(), lambda a: np.fmod(a, c).sum()),
            (lambda a: a["x"][:, None] * a["x"] + c, lambda a: a[:, None] * a + c),
            (lambda a: tnp.sort(a["x"]) * c, lambda a: np.sort(a) * c),
        ]
        ours, theirs = programs[number % 4]
        np.testing.assert_allclose(np.asarray(tenon.jit(ours)({"x": x})), theirs(x))

def unbounded():
    '''How much is in every cache without a bound, and in every table of a module or class.'''
    found = {}
    for each in gc.get_objects():
        if isinstance(each, type(functools.cache(len))) and each.cache_info().maxsize is None:
            if each.__module__.startswith(("tenon.", "xdsl.")):
                found[f"{each.__module__}.{each.__qualname__}"] = each.cache_info().currsize
    for module in list(sys.modules.values()):
        if module.__name__.startswith(("tenon.", "xdsl.")):
            owners = [module, *(each for each in vars(module).values() if isinstance(each, type))]
            for owner in owners:
                for name, each in list(vars(owner).items()):
                    if isinstance(each, (dict, set, list)):
                        found[f"{module.__name__}.{owner.__name__}.{name}"] = len(each)
    return found

mode, n_rounds = sys.argv[2], int(sys.argv[3])
for _ in range(2):
    run(0, 0)
before = used()
for _ in range(n_rounds):
    run(0, 0)
after = used()
tables = unbounded()
if mode == "tables":
    run(N_PROGRAMS, N_PROGRAMS)
grown = {name: n for name, n in unbounded().items() if n > tables.get(name, 0)}
n_programs = N_PROGRAMS * n_rounds
nbytes, blocks = ((end - begin) / n_programs for begin, end in zip(before, after))
print(json.dumps({"nbytes": nbytes, "blocks": blocks, "grown": grown}))
"""


def measured(mode: str, n_rounds: int, **environment: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(N_PROGRAMS), mode, str(n_rounds)],
        env={"TENON_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout)


def test_programs_that_are_compiled_leave_nothing() -> None:
    found = measured("tables", 1, TENON_CACHE="0")
    # 650: of each run of LLVM's middle end llvmlite keeps 1.5 KiB.
    assert found["nbytes"] < 2000 and found["blocks"] < 10, found
    assert found["grown"] == {}


def test_programs_from_the_cache_leave_nothing(tmp_path: Path) -> None:
    found = measured("loaded", 6, TENON_CACHE_DIR=str(tmp_path))
    assert found["nbytes"] < 500 and found["blocks"] < 5, found
