"""Sums of products, and windows, of which each rank has a part."""

from __future__ import annotations

from xdsl.dialects.builtin import AffineMapAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineMap

from ....dialects import graph
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import compute_type, element_type_of, is_float
from ....dialects.graph import iteration_extents, tensor_of
from ....dialects.graph.index_map import LinearIndex
from ....dialects.graph.types import shape_of
from ....dialects.sharding import Interval
from ..part import Part, Wants, spread
from .op_at_rank import OpAtRank, Partial


def contract(at: OpAtRank) -> SSAValue | Partial:
    """
    The points of the iteration space that are this rank's. Of an operand that is read in windows it fetches
    the rows that these points read.
    """
    op, program = at.op, at.program
    assert isinstance(op, graph.ContractOp)
    extents = iteration_extents(op)
    operands: list[SSAValue] = []
    maps: list[AffineMapAttr] = []
    for number, map in enumerate(op.operand_maps):
        wants, constants = _windows(at, number, map, extents)
        value = op.operands[number]
        if all(constant is None for constant in constants):
            operands.append(at.operand(number))
            maps.append(AffineMapAttr(map))
            continue
        operands.append(program.local(value, wants))
        results = tuple(
            expr if constant is None else LinearIndex(LinearIndex.of(expr).factors, constant).expr
            for expr, constant in zip(map.results, constants, strict=True)
        )
        maps.append(AffineMapAttr(AffineMap(map.num_dims, 0, results)))
    type = element_type_of(op.result.type)
    is_partial = bool(at.reduced)
    wide = compute_type(type) if is_partial and is_float(type) else type
    bounds: tuple[Extent, ...] = tuple(
        _length(at, dim, extent) if at.axes[dim] else extent for dim, extent in enumerate(extents)
    )
    new = graph.ContractOp(
        operands,
        [*maps, op.maps.data[-1]],
        tensor_of(wide, shape_of(at.result_type)),
        bounds=None if op.bounds is None else bounds,
        accumulate=op.accumulate,
        combine=op.combine,
        tile=op.tile,
        fastmath=op.fastmath,
    )
    new.attributes = op.attributes.copy()
    value = program.add(new)
    if not is_partial:
        return value
    return Partial(value, op.accumulate.data, None if wide == type else program.cast_to(type))


def _length(at: OpAtRank, dim: int, extent: Extent) -> int:
    begin, end = at.interval(dim, extent)
    return end - begin


def _windows(
    at: OpAtRank, number: int, map: AffineMap, extents: tuple[Extent, ...]
) -> tuple[Wants, list[int | None]]:
    """
    Returns what ranks want of an operand, and for each dim that is read in windows the constant of its index
    in what this rank gets.
    """
    mesh = at.program.mesh
    shape = at.program.shape(at.op.operands[number])
    home = at.program.home(at.op.operands[number])
    wants: list[Part | None] = []
    constants: list[int | None] = []
    for dim, expr in enumerate(map.results):
        index = LinearIndex.of(expr)
        if index.plain_dim is not None:
            wants.append(at.part(index.plain_dim, shape[dim]) if at.axes[index.plain_dim] else None)
            constants.append(None)
            continue
        dims = [each for each, _ in index.factors]
        axes = tuple(axis for each in dims for axis in at.axes[each])
        if not axes and not home.split[dim]:
            wants.append(None)
            constants.append(None)
            continue
        parts = {each: at.part(each, extents[each]) for each in dims}
        intervals = _read(index, parts, mesh.shape, axes)
        part = Part(axes, intervals)
        wants.append(part)
        begins = sum(factor * at.program.mine(parts[each])[0] for each, factor in index.factors)
        constants.append(index.constant + begins - at.program.mine(part)[0])
    return tuple(wants), constants


def _read(
    index: LinearIndex, parts: dict[int, Part], shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[Interval, ...]:
    """Returns the indices from the first to the last that each member of a group reads."""
    own = {dim: spread(shape, part, axes) for dim, part in parts.items()}
    # An index that is a number is the same for all.
    count = len(next(iter(own.values()))) if own else 1
    found: list[Interval] = []
    for member in range(count):
        low = high = index.constant
        for dim, factor in index.factors:
            begin, end = own[dim][member]
            ends = factor * begin, factor * (end - 1)
            low, high = low + min(ends), high + max(ends)
        found.append((low, high + 1))
    return tuple(found)
