"""Named dims of a module: extents of tensors that are known when a program is called."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from xdsl.dialects.builtin import I64, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ..dims.expressions import KEYWORDS, LARGEST_DIM, DimSymbol, Extent, symbols_of

__all__ = ["DimOp", "dims_around", "dims_of"]


@irdl_op_definition
class DimOp(IRDLOperation):
    """
    Declares a dim: a name that extents of tensor types are written with, and the least and the greatest value
    that it may have. One compiled program serves all of them.

    ```mlir
    graph.dim @n min 1 max 64
    func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) -> tensor<?x8xf32, #graph.dims<n, 8>> {
      func.return %x : tensor<?x8xf32, #graph.dims<n, 8>>
    }
    ```
    """

    name = "graph.dim"
    sym_name = prop_def(StringAttr)
    minimum = prop_def(IntegerAttr[I64])
    maximum = prop_def(IntegerAttr[I64])
    traits = traits_def(SymbolOpInterface())

    def __init__(self, name: str, minimum: int, maximum: int):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "minimum": IntegerAttr(minimum, i64),
                "maximum": IntegerAttr(maximum, i64),
            }
        )

    @property
    def symbol(self) -> DimSymbol:
        return _symbol(self.sym_name.data, self.minimum.value.data, self.maximum.value.data)

    @classmethod
    def parse(cls, parser: Parser) -> DimOp:
        name = parser.parse_symbol_name()
        parser.parse_keyword("min")
        minimum = parser.parse_integer(allow_boolean=False)
        parser.parse_keyword("max")
        maximum = parser.parse_integer(allow_boolean=False)
        op = cls(name.data, minimum, maximum)
        op.attributes.update(parser.parse_optional_attr_dict())
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(f" min {self.minimum.value.data} max {self.maximum.value.data}")
        printer.print_op_attributes(self.attributes)

    def verify_(self) -> None:
        name, low, high = self.sym_name.data, self.minimum.value.data, self.maximum.value.data
        if not isinstance(self.parent_op(), ModuleOp):
            raise VerifyException(f"{self.name}: @{name} must stand in a module, beside its functions")
        if not name.isidentifier() or name in KEYWORDS:
            raise VerifyException(f"{self.name}: '{name}' cannot be written in an extent")
        if not 0 <= low <= high <= LARGEST_DIM:
            raise VerifyException(
                f"{self.name}: @{name} is from {low} to {high}, expected bounds from 0 to {LARGEST_DIM}"
            )


@lru_cache(1024)
def _symbol(name: str, minimum: int, maximum: int) -> DimSymbol:
    return DimSymbol(name, minimum, maximum)


def dims_of(module: ModuleOp) -> dict[str, DimSymbol]:
    """Returns the dims that a module declares, by name."""
    return {op.sym_name.data: op.symbol for op in module.body.block.ops if isinstance(op, DimOp)}


def module_around(op: Operation) -> ModuleOp | None:
    """Returns the module that `op` stands in, None where there is none."""
    around: Operation | None = op
    while around is not None and not isinstance(around, ModuleOp):
        around = around.parent_op()
    return around


def dims_around(op: Operation) -> dict[str, DimSymbol]:
    """Returns the dims that the module around `op` declares; none where there is no module."""
    around = module_around(op)
    return {} if around is None else dims_of(around)


def dims_text(extent: Extent, dims: Mapping[str, DimSymbol]) -> str:
    """Returns the bounds of the dims in an extent as diagnostics write them: `n from 1 to 64`."""
    known = [dims.get(name, DimSymbol(name)) for name in symbols_of((extent,))]
    return ", ".join(f"{symbol.name} from {symbol.minimum} to {symbol.maximum}" for symbol in known)
