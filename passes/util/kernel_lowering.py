"""
Lowers one `sched.kernel` to a `low.kernel`.

The kernel is walked once. An axis mapped to vectors or unrolled is not a loop over single iterations but a
set of lanes: every value below it is kept as one vector, or as several values side by side, exactly as far
as it depends on that axis. A register tile of a matrix product needs no rule of its own: its loads depend on
one axis, its sums on both. Index arithmetic is kept symbolic and written where it is first known, outside of
loops it does not need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from typing import NoReturn

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerType,
    LocationAttr,
    MemRefType,
    VectorType,
    i32,
)
from xdsl.dialects.vector import CombiningKindAttr, CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ...dialects import low, sched
from ...dialects.sched import CombineKind, Level, MappingAttr
from .index_analysis import IndexAnalysis
from .index_expr import Axis, Clamp, FloorDiv, IndexExpr, Mod, constant, variable
from .reduction_identity import identity
from .scalar_builder import INDEX, ConstantPool, ScalarBuilder

_Loop = sched.AxisOp | sched.ReduceOp
_Lanes = tuple[int, ...]

_COMBINE: dict[CombineKind, type[Operation]] = {
    CombineKind.ADDF: arith.AddfOp,
    CombineKind.MULF: arith.MulfOp,
    CombineKind.MAXIMUMF: arith.MaximumfOp,
    CombineKind.MINIMUMF: arith.MinimumfOp,
    CombineKind.ADDI: arith.AddiOp,
    CombineKind.MULI: arith.MuliOp,
    CombineKind.MAXSI: arith.MaxSIOp,
    CombineKind.MINSI: arith.MinSIOp,
    CombineKind.MAXUI: arith.MaxUIOp,
    CombineKind.MINUI: arith.MinUIOp,
    CombineKind.ANDI: arith.AndIOp,
    CombineKind.ORI: arith.OrIOp,
}

_VECTOR_KINDS: dict[CombineKind, CombiningKindFlag] = {
    CombineKind.ADDF: CombiningKindFlag.ADD,
    CombineKind.MULF: CombiningKindFlag.MUL,
    CombineKind.MAXIMUMF: CombiningKindFlag.MAXIMUMF,
    CombineKind.MINIMUMF: CombiningKindFlag.MINIMUMF,
    CombineKind.ADDI: CombiningKindFlag.ADD,
    CombineKind.MULI: CombiningKindFlag.MUL,
    CombineKind.MAXSI: CombiningKindFlag.MAXSI,
    CombineKind.MINSI: CombiningKindFlag.MINSI,
    CombineKind.MAXUI: CombiningKindFlag.MAXUI,
    CombineKind.MINUI: CombiningKindFlag.MINUI,
    CombineKind.ANDI: CombiningKindFlag.AND,
    CombineKind.ORI: CombiningKindFlag.OR,
}


@cache
def _vector(element_type: Attribute, lanes: int) -> Attribute:
    return VectorType(element_type, [lanes])


@cache
def _flat(type: MemRefType[Attribute]) -> MemRefType[Attribute]:
    return MemRefType(type.element_type, [type.element_count()])


def lower_kernel(kernel: sched.KernelOp) -> low.KernelOp:
    """
    Returns the lowered kernel.

    Raises PassFailedException, naming the op, for a mapping that is illegal, a dynamic extent, an index that
    is not made of axes and constants, and an op that no kernel's body may have.
    """
    _check_arguments(kernel)
    return _KernelLowering(kernel).lower()


def _check_arguments(op: sched.KernelOp) -> None:
    for argument in op.body.block.args:
        type = argument.type
        assert isinstance(type, MemRefType), f"{type} is no buffer"
        if not type.has_static_shape():
            raise PassFailedException(
                f"{op.name}: cannot lower @{op.sym_name.data} (argument {argument.index} is {type})"
            )


@dataclass(eq=False, slots=True)
class _Place:
    """A block being filled; code known to be invariant in what comes later is still inserted at its end."""

    builder: ScalarBuilder
    depth: int
    indices: dict[IndexExpr, SSAValue] = field(default_factory=dict)
    broadcasts: dict[tuple[SSAValue, int], SSAValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Laned:
    """
    A scalar of the `sched` kernel: one value for every combination of the unrolled axes it depends on, each a
    vector if it depends on the vector axis.
    """

    axes: tuple[Axis, ...]
    values: dict[_Lanes, SSAValue]
    is_vector: bool


@dataclass(frozen=True, slots=True)
class _LaneAxis:
    """An axis whose iterations run side by side: `vector` lanes, `unroll` times."""

    axis: Axis
    vector: int
    unroll: int


class _KernelLowering:
    def __init__(self, kernel: sched.KernelOp):
        self.kernel = kernel
        self.analysis = IndexAnalysis()
        grid, block, self.ids = self._assign_ids()
        arguments = [_flat(a.type) for a in kernel.body.block.args if isinstance(a.type, MemRefType)]
        self.op = low.KernelOp(kernel.sym_name.data, arguments, grid, block)
        self.op.location = kernel.location
        body = self.op.body.block
        self.constants = ConstantPool(body, kernel.location)
        self.top = _Place(ScalarBuilder(body, None, self.constants), 0)
        self.places: list[_Place] = [self.top]
        self.homes: dict[SSAValue, _Place] = {}
        self.axis_values: dict[Axis, SSAValue] = {}
        self.axis_places: dict[Axis, _Place] = {}
        self.bindings: dict[Axis, IndexExpr] = {}
        self.lane_axes: list[_LaneAxis] = []
        self.scalars: dict[SSAValue, _Laned] = {}
        self.buffers: dict[SSAValue, SSAValue] = {}
        for old, new in zip(kernel.body.block.args, body.args, strict=True):
            new.name_hint = old.name_hint
            new.location = old.location
            self.buffers[old] = new

    def lower(self) -> low.KernelOp:
        self._lower_block(self.kernel.body.block)
        return self.op

    # Work-groups

    def _assign_ids(
        self,
    ) -> tuple[list[int], list[int], dict[Operation, tuple[type[Operation], low.Dimension]]]:
        """Gives every block and thread axis a dimension, the innermost x, and counts the grid."""
        extents = {Level.BLOCK: [1, 1, 1], Level.THREAD: [1, 1, 1]}
        ids: dict[Operation, tuple[type[Operation], low.Dimension]] = {}
        nest: list[sched.AxisOp] = []
        loops = [op for op in self.kernel.body.block.ops if isinstance(op, _Loop)]
        ops = list(self.kernel.body.block.ops)
        while True:
            mapped = [loop for loop in loops if loop.mapping.level.data is not Level.SERIAL]
            if not mapped:
                break
            if len(loops) != 1 or any(isinstance(op, memref.StoreOp) for op in ops):
                self.refuse(mapped[0], "other code stands beside it")
            (axis,) = mapped
            if not isinstance(axis, sched.AxisOp):
                self.refuse(axis, "it is a reduction")
            nest.append(axis)
            ops = list(axis.body.block.ops)
            loops = [op for op in ops if isinstance(op, _Loop)]
        outermost = set(nest)
        for op in self.kernel.walk():
            if isinstance(op, _Loop) and op.mapping.level.data is not Level.SERIAL and op not in outermost:
                self.refuse(op, "an axis around it is serial")
        for level, id_op in ((Level.BLOCK, low.BlockIdOp), (Level.THREAD, low.ThreadIdOp)):
            axes = [axis for axis in nest if axis.mapping.level.data is level]
            if len(axes) > 3:
                self.refuse(axes[3], "there are three dimensions only")
            for dimension, axis in zip(low.Dimension, reversed(axes), strict=False):
                extents[level][dimension.number] = -(-axis.extent.data // axis.mapping.chunk.data)
                ids[axis] = (id_op, dimension)
        block = [max(extent, 1) for extent in extents[Level.THREAD]]
        grid = extents[Level.BLOCK]
        if 0 in extents[Level.THREAD]:
            grid = [0, 1, 1]
        return grid, block, ids

    def refuse(self, op: _Loop, why: str) -> NoReturn:
        name = op.index.name_hint or "?"
        raise PassFailedException(f"{op.name}: axis %{name} cannot be {op.mapping.words()} ({why})")

    # Blocks of ops

    def _lower_block(self, block: Block) -> None:
        for op in block.ops:
            if isinstance(op, sched.AxisOp):
                self._lower_axis(op)
            elif isinstance(op, sched.ReduceOp):
                self._lower_reduce(op)
            elif isinstance(op, memref.LoadOp):
                self._lower_load(op)
            elif isinstance(op, memref.StoreOp):
                self._lower_store(op)
            elif isinstance(op, sched.AllocOp):
                self._lower_alloc(op)
            elif isinstance(op, sched.YieldOp):
                pass
            elif op.results and isinstance(op.results[0].type, IndexType):
                pass  # index arithmetic is read by the analysis and written where it is used
            elif isinstance(op, sched.SCALAR_OPS):
                self._lower_scalar(op)
            else:
                raise PassFailedException(f"{op.name}: cannot stand in the body of a kernel")

    def _lower_alloc(self, op: sched.AllocOp) -> None:
        if self.lane_axes:
            raise PassFailedException(
                f"{op.name}: cannot stand under axis %{self.lane_axes[-1].axis.hint} (it runs in lanes)"
            )
        type = op.result.type
        assert isinstance(type, MemRefType)
        space = low.SHARED if op.scope.data is sched.Scope.SHARED else None
        flat = (
            MemRefType(type.element_type, [type.element_count()], memory_space=space)
            if space
            else _flat(type)
        )
        builder = self.top.builder
        builder.location = op.location
        new = memref.AllocaOp.create(result_types=(flat,), properties={"operandSegmentSizes": _NO_SIZES})
        # Every alloca is at the front: one inside a loop would grow the stack in each iteration.
        first = self.op.body.block.first_op
        if first is None:
            builder.insert(new, op.result.name_hint)
        else:
            new.location = op.location
            self.op.body.block.insert_op_before(new, first)
            new.results[0].name_hint = op.result.name_hint
        self.buffers[op.result] = new.results[0]

    # Scalars in lanes

    def _active(self, axes: frozenset[Axis]) -> tuple[_LaneAxis, ...]:
        return tuple(lane for lane in self.lane_axes if lane.axis in axes)

    def _lane_sets(self, active: Sequence[_LaneAxis]) -> list[_Lanes]:
        return list(product(*(range(lane.unroll) for lane in active)))

    def _pick(self, value: _Laned, active: Sequence[_LaneAxis], lanes: _Lanes) -> SSAValue:
        """The value for one combination of lanes of `active`, which includes all that it depends on."""
        by_axis = {lane.axis: number for lane, number in zip(active, lanes, strict=True)}
        return value.values[tuple(by_axis[axis] for axis in value.axes)]

    def _vector_axis(self) -> _LaneAxis | None:
        return next((lane for lane in self.lane_axes if lane.vector > 1), None)

    def _lower_scalar(self, op: Operation) -> None:
        result = op.results[0]
        if not isinstance(result.type, IntegerType | AnyFloat):
            raise PassFailedException(
                f"{op.name}: cannot give {result.type} in a kernel's body (need a scalar)"
            )
        if isinstance(op, arith.ConstantOp):
            self._lower_constant(op)
            return
        if isinstance(op, arith.IndexCastOp) or any(isinstance(v.type, IndexType) for v in op.operands):
            self._lower_index_use(op)
            return
        operands = [self.scalars[operand] for operand in op.operands]
        lane_axis = self._vector_axis()
        is_vector = any(operand.is_vector for operand in operands)
        active = [lane for lane in self.lane_axes if any(lane.axis in operand.axes for operand in operands)]
        type = result.type
        if is_vector:
            assert lane_axis is not None
            type = _vector(type, lane_axis.vector)
        values: dict[_Lanes, SSAValue] = {}
        for lanes in self._lane_sets(active):
            picked = [self._pick(operand, active, lanes) for operand in operands]
            if is_vector:
                assert lane_axis is not None
                picked = [self._as_vector(value, lane_axis.vector) for value in picked]
            values[lanes] = self._emit(
                op.__class__, picked, type, op.location, result.name_hint, op.properties
            )
        self.scalars[result] = _Laned(tuple(lane.axis for lane in active), values, is_vector)

    def _emit(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        type: Attribute,
        location: LocationAttr,
        hint: str | None = None,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        place = self.places[-1]
        place.builder.location = location
        op = op_type.create(operands=operands, result_types=(type,), properties=dict(properties or {}))
        value = place.builder.insert(op, hint).results[0]
        self.homes[value] = place
        return value

    def _as_vector(self, value: SSAValue, lanes: int) -> SSAValue:
        """Broadcasts a scalar, in the block that it was computed in."""
        if isinstance(value.type, VectorType):
            return value
        home = self.homes.get(value, self.top)
        known = home.broadcasts.get((value, lanes))
        if known is None:
            owner = value.owner
            if isinstance(owner, arith.ConstantOp):
                known = self._splat(owner.value, value, lanes)
            else:
                op = vector.BroadcastOp.create(operands=(value,), result_types=(_vector(value.type, lanes),))
                known = home.builder.insert(op, value.name_hint).results[0]
            home.broadcasts[value, lanes] = known
            self.homes[known] = home
        return known

    def _splat(self, attribute: Attribute, value: SSAValue, lanes: int) -> SSAValue:
        number = attribute.value.data  # pyright: ignore[reportAttributeAccessIssue]
        return self._dense((number,), value.type, lanes, value.name_hint)

    def _dense(
        self, numbers: Sequence[int | float], type: Attribute, lanes: int, hint: str | None
    ) -> SSAValue:
        dense = DenseIntOrFPElementsAttr.from_list(_vector(type, lanes), numbers)  # pyright: ignore
        return self.constants.dense(dense, hint)

    def _lower_constant(self, op: arith.ConstantOp) -> None:
        value = self.constants.get(op.value.value.data, op.result.type)  # pyright: ignore
        self.scalars[op.result] = _Laned((), {(): value}, False)

    def _lower_index_use(self, op: Operation) -> None:
        """An op that makes a number of an index: a cast, or a comparison of indices."""
        result = op.results[0]
        exprs = [self.analysis.expr(operand) for operand in op.operands]
        depends = frozenset(axis for expr in exprs for axis in expr.axes())
        active = self._active(depends)
        lane_axis = self._vector_axis()
        is_vector = lane_axis is not None and lane_axis.axis in depends
        values: dict[_Lanes, SSAValue] = {}
        for lanes in self._lane_sets(active):
            at = [self._index(self._bound(op, expr, active, lanes), op.location) for expr in exprs]
            value = self._emit(op.__class__, at, result.type, op.location, result.name_hint, op.properties)
            if is_vector:
                assert lane_axis is not None
                stride = exprs[0].stride(lane_axis.axis)
                if not isinstance(op, arith.IndexCastOp) or stride is None:
                    raise PassFailedException(
                        f"{op.name}: cannot be a vector over axis %{lane_axis.axis.hint} "
                        "(index is not linear)"
                    )
                value = self._as_vector(value, lane_axis.vector)
                numbers = [lane * stride for lane in range(lane_axis.vector)]
                steps = self._dense(_wrapped(numbers, result.type), result.type, lane_axis.vector, "steps")
                value = self._emit(
                    arith.AddiOp, (value, steps), value.type, op.location, result.name_hint, _NO_OVERFLOW
                )
            values[lanes] = value
        self.scalars[result] = _Laned(tuple(lane.axis for lane in active), values, is_vector)

    # Memory

    def _lower_load(self, op: memref.LoadOp) -> None:
        address = self.analysis.address(op)
        active = self._active(frozenset(address.axes()))
        lane_axis = self._vector_axis()
        is_vector = lane_axis is not None and self._stride(op, address, lane_axis, (0, 1)) == 1
        values: dict[_Lanes, SSAValue] = {}
        for lanes in self._lane_sets(active):
            at = self._index(self._bound(op, address, active, lanes), op.location)
            operands = (self.buffers[op.memref], at)
            if is_vector:
                assert lane_axis is not None
                type = _vector(op.res.type, lane_axis.vector)
                values[lanes] = self._emit(vector.LoadOp, operands, type, op.location, op.res.name_hint)
            else:
                values[lanes] = self._emit(
                    memref.LoadOp, operands, op.res.type, op.location, op.res.name_hint
                )
        self.scalars[op.res] = _Laned(tuple(lane.axis for lane in active), values, is_vector)

    def _lower_store(self, op: memref.StoreOp) -> None:
        address = self.analysis.address(op)
        depends = frozenset(address.axes())
        for lane in self.lane_axes:
            if lane.axis not in depends:
                raise PassFailedException(
                    f"{op.name}: cannot store from the lanes of axis %{lane.axis.hint} (all to one element)"
                )
        active = tuple(self.lane_axes)
        lane_axis = self._vector_axis()
        if lane_axis is not None:
            self._stride(op, address, lane_axis, (1,))
        value = self.scalars[op.value]
        place = self.places[-1]
        for lanes in self._lane_sets(active):
            at = self._index(self._bound(op, address, active, lanes), op.location)
            stored = self._pick(value, active, lanes)
            if lane_axis is not None:
                stored = self._as_vector(stored, lane_axis.vector)
            store_type = memref.StoreOp if lane_axis is None else vector.StoreOp
            place.builder.location = op.location
            place.builder.insert(store_type.create(operands=(stored, self.buffers[op.memref], at)))

    def _stride(
        self, op: Operation, address: IndexExpr, lane_axis: _LaneAxis, allowed: tuple[int, ...]
    ) -> int:
        stride = address.stride(lane_axis.axis)
        if stride is None or stride not in allowed:
            text = "not constant" if stride is None else stride
            raise PassFailedException(
                f"{op.name}: cannot be a vector over axis %{lane_axis.axis.hint} (stride is {text}, "
                f"expected {' or '.join(map(str, allowed))})"
            )
        return stride

    # Indices

    def _bound(self, op: Operation, expr: IndexExpr, active: Sequence[_LaneAxis], lanes: _Lanes) -> IndexExpr:
        """An index that `op` uses in terms of the values at hand, for one combination of lanes."""
        offsets = {lane.axis: number * lane.vector for lane, number in zip(active, lanes, strict=True)}

        def replacement(axis: Axis) -> IndexExpr:
            bound = self.bindings.get(axis)
            if bound is None:
                raise PassFailedException(
                    f"{op.name}: cannot lower its index (it is not made of axes and constants only)"
                )
            return bound + offsets.get(axis, 0)

        return expr.substitute(replacement)

    def _index(self, expr: IndexExpr, location: LocationAttr) -> SSAValue:
        """Writes an index, term by term, each in the outermost block where it is known."""
        if expr.is_constant:
            return self.constants.get(expr.constant, INDEX)
        by_depth = sorted(expr.terms.items(), key=lambda term: self._depth_of(term[0]))
        so_far = constant(0)
        value: SSAValue | None = None
        for atom, factor in by_depth:
            so_far = so_far + IndexExpr({atom: factor}, 0)
            place = self._place_of_depth(self._depth_of(by_depth[len(so_far.terms) - 1][0]))
            known = place.indices.get(so_far)
            if known is None:
                term = self._term(place, atom, factor, location)
                known = term if value is None else self._index_op(place, arith.AddiOp, value, term, location)
                place.indices[so_far] = known
            value = known
        assert value is not None
        if expr.constant:
            place = self._place_of_depth(self._depth_of(by_depth[-1][0]))
            known = place.indices.get(expr)
            if known is None:
                offset = self.constants.get(expr.constant, INDEX)
                known = place.indices[expr] = self._index_op(place, arith.AddiOp, value, offset, location)
            value = known
        return value

    def _term(
        self, place: _Place, atom: Axis | FloorDiv | Mod | Clamp, factor: int, location: LocationAttr
    ) -> SSAValue:
        alone = IndexExpr({atom: 1}, 0)
        value = place.indices.get(alone)
        if value is None:
            value = place.indices[alone] = self._atom(place, atom, location)
        if factor == 1:
            return value
        scaled = IndexExpr({atom: factor}, 0)
        known = place.indices.get(scaled)
        if known is None:
            by = self.constants.get(factor, INDEX)
            known = place.indices[scaled] = self._index_op(place, arith.MuliOp, value, by, location)
        return known

    def _atom(self, place: _Place, atom: Axis | FloorDiv | Mod | Clamp, location: LocationAttr) -> SSAValue:
        if isinstance(atom, Axis):
            return self.axis_values[atom]
        operand = self._index(atom.operand, location)
        if isinstance(atom, Clamp):
            zero, last = self.constants.get(0, INDEX), self.constants.get(atom.last, INDEX)
            raised = self._index_op(place, arith.MaxSIOp, operand, zero, location)
            return self._index_op(place, arith.MinSIOp, raised, last, location)
        assert atom.operand.low >= 0, f"division of index {atom.operand!r} that may be negative"
        by = self.constants.get(atom.divisor, INDEX)
        op_type = arith.DivUIOp if isinstance(atom, FloorDiv) else arith.RemUIOp
        return self._index_op(place, op_type, operand, by, location)

    def _index_op(
        self, place: _Place, op_type: type[Operation], lhs: SSAValue, rhs: SSAValue, location: LocationAttr
    ) -> SSAValue:
        properties = _NO_OVERFLOW if op_type in (arith.AddiOp, arith.MuliOp, arith.SubiOp) else {}
        place.builder.location = location
        value = place.builder.op(op_type, lhs, rhs, properties=dict(properties))
        self.homes[value] = place
        return value

    def _depth_of(self, atom: Axis | FloorDiv | Mod | Clamp) -> int:
        if isinstance(atom, Axis):
            return self.axis_places[atom].depth
        return max((self.axis_places[axis].depth for axis in atom.operand.axes()), default=0)

    def _place_of_depth(self, depth: int) -> _Place:
        return self.places[depth]

    # Axes

    def _bind(self, value: SSAValue, extent: int, hint: str) -> IndexExpr:
        """Makes an index value of the new kernel an axis that expressions are written in."""
        axis = Axis(max(extent, 2), hint)
        self.axis_values[axis] = value
        self.axis_places[axis] = self.places[-1]
        self.homes[value] = self.places[-1]
        return variable(axis)

    def _lower_axis(self, op: sched.AxisOp) -> None:
        axis, extent, mapping = self.analysis.axis(op), op.extent.data, op.mapping
        first, count = self._range(op)
        if extent == 0:
            return
        if isinstance(count, SSAValue):
            self._lower_guarded_axis(op, axis, first, count)
            return
        lanes = _LaneAxis(axis, mapping.vector.data, mapping.unroll.data)
        main = count - count % mapping.step
        if main and mapping.step > 1:
            self.check_lanes(op)
            self._repeat(op, axis, first, 0, main, lanes)
        if main < count or mapping.step == 1:
            self._repeat(op, axis, first, main if mapping.step > 1 else 0, count, None)

    def check_lanes(self, op: _Loop) -> None:
        around = self._vector_axis()
        if op.mapping.vector.data > 1 and around is not None:
            self.refuse(op, f"axis %{around.axis.hint} around it is a vector")

    def _range(self, op: sched.AxisOp) -> tuple[IndexExpr, int | SSAValue]:
        """The first index that this work-item takes, and how many."""
        extent = op.extent.data
        if op not in self.ids:
            return constant(0), extent
        id_op, dimension = self.ids[op]
        chunk = op.mapping.chunk.data
        if extent == 0:
            return constant(0), 0
        number = self._insert_id(id_op, dimension, op)
        groups = -(-extent // chunk)
        first = self._bind(number, groups, op.index.name_hint or "i") * chunk if groups > 1 else constant(0)
        if extent % chunk == 0 or groups == 1:
            return first, min(chunk, extent)
        begin = self._index(first, op.location)
        place = self.places[-1]
        left = self._index_op(place, arith.SubiOp, self.constants.get(extent, INDEX), begin, op.location)
        return first, self._index_op(
            place, arith.MinSIOp, left, self.constants.get(chunk, INDEX), op.location
        )

    def _insert_id(self, id_op: type[Operation], dimension: low.Dimension, op: sched.AxisOp) -> SSAValue:
        return self._emit(
            id_op, (), INDEX, op.location, op.index.name_hint, {"dimension": low.DimensionAttr(dimension)}
        )

    def _repeat(
        self, op: sched.AxisOp, axis: Axis, first: IndexExpr, begin: int, end: int, lanes: _LaneAxis | None
    ) -> None:
        """Runs the axis from `begin` to `end` after `first`, in steps of the lanes or one by one."""
        step = lanes.vector * lanes.unroll if lanes else 1
        if end - begin == step:
            self.bindings[axis] = first + begin
            self._with_lanes(lanes, lambda: self._lower_block(op.body.block))
            return
        bounds = (
            self.constants.get(begin, INDEX),
            self.constants.get(end, INDEX),
            self.constants.get(step, INDEX),
        )
        self._for(op, axis, first, bounds, lanes, end)

    def _lower_guarded_axis(self, op: sched.AxisOp, axis: Axis, first: IndexExpr, count: SSAValue) -> None:
        """A chunk that may be cut short by the end of the axis."""
        mapping, chunk = op.mapping, op.mapping.chunk.data
        zero, one = self.constants.get(0, INDEX), self.constants.get(1, INDEX)
        if mapping.step == 1:
            self._for(op, axis, first, (zero, count, one), None, chunk)
            return
        self.check_lanes(op)
        place = self.places[-1]
        step = self.constants.get(mapping.step, INDEX)
        rest = self._index_op(place, arith.RemUIOp, count, step, op.location)
        main = self._index_op(place, arith.SubiOp, count, rest, op.location)
        lanes = _LaneAxis(axis, mapping.vector.data, mapping.unroll.data)
        self._for(op, axis, first, (zero, main, step), lanes, chunk)
        self._for(op, axis, first, (main, count, one), None, chunk)

    def _for(
        self,
        op: sched.AxisOp,
        axis: Axis,
        first: IndexExpr,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        lanes: _LaneAxis | None,
        extent: int,
    ) -> None:
        def body(index: SSAValue, _: Sequence[SSAValue]) -> list[SSAValue]:
            self.bindings[axis] = first + self._bind(index, extent, axis.hint)
            self._with_lanes(lanes, lambda: self._lower_block(op.body.block))
            return []

        self._loop(bounds, [], body, op.location, axis.hint)

    def _with_lanes(self, lanes: _LaneAxis | None, body: Callable[[], None]) -> None:
        if lanes is None:
            body()
            return
        self.lane_axes.append(lanes)
        body()
        self.lane_axes.pop()

    def _loop(
        self,
        bounds: tuple[SSAValue, SSAValue, SSAValue],
        carried: Sequence[SSAValue],
        body: Callable[[SSAValue, Sequence[SSAValue]], list[SSAValue]],
        location: LocationAttr,
        hint: str,
    ) -> list[SSAValue]:
        """Inserts an `scf.for` whose body `body` writes, given the index and the carried values."""
        block = Block(arg_types=[INDEX, *(value.type for value in carried)])
        loop = scf.ForOp.create(
            operands=(*bounds, *carried),
            result_types=[value.type for value in carried],
            regions=[Region(block)],
        )
        place = self.places[-1]
        place.builder.location = location
        place.builder.insert(loop)
        # While the body is written, what is found invariant still goes in front of the loop.
        anchor, place.builder.anchor = place.builder.anchor, loop
        inner = _Place(ScalarBuilder(block, None, self.constants), place.depth + 1)
        self.places.append(inner)
        for argument in block.args:
            argument.location = location
        block.args[0].name_hint = hint
        for argument, value in zip(block.args[1:], carried, strict=True):
            argument.name_hint = value.name_hint
            self.homes[argument] = inner
        results = body(block.args[0], block.args[1:])
        inner.builder.location = location
        inner.builder.insert(scf.YieldOp.create(operands=results))
        self.places.pop()
        place.builder.anchor = anchor
        for result, value in zip(loop.results, carried, strict=True):
            result.name_hint = value.name_hint
            self.homes[result] = place
        return list(loop.results)

    # Reductions

    def _lower_reduce(self, op: sched.ReduceOp) -> None:
        _ReduceLowering(self, op).lower()

    def combine(self, op: sched.ReduceOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        kind = op.kind.data
        properties: dict[str, Attribute] = {}
        if kind.value.endswith("f"):
            properties["fastmath"] = op.fastmath or arith.FastMathFlagsAttr("none")
        elif kind in (CombineKind.ADDI, CombineKind.MULI):
            properties = _NO_OVERFLOW
        return self._emit(_COMBINE[kind], (lhs, rhs), lhs.type, op.location, op.result.name_hint, properties)


class _ReduceLowering:
    """One reduction: accumulators, the loop over whole steps, the combination, and the loop over the rest."""

    def __init__(self, kernel: _KernelLowering, op: sched.ReduceOp):
        self.kernel = kernel
        self.op = op
        self.axis = kernel.analysis.axis(op)
        self.mapping: MappingAttr = op.mapping
        depends = kernel.analysis.dependences(op.yielded)
        self.outer = kernel._active(depends)
        around = kernel._vector_axis()
        self.around = around if around is not None and around.axis in depends else None
        if self.mapping.vector.data > 1:
            kernel.check_lanes(op)

    def lower(self) -> None:
        kernel, op = self.kernel, self.op
        extent, step = op.extent.data, self.mapping.step
        main = extent - extent % step
        lane_sets = kernel._lane_sets(self.outer)
        totals: list[SSAValue]
        if main and step > 1:
            totals = self._main(main, len(lane_sets))
        else:
            main = 0
            totals = [self._identity(1)] * len(lane_sets)
        if main < extent:
            totals = self._steps(main, extent, None, totals)
        kernel.scalars[op.result] = _Laned(
            tuple(lane.axis for lane in self.outer),
            dict(zip(lane_sets, totals, strict=True)),
            self.around is not None,
        )

    def _identity(self, own_lanes: int) -> SSAValue:
        type = self.op.result.type
        number = identity(self.op.kind.data, type)
        lanes = self.around.vector if self.around is not None else own_lanes
        if lanes > 1:
            value = self.kernel._dense(_wrapped([number], type), type, lanes, self.op.result.name_hint)
        else:
            value = self.kernel.constants.get(number, type)
        return value

    def _main(self, end: int, sets: int) -> list[SSAValue]:
        kernel, mapping = self.kernel, self.mapping
        own = _LaneAxis(self.axis, mapping.vector.data, mapping.unroll.data)
        unroll = mapping.unroll.data
        start = [self._identity(mapping.vector.data)] * (sets * unroll)
        sums = self._steps(0, end, own, start)
        totals: list[SSAValue] = []
        for number in range(sets):
            parts = sums[number * unroll : (number + 1) * unroll]
            while len(parts) > 1:
                half = len(parts) // 2
                pairs = zip(parts[:half], parts[half:], strict=True)
                parts = [kernel.combine(self.op, lower, upper) for lower, upper in pairs]
            (total,) = parts
            totals.append(self._across_lanes(total) if mapping.vector.data > 1 else total)
        return totals

    def _across_lanes(self, value: SSAValue) -> SSAValue:
        op = self.op
        properties: dict[str, Attribute] = {
            "kind": CombiningKindAttr(_VECTOR_KINDS[op.kind.data]),
            "fastmath": op.fastmath or arith.FastMathFlagsAttr("none"),
        }
        return self.kernel._emit(
            vector.ReductionOp, (value,), op.result.type, op.location, op.result.name_hint, properties
        )

    def _steps(
        self, begin: int, end: int, own: _LaneAxis | None, start: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Combines the iterations from `begin` to `end` into the accumulators `start`."""
        kernel, op = self.kernel, self.op
        step = own.vector * own.unroll if own else 1

        def body(accumulators: Sequence[SSAValue]) -> list[SSAValue]:
            results: list[SSAValue] = []

            def combine_all() -> None:
                kernel._lower_block(op.body.block)
                value = kernel.scalars[op.yielded]
                active = (*self.outer, own) if own else self.outer
                for lanes, accumulator in zip(kernel._lane_sets(active), accumulators, strict=True):
                    element = kernel._pick(value, active, lanes)
                    if isinstance(accumulator.type, VectorType):
                        element = kernel._as_vector(element, accumulator.type.get_shape()[0])
                    results.append(kernel.combine(op, accumulator, element))

            kernel._with_lanes(own, combine_all)
            return results

        if end - begin == step:
            kernel.bindings[self.axis] = constant(begin)
            return body(start)

        def looped(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            kernel.bindings[self.axis] = kernel._bind(index, end, self.axis.hint)
            return body(carried)

        constants = kernel.constants
        bounds = (constants.get(begin, INDEX), constants.get(end, INDEX), constants.get(step, INDEX))
        return kernel._loop(bounds, start, looped, op.location, self.axis.hint)


def _wrapped(numbers: Sequence[int | float], type: Attribute) -> list[int | float]:
    """Brings integers into the signed range of their type."""
    if not isinstance(type, IntegerType):
        return list(numbers)
    half = 1 << (type.width.data - 1)
    return [(int(number) + half) % (2 * half) - half for number in numbers]


_NO_OVERFLOW: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_NO_SIZES = DenseArrayBase.from_list(i32, [0, 0])
