"""Arrays that ranks must have alike, compared where the environment asks for it."""

import numpy as np
import pytest
import tenon

A = np.arange(12, dtype=np.float32).reshape(4, 3)


def on(shape, function):
    names = ("x", "y")[: len(shape)]
    return tenon.run_ranks(int(np.prod(shape)), lambda: function(tenon.Mesh(shape, names)))


@pytest.fixture
def checked(monkeypatch):
    monkeypatch.setenv("TENON_CHECK_RANKS", "1")


def scaled(mesh, factor):
    x = tenon.shard(A, tenon.sharding(mesh, "x"))
    return tenon.gather(tenon.jit(lambda x, scale: x * scale)(x, factor)).numpy()


def test_arguments_that_are_alike_pass(checked):
    for found in on((2, 2), lambda mesh: scaled(mesh, np.full(3, 2, np.float32))):
        np.testing.assert_array_equal(found, A * 2)
    for found in on((1,), lambda mesh: scaled(mesh, 3)):
        np.testing.assert_array_equal(found, A * 3)


def test_an_argument_that_differs_between_ranks_names_the_rank(checked):
    with pytest.raises(
        tenon.RankError, match="argument 1 is the same array on all ranks, and rank 2 has ano"
    ):
        on((4,), lambda mesh: scaled(mesh, np.full(3, mesh.rank // 2, np.float32)))


def test_an_array_that_is_sharded_is_the_same_on_all_ranks(checked):
    with pytest.raises(
        tenon.RankError, match="shard: argument 0 is the same array on all ranks, and rank 1 h"
    ):
        on((2,), lambda mesh: tenon.shard(A + mesh.rank, tenon.sharding(mesh, "x")))


@pytest.mark.parametrize("call", ["jit", "shard_map"])
def test_parts_that_several_ranks_have_are_compared(checked, call):
    def run(mesh):
        rows = tenon.sharding(mesh, "x")
        # Ranks 0 and 1 have the same rows, and 2 and 3.
        x = tenon.shard_from(lambda index: A[index] + (mesh.rank == 3), A.shape, A.dtype, rows)
        if call == "jit":
            return tenon.jit(lambda x: x + 1)(x)
        return tenon.shard_map(lambda x: x + 1, mesh, rows, rows)(x)

    with pytest.raises(
        tenon.RankError, match="0 is the same part of a sharded array, and rank 3 has another"
    ):
        on((2, 2), run)


def test_an_array_that_is_read_from_outside_is_compared_at_each_call(checked):
    def run(mesh):
        table = np.ones(3, np.float32)
        program = tenon.jit(lambda x: x * table)
        x = tenon.shard(A, tenon.sharding(mesh, "x"))
        found = tenon.gather(program(x)).numpy()
        np.testing.assert_array_equal(found, A)
        table[1] += mesh.rank == 1
        program(x)

    with pytest.raises(
        tenon.RankError, match="captured array 0 is the same array on all ranks, and rank 1 h"
    ):
        on((2,), run)


def test_a_sharded_array_that_is_read_from_outside_is_compared_where_ranks_have_the_same_part(checked):
    def run(mesh, differs):
        rows = tenon.sharding(mesh, "x")
        table = tenon.shard_from(
            lambda index: A[index] + (differs and mesh.rank == 3), A.shape, A.dtype, rows
        )
        return tenon.gather(tenon.jit(lambda x: x + table)(tenon.shard(A, rows))).numpy()

    for found in on((2, 2), lambda mesh: run(mesh, False)):
        np.testing.assert_array_equal(found, A + A)
    with pytest.raises(
        tenon.RankError, match="captured array 0 is the same part of a sharded array, and rank 3 has another"
    ):
        on((2, 2), lambda mesh: run(mesh, True))


def test_nothing_is_compared_unless_it_is_asked_for():
    on((2,), lambda mesh: tenon.jit(lambda x, s: x * s)(tenon.shard(A, tenon.sharding(mesh, "x")), mesh.rank))
