"""The choice of a GPU schedule for one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from math import prod
from typing import Any

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import IntegerType, MemRefType
from xdsl.ir import Block

from .....dialects import sched
from .....dialects.element_types import NBYTES, element_type_of
from .....dialects.sched import Level, MappingAttr, Scope, ScopeAttr
from ....indices.analysis import IndexAnalysis, Loop
from ....indices.lanes import lanes_for, runs_in_lanes
from ....indices.nests import nest_in
from ....machine.groups import GroupLimits, power_from, power_up_to
from ...steps.primitives.fuse import fuse
from ...steps.recipe import end_recipe
from .tiles import tile_sums, tile_transpose

_FEW = 8
"""From this many iterations on, work-items share a loop where there is too little else to do in parallel."""

_MAX_UNROLL = 4


class KernelSchedule:
    """Maps one kernel, all of whose axes are serial."""

    def __init__(self, kernel: sched.KernelOp, limits: GroupLimits) -> None:
        self.kernel = kernel
        self.limits = limits
        self.analysis = IndexAnalysis()
        self.reasons: list[str] = []
        _fuse_sums(kernel)
        self.nest, self.body = _nest(kernel.body.block)
        # The inner ones first: the indices of what is fused stand between it and the next one.
        for number in range(len(self.nest) - len(limits.max_block) - 1, -1, -1):
            self.nest[number : number + 2] = [_fuse_axes(*self.nest[number : number + 2])]

    def apply(self) -> list[str]:
        """Maps the axes and returns why, as clauses that begin with an axis's name."""
        for tile in (tile_sums, tile_transpose):
            reasons = tile(self.nest, self.analysis, self.limits)
            if reasons is not None:
                end_recipe(self.kernel, "work-groups stage tiles in shared memory, which is no step")
                return reasons
        leads = self._leads()
        if leads and self._is_shared(leads):
            self._share(leads)
        elif self.nest:
            self._deal()
            self._keep_several_sums()
        return self.reasons

    def _set(self, loop: Loop, mapping: MappingAttr, why: str) -> None:
        loop.mapping = mapping
        clause = f"{loop.index.name_hint or 'axis'}: {why}"
        if clause not in self.reasons:
            self.reasons.append(clause)

    def _most(self, loop: Loop) -> int:
        return self.analysis.most(loop)

    def _leads(self) -> list[Loop]:
        """Returns the loop of each stage below the nest that work-items can share, none if one has none."""
        leads: list[Loop] = []
        for op in self.body.ops:
            if isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp):
                return []
            if isinstance(op, Loop):
                lead = self._lead(op)
                if lead is None:
                    return []
                leads.append(lead)
        return leads

    def _lead(self, loop: Loop) -> Loop | None:
        """The work-items share the innermost of nested axes, unless it is short."""
        if isinstance(loop, sched.ReduceOp):
            is_shareable = loop.continued is None and loop.result.type != IntegerType(1)
            return loop if is_shareable else None
        nest, _ = _nest_from(loop)
        longest = max(nest, key=self._most)
        return nest[-1] if self._most(nest[-1]) >= self.limits.multiple else longest

    def _is_shared(self, leads: Sequence[Loop]) -> bool:
        """Returns whether the stages are worth a work-group for each round of the nest, and fit in one."""
        longest = max(map(self._most, leads))
        if self._shared_nbytes(leads) > self.limits.shared_nbytes or longest < 2:
            return False
        groups = prod(map(self._most, self.nest))
        if groups < self.limits.n_units * self.limits.multiple:
            # Too few rows to keep the device busy with one work-item each.
            return longest >= _FEW
        if longest < 2 * self.limits.multiple:
            return False
        return all(self._runs_over_neighbours(lead) for lead in leads)

    def _runs_over_neighbours(self, lead: Loop) -> bool:
        """Returns whether more accesses are contiguous along `lead` than along the innermost axis around."""
        axis, along, across = self.analysis.axis(lead), 0, 0
        around = self.analysis.axis(self.nest[-1]) if self.nest else None
        for op in lead.walk():
            if isinstance(op, memref.LoadOp | memref.StoreOp):
                address = self.analysis.address(op)
                along += address.stride(axis) == 1
                across += around is not None and address.stride(around) == 1
        return along > across

    def _shared_nbytes(self, leads: Sequence[Loop]) -> int:
        """Returns the bytes of the buffers and of the partial results that work-items would share."""
        nbytes = sum(_nbytes(op.result.type) for op in self._allocs())
        types = {
            lead.result.type: NBYTES[lead.result.type] for lead in leads if isinstance(lead, sched.ReduceOp)
        }
        return nbytes + self.limits.max_items * sum(types.values())

    def _allocs(self) -> list[sched.AllocOp]:
        """Returns the buffers that stand beside the stages."""
        return [op for op in self.body.ops if isinstance(op, sched.AllocOp)]

    def _share(self, leads: Sequence[Loop]) -> None:
        most = max(map(self._most, leads))
        limit = min(self.limits.max_items, self.limits.max_block[0])
        items = max(power_up_to(min(limit, most)), 2)
        if items > limit:
            return
        for axis in self.nest:
            self._set(axis, MappingAttr.get(Level.BLOCK), "a work-group for each row")
        for lead in leads:
            unroll = 1
            if isinstance(lead, sched.ReduceOp):
                unroll = power_up_to(min(max(self._most(lead) // items, 1), _MAX_UNROLL))
            self._set(
                lead,
                MappingAttr.get(unroll=unroll, items=items),
                f"shared by {items} work-items, neighbours in memory"
                + (f", {items * unroll} partial results" if isinstance(lead, sched.ReduceOp) else ""),
            )
        for op in self._allocs():
            end_recipe(self.kernel, "work-items share its local buffers, which is no step")
            op.properties["scope"] = ScopeAttr(Scope.SHARED)

    def _deal(self) -> None:
        """Gives every work-item elements of its own."""
        left, free = self.limits.max_items, list(self.limits.max_block)
        columns = self.nest[-1]
        lanes = self._lanes(columns)
        for axis in reversed(self.nest):
            extent = self._most(axis)
            wanted = -(-extent // lanes) if axis is columns else extent
            items = min(power_from(wanted), power_up_to(min(left, free.pop(0))))
            left //= items
            vector = lanes if axis is columns else 1
            mapping = MappingAttr.get(Level.BLOCK, items * vector, vector, 1, items)
            self._set(
                axis,
                mapping,
                f"{items} work-items of a group" + (f", {lanes} lanes each" if vector > 1 else ""),
            )

    def _keep_several_sums(self) -> None:
        """Reductions of one work-item keep several partial results, so that it waits for several loads."""
        for op in self.body.walk():
            if isinstance(op, sched.ReduceOp) and not op.kind.data.adds_products:
                innermost = not any(isinstance(inner, Loop) for inner in op.body.walk())
                if innermost and self._most(op) >= _MAX_UNROLL * _MAX_UNROLL:
                    mapping = MappingAttr.get(unroll=_MAX_UNROLL)
                    self._set(op, mapping, f"{_MAX_UNROLL} partial results in flight")

    def _lanes(self, axis: sched.AxisOp) -> int:
        """Returns how many elements a work-item takes at once: several if all accesses are of vectors."""
        along, ops = self.analysis.axis(axis), list(axis.body.walk())
        if any(isinstance(op, sched.AllocOp | scf.ForOp | scf.IfOp | scf.WhileOp | Loop) for op in ops):
            return 1
        if not all(runs_in_lanes(op, along, self.analysis) for op in ops):
            return 1
        extent, lanes = self._most(axis), power_up_to(lanes_for(ops, self.limits.vector_nbytes, least=1))
        # What fills no vector runs element by element: not worth it for a short axis.
        return lanes if extent >= self.limits.multiple * lanes else 1


def _fuse_axes(outer: sched.AxisOp, inner: sched.AxisOp) -> sched.AxisOp:
    """Makes one axis of two, one right inside of the other."""
    fused = fuse(outer, inner)
    assert isinstance(fused, sched.AxisOp), f"{fused.name}: made of two axes"
    return fused


def _fuse_sums(kernel: sched.KernelOp) -> None:
    """Makes one reduction of several in one another that combine alike: work-items then share all of it."""
    # The innermost first: what is fused stands alone in the next one.
    for op in reversed(list(kernel.walk())):
        if not isinstance(op, sched.ReduceOp) or op.kind.data.adds_products:
            continue
        inner = op.body.block.first_op
        if (
            isinstance(inner, sched.ReduceOp)
            and inner.next_op is op.body.block.last_op
            and op.yielded[0] is inner.result
            and inner.kind.data is op.kind.data
            and inner.count is None
            and inner.init is None
        ):
            fuse(op, inner, allow_reorder=True)


def _nest(block: Block) -> tuple[list[sched.AxisOp], Block]:
    """
    Returns the axes without a count around all that a block does, outermost first, and the block inside.
    """
    axes = list(takewhile(lambda axis: axis.count is None, nest_in(block)))
    return axes, axes[-1].body.block if axes else block


def _nest_from(axis: sched.AxisOp) -> tuple[list[sched.AxisOp], Block]:
    inner, block = _nest(axis.body.block)
    return [axis, *inner], block


def _nbytes(type: MemRefType[Any]) -> int:
    return prod(type.get_shape()) * NBYTES[element_type_of(type)]
