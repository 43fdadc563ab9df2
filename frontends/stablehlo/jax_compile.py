"""`tenon.jax_compile`: a decorator for functions that jax traces and Tenon runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

import numpy as np

from .jax_export import JaxFunction, exported_function, jax_module


class JaxCompiled:
    """
    A function that Tenon compiles for the types of its arguments when they first come, and runs from then on.
    Any number of threads may call it.
    """

    def __init__(self, function: Callable[..., Any], backend: str) -> None:
        self._jax = jax_module()
        self._function, self._backend = function, backend
        self._programs: dict[Any, JaxFunction] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """
        Returns what the function gives, as jax arrays, in its containers. Where jax itself traces the call, a
        derivative say, the function is traced as it was written.
        """
        jax = self._jax
        leaves, tree = jax.tree_util.tree_flatten((arguments, named))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self._function(*arguments, **named)
        key = (tree, tuple(map(self._type_of, leaves)))
        program = self._programs.get(key)
        if program is None:
            exported = exported_function(jax, self._function, arguments, named)
            program = self._programs[key] = JaxFunction(exported, self._backend)
        results = [_as_jax(jax, result) for result in program.results_of(leaves)]
        return jax.tree_util.tree_unflatten(program.out_tree, results)

    def _type_of(self, leaf: Any) -> Any:
        """Returns what a program is compiled for: shape, dtype, and whether it is a number."""
        is_number = isinstance(leaf, bool | int | float)
        if is_number:
            return (), type(leaf)
        return tuple(np.shape(leaf)), str(leaf.dtype)


def _as_jax(jax: Any, array: Any) -> Any:
    """Returns an array as jax's: the same memory where jax takes it, else a copy."""
    try:
        return jax.dlpack.from_dlpack(array)
    except (BufferError, TypeError, ValueError, RuntimeError):
        return jax.numpy.asarray(array)


def jax_compile(function: Callable[..., Any] | None = None, /, *, backend: str = "llvm") -> Any:
    """
    Returns a function that jax traces and Tenon compiles and runs, for each structure and type of arguments
    that it is called with. Arguments and results are jax's arrays, which share memory with Tenon's where both
    can: docs/stablehlo.md.

        @tenon.jax_compile
        def predict(weights, x):
            return jax.nn.softmax(x @ weights)

    Raises:
        MissingExtraError: jax is not installed.
    """
    if function is not None:
        return JaxCompiled(function, backend)

    def decorate(found: Callable[..., Any]) -> JaxCompiled:
        return JaxCompiled(found, backend)

    return decorate
