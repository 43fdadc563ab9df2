import subprocess
import sys

import pytest
import tenon
from tenon import TenonError
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


def test_without_a_launcher_there_is_one_rank():
    assert tenon.Mesh((1, 1), ("x", "y")).size == 1


@pytest.mark.parametrize(
    ("shape", "names", "error", "message"),
    [
        ((2, 2), ("x",), ValueError, r"^Mesh: shape \(2, 2\) and 1 names of axes, expected one for each$"),
        ((), (), ValueError, r"^Mesh: shape \(\) and 0 names of axes"),
        ((1, 0), ("x", "y"), ValueError, r"^Mesh: an extent is 0, expected 1 or more \(shape \(1, 0\)\)$"),
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
