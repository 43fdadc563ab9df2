"""What is timed, one file per kind of work."""

from .blocks import BLOCKS
from .contractions import CONTRACTIONS
from .convolutions import CONVOLUTIONS
from .rows import ROWS
from .workload import Workload

WORKLOADS: tuple[Workload, ...] = (*CONTRACTIONS, *CONVOLUTIONS, *ROWS, *BLOCKS)
"""All of them, in the order of the table."""

__all__ = ["WORKLOADS", "Workload"]
