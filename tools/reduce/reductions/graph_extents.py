"""Which extents of functions over tensors belong together, and functions with other ones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FunctionType, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import graph
from ....dialects.dims.attributes import length_attribute
from ....dialects.graph import ExtentsAttr, IntsAttr, LinearIndex, iteration_extents, shape_of, tensor_of
from ....semantics.numpy_types import array_of, dense_of
from .extents import ExtentClasses, NewExtent, Place
from .surgery import retype

_ALIKE = (
    graph.ElementwiseOp,
    graph.PredicateOp,
    graph.FlipOp,
    graph.CumulateOp,
    graph.SortOp,
    graph.ArgsortOp,
    graph.MarkerOp,
)
"""Ops whose operands and results have one shape."""


def extents_of_functions(module: ModuleOp) -> ExtentClasses:
    """Returns the extents of the tensors of a module, as far as they are numbers."""
    classes = ExtentClasses()
    functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, func.FuncOp)}
    nodes = {op.sym_name.data: op for op in module.body.ops if isinstance(op, graph.TnodeOp)}
    for op in module.walk():
        if isinstance(op, graph.TnodeOp):
            _add(classes, op, op.tensor_type)
        for value in (*op.results, *(value for block in _blocks(op) for value in block.args)):
            if isinstance(value.type, TensorType):
                _add(classes, value, cast("TensorType[Any]", value.type))
    for op in module.walk():
        match op:
            case func.CallOp():
                callee = functions.get(op.callee.string_value())
                if callee is not None and callee.body.blocks:
                    _join_each(classes, op.operands, callee.body.block.args)
                    _join_each(classes, op.results, _yielded(callee.body.block))
            case graph.NodeAccessOp():
                _relate_node(classes, op, nodes[op.node_name])
            case graph.ControlOp():
                _relate_regions(classes, op)
            case _:
                _relate(classes, op)
    return classes


def _blocks(op: Operation) -> list[Block]:
    return [block for region in op.regions for block in region.blocks]


def _yielded(block: Block) -> Sequence[SSAValue]:
    return () if block.last_op is None else block.last_op.operands


def _rank(value: SSAValue) -> int:
    return len(_shape(value))


def _shape(value: SSAValue) -> Sequence[Any]:
    return shape_of(cast("TensorType[Any]", value.type)) if isinstance(value.type, TensorType) else ()


def _add(classes: ExtentClasses, place: SSAValue | Operation, type: TensorType[Any]) -> None:
    for axis, extent in enumerate(shape_of(type)):
        if isinstance(extent, int) and extent >= 0:
            classes.add((place, axis), extent)


def _join(classes: ExtentClasses, first: SSAValue, second: SSAValue) -> None:
    if _rank(first) == _rank(second):
        for axis in range(_rank(first)):
            classes.join((first, axis), (second, axis))


def _join_each(classes: ExtentClasses, some: Iterable[SSAValue], others: Iterable[SSAValue]) -> None:
    for first, second in zip(some, others, strict=False):
        _join(classes, first, second)


def _relate_node(classes: ExtentClasses, op: graph.NodeAccessOp, node: graph.TnodeOp) -> None:
    value = op.operands[-1] if isinstance(op, graph.WriteOp) else op.results[0]
    n_indices = len(node.tensor_type.get_shape()) - _rank(value)
    for axis in range(_rank(value)):
        classes.join((node, axis + n_indices), (value, axis))


def _relate_regions(classes: ExtentClasses, op: graph.ControlOp) -> None:
    match op:
        case graph.IfOp():
            for block in _blocks(op):
                _join_each(classes, op.results, _yielded(block))
        case graph.WhileOp():
            for values in (op.initial, op.before.block.args, op.body.block.args, _yielded(op.body.block)):
                _join_each(classes, op.results, values)
        case graph.ScanOp():
            if isinstance(op.trip_count, int):
                classes.add((op, 0), op.trip_count)
            n, yielded = len(op.initial), _yielded(op.body.block)
            for values in (op.initial, op.carried, yielded[:n]):
                _join_each(classes, op.results[:n], values)
            for whole, part in (
                *zip(op.inputs, op.slices, strict=True),
                *zip(op.stacks, yielded[n:], strict=True),
            ):
                classes.join((op, 0), (whole, 0))
                for axis in range(_rank(part)):
                    classes.join((whole, axis + 1), (part, axis))
        case _:
            pass


def _relate(classes: ExtentClasses, op: Operation) -> None:
    """
    Says which extents of the operands and results of an op must change together, so that the op stays valid
    when a reduction makes one of them smaller.
    """
    # An op without a case leaves its extents independent. A reduction that breaks it does not verify then,
    # and is dropped: modules get less small, never wrong.
    match op:
        case _ if isinstance(op, _ALIKE):
            for operand in op.operands:
                _join(classes, op.results[0], operand)
        case graph.PermuteOp():
            for axis, source in enumerate(op.permutation.data):
                classes.join((op.result, axis), (op.source, source))
        case graph.BroadcastOp():
            added = _rank(op.result) - _rank(op.source)
            for axis in range(_rank(op.source)):
                classes.join((op.result, axis + added), (op.source, axis))
        case graph.ReshapeOp():
            _relate_reshape(classes, op)
        case graph.ReduceOp() | graph.LogsumexpOp() | graph.ArgReduceOp():
            axes = (op.axis.data,) if isinstance(op, graph.ArgReduceOp) else op.axes.data
            kept = [axis for axis in range(_rank(op.source)) if op.keep is not None or axis not in axes]
            for axis, source in enumerate(kept):
                classes.join((op.result, axis), (op.source, source))
        case graph.ContractOp():
            _relate_contract(classes, op)
        case graph.PadOp() | graph.PadWithOp():
            steps = op.steps if isinstance(op, graph.PadOp) else (1,) * _rank(op.source)
            for axis, (low, high, step) in enumerate(zip(op.low.data, op.high.data, steps, strict=True)):
                added = low + high
                classes.relate(
                    (op.result, axis),
                    [(op.source, axis)],
                    lambda parts, added=added, step=step: added + (parts[0] - 1) * step + 1,
                )
        case graph.ConcatOp():
            for axis in range(_rank(op.result)):
                if axis == op.axis.data:
                    classes.relate((op.result, axis), [(value, axis) for value in op.inputs], sum)
                    continue
                for value in op.inputs:
                    classes.join((op.result, axis), (value, axis))
        case graph.SliceOp():
            _relate_slice(classes, op)
        case graph.DynamicSliceOp():
            _relate_box(classes, op.source, op.result)
        case graph.DynamicUpdateOp():
            _join(classes, op.result, op.source)
            _relate_update(classes, op)
        case graph.GatherOp() | graph.ScatterOp():
            box = op.result if isinstance(op, graph.GatherOp) else op.updates
            if isinstance(op, graph.ScatterOp):
                _join(classes, op.result, op.source)
            n = _rank(op.indices[0])
            for value in op.indices:
                for axis in range(n):
                    classes.join((box, axis), (value, axis))
            rest = [axis for axis in range(_rank(op.source)) if axis not in op.axes.data]
            for axis, source in enumerate(rest, n):
                classes.join((box, axis), (op.source, source))
        case graph.SearchSortedOp():
            _join(classes, op.result, op.values)
        case graph.ThreefryOp():
            _join(classes, op.result, op.counter)
        case _:
            pass


def _relate_reshape(classes: ExtentClasses, op: graph.ReshapeOp) -> None:
    """Relates the runs of axes that have the same elements before and after."""
    before = [(axis, extent) for axis, extent in enumerate(_shape(op.source)) if extent != 1]
    after = [(axis, extent) for axis, extent in enumerate(_shape(op.result)) if extent != 1]
    if not all(isinstance(extent, int) and extent > 0 for _, extent in (*before, *after)):
        return
    while before and after:
        some, others = [before.pop(0)], [after.pop(0)]
        while (left := math.prod(e for _, e in some)) != (right := math.prod(e for _, e in others)):
            if left < right:
                some.append(before.pop(0))
            else:
                others.append(after.pop(0))
        sources: list[Place] = [(op.source, axis) for axis, _ in some]
        results: list[Place] = [(op.result, axis) for axis, _ in others]
        if len(sources) == 1 and len(results) == 1:
            classes.join(sources[0], results[0])
        elif len(sources) == 1:
            classes.relate(sources[0], results, math.prod)
        elif len(results) == 1:
            classes.relate(results[0], sources, math.prod)


def _relate_contract(classes: ExtentClasses, op: graph.ContractOp) -> None:
    extents = iteration_extents(op)
    for dim, extent in enumerate(extents):
        if isinstance(extent, int) and extent >= 0:
            classes.add((op, dim), extent)
    for value, map in zip((*op.inputs, op.result), op.maps.data, strict=True):
        for axis, expr in enumerate(map.data.results):
            index = LinearIndex.of(expr)
            if index.plain_dim is not None:
                classes.join((op, index.plain_dim), (value, axis))
                continue
            dims = [dim for dim, _ in index.factors]

            def reach(parts: Sequence[int], index: LinearIndex = index, dims: Sequence[int] = dims) -> int:
                known = dict(zip(dims, parts, strict=True))
                _, high = index.range([known.get(dim, 1) for dim in range(max(dims, default=-1) + 1)])
                assert isinstance(high, int), "extents are numbers"
                return high + 1

            if (value, axis) in classes and all((op, dim) in classes for dim in dims):
                slack = classes.extent((value, axis)) - reach([classes.extent((op, dim)) for dim in dims])
                classes.relate(
                    (value, axis),
                    [(op, dim) for dim in dims],
                    lambda parts, reach=reach, slack=slack: reach(parts) + slack,
                )


def _relate_slice(classes: ExtentClasses, op: graph.SliceOp) -> None:
    steps = zip(op.offsets.data, op.sizes.data, op.strides.data, strict=True)
    for axis, (offset, size, stride) in enumerate(steps):
        source, result = (op.source, axis), (op.result, axis)
        if source not in classes or result not in classes or not isinstance(offset, int):
            continue
        if (offset, stride) == (0, 1) and size == classes.extent(source):
            classes.join(source, result)
            continue
        classes.relate(
            result,
            [source],
            lambda parts, offset=offset, stride=stride: (
                (parts[0] - 1 - min(offset, parts[0] - 1)) // stride + 1
            ),
            is_limit=True,
        )


def _relate_box(classes: ExtentClasses, source: SSAValue, box: SSAValue) -> None:
    """Relates a tensor and a part of it: one and the same where they are equal, as a row's other axes are."""
    for axis in range(_rank(box)):
        whole, part = (source, axis), (box, axis)
        if whole in classes and part in classes:
            if classes.extent(whole) == classes.extent(part):
                classes.join(whole, part)
            else:
                classes.relate(part, [whole], lambda parts: parts[0], is_limit=True)


def _relate_update(classes: ExtentClasses, op: graph.DynamicUpdateOp) -> None:
    """Relates a tensor and the box of it that is replaced: with steps, as a slice that begins at 0."""
    if op.strides is None:
        _relate_box(classes, op.source, op.update)
        return
    for axis, stride in enumerate(op.steps):
        source, box = (op.source, axis), (op.update, axis)
        if source in classes and box in classes:
            classes.relate(
                box,
                [source],
                lambda parts, stride=stride: (parts[0] - 1) // stride + 1,
                is_limit=True,
            )


def resize_functions(module: ModuleOp, extent_of: NewExtent) -> None:
    """Gives the tensors of a module other extents, and what says extents in ops and functions too."""
    for op in module.walk():
        _resize_op(op, extent_of)
        for value in (*op.results, *(value for block in _blocks(op) for value in block.args)):
            if isinstance(value.type, TensorType):
                retype(value, _resized(value, cast("TensorType[Any]", value.type), extent_of))
    for op in module.body.ops:
        if isinstance(op, func.FuncOp) and op.body.blocks:
            block = op.body.block
            op.function_type = FunctionType.from_lists(
                [value.type for value in block.args], [value.type for value in _yielded(block)]
            )


def _resized(place: SSAValue | Operation, type: TensorType[Any], extent_of: NewExtent) -> TensorType[Any]:
    shape = tuple(
        extent if (new := extent_of((place, axis))) is None else new
        for axis, extent in enumerate(shape_of(type))
    )
    return tensor_of(type.element_type, shape)


def _resize_op(op: Operation, extent_of: NewExtent) -> None:
    """Changes the attributes of an op that say extents. The types of its values are still the old ones."""

    def numbers(place: SSAValue | Operation, old: Sequence[Any]) -> list[Any]:
        new = [extent_of((place, number)) for number in range(len(old))]
        return [extent if found is None else found for extent, found in zip(old, new, strict=True)]

    match op:
        case graph.ContractOp() if op.bounds is not None:
            op.bounds = ExtentsAttr(tuple(numbers(op, op.bounds.data)))
        case graph.SliceOp():
            sources = numbers(op.source, _shape(op.source))
            # A box that would begin behind the new end begins at the last element instead.
            offsets = [
                min(offset, extent - 1) if isinstance(offset, int) and isinstance(extent, int) else offset
                for offset, extent in zip(op.offsets.data, sources, strict=True)
            ]
            op.offsets, op.sizes = (
                ExtentsAttr(tuple(offsets)),
                ExtentsAttr(tuple(numbers(op.result, op.sizes.data))),
            )
        case graph.DynamicSliceOp():
            op.sizes = IntsAttr(tuple(numbers(op.result, op.sizes.data)))
        case graph.ScanOp():
            op.length = length_attribute(numbers(op, [op.trip_count])[0])
        case graph.ConstantOp():
            type = _resized(op.result, op.result.type, extent_of)
            op.value = cut(op.value, type)
        case graph.TnodeOp():
            type = _resized(op, op.tensor_type, extent_of)
            op.type = type
            if op.initial is not None:
                op.initial = cut(op.initial, type)
        case _:
            pass


def cut(value: DenseIntOrFPElementsAttr[Any], type: TensorType[Any]) -> DenseIntOrFPElementsAttr[Any]:
    """Returns the first elements of a constant along each axis, as many as `type` has."""
    corner = tuple(slice(extent) for extent in type.get_shape())
    return dense_of(array_of(value)[corner], type)
