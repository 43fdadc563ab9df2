"""
A graph of torch in parts: regions, each of which becomes one program, and nodes that torch runs at their
places.

Nodes have levels, even ones for those that Tenon compiles and odd ones for the others; a level is no less
than those of what a node reads, so that all that is compiled at one level is one region, and regions wait for
nothing that waits for them. What draws random numbers keeps its order.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ...dialects.dims.expressions import Extent
from .extents import Dims, is_symbolic, symbols_of
from .graph_nodes import Node, integers_of, is_number, is_tensor, is_view, parts_of, value_of
from .ops.table import NotCoveredError

FRONT = -1
"""The level of arguments, and of what is computed of numbers among them alone."""


@dataclass(frozen=True)
class SizeSource:
    """Where the value of a symbol is found: a number, or the extent of an axis of a tensor."""

    node: Node
    axis: int | None


@dataclass
class Region:
    """Nodes that become one program: what they read, what of them is read elsewhere, and their symbols."""

    nodes: list[Node]
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    symbols: list[Any] = field(default_factory=list)
    sizes: list[SizeSource] = field(default_factory=list)
    """Where the values of those symbols are that no axis of an input is."""

    @property
    def key(self) -> Hashable:
        """Regions of one key are of the very same nodes, read and read from alike."""
        return (*map(tuple, (self.nodes, self.inputs, self.outputs, self.symbols, self.sizes)),)


Step = Region | Node


def size_sources(nodes: Iterable[Node]) -> dict[Any, SizeSource]:
    """Returns for each symbol the first node that has its value."""
    found: dict[Any, SizeSource] = {}
    for node in nodes:
        value = value_of(node)
        if is_symbolic(value):
            places: list[tuple[int | None, Any]] = [(None, value)]
        elif is_tensor(value):
            places = [(axis, extent) for axis, extent in enumerate(value.shape)]
        else:
            continue
        for axis, extent in places:
            symbols = symbols_of(extent)
            if len(symbols) == 1 and extent.node.expr in symbols:
                found.setdefault(extent.node.expr, SizeSource(node, axis))
    return found


class Partition:
    """The steps of a graph, in the order in which they run."""

    def __init__(self, graph: Any, covered: Set[Node], dims: Dims) -> None:
        self._nodes = [node for node in graph.nodes if node.op != "output"]
        self._output = next(node for node in graph.nodes if node.op == "output")
        self._covered = covered
        self._sources = size_sources(self._nodes)
        self._dims = dims
        self.told: dict[Node, Extent] = {}
        """Sizes of what is computed: they are computed of numbers that are known before."""
        self._levels = self._levelled()
        self._eager: set[Node] = set()
        """Covered nodes that torch computes, also or only: views that are read outside of regions."""
        self.steps = self._ordered()

    def _reads(self, node: Node) -> list[Node]:
        """Returns what a compiled node waits for: tensors, numbers it has as arguments, and sizes."""
        found: list[Node] = []
        for each in node.all_input_nodes:
            # Programs are given the values of symbols; views may be made by torch, of the very numbers.
            if not is_symbolic(value_of(each)) or is_view(node):
                found.append(each)
        for value in (node, *node.all_input_nodes):
            for extent in integers_of(value_of(value)):
                found += [
                    self._sources[symbol].node for symbol in symbols_of(extent) if symbol in self._sources
                ]
        return found

    def _levelled(self) -> dict[Node, int]:
        levels: dict[Node, int] = {}
        effects = FRONT
        for node in self._nodes:
            if node.op in ("placeholder", "get_attr"):
                levels[node] = FRONT
                continue
            if node in self._covered:
                least = max((levels.get(each, FRONT) for each in self._reads(node)), default=FRONT)
                levels[node] = max(least + least % 2, 0)
                continue
            least = max((levels[each] for each in node.all_input_nodes), default=FRONT)
            is_of_numbers = (
                least == FRONT
                and is_number(value_of(node))
                and all(is_number(value_of(each)) for each in node.all_input_nodes)
            )
            if is_of_numbers or self._is_told(node, levels):
                levels[node] = FRONT
                continue
            if _has_effects(node):
                least = max(least, effects)
            levels[node] = least if least % 2 and least > 0 else max(least + 1, 1)
            if _has_effects(node):
                effects = levels[node]
        return levels

    def _is_told(self, node: Node, levels: Mapping[Node, int]) -> bool:
        """Notes an integer whose symbols all have their values in front, and returns whether it is one."""
        value = value_of(node)
        if not is_symbolic(value):
            return False
        sources = [self._sources.get(symbol) for symbol in symbols_of(value)]
        if any(each is None or levels.get(each.node, FRONT) != FRONT for each in sources):
            return False
        try:
            self.told[node] = self._dims.extent(value)
        except NotCoveredError:
            return False
        return True

    def sources_of(self, node: Node) -> dict[str, SizeSource]:
        """Returns where the values of the symbols of an integer are, by the names of their dims."""
        return {str(symbol): self._sources[symbol] for symbol in symbols_of(value_of(node))}

    def _ordered(self) -> list[Step]:
        by_level: dict[int, list[Node]] = {}
        for node in self._nodes:
            if node.op not in ("placeholder", "get_attr"):
                by_level.setdefault(self._levels[node], []).append(node)
        regions: dict[int, set[Node]] = {}
        for level, nodes in by_level.items():
            compiled = [node for node in nodes if node in self._covered]
            # What only shows tensors in another way is no program.
            if any(not is_view(node) for node in compiled):
                regions[level] = set(compiled)
            else:
                self._eager.update(compiled)
        self._lift_views(regions)
        steps: list[Step] = []
        for level in sorted(by_level):
            if level in regions:
                region = self._region([node for node in by_level[level] if node in regions[level]])
                if region.outputs:
                    steps.append(region)
            steps += [
                node for node in by_level[level] if node not in regions.get(level, ()) or node in self._eager
            ]
        return steps

    def _lift_views(self, regions: Mapping[int, set[Node]]) -> None:
        """Finds the views of regions that are read outside of them, which torch makes without a copy."""
        home = {node: level for level, nodes in regions.items() for node in nodes}
        for node in reversed(self._nodes):
            if node not in home or not is_view(node):
                continue
            if any(self._is_outside(user, home[node], home) for user in node.users):
                self._eager.add(node)

    def _is_outside(self, user: Node, level: int, home: Mapping[Node, int]) -> bool:
        return user.op == "output" or home.get(user) != level or user in self._eager

    def _region(self, nodes: Sequence[Node]) -> Region:
        inside = set(nodes)
        region = Region([])
        outputs = [
            node
            for node in nodes
            if node not in self._eager
            and any(user not in inside or user in self._eager for user in node.users)
            and any(is_tensor(part) for part in parts_of(value_of(node)))
        ]
        # A tuple is read part by part; each part is a node of the same region.
        region.outputs = [node for node in outputs if is_tensor(value_of(node))]
        needed = set(region.outputs)
        for node in reversed(nodes):
            if node in needed:
                needed.update(each for each in node.all_input_nodes if each in inside)
        region.nodes = [node for node in nodes if node in needed]
        seen: set[Node] = set()
        for node in region.nodes:
            for each in node.all_input_nodes:
                if each in inside or each in seen or is_symbolic(value_of(each)):
                    continue
                if is_number(value_of(each)) and isinstance(value_of(each), bool | int | float):
                    continue
                seen.add(each)
                region.inputs.append(each)
        self._add_sizes(region)
        return region

    def _add_sizes(self, region: Region) -> None:
        """Finds the symbols of a region, and where those are that no axis of an input is."""
        symbols: set[Any] = set()
        for node in region.nodes:
            for each in (node, *node.all_input_nodes):
                for extent in integers_of(value_of(each)):
                    symbols |= symbols_of(extent)
        shown = size_sources(region.inputs)
        region.symbols = sorted(symbols, key=str)
        region.sizes = [self._sources[symbol] for symbol in region.symbols if symbol not in shown]


def _has_effects(node: Node) -> bool:
    """Returns whether a node keeps its order among others: it draws random numbers, or changes something."""
    target = node.target
    schema = getattr(target, "_schema", None)
    if schema is None:
        return False
    tags = {str(tag).rpartition(".")[2] for tag in getattr(target, "tags", ())}
    return schema.is_mutable or "nondeterministic_seeded" in tags or not schema.returns
