"""Makes two dims of one that a contraction runs over, which other views of what it reads may have apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from ....dialects import graph
from ....dialects.dims.expressions import Extent
from ....dialects.graph import iteration_extents
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ..builder import GraphBuilder


@dataclass(frozen=True)
class Given:
    """What is read instead of an operand, and at which of its axes the first of the two dims is."""

    value: SSAValue
    axis: int


def plain_dim(expr: AffineExpr) -> int | None:
    """Returns the dim that an index is, if it is one and nothing more."""
    index = graph.linear_index(expr)
    return None if index is None else index.plain_dim


def can_be_split(op: graph.ContractOp, dim: int) -> bool:
    """Returns whether a dim is summed over, and in each operand is no index or all of one."""
    extent = iteration_extents(op)[dim]
    if dim in op.result_dims or not isinstance(extent, int):
        return False
    return all(
        _is_alone(map, dim, extent, _shape(value))
        for value, map in zip(op.inputs, op.operand_maps, strict=True)
    )


def _is_alone(map: AffineMap, dim: int, extent: int, shape: tuple[Extent, ...]) -> bool:
    at = [axis for axis, expr in enumerate(map.results) if dim in expr.used_dims()]
    if not at:
        return True
    return len(at) == 1 and plain_dim(map.results[at[0]]) == dim and shape[at[0]] == extent


def split_dim(
    builder: GraphBuilder, op: graph.ContractOp, dim: int, inner: int, given: Mapping[int, Given]
) -> None:
    """
    Replaces a contraction by one whose `dim` is two, the second of extent `inner`. Its operands are reshaped,
    but those at the places of `given`, which says what is read instead. The order of sums stays.
    """
    extents = list(iteration_extents(op))
    whole = extents[dim]
    assert isinstance(whole, int) and whole % inner == 0, "checked"
    parts = (whole // inner, inner)
    extents[dim : dim + 1] = parts
    moved = [AffineExpr.dimension(each + (each > dim)) for each in range(len(extents) - 1)]
    outer_index, inner_index = AffineExpr.dimension(dim), AffineExpr.dimension(dim + 1)
    inputs, maps = list[SSAValue](), list[AffineMap]()
    for number, (value, map) in enumerate(zip(op.inputs, op.operand_maps, strict=True)):
        indices, shape = list[AffineExpr](), list(_shape(value))
        at = next((axis for axis, expr in enumerate(map.results) if dim in expr.used_dims()), None)
        for axis, expr in enumerate(map.results):
            indices.append(inner_index if axis == at else expr.replace_dims_and_symbols(moved, []))
        if number in given:
            value = given[number].value
            indices.insert(given[number].axis, outer_index)
        elif at is not None:
            shape[at : at + 1] = parts
            type = tensor_of(builder.element_type(value), tuple(shape))
            value = builder.add(graph.ReshapeOp(value, type), value.name_hint)
            indices.insert(at, outer_index)
        inputs.append(value)
        maps.append(AffineMap(len(extents), 0, tuple(indices)))
    results = tuple(expr.replace_dims_and_symbols(moved, []) for expr in op.result_map.results)
    new = graph.ContractOp(
        inputs,
        [*maps, AffineMap(len(extents), 0, results)],
        tensor_type_of(op.result, op.name),
        bounds=extents,
        accumulate=op.accumulate,
        combine=op.combine,
        fastmath=op.fastmath,
    )
    new.attributes.update(op.attributes)
    op.result.replace_all_uses_with(builder.add(new, op.result.name_hint))
    op.detach()
    op.erase()


def _shape(value: SSAValue) -> tuple[Extent, ...]:
    return tuple(shape_of(tensor_type_of(value, graph.ContractOp.name)))
