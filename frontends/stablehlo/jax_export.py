"""
`tenon.from_jax`: a function that jax traces and Tenon runs.

jax is imported where it is called. What it exports is StableHLO, with the locations of the function's lines.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from ...compiler.compile import Executable
from ...dialects.modules.entry import find_entry
from ...errors import CallError, MissingExtraError, TenonError
from ..calls.compiled_trace import compile_with_frozen
from ..calls.mesh_program import MeshProgram
from ..sharding.mesh import Mesh
from ..sharding.sharded_array import ShardedArray
from .jax_program import carried, carrier_of, is_key, program_of, uncarried


def jax_module() -> Any:
    """Returns the module jax, with what exports functions."""
    try:
        jax = import_module("jax")
        import_module("jax.export")
    except ImportError:
        raise MissingExtraError("jax: jax is not installed; pip install jax") from None
    return jax


def jitted_function(function: Any) -> Any:
    """Returns a function as one that jax jits, itself where it is one."""
    return function if hasattr(function, "trace") else jax_module().jit(function)


class JaxFunction:
    """
    A function that jax traced for arguments of certain types and Tenon compiled. Any number of threads may
    call it.
    """

    def __init__(
        self,
        traced: Any,
        backend: str,
        target: str | None = None,
        mesh: Mesh | None = None,
        allow_gather: bool = False,
    ) -> None:
        self._jax = jax_module()
        self.__name__ = str(traced.fun_name)
        self._traced = traced
        self._options = {"backend": backend, "target": target}
        self.in_tree, self.out_tree = traced.in_tree, traced.out_tree
        """The containers of the arguments, without static ones, and of the result."""
        self._mesh_options: dict[str, Any] = {"mesh": mesh, "allow_gather": allow_gather}
        program = program_of(self._jax, traced, self.__name__, is_spread=mesh is not None)
        self._result_keys = program.result_keys
        avals = traced.jaxpr.in_avals
        self._taken = [
            (
                number,
                dtype := avals[number].dtype,
                carrier_of(dtype) == dtype and not is_key(self._jax, avals[number]),
            )
            for number in program.kept
        ]
        """The leaves that the program reads, their dtypes, and whether it takes them as they are."""
        self._results_as = [
            (number, aval.dtype)
            for number, aval in enumerate(traced.jaxpr.out_avals)
            if carrier_of(aval.dtype) != aval.dtype
        ]
        """The dtypes of results that the program gives in others."""
        self.executable: Executable
        """
        The compiled program, on a mesh that of this rank or of the first device: its arguments are the leaves
        that it reads, and then what does not change.
        """
        self.fixed_values: Sequence[Any]
        """What the program takes that does not change: weights, and what was made of them."""
        self.on_mesh: MeshProgram | None = None
        """The programs of all ranks, where a mesh is given."""
        if mesh is None:
            self.executable, prepared = compile_with_frozen(program.module, program.weights, **self._options)
            self.fixed_values = (*program.weights, *prepared)
        else:
            self._check_results()
            self.on_mesh = MeshProgram(
                program.module,
                find_entry(program.module, None),
                mesh,
                program.weights,
                self.__name__,
                allow_gather,
                **self._options,
            )
            self.executable, self.fixed_values = self.on_mesh.executable, self.on_mesh.fixed_values
        self._is_single = len(self.executable.result_types) == 1

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """
        Returns what the function gives, as numpy arrays in the containers that it gives them in, and keys of
        random numbers as jax's. Arguments are arrays of numpy, of jax, or whatever else offers `__dlpack__`,
        and numbers, in containers as they were when it was traced, without those that jax has for static. On
        a mesh results are sharded arrays, and arguments too, or arrays that all ranks have, of which each
        takes its part.

        Raises:
            CallError: the arguments are in other containers, or of other shapes or dtypes.
            TenonError: an argument is of another world or other devices than the mesh.
            RankError: a rank has ended, or failed.
        """
        leaves, tree = self._jax.tree_util.tree_flatten((arguments, named))
        if tree != self.in_tree:
            raise CallError(f"{self.__name__}: arguments are {tree}, expected {self.in_tree}")
        return self._jax.tree_util.tree_unflatten(self.out_tree, self.results_of(leaves))

    def compiled_for(self, backend: str, target: str | None) -> JaxFunction:
        """Returns the function for a backend and a processor, itself where it is for those."""
        is_own = self._options == {"backend": backend, "target": target}
        return self if is_own else JaxFunction(self._traced, backend, target, **self._mesh_options)

    def results_of(self, leaves: Sequence[Any], convert: Callable[[Any], Any] | None = None) -> list[Any]:
        """
        Returns the leaves of the result for those of the arguments, made of numpy's by `convert`; on a mesh
        they are sharded arrays.
        """
        taken: list[Any] = []
        for number, dtype, is_plain in self._taken:
            leaf = leaves[number]
            if is_plain and isinstance(leaf, self._jax.Array) and leaf.dtype == dtype:
                # The same memory; jax's own way to DLPack takes five times as long.
                taken.append(np.asarray(leaf))
            else:
                taken.append(self._array(leaf, dtype))
        if self.on_mesh is not None:
            # As an array of jax's that lies on several devices offers no DLPack.
            own = [np.asarray(each) if isinstance(each, self._jax.Array) else each for each in taken]
            return self.on_mesh.run(own)
        results = self.executable(*taken, *self.fixed_values)
        found = [results] if self._is_single else list(results)
        for number, dtype in self._results_as:
            found[number] = uncarried(found[number], dtype)
        if convert is not None:
            found = [convert(each) for each in found]
        return [
            each if generator is None else self._jax.random.wrap_key_data(each, impl=generator)
            for each, generator in zip(found, self._result_keys, strict=True)
        ]

    def _check_results(self) -> None:
        """Raises TenonError where a result is of a dtype of jax's, which has no arrays of Tenon."""
        for number, aval in enumerate(self._traced.jaxpr.out_avals):
            if is_key(self._jax, aval) or carrier_of(aval.dtype) != aval.dtype:
                raise TenonError(
                    f"{self.__name__}: result {number} is of {aval.dtype}, of which there are no sharded "
                    "arrays (hint: jax.random.key_data, or astype)"
                )

    def _array(self, leaf: Any, dtype: Any) -> Any:
        """
        Returns an argument in the dtype that jax has for it: numbers have that of the traced argument,
        numpy's types of 64 bits become those of 32, unless jax is told otherwise, and keys their bits;
        integers of 2 and 4 bits are carried in those of 8, complex numbers by their parts. A sharded array is
        taken as it is.
        """
        if isinstance(leaf, ShardedArray):
            return leaf
        found = getattr(leaf, "dtype", None)
        if isinstance(leaf, bool | int | float | complex):
            return carried(np.asarray(leaf, dtype))
        if found == dtype:
            if is_key(self._jax, leaf):
                return self._jax.random.key_data(leaf)
            return leaf if carrier_of(dtype) == dtype else carried(leaf)
        is_narrowed = isinstance(found, np.dtype) and self._jax.dtypes.canonicalize_dtype(found) == dtype
        return carried(np.asarray(leaf).astype(dtype)) if is_narrowed else leaf


def from_jax(
    function: Callable[..., Any],
    /,
    *examples: Any,
    backend: str = "llvm",
    mesh: Mesh | None = None,
    allow_gather: bool = False,
    **named: Any,
) -> JaxFunction:
    """
    Traces a function with jax and compiles it: docs/stablehlo.md.

        step = tenon.from_jax(jax.value_and_grad(loss), weights, x, y)
        value, gradient = step(weights, x, y)

    `function` may be jitted already; arguments that are static then are of the examples, and not of calls.
    Examples are arrays, or `jax.ShapeDtypeStruct`s, whose extents may be those of
    `jax.export.symbolic_shape`: these are named dims of the program, which takes any extent there. Arrays
    that the function reads from outside do not change: what is made of them is made once.

    With `mesh` a function that jax spreads over devices is run by its ranks, or its devices: the axes of the
    mesh are those of jax's, whose devices need not be there (`jax.sharding.AbstractMesh`). It takes sharded
    arrays, and arrays that all ranks have, of which each takes its part, and gives sharded ones, as the
    function, `jax.jit` or the examples say; what they leave open follows from that. All ranks call this.
    `allow_gather` is that of `tenon.jit`.

    Raises:
        TenonError: the program has ops that jax does not export, or without a conversion, all of which the
            message lists. With a mesh: the function is for another one, it cannot be partitioned, or a result
            is of a dtype of jax's own.
        TypeError: the mesh is none of Tenon's.
        RankError: ranks have other programs.
        MissingExtraError: jax is not installed.
    """
    traced = jitted_function(function).trace(*examples, **named)
    return JaxFunction(traced, backend, mesh=mesh, allow_gather=allow_gather)
