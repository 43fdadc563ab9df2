"""Executables of functions with named dims: one for each of their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..dialects.modules.dim_values import DimTable
from ..runtime.executables.executable import CompiledFunction, Executable
from ..runtime.executables.sized_executable import SizedExecutable

Sizes = Mapping[str, int]


def for_sizes(
    function: CompiledFunction,
    dims: DimTable | None,
    has_nodes: bool,
    make: Callable[[Sizes | None, Executable | None], Executable],
    keeper: Executable | None,
) -> Executable:
    """Returns what `make` makes, at once, or where there are dims for each of their values."""
    if dims is None:
        return make(None, keeper)
    if has_nodes and keeper is None:
        keeper = make(dims.least(), None)
    return SizedExecutable(function, dims, lambda sizes: make(sizes, keeper), keeper)
