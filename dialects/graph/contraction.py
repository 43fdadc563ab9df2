"""Ops that combine many elements into one: reduce, contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..dim_expr import Extent
from .attributes import IntsAttr, ReduceKind, ReduceKindAttr
from .base import GraphOp, check_fastmath, check_result, fastmath_properties
from .types import BITS, NUMBERS, TENSOR, are_equal_extents, check_axes, shape_of, tensor_of, tensor_type_of

_KEEP = UnitAttr()

_REDUCE_ELEMENTS = {kind: BITS if kind in (ReduceKind.AND, ReduceKind.OR) else NUMBERS for kind in ReduceKind}


def reduced_type(
    source: TensorType[Any], axes: IntsAttr, keep: bool, who: str = "graph.reduce"
) -> TensorType[Any]:
    """
    Returns the type of `source` without the dims `axes`, or with extents of 1 there if `keep`.

    Raises `VerifyException`, naming `who`, unless `axes` are axes of `source`, each at most once.
    """
    check_axes(who, axes.data, source)
    reduced = axes.data
    shape = [1 if axis in reduced else extent for axis, extent in enumerate(shape_of(source))]
    if not keep:
        shape = [extent for axis, extent in enumerate(shape) if axis not in reduced]
    return tensor_of(source.element_type, tuple(shape))


@irdl_op_definition
class ReduceOp(GraphOp):
    """
    Combines all elements along `axes`, in an order that is not part of the program. The reduced dims go, or
    stay with an extent of 1 under `keep`. Of no elements the result is the identity of `kind`; over no axes
    it is the source. NaN wins in max and min.

    ```mlir
    %s = graph.reduce add %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
    ```
    """

    name = "graph.reduce"
    kind = prop_def(ReduceKindAttr)
    source = operand_def(TENSOR)
    axes = prop_def(IntsAttr)
    keep = opt_prop_def(UnitAttr)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(TENSOR)
    assembly_format = (
        "$kind $source `axes` $axes (`keep` $keep^)? (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        kind: ReduceKind | ReduceKindAttr,
        source: SSAValue,
        axes: Sequence[int] | IntsAttr,
        keep: bool = False,
        fastmath: FastMathFlagsAttr | None = None,
    ):
        axes = IntsAttr.of(axes)
        properties: dict[str, Attribute] = {
            "kind": kind if isinstance(kind, ReduceKindAttr) else ReduceKindAttr(kind),
            "axes": axes,
            **fastmath_properties(fastmath),
        }
        if keep:
            properties["keep"] = _KEEP
        result_type = reduced_type(tensor_type_of(source, self.name), axes, keep)
        Operation.__init__(self, operands=(source,), result_types=(result_type,), properties=properties)

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        _REDUCE_ELEMENTS[self.kind.data].check(f"{self.name} {self.kind.data.value}", source)
        check_fastmath(self, source)
        keep = self.keep is not None
        why = f"{source} {'with 1 for' if keep else 'without'} axes {list(self.axes.data)}"
        check_result(self, reduced_type(source, self.axes, keep), why)


@irdl_op_definition
class ContractOp(GraphOp):
    """
    The sum of products `lhs * rhs` over an iteration space. `maps` say for `lhs`, `rhs` and the result which
    iteration dims index them; a dim that does not index the result is summed over. The operands are cast to
    the element type of the result first. The sum of no elements is 0.

    ```mlir
    %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
    ```
    """

    name = "graph.contract"
    lhs = operand_def(TENSOR)
    rhs = operand_def(TENSOR)
    maps = prop_def(ArrayAttr[AffineMapAttr])
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(TENSOR)
    assembly_format = (
        "$lhs `,` $rhs `maps` $maps (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($lhs) `,` type($rhs) `->` type($result)"
    )

    def __init__(
        self,
        lhs: SSAValue,
        rhs: SSAValue,
        maps: Sequence[AffineMap | AffineMapAttr] | ArrayAttr[AffineMapAttr],
        result_type: TensorType[Any],
        fastmath: FastMathFlagsAttr | None = None,
    ):
        if not isinstance(maps, ArrayAttr):
            maps = ArrayAttr([AffineMapAttr(each) if isinstance(each, AffineMap) else each for each in maps])
        Operation.__init__(
            self,
            operands=(lhs, rhs),
            result_types=(result_type,),
            properties={"maps": maps, **fastmath_properties(fastmath)},
        )

    def verify_(self) -> None:
        result = tensor_type_of(self.result, self.name)
        NUMBERS.check(self.name, result)
        check_fastmath(self, result)
        maps = [attribute.data for attribute in self.maps.data]
        if len(maps) != 3:
            raise VerifyException(f"{self.name}: {len(maps)} maps, expected 3 (lhs, rhs, result)")
        extents: dict[int, tuple[Extent, str]] = {}
        for what, value, map in zip(
            ("lhs", "rhs", "result"), (self.lhs, self.rhs, self.result), maps, strict=True
        ):
            type = tensor_type_of(value, self.name)
            self._check_map(what, map, maps[0].num_dims, type)
            for axis, (dim, extent) in enumerate(zip(_dims(map), shape_of(type), strict=True)):
                self._note_extent(extents, dim, extent, f"axis {axis} of {what} {type}")
            if what == "rhs" and len(extents) != map.num_dims:
                missing = next(dim for dim in range(map.num_dims) if dim not in extents)
                raise VerifyException(
                    f"{self.name}: dim d{missing} indexes neither lhs nor rhs (maps {_text(maps)})"
                )

    def _check_map(self, what: str, map: AffineMap, num_dims: int, type: TensorType[Any]) -> None:
        if map.num_dims != num_dims or map.num_symbols:
            raise VerifyException(
                f"{self.name}: map of {what} has {map.num_dims} dims and {map.num_symbols} symbols, "
                f"expected {num_dims} dims and 0 symbols ({map})"
            )
        if len(map.results) != type.get_num_dims():
            raise VerifyException(
                f"{self.name}: map of {what} has {len(map.results)} results for rank {type.get_num_dims()} "
                f"({map}, {type})"
            )
        if len(set(_dims(map))) != len(map.results):
            raise VerifyException(f"{self.name}: map of {what} is not of distinct dims ({map})")

    def _note_extent(
        self, extents: dict[int, tuple[Extent, str]], dim: int, extent: Extent, where: str
    ) -> None:
        known = extents.get(dim)
        if known is not None and not are_equal_extents(known[0], extent):
            raise VerifyException(
                f"{self.name}: dim d{dim} is both {known[0]} and {extent} ({known[1]}, {where})"
            )
        if known is None or known[0] == DYNAMIC_INDEX:
            extents[dim] = (extent, where)


def _dims(map: AffineMap) -> list[int]:
    return [expr.position for expr in map.results if isinstance(expr, AffineDimExpr)]


def _text(maps: Sequence[AffineMap]) -> str:
    return ", ".join(map(str, maps))
