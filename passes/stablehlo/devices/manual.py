"""Regions that each device runs on its parts of arrays."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....algorithms.emitter import yield_of
from ....dialects import graph
from ....dialects.graph import tensor_of
from ....dialects.sharding import Sharding
from ....dialects.stablehlo import sdy
from ....dialects.stablehlo.sdy_attributes import MeshAxes
from ..conversion import Conversion, Rule
from ..device_grid import DeviceGrid


def _manual(c: Conversion, op: sdy.ManualComputationOp) -> Sequence[SSAValue]:
    if c.devices is None:
        raise VerifyException(f"{op.name}: the module has no sdy.mesh")
    if c.is_manual:
        raise c.unsupported("in another one")
    devices, mesh = c.devices, c.devices.mesh
    operands = c.operands(op)
    # What is said of other axes is how regions are to be partitioned further: there, all have the same.
    own = set(devices.axes_of(op.name, _mesh_name(op, devices), op.manual_axes.data))
    before, after = (
        [_along(devices.sharding(op.name, each.data), own) for each in said.data]
        for said in (op.in_shardings, op.out_shardings)
    )
    parts: list[Attribute] = []
    for argument, operand, sharding in zip(op.regions[0].block.args, operands, before, strict=True):
        shape = _split_shape(op, c.static_shape(operand), [mesh.count(axes) for axes in sharding.split])
        parts.append(tensor_of(c.element(operand), shape))
        if parts[-1] != argument.type:
            raise VerifyException(f"{op.name}: an argument is {argument.type}, expected {parts[-1]}")
    c.is_manual = True
    try:
        if mesh.size == 1:
            return c.inline(op.regions[0].block, operands, len(op.results))
        region = c.region(op.regions[0], parts, yield_of, len(op.results))
    finally:
        c.is_manual = False
    last = region.block.last_op
    assert last is not None, "no graph.yield"
    types: list[Attribute] = []
    for value, sharding in zip(last.operands, after, strict=True):
        counts = [mesh.count(axes) for axes in sharding.split]
        shape = c.static_shape(value)
        if len(counts) != len(shape):
            raise VerifyException(f"{op.name}: a result is {value.type}, its sharding has {len(counts)} dims")
        whole = [extent * count for extent, count in zip(shape, counts, strict=True)]
        types.append(tensor_of(c.element(value), tuple(whole)))
    return c.put(
        graph.ManualComputationOp(
            operands,
            SymbolRefAttr(mesh.name),
            [each.split for each in before],
            [each.split for each in after],
            types,
            region,
        )
    ).results


def _mesh_name(op: sdy.ManualComputationOp, devices: DeviceGrid) -> str | MeshAxes:
    """Returns the mesh of the axes that an op names: that of its shardings."""
    said = (*op.in_shardings.data, *op.out_shardings.data)
    return said[0].data.mesh if said else devices.mesh.name


def _along(sharding: Sharding, axes: set[int]) -> Sharding:
    return Sharding(tuple(tuple(axis for axis in each if axis in axes) for each in sharding.split))


def _split_shape(op: Operation, shape: Sequence[int], counts: Sequence[int]) -> tuple[int, ...]:
    if len(counts) != len(shape):
        raise VerifyException(f"{op.name}: {list(shape)} has {len(shape)} dims, its sharding {len(counts)}")
    if any(extent % count for extent, count in zip(shape, counts, strict=True)):
        raise VerifyException(f"{op.name}: {list(shape)} is not split evenly by {list(counts)} devices")
    return tuple(extent // count for extent, count in zip(shape, counts, strict=True))


RULES: dict[type[Operation], Rule] = {sdy.ManualComputationOp: _manual}
