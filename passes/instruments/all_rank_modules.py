"""The programs of all ranks of a module, where passes run on that of one only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.passes import ModulePass

from ...dialects import context
from ...dialects.graph.collectives import RANK
from ...dialects.sharding import Mesh

Array = npt.NDArray[Any]

ExecuteRanks = Callable[[Sequence[ModuleOp], Sequence[Array]], Sequence[npt.NDArray[np.generic]]]
"""Gives the results that the programs of all ranks, at any level, give together for the whole inputs."""

PARTITION = "partition-graph"
"""The pass that writes the program of one rank, which its option `rank` names."""


@dataclass
class AllRankModules:
    """
    What the other ranks have while passes run on the module of one. Once a pass has written that, it is run
    for all other ranks on the module as it was, and so are the passes that come after it.
    """

    running: dict[str, ExecuteRanks] = field(default_factory=dict[str, ExecuteRanks])
    """What runs the programs of all ranks, by the names of the functions."""
    _rank: int | None = None
    _others: dict[int, ModuleOp] = field(default_factory=dict[int, ModuleOp])
    _whole: ModuleOp | None = None
    _context: Context = field(default_factory=context)

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        """Keeps the whole module, where a pass is about to write the program of one rank."""
        if pass_.name == PARTITION and self._rank is None:
            self._whole = module.clone()

    def after(self, pass_: ModulePass, module: ModuleOp) -> bool:
        """
        Runs a pass for the other ranks too. Returns whether `module` is the program of one rank.

        Raises what the pass raises.
        """
        if self._rank is not None:
            for other in self._others.values():
                pass_.apply(self._context, other)
            return True
        rank = module.attributes.get(RANK)
        if self._whole is None or not isinstance(rank, IntegerAttr):
            return False
        self._rank = cast("IntegerAttr[Any]", rank).value.data
        mesh = Mesh.of(self._whole)
        assert mesh is not None, "the program of a rank of no mesh"
        for number in range(mesh.size):
            if number != self._rank:
                other = self._others[number] = self._whole.clone()
                replace(cast(Any, pass_), rank=number).apply(self._context, other)
        self._whole = None
        return True

    def modules(self, module: ModuleOp) -> list[ModuleOp]:
        """Returns the modules of all ranks, where `module` is the one that the passes run on."""
        assert self._rank is not None, "the module is no rank's"
        return [module if rank == self._rank else self._others[rank] for rank in range(len(self._others) + 1)]
