"""Trees: what they are made of, and how they are put together again."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.frontends.arrays.tree import flatten, paths, unflatten

Point = namedtuple("Point", ["x", "y"])


@tenon.register_tree
@dataclass
class Layer:
    weight: Any
    bias: Any


class Box:
    def __init__(self, content: Any, label: Any):
        self.content = content
        self.label = label


tenon.register_tree(Box, lambda box: ([box.content], box.label), lambda label, inside: Box(inside[0], label))


def round_trip(tree: Any) -> Any:
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    assert len(list(paths(structure))) == len(leaves)
    return unflatten(structure, iter(leaves))


@pytest.mark.parametrize(
    "tree",
    [
        1,
        None,
        (),
        [],
        {},
        [1, (2, None), {"b": 3, "a": [4]}],
        Point(1, Point(2, (3,))),
        OrderedDict([("z", 1), ("a", 2)]),
        Layer(1, [2, 3]),
        {1: "a", 2: "b"},
    ],
)
def test_a_tree_comes_back(tree: Any):
    again = round_trip(tree)
    assert again == tree
    assert type(again) is type(tree)


def test_a_registered_class_comes_back_with_its_extra_data():
    again = round_trip(Box([1, 2], "numbers"))
    assert (again.content, again.label) == ([1, 2], "numbers")


def test_leaves_of_dicts_are_in_the_order_of_their_keys():
    leaves: list[Any] = []
    first = flatten({"b": 1, "a": 2}, leaves)
    assert leaves == [2, 1]
    assert flatten({"a": 0, "b": 0}, []) is first


def test_structures_that_differ_are_different():
    trees = [
        (0,),
        [0],
        {"a": 0},
        {"b": 0},
        0,
        None,
        (0, 0),
        Point(0, 0),
        Layer(0, 0),
        Box(0, "a"),
        Box(0, "b"),
    ]
    trees += [{1: 0}, {True: 0}, OrderedDict(a=0), {0.0: 0}, {-0.0: 0}, {(1,): 0}, {(True,): 0}]
    trees += [Box(0, label) for label in (0.0, -0.0, 1, 1.0, True, ((1,),), ((True,),), None)]
    structures = [flatten(tree, []) for tree in trees]
    assert len(set(map(id, structures))) == len(trees)
    assert [flatten(tree, []) for tree in trees] == structures


def test_paths_say_how_leaves_are_reached():
    structure = flatten({"w": [1, Point(2, 3)], "layer": Layer(4, (5,))}, [])
    assert list(paths(structure, "p")) == [
        "p['layer'].weight",
        "p['layer'].bias[0]",
        "p['w'][0]",
        "p['w'][1].x",
        "p['w'][1].y",
    ]
    assert str(flatten((1, {"a": 2}), [])) == "tuple([0]: *, [1]: dict(['a']: *))"


def test_extra_data_that_is_not_hashable_is_an_error():
    with pytest.raises(TypeError, match=r"tree: extra data is \[1\], of type list, which is not hashable"):
        flatten(Box(0, [1]), [])


def test_keys_that_cannot_be_sorted_are_an_error():
    with pytest.raises(TypeError, match=r"tree: the keys of a dict cannot be sorted \(\[1, 'a'\]\)"):
        flatten({1: 0, "a": 0}, [])


def test_what_cannot_be_registered_is_an_error():
    with pytest.raises(TypeError, match="register_tree: 3 is not a class"):
        tenon.register_tree(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="register_tree: Layer is a tree already"):
        tenon.register_tree(Layer)
    with pytest.raises(ValueError, match="register_tree: dict is a tree already"):
        tenon.register_tree(dict)
    with pytest.raises(TypeError, match="register_tree: Plain is no dataclass, expected functions"):
        tenon.register_tree(type("Plain", (), {}))


def test_trees_go_in_and_out_of_jitted_functions():
    @tenon.jit
    def f(layer: Layer, box: Box, point: Point, nothing: None) -> Any:
        return Layer(layer.weight + point.x, (layer.bias, nothing)), Box(box.content * 2, box.label), point

    ones = np.ones(2)
    layer, box, point = f(Layer(ones, ones), Box(ones, "b"), Point(ones, 3), None)
    np.testing.assert_array_equal(np.asarray(layer.weight), ones + 1)
    assert layer.bias[1] is None
    assert box.label == "b"
    assert isinstance(point, Point) and int(point.y) == 3
