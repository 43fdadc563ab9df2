"""The levels of the IR."""

from xdsl.utils.str_enum import StrEnum


class IRLevel(StrEnum):
    """The levels of the IR, highest first."""

    GRAPH = "graph"
    SCHED = "sched"
    LOW = "low"
