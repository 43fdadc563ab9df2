"""Ranks that are threads of this process: what every world must do, and what they find at once."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
from tenon.errors import RankError
from tenon.semantics.collectives import Collective
from tenon.semantics.ranks.local_ranks import run_ranks
from tenon.semantics.ranks.local_world import LocalWorld, local_worlds
from tenon.test.contract.world_cases import CASES, drawn, exchanged, line


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("name", CASES)
def test_ranks_in_threads_do_what_every_world_must(name: str, size: int):
    run_ranks([CASES[name]] * size)


def total(world: LocalWorld, channel: int = 1, where: str = "") -> None:
    asked = line(world, "all_reduce", channel, reduction="add", where=where)
    exchanged(world, asked, drawn(world.rank, (2,)), (2,))


def test_one_rank_meets_itself():
    run_ranks([total])


def test_each_rank_gets_its_world_and_gives_its_result():
    assert run_ranks([lambda world: (world.rank, world.size)] * 3) == [(0, 3), (1, 3), (2, 3)]


def test_a_rank_that_ends_leaves_no_other_waiting():
    with pytest.raises(
        RankError,
        match=r"rank 0 waits for graph.all_reduce add on channel 1 \(axes = \[0\]\) at a.mlir:3:5 of ranks "
        "0, 1, and rank 1 has ended",
    ):
        run_ranks([lambda world: total(world, where="a.mlir:3:5"), lambda world: None])


def test_what_a_rank_raises_is_what_all_end_with():
    def fail(world: LocalWorld) -> None:
        total(world)
        raise ValueError("no more")

    def go_on(world: LocalWorld) -> None:
        total(world)
        with pytest.raises(RankError, match="and rank 2 has raised ValueError: no more") as caught:
            total(world)
        assert caught.value.rank == 2
        raise caught.value

    with pytest.raises(ValueError, match="no more"):
        run_ranks([go_on, go_on, fail])


def test_ranks_that_begin_different_collectives_are_found():
    def sum(world: LocalWorld) -> None:
        total(world, where="a.mlir:1:1")

    def gather(world: LocalWorld) -> None:
        exchanged(world, line(world, "all_gather", 1, dim=0, where="b.mlir:2:2"), drawn(1, (1,)), (2,))

    with pytest.raises(
        RankError,
        match=r"rank 0 begins graph.all_reduce add on channel 1 \(axes = \[0\]\) at a.mlir:1:1 where rank 1 "
        r"begins graph.all_gather on channel 1 \(axes = \[0\], dim = 0\) at b.mlir:2:2",
    ):
        run_ranks([sum, gather])


def test_ranks_that_begin_in_different_orders_are_found():
    def both(*channels: int) -> Callable[[LocalWorld], None]:
        def run(world: LocalWorld) -> None:
            asked = [line(world, "all_reduce", channel, reduction="add") for channel in channels]
            results = [np.empty(2, np.float32) for _ in asked]
            requests = [
                world.begin(each, drawn(world.rank, (2,)), result)
                for each, result in zip(asked, results, strict=True)
            ]
            for request in requests:
                request.wait()

        return run

    with pytest.raises(RankError, match=r"rank 0 begins .* on channel 1 .* where rank 1 begins .* channel 2"):
        run_ranks([both(1, 2), both(2, 1)])


def test_members_whose_arrays_do_not_fit_are_found():
    def sum(world: LocalWorld) -> None:
        shape = (2 + world.rank,)
        exchanged(world, line(world, "all_reduce", reduction="add"), drawn(world.rank, shape), shape)

    with pytest.raises(RankError, match=r"rank 1 gives float32\[3\], rank 0 float32\[2\]"):
        run_ranks([sum, sum])


def test_ranks_that_wait_in_a_circle_are_found():
    """Along the rows of a grid first, or along its columns first: each waits for the next one."""

    def meet(world: LocalWorld, axis: int) -> None:
        asked = Collective("all_reduce", axis + 1, (2, 2), (axis,), "add")
        exchanged(world, asked, drawn(world.rank, (2,)), (2,))

    def run(first: int) -> Callable[[LocalWorld], None]:
        return lambda world: (meet(world, first), meet(world, 1 - first))[0]

    with pytest.raises(
        RankError, match=r"the ranks wait for one another: rank 0 waits for .* channel 1"
    ) as caught:
        run_ranks([run(0), run(1), run(1), run(0)])
    for rank in range(4):
        assert f"rank {rank} waits for graph.all_reduce add" in str(caught.value)


def test_ranks_that_compare_programs_while_others_exchange_are_found():
    with pytest.raises(RankError, match="rank 1 waits for the others' program"):
        run_ranks([total, lambda world: world.begin_check(b"", "program").wait()])


def test_many_ranks_meet_many_times():
    def run(world: LocalWorld) -> float:
        value = np.full(1, world.rank, np.float64)
        for _ in range(50):
            asked = line(world, "collective_permute", pairs=tuple((i, (i + 1) % 16) for i in range(16)))
            value = exchanged(world, asked, value, (1,))
        return value[0]

    assert run_ranks([run] * 16) == [(rank - 50) % 16 for rank in range(16)]


def test_no_thread_outlives_the_ranks():
    before = threading.active_count()
    run_ranks([total] * 4)
    assert threading.active_count() == before


def test_a_world_says_which_rank_it_is():
    assert [repr(world) for world in local_worlds(2)] == [
        "LocalWorld(rank 0 of 2)",
        "LocalWorld(rank 1 of 2)",
    ]
