"""Ops that put elements elsewhere: views, pads, slices, boxes, and other bits of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerType, Signedness
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.emitter import Emitter, is_bool, width_of
from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import Extent
from ...dialects.graph import tensor_of
from .conversion import Conversion, Rule, element_of
from .narrow_types import carrier_of, is_narrow, wrapped


def _constant(c: Conversion, op: stablehlo.ConstantOp) -> SSAValue:
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise c.unsupported("a resource that the text does not hold")
    dense = cast("DenseIntOrFPElementsAttr[Any]", value)
    type = c.declared(op)
    shape = c.static_result(op)
    # A splat is one element that is repeated: nothing is stored as often as it is seen.
    if len(dense) > 1 and dense.is_splat():
        nbytes = len(dense.data.data) // len(dense)
        one = dense.data.data[:nbytes]
        scalar = DenseIntOrFPElementsAttr(tensor_of(type.element_type, ()), BytesAttr(one))
        return c.broadcast(c.add(graph.ConstantOp(scalar)), shape)
    return c.add(graph.ConstantOp(dense))


def _iota(c: Conversion, op: stablehlo.IotaOp) -> SSAValue:
    return c.iota(op.number("iota_dimension", 0), c.result_element(op), c.static_result(op))


def _broadcast_in_dim(c: Conversion, op: stablehlo.BroadcastInDimOp) -> SSAValue:
    return broadcast_in_dim(c, c.operand(op, 0), op.ints("broadcast_dimensions") or (), c.static_result(op))


def broadcast_in_dim(c: Emitter, x: SSAValue, dims: Sequence[int], shape: Sequence[Extent]) -> SSAValue:
    """Returns `x` repeated to `shape`, where its dim k is dim `dims[k]`."""
    found = c.shape(x)
    if len(dims) != len(found) or len(set(dims)) != len(dims):
        raise VerifyException(f"{c.who}: dims are {list(dims)}, expected one for each axis of {c.type(x)}")
    for axis, dim in enumerate(dims):
        if not 0 <= dim < len(shape):
            raise VerifyException(f"{c.who}: dim {dim} is out of range for rank {len(shape)}")
        if found[axis] not in (1, shape[dim]):
            raise VerifyException(
                f"{c.who}: axis {axis} of {found[axis]} elements cannot be repeated to {shape[dim]}"
            )
    return c.along(x, dims, shape)


def _reshape(c: Conversion, op: Operation) -> SSAValue:
    return c.reshape(c.operand(op, 0), c.static_result(op))


def _transpose(c: Conversion, op: stablehlo.TransposeOp) -> SSAValue:
    return c.permute(c.operand(op, 0), op.ints("permutation") or ())


def _reverse(c: Conversion, op: stablehlo.ReverseOp) -> SSAValue:
    x, dims = c.operand(op, 0), op.ints("dimensions") or ()
    return c.add(graph.FlipOp(x, dims)) if dims else x


def _concatenate(c: Conversion, op: stablehlo.ConcatenateOp) -> SSAValue:
    axis = op.number("dimension", 0)
    values = c.operands(op)
    if not values:
        raise VerifyException(f"{op.name}: there is nothing to concatenate")
    return c.concat(values, axis)


def _slice(c: Conversion, op: stablehlo.SliceOp) -> SSAValue:
    starts, limits = op.ints("start_indices") or (), op.ints("limit_indices") or ()
    steps = op.ints("strides") or (1,) * len(starts)
    if any(step < 1 for step in steps):
        raise VerifyException(f"{op.name}: strides are {list(steps)}, expected 1 or more")
    sizes = [-(-(end - begin) // step) for begin, end, step in zip(starts, limits, steps, strict=True)]
    return c.slice(c.operand(op, 0), starts, sizes, steps)


def _pad(c: Conversion, op: stablehlo.PadOp) -> SSAValue:
    x, value = c.operands(op)
    low, high = op.ints("edge_padding_low") or (), op.ints("edge_padding_high") or ()
    return padded(c, x, value, low, high, op.ints("interior_padding") or ())


def padded(
    c: Emitter, x: SSAValue, value: SSAValue, low: Sequence[int], high: Sequence[int], interior: Sequence[int]
) -> SSAValue:
    """Returns `x` padded; what a negative amount takes away is cut off afterwards."""
    rank = len(c.shape(x))
    if not len(low) == len(high) == len(interior) == rank:
        raise VerifyException(f"{c.who}: {len(low)} paddings for rank {rank}")
    if any(each < 0 for each in interior):
        raise VerifyException(f"{c.who}: interior padding is {list(interior)}, expected 0 or more")
    at_least_zero = [[max(each, 0) for each in amounts] for amounts in (low, high)]
    if any((*at_least_zero[0], *at_least_zero[1], *interior)):
        x = c.add(graph.PadOp(x, value, at_least_zero[0], at_least_zero[1], list(interior)))
    if all(each >= 0 for each in (*low, *high)):
        return x
    offsets = [max(-each, 0) for each in low]
    sizes: list[Extent] = [
        extent - offset - max(-after, 0)
        for extent, offset, after in zip(c.shape(x), offsets, high, strict=True)
    ]
    return c.slice(x, offsets, sizes)


_WIDEST_PADDING = 1024
"""How much more may be put around an axis than is read of it, where only a call tells how much is to be."""


def padded_by_extents(
    c: Conversion,
    x: SSAValue,
    value: SSAValue,
    low: Sequence[Extent],
    high: Sequence[Extent],
    interior: Sequence[int],
) -> SSAValue:
    """Returns `x` padded by amounts that need not be numbers: by as much as they can be, and the rest cut."""
    most_low, most_high = ([_most(c, each) for each in amounts] for amounts in (low, high))
    wide = padded(c, x, value, most_low, most_high, interior)
    offsets = [most - each for most, each in zip(most_low, low, strict=True)]
    sizes = [
        extent - before - (most - each)
        for extent, before, most, each in zip(c.shape(wide), offsets, most_high, high, strict=True)
    ]
    return c.slice(wide, offsets, sizes)


def _most(c: Conversion, amount: Extent) -> int:
    """Returns the greatest number that an amount of padding can be."""
    least, most = c.range_of(amount)
    if most - least > _WIDEST_PADDING:
        raise c.unsupported(f"padding by {amount}, which is known at run time only")
    return most


def _dynamic_slice(c: Conversion, op: stablehlo.DynamicSliceOp) -> SSAValue:
    x, *starts = c.operands(op)
    sizes = op.ints("slice_sizes") or ()
    return c.add(graph.DynamicSliceOp(x, starts, sizes)) if starts else x


def _dynamic_update_slice(c: Conversion, op: Operation) -> SSAValue:
    x, update, *starts = c.operands(op)
    return c.add(graph.DynamicUpdateOp(x, starts, update)) if starts else update


def _bitcast_convert(c: Conversion, op: Operation) -> SSAValue:
    of, to = element_of(op.operands[0].type), element_of(op.results[0].type)
    assert of is not None and to is not None, "tensors"
    return bitcast_convert(c, c.operand(op, 0), of, to)


def bitcast_convert(c: Conversion, x: SSAValue, of: Attribute, to: Attribute) -> SSAValue:
    """
    Returns the bits of elements as elements of another type. The lowest bits are of the first of several
    elements. A boolean is 1 bit.
    """
    before, after = width_of(of), width_of(to)
    if of == to:
        return x
    if before == after and before >= 8:
        return c.bitcast(x, to)
    bits = _bits_of(c, x, of)
    shape = c.shape(bits)
    if before > after:
        factor = before // after
        parts = [
            c.reshape(c.cast(c.binary(graph.ShrOp, bits, k * after), _holding(after)), (*shape, 1))
            for k in range(factor)
        ]
        return _from_bits(c, c.concat(parts, len(shape)), to)
    if before == after:
        return _from_bits(c, bits, to)
    factor = after // before
    if not shape or shape[-1] != factor:
        raise VerifyException(f"{c.who}: {c.type(x)} has no last axis of {factor} elements")
    whole: SSAValue | None = None
    for k in range(factor):
        part = c.reshape(c.part(bits, len(shape) - 1, k, 1), shape[:-1])
        moved = c.binary(graph.ShlOp, c.cast(part, _holding(after)), k * before)
        whole = moved if whole is None else c.binary(graph.OrOp, whole, moved)
    assert whole is not None, "a factor of 0"
    return _from_bits(c, whole, to)


def _holding(width: int) -> IntegerType:
    """Returns the integers without a sign that hold so many bits."""
    return IntegerType(max(width, 8), Signedness.UNSIGNED)


def _bits_of(c: Emitter, x: SSAValue, element: Attribute) -> SSAValue:
    """Returns the bits of elements of a type in integers without a sign."""
    held = _holding(width_of(element))
    if is_bool(element):
        return c.cast(x, held)
    bits = c.bitcast(x, held)
    return c.binary(graph.AndOp, bits, (1 << width_of(element)) - 1) if is_narrow(element) else bits


def _from_bits(c: Emitter, bits: SSAValue, element: Attribute) -> SSAValue:
    """Returns elements of a type from their bits; of those above, which a narrow type has not, none count."""
    if is_bool(element):
        return c.cast(c.binary(graph.AndOp, bits, 1), element)
    return wrapped(c, c.bitcast(bits, carrier_of(element)), element)


def _identity(c: Conversion, op: Operation) -> Sequence[SSAValue]:
    return c.operands(op)


RULES: dict[type[Operation], Rule] = {
    stablehlo.BitcastConvertOp: _bitcast_convert,
    stablehlo.BroadcastInDimOp: _broadcast_in_dim,
    stablehlo.ConcatenateOp: _concatenate,
    stablehlo.ConstantOp: _constant,
    stablehlo.DynamicSliceOp: _dynamic_slice,
    stablehlo.DynamicUpdateSliceOp: _dynamic_update_slice,
    stablehlo.IotaOp: _iota,
    stablehlo.OptimizationBarrierOp: _identity,
    stablehlo.PadOp: _pad,
    stablehlo.ReshapeOp: _reshape,
    stablehlo.ReverseOp: _reverse,
    stablehlo.SliceOp: _slice,
    stablehlo.TransposeOp: _transpose,
}
