"""Ops whose shapes are operands: these are known when the program is converted, as numbers or named dims."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.extent_values import extent_value
from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import Extent, unbounded
from .contraction import convolution
from .conversion import Conversion, Rule
from .indexing import gather
from .movement import broadcast_in_dim, padded_by_extents


def _get_dimension_size(c: Conversion, op: stablehlo.GetDimensionSizeOp) -> SSAValue:
    axis, shape = op.number("dimension", 0), c.shape(c.operand(op, 0))
    if not 0 <= axis < len(shape):
        raise VerifyException(f"{op.name}: dim {axis} is out of range for rank {len(shape)}")
    return c.cast(extent_value(c, shape[axis]), c.result_element(op))


def _dynamic_broadcast_in_dim(c: Conversion, op: stablehlo.DynamicBroadcastInDimOp) -> SSAValue:
    return broadcast_in_dim(c, c.operand(op, 0), op.ints("broadcast_dimensions") or (), c.extents(op, 1))


def _dynamic_reshape(c: Conversion, op: Operation) -> SSAValue:
    return c.reshape(c.operand(op, 0), c.extents(op, 1))


def _dynamic_iota(c: Conversion, op: stablehlo.DynamicIotaOp) -> SSAValue:
    return c.iota(op.number("iota_dimension", 0), c.result_element(op), c.extents(op, 0))


def _dynamic_pad(c: Conversion, op: Operation) -> SSAValue:
    x, value = c.operands(op)[:2]
    low, high = (c.extents(op, number) for number in (2, 3))
    return padded_by_extents(c, x, value, low, high, _numbers(c, op, 4))


def _numbers(c: Conversion, op: Operation, number: int) -> tuple[int, ...]:
    found = tuple(each for each in c.extents(op, number) if isinstance(each, int))
    if len(found) != len(c.extents(op, number)):
        raise c.unsupported(f"operand {number} is known at run time only")
    return found


def _real_dynamic_slice(c: Conversion, op: Operation) -> SSAValue:
    x = c.operand(op, 0)
    moved = _sizes_of_moved(c, op)
    if moved is not None:
        return _moved(c, op, x, moved)
    starts, limits, steps = c.extents(op, 1), c.extents(op, 2), _numbers(c, op, 3)
    if not len(starts) == len(limits) == len(steps) == len(c.shape(x)) or any(step < 1 for step in steps):
        raise VerifyException(f"{op.name}: starts, limits and strides do not fit {c.type(x)}")
    sizes: list[Extent] = []
    for begin, end, step in zip(starts, limits, steps, strict=True):
        size = end - begin
        if step != 1:
            if not isinstance(size, int):
                raise c.unsupported("a stride along a dim that is known at run time only")
            size = -(-size // step)
        sizes.append(size)
    return c.slice(x, starts, sizes, steps)


def _sizes_of_moved(c: Conversion, op: Operation) -> tuple[Extent, ...] | None:
    """
    Returns the sizes of a slice that begins where only a call tells, and ends so many elements behind, None
    where it is another one.
    """
    starts, end = op.operands[1], op.operands[2].owner
    if c.numbers.extents(starts) is not None or not isinstance(end, stablehlo.AddOp):
        return None
    others = [value for value in end.operands if value is not starts]
    sizes = c.numbers.extents(others[0]) if len(others) == 1 else None
    return None if sizes is None else tuple(map(unbounded, sizes))


def _moved(c: Conversion, op: Operation, x: SSAValue, sizes: Sequence[Extent]) -> SSAValue:
    """Returns a slice of elements that are next to each other, from values on."""
    known, starts = c.numbers.of(op.operands[1]), c.operand(op, 1)
    rank = len(c.shape(x))
    if any(step != 1 for step in _numbers(c, op, 3)):
        raise c.unsupported("a stride from where only a call tells")
    if c.shape(starts) != (rank,) or len(sizes) != rank:
        raise VerifyException(f"{op.name}: starts, limits and strides do not fit {c.type(x)}")
    for axis, size in enumerate(sizes):
        start = None if known is None else known[axis]
        if start is not None and not isinstance(start, bool):
            x = c.part(x, axis, unbounded(start), size)
            continue
        begin = c.cast(c.reshape(c.part(starts, 0, axis, 1), ()), i64)
        places = c.binary(graph.AddOp, c.iota(0, i64, (size,)), c.broadcast(begin, (size,)))
        x = c.add(graph.GatherOp(x, (places,), (axis,)))
        # The axes of what is gathered are the first ones.
        x = c.permute(x, [*range(1, axis + 1), 0, *range(axis + 1, rank)])
    return x


def _dynamic_gather(c: Conversion, op: stablehlo.DynamicGatherOp) -> SSAValue:
    assert op.dimension_numbers is not None, "verified"
    return gather(c, c.operand(op, 0), c.operand(op, 1), op.dimension_numbers, c.extents(op, 2))


def _dynamic_conv(c: Conversion, op: stablehlo.DynamicConvOp) -> SSAValue:
    return convolution(c, op, c.extents(op, 2))


RULES: dict[type[Operation], Rule] = {
    stablehlo.DynamicBroadcastInDimOp: _dynamic_broadcast_in_dim,
    stablehlo.DynamicConvOp: _dynamic_conv,
    stablehlo.DynamicGatherOp: _dynamic_gather,
    stablehlo.DynamicIotaOp: _dynamic_iota,
    stablehlo.DynamicPadOp: _dynamic_pad,
    stablehlo.DynamicReshapeOp: _dynamic_reshape,
    stablehlo.GetDimensionSizeOp: _get_dimension_size,
    stablehlo.RealDynamicSliceOp: _real_dynamic_slice,
}
