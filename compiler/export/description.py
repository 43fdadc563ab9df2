"""What a library says about itself: data in a section of its file, read before its code is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from mmap import mmap
from typing import Any

from ...backends.llvm.processors import Processor
from ...dialects.dims.expressions import DimExpr
from ...dialects.modules.dim_values import DimTable
from ...errors import TenonError
from ...runtime.plan.plan_codec import UnknownDataError, decode, encode
from ...runtime.plan.signature import Signature
from .elf import section_of

INTERFACE = 1
"""The version of the functions that a library has, of what they take, and of this description."""

SECTION = ".tenon.program"
_KIND = "a program exported by Tenon"
_MOST_NBYTES = 1 << 24


@dataclass(frozen=True)
class Description:
    """
    A library: the name that its functions begin with, the processor that it is for, what the program takes
    and gives, the dims and how they are found, the extents that must not be 0, and the bytes of the weights
    where they are in a file of their own, which begins with `weights_header`. `digest` is of its code and
    its weights.
    """

    name: str
    processor: Processor
    signature: Signature
    dims: DimTable | None
    vanishing: tuple[DimExpr, ...]
    weights_nbytes: int | None
    weights_header: bytes
    digest: str

    def data(self) -> bytes:
        """Returns the contents of the section: text of ASCII and a zero byte."""
        sections: list[bytes] = []
        fields = {
            "is": _KIND,
            "interface": INTERFACE,
            "name": self.name,
            "processor": asdict(self.processor),
            "signature": encode(self.signature, sections),
            "dims": encode(self.dims, sections),
            "vanishing": encode(self.vanishing, sections),
            "weights_nbytes": self.weights_nbytes,
            "weights_header": self.weights_header.hex(),
            "digest": self.digest,
        }
        assert not sections, "a description has no arrays"
        return json.dumps(fields, separators=(",", ":"), sort_keys=True).encode() + b"\0"


def read_description(contents: bytes | mmap, file: str) -> Description:
    """
    Returns what a library says about itself. None of its code runs.

    Raises:
        TenonError: the contents are no library, or none of this version of Tenon's interface.
    """
    section = section_of(contents, SECTION)
    if section is None:
        raise TenonError(f"{file}: is no library that Tenon exported")
    offset, nbytes = section
    if nbytes > _MOST_NBYTES:
        raise TenonError(f"{file}: describes itself in {nbytes} bytes, expected at most {_MOST_NBYTES}")
    text, _, _ = bytes(contents[offset : offset + nbytes]).partition(b"\0")
    try:
        fields: Any = json.loads(text)
        is_own, version = fields["is"] == _KIND, fields["interface"]
    except (ValueError, TypeError, LookupError, RecursionError):
        raise TenonError(f"{file}: is no library that Tenon exported") from None
    if not is_own:
        raise TenonError(f"{file}: is no library that Tenon exported")
    if version != INTERFACE:
        raise TenonError(f"{file}: has interface {version!r}, expected {INTERFACE} (hint: export it again)")
    try:
        return _decoded(fields)
    except (UnknownDataError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise TenonError(f"{file}: what it says about itself is damaged ({error})") from None


def _decoded(fields: Mapping[str, Any]) -> Description:
    processor = dict(fields["processor"])
    first, second, last = processor.pop("cache_nbytes")
    described = Description(
        fields["name"],
        Processor(cache_nbytes=(first, second, last), **processor),
        decode(fields["signature"], ()),
        decode(fields["dims"], ()),
        decode(fields["vanishing"], ()),
        fields["weights_nbytes"],
        bytes.fromhex(fields["weights_header"]),
        fields["digest"],
    )
    _check_kind(described.signature, Signature)
    _check_kind(described.name, str)
    _check_kind(described.digest, str)
    if described.dims is not None:
        _check_kind(described.dims, DimTable)
    if described.weights_nbytes is not None:
        _check_kind(described.weights_nbytes, int)
    return described


def _check_kind(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{type(value).__name__} where {kind.__name__} is expected")
