"""Ops that `decompose-composites` writes out: the place of an extremum, the logarithm of a sum of exp."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType, UnitAttr, i64
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..dims.expressions import bounded, is_at_least
from .attributes import AxisAttr, IntsAttr
from .base import GraphOp, check_result
from .contraction import reduced_type
from .dim import dims_around, dims_text
from .types import (
    ANY,
    FLOATS,
    TENSOR,
    ElementKind,
    check_axes,
    is_symbolic,
    shape_of,
    tensor_of,
    tensor_type_of,
)

__all__ = ["ArgReduceOp", "CompositeOp", "Extremum", "ExtremumAttr", "LogsumexpOp"]

_KEEP = UnitAttr()


class CompositeOp(GraphOp, ABC):
    """An op that `decompose-composites` replaces by others; nothing after it knows the op."""


class Extremum(StrEnum):
    """Which element `graph.arg_reduce` looks for."""

    MAX = "max"
    MIN = "min"


@irdl_attr_definition
class ExtremumAttr(EnumAttribute[Extremum], SpacedOpaqueSyntaxAttribute):
    """`#graph<extremum max>`; printed bare (`max`) by `graph.arg_reduce`."""

    name = "graph.extremum"


@irdl_op_definition
class ArgReduceOp(CompositeOp):
    """
    The index along `axis` of the greatest or the least element: of several, the first. A NaN is both; -0.0
    and 0.0 are equal. The axis goes, or stays with an extent of 1 under `keep`; it must have elements.

    ```mlir
    %i = graph.arg_reduce max %x axis 1 : tensor<4x8xf32> -> tensor<4xi64>
    ```
    """

    name = "graph.arg_reduce"
    ELEMENTS: ClassVar[ElementKind] = ANY
    kind = prop_def(ExtremumAttr)
    source = operand_def(TENSOR)
    axis = prop_def(AxisAttr)
    keep = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)
    assembly_format = (
        "$kind $source `axis` $axis (`keep` $keep^)? attr-dict `:` type($source) `->` type($result)"
    )

    def __init__(
        self, kind: Extremum | ExtremumAttr, source: SSAValue, axis: int | AxisAttr, keep: bool = False
    ):
        properties: dict[str, Attribute] = {
            "kind": kind if isinstance(kind, ExtremumAttr) else ExtremumAttr(kind),
            "axis": axis if isinstance(axis, AxisAttr) else AxisAttr(axis),
        }
        if keep:
            properties["keep"] = _KEEP
        number = axis.data if isinstance(axis, AxisAttr) else axis
        result_type = _indices_type(tensor_type_of(source, self.name), number, keep)
        Operation.__init__(self, operands=(source,), result_types=(result_type,), properties=properties)

    def verify_(self) -> None:
        source, axis = tensor_type_of(self.source, self.name), self.axis.data
        expected = _indices_type(source, axis, self.keep is not None)
        if shape_of(source)[axis] == 0:
            raise VerifyException(f"{self.name}: axis {axis} has no elements (source {source})")
        if is_symbolic(source):
            extent, dims = shape_of(source)[axis], dims_around(self)
            if extent != DYNAMIC_INDEX and not is_at_least(bounded(extent, dims), 1):
                raise VerifyException(
                    f"{self.name}: axis {axis} may have no elements "
                    f"({dims_text(extent, dims)}, source {source})"
                )
        check_result(self, expected, f"i64 indices along axis {axis} of {source}")


def _indices_type(source: TensorType[Any], axis: int, keep: bool) -> TensorType[Any]:
    check_axes(ArgReduceOp.name, (axis,), source)
    return tensor_of(i64, shape_of(reduced_type(source, IntsAttr((axis,)), keep)))


@irdl_op_definition
class LogsumexpOp(CompositeOp):
    """
    The logarithm of the sum of exp of the elements along `axes`, without overflow in between: what is summed
    is at most 1 each. The result is -inf for no elements and for -inf alone, inf with an inf, and NaN with a
    NaN. The reduced dims go, or stay with an extent of 1 under `keep`. Types narrower than f32 are computed
    in f32 and rounded once.

    ```mlir
    %y = graph.logsumexp %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
    ```
    """

    name = "graph.logsumexp"
    ELEMENTS: ClassVar[ElementKind] = FLOATS
    source = operand_def(TENSOR)
    axes = prop_def(IntsAttr)
    keep = opt_prop_def(UnitAttr)
    result = result_def(TENSOR)
    assembly_format = "$source `axes` $axes (`keep` $keep^)? attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, axes: Sequence[int] | IntsAttr, keep: bool = False):
        axes = IntsAttr.of(axes)
        properties: dict[str, Attribute] = {"axes": axes}
        if keep:
            properties["keep"] = _KEEP
        result_type = reduced_type(tensor_type_of(source, self.name), axes, keep, self.name)
        Operation.__init__(self, operands=(source,), result_types=(result_type,), properties=properties)

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        self.ELEMENTS.check(self.name, source)
        keep = self.keep is not None
        why = f"{source} {'with 1 for' if keep else 'without'} axes {list(self.axes.data)}"
        check_result(self, reduced_type(source, self.axes, keep, self.name), why)
