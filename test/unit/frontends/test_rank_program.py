"""tenon.jit of sharded arguments, on ranks that are threads."""

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import RankError, TenonError

A = np.random.default_rng(0).standard_normal((13, 10)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((10, 7)).astype(np.float32)


def on(ranks, function, shape=None):
    shape = (ranks,) if shape is None else shape
    return tenon.run_ranks(ranks, lambda: function(tenon.Mesh(shape, ("x", "y")[: len(shape)])))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a_program_of_all_ranks_gives_what_one_gives(ranks: int):
    def f(a, b):
        return {"sums": tnp.sum(tnp.exp(a @ b), axis=0), "shifted": a * 2 + 1}

    def run(mesh):
        a, b = tenon.shard(A, tenon.sharding(mesh, "x")), tenon.shard(B, tenon.sharding(mesh))
        found = tenon.jit(f)(a, b)
        assert found["shifted"].sharding == tenon.sharding(mesh, "x")
        return {name: tenon.gather(each).numpy() for name, each in found.items()}

    wanted = tenon.jit(f)(A, B)
    for found in on(ranks, run):
        np.testing.assert_allclose(found["sums"], wanted["sums"].numpy(), rtol=1e-5)
        np.testing.assert_array_equal(found["shifted"], wanted["shifted"].numpy())


def test_products_are_split_along_both_axes_of_a_mesh():
    def run(mesh):
        blocks = tenon.sharding(mesh, "x", "y")
        a, b = tenon.shard(A, blocks), tenon.shard(B, blocks)
        found = tenon.jit(lambda a, b: tenon.shard(a @ b, blocks))(a, b)
        assert found.sharding == blocks and found.shape == (13, 7)
        np.testing.assert_allclose(tenon.gather(found).numpy(), A @ B, rtol=1e-4, atol=1e-5)

    on(4, run, (2, 2))


def test_halos_are_exchanged_in_a_loop():
    def heat(u, steps):
        def step(_, u):
            around = tnp.pad(u, 1)
            return u + 0.1 * (around[2:] + around[:-2] - 2 * u)

        return tenon.fori_loop(0, steps, step, u)

    program = tenon.jit(heat, static_argnames="steps")
    u = A[:, 0].copy()
    wanted = program(u, steps=20).numpy()

    def run(mesh):
        return tenon.gather(program(tenon.shard(u, tenon.sharding(mesh, "x")), steps=20)).numpy()

    for ranks in (2, 3, 4):
        for found in on(ranks, run):
            np.testing.assert_array_equal(found, wanted)


def test_arguments_that_are_not_sharded_are_whole_on_every_rank():
    weights = np.arange(10, dtype=np.float32)

    def run(mesh):
        found = tenon.jit(lambda a, scale: a * scale + weights)(
            tenon.shard(A, tenon.sharding(mesh, "x")), 2.0
        )
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A * np.float32(2) + weights)

    on(2, run)


def test_a_function_can_say_itself_how_its_arrays_are_split():
    def run(mesh):
        found = tenon.jit(lambda a: tenon.shard(a, tenon.sharding(mesh, None, "x")) + 1)(A)
        assert found.local.shape == (13, 5)
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A + 1)

    on(2, run)


def test_a_function_that_makes_its_mesh_has_a_program_for_each_rank():
    @tenon.jit
    def program(a):
        mesh = tenon.Mesh((2,), ("x",))
        return tenon.shard(a, tenon.sharding(mesh, "x")) + 1

    def run(mesh):
        found = program(A)
        np.testing.assert_array_equal(found.local.numpy(), A[tenon.sharding(mesh, "x").box(A.shape)] + 1)

    for _ in range(2):
        on(2, run)
    misses = [str(miss) for miss in program.explain_misses()]
    assert len(misses) == 4 and "it is of another rank of this process" in misses[1]


def test_another_sharding_is_another_program_and_the_same_one_is_not():
    def run(mesh):
        program = tenon.jit(lambda a: a + 1)
        for spec in ("x", "x", None):
            program(tenon.shard(A, tenon.sharding(mesh, spec)))
        return [str(miss) for miss in program.explain_misses()]

    for _, second in on(2, run):
        assert "a: sharding(Mesh(x=2)), was sharding(Mesh(x=2), 'x')" in second


def test_a_donated_array_cannot_be_used_any_more():
    def run(mesh):
        a = tenon.shard(A, tenon.sharding(mesh, "x"))
        found = tenon.jit(lambda a: a + 1, donate_argnums=0)(a)
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A + 1)
        with pytest.raises(TenonError, match="is used after it was donated to <lambda>"):
            a.local.numpy()

    on(2, run)


def test_the_program_of_a_rank_is_text():
    def run(mesh):
        a = tenon.shard(A, tenon.sharding(mesh, "x"))
        lowered = tenon.jit(lambda a: tnp.sum(a, axis=0)).lower(a)
        return lowered.text("traced"), lowered.text("graph")

    traced, graph = on(2, run)[1]
    assert "tensor<13x10xf32> {tenon.sharding = #shard<axisarray[[0], []]>}" in traced
    assert "graph.all_reduce add" in graph and "tensor<6x10xf32>" in graph and "tenon.rank = 1" in graph


def test_an_op_that_cannot_be_split_so_is_named_or_gathered():
    def run(mesh, allow_gather):
        a = tenon.shard(A, tenon.sharding(mesh, None, "x"))
        program = tenon.jit(lambda a: tnp.reshape(a, (130,)), allow_gather=allow_gather)
        return tenon.gather(program(a)).numpy()

    for found in on(2, lambda mesh: run(mesh, True)):
        np.testing.assert_array_equal(found, A.reshape(130))
    with pytest.raises(TenonError, match=r"graph\.reshape: dim 1 of operand 0 is split"):
        on(2, lambda mesh: run(mesh, False))


def test_ranks_with_other_programs_are_an_error():
    def run(mesh):
        a = tenon.shard(A, tenon.sharding(mesh, "x"))
        return tenon.jit(lambda a: a + mesh.rank)(a)

    with pytest.raises(RankError, match="the ranks differ in their program @<lambda>: 1 from rank 0"):
        on(2, run)


def test_arrays_of_several_meshes_are_an_error():
    def run(mesh):
        other = tenon.Mesh((2,), ("z",))
        a, b = tenon.shard(A, tenon.sharding(mesh, "x")), tenon.shard(A, tenon.sharding(other, "z"))
        return tenon.jit(lambda a, b: a + b)(a, b)

    with pytest.raises(TenonError, match=r"arguments are of several meshes \(Mesh\(x=2\), Mesh\(z=2\)\)$"):
        on(2, run)


def test_an_array_of_another_mesh_inside_is_an_error():
    def run(mesh):
        other = tenon.sharding(tenon.Mesh((2,), ("z",)), "z")
        return tenon.jit(lambda a: tenon.shard(a, other))(tenon.shard(A, tenon.sharding(mesh, "x")))

    with pytest.raises(TenonError, match=r"shard: Mesh\(z=2\), and @<lambda> has arrays on Mesh\(x=2\)$"):
        on(2, run)


SAME_OPS = "def f(x):\n    return tnp.sum(x, axis=0)\n"


def of_script(name: str):
    """Returns a function as a script of that name has it."""
    found = {"tnp": tnp}
    exec(compile(SAME_OPS, name, "exec"), found)
    return found["f"]


def test_an_error_of_a_kept_program_has_no_line_of_the_script_that_left_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("TENON_CACHE", raising=False)

    def run(mesh, script, ends):
        x = tenon.shard(A, tenon.sharding(mesh, "x"))
        f = tenon.jit(of_script(script), name="f")
        f(x)
        if not ends or mesh.rank == 0:
            f(x)

    on(2, lambda mesh: run(mesh, "first_script.py", False))
    hits = tenon.cache_info().hits
    with pytest.raises(RankError, match="rank 1 has ended") as caught:
        on(2, lambda mesh: run(mesh, "second_script.py", True))
    assert tenon.cache_info().hits == hits + 2
    assert "first_script.py" not in str(caught.value)


def test_an_array_that_is_read_from_outside_is_an_argument_as_it_is_split():
    class Holder:
        pass

    def run(mesh):
        rows, columns = tenon.sharding(mesh, "x"), tenon.sharding(mesh, None, "x")
        x, holder = tenon.shard(A, rows), Holder()
        program = tenon.jit(lambda x: x + holder.w)
        for number, w in enumerate(
            [tenon.shard(A, rows), tenon.shard(A * 2, rows), tenon.shard(A * 3, columns), A * 4]
        ):
            holder.w = w
            np.testing.assert_array_equal(tenon.gather(program(x)).numpy(), A + A * (number + 1))
        holder.w = tenon.shard(A * 5, rows)
        np.testing.assert_array_equal(tenon.gather(program(x)).numpy(), A + A * 5)
        text = program.lower(x).text("traced")
        assert text.count("tenon.sharding = #shard<axisarray[[0], []]>") == 2
        return len(program.explain_misses())

    # One for each way in which it is split, and one where all have it.
    assert on(2, run) == [3, 3]


def test_parts_that_the_function_reads_while_it_is_traced_are_those_of_one_array():
    def run(mesh):
        rows = tenon.sharding(mesh, "x")
        x = tenon.shard(A, rows)
        w = tenon.shard(A, rows)
        program = tenon.jit(lambda x: x * tenon.gather(w).numpy().max())
        for scale in (1, 2):
            w = tenon.shard(A * scale, rows)
            np.testing.assert_array_equal(tenon.gather(program(x)).numpy(), A * (A * scale).max())
        assert "'w' has changed" in str(program.explain_misses())

    on(2, run)


def test_one_in_a_list_and_one_of_a_function_that_is_called_are_read_too():
    def run(mesh):
        x, ws = (tenon.shard(A * scale, tenon.sharding(mesh, "x")) for scale in (1, 2))
        ws = [ws]
        inner = tenon.jit(lambda x, w: x - w)
        program = tenon.jit(lambda x: sum((inner(x, w) for w in ws), inner(ws[0], x)))
        np.testing.assert_array_equal(tenon.gather(program(x)).numpy(), (A - A * 2) + (A * 2 - A))
        ws.append(x)
        wanted = (A - A * 2) + (A * 2 - A) + (A - A)
        np.testing.assert_array_equal(tenon.gather(program(x)).numpy(), wanted)
        for said in (tenon.shard, tenon.reshard):
            split = tenon.jit(lambda said: said(ws[0], tenon.sharding(mesh, None, "x")), static_argnums=0)
            columns = split(said)
            assert columns.sharding == tenon.sharding(mesh, None, "x")
            np.testing.assert_array_equal(tenon.gather(columns).numpy(), A * 2)

    on(3, run)


def test_the_values_of_an_array_that_is_read_from_outside_are_not_known_in_a_trace():
    def run(mesh):
        w = tenon.shard(A, tenon.sharding(mesh, "x"))
        tests = {"bool": lambda: bool(w), "==": lambda: bool((w == w).all()), "!=": lambda: bool((w != w)[0])}
        for test in tests.values():
            with pytest.raises(tenon.TracingError, match="bool: the values of an array of dtype"):
                tenon.jit(test)()
        # Where it is unequal to itself it has no number.
        assert not tenon.gather(tenon.jit(lambda: (w != w).any())()).numpy()

    on(2, run)


def test_a_function_of_parts_reads_no_sharded_array_from_outside():
    def run(mesh):
        w = tenon.shard(A[:12], tenon.sharding(mesh, "x"))
        mapped = tenon.shard_map(lambda x: x + w, mesh, tenon.PartitionSpec("x"), tenon.PartitionSpec("x"))
        for call in (mapped, tenon.jit(mapped)):
            with pytest.raises(
                tenon.TracingError, match=r"over 2 ranks, and a function of parts reads it .*as an argument"
            ):
                call(w)
        given = tenon.shard_map(lambda x, w: x + w, mesh, tenon.PartitionSpec("x"), tenon.PartitionSpec("x"))
        found = tenon.jit(lambda x: given(x, w))(A[:12])
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A[:12] * 2)

    on(2, run)


def test_an_array_that_is_read_from_outside_is_on_the_mesh_of_the_arguments():
    def run(mesh):
        other = tenon.Mesh((2,), ("y",))
        w = tenon.shard(A, tenon.sharding(other, "y"))
        with pytest.raises(
            TenonError, match=r"an array that is read from outside is on Mesh\(y=2\), others are on Mesh\(x=2"
        ):
            tenon.jit(lambda x: x + w)(tenon.shard(A, tenon.sharding(mesh, "x")))

    on(2, run)


def test_what_gives_another_array_whenever_it_is_read_is_found():
    def run(mesh):
        rows, columns = (tenon.shard(A, tenon.sharding(mesh, *spec)) for spec in (("x",), (None, "x")))

        class Turning:
            given = rows

            @property
            def w(self):
                return self.given if self.turns is None else next(self.turns)

        holder = Turning()
        holder.turns = None
        program = tenon.jit(lambda x: x + holder.w)
        program(rows)
        for given, shown in ((columns, r"sharding\(Mesh\(x=2\), None, 'x'\)"), (A, "not sharded")):
            holder.turns = iter([rows, given])
            with pytest.raises(
                tenon.CallError, match=f"<lambda>: an array that is read from outside is {shown}, expected "
            ):
                program(rows)

    on(2, run)
