"""Data classes whose methods are made when they are looked up are those of the standard library otherwise."""

import copy
import dataclasses
import inspect
import pickle
import sys
from types import FunctionType, ModuleType
from typing import Any

import pytest
from tenon.dataclass_speed import LateMethod

SOURCE = """
from dataclasses import InitVar, KW_ONLY, dataclass, field

@dataclass(frozen=True)
class Frozen:
    x: int
    y: list = field(default_factory=list, compare=False)

@dataclass(frozen=True)
class Below(Frozen):
    z: int = 3

@dataclass(frozen=True, slots=True)
class Slotted:
    "A class."
    x: int
    itself: object = None

@dataclass(order=True)
class Ordered:
    self: int
    doubled: int = 0
    by: InitVar[int] = 2
    _: KW_ONLY
    name: str = "a"
    def __post_init__(self, by):
        self.doubled = self.self * by

@dataclass
class Written:
    x: int
    def __repr__(self):
        return "written"
    def __eq__(self, other):
        return True
"""

LATE = sys.version_info < (3, 14)
"""Later ones are left as they are."""


def _classes(package: str) -> ModuleType:
    module = ModuleType(f"{package}.made_by_a_test")
    sys.modules[module.__name__] = module
    exec(SOURCE, vars(module))
    return module


@pytest.fixture(scope="module")
def ours() -> Any:
    return _classes("tenon")


@pytest.fixture(scope="module")
def others() -> Any:
    return _classes("other")


def _late(kind: type) -> set[str]:
    return {name for name, value in vars(kind).items() if isinstance(value, LateMethod)}


def test_methods_wait_until_they_are_looked_up() -> None:
    kind = _classes("tenon").Slotted
    if not LATE:
        assert not _late(kind)
        return
    assert {"__init__", "__eq__", "__hash__", "__setattr__", "__delattr__"} <= _late(kind)
    one = kind(1)
    assert {"__eq__", "__hash__", "__setattr__", "__delattr__"} <= _late(kind)
    assert "__init__" not in _late(kind)
    assert isinstance(vars(kind)["__init__"], FunctionType)
    assert hash(one) == hash(kind(1)) and "__hash__" not in _late(kind)


def test_classes_of_other_packages_are_made_at_once(others: Any) -> None:
    assert not any(_late(kind) for kind in vars(others).values() if isinstance(kind, type))


def test_objects_are_made_compared_and_shown_alike(ours: Any, others: Any) -> None:
    def told(module: Any) -> list[object]:
        frozen, below, ordered = module.Frozen, module.Below, module.Ordered
        looped = module.Slotted(1, [])
        looped.itself.append(looped)
        return [
            *map(repr, (frozen(1), below(1, z=4), ordered(2, name="b"), ordered(2, by=5), module.Written(1))),
            repr(looped),
            frozen(1) == frozen(1, [2]),
            frozen(1) == below(1),
            hash(frozen(1)) == hash(frozen(1, [2])),
            ordered(1) < ordered(2) <= ordered(2),
            ordered(1) > ordered(2),
            module.Written(1) == 3,
            ordered.__hash__,
            below(1).z,
            frozen(1).y is frozen(1).y,
        ]

    assert told(ours) == told(others)


def test_what_is_wrong_is_the_same_error(ours: Any, others: Any) -> None:
    def told(module: Any) -> list[str]:
        messages: list[str] = []
        frozen, below, slotted = module.Frozen(1), module.Below(1), module.Slotted(1)
        for act in (
            lambda: setattr(frozen, "x", 2),
            lambda: setattr(below, "x", 2),
            lambda: setattr(below, "other", 2),
            lambda: delattr(frozen, "x"),
            lambda: setattr(slotted, "x", 2),
            lambda: module.Frozen(),
            lambda: module.Ordered(1, 2, 3, 4),
            lambda: module.Ordered(1) < 3,
        ):
            with pytest.raises((AttributeError, TypeError)) as caught:
                act()
            messages.append(f"{type(caught.value).__name__}: {caught.value}")
        return messages

    assert told(ours) == told(others)


def test_classes_tell_the_same_of_themselves(ours: Any, others: Any) -> None:
    for name in ("Frozen", "Below", "Slotted", "Ordered", "Written"):
        mine, theirs = getattr(ours, name), getattr(others, name)
        assert str(inspect.signature(mine)) == str(inspect.signature(theirs))
        assert (mine.__doc__, mine.__match_args__) == (theirs.__doc__, theirs.__match_args__)
        assert mine.__init__.__qualname__ == f"{name}.__init__"
        assert [each.name for each in dataclasses.fields(mine)] == [
            each.name for each in dataclasses.fields(theirs)
        ]


def test_objects_are_copied_and_changed_alike(ours: Any) -> None:
    for one in (ours.Below(1, [2], 3), ours.Slotted(1)):
        assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.replace(ours.Below(1), z=5) == ours.Below(1, z=5)
    assert dataclasses.asdict(ours.Below(1)) == {"x": 1, "y": [], "z": 3}
