"""`tenon.jit`: a Python function as a program, compiled once for each signature."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock, local
from types import MethodType
from typing import Any, cast
from weakref import WeakSet

import numpy as np
from xdsl.ir import Operation

from ...dialects.dims.expressions import symbols_of
from ...runtime.timeline import timeline
from ..arrays.aval import Aval
from ..arrays.concrete import ConcreteArray
from ..arrays.tracing_state import ENTERED
from ..arrays.tree import flatten, is_plain, unflatten
from ..calls.dispatch import MOST_SIGNATURES, EagerFunction
from ..calls.guard_checks import GuardChecks
from ..calls.guards import Guard, guards_of
from ..calls.versions import TracedCall, Version
from ..sharding.annotations import annotate_arguments, mesh_of
from ..sharding.program_digest import check_same_program
from ..sharding.replicas import are_compared, check_replicas
from ..sharding.sharded_array import ShardedArray
from ..tracing.leaves import lift, plain_values
from ..tracing.source_lines import note_place
from ..tracing.trace import Trace, TracedArray, current_trace
from .call_forms import MOST_FAST, POSITIONAL, REFUSED, FastCalls, FastEntry
from .call_signature import CallSignature, Parameters
from .dims import Dim
from .donating_calls import DonatingCall
from .fastmath import fastmath_flags
from .lowered import Lowered
from .misses import Miss, Misses, nearest_difference

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
    dynamic: Mapping[str, Mapping[int, Dim]] | None = None,
    specialize: Mapping[str, Sequence[int]] | None = None,
    backend: str = "llvm",
    pipeline: str | None = None,
    name: str | None = None,
    target: str | None = None,
    fastmath: str | Iterable[str] = (),
    allow_gather: bool = False,
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
    the call, which may put results in their memory; arrays of numpy and frozen ones are copied. `dynamic`
    leaves axes open, by argument: `{"x": {0: tenon.Dim("n", 1, 64)}}`; `specialize` names values of their
    dims that get a program of their own, `{"n": [8]}`, compiled when a call first has them. `pipeline` is
    text for the pass manager, `name` what the program is called, `target` the processor to make code for, as
    in `tenon.compile`. `fastmath` names the flags that all float ops of the function get: `reassoc`, `nnan`,
    `ninf`, `nsz`, `arcp`, `contract` and `afn`, which are LLVM's, or `fast` for all of them.

    Of sharded arguments, or where the function reads sharded arrays from outside, the program is one of all
    ranks of their mesh, and so are the results; all ranks must call it. Where the mesh is of devices of this
    process it runs on these. An op that cannot be split as its operands are is an error, or with
    `allow_gather` these are gathered. See docs/sharding.md.

    What the function reads from outside is followed: see `docs/jit-traps.md`.

    Raises:
        TypeError: the function is none, is a generator or a coroutine, or a number, a name or a dim is not
            one.
        ValueError: it has no such parameter, one is both static and donated, two dims share a name, or there
            is no such flag.
    """

    def made(function: Callable[..., Any]) -> Jitted:
        return Jitted(
            function,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            dynamic=dynamic or {},
            specialize=specialize or {},
            backend=backend,
            pipeline=pipeline,
            name=name,
            target=target,
            fastmath=fastmath,
            allow_gather=allow_gather,
        )

    return made if function is None else made(function)


class _HasPrograms:
    """What machine code knows of a jitted function."""

    __slots__ = ("direct",)

    direct: tuple[Any, ...]
    """The programs that machine code calls by itself, each with what stands for its result."""


class Jitted(_HasPrograms):
    """A function that is traced and compiled at its first call with each signature. Made by `jit`."""

    def __init__(
        self,
        function: Any,
        *,
        static_argnums: int | Iterable[int],
        static_argnames: str | Iterable[str],
        donate_argnums: int | Iterable[int],
        dynamic: Mapping[str, Mapping[int, Dim]],
        specialize: Mapping[str, Sequence[int]],
        backend: str,
        pipeline: str | None,
        name: str | None,
        target: str | None,
        fastmath: str | Iterable[str],
        allow_gather: bool,
    ) -> None:
        if not callable(function):
            raise TypeError(f"jit: {function!r} is not a function")
        if isinstance(function, Jitted):
            function = function.function
        inner = _innermost(function)
        self.name = name or getattr(inner, "__name__", type(inner).__name__)
        if any(check(inner) for check in _OTHER_KINDS):
            raise TypeError(
                f"jit: {self.name} is a generator or a coroutine, expected a function (hint: return a list)"
            )
        functools.update_wrapper(self, function)
        self.function: Callable[..., Any] = function
        self.options: dict[str, Any] = {"backend": backend, "pipeline": pipeline, "target": target}
        self.options["allow_gather"] = allow_gather
        self.fastmath = fastmath_flags(fastmath)
        self.parameters = Parameters(
            function, self.name, static_argnums, static_argnames, donate_argnums, dynamic
        )
        self._specialized = self.parameters.dynamic.checked_values(specialize)
        self._versions: dict[Any, list[Version]] = {}
        self._fast = FastCalls(self.parameters)
        self._donating: tuple[DonatingCall, ...] = ()
        """What calls of a function that is given arrays try first, the last one noted first."""
        self.direct = ()
        self._known: list[CallSignature] = []
        self._misses: list[Miss] = []
        self._lock = Lock()
        _ALL.add(self)

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        # Machine code takes this method's place, and calls it for what is not plain: see `_note_fast`.
        if ENTERED[0] and (trace := current_trace()) is not None:
            return self._inline(trace, arguments, named)
        if timeline.CURRENT[0] is None:
            result = self._fast.run(arguments, named)
            if result is not REFUSED:
                return result
        return self._call(arguments, named)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit {self.name}, {len(self._versions)} signatures>"

    def __copy__(self) -> Jitted:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Jitted:
        return self

    def __reduce__(self) -> str:
        """As functions are, it is pickled by the name that its module has for it."""
        name = str(getattr(self, "__qualname__", self.name))
        found: Any = sys.modules.get(self.__module__)
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is not self:
            raise TypeError(
                f"{self.name}: cannot be pickled, {self.__module__}.{name} is not this jitted function "
                "(hint: jit as a decorator, or pickle the Python function and jit that)"
            )
        return name

    def explain_misses(self) -> Misses:
        """
        Returns why calls were traced: for each what differs from the nearest signature that was known, and
        what tracing and compiling cost. Printed, one line each.
        """
        return Misses(self._misses)

    def clear_cache(self) -> None:
        """Forgets all programs, and why there were some."""
        with self._lock:
            self._forget_programs()
            self._misses.clear()

    def lower(self, /, *arguments: Any, **named: Any) -> Lowered:
        """
        Returns what a call with these arguments compiles: the text of each level, the code, the cost, the
        memory. Nothing is run, and the cache stays as it is.
        """
        signature = self.parameters.signature_of(self.parameters.canonical(arguments, named), [])
        return Lowered(self.trace(signature), self.parameters, signature, self._options_for(signature))

    def explain(self, /, *arguments: Any, **named: Any) -> Any:
        """
        Returns what the compiler does with a call with these arguments; see `Lowered.explain`.

        Raises:
            TenonError: the function computes no array, or its passes leave no kernels.
        """
        return self.lower(*arguments, **named).explain()

    def trace(self, signature: CallSignature, guards: Sequence[Guard] = ()) -> TracedCall:
        """Runs the function on traced arrays; those that `guards` are about are read at each call."""
        trace = Trace(self.name, self.declarations(), self.fastmath)
        trace.mesh = mesh_of(signature.shardings, self.name)
        trace.watched = {
            id(guard.kept): guard.watch.read for guard in guards if guard.is_array and not guard.is_item
        }
        with trace:
            traced = [
                trace.argument(aval, path)
                for aval, path in zip(signature.avals, signature.paths(), strict=True)
            ]
            arguments, named = self.parameters.arguments_of(signature, traced)
            parts: list[Any] = []
            try:
                structure = flatten(self._run_inside(trace, arguments, named), parts)
            except (TypeError, ValueError, LookupError, ArithmeticError) as error:
                note_place(error)
                raise
            donated = self.parameters.donated_numbers(signature)
            results = tuple([self._result(trace, part) for part in parts])
            call = TracedCall(trace, structure, results, donated)
            trace.finish(call.results, donated)
        annotate_arguments(trace, signature.shardings)
        return call

    def declarations(self) -> Sequence[Operation]:
        """Returns what stands in the module before the function."""
        return self.parameters.dynamic.ops()

    def check_traced(self, call: TracedCall) -> None:
        """Looks at what was traced, before it is compiled and with no lock held."""
        if call.trace.mesh is not None:
            check_same_program(call.trace.mesh, call.trace.module, self.name)

    def forget_lock(self) -> None:
        """In the child of a fork: who holds the lock is not here."""
        self._lock = Lock()

    def _options_for(self, signature: CallSignature) -> dict[str, Any]:
        """Returns what a call is compiled with; arguments may be None, and their dims not there."""
        if not self._specialized:
            return self.options
        names = symbols_of([extent for aval in signature.avals for extent in aval.shape])
        special = {name: values for name, values in self._specialized.items() if name in names}
        return {**self.options, "specialize": special}

    def _forget_programs(self) -> None:
        self._versions.clear()
        self._fast.clear()
        self._donating = self.direct = ()
        self._known.clear()

    def _call(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if not named:
            for each in self._donating:
                result = each.run(self.name, arguments)
                if result is not REFUSED:
                    return result
        leaves: list[Any] = []
        given = self.parameters.canonical(arguments, named)
        signature = self.parameters.signature_of(given, leaves)
        for leaf in leaves:
            if isinstance(leaf, TracedArray):
                leaf.check_usable()
        changed: Guard | None = None
        found: Version | None = None
        for version in reversed(self._versions.get(signature.key, ())):
            guard = version.changed()
            if guard is None:
                found = version
                break
            changed = changed or guard
        if found is None:
            found = self._add(signature, changed)
        self._note_fast(found, arguments, named)
        ranks = found.ranks
        if ranks is not None and are_compared(ranks.mesh):
            check_replicas(ranks.mesh, self.name, leaves)
            check_replicas(ranks.mesh, self.name, ranks.read_outside(), "captured array")
        if not self.parameters.donated:
            return found.run(leaves)
        if (
            not named
            and not self.parameters.dynamic
            and (call := DonatingCall.of(found, signature)) is not None
        ):
            others = [each for each in self._donating if each.version is not found]
            self._donating = (call, *others[: MOST_FAST - 1])
        donated = self.parameters.donated_arrays(given[0], leaves)
        try:
            return found.run(leaves)
        finally:
            # A run that ends early may have written to them.
            for array in donated:
                array.give_away(self.name)

    def _add(self, signature: CallSignature, changed: Guard | None) -> Version:
        start = time.perf_counter()
        guards = guards_of(self.function, {name: value for name, _, value in signature.static})
        call = self.trace(signature, guards)
        # What the function itself changes is no reason to run it again.
        guards = [
            guard.with_values()
            if not guard.has_values and call.trace.depends_on_values(guard.kept, guard.watch.is_by_identity)
            else guard
            for guard in guards
            if guard.holds() and not call.trace.is_for_host(guard.watch.reader)
        ]
        self.check_traced(call)
        traced = time.perf_counter()
        # Tracing runs the user's code, which may wait for other threads: only compiling is under the lock.
        with self._lock:
            for version in self._versions.get(signature.key, ()):
                if version.changed() is None:
                    return version
            lasting = [guard for guard in guards if not guard.always_holds]
            version = call.compiled(lasting, **self._options_for(signature))
            reasons = (f"{changed} has changed since it was traced",)
            if changed is None:
                reasons = nearest_difference(signature, self._known)
            if len(self._versions) >= MOST_SIGNATURES:
                self._forget_programs()
            versions = self._versions.setdefault(signature.key, [])
            if not versions:
                self._known.append(signature)
            del versions[: max(0, len(versions) - MOST_VERSIONS + 1)]
            versions.append(version)
            compiling = time.perf_counter() - traced
            self._misses.append(Miss(self.name, len(self._misses) + 1, reasons, traced - start, compiling))
        return version

    def _note_fast(self, version: Version, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Notes a program whose calls, with arguments like these, take no more than its own call."""
        program = version.program
        if (
            program is None
            or program.direct is None
            or version.ranks is not None
            or program.ranges
            or self.parameters.donated
        ):
            return
        form = self._fast.form_of(arguments, named)
        row = (*arguments, *named.values())
        picked = form.picked(row)
        leaves: list[Any] = []
        structure = flatten(picked, leaves)
        if structure is None or not is_plain(structure):
            return
        if structure.depth == 1:
            structure = None
        _, scalars = plain_values(tuple(leaves))
        if scalars is None:
            return
        finish = version.finished
        if program.is_simple and version.structure is None and not program.result_avals[0].weak:
            finish = program.result_avals[0]
        call_program = program.executable.call_program
        checks = None
        if version.guards:
            checks = GuardChecks(version.guards, None if call_program is None else call_program.same_objects)
        is_plain_call = (
            call_program is not None
            and form is POSITIONAL
            and not (scalars or program.captured or structure)
            and finish.__class__ is Aval
        )
        entry = FastEntry(program.direct, scalars, finish, checks, program.captured, is_plain_call, structure)
        self._fast.add(entry, form, row)
        plain = [each for each in self._fast.positional if each.is_plain]
        self.direct = tuple([part for each in plain for part in (each.direct, each.finish, each.tests)])
        if call_program is not None and is_plain_call and type(self).__call__ is _CALL_IN_PYTHON:
            call_program.install_call(
                self,
                programs="direct",
                wrapper=ConcreteArray,
                values="values",
                about="aval",
                idle=((ENTERED, 0), (timeline.CURRENT, None)),
                otherwise=_CALL_IN_PYTHON,
            )

    def _result(self, trace: Trace, value: Any) -> Any:
        if isinstance(value, bool | int | float | complex | str | bytes | np.dtype | type):
            return cast(Any, value)
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
            for number, leaf in enumerate(leaves):
                if isinstance(leaf, np.ndarray | ConcreteArray | ShardedArray):
                    leaves[number] = lift(trace, leaf, self.name)
            return unflatten(structure, iter(leaves))

        numbers, names = self.parameters.static_numbers, self.parameters.static_names
        return self._run_inside(
            trace,
            [value if number in numbers else lifted(value) for number, value in enumerate(arguments)],
            {name: value if name in names else lifted(value) for name, value in named.items()},
        )

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


_CALL_IN_PYTHON = Jitted.__call__


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


def _forget_locks() -> None:
    for jitted in _ALL:
        jitted.forget_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial | MethodType):
        function = cast(Any, function.func if isinstance(function, functools.partial) else function.__func__)
    return function
