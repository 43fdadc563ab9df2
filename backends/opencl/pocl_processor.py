"""
A name for the processor, where the LLVM of PoCL is older than it.

Such an LLVM calls the processor "generic", and PoCL hands this to its compiler, which knows no processor of
that name: no kernel is built (PoCL's issue 1049). LLVM 14, the one in the wheels of PoCL 3.0, does not know a
Zen 5 for one. From 4.0 on PoCL names the processor that its library of functions was compiled for; before 4.0
it has no option for the name, which is a text that the record of a device points to. Here that is done from
outside: the record is searched for the two pointers that lie there one after the other, to the target's
triple and to "generic", and the second is set to the name. Where they are not found nothing is changed.
"""

from __future__ import annotations

import ctypes
import os
import re
from typing import TYPE_CHECKING

from .pocl_library import is_for_many_processors

if TYPE_CHECKING:
    import pyopencl

_UNKNOWN = b"generic"
_TRIPLE = re.compile(rf"HSTR: [\w-]*?(x86_64-.+)-{_UNKNOWN.decode()}$")

_RECORD_NBYTES = 4096
"""More than the record of a device has."""

_WORD_NBYTES = 8

_KEPT: list[ctypes.Array[ctypes.c_char]] = []
"""The names that records point to, as long as the process lives: PoCL's are never freed either."""


def name_processor(device: pyopencl.Device) -> str | None:
    """
    Sees to it that `device`, of PoCL, compiles for a processor that its LLVM knows. Returns the name that it
    gave to it, or None where it left everything as it was: LLVM knows the processor, or another PoCL is used.
    """
    triple = _TRIPLE.search(device.version.strip())
    if triple is None or not is_for_many_processors(device):
        return None
    name = _name(device)
    for place, text in _texts(device.int_ptr, triple[1].encode()):
        if text in (_UNKNOWN, name.encode()):
            if text == _UNKNOWN:
                _KEPT.append(ctypes.create_string_buffer(name.encode()))
                ctypes.c_uint64.from_address(place).value = ctypes.addressof(_KEPT[-1])
            return name
    return None


def _name(device: pyopencl.Device) -> str:
    """Returns the oldest processor with what PoCL's library for `device` uses, by which it chose that."""
    import pyopencl

    if device.native_vector_width_float >= 16:
        return "skylake-avx512"
    if device.native_vector_width_float >= 8:
        has_fma = device.single_fp_config & pyopencl.device_fp_config.FMA
        return "haswell" if has_fma else "sandybridge"
    return "x86-64"


def _texts(record: int, triple: bytes) -> list[tuple[int, bytes]]:
    """Returns, of each pointer to `triple` in `record`, where the next pointer is and what it points to."""
    try:
        memory = os.open("/proc/self/mem", os.O_RDONLY)
    except OSError:
        return []
    try:
        words = memoryview(_read(memory, record, _RECORD_NBYTES)).cast("Q")
        return [
            (record + (number + 1) * _WORD_NBYTES, _text(memory, words[number + 1]))
            for number in range(len(words) - 1)
            if words[number] > _RECORD_NBYTES and _text(memory, words[number]) == triple
        ]
    finally:
        os.close(memory)


def _text(memory: int, address: int) -> bytes:
    return _read(memory, address, 64).partition(b"\0")[0]


def _read(memory: int, address: int, nbytes: int) -> bytes:
    """Returns whole words from `address`, up to where no memory is."""
    try:
        found = os.pread(memory, nbytes, address)
    except (OSError, OverflowError):
        return b""
    return found[: len(found) // _WORD_NBYTES * _WORD_NBYTES]
