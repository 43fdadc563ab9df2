"""
Lowers one `sched.kernel` to a `low.kernel`.

The kernel is walked once. An axis mapped to vectors or unrolled is not a loop over single iterations but a
set of lanes: every value below it is kept as one vector, or as several values side by side, exactly as far
as it depends on that axis. Axes that are mapped to a register tile are lowered together (`tile.py`). Index
arithmetic is kept symbolic and written where it is first known, outside of loops it does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ....dialects import low, sched
from ....dialects.buffer_size import extents_of, memref_of, size_of, span_of
from ....dialects.element_types import element_type_of
from ....dialects.low.alloca import SHARED
from ....dialects.low.prefetch import copy_prefetch
from ...indices.analysis import IndexAnalysis
from ...indices.expressions import IndexExpr
from ...indices.lanes import LOADED_STRIDES
from .axis import lower_axis
from .group_sharing import GroupSharing
from .indices import IndexWriter
from .lanes import LaneAxis, LanedValue, Lanes, lane_sets, turning_axis
from .reduction import lower_reduction
from .serial import SerialOp, lower_serial
from .shared_reduction import lower_shared_reduction
from .state import KernelState
from .tiles.tile import lower_tile
from .work_groups import work_groups
from .work_items import work_items
from .writer import NO_OVERFLOW, KernelWriter, constant_value, vector_type

_NO_SPACE = NoneAttr()


def lower_kernel(kernel: sched.KernelOp) -> low.KernelOp:
    """
    Returns the lowered kernel.

    Raises PassFailedException, naming the op, for a mapping that is illegal, an extent without a name, an
    index of which each lane of a vector has its own, and an op that no kernel's body may have.
    """
    lowering = _KernelLowering(kernel)
    lowering.lower_block(kernel.body.block)
    return lowering.op


@lru_cache(1024)
def _flat(type: Attribute) -> MemRefType[Any]:
    return memref_of(element_type_of(type), (size_of(type),))


def _flat_arguments(op: sched.KernelOp) -> list[MemRefType[Any]]:
    """Returns the types of a kernel's buffers as rows. Raises PassFailedException for a nameless extent."""
    arguments: list[MemRefType[Any]] = []
    for argument in op.body.block.args[len(op.sizes) :]:
        type = argument.type
        if DYNAMIC_INDEX in extents_of(type):
            raise PassFailedException(
                f"{op.name}: cannot lower @{op.sym_name.data} (argument {argument.index} is {type})"
            )
        arguments.append(_flat(type))
    return arguments


def _stride(op: Operation, address: IndexExpr, axis: LaneAxis, allowed: tuple[int, ...]) -> int:
    """Returns the stride of an access along a vector axis, which must be one of `allowed`."""
    stride = address.stride(axis.axis)
    if not isinstance(stride, int) or stride not in allowed:
        text = "not constant" if stride is None else stride
        raise PassFailedException(
            f"{op.name}: cannot be a vector over axis %{axis.axis.hint} (stride is {text}, "
            f"expected {' or '.join(', '.join(map(str, allowed)).rsplit(', ', 1))})"
        )
    return stride


def _refuse_work_items(op: sched.AllocOp) -> None:
    """Raises PassFailedException for a shared buffer of which each work-item would need its own."""
    around = op.parent_op()
    while around is not None:
        if isinstance(around, sched.AxisOp) and around.mapping.level.data is sched.Level.THREAD:
            hint = around.index.name_hint
            raise PassFailedException(
                f"{op.name}: a shared buffer cannot stand under axis %{hint} (its iterations are work-items)"
            )
        around = around.parent_op()


class _KernelLowering:
    def __init__(self, kernel: sched.KernelOp):
        analysis = IndexAnalysis()
        items = work_items(kernel)
        groups = work_groups(kernel, analysis.extent, items)
        arguments = _flat_arguments(kernel)
        name = kernel.sym_name.data
        self.op = low.KernelOp(name, arguments, groups.grid, groups.block, tuple(kernel.sizes))
        self.op.location = kernel.location
        self.writer = KernelWriter(self.op)
        scalars: dict[SSAValue, LanedValue] = {}
        self.indices = IndexWriter(self.writer, scalars)
        self.state = KernelState(
            self.writer, self.indices, groups.ids, self.lower_block, self.lower_op, scalars, analysis
        )
        self.lanes = self.state.lanes
        self.scalars = self.state.scalars
        if items is not None:
            self.state.group = GroupSharing(kernel, items, self.writer, self.indices)
        for old, new in zip(kernel.body.block.args, self.op.body.block.args, strict=True):
            new.name_hint = old.name_hint
            new.location = old.location
            self.state.buffers[old] = new

    def lower_block(self, block: Block) -> None:
        """Lowers the ops of a body, for the iterations that the bindings and the lanes stand for."""
        group = self.state.group
        if group is None or not group.is_uniform:
            self._lower_ops(block)
            return
        with group.block(block):
            for op in block.ops:
                group.statement(op)
                self.lower_op(op)

    def _lower_ops(self, block: Block) -> None:
        for op in block.ops:
            self.lower_op(op)

    def lower_op(self, op: Operation) -> None:
        """Lowers one op, in the way that it is lowered at the moment."""
        override = self.state.overrides.get(op)
        if override is None:
            self.rule_for(type(op))(self, op)
        else:
            override()

    def _lower_axis(self, op: sched.AxisOp) -> None:
        lower_loop = lower_tile if op.mapping.tile.data else lower_axis
        lower_loop(self.state, op)

    def _lower_reduction(self, op: sched.ReduceOp) -> None:
        lower = lower_shared_reduction if op.mapping.items.data > 1 else lower_reduction
        self.scalars[op.result] = lower(self.state, op)

    def _lower_serial(self, op: SerialOp) -> None:
        lower_serial(self.state, op)

    def _lower_terminator(self, op: Operation) -> None:
        """The values that it yields are read at the end of the lowering of the op around."""

    def _lower_value(self, op: Operation) -> None:
        if op.results and isinstance(op.results[0].type, IndexType):
            # What the analysis can read of index arithmetic is written where it is used.
            if self.state.analysis.is_opaque(op.results[0]):
                self._lower_opaque(op)
        elif isinstance(op, sched.SCALAR_OPS):
            self._lower_scalar(op)
        else:
            raise PassFailedException(f"{op.name}: cannot stand in the body of a kernel")

    @staticmethod
    @cache
    def rule_for(kind: type[Operation]) -> Callable[[_KernelLowering, Any], None]:
        """Returns the method that lowers the ops of a class."""
        rules: tuple[tuple[type[Operation], Callable[[_KernelLowering, Any], None]], ...] = (
            (sched.AxisOp, _KernelLowering._lower_axis),
            (sched.ReduceOp, _KernelLowering._lower_reduction),
            (memref.LoadOp, _KernelLowering._lower_load),
            (memref.StoreOp, _KernelLowering._lower_store),
            (sched.AllocOp, _KernelLowering._lower_alloc),
            (scf.ForOp, _KernelLowering._lower_serial),
            (scf.IfOp, _KernelLowering._lower_serial),
            (scf.WhileOp, _KernelLowering._lower_serial),
            (sched.YieldOp, _KernelLowering._lower_terminator),
            (scf.YieldOp, _KernelLowering._lower_terminator),
            (scf.ConditionOp, _KernelLowering._lower_terminator),
        )
        return next((rule for root, rule in rules if issubclass(kind, root)), _KernelLowering._lower_value)

    def _lower_alloc(self, op: sched.AllocOp) -> None:
        if self.state.group is not None:
            self.state.group.check_alloc(op)
        if self.lanes.axes:
            hint = self.lanes.axes[-1].axis.hint
            raise PassFailedException(f"{op.name}: cannot stand under axis %{hint} (it runs in lanes)")
        space = _NO_SPACE
        if op.scope.data is sched.Scope.SHARED:
            _refuse_work_items(op)
            space = SHARED
        type = MemRefType(element_type_of(op.result.type), [span_of(op.result.type)], memory_space=space)
        self.state.buffers[op.result] = self.writer.alloca(type, op.location, op.result.name_hint)

    def _lower_scalar(self, op: Operation) -> None:
        result = op.results[0]
        result_type: Attribute = result.type
        if not isinstance(result_type, IntegerType | AnyFloat):
            raise PassFailedException(
                f"{op.name}: cannot give {result_type} in a kernel's body (need a scalar)"
            )
        if isinstance(op, arith.ConstantOp):
            value = self.writer.constants.get(constant_value(op), op.result.type)
            self.scalars[op.result] = LanedValue((), {(): value}, False)
        elif isinstance(op, arith.IndexCastOp) or any(isinstance(v.type, IndexType) for v in op.operands):
            self._lower_index_use(op)
        else:
            self.scalars[result] = self._in_lanes(op)

    def _lower_opaque(self, op: Operation) -> None:
        """An index that is computed of other values than axes and constants; there are no vectors of them."""
        result = op.results[0]
        active = self.lanes.active(self.state.analysis.dependences(result))
        if self.lanes.vector_axis in active:
            return
        values: dict[Lanes, SSAValue] = {}
        for lanes in lane_sets(active):
            picked = [self._pick(op, operand, active, lanes) for operand in op.operands]
            values[lanes] = self.writer.emit(
                op.__class__, picked, result.type, op.location, result.name_hint, op.properties
            )
        self.scalars[result] = LanedValue.of(active, values, False)

    def _pick(self, op: Operation, operand: SSAValue, active: Sequence[LaneAxis], lanes: Lanes) -> SSAValue:
        """Returns an operand of `op` for one combination of lanes, be it an index or not."""
        if isinstance(operand.type, IndexType):
            return self.indices.write_for(op, self.state.analysis.expr(operand), active, lanes)
        return self.scalars[operand].pick(active, lanes)

    def _in_lanes(self, op: Operation) -> LanedValue:
        """Inserts an op on scalars once for every combination of lanes that its operands depend on."""
        result = op.results[0]
        operands = [self.scalars[operand] for operand in op.operands]
        active = self.lanes.active({axis for operand in operands for axis in operand.axes})
        is_vector = any(operand.is_vector for operand in operands)
        type = vector_type(result.type, self.lanes.width) if is_vector else result.type
        values: dict[Lanes, SSAValue] = {}
        for lanes in lane_sets(active):
            picked = [operand.pick(active, lanes) for operand in operands]
            if is_vector:
                picked = [self.writer.as_vector(value, self.lanes.width) for value in picked]
            values[lanes] = self.writer.emit(
                op.__class__, picked, type, op.location, result.name_hint, op.properties
            )
            if op.attributes and isinstance(emitted := values[lanes].owner, Operation):
                emitted.attributes.update(op.attributes)
        return LanedValue.of(active, values, is_vector)

    def _lower_index_use(self, op: Operation) -> None:
        """An op that makes a number of an index: a cast, or a comparison of indices."""
        result = op.results[0]
        exprs = [self.state.analysis.expr(operand) for operand in op.operands]
        depends = frozenset(axis for expr in exprs for axis in expr.axes())
        active, vector_axis = self.lanes.active(depends), self.lanes.vector_axis
        values: dict[Lanes, SSAValue] = {}
        for lanes in lane_sets(active):
            at = [self.indices.write_for(op, expr, active, lanes) for expr in exprs]
            values[lanes] = self.writer.emit(
                op.__class__, at, result.type, op.location, result.name_hint, op.properties
            )
            if vector_axis in active:
                assert vector_axis is not None
                values[lanes] = self._add_steps(op, values[lanes], exprs[0], vector_axis)
        self.scalars[result] = LanedValue.of(active, values, vector_axis in active)

    def _add_steps(self, op: Operation, first: SSAValue, expr: IndexExpr, axis: LaneAxis) -> SSAValue:
        """Returns the vector of an index in all lanes, given its value in the first one."""
        stride = expr.stride(axis.axis)
        if not isinstance(op, arith.IndexCastOp) or not isinstance(stride, int):
            raise PassFailedException(
                f"{op.name}: cannot be a vector over axis %{axis.axis.hint} (index is not linear)"
            )
        everywhere = self.writer.as_vector(first, axis.vector)
        numbers = [lane * stride for lane in range(axis.vector)]
        steps = self.writer.dense(numbers, first.type, axis.vector, "steps")
        return self.writer.emit(
            arith.AddiOp, (everywhere, steps), steps.type, op.location, op.results[0].name_hint, NO_OVERFLOW
        )

    def _lower_load(self, op: memref.LoadOp) -> None:
        address = self.state.analysis.address(op)
        active, vector_axis = self.lanes.active(frozenset(address.axes())), self.lanes.vector_axis
        op_type, result_type = memref.LoadOp, op.res.type
        turned = turning_axis(self.lanes, address)
        if turned is not None:
            self.scalars[op.res] = self._turned_load(op, address, turned)
            return
        stride = 0 if vector_axis is None else _stride(op, address, vector_axis, LOADED_STRIDES)
        if vector_axis is not None and stride:
            op_type, result_type = vector.LoadOp, vector_type(op.res.type, vector_axis.vector)
            if stride == -1:
                address = address + (1 - vector_axis.vector)
        values: dict[Lanes, SSAValue] = {}
        for lanes in lane_sets(active):
            at = self.indices.write_for(op, address, active, lanes)
            values[lanes] = self.writer.emit(
                op_type, (self.state.buffers[op.memref], at), result_type, op.location, op.res.name_hint
            )
            loaded = values[lanes].owner
            if isinstance(loaded, vector.LoadOp):
                copy_prefetch(op, loaded)
            if stride == -1:
                values[lanes] = self.writer.emit(
                    low.ReverseOp, (values[lanes],), result_type, op.location, op.res.name_hint
                )
        self.scalars[op.res] = LanedValue.of(active, values, op_type is vector.LoadOp)

    def _turned_load(self, op: memref.LoadOp, address: IndexExpr, rows: LaneAxis) -> LanedValue:
        """
        A load of which neighbours in memory are the iterations of the unrolled axis `rows`, not the lanes: it
        loads vectors along that axis, a square of elements, and transposes it.
        """
        active, columns = self.lanes.active(frozenset(address.axes())), self.lanes.vector_axis
        assert columns is not None, f"{op.name}: turned outside of all vector axes"
        step, position = address.stride(columns.axis), active.index(rows)
        assert isinstance(step, int), f"{op.name}: turned with the stride {step}"
        type = vector_type(op.res.type, columns.vector)
        buffer, hint = self.state.buffers[op.memref], op.res.name_hint
        values: dict[Lanes, SSAValue] = {}
        for lanes in lane_sets(active):
            if lanes[position]:
                continue
            loaded: list[SSAValue] = []
            for lane in range(columns.vector):
                at = self.indices.write_for(op, address + step * lane, active, lanes)
                neighbours = self.writer.emit(vector.LoadOp, (buffer, at), type, op.location, hint)
                assert isinstance(neighbours.owner, vector.LoadOp), f"{op.name}: makes no vector"
                copy_prefetch(op, neighbours.owner)
                loaded.append(neighbours)
            transposed = self.writer.insert(low.TransposeOp(loaded), op.location)
            for row, column in enumerate(transposed.results):
                column.name_hint = hint
                self.writer.homes[column] = self.writer.point
                values[(*lanes[:position], row, *lanes[position + 1 :])] = column
        return LanedValue.of(active, values, True)

    def _lower_store(self, op: memref.StoreOp) -> None:
        address = self.state.analysis.address(op)
        depends = frozenset(address.axes())
        for lane in self.lanes.axes:
            if lane.axis not in depends:
                raise PassFailedException(
                    f"{op.name}: cannot store from the lanes of axis %{lane.axis.hint} (all to one element)"
                )
        active, vector_axis = tuple(self.lanes.axes), self.lanes.vector_axis
        if vector_axis is not None:
            _stride(op, address, vector_axis, (1,))
        if self.state.group is None:
            self._write_store(op, address, active)
        else:
            self.state.group.store(op, lambda: self._write_store(op, address, active))

    def _write_store(self, op: memref.StoreOp, address: IndexExpr, active: tuple[LaneAxis, ...]) -> None:
        value, vector_axis = self.scalars[op.value], self.lanes.vector_axis
        store_type = memref.StoreOp if vector_axis is None else vector.StoreOp
        for lanes in lane_sets(active):
            at = self.indices.write_for(op, address, active, lanes)
            stored = value.pick(active, lanes)
            if vector_axis is not None:
                stored = self.writer.as_vector(stored, vector_axis.vector)
            new = store_type.create(operands=(stored, self.state.buffers[op.memref], at))
            self.writer.insert(new, op.location)
