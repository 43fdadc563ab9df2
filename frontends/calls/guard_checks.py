"""The guards of a program at each call: nearly all of them are looked at in machine code, at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from .guards import Guard
from .roots import Test

SameObjects = Callable[[tuple[Any, ...]], bool]

_NEVER: tuple[Any, ...] = (None, "__class__", None)
"""A test that never holds."""

_MOST_RENEWALS = 16
"""How often what machine code looks for is noted anew; guards of objects that go on changing hold without."""


class GuardChecks:
    """
    Whether the guards of a program hold. `tests` is a list of one tuple, which `same_objects` takes: where
    that finds the same objects, all guards hold. It never does where some guards need more than that.
    """

    __slots__ = ("_guards", "_left", "_others", "_same_objects", "_tests", "tests")

    def __init__(self, guards: Sequence[Guard], same_objects: SameObjects | None) -> None:
        self._guards = tuple(guards)
        self._others = self._guards
        self._same_objects = same_objects
        self._tests: tuple[Any, ...] = ()
        self.tests = [_NEVER]
        self._left = 0 if same_objects is None else _MOST_RENEWALS
        self._renew()

    def hold(self) -> bool:
        """Returns whether all guards hold."""
        same_objects = self._same_objects
        if same_objects is not None and same_objects(self._tests) and _all_hold(self._others):
            return True
        if not _all_hold(self._guards):
            return False
        self._renew()
        return True

    def _renew(self) -> None:
        """Notes which objects are where now."""
        if not self._left or self._same_objects is None:
            return
        self._left -= 1
        found: dict[tuple[int, Any, int], Test] = {}
        others: list[Guard] = []
        for guard in self._guards:
            tests = guard.tests()
            # What is made anew each time, as a bound method, is never found again.
            if tests is None or not self._same_objects(tuple(chain.from_iterable(tests))):
                others.append(guard)
            else:
                found |= {(id(test[0]), test[1], id(test[2])): test for test in tests}
        # Those that are looked at in Python first, as another thread may do so meanwhile.
        self._others = self._guards
        self._tests = tuple(chain.from_iterable(found.values()))
        self._others = tuple(others)
        self.tests[0] = _NEVER if others else self._tests


def _all_hold(guards: Sequence[Guard]) -> bool:
    for guard in guards:  # noqa: SIM110 (a generator takes longer than the guards)
        if not guard.holds():
            return False
    return True
