"""
Which values of a function become buffers, and which kernel computes each of the others, how often and where.

A plan is made backwards, from results to arguments: when an op is reached, every use of its value is known
as an `Access`: the kernel, the index in terms of the kernel's axes, and the loops around it. From these the
rules of `fusion_rules.py` find the op's memory mode:

* `materialized`: a buffer in global memory, computed by a kernel of its own (its root)
* `local`: computed inside the one kernel that uses it, once per iteration of the outer axes it depends on: a
  reduction's scalar, or a small buffer that several stages of the kernel read
* `virtual`: no place of its own; computed anew wherever it is read

A kernel's outermost axes are those its local values depend on; the sets of axes must form a chain, so that
each is a prefix of the loop nest. A value that would break the chain, or be computed more often than it has
elements, is materialized instead. This is OCANNL's division of tensor nodes (virtual, local, materialized)
with the reason kept; the multi-stage kernels are those of Halide's compute_at, found instead of scheduled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from xdsl.dialects import func
from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph
from ....dialects.dims.expressions import Extent, product, upper_bound
from ....dialects.graph import MemoryModeAttr
from ....dialects.memory_modes import ModeKind
from ....dialects.modules.entry import check_single_block
from ...graph.loops.updated_boxes import known_starts, reads_beside
from ...indices.access import (
    Indices,
    box_starts,
    is_plain_iota,
    joined_at,
    operand_indices,
    shape_of,
    summed_at,
)
from ...indices.expressions import Axis, variable
from ...machine.target import DEFAULT_TARGET, Target
from .accesses import (
    Access,
    Kernel,
    element_count,
    folded_axes,
    folding_operand_indices,
    hint_of,
    hoisted_loops,
)
from .axes.chosen_axes import chosen_axes
from .fusion_rules import Candidate, Decision, decide, obey, with_figures
from .known_estimates import KnownEstimates
from .local_values import Hoisting, LocalBuffer
from .op_kinds import FOLDING_OPS, UPDATING_OPS
from .own import OWN_KERNELS
from .own.scatter import one_update

# By design: what is read of carried values are counters and rows, a few ops from where they are stored.
DEPENDENCE_LIMIT = 64
"""The most values that are looked at to find out whether one is computed from another."""

# By design: a kernel of all parts computes each of them for every element, and saves a launch for each part,
# about 1 us. Up to 3 parts of 4096 elements one core shows no difference.
PART_READS_LIMIT = 16384
"""Up to this many reads, a kernel joins several inputs of a concatenation, reading all for each element."""


@dataclass
class Plan:
    """
    The kernels of a block, in the order of their roots, the decision for every op, and the accesses of every
    value that has a buffer: arguments, what is read of nodes, materialized values, and values from outside.

    `bodies` are the plans of the regions of each op with control flow; `captured` are the values from outside
    that the block, or a region in it, reads; `fills` are the splat constants that are written by a kernel.
    """

    function: func.FuncOp
    block: Block
    kernels: list[Kernel]
    decisions: dict[Operation, Decision]
    accesses: dict[SSAValue, list[Access]]
    bodies: dict[Operation, tuple[Plan, ...]] = field(default_factory=dict["Operation", "tuple[Plan, ...]"])
    captured: tuple[SSAValue, ...] = ()
    fills: frozenset[SSAValue] = frozenset()

    def used_by(self, op: Operation) -> tuple[SSAValue, ...]:
        """Returns the values that an op with control flow reads, itself and in its regions."""
        found = dict.fromkeys(op.operands)
        for body in self.bodies[op]:
            found.update(dict.fromkeys(body.captured))
        return tuple(found)

    def all_decisions(self) -> Iterator[tuple[Operation, Decision]]:
        """Yields the decisions for the ops of the block, and of the regions in it."""
        yield from self.decisions.items()
        for bodies in self.bodies.values():
            for body in bodies:
                yield from body.all_decisions()


def plan_kernels(function: func.FuncOp, target: Target = DEFAULT_TARGET, with_figures: bool = False) -> Plan:
    """
    Plans `function` for a machine, obeying the `memory_mode` that an op already carries. Reasons have what
    was estimated in them where that is asked for.

    Raises PassFailedException naming the op where an extent has no name, an op is none that kernels are made
    of, or a requested memory mode is impossible, and TenonError for a function of several blocks.
    """
    check_single_block(function)
    return _Planner(function, function.body.block, KnownEstimates(target), with_figures).plan()


class _Planner:
    def __init__(self, function: func.FuncOp, block: Block, estimates: KnownEstimates, with_figures: bool):
        self.function = function
        self.block = block
        self.estimates = estimates
        self.with_figures = with_figures
        self.decisions: dict[Operation, Decision] = {}
        self.kernels: list[Kernel] = []
        self.accesses: dict[SSAValue, list[Access]] = {}
        self.kept: dict[SSAValue, str] = {}
        """The values that must be in a buffer when the program ends, and why."""
        self.fills: set[SSAValue] = set()
        """The splat constants whose buffer a loop or an update changes, or is one of several values' own."""
        self.bodies: dict[Operation, tuple[Plan, ...]] = {}

    def plan(self) -> Plan:
        captured: dict[SSAValue, None] = {}
        is_region = self.block is not self.function.body.block
        # Backwards: who reads a value decides whether it needs a buffer, and is decided on already.
        for op in reversed(list(self.block.ops)):
            match op:
                case func.ReturnOp():
                    self.kept.update(dict.fromkeys(op.operands, "returned by the function"))
                case graph.YieldOp() | graph.ConditionOp():
                    self.kept.update(dict.fromkeys(op.operands, f"given to {self._around()}"))
                    self.fills.update(op.operands)
                case graph.WriteOp():
                    self.kept.setdefault(op.value, f"written to node @{op.node_name}")
                case graph.ControlOp():
                    self._plan_regions(op)
                case graph.HostCallOp():
                    self._visit_host_call(op)
                case graph.ReadOp() | graph.MergeOp():
                    pass
                case graph.GraphOp():
                    self._visit(op)
                case _:
                    # By its name: few programs have annotations, and those that do have imported the dialect.
                    reason = (
                        "hint: run propagate-sharding and partition-graph, or tenon-run --ranks"
                        if op.name.startswith("shard.") or isinstance(op, graph.ManualComputationOp)
                        else "not an op of the graph dialect"
                    )
                    raise PassFailedException(f"{op.name}: cannot schedule ({reason})")
            if is_region:
                captured.update(dict.fromkeys(op.operands))
                for body in self.bodies.get(op, ()):
                    captured.update(dict.fromkeys(body.captured))
        self.kernels.reverse()
        decisions = dict(reversed(self.decisions.items()))
        bodies = dict(reversed(self.bodies.items()))
        return Plan(
            self.function,
            self.block,
            self.kernels,
            decisions,
            self.accesses,
            bodies,
            tuple(value for value in captured if self._is_from_outside(value)),
            frozenset(value for value in self.fills if _is_splat(value)),
        )

    def _around(self) -> str:
        around = self.block.parent_op()
        assert around is not None, "a region stands in no op"
        return around.name

    def _is_from_outside(self, value: SSAValue) -> bool:
        around = value.owner if isinstance(value.owner, Block) else value.owner.parent
        return around is not self.block and isinstance(value.type, TensorType)

    def _plan_regions(self, op: graph.ControlOp) -> None:
        """Plans the regions of an op: what they read, and what the op is given, must be in buffers."""
        for value in (*op.operands, *op.results):
            shape_of(value, op.name)
        bodies = tuple(
            _Planner(self.function, region.block, self.estimates, self.with_figures).plan()
            for region in op.regions
        )
        self.bodies[op] = bodies
        for operand in op.operands:
            self.kept.setdefault(operand, f"given to {op.name}")
        for body in bodies:
            for value in body.captured:
                self.kept.setdefault(value, f"read inside of {op.name}")
        if isinstance(op, graph.WhileOp | graph.ScanOp):
            self.fills.update(op.initial)

    def _visit_host_call(self, op: graph.HostCallOp) -> None:
        """The host reads and fills buffers."""
        for value in (*op.operands, *op.results):
            shape_of(value, op.name)
        for operand in op.operands:
            self.kept.setdefault(operand, f"given to {op.name}")

    def _visit(self, op: Operation) -> None:
        for value in (*op.operands, *op.results):
            shape_of(value, op.name)
        if isinstance(op, graph.CompositeOp):
            raise PassFailedException(f"{op.name}: cannot schedule (hint: run decompose-composites)")
        if isinstance(op, graph.CustomOp) and type(op) not in OWN_KERNELS:
            raise PassFailedException(
                f"{op.name}: cannot schedule (register_op was given neither lower nor emit; hint: where "
                "it was given lower, run decompose-composites)"
            )
        accesses = self.accesses.get(op.results[0], [])
        value = Candidate(op, accesses, self.kept.get(op.results[0]), self.estimates)
        requested = op.attributes.get("memory_mode")
        decision = obey(value, requested) if isinstance(requested, MemoryModeAttr) else decide(value)
        note = op.attributes.get("note")
        # A mode that was inferred before has it already.
        if isinstance(note, StringAttr) and note.data not in decision.why:
            decision = replace(decision, why=f"{decision.why}; {note.data}")
        self.decisions[op] = with_figures(value, decision) if self.with_figures else decision
        if decision.mode is ModeKind.MATERIALIZED:
            if self._needs_kernel(op) and element_count(op.results[0], op.name):
                self._start_kernel(op)
            return
        self.accesses.pop(op.results[0], None)
        if decision.mode is ModeKind.LOCAL and accesses and isinstance(value.place, LocalBuffer):
            self._add(op, value.place.take(op))
            return
        for access in accesses:
            access.kernel.reads.pop(op.results[0], None)
        if value.is_heavy and len(accesses) == 1 and isinstance(value.place, Hoisting):
            value.place.take()
        for access in accesses:
            self._add(op, access)

    def _needs_kernel(self, op: Operation) -> bool:
        if not isinstance(op, graph.ConstantOp):
            return True
        return op.result in self.fills and op.value.is_splat()

    def _start_own_kernel(self, op: Operation) -> None:
        """The kernels of `op` read its operands as wholes, where they like, but for what they write out."""
        kernel = Kernel(op, (), _any_element(op.results[0], op))
        self.kernels.append(kernel)
        kernel.members[op] = [Access(kernel, kernel.stored, ())]
        written = op.updates if isinstance(op, graph.ScatterOp) and one_update(op) is not None else None
        for number, operand in enumerate(op.operands):
            # The source, or the indices, may be the same constant.
            if operand is not written or operand in op.operands[:-1]:
                self.kept.setdefault(operand, f"read by {op.name} as a whole")
            is_updated = isinstance(op, UPDATING_OPS) and number == 0
            if is_updated:
                self.fills.add(operand)
            indices = kernel.stored if is_updated else _any_element(operand, op)
            self._record(operand, Access(kernel, indices, ()))

    def _keep_apart(self, op: graph.DynamicUpdateOp) -> None:
        """
        Has what an update stores, and where, computed before its kernel where that reads other elements of
        the source, so that the kernel may store over it. Arguments and constants are copied anyway.
        """
        source = op.source.owner
        if source is self.function.body.block or isinstance(source, graph.ConstantOp | graph.ReadOp):
            return
        starts = known_starts(op)
        for operand in op.operands:
            if operand is not op.source and reads_beside(operand, op, starts, DEPENDENCE_LIMIT):
                self.kept.setdefault(operand, "reads what is stored over")

    def _start_kernel(self, op: Operation) -> None:
        if type(op) in OWN_KERNELS:
            self._start_own_kernel(op)
            return
        computed = op.update if isinstance(op, graph.DynamicUpdateOp) else op.results[0]
        if isinstance(op, graph.DynamicUpdateOp):
            self._keep_apart(op)
        shape = shape_of(computed, op.name)
        axes = tuple(Axis(extent, hint_of(dim)) for dim, extent in enumerate(shape))
        indices = tuple(variable(axis) for axis in axes)
        stored = indices
        if isinstance(op, graph.DynamicUpdateOp):
            starts = box_starts(shape_of(op.source, op.name), op.starts, op.spans_of(shape))
            stored = tuple(
                start + index * step for start, index, step in zip(starts, indices, op.steps, strict=True)
            )
        if self._start_over_others(op, axes):
            return
        if isinstance(op, graph.ConcatOp):
            self._start_parts(op, axes)
        else:
            self._start_kernel_over(op, axes, indices, stored)

    def _start_over_others(self, op: Operation, axes: tuple[Axis, ...]) -> bool:
        """Starts a kernel over other axes than one for each dim of the result, if that is worth it."""
        found = chosen_axes(op, axes)
        if found is None:
            return False
        outer, (first, *others) = found
        self._start_kernel_over(op, outer, first, first)
        kernel = self.kernels[-1]
        for indices in others:
            self._add(op, Access(kernel, indices, kernel.axes))
        return True

    def _start_kernel_over(
        self, op: Operation, axes: tuple[Axis, ...], indices: Indices, stored: Indices
    ) -> None:
        kernel = Kernel(op, tuple(axis for axis in axes if axis.extent != 1), stored)
        self.kernels.append(kernel)
        self._add(op, Access(kernel, indices, kernel.axes))

    def _start_parts(self, op: graph.ConcatOp, axes: tuple[Axis, ...]) -> None:
        """Starts a kernel for each part of a concatenation; together they fill one buffer."""
        joined = op.axis.data
        for begin, extent in reversed(concat_parts(op)):
            part = tuple(
                Axis(extent if dim == joined else axis.extent, axis.hint) for dim, axis in enumerate(axes)
            )
            indices = tuple(variable(axis) + (begin if dim == joined else 0) for dim, axis in enumerate(part))
            self._start_kernel_over(op, part, indices, indices)

    def _add(self, op: Operation, access: Access) -> None:
        """Has `op` computed at `access`, and its operands read there."""
        kernel = access.kernel
        kernel.members.setdefault(op, []).append(access)
        loops = access.loops
        if isinstance(op, FOLDING_OPS):
            kernel.stage_axes[op] = folded = folded_axes(op)
            found = folding_operand_indices(op, access.indices, folded)
            loops = (*hoisted_loops(access), *(axis for axis in folded if axis.extent != 1))
            if any(axis.extent == 0 for axis in folded):
                return
        elif isinstance(op, graph.DynamicUpdateOp):
            found = [kernel.stored, *[()] * len(op.starts), access.indices]
            self.kept.setdefault(op.source, f"copied for {op.name}")
            self.fills.add(op.source)
        elif isinstance(op, graph.ConcatOp):
            for _, operand, indices in joined_at(op, access.indices):
                if element_count(operand, op.name):
                    self._record(operand, Access(kernel, indices, loops))
            return
        elif isinstance(op, graph.WinogradTransformOp):
            for places in summed_at(op, access.indices)[1].values():
                for indices in places:
                    self._record(op.source, Access(kernel, indices, loops))
            return
        else:
            found = operand_indices(op, access.indices)
        for number, (operand, indices) in enumerate(zip(op.operands, found, strict=True)):
            if isinstance(op, graph.GatherOp) and number and is_plain_iota(operand):
                continue
            if element_count(operand, op.name):
                self._record(operand, Access(kernel, indices, loops))

    def _record(self, operand: SSAValue, access: Access) -> None:
        # Those of the kernel alone are looked at: some values are read by most kernels.
        own = access.kernel.reads.setdefault(operand, [])
        if any(other.indices == access.indices for other in own):
            return
        own.append(access)
        self.accesses.setdefault(operand, []).append(access)


def concat_parts(op: graph.ConcatOp) -> list[tuple[Extent, Extent]]:
    """
    Returns the parts that a concatenation is computed in, one after the other along its axis: where each
    begins, and its extent. Each input is a part, as a kernel of several computes all of them for every
    element; but small neighbours are one part, as they are not worth a kernel each.
    """
    axis, parts, together = op.axis.data, list[tuple[Extent, Extent]](), 0
    shape = shape_of(op.result, op.name)
    across = upper_bound(product(extent for dim, extent in enumerate(shape) if dim != axis))
    begin: Extent = 0
    for operand in op.inputs:
        extent = shape_of(operand, op.name)[axis]
        if extent == 0:
            continue
        wider = parts[-1][1] + extent if parts else extent
        if parts and (together + 1) * upper_bound(wider) * across <= PART_READS_LIMIT:
            parts[-1] = (parts[-1][0], wider)
            together += 1
        else:
            parts.append((begin, extent))
            together = 1
        begin += extent
    return parts


def _any_element(value: SSAValue, op: Operation) -> Indices:
    """Returns indices that are those of no other access."""
    return tuple(
        variable(Axis(2 if isinstance(extent, int) and extent < 2 else extent, "any"))
        for extent in shape_of(value, op.name)
    )


def _is_splat(value: SSAValue) -> bool:
    return isinstance(value.owner, graph.ConstantOp) and value.owner.value.is_splat()
