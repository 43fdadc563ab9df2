"""
Reads a matrix once that is multiplied with a vector from both sides, by a loop over blocks of its rows.

    %q = graph.contract %a, %x maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>,
        affine_map<(j, k) -> (j)>] : tensor<4000x4000xf64>, tensor<4000xf64> -> tensor<4000xf64>
    %p = graph.contract %y, %a maps [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>,
        affine_map<(j, k) -> (j)>] : tensor<4000xf64>, tensor<4000x4000xf64> -> tensor<4000xf64>

-->

    %p, %qs = graph.scan %i = 1000 (%sum = %zero) : (tensor<4000xf64>)
        -> (tensor<4000xf64>, tensor<1000x4xf64>) {
      ... rows 4 * %i to 4 * %i + 3 of %a and %y, their products, and their sum with %sum ...
    }
    %q = graph.reshape %qs : tensor<1000x4xf64> -> tensor<4000xf64>

A large matrix comes from memory for each of the products, which take as long as that. The second product of a
block of rows finds it in the cache. So does a product of the matrix and what its other product gives, as in
`(a @ x) @ a`: what one block needs of that is made of the same block.

Only matrices of f32 or f64 that do not fit in half of a cache of the second level, of known extents, and
machines with few threads: the products of a block are too small to be shared out among many.

Requires: nothing. Ensures: results are those before, sums of floats up to their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.element_types import NBYTES
from ....dialects.graph import Combination, LinearIndex, ReduceKind
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ...machine.target import L2_NBYTES, N_THREADS, check_positive
from ..builder import GraphBuilder

# `python -m benchmarks.thresholds` shows what each limit is worth.

LEAST_SHARE_OF_L2 = 2
"""A matrix is read again from a cache if it takes at most this part of that: 2 is one half."""

BLOCK_SHARE_OF_L2 = 8
"""The part of the cache that a block of rows of each thread takes: 8 is one eighth."""

LEAST_ROWS = 4
"""The least rows of a block: each of the sums of its columns is loaded and stored once for so many."""

# Both products of a matrix of 242 MB take 25 ms on two threads, by blocks or apart.
MOST_THREADS = 2
"""The most threads that gain by it: more wait for the small products of a block."""


@dataclass(frozen=True)
class ShareMatrixReadsPass(ModulePass):
    """Reads a matrix once that is multiplied with a vector from both sides."""

    name = "share-matrix-reads"
    l2_nbytes: int = L2_NBYTES
    n_threads: int = N_THREADS

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "l2_nbytes", "n_threads")
        if self.n_threads > MOST_THREADS:
            return
        products = [each for inner in op.walk() if (each := _product_of(inner)) is not None]
        for by_rows, by_columns in _pairs(products):
            nbytes = _row_nbytes(by_rows)
            rows = by_rows.shape[0]
            if LEAST_SHARE_OF_L2 * rows * nbytes < self.l2_nbytes:
                continue
            wanted = self.l2_nbytes * self.n_threads // BLOCK_SHARE_OF_L2 // nbytes
            block = _even_block(rows, max(wanted, LEAST_ROWS))
            anchor = _anchor(by_rows.op, by_columns.op)
            if rows >= 2 * block and anchor is not None:
                _share(by_rows, by_columns, block, anchor)


@dataclass(frozen=True, slots=True)
class _Product:
    """A matrix times a vector, or a vector times a matrix: which axis of the matrix is the result's."""

    op: graph.ContractOp
    matrix_number: int
    """Which of the operands is the matrix."""
    axis: int

    @property
    def matrix(self) -> SSAValue:
        return self.op.inputs[self.matrix_number]

    @property
    def vector(self) -> SSAValue:
        return self.op.inputs[1 - self.matrix_number]

    @property
    def shape(self) -> tuple[int, ...]:
        return _numbers(self.matrix)

    @property
    def element_type(self) -> Attribute:
        return tensor_type_of(self.op.result, self.op.name).element_type


def _product_of(op: Operation) -> _Product | None:
    """Returns what an op multiplies, if that is a matrix and a vector."""
    if not isinstance(op, graph.ContractOp) or len(op.inputs) != 2 or op.tile is not None:
        return None
    if op.accumulate.data is not ReduceKind.ADD or op.combine.data is not Combination.MUL:
        return None
    types = [tensor_type_of(value, op.name) for value in (*op.inputs, op.result)]
    # Narrower floats would be rounded once for each block.
    if any(type.element_type not in (f32, f64) for type in types):
        return None
    if any(not isinstance(extent, int) or extent < 0 for type in types for extent in shape_of(type)):
        return None
    dims = [[LinearIndex.of(expr).plain_dim for expr in map.results] for map in op.operand_maps]
    for matrix, vector in ((0, 1), (1, 0)):
        if len(dims[matrix]) != 2:
            continue
        for axis in (0, 1):
            expected = [dims[matrix][axis]], [dims[matrix][1 - axis]]
            if (list(op.result_dims), dims[vector]) == expected:
                return _Product(op, matrix, axis)
    return None


def _numbers(value: SSAValue) -> tuple[int, ...]:
    """Returns the shape of an operand of a product, which is known."""
    shape = shape_of(tensor_type_of(value, "graph.contract"))
    return tuple(extent for extent in shape if isinstance(extent, int))


def _row_nbytes(product: _Product) -> int:
    type = tensor_type_of(product.matrix, product.op.name)
    return product.shape[1] * NBYTES[type.element_type]


def _pairs(products: list[_Product]) -> Iterator[tuple[_Product, _Product]]:
    """Yields products of the same matrix, one by its rows and one by its columns, each product once."""
    left = list(products)
    while left:
        first = left.pop(0)
        for second in left:
            if (
                second.matrix is first.matrix
                and second.axis != first.axis
                and second.op.parent is first.op.parent
                and second.element_type == first.element_type
                and second.op.fastmath == first.op.fastmath
            ):
                left.remove(second)
                yield (first, second) if first.axis == 0 else (second, first)
                break


def _even_block(rows: int, wanted: int) -> int:
    """Returns how many rows a block has: as many as wanted, or less if that leaves no rows over."""
    for block in range(wanted, max(wanted // 2, LEAST_ROWS) - 1, -1):
        if rows % block == 0:
            return block
    return wanted


def _anchor(by_rows: graph.ContractOp, by_columns: graph.ContractOp) -> Operation | None:
    """
    Returns the op before which both products can be computed: where all that they read is there, and nothing
    that reads them. None where what one reads is made of the other's result, other than the result itself.
    """
    first, second = (by_rows, by_columns) if by_rows.is_before_in_block(by_columns) else (by_columns, by_rows)
    block = first.parent
    assert block is not None, f"{first.name}: stands in no block"
    made = [value.owner for value in second.operands if value is not by_rows.result]
    if second is by_rows and by_columns.result in by_rows.operands:
        return None
    if not any(
        isinstance(op, Operation) and op.parent is block and first.is_before_in_block(op) for op in made
    ):
        return first
    readers = [_ancestor_in(block, use.operation) for use in first.result.uses]
    early = [op for op in readers if op is not second and op.is_before_in_block(second)]
    return None if early else second


def _ancestor_in(block: Block, op: Operation) -> Operation:
    """Returns the op of a block in which another one stands, or is."""
    while op.parent is not block:
        around = op.parent_op()
        assert around is not None, f"{op.name}: is read outside of its block"
        op = around
    return op


def _share(by_rows: _Product, by_columns: _Product, size: int, anchor: Operation) -> None:
    """Computes two products of a matrix before `anchor`, by blocks of `size` rows."""
    rows, columns = by_rows.shape
    count, left = divmod(rows, size)
    element_type, b = by_rows.element_type, GraphBuilder(anchor)
    b.location = by_rows.op.location
    sums_type = tensor_of(element_type, (columns,))
    zero = b.add(graph.BroadcastOp(b.scalar(0, element_type), sums_type))
    body = Block(arg_types=[tensor_of(i64, ()), sums_type])
    counter, carried = body.args
    counter.name_hint, carried.name_hint = "block", "sums"
    end = graph.YieldOp((carried,))
    body.add_op(end)
    inner = GraphBuilder(end)
    inner.location = b.location
    start = inner.add(graph.MulOp(counter, inner.scalar(size, i64)), "start")
    first = inner.scalar(0, i64)

    def rows_of(value: SSAValue) -> SSAValue:
        shape = _numbers(value)
        starts = [start, *(first for _ in shape[1:])]
        return inner.add(graph.DynamicSliceOp(value, starts, (size, *shape[1:])), value.name_hint)

    part, sums = _products(inner, by_rows, by_columns, rows_of, size)
    following = inner.add(graph.AddOp(carried, sums), "sums")
    end.operands = (following, part)
    parts_type = tensor_of(element_type, (count, size))
    loop = graph.ScanOp(count, (zero,), (), (sums_type, parts_type), Region(body))
    total = b.add(loop, by_columns.op.result.name_hint)
    flat = b.add(graph.ReshapeOp(loop.results[1], tensor_of(element_type, (count * size,))))
    if left:

        def rest_of(value: SSAValue) -> SSAValue:
            shape = _numbers(value)
            offsets = [count * size, *(0 for _ in shape[1:])]
            return b.add(graph.SliceOp(value, offsets, (left, *shape[1:]), [1] * len(shape)))

        part, sums = _products(b, by_rows, by_columns, rest_of, left)
        total = b.add(graph.AddOp(total, sums))
        flat = b.add(graph.ConcatOp((flat, part), 0))
    # The product by columns first, which may read the other one.
    for op, value in ((by_columns.op, total), (by_rows.op, flat)):
        value.name_hint = op.result.name_hint
        op.result.replace_all_uses_with(value)
        op.detach()
        op.erase()


def _products(
    b: GraphBuilder,
    by_rows: _Product,
    by_columns: _Product,
    rows_of: Callable[[SSAValue], SSAValue],
    count: int,
) -> tuple[SSAValue, SSAValue]:
    """Returns both products of some rows of a matrix, `count` of them, which `rows_of` takes of a value."""
    matrix = rows_of(by_rows.matrix)
    part = _product(b, by_rows, matrix, by_rows.vector, count)
    is_chained = by_columns.vector is by_rows.op.result
    vector = part if is_chained else rows_of(by_columns.vector)
    return part, _product(b, by_columns, matrix, vector, by_columns.shape[1])


def _product(b: GraphBuilder, of: _Product, matrix: SSAValue, vector: SSAValue, extent: int) -> SSAValue:
    inputs = (matrix, vector) if of.matrix_number == 0 else (vector, matrix)
    type = tensor_of(of.element_type, (extent,))
    return b.add(graph.ContractOp(inputs, of.op.maps, type, fastmath=of.op.fastmath), of.op.result.name_hint)
