"""`tenon.jit`: a Python function as a program, compiled once for each signature."""

from __future__ import annotations

import functools
import inspect
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock, local
from types import MethodType
from typing import Any, cast
from weakref import WeakSet

import numpy as np

from ..runtime import timeline
from .aval import Aval
from .compiled_trace import CompiledTrace
from .concrete import ConcreteArray
from .dispatch import EagerFunction
from .explain import CallSignature, Miss, Misses, argument_path, nearest_difference
from .guards import Guard, guards_of
from .leaves import aval_of_value, lift, static_key, values_of
from .lowered import Lowered
from .trace import ENTERED, Trace, current_trace
from .traced import TracedArray
from .tree import Node, flatten, paths, unflatten

MOST_SIGNATURES = 4096
"""How many programs are kept for one function; all go when there are more."""

MOST_VERSIONS = 16
"""How many programs are kept for one signature, for as many states of what it reads from outside."""

MOST_NESTED = 100
"""How deep a jitted function may call itself while it is traced."""


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: int | Iterable[int] = (),
    static_argnames: str | Iterable[str] = (),
    donate_argnums: int | Iterable[int] = (),
    backend: str = "llvm",
    pipeline: str | None = None,
    name: str | None = None,
) -> Any:
    """
    Returns a function of arrays as a compiled one; without a function, a decorator.

    At its first call with a signature the function runs once, on arrays without values (`TracedArray`), and
    what it does to them is compiled. A signature is the structure of the arguments (nested lists, tuples,
    dicts, None, and classes of `register_tree`), the dtypes and shapes of the arrays in them, and the values
    of static arguments. Arguments are arrays of Tenon or numpy, and Python scalars, which are 0-d arrays that
    take the dtype of others. The result has arrays where the function returned some; constants of Python's
    stay.

    Arguments of `static_argnums` (negative ones count from the last parameter) and `static_argnames` are
    given to the function as they are; they must be hashable. Those of `donate_argnums` cannot be used after
    the call, which may put results in their memory; arrays of numpy are not donated. `pipeline` is text for
    the pass manager, `name` what the program is called.

    What the function reads from outside is followed: see `docs/jit-traps.md`.

    Raises:
        TypeError: the function is none, is a generator or a coroutine, or a number or a name is not one.
        ValueError: it has no such parameter, or one is both static and donated.
    """
    options: dict[str, Any] = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "backend": backend,
        "pipeline": pipeline,
        "name": name,
    }
    if function is None:
        return lambda function: Jitted(function, **options)
    return Jitted(function, **options)


@dataclass(eq=False, slots=True)
class Version:
    """A program for one signature, and what the function read from outside when it was traced."""

    program: CompiledTrace | None
    structure: Node | None
    parts: list[Any]
    guards: tuple[Guard, ...]

    def changed(self) -> Guard | None:
        """Returns a guard that does not hold any more, if there is one."""
        for guard in self.guards:
            if not guard.holds():
                return guard
        return None

    def run(self, leaves: Sequence[Any]) -> Any:
        program = self.program
        if program is None:
            return unflatten(self.structure, iter(self.parts))
        if program.ranges:
            program.check_ranges(leaves)
        found = iter(program.run([values_of(leaf) for leaf in leaves]))
        return unflatten(
            self.structure, iter([next(found) if part is _ARRAY else part for part in self.parts])
        )


class Jitted:
    """A function that is traced and compiled at its first call with each signature. Made by `jit`."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        static_argnums: int | Iterable[int],
        static_argnames: str | Iterable[str],
        donate_argnums: int | Iterable[int],
        backend: str,
        pipeline: str | None,
        name: str | None,
    ) -> None:
        if not callable(function):
            raise TypeError(f"jit: {function!r} is not a function")
        if isinstance(function, Jitted):
            function = function.function
        inner = _innermost(function)
        if any(
            check(inner)
            for check in (
                inspect.isgeneratorfunction,
                inspect.iscoroutinefunction,
                inspect.isasyncgenfunction,
            )
        ):
            raise TypeError(
                f"jit: {_name_of(function)} is a generator or a coroutine, expected a function "
                "(hint: return a list)"
            )
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name or _name_of(function)
        self.options = {"backend": backend, "pipeline": pipeline}
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except ValueError:
            self.signature = None
        self.parameters = _positional(self.signature)
        self._static_numbers = self._numbers("static_argnums", static_argnums)
        self._static_names = self._names(static_argnames) | {
            self.parameters[number] for number in self._static_numbers if number < len(self.parameters)
        }
        self._static_numbers |= {
            self.parameters.index(each) for each in self._static_names if each in self.parameters
        }
        self._donated = self._numbers("donate_argnums", donate_argnums)
        if both := sorted(self._donated & self._static_numbers):
            raise ValueError(f"jit: argument {both[0]} of {self.name} is both static and donated")
        self._is_plain = not self._static_names and not self._static_numbers and not self._donated
        self._versions: dict[Any, list[Version]] = {}
        self._fast: dict[Any, tuple[Any, Aval, tuple[Guard, ...]]] = {}
        """By what stands for arrays: what runs directly, what it gives, and under which conditions."""
        self._known: list[CallSignature] = []
        self._misses: list[Miss] = []
        self._lock = Lock()
        _ALL.add(self)

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        if ENTERED[0] and (trace := current_trace()) is not None:
            return self._inline(trace, arguments, named)
        if not named:
            try:
                found = self._fast.get(tuple([argument.aval for argument in arguments]))
                if found is not None and timeline.current is None:
                    direct, aval, guards = found
                    for guard in guards:
                        if not guard.holds():
                            return self._call(arguments, named)
                    values = direct(tuple([argument.values for argument in arguments]), None)
                    if values is not None:
                        return ConcreteArray(values, aval)
            except AttributeError:
                pass  # Not all are arrays with values.
        return self._call(arguments, named)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit {self.name}, {len(self._versions)} signatures>"

    def explain_misses(self) -> Misses:
        """
        Returns why calls were traced: for each what differs from the nearest signature that was known, and
        what tracing and compiling cost. Printed, one line each.
        """
        return Misses(self._misses)

    def clear_cache(self) -> None:
        """Forgets all programs, and why there were some."""
        with self._lock:
            self._versions.clear()
            self._fast.clear()
            self._known.clear()
            self._misses.clear()

    def lower(self, /, *arguments: Any, **named: Any) -> Lowered:
        """
        Returns what a call with these arguments compiles: the text of each level, the code, the cost, the
        memory. Nothing is run, and the cache stays as it is.
        """
        leaves: list[Any] = []
        arguments, named = self._canonical(arguments, named)
        signature = self._signature(arguments, named, leaves)
        trace, structure, parts, results = self._trace(signature)
        module = trace.finish(results)
        return Lowered(trace, module, [result.aval for result in results], structure, parts, self, signature)

    def _call(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        leaves: list[Any] = []
        arguments, named = self._canonical(arguments, named)
        signature = self._signature(arguments, named, leaves)
        for leaf in leaves:
            if isinstance(leaf, TracedArray):
                leaf.check_usable()
        versions = self._versions.get(signature.key)
        changed: Guard | None = None
        found: Version | None = None
        for version in reversed(versions or ()):
            guard = version.changed()
            if guard is None:
                found = version
                break
            changed = changed or guard
        if found is None:
            found = self._add(signature, changed)
            if self._is_plain and _is_direct(found, signature, arguments):
                program = found.program
                assert program is not None, f"{self.name}: a direct call without a program"
                self._fast[signature.avals] = (program.direct, program.result_avals[0], found.guards)
        if not self._donated:
            return found.run(leaves)
        donated = self._donated_arrays(arguments, leaves)
        result = found.run(leaves)
        for array in donated:
            array.give_away(self.name)
        return result

    def _donated_arrays(self, arguments: tuple[Any, ...], leaves: Sequence[Any]) -> list[ConcreteArray]:
        """
        Returns the arrays that a call may use up.

        Raises:
            ValueError: one of them is given twice.
        """
        given = [id(leaf) for leaf in leaves]
        donated: list[ConcreteArray] = []
        for number in sorted(self._donated):
            inside: list[Any] = []
            flatten(arguments[number] if number < len(arguments) else None, inside)
            for leaf in inside:
                if isinstance(leaf, ConcreteArray):
                    if given.count(id(leaf)) > 1:
                        raise ValueError(
                            f"{self.name}: argument {number} is donated, and the same array is given again"
                        )
                    donated.append(leaf)
        return donated

    def _add(self, signature: CallSignature, changed: Guard | None) -> Version:
        start = time.perf_counter()
        guards = self._guards(signature)
        trace, structure, parts, results = self._trace(signature, guards)
        # What the function itself changes is no reason to run it again.
        guards = [guard for guard in guards if guard.holds()]
        traced = time.perf_counter()
        program = None
        # Tracing runs the user's code, which may wait for other threads: only compiling is under the lock.
        with self._lock:
            for version in self._versions.get(signature.key, ()):
                if version.changed() is None:
                    return version
            if results:
                program = CompiledTrace(
                    trace, trace.finish(results), [result.aval for result in results], **self.options
                )
            kept = [_ARRAY if isinstance(part, TracedArray) else part for part in parts]
            version = Version(program, structure, kept, tuple(guards))
            if changed is None:
                reasons = nearest_difference(signature, self._known)
            else:
                reasons = (f"{changed} has changed since it was traced",)
            if len(self._versions) >= MOST_SIGNATURES:
                self._versions.clear()
                self._fast.clear()
                self._known.clear()
            versions = self._versions.setdefault(signature.key, [])
            if not versions:
                self._known.append(signature)
            del versions[: max(0, len(versions) - MOST_VERSIONS + 1)]
            versions.append(version)
            done = time.perf_counter()
            self._misses.append(
                Miss(self.name, len(self._misses) + 1, reasons, traced - start, done - traced)
            )
        return version

    def _guards(self, signature: CallSignature) -> list[Guard]:
        static = {name: value for name, _, value in signature.static}
        return guards_of(self.function, static)

    def _canonical(
        self, arguments: tuple[Any, ...], named: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Returns arguments with those by position that may be given so."""
        if not named or self.signature is None:
            return arguments, named
        try:
            bound = self.signature.bind(*arguments, **named)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        return bound.args, bound.kwargs

    def _signature(
        self, arguments: tuple[Any, ...], named: Mapping[str, Any], leaves: list[Any]
    ) -> CallSignature:
        """Returns what a call is compiled for; adds its arrays and Python scalars to `leaves`."""
        static: list[tuple[str, Any, Any]] = []
        if self._static_numbers or self._static_names:
            positional: list[Any] = []
            for number, value in enumerate(arguments):
                if number in self._static_numbers:
                    name = self.parameters[number] if number < len(self.parameters) else str(number)
                    static.append((name, static_key(value, f"{self.name}: static argument '{name}'"), value))
                    value = None
                positional.append(value)
            arguments = tuple(positional)
            for name in [name for name in named if name in self._static_names]:
                value = named[name]
                static.append((name, static_key(value, f"{self.name}: static argument '{name}'"), value))
                named = {**named, name: None}
        structure = flatten((arguments, dict(named)), leaves)
        avals = tuple([self._aval(number, leaf, structure) for number, leaf in enumerate(leaves)])
        return CallSignature(structure, avals, tuple(static), self.parameters)

    def _aval(self, number: int, leaf: Any, structure: Node | None) -> Any:
        if type(leaf) is ConcreteArray:
            return leaf.aval
        try:
            return aval_of_value(leaf, "it")
        except TypeError as error:
            path = argument_path(list(paths(structure))[number], self.parameters)
            hint = (
                ""
                if isinstance(leaf, np.ndarray | np.generic)
                else (" (hint: static_argnums or static_argnames, or tenon.register_tree for its class)")
            )
            raise TypeError(
                f"{self.name}: argument '{path}' {str(error).removeprefix('it ')}{hint}"
            ) from None

    def _arguments(self, signature: CallSignature, leaves: Iterable[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments of the function itself, with `leaves` for the arrays."""
        arguments, named = unflatten(signature.structure, iter(leaves))
        arguments, named = list(arguments), dict(named)
        for name, _, value in signature.static:
            number = int(name) if name.isdigit() else self._number_of(name)
            if number is not None and number < len(arguments):
                arguments[number] = value
            else:
                named[name] = value
        return arguments, named

    def _number_of(self, name: str) -> int | None:
        return self.parameters.index(name) if name in self.parameters else None

    def _trace(
        self, signature: CallSignature, guards: Sequence[Guard] = ()
    ) -> tuple[Trace, Node | None, list[Any], list[TracedArray]]:
        trace = Trace(self.name)
        trace.watched = {id(guard.kept): guard for guard in guards if guard.is_array}
        with trace:
            traced = [
                trace.argument(aval, path)
                for aval, path in zip(signature.avals, signature.paths(), strict=True)
            ]
            arguments, named = self._arguments(signature, traced)
            result = self._run_inside(trace, arguments, named)
            parts: list[Any] = []
            structure = flatten(result, parts)
            parts = [self._result(trace, part) for part in parts]
        return trace, structure, parts, [part for part in parts if isinstance(part, TracedArray)]

    def _result(self, trace: Trace, value: Any) -> Any:
        if isinstance(value, bool | int | float | complex | str | bytes | np.dtype | type):
            return value
        try:
            return lift(trace, value, f"{self.name}: its result")
        except TypeError:
            raise TypeError(
                f"{self.name}: returns a {type(value).__name__}, expected arrays and constants of Python's, "
                "in lists, tuples, dicts and registered classes (hint: a generator as a list)"
            ) from None

    def _inline(self, trace: Trace, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Runs the function in the trace of another one, of which arrays with values become a part."""

        def lifted(value: Any) -> Any:
            leaves: list[Any] = []
            structure = flatten(value, leaves)
            return unflatten(
                structure,
                iter(
                    [
                        lift(trace, leaf, self.name) if isinstance(leaf, np.ndarray | ConcreteArray) else leaf
                        for leaf in leaves
                    ]
                ),
            )

        given = [
            value if number in self._static_numbers else lifted(value)
            for number, value in enumerate(arguments)
        ]
        by_name = {
            name: value if name in self._static_names else lifted(value) for name, value in named.items()
        }
        return self._run_inside(trace, given, by_name)

    def _run_inside(self, trace: Trace, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        depths = _RUNNING.depths
        depth = depths.get(self, 0)
        if depth >= MOST_NESTED:
            raise trace.error(
                f"{self.name} calls itself without end while it is traced ({MOST_NESTED} calls deep) "
                "(hint: tenon.while_loop, or a static argument that ends it)"
            )
        depths[self] = depth + 1
        try:
            return self.function(*arguments, **named)
        finally:
            if depth:
                depths[self] = depth
            else:
                del depths[self]

    def _numbers(self, what: str, value: int | Iterable[int]) -> set[int]:
        numbers: set[int] = set()
        values: Any = [value] if isinstance(value, int) else value
        count = len(self.parameters)
        variadic = self.signature is None or any(
            each.kind is each.VAR_POSITIONAL for each in self.signature.parameters.values()
        )
        for number in values:
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"jit: {what} of {self.name} has {number!r}, expected integers")
            index = number + count if number < 0 else number
            if index < 0 or (index >= count and not variadic):
                raise ValueError(f"jit: {what} of {self.name} has {number}, but it has {count} parameters")
            numbers.add(index)
        return numbers

    def _names(self, value: str | Iterable[str]) -> set[str]:
        names = {value} if isinstance(value, str) else set(value)
        parameters = self.signature.parameters if self.signature is not None else {}
        takes_any = self.signature is None or any(
            each.kind is each.VAR_KEYWORD for each in parameters.values()
        )
        for name in sorted(names):
            if name not in parameters and not takes_any:
                raise ValueError(
                    f"jit: static_argnames of {self.name} has {name!r}, expected one of {list(parameters)}"
                )
        return names


def clear_caches() -> None:
    """Forgets the programs of all jitted functions and of all functions of `tenon.numpy`."""
    for jitted in list(_ALL):
        jitted.clear_cache()
    for function in EagerFunction.FUNCTIONS:
        function.clear()


_OTHER_KINDS = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
"""What tells functions that return before they have run."""


class _Running(local):
    def __init__(self) -> None:
        self.depths: dict[Jitted, int] = {}


_RUNNING = _Running()
"""How deep each jitted function is in itself, while it is traced."""

_ALL: WeakSet[Jitted] = WeakSet()

_ARRAY = object()
"""Where an array stands among the parts of a result."""


def _new_locks() -> None:
    """In the child of a fork: who holds a lock is not here."""
    for jitted in _ALL:
        jitted._lock = Lock()  # pyright: ignore[reportPrivateUsage]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_locks)


def _is_direct(version: Version, signature: CallSignature, arguments: tuple[Any, ...]) -> bool:
    """Returns whether calls with such arrays take no more than one call of the program."""
    program = version.program
    return (
        program is not None
        and version.structure is None
        and program.is_simple
        and program.direct is not None
        and not program.ranges
        and len(signature.avals) == len(arguments)
        and all(type(argument) is ConcreteArray for argument in arguments)
    )


def _positional(signature: inspect.Signature | None) -> tuple[str, ...]:
    if signature is None:
        return ()
    return tuple(
        name
        for name, each in signature.parameters.items()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    )


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial | MethodType):
        function = cast(Any, function.func if isinstance(function, functools.partial) else function.__func__)
    return function


def _name_of(function: Any) -> str:
    inner = _innermost(function)
    return getattr(inner, "__name__", type(inner).__name__)
