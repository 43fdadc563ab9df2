"""
What a schedule is expected to cost, to decide which candidates are tried first. It decides nothing else.

The figures are those of passes/machine/cost.py, which fusion is decided by too. A vector counts as the
registers that it fills; an access along a vector that has a stride, as one for each lane. Loads that do not
change along the rows or columns of a register tile are done once for all of them. A sum waits for its last
step, a step along memory for each cache line that it begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Operation

from ...dialects import low, sched
from ...dialects.dims.expressions import Extent, evaluated
from ...dialects.element_types import NBYTES, element_type_of
from ...dialects.sched import Level
from ...passes.indices.analysis import IndexAnalysis
from ...passes.indices.expressions import Axis
from ...passes.machine.cost import (
    GROUP_PS,
    LATENCY,
    LINE_PS,
    OPERATION_PS,
    access_operations,
    lines_of_step,
)

UNKNOWN_TRIPS = 8
"""How often a loop is taken to run whose bounds depend on data."""


@dataclass(frozen=True, slots=True)
class _Around:
    """
    The loops around a place: how often it runs, the axis that is a vector there and how wide, the innermost
    loop, and the axes of a register tile with their sizes.
    """

    times: float = 1.0
    lanes: tuple[Axis, int] | None = None
    innermost: Axis | None = None
    tile: tuple[tuple[Axis, int], ...] = ()


def estimated_cost(kernel: sched.KernelOp, vector_nbytes: int, sizes: Mapping[str, int]) -> float:
    """Returns about how many picoseconds a run of a scheduled kernel takes, in all work-items together."""
    return _Estimate(vector_nbytes, sizes).of(kernel.body.block, _Around())


class _Estimate:
    def __init__(self, vector_nbytes: int, sizes: Mapping[str, int]) -> None:
        self._vector_nbytes = vector_nbytes
        self._sizes = sizes
        self._analysis = IndexAnalysis()

    def of(self, block: Block, around: _Around) -> float:
        return sum(self._op(op, around) for op in block.ops)

    def _op(self, op: Operation, around: _Around) -> float:
        match op:
            case sched.AxisOp() | sched.ReduceOp():
                return self._loop(op, around)
            case memref.LoadOp() | memref.StoreOp():
                return self._access(op, around)
            case scf.ForOp() | scf.WhileOp() | scf.IfOp():
                trips = 1 if isinstance(op, scf.IfOp) else UNKNOWN_TRIPS
                inside = _Around(around.times * trips, around.lanes, around.innermost, around.tile)
                return sum(self.of(region.block, inside) for region in op.regions if region.blocks)
            case _:
                flops = low.FLOPS.get(type(op), 0)
                if not flops or isinstance(op.operands[0].type, IndexType):
                    return 0.0
                return around.times * flops * self._registers(op.results[0].type, around) * OPERATION_PS

    def _loop(self, op: sched.AxisOp | sched.ReduceOp, around: _Around) -> float:
        axis, mapping = self._analysis.axis(op), op.mapping
        extent = self._evaluated(op.extent)
        vector, unroll, tile = mapping.vector.data, mapping.unroll.data, mapping.tile.data
        lanes, tiles = around.lanes, around.tile
        if isinstance(op, sched.AxisOp) and tile:
            tiles = (*tiles, (axis, tile))
            # The columns of a tile are vectors, whatever what follows the sums is.
            vector = max(vector, 1 if tile < 2 or len(tiles) < 2 else self._vector_nbytes // 4)
        if vector > 1:
            lanes = axis, vector
        steps = extent / vector
        inside = _Around(around.times * steps, lanes, axis, tiles)
        cost = self.of(op.body.block, inside)
        cost += 0.0 if tile else around.times * steps / unroll * OPERATION_PS
        if isinstance(op, sched.ReduceOp):
            registers = self._registers(op.result.type, inside)
            chains = unroll * registers
            for _, size in tiles:
                chains *= size
            adding = around.times * steps * registers
            # A sum that starts anew for each vector of columns waits as often as there are steps.
            waiting = around.times * steps * LATENCY * registers / max(chains, 1)
            cost += max(adding, waiting) * OPERATION_PS
        if mapping.level.data is not Level.SERIAL:
            cost += GROUP_PS * around.times * max(extent / mapping.chunk.data, 1.0)
        return cost

    def _access(self, op: memref.LoadOp | memref.StoreOp, around: _Around) -> float:
        address, element = self._analysis.address(op), element_type_of(op.memref.type)
        nbytes = NBYTES[element]
        times, each = around.times, 1.0
        if around.lanes is not None:
            axis, width = around.lanes
            stride = address.stride(axis)
            each = access_operations(stride, width, self._registers(element, around))
        for axis, size in around.tile:
            if isinstance(op, memref.LoadOp) and address.stride(axis) == 0:
                times /= size
        lines = 0.0
        if around.innermost is not None:
            step = address.stride(around.innermost)
            width = around.lanes[1] if around.lanes and around.lanes[0] is around.innermost else 1
            lines = lines_of_step(step, width, nbytes)
        return times * (each * OPERATION_PS + lines * LINE_PS)

    def _registers(self, type: Attribute, around: _Around) -> float:
        """Returns how many registers a value fills where it stands."""
        if around.lanes is None:
            return 1.0
        return max(1.0, around.lanes[1] * NBYTES.get(type, 8) / self._vector_nbytes)

    def _evaluated(self, extent: Extent) -> int:
        return max(extent if isinstance(extent, int) else evaluated(extent, self._sizes), 1)
