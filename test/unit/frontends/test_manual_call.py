"""Functions of shard_map called by functions that are traced: a part of one program."""

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import PartitionSpec as P
from tenon import TenonError, TracingError

A = np.random.default_rng(0).integers(1, 9, (8, 4)).astype(np.float32)


def on(ranks, function, shape=None):
    shape = (ranks,) if shape is None else shape
    return tenon.run_ranks(ranks, lambda: function(tenon.Mesh(shape, ("x", "y")[: len(shape)])))


def whole(array):
    return tenon.gather(array).numpy()


def normalised(mesh):
    def f(part, scale):
        total = tenon.psum(tnp.sum(part, axis=0), "x")
        return part / total * scale, total

    return tenon.shard_map(f, mesh, (P("x"), P()), (P("x"), P()))


def wanted(x, scale):
    total = x.sum(0)
    return x / total * scale, total


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_it_is_called_several_times_among_other_ops(ranks: int):
    def run(mesh):
        mapped = normalised(mesh)

        @tenon.jit
        def f(x, y):
            first, total = mapped(x + 1, 2.0)
            second, _ = mapped(first * 2 + y, 1)
            return second[::-1], total

        second, total = f(tenon.shard(A, tenon.sharding(mesh, "x")), A)
        return whole(second), total.local.numpy()

    first, total = wanted(A + 1, 2)
    for found in on(ranks, run):
        np.testing.assert_allclose(found[0], wanted(first * 2 + A, 1)[0][::-1], rtol=1e-6)
        np.testing.assert_array_equal(found[1], total)


def test_it_stands_in_loops_and_branches():
    def run(mesh):
        mapped = normalised(mesh)

        def more(state):
            return state[0] < 3

        def step(state):
            return state[0] + 1, mapped(state[1], 3.0)[0] + 1

        @tenon.jit
        def f(x, rows):
            counted = tenon.fori_loop(0, 2, lambda _, x: mapped(x, 3.0)[0] + 1, x)
            _, found = tenon.while_loop(more, step, (2, counted))
            _, totals = tenon.scan(lambda c, row: (c, mapped(found, row[0])[1]), None, rows)
            taken = tenon.cond(x[0, 0] > 100, lambda: found, lambda: mapped(found, 1.0)[0])
            return found, totals, taken

        return [whole(each) for each in f(tenon.shard(A, tenon.sharding(mesh, "x")), A[:2])]

    x = A
    for _ in range(3):
        x = wanted(x, 3)[0] + 1
    for found, totals, taken in on(2, run):
        np.testing.assert_allclose(found, x, rtol=1e-6)
        np.testing.assert_allclose(totals, np.stack([x.sum(0)] * 2), rtol=1e-6)
        np.testing.assert_allclose(taken, wanted(x, 1)[0], rtol=1e-6)


def test_it_sees_what_is_around_it_whole():
    table = np.arange(2, dtype=np.float32)

    def run(mesh):
        @tenon.jit
        def f(x, y):
            outer = y * 2

            def part_of(part):
                return part + outer[0] + table + 1.5

            return tenon.shard_map(part_of, mesh, P("x", "y"), P("x", "y"))(x)

        return whole(f(tenon.shard(A, tenon.sharding(mesh, "y")), A[:1, :2]))

    around = A[0, :2] * 2 + table + np.float32(1.5)
    for found in on(4, run, (2, 2)):
        np.testing.assert_array_equal(found, A + np.tile(around, 2))


def test_arguments_without_a_sharding_are_enough():
    def run(mesh):
        mapped = tenon.shard_map(lambda x: {"sum": tenon.psum(x, "x"), "name": "s"}, mesh, P("x"), P())
        found = tenon.jit(lambda x: mapped(x))(A)
        assert found["name"] == "s"
        return found["sum"].local.numpy()

    for found in on(2, run):
        np.testing.assert_array_equal(found, A[:4] + A[4:])


def test_jitted_functions_call_one_another():
    def run(mesh):
        mapped = tenon.shard_map(tenon.jit(lambda x: tenon.psum(x, "x")), mesh, P("x"), P())
        inner = tenon.jit(lambda x: mapped(x) + 1)
        return whole(tenon.jit(lambda x: inner(x) * inner(x))(A))

    for found in on(2, run):
        np.testing.assert_array_equal(found, (A[:4] + A[4:] + 1) ** 2)


def test_a_dim_that_does_not_divide_is_an_error():
    def run(mesh):
        mapped = tenon.shard_map(lambda x: x, mesh, P("x"), P("x"))
        tenon.jit(lambda x: mapped(x[:7]))(A)

    message = r"dim 0 of an argument of shape \(7, 4\) does not split evenly over x, 2 ranks"
    with pytest.raises(TenonError, match=message):
        on(2, run)


def test_a_result_of_fewer_dims_than_its_spec_is_an_error():
    def run(mesh):
        mapped = tenon.shard_map(lambda x: x[0], mesh, P("x"), P(None, "x"))
        tenon.jit(lambda x: mapped(x))(A)

    with pytest.raises(TenonError, match=r"is of 2 dims, and a result has shape \(4,\)"):
        on(2, run)


def test_one_in_another_is_an_error():
    def run(mesh):
        inner = tenon.shard_map(lambda x: x, mesh, P("x"), P("x"))
        tenon.shard_map(lambda x: inner(x), mesh, P("x"), P("x"))(A)

    with pytest.raises(TracingError, match=r"shard_map: <lambda> is called in a function of parts"):
        on(1, run)


def test_parts_are_not_annotated():
    def run(mesh):
        rows = tenon.sharding(mesh, "x")
        tenon.shard_map(lambda x: tenon.reshard(x, rows), mesh, P("x"), P("x"))(A)

    with pytest.raises(TracingError, match=r"reshard: the array is the part of one rank"):
        on(1, run)


def test_another_mesh_is_an_error():
    def run(mesh):
        other = tenon.Mesh((1, 2), ("x", "y"))
        mapped = tenon.shard_map(lambda x: x, other, P("y"), P("y"))
        tenon.jit(lambda x: mapped(x))(tenon.shard(A, tenon.sharding(mesh, "x")))

    with pytest.raises(TenonError, match=r"Mesh\(x=1, y=2\), and @<lambda> has arrays on Mesh\(x=2\)"):
        on(2, run)


@pytest.mark.parametrize("name", ["shard", "reshard", "with_sharding_constraint"])
def test_values_are_split_as_a_program_says(name: str):
    def run(mesh):
        columns, rows = tenon.sharding(mesh, None, "x"), tenon.sharding(mesh, "x")
        say = getattr(tenon, name)
        y = tenon.jit(lambda x: say(x + 1, columns))(tenon.shard(A, rows))
        assert y.sharding == columns
        return whole(y)

    for found in on(2, run):
        np.testing.assert_array_equal(found, A + 1)


def test_a_constraint_takes_trees_and_arrays_with_values():
    def run(mesh):
        rows = tenon.sharding(mesh, "x")
        found = tenon.with_sharding_constraint({"a": A, "b": [A]}, rows)
        assert found["a"].sharding == rows
        with pytest.raises(TypeError, match="with_sharding_constraint: None is no sharding"):
            tenon.with_sharding_constraint(A, None)
        return whole(found["b"][0])

    np.testing.assert_array_equal(on(2, run)[1], A)


def of_several_kinds(mesh):
    """Functions of whole arrays whose collectives differ: a sum of all, the next rank's part, none."""
    ranks, rows = mesh.size, P("x")
    ring = [(rank, (rank + 1) % ranks) for rank in range(ranks)]

    def summed(x):
        return tenon.shard_map(lambda part: part * 0 + tenon.psum(tnp.sum(part), "x"), mesh, rows, rows)(x)

    def moved(x):
        return tenon.shard_map(lambda part: tenon.permute(part, "x", ring), mesh, rows, rows)(x)

    return [summed, moved, lambda x: x * 2]


def test_branches_differ_in_what_they_send_where_all_ranks_take_the_same():
    def run(mesh):
        branches, ranks = of_several_kinds(mesh), mesh.size
        even = np.arange(36 * ranks, dtype=np.float32).reshape(6 * ranks, 6)
        x = tenon.shard(even, tenon.sharding(mesh, "x"))
        expected = [np.full_like(even, even.sum()), np.roll(even, 6, axis=0), even * 2]
        chosen = tenon.jit(lambda x, k: tenon.switch(k, branches, x))
        for number in (0, 2, 1):
            np.testing.assert_array_equal(whole(chosen(x, np.int32(number))), expected[number])
        # A sum over the split dim, which all have, is a condition as well.
        for first, second in ((0, 1), (1, 2), (2, 0)):
            program = tenon.jit(
                lambda x, least, first, second: tenon.cond(
                    tnp.sum(x) > least, branches[first], branches[second], x
                ),
                static_argnums=(2, 3),
            )
            np.testing.assert_array_equal(whole(program(x, -1.0, first, second)), expected[first])
            np.testing.assert_array_equal(whole(program(x, 1e9, first, second)), expected[second])

    for ranks in (2, 3, 4):
        on(ranks, run)


def test_ranks_that_send_different_things_in_two_branches_are_told_so():
    def run(mesh):
        def part_of(part):
            ring = [(0, 1), (1, 0)]
            return tenon.cond(
                tenon.axis_index("x") > 0,
                lambda y: y * 0 + tenon.psum(tnp.sum(y), "x"),
                lambda y: tenon.permute(y, "x", ring),
                part,
            )

        return tenon.shard_map(part_of, mesh, P("x"), P("x"))(np.ones((4, 3), np.float32))

    with pytest.raises(
        TenonError, match=r"graph\.if: the condition may differ .* meet in the graph\.all_reduce"
    ):
        on(2, run)
