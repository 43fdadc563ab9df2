"""Functions that read from outside: their calls stay in machine code, and no change of a place is missed."""

from __future__ import annotations

import functools
import sys
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.llvm.native import object_layout
from tenon.backends.llvm.programs.same_objects import same_objects
from tenon.frontends.calls.guard_checks import GuardChecks
from tenon.frontends.calls.guards import Guard, guards_of

needs_machine_code = pytest.mark.skipif(not object_layout.is_layout_known(), reason="unknown interpreter")

X = np.arange(1.0, 5.0, dtype=np.float32)

HERE = sys.modules[__name__]
RATE: Any = 2.5
TABLE: dict[str, Any] = {"rate": 2.5, "rates": [1.5, 2.5]}
SPACE = types.SimpleNamespace(rate=2.5, table={"rate": 2.5})


class Layer:
    shift = 0.5

    def __init__(self) -> None:
        self.rate = 2.5
        self.rates = [2.5, 1.0]


LAYER = Layer()


def helper(x: Any) -> Any:
    return x * RATE


def of_defaults(x: Any, rate: float = 2.5) -> Any:
    return x * rate


def _set(owner: Any, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(owner, name, value)


def _put(owner: Any, key: Any) -> Callable[[Any], None]:
    return lambda value: owner.__setitem__(key, value)


def _places() -> dict[str, tuple[Callable[..., Any], Callable[[Any], None]]]:
    """Returns functions that multiply by what a place has, 2.5, and what puts another value there."""
    closed: Any = 2.5

    def of_cell(x: Any) -> Any:
        return x * closed

    def put(value: Any) -> None:
        nonlocal closed
        closed = value

    held = functools.partial(lambda rate, x: x * rate["rate"], {"rate": 2.5})
    return {
        "global": (lambda x: x * RATE, _set(HERE, "RATE")),
        "cell": (of_cell, put),
        "helper": (lambda x: helper(x), _set(HERE, "RATE")),
        "item": (lambda x: x * TABLE["rate"], _put(TABLE, "rate")),
        "list": (lambda x: x * TABLE["rates"][1], _put(TABLE["rates"], 1)),
        "all of a list": (lambda x: x * TABLE["rates"][::-1][0], _put(TABLE["rates"], 1)),
        "attribute": (lambda x: x * SPACE.rate, _set(SPACE, "rate")),
        "item of an attribute": (lambda x: x * SPACE.table["rate"], _put(SPACE.table, "rate")),
        "object": (lambda x: x * getattr(LAYER, "rate"), _set(LAYER, "rate")),  # noqa: B009
        "list of an object": (lambda x: x * LAYER.rates[0], _put(LAYER.rates, 0)),
        "default": (of_defaults, lambda value: _set(of_defaults, "__defaults__")((value,))),
        "partial": (held, _put(held.args[0], "rate")),
    }


PLACES = list(_places())


@needs_machine_code
@pytest.mark.parametrize("place", PLACES)
def test_calls_do_not_come_to_python_until_a_place_changes(place: str, python_calls: list[Any]) -> None:
    function, change = _places()[place]
    jitted = tenon.jit(function)
    try:
        jitted(X)
        python_calls.clear()
        for _ in range(3):
            np.testing.assert_array_equal(np.asarray(jitted(X)), X * np.float32(2.5))
        assert not python_calls
        for value in (4.0, 0.25):
            change(value)
            for _ in range(2):
                np.testing.assert_array_equal(np.asarray(jitted(X)), X * np.float32(value))
        assert len(jitted.explain_misses()) == 3
        # An equal value is the first program's, which machine code finds again once Python has seen it.
        change(float("2.5"))
        jitted(X)
        python_calls.clear()
        np.testing.assert_array_equal(np.asarray(jitted(X)), X * np.float32(2.5))
        assert len(jitted.explain_misses()) == 3
        assert not python_calls
    finally:
        change(2.5)


@needs_machine_code
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_helpers_that_are_replaced_and_attributes_that_go(backend: str) -> None:
    space = types.SimpleNamespace(function=lambda x: x * 2, table=OrderedDict(rate=3.0))
    jitted = tenon.jit(lambda x: space.function(x) * space.table["rate"], backend=backend)
    for _ in range(3):
        np.testing.assert_array_equal(np.asarray(jitted(X)), X * 6)
    space.function.__code__ = (lambda x: x * 3).__code__
    np.testing.assert_array_equal(np.asarray(jitted(X)), X * 9)
    space.function = lambda x: x
    np.testing.assert_array_equal(np.asarray(jitted(X)), X * 3)
    space.table["rate"] = 5.0
    np.testing.assert_array_equal(np.asarray(jitted(X)), X * 5)
    del space.table
    with pytest.raises(AttributeError, match="table"):
        jitted(X)


@needs_machine_code
def test_what_python_has_to_look_at_is_looked_at(python_calls: list[Any]) -> None:
    rates = OrderedDict(a=2.0, b=3.0)
    jitted = tenon.jit(lambda x: x * sum(rates.values()) + RATE)
    jitted(X)
    python_calls.clear()
    np.testing.assert_array_equal(np.asarray(jitted(X)), X * 5 + np.float32(2.5))
    assert python_calls
    rates["b"] = 4.0
    np.testing.assert_array_equal(np.asarray(jitted(X)), X * 6 + np.float32(2.5))


def _guards(function: Callable[..., Any]) -> list[Guard]:
    return guards_of(function, {})


@needs_machine_code
def test_tests_are_renewed_so_often_and_hold_in_python_then() -> None:
    space = types.SimpleNamespace(rate=1.5)
    checks = GuardChecks(_guards(lambda x: x * space.rate), same_objects())
    for _ in range(40):
        before = checks.tests[0]
        space.rate = float("1.5")
        assert not same_objects()(checks.tests[0])
        assert checks.hold() and checks.hold()
    assert checks.tests[0] is before
    space.rate = 2.0
    assert not checks.hold()


@needs_machine_code
def test_guards_beside_the_tests_never_let_machine_code_through() -> None:
    table, rates = OrderedDict(a=1.0), [2.0]
    checks = GuardChecks(_guards(lambda x: x * sum(table.values()) * rates[0]), same_objects())
    assert checks.hold() and not same_objects()(checks.tests[0])
    table["a"] = 3.0
    assert not checks.hold()
    table["a"] = 1.0
    assert checks.hold()
    rates[0] = 3.0
    assert not checks.hold()


def test_without_machine_code_the_guards_are_asked() -> None:
    space = types.SimpleNamespace(rate=1.5)
    checks = GuardChecks(_guards(lambda x: x * space.rate), None)
    assert checks.hold()
    space.rate = 2.0
    assert not checks.hold()
    assert not object_layout.is_layout_known() or not same_objects()(checks.tests[0])
