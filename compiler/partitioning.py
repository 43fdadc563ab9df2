"""From a program of all ranks to that of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..dialects import context
from ..dialects.modules.collection_pause import collection_paused
from ..dialects.modules.entry import find_entry
from ..dialects.sharding import Mesh, Sharding, result_shardings
from ..passes.graph.decompose_composites import DecomposeCompositesPass
from ..passes.graph.inline_calls import InlineCallsPass
from ..passes.graph.inline_virtual_nodes import InlineVirtualNodesPass
from ..passes.graph.simplify_nodes import SimplifyNodesPass
from ..passes.pass_manager import PassManager
from ..passes.sharding.partition_graph import PartitionGraphPass
from ..passes.sharding.propagate_sharding import PropagateShardingPass
from ..passes.sharding.varying import check_conditions, varying_conditions
from .lowering import located_failures


@dataclass(frozen=True)
class RankProgram:
    """The program of one rank, and how its results are parts of the whole ones."""

    module: ModuleOp
    function: func.FuncOp
    result_shardings: tuple[Sharding | None, ...]


def check_parts(function: func.FuncOp, mesh: Mesh, splits: Mapping[SSAValue, Sequence[int]]) -> None:
    """
    Looks at the branches and loops of a function that each rank runs on its parts, and marks the collectives
    that not all begin. `splits` has the axes that split what each argument is a part of; others are whole.

    Raises:
        TenonError: some ranks would wait for ever for what others do not send.
    """
    with located_failures():
        check_conditions(varying_conditions(function, mesh, splits), mesh)


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
