"""The table of ops: what each is, as a function of traced arrays, by domain, name and version."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Rule:
    """What a version of an op is. Made by `onnx_op`, which says what the parts mean."""

    function: Callable[..., Any]
    since: int
    known: frozenset[str]
    either: frozenset[str]
    narrow: frozenset[str]
    is_raw: bool
    inputs: tuple[str, ...]
    """The names of the parameters that inputs go to, in order."""
    n_required: int
    variadic: str | None
    """The name of the parameter that takes all inputs behind those."""
    attributes: frozenset[str]
    required: frozenset[str]
    """The attributes that have no default."""


_RULES: dict[tuple[str, str], list[Rule]] = {}

_NUMPY_RULES: dict[tuple[str, str], list[Rule]] = {}


def onnx_op(
    name: str,
    since: int = 1,
    *,
    domain: str = "",
    known: Iterable[str] = (),
    either: Iterable[str] = (),
    narrow: Iterable[str] = (),
    raw: bool = False,
) -> Callable[[F], F]:
    """
    Registers a function as what the op `name` is from the version `since` of its domain on, up to the next
    version that another function is registered for.

    Parameters that may be given by position take the inputs, as traced arrays; one with a default may be
    left out, and `*parameter` takes the rest. Those named in `known` get the values as a numpy array: where
    these are not known when a model is imported, the program is made for the values of a call. Those in
    `either` get a numpy array where the values are known, else a traced array. Those in `narrow` may be of
    dtypes that programs do not compute in, and are `Stored` then; for all others that is an error. With
    `raw` all inputs are as they come: numpy arrays, traced arrays, lists of these and None. Known extents
    that vary (what the op Shape gives for named dims) are numpy arrays of dtype object.

    Parameters that are given by name take the attributes, as Python has them: numbers, text, lists, numpy
    arrays and graphs. `n_outputs`, `opset` and `context` are told how many results are wanted, the version of
    the domain, and the `Context` of the node; `lift` makes traced arrays of known ones.

    The function returns a traced or numpy array, or a tuple of results, None for one that is left out.
    """

    def made(function: F) -> F:
        rule = _rule(function, since, frozenset(known), frozenset(either), frozenset(narrow), raw)
        _add(_RULES, domain, name, rule)
        return function

    return made


def numpy_op(name: str, since: int = 1, *, domain: str = "") -> Callable[[F], F]:
    """
    Registers a function of numpy arrays, which is what the op is where all of its inputs are known: they may
    be extents that vary, in arrays of dtype object. It returns NotImplemented for what it leaves to the rule
    of `onnx_op`, which is interpreted then.
    """

    def made(function: F) -> F:
        _add(_NUMPY_RULES, domain, name, _rule(function, since, frozenset(), frozenset(), frozenset(), True))
        return function

    return made


def find_rule(domain: str, name: str, version: int) -> Rule | None:
    """Returns what an op is in a version of its domain, None if there is no rule for it."""
    return _found(_RULES, domain, name, version)


def find_numpy_rule(domain: str, name: str, version: int) -> Rule | None:
    """Returns what an op is on known values, None if there is no rule for it."""
    return _found(_NUMPY_RULES, domain, name, version)


def registered_ops() -> list[tuple[str, str, int]]:
    """Returns the domain, the name and the version of each rule, in order."""
    return sorted((domain, name, rule.since) for (domain, name), rules in _RULES.items() for rule in rules)


def _add(table: dict[tuple[str, str], list[Rule]], domain: str, name: str, rule: Rule) -> None:
    rules = table.setdefault((domain, name), [])
    assert all(each.since != rule.since for each in rules), f"{name}: two rules for version {rule.since}"
    rules.append(rule)
    rules.sort(key=lambda each: -each.since)


def _found(table: dict[tuple[str, str], list[Rule]], domain: str, name: str, version: int) -> Rule | None:
    domain = "" if domain in DEFAULT_DOMAINS else domain
    for rule in table.get((domain, name), ()):
        if rule.since <= version:
            return rule
    return None


def _rule(
    function: Callable[..., Any],
    since: int,
    known: frozenset[str],
    either: frozenset[str],
    narrow: frozenset[str],
    is_raw: bool,
) -> Rule:
    parameters = inspect.signature(function).parameters.values()
    inputs = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    named = [each for each in parameters if each.kind is each.KEYWORD_ONLY]
    variadic = [each.name for each in parameters if each.kind is each.VAR_POSITIONAL]
    names = {each.name for each in inputs} | set(variadic)
    unknown = (known | either | narrow) - names
    assert not unknown, f"{function.__name__}: no parameters {sorted(unknown)}"
    return Rule(
        function,
        since,
        known,
        either,
        narrow,
        is_raw,
        tuple([each.name for each in inputs]),
        sum(each.default is each.empty for each in inputs),
        variadic[0] if variadic else None,
        frozenset(each.name for each in named),
        frozenset(each.name for each in named if each.default is each.empty),
    )
