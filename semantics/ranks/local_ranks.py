"""Runs a function on each rank, all of them threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TypeVar

from ...errors import RankError
from .local_world import LocalWorld, local_worlds

T = TypeVar("T")


def run_ranks(functions: Sequence[Callable[[LocalWorld], T]]) -> list[T]:
    """
    Returns what the functions give, one for each rank, each called in a thread of its own with its world.

    Raises:
        RankError: ranks wait for one another, or begin different collectives.
        BaseException: what a rank raises first of itself, the lowest one that does.
    """
    worlds = local_worlds(len(functions))
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    def run(world: LocalWorld, function: Callable[[LocalWorld], T]) -> None:
        try:
            results[world.rank] = function(world)
        except BaseException as error:
            errors[world.rank] = error
            world.end(f"has raised {type(error).__name__}: {error}")
        else:
            world.end()

    threads = [
        threading.Thread(
            target=copy_context().run, args=(run, world, function), name=f"rank {world.rank}", daemon=True
        )
        for world, function in zip(worlds, functions, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        for world in worlds:
            world.end("was interrupted")
        raise
    if errors:
        # What a rank raised of itself comes before what it brought upon those that waited for it.
        own = [rank for rank in sorted(errors) if not isinstance(errors[rank], RankError)]
        raise errors[own[0] if own else min(errors)]
    return [results[rank] for rank in range(len(functions))]
