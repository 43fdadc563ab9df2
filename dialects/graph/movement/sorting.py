"""Ops that order elements, or find places in what is ordered: sort, argsort, search_sorted."""

from __future__ import annotations

from abc import ABC
from typing import Any

from xdsl.dialects.builtin import TensorType, UnitAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..attributes import AxisAttr, SideAttr, SortedSide
from ..base import GraphOp, check_exact_result
from ..types import TENSOR, TENSOR_T, Computed, check_axes, shape_of, tensor_of, tensor_type_of

__all__ = ["ArgsortOp", "SearchSortedOp", "SortOp", "positions_type"]

_UNIT = UnitAttr()


def positions_type(source: TensorType[Any]) -> TensorType[Any]:
    """Returns the type of one position, an i64, for each element."""
    return tensor_of(i64, shape_of(source))


class _OrderingOp(GraphOp, ABC):
    """Orders the elements along an axis."""

    source = operand_def(TENSOR_T)
    axis = prop_def(AxisAttr)
    descending = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        check_axes(self.name, (self.axis.data,), tensor_type_of(self.source, self.name))


def _properties(axis: int | AxisAttr, descending: bool) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {"axis": axis if isinstance(axis, AxisAttr) else AxisAttr(axis)}
    if descending:
        properties["descending"] = _UNIT
    return properties


@irdl_op_definition
class SortOp(_OrderingOp):
    """
    The elements in ascending order along `axis`, or in descending order. Elements that are equal keep their
    order, -0.0 and +0.0 among them; NaN come last in either order, and false is less than true.

    ```mlir
    %y = graph.sort %x axis 1 descending : tensor<4x8xf32>
    ```
    """

    name = "graph.sort"
    result = result_def(TENSOR_T)
    assembly_format = "$source `axis` $axis (`descending` $descending^)? attr-dict `:` type($source)"

    def __init__(self, source: SSAValue, axis: int | AxisAttr, descending: bool = False):
        Operation.__init__(
            self,
            operands=(source,),
            result_types=(source.type,),
            properties=_properties(axis, descending),
        )


@irdl_op_definition
class ArgsortOp(_OrderingOp):
    """
    Where along `axis` the elements stand that `graph.sort` would put in each place: a gather by these
    positions sorts. Positions of equal elements, and of NaN, are in ascending order.

    ```mlir
    %p = graph.argsort %x axis 1 : tensor<4x8xf32>
    ```

    The result is a `tensor<4x8xi64>`.
    """

    name = "graph.argsort"
    result = result_def(Computed(positions_type, ("T",)))
    assembly_format = "$source `axis` $axis (`descending` $descending^)? attr-dict `:` type($source)"

    def __init__(self, source: SSAValue, axis: int | AxisAttr, descending: bool = False):
        Operation.__init__(
            self,
            operands=(source,),
            result_types=(positions_type(tensor_type_of(source, self.name)),),
            properties=_properties(axis, descending),
        )

    def verify_(self) -> None:
        super().verify_()
        source = tensor_type_of(self.source, self.name)
        check_exact_result(self, positions_type(source), f"a position for each element of {source}")


@irdl_op_definition
class SearchSortedOp(GraphOp):
    """
    How many elements of `sorted`, which is in ascending order with NaN last, stand before each of `values`:
    where it would be put to keep the order, `left` of those that are equal to it or `right` of them. NaN is
    above all and equal to itself. The result for elements in no order is that of a binary search.

    ```mlir
    %p = graph.search_sorted left %sorted, %values : tensor<8xf32>, tensor<3x4xf32>
    ```

    The result is a `tensor<3x4xi64>`.
    """

    name = "graph.search_sorted"
    side = prop_def(SideAttr)
    sorted = operand_def(TENSOR)
    values = operand_def(TENSOR_T)
    result = result_def(Computed(positions_type, ("T",)))
    assembly_format = "$side $sorted `,` $values attr-dict `:` type($sorted) `,` type($values)"

    def __init__(self, side: SortedSide | SideAttr, sorted: SSAValue, values: SSAValue):
        Operation.__init__(
            self,
            operands=(sorted, values),
            result_types=(positions_type(tensor_type_of(values, self.name)),),
            properties={"side": side if isinstance(side, SideAttr) else SideAttr(side)},
        )

    def verify_(self) -> None:
        sorted, values = tensor_type_of(self.sorted, self.name), tensor_type_of(self.values, self.name)
        if len(shape_of(sorted)) != 1:
            raise VerifyException(f"{self.name}: sorted is {sorted}, expected rank 1")
        if sorted.element_type != values.element_type:
            raise VerifyException(
                f"{self.name}: sorted and values have elements of {sorted.element_type} and "
                f"{values.element_type}, expected one type ({sorted}, {values})"
            )
        check_exact_result(self, positions_type(values), f"a position for each element of {values}")
