"""In which order the axes of a value are stored in the end."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from ...dialects import graph
from ...dialects.dims.expressions import without_ones
from ...dialects.graph.types import shape_of, tensor_type_of


def stored_order(value: SSAValue) -> list[int] | None:
    """
    Returns the axes of `value`, outermost first, as what is made of it is stored: the elementwise ops,
    permutations and reshapes by extents of 1 are looked through as long as each is the only one that reads
    what is before it. Axes of extent 1 may stand anywhere. None is the order that they have.
    """
    shape = tensor_type_of(value, "stored_order").get_shape()
    order: list[int | None] = list(range(len(shape)))
    current = value
    while current.has_one_use():
        (use,) = current.uses
        op = use.operation
        # A value with a memory mode of its own is stored as it is.
        if not isinstance(op, graph.GraphOp) or "memory_mode" in op.attributes:
            break
        if isinstance(op, graph.PermuteOp):
            order = [order[axis] for axis in op.permutation.data]
        elif isinstance(op, graph.ReshapeOp):
            source = tensor_type_of(op.source, op.name)
            result = tensor_type_of(op.result, op.name)
            before, after = shape_of(source), shape_of(result)
            if DYNAMIC_INDEX in (*before, *after) or without_ones(before) != without_ones(after):
                break
            rest = iter([axis for axis, extent in zip(order, before, strict=True) if extent != 1])
            order = [None if extent == 1 else next(rest) for extent in after]
        elif not isinstance(op, graph.ElementwiseOp):
            break
        current = op.results[0]
    found = [axis for axis in order if axis is not None]
    ones = [axis for axis in range(len(shape)) if axis not in found]
    assert all(shape[axis] == 1 for axis in ones), f"{value.type}: axes {ones} are lost"
    order_of_all = [*ones, *found]
    return None if order_of_all == sorted(order_of_all) else order_of_all
