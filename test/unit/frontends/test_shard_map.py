"""tenon.shard_map and the collectives that its functions name, on ranks that are threads."""

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import PartitionSpec as P
from tenon import RankError, TenonError

ROWS = P("x")

A = np.random.default_rng(0).integers(-9, 9, (12, 8)).astype(np.float32)


def on(ranks, function, shape=None):
    shape = (ranks,) if shape is None else shape
    return tenon.run_ranks(ranks, lambda: function(tenon.Mesh(shape, ("x", "y")[: len(shape)])))


def parts(ranks, function, out_specs=ROWS, x=A):
    """Returns what each rank of a line has of what a function of parts of rows gives."""

    def run(mesh):
        return tenon.shard_map(function, mesh, P("x"), out_specs)(x).local.numpy()

    return on(ranks, run)


def rows(count):
    return np.split(A, count)


def test_reductions_are_of_all_ranks_along_an_axis():
    for name, reduce in (("psum", np.sum), ("pmax", np.max), ("pmin", np.min), ("pmean", np.mean)):
        wanted = reduce(np.stack(rows(4)), axis=0)
        for found in parts(4, lambda x, name=name: getattr(tenon, name)(x, "x"), P()):
            np.testing.assert_array_equal(found, wanted)


def test_reductions_take_trees_several_axes_and_numbers():
    def run(mesh):
        def f(x):
            return tenon.psum({"sum": tnp.sum(x), "count": 1}, ("x", "y"))

        found = tenon.shard_map(f, mesh, P("x", "y"), P())(A)
        assert found["count"] == 4
        assert found["sum"].local.item() == A.sum()
        along_y = tenon.shard_map(lambda x: tenon.psum(x, "y"), mesh, P("x", "y"), P("x"))(A)
        np.testing.assert_array_equal(tenon.gather(along_y).numpy(), A[:, :4] + A[:, 4:])

    on(4, run, (2, 2))


def test_what_is_gathered_is_stacked_or_one_after_the_other():
    for found in parts(3, lambda x: tenon.all_gather(x, "x", axis=1), P()):
        np.testing.assert_array_equal(found, np.stack(rows(3), axis=1))
    for found in parts(3, lambda x: tenon.all_gather(x, "x", axis=-1, tiled=True), P()):
        np.testing.assert_array_equal(found, np.concatenate(rows(3), axis=1))


def test_what_is_scattered_is_a_part_of_the_sum():
    total = sum(rows(2))
    found = parts(2, lambda x: tenon.reduce_scatter(x, "x", scatter_dimension=1, tiled=True), P("x"))
    np.testing.assert_array_equal(np.concatenate(found, axis=1), total)
    # jax's name for it, of a dim with an element for each rank.
    found = parts(4, lambda x: tenon.psum_scatter(tnp.sum(tnp.reshape(x, (3, 4, 2)), axis=0), "x"), P("x"))
    wanted = np.sum(np.stack(rows(4)).reshape(4, 3, 4, 2), axis=(0, 1))
    np.testing.assert_array_equal(np.stack(found), wanted)


@pytest.mark.parametrize(("split", "concat"), [(0, 1), (1, 0), (0, 0), (1, 1), (-1, 0)])
def test_parts_are_exchanged_one_after_the_other(split: int, concat: int):
    whole = rows(2)
    for rank, found in enumerate(
        parts(2, lambda x: tenon.all_to_all(x, "x", split, concat, tiled=True), P("x"))
    ):
        wanted = np.concatenate([np.split(each, 2, split)[rank] for each in whole], concat)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("concat", [0, 1, 2])
def test_parts_are_exchanged_and_stacked(concat: int):
    x = A.reshape(4, 3, 4, 2)

    def f(x):
        return tenon.all_to_all(x[0], "x", 1, concat)

    for rank, found in enumerate(parts(4, f, P("x"), x)):
        wanted = np.stack([each[:, rank] for each in x], concat)
        np.testing.assert_array_equal(found, wanted)


def test_arrays_are_sent_from_rank_to_rank_and_who_gets_none_has_zeros():
    for permute in (tenon.permute, tenon.ppermute):
        found = parts(3, lambda x, permute=permute: permute(x, "x", [(0, 1), (1, 2)]))
        np.testing.assert_array_equal(found[0], np.zeros_like(found[0]))
        np.testing.assert_array_equal(np.stack(found[1:]), np.stack(rows(3)[:2]))


def test_a_rank_knows_its_number():
    found = parts(4, lambda x: x[:1, :1] * 0 + tenon.axis_index("x"))
    assert [each.item() for each in found] == [0, 1, 2, 3]

    def run(mesh):
        def f(x):
            number = tenon.axis_index(("y", "x"))
            return tnp.reshape(number * 100 + tenon.axis_size(("x", "y")), (1, 1))

        return tenon.shard_map(f, mesh, P("x", "y"), P("x", "y"))(A).local.item()

    assert on(4, run, (2, 2)) == [4, 204, 104, 304]


def test_collectives_stand_in_loops():
    def f(x):
        return tenon.fori_loop(0, 3, lambda _, x: tenon.permute(x, "x", [(0, 1), (1, 0)]) + 1, x)

    found = parts(2, f)
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate(rows(2)[::-1]) + 3)


def test_arguments_and_results_are_trees_with_specs_like_them():
    def run(mesh):
        def f(both, scale):
            return [both["a"] * scale, (both["b"], "text")]

        mapped = tenon.shard_map(f, mesh, ({"a": P("x"), "b": P()}, P()), (P("x"), P()))
        whole = tenon.shard(A, tenon.sharding(mesh, None, "x"))
        first, (second, text) = mapped({"a": whole, "b": A}, 2.0)
        assert text == "text" and second.local.shape == A.shape
        np.testing.assert_array_equal(tenon.gather(first).numpy(), A * 2)
        return repr(mapped)

    assert on(2, run)[0] == "<shard_map f on Mesh(x=2)>"


def test_a_spec_can_be_a_sharding():
    def run(mesh):
        rows = tenon.sharding(mesh, "x")
        return tenon.shard_map(lambda x: x + 1, mesh, rows, rows)(A).local.numpy()

    np.testing.assert_array_equal(np.concatenate(on(2, run)), A + 1)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: tenon.psum(x, "z"), ValueError, r"^psum: the mesh has no axis 'z', it has x"),
        (lambda x: tenon.all_gather(x, "x", axis=3), ValueError, r"^all_gather: dim 3 is out of range"),
        (
            lambda x: tenon.reduce_scatter(x, "x"),
            ValueError,
            r"^reduce_scatter: dim 0 has extent 6, expected 2, one for each rank \(shape \(6, 8\)\)",
        ),
        (
            lambda x: tenon.all_to_all(x[:5], "x", 0, 1, tiled=True),
            ValueError,
            r"^all_to_all: dim 0 has extent 5, expected a multiple of 2",
        ),
        (lambda x: tenon.permute(x, "x", [(0, 1), (1, 1)]), TenonError, r"graph\.collective_permute: "),
        (lambda x: tenon.axis_index(()), ValueError, r"^axis_index: no axis is named"),
    ],
)
def test_what_a_collective_cannot_do_is_an_error(function, error, message):
    with pytest.raises(error, match=message):
        parts(2, function)


def test_no_mesh_or_no_spec_is_an_error():
    mesh = tenon.Mesh((1,), ("x",))
    with pytest.raises(TypeError, match=r"^shard_map: 'x' is not a mesh$"):
        tenon.shard_map(lambda x: x, "x", P(), P())
    with pytest.raises(TypeError, match=r"^shard_map: in_specs has 'x', expected a PartitionSpec, or a tree"):
        tenon.shard_map(lambda x: x, mesh, "x", P())
    other = tenon.sharding(tenon.Mesh((1,), ("z",)))
    with pytest.raises(
        TypeError, match=r"^shard_map: out_specs has a sharding of Mesh\(z=1\), expected one of"
    ):
        tenon.shard_map(lambda x: x, mesh, P(), other)
    with pytest.raises(
        TenonError, match=r"^shard_map: in_specs is a tuple of 2, which does not fit a tuple of 1 there"
    ):
        tenon.shard_map(lambda x: x, mesh, (P(), P()), P())(A)


def test_parts_that_are_not_equal_are_an_error():
    message = r"^shard_map: f: dim 0 of an argument of shape \(12, 8\) does not split evenly over x, 5 ranks"

    def f(x):
        return x

    with pytest.raises(TenonError, match=message):
        parts(5, f)


def test_a_result_of_less_dims_than_its_spec_is_an_error():
    with pytest.raises(TenonError, match=r"is of 1 dims, and a result has shape \(\)$"):
        parts(2, lambda x: tnp.sum(x))


def test_a_collective_outside_is_an_error():
    message = r"^psum: no mesh has axes here \(hint: inside of a function of tenon\.shard_map\)$"
    with pytest.raises(TenonError, match=message):
        tenon.psum(A, "x")


def test_ranks_with_other_functions_are_an_error():
    def run(mesh):
        other = tenon.psum if mesh.rank else tenon.pmax
        return tenon.shard_map(lambda x: other(x, "x"), mesh, P("x"), P())(A)

    with pytest.raises(RankError, match="the ranks differ in their program @<lambda>: 1 from rank 0"):
        on(2, run)


def while_small(x):
    return tenon.while_loop(
        lambda s: tenon.psum(tnp.sum(s), "x") < 500, lambda s: s + tenon.pmax(s, "x"), tnp.abs(x) + 1
    )


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("name", ["cond", "index", "while"])
def test_groups_of_ranks_may_take_another_branch_of_what_they_alone_exchange(name: str, is_inside: bool):
    function = {
        "cond": lambda x: tenon.cond(
            tenon.psum(tnp.sum(x), "x") > 0, lambda: tenon.psum(x, "x"), lambda: x * 2
        ),
        "index": lambda x: tenon.cond(tenon.axis_index("y") == 1, lambda: tenon.psum(x, "x"), lambda: x * 2),
        "while": while_small,
    }[name]

    def run(mesh):
        mapped = tenon.shard_map(function, mesh, P("x", "y"), P("x", "y"))
        f = tenon.jit(lambda x: mapped(x) * 1) if is_inside else mapped
        x = tenon.shard(A, tenon.sharding(mesh, "x", "y"))
        first = tenon.gather(f(x)).numpy()
        np.testing.assert_array_equal(tenon.gather(f(x)).numpy(), first)
        return first

    columns = np.split(A, 2, axis=1)
    wanted = []
    for number, column in enumerate(columns):
        upper, lower = np.split(column, 2)
        if name == "while":
            upper, lower = abs(upper) + 1, abs(lower) + 1
            while upper.sum() + lower.sum() < 500:
                most = np.maximum(upper, lower)
                upper, lower = upper + most, lower + most
        elif number == 1 if name == "index" else column.sum() > 0:
            upper = lower = upper + lower
        else:
            upper, lower = upper * 2, lower * 2
        wanted.append(np.concatenate([upper, lower]))
    for found in on(4, run, (2, 2)):
        np.testing.assert_array_equal(found, np.concatenate(wanted, axis=1))


def branch(part, scale, more):
    return tenon.cond(tnp.sum(part) > scale, lambda: tenon.psum(part, "x"), lambda: part * more["a"])


def loop(part, scale, more):
    return tenon.while_loop(lambda s: tnp.sum(s) < scale, lambda s: tenon.pmax(s, "x") * more["a"] + 1, part)


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize("function", [branch, loop])
def test_ranks_that_would_wait_for_ever_are_told_so_with_the_line(function, is_inside: bool):
    def run(mesh):
        mapped = tenon.shard_map(function, mesh, (P("x"), P(), P()), P("x"))
        f = tenon.jit(lambda *xs: mapped(*xs)) if is_inside else mapped
        return f(tenon.shard(A, tenon.sharding(mesh, "x")), 3.0, {"a": np.float32(2)})

    line = function.__code__.co_firstlineno + 1
    op = "if" if function is branch else "while"
    with pytest.raises(
        TenonError,
        match=rf"test_shard_map.py:{line}:\d+: error: graph.{op}: the condition may differ from rank to rank "
        rf"along x, and ranks along x meet in the graph.all_reduce in it \(.*test_shard_map.py:{line}:\d+\): "
        "some would wait for ever",
    ) as caught:
        on(2, run)
    assert not isinstance(caught.value, RankError) and "return tenon." in str(caught.value)


def test_arguments_that_all_ranks_have_decide_and_so_do_constants():
    def f(x, most, static):
        again = tenon.cond(most > 2, lambda: tenon.psum(x, "x"), lambda: x)
        again = tenon.cond(tnp.asarray(static) > LIMIT, lambda: tenon.psum(again, "x"), lambda: again)
        return again

    def run(mesh):
        mapped = tenon.shard_map(f, mesh, (P("x"), P(), P()), P("x"))
        return mapped(A, np.float32(3), 1).local.numpy()

    # An array of numpy's that is read from outside is the same on all ranks.
    for found in on(2, run):
        np.testing.assert_array_equal(found, sum(rows(2)))


LIMIT = np.asarray([1.0, 4.0], np.float32).max(keepdims=True)[0]
