"""Which nodes of a graph Tenon compiles: those that can be written into a trace and give what torch says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..tracing.trace import Trace
from .extents import Dims, is_symbolic
from .graph_nodes import Node, is_number, is_tensor, is_view, op_name, place_of, value_of
from .ops.table import NotCoveredError
from .region_program import add_argument, declared
from .writing import Writer


@dataclass(frozen=True)
class LeftToTorch:
    """A node that torch runs: its op, where the user wrote it, and why."""

    op: str
    place: tuple[str, int, str] | None
    reason: str

    def __str__(self) -> str:
        where = "" if self.place is None else f" ({self.place[0]}:{self.place[1]}: {self.place[2]})"
        return f"{self.op} runs in torch: {self.reason}{where}"


def left_to_torch(node: Node, reason: str) -> LeftToTorch:
    return LeftToTorch(op_name(node), place_of(node), reason)


def covered_nodes(
    nodes: Sequence[Node], dims: Dims, symbols: Sequence[Any]
) -> tuple[set[Node], list[LeftToTorch]]:
    """Returns the nodes that are compiled, and the others but those that only compute numbers."""
    covered: set[Node] = set()
    left: list[LeftToTorch] = []
    trace = Trace("coverage", declared(dims, symbols))
    with trace:
        writer = Writer(trace, dims)
        for node in nodes:
            value = value_of(node)
            if node.op in ("placeholder", "get_attr"):
                _stand_in(writer, node, value)
                continue
            if node.op != "call_function":
                continue
            if op_name(node) == "getitem" and node.args[0] not in covered and not is_number(value):
                _stand_in(writer, node, value)
                continue
            if is_number(value):
                _stand_in(writer, node, value)
                continue
            try:
                _check_memory(node, value)
                writer.write(node)
                covered.add(node)
            except NotCoveredError as error:
                if _is_check(node):
                    continue
                left.append(left_to_torch(node, error.message))
                if not isinstance(value, tuple | list):
                    _stand_in(writer, node, value)
    return covered, left


def _check_memory(node: Node, value: Any) -> None:
    """
    Raises NotCoveredError for a tensor that begins inside of its memory, where that is known at each call
    only: callers rebuild what shows it by its offset, as `slice_scatter` keeps that of an argument.
    """
    if is_tensor(value) and not is_view(node) and is_symbolic(value.storage_offset()):
        raise NotCoveredError(f"its result begins at {value.storage_offset()} of its memory")


def _is_check(node: Node) -> bool:
    """Returns whether a node only looks at what torch knows of values, as those of exported programs do."""
    return op_name(node).startswith(("_assert", "sym_constrain"))


def _stand_in(writer: Writer, node: Node, value: Any) -> None:
    """Notes an argument for what torch computes, where there are arrays of it."""
    try:
        if is_tensor(value) or type(value).__name__ == "SymFloat":
            writer.values[node] = add_argument(writer.trace, value, writer.dims, node.name, None)
    except (NotCoveredError, KeyError):
        pass
