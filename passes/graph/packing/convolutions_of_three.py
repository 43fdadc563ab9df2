"""Convolutions of windows of 3 by 3 in steps of one, by the dims of their contractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects import graph
from ....dialects.dims.expressions import Extent
from ....dialects.graph import Combination, LinearIndex, ReduceKind, iteration_extents


@dataclass(frozen=True, slots=True)
class ConvolutionOfThree:
    """A convolution of windows of 3 by 3, by the dims of its contraction."""

    op: graph.ContractOp
    image: int
    """The number of the operand that is read in windows."""
    places: tuple[int, int]
    """The dims of the rows and the columns of the result."""
    window: tuple[int, int]
    inputs: int
    """The dim of the input channels."""
    outputs: int
    of_weights: tuple[int, ...]
    """The dims of the weights' axes, without those of 1."""
    indices: tuple[LinearIndex, ...]
    """How the image is indexed."""
    extents: tuple[Extent, ...]

    @property
    def weights(self) -> SSAValue:
        return self.op.inputs[1 - self.image]

    def image_axis(self, dim: int) -> int:
        """Returns the axis of the image that moves with a dim."""
        return next(n for n, index in enumerate(self.indices) if index.factor(dim))


def convolution_of_three(op: graph.ContractOp) -> ConvolutionOfThree | None:
    """Returns the convolution of windows of 3 by 3 that a contraction is, if it is one."""
    if len(op.inputs) != 2 or op.tile is not None:
        return None
    if op.accumulate.data is not ReduceKind.ADD or op.combine.data is not Combination.MUL:
        return None
    first, second = (tuple(LinearIndex.of(expr) for expr in map.results) for map in op.operand_maps)
    extents = iteration_extents(op)
    stepped = [any(index.is_stepped for index in indices) for indices in (first, second)]
    if stepped.count(True) != 1:
        return None
    image = stepped.index(True)
    kept = op.result_dims
    places: list[int] = []
    window: list[int] = []
    plain: list[int] = []
    for index in (first, second)[image]:
        if index.plain_dim is not None:
            plain.append(index.plain_dim)
            continue
        dims = dict(index.factors)
        inside, outside = [dim for dim in dims if dim not in kept], [dim for dim in dims if dim in kept]
        if index.constant or len(inside) != 1 or len(outside) != 1 or set(dims.values()) != {1}:
            return None
        places += outside
        window += inside
    # The dim of a single group is no reason to compute it otherwise.
    of_weights = [dim for dim in _weight_dims((first, second)[1 - image]) if extents[dim] != 1]
    outputs = [dim for dim in kept if dim in of_weights]
    inputs = [dim for dim in plain if dim not in kept]
    if (
        len(window) != 2
        or [extents[dim] for dim in window] != [3, 3]
        or len(outputs) != 1
        or len(inputs) != 1
    ):
        return None
    if {*window, *inputs, *outputs} != set(of_weights) or len(of_weights) != 4 or outputs[0] in plain:
        return None
    if sorted((*kept, *window, *inputs)) != list(range(len(extents))):
        return None
    y, x = places
    i, j = window
    return ConvolutionOfThree(
        op,
        image,
        (y, x),
        (i, j),
        inputs[0],
        outputs[0],
        tuple(of_weights),
        (first, second)[image],
        tuple(extents),
    )


def _weight_dims(indices: Sequence[LinearIndex]) -> list[int]:
    """Returns the dims that weights are indexed with; none where an index is anything else than one dim."""
    dims = [index.plain_dim for index in indices]
    return [dim for dim in dims if dim is not None] if None not in dims else []
