"""What ranks compute of their parts and say themselves what they send: manual computations."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from ...dialects import graph
from ...dialects.graph.attributes import ChannelAttr, SplitsAttr
from ...dialects.sharding import Mesh, Sharding
from .program import RankProgram


def shardings_of(splits: SplitsAttr, mesh: Mesh) -> list[Sharding]:
    """Returns how the operands, or the results, of a manual computation are split."""
    return [Sharding(split).on(mesh) for split in splits.data]


def ops_over_mesh(op: Operation) -> Iterator[Operation]:
    """Yields what stands in an op, but for what ranks compute of their parts."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                yield inner
                if not isinstance(inner, graph.ManualComputationOp):
                    yield from ops_over_mesh(inner)


def write_manual(op: graph.ManualComputationOp, program: RankProgram) -> None:
    """
    Writes the region for one rank, on its parts of the operands. Its collectives get channels of the program:
    a region may stand there twice.
    """
    mesh, block = program.mesh, op.body.block
    values: dict[SSAValue, SSAValue] = {}
    before = shardings_of(op.in_splits, mesh)
    for argument, operand, split in zip(block.args, op.operands, before, strict=True):
        values[argument] = program.at(operand, split)
    last = block.last_op
    for inner in block.ops:
        if inner is not last:
            copy = inner.clone(values)
            program.location = inner.location
            _number_channels(copy, program)
            program.write(copy)
    assert last is not None, "a region that ends in nothing"
    program.location = op.location
    after = shardings_of(op.out_splits, mesh)
    for result, part, split in zip(op.results, last.operands, after, strict=True):
        shape, home = program.shape(result), program.home(result)
        program.note(result, program.resharded(values[part], shape, split, home))


def _number_channels(op: Operation, program: RankProgram) -> None:
    for inner in op.walk():
        if isinstance(inner, graph.CollectiveOp):
            inner.channel = ChannelAttr(program.channel())
