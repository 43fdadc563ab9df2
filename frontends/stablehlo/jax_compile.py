"""`tenon.jax_compile`: a decorator for functions that jax traces and Tenon runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from types import MethodType
from typing import Any

from ...errors import CallError
from ..sharding.mesh import Mesh
from ..sharding.sharded_array import ShardedArray
from .jax_arrays import converter_to_jax
from .jax_export import JaxFunction, jax_module, jitted_function
from .seen_calls import SeenCalls


class JaxCompiled:
    """
    A function that Tenon compiles for what jax traces of its arguments when they first come, and runs from
    then on. Any number of threads may call it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        numbers: Sequence[int],
        names: Sequence[str],
        **options: Any,
    ) -> None:
        """`options` are those of `JaxFunction`."""
        self._jax = jax_module()
        self._function, self._options = function, options
        if numbers or names:
            self._numbers, self._names = _static_parameters(function, numbers, names)
            static = {"static_argnums": self._numbers, "static_argnames": self._names}
            self._jitted = self._jax.jit(function, **static)
        else:
            self._numbers, self._names = (), ()
            self._jitted = jitted_function(function)
        self._to_jax = converter_to_jax(self._jax)
        self._programs: dict[int, JaxFunction] = {}
        """Programs by the identities of what jax traced, which jax keeps and the programs do."""
        update_wrapper(self, function)
        self._seen: SeenCalls[JaxFunction] | None = None
        """The programs of calls that came again; those on a mesh take what jax does not know."""
        if options.get("mesh") is None:
            static_options = {"static_argnums": self._numbers, "static_argnames": self._names}
            self._seen = SeenCalls(self._jax, static_options)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """
        Returns what the function gives, as jax arrays, on a mesh as sharded ones, in its containers. Where
        jax itself traces the call, a derivative say, the function is traced as it was written.

        Raises:
            CallError: the function was jitted with static arguments, which are not known here.
        """
        jax = self._jax
        taken, taken_named = arguments, named
        if self._names or self._numbers:
            taken = tuple(each for number, each in enumerate(arguments) if number not in self._numbers)
            taken_named = {name: each for name, each in named.items() if name not in self._names}
        leaves, tree = jax.tree_util.tree_flatten((taken, taken_named))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self._function(*arguments, **named)
        program = None if self._seen is None else self._seen.program_for(arguments, named)
        if program is None:
            program = self._traced_program(arguments, named, leaves, tree)
        results = program.results_of(leaves, self._to_jax)
        return jax.tree_util.tree_unflatten(program.out_tree, results)

    def _traced_program(
        self, arguments: tuple[Any, ...], named: dict[str, Any], leaves: Sequence[Any], tree: Any
    ) -> JaxFunction:
        """Returns the program for arguments, which jax traces or has traced."""
        given, given_named = arguments, named
        if any(isinstance(leaf, ShardedArray) for leaf in leaves):
            given, given_named = self._jax.tree_util.tree_map(self._as_type, (arguments, named))
        # jax keeps what it traced, by all that it depends on: types, static values, settings of jax.
        traced = self._jitted.trace(*given, **given_named)
        program = self._programs.get(id(traced.jaxpr))
        if program is not None and self._seen is not None:
            self._seen.add(program, arguments, named)
        if program is None:
            if traced.in_tree != tree:
                raise CallError(
                    f"{self._function.__name__}: jax has static arguments for it that are not known here "
                    "(hint: jax_compile with static_argnums=, static_argnames= in place of jax.jit's)"
                )
            program = self._programs[id(traced.jaxpr)] = JaxFunction(traced, **self._options)
        return program

    def function_for(self, *arguments: Any, **named: Any) -> JaxFunction:
        """Returns the program for arguments, static ones too, which may be `jax.ShapeDtypeStruct`s."""
        return JaxFunction(self._jitted.trace(*arguments, **named), **self._options)

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        """Returns itself, or as a method of `owner`, which is its first argument, and static therefore."""
        return self if owner is None else MethodType(self, owner)

    def _as_type(self, leaf: Any) -> Any:
        """Returns for a sharded array what jax can trace, and all else as it is."""
        is_sharded = isinstance(leaf, ShardedArray)
        return self._jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if is_sharded else leaf


def _static_parameters(
    function: Callable[..., Any], numbers: Sequence[int], names: Sequence[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Returns the numbers and the names of static parameters, each of which may be given as either."""
    found = [
        each.name
        for each in inspect.signature(function).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    static = {number % len(found) if -len(found) <= number < 0 else number for number in numbers}
    static |= {found.index(name) for name in names if name in found}
    named = {found[number] for number in static if number < len(found)}
    return tuple(sorted(static)), tuple(sorted({*named, *names}))


def jax_compile(
    function: Callable[..., Any] | None = None,
    /,
    *,
    backend: str = "llvm",
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    mesh: Mesh | None = None,
    allow_gather: bool = False,
) -> Any:
    """
    Returns a function that jax traces and Tenon compiles and runs, for each structure and type of arguments
    that it is called with. Arguments and results are jax's arrays, which share memory with Tenon's where both
    can: docs/stablehlo.md.

        @tenon.jax_compile
        def predict(weights, x):
            return jax.nn.softmax(x @ weights)

    `static_argnums` and `static_argnames` are those of `jax.jit`: arguments that are no arrays, for each
    value of which there is a program.

    With `mesh` a function that jax spreads over devices is run by its ranks, or its devices, as `from_jax`
    says: it gives sharded arrays, and takes such besides those of jax's. All ranks call it.

    Raises:
        MissingExtraError: jax is not installed.
    """
    numbers = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)

    def decorate(found: Callable[..., Any]) -> JaxCompiled:
        return JaxCompiled(found, numbers, names, backend=backend, mesh=mesh, allow_gather=allow_gather)

    return decorate if function is None else decorate(function)
