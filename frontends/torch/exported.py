"""`tenon.from_torch`: a program that `torch.export` gave, as a function of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from ...dialects.modules.collection_pause import collection_paused
from ...errors import CallError, TenonError
from ..arrays.concrete import as_concrete
from ..freeze import freeze
from .backend import decompositions
from .explanation import TorchExplanation, explanation_of
from .graph_program import GraphProgram
from .library import torch_library
from .tensors import dtypes, tensor_of, values_of


def from_torch(program: Any, /) -> TorchFunction:
    """
    Returns a function of arrays that computes what an exported program of torch does:

        exported = torch.export.export(model, (example,))
        predict = tenon.from_torch(exported)

    Its weights are copied, and do not change: what is made of them alone is made once. Buffers that the
    program changes belong to the function; arguments that it changes are changed. Dynamic shapes of the
    export are named dims; a call outside of them is a `CallError`. Arguments and results are nested as those
    of the exported model. Ops that are not covered run in torch, which is told by a warning.

    Raises:
        TypeError: it is no exported program.
        MissingExtraError: torch is not installed.
    """
    torch = torch_library()
    if not isinstance(program, torch.export.ExportedProgram):
        raise TypeError(
            f"from_torch: {type(program).__name__}, expected an ExportedProgram "
            "(hint: torch.export.export(model, (example,)))"
        )
    # A graph of torch is a cycle, as IR is.
    with collection_paused():
        return TorchFunction(program)


class TorchFunction:
    """
    An exported program of torch as a function. It takes numpy arrays, and whatever gives arrays by DLPack;
    results are numpy arrays, or tensors where a tensor was among the arguments. Made by `from_torch`.
    """

    def __init__(self, exported: Any) -> None:
        torch = torch_library()
        exported = exported.run_decompositions(decompositions())
        module, signature = exported.graph_module, exported.graph_signature
        kinds = torch.export.graph_signature
        self.changed: dict[str, Any] = {
            name: exported.state_dict[name].detach().clone()
            if name in exported.state_dict
            else exported.constants[name].detach().clone()
            for name in signature.buffers_to_mutate.values()
        }
        """The buffers that calls change, by their names."""
        self._sources: list[tuple[str, Any]] = []
        """
        What each placeholder is: a buffer that changes, a value that does not, an argument, or one that is
        written to, with its name.
        """
        frozen: dict[Any, Any] = {}
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        for node, spec in zip(placeholders, signature.input_specs, strict=True):
            if spec.kind == kinds.InputKind.USER_INPUT:
                if isinstance(spec.arg, kinds.ConstantArgument):
                    self._sources.append(("constant", spec.arg.value))
                elif spec.arg.name in signature.user_inputs_to_mutate.values():
                    self._sources.append(("written", spec.arg.name))
                else:
                    self._sources.append(("argument", None))
                continue
            if spec.target in self.changed:
                self._sources.append(("buffer", spec.target))
                continue
            known = exported.state_dict if spec.target in exported.state_dict else exported.constants
            value = known[spec.target]
            if not isinstance(value, torch.Tensor):
                raise TenonError(f"from_torch: {spec.target} is {type(value).__name__}, expected a tensor")
            value = value.detach()
            if value.dtype in dtypes():
                frozen[node] = freeze(values_of(value.clone(), None))
            self._sources.append(("constant", value))
        self._outputs = [
            (spec.kind == kinds.OutputKind.USER_OUTPUT, spec.target) for spec in signature.output_specs
        ]
        self._call_spec = spec = exported.call_spec
        trees, n_leaves = torch.utils._pytree, spec.in_spec.num_leaves
        takes_leaves = trees.tree_structure(((0,) * n_leaves, {})) == spec.in_spec
        self._n_positional = n_leaves if takes_leaves else None
        """How many arguments there are where all are given by position and none is a container."""
        self._gives_one = spec.out_spec.is_leaf()
        self._leaf_types = frozenset((torch.Tensor, torch.nn.Parameter, np.ndarray))
        # An exported program has guards of its own, but only its own module looks at them.
        bounds = _bounds(exported.range_constraints)
        self._graph = GraphProgram(module, "exported", frozen, bounds, is_guarded=False)

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """
        Runs the program.

        Raises:
            CallError: the arguments are nested otherwise, one has another shape or dtype than was exported,
                or one that the program changes cannot be written to.
        """
        torch = torch_library()
        trees = torch.utils._pytree
        leaves: Sequence[Any] = arguments
        # What torch does to look through containers takes half as long as a small program.
        if (
            named
            or len(arguments) != self._n_positional
            or not self._leaf_types.issuperset(map(type, arguments))
        ):
            leaves, structure = trees.tree_flatten((arguments, named))
            if structure != self._call_spec.in_spec:
                given, wanted = (" ".join(str(each).split()) for each in (structure, self._call_spec.in_spec))
                raise CallError(f"exported: arguments are {given}, expected {wanted}")
        gives_tensors = any(isinstance(leaf, torch.Tensor) for leaf in leaves)
        given = iter(leaves)
        values: list[Any] = []
        written: dict[str, Any] = {}
        for kind, value in self._sources:
            if kind == "argument":
                values.append(_tensor(next(given)))
            elif kind == "written":
                written[value] = _writable(next(given))
                values.append(written[value])
            elif kind == "buffer":
                values.append(self.changed[value])
            else:
                if value is None or not isinstance(value, torch.Tensor):
                    next(given)
                values.append(value)
        results: list[Any] = []
        with torch.no_grad():
            found = self._graph(values)
            for (is_result, target), value in zip(self._outputs, found, strict=True):
                if is_result:
                    results.append(value)
                elif target in self.changed:
                    self.changed[target] = value
                elif target in written:
                    written[target].copy_(value)
        if not gives_tensors:
            results = [values_of(each, None) if isinstance(each, torch.Tensor) else each for each in results]
        return results[0] if self._gives_one else trees.tree_unflatten(results, self._call_spec.out_spec)

    def explain(self) -> TorchExplanation:
        """Returns what the compiler did, and what was left to torch."""
        return explanation_of([self._graph])


def _bounds(stated: Mapping[Any, Any]) -> dict[Any, Any]:
    """Returns the bounds of symbols. A least extent of 2 is what torch assumes, and does not ask of calls."""
    ranges = import_module("torch.utils._sympy.value_ranges").ValueRanges
    return {symbol: ranges(0, known.upper) if known.lower == 2 else known for symbol, known in stated.items()}


def _tensor(value: Any) -> Any:
    """Returns an argument as a tensor, in its own memory where that can be written to."""
    torch = torch_library()
    if isinstance(value, torch.Tensor | bool | int | float) or value is None:
        return value
    array = as_concrete(value).values
    return tensor_of(array if array.flags.writeable else array.copy(), None)


def _writable(value: Any) -> Any:
    """
    Returns an argument that the program writes to as a tensor in its own memory.

    Raises:
        CallError: it is no tensor, and no array of numpy that can be written to as it lies.
    """
    if isinstance(value, torch_library().Tensor):
        return value
    array = as_concrete(value).values
    is_own = isinstance(value, np.ndarray) and array.flags.writeable
    if not is_own or not np.shares_memory(array, cast("np.ndarray[Any, Any]", value)):
        raise CallError(
            f"exported: an argument of shape {array.shape} is changed by the program, and cannot be written "
            "to (hint: a tensor, or an array of numpy that is contiguous)"
        )
    return tensor_of(array, None)
