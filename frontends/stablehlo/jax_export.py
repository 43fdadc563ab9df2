"""
`tenon.from_jax`: a function that jax traces and Tenon runs.

jax is imported where it is called. What it exports is StableHLO, with the locations of the function's lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ...compiler.compile import Executable, compile
from ...errors import CallError, MissingExtraError


def jax_module() -> Any:
    """Returns the module jax, with what exports functions."""
    try:
        jax = import_module("jax")
        import_module("jax.export")
    except ImportError:
        raise MissingExtraError("jax: jax is not installed; pip install jax") from None
    return jax


class JaxFunction:
    """
    A function that jax traced for arguments of certain types and Tenon compiled. Any number of threads may
    call it.
    """

    def __init__(self, exported: Any, backend: str) -> None:
        self._jax = jax_module()
        self._in_tree, self.out_tree = exported.in_tree, exported.out_tree
        self._kept = tuple(exported.module_kept_var_idx)
        self.avals = tuple(exported.in_avals)
        """What the leaves of the arguments are, as jax says."""
        self.executable: Executable = compile(
            exported.mlir_module(), entry="main", backend=backend, filename=f"<jax {exported.fun_name}>"
        )
        """The compiled program: its arguments are the leaves that it reads."""
        self._is_single = len(self.executable.result_types) == 1
        self.__name__ = str(exported.fun_name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """
        Returns what the function gives, as numpy arrays in the containers that it gives them in. Arguments
        are arrays of numpy, of jax, or whatever else offers `__dlpack__`, and numbers, in containers as they
        were when it was traced.

        Raises:
            CallError: the arguments are in other containers, or of other shapes or dtypes.
        """
        leaves, tree = self._jax.tree_util.tree_flatten((arguments, named))
        if tree != self._in_tree:
            raise CallError(f"{self.__name__}: arguments are {tree}, expected {self._in_tree}")
        return self._jax.tree_util.tree_unflatten(self.out_tree, self.results_of(leaves))

    def results_of(self, leaves: Sequence[Any]) -> Sequence[Any]:
        """Returns the leaves of the result for those of the arguments."""
        taken = [self._array(leaves[number], self.avals[number].dtype) for number in self._kept]
        results = self.executable(*taken)
        return (results,) if self._is_single else results

    def _array(self, leaf: Any, dtype: Any) -> Any:
        """
        Returns an argument in the dtype that jax has for it: numbers have that of the traced argument, and
        numpy's types of 64 bits become those of 32, unless jax is told otherwise.
        """
        found = getattr(leaf, "dtype", None)
        if isinstance(leaf, bool | int | float):
            return np.asarray(leaf, dtype)
        is_narrowed = found is not None and found != dtype
        if is_narrowed and self._jax.dtypes.canonicalize_dtype(found) == dtype:
            return np.asarray(leaf).astype(dtype)
        return leaf


def exported_function(jax: Any, function: Callable[..., Any], arguments: tuple[Any, ...], named: Any) -> Any:
    traced = function if hasattr(function, "lower") else jax.jit(function)
    return jax.export.export(traced, platforms=("cpu",))(*arguments, **named)


def from_jax(
    function: Callable[..., Any], /, *examples: Any, backend: str = "llvm", **named: Any
) -> JaxFunction:
    """
    Traces a function with jax and compiles it: docs/stablehlo.md.

        step = tenon.from_jax(jax.value_and_grad(loss), weights, x, y)
        value, gradient = step(weights, x, y)

    `function` may be jitted already. Examples are arrays, or `jax.ShapeDtypeStruct`s, whose extents may be
    those of `jax.export.symbolic_shape`: these are named dims of the program, which takes any extent there.

    Raises:
        TenonError: the program has ops without a conversion, all of which the message lists.
        MissingExtraError: jax is not installed.
    """
    return JaxFunction(exported_function(jax_module(), function, examples, named), backend)
