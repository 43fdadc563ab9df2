"""From a program of all ranks to that of one."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ..dialects import context
from ..dialects.modules.collection_pause import collection_paused
from ..dialects.modules.entry import find_entry
from ..dialects.sharding import Sharding, result_shardings
from ..passes.graph.decompose_composites import DecomposeCompositesPass
from ..passes.graph.inline_calls import InlineCallsPass
from ..passes.graph.inline_virtual_nodes import InlineVirtualNodesPass
from ..passes.graph.simplify_nodes import SimplifyNodesPass
from ..passes.pass_manager import PassManager
from ..passes.sharding.partition_graph import PartitionGraphPass
from ..passes.sharding.propagate_sharding import PropagateShardingPass
from .lowering import located_failures


@dataclass(frozen=True)
class RankProgram:
    """The program of one rank, and how its results are parts of the whole ones."""

    module: ModuleOp
    function: func.FuncOp
    result_shardings: tuple[Sharding | None, ...]


def partition(module: ModuleOp, rank: int, allow_gather: bool = False) -> RankProgram:
    """
    Returns the program of a rank, of a module with one function and a grid, which stays as it is. With
    `allow_gather` the operands of ops that cannot be split so are gathered.

    Raises:
        TenonError: an op cannot be partitioned.
    """
    passes = (
        InlineCallsPass(),
        InlineVirtualNodesPass(),
        SimplifyNodesPass(),
        DecomposeCompositesPass(),
        PropagateShardingPass(allow_gather),
        PartitionGraphPass(rank),
    )
    with collection_paused(), located_failures():
        own = module.clone()
        PassManager(passes, verify_each=False).run(context(), own)
    function = find_entry(own, None)
    assert isinstance(function, func.FuncOp), "a program at graph is a function"
    return RankProgram(own, function, result_shardings(function))
