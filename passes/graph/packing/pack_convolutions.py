"""
Copies the weights of convolutions into panels of neighbouring output channels.

    %c = graph.contract %x, %w maps [affine_map<(y, x, o, i, j, c) -> (y + i, x + j, c)>,
        affine_map<(y, x, o, i, j, c) -> (o, c, i, j)>, affine_map<(y, x, o, i, j, c) -> (y, x, o)>]
        bounds [56, 56, 64, 3, 3, 64]
        : tensor<58x58x64xf32>, tensor<64x64x3x3xf32> -> tensor<56x56x64xf32>

-->

    %w_packed = graph.contract %w maps [affine_map<(p, i, j, c, l) -> (p * 32 + l, c, i, j)>,
        affine_map<(p, i, j, c, l) -> (p, i, j, c, l)>] bounds [2, 3, 3, 64, 32]
        {memory_mode = #graph.memory_mode<materialized, "packed, ...">}
        : tensor<64x64x3x3xf32> -> tensor<2x3x3x64x32xf32>
    %c_1 = graph.contract %x, %w_packed maps [affine_map<(y, x, p, l, i, j, c) -> (y + i, x + j, c)>,
        affine_map<(y, x, p, l, i, j, c) -> (p, i, j, c, l)>,
        affine_map<(y, x, p, l, i, j, c) -> (y, x, p, l)>] bounds [56, 56, 2, 32, 3, 3, 64]
        tile [d3 = 32 in panels]
        : tensor<58x58x64xf32>, tensor<2x3x3x64x32xf32> -> tensor<56x56x2x32xf32>
    %c = graph.reshape %c_1 : tensor<56x56x2x32xf32> -> tensor<56x56x64xf32>

A register tile of a convolution is some places of the image by some output channels: an element of the image
is multiplied by a vector of weights, wherever the channels are in either. Two vectors make a panel; channels
that fill none are followed by zeros, which nothing reads. `tile` says how wide they are: tile-convolutions
has as many columns, and chooses the rows. A convolution is a contraction of two operands, in a type that
tiles add up in, of which one is read in windows or in steps, with one dim that indexes nothing but the other.

Weights are copied if each is used a few times: read where they lie they are a cache line each. Where the
input channels of an image are apart, or too many for the first cache, all of a window follows some of them,
before it does the next ones.

An image with a border that is a copy gets some columns more, which nothing reads, where the first cache could
not hold lines of as many channels as follow one another: those of 16x16 places are 1 KiB apart, which share
few places in it, those of 16x17 are not.

Images may have extents of named dims, which count as the greatest that they may be. The weights have numbers.

Requires: nothing; simplify-contractions brings the dims in order. Ensures: results are those before, sums of
floats up to their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import Extent, bounded, upper_bound
from ....dialects.element_types import NBYTES, compute_type
from ....dialects.graph import (
    Combination,
    LinearIndex,
    MemoryModeAttr,
    ReduceKind,
    TileAttr,
    TileDim,
    iteration_extents,
)
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ....dialects.low.tile import SUM_TYPES
from ....dialects.memory_modes import ModeKind
from ....dialects.tile_sizes import TileSize
from ....semantics.numpy_types import dense_of
from ....semantics.tensor_ops import evaluate
from ...indices.access import planned_dims
from ...machine.cost import LINE_NBYTES
from ...machine.target import L1_NBYTES, VECTOR_NBYTES, check_positive
from ...machine.tile_shape import VECTORS_OF_CHANNELS, rows_held
from ..builder import GraphBuilder
from .constant_views import constant_array
from .contract_views import stride_along

LEAST_CHANNELS = 8
"""With fewer output channels a tile has too few columns to be worth it."""

MOST_CHANNELS, LEAST_IN_BLOCK = 32, 16
"""How many input channels the window is read for before it is for the next ones."""

LARGE_PLACE_NBYTES = 1024
"""
Channels side by side are taken in blocks too where those of a place have so many bytes: a window over a tile
of 14 places, 42 of them, leaves the first cache otherwise.
"""

LEAST_PRODUCTS = 1 << 15
"""A smaller convolution is not worth another kernel."""

LEAST_USES = 4
"""How often each weight must be used at least."""


@dataclass(frozen=True)
class PackConvolutionsPass(ModulePass):
    """Copies the weights of convolutions into panels of neighbouring output channels."""

    name = "pack-convolutions"
    vector_nbytes: int = VECTOR_NBYTES
    l1_nbytes: int = L1_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l1_nbytes")
        for contraction in [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]:
            convolution = convolution_of(contraction)
            if convolution is not None:
                _spread_channels(convolution, self.l1_nbytes)
                lanes = self.vector_nbytes // NBYTES[compute_type(_element_type(contraction.result))]
                _pack(convolution, VECTORS_OF_CHANNELS * max(lanes, 1))


@dataclass(frozen=True, slots=True)
class Convolution:
    """A contraction with its image and its weights told apart."""

    op: graph.ContractOp
    extents: tuple[Extent, ...]
    of_weights: dict[int, int]
    """The extents of the dims that index the weights."""
    image: int
    """The number of the operand that is read in windows."""
    indices: tuple[tuple[LinearIndex, ...], tuple[LinearIndex, ...]]
    channel: int
    """The dim of the output channels."""
    axis: int
    """The axis of the weights that it is."""
    folded: tuple[int, ...]
    """The other dims, of the input channels and of the window, outermost first."""

    @property
    def weights(self) -> SSAValue:
        return self.op.inputs[1 - self.image]

    @property
    def uses(self) -> int:
        """How often each weight is used, at most."""
        dims = planned_dims(self.op)
        others = (extent for dim, extent in enumerate(self.extents) if dim not in self.of_weights)
        return prod(upper_bound(bounded(extent, dims)) for extent in others)

    @property
    def element_nbytes(self) -> int:
        return NBYTES[_element_type(self.op.inputs[self.image])]

    def image_stride(self, dim: int) -> Extent:
        """Returns how many elements apart neighbours along a dim are in the image."""
        shape = shape_of(tensor_type_of(self.op.inputs[self.image], self.op.name))
        return stride_along(dim, self.indices[self.image], shape)


def _element_type(value: SSAValue):
    return tensor_type_of(value, graph.ContractOp.name).element_type


def convolution_of(op: graph.ContractOp) -> Convolution | None:
    """Returns the convolution that a contraction is, if it is one whose weights are worth a copy."""
    extents = iteration_extents(op)
    if len(op.inputs) != 2 or any(extent == DYNAMIC_INDEX or extent == 0 for extent in extents):
        return None
    if (
        op.tile is not None
        or op.accumulate.data is not ReduceKind.ADD
        or op.combine.data is not Combination.MUL
    ):
        return None
    if compute_type(_element_type(op.result)) not in SUM_TYPES:
        return None
    indices = tuple(_indices(map) for map in op.operand_maps)
    first, second = indices
    if len(op.result_dims) == len(extents):
        return None
    stepped = [n for n, operand in enumerate(indices) if any(index.is_stepped for index in operand)]
    if len(stepped) != 1:
        return None
    (image,) = stepped
    of_image = {dim for index in indices[image] for dim, _ in index.factors}
    channels = [dim for dim in op.result_dims if dim not in of_image]
    folded = tuple(dim for dim in range(len(extents)) if dim not in op.result_dims)
    needed = {dim for index in indices[1 - image] for dim, _ in index.factors}.union(channels, folded)
    of_weights = {dim: extent for dim in needed if isinstance(extent := extents[dim], int)}
    if len(of_weights) < len(needed) or len(channels) != 1 or of_weights[channels[0]] < LEAST_CHANNELS:
        return None
    axis = next(n for n, index in enumerate(indices[1 - image]) if index.plain_dim == channels[0])
    found = Convolution(op, extents, of_weights, image, (first, second), channels[0], axis, folded)
    if found.uses < LEAST_USES or found.uses * prod(of_weights.values()) < LEAST_PRODUCTS:
        return None
    return _blocked(found)


def _blocked(convolution: Convolution) -> Convolution:
    """
    Has all of a window follow so many input channels, where these are apart in the image or many: what is
    read of them then stays in the first cache for the window.
    """
    *outer, inner = convolution.folded
    extent = convolution.of_weights[inner]
    sizes = (size for size in range(MOST_CHANNELS, LEAST_IN_BLOCK - 1, -1) if extent % size == 0)
    size = next(sizes, extent)
    if not outer or extent <= MOST_CHANNELS or size == extent:
        return convolution
    if convolution.image_stride(inner) == 1 and extent * convolution.element_nbytes < LARGE_PLACE_NBYTES:
        return convolution
    block = len(convolution.extents)
    extents = list(convolution.extents)
    extents[inner] = size
    of_weights = {**convolution.of_weights, inner: size, block: extent // size}

    def split(index: LinearIndex) -> LinearIndex:
        factor = index.factor(inner)
        return LinearIndex((*index.factors, (block, factor * size)), index.constant) if factor else index

    first, second = (tuple(map(split, indices)) for indices in convolution.indices)
    return replace(
        convolution,
        extents=(*extents, extent // size),
        of_weights=of_weights,
        indices=(first, second),
        folded=(block, *outer, inner),
    )


def _spread_channels(convolution: Convolution, l1_nbytes: int) -> None:
    """
    Gives an image that is copied with a border more columns, as many as it takes for the first cache to hold
    lines of all channels that a sum takes one after the other. 8 images of 256 channels of 16x16 places take
    0.89 of the time with a first cache of 32 KiB, 128 channels of 32x32 in steps of 2 0.76.
    """
    channels, image = convolution.folded[-1], convolution.op.inputs[convolution.image]
    pad, stride = image.owner, convolution.image_stride(channels)
    # Views of which nothing is read any more are no readers.
    readers = {use.operation for use in image.uses if any(each.uses for each in use.operation.results)}
    if not isinstance(pad, graph.PadOp) or len(readers) > 1 or stride == 1:
        return
    shape = shape_of(tensor_type_of(image, pad.name))
    if not isinstance(stride, int) or not isinstance(shape[-1], int):
        return
    read, rows = convolution.of_weights[channels], stride * convolution.element_nbytes // shape[-1]
    widths = range(shape[-1], shape[-1] + LINE_NBYTES // convolution.element_nbytes + 1)
    width = next((each for each in widths if rows_held(rows * each, l1_nbytes) >= read), shape[-1])
    if width > shape[-1]:
        high = [*pad.high.data[:-1], pad.high.data[-1] + width - shape[-1]]
        wider = graph.PadOp(pad.source, pad.value, pad.low, high, pad.interior)
        convolution.op.operands[convolution.image] = GraphBuilder(pad).add(wider, image.name_hint)


def _indices(map: AffineMap) -> tuple[LinearIndex, ...]:
    return tuple(LinearIndex.of(expr) for expr in map.results)


def _pack(convolution: Convolution, width: int) -> None:
    op, extents, channel = convolution.op, list(convolution.extents), convolution.channel
    builder = GraphBuilder(op)
    count = convolution.of_weights[channel]
    width = min(width, count)
    panels = -(-count // width)
    lane = len(extents)
    # Dim `channel` becomes the number of the panel, and dim `lane`, the last one, the place in it.
    extents[channel] = panels
    extents.append(width)
    weights = _copied(builder, convolution, panels, width)
    result_dims: list[int] = []
    for dim in op.result_dims:
        result_dims += [channel, lane] if dim == channel else [dim]
    dims = [*result_dims, *convolution.folded]
    place = {dim: number for number, dim in enumerate(dims)}
    image_map = _moved(convolution.indices[convolution.image], place, len(dims))
    shared = _shared(convolution)
    packed = [*shared, channel, *convolution.folded, lane]
    weights_map = AffineMap(len(dims), 0, tuple(AffineExpr.dimension(place[dim]) for dim in packed))
    inputs, maps = [op.inputs[convolution.image], weights], [image_map, weights_map]
    type = tensor_type_of(op.result, op.name)
    shape = tuple(extents[dim] for dim in result_dims)
    new = graph.ContractOp(
        inputs,
        [*maps, AffineMap(len(dims), 0, tuple(map(AffineExpr.dimension, range(len(result_dims)))))],
        tensor_of(type.element_type, shape),
        bounds=[extents[dim] for dim in dims],
        tile=TileAttr.of(TileDim(place[lane], TileSize(width, in_panels=True))),
        fastmath=op.fastmath,
    )
    new.attributes.update(op.attributes)
    result = builder.add(new, op.result.name_hint)
    at = op.result_dims.index(channel)
    whole = (*shape[:at], panels * width, *shape[at + 2 :])
    result = builder.add(graph.ReshapeOp(result, tensor_of(type.element_type, whole)))
    if panels * width != count:
        rank = len(whole)
        result = builder.add(graph.SliceOp(result, [0] * rank, shape_of(type), [1] * rank))
    op.result.replace_all_uses_with(result)
    op.detach()
    op.erase()


def _shared(convolution: Convolution) -> list[int]:
    """Returns the result's dims that index the weights beside the output channels: groups."""
    kept = convolution.op.result_dims
    found = [index.plain_dim for index in convolution.indices[1 - convolution.image]]
    return [dim for dim in kept if dim in found and dim != convolution.channel]


def _copied(builder: GraphBuilder, convolution: Convolution, panels: int, width: int) -> SSAValue:
    """Returns the weights with the axes: groups, panels, what is folded, places in a panel."""
    weights, extents = convolution.weights, convolution.of_weights
    type = tensor_type_of(weights, graph.ContractOp.name)
    hint = weights.name_hint
    missing = panels * width - extents[convolution.channel]
    array = constant_array(weights)
    high = [missing if axis == convolution.axis else 0 for axis in range(len(type.get_shape()))]
    if missing and array is not None:
        array = np.pad(array, [(0, more) for more in high])
    elif missing:
        zero = builder.scalar(0, type.element_type)
        weights = builder.add(graph.PadOp(weights, zero, [0] * len(high), high))
    shared = _shared(convolution)
    dims = [*shared, -1, *convolution.folded, -2]
    place = {dim: number for number, dim in enumerate(dims)}
    shape = [
        *(extents[dim] for dim in shared),
        panels,
        *(extents[dim] for dim in convolution.folded),
        width,
    ]
    results: list[AffineExpr] = []
    for index in convolution.indices[1 - convolution.image]:
        if index.plain_dim == convolution.channel:
            results.append(AffineExpr.dimension(place[-1]) * width + AffineExpr.dimension(place[-2]))
        else:
            results.append(index.moved(place).expr)
    copy = graph.ContractOp(
        [weights],
        [AffineMap(len(dims), 0, tuple(results)), AffineMap.identity(len(dims))],
        tensor_of(type.element_type, tuple(shape)),
        bounds=shape,
    )
    hint = None if hint is None else f"{hint}_packed"
    if array is not None:
        constant = dense_of(evaluate(copy, [array]), tensor_of(type.element_type, tuple(shape)))
        return builder.add(graph.ConstantOp(constant), hint)
    why = f"packed, {width} output channels side by side"
    copy.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, why)
    return builder.add(copy, hint)


def _moved(indices: Sequence[LinearIndex], place: dict[int, int], count: int) -> AffineMap:
    return AffineMap(count, 0, tuple(index.moved(place).expr for index in indices))
