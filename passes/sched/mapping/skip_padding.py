"""
Says which products of convolutions are zero, as they are with the border of a padded image, so that tiles
leave them out.

    sched.axis %y = 14 {
      sched.axis %x = 14 tile(14) {
        sched.axis %o = 32 tile(32) vector(16) {
          ... %k = 3 ... %l = 3 ...
            %row = arith.addi %y, %k : index
            %column = arith.addi %x, %l : index
            %s = sched.reduce fma %c = 256 : f32 {
              %v = memref.load %padded[%row, %column, %c] : memref<16x16x256xf32>
              %w = memref.load %weights[%k, %l, %c, %o] : memref<3x3x256x32xf32>
              sched.yield %v, %w : f32
            }

-->

            %inside = ... 1 <= %row and %row < 15 and 1 <= %column and %column < 15 ...
            %s = sched.reduce fma %c = 256 : f32 {
              %v = memref.load %padded[%row, %column, %c] : memref<16x16x256xf32>
              %pixel = low.select %inside, %v, %zero : f32
              %w = memref.load %weights[%k, %l, %c, %o] : memref<3x3x256x32xf32>
              sched.yield %pixel, %w : f32
            }

What fills the image, launches or the kernel itself where it stages some rows at a time, stores nothing but
zeros in its border: so the select changes nothing, and says what the tile can do without. Of 3x3 windows that
is 2 / 3n of n rows, and of n columns likewise: 9 % of 14x14 pixels, 18 % of 7x7. Rows of the window are left
out for all of a tile, columns of it for the pixels at the ends of a row.

A kernel stays as it is where little would be left out, and where a window does not fit into its image.

Where columns of the window and channels are one dim of the sum, it is split into the two.

Requires: kernels that `tile-convolutions` and `tile-contractions` have mapped, and images that are filled by
loops not split yet at their borders. Ensures: what each program computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import extents_of
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import is_float
from ....dialects.modules.kernel_access import kernels_of
from ....dialects.sched import Level
from ...indices.analysis import IndexAnalysis
from ...indices.expressions import Axis, FloorDiv, IndexExpr, variable
from ...indices.nests import axes_around, axes_inside
from ...indices.products import products_in
from ...indices.ranges import Range
from ...indices.stored_ranges import StoredRange, joined, stored_ranges
from ...indices.tile_windows import Pixels
from ...scalar.builder import INDEX
from ...scalar.ops import cmpi, select
from ..steps.loop_nests.code import write_index, writer_before
from ..steps.primitives.split import split
from .reasons import add_reason

LEAST_SHARE = 1 / 40
"""The least share of products that is left out: each tile looks at a sum, which takes 1 % of its time."""

LEAST_LEFT_OUT = 1 << 25
"""
The fewest products that a launch leaves out, a third of a millisecond: code for it takes 20 ms to compile. A
ResNet-18 of one image, of whose convolutions each would leave out a third of that, takes 0.96 of the time
with it, and 190 ms longer at its first call.
"""

LEAST_DEPTH = 256
"""
The fewest products that are added up, as each tile looks at a sum of each channel: 3x3 windows of 16 channels
take 0.98 to 1.10 of the time, of 32 channels 0.93 to 1.00.
"""


@dataclass(frozen=True, slots=True)
class _Window:
    """A subscript of an image, by its number, and an index, and the range in which that is in the image."""

    number: int
    index: IndexExpr
    low: int
    high: int
    is_shifted: bool
    """Whether the index is that of an image of which the subscript is one of some rows."""

    @property
    def share(self) -> float:
        """The share of its places that are in the border."""
        places = Counter({self.index.constant: 1})
        for atom, factor in self.index.terms.items():
            assert isinstance(atom, Axis) and isinstance(atom.extent, int), f"{atom} is no axis of a window"
            sums = Counter[Extent]()
            for (place, count), step in product(places.items(), range(atom.extent)):
                sums[place + step * factor] += count
            places = sums
        inside = sum(count for place, count in places.items() if place in range(self.low, self.high))
        return 1 - inside / places.total()


@dataclass(frozen=True)
class SkipPaddingPass(ModulePass):
    """Says which products of convolutions are zero, so that tiles leave them out."""

    name = "skip-padding"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        images: dict[str, tuple[_Tile, BlockArgument]] = {}
        for name, kernel in kernels_of(op).items():
            tile = _tile_of(kernel) if isinstance(kernel, sched.KernelOp) else None
            if tile is None:
                continue
            if isinstance(tile.image.memref, BlockArgument):
                images[name] = tile, tile.image.memref
            else:
                tile = tile.apart()
                _leave_out(tile, stored_ranges(tile.image.memref, tile.analysis) or [])
        if not images:
            return
        borders, found = _Borders(op), dict[str, list[list[Range]]]()
        for item in op.walk():
            if isinstance(item, sched.LaunchOp) and (name := item.kernel.root_reference.data) in images:
                argument = images[name][1]
                found.setdefault(name, []).append(borders.of(item.arguments[argument.index], argument))
        for name, ranges in found.items():
            _leave_out(
                images[name][0].apart(), [StoredRange(joined(each)) for each in zip(*ranges, strict=True)]
            )


def _leave_out(tile: _Tile, ranges: Sequence[StoredRange]) -> None:
    """Masks what a tile loads of an image that is in some ranges, if enough is outside."""
    windows = tile.windows(ranges)
    share = sum(window.share for window in windows)
    if share >= LEAST_SHARE and share * tile.products >= LEAST_LEFT_OUT:
        _mask(tile, windows)
        add_reason(tile.kernel, "products with the border of the image are left out")


class _Borders:
    """Where the buffers of a module hold anything but zeros."""

    def __init__(self, module: ModuleOp) -> None:
        self.kernels = kernels_of(module)
        self.known: dict[BlockArgument, list[Range] | None] = {}

    def of(self, buffer: SSAValue, argument: BlockArgument) -> list[Range]:
        """Returns a range of each subscript of a buffer, outside of which launches store zeros alone."""
        nothing_known = [Range() for _ in extents_of(argument.type)]
        if not isinstance(buffer.owner, sched.BufferOp):
            return nothing_known
        found: list[list[Range]] = []
        for use in buffer.uses:
            launch = use.operation
            if not isinstance(launch, sched.LaunchOp):
                return nothing_known
            ranges = self._stored(launch.kernel.root_reference.data, use.index)
            if ranges is None:
                return nothing_known
            found.append(ranges)
        return [joined(each) for each in zip(*found, strict=True)]

    def _stored(self, name: str, number: int) -> list[Range] | None:
        argument = self.kernels[name].body.block.args[number]
        if argument not in self.known:
            found = stored_ranges(argument, IndexAnalysis())
            # No axis is around an argument.
            self.known[argument] = None if found is None else [each.range for each in found]
        return self.known[argument]


@dataclass(frozen=True, slots=True)
class _Tile:
    """A convolution that is mapped to tiles: what it loads of the image, and its axes."""

    kernel: sched.KernelOp
    image: memref.LoadOp
    dims: tuple[Axis, ...]
    pixels: sched.AxisOp
    channels: Axis
    products: int
    """How many there are, at most."""
    analysis: IndexAnalysis

    def apart(self) -> _Tile:
        """Returns the tile with a dim for the columns of the window, where they are one with channels."""
        innermost = self.dims[-1]
        op = self.analysis.loop(innermost)
        for subscript in self.image.indices:
            for atom in self.analysis.expr(subscript).terms:
                if not isinstance(atom, FloorDiv) or atom.operand != variable(innermost):
                    continue
                if (
                    isinstance(atom.divisor, int)
                    and isinstance(op.extent, int)
                    and op.extent % atom.divisor == 0
                ):
                    split(op, atom.divisor)
                    found = _tile_of(self.kernel)
                    assert found is not None, f"{self.kernel.name}: is another kernel"
                    return found
        return self

    def windows(self, ranges: Sequence[StoredRange]) -> list[_Window]:
        """
        Returns the windows that reach into a border and that tiles can be told of, given where the image is
        in each dim: one that moves with the pixels, and one that does not.
        """
        found: dict[bool, _Window] = {}
        pixels = self.analysis.axis(self.pixels)
        for number, inside in enumerate(ranges):
            window = self._window(number, inside)
            if window is not None and window.share:
                found.setdefault(pixels in window.index.axes(), window)
        return list(found.values())

    def _window(self, number: int, stored: StoredRange) -> _Window | None:
        """Returns the window that a subscript moves with, of which the image has room for a whole one."""
        inside, pixels = stored.range, self.analysis.axis(self.pixels)
        index = self.analysis.expr(self.image.indices[number]) + stored.shift
        axes, (*outer, innermost) = index.axes(), self.dims
        dims = [axis for axis in outer if axis in axes]
        if len(dims) != 1 or index.stride(dims[0]) != 1 or self.channels in axes or innermost in axes:
            return None
        if (
            not all(isinstance(atom, Axis) for atom in index.terms)
            or inside.low is None
            or inside.high is None
        ):
            return None
        extents = {axis: axis.extent for axis in axes if isinstance(axis.extent, int)}
        steps = {axis: step for axis in axes if isinstance(step := index.stride(axis), int)}
        first = index.constant
        if len(extents) < len(axes) or len(steps) < len(axes) or not isinstance(first, int):
            return None
        if inside.high - inside.low < extents[dims[0]]:
            return None
        # Each row of a tile leaves out other steps.
        if pixels in axes:
            op, low, high = self.pixels, inside.low - first, inside.high - first
            if len(axes) != 2 or op.count is not None or op.mapping.level.data is not Level.SERIAL:
                return None
            tiles = Pixels(extents[pixels], op.mapping.tile.data, steps[pixels])
            if steps[pixels] < 1 or tiles.windows(extents[dims[0]], low, high) is None:
                return None
        return _Window(number, index, inside.low, inside.high, bool(stored.shift.terms))


def _tile_of(kernel: sched.KernelOp) -> _Tile | None:
    """Returns the tile that a kernel is, if its rows are the pixels of an image that a sum is of."""
    tiled = [op for op in kernel.walk() if isinstance(op, sched.AxisOp) and op.mapping.tile.data]
    if len(tiled) != 2 or axes_inside(tiled[0]) != tiled:
        return None
    nest = [*axes_around(tiled[0]), *tiled]
    # A window has a dim of its own, around the channels.
    if not any(isinstance(op, sched.ReduceOp) and op.continued for op in nest[-1].body.block.ops):
        return None
    analysis = IndexAnalysis()
    products = products_in(nest[-1], analysis)
    if len(products) != 1 or any(dim.count is not None or dim.mapping.tile.data for dim in products[0].dims):
        return None
    pixels, channels = nest[-2:]
    if pixels.mapping.vector.data > 1:
        pixels, channels = channels, pixels
    pixel, channel, (found,) = analysis.axis(pixels), analysis.axis(channels), products
    depth = found.depth(analysis)
    if any(side.is_of_nibbles for side in found.sides) or depth < LEAST_DEPTH:
        return None
    n_products = depth * prod(analysis.most(axis) for axis in nest)
    for image, weights in (found.sides, found.sides[::-1]):
        is_image = image.stride(channel) == 0 and image.stride(pixel) not in (0, None)
        if is_image and weights.stride(pixel) == 0 and is_float(image.load.res.type):
            dims = tuple(analysis.axis(dim) for dim in found.dims)
            return _Tile(kernel, image.load, dims, pixels, channel, n_products, analysis)
    return None


def _mask(tile: _Tile, windows: Sequence[_Window]) -> None:
    """Has the load of an image give 0 where windows are in the border."""
    load = tile.image
    sum, type = load.parent_op(), load.res.type
    assert isinstance(sum, sched.ReduceOp), "an image is loaded in a sum"
    subscripts = [load.indices[window.number] for window in windows]
    is_known = not any(sum.is_ancestor(subscript.owner) for subscript in subscripts)
    b = writer_before(sum if is_known else load)
    subscripts = [
        write_index(b, tile.analysis, window.index) if window.is_shifted else subscript
        for subscript, window in zip(subscripts, windows, strict=True)
    ]
    conditions = [
        cmpi(b, predicate, subscript, b.constants.get(bound, INDEX))
        for subscript, window in zip(subscripts, windows, strict=True)
        for predicate, bound in (("sge", window.low), ("slt", window.high))
    ]
    inside = conditions[0]
    for condition in conditions[1:]:
        inside = b.op(arith.AndIOp, inside, condition, hint="inside")
    following = load.next_op
    assert following is not None, "what is loaded is yielded"
    b = writer_before(following)
    b.location = load.location
    pixel = select(b, inside, load.res, b.constants.get(0.0, type), hint="pixel")
    load.res.replace_uses_with_if(pixel, lambda use: use.operation is not pixel.owner)
