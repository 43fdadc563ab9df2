"""
The transforms of Winograd's convolutions F(2, 3): two sums of three products by four products.

Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016 (arXiv 1509.09308), have the sums.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from xdsl.dialects.builtin import TensorType, f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from .attributes import AxisAttr
from .base import GraphOp, check_result
from .types import TENSOR, ElementKind, check_axes, shape_of, tensor_of, tensor_type_of

__all__ = [
    "WinogradFilterTransformOp",
    "WinogradInputTransformOp",
    "WinogradOutputTransformOp",
    "WinogradTransformOp",
]

_FLOATS = ElementKind("f32 or f64", frozenset({f32, f64}))

TileSum = tuple[tuple[int, int], ...]
"""The elements of a tile that a sum is of, in order, each with its sign; the first has a 1."""


class WinogradTransformOp(GraphOp, ABC):
    """An op that makes sums of the elements of each tile along an axis."""

    ELEMENTS: ClassVar[ElementKind] = _FLOATS
    SUMS: ClassVar[tuple[TileSum, ...]]
    SCALES: ClassVar[tuple[float, ...]] = (1.0,) * 4
    """What each sum is multiplied by."""
    source = operand_def(TENSOR)
    axis = prop_def(AxisAttr)
    result = result_def(TENSOR)
    assembly_format = "$source `axis` $axis attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, axis: int | AxisAttr):
        axis = axis if isinstance(axis, AxisAttr) else AxisAttr(axis)
        result_type = self.transformed_type(tensor_type_of(source, self.name), axis.data)
        Operation.__init__(self, operands=(source,), result_types=(result_type,), properties={"axis": axis})

    @classmethod
    @abstractmethod
    def transformed_type(cls, source: TensorType[Any], axis: int) -> TensorType[Any]:
        """Returns the type of the result. Raises `VerifyException` where the source has no such tiles."""

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        self.ELEMENTS.check(self.name, source)
        check_result(self, self.transformed_type(source, self.axis.data), f"{source} axis {self.axis.data}")


@irdl_op_definition
class WinogradInputTransformOp(WinogradTransformOp):
    """
    Four sums of each tile of four neighbours along `axis`, where a tile begins at every second element: of a
    tile (a, b, c, d) they are a - c, b + c, c - b, b - d. The sums are the first axis of the result, the
    tiles are where `axis` was. Its extent is a number, even and 4 at least.

    ```mlir
    %v = graph.winograd_input_transform %x axis 0 : tensor<8x5xf32> -> tensor<4x3x5xf32>
    ```
    """

    name = "graph.winograd_input_transform"
    SUMS: ClassVar = (((0, 1), (2, -1)), ((1, 1), (2, 1)), ((2, 1), (1, -1)), ((1, 1), (3, -1)))

    @classmethod
    def transformed_type(cls, source: TensorType[Any], axis: int) -> TensorType[Any]:
        check_axes(cls.name, (axis,), source)
        shape = shape_of(source)
        extent = shape[axis]
        if not isinstance(extent, int) or extent < 4 or extent % 2:
            raise VerifyException(
                f"{cls.name}: cannot take tiles along axis {axis} of {source} (its extent is to be a number, "
                "even and 4 at least)"
            )
        return tensor_of(source.element_type, (4, *shape[:axis], extent // 2 - 1, *shape[axis + 1 :]))


@irdl_op_definition
class WinogradFilterTransformOp(WinogradTransformOp):
    """
    Four numbers for each three (a, b, c) along `axis`: a, (a + b + c) / 2, (a - b + c) / 2 and c. They are
    the first axis of the result, which has no `axis` any more.

    ```mlir
    %u = graph.winograd_filter_transform %w axis 1 : tensor<5x3xf32> -> tensor<4x5xf32>
    ```
    """

    name = "graph.winograd_filter_transform"
    SUMS: ClassVar = (((0, 1),), ((0, 1), (1, 1), (2, 1)), ((0, 1), (1, -1), (2, 1)), ((2, 1),))
    SCALES: ClassVar = (1.0, 0.5, 0.5, 1.0)

    @classmethod
    def transformed_type(cls, source: TensorType[Any], axis: int) -> TensorType[Any]:
        check_axes(cls.name, (axis,), source)
        shape = shape_of(source)
        if shape[axis] != 3:
            raise VerifyException(f"{cls.name}: cannot take axis {axis} of {source} (its extent is to be 3)")
        return tensor_of(source.element_type, (4, *shape[:axis], *shape[axis + 1 :]))


@irdl_op_definition
class WinogradOutputTransformOp(WinogradTransformOp):
    """
    Two sums, which are neighbours along `axis` of the result, of four numbers (a, b, c, d) along the first
    axis of the source: a + b + c and b - c - d.

    ```mlir
    %y = graph.winograd_output_transform %m axis 0 : tensor<4x3x5xf32> -> tensor<6x5xf32>
    ```
    """

    name = "graph.winograd_output_transform"
    SUMS: ClassVar = (((0, 1), (1, 1), (2, 1)), ((1, 1), (2, -1), (3, -1)))

    @classmethod
    def transformed_type(cls, source: TensorType[Any], axis: int) -> TensorType[Any]:
        check_axes(cls.name, (axis + 1,) if axis >= 0 else (axis,), source)
        count, *shape = shape_of(source)
        tiles = shape[axis]
        if count != 4 or not isinstance(tiles, int) or tiles < 1:
            raise VerifyException(
                f"{cls.name}: cannot make sums of {source} (its first extent is to be 4, that of the tiles a "
                "number)"
            )
        shape[axis] = tiles * 2
        return tensor_of(source.element_type, tuple(shape))
