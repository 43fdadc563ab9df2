"""
What jax traced, as a module of `graph` with its weights.

Arrays that a function reads from outside are constants of what jax traces. As constants of text they would be
printed and read again, digit by digit; here the large ones are arguments that do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr

from ...compiler.foreign import as_graph_module
from ...dialects.modules.argument_marks import FROZEN
from ...dialects.modules.entry import find_entry, keep_only
from ...dialects.modules.parsing import parse_module, verify_module
from ...errors import TenonError

NumpyArray = npt.NDArray[Any]

LARGEST_CONSTANT = 512
"""The bytes of the largest array that is a constant of the text; others are frozen arguments."""


@dataclass(frozen=True)
class JaxProgram:
    """
    A function that jax traced. The function of `module` takes the leaves with the numbers `kept`, and then
    `weights`, which are marked as frozen. Leaves and results that are keys of random numbers are their bits
    in it; `result_keys` names the generator of each result that is one.
    """

    module: ModuleOp
    kept: tuple[int, ...]
    weights: tuple[NumpyArray, ...]
    result_keys: tuple[str | None, ...]


def program_of(jax: Any, traced: Any, name: str, is_spread: bool = False) -> JaxProgram:
    """
    Returns what jax traced as a program; one that `is_spread` over devices says how its arguments and results
    are split, as far as jax was told.

    Raises:
        TenonError: it has ops that jax does not export, or that have no conversion, all of which the message
            lists.
    """
    closed = traced.jaxpr
    n_leaves = len(closed.in_avals)
    shardings = _shardings_said(jax, traced) if is_spread else _Shardings([None] * n_leaves, [])
    leaves = [
        _argument(jax, aval, each) for aval, each in zip(closed.in_avals, shardings.arguments, strict=True)
    ]
    weights: dict[int, NumpyArray] = {
        number: np.asarray(value)
        for number, value in enumerate(closed.consts)
        if not is_key(jax, value) and value.nbytes > LARGEST_CONSTANT
    }
    result_keys: list[str | None] = []

    def program(leaves_and_weights: Sequence[Any]) -> list[Any]:
        values = dict(zip(weights, leaves_and_weights[n_leaves:], strict=True))
        constants = [values.get(number, value) for number, value in enumerate(closed.consts)]
        arguments = [
            value if generator is None else jax.random.wrap_key_data(value, impl=generator)
            for value, (_, generator) in zip(leaves_and_weights[:n_leaves], leaves, strict=True)
        ]
        results = jax.core.eval_jaxpr(closed.jaxpr, constants, *arguments)
        result_keys[:] = [jax.random.key_impl(each) if is_key(jax, each) else None for each in results]
        return [jax.random.key_data(each) if is_key(jax, each) else each for each in results]

    types = [type for type, _ in leaves]
    types += [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in weights.values()]
    options = {"out_shardings": shardings.results} if is_spread else {}
    try:
        exported = jax.export.export(jax.jit(program, **options), platforms=("cpu",))(types)
    except RuntimeError as error:
        raise TenonError(f"{name}: jax does not export it: {error}") from None
    module = parse_module(exported.mlir_module(), f"<jax {name}>")
    verify_module(module)
    module = as_graph_module(module)
    entry = find_entry(module, "main")
    assert isinstance(entry, func.FuncOp), "jax writes functions"
    keep_only(module, entry)
    kept: tuple[int, ...] = tuple(exported.module_kept_var_idx)
    for argument, number in zip(entry.body.block.args, kept, strict=True):
        if number < n_leaves:
            argument_name = str(closed.jaxpr.debug_info.arg_names[number])
            argument.name_hint = argument_name if argument_name.isidentifier() else None
    said = entry.arg_attrs.data if entry.arg_attrs is not None else [DictionaryAttr({})] * len(kept)
    entry.properties["arg_attrs"] = ArrayAttr(
        [
            DictionaryAttr(each.data | {FROZEN: UnitAttr()}) if number >= n_leaves else each
            for number, each in zip(kept, said, strict=True)
        ]
    )
    values = list(weights.values())
    return JaxProgram(
        module,
        tuple([number for number in kept if number < n_leaves]),
        tuple([carried(values[number - n_leaves]) for number in kept if number >= n_leaves]),
        tuple(result_keys),
    )


_CARRIERS = {
    "int2": np.int8,
    "int4": np.int8,
    "uint2": np.uint8,
    "uint4": np.uint8,
    "complex64": np.float32,
    "complex128": np.float64,
}


def carrier_of(dtype: Any) -> Any:
    """
    Returns the dtype that carries integers of 2 and 4 bits, and the parts of complex numbers, in a program,
    and any other as it is.
    """
    return _CARRIERS.get(str(dtype), dtype)


def carried(values: Any) -> NumpyArray:
    """Returns an array as a program takes it: complex numbers with their parts along a last axis of 2."""
    array = np.asarray(values)
    if array.dtype.kind != "c":
        return array.astype(carrier_of(array.dtype), copy=False)
    return np.ascontiguousarray(array).reshape(-1).view(carrier_of(array.dtype)).reshape(*array.shape, 2)


def uncarried(values: Any, dtype: Any) -> NumpyArray:
    """Returns what a program gives as an array of a dtype, which may be of complex numbers."""
    array = np.asarray(values)
    if not np.issubdtype(dtype, np.complexfloating):
        return array.astype(dtype)
    return np.ascontiguousarray(array).reshape(-1).view(dtype).reshape(array.shape[:-1])


def is_key(jax: Any, value: Any) -> bool:
    """Returns whether a value is an array of keys of random numbers, as `jax.random.key` makes them."""
    dtype = getattr(value, "dtype", None)
    return dtype is not None and jax.dtypes.issubdtype(dtype, jax.dtypes.prng_key)


@dataclass(frozen=True)
class _Shardings:
    """How arguments and results lie on devices, None where nothing is said."""

    arguments: list[Any]
    results: list[Any]


def _shardings_said(jax: Any, traced: Any) -> _Shardings:
    """
    Returns how arguments and results lie on devices: as `jax.jit` was told, of arguments else as the examples
    did. jax has no public names for what it notes of that; keys of random numbers lie where it sees fit.
    """
    parameters = traced._params
    of_examples = [each.sharding for each in traced._meta_tys_flat]
    arguments = zip(parameters["in_shardings"], of_examples, strict=True)
    return _Shardings(
        [next((each for each in said if _is_sharding(jax, each)), None) for said in arguments],
        [each if _is_sharding(jax, each) else None for each in parameters["out_shardings"]],
    )


def _is_sharding(jax: Any, value: Any) -> bool:
    """Returns whether a value is a sharding over axes of a mesh; others are of one device."""
    return isinstance(value, jax.sharding.NamedSharding)


def _argument(jax: Any, aval: Any, sharding: Any) -> tuple[Any, str | None]:
    """Returns the type of an argument, of keys that of their bits, and of these the generator."""
    type = jax.ShapeDtypeStruct(aval.shape, aval.dtype)
    if not is_key(jax, aval):
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding), None
    generators: list[str] = []

    def bits(keys: Any) -> Any:
        generators.append(jax.random.key_impl(keys))
        return jax.random.key_data(keys)

    return jax.eval_shape(bits, type), generators[0]
