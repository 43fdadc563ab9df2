"""Whether machine code finds objects where they were, and says so of nothing else."""

import gc
import sys
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import pytest
from tenon.backends.llvm.native import object_layout
from tenon.backends.llvm.programs.same_objects import same_objects

pytestmark = pytest.mark.skipif(not object_layout.is_layout_known(), reason="unknown interpreter")

A, B, C = (object() for _ in range(3))


def test_no_tests_hold():
    assert same_objects()(()) is True


def test_items_of_a_dict():
    owner = {"a": A, "b": B}
    same = same_objects()
    assert same((owner, "a", A)) is True
    assert same((owner, "a", B)) is False
    assert same((owner, "c", A)) is False
    assert same((owner, "a", A, owner, "b", B)) is True
    assert same((owner, "a", A, owner, "b", A)) is False
    owner["b"] = C
    assert same((owner, "a", A, owner, "b", B)) is False


def test_whole_dicts():
    owner: dict[Any, Any] = {"a": A, 3: B}
    (a, three), same = owner, same_objects()
    wanted = (a, A, three, B)
    assert same((owner, None, wanted)) is True
    assert same((owner, None, wanted[:2])) is False
    assert same((owner, None, (*wanted, "c", C))) is False
    assert same((owner, None, (three, B, a, A))) is False
    owner["c"] = C
    assert same((owner, None, wanted)) is False
    del owner["c"]
    assert same((owner, None, wanted)) is True
    owner["a"] = B
    assert same((owner, None, wanted)) is False
    del owner["a"]
    owner["a"] = A  # It comes last now.
    assert same((owner, None, wanted)) is False
    assert same(({}, None, ())) is True


def test_whole_lists():
    owner, same = [A, B], same_objects()
    assert same((owner, None, (A, B))) is True
    assert same((owner, None, (B, A))) is False
    assert same((owner, None, (A,))) is False
    assert same((owner, None, (A, B, C))) is False
    owner.append(C)
    assert same((owner, None, (A, B))) is False
    assert same(([], None, ())) is True


def test_attributes_of_objects_modules_and_cells():
    owner, same = SimpleNamespace(a=A), same_objects()
    assert same((owner, "a", A)) is True
    owner.a = B
    assert same((owner, "a", A)) is False
    del owner.a
    assert same((owner, "a", A)) is False
    assert same((sys, "path", sys.path)) is True
    assert same((sys, "path", list(sys.path))) is False
    cells = (lambda: owner).__closure__
    assert cells is not None and same((cells[0], "cell_contents", owner)) is True
    # Methods are made anew each time that they are asked for.
    assert same((A, "__repr__", A.__repr__)) is False


def test_dicts_and_lists_of_other_classes_are_asked_for_attributes():
    owner, same = OrderedDict(a=A), same_objects()
    assert same((owner, "a", A)) is False
    assert same((owner, "__class__", OrderedDict)) is True


class Failing:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    @property
    def value(self) -> object:
        raise self.error


def test_attributes_that_fail():
    same = same_objects()
    for error in (AttributeError("a"), ValueError("b"), RuntimeError("c")):
        assert same((Failing(error), "value", A)) is False
    for stop in (KeyboardInterrupt(), SystemExit()):
        with pytest.raises(type(stop)):
            same((Failing(stop), "value", A))
    assert same(()) is True


def test_an_attribute_may_change_what_comes_after_it():
    items = [A, B]

    class Clearing:
        @property
        def value(self) -> object:
            items.clear()
            return A

    assert same_objects()((Clearing(), "value", A, items, None, (A, B))) is False


def test_nothing_is_kept_and_nothing_is_freed_too_often():
    class Given:
        value = object()

    owner, same = Given(), same_objects()
    watched: list[Any] = [owner, Given.value, A, None, False]
    tests = (owner, "value", Given.value, {"a": A}, "a", A, [A], None, (A,), {"a": A}, None, ("a", A))
    assert same(tests)
    gc.collect()
    before = [sys.getrefcount(each) for each in watched[:3]]
    for _ in range(1000):
        same(tests)
        same((owner, "value", A))
        same((owner, "other", A))
    assert all(abs(sys.getrefcount(a) - b) < 20 for a, b in zip(watched[:3], before, strict=True))
