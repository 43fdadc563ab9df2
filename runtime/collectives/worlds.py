"""Which world a mesh is of: that of `mpiexec`, of threads of this process, or a single rank."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ...semantics.ranks.local_ranks import run_ranks as run_in_threads
from ...semantics.ranks.local_world import LocalWorld, local_worlds
from ...semantics.world import THREAD_WORLD, World
from .mpi_library import is_launched


def current_world() -> World:
    """
    Returns the world of this thread: the one that `run_ranks` gave it, else that of the ranks that `mpiexec`
    started, else one of a single rank.

    Raises:
        MissingExtraError: `mpiexec` started the process, and mpi4py is not installed.
        DeviceError: MPI cannot be used.
    """
    world = THREAD_WORLD.get()
    if world is not None:
        return world
    if is_launched():
        from .mpi_world import mpi_world

        return mpi_world()
    return _alone()


@cache
def _alone() -> LocalWorld:
    return local_worlds(1)[0]


def run_ranks(count: int, function: Callable[..., Any], /, *arguments: Any) -> list[Any]:
    """
    Returns what `function(*arguments)` gives on each of `count` ranks that are threads of this process: for
    tests of programs that `mpiexec` runs as processes. Meshes that the function makes are of these ranks.

    Raises:
        ValueError: there are no ranks.
        RankError: ranks wait for one another, or for different collectives.
        Exception: what a rank raises.
    """
    if count < 1:
        raise ValueError(f"run_ranks: {count} ranks, expected 1 or more")

    def run(world: LocalWorld) -> Any:
        THREAD_WORLD.set(world)
        return function(*arguments)

    return run_in_threads([run] * count)
