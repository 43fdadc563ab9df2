"""What a fingerprint tells apart when values change in place, and what it does not."""

from __future__ import annotations

from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from tenon.frontends.calls.fingerprints import Fingerprint


class Layer:
    activation = "relu"

    def __init__(self) -> None:
        self.weight: Any = 1.5
        self.names = ["a", "b"]


class Other(Layer):
    pass


class Slotted:
    __slots__ = ("weight",)

    def __init__(self) -> None:
        self.weight = 1.5


class OwnPairs(dict[str, Any]):
    """Its items are not those that a dict keeps."""

    scale: ClassVar[list[float]] = [1.0]

    def items(self) -> Any:
        return [(key, value * self.scale[0]) for key, value in super().items()]


class OwnOrder(list[Any]):
    """It is gone through from its end."""

    def __iter__(self) -> Any:
        return reversed(self[:])


class Pair(NamedTuple):
    first: list[int]
    second: int


def _double(x: Any) -> Any:
    return 2 * x


def _triple(x: Any) -> Any:
    return 3 * x


def _layers() -> list[Layer]:
    return [Layer() for _ in range(12)]


def _set_code(function: Any) -> None:
    function.__code__ = _triple.__code__


def _function() -> Any:
    def function(x: Any) -> Any:
        return 2 * x

    return function


def _delete_activation(kind: Any) -> None:
    del kind.activation


def _class() -> type[Any]:
    return type("Made", (), {"activation": "relu", "sizes": [1, 2]})


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "an item of a list": (lambda: [1, [2, 3]], lambda x: x[1].__setitem__(0, 4)),
    "the length of a list": (lambda: [1, [2, 3]], lambda x: x[1].append(3)),
    "the order of a list": (lambda: [[2], [3]], lambda x: x.reverse()),
    "a list of the most items": (lambda: [0] * 2047, lambda x: x.__setitem__(2046, 1)),
    "a long list": (lambda: [0] * 3000, lambda x: x.__setitem__(7, 1)),
    "a value of a dict": (lambda: {"a": {"b": 1}}, lambda x: x["a"].update(b=2)),
    "a key of a dict, its value kept": (lambda: {"a": 1}, lambda x: x.update(b=x.pop("a"))),
    "the order of a dict": (lambda: {"a": 1, "b": 1}, lambda x: x.update(a=x.pop("a"))),
    "a default": (lambda: defaultdict(list, a=[1]), lambda x: x["b"]),
    "an ordered dict": (lambda: OrderedDict[str, int](a=1, b=2), lambda x: x.move_to_end("a")),
    "a dict with items of its own": (lambda: OwnPairs(a=1.0), lambda x: x.scale.__setitem__(0, 2.0)),
    "a list with an order of its own": (lambda: OwnOrder([1, 2]), lambda x: x.__setitem__(0, 3)),
    "a deque": (lambda: deque([1, 2], maxlen=2), lambda x: x.append(3)),
    "a set": (lambda: {1, 2}, lambda x: x.symmetric_difference_update({2, 3})),
    "bytes": (lambda: [bytearray(b"ab")], lambda x: x[0].__setitem__(0, 0)),
    "plain numbers": (lambda: (array("d", [1.0, 2.0]),), lambda x: x[0].__setitem__(0, -1.0)),
    "a dict seen through a proxy": (lambda: (d := {"a": 1}, MappingProxyType(d)), lambda x: x[0].update(a=2)),
    "a list in a named tuple": (lambda: Pair([1], 2), lambda x: x.first.append(2)),
    "an attribute": (Layer, lambda x: setattr(x, "weight", 2.5)),
    "an attribute that was not there": (Layer, lambda x: setattr(x, "bias", 2.5)),
    "an attribute that is gone": (Layer, lambda x: delattr(x, "weight")),
    "an attribute over that of the class": (Layer, lambda x: setattr(x, "activation", "tanh")),
    "a list of an object in a list": (_layers, lambda x: x[11].names.append("c")),
    "the class of an object": (Layer, lambda x: setattr(x, "__class__", Other)),
    "the dict of an object": (Layer, lambda x: setattr(x, "__dict__", {"weight": 2.5})),
    "a slot": (Slotted, lambda x: setattr(x, "weight", 2.5)),
    "a slot that is empty": (Slotted, lambda x: delattr(x, "weight")),
    "a name": (lambda: SimpleNamespace(a=1), lambda x: setattr(x, "a", 2)),
    "a keyword of a partial": (lambda: partial(_double, x=[1]), lambda x: x.keywords.update(x=[2])),
    "an item in a partial": (lambda: partial(_double, [1]), lambda x: x.args[0].append(2)),
    "a partial": (lambda: partial(_double, 1), lambda x: x.__setstate__((_double, (2,), {}, {}))),
    "the code of a function": (lambda: [_function()], lambda x: _set_code(x[0])),
    "an attribute of a class": (_class, lambda x: setattr(x, "activation", "tanh")),
    "a list of a class": (_class, lambda x: x.sizes.append(3)),
    "an attribute that a class has no more": (_class, _delete_activation),
    "a negative zero": (lambda: [0.0], lambda x: x.__setitem__(0, -0.0)),
    "a bool for a number": (lambda: [1], lambda x: x.__setitem__(0, True)),
    "a number of numpy's": (lambda: [np.float32(1)], lambda x: x.__setitem__(0, np.float64(1))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_in_place_is_seen(name: str) -> None:
    make, change = CHANGES[name]
    value = make()
    seen = Fingerprint(value)
    assert seen.matches(value) and seen.matches(value)
    change(value)
    assert not seen.matches(value)
    assert not seen.matches(value)
    assert Fingerprint(value).matches(value)


EQUALS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "a float": (lambda: [1.5, 2.0], lambda x: x.__setitem__(0, float("1.5"))),
    "a list": (lambda: {"a": [1, 2]}, lambda x: x.update(a=[1, 2])),
    "a large number": (lambda: [10**20], lambda x: x.__setitem__(0, int("1" + "0" * 20))),
    "an attribute": (Layer, lambda x: setattr(x, "names", ["a", "b"])),
    "a method of a class": (_class, lambda x: setattr(x, "run", _double)),
}


@pytest.mark.parametrize("name", EQUALS)
def test_what_is_put_there_anew_and_equal_is_no_change(name: str) -> None:
    make, change = EQUALS[name]
    value = make()
    seen = Fingerprint(value)
    change(value)
    assert seen.matches(value)
    assert seen.matches(value)


def test_a_change_after_an_equal_value_is_seen() -> None:
    value = {"a": [1, 2]}
    seen = Fingerprint(value)
    value["a"] = [1, 2]
    assert seen.matches(value)
    value["a"].append(3)
    assert not seen.matches(value)


def test_tuples_made_of_the_same_objects_are_the_same() -> None:
    layer = Layer()
    seen = Fingerprint((layer, 1))
    assert seen.matches((layer, 1))
    assert not seen.matches((Layer(), 1))
    assert not seen.matches((layer, 1, 2))
    layer.weight = 2.5
    assert not seen.matches((layer, 1))


def test_what_lies_too_deep_is_not_looked_at() -> None:
    value = [[[[[1]]]]]
    seen = Fingerprint(value)
    value[0][0][0][0].append(2)
    assert seen.matches(value)
    value[0][0][0][0] = [1]
    assert not seen.matches(value)
