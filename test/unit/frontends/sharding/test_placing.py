from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import TenonError
from tenon.semantics.ranks.local_world import local_worlds

WHOLE = np.arange(7 * 9, dtype=np.float32).reshape(7, 9)

SPECS = [(), ("x",), ("y",), (None, "x"), ("x", "y"), (("x", "y"),), (None, ("y", "x"))]


def alone() -> tenon.Sharding:
    return tenon.sharding(tenon.Mesh((1,), ("x",)), "x")


def test_each_rank_takes_its_part_and_all_is_gathered_again():
    def run():
        mesh = tenon.Mesh((2, 2), ("x", "y"))
        x = tenon.shard(WHOLE, tenon.sharding(mesh, "x", "y"))
        whole = tenon.gather(x)
        assert isinstance(whole.numpy(), np.ndarray) and np.array_equal(whole.numpy(), WHOLE)
        return x.offsets, x.local.shape, (x.shape, x.dtype, x.ndim, x.size, x.nbytes)

    about = ((7, 9), np.dtype("f4"), 2, 63, 252)
    assert tenon.run_ranks(4, run) == [
        ((0, 0), (4, 5), about),
        ((0, 5), (4, 4), about),
        ((4, 0), (3, 5), about),
        ((4, 5), (3, 4), about),
    ]


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: 2 * x,
        lambda x: x @ x,
        lambda x: x == tenon.shard(WHOLE, alone()),
        lambda x: bool(x),
        lambda x: x[0],
        lambda x: tnp.add(x, 1),
        lambda x: x.sum(),
        lambda x: x != tenon.shard(WHOLE, alone()),
    ],
)
def test_a_sharded_array_that_is_no_argument_of_a_program_says_what_to_do(use):
    x = tenon.shard(WHOLE, alone())
    with pytest.raises(
        TypeError, match=r"^an array of shape \(7, 9\) is spread over 1 ranks: .* as an argument"
    ):
        use(x)
    assert x == x and (x != x) is False and len({x, x}) == 1


@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (1, 4)])
def test_every_sharding_can_follow_every_other(shape):
    def run():
        mesh = tenon.Mesh(shape, ("x", "y"))
        for before, after in permutations(SPECS, 2):
            x = tenon.shard(WHOLE, tenon.sharding(mesh, *before))
            y = tenon.reshard(x, tenon.sharding(mesh, *after))
            assert np.array_equal(y.local.numpy(), WHOLE[y.sharding.box(WHOLE.shape)]), (before, after)

    tenon.run_ranks(shape[0] * shape[1], run)


def test_meshes_of_one_world_can_have_other_shapes():
    def run():
        one, other = tenon.Mesh((4,), ("x",)), tenon.Mesh((2, 2), ("a", "b"))
        x = tenon.reshard(tenon.shard(WHOLE, tenon.sharding(one, "x")), tenon.sharding(other, "b", "a"))
        assert np.array_equal(x.local.numpy(), WHOLE[x.sharding.box(WHOLE.shape)])

    tenon.run_ranks(4, run)


def test_a_rank_sends_only_what_another_one_lacks():
    sent: list[int] = []

    def run():
        mesh = tenon.Mesh((2, 2), ("x", "y"))
        world = mesh.world

        class Counting:
            rank, size = world.rank, world.size

            def begin(self, collective, operand, result):
                if world.rank in [source for source, _ in collective.pairs]:
                    sent.append(operand.nbytes)
                return world.begin(collective, operand, result)

            def begin_check(self, digest, what):
                return world.begin_check(digest, what)

        mesh.world = Counting()
        x = tenon.shard(np.zeros(8, np.float32), tenon.sharding(mesh, "x"))
        tenon.gather(x)

    tenon.run_ranks(4, run)
    # Each of four ranks lacks the half that two others have: one of them sends it.
    assert sent == [16] * 4


def test_files_are_read_in_part(tmp_path: Path):
    path = tmp_path / "whole.npy"
    np.save(path, WHOLE)

    def run():
        mesh = tenon.Mesh((3,), ("x",))
        spread = tenon.sharding(mesh, None, "x")
        for source in (path, str(path), np.load(path, mmap_mode="r")):
            x = tenon.shard(source, spread)
            assert np.array_equal(tenon.gather(x).numpy(), WHOLE)
            assert not np.shares_memory(x.local.numpy(), WHOLE)

    tenon.run_ranks(3, run)


def test_files_of_other_byte_orders_are_read(tmp_path: Path):
    np.save(tmp_path / "big.npy", WHOLE.astype(">f4"))
    assert np.array_equal(tenon.shard(tmp_path / "big.npy", alone()).local.numpy(), WHOLE)


def test_a_function_gives_each_rank_its_part():
    def run():
        mesh = tenon.Mesh((2, 2), ("x", "y"))
        spread = tenon.sharding(mesh, "y", "x")
        x = tenon.shard_from(lambda index: WHOLE[index], WHOLE.shape, np.float32, spread)
        assert np.array_equal(tenon.gather(x).numpy(), WHOLE)

    tenon.run_ranks(4, run)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (np.zeros((7, 9)), TypeError, r"^shard_from: the function gives float64, expected float32$"),
        (WHOLE[:6], TenonError, r"^shard_from: the function gives shape \(6, 9\), expected \(7, 9\)$"),
        ("x", TypeError, r"^array: cannot take str, expected a numpy array or a scalar$"),
    ],
)
def test_a_function_that_gives_something_else_is_an_error(given, error, message):
    with pytest.raises(error, match=message):
        tenon.shard_from(lambda index: given, WHOLE.shape, np.float32, alone())


def test_a_file_that_is_no_array_is_an_error(tmp_path: Path):
    path = tmp_path / "whole.npy"
    path.write_bytes(b"no array")
    with pytest.raises(TenonError, match=r"^shard: .*whole\.npy cannot be mapped: "):
        tenon.shard(path, alone())
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(TenonError, match=r"^shard: .*whole\.npy cannot be mapped: "):
        tenon.shard(path, alone())
    with pytest.raises(OSError, match=r"no\.npy"):
        tenon.shard(tmp_path / "no.npy", alone())


def test_what_is_no_sharding_or_no_sharded_array_is_an_error():
    x = tenon.shard(WHOLE, alone())
    with pytest.raises(
        TypeError, match=r"^shard: 'x' is no sharding \(hint: tenon\.sharding\(mesh, \.\.\.\)\)$"
    ):
        tenon.shard(WHOLE, "x")
    with pytest.raises(TypeError, match=r"^gather: ndarray is no sharded array$"):
        tenon.gather(WHOLE)
    with pytest.raises(TypeError, match=r"^reshard: ndarray is no sharded array$"):
        tenon.reshard(WHOLE, alone())
    with pytest.raises(
        TypeError, match=r"spread over 1 ranks \(hint: x\.local .* tenon\.gather\(x\) for all"
    ):
        np.asarray(x)
    assert repr(x) == "<sharded float32[7, 9] by sharding(Mesh(x=1))>"


def test_another_world_is_an_error():
    one, other = (tenon.Mesh((1,), ("x",), world=local_worlds(1)[0]) for _ in range(2))
    x = tenon.shard(WHOLE, tenon.sharding(one, "x"))
    with pytest.raises(TenonError, match=r"^reshard: Mesh\(x=1\) is of another world than Mesh\(x=1\)$"):
        tenon.reshard(x, tenon.sharding(other, "x"))


@pytest.mark.parametrize("other", [WHOLE.astype(np.int32), WHOLE[:6]], ids=["dtype", "shape"])
def test_ranks_that_reshard_other_arrays_are_an_error(other: np.ndarray):
    def run():
        mesh = tenon.Mesh((2,), ("x",))
        tenon.gather(tenon.shard(other if mesh.rank else WHOLE, tenon.sharding(mesh, "x")))

    with pytest.raises(tenon.RankError, match=r"differ in their array that is gathered or resharded: 1 from"):
        tenon.run_ranks(2, run)
