"""What a call of a jitted function is compiled for, and how that is found out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...semantics.world import THREAD_WORLD, World
from ..arrays.aval import Aval, aval_of
from ..arrays.concrete import ConcreteArray, is_frozen
from ..arrays.static_key import static_key
from ..arrays.tree import Node, flatten, paths, unflatten
from ..sharding.sharded_array import ShardedArray
from ..sharding.sharding import Sharding
from ..tracing.leaves import aval_of_value
from .dims import Dim, DynamicAxes

Arguments = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Those given by position, and those given by name."""


@dataclass(frozen=True, eq=False)
class CallSignature:
    """What a call is compiled for: the structure and types of its arguments, and its static values."""

    structure: Node | None
    avals: tuple[Aval, ...]
    static: tuple[tuple[str, Any, Any], ...] = field(default=())
    """The names, the keys and the values of static arguments."""
    parameters: tuple[str, ...] = field(default=())
    shardings: tuple[Sharding | None, ...] = field(default=())
    """How each array is split, where one is."""
    world: World | None = None
    """That of `run_ranks`: a function that makes a mesh itself has another program on each of its ranks."""

    @property
    def key(self) -> Any:
        static = tuple([(name, key) for name, key, _ in self.static])
        return self.structure, self.avals, static, self.shardings, self.world

    @property
    def positional(self) -> Node:
        """The structure of the arguments that are given by position, a tuple."""
        assert self.structure is not None, "a call without a structure"
        positional = self.structure.children[0]
        assert positional is not None, "a tuple is no leaf"
        return positional

    def paths(self) -> list[str]:
        """Returns how the function reaches each array: `x`, `params['w']`."""
        return [argument_path(path, self.parameters) for path in paths(self.structure)]


def argument_path(path: str, parameters: Sequence[str]) -> str:
    """Returns a path inside of positional and named arguments, `[0][1]['w']`, as `x['w']`."""
    if path.startswith("[0]["):
        number, _, rest = path[4:].partition("]")
        index = int(number)
        return (parameters[index] if index < len(parameters) else f"argument {index}") + rest
    name, _, rest = path[4:].partition("]")
    return name.strip("'\"") + rest


class Parameters:
    """The parameters of a function, and which of them are static, donated or of dynamic extents."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        static_argnums: int | Iterable[int],
        static_argnames: str | Iterable[str],
        donate_argnums: int | Iterable[int],
        dynamic: Mapping[str, Mapping[int, Dim]],
    ) -> None:
        self.name = name
        try:
            self.signature: inspect.Signature | None = inspect.signature(function)
        except ValueError:
            self.signature = None
        parameters: Mapping[str, inspect.Parameter] = {}
        if self.signature is not None:
            parameters = self.signature.parameters
        self.names: tuple[str, ...] = tuple(
            each.name
            for each in parameters.values()
            if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
        )
        kinds = {each.kind for each in parameters.values()}
        self._takes_more = self.signature is None or inspect.Parameter.VAR_POSITIONAL in kinds
        self._takes_names = self.signature is None or inspect.Parameter.VAR_KEYWORD in kinds
        self.static_numbers = self._numbers("static_argnums", static_argnums)
        self.static_names = self._named("static_argnames", static_argnames) | {
            self.names[number] for number in self.static_numbers if number < len(self.names)
        }
        self.static_numbers |= {self.names.index(each) for each in self.static_names if each in self.names}
        self.has_static = bool(self.static_numbers or self.static_names)
        self.donated = self._numbers("donate_argnums", donate_argnums)
        if both := sorted(self.donated & self.static_numbers):
            raise ValueError(f"jit: argument {both[0]} of {name} is both static and donated")
        self.dynamic = DynamicAxes(name, dynamic)
        roots = [path.partition("[")[0] for path in dynamic]
        self._named("dynamic", [each for each in roots if not (self._takes_more and " " in each)])

    def canonical(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Arguments:
        """
        Returns arguments with those by position that may be given so.

        Raises:
            TypeError: they are too many, too few or not known.
        """
        if not named or self.signature is None:
            return arguments, named
        try:
            bound = self.signature.bind(*arguments, **named)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        return bound.args, bound.kwargs

    def signature_of(self, given: Arguments, leaves: list[Any]) -> CallSignature:
        """
        Returns what a call is compiled for; adds its arrays and Python scalars to `leaves`.

        Raises:
            TypeError: an argument is no array and not static, or static and not hashable.
            OverflowError: a Python integer has more than 64 bits.
        """
        arguments, named = given
        static: list[tuple[str, Any, Any]] = []
        if self.has_static:
            positional: list[Any] = []
            for number, value in enumerate(arguments):
                if number in self.static_numbers:
                    name = self.names[number] if number < len(self.names) else str(number)
                    static.append((name, self._static_key(name, value), value))
                    value = None
                positional.append(value)
            arguments = tuple(positional)
            for name in [name for name in named if name in self.static_names]:
                static.append((name, self._static_key(name, named[name]), named[name]))
                named = {**named, name: None}
        structure = flatten((arguments, dict(named)), leaves)
        avals = tuple([self._aval(number, leaf, structure) for number, leaf in enumerate(leaves)])
        if self.dynamic:
            names = [argument_path(path, self.names) for path in paths(structure)]
            self.dynamic.check_paths(names)
            avals = tuple([self.dynamic.aval(path, aval) for path, aval in zip(names, avals, strict=True)])
        shardings: tuple[Sharding | None, ...] = ()
        if any(leaf.__class__ is ShardedArray for leaf in leaves):
            shardings = tuple([getattr(leaf, "sharding", None) for leaf in leaves])
        return CallSignature(structure, avals, tuple(static), self.names, shardings, THREAD_WORLD.get())

    def arguments_of(self, signature: CallSignature, leaves: Iterable[Any]) -> Arguments:
        """Returns the arguments of the function itself, with `leaves` for the arrays."""
        positional, named = unflatten(signature.structure, iter(leaves))
        arguments: list[Any] = list(positional)
        for name, _, value in signature.static:
            number = self.names.index(name) if name in self.names else int(name) if name.isdigit() else None
            if number is not None and number < len(arguments):
                arguments[number] = value
            else:
                named[name] = value
        return tuple(arguments), named

    def donated_arrays(self, arguments: tuple[Any, ...], leaves: Sequence[Any]) -> list[ConcreteArray]:
        """
        Returns the arrays that a call may use up; frozen ones stay as they are.

        Raises:
            ValueError: one of them is given twice.
        """
        given = [id(array) for leaf in leaves for array in _parts(leaf)]
        donated: list[ConcreteArray] = []
        for number in sorted(self.donated):
            inside: list[Any] = []
            flatten(arguments[number] if number < len(arguments) else None, inside)
            for array in [part for leaf in inside for part in _parts(leaf)]:
                if isinstance(array, ConcreteArray):
                    if given.count(id(array)) > 1:
                        raise ValueError(
                            f"{self.name}: argument {number} is donated, and the same array is given again"
                        )
                    if not is_frozen(array):
                        donated.append(array)
        return donated

    def donated_numbers(self, signature: CallSignature) -> tuple[int, ...]:
        """Returns the numbers of the arrays in donated arguments."""
        numbers: list[int] = []
        first = 0
        for number, child in enumerate(signature.positional.children):
            count = len(list(paths(child)))
            if number in self.donated:
                numbers += range(first, first + count)
            first += count
        return tuple(numbers)

    def _static_key(self, name: str, value: Any) -> Any:
        return static_key(value, f"{self.name}: static argument '{name}'")

    def _aval(self, number: int, leaf: Any, structure: Node | None) -> Aval:
        kind: Any = leaf.__class__
        if kind is ConcreteArray or kind is ShardedArray:
            return leaf.aval
        if kind is np.ndarray and leaf.dtype in _USUAL:
            return aval_of(leaf.dtype, leaf.shape)
        try:
            return aval_of_value(leaf, "it")
        except TypeError as error:
            path = argument_path(list(paths(structure))[number], self.names)
            hint = " (hint: static_argnums or static_argnames, or tenon.register_tree for its class)"
            if isinstance(leaf, np.ndarray | np.generic):
                hint = ""
            text = str(error)
            what = text.removeprefix("it") if text.startswith("it") else f": {text.removeprefix('array: ')}"
            raise TypeError(f"{self.name}: argument '{path}'{what}{hint}") from None

    def _numbers(self, what: str, value: int | Iterable[int]) -> set[int]:
        values: list[Any] = [value] if isinstance(value, int) else list(value)
        numbers: set[int] = set()
        count = len(self.names)
        for number in values:
            if isinstance(number, bool) or not isinstance(number, int):
                raise TypeError(f"jit: {what} of {self.name} has {number!r}, expected integers")
            index = number + count if number < 0 else number
            if index < 0 or (index >= count and not self._takes_more):
                raise ValueError(f"jit: {what} of {self.name} has {number}, but it has {count} parameters")
            numbers.add(index)
        return numbers

    def _named(self, what: str, value: str | Iterable[str]) -> set[str]:
        names = {value} if isinstance(value, str) else set(value)
        known = [] if self.signature is None else list(self.signature.parameters)
        for name in sorted(names):
            if name not in known and not self._takes_names:
                raise ValueError(f"jit: {what} of {self.name} has {name!r}, expected one of {known}")
        return names


_USUAL = frozenset(np.dtype(name) for name in ("f4", "f8", "i4", "i8", "?"))
"""Dtypes that need no closer look."""


def _parts(leaf: Any) -> Sequence[Any]:
    """Returns what is here of an array: of one that is spread over ranks, their parts."""
    return leaf.parts if isinstance(leaf, ShardedArray) else (leaf,)
