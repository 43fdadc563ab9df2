"""What each `graph` op computes, on whole numpy arrays. Shared by the interpreter and by constant folding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue

from ..dialects import graph
from ..dialects.graph import PadMode
from ..dialects.graph.types import shape_text
from . import numerics
from .contraction import contract
from .cumulative import cumulate
from .errors import InterpreterError, describe
from .indexing import dynamic_slice, dynamic_update, gather, scatter
from .numpy_types import Array, array_of, dtype_of
from .ordering import argsort, search_sorted, sort
from .reductions import arg_reduce, logsumexp, reduce
from .threefry import threefry
from .winograd import winograd_transform


def evaluate(op: Operation, operands: Sequence[Array]) -> Array:
    """
    Returns the result of a `graph` op for `operands`. Callers run it under `np.errstate(all="ignore")`.

    Raises InterpreterError for an op without a rule, and for extents that do not fit one another at run time.
    """
    rule = RULES.get(type(op))
    if rule is None:
        raise InterpreterError(f"reference: no rule for {describe(op)}")
    return np.asarray(rule(op, operands))


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
    shape, axis = shape_of(op.result), op.axis.data
    if DYNAMIC_INDEX in shape:
        raise InterpreterError(f"{describe(op)}: nothing tells the extents of {op.result.type}")
    indices = numerics.cast(np.arange(shape[axis], dtype=np.int64), dtype_of(op.result.type))
    return np.broadcast_to(indices.reshape((-1,) + (1,) * (len(shape) - axis - 1)), shape)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """Returns the shape of a tensor value. Raises InterpreterError for any other value."""
    type = value.type
    if not isinstance(type, TensorType):
        raise InterpreterError(f"reference: {type} is not a tensor")
    return type.get_shape()


def _marked(op: Operation, operands: Sequence[Array]) -> Array:
    return operands[0]


def _cast(op: Operation, operands: Sequence[Array]) -> Array:
    return numerics.cast(operands[0], dtype_of(op.results[0].type))


def _bitcast(op: Operation, operands: Sequence[Array]) -> Array:
    return np.asarray(operands[0]).view(dtype_of(op.results[0].type))


def _reshape(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ReshapeOp)
    (source,), shape = operands, list(shape_of(op.result))
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
    (source,), written, shape = operands, shape_of(op.source), list(shape_of(op.result))
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
    edges = list(zip(op.low.data, source.shape, op.high.data, op.steps, strict=True))
    spans = [(low, (extent - 1) * step + 1 if extent else 0, step) for low, extent, _, step in edges]
    shape = [low + span + high for (low, span, _), high in zip(spans, op.high.data, strict=True)]
    result = np.full(shape, value, source.dtype)
    result[tuple(slice(low, low + span, step) for low, span, step in spans)] = source
    return result


def _pad_with(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.PadWithOp)
    (source,) = operands
    pads = list(zip(op.low.data, op.high.data, strict=True))
    for axis, (low, high) in enumerate(pads):
        if low + high and not source.shape[axis]:
            raise InterpreterError(f"{describe(op)}: axis {axis} has no elements to pad with at run time")
    return np.pad(source, pads, _PAD_MODES[op.mode.data]) if pads else source


_PAD_MODES: dict[PadMode, Literal["edge", "reflect", "symmetric", "wrap"]] = {
    PadMode.EDGE: "edge",
    PadMode.REFLECT: "reflect",
    PadMode.SYMMETRIC: "symmetric",
    PadMode.WRAP: "wrap",
}


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
    return contract(op, operands, dtype_of(op.result.type))


def _arg_reduce(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ArgReduceOp)
    (source,), axis = operands, op.axis.data
    if not source.shape[axis]:
        raise InterpreterError(f"{describe(op)}: axis {axis} has no elements at run time")
    return arg_reduce(op.kind.data, source, axis, op.keep is not None)


def _logsumexp(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.LogsumexpOp)
    return logsumexp(operands[0], op.axes.data, op.keep is not None)


def _gather(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.GatherOp)
    source, *indices = operands
    return gather(describe(op), source, indices, op.axes.data)


def _scatter(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ScatterOp)
    source, *indices, updates = operands
    return scatter(op.kind.data, source, indices, updates, op.axes.data)


def _dynamic_slice(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.DynamicSliceOp)
    source, *starts = operands
    return dynamic_slice(describe(op), source, starts, op.sizes.data)


def _dynamic_update(op: Operation, operands: Sequence[Array]) -> Array:
    source, *starts, update = operands
    assert isinstance(op, graph.DynamicUpdateOp)
    return dynamic_update(describe(op), source, starts, update, op.steps)


def _cumulate(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.CumulateOp)
    is_reversed, is_exclusive = op.reverse is not None, op.exclusive is not None
    return cumulate(op.kind.data, operands[0], op.axis.data, is_reversed, is_exclusive)


def _sort(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.SortOp)
    return sort(operands[0], op.axis.data, op.descending is not None)


def _argsort(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ArgsortOp)
    return argsort(operands[0], op.axis.data, op.descending is not None)


def _search_sorted(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.SearchSortedOp)
    sorted, values = operands
    return search_sorted(sorted, values, op.side.data)


def _threefry(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.ThreefryOp)
    key, counter = operands
    return threefry(key, counter, op.rounds.data)


def _winograd(op: Operation, operands: Sequence[Array]) -> Array:
    assert isinstance(op, graph.WinogradTransformOp)
    return winograd_transform(op, operands[0])


RULES: dict[type[Operation], _Rule] = {
    graph.ConstantOp: _constant,
    graph.IotaOp: _iota,
    **{op: _elementwise(function) for op, function in numerics.ELEMENTWISE.items()},
    graph.CastOp: _cast,
    graph.BitcastOp: _bitcast,
    graph.DetachOp: _marked,
    graph.MaterializeOp: _marked,
    graph.ReshapeOp: _reshape,
    graph.PermuteOp: _permute,
    graph.BroadcastOp: _broadcast,
    graph.PadOp: _pad,
    graph.PadWithOp: _pad_with,
    graph.SliceOp: _slice,
    graph.FlipOp: _flip,
    graph.ConcatOp: _concat,
    graph.ReduceOp: _reduce,
    graph.ContractOp: _contract,
    graph.ArgReduceOp: _arg_reduce,
    graph.LogsumexpOp: _logsumexp,
    graph.GatherOp: _gather,
    graph.ScatterOp: _scatter,
    graph.DynamicSliceOp: _dynamic_slice,
    graph.DynamicUpdateOp: _dynamic_update,
    graph.CumulateOp: _cumulate,
    graph.SortOp: _sort,
    graph.ArgsortOp: _argsort,
    graph.SearchSortedOp: _search_sorted,
    graph.ThreefryOp: _threefry,
    graph.WinogradInputTransformOp: _winograd,
    graph.WinogradOutputTransformOp: _winograd,
    graph.WinogradFilterTransformOp: _winograd,
}
"""What computes each op of `graph`."""
