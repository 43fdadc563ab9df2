"""Which devices an op is run by, and which of them meet: groups are axes of the grid."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, SSAValue

from ....dialects import graph, stablehlo
from ..conversion import Conversion
from ..device_grid import DeviceGrid


def grid_of(c: Conversion, op: Operation) -> DeviceGrid:
    """Returns the grid of the devices that an op is run by."""
    if c.devices is None or not c.is_manual:
        raise c.unsupported("outside of sdy.manual_computation")
    return c.devices


def axes_of(c: Conversion, op: stablehlo.GroupsOp, is_by_replica: bool = False) -> tuple[int, ...]:
    """
    Returns the axes of the grid along which the groups of an op lie. Without a channel the groups are of
    replicas, of which there is one; with a channel and `is_by_replica` too, each with all of its devices.
    """
    devices, groups = grid_of(c, op), op.rows("replica_groups")
    if not channel_of(op):
        return ()
    is_global = "use_global_device_ids" in op.properties
    if (is_by_replica and not is_global) or not groups:
        groups = (tuple(range(devices.size)),)
    axes = devices.axes_of_groups(groups)
    if axes is None:
        raise c.unsupported("groups that are not along axes of a mesh")
    return axes


def channel_of(op: stablehlo.CollectiveOp) -> int:
    handle = op.properties.get("channel_handle")
    return handle.number("handle") if isinstance(handle, stablehlo.ChannelHandleAttr) else 0


def member_of(c: Conversion, op: Operation, axes: Sequence[int]) -> SSAValue:
    """Returns the number of this device in its group along some axes."""
    mesh = grid_of(c, op).mesh
    total: SSAValue | None = None
    for position, axis in enumerate(axes):
        place = c.add(graph.AxisIndexOp(mesh.name, axis))
        step = mesh.count(axes[position + 1 :])
        place = place if step == 1 else c.binary(graph.MulOp, place, step)
        total = place if total is None else c.binary(graph.AddOp, total, place)
    return c.scalar(0, i32) if total is None else total
