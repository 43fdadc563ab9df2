"""
Maps convolutions to register tiles of pixels by output channels.

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

A convolution is a kernel of nested axes around one sum of products. One operand, the image, is read in
windows or with a stride: one of its subscripts moves with two axes, or by more than one. The other operand is
the weights. The columns of the tile are the axis along which the weights are contiguous, in panels as wide as
`tile_shape` of the sum says, or without panels. The rows of the tile are the pixels: the innermost axis of
the image that the result has too. Rows are divided evenly: 15 rows run as 8 and 7, where 14 fit.

A result that is contiguous along the pixels has the channels around the pixels. Their `vector` says that the
sums are vectors of channels:

    sched.axis %o = 64 tile(32) vector(16) {
      sched.axis %x = 56 tile(14) vector(8) {

Weights that are not contiguous along the channels are multiplied, one by one, by vectors of pixels. The rows
are the channels then, and the image must be contiguous along the pixels.

All but the channels may have extents of named dims. Tiles have as many rows as there are registers for then.

Weights that are larger than `l2-nbytes` are read once: the axis of their panels is outermost, and `prefetch`
says that the next panel is fetched while all pixels are computed with one. A tile loads its panel from the
second cache, and fetches it some steps ahead. Smaller weights stay in the cache, and each row of the image is
read once. A result that has the panels of the weights has an
axis for them, which stays around the tiles.

Requires: unmapped `sched` kernels. Ensures: what each kernel computes is unchanged, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.low.prefetch import set_prefetch_distance
from ....dialects.sched import Level, MappingAttr
from ...indices.analysis import IndexAnalysis
from ...indices.expressions import Axis, FloorDiv, IndexExpr, variable
from ...indices.lanes import runs_in_lanes
from ...indices.nests import nest_of
from ...indices.products import Product, Side, products_in
from ...machine.target import L2_NBYTES, VECTOR_NBYTES, check_positive, usual_registers
from ...machine.tile_shape import VECTORS_OF_CHANNELS
from ..steps.primitives.reorder import reorder
from ..steps.primitives.split import split

LEAST_CHANNELS = 8
"""With fewer output channels a vector is mostly empty."""

# 3x3 of 512 channels of 7x7 takes 0.93 of the time with 1 image and 0.94 with 8; 1 KiB 0.95 and 0.93.
AHEAD_NBYTES = 4096
"""
How far ahead weights that the first cache does not hold are fetched from the second one. Tiles of few places,
of which each uses a vector of weights for as many products, wait for them otherwise.
"""


@dataclass(frozen=True)
class TileConvolutionsPass(ModulePass):
    """Maps convolutions to register tiles of pixels by output channels."""

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
        lanes = max(self.vector_nbytes // found.product.sum_nbytes, 1)
        registers = self.vector_registers or usual_registers(self.vector_nbytes)
        channels, pixels = found.channels, found.pixels
        count, along = found.n_channels, pixels.extent
        if found.form is _Form.NATURAL:
            width = min(found.analysis.most(pixels), VECTORS_OF_CHANNELS * lanes)
            rows = _share(count, _most_rows(registers, -(-width // lanes)))
        else:
            width = min(count, found.panel or VECTORS_OF_CHANNELS * lanes)
            most = _most_rows(registers, -(-width // lanes))
            rows = _share(along, most) if isinstance(along, int) else min(found.analysis.most(pixels), most)
        others = [axis for axis in found.nest if axis not in (channels, pixels)]
        is_large = found.weights.buffer_nbytes > self.l2_nbytes
        if is_large:
            others.sort(key=lambda axis: axis not in found.panels)
        vector = found.lanes(lanes, rows if found.form is _Form.TRANSPOSED else width)
        # A loop over pixels around all panels would load weights of this size again for each row.
        is_split = bool(found.panel) and is_large and count > width and count % width == 0
        if is_split:
            panels, channels = split(channels, width)
            others.insert(0, panels)
        fetches = is_large and (is_split or bool(found.panels))
        if fetches:
            set_prefetch_distance(found.weights.load, AHEAD_NBYTES // found.weights.nbytes)
        if found.form is _Form.PIXELS_BY_CHANNELS:
            inner = [pixels, channels]
            mappings = [
                MappingAttr.get(tile=rows),
                MappingAttr.get(vector=vector, tile=width, prefetch=fetches),
            ]
        else:
            inner = [channels, pixels]
            sizes = (rows, width) if found.form is _Form.NATURAL else (width, rows)
            summed = 1 if found.form is _Form.NATURAL else lanes
            mappings = [
                MappingAttr.get(vector=summed, tile=sizes[0], prefetch=fetches),
                MappingAttr.get(vector=vector, tile=sizes[1]),
            ]
        blocks = [
            MappingAttr.get(Level.BLOCK if number < 2 else Level.SERIAL) for number in range(len(others))
        ]
        for axis, mapping in zip(reorder([*others, *inner]), [*blocks, *mappings], strict=True):
            assert isinstance(axis, sched.AxisOp), f"{axis.name} is no axis"
            axis.mapping = mapping
        kernel.attributes["schedule"] = StringAttr(found.form.value.format(rows=rows, width=width))


def _most_rows(registers: int, vectors: int) -> int:
    """Returns how many rows of so many vectors there are registers for, beside those of the operands."""
    return max((registers - 1 - vectors) // vectors, 1)


def _share(extent: int, most: int) -> int:
    """Returns the size of tiles of at most `most` that have about as many iterations each."""
    return -(-extent // -(-extent // most))


class _Form(Enum):
    """What the rows and columns of a convolution's tiles are, and which way sums are stored."""

    PIXELS_BY_CHANNELS = "tiles of {rows} places by {width} output channels side by side"
    TRANSPOSED = "tiles of {width} output channels by {rows} places side by side, summed up by channels"
    NATURAL = "tiles of {rows} output channels by {width} places side by side"


@dataclass(frozen=True, slots=True)
class _Convolution:
    """A kernel that is a convolution: its axes, its sum of products, and the side that the weights are."""

    nest: list[sched.AxisOp]
    product: Product
    weights: Side
    channels: sched.AxisOp
    pixels: sched.AxisOp
    panels: list[sched.AxisOp]
    """The axes of output channels around `channels`."""
    panel: int | None
    """How many output channels the weights have side by side, None for all."""
    form: _Form
    analysis: IndexAnalysis
    n_channels: int

    def lanes(self, most: int, size: int) -> int:
        """Returns in how many lanes what follows the sums can run, over `size` columns."""
        columns = self.channels if self.form is _Form.PIXELS_BY_CHANNELS else self.pixels
        axis = self.analysis.axis(columns)
        if not all(runs_in_lanes(op, axis, self.analysis) for op in self.nest[-1].body.block.ops):
            return 1
        return min(most, 1 << (size.bit_length() - 1))


def _find(kernel: sched.KernelOp) -> _Convolution | None:
    """
    Returns the convolution that an unmapped kernel is, if it is one. Output channels in groups are split into
    an axis of groups and one of channels, as tiles need each address to be linear in the axes.
    """
    # Another turn after each split: the analysis, the products and the axes are of the new nest then.
    while True:
        nest = nest_of(kernel)
        if len(nest) < 2 or any(axis.mapping != MappingAttr.get() or axis.count for axis in nest):
            return None
        if any(axis.extent == 0 for axis in nest):
            return None
        analysis = IndexAnalysis()
        products = products_in(nest[-1], analysis)
        # The lowering of tiles goes on by one step from each summand to the next.
        if len(products) != 1 or not products[0].is_linear(analysis):
            return None
        (product,) = products
        if any(dim.count or dim.mapping.step != 1 for dim in product.dims):
            return None
        if any(side.is_of_nibbles for side in product.sides):
            return None
        axes = [analysis.axis(axis) for axis in nest]
        stepped = [_is_stepped(side, product, analysis, axes) for side in product.sides]
        if stepped.count(True) != 1:
            return None
        image, weights = product.sides[stepped.index(True)], product.sides[stepped.index(False)]
        grouped = _grouped(image.address, nest, analysis)
        if grouped is None:
            return _convolution(nest, product, image, weights, analysis)
        split(*grouped)


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
    product: Product,
    image: Side,
    weights: Side,
    analysis: IndexAnalysis,
) -> _Convolution | None:
    of_image, of_weights = set(image.address.axes()), set(weights.address.axes())
    rows = [op for op in nest if analysis.axis(op) in of_image and analysis.axis(op) not in of_weights]
    columns = [op for op in nest if analysis.axis(op) in of_weights and analysis.axis(op) not in of_image]
    stores = [op for op in nest[-1].body.block.ops if isinstance(op, memref.StoreOp)]
    if not rows or not stores or not columns:
        return None
    # A result that has the panels of the weights has an axis for them, which stays around the tiles.
    channels, pixels = columns[-1], rows[-1]
    if len(columns) > 1 and weights.stride(analysis.axis(channels)) != 1:
        return None
    count = channels.extent
    if not isinstance(count, int) or count < LEAST_CHANNELS:
        return None
    channel, pixel = analysis.axis(channels), analysis.axis(pixels)
    step = image.stride(pixel)
    # The rows of a tile are a constant step apart: one register holds the step for all of them.
    if step is None:
        return None
    panel = _panel(weights, channel, product)
    by_channels = all(analysis.address(store).stride(channel) == 1 for store in stores)
    by_pixels = all(analysis.address(store).stride(pixel) == 1 for store in stores)
    # Vectors of weights first: they need no vectors of the image, which a stride would make gathers.
    if panel != 0 and (by_channels or by_pixels):
        form = _Form.PIXELS_BY_CHANNELS if by_channels else _Form.TRANSPOSED
    elif by_pixels and step == 1 and weights.stride(channel) is not None:
        form = _Form.NATURAL
    else:
        return None
    return _Convolution(nest, product, weights, channels, pixels, columns[:-1], panel, form, analysis, count)


def _panel(weights: Side, axis: Axis, product: Product) -> int | None:
    """Returns the width of the panels along an axis: None for a single one, 0 if there are none."""
    if weights.stride(axis) == 1:
        return None
    width = weights.panel(axis, product.panels)
    return width if width is not None and weights.stride(axis, width) == 1 else 0


def _is_stepped(side: Side, product: Product, analysis: IndexAnalysis, axes: list[Axis]) -> bool:
    """Returns whether a subscript moves with an axis of the nest and one that is folded, or in steps."""
    folded = [analysis.axis(dim) for dim in product.dims]
    for subscript in side.load.indices:
        expr = analysis.expr(subscript)
        outer = [axis for axis in axes if expr.stride(axis) not in (0, None)]
        inner = [axis for axis in folded if expr.stride(axis) not in (0, None)]
        if outer and (inner or all(expr.stride(axis) != 1 for axis in outer)):
            return True
    return False
