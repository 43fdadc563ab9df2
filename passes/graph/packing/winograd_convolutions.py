"""
Has convolutions of windows of 3 by 3 multiply sums of tiles, 16 products where there were 36.

    %y = graph.contract %x, %w maps [affine_map<(n, y, x, o, i, j, c) -> (n, y + i, x + j, c)>,
        affine_map<(n, y, x, o, i, j, c) -> (i, j, c, o)>, affine_map<(n, y, x, o, i, j, c) -> (n, y, x, o)>]
        bounds [8, 56, 56, 64, 3, 3, 64] fastmath<fast>
        : tensor<8x58x58x64xf32>, tensor<3x3x64x64xf32> -> tensor<8x56x56x64xf32>

-->

    %x_rows = graph.winograd_input_transform %x axis 1 : ... -> tensor<4x8x28x58x64xf32>
    %x_tiles = graph.winograd_input_transform %x_rows axis 3 : ... -> tensor<4x4x8x28x28x64xf32>
    %w_rows = graph.winograd_filter_transform %w axis 0 : ... -> tensor<4x3x64x64xf32>
    %w_tiles = graph.winograd_filter_transform %w_rows axis 1 : ... -> tensor<4x4x64x64xf32>
    %y_tiles = graph.contract %x_tiles, %w_tiles maps
        [affine_map<(b, a, n, t, u, o, c) -> (b, a, n, t, u, c)>,
        affine_map<(b, a, n, t, u, o, c) -> (b, a, c, o)>, ...] : ... -> tensor<4x4x8x28x28x64xf32>
    %y_rows = graph.winograd_output_transform %y_tiles axis 4 : ... -> tensor<4x8x28x56x64xf32>
    %y = graph.winograd_output_transform %y_rows axis 1 : ... -> tensor<8x56x56x64xf32>

F(2 x 2, 3 x 3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016 (arXiv
1509.09308). One kernel makes the sums of an image, and reads it through its border; 16 products of matrices
follow, and what follows the convolution is done where their sums are added. Where the result has an odd
extent, the last tile is half used.

An infinity or NaN of one place would be in all four results of a tile, and sums may overflow that products do
not: the `fastmath` of the convolution must have `nnan`, `ninf` and `reassoc`. The weights must be constants
or frozen: transformed weights, 16 for each 9, are made once. Images are of f32 and lie with their channels
last, as lay-channels-last has them, the step is 1, and each output channel is of all input channels. Of a
convolution that is left alone `note` says why.

Requires: nothing. Ensures: results of finite numbers are those before, up to the rounding that
docs/accuracy.md states.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, f32
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.passes import ModulePass

from ....dialects import graph
from ....dialects.dims.expressions import Extent, bounded, upper_bound, without_ones
from ....dialects.element_types import NBYTES
from ....dialects.graph import MemoryModeAttr
from ....dialects.graph.types import shape_of, tensor_of, tensor_type_of
from ....dialects.memory_modes import ModeKind
from ....semantics.numpy_types import dense_of
from ....semantics.tensor_ops import evaluate
from ...indices.access import planned_dims
from ...machine.target import L2_NBYTES, check_positive
from ..builder import GraphBuilder
from .channel_order import is_last_where_read, is_last_where_stored
from .constant_views import constant_array
from .convolutions_of_three import ConvolutionOfThree, convolution_of_three
from .frozen_values import frozen_values

NEEDED_FLAGS = (FastMathFlag.REASSOC, FastMathFlag.NO_NANS, FastMathFlag.NO_INFS)

# 56x56 of 16 channels takes as long as before, of 32 0.88 of the time, of 64 0.7, where 64 become 16 1.2.
LEAST_CHANNELS = 32
"""With fewer input or output channels, sums of tiles take longer than the products that they save."""

# 8 images of 56x56 of 32 channels take 1.15 times as long, 128x128 of 48 0.8, 8 of 56x56 of 64 0.79.
LEAST_CHANNELS_FAR = 48
"""The same where the second cache does not hold the sums of all tiles."""

# 7x7 of 512 channels: in ResNet-18 1 image (16 tiles) takes 1.6 times as long and 8 images 0.74; alone 2
# images take 1.06 and 4 images 0.86. 14x14 of 256 channels, 49 tiles, takes 0.73 in ResNet-18.
LEAST_TILES_FAR = 48
"""How many tiles there are at least where the second cache does not hold the sums of the weights."""

_PRODUCTS = 16
"""How many products a tile has for each input and output channel: so many matrices there are."""


@dataclass(frozen=True)
class WinogradConvolutionsPass(ModulePass):
    """Has convolutions of windows of 3 by 3 multiply sums of tiles, 16 products where there were 36."""

    name = "winograd-convolutions"
    l2_nbytes: int = L2_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "l2_nbytes")
        contractions = [inner for inner in op.walk() if isinstance(inner, graph.ContractOp)]
        found = [each for each in map(convolution_of_three, contractions) if each is not None]
        if found:
            frozen = frozen_values(op.ops)
            for convolution in found:
                obstacle = _obstacle(convolution, frozen, self.l2_nbytes)
                if obstacle is None:
                    _rewrite(convolution)
                else:
                    # `tenon.explain` tells it.
                    convolution.op.attributes["note"] = StringAttr(
                        f"all 36 products of a tile, as {obstacle}"
                    )


def _obstacle(convolution: ConvolutionOfThree, frozen: Container[SSAValue], l2_nbytes: int) -> str | None:
    """Returns why a convolution is computed as it is; None where sums of tiles are allowed and faster."""
    op = convolution.op
    if any(tensor_type_of(value, op.name).element_type != f32 for value in (*op.inputs, op.result)):
        return "it is not of f32"
    if convolution.weights not in frozen and constant_array(convolution.weights) is None:
        return "its weights may change from call to call"
    image = op.inputs[convolution.image], convolution.image_axis(convolution.inputs)
    result = op.result, op.result_dims.index(convolution.outputs)
    if not is_last_where_read(*image) or not is_last_where_stored(*result):
        return "its channels are not neighbours"
    dims = planned_dims(op)
    most = {dim: upper_bound(bounded(convolution.extents[dim], dims)) for dim in op.result_dims}
    inputs, outputs = (_number(convolution.extents[dim]) for dim in (convolution.inputs, convolution.outputs))
    if not all(isinstance(convolution.extents[dim], int) for dim in convolution.places):
        return "how many places an image has varies from call to call"
    halves = prod(-(-most[dim] // 2) for dim in convolution.places)
    others = prod(most[dim] for dim in op.result_dims if dim not in convolution.places)
    tiles = halves * others // outputs
    nbytes = NBYTES[f32] * _PRODUCTS
    is_far = tiles * (inputs + outputs) * nbytes > l2_nbytes
    least = LEAST_CHANNELS_FAR if is_far else LEAST_CHANNELS
    if min(inputs, outputs) < least:
        return f"there are less than {least} channels"
    if inputs * outputs * nbytes > l2_nbytes and tiles < LEAST_TILES_FAR:
        return f"there are less than {LEAST_TILES_FAR} tiles for weights that the second cache does not hold"
    flags = () if op.fastmath is None else op.fastmath.data
    missing = [flag.value for flag in NEEDED_FLAGS if flag not in flags]
    if missing:
        return f"its fastmath lacks {', '.join(missing)}"
    return None


def _rewrite(convolution: ConvolutionOfThree) -> None:
    op = convolution.op
    builder = GraphBuilder(op)
    hint = op.result.name_hint
    tiles = _image_tiles(builder, convolution)
    weights = _weight_tiles(builder, convolution)
    # The dims of the products: which sum along the columns, along the rows, then those of the result.
    kept = [dim for dim in op.result_dims if dim != convolution.outputs] + [convolution.outputs]
    count = len(kept) + 3
    dims = {dim: AffineExpr.dimension(number) for number, dim in enumerate(kept, 2)}
    sums = [AffineExpr.dimension(0), AffineExpr.dimension(1)]
    dims[convolution.inputs] = AffineExpr.dimension(count - 1)
    read = [next(dim for dim, _ in index.factors if dim in dims) for index in convolution.indices]
    of_image = [dims[dim] for dim in read if dim != convolution.inputs] + [dims[convolution.inputs]]
    of_weights = [dims[dim] for dim in convolution.of_weights if dim not in convolution.window]
    maps = [AffineMap(count, 0, (*sums, *each)) for each in (of_image, of_weights)]
    halves = {dim: -(-_number(convolution.extents[dim]) // 2) for dim in convolution.places}
    shape = [halves.get(dim, convolution.extents[dim]) for dim in kept]
    products = graph.ContractOp(
        [tiles, weights],
        [*maps, AffineMap(count, 0, (*sums, *(dims[dim] for dim in kept)))],
        tensor_of(f32, (4, 4, *shape)),
        fastmath=op.fastmath,
    )
    result = builder.add(products, _named(hint, "tiles"))
    y, x = (kept.index(dim) for dim in convolution.places)
    rows = graph.WinogradOutputTransformOp(result, x + 1)
    rows.attributes["memory_mode"] = MemoryModeAttr(ModeKind.VIRTUAL, "sums of what the same tile has")
    result = builder.add(rows, _named(hint, "rows"))
    whole = graph.WinogradOutputTransformOp(result, y)
    result = builder.add(whole, hint)
    shape = [convolution.extents[dim] for dim in kept]
    if list(shape_of(tensor_type_of(result, op.name))) != shape:
        rank = len(shape)
        result = builder.add(graph.SliceOp(result, [0] * rank, shape, [1] * rank), hint)
    if kept != list(op.result_dims):
        result = builder.add(graph.PermuteOp(result, [kept.index(dim) for dim in op.result_dims]), hint)
    op.result.replace_all_uses_with(result)
    op.detach()
    op.erase()


def _image_tiles(builder: GraphBuilder, convolution: ConvolutionOfThree) -> SSAValue:
    """Returns the sums of the tiles of an image: along its columns, along its rows, then as the image is."""
    image = convolution.op.inputs[convolution.image]
    hint = image.name_hint
    rank = tensor_type_of(image, graph.ContractOp.name).get_num_dims()
    y, x = map(convolution.image_axis, convolution.places)
    missing = [0] * rank
    for axis, dim in zip((y, x), convolution.places, strict=True):
        missing[axis] = _number(convolution.extents[dim]) % 2
    image = _with_border(builder, image, missing)
    channels = convolution.image_axis(convolution.inputs)
    if channels != rank - 1:
        order = [axis for axis in range(rank) if axis != channels] + [channels]
        image = builder.add(graph.PermuteOp(image, order), hint)
        y, x = order.index(y), order.index(x)
    rows = graph.WinogradInputTransformOp(image, y)
    rows.attributes["memory_mode"] = MemoryModeAttr(ModeKind.VIRTUAL, "sums of what the same tile has")
    sums = builder.add(rows, _named(hint, "rows"))
    tiles = graph.WinogradInputTransformOp(sums, x + 1)
    why = "sums of tiles, by which 16 products are a convolution's 36"
    tiles.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, why)
    return builder.add(tiles, _named(hint, "tiles"))


def _with_border(builder: GraphBuilder, image: SSAValue, missing: Sequence[int]) -> SSAValue:
    """
    Returns an image with more behind its last places, where a border is read without a copy. What is there
    counts for results only that nobody reads.
    """
    owner, low, high = image.owner, [0] * len(missing), list(missing)
    type = tensor_type_of(image, graph.ContractOp.name)
    if isinstance(owner, graph.ReshapeOp) and image.has_one_use():
        before, after = shape_of(tensor_type_of(owner.source, owner.name)), shape_of(type)
        if without_ones(before) == without_ones(after):
            wanted = iter([more for extent, more in zip(after, missing, strict=True) if extent != 1])
            source = _with_border(
                builder, owner.source, [0 if each == 1 else next(wanted) for each in before]
            )
            shape = tuple(extent + more for extent, more in zip(after, missing, strict=True))
            return builder.add(graph.ReshapeOp(source, tensor_of(f32, shape)), image.name_hint)
    source, value = image, None
    if isinstance(owner, graph.PadOp) and all(step == 1 for step in owner.steps) and image.has_one_use():
        source, value = owner.source, owner.value
        low = list(owner.low.data)
        high = [width + more for width, more in zip(owner.high.data, missing, strict=True)]
    elif not any(missing):
        return image
    if value is None:
        value = builder.scalar(0.0, f32)
    pad = graph.PadOp(source, value, low, high)
    pad.attributes["memory_mode"] = MemoryModeAttr(ModeKind.VIRTUAL, "a border that tiles are read through")
    return builder.add(pad, image.name_hint)


def _weight_tiles(builder: GraphBuilder, convolution: ConvolutionOfThree) -> SSAValue:
    """
    Returns the sums of weights: along columns, along rows, then for the channels in the order that they have.
    """
    weights, axes = convolution.weights, convolution.of_weights
    hint, array = weights.name_hint, constant_array(weights)
    shape = tuple(_number(convolution.extents[dim]) for dim in axes)
    i, j = map(axes.index, convolution.window)
    made: list[graph.GraphOp] = []
    if shape_of(tensor_type_of(weights, graph.ContractOp.name)) != shape:
        made.append(graph.ReshapeOp(weights, tensor_of(f32, shape)))
    # After the first one the sums are in front, and its axis is gone.
    for axis in (i, j + 1 - (i < j)):
        source = made[-1].results[0] if made else weights
        made.append(graph.WinogradFilterTransformOp(source, axis))
    rows, tiles = made[-2:]
    if array is not None:
        for op in made:
            array = evaluate(op, [array])
        dense = dense_of(array, tensor_type_of(tiles.results[0], tiles.name))
        for op in reversed(made):
            op.erase()
        return builder.add(graph.ConstantOp(dense), _named(hint, "tiles"))
    rows.attributes["memory_mode"] = MemoryModeAttr(ModeKind.VIRTUAL, "sums of what the same window has")
    tiles.attributes["memory_mode"] = MemoryModeAttr(ModeKind.MATERIALIZED, "sums of weights, 16 for each 9")
    for op in made[:-2]:
        builder.add(op, hint)
    builder.add(rows, _named(hint, "rows"))
    return builder.add(tiles, _named(hint, "tiles"))


def _number(extent: Extent) -> int:
    assert isinstance(extent, int), f"{extent} varies"
    return extent


def _named(hint: str | None, what: str) -> str | None:
    return None if hint is None else f"{hint}_{what}"
