"""Machine code as it is kept: what its entry points are, and object files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

_SIZE_NBYTES = 8


@dataclass(frozen=True)
class CodeImage:
    """
    The definitions of the entry points, one in a line, and the object files that they are in. As bytes, a
    zero byte follows the definitions, and each object file comes behind its size.
    """

    VERSION: ClassVar[str] = "objects 2"
    """What images of this form are kept under."""

    definitions: str
    objects: tuple[bytes, ...]

    def to_bytes(self) -> bytes:
        parts = [self.definitions.encode(), b"\0"]
        for each in self.objects:
            parts += [len(each).to_bytes(_SIZE_NBYTES, "little"), each]
        return b"".join(parts)

    @staticmethod
    def from_bytes(image: bytes) -> CodeImage:
        definitions, _, rest = image.partition(b"\0")
        objects: list[bytes] = []
        while rest:
            end = _SIZE_NBYTES + int.from_bytes(rest[:_SIZE_NBYTES], "little")
            objects.append(rest[_SIZE_NBYTES:end])
            rest = rest[end:]
        return CodeImage(definitions.decode(), tuple(objects))
