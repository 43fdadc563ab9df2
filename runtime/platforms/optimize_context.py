"""The knowledge that one compile leaves for the next: the computations of virtual tensor nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ..nodes.tensor_node import TensorNode

_NONE: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class OptimizeContext:
    """
    The nodes that programs compiled so far declare, by name, and of the virtual ones the computation, which
    programs that read them get inlined. `computations` belong to the passes. It never changes.
    """

    nodes: Mapping[str, TensorNode] = field(default_factory=lambda: _NONE)
    computations: Mapping[str, Any] = field(default_factory=lambda: _NONE)

    def extended(self, nodes: Mapping[str, TensorNode], computations: Mapping[str, Any]) -> OptimizeContext:
        """Returns a context with these as well; what is given replaces what was known by its name."""
        return OptimizeContext(
            MappingProxyType({**self.nodes, **nodes}),
            MappingProxyType({**self.computations, **computations}),
        )
