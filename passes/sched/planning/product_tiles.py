"""
Products of matrices that run in register tiles, and what else their kernels may compute.

A tile has several rows and columns. What is folded in the kernel for each row, between the loops over rows
and over columns, leaves tiles of one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import row_major, upper_bound
from ....dialects.element_types import compute_type, element_type_of
from ....dialects.graph import Combination, ReduceKind, iteration_extents
from ....dialects.low.tile import SUM_TYPES
from ...indices.access import Indices, operand_indices, shape_of, with_bounds
from ...indices.expressions import Axis, IndexExpr, Leaf, linearize, opaque, variable
from .accesses import Access, Kernel

# By design: a register tile has 4 rows and a vector of columns, or more.
LEAST_TILED_EXTENT = 4
"""The least rows, and columns, of a contraction that does not become a part of another kernel."""

# A product in register tiles is faster than sums in another kernel: 35 times for 64x64 by 64x64, 14 times for
# 16x64 by 64x16, twice for 8x16 by 16x8, and as fast for 4x8 by 8x4.
LEAST_TILED_PRODUCTS = 1 << 10
"""The least products of such a contraction."""

# By design: a norm, an activation and a residual are some ten ops.
MOST_VALUES_BETWEEN = 64
"""How many values are looked at between what a kernel reads and the products that they are made of."""

# By design: what is folded beside a product is made of arguments, or of another kernel's results.
MOST_OPS_BEFORE = 64
"""How many ops are looked at to find out whether what is folded is made of a product."""


def is_worth_tiles(op: graph.ContractOp) -> bool:
    """Returns whether a contraction is a product of matrices, large enough to run in register tiles."""
    if compute_type(element_type_of(op.result.type)) not in SUM_TYPES or len(op.inputs) != 2:
        return False
    if op.accumulate.data is not ReduceKind.ADD or op.combine.data is not Combination.MUL:
        return False
    extents = [upper_bound(extent) for extent in with_bounds(iteration_extents(op), op)]
    used = [map.used_dims() for map in op.operand_maps]
    sides = [
        prod(extents[dim] for dim in op.result_dims if dim in mine and dim not in others)
        for mine, others in (used, used[::-1])
    ]
    return min(sides) >= LEAST_TILED_EXTENT and prod(extents) >= LEAST_TILED_PRODUCTS


def has_tiles(op: graph.ContractOp, access: Access) -> bool:
    """
    Returns whether a kernel that computes a product's element at an access can do so in tiles. Neighbours
    along an axis must be a row, or a column, apart then; what lies in panels must begin where a panel does.
    """
    return all(_is_tiled(op, number, _along_one_axis(access, number)) for number in _tiled_dims(op))


def _along_one_axis(access: Access, number: int) -> IndexExpr:
    """
    Returns an index of an access; along neighbouring axes that can become one, as all that the kernel reads
    and stores is contiguous along them, as that axis.
    """
    kernel, index = access.kernel, access.indices[number]
    along = index.axes()
    order = [axis for axis in kernel.axes if axis in along]
    if len(order) < 2 or len(order) < len(along):
        return index
    extents = [axis.extent for axis in order if isinstance(axis.extent, int)]
    first = kernel.axes.index(order[0])
    if len(extents) < len(order) or kernel.axes[first : first + len(order)] != tuple(order):
        return index
    if index != linearize([variable(axis) for axis in order], row_major(extents)):
        return index
    reads = [(value, place.indices) for value, places in kernel.reads.items() for place in places]
    used = [*reads, (kernel.root.results[0], kernel.stored)]
    if not all(_is_along(linearize(at, row_major(shape_of(value, ""))), order) for value, at in used):
        return index
    return variable(Axis(prod(extents), order[-1].hint))


def _is_along(address: IndexExpr, axes: Sequence[Axis]) -> bool:
    """Returns whether an address is the same in an axis that neighbouring ones become."""
    strides = [address.stride(axis) for axis in axes]
    return None not in strides and all(
        outer == inner * axis.extent
        for outer, inner, axis in zip(strides, strides[1:], axes[1:], strict=False)
        if inner is not None
    )


def _is_tiled(op: graph.ContractOp, number: int, index: IndexExpr) -> bool:
    dim = op.result_dims[number]
    panels = {each.dim: each.size.size for each in (op.tile.data if op.tile else ()) if each.size.in_panels}
    # The panels themselves may be a dim, beside the one of the places in them.
    width = panels.get(dim) or max(panels.values(), default=1)
    if not index.axes():
        return True
    lanes = {axis: Axis(width, axis.hint) for axis in index.axes()}

    def in_tiles(leaf: Leaf) -> IndexExpr:
        if not isinstance(leaf, Axis):
            return opaque(leaf.value, leaf.along)
        if width == 1:
            return variable(leaf)
        return variable(Axis(1 << 31, leaf.hint)) * width + variable(lanes[leaf])

    place = index.substitute(in_tiles)
    parts = (place.floordiv(width), place.mod(width)) if dim in panels else (place,)
    steps = [part.stride(axis) for part in parts for axis in part.axes()]
    return None not in steps and (1 in steps or not (dim in panels or _is_contiguous(op, dim)))


def _is_contiguous(op: graph.ContractOp, dim: int) -> bool:
    """Returns whether neighbours along a dim of the result are neighbours in an operand."""
    last = [graph.LinearIndex.of(map.results[-1]) for map in op.operand_maps if map.results]
    return any(index.factor(dim) == 1 for index in last)


def parted_product(op: Operation, access: Access) -> graph.ContractOp | None:
    """
    Returns a product of matrices that the kernel of an access computes, or may come to, and that would have
    no tiles of several rows and columns there if `op` was folded at that access, behind the product's sums.

    What the product itself is made of is folded in stages before it, which are put together for several rows
    later; and of what is folded from the product itself, as in a softmax, this is a stage.
    """
    folded = access.dependences()
    if access.loops != access.kernel.axes:
        return None
    for product, tiled in _products(access):
        # Sums of products for the same elements are added up in the same tiles.
        is_beside = isinstance(op, graph.ContractOp) and op.combine.data is Combination.MUL
        is_parted = not is_beside if tiled <= folded.keys() else not tiled.isdisjoint(folded)
        if is_parted and not _is_made_of(op, product):
            return product
    return None


def _is_made_of(op: Operation, source: Operation) -> bool:
    """Returns whether `op` reads `source`, by way of others too; if that takes long to tell, that it does."""
    seen, left = {op: None}, [op]
    while left:
        for operand in left.pop().operands:
            owner = operand.owner
            if owner is source or len(seen) > MOST_OPS_BEFORE:
                return True
            if not isinstance(owner, Block) and owner not in seen:
                seen[owner] = None
                left.append(owner)
    return False


def _products(access: Access) -> Iterator[tuple[graph.ContractOp, set[Axis]]]:
    """
    Yields the products of matrices that are computed in a kernel, and those of which what is computed there
    reads each element once, each with the axes of its rows and columns.
    """
    kernel = access.kernel
    for member, places in kernel.members.items():
        if isinstance(member, graph.ContractOp) and is_worth_tiles(member):
            yield member, {axis for place in places for axis in _tiled_axes(member, place.indices)}
    read = [
        (value, place.indices)
        for value, places in kernel.reads.items()
        for place in places
        if place.loops == kernel.axes
    ]
    yield from _products_behind(read, kernel)


def _products_behind(
    read: Sequence[tuple[SSAValue, Indices]], kernel: Kernel
) -> Iterator[tuple[graph.ContractOp, set[Axis]]]:
    """Yields the products that values are made of, by ops that read an element for each of theirs."""
    seen, left = dict.fromkeys(read), list(read)
    while left and len(seen) <= MOST_VALUES_BETWEEN:
        place = left.pop()
        found = kernel.operands.get(place)
        if found is None:
            found = kernel.operands[place] = _operands(*place, kernel.axes)
        op = place[0].owner
        if found and isinstance(op, graph.ContractOp):
            yield op, _tiled_axes(op, place[1])
            continue
        for each in found:
            if each not in seen:
                seen[each] = None
                left.append(each)


def _operands(
    value: SSAValue, indices: Indices, axes: tuple[Axis, ...]
) -> tuple[tuple[SSAValue, Indices], ...]:
    """
    Returns what an element is made of, where each iteration of a kernel reads another one: of a product of
    matrices, itself.
    """
    op = value.owner
    if {axis for index in indices for axis in index.axes()} != set(axes):
        return ()
    if isinstance(op, graph.ContractOp) and is_worth_tiles(op):
        return ((value, indices),)
    if isinstance(op, graph.ElementwiseOp | graph.ReshapeOp | graph.PermuteOp):
        return tuple(zip(op.operands, operand_indices(op, indices), strict=True))
    return ()


def _tiled_axes(op: graph.ContractOp, indices: Indices) -> set[Axis]:
    return {axis for number in _tiled_dims(op) for axis in indices[number].axes()}


def _tiled_dims(op: graph.ContractOp) -> list[int]:
    """Returns the dims of a product's result that are rows or columns: those that one of its sides has."""
    lhs, rhs = (map.used_dims() for map in op.operand_maps)
    return [number for number, dim in enumerate(op.result_dims) if (dim in lhs) != (dim in rhs)]
