"""
What computing a value costs in the kernels that read it, and what in a kernel of its own.

Code stands in nests of loops: each op in the loops that it depends on, as invariant ops are hoisted. A nest
runs as vectors along an axis along which all its accesses have neighbours, or one element. Of an axis that
must be outermost, as what is kept in the kernel depends on it, `strip-columns` makes vectors only where all
nests in it agree, and a loop is in it; else the kernel goes through memory in strides, one element at a time.

What is known of a kernel when a value is decided is what reads the value, up to the result. Operands of the
value that cost little and that nobody else reads are taken to be computed with it, all others to be loaded.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue

from ....dialects import graph, low
from ....dialects.dims.expressions import Extent, row_major, upper_bound
from ....dialects.element_types import NBYTES, element_type_of
from ...graph.masks import is_mask
from ...indices.access import Indices, operand_indices, shape_of, summed_at
from ...indices.expressions import Axis, variable
from ...machine.cost import (
    FAR_LINE_PS,
    LATENCY,
    LAUNCH_PS,
    LINE_NBYTES,
    LINE_PS,
    OPERATION_PS,
    access_operations,
    lines_of_step,
)
from ...machine.target import Target
from .accesses import (
    Access,
    AccessStrides,
    Kernel,
    Strides,
    folded_axes,
    folding_operand_indices,
    hint_of,
    is_all_of_kernel,
    iterations,
)
from .local_values import Hoisting, LocalBuffer
from .op_kinds import FOLDING_OPS, UPDATING_OPS, VIEW_OPS
from .own import OWN_KERNELS

# By design: a division, or a root, keeps the unit for it busy as long as some products.
DIVISION = 4
"""How many operations a heavy op counts for that is no polynomial."""

# By design: all registers hold a square, so that what is computed with it is stored and loaded.
SPILLED = 2
"""How many operations one counts for in squares that are transposed in registers."""

NBYTES_OF_LOCAL = 1
"""What a local buffer counts for, so that it is in the first cache."""

# By design: triangles, and rows that get fewer, are half of a matrix.
LEFT_BY_MASK = 0.5
"""How much of what is stored over what a loop carries a mask of indices leaves to be done."""

# By design: how much of a program is looked through for one value.
MOST_OPERANDS = 16
"""The most ops that are taken to be computed along with a value."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the kernels take that compute a value and read it: together, and with it in a buffer."""

    together_ps: int
    apart_ps: int
    is_sure: bool = True
    """Whether the value is computed of elements at distances that are known: not of borders or gathers."""

    def __str__(self) -> str:
        return f"about {_time_text(self.together_ps)} together, {_time_text(self.apart_ps)} apart"


def estimate(
    op: Operation, accesses: Sequence[Access], place: Hoisting | LocalBuffer | str, target: Target
) -> Estimate:
    """Returns what it costs to compute `op` where it is read, or where it has a place, and apart."""
    value = op.results[0]
    own = _own_kernel(op, target)
    together, apart = 0.0, own.picoseconds()
    for kernel in {id(access.kernel): access.kernel for access in accesses}.values():
        mine = [access for access in accesses if access.kernel is kernel]
        read = _Nests.of(kernel, target, value, None)
        computed = _Nests.of(kernel, target, value, None if isinstance(place, str) else place.prefix)
        for access in mine:
            read.load(value, access.indices, access.loops)
        if isinstance(place, LocalBuffer):
            computed.fill(op, place, mine)
        else:
            computed.loops_follow = not isinstance(op, FOLDING_OPS) and _is_of_a_reduction(op)
            for access in mine:
                computed.add(op, access.indices, access.loops, is_all_of_kernel(mine))
        together += computed.picoseconds()
        stored_over = part_stored_over(op, kernel)
        apart += read.picoseconds() * (stored_over or 1)
        if stored_over is not None:
            together += _copying(kernel, target).picoseconds()
    return Estimate(round(together), round(apart), own.is_sure())


def ops_looked_at(op: Operation) -> list[Operation]:
    """Returns the ops that an estimate for `op` looks at, with their operands."""
    along, waiting = [op], [*reversed(op.operands)]
    while waiting and len(along) <= MOST_OPERANDS:
        owner = waiting.pop().owner
        if isinstance(owner, Operation) and _goes_along(owner):
            along.append(owner)
            waiting += reversed(owner.operands)
    others = [] if isinstance(op, FOLDING_OPS) else _ops_computed_from(op)[0]
    return [*dict.fromkeys((*along, *others))]


def part_stored_over(op: Operation, kernel: Kernel) -> float | None:
    """
    Returns how much of its result a kernel stores over what a loop carries, None where it does so with `op`
    computed in it too, or never: a reduction of what is stored over reads other elements of it than those
    that are stored.
    """
    carried = _stored_over(kernel)
    if carried is None or not isinstance(op, FOLDING_OPS):
        return None
    if any(access.indices != kernel.stored for access in kernel.reads.get(carried, ())):
        return None
    if not any(operand is carried for each in ops_looked_at(op) for operand in each.operands):
        return None
    return LEFT_BY_MASK if _is_masked(kernel.root) else 1.0


def _is_masked(op: Operation) -> bool:
    """Returns whether a value is computed where a mask of indices says, and is another value elsewhere."""
    return (
        isinstance(op, graph.SelectOp)
        and isinstance(op.condition.owner, Operation)
        and is_mask(op.condition.owner)
    )


def _stored_over(kernel: Kernel) -> SSAValue | None:
    """
    Returns the carried value of a loop whose place a kernel's result takes, or what is stored over parts of
    it.
    """
    block = kernel.root.parent
    loop = None if block is None else block.parent_op()
    if block is None or not isinstance(loop, graph.ScanOp | graph.WhileOp) or block is not loop.body.block:
        return None
    end = block.last_op
    assert isinstance(end, graph.YieldOp), f"{loop.name}: ends in no graph.yield"
    carried = loop.carried if isinstance(loop, graph.ScanOp) else block.args
    result: SSAValue | None = kernel.root.results[0]
    while result is not None:
        for old, new in zip(carried, end.operands, strict=False):
            if new is result:
                return old
        updates = (use.operation for use in result.uses if isinstance(use.operation, UPDATING_OPS))
        result = next((update.result for update in updates if update.source is result), None)
    return None


def _copying(kernel: Kernel, target: Target) -> _Nests:
    """Returns the kernel that copies what another one stores."""
    nests, result = _Nests(target, kernel.axes, [], {}), kernel.root.results[0]
    nests.load(result, kernel.stored, kernel.axes)
    nests.load(result, kernel.stored, kernel.axes, stores=True)
    return nests


def operations_of(op: Operation) -> int:
    """Returns about how many operations an op takes for an element, a reduction for one that it folds."""
    if isinstance(op, VIEW_OPS) or not isinstance(op, graph.GraphOp):
        return 0
    math = getattr(op, "MATH", None)
    counted = 1 if math is None else low.FLOPS.get(math, 1)
    heavy = op.IS_HEAVY and not isinstance(op, FOLDING_OPS)
    return max(counted, DIVISION) if heavy else counted


def _own_kernel(op: Operation, target: Target) -> _Nests:
    """Returns the kernel that has a value as its result."""
    value = op.results[0]
    axes = tuple(Axis(extent, hint_of(dim)) for dim, extent in enumerate(shape_of(value, op.name)))
    loops, indices = tuple(axis for axis in axes if axis.extent != 1), tuple(variable(axis) for axis in axes)
    nests = _Nests(target, loops, [], {})
    nests.add(op, indices, loops, isinstance(op, FOLDING_OPS))
    nests.load(value, indices, loops, stores=True)
    return nests


@dataclass(frozen=True, slots=True)
class _Memory:
    """An access: how far apart neighbours along each axis lie, None where that is no number."""

    value: SSAValue
    strides: dict[Axis, Extent | None]
    nbytes: int
    """Bytes of an element."""
    total: int
    """Bytes of all elements."""
    stores: bool


@dataclass(slots=True)
class _Nest:
    """What is done in some loops: operations for each iteration, and accesses."""

    loops: tuple[Axis, ...]
    folded: tuple[Axis, ...] = ()
    operations: int = 0
    is_tiled: bool = False
    memory: list[_Memory] = field(default_factory=list[_Memory])


@dataclass
class _Nests:
    """The nests of one kernel, by their loops."""

    target: Target
    axes: tuple[Axis, ...]
    prefixes: list[frozenset[Axis]]
    strides: Strides
    """What was found of accesses, for this estimate and others of the kernel."""
    nests: dict[tuple[Axis, ...], _Nest] = field(default_factory=dict[tuple[Axis, ...], _Nest])
    orders: dict[tuple[Axis, ...], tuple[Axis, ...]] = field(
        default_factory=dict[tuple[Axis, ...], tuple[Axis, ...]]
    )
    """Loops, as they were asked for, and outermost first."""
    left: int = MOST_OPERANDS
    loops_follow: bool = False
    """Whether a reduction is likely to be computed here that nothing is decided of yet."""

    @classmethod
    def of(cls, kernel: Kernel, target: Target, but: SSAValue, prefix: frozenset[Axis] | None) -> _Nests:
        """Returns what is known of a kernel with one more prefix, without what reads `but`."""
        prefixes = [*kernel.prefixes, *(() if prefix is None else (prefix,))]
        nests = cls(target, kernel.axes, sorted(prefixes, key=len), kernel.strides)
        for op, accesses in kernel.members.items():
            for access in accesses:
                folded = kernel.stage_axes.get(op)
                if folded is None:
                    nests._nest(access.indices, access.loops).operations += operations_of(op)
                else:
                    nests._fold(op, access.indices, access.loops, folded, is_all_of_kernel(accesses))
                if op in kernel.local_dims:
                    nests.load(op.results[0], access.indices, access.loops, True, NBYTES_OF_LOCAL)
        for value, accesses in kernel.reads.items():
            total = NBYTES_OF_LOCAL if value.owner in kernel.local_dims else None
            for access in accesses if value is not but else ():
                nests.load(value, access.indices, access.loops, total=total)
        nests.load(kernel.root.results[0], kernel.stored, kernel.axes, stores=True)
        return nests

    def add(self, op: Operation, indices: Indices, loops: tuple[Axis, ...], is_all: bool = False) -> None:
        """Adds an op at an index, with the operands that cost little."""
        if isinstance(op, FOLDING_OPS):
            folded = folded_axes(op)
            inner = self._fold(op, indices, loops, folded, is_all)
            if all(axis.extent != 0 for axis in folded):
                self._operands(op, folding_operand_indices(op, indices, folded), inner)
            return
        self._nest(indices, loops).operations += operations_of(op)
        if isinstance(op, graph.WinogradTransformOp):
            for places in summed_at(op, indices)[1].values():
                for each in places:
                    self.load(op.source, each, loops)
            return
        if not isinstance(op, graph.ConcatOp):
            self._operands(op, operand_indices(op, indices), loops)
            return
        for operand in op.inputs:
            self.load(operand, indices, loops)

    def fill(self, op: Operation, place: LocalBuffer, accesses: Sequence[Access]) -> None:
        """Adds a local buffer: what fills it, once, and what reads it."""
        shape = shape_of(op.results[0], op.name)
        inner = {dim: Axis(shape[dim], hint_of(dim)) for dim in place.dims}
        indices = tuple(
            variable(inner[dim]) if dim in inner else index for dim, index in enumerate(place.first)
        )
        loops = (*(axis for axis in self.axes if axis in place.prefix), *inner.values())
        self.add(op, indices, loops)
        self.load(op.results[0], indices, loops, stores=True, total=NBYTES_OF_LOCAL)
        for access in accesses:
            self.load(op.results[0], access.indices, access.loops, total=NBYTES_OF_LOCAL)

    def load(
        self,
        value: SSAValue,
        indices: Indices,
        loops: tuple[Axis, ...],
        stores: bool = False,
        total: int | None = None,
    ) -> None:
        """Adds a load, or a store, of a value; `total` is what it takes where that is not all of it."""
        found = self.strides.get((value, indices))
        if found is None:
            found = self.strides[value, indices] = _strides_of(value, indices)
        strides, nbytes, all_nbytes = found
        nest = self._nest_of(loops if stores else self._ordered(strides, loops))
        nest.memory.append(_Memory(value, strides, nbytes, total or all_nbytes, stores))

    def is_sure(self) -> bool:
        return all(
            stride is not None
            for nest in self.nests.values()
            for each in nest.memory
            for stride in each.strides.values()
        )

    def picoseconds(self) -> float:
        """Returns about how long the kernel runs: what takes longer of its instructions and its memory."""
        near = sum(map(self._near, self.nests.values()))
        far: dict[tuple[SSAValue, bool, int], int] = {}
        for number, nest in enumerate(self.nests.values()):
            for each in nest.memory:
                if each.total > self.target.l2_nbytes // 2:
                    # What is kept for blocks of a kernel reads each block a second time from a cache.
                    pass_ = 0 if self.prefixes and all(self.prefixes) else number
                    nbytes = min(each.total, iterations(nest.loops) * each.nbytes)
                    key = (each.value, each.stores, pass_)
                    far[key] = max(far.get(key, 0), nbytes * (2 if each.stores else 1))
        return LAUNCH_PS + max(near, sum(far.values()) / LINE_NBYTES * FAR_LINE_PS)

    def _operands(self, op: Operation, found: Iterable[Indices], loops: tuple[Axis, ...]) -> None:
        for operand, indices in zip(op.operands, found, strict=True):
            owner = operand.owner
            if isinstance(owner, graph.ConstantOp) and owner.value.is_splat():
                continue
            if self.left > 0 and isinstance(owner, Operation) and _goes_along(owner):
                self.left -= 1
                self.add(owner, indices, loops)
            else:
                self.load(operand, indices, loops)

    def _fold(
        self, op: Operation, indices: Indices, loops: tuple[Axis, ...], folded: tuple[Axis, ...], is_all: bool
    ) -> tuple[Axis, ...]:
        """Adds the nest of a reduction; returns its loops."""
        group = tuple(axis for axis in folded if axis.extent != 1)
        outer = self._ordered(_axes_of(indices), loops)
        inner = (*outer, *group)
        nest = self._nest_of(inner)
        nest.folded = group
        is_product = isinstance(op, graph.ContractOp)
        # What lies in panels runs in tiles as a stage of a kernel, too.
        nest.is_tiled = nest.is_tiled or (is_product and (is_all or _is_in_panels(op)))
        # A product is added up by the one instruction.
        nest.operations += 1
        return inner

    def _ordered(self, wanted: Container[Axis], loops: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """Returns loops, outermost first, up to the last one that is wanted."""
        found = self._sorted(loops)
        count = len(found)
        while count and found[count - 1] not in wanted:
            count -= 1
        return found[:count]

    def _sorted(self, loops: tuple[Axis, ...]) -> tuple[Axis, ...]:
        found = self.orders.get(loops)
        if found is None:
            last = len(self.prefixes)
            inside = sorted(
                (axis for axis in loops if axis in self.axes),
                key=lambda axis: next((n for n, p in enumerate(self.prefixes) if axis in p), last),
            )
            found = self.orders[loops] = (*inside, *(axis for axis in loops if axis not in self.axes))
        return found

    def _nest(self, indices: Indices, loops: tuple[Axis, ...]) -> _Nest:
        return self._nest_of(self._ordered(_axes_of(indices), loops))

    def _nest_of(self, loops: tuple[Axis, ...]) -> _Nest:
        if all(axis in self.axes for axis in loops):
            loops = self._sorted(loops)
        nest = self.nests.get(loops)
        if nest is None:
            nest = self.nests[loops] = _Nest(loops)
            nest.folded = tuple(axis for axis in loops if axis not in self.axes)
        return nest

    def _near(self, nest: _Nest) -> float:
        """Returns how long a nest takes with all that it reads in the second cache."""
        times = iterations(nest.loops)
        widest = max((each.nbytes for each in nest.memory), default=4)
        width = max(self.target.vector_nbytes // widest, 1)
        lanes = self._lanes(nest)
        if nest.is_tiled:
            return times / width * nest.operations * OPERATION_PS
        if lanes is None and self._is_transposed(nest):
            # Squares of vectors are transposed in registers, each in about as many steps as it has rows.
            each = SPILLED * nest.operations + 4 * len(nest.memory)
            lines = sum(map(self._lines_of_neighbours, nest.memory)) * width
            return times / width * (each * OPERATION_PS + lines * LINE_PS)
        steps = float(times) if lanes is None else times / min(width, upper_bound(lanes.extent))
        along = lanes or (nest.loops[-1] if nest.loops else None)
        cost = nest.operations * OPERATION_PS
        for each in nest.memory:
            stride = each.strides.get(along, 0) if along is not None else 0
            count = 1 if lanes is None else width
            cost += access_operations(stride, count, 1.0) * OPERATION_PS
            if each.total > self.target.l1_nbytes // 2:
                step = 1 if lanes is None and self._meets_again(each, along) else stride
                cost += lines_of_step(step, count, each.nbytes) * LINE_PS
        if lanes is None and nest.folded:
            cost = max(cost, LATENCY * OPERATION_PS)
        return steps * cost

    def _meets_again(self, each: _Memory, along: Axis | None) -> bool:
        """Returns whether lines of which a loop takes an element each are in the first cache for the next."""
        if along is None or each.strides.get(along, 0) == 0:
            return False
        fits = upper_bound(along.extent) * LINE_NBYTES <= self.target.l1_nbytes // 2
        return fits and 1 in each.strides.values()

    def _lines_of_neighbours(self, each: _Memory) -> float:
        return each.nbytes / LINE_NBYTES if each.total > self.target.l1_nbytes // 2 else 0.0

    def _lanes(self, nest: _Nest) -> Axis | None:
        """Returns the axis whose neighbours are the lanes of vectors, if there is one."""
        for axis in reversed(nest.folded):
            if self._have_neighbours(nest, axis):
                return axis
        if nest.folded and any(axis not in self.axes and axis not in nest.folded for axis in nest.loops):
            return None
        for axis in reversed(nest.loops):
            if axis in self.axes and self._have_neighbours(nest, axis) and self._is_free(axis):
                return axis
        return None

    def _have_neighbours(self, nest: _Nest, axis: Axis) -> bool:
        strides = [each.strides.get(axis, 0) for each in nest.memory]
        # LLVM makes vectors of what is read backwards, in kernels without other vectors.
        allowed = (0, 1, -1) if axis in nest.folded or len(self.nests) == 1 else (0, 1)
        return all(stride in allowed for stride in strides) and any(stride != 0 for stride in strides)

    def _is_free(self, axis: Axis) -> bool:
        """Returns whether an axis of the kernel may become lanes, whatever is in it."""
        inside = [nest for nest in self.nests.values() if axis in nest.loops]
        is_outer = any(axis in prefix for prefix in self.prefixes)
        if not is_outer:
            return True
        deeper = [nest for nest in inside if nest.loops[-1] is not axis]
        if not deeper:
            return True
        if not all(each.strides.get(axis, 0) in (0, 1) for nest in inside for each in nest.memory):
            return False
        # One loop alone is no reason for strips: what it needs is computed before it.
        return self.loops_follow or any(nest.folded for nest in deeper)

    def _is_transposed(self, nest: _Nest) -> bool:
        """Returns whether a nest alone has neighbours along one axis here and along another one there."""
        if nest.folded or len([each for each in self.nests.values() if each.operations]) > 1 or self.prefixes:
            return False
        return all(
            not each.strides or any(stride == 1 for stride in each.strides.values()) for each in nest.memory
        )


def _axes_of(indices: Indices) -> set[Axis]:
    return {axis for index in indices for axis in index.axes()}


def _strides_of(value: SSAValue, indices: Indices) -> AccessStrides:
    """
    Returns how far apart the elements of neighbours along each axis lie, None where that is no number, the
    bytes of an element, and of all of them.
    """
    nbytes = NBYTES[element_type_of(value.type)]
    extents = [upper_bound(extent) for extent in shape_of(value, "")]
    strides: dict[Axis, Extent | None] = {}
    for factor, index in zip(row_major(extents), indices, strict=True):
        for axis in index.axes():
            one, known = index.stride(axis), strides.get(axis, 0)
            strides[axis] = None if one is None or known is None else known + one * factor
    return strides, nbytes, prod(extents) * nbytes


def _is_in_panels(op: Operation) -> bool:
    """Returns whether an operand of a contraction lies in panels along the columns of its tile."""
    tile = op.tile if isinstance(op, graph.ContractOp) else None
    return tile is not None and tile.columns.size.in_panels


def _goes_along(op: Operation) -> bool:
    """Returns whether an op is likely to be computed where its value is read."""
    if type(op) in OWN_KERNELS or isinstance(
        op, (*FOLDING_OPS, *UPDATING_OPS, graph.ConcatOp, graph.WinogradTransformOp)
    ):
        return False
    if isinstance(op, VIEW_OPS):
        return True
    is_light = isinstance(op, graph.GraphOp) and not isinstance(op, graph.ControlOp) and not op.IS_HEAVY
    if not is_light or isinstance(op, graph.ConstantOp | graph.ReadOp | graph.MergeOp | graph.HostCallOp):
        return False
    return op.results[0].has_one_use()


def _is_of_a_reduction(op: Operation) -> bool:
    """Returns whether an op is computed from a reduction, element by element."""
    return _ops_computed_from(op)[1]


def _ops_computed_from(op: Operation) -> tuple[list[Operation], bool]:
    """
    Returns an op and those that it is computed from, element by element, as many as are looked at until one
    reads a reduction; and whether one does.
    """
    found, waiting = list[Operation](), [op]
    while waiting and len(found) < MOST_OPERANDS:
        found.append(waiting.pop())
        for operand in found[-1].operands:
            owner = operand.owner
            if isinstance(owner, graph.ReduceOp):
                return found, True
            if isinstance(owner, (graph.ElementwiseOp, *VIEW_OPS)):
                waiting.append(owner)
    return found, False


def _time_text(picoseconds: int) -> str:
    """Returns a time in three digits at most."""
    value, unit = picoseconds / 1e3, "ns"
    for larger in ("us", "ms"):
        if value >= 1000:
            value, unit = value / 1000, larger
    return f"{value:.{max(0, 2 - len(str(int(value))))}f} {unit}"
