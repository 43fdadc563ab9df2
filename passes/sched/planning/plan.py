"""
Which values of a function become buffers, and which kernel computes each of the others, how often and where.

A plan is made backwards, from results to arguments: when an op is reached, every use of its value is known
as an `Access`: the kernel, the index in terms of the kernel's axes, and the loops around it. From these
follows the op's memory mode:

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

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph
from ....dialects.dims.expressions import Extent, is_at_least, product, upper_bound
from ....dialects.element_types import NBYTES, element_type_of, is_float
from ....dialects.graph import Combination, LinearIndex, MemoryModeAttr, ReduceKind, iteration_extents
from ....dialects.memory_modes import ModeKind
from ....dialects.modules.entry import check_single_block
from ...indices.access import (
    Indices,
    box_starts,
    is_plain_iota,
    joined_at,
    operand_indices,
    shape_of,
    with_bounds,
)
from ...indices.expressions import Axis, IndexExpr, constant, variable
from .own import OWN_KERNELS

LOCAL_NBYTES_LIMIT = 32 * 1024
"""The most bytes of local buffers in one kernel: they should stay in a core's first-level cache."""

SERIAL_ELEMENTS_LIMIT = 4096
"""Up to this many elements, a kernel whose stages share no parallel axis is still worth one launch."""

PARALLEL_LIMIT = 8
"""From this many iterations on, the shared outer axes of a kernel's stages keep a device busy."""

KERNEL_OPS_LIMIT = 192
"""The most ops in one kernel: compile time grows faster than linearly with a kernel's size."""

RECOMPUTE_LIMIT = 4
"""The most places in one kernel where a cheap op is done again rather than stored and loaded."""

INSIDE_OF_ROWS, INSIDE_OF_VECTORS = 8, 128
"""How many times as many elements as are padded a dim has where windows read through the pad."""

UPDATING_OPS = (graph.DynamicUpdateOp, graph.ScatterOp)
"""Ops whose kernel stores a part of the result only: the rest is their source's, copied before."""

DEPENDENCE_LIMIT = 64
"""The most values that are looked at to find out whether one is computed from another."""

PART_READS_LIMIT = 16384
"""Up to this many reads, a kernel joins several inputs of a concatenation, reading all for each element."""

LEAST_TILED_EXTENT = 4
LEAST_TILED_PRODUCTS = 1 << 15
"""The least rows, columns and products of a contraction that does not become a part of another kernel."""

FOLDING_OPS = (graph.ReduceOp, graph.ContractOp)
"""Ops with axes of their own beside those of their result."""

VIEW_OPS = (
    graph.ReshapeOp,
    graph.PermuteOp,
    graph.BroadcastOp,
    graph.SliceOp,
    graph.FlipOp,
    graph.PadWithOp,
    graph.IotaOp,
    graph.GatherOp,
    graph.DynamicSliceOp,
)
"""Ops that cost an index computation at most."""


@dataclass(slots=True)
class Access:
    """One use of a value: at `indices`, inside of `loops` (outermost first)."""

    kernel: Kernel
    indices: Indices
    loops: tuple[Axis, ...]

    def dependences(self) -> dict[Axis, None]:
        """The axes that the indices depend on."""
        return {axis: None for index in self.indices for axis in index.axes()}


@dataclass(eq=False)
class Kernel:
    """The kernel that computes the materialized value of `root`."""

    root: Operation
    axes: tuple[Axis, ...]
    stored: Indices
    """Where the root's value is stored."""
    prefixes: list[frozenset[Axis]] = field(default_factory=list)
    """Sets of root axes that must each be outermost, smallest first."""
    members: dict[Operation, list[Access]] = field(default_factory=dict)
    """The ops computed here, the root first and every op after those that read it, and where."""
    stage_axes: dict[Operation, tuple[Axis, ...]] = field(default_factory=dict)
    """The axes that a reduction or contraction folds."""
    local_dims: dict[Operation, tuple[int, ...]] = field(default_factory=dict)
    """The dims of a value that its local buffer has."""
    fill_axes: dict[Operation, tuple[Axis, ...]] = field(default_factory=dict)
    """The axes that a local buffer is filled over, one for each of its dims."""
    local_nbytes: int = 0
    """Bytes of all local buffers."""
    in_result: Operation | None = None
    """The op whose local buffer is the root's own, row by row, until the root's elements are stored there."""

    def ordered_axes(self) -> tuple[Axis, ...]:
        """The root's axes, outermost first: those of each prefix before the others, else in dim order."""
        last = len(self.prefixes)
        return tuple(
            sorted(
                self.axes, key=lambda axis: next((n for n, p in enumerate(self.prefixes) if axis in p), last)
            )
        )

    def accepts_prefix(self, axes: frozenset[Axis]) -> bool:
        """Returns whether `axes` can be outermost together with all that must be already."""
        return all(axes <= other or other <= axes for other in self.prefixes)

    def add_prefix(self, axes: frozenset[Axis]) -> None:
        if axes not in self.prefixes:
            self.prefixes.append(axes)
            self.prefixes.sort(key=len)

    def keeps_busy(self, axes: frozenset[Axis]) -> bool:
        """Returns whether stages under `axes` leave enough to do side by side, or little to do at all."""
        total = _most(self.axes)
        return _most(axes) >= min(PARALLEL_LIMIT, total) or total <= SERIAL_ELEMENTS_LIMIT


@dataclass(frozen=True, slots=True)
class Decision:
    """The memory mode of an op's value, and why."""

    mode: ModeKind
    why: str


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


def element_count(value: SSAValue, who: str) -> Extent:
    """Returns the number of elements of a tensor value."""
    return product(shape_of(value, who))


def _most(axes: Iterable[Axis]) -> int:
    """Returns the number of iterations of some axes together; the most where their extents vary."""
    return prod(upper_bound(axis.extent) for axis in axes)


def plan_kernels(function: func.FuncOp) -> Plan:
    """
    Plans `function`, obeying the `memory_mode` that an op already carries.

    Raises PassFailedException naming the op where an extent has no name, an op is none that kernels are made
    of, or a requested memory mode is impossible, and TenonError for a function of several blocks.
    """
    check_single_block(function)
    return _Planner(function, function.body.block).plan()


class _Planner:
    def __init__(self, function: func.FuncOp, block: Block):
        self.function = function
        self.block = block
        self.decisions: dict[Operation, Decision] = {}
        self.kernels: list[Kernel] = []
        self.accesses: dict[SSAValue, list[Access]] = {}
        self.kept: dict[SSAValue, str] = {}
        """The values that must be in a buffer when the program ends, and why."""
        self.fills: set[SSAValue] = set()
        """The splat constants whose buffer is changed, or one of several values' own."""
        self.bodies: dict[Operation, tuple[Plan, ...]] = {}

    def plan(self) -> Plan:
        captured: dict[SSAValue, None] = {}
        is_region = self.block is not self.function.body.block
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
                    raise PassFailedException(f"{op.name}: cannot schedule (not an op of the graph dialect)")
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
        bodies = tuple(_Planner(self.function, region.block).plan() for region in op.regions)
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
        requested = op.attributes.get("memory_mode")
        if isinstance(requested, MemoryModeAttr):
            decision = self._obey(op, accesses, requested)
        else:
            decision = self._decide(op, accesses)
        self.decisions[op] = decision
        if decision.mode is ModeKind.MATERIALIZED:
            if self._needs_kernel(op) and element_count(op.results[0], op.name):
                self._start_kernel(op)
            return
        self.accesses.pop(op.results[0], None)
        for access in accesses:
            if op not in access.kernel.local_dims:
                self._add(op, access)

    def _needs_kernel(self, op: Operation) -> bool:
        if not isinstance(op, graph.ConstantOp):
            return True
        return op.result in self.fills and op.value.is_splat()

    def _start_own_kernel(self, op: Operation) -> None:
        """The kernels of `op` read all its operands as wholes, where they like."""
        kernel = Kernel(op, (), _any_element(op.results[0], op))
        self.kernels.append(kernel)
        kernel.members[op] = [Access(kernel, kernel.stored, ())]
        for number, operand in enumerate(op.operands):
            self.kept.setdefault(operand, f"read by {op.name} as a whole")
            is_updated = isinstance(op, UPDATING_OPS) and number == 0
            indices = kernel.stored if is_updated else _any_element(operand, op)
            self._record(operand, Access(kernel, indices, ()))

    def _keep_apart(self, op: graph.DynamicUpdateOp) -> None:
        """
        Has what an update of a carried value stores, and where, computed before its kernel where that reads
        the value, so that the kernel may store over it.
        """
        if self.block is self.function.body.block or op.source not in self.block.args:
            return
        for operand in op.operands:
            if operand is not op.source and _depends_on(operand, op.source):
                self.kept.setdefault(operand, "reads what is stored over")

    def _start_kernel(self, op: Operation) -> None:
        if type(op) in OWN_KERNELS:
            self._start_own_kernel(op)
            return
        computed = op.update if isinstance(op, graph.DynamicUpdateOp) else op.results[0]
        if isinstance(op, graph.DynamicUpdateOp):
            self._keep_apart(op)
        shape = shape_of(computed, op.name)
        axes = tuple(Axis(extent, _hint(dim)) for dim, extent in enumerate(shape))
        indices = tuple(variable(axis) for axis in axes)
        stored = indices
        if isinstance(op, graph.DynamicUpdateOp):
            starts = box_starts(shape_of(op.source, op.name), op.starts, shape)
            stored = tuple(start + index for start, index in zip(starts, indices, strict=True))
        if isinstance(op, graph.ConcatOp):
            self._start_parts(op, axes)
        else:
            self._start_kernel_over(op, axes, indices, stored)

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
            loops = (*_hoisted_loops(access), *(axis for axis in folded if axis.extent != 1))
            if any(axis.extent == 0 for axis in folded):
                return
        elif isinstance(op, graph.DynamicUpdateOp):
            found = [kernel.stored, *[()] * len(op.starts), access.indices]
            self.kept.setdefault(op.source, f"copied for {op.name}")
        elif isinstance(op, graph.ConcatOp):
            for _, operand, indices in joined_at(op, access.indices):
                if element_count(operand, op.name):
                    self._record(operand, Access(kernel, indices, loops))
            return
        else:
            found = operand_indices(op, access.indices)
        for number, (operand, indices) in enumerate(zip(op.operands, found, strict=True)):
            if isinstance(op, graph.GatherOp) and number and is_plain_iota(operand):
                continue
            if element_count(operand, op.name):
                self._record(operand, Access(kernel, indices, loops))

    def _record(self, operand: SSAValue, access: Access) -> None:
        known = self.accesses.setdefault(operand, [])
        for other in known:
            if other.kernel is access.kernel and other.indices == access.indices:
                return
        known.append(access)

    def _decide(self, op: Operation, accesses: list[Access]) -> Decision:
        kept = self.kept.get(op.results[0])
        if kept is not None:
            return Decision(ModeKind.MATERIALIZED, kept)
        if not accesses:
            return Decision(ModeKind.VIRTUAL, "never read")
        if isinstance(op, UPDATING_OPS):
            return Decision(ModeKind.MATERIALIZED, "stored over a copy of its source")
        if type(op) in OWN_KERNELS:
            return Decision(ModeKind.MATERIALIZED, "computed by a kernel of its own")
        if isinstance(op, graph.ConstantOp):
            if op.value.is_splat():
                return Decision(ModeKind.VIRTUAL, "one value, written where it is used")
            return Decision(ModeKind.MATERIALIZED, "a constant of several values")
        full = next((a.kernel for a in accesses if len(a.kernel.members) >= KERNEL_OPS_LIMIT), None)
        if full is not None:
            return Decision(ModeKind.MATERIALIZED, f"its kernel has {len(full.members)} ops already")
        if isinstance(op, VIEW_OPS):
            return Decision(ModeKind.VIRTUAL, "a view: only the index changes")
        kernels = {id(access.kernel) for access in accesses}
        if len(kernels) > 1:
            return Decision(ModeKind.MATERIALIZED, f"read by {len(kernels)} kernels")
        if isinstance(op, graph.ContractOp) and is_worth_tiles(op) and not _is_all_of_kernel(accesses):
            return Decision(
                ModeKind.MATERIALIZED, "a product of matrices, which is a kernel, or a stage, of its own"
            )
        elements = upper_bound(element_count(op.results[0], op.name))
        if isinstance(op, graph.GraphOp) and op.IS_HEAVY:
            if len(accesses) == 1:
                obstacle = self._hoist(op, accesses[0])
                if obstacle is None:
                    return self._inline_decision(op, accesses[0])
                return Decision(ModeKind.MATERIALIZED, obstacle)
            obstacle = self._make_local(op, accesses)
            if obstacle is None:
                count = len(accesses)
                place = ", in its result's memory" if accesses[0].kernel.in_result is op else ""
                why = f"a buffer that is read in {count} ways by one kernel{place}"
                return Decision(ModeKind.LOCAL, why)
            if isinstance(op, FOLDING_OPS) or len(accesses) > 2 or _most_repeated(accesses, elements) > 1:
                return Decision(ModeKind.MATERIALIZED, obstacle)
            return Decision(ModeKind.VIRTUAL, f"computed twice, as {obstacle}")
        repeated = _most_repeated(accesses, elements)
        if repeated > 1:
            if isinstance(op, graph.PadOp) and len(accesses) == 1 and _is_mostly_inside(op, accesses[0]):
                return Decision(ModeKind.VIRTUAL, "read in windows, most of which pad nothing")
            return Decision(ModeKind.MATERIALIZED, f"would be computed {repeated} times inside a reduction")
        if len(accesses) > RECOMPUTE_LIMIT:
            return Decision(ModeKind.MATERIALIZED, f"read in {len(accesses)} ways by one kernel")
        return self._inline_decision(op, accesses[0])

    def _inline_decision(self, op: Operation, access: Access) -> Decision:
        if isinstance(op, FOLDING_OPS):
            hints = ", ".join(axis.hint for axis in access.dependences()) or "kernel"
            return Decision(ModeKind.LOCAL, f"combined in registers, once for each ({hints})")
        return Decision(ModeKind.VIRTUAL, "computed where it is read")

    def _hoist(self, op: Operation, access: Access) -> str | None:
        """Gives a heavy op with one use its place in the kernel, or returns why it has none."""
        kernel, dependences = access.kernel, access.dependences()
        prefix = frozenset(axis for axis in dependences if axis in kernel.axes)
        if len(prefix) < len(dependences):
            repeated = _repetitions(access, upper_bound(element_count(op.results[0], op.name)))
            return None if repeated == 1 else f"would be computed {repeated} times inside a reduction"
        elements = element_count(op.results[0], op.name)
        is_counted = isinstance(op, FOLDING_OPS) or any(index.has_elements() for index in access.indices)
        places = product(axis.extent for axis in dependences)
        if is_counted and not is_at_least(elements, places):
            return f"would be computed more often than it has elements ({elements})"
        if not kernel.accepts_prefix(prefix):
            return "its axes cannot be outermost in the kernel that reads it"
        if isinstance(op, FOLDING_OPS) and not kernel.keeps_busy(prefix):
            return "the kernel that reads it would have too little to do side by side"
        if isinstance(op, FOLDING_OPS) or prefix:
            kernel.add_prefix(prefix)
        return None

    def _make_local(self, op: Operation, accesses: list[Access]) -> str | None:
        """Gives a value with several uses in one kernel a local buffer, or returns why it cannot have one."""
        kernel = accesses[0].kernel
        shape = shape_of(op.results[0], op.name)
        columns = list(zip(*(access.indices for access in accesses), strict=True))
        outer = [
            all(index == column[0] for index in column)
            and all(axis in kernel.axes for axis in column[0].axes())
            for column in columns
        ]
        prefix = frozenset(
            axis
            for column, is_outer in zip(columns, outer, strict=True)
            if is_outer
            for axis in column[0].axes()
        )
        dims = tuple(dim for dim, is_outer in enumerate(outer) if not is_outer)
        fits_result = _fits_result(op, kernel, accesses, dims)
        nbytes = prod(upper_bound(shape[dim]) for dim in dims) * NBYTES[element_type_of(op.results[0].type)]
        if nbytes <= LOCAL_NBYTES_LIMIT and kernel.local_nbytes + nbytes <= LOCAL_NBYTES_LIMIT:
            fits_result = False
        elif nbytes > LOCAL_NBYTES_LIMIT and not fits_result:
            return f"a local buffer of {nbytes} bytes would be too large"
        elif not fits_result:
            return f"its kernel has {kernel.local_nbytes} bytes of local buffers already"
        if not kernel.accepts_prefix(prefix):
            return "its axes cannot be outermost in the kernel that reads it"
        if not kernel.keeps_busy(prefix):
            return "the kernel that reads it would have too little to do side by side"
        if any(
            is_outer and upper_bound(shape[dim]) > 1
            for dim, is_outer in enumerate(outer)
            if dims and dim > dims[-1]
        ):
            return "a local buffer would not be contiguous in the last dim"
        kernel.add_prefix(prefix)
        inner = {dim: Axis(shape[dim], _hint(dim)) for dim in dims}
        indices = tuple(
            variable(inner[dim]) if dim in inner else column[0] for dim, column in enumerate(columns)
        )
        axes = tuple(inner.values())
        kernel.local_dims[op] = tuple(range(len(shape))) if fits_result else dims
        if fits_result:
            kernel.in_result = op
        else:
            kernel.local_nbytes += nbytes
        loops = (*(axis for axis in kernel.axes if axis in prefix), *axes)
        kernel.fill_axes[op] = axes
        self._add(op, Access(kernel, indices, loops))
        return None

    def _obey(self, op: Operation, accesses: list[Access], requested: MemoryModeAttr) -> Decision:
        """Applies a memory mode that was asked for. Raises PassFailedException where that is impossible."""
        mode, why = requested.mode.data, requested.why.data

        def refuse(reason: str) -> PassFailedException:
            return PassFailedException(f'{op.name}: cannot be {mode.value} ({reason}), asked for by "{why}"')

        if mode is ModeKind.MATERIALIZED:
            return Decision(mode, why)
        kept = self.kept.get(op.results[0])
        if kept is not None:
            raise refuse(kept)
        if not accesses:
            return Decision(mode, why)
        if isinstance(op, UPDATING_OPS):
            raise refuse("stored over a copy of its source")
        if type(op) in OWN_KERNELS:
            raise refuse("computed by a kernel of its own")
        if mode is ModeKind.VIRTUAL and not isinstance(op, FOLDING_OPS):
            if isinstance(op, graph.ConstantOp) and not op.value.is_splat():
                raise refuse("a constant of several values")
            if isinstance(op, graph.GraphOp) and op.IS_HEAVY and len(accesses) == 1:
                self._hoist(op, accesses[0])
            return Decision(mode, why)
        inferred = self._decide(op, accesses)
        if inferred.mode is not mode:
            raise refuse(f"{inferred.mode.value}: {inferred.why}")
        return Decision(mode, why)


def _fits_result(op: Operation, kernel: Kernel, accesses: Sequence[Access], dims: Sequence[int]) -> bool:
    """
    Returns whether the value of `op` may lie in the buffer of the kernel's root until the root's elements,
    each computed of the element in its place, take that place.
    """
    root = kernel.root
    if kernel.in_result is not None or type(root) in OWN_KERNELS or isinstance(root, UPDATING_OPS):
        return False
    if isinstance(root, (graph.ConcatOp, *FOLDING_OPS)) or len(dims) != 1:
        return False
    value, result = op.results[0], root.results[0]
    if element_type_of(value.type) != element_type_of(result.type):
        return False
    if shape_of(value, op.name) != shape_of(result, root.name):
        return False
    at_root = [access for access in accesses if access.loops == kernel.axes]
    return len(at_root) == 1 and at_root[0].indices == kernel.stored


def _is_all_of_kernel(accesses: Sequence[Access]) -> bool:
    """Returns whether a kernel only goes on with each element of a value that is computed in it."""
    (access, *others) = accesses
    return (
        not others and access.loops == access.kernel.axes and set(access.dependences()) == set(access.loops)
    )


def is_worth_tiles(op: graph.ContractOp) -> bool:
    """Returns whether a contraction is a product of matrices, large enough to run in register tiles."""
    if not is_float(element_type_of(op.result.type)) or len(op.inputs) != 2:
        return False
    if op.accumulate.data is not ReduceKind.ADD or op.combine.data is not Combination.MUL:
        return False
    extents = [upper_bound(extent) for extent in with_bounds(iteration_extents(op), op)]
    used = [map.used_dims() for map in op.operand_maps]
    sides = [
        prod(extents[dim] for dim in op.result_dims if dim in mine and dim not in others)
        for mine, others in (used, used[::-1])
    ]
    return min(sides) >= LEAST_TILED_EXTENT and prod(extents) >= LEAST_TILED_PRODUCTS


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


def folded_axes(op: Operation) -> tuple[Axis, ...]:
    """Returns new axes for the dims that a reduction or contraction folds."""
    if isinstance(op, graph.ReduceOp):
        shape = shape_of(op.source, op.name)
        return tuple(Axis(shape[dim], _hint(dim)) for dim in op.axes.data)
    assert isinstance(op, graph.ContractOp), f"{op.name} folds nothing"
    kept, last = op.result_dims, op.result_map.num_dims - 1
    extents = with_bounds(iteration_extents(op), op)
    return tuple(
        Axis(extent, "k" if dim == last else f"k{dim}")
        for dim, extent in enumerate(extents)
        if dim not in kept
    )


def folding_operand_indices(op: Operation, indices: Indices, folded: tuple[Axis, ...]) -> list[Indices]:
    """Returns the index of each operand of a reduction or contraction, with `folded` for the folded dims."""
    if isinstance(op, graph.ReduceOp):
        kept = iter(indices)
        inner = dict(zip(op.axes.data, folded, strict=True))
        found: list[IndexExpr] = []
        for dim in range(len(shape_of(op.source, op.name))):
            if dim in inner:
                if op.keep:
                    next(kept)
                found.append(variable(inner[dim]))
            else:
                found.append(next(kept))
        return [tuple(found)]
    assert isinstance(op, graph.ContractOp), f"{op.name} folds nothing"
    position = dict(zip(op.result_dims, indices, strict=True))
    rest = iter(folded)
    for dim in range(op.result_map.num_dims):
        if dim not in position:
            position[dim] = variable(next(rest))
    return [tuple(_index_at(expr, position) for expr in map_.results) for map_ in op.operand_maps]


def _index_at(expr: AffineExpr, position: dict[int, IndexExpr]) -> IndexExpr:
    """Returns the index that an affine expression is where its dims are at `position`."""
    index = LinearIndex.of(expr)
    total = constant(index.constant)
    for dim, factor in index.factors:
        total = total + position[dim] * factor
    return total


def _depends_on(value: SSAValue, source: SSAValue) -> bool:
    """Returns whether `value` is computed from `source` by few ops of one block."""
    seen: dict[SSAValue, None] = {value: None}
    waiting = [value]
    while waiting and len(seen) <= DEPENDENCE_LIMIT:
        for operand in _operands_of(waiting.pop()):
            if operand is source:
                return True
            if operand not in seen:
                seen[operand] = None
                waiting.append(operand)
    return False


def _operands_of(value: SSAValue) -> Sequence[SSAValue]:
    return value.owner.operands if isinstance(value.owner, graph.GraphOp) else ()


def _is_splat(value: SSAValue) -> bool:
    return isinstance(value.owner, graph.ConstantOp) and value.owner.value.is_splat()


def _hint(dim: int) -> str:
    return "ijklmn"[dim] if dim < 6 else f"i{dim}"


def _hoisted_loops(access: Access) -> tuple[Axis, ...]:
    """The loops around an access, without those further in than all that its indices depend on."""
    dependences, loops = access.dependences(), access.loops
    if all(axis in access.kernel.axes for axis in dependences):
        return tuple(axis for axis in loops if axis in dependences)
    while loops and loops[-1] not in dependences:
        loops = loops[:-1]
    return loops


def _repetitions(access: Access, elements: int) -> int:
    """
    How often each of `elements` would be computed at `access`, inside the loops of the stages around it: for
    every iteration of the loops that do not change it, and in every window that it lies in.
    """
    dependences = access.dependences()
    if all(axis in access.kernel.axes for axis in dependences):
        return 1
    windows = -(-_most(dependences) // max(elements, 1))
    return _most(axis for axis in _hoisted_loops(access) if axis not in dependences) * max(windows, 1)


def _is_mostly_inside(op: graph.PadOp, access: Access) -> bool:
    """
    Returns whether what reads a pad reads each element of it in its windows only, and in most of the windows
    no padding; along the last dim, where neighbours run as vectors, in nearly all of them.
    """
    dependences = access.dependences()
    if not all(axis in dependences for axis in _hoisted_loops(access)):
        return False
    if any(not isinstance(axis.extent, int) for axis in dependences) or any(step != 1 for step in op.steps):
        return False
    shape = shape_of(op.source, op.name)
    last = max((dim for dim, extent in enumerate(shape) if extent != 1), default=0)
    for dim, (extent, low, high) in enumerate(zip(shape, op.low.data, op.high.data, strict=True)):
        share = INSIDE_OF_VECTORS if dim == last else INSIDE_OF_ROWS
        if not isinstance(extent, int) or extent < (low + high) * share:
            return False
    return True


def _most_repeated(accesses: list[Access], elements: int) -> int:
    return max(_repetitions(access, elements) for access in accesses)
