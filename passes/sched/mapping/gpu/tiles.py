"""
Kernels whose work-groups stage tiles in shared memory: sums of products, and transposes.

    sched.axis %i = 512 {                          sched.axis %i_outer = 8 block {
      sched.axis %j = 512 {                          sched.axis %j_outer = 8 block {
        %s = sched.reduce fma %k = 512 : f32 {         scf.for %k_outer = 0 to 512 step 16 {
          ... %a[%i, %k] ... %b[%k, %j] ...    -->       copies of 64x16 of %a and 16x64 of %b
        }                                                axes of 64x64: sums go on in a tile of them
        memref.store %s, %c[%i, %j]                    }
      }                                                axes of 64x64: what follows the sums
    }                                                }}

Sums combine in the order that they had. Work-items share all axes of a tile, so that they copy neighbours,
and each of them works on a tile of its own in registers. Rows of tiles are padded, so that columns lie in
different banks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType, StridedLayoutAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import is_side_effect_free

from .....dialects import sched
from .....dialects.element_types import NBYTES, element_type_of
from .....dialects.sched import CombineKind, Level, MappingAttr, Scope
from ....indices.analysis import IndexAnalysis, Loop
from ....machine.groups import GroupLimits, power_from, power_up_to
from ....scalar.builder import INDEX, ScalarBuilder
from ...steps.loop_nests.code import add, multiply, subtract, write_index, writer_at_front

_SIDE = 16
"""Work-items along each side of a tile of sums, and its depth."""

_EACH = 4
"""Rows and columns of sums that each work-item has."""

_TRANSPOSED_SIDE = 32
"""Rows and columns of a tile that is transposed."""

_LEAST = 16
"""Shorter axes are not worth a tile."""


@dataclass(frozen=True, slots=True)
class _Part:
    """An axis cut into tiles: its length in one, how many work-items share that, and how many each has."""

    axis: sched.AxisOp
    size: int
    items: int

    @property
    def mapping(self) -> MappingAttr:
        return MappingAttr.get(unroll=max(self.size // self.items, 1), items=self.items)


@dataclass(slots=True)
class _Tile:
    """A part in the new kernel: where it begins, and how much is left of the axis (None: all of the part)."""

    part: _Part
    begin: SSAValue
    left: SSAValue | None


def tile_sums(nest: Sequence[sched.AxisOp], analysis: IndexAnalysis, limits: GroupLimits) -> list[str] | None:
    """
    Has the work-groups of a nest around one sum of products stage its factors. Returns why, or None for a
    kernel of another form, which stays as it is.
    """
    if len(nest) < 2:
        return None
    rows, columns = nest[-2:]
    ops = list(columns.body.block.ops)
    sums = [op for op in ops if op.regions]
    # `_SumWriter` writes one loop over the depth, which stages the factors of one sum.
    if len(sums) != 1 or not isinstance(sums[0], sched.ReduceOp) or any(_allocates(op) for op in ops):
        return None
    reduce = sums[0]
    if reduce.kind.data is not CombineKind.FMA or reduce.continued is not None:
        return None
    if reduce.count is not None or reduce.init is not None or any(op.regions for op in reduce.body.block.ops):
        return None
    # By the greatest values of named dims: the kernel is written once, for all of them.
    extents = [analysis.most(loop) for loop in (rows, columns, reduce)]
    if min(extents) < _LEAST:
        return None
    of_rows, of_columns = _factors(reduce, rows, columns, analysis), _factors(reduce, columns, rows, analysis)
    if not of_rows or not of_columns:
        return None
    side = _SIDE
    while side * side > limits.max_items or side > min(limits.max_block[:2]):
        side //= 2
    if side < 4:
        return None
    parts = [
        _Part(axis, side * min(_EACH, power_from(-(-extent // side))), side)
        for axis, extent in zip((rows, columns), extents, strict=False)
    ]
    type: Attribute = reduce.result.type
    nbytes = parts[0].size * parts[1].size * NBYTES[type]
    for loads, part in ((of_rows, parts[0]), (of_columns, parts[1])):
        nbytes += sum((part.size + 1) * (side + 1) * NBYTES[element_type_of(op.memref.type)] for op in loads)
    if nbytes > limits.shared_nbytes:
        return None
    _map_outer(nest[:-2])
    _SumWriter(parts[0], parts[1], side, reduce, analysis).write(of_rows, of_columns)
    i, j = (_hint(part.axis) for part in parts)
    return [
        f"{i}: tiles of {parts[0].size} rows in shared memory, {side} deep",
        f"{j}: tiles of {parts[1].size} columns, {side} x {side} work-items",
    ]


def tile_transpose(
    nest: Sequence[sched.AxisOp], analysis: IndexAnalysis, limits: GroupLimits
) -> list[str] | None:
    """
    Has the work-groups of a nest stage what it reads along its last axis but one, neighbours in memory.
    Returns why, or None where there is nothing of this kind.
    """
    if len(nest) < 2:
        return None
    rows, columns = nest[-2:]
    block = columns.body.block
    if any(op.regions or _allocates(op) for op in block.ops):
        return None
    if min(analysis.most(rows), analysis.most(columns)) < _LEAST:
        return None
    loads = [op for op in block.ops if _is_transposed(op, rows, columns, analysis)]
    loads = [op for op in loads if isinstance(op, memref.LoadOp) and not _is_written(op.memref, nest[0])]
    side = _TRANSPOSED_SIDE
    while side > min(limits.max_items, limits.max_block[0]):
        side //= 2
    down = min(power_up_to(limits.max_items // side), side, limits.max_block[1])
    nbytes = sum(side * (side + 1) * NBYTES[element_type_of(op.memref.type)] for op in loads)
    if not loads or side < 4 or nbytes > limits.shared_nbytes:
        return None
    _map_outer(nest[:-2])
    _TransposeWriter(_Part(rows, side, down), _Part(columns, side, side), analysis).write(loads)
    return [
        f"{_hint(rows)}: tiles of {side} x {side} transposed in shared memory, {down} x {side} work-items"
    ]


def _map_outer(axes: Sequence[sched.AxisOp]) -> None:
    for axis in axes:
        axis.mapping = MappingAttr.get(Level.BLOCK)


def _allocates(op: Operation) -> bool:
    return isinstance(op, sched.AllocOp)


def _hint(loop: Loop) -> str:
    return loop.index.name_hint or "i"


def _is_written(buffer: SSAValue, around: Operation) -> bool:
    return any(isinstance(op, memref.StoreOp) and op.memref is buffer for op in around.walk())


def _factors(
    reduce: sched.ReduceOp, along: sched.AxisOp, other: sched.AxisOp, analysis: IndexAnalysis
) -> list[memref.LoadOp]:
    """Returns the loads of a sum that differ along one axis and the depth, and not along the other axis."""
    depth = analysis.axis(reduce)
    found: list[memref.LoadOp] = []
    for op in reduce.body.block.ops:
        if not isinstance(op, memref.LoadOp) or _is_written(op.memref, along):
            continue
        address = analysis.address(op)
        strides = [address.stride(axis) for axis in (analysis.axis(along), depth, analysis.axis(other))]
        if (
            all(isinstance(stride, int) for stride in strides)
            and strides[0]
            and strides[1]
            and not strides[2]
        ):
            found.append(op)
    return found


def _is_transposed(op: Operation, rows: sched.AxisOp, columns: sched.AxisOp, analysis: IndexAnalysis) -> bool:
    if not isinstance(op, memref.LoadOp):
        return False
    address = analysis.address(op)
    return address.stride(analysis.axis(rows)) == 1 and address.stride(analysis.axis(columns)) not in (
        0,
        1,
        None,
    )


class _TileWriter:
    """Writes the axes over tiles in front of those that they replace."""

    def __init__(self, rows: _Part, columns: _Part, analysis: IndexAnalysis) -> None:
        self.analysis = analysis
        self.origin = rows.axis
        self.between = [op for op in rows.axis.body.block.ops if op is not columns.axis]
        """What all columns of a row have in common."""
        block = self.origin.parent
        assert block is not None, f"{rows.axis.name}: stands in no block"
        outer = self._outer(rows)
        block.insert_op_before(outer, self.origin)
        inner = self._outer(columns)
        outer.body.block.add_op(inner)
        self.block = inner.body.block
        self.rows, self.columns = self._tile(rows, outer), self._tile(columns, inner)

    def writer(self, block: Block) -> ScalarBuilder:
        """Returns what adds ops to the end of a block."""
        writer = writer_at_front(block, self.origin)
        writer.anchor = None
        return writer

    def _outer(self, part: _Part) -> sched.AxisOp:
        extent = self.analysis.extent(part.axis)
        op = sched.AxisOp((extent + (part.size - 1)) // part.size, MappingAttr.get(Level.BLOCK))
        self._name(op, f"{_hint(part.axis)}_outer")
        return op

    def _name(self, op: Loop, hint: str) -> None:
        op.location = op.index.location = self.origin.location
        op.index.name_hint = hint

    def _tile(self, part: _Part, outer: sched.AxisOp) -> _Tile:
        writer = self.writer(self.block)
        extent = self.analysis.extent(part.axis)
        begin = multiply(writer, outer.index, part.size)
        left = None
        if not isinstance(extent, int) or extent % part.size:
            left = subtract(writer, writer.constant(extent, INDEX), begin)
        return _Tile(part, begin, left)

    def shared(self, element_type: Attribute, shape: tuple[int, int], hint: str, pad: int = 1) -> SSAValue:
        """Allocates a tile for all work-items."""
        layout = StridedLayoutAttr([shape[1] + pad, 1])
        type = MemRefType(element_type, shape, layout) if pad else MemRefType(element_type, shape)
        return self.writer(self.block).insert(sched.AllocOp(Scope.SHARED, type), hint).results[0]

    def axis(
        self, block: Block, extent: int, mapping: MappingAttr, left: SSAValue | None, hint: str
    ) -> sched.AxisOp:
        """Adds an axis to a block, which ends where nothing is `left`."""
        op = sched.AxisOp(extent, mapping, count=left)
        self._name(op, hint)
        block.add_op(op)
        return op

    def over_tile(self, block: Block) -> tuple[Block, dict[SSAValue, SSAValue], list[SSAValue]]:
        """
        Adds the axes over the rows and columns of a tile. Returns the block inside of them, what the indices
        of the axes before are there, and the indices in the tile.
        """
        replaced: dict[SSAValue, SSAValue] = {}
        indices: list[SSAValue] = []
        for tile in (self.rows, self.columns):
            part = tile.part
            op = self.axis(block, part.size, part.mapping, tile.left, _hint(part.axis))
            block = op.body.block
            indices.append(op.index)
        writer = self.writer(block)
        for tile, index in zip((self.rows, self.columns), indices, strict=True):
            replaced[tile.part.axis.index] = add(writer, tile.begin, index)
        return block, replaced, indices

    def copy(
        self,
        block: Block,
        load: memref.LoadOp,
        buffer: SSAValue,
        axes: Sequence[tuple[Loop, int, SSAValue, SSAValue | None]],
        order: Sequence[int],
        items: Sequence[int],
    ) -> None:
        """
        Copies what a load reads into a tile, whose dims are `axes`: for each the loop, its length, where it
        begins and what is left of it. `order` are the dims from the outer to the inner one, which `items`
        share.
        """
        indices: dict[int, SSAValue] = {}
        for number, count in zip(order, items, strict=True):
            loop, size, _, left = axes[number]
            op = self.axis(block, size, MappingAttr.get(items=count), left, _hint(loop))
            block, indices[number] = op.body.block, op.index
        writer = self.writer(block)
        replaced: dict[SSAValue, SSAValue] = {
            loop.index: add(writer, begin, indices[number]) for number, (loop, _, begin, _) in enumerate(axes)
        }
        at = [
            write_index(writer, self.analysis, self.analysis.expr(index), replaced) for index in load.indices
        ]
        value = writer.op(memref.LoadOp, load.memref, *at, result_type=load.res.type, hint=load.res.name_hint)
        writer.insert(
            memref.StoreOp.create(operands=(value, buffer, *(indices[number] for number in range(len(axes)))))
        )

    def clone(self, block: Block, ops: Sequence[Operation], replaced: dict[SSAValue, SSAValue]) -> None:
        """Adds copies of ops to a block, with operands replaced; their results are added to `replaced`."""
        for op in ops:
            if op.results and op.results[0] in replaced:
                continue
            copy = op.clone(value_mapper=replaced)
            copy.location = op.location
            block.add_op(copy)

    def finish(self) -> None:
        """Erases the axes that were there before."""
        self.origin.detach()
        self.origin.erase()


class _SumWriter(_TileWriter):
    """Writes sums of products over tiles of their factors."""

    def __init__(
        self, rows: _Part, columns: _Part, depth: int, reduce: sched.ReduceOp, analysis: IndexAnalysis
    ) -> None:
        super().__init__(rows, columns, analysis)
        self.depth = depth
        self.reduce = reduce
        around = reduce.parent
        assert around is not None, f"{reduce.name}: stands in no block"
        ops = list(around.ops)
        at = ops.index(reduce)
        self.before, self.after = [*self.between, *ops[:at]], ops[at + 1 :]

    def write(self, of_rows: Sequence[memref.LoadOp], of_columns: Sequence[memref.LoadOp]) -> None:
        type: Attribute = self.reduce.result.type
        shape = self.rows.part.size, self.columns.part.size
        sums = self.shared(type, shape, self.reduce.result.name_hint or "sums", pad=0)
        tiles: dict[memref.LoadOp, SSAValue] = {}
        for op in (*of_rows, *of_columns):
            size = (self.rows if op in of_rows else self.columns).part.size
            dims = (size, self.depth) if op in of_rows else (self.depth, size)
            tiles[op] = self.shared(element_type_of(op.memref.type), dims, op.res.name_hint or "tile")
        self._start(sums)
        block, begin, left = self._loop()
        for op, tile in tiles.items():
            self._stage(block, op, tile, begin, left, of_rows=op in of_rows)
        self._add(block, sums, tiles, begin, left)
        block.add_op(scf.YieldOp.create())
        self._finish_sums(sums)
        self.finish()

    def _start(self, sums: SSAValue) -> None:
        block, _, indices = self.over_tile(self.block)
        writer = self.writer(block)
        zero = writer.constant(0.0, self.reduce.result.type)
        writer.insert(memref.StoreOp.create(operands=(zero, sums, *indices)))
        _erase_unused(block)

    def _loop(self) -> tuple[Block, SSAValue, SSAValue | None]:
        """Adds the loop over the depth; returns its body, where a step begins and how much is left."""
        writer = self.writer(self.block)
        extent = self.analysis.extent(self.reduce)
        bounds = [writer.constant(number, INDEX) for number in (0, extent, self.depth)]
        body = Block(arg_types=[INDEX])
        writer.insert(scf.ForOp.create(operands=bounds, regions=[Region(body)]))
        begin = body.args[0]
        begin.name_hint, begin.location = f"{_hint(self.reduce)}_outer", self.origin.location
        left = None
        if not isinstance(extent, int) or extent % self.depth:
            left = subtract(self.writer(body), bounds[1], begin)
        return body, begin, left

    def _stage(
        self,
        block: Block,
        load: memref.LoadOp,
        tile: SSAValue,
        begin: SSAValue,
        left: SSAValue | None,
        *,
        of_rows: bool,
    ) -> None:
        own = self.rows if of_rows else self.columns
        along = (own.part.axis, own.part.size, own.begin, own.left)
        deep = (self.reduce, self.depth, begin, left)
        axes = (along, deep) if of_rows else (deep, along)
        is_deep = self.analysis.address(load).stride(self.analysis.axis(self.reduce)) == 1
        order = (0, 1) if is_deep == of_rows else (1, 0)
        self.copy(block, load, tile, axes, order, (self.depth, self.depth))

    def _add(
        self,
        block: Block,
        sums: SSAValue,
        tiles: Mapping[memref.LoadOp, SSAValue],
        begin: SSAValue,
        left: SSAValue | None,
    ) -> None:
        body, replaced, (row, column) = self.over_tile(block)
        self.clone(body, [op for op in self.before if is_side_effect_free(op) or _reads(op)], replaced)
        writer = self.writer(body)
        type: Attribute = self.reduce.result.type
        so_far = writer.op(memref.LoadOp, sums, row, column, result_type=type, hint="so_far")
        inner = Block(arg_types=[INDEX])
        op = sched.ReduceOp(
            CombineKind.FMA, self.depth, type, None, Region(inner), self.reduce.fastmath, left, so_far
        )
        writer.insert(op, self.reduce.result.name_hint)
        self._name(op, _hint(self.reduce))
        deep = self.writer(inner)
        replaced[self.reduce.index] = add(deep, begin, op.index)
        for load, tile in tiles.items():
            own = tuple(self.analysis.address(load).axes())
            at = (row, op.index) if self.analysis.axis(self.rows.part.axis) in own else (op.index, column)
            value = deep.op(memref.LoadOp, tile, *at, result_type=load.res.type, hint=load.res.name_hint)
            replaced[load.res] = value
        self.clone(inner, list(self.reduce.body.block.ops), replaced)
        writer = self.writer(body)
        writer.insert(memref.StoreOp.create(operands=(op.result, sums, row, column)))
        _erase_unused(body)

    def _finish_sums(self, sums: SSAValue) -> None:
        """Adds what follows the sums."""
        block, replaced, indices = self.over_tile(self.block)
        type, hint = self.reduce.result.type, self.reduce.result.name_hint
        writer = self.writer(block)
        replaced[self.reduce.result] = writer.op(memref.LoadOp, sums, *indices, result_type=type, hint=hint)
        self.clone(block, [*self.before, *self.after], replaced)
        _erase_unused(block)


class _TransposeWriter(_TileWriter):
    """Writes elementwise code that reads some of its operands from tiles."""

    def write(self, loads: Sequence[memref.LoadOp]) -> None:
        rows, columns = self.rows, self.columns
        tiles: list[SSAValue] = []
        for load in loads:
            shape = rows.part.size, columns.part.size
            tile = self.shared(element_type_of(load.memref.type), shape, load.res.name_hint or "tile")
            axes = [(own.part.axis, own.part.size, own.begin, own.left) for own in (rows, columns)]
            self.copy(self.block, load, tile, axes, (1, 0), (rows.part.items, columns.part.items))
            tiles.append(tile)
        block, replaced, indices = self.over_tile(self.block)
        writer = self.writer(block)
        for load, tile in zip(loads, tiles, strict=True):
            replaced[load.res] = writer.op(
                memref.LoadOp, tile, *indices, result_type=load.res.type, hint=load.res.name_hint
            )
        self.clone(block, [*self.between, *columns.part.axis.body.block.ops], replaced)
        _erase_unused(block)
        self.finish()


def _reads(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp)


def _erase_unused(block: Block) -> None:
    """Erases ops without effects that nothing uses any more, those in the loops of a block too."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            for inner in region.blocks:
                _erase_unused(inner)
        is_unused = op.results and all(result.first_use is None for result in op.results)
        if is_unused and not op.regions and (is_side_effect_free(op) or _reads(op)):
            op.detach()
            op.erase()
