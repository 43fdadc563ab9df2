"""
`@array_function`: a function of arrays that is written once, over traced arrays.

Called with a traced array, or while a function is traced, its body runs in that trace. Called with values it
is compiled, once for each signature, and runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast, overload

import numpy as np

from ..driver import compile
from ..errors import TenonError
from .aval import BOOL, FLOAT, INT, UINT, Aval, aval_of
from .concrete import ConcreteArray, as_concrete
from .trace import Trace, current_trace
from .traced import TracedArray

F = TypeVar("F", bound=Callable[..., Any])

WEAK = {bool: aval_of(BOOL, (), True), int: aval_of(INT, (), True), float: aval_of(FLOAT, (), True)}
"""What stands for Python's scalars."""

_INT64_END, _UINT64_END = 2**63, 2**64


@overload
def array_function(function: F, /) -> F: ...
@overload
def array_function(*, static: Iterable[str] = ()) -> Callable[[F], F]: ...
def array_function(function: Any = None, /, *, static: Iterable[str] = ()) -> Any:
    """
    Makes a function of `tenon.numpy` of one that is written over traced arrays.

    Parameters named in `static` are given to it as they are and must be hashable; all others are arrays,
    Python scalars (which arrive as weak arrays of rank 0), None, or lists and tuples of these. It returns an
    array, a tuple of them (a named one too), or a constant of Python's.
    """
    if function is None:
        return lambda function: array_function_of(function, frozenset(static))
    return array_function_of(function, frozenset())


def array_function_of(function: Callable[..., Any], static: frozenset[str]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    names = tuple(signature.parameters)
    unknown = static.difference(names)
    assert not unknown, f"{function.__name__}: no parameters {sorted(unknown)}"
    compiled = _Compiled(function, signature, static)
    cache = compiled.fast

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        if not named:
            try:
                entry = cache.get(tuple([argument.aval for argument in arguments]))
            except AttributeError:
                entry = None
            if entry is not None and current_trace() is None:
                return entry.run([argument.values for argument in arguments])
        return compiled.call(arguments, named)

    call.compiled = compiled  # type: ignore[attr-defined]
    return call


class _Entry:
    """A compiled signature."""

    def __init__(self, trace: Trace, results: list[TracedArray], rebuild: Callable[[list[Any]], Any]):
        self.executable = compile(trace.finish(results))
        self.avals = [result.aval for result in results]
        self.captured = [_values_of(array) for array, _ in trace.captured]
        self.ranges = tuple(trace.ranges)
        self.rebuild = rebuild

    def run(self, values: list[Any]) -> Any:
        found = self.executable(*values, *self.captured)
        if len(self.avals) == 1:
            found = (found,)
        return self.rebuild([ConcreteArray(each, aval) for each, aval in zip(found, self.avals, strict=True)])


class _Compiled:
    """A function of arrays with the programs that were compiled for it."""

    def __init__(self, function: Callable[..., Any], signature: inspect.Signature, static: frozenset[str]):
        self.function = function
        self.name = function.__name__
        self.signature = signature
        self.static = static
        self.fast: dict[Any, _Entry] = {}
        """By the abstract arrays of calls with arrays only, all given by position."""
        self.entries: dict[Any, _Entry] = {}

    def call(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        trace = current_trace()
        if trace is None:
            leaves: list[Any] = []
            try:
                bound = self.signature.bind(*arguments, **named)
            except TypeError as error:
                raise TypeError(f"{self.name}: {error}") from None
            key = self._key(bound.arguments, leaves)
            if not any(isinstance(leaf, TracedArray) for leaf in leaves):
                return self._run(arguments, named, bound, key, leaves)
            trace = next(leaf for leaf in leaves if isinstance(leaf, TracedArray)).trace
        for leaf in _leaves((*arguments, *named.values())):
            if isinstance(leaf, TracedArray):
                leaf.check_usable()
        return self._inline(trace, arguments, named)

    def _run(
        self,
        arguments: tuple[Any, ...],
        named: Mapping[str, Any],
        bound: inspect.BoundArguments,
        key: Any,
        leaves: list[Any],
    ) -> Any:
        try:
            entry = self.entries.get(key)
        except TypeError:
            raise TypeError(f"{self.name}: a static argument is not hashable ({bound.arguments})") from None
        if entry is None:
            entry = self._compile(bound)
            self.entries[key] = entry
            if (
                not named
                and len(leaves) == len(arguments)
                and all(isinstance(a, ConcreteArray) for a in arguments)
            ):
                self.fast[tuple([argument.aval for argument in arguments])] = entry
        for number, dtype in entry.ranges:
            check_range(leaves[number], dtype)
        return entry.run([_values_of(leaf) for leaf in leaves])

    def _key(self, arguments: Mapping[str, Any], leaves: list[Any]) -> Any:
        parts: list[Any] = []
        for name, value in arguments.items():
            if name in self.static:
                parts.append((name, type(value), value))
            else:
                parts.append((name, self._key_of(name, value, leaves)))
        return tuple(parts)

    def _key_of(self, name: str, value: Any, leaves: list[Any]) -> Any:
        if value is None:
            return None
        if isinstance(value, list | tuple):
            items = cast("list[Any] | tuple[Any, ...]", value)
            return (type(items), *[self._key_of(name, item, leaves) for item in items])
        leaves.append(value)
        return self._aval(name, value)

    def _aval(self, name: str, value: Any) -> Aval:
        if isinstance(value, ConcreteArray | TracedArray):
            return value.aval
        scalar = WEAK.get(type(value))
        if scalar is not None:
            return aval_of_scalar(value)
        if isinstance(value, np.ndarray | np.generic):
            return as_concrete(value).aval
        raise TypeError(
            f"{self.name}: argument '{name}' is {value!r}, of type {type(value).__name__}, expected an array"
        )

    def _compile(self, bound: inspect.BoundArguments) -> _Entry:
        trace = Trace(self.name)
        with trace:
            arguments: dict[str, Any] = {}
            for name, value in bound.arguments.items():
                arguments[name] = value if name in self.static else self._traced(trace, name, value)
            positional, named = _as_given(self.signature, arguments)
            result = self.function(*positional, **named)
            results: list[TracedArray] = []
            rebuild = _flatten_result(self.name, result, results)
        return _Entry(trace, results, rebuild)

    def _traced(self, trace: Trace, name: str, value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, list | tuple):
            items = cast("list[Any] | tuple[Any, ...]", value)
            return type(items)([self._traced(trace, name, item) for item in items])
        return trace.argument(self._aval(name, value), name)

    def _inline(self, trace: Trace, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        try:
            bound = self.signature.bind(*arguments, **named)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        lifted = {
            name: value if name in self.static else self._lift(trace, name, value)
            for name, value in bound.arguments.items()
        }
        positional, given = _as_given(self.signature, lifted)
        return self.function(*positional, **given)

    def _lift(self, trace: Trace, name: str, value: Any) -> Any:
        if value is None or isinstance(value, TracedArray):
            return value
        if isinstance(value, list | tuple):
            items = cast("list[Any] | tuple[Any, ...]", value)
            return type(items)([self._lift(trace, name, item) for item in items])
        return lift(trace, value, self._aval(name, value))


def lift(trace: Trace, value: Any, aval: Aval) -> TracedArray:
    """Returns an array or a Python scalar from outside of a trace as one of it."""
    if aval.weak:
        return trace.constant(np.array(value, aval.dtype), True)
    if isinstance(value, np.generic):
        return trace.constant(np.asarray(value))
    return trace.capture(value)


def aval_of_scalar(value: bool | int | float) -> Aval:
    """
    Returns what stands for a Python scalar.

    Raises:
        OverflowError: an integer has more than 64 bits.
    """
    if type(value) is int and not -_INT64_END <= value < _INT64_END:
        if not 0 <= value < _UINT64_END:
            raise OverflowError(f"Python integer {value} is out of bounds for int64 and uint64")
        return aval_of(UINT, (), True)
    return WEAK[type(value)]


def check_range(value: int, dtype: np.dtype[Any]) -> None:
    """Raises OverflowError, as numpy does, where a Python integer does not fit a dtype."""
    limits = np.iinfo(dtype)
    if not limits.min <= value <= limits.max:
        raise OverflowError(f"Python integer {value} out of bounds for {dtype}")


def _values_of(value: Any) -> Any:
    if isinstance(value, ConcreteArray):
        return value.values
    if type(value) in WEAK:
        return np.array(value, aval_of_scalar(value).dtype)
    return as_concrete(value).values


def _leaves(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _leaves(cast("list[Any]", value))
        else:
            yield value


def _as_given(
    signature: inspect.Signature, arguments: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    bound = inspect.BoundArguments(signature, cast(Any, dict(arguments)))
    return bound.args, bound.kwargs


def _flatten_result(name: str, result: Any, leaves: list[TracedArray]) -> Callable[[list[Any]], Any]:
    """Appends the arrays of a result to `leaves`, and returns what makes the result of such arrays."""
    if isinstance(result, TracedArray):
        number = len(leaves)
        leaves.append(result)
        return lambda arrays: arrays[number]
    if isinstance(result, list | tuple):
        items = cast("list[Any] | tuple[Any, ...]", result)
        parts = [_flatten_result(name, item, leaves) for item in items]
        kind: Any = type(items)
        if hasattr(kind, "_fields"):
            return lambda arrays: kind(*[part(arrays) for part in parts])
        return lambda arrays: kind([part(arrays) for part in parts])
    if isinstance(result, bool | int | float | str | type(None) | np.dtype):
        return lambda arrays: result
    raise TenonError(f"{name}: returns a {type(result).__name__}, expected an array")
