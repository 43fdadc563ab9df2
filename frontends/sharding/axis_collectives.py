"""
`psum`, `all_gather` and the others: what the ranks along axes of a mesh exchange, in a function of
`shard_map`.

Names and meaning are those of jax. An axis may be several, in a tuple: ranks are then numbered row-major over
them. Where a function says arrays, it takes trees of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xdsl.ir import Operation

from ...dialects import graph
from ..arrays.array import function
from ..arrays.tree import flatten, unflatten
from ..tracing import graph_ops
from ..tracing.leaves import lift
from ..tracing.trace import TracedArray
from .axis_scope import AxisScope, current_scope

AxisName = str | Sequence[str]


def psum(arrays: Any, axis_name: AxisName, /) -> Any:
    """
    Returns the sum of what the ranks along an axis have; of a Python number that times how many there are.

    Raises:
        TenonError: outside of a function of `shard_map`.
        ValueError: the mesh has no such axis.
    """
    scope = current_scope("psum")
    count = scope.mesh.grid.count(scope.axes(axis_name, "psum"))

    def summed(value: Any) -> Any:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value * count
        return _reduced("psum", "add", value, axis_name)

    return _mapped(summed, arrays)


def pmax(arrays: Any, axis_name: AxisName, /) -> Any:
    """Returns the greatest of what the ranks along an axis have, NaN where one is. Raises as `psum`."""
    return _mapped(lambda value: _reduced("pmax", "max", value, axis_name), arrays)


def pmin(arrays: Any, axis_name: AxisName, /) -> Any:
    """Returns the least of what the ranks along an axis have, NaN where one is. Raises as `psum`."""
    return _mapped(lambda value: _reduced("pmin", "min", value, axis_name), arrays)


def pmean(arrays: Any, axis_name: AxisName, /) -> Any:
    """Returns the mean of what the ranks along an axis have. Raises as `psum`."""
    scope = current_scope("pmean")
    count = scope.mesh.grid.count(scope.axes(axis_name, "pmean"))
    return _mapped(
        lambda value: function("divide")(_reduced("pmean", "add", value, axis_name), count), arrays
    )


def all_gather(arrays: Any, axis_name: AxisName, /, *, axis: int = 0, tiled: bool = False) -> Any:
    """
    Returns what all ranks along an axis have: stacked along a new dim `axis`, or one after the other along
    the dim `axis` where `tiled`.

    Raises:
        TenonError: outside of a function of `shard_map`.
        ValueError: the mesh has no such axis, or the array no such dim.
    """

    def gathered(value: Any) -> TracedArray:
        scope, x, axes = _operand("all_gather", value, axis_name)
        dim = _dim("all_gather", axis, x.ndim + (not tiled))
        if not tiled:
            x = graph_ops.reshape(x, (*x.shape[:dim], 1, *x.shape[dim:]))
        extent = x.shape[dim] * scope.mesh.grid.count(axes)
        return _added(
            x, lambda grid, channel: graph.AllGatherOp(x.value, grid, axes, dim, channel, extent), scope
        )

    return _mapped(gathered, arrays)


def reduce_scatter(
    arrays: Any, axis_name: AxisName, /, *, scatter_dimension: int = 0, tiled: bool = False
) -> Any:
    """
    Returns this rank's part of the sum of what the ranks along an axis have: of the dim `scatter_dimension`,
    whose extent is their number and which goes, or which is split among them where `tiled`. jax calls it
    `psum_scatter`.

    Raises:
        TenonError: outside of a function of `shard_map`.
        ValueError: the mesh has no such axis, the array no such dim, or the extent is not theirs.
    """

    def scattered(value: Any) -> TracedArray:
        scope, x, axes = _operand("reduce_scatter", value, axis_name)
        dim, count = _dim("reduce_scatter", scatter_dimension, x.ndim), scope.mesh.grid.count(axes)
        part = _part("reduce_scatter", x.shape, dim, count, tiled)
        found = _added(
            x,
            lambda grid, channel: graph.ReduceScatterOp(
                graph.ReduceKind.ADD, x.value, grid, axes, dim, channel, part
            ),
            scope,
        )
        return found if tiled else graph_ops.reshape(found, (*x.shape[:dim], *x.shape[dim + 1 :]))

    return _mapped(scattered, arrays)


psum_scatter = reduce_scatter


def all_to_all(
    arrays: Any, axis_name: AxisName, /, split_axis: int, concat_axis: int, *, tiled: bool = False
) -> Any:
    """
    Splits arrays along the dim `split_axis`, sends part k to rank k along an axis, and returns what came: one
    after the other along the dim `concat_axis` where `tiled`. Else the extent of `split_axis` is the number
    of ranks and goes, and what came is stacked along a new dim `concat_axis`.

    Raises:
        TenonError: outside of a function of `shard_map`.
        ValueError: the mesh has no such axis, the array no such dim, or the extent is not theirs.
    """

    def exchanged(value: Any) -> TracedArray:
        scope, x, axes = _operand("all_to_all", value, axis_name)
        count = scope.mesh.grid.count(axes)
        split, concat = _dim("all_to_all", split_axis, x.ndim), _dim("all_to_all", concat_axis, x.ndim)
        part = _part("all_to_all", x.shape, split, count, tiled)
        shape = x.shape
        # Parts come to lie along dim 0, of which each rank has one.
        split_shape = (*shape[:split], count, part, *shape[split + 1 :])
        rest = [dim for dim in range(len(split_shape)) if dim != split]
        rows = graph_ops.permute(graph_ops.reshape(x, split_shape), (split, *rest))
        rows = graph_ops.reshape(rows, (1, *rows.shape))
        found = _added(
            rows,
            lambda grid, channel: graph.AllToAllOp(rows.value, grid, axes, 1, 0, channel, (1, count)),
            scope,
        )
        parts = list(rows.shape[2:])
        if not tiled:
            del parts[split]
        found = graph_ops.reshape(found, (count, *parts))
        # And go to the dim where they are put together, before its own elements.
        order = list(range(1, found.ndim))
        order.insert(concat, 0)
        found = graph_ops.permute(found, order)
        if tiled:
            parts[concat] *= count
            found = graph_ops.reshape(found, parts)
        return found

    return _mapped(exchanged, arrays)


def permute(arrays: Any, axis_name: AxisName, /, perm: Iterable[tuple[int, int]]) -> Any:
    """
    Sends arrays from rank to rank along an axis: `perm` has pairs (source, target), each source and each
    target once at most. Who gets nothing has zeros. jax calls it `ppermute`.

    Raises:
        TenonError: outside of a function of `shard_map`, or a pair is wrong.
        ValueError: the mesh has no such axis.
    """
    pairs = tuple([(int(source), int(target)) for source, target in perm])

    def permuted(value: Any) -> TracedArray:
        scope, x, axes = _operand("permute", value, axis_name)
        return _added(
            x,
            lambda grid, channel: graph.CollectivePermuteOp(
                x.value, grid, axes, pairs, channel, x.value.type
            ),
            scope,
        )

    return _mapped(permuted, arrays)


ppermute = permute


def axis_index(axis_name: AxisName, /) -> TracedArray:
    """Returns the number of this rank along an axis, an int32 of rank 0. Raises as `psum`."""
    scope = current_scope("axis_index")
    trace = graph_ops.the_trace("axis_index")
    total: TracedArray | None = None
    for axis in scope.axes(axis_name, "axis_index"):
        index = trace.add(graph.AxisIndexOp(scope.mesh.grid.name, axis))
        if total is not None:
            total = graph_ops.mul(total, graph_ops.constant(scope.mesh.shape[axis], total.dtype))
        total = index if total is None else graph_ops.add(total, index)
    if total is None:
        raise ValueError("axis_index: no axis is named")
    return total


def axis_size(axis_name: AxisName, /) -> int:
    """Returns how many ranks there are along an axis. Raises as `psum`."""
    scope = current_scope("axis_size")
    return scope.mesh.grid.count(scope.axes(axis_name, "axis_size"))


def _mapped(each: Callable[[Any], Any], arrays: Any) -> Any:
    leaves: list[Any] = []
    structure = flatten(arrays, leaves)
    return unflatten(structure, iter([each(leaf) for leaf in leaves]))


def _operand(who: str, value: Any, axis_name: AxisName) -> tuple[AxisScope, TracedArray, tuple[int, ...]]:
    scope = current_scope(who)
    x = lift(graph_ops.the_trace(who), value, f"{who}: an array")
    # What ranks exchange has a dtype of its own, as what a program gives has.
    return scope, x.trace.with_weakness(x, False) if x.weak else x, scope.axes(axis_name, who)


def _reduced(who: str, kind: str, value: Any, axis_name: AxisName) -> TracedArray:
    scope, x, axes = _operand(who, value, axis_name)
    return _added(
        x,
        lambda grid, channel: graph.AllReduceOp(graph.ReduceKind(kind), x.value, grid, axes, channel),
        scope,
    )


def _added(x: TracedArray, build: Callable[[str, int], Operation], scope: AxisScope) -> TracedArray:
    return graph_ops.built(lambda: build(scope.mesh.grid.name, scope.channel()), x)


def _dim(who: str, dim: int, rank: int) -> int:
    if not -rank <= dim < rank:
        raise ValueError(f"{who}: dim {dim} is out of range for rank {rank}")
    return dim % rank


def _part(who: str, shape: tuple[int, ...], dim: int, count: int, tiled: bool) -> int:
    """Returns the extent of a part of a dim. Raises ValueError where ranks do not share it evenly."""
    extent = shape[dim]
    if extent % count if tiled else extent != count:
        expected = f"a multiple of {count}" if tiled else f"{count}, one for each rank"
        raise ValueError(f"{who}: dim {dim} has extent {extent}, expected {expected} (shape {shape})")
    return extent // count
