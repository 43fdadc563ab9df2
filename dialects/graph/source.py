"""Ops without operands: constant, iota."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation
from xdsl.irdl import AnyAttr, ParamAttrConstraint, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException

from .attributes import AxisAttr
from .base import GraphOp
from .types import NUMBERS, TENSOR_T, check_axes, tensor_type_of

__all__ = ["ConstantOp", "IotaOp"]


@irdl_op_definition
class ConstantOp(GraphOp):
    """
    A tensor of known elements: one for all (a splat), or each its own.

    ```mlir
    %c = graph.constant dense<1.0> : tensor<4xf32>
    ```
    """

    name = "graph.constant"
    value = prop_def(ParamAttrConstraint(DenseIntOrFPElementsAttr, (TENSOR_T, AnyAttr())))
    result = result_def(TENSOR_T)
    traits = traits_def(ConstantLike())
    assembly_format = "attr-dict $value"

    def __init__(self, value: DenseIntOrFPElementsAttr[Any]):
        Operation.__init__(self, result_types=(value.type,), properties={"value": value})

    def verify_(self) -> None:
        type = tensor_type_of(self.result, self.name)
        if not type.has_static_shape():
            raise VerifyException(f"{self.name}: {type} has a dim that is known at run time only")
        found, wanted = len(self.value), math.prod(type.get_shape())
        if found != wanted:
            raise VerifyException(f"{self.name}: value has {found} elements, {type} has {wanted}")


@irdl_op_definition
class IotaOp(GraphOp):
    """
    The index along `axis` at each element: 0, 1, 2, ... Integers wrap, floats round to nearest.

    ```mlir
    %i = graph.iota axis 1 : tensor<4x8xi32>
    ```
    """

    name = "graph.iota"
    axis = prop_def(AxisAttr)
    result = result_def(TENSOR_T)
    assembly_format = "`axis` $axis attr-dict `:` type($result)"

    def __init__(self, axis: int | AxisAttr, result_type: TensorType[Any]):
        axis = axis if isinstance(axis, AxisAttr) else AxisAttr(axis)
        Operation.__init__(self, result_types=(result_type,), properties={"axis": axis})

    def verify_(self) -> None:
        type = tensor_type_of(self.result, self.name)
        NUMBERS.check(self.name, type)
        check_axes(self.name, (self.axis.data,), type, "type")
