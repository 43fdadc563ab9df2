"""A graph of torch as it runs: programs of its regions, and what torch runs between them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ...dialects.dims.expressions import Extent, evaluated
from ...errors import TenonError
from ..arrays.concrete import ConcreteArray
from .coverage import LeftToTorch, covered_nodes, left_to_torch
from .extents import Dims
from .graph_nodes import Node, integers_of, value_of
from .library import torch_library
from .ops.table import DEFAULT_FLOAT
from .partition import Partition, Region, SizeSource
from .region_program import RegionProgram
from .told import tell


@dataclass(frozen=True)
class ToldSize:
    """An integer that is made of symbols, and where the values of these are, by the names of their dims."""

    node: Node
    extent: Extent
    sources: Mapping[str, SizeSource]


@dataclass(frozen=True)
class _Call:
    """A step: what is called, with what, where its results go, and what nobody reads afterwards."""

    run: Callable[[dict[Node, Any]], None]
    dead: tuple[Node, ...]


class GraphProgram:
    """
    A graph of torch's functional ATen ops, compiled. Called with a list of its arguments, which it empties,
    it gives the tuple of its results. Threads may call it at once. `bounds` are those of its symbols, where
    they are not what torch assumed when it traced, and `is_guarded` is whether it is called only where all
    else holds that torch found of them. `weights` are the numbers of arguments that seldom change:
    what is made of them alone is kept until they do.
    """

    def __init__(
        self,
        module: Any,
        name: str,
        frozen: Mapping[Node, ConcreteArray] = MappingProxyType({}),
        bounds: Mapping[Any, Any] = MappingProxyType({}),
        weights: Iterable[int] = (),
        is_guarded: bool = True,
    ) -> None:
        torch = torch_library()
        self._frozen = frozen
        self.name = name
        self.left: list[LeftToTorch] = []
        """What torch runs, and why."""
        self.programs: list[RegionProgram] = []
        graph = module.graph
        nodes = list(graph.nodes)
        for node in nodes:
            if node.op == "get_attr" and "val" not in node.meta:
                node.meta["val"] = getattr(module, node.target)
        integers = [each for node in nodes for each in integers_of(value_of(node))]
        dims = Dims(integers, bounds, is_guarded)
        self._placeholders = [node for node in nodes if node.op == "placeholder"]
        self._weights = {self._placeholders[number] for number in weights}
        default = DEFAULT_FLOAT.set(str(torch.get_default_dtype()).removeprefix("torch."))
        try:
            covered, self.left = covered_nodes(nodes, dims, dims.symbols)
            steps = self._compiled(graph, covered, dims)
        finally:
            DEFAULT_FLOAT.reset(default)
        for each in self.left:
            tell(each)
        self._attributes = {node: getattr(module, node.target) for node in nodes if node.op == "get_attr"}
        self._output = next(node for node in nodes if node.op == "output")
        self._calls = self._with_ends(steps)

    def _compiled(self, graph: Any, covered: set[Node], dims: Dims) -> list[Any]:
        """
        Returns the steps; what turns out to have no program is left to torch, and what is left is partitioned
        again: regions that stay as they were keep their programs.
        """
        made: dict[Hashable, RegionProgram] = {}
        while True:
            steps: list[Any] = []
            programs: list[RegionProgram] = []
            partition = Partition(graph, covered, dims)
            for step in partition.steps:
                if not isinstance(step, Region):
                    told = partition.told.get(step)
                    steps.append(step if told is None else ToldSize(step, told, partition.sources_of(step)))
                    continue
                key = step.key
                try:
                    if key not in made:
                        name = f"{self.name}_{len(made)}"
                        made[key] = RegionProgram(step, dims, name, self._frozen, self._weights)
                except TenonError as error:
                    reason = f"its region has no program: {error.message}".partition("\n")[0]
                    self.left += [left_to_torch(node, reason) for node in step.nodes]
                    covered -= set(step.nodes)
                    break
                programs.append(made[key])
                steps.append(made[key])
            else:
                self.programs = programs
                return steps

    def _with_ends(self, steps: Sequence[Any]) -> list[_Call]:
        """Returns the calls of the steps, each with what it is the last to read."""
        alive = set(self._output.all_input_nodes)
        calls: list[_Call] = []
        for step in reversed(steps):
            if isinstance(step, RegionProgram):
                read = [*step.inputs, *(source.node for source in step.region.sizes)]
                run = _region_call(step)
            elif isinstance(step, ToldSize):
                read = [source.node for source in step.sources.values()]
                run = _told_call(step)
            else:
                read = list(step.all_input_nodes)
                run = _node_call(step)
            dead = tuple(dict.fromkeys(node for node in read if node not in alive))
            alive.update(dead)
            calls.append(_Call(run, dead))
        return calls[::-1]

    def __call__(self, arguments: list[Any]) -> tuple[Any, ...]:
        values: dict[Node, Any] = dict(zip(self._placeholders, arguments, strict=True))
        values.update(self._attributes)
        arguments.clear()
        for call in self._calls:
            call.run(values)
            for node in call.dead:
                del values[node]
        return tuple(_argument(self._output.args[0], values))


def _region_call(program: RegionProgram) -> Callable[[dict[Node, Any]], None]:
    inputs, sizes, outputs = program.inputs, program.region.sizes, program.region.outputs

    def run(values: dict[Node, Any]) -> None:
        given = [values[node] for node in inputs]
        if sizes:
            given += [_size(source, values) for source in sizes]
        values.update(zip(outputs, program(given), strict=True))

    return run


def _size(source: SizeSource, values: dict[Node, Any]) -> int:
    value = values[source.node]
    return int(value if source.axis is None else value.shape[source.axis])


def _told_call(told: ToldSize) -> Callable[[dict[Node, Any]], None]:
    def run(values: dict[Node, Any]) -> None:
        known = {name: _size(source, values) for name, source in told.sources.items()}
        values[told.node] = evaluated(told.extent, known)

    return run


def _node_call(node: Node) -> Callable[[dict[Node, Any]], None]:
    def run(values: dict[Node, Any]) -> None:
        values[node] = node.target(*_argument(node.args, values), **_argument(node.kwargs, values))

    return run


def _argument(value: Any, values: dict[Node, Any]) -> Any:
    """Returns an argument of a node with what its nodes gave."""
    return torch_library().fx.node.map_arg(value, values.__getitem__)
