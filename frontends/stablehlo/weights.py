"""A program of StableHLO as a module of `graph` with its weights apart: what `tenon-import` writes."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FunctionType,
    ModuleOp,
    UnitAttr,
)

from ...compiler.foreign import as_graph_module
from ...dialects import graph
from ...dialects.modules.argument_marks import FROZEN
from ...dialects.modules.entry import argument_names, entries_of
from ...dialects.modules.parsing import parse_module, verify_module
from ...semantics.numpy_types import array_of
from .jax_program import LARGEST_CONSTANT


def program_with_weights(text: str, filename: str) -> tuple[ModuleOp, dict[str, npt.NDArray[Any]]]:
    """
    Returns a program as a module of `graph`, and its weights by the names of the arguments that they are. Of
    a module with one function the large constants are weights: arguments after the others, marked as frozen.
    Constants of one element, repeated, stay in the text.

    Raises:
        TenonError: the text or an op is wrong, or has no conversion.
    """
    module = parse_module(text, filename)
    verify_module(module)
    module = as_graph_module(module)
    entries = entries_of(module)
    if len(entries) != 1 or not isinstance(entries[0], func.FuncOp):
        return module, {}
    (function,) = entries
    constants = [op for op in function.walk() if isinstance(op, graph.ConstantOp) and _is_weight(op)]
    block = function.body.block
    first = len(block.args)
    for op in constants:
        argument = block.insert_arg(op.result.type, len(block.args))
        argument.name_hint, argument.location = op.result.name_hint or "constant", op.location
        op.result.replace_all_uses_with(argument)
    weights = {
        name: np.ascontiguousarray(array_of(op.value))
        for name, op in zip(argument_names(function)[first:], constants, strict=True)
    }
    for argument, name in zip(block.args[first:], weights, strict=True):
        argument.name_hint = name
    for op in constants:
        op.detach()
        op.erase()
    results = function.function_type.outputs.data
    function.properties["function_type"] = FunctionType.from_lists(
        [each.type for each in block.args], results
    )
    if constants:
        marks: list[DictionaryAttr] = [DictionaryAttr({})] * first
        function.properties["arg_attrs"] = ArrayAttr(
            [*marks, *(DictionaryAttr({FROZEN: UnitAttr()}) for _ in constants)]
        )
    verify_module(module)
    return module, weights


def _is_weight(op: graph.ConstantOp) -> bool:
    value = cast("DenseIntOrFPElementsAttr[Any]", op.value)
    return len(value.data.data) > LARGEST_CONSTANT and not value.is_splat()
