"""
Runs functions of `graph` ops on numpy arrays, op by op.

Extents written `?` are what the arrays at run time make them; where an op would need to know one that nothing
tells, that is an error. Fast-math flags allow other results than these and are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects.entry import argument_names, check_single_block
from ...dialects.graph.types import shape_text
from ...errors import CallError
from ...semantics.errors import InterpreterError, describe
from ...semantics.numpy_types import Array, dtype_of
from ...semantics.tensor_ops import evaluate, shape_of


def run_graph(module: ModuleOp, name: str, inputs: Sequence[Array]) -> list[Array]:
    """
    Returns the results of function `@name` of `module` for `inputs`; see `run_function`.

    Raises InterpreterError if there is no such function.
    """
    return run_function(_function_called(module, name, "reference"), inputs)


def run_function(function: func.FuncOp, inputs: Sequence[Array]) -> list[Array]:
    """
    Returns the results of `function` for `inputs`, in new arrays.

    Raises:
        CallError: the inputs do not fit the arguments in number, dtype or shape.
        InterpreterError: an op without a rule, or extents that do not fit one another at run time.
    """
    _check_inputs(function, inputs)
    with np.errstate(all="ignore"):
        results = _run(function, inputs, ())
    return [np.array(result, order="C") for result in results]


def _check_inputs(function: func.FuncOp, inputs: Sequence[Array]) -> None:
    name, arguments = function.sym_name.data, function.body.block.args
    if len(inputs) != len(arguments):
        raise CallError(f"{name}: takes {len(arguments)} arguments, found {len(inputs)}")
    for argument, written, array in zip(arguments, argument_names(function), inputs, strict=True):
        dtype, shape = dtype_of(argument.type), shape_of(argument)
        if array.dtype != dtype:
            raise CallError(f"{name}: argument '{written}' has dtype {array.dtype}, expected {dtype}")
        if not _fits(array.shape, shape):
            raise CallError(
                f"{name}: argument '{written}' has shape {list(array.shape)}, expected {shape_text(shape)}"
            )


def _fits(shape: Sequence[int], written: Sequence[int]) -> bool:
    return len(shape) == len(written) and all(
        wanted in (DYNAMIC_INDEX, extent) for extent, wanted in zip(shape, written, strict=True)
    )


def _run(function: func.FuncOp, inputs: Sequence[Array], callers: tuple[func.FuncOp, ...]) -> Sequence[Array]:
    """Runs a function that `callers` wait for."""
    values: dict[SSAValue, Array] = dict(zip(function.body.block.args, inputs, strict=True))
    for op in function.body.block.ops:
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, func.ReturnOp):
            return operands
        results = (
            _call(op, operands, (*callers, function))
            if isinstance(op, func.CallOp)
            else [evaluate(op, operands)]
        )
        for result, value in zip(op.results, results, strict=True):
            _check_result(op, result, value)
            values[result] = value
    raise AssertionError(f"@{function.sym_name.data} ends in no func.return")


def _call(op: func.CallOp, operands: Sequence[Array], callers: tuple[func.FuncOp, ...]) -> Sequence[Array]:
    module = callers[0].parent_op()
    name = op.callee.string_value()
    if not isinstance(module, ModuleOp):
        raise InterpreterError(f"{describe(op)}: there is no module to find @{name} in")
    callee = _function_called(module, name, describe(op))
    if callee in callers:
        raise InterpreterError(f"{describe(op)}: @{name} calls itself")
    return _run(callee, operands, callers)


def _function_called(module: ModuleOp, name: str, who: str) -> func.FuncOp:
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == name:
            if op.is_declaration:
                raise InterpreterError(f"{who}: @{name} has no body")
            check_single_block(op)
            return op
    raise InterpreterError(f"{who}: there is no function @{name}")


def _check_result(op: Operation, result: SSAValue, value: Array) -> None:
    assert value.dtype == dtype_of(result.type), f"{op.name}: computed {value.dtype} for {result.type}"
    shape = shape_of(result)
    if not _fits(value.shape, shape):
        raise InterpreterError(
            f"{describe(op)}: the result has shape {list(value.shape)} at run time, "
            f"expected {shape_text(shape)}"
        )
