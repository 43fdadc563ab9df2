"""What programs of several processes exchange, which Tenon reads and does not convert."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

from xdsl.irdl import irdl_op_definition, traits_def

from .base import StablehloOp, TypeStyle, WrittenOp

__all__ = [
    "AllGatherOp",
    "AllReduceOp",
    "AllToAllOp",
    "CollectiveBroadcastOp",
    "CollectivePermuteOp",
    "InfeedOp",
    "OutfeedOp",
    "PartitionIdOp",
    "RecvOp",
    "ReduceScatterOp",
    "ReplicaIdOp",
    "SendOp",
]


class _Collective(StablehloOp, ABC):
    """An op between processes."""

    N_RESULTS: ClassVar = None
    traits = traits_def()


class _Id(WrittenOp, ABC):
    """A number of this process."""

    N_OPERANDS: ClassVar = 0
    STYLE: ClassVar = TypeStyle.RESULTS


@irdl_op_definition
class AllGatherOp(_Collective):
    """What all processes have, one after the other."""

    name = "stablehlo.all_gather"


@irdl_op_definition
class AllReduceOp(_Collective):
    """What a region makes of what all processes have."""

    name = "stablehlo.all_reduce"
    N_REGIONS: ClassVar = 1


@irdl_op_definition
class AllToAllOp(_Collective):
    """Parts exchanged between processes."""

    name = "stablehlo.all_to_all"


@irdl_op_definition
class CollectiveBroadcastOp(_Collective):
    """What one process has."""

    name = "stablehlo.collective_broadcast"


@irdl_op_definition
class CollectivePermuteOp(_Collective):
    """What another process has."""

    name = "stablehlo.collective_permute"


@irdl_op_definition
class ReduceScatterOp(_Collective):
    """A part of what a region makes of what all processes have."""

    name = "stablehlo.reduce_scatter"
    N_REGIONS: ClassVar = 1


@irdl_op_definition
class InfeedOp(_Collective):
    """Values from a queue."""

    name = "stablehlo.infeed"


@irdl_op_definition
class OutfeedOp(_Collective):
    """Values to a queue."""

    name = "stablehlo.outfeed"


@irdl_op_definition
class SendOp(_Collective):
    """Values to another process."""

    name = "stablehlo.send"


@irdl_op_definition
class RecvOp(_Collective):
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
