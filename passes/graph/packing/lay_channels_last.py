"""
Lays the images between convolutions so that the channels of a place are neighbours.

    %c = graph.contract %x, %w maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>,
        affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>]
        bounds [8, 64, 56, 56, 3, 3, 3]
        : tensor<8x3x58x58xf32>, tensor<64x3x3x3xf32> -> tensor<8x64x56x56xf32>
    %r = graph.relu %c : tensor<8x64x56x56xf32>
    %d = graph.contract %r, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>, ...]
        bounds [8, 64, 54, 54, 64, 3, 3]
        : tensor<8x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<8x64x54x54xf32>

-->

    %c = graph.contract %x, %w maps [..., affine_map<(n, o, y, x, c, i, j) -> (n, y, x, o)>] ...
        -> tensor<8x56x56x64xf32>
    %r = graph.relu %c : tensor<8x56x56x64xf32>
    %d = graph.contract %r, %v maps [affine_map<(n, o, y, x, c, i, j) -> (n, y + i, x + j, c)>, ...]
        bounds [8, 64, 54, 54, 64, 3, 3]
        : tensor<8x56x56x64xf32>, tensor<64x64x3x3xf32> -> tensor<8x64x54x54xf32>

A register tile of a convolution has its sums as vectors of output channels. They are stored as they are where
channels are neighbours, and turned around where places are; what follows them, and windows over which a
maximum is taken, run in vectors of channels then too, whatever the step is.

A convolution begins a group of values, to which belongs all that elementwise ops, padding, slices,
concatenations, reductions of windows, convolutions of each channel by itself, permutations and reshapes make
of it. All of a group is laid with its channels last where at least one convolution reads a value of it, and
no fewer do than ops that need another order, for which it is turned back. An image of many channels that is
copied with a border begins a group too: it is turned around as it is copied. What is in no such group stays
as it is: arguments, results, and what the last convolution gives. Convolutions are those whose weights
pack-convolutions copies.

The channels may become several axes, and one again: those of a transposed convolution with a step are output
channels by places that lie beside one another. They are together until these are part of the axes of places.

Requires: nothing; simplify-contractions brings the dims of contractions in order. Ensures: results are those
before, sums of floats up to their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.ir.affine import AffineMap
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import Extent, upper_bound, without_ones
from ....dialects.element_types import NBYTES
from ....dialects.graph import LinearIndex
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ..builder import GraphBuilder
from .pack_convolutions import Convolution, convolution_of

Axes = tuple[int, ...]

# 3x3 of 256 channels of 14x14, 1 and 8 images: 0.96 and 0.92 of the time; of 128 channels of 28x28 0.92 and
# 1.01; of 64 channels of 56x56 1.07 and 1.2. 256 channels to 64 of 28x28 take 0.93 and 0.77.
LEAST_PLACE_NBYTES = 512
"""How many bytes the channels of a place have at least that a copy with a border lays side by side."""


@dataclass(frozen=True)
class LayChannelsLastPass(ModulePass):
    """Lays the images between convolutions so that the channels of a place are neighbours."""

    name = "lay-channels-last"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        blocks = {inner.parent: None for inner in op.walk() if isinstance(inner, graph.ContractOp)}
        for block in blocks:
            if block is not None:
                axes = _Groups(block).chosen()
                if axes:
                    _Layer(axes).lay(block)


class _Groups:
    """The values of a block that can be laid channels last, in groups that are so together or not at all."""

    def __init__(self, block: Block) -> None:
        self.axes: dict[SSAValue, Axes] = {}
        """The axes of the channels of each, in the order in which they are last."""
        self._parents: dict[SSAValue, SSAValue] = {}
        self.block = block
        for op in block.ops:
            last = _begun(op)
            sources = [value for value in op.operands if value in self.axes]
            if last is None:
                last = _followed(op, self.axes) or _padded(op)
            else:
                # A convolution reads one group and begins another.
                sources = []
            if last is not None:
                result = op.results[0]
                self.axes[result] = last
                self._parents[result] = result
                for source in sources:
                    self._parents[self._group(source)] = self._group(result)

    def _group(self, value: SSAValue) -> SSAValue:
        while self._parents[value] is not value:
            value = self._parents[value]
        return value

    def chosen(self) -> dict[SSAValue, Axes]:
        """Returns the values of the groups that are worth it."""
        gains: dict[SSAValue, int] = {}
        losses: dict[SSAValue, int] = {}
        for value in self.axes:
            group = self._group(value)
            for use in value.uses:
                op = use.operation
                is_here = op.parent is self.block
                if is_here and _convolution_of_image(use) is not None:
                    gains[group] = gains.get(group, 0) + 1
                elif not is_here or not _reads_any_order(op, value, self.axes):
                    losses[group] = losses.get(group, 0) + 1
        kept = {group for group, count in gains.items() if count >= losses.get(group, 0)}
        return {value: last for value, last in self.axes.items() if self._group(value) in kept}


def _begun(op: Operation) -> Axes | None:
    """Returns the axis of the output channels where an op is a convolution with axes behind them."""
    if not isinstance(op, graph.ContractOp) or "memory_mode" in op.attributes:
        return None
    convolution = convolution_of(op)
    if convolution is None or op.result_dims[-1] == convolution.channel:
        return None
    return (op.result_dims.index(convolution.channel),)


def _padded(op: Operation) -> Axes | None:
    """
    Returns the axis of the channels where an op pads what convolutions alone read, and these are many: a copy
    of them side by side takes no longer.
    """
    channels = _channels_read(op.result) if isinstance(op, graph.PadOp) else None
    if channels is None:
        return None
    type = tensor_type_of(op.results[0], op.name)
    shape = shape_of(type)
    is_large = upper_bound(shape[channels]) * NBYTES[type.element_type] >= LEAST_PLACE_NBYTES
    return (channels,) if is_large and channels != len(shape) - 1 else None


def _channels_read(image: SSAValue) -> int | None:
    """Returns the axis of the input channels of a value that convolutions alone read, as it is or a view."""
    found: set[int | None] = set()
    for use in image.uses:
        op = use.operation
        if isinstance(op, graph.ReshapeOp):
            found.add(_axis_before(op, _channels_read(op.result)))
            continue
        convolution = _convolution_of_image(use)
        if convolution is None:
            return None
        indices = enumerate(convolution.indices[convolution.image])
        axes = [axis for axis, index in indices if index.plain_dim in convolution.folded]
        found.add(axes[0] if len(axes) == 1 else None)
    return found.pop() if len(found) == 1 else None


def _axis_before(op: graph.ReshapeOp, axis: int | None) -> int | None:
    """Returns which axis an axis was before a reshape, None where it was none or a part of one."""
    before, after = (shape_of(tensor_type_of(value, op.name)) for value in (op.source, op.result))
    found = [given for given, made in _parts(before, after) or () if made == (axis,)]
    return found[0][0] if found and len(found[0]) == 1 else None


def _convolution_of_image(use: Use) -> Convolution | None:
    """Returns the convolution that reads a value as its image, if it is read by one."""
    op = use.operation
    convolution = convolution_of(op) if isinstance(op, graph.ContractOp) else None
    return convolution if convolution is not None and convolution.image == use.index else None


def _followed(op: Operation, axes: Mapping[SSAValue, Axes]) -> Axes | None:
    """Returns the axes of the channels of what is made of values that have such axes."""
    found = {axes[value] for value in op.operands if value in axes}
    if len(found) != 1 or "memory_mode" in op.attributes:
        return None
    (last,) = found
    match op:
        case graph.ElementwiseOp():
            others = [value for value in op.operands if value not in axes]
            is_same = all(isinstance(value.owner, graph.BroadcastOp | graph.ConstantOp) for value in others)
            return last if is_same else None
        case graph.PadOp() | graph.SliceOp():
            return last
        case graph.PermuteOp():
            return tuple(op.permutation.data.index(axis) for axis in last)
        case graph.ConcatOp():
            return last if all(value in axes for value in op.inputs) else None
        case graph.ReshapeOp():
            before, after = (shape_of(tensor_type_of(value, op.name)) for value in (op.source, op.result))
            return _reshaped(before, after, last)
        case graph.ContractOp() if op.tile is None:
            return _pooled(op, [value in axes for value in op.inputs].index(True), last)
        case _:
            return None


def _reshaped(before: Sequence[Extent], after: Sequence[Extent], last: Axes) -> Axes | None:
    """
    Returns the axes of the channels after a reshape: the parts of the axis that they were, or the first of
    several axes, if nothing is one axis with it.
    """
    parts = _parts(before, after)
    if parts is None:
        return None
    (channels, *others) = last
    (given, made), *_ = [*(part for part in parts if channels in part[0]), ((), ())]
    if given != (channels,) or (others and len(made) != 1):
        return None
    return made


def _parts(before: Sequence[Extent], after: Sequence[Extent]) -> list[tuple[Axes, Axes]] | None:
    """
    Returns which axes of one shape are which of another with the same elements, extents of 1 left out; None
    where that is not known.
    """
    left = [axis for axis, extent in enumerate(before) if extent != 1]
    right = [axis for axis, extent in enumerate(after) if extent != 1]
    parts: list[tuple[Axes, Axes]] = []
    if DYNAMIC_INDEX in (*before, *after):
        return None
    while left and right:
        given, made = [left.pop(0)], [right.pop(0)]
        one, other = before[given[0]], after[made[0]]
        while one != other:
            is_less = upper_bound(one) < upper_bound(other)
            if not (left if is_less else right):
                return None
            if is_less:
                given.append(left.pop(0))
                one = one * before[given[-1]]
            else:
                made.append(right.pop(0))
                other = other * after[made[-1]]
        parts.append((tuple(given), tuple(made)))
    return None if left or right else parts


def _pooled(op: graph.ContractOp, operand: int, last: Axes) -> Axes | None:
    """
    Returns the axes of the channels of a contraction with a result for each channel: a reduction of windows,
    or a convolution of each channel by itself.
    """
    indices = [LinearIndex.of(expr) for expr in op.operand_maps[operand].results]
    if not any(index.is_stepped for index in indices):
        return None
    dims = [indices[axis].plain_dim for axis in last]
    found = [op.result_dims.index(dim) for dim in dims if dim in op.result_dims]
    are_alone = all(sum(bool(index.factor(dim)) for index in indices) == 1 for dim in dims if dim is not None)
    return tuple(found) if len(found) == len(last) and are_alone else None


def _reads_any_order(op: Operation, value: SSAValue, axes: Mapping[SSAValue, Axes]) -> bool:
    """Returns whether an op reads a value of a group in whatever order its axes have."""
    if op.results and op.results[0] in axes:
        return True
    return isinstance(op, graph.ReduceOp) and _reduces_rest(op, axes[value])


def _reduces_rest(op: graph.ReduceOp, last: Axes) -> bool:
    """Returns whether what a reduction leaves has the same order, wherever the channels were."""
    rank = tensor_type_of(op.source, op.name).get_num_dims()
    left = [axis for axis in _order(rank, last) if axis not in op.axes.data]
    is_gone = tensor_type_of(op.result, op.name).get_num_dims() == len(left)
    return is_gone and left == sorted(left)


@dataclass(slots=True)
class _Layer:
    """Writes the values of some groups channels last."""

    axes: Mapping[SSAValue, Axes]
    laid: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Each value with its channels last."""

    def lay(self, block: Block) -> None:
        old = [op for op in block.ops if op.results and op.results[0] in self.axes]
        for op in old:
            self._lay(op)
        for op in {use.operation: None for value in self.axes for use in value.uses}:
            if op not in old:
                self._read(op)
        for value in self.axes:
            self._turn_back(value, old)
        for op in reversed(old):
            op.detach()
            op.erase()

    def _lay(self, op: Operation) -> None:
        """Writes an op of which the result has its channels last."""
        builder, result = GraphBuilder(op), op.results[0]
        type = tensor_type_of(result, op.name)
        order = _order(type.get_num_dims(), self.axes[result])
        shape = tuple(shape_of(type)[axis] for axis in order)
        laid = self._laid(op, builder, order, tensor_of(type.element_type, shape))
        if isinstance(laid, Operation):
            laid.attributes.update(op.attributes)
            laid = builder.add(laid, result.name_hint)
        self.laid[result] = laid

    def _laid(
        self, op: Operation, builder: GraphBuilder, order: Sequence[int], result: TensorType[Any]
    ) -> Operation | SSAValue:
        match op:
            case graph.ContractOp():
                inputs, maps = self._indexed(op)
                return graph.ContractOp(
                    inputs,
                    [*maps, _moved(op.result_map, order)],
                    result,
                    bounds=op.bounds,
                    accumulate=op.accumulate,
                    combine=op.combine,
                    fastmath=op.fastmath,
                )
            case graph.PadOp():
                low, high, interior = (
                    None if widths is None else [widths.data[axis] for axis in order]
                    for widths in (op.low, op.high, op.interior)
                )
                assert low is not None and high is not None, f"{op.name}: no widths"
                source = self.laid.get(op.source)
                if source is None:
                    source = builder.add(graph.PermuteOp(op.source, order), op.source.name_hint)
                return graph.PadOp(source, op.value, low, high, interior)
            case graph.SliceOp():
                offsets, sizes = ([each.data[axis] for axis in order] for each in (op.offsets, op.sizes))
                strides = [op.strides.data[axis] for axis in order]
                return graph.SliceOp(self.laid[op.source], offsets, sizes, strides)
            case graph.ConcatOp():
                return graph.ConcatOp([self.laid[value] for value in op.inputs], order.index(op.axis.data))
            case graph.PermuteOp():
                return self._turned(builder, op.source, [op.permutation.data[axis] for axis in order])
            case graph.ReshapeOp():
                last = self.axes[op.source]
                rank = tensor_type_of(op.source, op.name).get_num_dims()
                # Of several axes that the channels were, the others are no channels any more.
                kept = last if len(self.axes[op.result]) > 1 else last[:1]
                return graph.ReshapeOp(self._turned(builder, op.source, _order(rank, kept)), result)
            case _:
                operands = [self._element(builder, value, order) for value in op.operands]
                return op.create(operands=operands, result_types=[result], properties=op.properties)

    def _turned(self, builder: GraphBuilder, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """Returns a value that is laid, with its axes in an order."""
        now = _order(len(order), self.axes[value])
        turn = [now.index(axis) for axis in order]
        laid = self.laid[value]
        return laid if turn == sorted(turn) else builder.add(graph.PermuteOp(laid, turn), value.name_hint)

    def _indexed(self, op: graph.ContractOp) -> tuple[list[SSAValue], list[AffineMap]]:
        """Returns what the operands of a contraction are read from, and how."""
        inputs, maps = list(op.inputs), list(op.operand_maps)
        for number, value in enumerate(op.inputs):
            if value in self.laid:
                inputs[number] = self.laid[value]
                maps[number] = _moved(maps[number], _order(len(maps[number].results), self.axes[value]))
        return inputs, maps

    def _element(self, builder: GraphBuilder, value: SSAValue, order: Sequence[int]) -> SSAValue:
        """Returns an operand of an elementwise op, in an order of its axes."""
        if value in self.laid:
            return self.laid[value]
        op = value.owner
        if not isinstance(op, graph.BroadcastOp):
            return builder.add(graph.PermuteOp(value, order), value.name_hint)
        # What is repeated is turned, not each of its repetitions.
        source, type = op.source, tensor_type_of(value, builder.anchor.name)
        given = shape_of(tensor_type_of(source, builder.anchor.name))
        whole = (1,) * (len(order) - len(given)) + tuple(given)
        moved = tuple(whole[axis] for axis in order)
        if without_ones(whole) == without_ones(moved):
            while moved and moved[0] == 1:
                moved = moved[1:]
            if moved != tuple(given):
                source = builder.add(
                    graph.ReshapeOp(source, tensor_of(type.element_type, moved)), source.name_hint
                )
        else:
            if whole != tuple(given):
                source = builder.add(graph.ReshapeOp(source, tensor_of(type.element_type, whole)))
            source = builder.add(graph.PermuteOp(source, order), source.name_hint)
        shape = tuple(shape_of(type)[axis] for axis in order)
        return builder.add(graph.BroadcastOp(source, tensor_of(type.element_type, shape)), value.name_hint)

    def _read(self, op: Operation) -> None:
        """Has an op that reads any order read what is laid."""
        match op:
            case graph.ContractOp() if op.tile is None:
                inputs, maps = self._indexed(op)
                op.maps = ArrayAttr([AffineMapAttr(map) for map in (*maps, op.result_map)])
                op.operands = inputs
            case graph.ReduceOp() if _reduces_rest(op, self.axes[op.source]):
                order = _order(tensor_type_of(op.source, op.name).get_num_dims(), self.axes[op.source])
                axes = sorted(order.index(axis) for axis in op.axes.data)
                new = graph.ReduceOp(op.kind, self.laid[op.source], axes, fastmath=op.fastmath)
                new.attributes.update(op.attributes)
                op.result.replace_all_uses_with(GraphBuilder(op).add(new, op.result.name_hint))
                op.detach()
                op.erase()
            case _:
                pass

    def _turn_back(self, value: SSAValue, old: Sequence[Operation]) -> None:
        """Has what else reads a value read it in the order of axes that it had."""
        uses = [use for use in value.uses if use.operation not in old]
        if not uses:
            return
        laid = self.laid[value]
        after = laid.owner.next_op if isinstance(laid.owner, Operation) else None
        assert after is not None, "nothing comes after what is read"
        rank = tensor_type_of(value, LayChannelsLastPass.name).get_num_dims()
        turned = self._turned(GraphBuilder(after), value, range(rank))
        for use in uses:
            use.operation.operands[use.index] = turned


def _order(rank: int, last: Axes) -> list[int]:
    """Returns all axes, some of them last."""
    return [*(axis for axis in range(rank) if axis not in last), *last]


def _moved(map: AffineMap, order: Sequence[int]) -> AffineMap:
    return AffineMap(map.num_dims, 0, tuple(map.results[axis] for axis in order))
