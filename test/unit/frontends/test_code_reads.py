"""Which places code reads, whatever the instructions of the interpreter are."""

import dis
import sys
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.frontends.calls import guards
from tenon.frontends.calls.code_reads import LAST_KNOWN, Chain, Reader, chains_of

RATE = 2.0


def texts_of(chains) -> set[str]:
    return {chain.text for chain in chains}


class Model:
    rate = 1.0

    def __init__(self, scale: float = 2.0) -> None:
        self.scale = scale
        self.table = {"a": [1.0, 2.0]}

    def forward(self, x: Any, y: Any, *more: Any) -> Any:
        return x * self.scale + y * self.table["a"][1] * self.rate + RATE + sum(self.scale for _ in more)


class Other(Model):
    def above(self, x: Any) -> Any:
        return x * super().rate * super(Other, self).rate  # noqa: UP008

    def above_inside(self) -> Any:
        return lambda: super(Other, self).rate


def test_attributes_and_items_of_what_is_loaded():
    found = texts_of(chains_of(Model.forward.__code__))
    assert {"self.scale", "self.table['a'][1]", "self.rate", "RATE", "x", "y"} <= found
    assert "self" not in found


def test_super_is_read_of_the_class_and_the_object_that_it_gets():
    chains = [each for each in chains_of(Other.above.__code__) if each.kind == "super"]
    owners = [each.arguments[0] for each in chains]
    assert owners == [Chain("variable", "__class__"), Chain("global", "Other")]
    assert all(each.steps == (("attribute", "rate"),) for each in chains)
    assert [each.arguments[1] for each in chains] == [Chain("argument", "self")] * 2
    (inside,) = [each for each in chains_of(Other.above_inside.__code__) if each.kind == "super"]
    assert inside.arguments == (Chain("global", "Other"), Chain("variable", "self"))


def test_what_is_loaded_two_at_a_time():
    code = compile("def f(a, b, c):\n c = a * b.d\n return c * a", "f", "exec").co_consts[0]
    assert texts_of(chains_of(code)) == {"a", "b.d", "c"}


def test_stores_and_cells_that_are_passed_on_are_no_reads():
    def outer(self: Any, other: Any) -> Any:
        self.count = 1
        return lambda: self.scale

    assert texts_of(chains_of(outer.__code__)) == {"self", "self.scale"}  # A store looks at its object.
    code = next(each for each in outer.__code__.co_consts if hasattr(each, "co_code"))
    assert texts_of(chains_of(code)) == {"self.scale"}


def test_code_that_is_watched_reads_the_same():
    """Instruments replace instructions of code that runs, and specialisation does."""

    def function(model: Any) -> Any:
        return model.scale * RATE

    before = texts_of(chains_of(function.__code__))
    model = Model()
    for _ in range(100):
        function(model)
    old = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        function(model)
        watched = Reader(function.__code__).chains(dis.get_instructions(function.__code__))
    finally:
        sys.settrace(old)
    assert texts_of(watched) == before == {"model.scale", "RATE"}


def _renamed(function: Any, are_locals_known: bool) -> Any:
    """Returns the instructions of a function by names that no version has."""
    for each in dis.get_instructions(function.__code__):
        if are_locals_known or each.opcode not in dis.haslocal:
            yield each._replace(opname=f"UNKNOWN_{each.opname}")


@pytest.mark.parametrize("are_locals_known", [True, False])
def test_instructions_that_are_not_known_count_as_reads(are_locals_known: bool):
    reader = Reader(Model.forward.__code__, is_known=False)
    chains = reader.chains(_renamed(Model.forward, are_locals_known))
    assert {"self", "RATE", "x", "y"} <= texts_of(chains)
    if are_locals_known:
        assert {"self.scale", "self.rate", "self.table"} <= texts_of(chains)


@pytest.mark.parametrize("are_locals_known", [True, False])
def test_a_version_that_is_not_known_gives_no_stale_result(
    monkeypatch: pytest.MonkeyPatch, are_locals_known: bool
):
    def unknown(code: Any) -> list[Chain]:
        holder = FunctionType(code, {})
        return Reader(code, is_known=False).chains(_renamed(holder, are_locals_known))

    monkeypatch.setattr(guards, "chains_of", unknown)
    monkeypatch.setattr(sys.modules[__name__], "RATE", 2.0)
    model, x = Model(), np.ones(2)
    jitted = tenon.jit(model.forward)
    for change in (
        lambda: setattr(model, "scale", 3.0),
        lambda: model.table["a"].__setitem__(1, 5.0),
        lambda: setattr(sys.modules[__name__], "RATE", 7.0),
    ):
        jitted(x, x)
        change()
        assert np.array_equal(jitted(x, x), model.forward(x, x))


def test_a_later_version_is_not_known(monkeypatch: pytest.MonkeyPatch):
    assert LAST_KNOWN == (3, 14)
    unused = compile("def f(self, x):\n return x", "f", "exec").co_consts[0]
    assert texts_of(Reader(unused, is_known=True).chains(())) == set()
    assert texts_of(Reader(unused, is_known=False).chains(())) == {"self", "x"}
