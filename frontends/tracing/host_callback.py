"""A function of the user's that a program calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MethodType
from typing import Any

from ..arrays.tree import Node, flatten, unflatten


@dataclass(frozen=True, slots=True)
class HostCallback:
    """
    A function of trees of arrays as one of arrays in a row: it takes the leaves of `arguments`, and gives the
    leaves of `results`, one alone as it is. Equal ones do the same.
    """

    function: Callable[..., Any]
    arguments: Node | None
    results: Node | None

    @property
    def name(self) -> str:
        """What the function calls itself."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def is_of(self, reader: object) -> bool:
        """Returns whether `reader` is the function, or the code that it runs."""
        function = self.function
        if isinstance(function, MethodType):
            return function == reader  # There is a new object each time that it is asked for.
        return function is reader or getattr(function, "__code__", None) is reader

    def __call__(self, *arrays: Any) -> Any:
        """Raises `TypeError` where the function gives another structure."""
        leaves: list[Any] = []
        found = flatten(self.function(*unflatten(self.arguments, iter(arrays))), leaves)
        if found is not self.results:
            raise TypeError(
                f"callback @{self.name}: the function gives {found or 'one array'}, expected "
                f"{self.results or 'one array'}"
            )
        return leaves[0] if len(leaves) == 1 else leaves
