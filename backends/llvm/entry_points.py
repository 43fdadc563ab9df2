"""
The function through which a kernel is called, and what its definition tells the one who calls it.

    define void @softmax.packed(ptr %table) nounwind "arguments"="2" "grid"="128,1,1" "block"="1,1,1" {

`table` points to the addresses of the kernel's arguments.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .names import function_stem, symbol_of_stem

_DEFINITION = re.compile(
    r'^define void @([\w$]+)\.packed\(ptr %table\) nounwind "arguments"="(\d+)" '
    r'"grid"="(\d+),(\d+),(\d+)" "block"="(\d+),(\d+),(\d+)" \{$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A kernel that a source text defines, with the number of its arguments and the extents it runs over."""

    kernel: str
    n_arguments: int
    grid: tuple[int, ...]
    block: tuple[int, ...]

    @property
    def function(self) -> str:
        """The name of the function to call."""
        return f"{function_stem(self.kernel)}.packed"

    def definition(self) -> str:
        """Returns the first line of the function's definition."""
        return (
            f'define void @{self.function}(ptr %table) nounwind "arguments"="{self.n_arguments}" '
            f'"grid"="{_joined(self.grid)}" "block"="{_joined(self.block)}" {{'
        )


def _joined(extents: Sequence[int]) -> str:
    return ",".join(str(extent) for extent in extents)


def find_entry_points(source: str) -> list[EntryPoint]:
    """Returns the entry points that `source` defines, in its order."""
    found: list[EntryPoint] = []
    for match in _DEFINITION.finditer(source):
        stem, n_arguments, *extents = match.groups()
        numbers = tuple(int(extent) for extent in extents)
        found.append(EntryPoint(symbol_of_stem(stem), int(n_arguments), numbers[:3], numbers[3:]))
    return found
