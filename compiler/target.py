"""What schedules are made for, as a device tells it."""

from __future__ import annotations

from ..backends.interface import DeviceInfo, DeviceKind, MultipliesBytes, lacked_by
from ..errors import TenonError
from ..passes.machine.groups import GroupLimits
from ..passes.machine.target import Target

_GROUP_ITEMS = 256
"""The most work-items of a group on a GPU: more leave a processor with too few groups to switch between."""


def target_of(device: DeviceInfo) -> Target:
    """
    Returns the machine that a device is.

    Raises:
        TenonError: the device lacks an op that nothing expands.
    """
    from ..passes.pipeline import EXPANSIONS

    lacks = lacked_by(device)
    if unknown := [name for name in lacks if name not in EXPANSIONS]:
        raise TenonError(
            f"device {device.name}: nothing expands {', '.join(unknown)} (there are: {', '.join(EXPANSIONS)})"
        )
    l1_nbytes, l2_nbytes, l3_nbytes = device.cache_nbytes
    groups = None
    if device.kind is DeviceKind.GPU:
        groups = GroupLimits(
            max_items=min(device.max_items, _GROUP_ITEMS),
            max_block=device.max_block,
            shared_nbytes=device.max_shared_nbytes,
            vector_nbytes=device.vector_nbytes,
            multiple=device.group_multiple,
            n_units=device.n_units,
        )
    return Target(
        vector_nbytes=device.vector_nbytes,
        vector_registers=device.vector_registers,
        l1_nbytes=l1_nbytes,
        l2_nbytes=l2_nbytes,
        l3_nbytes=l3_nbytes,
        n_threads=device.n_units,
        multiplies_bytes=isinstance(device, MultipliesBytes) and device.multiplies_bytes,
        lacks=lacks,
        groups=groups,
    )
