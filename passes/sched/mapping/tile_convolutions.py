"""
Maps convolutions to register tiles of places in the image by output channels.

    sched.axis %y = 56 {
      sched.axis %x = 56 {
        sched.axis %o = 64 {
          %s = sched.reduce fma %c = 64 : f32 { ... %v = memref.load %image[%y + %i, %x + %j, %c] ... }
          memref.store %s, %result[%y, %x, %o]
        }
      }
    }

-->

    sched.axis %y = 56 block {
      sched.axis %x = 56 tile(14) {
        sched.axis %o = 64 tile(32) vector(16) {
          ...
        }
      }
    }

A convolution is a kernel of nested axes around one sum of products, of which one operand, the image, is read
in windows or in steps: one of its subscripts moves with two axes, or by more than one. The other operand is
the weights. The columns of the tiles are the axis along which the weights lie side by side, in panels or as
they are; the rows are the innermost axis of the image. Rows are shared out evenly: 15 of them are 8 and 7 at
a time, where 14 fit.

Where the result is contiguous along the places instead, the channels stand around them, with `vector` to say
that they are what is summed up in vectors:

    sched.axis %o = 64 tile(32) vector(16) {
      sched.axis %x = 56 tile(14) vector(8) {

Weights that do not lie side by side are multiplied, one by one, by vectors of the image, if that is
contiguous along the places: the rows are the channels then.

Weights that are larger than `l2-nbytes` are read once: the axis of their panels is outermost. Else
they stay where they are, and each row of the image is read once.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import size_of
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.sched import CombineKind, Level, MappingAttr
from ...indices.analysis import IndexAnalysis
from ...indices.expressions import Axis, FloorDiv, IndexExpr, Mod, variable
from ...indices.nests import nest_of
from ...machine.target import L2_NBYTES, VECTOR_NBYTES, check_positive, usual_registers
from ..steps.reorder import reorder
from ..steps.split import split

LEAST_CHANNELS = 8
"""With fewer output channels a vector is mostly empty."""


@dataclass(frozen=True)
class TileConvolutionsPass(ModulePass):
    """Maps convolutions to register tiles of places in the image by output channels."""

    name = "tile-convolutions"
    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0
    l2_nbytes: int = L2_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l2_nbytes")
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                convolution = _find(kernel)
                if convolution is not None:
                    self._map(kernel, convolution)

    def _map(self, kernel: sched.KernelOp, found: _Convolution) -> None:
        lanes = max(self.vector_nbytes // NBYTES[found.sum.result.type], 1)
        registers = self.vector_registers or usual_registers(self.vector_nbytes)
        channels, places = found.channels, found.places
        count, along = _extent(channels), _extent(places)
        if found.form is _Form.NATURAL:
            width = min(along, 2 * lanes)
            rows = _share(count, _most_rows(registers, -(-width // lanes)))
        else:
            width = min(count, found.panel or 2 * lanes)
            rows = _share(along, _most_rows(registers, -(-width // lanes)))
        others = [axis for axis in found.nest if axis not in (channels, places)]
        vector = found.lanes(lanes, rows if found.form is _Form.TRANSPOSED else width)
        if found.panel and self._is_large(found.weights) and count > width and count % width == 0:
            panels, channels = _split(channels, width)
            others.insert(0, panels)
        if found.form is _Form.PLACES_BY_CHANNELS:
            inner = [places, channels]
            mappings = [
                MappingAttr.get(tile=rows),
                MappingAttr.get(vector=vector, tile=width),
            ]
        else:
            inner = [channels, places]
            sizes = (rows, width) if found.form is _Form.NATURAL else (width, rows)
            summed = 1 if found.form is _Form.NATURAL else lanes
            mappings = [
                MappingAttr.get(vector=summed, tile=sizes[0]),
                MappingAttr.get(vector=vector, tile=sizes[1]),
            ]
        blocks = [
            MappingAttr.get(Level.BLOCK if number < 2 else Level.SERIAL) for number in range(len(others))
        ]
        for axis, mapping in zip(reorder([*others, *inner]), [*blocks, *mappings], strict=True):
            assert isinstance(axis, sched.AxisOp), f"{axis.name} is no axis"
            axis.mapping = mapping
        kernel.attributes["schedule"] = StringAttr(found.form.value.format(rows=rows, width=width))

    def _is_large(self, weights: memref.LoadOp) -> bool:
        type = weights.memref.type
        return size_of(type) * NBYTES[element_type_of(type)] > self.l2_nbytes


def _split(axis: sched.AxisOp, factor: int) -> tuple[sched.AxisOp, sched.AxisOp]:
    outer, inner = split(axis, factor)
    assert isinstance(outer, sched.AxisOp) and isinstance(inner, sched.AxisOp), "parts of an axis are axes"
    return outer, inner


def _extent(axis: sched.AxisOp) -> int:
    extent = axis.extent
    assert isinstance(extent, int), f"an extent of {extent}"
    return extent


def _most_rows(registers: int, vectors: int) -> int:
    """Returns how many rows of so many vectors there are registers for, beside those of the operands."""
    return max((registers - 1 - vectors) // vectors, 1)


def _share(extent: int, most: int) -> int:
    """Returns the size of tiles of at most `most` that have about as many iterations each."""
    return -(-extent // -(-extent // most))


class _Form(Enum):
    """What the rows and columns of a convolution's tiles are, and which way sums are stored."""

    PLACES_BY_CHANNELS = "tiles of {rows} places by {width} output channels side by side"
    TRANSPOSED = "tiles of {width} output channels by {rows} places side by side, summed up by channels"
    NATURAL = "tiles of {rows} output channels by {width} places side by side"


@dataclass(frozen=True, slots=True)
class _Convolution:
    """A kernel that is a convolution: its axes, its sum, and what of it the weights are."""

    nest: list[sched.AxisOp]
    sum: sched.ReduceOp
    weights: memref.LoadOp
    channels: sched.AxisOp
    places: sched.AxisOp
    panel: int | None
    """How many output channels the weights have side by side, None for all."""
    form: _Form
    analysis: IndexAnalysis

    def lanes(self, most: int, size: int) -> int:
        """Returns in how many lanes what follows the sums can run, over `size` columns."""
        columns = self.channels if self.form is _Form.PLACES_BY_CHANNELS else self.places
        axis = self.analysis.axis(columns)
        for op in self.nest[-1].body.block.ops:
            if isinstance(op, memref.LoadOp | memref.StoreOp):
                stride = self.analysis.address(op).stride(axis)
                if stride not in ((1,) if isinstance(op, memref.StoreOp) else (0, 1)):
                    return 1
            elif (
                op.results
                and not isinstance(op.results[0].type, IndexType)
                and any(isinstance(value.type, IndexType) for value in op.operands)
            ):
                return 1
        return min(most, 1 << (size.bit_length() - 1))


def _find(kernel: sched.KernelOp) -> _Convolution | None:
    """Returns the convolution that an unmapped kernel is, if it is one."""
    while True:
        nest = nest_of(kernel)
        if len(nest) < 2 or any(axis.mapping != MappingAttr.get() or axis.count for axis in nest):
            return None
        if not all(isinstance(axis.extent, int) and axis.extent > 0 for axis in nest):
            return None
        sums = [op for op in nest[-1].body.block.ops if isinstance(op, sched.ReduceOp)]
        if len(sums) != 1 or sums[0].kind.data is not CombineKind.FMA or sums[0].init is not None:
            return None
        dims = [sums[0]]
        while (inner := dims[-1].continued) is not None:
            dims.append(inner)
        loads = [_load(value) for value in dims[-1].yielded]
        first, second = loads
        if first is None or second is None or any(dim.count or dim.mapping.step != 1 for dim in dims):
            return None
        analysis = IndexAnalysis()
        folded, axes = [analysis.axis(dim) for dim in dims], [analysis.axis(axis) for axis in nest]
        if not _is_stepped(first, analysis, axes, folded):
            first, second = second, first
        if not _is_stepped(first, analysis, axes, folded) or _is_stepped(second, analysis, axes, folded):
            return None
        # The lowering of tiles goes on by one step from each summand to the next.
        if any(analysis.address(load).stride(axis) is None for load in (first, second) for axis in folded):
            return None
        grouped = _grouped(analysis.address(first), nest, analysis)
        if grouped is None:
            return _convolution(nest, sums[0], first, second, analysis)
        _split(*grouped)


def _grouped(
    image: IndexExpr, nest: list[sched.AxisOp], analysis: IndexAnalysis
) -> tuple[sched.AxisOp, int] | None:
    """Returns an axis of which only every so many iterations move the image: output channels of groups."""
    for op in nest:
        axis = analysis.axis(op)
        for atom in image.terms:
            if isinstance(atom, FloorDiv) and atom.operand == variable(axis):
                divisor, extent = atom.divisor, op.extent
                if isinstance(divisor, int) and isinstance(extent, int) and extent % divisor == 0:
                    return op, divisor
    return None


def _convolution(
    nest: list[sched.AxisOp],
    sum: sched.ReduceOp,
    image: memref.LoadOp,
    weights: memref.LoadOp,
    analysis: IndexAnalysis,
) -> _Convolution | None:
    at_image, at_weights = analysis.address(image), analysis.address(weights)
    of_image, of_weights = set(at_image.axes()), set(at_weights.axes())
    rows = [op for op in nest if analysis.axis(op) in of_image and analysis.axis(op) not in of_weights]
    columns = [op for op in nest if analysis.axis(op) in of_weights and analysis.axis(op) not in of_image]
    stores = [op for op in nest[-1].body.block.ops if isinstance(op, memref.StoreOp)]
    if not rows or not stores or len(columns) != 1 or _extent(columns[0]) < LEAST_CHANNELS:
        return None
    channels, places = columns[0], rows[-1]
    channel, place = analysis.axis(channels), analysis.axis(places)
    step = at_image.stride(place)
    if step is None:
        return None
    panel = _panel(at_weights, channel)
    by_channels = all(analysis.address(store).stride(channel) == 1 for store in stores)
    by_places = all(analysis.address(store).stride(place) == 1 for store in stores)
    if panel != 0 and (by_channels or by_places):
        form = _Form.PLACES_BY_CHANNELS if by_channels else _Form.TRANSPOSED
    elif by_places and step == 1 and at_weights.stride(channel) is not None:
        form = _Form.NATURAL
    else:
        return None
    return _Convolution(nest, sum, weights, channels, places, panel, form, analysis)


def _panel(address: IndexExpr, axis: Axis) -> int | None:
    """Returns the width of the panels along an axis: None for a single one, 0 if there are none."""
    if address.stride(axis) == 1:
        return None
    divisors = [
        atom.divisor
        for atom, factor in address.terms.items()
        if isinstance(atom, Mod) and factor == 1 and atom.operand.stride(axis) == 1
    ]
    return divisors[0] if len(divisors) == 1 and isinstance(divisors[0], int) else 0


def _load(value: SSAValue) -> memref.LoadOp | None:
    owner = value.owner
    if isinstance(owner, arith.ExtFOp):
        owner = owner.input.owner
    return owner if isinstance(owner, memref.LoadOp) else None


def _is_stepped(load: memref.LoadOp, analysis: IndexAnalysis, axes: list[Axis], folded: list[Axis]) -> bool:
    """Returns whether a subscript moves with an axis of the nest and one that is folded, or in steps."""
    for subscript in load.indices:
        expr = analysis.expr(subscript)
        outer = [axis for axis in axes if expr.stride(axis) not in (0, None)]
        inner = [axis for axis in folded if expr.stride(axis) not in (0, None)]
        if outer and (inner or all(expr.stride(axis) != 1 for axis in outer)):
            return True
    return False
