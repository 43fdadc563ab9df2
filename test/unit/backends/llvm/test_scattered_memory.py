"""Machine code is loaded and runs where no two free pages, nor a library, lie near each other."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads how Linux describes an address space")

SCRIPT = """
import ctypes, mmap, sys
import numpy as np
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm.compile import LLVMCompiler
from tenon.backends.llvm.library import llvmlite_binding
from tenon.backends.llvm.native.library import native_library
from scattered_memory import ScatteredMemory

mode = sys.argv[1]
llvmlite_binding()
memory = ScatteredMemory()

def check_distance(*addresses):
    a, b = addresses
    assert abs(a - b) > 1 << 32, (hex(a), hex(b))

addresses = []
load = LLVMCompiler.load
def loaded(compiler, image, device):
    memory.fill()
    pages = [mmap.mmap(-1, mmap.PAGESIZE) for _ in range(2)]
    check_distance(*[ctypes.addressof(ctypes.c_char.from_buffer(page)) for page in pages])
    artifact = load(compiler, image, device)
    addresses.extend(artifact.native.addresses.values())
    return artifact
LLVMCompiler.load = loaded

if mode == "loaded":
    def never(*arguments):
        raise AssertionError("compiled again")
    LLVMCompiler.image = never

libm = ctypes.CDLL("libm.so.6")
fmod = ctypes.cast(libm.fmod, ctypes.c_void_p).value
memory.fill()
check_distance(native_library().copy_part, fmod)
x = np.random.default_rng(0).random((33, 77))
programs = {
    "constants": (tnp.tanh, np.tanh),
    "several kernels": (lambda a: tnp.exp(a) @ a.T, lambda a: np.exp(a) @ a.T),
    "a function of libm": (lambda a: tnp.fmod(a.sum(), 0.75), lambda a: np.fmod(a.sum(), 0.75)),
}
for name, (ours, theirs) in programs.items():
    np.testing.assert_allclose(np.asarray(tenon.jit(ours)(x)), theirs(x), rtol=1e-12, err_msg=name)
assert len(addresses) >= len(programs)
for address in addresses:
    check_distance(address, fmod)
print("held")
"""


HEAP_ONLY = {"PYTHONMALLOC": "malloc", "MALLOC_MMAP_MAX_": "0", "MALLOC_ARENA_MAX": "1"}
"""
All that Python and the C library take for themselves lies in the heap. Without it, a large block that is
freed after the address space was looked at, as by the first import of a module that has no bytecode yet,
leaves a hole near the libraries, and code may go there.
"""


def test_code_compiled_or_from_the_cache_runs_in_a_scattered_address_space(tmp_path: Path) -> None:
    """With sections mapped one by one, LLVM ends the process by an assertion."""
    environment = {
        "TENON_CACHE": "1",
        "TENON_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": str(Path(__file__).parent),
        **HEAP_ONLY,
    }
    for mode in ("compiled", "loaded"):
        ran = subprocess.run(
            [sys.executable, "-c", SCRIPT, mode], env=environment, capture_output=True, text=True, check=False
        )
        assert (ran.returncode, ran.stdout) == (0, "held\n"), ran.stderr
