"""Cumulative ops: what is combined so far, along an axis."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from .attributes import AxisAttr, CumulateKind, CumulateKindAttr
from .base import GraphOp
from .types import NUMBERS, TENSOR_T, ElementKind, check_axes, tensor_type_of

__all__ = ["CumulateOp"]

_UNIT = UnitAttr()


@irdl_op_definition
class CumulateOp(GraphOp):
    """
    Each element combined with all before it along `axis`, one after the other: running sums, products,
    maxima, minima. With `reverse` with all after it, from the last on. With `exclusive` without itself: the
    first is the identity (0, 1, -inf or the least integer, +inf or the greatest).

    Integers wrap. Floats narrower than f32 are combined in f32, and each result is rounded once. NaN wins in
    max and min.

    ```mlir
    %y = graph.cumulate add %x axis 1 reverse exclusive : tensor<4x8xf32>
    ```
    """

    name = "graph.cumulate"
    ELEMENTS: ClassVar[ElementKind] = NUMBERS
    kind = prop_def(CumulateKindAttr)
    source = operand_def(TENSOR_T)
    axis = prop_def(AxisAttr)
    reverse = opt_prop_def(UnitAttr)
    exclusive = opt_prop_def(UnitAttr)
    result = result_def(TENSOR_T)
    assembly_format = (
        "$kind $source `axis` $axis (`reverse` $reverse^)? (`exclusive` $exclusive^)? attr-dict "
        "`:` type($result)"
    )

    def __init__(
        self,
        kind: CumulateKind | CumulateKindAttr,
        source: SSAValue,
        axis: int | AxisAttr,
        reverse: bool = False,
        exclusive: bool = False,
    ):
        properties: dict[str, Attribute] = {
            "kind": kind if isinstance(kind, CumulateKindAttr) else CumulateKindAttr(kind),
            "axis": axis if isinstance(axis, AxisAttr) else AxisAttr(axis),
        }
        if reverse:
            properties["reverse"] = _UNIT
        if exclusive:
            properties["exclusive"] = _UNIT
        Operation.__init__(self, operands=(source,), result_types=(source.type,), properties=properties)

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        self.ELEMENTS.check(f"{self.name} {self.kind.data.value}", source)
        check_axes(self.name, (self.axis.data,), source)
