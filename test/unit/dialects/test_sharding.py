"""Meshes and shardings as plain data."""

import pytest
from tenon.dialects.modules.parsing import parse_module
from tenon.dialects.sharding import Mesh, Sharding, blocks
from tenon.errors import TenonError
from xdsl.dialects.builtin import ModuleOp

MESH = Mesh("mesh", (2, 3), ("x", "y"))


def test_a_mesh_reads_what_it_writes():
    assert Mesh.of(parse_module(str(MESH.op()))) == MESH
    assert Mesh.of(parse_module("shard.grid @m(shape = 2x2)")) == Mesh("m", (2, 2), ("axis0", "axis1"))
    assert Mesh.of(ModuleOp([])) is None


@pytest.mark.parametrize("names", ['"xy"', "[1, 2]", '["x"]', '["x", "x"]', '["x", 2, "y"]'])
def test_axes_have_an_array_of_different_names(names: str):
    text = f"shard.grid @m(shape = 2x2) {{axis_names = {names}}}"
    with pytest.raises(TenonError, match=r"axis_names of @m is .*, expected an array of 2 different names"):
        Mesh.of(parse_module(text))


def test_ranks_are_row_major():
    assert MESH.size == 6
    assert [MESH.coordinates(rank) for rank in range(4)] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert MESH.member((1, 0), 3) == 1
    assert MESH.count((0, 1)) == 6


def test_blocks_are_nested():
    assert blocks(7, (3,)) == ((0, 3), (3, 5), (5, 7))
    assert blocks(7, (2, 3)) == ((0, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7))
    assert blocks(5, ()) == ((0, 5),)


def test_a_sharding_reads_what_it_writes():
    sharding = Sharding(((1, 0), ()))
    assert Sharding.of(sharding.attribute) == sharding
    assert Sharding.of_op(sharding.op(MESH), MESH) == sharding
    assert sharding.text(MESH) == "[y/x, -]"
    assert not sharding.is_whole and Sharding.whole(2).is_whole


def test_a_rank_has_its_box():
    sharding = Sharding(((0,), (1,)))
    assert sharding.local_box(MESH, (5, 4), 4) == ((3, 5), (2, 3))
    assert sharding.local_shape(MESH, (5, 4), 0) == (3, 2)


def test_axes_of_extent_one_split_nothing():
    assert Sharding(((0, 1), ())).on(Mesh("m", (1, 4), ("x", "y"))) == Sharding(((1,), ()))


@pytest.mark.parametrize(
    ("split", "reason"),
    [
        (((0,),), "%x has rank 2, its sharding 1 dims"),
        (((2,), ()), "%x is split over axis 2 of a mesh of rank 2"),
        (((0,), (0,)), "%x is split over axis x twice"),
        (((), (0, 1)), "dim 1 of %x has extent 5, which 6 parts of axes x, y do not share"),
    ],
)
def test_what_cannot_be_split_has_a_reason(split: tuple[tuple[int, ...], ...], reason: str):
    assert Sharding(split).wrong(MESH, (4, 5), "%x") == reason
    with pytest.raises(TenonError, match=reason):
        Sharding(split).checked(MESH, (4, 5), "%x")
