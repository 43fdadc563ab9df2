"""Makes what a function meets when it runs, beside its arguments: nodes, the merge buffer, symbols."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import BlockArgument, Operation

from ...dialects import graph, sched
from ...dialects.modules.entry import Entry, argument_names
from .random_inputs import random_array

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RandomState:
    """The contents of nodes by name, those of the merge buffer, None if it is not read, and the symbols."""

    nodes: dict[str, Array]
    merge: Array | None
    symbols: dict[str, int]

    def copied_nodes(self) -> dict[str, Array]:
        """Returns copies of the nodes, for a run to change."""
        return {name: array.copy() for name, array in self.nodes.items()}


def random_state(module: ModuleOp, entry: Entry, seed: int) -> RandomState:
    """
    Returns random contents for all nodes of `module` that outlive a run, whatever their initial values, and
    what else a run of `entry` asks for. A node's contents depend on its name and type and the seed only.

    Raises `TenonError` for a node that is too large.
    """
    nodes = {
        op.sym_name.data: _contents(op, seed)
        for op in module.body.ops
        if isinstance(op, graph.TnodeOp) and not op.lives_within_a_run
    }
    merges = [*_merged(entry), *_merged(module)]
    merge = None
    if merges:
        node = graph.find_node(merges[0], merges[0].node_name)
        assert node is not None, f"{merges[0].name}: node @{merges[0].node_name} is not declared"
        merge = _contents(node, seed + 1)
    return RandomState(nodes, merge, _symbols(entry, seed))


def _contents(node: graph.TnodeOp, seed: int) -> Array:
    generator = np.random.default_rng([seed, *node.sym_name.data.encode()])
    return random_array(node.tensor_type, generator)


def _merged(op: Operation) -> Iterator[graph.MergeOp | sched.MergeBufferOp]:
    for inner in op.walk():
        if isinstance(inner, graph.MergeOp | sched.MergeBufferOp):
            yield inner


def _symbols(entry: Entry, seed: int) -> dict[str, int]:
    """Returns a value for each `index` argument, below the extents of all axes that it indexes."""
    generator = np.random.default_rng(seed)
    symbols: dict[str, int] = {}
    for name, argument in zip(argument_names(entry), entry.body.block.args, strict=True):
        if isinstance(argument.type, IndexType):
            symbols[name] = int(generator.integers(0, _bound(argument)))
    return symbols


def _bound(symbol: BlockArgument) -> int:
    """Returns the least extent that a symbol indexes in its function, but at least 1 and at most 4."""
    bounds = [4]
    for use in symbol.uses:
        op = use.operation
        if isinstance(op, graph.NodeAccessOp | sched.NodeOp):
            node = graph.find_node(op, op.node_name)
            assert node is not None, f"{op.name}: node @{op.node_name} is not declared"
            bounds.append(node.tensor_type.get_shape()[use.index])
    return max(1, min(bounds))
