"""
What devices exchange.

Collectives stand in `sdy.manual_computation`, where an array is a device's own part. Their groups are axes of
the grid; a group of one device exchanges nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....algorithms.emitter import width_of
from ....dialects import graph, stablehlo
from ....dialects.element_types import is_float
from ....dialects.graph import ReduceKind
from ..combining import kind_of
from ..conversion import Conversion, Rule
from .groups import axes_of, channel_of, grid_of, member_of


def _name(c: Conversion, op: Operation) -> str:
    return grid_of(c, op).mesh.name


def _count(c: Conversion, op: Operation, axes: Sequence[int]) -> int:
    return grid_of(c, op).mesh.count(axes)


def _dim(op: stablehlo.StablehloOp, name: str, x: Sequence[object]) -> int:
    dim = op.number(name, 0)
    if not 0 <= dim < len(x):
        raise VerifyException(f"{op.name}: {name} {dim} is out of range for rank {len(x)}")
    return dim


def _all_reduce(c: Conversion, op: stablehlo.AllReduceOp) -> Sequence[SSAValue]:
    axes = axes_of(c, op, is_by_replica=True)
    return [_reduced(c, op, x, axes) for x in c.operands(op)]


def _reduced(
    c: Conversion, op: stablehlo.AllReduceOp | stablehlo.ReduceScatterOp, x: SSAValue, axes: tuple[int, ...]
) -> SSAValue:
    """Returns what a region makes of what all members have, in their order."""
    if not axes:
        return x
    kind = kind_of(op.regions[0].block, c.element(x))
    if kind is not None:
        return c.add(graph.AllReduceOp(kind, x, _name(c, op), axes, c.channel()))
    rows = _gathered(c, op, c.reshape(x, (1, *c.shape(x))), axes, 0)
    total = c.reshape(c.part(rows, 0, 0, 1), c.shape(x))
    for number in range(1, _count(c, op, axes)):
        row = c.reshape(c.part(rows, 0, number, 1), c.shape(x))
        (total,) = c.lifted(op.regions[0], (total, row), 1)
    return total


def _gathered(c: Conversion, op: Operation, x: SSAValue, axes: tuple[int, ...], dim: int) -> SSAValue:
    extent = c.static_shape(x)[dim] * _count(c, op, axes)
    return c.add(graph.AllGatherOp(x, _name(c, op), axes, dim, c.channel(), extent))


def _all_gather(c: Conversion, op: stablehlo.AllGatherOp) -> Sequence[SSAValue]:
    axes = axes_of(c, op, is_by_replica=True)
    found: list[SSAValue] = []
    for x in c.operands(op):
        dim = _dim(op, "all_gather_dim", c.shape(x))
        found.append(_gathered(c, op, x, axes, dim) if axes else x)
    return found


def _reduce_scatter(c: Conversion, op: stablehlo.ReduceScatterOp) -> SSAValue:
    x, axes = c.operand(op, 0), axes_of(c, op, is_by_replica=True)
    shape = c.static_shape(x)
    dim, count = _dim(op, "scatter_dimension", shape), _count(c, op, axes)
    if shape[dim] % count:
        raise VerifyException(f"{op.name}: dim {dim} of {x.type} is not split evenly by {count} devices")
    if not axes:
        return x
    kind, part = kind_of(op.regions[0].block, c.element(x)), shape[dim] // count
    if kind is not None:
        return c.add(graph.ReduceScatterOp(kind, x, _name(c, op), axes, dim, c.channel(), part))
    begin = c.binary(graph.MulOp, member_of(c, op, axes), part)
    starts = [begin if axis == dim else c.scalar(0, i32) for axis in range(len(shape))]
    sizes = [part if axis == dim else extent for axis, extent in enumerate(shape)]
    return c.add(graph.DynamicSliceOp(_reduced(c, op, x, axes), starts, sizes))


def _all_to_all(c: Conversion, op: stablehlo.AllToAllOp) -> Sequence[SSAValue]:
    axes = axes_of(c, op)
    count = _count(c, op, axes)
    if op.number("split_count", 0) != count:
        raise VerifyException(f"{op.name}: split_count is not {count}, the devices of a group")
    return [_exchanged(c, op, x, axes, count) for x in c.operands(op)]


def _exchanged(
    c: Conversion, op: stablehlo.AllToAllOp, x: SSAValue, axes: tuple[int, ...], count: int
) -> SSAValue:
    shape = c.static_shape(x)
    split, concat = _dim(op, "split_dimension", shape), _dim(op, "concat_dimension", shape)
    if shape[split] % count:
        raise VerifyException(f"{op.name}: dim {split} of {x.type} is not split evenly by {count} devices")
    if not axes:
        return x
    part = shape[split] // count
    if split != concat:
        extents = (part, shape[concat] * count)
        return c.add(graph.AllToAllOp(x, _name(c, op), axes, split, concat, c.channel(), extents))
    # Parts lie along a dim of their own: those that come take the place of those that go.
    parts = c.reshape(x, (1, *shape[:split], count, part, *shape[split + 1 :]))
    found = c.add(graph.AllToAllOp(parts, _name(c, op), axes, split + 1, 0, c.channel(), (1, count)))
    rows = c.reshape(found, (count, *shape[:split], part, *shape[split + 1 :]))
    order = [*range(1, split + 1), 0, *range(split + 1, len(shape) + 1)]
    return c.reshape(c.permute(rows, order), shape)


def _collective_permute(c: Conversion, op: stablehlo.CollectivePermuteOp) -> Sequence[SSAValue]:
    devices = grid_of(c, op)
    pairs = op.rows("source_target_pairs")
    if any(len(pair) != 2 for pair in pairs):
        raise VerifyException(f"{op.name}: source_target_pairs are not pairs")
    if devices.size == 1 or not channel_of(op):
        sent = (0, 0) in pairs
        return [x if sent else c.like(0, x) for x in c.operands(op)]
    # All devices are one group, row-major, so that members are numbered as devices.
    axes = tuple(range(len(devices.mesh.shape)))
    members = [(source, target) for source, target in pairs]
    return [
        c.add(graph.CollectivePermuteOp(x, devices.mesh.name, axes, members, c.channel(), x.type))
        for x in c.operands(op)
    ]


def _collective_broadcast(c: Conversion, op: stablehlo.CollectiveBroadcastOp) -> Sequence[SSAValue]:
    """The bits of the first member, to which those of the others, zeros, are added."""
    axes = axes_of(c, op)
    if not axes:
        return c.operands(op)
    is_first = c.binary(graph.EqOp, member_of(c, op, axes), 0)
    found: list[SSAValue] = []
    for x in c.operands(op):
        element = c.element(x)
        as_number: Attribute = IntegerType(width_of(element)) if is_float(element) else element
        bits = x if as_number == element else c.bitcast(x, as_number)
        own = c.select(c.broadcast(is_first, c.shape(x)), bits, c.like(0, bits))
        kind = ReduceKind.OR if as_number == i1 else ReduceKind.ADD
        total = c.add(graph.AllReduceOp(kind, own, _name(c, op), axes, c.channel()))
        found.append(total if as_number == element else c.bitcast(total, element))
    return found


def _partition_id(c: Conversion, op: stablehlo.PartitionIdOp) -> SSAValue:
    axes = [axis for axis, extent in enumerate(grid_of(c, op).mesh.shape) if extent > 1]
    return c.cast(member_of(c, op, axes), c.result_element(op))


def _replica_id(c: Conversion, op: stablehlo.ReplicaIdOp) -> SSAValue:
    """There is one replica."""
    grid_of(c, op)
    return c.scalar(0, c.result_element(op))


RULES: dict[type[Operation], Rule] = {
    stablehlo.AllGatherOp: _all_gather,
    stablehlo.AllReduceOp: _all_reduce,
    stablehlo.AllToAllOp: _all_to_all,
    stablehlo.CollectiveBroadcastOp: _collective_broadcast,
    stablehlo.CollectivePermuteOp: _collective_permute,
    stablehlo.PartitionIdOp: _partition_id,
    stablehlo.ReduceScatterOp: _reduce_scatter,
    stablehlo.ReplicaIdOp: _replica_id,
}
