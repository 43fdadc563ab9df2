"""The memory that each of many pieces of work in a kernel has for itself."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ......dialects.buffer_size import memref_of
from ......dialects.dims.expressions import Extent
from ......dialects.element_types import NBYTES
from .....machine.kernel_memory import LOCAL_NBYTES_LIMIT
from ...code import KernelCode
from ..interface import ProgramPart

Part = tuple[Attribute, Sequence[Extent]]
"""The element type and the shape of one buffer of a piece."""


class Scratch:
    """
    Buffers for each piece of the axes `pieces`: local ones where they are small and of known sizes, as they
    are reused by the next piece while they are in the first cache; else parts of temporary buffers. It adds
    arguments to the kernel.
    """

    def __init__(self, code: KernelCode, part: ProgramPart, pieces: Sequence[Extent], parts: Sequence[Part]):
        self.code = code
        sizes = [_nbytes(*each) for each in parts]
        is_local = all(size is not None for size in sizes)
        is_local = is_local and sum(size or 0 for size in sizes) <= LOCAL_NBYTES_LIMIT
        self.local = [memref_of(*each) for each in parts] if is_local else []
        shared = [] if is_local else [memref_of(type, [*pieces, *shape]) for type, shape in parts]
        self._buffers = [code.buffer(each, "scratch") for each in shared]
        self.places = [part.scratch(each, "scratch") for each in shared]
        """What the kernel is to be launched with for its arguments."""

    def of(self, piece: Sequence[SSAValue]) -> tuple[list[SSAValue], list[SSAValue]]:
        """Returns the buffers of a piece that is open, and the indices of its part of each."""
        if not self.local:
            return self._buffers, list(piece)
        return [self.code.alloc(each.element_type, each.get_shape(), "scratch") for each in self.local], []


def _nbytes(type: Attribute, shape: Sequence[Extent]) -> int | None:
    size = NBYTES[type]
    for extent in shape:
        if not isinstance(extent, int):
            return None
        size *= extent
    return size
