"""
An entry as bytes:

    magic | digest of all that follows | length of the header | header: JSON | sections, one after the other

The header holds the key that the entry is for, so that an entry under another name is none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

_MAGIC = b"tenon cache 1\n"
_DIGEST_NBYTES = 32
_LENGTH_NBYTES = 8
_BODY = len(_MAGIC) + _DIGEST_NBYTES

_LONGEST_INLINE = 1 << 16
"""Sections of more bytes are files of their own, named by their digests, that entries share."""


class CorruptEntryError(ValueError):
    """The bytes are no entry, or not the one that they should be."""


@dataclass(frozen=True, slots=True)
class Record:
    """What an entry holds: `data` is what JSON can say, `sections` are bytes, `about` is for people."""

    data: Any
    sections: tuple[bytes, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class Frame:
    """A record that was read; of long sections there is the digest, under which their bytes are."""

    record: Record
    outside: tuple[str | None, ...]


def digest_of(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGEST_NBYTES).hexdigest()


def encoded(key: str, record: Record) -> tuple[list[bytes], dict[str, bytes]]:
    """Returns the bytes of an entry in parts, and the long sections by their digests."""
    outside: dict[str, bytes] = {}
    inline: list[bytes] = []
    places: list[int | str] = []
    for section in record.sections:
        if len(section) > _LONGEST_INLINE:
            digest = digest_of(section)
            outside[digest] = section
            places.append(digest)
        else:
            inline.append(section)
            places.append(len(section))
    header = json.dumps(
        {"key": key, "about": record.about, "sections": places, "data": record.data},
        separators=(",", ":"),
        allow_nan=False,
    ).encode()
    body = [len(header).to_bytes(_LENGTH_NBYTES, "little"), header, *inline]
    digest = blake2b(digest_size=_DIGEST_NBYTES)
    for part in body:
        digest.update(part)
    return [_MAGIC, digest.digest(), *body], outside


def decoded(key: str, data: bytes) -> Frame:
    """
    Returns what `encoded` wrote for `key`.

    Raises:
        CorruptEntryError: it is something else.
    """
    if not data.startswith(_MAGIC) or len(data) < _BODY + _LENGTH_NBYTES:
        raise CorruptEntryError("it is no entry")
    body = memoryview(data)[_BODY:]
    if blake2b(body, digest_size=_DIGEST_NBYTES).digest() != data[len(_MAGIC) : _BODY]:
        raise CorruptEntryError("its checksum is wrong")
    end = _LENGTH_NBYTES + int.from_bytes(body[:_LENGTH_NBYTES], "little")
    header = json.loads(bytes(body[_LENGTH_NBYTES:end]))
    if header["key"] != key:
        raise CorruptEntryError(f"it is for another key ({header['key']})")
    sections: list[bytes] = []
    outside: list[str | None] = []
    places: Sequence[int | str] = header["sections"]
    for place in places:
        if isinstance(place, str):
            sections.append(b"")
            outside.append(place)
        else:
            if not 0 <= place <= len(body) - end:
                raise CorruptEntryError(f"it has no section of {place} bytes")
            sections.append(bytes(body[end : end + place]))
            outside.append(None)
            end += place
    return Frame(Record(header["data"], tuple(sections), header["about"]), tuple(outside))
