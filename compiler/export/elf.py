"""Where the sections of an ELF file lie: of objects that are written, and of libraries that are read."""

from __future__ import annotations

from mmap import mmap
from struct import calcsize, error, unpack_from

_HEADER = "<4sBB10xHHIQQQIHHHHHH"
_SECTION = "<IIQQQQIIQQ"
_NO_BITS = 8


def section_of(contents: bytes | bytearray | mmap, name: str) -> tuple[int, int] | None:
    """
    Returns the offset of a section in a file, and its bytes; None where the file has no such section, or is
    no ELF file of 64 bits, lower byte first.
    """
    try:
        found = _sections(contents)
        return found.get(name.encode())
    except (error, IndexError, OverflowError):
        return None


def _sections(contents: bytes | bytearray | mmap) -> dict[bytes, tuple[int, int]]:
    """Raises `struct.error`, IndexError or OverflowError for what is no such file, or ends early."""
    magic, width, order, *_, table, _, _, _, _, entry_nbytes, count, names = unpack_from(_HEADER, contents)
    if magic != b"\x7fELF" or (width, order) != (2, 1) or entry_nbytes != calcsize(_SECTION):
        return {}
    entries = [unpack_from(_SECTION, contents, table + number * entry_nbytes) for number in range(count)]
    _, _, _, _, names_offset, names_nbytes, *_ = entries[names]
    text = bytes(contents[names_offset : names_offset + names_nbytes])
    found: dict[bytes, tuple[int, int]] = {}
    for place, kind, _, _, offset, nbytes, *_ in entries:
        if kind != _NO_BITS and offset + nbytes <= len(contents):
            found[text[place:].partition(b"\0")[0]] = (offset, nbytes)
    return found
