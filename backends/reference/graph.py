"""
Runs functions of `graph` ops on numpy arrays, op by op.

Extents written `?` are what the arrays at run time make them; where an op would need to know one that nothing
tells, that is an error. Fast-math flags allow other results than these and are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from ...dialects import graph
from ...dialects.entry import argument_names
from ...dialects.graph.types import shape_text
from ...errors import CallError
from . import numerics
from .errors import InterpreterError, describe
from .numpy_types import Array, array_of, dtype_of
from .reductions import contract, reduce


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
        dtype, shape = dtype_of(argument.type), _shape(argument)
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
            else [_evaluate(op, operands)]
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
            return op
    raise InterpreterError(f"{who}: there is no function @{name}")


def _evaluate(op: Operation, operands: Sequence[Array]) -> Array:
    rule = _RULES.get(type(op))
    if rule is None:
        raise InterpreterError(f"reference: no rule for {describe(op)}")
    return np.asarray(rule(op, operands))


def _check_result(op: Operation, result: SSAValue, value: Array) -> None:
    assert value.dtype == dtype_of(result.type), f"{op.name}: computed {value.dtype} for {result.type}"
    shape = _shape(result)
    if not _fits(value.shape, shape):
        raise InterpreterError(
            f"{describe(op)}: the result has shape {list(value.shape)} at run time, "
            f"expected {shape_text(shape)}"
        )


_Rule = Callable[[Operation, Sequence[Array]], Array]


def _elementwise(function: Callable[..., Array]) -> _Rule:
    def rule(op: Operation, operands: Sequence[Array]) -> Array:
        for number, operand in enumerate(operands):
            if operand.shape != operands[0].shape:
                raise InterpreterError(
                    f"{describe(op)}: operands 0 and {number} have shapes {list(operands[0].shape)} and "
                    f"{list(operand.shape)} at run time"
                )
        return function(*operands)

    return rule


def _constant(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ConstantOp)
    return array_of(op.value)


def _iota(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.IotaOp)
    shape, axis = _shape(op.result), op.axis.data
    if DYNAMIC_INDEX in shape:
        raise InterpreterError(f"{describe(op)}: nothing tells the extents of {op.result.type}")
    indices = numerics.cast(np.arange(shape[axis], dtype=np.int64), dtype_of(op.result.type))
    return np.broadcast_to(indices.reshape((-1,) + (1,) * (len(shape) - axis - 1)), shape)


def _shape(value: SSAValue) -> tuple[int, ...]:
    type = value.type
    if not isinstance(type, TensorType):
        raise InterpreterError(f"reference: {type} is not a tensor")
    return type.get_shape()


def _cast(op: Operation, operands: Sequence[Array]) -> Array:
    return numerics.cast(operands[0], dtype_of(op.results[0].type))


def _reshape(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ReshapeOp)
    (source,), shape = operands, list(_shape(op.result))
    known = 1
    for extent in shape:
        known *= 1 if extent == DYNAMIC_INDEX else extent
    n_unknown = shape.count(DYNAMIC_INDEX)
    if n_unknown > 1 or (n_unknown and not known):
        raise InterpreterError(f"{describe(op)}: nothing tells the extents of {op.result.type}")
    if source.size % known if n_unknown else source.size != known:
        raise InterpreterError(
            f"{describe(op)}: cannot reshape {list(source.shape)} to {shape_text(shape)} at run time"
        )
    return source.reshape([source.size // known if extent == DYNAMIC_INDEX else extent for extent in shape])


def _permute(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.PermuteOp)
    return np.transpose(operands[0], op.permutation.data)


def _broadcast(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.BroadcastOp)
    (source,), written, shape = operands, _shape(op.source), list(_shape(op.result))
    added = len(shape) - len(written)
    for axis, extent in enumerate(shape):
        if extent == DYNAMIC_INDEX:
            if axis < added or written[axis - added] == 1:
                raise InterpreterError(f"{describe(op)}: nothing tells the extents of {op.result.type}")
            shape[axis] = source.shape[axis - added]
    if any(mine not in (1, extent) for mine, extent in zip(source.shape, shape[added:], strict=True)):
        raise InterpreterError(
            f"{describe(op)}: cannot broadcast {list(source.shape)} to {shape} at run time"
        )
    return np.broadcast_to(source, shape)


def _pad(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.PadOp)
    source, value = operands
    edges = list(zip(op.low.data, source.shape, op.high.data, strict=True))
    result = np.full([low + extent + high for low, extent, high in edges], value, source.dtype)
    result[tuple(slice(low, low + extent) for low, extent, _ in edges)] = source
    return result


def _slice(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.SliceOp)
    (source,) = operands
    taken: list[slice] = []
    spans = zip(source.shape, op.offsets.data, op.sizes.data, op.strides.data, strict=True)
    for axis, (extent, offset, size, stride) in enumerate(spans):
        end = offset + (size - 1) * stride + 1 if size else offset
        if end > extent:
            raise InterpreterError(f"{describe(op)}: axis {axis} is read up to {end} of {extent} at run time")
        taken.append(slice(offset, end, stride))
    return source[tuple(taken)]


def _flip(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.FlipOp)
    return np.flip(operands[0], op.axes.data)


def _concat(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ConcatOp)
    axis = op.axis.data
    others = [(*operand.shape[:axis], *operand.shape[axis + 1 :]) for operand in operands]
    if others.count(others[0]) != len(others):
        shapes = ", ".join(str(list(operand.shape)) for operand in operands)
        raise InterpreterError(f"{describe(op)}: cannot join {shapes} along axis {axis} at run time")
    return np.concatenate(operands, axis)


def _reduce(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ReduceOp)
    return reduce(op.kind.data, operands[0], op.axes.data, op.keep is not None)


def _contract(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ContractOp)
    maps = [map.data for map in op.maps.data]
    lhs, rhs = operands
    return contract(describe(op), lhs, rhs, maps, dtype_of(op.result.type))


_RULES: dict[type[Operation], _Rule] = {
    graph.ConstantOp: _constant,
    graph.IotaOp: _iota,
    graph.NegOp: _elementwise(numerics.negate),
    graph.AbsOp: _elementwise(numerics.absolute),
    graph.ExpOp: _elementwise(numerics.exp),
    graph.LogOp: _elementwise(numerics.log),
    graph.SqrtOp: _elementwise(numerics.sqrt),
    graph.RsqrtOp: _elementwise(numerics.rsqrt),
    graph.RecipOp: _elementwise(numerics.reciprocal),
    graph.TanhOp: _elementwise(numerics.tanh),
    graph.ErfOp: _elementwise(numerics.erf),
    graph.SinOp: _elementwise(numerics.sin),
    graph.CosOp: _elementwise(numerics.cos),
    graph.FloorOp: _elementwise(numerics.floor),
    graph.CeilOp: _elementwise(numerics.ceil),
    graph.TruncOp: _elementwise(numerics.trunc),
    graph.ReluOp: _elementwise(numerics.relu),
    graph.NotOp: _elementwise(np.invert),
    graph.AddOp: _elementwise(numerics.add),
    graph.SubOp: _elementwise(numerics.subtract),
    graph.MulOp: _elementwise(numerics.multiply),
    graph.DivOp: _elementwise(numerics.divide),
    graph.ModOp: _elementwise(numerics.remainder),
    graph.PowOp: _elementwise(numerics.power),
    graph.MaxOp: _elementwise(numerics.maximum),
    graph.MinOp: _elementwise(numerics.minimum),
    graph.AndOp: _elementwise(np.bitwise_and),
    graph.OrOp: _elementwise(np.bitwise_or),
    graph.XorOp: _elementwise(np.bitwise_xor),
    graph.ShlOp: _elementwise(numerics.shift_left),
    graph.ShrOp: _elementwise(numerics.shift_right),
    graph.EqOp: _elementwise(np.equal),
    graph.NeOp: _elementwise(np.not_equal),
    graph.LtOp: _elementwise(np.less),
    graph.LeOp: _elementwise(np.less_equal),
    graph.GtOp: _elementwise(np.greater),
    graph.GeOp: _elementwise(np.greater_equal),
    graph.SelectOp: _elementwise(np.where),
    graph.FmaOp: _elementwise(numerics.fma),
    graph.CastOp: _cast,
    graph.ReshapeOp: _reshape,
    graph.PermuteOp: _permute,
    graph.BroadcastOp: _broadcast,
    graph.PadOp: _pad,
    graph.SliceOp: _slice,
    graph.FlipOp: _flip,
    graph.ConcatOp: _concat,
    graph.ReduceOp: _reduce,
    graph.ContractOp: _contract,
}
"""Every op of `graph`."""
