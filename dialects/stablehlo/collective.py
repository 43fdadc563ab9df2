"""
What the devices of a program exchange.

`replica_groups` says who meets, by numbers of devices. Queues and messages to the host are read and not
converted.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def, traits_def

from .base import StablehloOp, TypeStyle, WrittenOp

__all__ = [
    "AllGatherOp",
    "AllReduceOp",
    "AllToAllOp",
    "CollectiveBroadcastOp",
    "CollectiveOp",
    "CollectivePermuteOp",
    "GroupsOp",
    "InfeedOp",
    "OutfeedOp",
    "PartitionIdOp",
    "RecvOp",
    "ReduceScatterOp",
    "ReplicaIdOp",
    "SendOp",
]


class CollectiveOp(StablehloOp, ABC):
    """An op at which groups of devices meet."""

    N_RESULTS: ClassVar = None
    channel_handle = opt_prop_def()
    traits = traits_def()


class GroupsOp(CollectiveOp, ABC):
    """A collective whose groups are listed, each in the order of its members."""

    REQUIRED: ClassVar = ("replica_groups",)
    replica_groups = opt_prop_def()


class _Exchange(StablehloOp, ABC):
    """An op that meets what is no device of the program's."""

    N_RESULTS: ClassVar = None
    traits = traits_def()


class _Id(WrittenOp, ABC):
    """A number of this device."""

    N_OPERANDS: ClassVar = 0
    STYLE: ClassVar = TypeStyle.RESULTS


@irdl_op_definition
class AllGatherOp(GroupsOp):
    """What all devices of a group have, one after the other."""

    name = "stablehlo.all_gather"
    REQUIRED: ClassVar = ("replica_groups", "all_gather_dim")
    all_gather_dim = opt_prop_def()
    use_global_device_ids = opt_prop_def()


@irdl_op_definition
class AllReduceOp(GroupsOp):
    """What a region makes of what all devices of a group have."""

    name = "stablehlo.all_reduce"
    N_REGIONS: ClassVar = 1
    use_global_device_ids = opt_prop_def()


@irdl_op_definition
class AllToAllOp(GroupsOp):
    """Parts exchanged between the devices of a group."""

    name = "stablehlo.all_to_all"
    REQUIRED: ClassVar = ("replica_groups", "split_dimension", "concat_dimension", "split_count")
    split_dimension = opt_prop_def()
    concat_dimension = opt_prop_def()
    split_count = opt_prop_def()


@irdl_op_definition
class CollectiveBroadcastOp(GroupsOp):
    """What the first device of a group has."""

    name = "stablehlo.collective_broadcast"


@irdl_op_definition
class CollectivePermuteOp(CollectiveOp):
    """What another device has."""

    name = "stablehlo.collective_permute"
    REQUIRED: ClassVar = ("source_target_pairs",)
    source_target_pairs = opt_prop_def()


@irdl_op_definition
class ReduceScatterOp(GroupsOp):
    """A part of what a region makes of what all devices of a group have."""

    name = "stablehlo.reduce_scatter"
    N_REGIONS: ClassVar = 1
    REQUIRED: ClassVar = ("replica_groups", "scatter_dimension")
    scatter_dimension = opt_prop_def()
    use_global_device_ids = opt_prop_def()


@irdl_op_definition
class InfeedOp(_Exchange):
    """Values from a queue."""

    name = "stablehlo.infeed"


@irdl_op_definition
class OutfeedOp(_Exchange):
    """Values to a queue."""

    name = "stablehlo.outfeed"


@irdl_op_definition
class SendOp(_Exchange):
    """Values to another process."""

    name = "stablehlo.send"


@irdl_op_definition
class RecvOp(_Exchange):
    """Values from another process."""

    name = "stablehlo.recv"


@irdl_op_definition
class PartitionIdOp(_Id):
    """Which partition this is."""

    name = "stablehlo.partition_id"


@irdl_op_definition
class ReplicaIdOp(_Id):
    """Which replica this is."""

    name = "stablehlo.replica_id"
