"""An op of the program over the mesh, as one rank sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.dims.expressions import Extent
from ....dialects.graph import ReduceKind
from ....dialects.graph.types import tensor_type_of
from ....dialects.sharding import Interval, Sharding
from ..part import Part, block_part
from ..program import RankProgram
from ..rule import Dims, FactorKind, Rule, split_by

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Partial:
    """A partial result, how those of all members are combined, and what makes the result of that."""

    value: SSAValue
    kind: ReduceKind
    finish: Callable[[SSAValue], SSAValue] | None = None


@dataclass(frozen=True)
class OpAtRank:
    """An op, the axes of the mesh that split each of its factors, and where the rank's program is written."""

    program: RankProgram
    op: Operation
    rule: Rule
    axes: tuple[Axes, ...]

    def sharding(self, dims: Dims) -> Sharding:
        """Returns how a value whose dims belong to these factors is split."""
        return split_by(self.axes, dims)

    def operand(self, number: int) -> SSAValue:
        """Returns this rank's part of an operand, split as the factors of its dims are."""
        return self.program.at(self.op.operands[number], self.sharding(self.rule.operands[number]))

    @property
    def operands(self) -> list[SSAValue]:
        return [self.operand(number) for number in range(len(self.op.operands))]

    @property
    def result_sharding(self) -> Sharding:
        return self.sharding(self.rule.results[0])

    @property
    def result_type(self) -> TensorType[Any]:
        """The type of this rank's part of the first result."""
        type = self.program.local_type(self.op.results[0], self.result_sharding)
        return tensor_type_of(type, self.op.name)

    def interval(self, factor: int | None, extent: Extent) -> Interval:
        """Returns the indices of a factor of `extent` that are this rank's."""
        return self.program.mine(self.part(factor, extent))

    def part(self, factor: int | None, extent: Extent) -> Part:
        axes = () if factor is None else self.axes[factor]
        assert isinstance(extent, int), f"{self.op.name}: a dim of {extent} is split"
        return block_part(self.program.mesh, extent, axes)

    @property
    def reduced(self) -> Axes:
        """The axes over which results are partial, ascending."""
        found = {
            axis
            for factor, axes in zip(self.rule.factors, self.axes, strict=True)
            if factor.kind is FactorKind.REDUCTION
            for axis in axes
        }
        return tuple(sorted(found))

    def copied(self, operands: list[SSAValue], types: list[Attribute]) -> Operation:
        """Returns the same op on other operands, which is not written yet."""
        return type(self.op).create(
            operands=operands,
            result_types=types,
            properties=self.op.properties.copy(),
            attributes=self.op.attributes.copy(),
        )
