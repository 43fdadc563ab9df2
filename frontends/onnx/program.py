"""A model as one program in text, whose weights are arguments: what `tenon-import` writes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...compiler.compile import Executable
from ...dialects import graph
from ...dialects.modules.parsing import verify_module
from ...errors import TenonError
from ..arrays.aval import aval_of
from ..arrays.concrete import ConcreteArray
from ..calls.compiled_trace import compile_with_frozen
from ..jit.dims import Dim
from ..tracing.trace import Trace, TracedArray
from .imported import OnnxModel
from .storage import CARRIERS, Stored
from .values import GraphInput, NumpyArray, ValueNeeded


@dataclass(frozen=True, slots=True)
class ModelProgram:
    """A module with one function, and the arrays for the last of its arguments, by their names."""

    module: ModuleOp
    weights: Mapping[str, NumpyArray]


def program_of(
    model: OnnxModel,
    *,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    values: Mapping[str, NumpyArray] | None = None,
) -> ModelProgram:
    """
    Returns a model as one program. Its function takes the inputs, in order, and then the weights, which are
    marked as frozen; dims that the model names are dims of the program. `shapes` says which shape an input
    has that has axes without a name, with None for an axis that is as the model says, and `values` has arrays
    for inputs that the program is made for, which it does not take. Names are those of the model, with `_`
    for what names in text may not have, and a number where two would be one.

    Raises:
        TenonError: an op does not take what it is given, an input or a result is no array, or what is given
            does not fit the model; where ops need values, which inputs `values` has to have.
    """
    shapes, values = shapes or {}, values or {}
    for name in (*shapes, *values):
        if name not in [each.name for each in model.inputs]:
            names = ", ".join(each.name for each in model.inputs)
            raise TenonError(f"{model.name}: there is no input '{name}' (inputs: {names})")
    dims = [dim for dim in model.dims.values() if isinstance(dim, Dim)]
    trace = Trace(model.name, [graph.DimOp(each.name, each.minimum, each.maximum) for each in dims])
    names = _Names()
    with trace:
        inputs: list[Any] = []
        for info in model.inputs:
            if info.name in values:
                inputs.append(values[info.name])
                continue
            shape = _shape_of(model, info, shapes.get(info.name))
            argument = trace.argument(aval_of(_dtype_of(model, info), shape), "x")
            argument.value.name_hint = names.of(info.name)
            inputs.append(argument)
        try:
            found = model.inlined(inputs)
        except ValueNeeded as error:
            needed = ", ".join(sorted(error.inputs)) or "an input"
            raise TenonError(f"{error.message} (hint: a value for {needed})") from None
        trace.finish(_results(model, found))
    weights: dict[str, NumpyArray] = {}
    known = {_place(array): name for name, array in model.initializers}
    for captured, argument in trace.captured:
        assert isinstance(captured, ConcreteArray), "a weight that is no array"
        name = names.of(known.get(_place(captured.values), "constant"))
        argument.value.name_hint = name
        weights[name] = captured.values
    verify_module(trace.module)
    return ModelProgram(trace.module, weights)


def compiled_for_calls(
    model: OnnxModel, inputs: Sequence[Any], *, backend: str, target: str | None = None
) -> tuple[Executable, Sequence[NumpyArray]]:
    """
    Returns the one program for all calls of a model, and what it takes after the inputs: weights, and what is
    made of them. Dims that the model names are dims of the program; axes without a name have the extents that
    they have in `inputs`, which are none or one for each input.

    Raises:
        TenonError: there is no such program; see `program_of`.
    """
    shapes: dict[str, Sequence[int | None]] = {}
    for info, given in zip(model.inputs, inputs, strict=False):
        said = info.shape
        if said is None or None in said:
            extents = np.shape(given)
            named = said if said is not None and len(said) == len(extents) else extents
            pairs = zip(named, extents, strict=True)
            shapes[info.name] = [None if isinstance(name, str) else extent for name, extent in pairs]
    program = program_of(model, shapes=shapes)
    weights = tuple(program.weights.values())
    executable, made = compile_with_frozen(program.module, weights, backend=backend, target=target)
    return executable, (*weights, *made)


def _results(model: OnnxModel, found: Sequence[Any]) -> list[TracedArray]:
    results: list[TracedArray] = []
    for info, result in zip(model.outputs, found, strict=True):
        array = result.array if isinstance(result, Stored) else result
        if not isinstance(array, TracedArray):
            raise TenonError(f"{model.name}: the result '{info.name}' is no array, which a program gives")
        results.append(array)
    return results


def _dtype_of(model: OnnxModel, info: GraphInput) -> np.dtype[Any]:
    if info.kind != "tensor" or info.dtype is None or info.dtype in CARRIERS:
        raise TenonError(
            f"{model.name}: the input '{info}' is no array that a program takes (hint: a value for it)"
        )
    return info.dtype


def _shape_of(model: OnnxModel, info: GraphInput, given: Sequence[int | None] | None) -> tuple[Any, ...]:
    """Returns the shape of an argument, of which axes with a name are left open."""
    said = info.shape
    if given is not None:
        extents = (None,) * len(given) if said is None else said
        fits = len(extents) == len(given) and all(
            not isinstance(e, int) or n is None or e == n for e, n in zip(extents, given, strict=True)
        )
        if not fits:
            raise TenonError(f"{model.name}: the shape {tuple(given)} does not fit the input '{info}'")
        # An axis whose dim has a name has the extent of that dim in all inputs.
        for axis, (extent, number) in enumerate(zip(extents, given, strict=True)):
            if isinstance(extent, str) and number is not None and model.dims[extent] != number:
                raise TenonError(
                    f"{model.name}: axis {axis} of input '{info.name}' is the dim '{extent}' (hint: say how "
                    "large that is)"
                )
        said = tuple(e if n is None else n for e, n in zip(extents, given, strict=True))
    if said is None or None in said:
        raise TenonError(
            f"{model.name}: the input '{info}' has {'axes without names' if said else 'no shape'} (hint: a "
            "shape for it)"
        )
    shape: list[Any] = []
    for extent in said:
        dim = model.dims[extent] if isinstance(extent, str) else extent
        shape.append(dim.extent if isinstance(dim, Dim) else dim)
    return tuple(shape)


def _place(array: NumpyArray | None) -> Any:
    """Returns what only arrays of the same elements have in common."""
    if array is None:
        return None
    return array.__array_interface__["data"][0], array.dtype, array.shape


class _Names:
    """Names of arguments in text: each is given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """Returns the name in letters, digits and `_`, with a number where that is taken."""
        base = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        # Numbers, and what ends in a number after `_`, are names that the printer makes itself.
        base = re.sub(r"_+(\d+)$", r"\1", f"v{base}" if base[0].isdigit() else base)
        base = f"v{base}" if base[0].isdigit() else base
        found, number = base, 0
        while found in self._taken:
            number += 1
            found = f"{base}_v{number}"
        self._taken.add(found)
        return found
