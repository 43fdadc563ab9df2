"""Which element of an array each element of another one is, as plain data, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.parser import AttrParser

from .collective import parse_ints


@dataclass(frozen=True)
class Rearrangement:
    """
    All elements of an array, in order, as those of another one: element `i` of `shape` is the one at `offset`
    plus `sum(i * strides)`, all in elements of memory that is contiguous. Where it is `summed` each is the
    sum that begins with 0 and has that one element, which is never -0.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    summed: bool = False

    @property
    def n_elements(self) -> int:
        return prod(self.shape)

    @property
    def places(self) -> tuple[int, int]:
        """The first and the last element that is read; there are some."""
        reach = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        low, high = (sum(side(each, 0) for each in reach) for side in (min, max))
        return self.offset + low, self.offset + high

    @property
    def misfit(self) -> str | None:
        """What is wrong with it by itself."""
        if len(self.shape) != len(self.strides):
            return f"{list(self.shape)} has not as many strides, {list(self.strides)}"
        if any(extent < 1 for extent in self.shape):
            return f"{list(self.shape)} has no elements"
        return None

    @property
    def text(self) -> str:
        summed = " summed" if self.summed else ""
        return f"{list(self.shape)} strides = {list(self.strides)} offset = {self.offset}{summed}"

    @staticmethod
    def parse(parser: AttrParser) -> Rearrangement:
        """Returns what `text` says."""
        shape = parse_ints(parser)
        parser.parse_keyword("strides")
        parser.parse_punctuation("=")
        strides = parse_ints(parser)
        parser.parse_keyword("offset")
        parser.parse_punctuation("=")
        offset = parser.parse_integer(allow_boolean=False)
        summed = parser.parse_optional_keyword("summed") is not None
        return Rearrangement(shape, strides, offset, summed)
