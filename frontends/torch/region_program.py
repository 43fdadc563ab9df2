"""A region of a graph of torch as one program, which is called with tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any

import numpy as np

from ...dialects import graph
from ..arrays.aval import aval_of
from ..arrays.concrete import ConcreteArray
from ..arrays.promotion import DType
from ..calls.compiled_trace import CompiledTrace
from ..tracing import graph_ops as ops
from ..tracing.trace import Trace, TracedArray
from .extents import Dims, symbols_of
from .graph_nodes import Node, is_tensor, value_of
from .partition import Region
from .tensors import dtypes, has_gaps, memory_order, tensor_of, values_of
from .weights import Weights
from .writing import Writer

Order = tuple[int, ...] | None

_SIZE_DTYPE = np.dtype(np.bool_)


def order_of(value: Any) -> Order:
    """Returns the order of a tensor's axes in memory, None where they lie as they are counted."""
    order = memory_order(value.shape, value.stride())
    return None if order == tuple(range(len(order))) else order


def declared(dims: Dims, symbols: Sequence[Any]) -> list[graph.DimOp]:
    """Returns declarations of the dims of symbols."""
    return [graph.DimOp(each.name, each.minimum, each.maximum) for each in dims.dims(symbols)]


def add_argument(
    trace: Trace, value: Any, dims: Dims, name: str, order: Order, frozen: bool = False
) -> TracedArray:
    """Returns what stands for a tensor, whose memory is an argument of the program, or for a number."""
    if not is_tensor(value):
        return trace.argument(aval_of(np.dtype(np.float64), (), True), name)
    shape = tuple(dims.extent(each) for each in value.shape)
    dtype: DType = dtypes()[value.dtype]
    if order is None:
        return trace.argument(aval_of(dtype, shape), name, frozen)
    found = trace.argument(aval_of(dtype, tuple(shape[axis] for axis in order)), name, frozen)
    return ops.permute(found, np.argsort(order).tolist())


class RegionProgram:
    """
    A compiled region. Called with the tensors of its inputs and the integers of its sizes. What it makes of
    those inputs alone that are `weights` is kept from call to call.
    """

    def __init__(
        self,
        region: Region,
        dims: Dims,
        name: str,
        frozen: Mapping[Node, ConcreteArray] = MappingProxyType({}),
        weights: Set[Node] = frozenset(),
    ) -> None:
        self.region = region
        given = [node for node in region.inputs if node not in frozen]
        first = [node for node in given if node in weights and _may_be_kept(value_of(node))]
        self.inputs = [*first, *(node for node in given if node not in first)]
        """What it is called with: all that is read but frozen arrays."""
        values = [value_of(node) for node in self.inputs]
        self._orders: list[Order] = [order_of(value) if is_tensor(value) else None for value in values]
        self._result_orders: list[Order] = [order_of(value_of(node)) for node in region.outputs]
        self._sizes = len(region.sizes)
        trace = Trace(name, declared(dims, region.symbols))
        with trace:
            writer = Writer(trace, dims)
            for number, (node, value, order) in enumerate(
                zip(self.inputs, values, self._orders, strict=True)
            ):
                writer.values[node] = add_argument(trace, value, dims, node.name, order, number < len(first))
            for source in region.sizes:
                extent = _extent_of(source.node, source.axis, dims)
                trace.argument(aval_of(_SIZE_DTYPE, (extent,)), f"size_{extent}")
            # Behind the arguments, as what is captured is given to the program.
            for node in region.inputs:
                if node in frozen:
                    writer.values[node] = trace.capture(frozen[node])
            for node in region.nodes:
                writer.write(node)
            results = [
                _in_memory(writer.values[node], order)
                for node, order in zip(region.outputs, self._result_orders, strict=True)
            ]
            trace.finish(results)
        avals = [result.aval for result in results]
        self.program = CompiledTrace(trace, avals, backend="llvm", pipeline=None, target=None)
        self._weights = Weights(self._orders[: len(first)], self.program.preparation)

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """
        Runs the program. `given` are the inputs, then for each size the integer.

        Raises:
            CallError: a tensor has another dtype or shape than torch said.
        """
        count, first = len(self._orders), len(self._weights)
        held, prepared = self._weights.held(given[:first])
        values = [
            np.array(each, np.float64) if isinstance(each, bool | int | float) else values_of(each, order)
            for each, order in zip(given[first:], self._orders[first:], strict=False)
        ]
        sizes = [np.empty(size, _SIZE_DTYPE) for size in given[count:]]
        results = self.program.run((*held, *values, *sizes, *prepared))
        return [
            tensor_of(result.values, order)
            for result, order in zip(results, self._result_orders, strict=True)
        ]


def _may_be_kept(value: Any) -> bool:
    """Returns whether a tensor's memory is an argument as it is, with extents that are numbers."""
    return is_tensor(value) and not any(map(symbols_of, value.shape)) and not has_gaps(value)


def _extent_of(node: Node, axis: int | None, dims: Dims) -> Any:
    value = value_of(node)
    found = value if axis is None else value.shape[axis]
    assert symbols_of(found), "the size of a number"
    return dims.extent(found)


def _in_memory(x: TracedArray, order: Order) -> TracedArray:
    """Returns a result with its axes in the order in which torch has them in memory."""
    return x if order is None else ops.permute(x, order)
