"""
`@array_function`: a function of arrays that is written once, over traced arrays.

Called with a traced array, or while a function is traced, its body runs in that trace. Called with values it
is compiled, once for each signature, and runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, TypeVar, cast, overload

import numpy as np

from ..arrays.concrete import ConcreteArray
from ..arrays.static_key import static_key
from ..arrays.tree import flatten
from ..tracing.leaves import WEAK, aval_of_value, lift
from ..tracing.trace import Trace, TracedArray, current_trace
from ..tracing.traced_slice import TracedSlice
from .compiled_trace import CompiledTrace
from .fast_calls import fast_call
from .versions import TracedCall, Version

F = TypeVar("F", bound=Callable[..., Any])

MOST_SIGNATURES = 1024
"""How many programs are kept for one function; all go when there are more."""


@overload
def array_function(function: F, /) -> F: ...
@overload
def array_function(*, static: Iterable[str] = ()) -> Callable[[F], F]: ...
def array_function(function: Any = None, /, *, static: Iterable[str] = ()) -> Any:
    """
    Makes a function of `tenon.numpy` of one that is written over traced arrays.

    Parameters named in `static` are given to it as they are, lists as tuples, and must be hashable; all
    others are arrays, Python scalars (which arrive as weak arrays of rank 0), None, or lists and tuples of
    these. It returns an array, a list or a tuple of them (a named one too), or a constant of Python's.
    """
    if function is None:
        return functools.partial(_array_function, static=frozenset(static))
    return _array_function(function, frozenset())


def _array_function(function: Callable[..., Any], static: frozenset[str]) -> Callable[..., Any]:
    eager = EagerFunction(function, static)
    call = functools.wraps(function)(fast_call(eager))
    call.eager = eager  # type: ignore[attr-defined]
    return call


class EagerFunction:
    """A function of arrays with the programs that were compiled for it."""

    FUNCTIONS: list[EagerFunction] = []  # noqa: RUF012  (every function there is, for `clear_caches`)

    def __init__(self, function: Callable[..., Any], static: frozenset[str]):
        self.function = function
        self.name = function.__name__.lstrip("_")
        self.signature = inspect.signature(function)
        self.static = static
        self.positional = tuple(
            name
            for name, parameter in self.signature.parameters.items()
            if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
        )
        unknown = static.difference(self.signature.parameters)
        assert not unknown, f"{self.name}: no parameters {sorted(unknown)}"
        self.fast: dict[Any, tuple[Any, ...]] = {}
        """What runs directly, and what it gives: by the abstract arrays of one or two arrays."""
        self.entries: dict[Any, Version] = {}
        self.on_slices: Callable[[EagerFunction, tuple[Any, ...], dict[str, Any]], Any] | None = None
        """What the function does where there are slices with traced ends among its arguments."""
        EagerFunction.FUNCTIONS.append(self)

    def clear(self) -> None:
        self.fast.clear()
        self.entries.clear()

    def call(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        trace = current_trace()
        if trace is not None:
            return self._inline(trace, arguments, named)
        leaves: list[Any] = []
        key = self._key(arguments, named, leaves)
        for leaf in leaves:
            if isinstance(leaf, TracedArray):
                leaf.check_usable()
        version = self.entries.get(key)
        if version is None:
            version = self._compile(arguments, named, leaves)
            if len(self.entries) >= MOST_SIGNATURES:
                self.clear()
            self.entries[key] = version
            program = version.program
            if program is not None and version.structure is None and program.is_simple and not named:
                self._note_fast(program, arguments, leaves)
        return version.run(leaves)

    def _note_fast(self, program: CompiledTrace, arguments: tuple[Any, ...], leaves: list[Any]) -> None:
        """Notes a program where `fast_call` finds it."""
        direct, result = program.direct, program.result_avals[0]
        if direct is None or result.weak or len(leaves) != len(arguments) or len(leaves) > 2:
            return
        # A list of one array is another argument than that array.
        if any(leaf is not argument for leaf, argument in zip(leaves, arguments, strict=True)):
            return
        kinds: list[Any] = [leaf.__class__ for leaf in leaves]
        if all(kind is ConcreteArray for kind in kinds):
            avals = tuple([leaf.aval for leaf in leaves])
            self.fast[avals if len(avals) == 2 else avals[0]] = (direct, result)
        elif len(leaves) == 2 and ConcreteArray in kinds and (kinds[0] in WEAK or kinds[1] in WEAK):
            place = 0 if kinds[0] in WEAK else 1
            scalar = aval_of_value(leaves[place], self.name)
            low, high = -inf, inf
            if scalar.dtype.kind in "iu":
                dtypes = [scalar.dtype, *[dtype for _, dtype in program.ranges]]
                limits = [np.iinfo(dtype) for dtype in dtypes]
                low, high = max(int(each.min) for each in limits), min(int(each.max) for each in limits)
            if scalar.dtype.kind != "u":
                aval = leaves[1 - place].aval
                key = (kinds[0], aval) if place == 0 else (aval, kinds[1])
                self.fast[key] = (direct, result, scalar.dtype, low, high)

    def _key(self, arguments: tuple[Any, ...], named: Mapping[str, Any], leaves: list[Any]) -> Any:
        """Returns what calls have in common that the same program serves; adds the arrays to `leaves`."""
        names = self.positional
        parts: list[Any] = []
        for number, value in enumerate(arguments):
            name = names[number] if number < len(names) else names[-1] if names else ""
            parts.append(self._key_of(name, value, leaves))
        if named:
            parts.append(tuple([(name, self._key_of(name, value, leaves)) for name, value in named.items()]))
        return tuple(parts)

    def _key_of(self, name: str, value: Any, leaves: list[Any]) -> Any:
        kind: Any = value.__class__
        if kind is ConcreteArray and name not in self.static:
            leaves.append(value)
            return value.aval
        if name in self.static:
            return static_key(_without_lists(value), f"{self.name}: argument '{name}'")
        if value is None:
            self._check_optional(name)
            return None
        if kind is list or kind is tuple:
            return (kind, *[self._key_of(name, item, leaves) for item in value])
        leaves.append(value)
        return aval_of_value(value, f"{self.name}: argument '{name}'")

    def _check_optional(self, name: str) -> None:
        parameter = self.signature.parameters.get(name)
        if parameter is None or parameter.default is None:
            return
        if not any(kind in str(parameter.annotation) for kind in ("None", "Any")):
            raise TypeError(f"{self.name}: argument '{name}' is None, expected an array or a number")

    def _bind(self, arguments: tuple[Any, ...], named: Mapping[str, Any], lifted: Callable[..., Any]) -> Any:
        """Calls the function on what `lifted` makes of its arrays."""
        names, static = self.positional, self.static

        def made(name: str, value: Any) -> Any:
            if name in static:
                return _without_lists(value)
            if value is None:
                self._check_optional(name)
                return None
            if type(value) is list or type(value) is tuple:
                items = cast("list[Any] | tuple[Any, ...]", value)
                return type(items)([made(name, item) for item in items])
            return lifted(name, value)

        last = names[-1] if names else ""
        return self.function(
            *[
                made(names[number] if number < len(names) else last, value)
                for number, value in enumerate(arguments)
            ],
            **{name: made(name, value) for name, value in named.items()},
        )

    def _inline(self, trace: Trace, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if self.on_slices is not None and TracedSlice in [type(each) for each in arguments]:
            return self.on_slices(self, arguments, dict(named))

        def lifted(name: str, value: Any) -> TracedArray:
            return lift(trace, value, f"{self.name}: argument '{name}'")

        return self._bind(arguments, named, lifted)

    def _compile(self, arguments: tuple[Any, ...], named: Mapping[str, Any], leaves: list[Any]) -> Version:
        trace = Trace(self.name)
        with trace:

            def argument(name: str, value: Any) -> TracedArray:
                return trace.argument(aval_of_value(value, f"{self.name}: argument '{name}'"), name)

            parts: list[Any] = []
            structure = flatten(self._bind(arguments, named, argument), parts)
            assert trace.argument_count == len(leaves), f"{self.name}: an array is not an argument"
            call = TracedCall(trace, structure, tuple(parts))
            trace.finish(call.results)
        return call.compiled()


def _without_lists(value: Any) -> Any:
    if type(value) is list or type(value) is tuple:
        items = cast("list[Any] | tuple[Any, ...]", value)
        return tuple([_without_lists(item) for item in items])
    return value
