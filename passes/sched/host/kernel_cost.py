"""
The cost of one run of a kernel, counted from its text.

A loop counts as often as it runs; of an `scf.if` the dearer branch counts. A bound that depends on an id or
on an outer loop is taken from the first work-item and the first iteration. A loop whose bounds depend on data
is taken to run `UNKNOWN_TRIPS` times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue

from ....dialects import graph, low, sched
from ....dialects.buffer_size import nbytes_bound, nbytes_of
from ....dialects.dims.expressions import DimSymbol, Extent, bounded, upper_bound
from ....dialects.element_types import NBYTES, element_type_of, lanes_of
from ....dialects.low.atomic_rmw import AtomicRmwKind


@dataclass
class KernelCost:
    """What one run of a kernel does in all its work-items together; `loads` and `stores` count elements."""

    flops: int = 0
    loads: dict[int, int] = field(default_factory=dict[int, int])
    stores: dict[int, int] = field(default_factory=dict[int, int])
    shared_nbytes: int = 0
    work_items: int = 1
    registers: int = 0


def cost_of(kernel: sched.KernelOp | low.KernelOp, dims: Mapping[str, DimSymbol] | None = None) -> KernelCost:
    """Returns what one run of `kernel` costs, the most for values of `dims` within their bounds."""
    dims = dims or {}
    cost = KernelCost(registers=_registers(kernel))
    times = 1
    if isinstance(kernel, low.KernelOp):
        for extent in (*kernel.grid.data, *kernel.block_dims.data):
            times *= _most(extent, dims)
        cost.work_items = times
    else:
        cost.work_items = _work_items(kernel.body.block, dims)
    _Counter(cost, kernel.body.block, dims).count_block(kernel.body.block, times)
    return cost


def _most(extent: Extent, dims: Mapping[str, DimSymbol]) -> int:
    return extent if isinstance(extent, int) else upper_bound(bounded(extent, dims))


def accessed_nbytes(
    elements: dict[int, int], arguments: Sequence[SSAValue], dims: Mapping[str, DimSymbol]
) -> int:
    """Returns the bytes of the buffers accessed, of each no more than it holds."""
    total = 0
    for index, count in elements.items():
        type = arguments[index].type
        total += min(nbytes_bound(type, dims), count * NBYTES[element_type_of(type)])
    return total


def _work_items(block: Block, dims: Mapping[str, DimSymbol]) -> int:
    """Returns how many work-items the axes of a `sched` kernel give, of stages side by side the most."""
    most = 1
    axes = [op for op in block.ops if isinstance(op, sched.AxisOp)]
    for number, axis in enumerate(axes):
        mapping = axis.mapping
        mine = 1
        if mapping.level.data is not sched.Level.SERIAL:
            mine = -(-_most(axis.extent, dims) // mapping.chunk.data)
        inner = mine * _work_items(axis.body.block, dims)
        most = inner if number == 0 else max(most, inner)
    return most


class _Counter:
    def __init__(self, cost: KernelCost, entry: Block, dims: Mapping[str, DimSymbol]) -> None:
        self._cost = cost
        self._entry = entry
        self._dims = dims

    def count_block(self, block: Block, times: int) -> None:
        for op in block.ops:
            self._count(op, times)

    def _count(self, op: Operation, times: int) -> None:
        """
        Adds what an op costs that runs `times` times. Kernels of `sched` and of `low` are counted by the same
        rules, so that the figures before and after the lowering can be compared.
        """
        cost = self._cost
        match op:
            case sched.AxisOp():
                self.count_block(op.body.block, times * _most(op.extent, self._dims))
            case sched.ReduceOp():
                steps = times * _most(op.extent, self._dims)
                # Of the dims of one sum only the innermost adds: the others pass its sum on.
                if op.continued is None:
                    cost.flops += steps * len(op.yielded)
                self.count_block(op.body.block, steps)
            case scf.ForOp():
                self.count_block(op.body.block, times * trip_count(op))
            case scf.WhileOp():
                self.count_block(op.before_region.block, times * UNKNOWN_TRIPS)
                self.count_block(op.after_region.block, times * UNKNOWN_TRIPS)
            case scf.IfOp():
                self._count_if(op, times)
            case memref.LoadOp():
                self._access(cost.loads, op.memref, times)
            case memref.StoreOp():
                self._access(cost.stores, op.memref, times)
            case vector.LoadOp():
                self._access(cost.loads, op.base, times * (lanes_of(op.result.type) or 1))
            case vector.StoreOp():
                self._access(cost.stores, op.base, times * (lanes_of(op.vector.type) or 1))
            case low.AtomicRmwOp():
                # An assignment reads too: the cache line must come in before a part of it changes.
                self._access(cost.loads, op.buffer, times)
                self._access(cost.stores, op.buffer, times)
                cost.flops += times if op.kind.data is not AtomicRmwKind.ASSIGN else 0
            case vector.ReductionOp():
                cost.flops += times * (lanes_of(op.vector.type) or 1)
            case low.TileFmaOp():
                self._count_tile(op, times)
            case sched.AllocOp():
                if op.scope.data is sched.Scope.SHARED:
                    cost.shared_nbytes += nbytes_of(op.result.type)
            case low.AllocaOp():
                if op.is_shared:
                    cost.shared_nbytes += nbytes_of(op.type)
            case _:
                # Index arithmetic is no work of the program: schedules differ in it, and backends hoist it.
                flops = low.FLOPS.get(type(op), 0)
                if flops and not isinstance(op.operands[0].type, IndexType):
                    cost.flops += times * flops * (lanes_of(op.operands[0].type) or 1)

    def _count_tile(self, op: low.TileFmaOp, times: int) -> None:
        rows, columns, steps = op.rows.value.data, op.columns.value.data, 1
        for depth in op.depths:
            steps *= _known(depth)
        products = rows * steps
        if op.ranges is not None:
            taken = sum(end - first for first, end in op.ranges[1])
            products = taken * steps // len(op.ranges[1])
        self._cost.flops += 2 * times * columns * products
        self._access(self._cost.loads, op.lhs, times * products)
        self._access(self._cost.loads, op.rhs, times * columns * steps)
        if op.accumulates is not None:
            self._access(self._cost.loads, op.acc, times * rows * columns)
        self._access(self._cost.stores, op.acc, times * rows * columns)

    def _count_if(self, op: scf.IfOp, times: int) -> None:
        """Adds the dearer branch: the condition depends on data or ids, so either may run every time."""
        dearest = KernelCost()
        for region in (op.true_region, op.false_region):
            if region.blocks:
                branch = KernelCost()
                _Counter(branch, self._entry, self._dims).count_block(region.block, times)
                if region is op.true_region or branch.flops > dearest.flops:
                    dearest = branch
        cost = self._cost
        cost.flops += dearest.flops
        cost.shared_nbytes += dearest.shared_nbytes
        for counts, more in ((cost.loads, dearest.loads), (cost.stores, dearest.stores)):
            for index, count in more.items():
                counts[index] = counts.get(index, 0) + count

    def _access(self, counts: dict[int, int], buffer: SSAValue, elements: int) -> None:
        if isinstance(buffer, BlockArgument) and buffer.owner is self._entry:
            counts[buffer.index] = counts.get(buffer.index, 0) + elements


UNKNOWN_TRIPS = 8
"""How often a loop is taken to run whose bounds depend on data."""


def trip_count(op: scf.ForOp) -> int:
    """
    Returns how often a loop runs in the first work-item and the first iteration of the loops around it;
    `UNKNOWN_TRIPS` if that depends on data.
    """
    try:
        lower, upper, step = (_evaluate(bound) for bound in (op.lb, op.ub, op.step))
    except _DependsOnDataError:
        return UNKNOWN_TRIPS
    return max(0, -(-(upper - lower) // step)) if step > 0 else 0


def _known(value: SSAValue) -> int:
    """Returns an index in the first work-item and the first iteration; `UNKNOWN_TRIPS` if it is data."""
    try:
        return _evaluate(value)
    except _DependsOnDataError:
        return UNKNOWN_TRIPS


class _DependsOnDataError(Exception):
    """A bound of a loop is no function of ids and of other loops."""


def _evaluate(value: SSAValue) -> int:
    """
    Returns an index value in the first work-item and the first iteration of all loops around, with the
    greatest value of each named dim: `analyze-schedule` states costs of the largest run. Raises
    `_DependsOnDataError` where the value is loaded, or is computed by an op that bounds are not made of.
    """
    if isinstance(value, BlockArgument):
        outer = value.owner.parent_op()
        match outer:
            case scf.ForOp() if value.index == 0:
                return _evaluate(outer.lb)
            case sched.AxisOp() | sched.ReduceOp():
                return 0
            case sched.KernelOp() | low.KernelOp():
                dims = graph.dims_around(outer)
                for name, size in outer.sizes.items():
                    if size is value and name in dims:
                        return dims[name].maximum
            case _:
                pass
        raise _DependsOnDataError
    assert isinstance(value, OpResult), f"{value} is neither an argument nor a result"
    op = value.op
    match op:
        case arith.ConstantOp():
            if isinstance(op.value, IntegerAttr):
                return op.value.value.data
        case low.BlockIdOp() | low.ThreadIdOp():
            return 0
        case arith.AddiOp():
            return _evaluate(op.lhs) + _evaluate(op.rhs)
        case arith.SubiOp():
            return _evaluate(op.lhs) - _evaluate(op.rhs)
        case arith.MuliOp():
            return _evaluate(op.lhs) * _evaluate(op.rhs)
        case arith.MinSIOp() | arith.MinUIOp():
            return min(_evaluate(op.lhs), _evaluate(op.rhs))
        case arith.MaxSIOp() | arith.MaxUIOp():
            return max(_evaluate(op.lhs), _evaluate(op.rhs))
        # A divisor may be 0 here though it never is in a run, as ids and indices count as 0.
        case arith.DivSIOp() | arith.DivUIOp():
            return _evaluate(op.lhs) // (_evaluate(op.rhs) or 1)
        case arith.RemSIOp() | arith.RemUIOp():
            return _evaluate(op.lhs) % (_evaluate(op.rhs) or 1)
        case arith.IndexCastOp():
            return _evaluate(op.input)
        case _:
            pass
    raise _DependsOnDataError


def _registers(kernel: sched.KernelOp | low.KernelOp) -> int:
    """
    Returns the most values, constants and buffers apart, that are alive at one point of the text: each from
    where it is defined to its last use, and through the whole of every loop between the two.
    """
    start: dict[Operation, int] = {}
    end: dict[Operation, int] = {}

    def number(block: Block, position: int) -> int:
        for op in block.ops:
            start[op] = position
            position += 1
            for region in op.regions:
                for inner in region.blocks:
                    position = number(inner, position)
            end[op] = position
            position += 1
        return position

    changes = [0] * (number(kernel.body.block, 0) + 2)

    def add(value: SSAValue, first: int, home: Block) -> None:
        last = first
        for use in value.uses:
            user = use.operation
            while user.parent is not home:
                parent = user.parent_op()
                assert parent is not None, f"{value} is used outside of its kernel"
                user = parent
            last = max(last, end[user])
        if last > first:
            changes[first] += 1
            changes[last] -= 1

    for op in start:
        if not isinstance(op, arith.ConstantOp):
            for result in op.results:
                if not isinstance(result.type, MemRefType) and op.parent is not None:
                    add(result, end[op], op.parent)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    add(argument, start[op], block)
    most = now = 0
    for change in changes:
        now += change
        most = max(most, now)
    return most
