"""Padding with elements of the source itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import base, irdl_attr_definition, irdl_op_definition, operand_def, prop_def, result_def
from xdsl.irdl.constraints import VarConstraint
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ...dims.expressions import bounded, is_at_least
from ..attributes import IntsAttr
from ..base import MovementOp, check_exact_result
from ..dim import dims_around, dims_text
from ..types import ANY, TENSOR_T, Computed, ElementKind, is_symbolic, shape_of, tensor_type_of
from .movement import padded_type

__all__ = ["PadMode", "PadModeAttr", "PadWithOp"]


class PadMode(StrEnum):
    """
    Which elements `graph.pad_with` puts around `a b c d`: the nearest (`edge`: `a a | a b c d | d d`), the
    mirror image without (`reflect`: `c b | a b c d | c b`) or with the outermost (`symmetric`: `b a | a b c d
    | d c`), or the other end (`wrap`: `c d | a b c d | a b`). More than there are go on in that manner.
    """

    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
    WRAP = "wrap"


@irdl_attr_definition
class PadModeAttr(EnumAttribute[PadMode], SpacedOpaqueSyntaxAttribute):
    """`#graph<pad_mode edge>`; printed bare (`edge`) by `graph.pad_with`."""

    name = "graph.pad_mode"


def _padded_with_type(source: TensorType[Any], low: IntsAttr, high: IntsAttr) -> TensorType[Any]:
    type = padded_type(source, low, high, who=PadWithOp.name)
    for axis, (extent, before, after) in enumerate(zip(shape_of(source), low.data, high.data, strict=True)):
        if extent == 0 and before + after:
            raise VerifyException(
                f"{PadWithOp.name}: axis {axis} has no elements to pad with "
                f"(low {before}, high {after}, source {source})"
            )
    return type


@irdl_op_definition
class PadWithOp(MovementOp):
    """
    Puts `low[k]` elements before and `high[k]` after the source in dim k, which are elements of the source:
    `PadMode` says which. Each dim is padded as numpy.pad does it.

    ```mlir
    %y = graph.pad_with reflect %x low [0, 1] high [0, 2] : tensor<4x8xf32>
    ```

    The result is a `tensor<4x11xf32>`.
    """

    name = "graph.pad_with"
    ELEMENTS: ClassVar[ElementKind] = ANY
    mode = prop_def(PadModeAttr)
    source = operand_def(TENSOR_T)
    low = prop_def(VarConstraint("LOW", base(IntsAttr)))
    high = prop_def(VarConstraint("HIGH", base(IntsAttr)))
    result = result_def(Computed(_padded_with_type, ("T", "LOW", "HIGH")))
    assembly_format = "$mode $source `low` $low `high` $high attr-dict `:` type($source)"

    def __init__(
        self,
        mode: PadMode | PadModeAttr,
        source: SSAValue,
        low: Sequence[int] | IntsAttr,
        high: Sequence[int] | IntsAttr,
    ):
        low, high = IntsAttr.of(low), IntsAttr.of(high)
        mode = mode if isinstance(mode, PadModeAttr) else PadModeAttr(mode)
        Operation.__init__(
            self,
            operands=(source,),
            result_types=(_padded_with_type(tensor_type_of(source, self.name), low, high),),
            properties={"mode": mode, "low": low, "high": high},
        )

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        expected = _padded_with_type(source, self.low, self.high)
        pads = f"{list(self.low.data)} and {list(self.high.data)}"
        check_exact_result(self, expected, f"{source} padded by {pads}")
        if is_symbolic(source):
            self._check_extents(source)

    def _check_extents(self, source: TensorType[Any]) -> None:
        """Raises `VerifyException` if an axis that is padded may have no elements."""
        dims = dims_around(self)
        pads = zip(shape_of(source), self.low.data, self.high.data, strict=True)
        for axis, (extent, low, high) in enumerate(pads):
            if low + high and extent != DYNAMIC_INDEX and not is_at_least(bounded(extent, dims), 1):
                raise VerifyException(
                    f"{self.name}: axis {axis} may have no elements to pad with "
                    f"({dims_text(extent, dims)}, source {source})"
                )
