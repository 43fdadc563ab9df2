"""Sorts along a dim that is split: each rank sorts its part, then pairs of ranks merge theirs."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects import graph
from ....dialects.element_types import element_type_of, is_float
from ....dialects.graph import tensor_of
from ....dialects.sharding.blocks import length
from ....semantics.numpy_types import Array, dense_of, dtype_of
from ..networks import Network, network_of
from ..part import Part, block_part
from ..program import RankProgram
from .op_at_rank import Axes, OpAtRank
from .owned_indices import known


def order(at: OpAtRank) -> SSAValue:
    """This rank's part of the elements in order, or of their positions, as on one rank."""
    op, program = at.op, at.program
    assert isinstance(op, graph.SortOp | graph.ArgsortOp)
    dim = op.axis.data
    factor = at.rule.results[0][dim]
    axes = () if factor is None else at.axes[factor]
    if not axes:
        return program.add(at.copied(at.operands, [at.result_type]))
    extent, count = known(program.shape(op.source)[dim]), program.mesh.count(axes)
    size = -(-extent // count)
    # Merges need parts of one length. What is added lies behind all elements, and stays there.
    blocks = Part(axes, tuple((min(k * size, extent), min((k + 1) * size, extent)) for k in range(count)))
    own = block_part(program.mesh, extent, axes)
    merges = _Merges(op, program, axes, size, network_of(op, extent, count))
    found = merges.sorted(program.fetch(at.operand(0), dim, own, blocks))
    found = program.slice(found, dim, (0, length(program.mine(blocks))))
    found = program.fetch(found, dim, blocks, own)
    return program.add(graph.CastOp(found, at.result_type)) if found.type != at.result_type else found


class _Merges:
    """Writes a network: `size` elements along the dim for each member."""

    def __init__(
        self,
        op: graph.SortOp | graph.ArgsortOp,
        program: RankProgram,
        axes: Axes,
        size: int,
        network: Network,
    ) -> None:
        self._program = program
        self._axes = axes
        self._size = size
        self._network = network
        self._dim = op.axis.data
        self._descending = op.descending is not None
        self._gives_positions = isinstance(op, graph.ArgsortOp)
        self._member = program.mesh.member(axes, program.rank)

    def sorted(self, values: SSAValue) -> SSAValue:
        """Returns this member's part of the elements in order, or of their places in the whole."""
        program, number = self._program, self._network.number
        values, numbers = self._padded(values), None
        if number is None:
            values = program.add(graph.SortOp(values, self._dim, self._descending))
        else:
            places = program.add(graph.ArgsortOp(values, self._dim, self._descending))
            values = self._taken(values, places)
            type = tensor_of(number, program.shape(places))
            first = program.splat(self._member * self._size, type)
            numbers = program.add(graph.AddOp(program.add(graph.CastOp(places, type)), first))
        for pairs in self._network.rounds:
            values, numbers = self._round(pairs, values, numbers)
        if not self._gives_positions:
            return values
        assert numbers is not None, "positions without places"
        return numbers

    def _padded(self, values: SSAValue) -> SSAValue:
        """Returns as many elements as all members have: those that are added come last in the order."""
        program, shape = self._program, list(self._program.shape(values))
        missing = self._size - known(shape[self._dim])
        if not missing:
            return values
        shape[self._dim] = missing
        element = element_type_of(values.type)
        scalar = program.add(
            graph.ConstantOp(dense_of(_last(element, self._descending), tensor_of(element, ())))
        )
        last = program.add(graph.BroadcastOp(scalar, tensor_of(element, tuple(shape))))
        return program.concat([values, last], self._dim)

    def _round(
        self, pairs: tuple[tuple[int, int], ...], values: SSAValue, numbers: SSAValue | None
    ) -> tuple[SSAValue, SSAValue | None]:
        program = self._program
        pair = next((pair for pair in pairs if self._member in pair), None)
        both = [self._both(pairs, pair, part) for part in (values, numbers) if part is not None]
        if pair is None:
            return values, numbers
        is_low = self._member == pair[0]
        kept = (0, self._size) if is_low else (self._size, 2 * self._size)
        if numbers is None:
            merged = program.add(graph.SortOp(both[0], self._dim, self._descending))
            return program.slice(merged, self._dim, kept), None
        # By their places first: the sort of values keeps the order of equal ones.
        places = program.add(graph.ArgsortOp(both[1], self._dim))
        both = [self._taken(part, places) for part in both]
        places = program.add(graph.ArgsortOp(both[0], self._dim, self._descending))
        places = program.slice(places, self._dim, kept)
        first, second = (self._taken(part, places) for part in both)
        return first, second

    def _both(
        self, pairs: tuple[tuple[int, int], ...], pair: tuple[int, int] | None, part: SSAValue
    ) -> SSAValue:
        """Returns what a pair has, the lower member's first; all members take part in the exchange."""
        program, shape = self._program, list(self._program.shape(part))
        if pair is None:
            shape[self._dim] = 0
        type: TensorType[Attribute] = tensor_of(element_type_of(part.type), tuple(shape))
        ways = [way for low, high in pairs for way in ((low, high), (high, low))]
        op = graph.CollectivePermuteOp(part, program.mesh.name, self._axes, ways, program.channel(), type)
        other = program.add(op)
        is_low = pair is not None and self._member == pair[0]
        return program.concat([part, other] if is_low else [other, part], self._dim)

    def _taken(self, values: SSAValue, places: SSAValue) -> SSAValue:
        """Returns the elements at some places of the dim."""
        program, shape = self._program, self._program.shape(places)
        indices = [
            places if dim == self._dim else program.add(graph.IotaOp(dim, tensor_of(i64, shape)))
            for dim in range(len(shape))
        ]
        return program.add(graph.GatherOp(values, indices, range(len(shape))))


def _last(element: Attribute, descending: bool) -> Array:
    """Returns an element that comes after all others, or is equal to the last of them."""
    dtype = dtype_of(tensor_of(element, ()))
    if is_float(element):
        return np.array(np.nan, dtype)
    if dtype.kind == "b":
        return np.array(not descending)
    limits = np.iinfo(dtype)
    return np.array(limits.min if descending else limits.max, dtype)
