"""Writes a planned kernel as a `sched.kernel`: loops, stages, local buffers and scalar bodies."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IntegerAttr, MemRefType, i1, i8, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....dialects import graph, sched
from ....dialects.dims.expressions import Extent, is_at_least, upper_bound
from ....dialects.element_types import compute_type, element_type_of, is_float, is_unsigned, storage_type
from ....dialects.graph import Combination, ReduceKind
from ....dialects.graph.base import fastmath_of
from ....dialects.graph.symmetric import SYMMETRIC
from ....dialects.sched import CombineKind
from ...indices.access import Indices, dims_in, joined_at, operand_indices, shape_of, summed_at
from ...indices.expressions import (
    ZERO,
    Atom,
    Axis,
    Clamp,
    Element,
    FloorDiv,
    IndexExpr,
    Opaque,
    check_not_negative,
    variable,
)
from ...scalar.builder import INDEX, ConstantPool, ScalarBuilder
from ...scalar.combine_kinds import combine_kind
from ...scalar.ops import cmpi, float_op, integer_op, select
from ...scalar.reduction_identity import identity
from ...scalar.rules import (
    cast,
    element_type,
    from_storage,
    index_of_element,
    lower_elementwise,
    lower_iota,
    number_of_element,
    rounded,
    to_storage,
)
from .accesses import Access, Kernel, folding_operand_indices
from .op_kinds import FOLDING_OPS


@dataclass(eq=False, slots=True)
class _Loop:
    """A place in the kernel where code goes: the body of a loop, `depth` loops deep."""

    builder: ScalarBuilder
    depth: int
    op: sched.AxisOp | sched.ReduceOp | None = None


def emit_kernel(kernel: Kernel, in_place: SSAValue | None = None) -> tuple[sched.KernelOp, list[SSAValue]]:
    """
    Returns the kernel op, without a name, and the tensors whose buffers it takes, in the order of its
    arguments; the root's is the last. With `in_place`, a tensor that each iteration reads only where it
    stores, the kernel stores over that tensor, and its buffer stands for the root's too.
    """
    return _KernelEmitter(kernel).emit(in_place)


class _KernelEmitter:
    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.op = sched.KernelOp("", (), dims_in(kernel.members))
        self.op.location = kernel.root.location
        self.block = self.op.body.block
        for dim, size in self.op.sizes.items():
            size.name_hint = dim
            size.location = self.op.location
        self.constants = ConstantPool(self.block, self.op.location, self.op.sizes)
        self.top = _Loop(ScalarBuilder(self.block, None, self.constants), 0)
        self.loops: dict[Axis, _Loop] = {}
        self.values: dict[tuple[SSAValue, Indices], SSAValue] = {}
        self.index_values: dict[IndexExpr, SSAValue] = {}
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.local_buffers: dict[SSAValue, SSAValue] = {}
        self.computed: set[tuple[Operation, Indices]] = set()

    def emit(self, in_place: SSAValue | None) -> tuple[sched.KernelOp, list[SSAValue]]:
        kernel = self.kernel
        innermost = self._open_root_loops()
        for op, accesses in kernel.members.items():
            axes = kernel.fill_axes.get(op, ()) or kernel.stage_axes.get(op, ())
            if op in kernel.fill_axes and op in kernel.stage_axes:
                self._open_stage(op, kernel.fill_axes[op], accesses[0])
                self._open_stage(op, kernel.stage_axes[op], accesses[0])
            elif axes:
                self._open_stage(op, axes, accesses[0])
        for op, accesses in reversed(list(kernel.members.items())):
            for access in accesses:
                self._compute_once(op, access)
        root = kernel.root.results[0]
        (first, *others) = kernel.members[kernel.root]
        target = self.buffers.get(root if in_place is None else in_place)
        if target is None:
            target = self._result_buffer()
        innermost.builder.location = kernel.root.location
        self._store(innermost.builder, self.values[root, first.indices], root, target, kernel.stored)
        for access in others:
            self._store(innermost.builder, self.values[root, access.indices], root, target, access.indices)
        if kernel.in_result is not None:
            self._put_last(root)
        return self.op, list(self.buffers)

    def _put_last(self, root: SSAValue) -> None:
        """Makes the root's buffer, which was needed early, the last argument."""
        early = self.block.args[list(self.buffers).index(root) + len(self.op.sizes)]
        del self.buffers[root]
        early.replace_all_uses_with(self._result_buffer())
        self.block.erase_arg(early)

    def _result_buffer(self) -> BlockArgument:
        """Returns a new argument, the root's buffer."""
        root = self.kernel.root.results[0]
        target = self.block.insert_arg(sched.buffer_type(root.type), len(self.block.args))
        target.name_hint = root.name_hint
        target.location = self.kernel.root.location
        self.buffers[root] = target
        return target

    def _open_root_loops(self) -> _Loop:
        loop = self.top
        for axis in self.kernel.ordered_axes():
            op = sched.AxisOp(axis.extent)
            op.location = self.kernel.root.location
            op.index.name_hint = axis.hint
            op.index.location = op.location
            loop.builder.insert(op)
            loop.builder.anchor = op
            loop = _Loop(ScalarBuilder(op.body.block, None, self.constants), loop.depth + 1, op)
            self._bind(axis, loop, op)
        return loop

    def _bind(self, axis: Axis, loop: _Loop, op: sched.AxisOp | sched.ReduceOp) -> None:
        self.loops[axis] = loop
        self.index_values[variable(axis)] = op.index

    def _open_stage(self, op: Operation, axes: tuple[Axis, ...], access: Access) -> None:
        """
        Opens the loops of a stage. They are inserted only when all they need has been computed, by `_close`;
        until then their bodies fill up.
        """
        is_fill = axes is self.kernel.fill_axes.get(op)
        outer = [a for a in self._axes_of(access.indices) if not (is_fill and a in axes)]
        loop = self._deepest(outer)
        for axis in axes:
            if axis.extent == 1 or axis.extent == 0:
                continue
            if is_fill:
                new: sched.AxisOp | sched.ReduceOp = sched.AxisOp(axis.extent)
            else:
                kind = _combine_kind(op)
                type = _combined_in(element_type(op.results[0]))
                new = sched.ReduceOp(kind, axis.extent, type, fastmath=fastmath_of(op))
            new.location = op.location
            new.index.name_hint = axis.hint
            new.index.location = op.location
            loop = _Loop(ScalarBuilder(new.body.block, None, self.constants), loop.depth + 1, new)
            self._bind(axis, loop, new)

    def _axes_of(self, indices: Indices) -> list[Axis]:
        return list({axis: None for index in indices for axis in index.axes()})

    def _deepest(self, axes: list[Axis]) -> _Loop:
        deepest = self.top
        for axis in axes:
            loop = self.loops[axis]
            if loop.depth > deepest.depth:
                deepest = loop
        return deepest

    def _place(self, indices: Indices, op: Operation) -> ScalarBuilder:
        builder = self._deepest(self._axes_of(indices)).builder
        builder.location = op.location
        return builder

    def _compute_once(self, op: Operation, access: Access) -> None:
        key = (op, access.indices)
        if key not in self.computed:
            self.computed.add(key)
            self._compute(op, access)

    def _compute(self, op: Operation, access: Access) -> None:
        """Computes the op's value at one access, in the outermost place where its indices are known."""
        result = op.results[0]
        b = self._place(access.indices, op)
        if isinstance(op, FOLDING_OPS):
            value = self._fold(b, op, access)
        elif isinstance(op, graph.ConstantOp):
            value = self._splat(b, op)
        elif isinstance(op, graph.IotaOp):
            place = access.indices[op.axis.data]
            number = self._number(b, place, op) or self._index(place, op)
            value = lower_iota(b, number, element_type(result))
        elif isinstance(op, graph.PadOp):
            value = self._pad(b, op, access)
        elif isinstance(op, graph.ConcatOp):
            value = self._concat(b, op, access)
        elif isinstance(op, graph.WinogradTransformOp):
            value = self._tile_sum(b, op, access)
        elif isinstance(op, graph.DynamicUpdateOp):
            value = self._read(op.update, access.indices, op)
        elif isinstance(op, graph.MovementOp):
            value = self._read(op.operands[0], operand_indices(op, access.indices)[0], op)
        else:
            found = operand_indices(op, access.indices)
            operands = [self._read(v, i, op) for v, i in zip(op.operands, found, strict=True)]
            value = lower_elementwise(b, op, operands)
        if op in self.kernel.fill_axes:
            self._fill(b, op, access, value)
        else:
            self.values[result, access.indices] = value

    def _read(self, value: SSAValue, indices: Indices, op: Operation) -> SSAValue:
        """Returns an element of a tensor in its compute type, loading it where it is not computed here."""
        known = self.values.get((value, indices))
        if known is not None:
            return known
        owner = value.owner
        if isinstance(owner, Operation) and owner in self.kernel.members:
            # An index may be needed before its place in the order: what it indexes comes first there.
            self._compute_needed(owner, indices)
            known = self.values.get((value, indices))
            if known is not None:
                return known
        b = self._place(indices, op)
        if isinstance(owner, Operation) and owner in self.kernel.fill_axes:
            dims = self.kernel.local_dims[owner]
            buffer = self.local_buffers[value]
            subscripts = tuple(indices[dim] for dim in dims)
        else:
            buffer = self.buffers.get(value)
            if buffer is None:
                buffer = self.block.insert_arg(sched.buffer_type(value.type), len(self.block.args))
                buffer.name_hint = value.name_hint
                if isinstance(value, BlockArgument):
                    buffer.location = value.location
                elif isinstance(owner, Operation):
                    buffer.location = owner.location
                self.buffers[value] = buffer
            subscripts = indices
        positions = [self._index(index, op) for index in subscripts]
        b.location = op.location
        stored_type = element_type_of(buffer.type)
        load = b.op(memref.LoadOp, buffer, *positions, result_type=stored_type, hint=value.name_hint)
        result = from_storage(b, load, element_type(value))
        self.values[value, indices] = result
        return result

    def _compute_needed(self, op: Operation, indices: Indices) -> None:
        """Computes what there is to compute of `op` before its element at `indices` can be read."""
        accesses = self.kernel.members[op]
        if op in self.kernel.fill_axes:
            self._compute_once(op, accesses[0])
            return
        for access in accesses:
            if access.indices == indices:
                self._compute_once(op, access)
                return
        raise AssertionError(f"{op.name}: not computed at {indices}")

    def _store(
        self, b: ScalarBuilder, value: SSAValue, tensor: SSAValue, buffer: SSAValue, indices: Indices
    ) -> None:
        type = element_type(tensor)
        stored = to_storage(b, value, type, storage_type(type))
        owner = tensor.owner
        assert isinstance(owner, Operation)
        positions = [self._index(index, owner) for index in indices]
        b.insert(memref.StoreOp.create(operands=(stored, buffer, *positions)))

    def _fill(self, b: ScalarBuilder, op: Operation, access: Access, value: SSAValue) -> None:
        """Stores `value` into the op's local buffer and inserts the loops that do so."""
        result, dims, axes = op.results[0], self.kernel.local_dims[op], self.kernel.fill_axes[op]
        shape = shape_of(result, op.name)
        type = MemRefType(storage_type(element_type(result)), [upper_bound(shape[dim]) for dim in dims])
        outer = self._deepest([a for a in self._axes_of(access.indices) if a not in axes])
        outer.builder.location = op.location
        if op is self.kernel.in_result:
            buffer: SSAValue = self._result_buffer()
        else:
            alloc = sched.AllocOp(sched.Scope.LOCAL, type)
            buffer = outer.builder.insert(alloc, result.name_hint).results[0]
        self.local_buffers[result] = buffer
        self._store(b, value, result, buffer, tuple(access.indices[dim] for dim in dims))
        nest = [outer, *(self.loops[axis] for axis in axes if axis.extent != 1)]
        for around, inner in zip(reversed(nest[:-1]), reversed(nest[1:]), strict=True):
            assert inner.op is not None
            around.builder.insert(inner.op)

    def _fold(self, b: ScalarBuilder, op: Operation, access: Access) -> SSAValue:
        """Ends the stage of a reduction or contraction: what its innermost body yields, and its loops."""
        result = op.results[0]
        type = element_type(result)
        axes = self.kernel.stage_axes[op]
        if any(axis.extent == 0 for axis in axes):
            start = b.constant(identity(_combine_kind(op), compute_type(type)), compute_type(type))
            return rounded(b, start, type)
        loops = [self.loops[axis] for axis in axes if axis.extent != 1]
        inner = loops[-1].builder if loops else b
        inner.location = op.location
        found = folding_operand_indices(op, access.indices, axes)
        operands = [self._read(v, i, op) for v, i in zip(op.operands, found, strict=True)]
        inner.location = op.location
        if isinstance(op, graph.ContractOp):
            elements = [
                cast(inner, value, element_type(operand), type)
                for value, operand in zip(operands, op.operands, strict=True)
            ]
            if not _adds_products(op):
                elements = [elements[0] if len(elements) == 1 else _combined(inner, op, elements, type)]
        else:
            elements = operands
        if not loops:
            elements = [_sum_of_one(b, op, elements)]
        are_bytes = bool(loops) and type == i1
        if are_bytes:
            elements = [to_storage(inner, each, i1, i8) for each in elements]
        builders = [b, *(loop.builder for loop in loops)]
        for loop, around in zip(reversed(loops), reversed(builders[:-1]), strict=True):
            assert isinstance(loop.op, sched.ReduceOp)
            loop.builder.location = op.location
            loop.builder.insert(sched.YieldOp(*elements))
            around.insert(loop.op, result.name_hint)
            elements = [loop.op.result]
        if loops and isinstance(op, graph.ContractOp):
            _write_tile(op, access, loops[0].op)
        b.location = op.location
        (value,) = elements
        return from_storage(b, value, i1) if are_bytes else rounded(b, value, type)

    def _splat(self, b: ScalarBuilder, op: graph.ConstantOp) -> SSAValue:
        type = element_type(op.results[0])
        return b.constant(splat_value(op.value), compute_type(type))

    def _pad(self, b: ScalarBuilder, op: graph.PadOp, access: Access) -> SSAValue:
        filler = self._read(op.value, (), op)
        shape = shape_of(op.source, op.name)
        if 0 in shape:
            return filler
        inside: SSAValue | None = None
        for index, low, extent, step in zip(access.indices, op.low.data, shape, op.steps, strict=True):
            last = (extent - 1) * step
            inside = self._within(b, op, index + -low, last + 1, inside)
            gap = (index + -low).clamp(last).mod(step)
            if gap != ZERO:
                is_at_element = cmpi(b, "eq", self._index(gap, op), b.constant(0, INDEX))
                inside = is_at_element if inside is None else b.op(arith.AndIOp, inside, is_at_element)
        value = self._read(op.source, operand_indices(op, access.indices)[0], op)
        if inside is None:
            return value
        b.location = op.location
        return select(b, inside, value, filler, op.result.name_hint)

    def _within(
        self, b: ScalarBuilder, op: Operation, index: IndexExpr, extent: Extent, so_far: SSAValue | None
    ) -> SSAValue | None:
        """Adds `0 <= index < extent` to a condition, as far as it is not known to hold."""
        conditions: list[SSAValue] = [] if so_far is None else [so_far]
        if not is_at_least(index.low, 0):
            conditions.append(cmpi(b, "sge", self._index(index, op), b.constant(0, INDEX)))
        if not is_at_least(extent, index.high + 1):
            conditions.append(cmpi(b, "slt", self._index(index, op), b.constant(extent, INDEX)))
        condition: SSAValue | None = None
        for other in conditions:
            condition = other if condition is None else b.op(arith.AndIOp, condition, other, hint="inside")
        return condition

    def _concat(self, b: ScalarBuilder, op: graph.ConcatOp, access: Access) -> SSAValue:
        index = access.indices[op.axis.data]
        result: SSAValue | None = None
        for offset, operand, indices in joined_at(op, access.indices):
            value = self._read(operand, indices, op)
            b.location = op.location
            if result is None:
                result = value
            else:
                is_before = cmpi(b, "slt", self._index(index, op), b.constant(offset, INDEX))
                result = select(b, is_before, result, value)
        assert result is not None, "graph.concat: no input has elements"
        return result

    def _tile_sum(self, b: ScalarBuilder, op: graph.WinogradTransformOp, access: Access) -> SSAValue:
        which, sums = summed_at(op, access.indices)
        result: SSAValue | None = None
        for number, places in sums.items():
            values = [self._read(op.source, indices, op) for indices in places]
            b.location = op.location
            total = values[0]
            for (_, sign), value in zip(op.SUMS[number][1:], values[1:], strict=True):
                total = float_op(b, arith.AddfOp if sign > 0 else arith.SubfOp, total, value)
            if op.SCALES[number] != 1.0:
                scale = b.constant(op.SCALES[number], element_type(op.result))
                total = float_op(b, arith.MulfOp, total, scale)
            if result is not None:
                is_it = cmpi(b, "eq", self._index(which, op), self.constants.get(number, INDEX))
                total = select(b, is_it, total, result)
            result = total
        assert result is not None, f"{op.name}: has no sum {which}"
        return result

    def _index(self, expr: IndexExpr, op: Operation) -> SSAValue:
        """Returns the value of an index expression, computed in the outermost place where it is known."""
        known = self.index_values.get(expr)
        if known is not None:
            return known
        if expr.is_constant:
            return self.constants.get(expr.constant, INDEX)
        b = self._deepest(expr.axes()).builder
        b.location = op.location
        total: SSAValue | None = None
        for atom, factor in expr.terms.items():
            term = self._atom(atom, op)
            if factor != 1:
                term = integer_op(b, arith.MuliOp, term, self.constants.get(factor, INDEX))
            total = term if total is None else integer_op(b, arith.AddiOp, total, term)
        assert total is not None
        if expr.constant != 0:
            total = integer_op(b, arith.AddiOp, total, self.constants.get(expr.constant, INDEX))
        self.index_values[expr] = total
        return total

    def _number(self, b: ScalarBuilder, expr: IndexExpr, op: Operation) -> SSAValue | None:
        """
        Returns an element of an index tensor, moved into range, as an integer, which may be a vector where an
        index is one number; None where the expression is something else.
        """
        atom = next(iter(expr.terms), None)
        if not isinstance(atom, Element) or expr != IndexExpr({atom: 1}, 0) or not isinstance(atom.last, int):
            return None
        value = self._read(atom.tensor, atom.indices, op)
        b.location = op.location
        number = number_of_element(b, value, element_type(atom.tensor), atom.last)
        raised = b.op(arith.MaxSIOp, number, self.constants.get(0, i64))
        return b.op(arith.MinSIOp, raised, self.constants.get(atom.last, i64))

    def _atom(self, atom: Atom, op: Operation) -> SSAValue:
        """As `_index`: in a place of its own, since other expressions that it is part of need fewer axes."""
        alone = IndexExpr({atom: 1}, 0)
        known = self.index_values.get(alone)
        if known is None:
            b = self._deepest(alone.axes()).builder
            b.location = op.location
            known = self.index_values[alone] = self._new_atom(b, atom, op)
        return known

    def _new_atom(self, b: ScalarBuilder, atom: Atom, op: Operation) -> SSAValue:
        assert not isinstance(atom, Axis | Opaque), f"{atom} is bound to no value"
        if isinstance(atom, Element):
            return self._element(atom, op)
        operand = self._index(atom.operand, op)
        if isinstance(atom, Clamp):
            return self._clamped(b, operand, atom.last)
        check_not_negative(op.name, atom.operand)
        op_type = arith.DivUIOp if isinstance(atom, FloorDiv) else arith.RemUIOp
        return b.op(op_type, operand, self.constants.get(atom.divisor, INDEX))

    def _clamped(self, b: ScalarBuilder, index: SSAValue, last: Extent) -> SSAValue:
        raised = b.op(arith.MaxSIOp, index, self.constants.get(0, INDEX))
        return b.op(arith.MinSIOp, raised, self.constants.get(last, INDEX))

    def _element(self, atom: Element, op: Operation) -> SSAValue:
        """Returns an element of an index tensor, moved into range."""
        value = self._read(atom.tensor, atom.indices, op)
        b = self._place(atom.indices, op)
        index = index_of_element(b, value, element_type(atom.tensor), atom.last)
        return self._clamped(b, index, atom.last)


def splat_value(value: DenseIntOrFPElementsAttr) -> int | float:
    """Returns the one value of a splat constant."""
    first = next(iter(value.iter_attrs()))
    assert isinstance(first, IntegerAttr | FloatAttr)
    return first.value.data


_COMBINATIONS: dict[Combination, tuple[type[Operation] | None, type[Operation], type[Operation]]] = {
    Combination.MUL: (arith.MulfOp, arith.MuliOp, arith.MuliOp),
    Combination.ADD: (arith.AddfOp, arith.AddiOp, arith.AddiOp),
    Combination.SUB: (arith.SubfOp, arith.SubiOp, arith.SubiOp),
    Combination.MAX: (arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp),
    Combination.MIN: (arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp),
    Combination.AND: (None, arith.AndIOp, arith.AndIOp),
    Combination.OR: (None, arith.OrIOp, arith.OrIOp),
    Combination.XOR: (None, arith.XOrIOp, arith.XOrIOp),
}
"""The ops that combine two floats, two signed and two unsigned integers."""


def _combined(b: ScalarBuilder, op: graph.ContractOp, elements: list[SSAValue], type: Attribute) -> SSAValue:
    """Combines one element of each operand of a contraction, unrounded."""
    for_floats, for_signed, for_unsigned = _COMBINATIONS[op.combine.data]
    hint = "product" if op.combine.data is Combination.MUL else "combined"
    if is_float(type):
        assert for_floats is not None, f"{op.name}: cannot combine floats by {op.combine.data.value}"
        return float_op(b, for_floats, *elements, fastmath=fastmath_of(op), hint=hint)
    lhs, rhs = elements
    return integer_op(b, for_unsigned if is_unsigned(type) else for_signed, lhs, rhs, hint=hint)


def _write_tile(op: graph.ContractOp, access: Access, sum: Operation | None) -> None:
    """
    Writes on the outermost loop of a contraction if it is symmetric, and which tile was chosen for it. The
    rows are left open where they are no axis of the kernel: another number may be better for a part of them.
    A value that is computed anew, not loaded, lies in no panels.
    """
    tile = op.tile
    if not isinstance(sum, sched.ReduceOp):
        return
    if SYMMETRIC in op.attributes:
        sum.attributes[SYMMETRIC] = op.attributes[SYMMETRIC]
    if tile is None:
        return
    rows = None
    if tile.rows is not None:
        index = access.indices[op.result_dims.index(tile.rows.dim)]
        if any(index == variable(axis) for axis in index.axes()):
            rows = tile.rows.size
    shape = sched.TileShapeAttr.of(tile.columns.size, rows)
    if sum.reads_panels(shape):
        sum.tile_shape = shape


def _sum_of_one(b: ScalarBuilder, op: Operation, elements: list[SSAValue]) -> SSAValue:
    """Returns what is folded from one iteration alone: sums of floats start from 0.0, so that -0.0 is 0.0."""
    kind, hint = _combine_kind(op), op.results[0].name_hint
    if kind is CombineKind.MULADDI:
        return integer_op(b, arith.MuliOp, *elements, hint="product")
    if kind not in (CombineKind.FMA, CombineKind.ADDF):
        (element,) = elements
        return element
    start = b.constant(identity(kind, elements[0].type), elements[0].type)
    if kind is CombineKind.FMA:
        return float_op(b, math.FmaOp, *elements, start, fastmath=fastmath_of(op), hint=hint)
    return float_op(b, arith.AddfOp, *elements, start, fastmath=fastmath_of(op), hint=hint)


def _adds_products(op: Operation) -> bool:
    """Returns whether `op` adds products of two numbers, which are not rounded."""
    return (
        isinstance(op, graph.ContractOp)
        and len(op.inputs) == 2
        and op.accumulate.data is ReduceKind.ADD
        and op.combine.data is Combination.MUL
    )


def _combined_in(element_type: Attribute) -> Attribute:
    """Returns the type of partial results: there are more vectors of bytes than of bits."""
    return i8 if element_type == i1 else compute_type(element_type)


def _combine_kind(op: Operation) -> CombineKind:
    assert isinstance(op, graph.ReduceOp | graph.ContractOp), f"{op.name} combines nothing"
    if _adds_products(op):
        return CombineKind.FMA if is_float(element_type(op.results[0])) else CombineKind.MULADDI
    kind = op.kind.data if isinstance(op, graph.ReduceOp) else op.accumulate.data
    return combine_kind(kind, element_type(op.results[0]))
