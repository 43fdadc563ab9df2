"""Ops that put elements elsewhere, and those that know extents only when they run."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def

from .base import TypeStyle, WrittenOp
from .clauses import Int, Ints

__all__ = [
    "BroadcastInDimOp",
    "ConcatenateOp",
    "DynamicBroadcastInDimOp",
    "DynamicIotaOp",
    "DynamicPadOp",
    "DynamicReshapeOp",
    "DynamicSliceOp",
    "DynamicUpdateSliceOp",
    "GetDimensionSizeOp",
    "IotaOp",
    "PadOp",
    "RealDynamicSliceOp",
    "ReshapeOp",
    "ReverseOp",
    "SetDimensionSizeOp",
    "TransposeOp",
]


@irdl_op_definition
class BroadcastInDimOp(WrittenOp):
    """Its operand repeated: dim k of it is dim `dims[k]` of the result."""

    name = "stablehlo.broadcast_in_dim"
    N_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Ints("dims", "broadcast_dimensions"),)
    REQUIRED: ClassVar = ("broadcast_dimensions",)
    broadcast_dimensions = opt_prop_def()


@irdl_op_definition
class ConcatenateOp(WrittenOp):
    """Its operands one after the other along a dim."""

    name = "stablehlo.concatenate"
    CLAUSES: ClassVar = (Int("dim", "dimension"),)
    REQUIRED: ClassVar = ("dimension",)
    dimension = opt_prop_def()


@irdl_op_definition
class IotaOp(WrittenOp):
    """The index along a dim."""

    name = "stablehlo.iota"
    N_OPERANDS: ClassVar = 0
    STYLE: ClassVar = TypeStyle.RESULTS
    CLAUSES: ClassVar = (Int("dim", "iota_dimension"),)
    REQUIRED: ClassVar = ("iota_dimension",)
    iota_dimension = opt_prop_def()


@irdl_op_definition
class PadOp(WrittenOp):
    """Its operand with a value around and between its elements; a negative amount takes some away."""

    name = "stablehlo.pad"
    N_OPERANDS: ClassVar = 2
    CLAUSES: ClassVar = (
        Ints("low", "edge_padding_low"),
        Ints("high", "edge_padding_high"),
        Ints("interior", "interior_padding"),
    )
    REQUIRED: ClassVar = (
        "edge_padding_low",
        "edge_padding_high",
        "interior_padding",
    )
    edge_padding_low = opt_prop_def()
    edge_padding_high = opt_prop_def()
    interior_padding = opt_prop_def()


@irdl_op_definition
class ReshapeOp(WrittenOp):
    """The same elements under another shape."""

    name = "stablehlo.reshape"
    N_OPERANDS: ClassVar = 1


@irdl_op_definition
class ReverseOp(WrittenOp):
    """Its operand backwards along some dims."""

    name = "stablehlo.reverse"
    N_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Ints("dims", "dimensions"),)
    REQUIRED: ClassVar = ("dimensions",)
    dimensions = opt_prop_def()


@irdl_op_definition
class TransposeOp(WrittenOp):
    """Dim k of the result is dim `dims[k]` of the operand."""

    name = "stablehlo.transpose"
    N_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Ints("dims", "permutation"),)
    REQUIRED: ClassVar = ("permutation",)
    permutation = opt_prop_def()


@irdl_op_definition
class DynamicSliceOp(WrittenOp):
    """A box of its operand that begins at indices, moved so that it fits."""

    name = "stablehlo.dynamic_slice"
    LEAST_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Ints("sizes", "slice_sizes"),)
    REQUIRED: ClassVar = ("slice_sizes",)
    slice_sizes = opt_prop_def()


@irdl_op_definition
class DynamicUpdateSliceOp(WrittenOp):
    """Its operand with a box replaced that begins at indices, moved so that it fits."""

    name = "stablehlo.dynamic_update_slice"
    LEAST_OPERANDS: ClassVar = 2


@irdl_op_definition
class GetDimensionSizeOp(WrittenOp):
    """The extent of a dim."""

    name = "stablehlo.get_dimension_size"
    N_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Int("dim", "dimension"),)
    REQUIRED: ClassVar = ("dimension",)
    dimension = opt_prop_def()


@irdl_op_definition
class SetDimensionSizeOp(WrittenOp):
    """Its operand with another extent of a dim."""

    name = "stablehlo.set_dimension_size"
    N_OPERANDS: ClassVar = 2
    CLAUSES: ClassVar = (Int("dim", "dimension"),)
    REQUIRED: ClassVar = ("dimension",)
    dimension = opt_prop_def()


@irdl_op_definition
class DynamicBroadcastInDimOp(WrittenOp):
    """As `broadcast_in_dim`, to a shape that is an operand."""

    name = "stablehlo.dynamic_broadcast_in_dim"
    N_OPERANDS: ClassVar = 2
    CLAUSES: ClassVar = (
        Ints("dims", "broadcast_dimensions"),
        Ints("known_expanding_dimensions", "known_expanding_dimensions"),
        Ints("known_nonexpanding_dimensions", "known_nonexpanding_dimensions"),
    )
    REQUIRED: ClassVar = ("broadcast_dimensions",)
    broadcast_dimensions = opt_prop_def()
    known_expanding_dimensions = opt_prop_def()
    known_nonexpanding_dimensions = opt_prop_def()


@irdl_op_definition
class DynamicIotaOp(WrittenOp):
    """As `iota`, of a shape that is an operand."""

    name = "stablehlo.dynamic_iota"
    N_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Int("dim", "iota_dimension"),)
    REQUIRED: ClassVar = ("iota_dimension",)
    iota_dimension = opt_prop_def()


@irdl_op_definition
class DynamicPadOp(WrittenOp):
    """As `pad`, by amounts that are operands."""

    name = "stablehlo.dynamic_pad"
    N_OPERANDS: ClassVar = 5


@irdl_op_definition
class DynamicReshapeOp(WrittenOp):
    """As `reshape`, to a shape that is an operand."""

    name = "stablehlo.dynamic_reshape"
    N_OPERANDS: ClassVar = 2


@irdl_op_definition
class RealDynamicSliceOp(WrittenOp):
    """As `slice`, with limits that are operands."""

    name = "stablehlo.real_dynamic_slice"
    N_OPERANDS: ClassVar = 4
