"""
Makes a module for certain sizes only: replaces named dims by numbers.

    graph.dim @n min 1 max 64
    func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) -> ...

--> specialize-dims{sizes="n=16"}

    func.func @f(%x: tensor<16x8xf32>) -> ...

Other dims stay as they are.

Requires: a module at `graph`. Ensures: the dims in `sizes` are gone, with their declarations; what the module
computes for arguments of these sizes is unchanged. Raises PassFailedException for a dim that is not declared,
and for a value that is out of its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...dialects import graph
from ...dialects.modules.dim_specialization import specialize


@dataclass(frozen=True)
class SpecializeDimsPass(ModulePass):
    """Replaces named dims by numbers."""

    name = "specialize-dims"

    sizes: tuple[str, ...]
    """One `name=value` for each dim."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        allowed = (func.FuncOp, graph.DimOp, graph.TnodeOp)
        for other in op.body.block.ops:
            if not isinstance(other, allowed):
                raise PassFailedException(
                    f"{self.name}: cannot specialize a {other.name} (needs a module at graph)"
                )
        declared = graph.dims_of(op)
        values: dict[str, int] = {}
        for size in self.sizes:
            name, equals, text = size.partition("=")
            if not equals or not text.strip().isdecimal():
                raise PassFailedException(f"{self.name}: '{size}' is not of the form name=value")
            name, value = name.strip(), int(text)
            symbol = declared.get(name)
            if symbol is None:
                known = ", ".join(declared) or "none"
                raise PassFailedException(f"{self.name}: there is no dim @{name} (dims: {known})")
            if not symbol.minimum <= value <= symbol.maximum:
                raise PassFailedException(
                    f"{self.name}: {name} = {value} is out of bounds ({symbol.minimum} to {symbol.maximum})"
                )
            values[name] = value
        specialize(op, values)
