import subprocess
import sys

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import PartitionSpec, RankError, TenonError
from tenon.semantics.ranks.local_world import local_worlds


def test_a_rank_lies_row_major_on_its_mesh():
    mesh = tenon.Mesh((2, 3), ("x", "y"), world=local_worlds(6)[4])
    assert (mesh.size, mesh.rank, mesh.coordinates) == (6, 4, (1, 1))
    assert repr(mesh) == "Mesh(x=2, y=3)"


def test_meshes_of_the_same_ranks_are_the_same():
    one, other = local_worlds(2)
    assert tenon.Mesh((2,), "x", world=one) == tenon.Mesh((2,), ("x",), world=one)
    assert len({tenon.Mesh((2,), ("x",), world=one), tenon.Mesh((2,), ("x",), world=other)}) == 2
    assert tenon.Mesh((2,), ("x",), world=one) != tenon.Mesh((2,), ("y",), world=one)


def test_ranks_that_order_all_ranks_otherwise_are_an_error():
    def run(world):
        tenon.Mesh((2,), ("x",), ranks=[0, 1] if world.rank else [1, 0], world=world)

    with pytest.raises(RankError, match="differ in their mesh of all ranks"):
        tenon.run_ranks(2, lambda: run(tenon.current_world()))


def test_without_a_launcher_there_is_one_rank():
    assert tenon.Mesh((1, 1), ("x", "y")).size == 1


@pytest.mark.parametrize(
    ("shape", "names", "error", "message"),
    [
        ((2, 2), ("x",), ValueError, r"^Mesh: shape \(2, 2\) and 1 names of axes, expected one for each$"),
        ((), (), ValueError, r"^Mesh: shape \(\) and 0 names of axes"),
        ((1, 0), ("x", "y"), ValueError, r"^Mesh: an extent is 0, expected 1 or more \(shape \(1, 0\)\)$"),
        (2, ("x",), TypeError, r"^Mesh: the shape is 2, expected a tuple of integers$"),
        ((1.0,), ("x",), TypeError, r"^Mesh: an extent is 1\.0, expected an integer$"),
        ((True,), ("x",), TypeError, r"^Mesh: an extent is True, expected an integer$"),
        ((1,), (3,), TypeError, r"^Mesh: an axis is called 3, expected an identifier$"),
        ((1,), ("a b",), TypeError, r"^Mesh: an axis is called 'a b', expected an identifier$"),
        ((1, 1), ("x", "x"), ValueError, r"^Mesh: axis names \['x', 'x'\] are not different$"),
        (
            (2, 2),
            ("x", "y"),
            TenonError,
            r"^Mesh: rank 0: a mesh of shape \(2, 2\) has 4 ranks, and the world has 1 "
            r"\(hint: mpiexec -n 4\)$",
        ),
    ],
)
def test_a_mesh_that_is_none_is_an_error(shape, names, error, message):
    with pytest.raises(error, match=message):
        tenon.Mesh(shape, names)


def test_ranks_of_threads_have_meshes_of_their_own():
    assert tenon.run_ranks(3, lambda: tenon.Mesh((3,), ("x",)).rank) == [0, 1, 2]


def test_no_ranks_are_an_error():
    with pytest.raises(ValueError, match=r"^run_ranks: 0 ranks, expected 1 or more$"):
        tenon.run_ranks(0, lambda: None)


def test_neither_tenon_nor_a_mesh_of_one_rank_imports_mpi():
    program = "import sys, tenon; tenon.Mesh((1,), ('x',)); print('mpi4py' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


A = np.arange(24, dtype=np.float32).reshape(6, 4)


def test_disjoint_meshes_run_at_once():
    def run():
        left = tenon.Mesh((2,), ("x",), ranks=[3, 1])
        right = tenon.Mesh((3,), ("x",), ranks=(0, 2, 4))
        mesh = left if left.is_here else right
        assert left.is_here != right.is_here
        rows = tenon.sharding(mesh, "x")
        x = tenon.shard(A, rows)
        total = tenon.jit(lambda x: tnp.sum(x, axis=0))(x)
        mapped = tenon.shard_map(lambda x: tenon.psum(x, "x"), mesh, PartitionSpec("x"), PartitionSpec())
        both = tenon.gather(tenon.reshard(x, tenon.sharding(mesh, None, "x"))).numpy()
        return mesh.rank, x.local.numpy(), total.local.numpy(), mapped(x).local.numpy(), both

    found = tenon.run_ranks(5, run)
    assert [rank for rank, *_ in found] == [0, 1, 1, 0, 2]
    for ranks in ((3, 1), (0, 2, 4)):
        parts = np.split(A, len(ranks))
        for part, rank in zip(parts, ranks, strict=True):
            _, local, total, summed, both = found[rank]
            np.testing.assert_array_equal(local, part)
            np.testing.assert_array_equal(total, A.sum(0))
            np.testing.assert_array_equal(summed, sum(parts))
            np.testing.assert_array_equal(both, A)


def test_a_mesh_of_some_ranks_lies_beside_one_of_all():
    def run():
        every, some = tenon.Mesh((3,), ("x",)), tenon.Mesh((2,), ("x",), ranks=[0, 1])
        assert every == tenon.Mesh((3,), ("x",), ranks=[0, 1, 2]) and every != some
        assert some == tenon.Mesh((2,), ("x",), ranks=[0, 1])
        assert some != tenon.Mesh((2,), ("x",), ranks=[1, 0])
        if some.is_here:
            tenon.gather(tenon.shard(A, tenon.sharding(some, "x")))
        return tenon.gather(tenon.shard(A, tenon.sharding(every, "x"))).numpy()

    for found in tenon.run_ranks(3, run):
        np.testing.assert_array_equal(found, A)


def test_a_rank_without_a_part_gets_an_error_that_says_so():
    def run():
        mesh = tenon.Mesh((2,), ("x",), ranks=[0, 1])
        if mesh.is_here:
            return
        rows = tenon.sharding(mesh, "x")
        shape = tenon.Mesh((2, 1), ("x", "y"), ranks=[0, 1])
        assert (mesh.size, repr(shape)) == (2, "Mesh(x=2, y=1)")
        message = r"^rank 2 has no part in a mesh of ranks 0, 1 \(hint: if mesh.is_here\)$"
        mapped = tenon.shard_map(lambda x: x, mesh, PartitionSpec("x"), PartitionSpec("x"))
        world = mesh.world
        for asked in (
            lambda: mesh.rank,
            lambda: tenon.shard(A, rows),
            lambda: mapped(A),
            lambda: tenon.jit(lambda x: tenon.shard(x, rows))(A),
            lambda: world.begin(None, A, A),
            lambda: world.begin_check(b"", ""),
            lambda: world.part((0,)),
        ):
            with pytest.raises(TenonError, match=message):
                asked()

    tenon.run_ranks(3, run)


@pytest.mark.parametrize(
    ("ranks", "error", "message"),
    [
        ([0, 1], TenonError, r"^Mesh: rank 0: there is no rank 1 \(the world has 1\)$"),
        ([-1], TenonError, r"there is no rank -1"),
        ([0.0], TypeError, r"^Mesh: a rank is 0\.0, expected an integer$"),
        ([0, 0], ValueError, r"^Mesh: ranks \[0, 0\] are not different$"),
        ([], TenonError, r"a mesh of shape \(1,\) has 1 ranks, and 0 are given"),
    ],
)
def test_ranks_that_are_none_are_an_error(ranks, error, message):
    with pytest.raises(error, match=message):
        tenon.Mesh((1,), ("x",), ranks=ranks)


def test_ranks_of_a_mesh_whose_programs_differ_are_named_as_they_were_started():
    def run():
        mesh = tenon.Mesh((2,), ("x",), ranks=[1, 2])
        if mesh.is_here:
            mesh.world.begin_check(bytes([mesh.rank]), "thing").wait()

    with pytest.raises(RankError, match="the ranks differ in their thing: 2 from rank 1"):
        tenon.run_ranks(3, run)
