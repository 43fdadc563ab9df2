"""Runs the programs of all ranks of a module in this process: what they give together is what one would."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation

from ..backends.interface import Backend
from ..backends.reference.execute import run_module
from ..dialects import graph
from ..dialects.graph.collectives import note_program
from ..dialects.modules.entry import Entry, find_entry, keep_only
from ..dialects.modules.parsing import location_text
from ..dialects.sharding import Mesh, Sharding, argument_shardings, result_shardings
from ..errors import RankError, TenonError
from ..semantics.numpy_types import Array
from ..semantics.ranks.local_ranks import run_ranks
from ..semantics.ranks.local_world import LocalWorld
from .compile import compile
from .partitioning import RankProgram, partition


@dataclass(frozen=True)
class AllRanks:
    """The programs of all ranks, and how what each takes and gives is a part of the whole."""

    mesh: Mesh
    programs: Sequence[RankProgram]

    @staticmethod
    def of(modules: Sequence[ModuleOp], name: str) -> AllRanks:
        """
        Returns the programs `@name` of modules that partition-graph has just written, one for each rank.

        Raises:
            TenonError: the modules have no grid, or `@name` is no function of `graph`.
        """
        mesh = Mesh.of(modules[0])
        functions = [find_entry(module, name) for module in modules]
        if mesh is None or mesh.size != len(modules):
            raise TenonError(f"@{name}: the module has no shard.grid of {len(modules)} ranks")
        programs: list[RankProgram] = []
        for module, function in zip(modules, functions, strict=True):
            if not isinstance(function, func.FuncOp):
                raise TenonError(f"@{name}: a program at sched is that of one rank")
            # A copy: passes that run later replace the function, and what it says of its arguments.
            own = function.clone()
            programs.append(RankProgram(module, own, result_shardings(own)))
        return AllRanks(mesh, programs)

    def parts(self, rank: int, arguments: Sequence[Any]) -> list[Any]:
        """Returns what a rank has of the arguments of the whole program."""
        function = self.programs[rank].function
        return [
            whole if sharding is None or isinstance(type, IndexType) else self._part(whole, sharding, rank)
            for whole, sharding, type in zip(
                arguments, argument_shardings(function), function.function_type.inputs, strict=True
            )
        ]

    def _part(self, whole: Array, sharding: Sharding, rank: int) -> Array:
        box = sharding.local_box(self.mesh, np.shape(whole), rank)
        # Not `ascontiguousarray`, which gives what has no dims one.
        return np.asarray(whole[tuple(slice(begin, end) for begin, end in box)], order="C")

    def wholes(self, results: Sequence[Sequence[Array]]) -> list[Array]:
        """
        Returns the whole results, of those of all ranks.

        Raises:
            RankError: two ranks that have the same part of a result have different values of it.
        """
        return [self._whole(number, parts) for number, parts in enumerate(zip(*results, strict=True))]

    def _whole(self, number: int, parts: Sequence[Array]) -> Array:
        sharding = self.programs[0].result_shardings[number]
        if sharding is None:
            sharding = Sharding.whole(parts[0].ndim)
        shape: list[int] = list(parts[0].shape)
        for dim, axes in enumerate(sharding.split):
            if axes:
                # One rank for each part: those that lie at 0 along all other axes.
                ranks = [
                    rank
                    for rank in range(self.mesh.size)
                    if not any(
                        place for axis, place in enumerate(self.mesh.coordinates(rank)) if axis not in axes
                    )
                ]
                shape[dim] = sum(parts[rank].shape[dim] for rank in ranks)
        whole: Array = np.empty(shape, parts[0].dtype)
        owners: dict[tuple[Any, ...], int] = {}
        for rank, part in enumerate(parts):
            box = sharding.local_box(self.mesh, shape, rank)
            place = tuple(slice(begin, end) for begin, end in box)
            owner = owners.setdefault(tuple(box), rank)
            if owner == rank:
                whole[place] = part
            elif part.tobytes() != parts[owner].tobytes():
                raise RankError(f"result {number} of rank {rank} is not that of rank {owner}", rank)
        return whole

    def run(
        self,
        arguments: Sequence[Any],
        call: Callable[[LocalWorld, ModuleOp, Sequence[Any]], Sequence[Array]],
    ) -> list[Array]:
        """
        Returns the results that all ranks give together, each a thread in which `call` runs its module.

        Raises:
            RankError: ranks wait for one another, begin different collectives, or disagree.
            BaseException: what a rank raises.
        """

        def rank(number: int) -> Callable[[LocalWorld], Sequence[Array]]:
            own = self.parts(number, arguments)
            return lambda world: call(world, self.programs[number].module, own)

        return self.wholes(run_ranks([rank(number) for number in range(self.mesh.size)]))


def partitioned_for_all(module: ModuleOp, entry: Entry, allow_gather: bool = False) -> AllRanks:
    """
    Returns the programs of all ranks of one function of a module, which stays as it is.

    Raises:
        TenonError: the module has no grid, the function is no function of `graph`, uses tensor nodes or has
            collectives already, or an op cannot be partitioned.
    """
    name = entry.sym_name.data
    if not isinstance(entry, func.FuncOp):
        raise TenonError(f"@{name}: a program at sched is that of one rank (hint: partition at graph)")
    mesh = Mesh.of(module)
    if mesh is None:
        raise TenonError(f"@{name}: the module has no shard.grid that says what ranks there are")
    own = module.clone()
    keep_only(own, find_entry(own, name))
    node = next((op for op in own.walk() if op.name == "graph.tnode"), None)
    if node is not None:
        raise TenonError(f"@{name}: {node.name}: the ranks of one process have no tensor nodes of their own")
    met = next(filter(_is_of_one_rank, own.walk()), None)
    if met is not None:
        raise TenonError(
            f"@{name}: {met.name}: a program with collectives is that of one rank (hint: the one that it was "
            "partitioned from)",
            location=location_text(met.location),
        )
    # Passes may write a collective of ranks with larger parts otherwise: they are those of one program still.
    note_program(own)
    return AllRanks(mesh, [partition(own, rank, allow_gather) for rank in range(mesh.size)])


def _is_of_one_rank(op: Operation) -> bool:
    """Returns whether an op is one of a rank's program, and not of a `graph.manual_computation` of all."""
    if not isinstance(op, graph.CollectiveOp | graph.AxisIndexOp):
        return False
    around = op.parent_op()
    while around is not None and not isinstance(around, graph.ManualComputationOp):
        around = around.parent_op()
    return around is None


def compiled_call(
    backend: str | Backend,
    level: str | None,
    callbacks: Mapping[str, Callable[..., Any]],
    explains: bool = False,
) -> Callable[[LocalWorld, ModuleOp, Sequence[Any]], Sequence[Array]]:
    """
    Returns what compiles the module of a rank for a backend and calls it once, as `AllRanks.run` wants. With
    `explains` what `explain` says of rank 0 is printed: the others differ from it in extents only.
    """

    def call(world: LocalWorld, module: ModuleOp, arguments: Sequence[Any]) -> Sequence[Array]:
        with compile(module, backend=backend, level=level, callbacks=callbacks, world=world) as executable:
            if explains and world.rank == 0:
                print(executable.explain(), end="")
            results: Any = executable(*arguments)
            listed: list[Array] = [*results] if isinstance(results, tuple) else [results]
            return [np.array(each) for each in listed]

    return call


def interpreted_ranks(
    modules: Sequence[ModuleOp], name: str, callbacks: Mapping[str, Callable[..., Any]]
) -> Callable[[Sequence[ModuleOp], Sequence[Array]], Sequence[Array]]:
    """
    Returns what interprets the programs `@name` of all ranks, as partition-graph has just written them or as
    passes that came after it have left them, and gives their results as those of the whole program.

    Raises:
        TenonError: the modules are not the programs of all ranks of a grid.
    """
    ranks = AllRanks.of(modules, name)

    def run(current: Sequence[ModuleOp], inputs: Sequence[Array]) -> Sequence[Array]:
        def call(world: LocalWorld, module: ModuleOp, arguments: Sequence[Any]) -> Sequence[Array]:
            return run_module(module, name, arguments, callbacks=callbacks, world=world)

        programs = [replace(one, module=module) for one, module in zip(ranks.programs, current, strict=True)]
        return AllRanks(ranks.mesh, programs).run(inputs, call)

    return run
