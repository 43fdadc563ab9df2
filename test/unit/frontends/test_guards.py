"""What a jitted function reads from outside is followed: a change of it is never a stale result."""

import collections
import dataclasses
import enum
import functools
import importlib
import inspect
import sys
import types
from array import array as PlainArray
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.frontends.calls import installed as installed_module
from tenon.frontends.calls.guards import UnseenChangesWarning, guards_of

X = np.arange(3.0)


def _give(function, change):
    """Returns what a function gives before and after a change, and how often it was traced."""
    jitted = tenon.jit(function)
    before = np.asarray(jitted(X))
    again = np.asarray(jitted(X))
    assert (before == again).all() and len(jitted.explain_misses()) == 1
    change()
    return before[1], np.asarray(jitted(X))[1]


class Layer:
    rate = 1.0

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x * self.scale

    def twice(self, x):
        return x * 2

    def rated(self, x):
        return x * self.rate

    def in_a_comprehension(self, x):
        return sum([x * self.scale for _ in range(2)])

    def in_a_lambda(self, x):
        return (lambda y: y * self.rate)(x) + self.scale


class Sublayer(Layer):
    rate = 5.0

    def rated(self, x):
        return super().rated(x) + 1

    def rate_above(self, x):
        return x * super(Sublayer, self).rate  # noqa: UP008

    def rate_of_the_class_above(self, x):
        return x * super().rate


def test_functions_of_the_library_that_a_name_or_an_attribute_stands_for():
    layer, act = Layer(2.0), tnp.negative
    layer.act = tnp.negative

    def change():
        nonlocal act
        act = tnp.positive

    assert _give(lambda x: act(x), change) == (-1, 1)
    assert _give(lambda x: layer.act(x), lambda: setattr(layer, "act", tnp.positive)) == (-1, 1)


def test_dtypes_of_numpy_that_a_name_stands_for():
    dtype = np.float32

    @tenon.jit
    def function(x):
        return tnp.zeros(2, dtype=dtype)

    assert function(X).dtype == np.float32
    dtype = np.float16
    assert function(X).dtype == np.float16


def test_partials():
    scale = functools.partial(np.multiply, 2.0)
    scaled = functools.partial(lambda x, by: x * by, by=2.0)

    def change():
        nonlocal scaled
        scaled = functools.partial(scale.func, 3.0)

    assert _give(lambda x: scaled(x), change) == (2, 3)
    inside = functools.partial(lambda x, by: x * by["value"], by={"value": 2.0})
    assert _give(lambda x: inside(x), lambda: inside.keywords["by"].update(value=3.0)) == (2, 3)


def test_dicts_and_sets_that_are_read_by_their_methods():
    table, others = {"a": 2.0}, {2.0}

    def values(x):
        for value in table.values():
            x = x * value
        return x

    assert _give(values, lambda: table.update(a=3.0)) == (2, 3)
    assert _give(values, lambda: table.update(b=2.0)) == (3, 6)
    assert _give(lambda x: x * table.get("a", 1.0), lambda: table.pop("a")) == (3, 1)

    def members(x):
        for value in others:
            x = x * value
        return x

    assert _give(members, lambda: others.add(5.0)) == (2, 10)


def test_objects_in_lists_and_objects_that_are_given_to_helpers():
    layers = [Layer(2.0), Layer(1.0)]

    def loop(x):
        for layer in layers:
            x = layer(x)
        return x

    def attributes(x):
        for layer in layers:
            x = x * layer.scale
        return x

    def helper(layer, x):
        return x * layer.scale

    assert _give(loop, lambda: setattr(layers[1], "scale", 3.0)) == (2, 6)
    assert _give(attributes, lambda: setattr(layers[1], "scale", 1.0)) == (6, 2)
    layer = layers[0]
    assert _give(lambda x: helper(layer, x), lambda: setattr(layer, "scale", 5.0)) == (2, 5)


class Slotted:
    __slots__ = ("__dict__", "__hidden", "scale")

    def __init__(self, scale):
        self.scale = scale
        self.__hidden = 0.0

    @property
    def hidden(self):
        return self.__hidden

    @hidden.setter
    def hidden(self, value):
        self.__hidden = value


def _scaled(holder, x):
    return x * holder.scale


def test_slots_and_attributes_of_classes_of_objects_that_are_given_to_helpers():
    slotted, record = Slotted(2.0), dataclasses.make_dataclass("Record", ["scale"], slots=True)(2.0)
    for holder in (slotted, record):
        assert _give(lambda x, h=holder: _scaled(h, x), lambda h=holder: setattr(h, "scale", 3.0)) == (2, 3)
        among = [holder]
        assert _give(
            lambda x, a=among: x * sum(h.scale for h in a), lambda h=holder: setattr(h, "scale", 4.0)
        ) == (
            3,
            4,
        )

    def with_hidden(holder, x):
        return x * holder.hidden

    assert _give(lambda x: with_hidden(slotted, x), lambda: setattr(slotted, "hidden", 5.0)) == (0, 5)

    class Config:
        scale = 2.0

    class Special(Config):
        pass

    special = Special()
    assert _give(lambda x: _scaled(special, x), lambda: setattr(Config, "scale", 3.0)) == (2, 3)
    assert _give(lambda x: _scaled(special, x), lambda: setattr(special, "scale", 4.0)) == (3, 4)
    assert _give(lambda x: _scaled(special, x), lambda: delattr(special, "scale")) == (4, 3)
    assert _give(lambda x: _scaled(Config, x), lambda: setattr(Config, "scale", 5.0)) == (3, 5)


def test_containers_that_are_no_list_and_no_dict():
    class Rates(list[float]):
        pass

    ordered = collections.OrderedDict(a=1.0)
    default = collections.defaultdict(float, a=1.0)
    behind = {"a": 1.0}
    proxy = types.MappingProxyType(behind)
    for values, changed in ((ordered, ordered), (default, default), (proxy, behind)):
        given = _give(lambda x, v=values: x * sum(v.values()), lambda c=changed: c.update(b=2.0))
        assert given == (1, 3)
    listed: list[Any] = [Rates([1.0]), collections.deque([1.0]), PlainArray("d", [1.0]), bytearray([1])]
    for values in listed:
        assert _give(lambda x, v=values: x * sum(v), lambda v=values: v.append(2)) == (1, 3)


def test_units_of_times_and_members_of_enumerations():
    class Kind(enum.IntEnum):
        A = 1

    times: list[Any] = [np.datetime64(1, "s")]
    seconds = np.dtype("M8[s]")

    def read(x):
        return x if times[0].dtype == seconds else -x

    assert _give(read, lambda: times.__setitem__(0, np.datetime64(1, "ms"))) == (1, -1)
    table: dict[str, Any] = {"kind": Kind.A}

    def told(x):
        return -x if isinstance(table["kind"], Kind) else x

    assert _give(told, lambda: table.update(kind=1)) == (-1, 1)


def test_helpers_whose_code_is_replaced():
    def helper(x):
        return x + 1

    def replaced(offset):
        return lambda: setattr(helper, "__code__", {5: lambda x: x + 5, 7: lambda x: x + 7}[offset].__code__)

    among = [helper]
    assert _give(lambda x: helper(x), replaced(5)) == (2, 6)
    assert _give(lambda x: sum(each(x) for each in among), replaced(7)) == (6, 8)


def test_several_objects_of_one_class_and_several_closures_of_one_function():
    first, second = Layer(2.0), Layer(3.0)
    assert _give(lambda x: first(x) + second(x), lambda: setattr(second, "scale", 5.0)) == (5, 7)

    def scaling(by):
        cell = [by]
        return (lambda x: x * cell[0]), cell

    (double, _), (triple, cell) = scaling(2.0), scaling(3.0)
    assert _give(lambda x: double(x) + triple(x), lambda: cell.__setitem__(0, 5.0)) == (5, 7)


def test_methods_that_are_replaced_and_what_super_reads():
    layer, sublayer = Layer(2.0), Sublayer(2.0)
    twice = Layer.twice
    try:
        assert _give(lambda x: layer.twice(x), lambda: setattr(Layer, "twice", lambda _, x: x * 7)) == (2, 7)
        assert _give(lambda x: sublayer.rated(x), lambda: setattr(Sublayer, "rate", 3.0)) == (6, 4)
        assert _give(lambda x: sublayer.rate_above(x), lambda: setattr(Layer, "rate", 4.0)) == (1, 4)
        assert _give(sublayer.rate_of_the_class_above, lambda: setattr(Layer, "rate", 7.0)) == (4, 7)
    finally:
        Layer.twice, Layer.rate, Sublayer.rate = twice, 1.0, 5.0


def test_what_functions_inside_a_method_read_of_its_object():
    layer = Layer(2.0)
    assert _give(layer.in_a_comprehension, lambda: setattr(layer, "scale", 3.0)) == (4, 6)
    try:
        assert _give(layer.in_a_lambda, lambda: setattr(Layer, "rate", 2.0)) == (4, 5)
        assert _give(layer.in_a_lambda, lambda: setattr(layer, "scale", 1.0)) == (5, 3)
    finally:
        Layer.rate = 1.0


def test_an_attribute_that_a_method_with_a_function_inside_does_not_read_traces_nothing_again():
    layer = Layer(2.0)
    jitted = tenon.jit(layer.in_a_lambda)
    jitted(X)
    layer.name = "another"
    jitted(X)
    assert len(jitted.explain_misses()) == 1


def test_defaults_of_functions():
    options = {"by": 2.0}

    def helper(x, options=options, *, more=0.0):
        return x * options["by"] + more

    def change():
        helper.__kwdefaults__["more"] = 1.0

    assert _give(lambda x: helper(x), lambda: options.update(by=3.0)) == (2, 3)
    assert _give(lambda x: helper(x), change) == (3, 4)


def test_properties_that_fail_where_the_function_does_not_come():
    class Model:
        is_ready = False

        @property
        def weights(self):
            raise RuntimeError("not ready")

    model = Model()
    function = tenon.jit(lambda x: x * model.weights if model.is_ready else x)
    assert (np.asarray(function(X)) == X).all()


def test_objects_that_answer_to_every_name_are_followed_no_further():
    class Anything:
        def __getattr__(self, name):
            return self

    anything = Anything()
    function = tenon.jit(lambda x: (x, anything)[0])
    assert (np.asarray(function(X)) == X).all()


def test_lists_that_the_function_itself_appends_to_are_not_followed():
    seen = []
    function = tenon.jit(lambda x: (seen.append(1), x)[1])
    function(X), function(X)
    assert len(seen) == 1


@dataclasses.dataclass(frozen=True)
class Settings:
    scale: object


class Pair(NamedTuple):
    scale: object


def test_static_values_that_are_equal_but_of_other_types_inside():
    @functools.partial(tenon.jit, static_argnums=1)
    def scaled(x, settings):
        (scale,) = (settings.scale,) if hasattr(settings, "scale") else settings
        return tnp.copysign(x * scale, scale)

    x = np.ones(1, dtype=np.float32)
    for kind in (Settings, Pair, lambda value: frozenset([value])):
        assert scaled(x, kind(1.0)).dtype == np.float32
        assert scaled(x, kind(np.float64(1))).dtype == np.float64
        zeros = [np.signbit(np.asarray(scaled(x, kind(zero)))[0]) for zero in (0.0, -0.0)]
        assert zeros == [False, True]
    count = len(scaled.explain_misses())
    assert scaled(x, Settings(1.0)).dtype == np.float32 and len(scaled.explain_misses()) == count


def test_arrays_in_lists_and_objects_whose_values_are_read():
    masks, counts, layer = [np.array([True, True, False])], [np.array([2, 1, 1])], Layer(2.0)
    layer.mask = np.array([True, True, False])

    def masked(x):
        for mask in masks:
            x = x[mask]
        return x

    def repeated(x):
        for count in counts:
            x = tnp.repeat(x, count)
        return x

    def element(x):
        for count in counts:
            x = x * float(count[0])
        return x

    def helper(layer, x):
        return x[layer.mask]

    assert _give(masked, lambda: masks[0].__setitem__(0, False) or masks[0].__setitem__(2, True)) == (1, 2)
    assert _give(repeated, lambda: counts[0].__setitem__(0, 1)) == (0, 1)
    assert _give(element, lambda: counts[0].__setitem__(0, 5)) == (1, 5)

    def change():
        layer.mask[:] = [False, True, True]

    assert _give(lambda x: helper(layer, x), change) == (1, 2)


def _sum_of_all(array):
    return float(np.sum(array))


@pytest.mark.parametrize(
    "function",
    [
        lambda w, holder: lambda x: x * w + np.sum(w),
        lambda w, holder: lambda x: x * w + w.sum(),
        lambda w, holder: lambda x: w.sum() + x * w,
        lambda w, holder: lambda x: x * w + max(w) * 4,
        lambda w, holder: lambda x: x * w + np.dot(w, holder.w) * 4,
        lambda w, holder: lambda x: x * holder.w + holder.w.T.max() * 4,
        lambda w, holder: lambda x: x * w.shape[0] + np.sum(w),
        lambda w, holder: lambda x: x * float(w.mean()) + w.astype(np.float32).sum(),
        lambda w, holder: lambda x: x + _sum_of_all(w) * w.shape[0],
        lambda w, holder: lambda x: x * 2 if w.max() > 5 else x,
    ],
)
def test_values_of_arrays_that_numpy_reads(function):
    w = np.ones(4)
    holder = types.SimpleNamespace(w=w)
    made = function(w, holder)

    def change():
        w[:] = 10

    before, after = _give_of(made, change, np.ones(4))
    assert after == np.asarray(made(np.ones(4)))[0] != before


def _give_of(function, change, x):
    jitted = tenon.jit(function)
    before = np.asarray(jitted(x))[0]
    assert np.asarray(jitted(x))[0] == before and len(jitted.explain_misses()) == 1
    change()
    return before, np.asarray(jitted(x))[0]


def test_arrays_of_which_no_values_are_read_are_no_other_program():
    w = np.ones(4)
    jitted = tenon.jit(lambda x: x * w * w.shape[0] + len(w))
    for value in (1, 3, 5):
        w[:] = value
        assert np.asarray(jitted(np.ones(1)))[0] == 4 * value + 4
    assert len(jitted.explain_misses()) == 1


def test_what_a_partial_holds():
    weights, options, table = {"w": np.ones(3)}, types.SimpleNamespace(scale=2.0), np.ones(3)

    def predict(weights, options, table, x):
        return x * weights["w"] * options.scale * float(table[0]) + table.sum()

    jitted = tenon.jit(functools.partial(predict, weights, options, table=table))
    assert np.asarray(jitted(x=X))[1] == 2 + 3
    weights["w"] = np.full(3, 5.0)
    assert np.asarray(jitted(x=X))[1] == 10 + 3
    options.scale = 1.0
    assert np.asarray(jitted(x=X))[1] == 5 + 3
    table[:] = 2
    assert np.asarray(jitted(x=X))[1] == 10 + 6


def test_several_partials_of_one_function():
    first, second = np.ones(3), np.full(3, 2.0)

    def scaled(weights, x):
        return x * weights + weights.sum()

    one, other = functools.partial(scaled, first), functools.partial(scaled, second)
    assert _give(lambda x: one(x) + other(x), lambda: second.fill(5)) == (1 + 3 + 2 + 6, 1 + 3 + 5 + 15)


def test_names_that_are_not_there_yet():
    class Options:
        pass

    options = Options()

    def scaled(x):
        try:
            return x * options.scale
        except AttributeError:
            return x

    assert _give(scaled, lambda: setattr(options, "scale", 5.0)) == (1, 5)

    def shifted(x):
        try:
            return x + NOT_THERE_YET
        except NameError:
            return x

    try:
        assert _give(shifted, lambda: globals().update(NOT_THERE_YET=4.0)) == (1, 5)
    finally:
        globals().pop("NOT_THERE_YET", None)


def test_items_of_many_containers_are_counted_together():
    layers = [{"w": 1.0, "b": 0.0} for _ in range(400)]
    assert _give(lambda x: x * layers[-1]["w"], lambda: layers[-1].update(w=3.0)) == (1, 3)
    assert _give(lambda x: x * sum(e["w"] for e in layers), lambda: layers[398].update(w=2.0)) == (402, 403)


def test_what_has_too_many_items_is_told_and_seen_where_it_is_another_one():
    rates = [1.0] * 2049

    def scaled(x):
        return x * sum(rates)

    def replaced():
        nonlocal rates
        rates = [*rates[:2048], 3.0]

    with pytest.warns(UnseenChangesWarning, match=r"'rates' holds more than 2048 items"):
        assert _give(scaled, replaced) == (2049, 2051)


@pytest.mark.parametrize(
    "many",
    [
        {f"k{number}": 1.0 for number in range(2049)},
        {f"k{number}" for number in range(2049)},
        [[1.0] * 1024, [1.0] * 1020, [1.0]],
        tuple([1.0] for _ in range(2049)),
        (*([1.0] * 2048), [1.0]),
    ],
    ids=["dict", "set", "nested", "lists in a tuple", "a list behind numbers"],
)
def test_containers_with_too_many_items_are_told(many):
    jitted = tenon.jit(lambda x: x * len(list(many)))
    with pytest.warns(UnseenChangesWarning):
        jitted(X)


@pytest.mark.parametrize(
    "few", [[1.0] * 2048, (1.0,) * 5000, [[1.0] * 1024, [1.0] * 1019, [1.0]]], ids=["list", "tuple", "nested"]
)
def test_what_is_looked_at_as_a_whole_or_cannot_change_is_not_told(few, recwarn):
    assert tenon.jit(lambda x: x * len(list(few)))(X)[1] == len(few)
    assert not recwarn.list


def test_another_tuple_of_many_numbers_is_seen():
    numbers = (1.0,) * 3000

    def replaced():
        nonlocal numbers
        numbers = (*numbers[:-1], 4.0)

    assert _give(lambda x: x * sum(numbers), replaced) == (3000, 3003)


def test_what_pytest_writes_for_assert_is_not_looked_at(recwarn: pytest.WarningsRecorder):
    def checked(x: Any) -> Any:
        assert isinstance(x.shape, tuple) and x.ndim == 1
        return x + x

    assert guards_of(checked, {}) == []
    assert not recwarn.list


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Two packages that are installed: what is in them is no code of the user's."""
    monkeypatch.setattr(installed_module, "package_folders", lambda: (tmp_path,))
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("installed_one", "installed_other"):
        (tmp_path / f"{name}.py").write_text(
            "import tenon\nRATE = 2.0\ndef scaled(x):\n    return x * RATE\n"
            "def as_program(f):\n    return tenon.jit(lambda x: f(x) + 1)\n"
        )
    one, other = map(importlib.import_module, ("installed_one", "installed_other"))
    yield one, other
    for name in ("installed_one", "installed_other"):
        del sys.modules[name]
    installed_module.installed_package.cache_clear()


def test_functions_of_installed_packages_are_seen_and_followed_no_further(installed: Any):
    one, _ = installed
    scaled = one.scaled
    assert _give(lambda x: scaled(x), lambda: setattr(one, "RATE", 3.0)) == (2, 2)
    assert len(guards_of(lambda x: one.scaled(x), {})) == 1

    def replace():
        one.scaled = lambda x: x * 5

    assert _give(lambda x: one.scaled(x), replace) == (3, 5)


def test_a_number_of_an_installed_package_that_the_function_names_is_seen(installed: Any):
    one, _ = installed
    assert _give(lambda x: x * one.RATE, lambda: setattr(one, "RATE", 3.0)) == (2, 3)


def test_a_function_of_an_installed_package_reads_that_package(installed: Any):
    one, other = installed
    for package, expected in ((one, 4), (other, 3)):
        jitted = one.as_program(package.scaled)
        assert np.asarray(jitted(X))[1] == 3
        package.RATE = 3.0
        assert np.asarray(jitted(X))[1] == expected, package


def test_pythons_own_library_is_followed_no_further():
    def with_text(x):
        return x * len(inspect.cleandoc("a"))

    assert _give(with_text, lambda: None) == (1, 1)
    assert len(guards_of(with_text, {})) <= 2
    assert installed_module.installed_package(inspect.__file__) == ""
    assert installed_module.installed_package("<frozen importlib._bootstrap>") == ""


@pytest.mark.parametrize("filename", ["<string>", "<stdin>", "/somewhere/else.py", "relative.py", __file__])
def test_what_is_typed_or_lies_elsewhere_is_the_users(filename: str):
    assert installed_module.installed_package(filename) is None


def test_installed_files_are_of_their_top_package():
    assert installed_module.installed_package(pytest.__file__) == "pytest"
    assert installed_module.installed_package(np.linalg.__file__) == "numpy"
