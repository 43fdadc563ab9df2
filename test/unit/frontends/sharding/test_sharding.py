import pytest
import tenon
from tenon import TenonError
from tenon.semantics.ranks.local_world import local_worlds

WORLDS = local_worlds(6)


def mesh(rank: int = 0) -> tenon.Mesh:
    return tenon.Mesh((2, 3), ("x", "y"), world=WORLDS[rank])


def boxes(spec, shape):
    return [tenon.sharding(mesh(rank), *spec).box(shape) for rank in range(6)]


def test_a_dim_is_split_into_parts_of_which_the_first_have_one_more():
    rows = boxes((None, "y"), (2, 7))
    assert rows[:3] == [(slice(0, 2), slice(0, 3)), (slice(0, 2), slice(3, 5)), (slice(0, 2), slice(5, 7))]
    assert rows[3:] == rows[:3]


def test_parts_of_several_axes_refine_those_of_the_first():
    rows = [box[0] for box in boxes((("x", "y"),), (7,))]
    assert rows == [slice(0, 2), slice(2, 3), slice(3, 4), slice(4, 5), slice(5, 6), slice(6, 7)]


def test_dims_that_are_not_named_are_whole():
    assert tenon.sharding(mesh(), "x", None, None) == tenon.sharding(mesh(), "x")
    assert tenon.sharding(mesh(), None).is_whole and not tenon.sharding(mesh(), "x").is_whole


def test_an_axis_of_one_rank_splits_nothing():
    mesh = tenon.Mesh((1, 1), ("x", "y"))
    assert tenon.sharding(mesh, "x", "y") == tenon.sharding(mesh)


def test_a_sharding_says_what_it_is():
    text = "sharding(Mesh(x=2, y=3), 'x', None, ('y',))".replace("('y',)", "'y'")
    assert repr(tenon.sharding(mesh(), "x", None, "y")) == text


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        (("z",), ValueError, r"^sharding: the mesh has no axis 'z', it has x, y$"),
        (("x", "x"), ValueError, r"^sharding: axis 'x' splits twice$"),
        ((("x", 3),), TypeError, r"^sharding: 3 is no name of an axis$"),
        ((0,), TypeError, r"^sharding: 0 is no name of an axis$"),
    ],
)
def test_axes_that_are_none_are_an_error(spec, error, message):
    with pytest.raises(error, match=message):
        tenon.sharding(mesh(), *spec)


def test_no_mesh_is_an_error():
    with pytest.raises(TypeError, match=r"^sharding: 'x' is not a mesh$"):
        tenon.sharding("x")


def test_what_ranks_do_not_share_is_an_error():
    message = r"^shard: rank 4: dim 0 of the array has extent 2, which 3 parts of axes y do not share$"
    with pytest.raises(TenonError, match=message):
        tenon.sharding(mesh(4), "y").check((2, 2), "shard")
    tenon.sharding(mesh(4), "y").check((3, 2), "shard")


def test_more_dims_than_there_are_are_an_error():
    with pytest.raises(TenonError, match=r"^shard: rank 0: the array has rank 1, its sharding 2 dims$"):
        tenon.sharding(mesh(), None, "y").check((4,), "shard")
