"""Memory of results: where it begins, that it is numpy's to enlarge and drop, and who may choose another."""

import ctypes
import gc
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.llvm.native.library import native_library
from tenon.backends.llvm.native.line_memory import LEAST_NBYTES, line_memory
from tenon.backends.llvm.native.object_layout import is_layout_known, numpy_core

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not is_layout_known(), reason="results have numpy's memory here"
)

KEPT_NBYTES = 32 << 20

_SET_HANDLER = 304
"""The place of numpy's `PyDataMem_SetHandler`."""


def handler_name(array: Any = None) -> str | None:
    return numpy_core().multiarray.get_handler_name(*(() if array is None else (array,)))


def double(x: Any) -> Any:
    return x + x


def call(n: int) -> Any:
    """Returns the result of a call on `n` f64 that is run directly."""
    x = np.arange(n, dtype=np.float64)
    executable: Any = tenon.jit(double).lower(x).program.executable
    executable(x)
    result = executable(x)
    np.testing.assert_array_equal(result, x + x)
    return result


@pytest.mark.parametrize("nbytes", [LEAST_NBYTES, LEAST_NBYTES + 24, 5 << 20, KEPT_NBYTES])
def test_a_large_result_begins_at_a_line_and_is_an_array_as_any_other(nbytes: int):
    result = call(nbytes // 8)
    assert result.ctypes.data % 64 == 0 and handler_name(result) == "tenon_lines"
    assert result.flags.owndata and result.base is None
    before = result.copy()
    result.resize(2 * before.size, refcheck=False)
    np.testing.assert_array_equal(result[: before.size], before)
    assert not result[before.size :].any()
    result.resize(7, refcheck=False)
    np.testing.assert_array_equal(result, before[:7])
    assert handler_name() == "default_allocator" and handler_name(result.copy()) == "default_allocator"


def test_a_small_result_has_numpys_memory():
    assert handler_name(call(LEAST_NBYTES // 8 - 1)) == "default_allocator"


def test_the_largest_arrays_have_the_memory_of_the_one_before():
    x = np.ones(KEPT_NBYTES // 8)
    executable: Any = tenon.jit(double).lower(x).program.executable
    executable(x)
    address = executable(x).ctypes.data
    assert [executable(x).ctypes.data for _ in range(3)] == [address] * 3
    assert address % (2 << 20) == 0
    first, second = executable(x), executable(x)
    assert first.ctypes.data != second.ctypes.data
    assert (first == 2).all() and (second == 2).all()


@pytest.fixture
def memory() -> Iterator[Any]:
    """The functions of the handler: malloc, calloc, realloc and free, without their context."""
    addresses = native_library().line_memory
    assert addresses is not None
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    types = ((pointer, size), (pointer, size, size), (pointer, pointer, size), (None, pointer, size))
    functions = [
        ctypes.PYFUNCTYPE(result, pointer, *arguments)(address)
        for address, (result, *arguments) in zip(addresses, types, strict=True)
    ]
    gc.collect()
    yield tuple(lambda *given, each=each: each(None, *given) for each in functions)


def filled(address: int, nbytes: int, value: int) -> None:
    ctypes.memset(address, value, nbytes)


@pytest.mark.parametrize("nbytes", [0, 1, 64, 100_000, 5 << 20, KEPT_NBYTES])
def test_memory_can_be_written_to_its_end(memory: Any, nbytes: int):
    malloc, calloc, realloc, free = memory
    for address in (malloc(nbytes), realloc(malloc(nbytes // 2), nbytes), calloc(nbytes, 1)):
        assert address % 64 == 0
        filled(address, nbytes, 7)
        free(address, nbytes)


def test_cleared_memory_is_zeros_and_moved_memory_what_it_was(memory: Any):
    _, calloc, realloc, free = memory
    address = calloc(1000, 8)
    assert ctypes.string_at(address, 8000) == bytes(8000)
    filled(address, 8000, 3)
    for nbytes in (9000, 100_000, KEPT_NBYTES + 5, 8000):
        address = realloc(address, nbytes)
        assert address % 64 == 0
        assert ctypes.string_at(address, 8000) == b"\3" * 8000
    free(address, 8000)
    free(None, 0)


def test_what_is_too_much_is_refused(memory: Any):
    malloc, calloc, realloc, free = memory
    assert malloc((1 << 64) - 1) is None and calloc(1 << 40, 1 << 40) is None
    address = malloc(100)
    assert realloc(address, (1 << 64) - 1) is None
    free(address, 100)


@pytest.mark.parametrize(
    ("wanted", "is_kept"),
    [
        (KEPT_NBYTES, True),
        (KEPT_NBYTES + 1, False),
        (KEPT_NBYTES - 1, False),
    ],
)
def test_one_block_is_kept_for_arrays_of_its_size(memory: Any, wanted: int, is_kept: bool):
    malloc, _, _, free = memory
    kept = malloc(KEPT_NBYTES)
    free(kept, KEPT_NBYTES)
    # It is still taken, so that others cannot have its place.
    found = malloc(wanted)
    assert (found == kept) is is_kept
    filled(found, wanted, 1)
    free(found, wanted)


def test_a_kept_block_is_not_for_what_is_much_smaller(memory: Any):
    malloc, _, _, free = memory
    large = 2 * KEPT_NBYTES
    kept = malloc(large)
    free(kept, large)
    small, near = malloc(KEPT_NBYTES), malloc(large - large // 5)
    assert small != kept and near == kept
    free(small, KEPT_NBYTES)
    free(near, large - large // 5)


def test_a_handler_of_the_user_is_left_in_place():
    """One that counts, as in numpy's documentation: whoever sets a handler wants all arrays made by it."""
    code = f"""
import ctypes, numpy as np, tenon
from tenon.backends.llvm.native.object_layout import numpy_function

class Handler(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
                *[(name, ctypes.c_void_p) for name in ("malloc", "calloc", "realloc", "free")]]

libc = ctypes.CDLL(None)
pointer, size = ctypes.c_void_p, ctypes.c_size_t
made = []
kinds = [ctypes.PYFUNCTYPE(pointer, pointer, size), ctypes.PYFUNCTYPE(pointer, pointer, size, size),
         ctypes.PYFUNCTYPE(pointer, pointer, pointer, size), ctypes.PYFUNCTYPE(None, pointer, pointer, size)]
libc.malloc.restype = libc.calloc.restype = libc.realloc.restype = pointer
libc.malloc.argtypes, libc.calloc.argtypes = (size,), (size, size)
libc.realloc.argtypes, libc.free.argtypes = (pointer, size), (pointer,)

def malloc(_, nbytes):
    made.append(nbytes)
    return libc.malloc(nbytes)

functions = [kinds[0](malloc), kinds[1](lambda _, n, m: libc.calloc(n, m)),
             kinds[2](lambda _, p, n: libc.realloc(p, n)), kinds[3](lambda _, p, n: libc.free(p))]
handler = Handler(b"counting", 1, None, *[ctypes.cast(each, pointer).value for each in functions])
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, (pointer, ctypes.c_char_p, pointer)
set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(numpy_function({_SET_HANDLER}))

x = np.arange(100_000.0)
executable = tenon.jit(lambda x: x + x).lower(x).program.executable
executable(x)
before = set_handler(capsule(ctypes.addressof(handler), b"mem_handler", None))
made.clear()
y = executable(x)
assert made == [800_000], made
assert (y == x + x).all()
del y
set_handler(before)
made.clear()
y = executable(x)
assert made == [] and y.ctypes.data % 64 == 0
print("done")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout, run.returncode) == ("done\n", 0), run.stderr


def test_another_numpy_makes_all_results_itself(monkeypatch: pytest.MonkeyPatch):
    from tenon.backends.llvm.native import line_memory as module

    monkeypatch.setattr(module, "current_handler", lambda: None)
    found = line_memory.__wrapped__()
    assert found.least_nbytes == module.NEVER and found.handler == 0
