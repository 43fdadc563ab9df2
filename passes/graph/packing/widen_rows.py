"""
Widens the rows of a product of matrices once, where each of their elements is used often.

    %c = graph.contract %a, %b maps [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)]
        : tensor<64x512xbf16>, tensor<512x96xbf16> -> tensor<64x96xf32>

-->

    %a_wide = graph.cast %a {memory_mode = ...} : tensor<64x512xbf16> -> tensor<64x512xf32>
    %c = graph.contract %a_wide, %b maps [...] : tensor<64x512xf32>, tensor<512x96xbf16> -> tensor<64x96xf32>

A register tile loads a vector of columns, and converts that at once; of the rows it loads one element for all
lanes, which takes one instruction of an element that is as wide as the sums, and four of a narrower one. Rows
of integers of 8 bits are widened to 16: two of those are multiplied and added at once in sums of i32. Under
`multiplies-bytes` the machine does so with four of them where one operand has a sign and the other none:
these stay as they are.

A result that is narrower than f32 is computed in f32, and rounded once by a `graph.cast` of its own.

Requires: nothing; one of floats that has a `tile` is left alone, and extents that are no numbers count as
often as they may. Ensures: results are those before, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, i16, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import bounded, upper_bound
from ....dialects.element_types import (
    NBYTES,
    compute_type,
    is_float,
    is_narrow_float,
    is_unsigned,
    storage_type,
)
from ....dialects.graph import Combination, MemoryModeAttr, ReduceKind, iteration_extents
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ....dialects.memory_modes import ModeKind
from ...indices.access import planned_dims
from ..builder import GraphBuilder

LEAST_USES = 32
"""How often each element of the rows must be used: it is stored and loaded once more."""

LEAST_ROWS = 4
"""Fewer rows are computed where reading the columns takes the time."""


@dataclass(frozen=True)
class WidenRowsPass(ModulePass):
    """Widens the rows of a product of matrices once, where each of their elements is used often."""

    name = "widen-rows"
    multiplies_bytes: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            number = _rows_of(contraction)
            if number is not None and not (self.multiplies_bytes and _are_bytes(contraction)):
                _widen(contraction, number)


def _rows_of(op: graph.ContractOp) -> int | None:
    """Returns which operand the rows come from, None where they are not widened."""
    if (
        (op.tile is not None and is_float(tensor_type_of(op.result, op.name).element_type))
        or len(op.inputs) != 2
        or op.accumulate.data is not ReduceKind.ADD
        or op.combine.data is not Combination.MUL
        or DYNAMIC_INDEX in iteration_extents(op)
    ):
        return None
    dims = planned_dims(op)
    extents = [upper_bound(bounded(extent, dims)) for extent in iteration_extents(op)]
    used = [map.used_dims() for map in op.operand_maps]
    columns = next((dim for dim in reversed(op.result_dims) if extents[dim] > 1), None)
    if columns is None or (columns in used[0]) == (columns in used[1]):
        return None
    rows = int(columns in used[0])
    uses, height = (
        prod(extents[dim] for dim in op.result_dims if dim not in used[number]) for number in (rows, 1 - rows)
    )
    if height < LEAST_ROWS or uses < LEAST_USES:
        return None
    return rows if _wide_type(op, rows) is not None else None


def _are_bytes(op: graph.ContractOp) -> bool:
    """Returns whether bytes without a sign are multiplied by bytes with one, and added up in i32."""
    elements = [tensor_type_of(value, op.name).element_type for value in op.inputs]
    total = tensor_type_of(op.result, op.name).element_type
    are_bytes = all(not is_float(element) and NBYTES[element] == 1 for element in elements)
    return are_bytes and is_unsigned(elements[0]) != is_unsigned(elements[1]) and storage_type(total) == i32


def _wide_type(op: graph.ContractOp, number: int) -> Attribute | None:
    """Returns the element type that rows are widened to, None where they have it."""
    elements = [tensor_type_of(value, op.name).element_type for value in op.inputs]
    total = tensor_type_of(op.result, op.name).element_type
    if is_float(total):
        wide = compute_type(total)
        return wide if NBYTES[elements[number]] < NBYTES[wide] else None
    is_byte = [not is_float(element) and NBYTES[element] == 1 for element in elements]
    is_pair = is_byte[number] and (is_byte[1 - number] or elements[1 - number] == i16)
    return i16 if is_pair and storage_type(total) == i32 else None


def _widen(op: graph.ContractOp, number: int) -> None:
    builder = GraphBuilder(op)
    type, wide = tensor_type_of(op.result, op.name), _wide_type(op, number)
    assert wide is not None, f"{op.name}: rows that are wide"
    inputs = list(op.inputs)
    inputs[number] = _widened(builder, inputs[number], wide)
    total = wide if is_narrow_float(type.element_type) else type.element_type
    new = graph.ContractOp(
        inputs,
        [attribute.data for attribute in op.maps.data],
        tensor_of(total, shape_of(type)),
        bounds=None if op.bounds is None else op.bounds.data,
        tile=op.tile,
        accumulate=op.accumulate,
        combine=op.combine,
        fastmath=op.fastmath,
    )
    result = builder.cast(builder.add(new, op.result.name_hint), type.element_type)
    result.name_hint = op.result.name_hint
    builder.inserted[-1].attributes.update(op.attributes)
    op.result.replace_all_uses_with(result)
    op.detach()
    op.erase()


def _widened(builder: GraphBuilder, value: SSAValue, wide: Attribute) -> SSAValue:
    hint = value.name_hint
    cast = graph.CastOp(value, tensor_of(wide, shape_of(tensor_type_of(value, "widen-rows"))))
    cast.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, "widened once, not at each use")
    return builder.add(cast, None if hint is None else f"{hint}_wide")
