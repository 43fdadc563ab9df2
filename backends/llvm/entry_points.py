"""
The function through which a kernel is called, and what its definition tells the one who calls it.

    define void @softmax.chunk(ptr %table, i64 %begin, i64 %end) nounwind noinline optnone
        "arguments"="2" "grid"="128,1,1" "block"="1,1,1" {      (in one line)

`table` points to the kernel's arguments, one word each: the values of its dims, then the addresses of its
buffers. The work-groups `begin <= i < end` run, counted with x fastest. An extent of the grid that depends on
dims is written `?`. It only loads and calls, which LLVM does as well without its passes, in half the time.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..launch_errors import check_extents, wrong_arity
from .names import function_stem, symbol_of_stem

_DEFINITION = re.compile(
    r"^define void @([\w$]+)\.chunk\(ptr %table, i64 %begin, i64 %end\) nounwind noinline optnone "
    r'"arguments"="(\d+)" "grid"="(\d+|\?),(\d+|\?),(\d+|\?)" "block"="(\d+),(\d+),(\d+)" \{$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A kernel that a source text defines, with the number of its arguments and the extents it runs over."""

    kernel: str
    n_arguments: int
    grid: tuple[int | None, ...]
    """None is an extent that depends on dims."""
    block: tuple[int, ...]

    @property
    def function(self) -> str:
        """The name of the function to call."""
        return f"{function_stem(self.kernel)}.chunk"

    def check_step(self, grid: Sequence[int], block: Sequence[int], n_arguments: int) -> None:
        """
        Fails where a step of a program is not what the kernel was compiled for. Raises `DeviceError` where
        it gives too few or too many arguments.
        """
        fits = len(grid) == len(self.grid) and all(
            mine in (None, extent) for mine, extent in zip(self.grid, grid, strict=True)
        )
        assert fits and tuple(block) == self.block, (
            f"@{self.kernel} is compiled for grid {self.grid} block {self.block}, "
            f"launched with grid {tuple(grid)} block {tuple(block)}"
        )
        self.check_arity(n_arguments)

    def check_arity(self, n_arguments: int) -> None:
        """Raises `DeviceError` where a launch gives too few or too many arguments."""
        if n_arguments != self.n_arguments:
            raise wrong_arity("llvm", self.kernel, self.n_arguments, n_arguments)

    def runs(self, grid: Sequence[int], block: Sequence[int] | None) -> list[tuple[int, int]]:
        """
        Returns the work-groups of a launch, as ranges of their numbers with x fastest. Raises `DeviceError`
        where the kernel has not so many, or another block.
        """
        block = self.block if block is None else block
        check_extents("llvm", self.kernel, grid, block, self.grid, self.block)
        width, height, _ = self.grid
        x, y, z = grid
        if width is None or height is None or (x, y) == (width, height):
            return [(0, x * y * z)]
        return [
            (begin, begin + x)
            for plane in range(z)
            for row in range(y)
            for begin in ((plane * height + row) * width,)
        ]

    def definition(self) -> str:
        """Returns the first line of the function's definition."""
        extents = f'"grid"="{_joined(self.grid)}" "block"="{_joined(self.block)}"'
        return (
            f"define void @{self.function}(ptr %table, i64 %begin, i64 %end) nounwind noinline optnone "
            f'"arguments"="{self.n_arguments}" {extents} {{'
        )


def _joined(extents: Sequence[int | None]) -> str:
    return ",".join("?" if extent is None else str(extent) for extent in extents)


def find_entry_points(source: str) -> list[EntryPoint]:
    """Returns the entry points that `source` defines, in its order."""
    found: list[EntryPoint] = []
    for match in _DEFINITION.finditer(source):
        stem, n_arguments, *extents = match.groups()
        grid = tuple(None if extent == "?" else int(extent) for extent in extents[:3])
        block = tuple(int(extent) for extent in extents[3:])
        found.append(EntryPoint(symbol_of_stem(stem), int(n_arguments), grid, block))
    return found
