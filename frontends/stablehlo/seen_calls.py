"""
Which program a call of a function is for, as jax itself tells calls apart.

What jax traces of a call depends on types, static values and settings. `trace` compares all of that in
Python, for 8 microseconds an argument. A jitted function does so in machine code, with the same keys: here is
one that computes nothing, and whose result has the program in its structure.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from threading import Lock, get_ident
from typing import Any, Generic, TypeVar

Program = TypeVar("Program")


class _Seen(Generic[Program]):
    """A result of no arrays, that knows the program of a call."""

    program: Program | None = None


class _UnseenCallError(RuntimeError):
    """A call of a kind that was not noted: jax keeps nothing of it."""


_REFUSALS = (TypeError, ValueError, RuntimeError)
"""
What jax raises of arguments, which tracing them will raise too, and of devices that are not there, which
Tenon's program does not need; and `_UnseenCallError`.
"""


@cache
def _register(jax: Any) -> None:
    def flatten(seen: Any) -> tuple[tuple[()], Any]:
        return (), seen

    def unflatten(seen: Any, _: Any) -> Any:
        return seen

    jax.tree_util.register_pytree_node(_Seen, flatten, unflatten)


class SeenCalls(Generic[Program]):
    """The programs of calls that were added. Any number of threads may ask for them."""

    def __init__(self, jax: Any, options: Mapping[str, Any]) -> None:
        """`options` say which arguments are static, as `jax.jit` takes them."""
        self._lock = Lock()
        self._adding_thread: int | None = None
        _register(jax)

        def find(*arguments: Any, **named: Any) -> Any:
            # Runs where jax traces, so for a kind of call that is new.
            if self._adding_thread != get_ident():
                raise _UnseenCallError
            return _Seen[Program]()

        self._find = jax.jit(find, **options)
        self._is_empty, self._is_refused = True, False

    def program_for(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Program | None:
        """Returns the program of a call, None where there is none yet."""
        if self._is_empty:
            return None
        try:
            return self._find(*arguments, **named).program
        except _REFUSALS:
            return None

    def add(self, program: Program, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Notes the program of a call, unless jax runs none such: those over devices that are not there."""
        with self._lock:
            if self._is_refused:
                return
            self._adding_thread = get_ident()
            try:
                self._find(*arguments, **named).program = program
                self._is_empty = False
            except _REFUSALS:
                self._is_refused = True
            finally:
                self._adding_thread = None
