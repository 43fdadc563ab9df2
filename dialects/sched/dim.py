"""The values of named dims, as a program hands them to its kernels."""

from __future__ import annotations

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, IndexType, SymbolRefAttr
from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..graph import dims_around

__all__ = ["DimOp"]


@irdl_op_definition
class DimOp(IRDLOperation):
    """
    The value of a dim in this run, found from the shapes of the program's arguments.

    ```mlir
    %n = sched.dim @n
    ```
    """

    name = "sched.dim"
    dim = prop_def(FlatSymbolRefAttrConstr)
    result = result_def(IndexType())
    traits = traits_def(Pure())
    assembly_format = "$dim attr-dict"

    def __init__(self, dim: str):
        Operation.__init__(self, result_types=(IndexType(),), properties={"dim": SymbolRefAttr(dim)})

    @property
    def dim_name(self) -> str:
        return self.dim.root_reference.data

    def verify_(self) -> None:
        name = self.dim_name
        if name not in dims_around(self):
            raise VerifyException(
                f"{self.name}: there is no dim @{name} (hint: graph.dim @{name} min 1 max 64)"
            )
