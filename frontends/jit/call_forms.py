"""
The calls of a jitted function that go to a program at once. A program looks itself whether arrays of numpy
fit; what else tells calls apart is looked at here: what is given by name, static values, scalars, containers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from ..arrays.aval import Aval
from ..arrays.concrete import ConcreteArray
from ..arrays.static_key import static_key
from ..arrays.tree import Node, add_leaves
from ..calls.compiled_trace import DirectCall, values_of_captured
from ..calls.guard_checks import GuardChecks
from ..tracing.leaves import plain_values
from ..tracing.trace import Captured
from .call_signature import Parameters

_new = object.__new__
_ndarray = np.ndarray

MOST_FAST = 8
"""How many programs a call tries before it looks for the right one. To be refused takes about 0.1 us."""

REFUSED: Any = object()
"""What is given instead of a result where no program takes the arguments."""

Row = tuple[Any, ...]
"""The arguments of a call, those by position and then those by name as they are written."""


class FastEntry(NamedTuple):
    """A program that calls may run at once."""

    direct: DirectCall
    scalars: tuple[Aval | None, ...]
    """What `plain_values` gives for arguments that it takes."""
    finish: Any
    """What stands for its only result, or what makes of its results those of a call."""
    checks: GuardChecks | None
    captured: tuple[Captured, ...]
    is_plain: bool
    """Whether machine code can call it by itself: it takes arrays and gives one, whatever else there is."""
    structure: Node | None
    """That of the arguments, where there are containers among them."""

    @property
    def tests(self) -> list[tuple[Any, ...]]:
        """What machine code looks at before it runs the program."""
        return [()] if self.checks is None else self.checks.tests

    def values_in(self, arguments: Row) -> Row | None:
        """Returns the values in containers, None where these are not those of the program."""
        leaves: list[Any] = []
        if self.structure is None or not add_leaves(arguments, self.structure, leaves):
            return None
        values, scalars = plain_values(tuple(leaves))
        return values if scalars == self.scalars else None


class Form(NamedTuple):
    """How arguments are given, some of them by name or static."""

    static: tuple[int, ...]
    """The places of static ones in the row."""
    picked: Callable[[Row], Row]
    """Returns the arguments that are not static, in the order in which programs take their arrays."""


def _all_of(row: Row) -> Row:
    return row


POSITIONAL = Form((), _all_of)
"""All are given by position, and none is static."""


class FastCalls:
    """The programs that the calls of one function try before all else, the last one noted first."""

    __slots__ = ("_by_form", "_forms", "_parameters", "positional")

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.positional: tuple[FastEntry, ...] = ()
        """Those of calls of the form `POSITIONAL`."""
        self._forms: dict[tuple[Any, ...], Form] = {}
        self._by_form: dict[tuple[Any, ...], tuple[FastEntry, ...]] = {}

    def clear(self) -> None:
        self.positional = ()
        self._forms.clear()
        self._by_form.clear()

    def run(self, arguments: Row, named: Mapping[str, Any]) -> Any:
        """Returns the result of the first program that takes the arguments, `REFUSED` where none does."""
        entries = self.positional
        if named or self._parameters.has_static:
            form = self._forms.get((len(arguments), *named))
            if form is None:
                return REFUSED
            row = (*arguments, *named.values())
            try:
                entries = self._by_form.get((form, *_static_keys(form, row)), ())
            except TypeError:  # One is not hashable: the call itself says which.
                return REFUSED
            arguments = form.picked(row)
        if not entries:
            return REFUSED
        result = _first_result(entries, arguments)
        if result is REFUSED and (contiguous := _contiguous(arguments)) is not None:
            return _first_result(entries, contiguous)
        return result

    def form_of(self, arguments: Row, named: Mapping[str, Any]) -> Form:
        """Returns how arguments, which the function takes, are given."""
        if not named and not self._parameters.has_static:
            return POSITIONAL
        key = (len(arguments), *named)
        if key not in self._forms:
            self._forms[key] = self._new_form(len(arguments), tuple(named))
        return self._forms[key]

    def add(self, entry: FastEntry, form: Form, row: Row) -> None:
        """Notes a program for calls of a form, with the static values that are in a row of it."""
        if form is POSITIONAL:
            self.positional = _with(entry, self.positional)
        else:
            key = (form, *_static_keys(form, row))
            self._by_form[key] = _with(entry, self._by_form.get(key, ()))

    def _new_form(self, count: int, names: tuple[str, ...]) -> Form:
        """Returns the form of calls with so many arguments by position, and then these names."""
        parameters = self._parameters
        # What becomes of the numbers of the places says what becomes of what stands there.
        by_name = dict(zip(names, range(count, count + len(names)), strict=True))
        positional, named = parameters.canonical(tuple(range(count)), by_name)
        static = [place for number, place in enumerate(positional) if number in parameters.static_numbers]
        static += [place for name, place in named.items() if name in parameters.static_names]
        order = [*positional, *(named[name] for name in sorted(named))]
        return Form(tuple(static), _picking([place for place in order if place not in static]))


def _static_keys(form: Form, row: Row) -> list[Any]:
    return [static_key(row[place], "") for place in form.static]


def _picking(places: Sequence[int]) -> Callable[[Row], Row]:
    """Returns what takes these places of a row."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda row: tuple([row[place] for place in places])


def _with(entry: FastEntry, known: tuple[FastEntry, ...]) -> tuple[FastEntry, ...]:
    others = [each for each in known if each.direct is not entry.direct]
    return (entry, *others[: MOST_FAST - 1])


def _first_result(entries: Sequence[FastEntry], arguments: Row) -> Any:
    given, scalars = arguments, ()
    for argument in arguments:
        if type(argument) is not _ndarray:
            given, scalars = plain_values(arguments)
            break
    for entry in entries:
        direct, wanted, finish, checks, captured, _, structure = entry
        if structure is not None:
            if scalars is not None or (found := entry.values_in(arguments)) is None:
                continue
            given = found
        elif scalars != wanted:
            continue
        if checks is not None and not checks.hold():
            continue
        values = direct((*given, *values_of_captured(captured)) if captured else given, None)
        if values is None:
            continue
        if finish.__class__ is not Aval:
            return finish(values)
        result = _new(ConcreteArray)
        result.values = values
        result.aval = finish
        return result
    return REFUSED


def _contiguous(arguments: Row) -> Row | None:
    """Returns the arguments with copies of arrays of numpy that are not contiguous, None without such."""
    apart = [type(each) is _ndarray and not each.flags.c_contiguous for each in arguments]
    if not any(apart):
        return None
    return tuple(
        [
            np.ascontiguousarray(each) if copied else each
            for each, copied in zip(arguments, apart, strict=True)
        ]
    )
