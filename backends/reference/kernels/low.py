"""
Runs `low` kernels on numpy arrays, all work-items at once.

A value that is the same for all work-items is a 0-d array (a vector: one of its lanes); any other has a
leading dim with one entry per work-item. The work-items of a work-group are always evaluated together and in
step, so a barrier waits for nobody; instead of waiting, it is checked that it is reached by whole work-groups
and that neither shared memory nor what is combined atomically is exchanged without one. Each branch that only
some work-items take runs under a mask of those. A large grid runs in pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np
import numpy.typing as npt
from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects import low
from ....dialects.dims.expressions import evaluated
from ....dialects.element_types import lanes_of
from ....dialects.low.atomic_rmw import has_atomics
from ....dialects.low.combining import FLOAT_REDUCTIONS, INTEGER_REDUCTIONS
from ....errors import CallError
from ....semantics import numerics
from ....semantics.errors import InterpreterError, describe
from ....semantics.numpy_types import Array, dtype_of, is_floating
from ..element_watch import ElementWatch, element_watch, origin_of_stored
from .atomic_access_log import AtomicAccessLog
from .atomic_rmw import run_atomic_rmw
from .kernel_memory import KernelMemory
from .masked_control import Mask, run_control
from .scalars import DIVISIONS, FUNCTIONS, check_division, function_of
from .shared_access_log import AccessLog, SharedAccessLog
from .tile_fma import run_tile_fma
from .undefined_memory import as_undefined, filled

ELEMENTS_LIMIT = 1 << 18
"""About how many elements a value of all work-items at hand may have; more than this runs in pieces."""


def run_kernel(kernel: low.KernelOp, arguments: Sequence[Array], *, check_races: bool = True) -> None:
    """
    Runs `kernel` on one-dimensional arrays of the arguments' storage dtypes, changing them in place.

    Memory that a kernel allocates holds NaN, or a pattern of bits that is no likely integer, until it is
    stored to. `check_races` also compares what was stored with what was to be stored.

    Raises:
        CallError: the arrays do not fit the kernel's arguments. InterpreterError: an op without a rule, or
        something undefined: an index out of bounds, an integer division
            by 0, a race, a barrier that only part of a work-group reaches.
    """
    PreparedKernel(kernel, check_races=check_races).run(arguments)


class PreparedKernel:
    """
    A kernel looked at once, to be run many times, by several threads too. The op must not change meanwhile.

    Raises InterpreterError for an op without a rule.
    """

    def __init__(self, kernel: low.KernelOp, *, check_races: bool = True) -> None:
        """With `check_races` runs compare what was stored with what was to be stored."""
        self.kernel = kernel
        self._check_races = check_races
        self.block = kernel.block_extents
        self._steps = {block: _steps_of(block) for block in _blocks(kernel.body)}
        self._elements_per_item = _elements_per_item(kernel)
        arguments = kernel.body.block.args
        self._atomic = [argument for argument in arguments if has_atomics(argument)] if check_races else []

    def grid_for(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """Returns the grid for values of the kernel's dims."""
        values = dict(zip(self.kernel.sizes, sizes, strict=False))
        return tuple(evaluated(extent, values) for extent in self.kernel.grid.data)

    def run(self, arguments: Sequence[Array], grid: tuple[int, ...] | None = None) -> None:
        """Does what `run_kernel` does, for the work-groups of `grid`, None for all that the kernel has."""
        _check_arguments(self.kernel, arguments)
        n_dims, block = len(self.kernel.sizes), self.block
        if grid is None:
            grid = self.grid_for([int(size) for size in arguments[:n_dims]])
        n_groups, n_threads = prod(grid), prod(block)
        groups_at_once = max(1, ELEMENTS_LIMIT // (n_threads * self._elements_per_item))
        logs = {argument: AtomicAccessLog(arguments[argument.index].size) for argument in self._atomic}
        with np.errstate(all="ignore"):
            for begin in range(0, n_groups, groups_at_once):
                end = min(begin + groups_at_once, n_groups)
                run = _Run(self._steps, grid, block, begin, end, self._check_races)
                run.logs.extend(logs.values())
                for log in logs.values():
                    log.begin(run.groups + begin, begin * n_threads)
                for argument, array in zip(self.kernel.body.block.args, arguments, strict=True):
                    if argument.index < n_dims:
                        run.values[argument] = array
                    else:
                        run.memories[argument] = KernelMemory(array, log=logs.get(argument))
                run.block(self.kernel.body.block)


def _check_arguments(kernel: low.KernelOp, arguments: Sequence[Array]) -> None:
    name, wanted = kernel.sym_name.data, kernel.body.block.args
    if len(arguments) != len(wanted):
        raise CallError(f"@{name}: {len(arguments)} arguments given, expected {len(wanted)}")
    n_dims = len(kernel.sizes)
    for argument, array in zip(wanted[n_dims:], arguments[n_dims:], strict=True):
        (size,) = _extents(argument)
        if (
            array.dtype != dtype_of(argument.type)
            or array.ndim != 1
            or size not in (DYNAMIC_INDEX, array.shape[0])
        ):
            raise CallError(
                f"@{name}: argument {argument.index} is {array.dtype} {list(array.shape)}, "
                f"expected {argument.type}"
            )


def _extents(buffer: SSAValue) -> tuple[int, ...]:
    type = buffer.type
    assert isinstance(type, MemRefType), f"{type} is no memref"
    return type.get_shape()


def _elements_per_item(kernel: low.KernelOp) -> int:
    elements = 1
    for op in kernel.body.walk():
        for result in op.results:
            if isinstance(result.type, MemRefType):
                elements = max(elements, prod(_extents(result)))
            else:
                elements = max(elements, lanes_of(result.type) or 1)
    return elements


class _Run:
    """The work-items of some work-groups: their values, and which of them are active (None for all)."""

    __slots__ = (
        "_block",
        "_first_group",
        "_grid",
        "_steps",
        "check_races",
        "groups",
        "logs",
        "mask",
        "memories",
        "n_groups",
        "n_items",
        "n_threads",
        "values",
    )

    def __init__(
        self,
        steps: Mapping[Block, Sequence[_Step]],
        grid: tuple[int, ...],
        block: tuple[int, ...],
        begin: int,
        end: int,
        check_races: bool,
    ):
        self._steps, self._grid, self._block = steps, grid, block
        self.n_threads = prod(block)
        self.n_groups = end - begin
        self.n_items = self.n_groups * self.n_threads
        self.groups = np.repeat(np.arange(self.n_groups), self.n_threads)
        """The work-group of each work-item, counted from the first at hand."""
        self._first_group = begin
        self.check_races = check_races
        self.values: dict[SSAValue, Array] = {}
        self.memories: dict[SSAValue, KernelMemory] = {}
        self.logs: list[AccessLog] = []
        self.mask: Mask | None = None

    def block(self, block: Block) -> None:
        """Runs the code of a block."""
        for step in self._steps[block]:
            step(self)

    def value(self, value: SSAValue) -> Array:
        return self.values[value]

    def bind(self, names: Sequence[SSAValue], values: Sequence[Array]) -> None:
        self.values.update(zip(names, values, strict=True))

    def active(self, condition: Mask) -> Mask:
        return condition if self.mask is None else condition & self.mask

    def merged(self, mask: Mask, chosen: Array, other: Array, type: Attribute) -> Array:
        return np.where(mask if lanes_of(type) is None else mask[:, np.newaxis], chosen, other)

    def block_id(self, dimension: int) -> Array:
        groups = self.groups[:1] if self.n_groups == 1 else self.groups
        return _coordinates(groups + self._first_group, self._grid, dimension)

    def thread_id(self, dimension: int) -> Array:
        items = np.arange(self.n_items) % self.n_threads
        return _coordinates(items, self._block, dimension)


def _coordinates(numbers: npt.NDArray[np.int64], extents: tuple[int, ...], dimension: int) -> Array:
    """Coordinates in a box that is counted along the first dimension first; 0-d if they are all the same."""
    if extents[dimension] == 1 or len(numbers) == 1:
        numbers = numbers[0]
    return numbers // prod(extents[:dimension]) % extents[dimension]


_Step = Callable[[_Run], None]
"""What one op does."""


def _blocks(region: Region) -> list[Block]:
    """Returns the blocks of a region, and of those in it."""
    inner = [op_region for block in region.blocks for op in block.ops for op_region in op.regions]
    return [*region.blocks, *(block for op_region in inner for block in _blocks(op_region))]


def _steps_of(block: Block) -> list[_Step]:
    """
    Looks at every op of a block once.

    Raises InterpreterError for an op without a rule.
    """
    ops = [op for op in block.ops if not isinstance(op, _ENDS)]
    steps = [STEPS.get(type(op), _compute)(op) for op in ops]
    if (watch := element_watch()) is None:
        return steps
    return [_watched(op, step, watch) if _writes(op) else step for op, step in zip(ops, steps, strict=True)]


def _writes(op: Operation) -> bool:
    """Returns whether an op itself, and not one in its regions, may change memory."""
    return not op.regions and (not op.results or isinstance(op, low.AtomicRmwOp))


def _watched(op: Operation, step: _Step, watch: ElementWatch) -> _Step:
    """An op that writes to memory, and is looked at for whether it changes the element that is watched."""

    def watched(run: _Run) -> None:
        step(run)
        if watch.has_changed():
            watch.origin = _origin(op, run, watch.address)

    return watched


def _origin(op: Operation, run: _Run, address: int) -> list[str]:
    """Returns what computed the element that an op has put at an address."""
    if not isinstance(op, memref.StoreOp | vector.StoreOp):
        return [describe(op)]
    buffer, stored = (op.memref, op.value) if isinstance(op, memref.StoreOp) else (op.base, op.vector)
    array = run.memories[buffer].array
    ahead = (address - array.ctypes.data) // array.itemsize - run.values[op.indices[0]]
    hits = (ahead >= 0) & (ahead < (lanes_of(stored.type) or 1))
    if run.mask is not None:
        hits = hits & run.mask
    item = int(np.argwhere(hits)[-1, 0]) if hits.ndim else 0
    lane = int(ahead[item] if ahead.ndim else ahead)

    def number(value: SSAValue) -> object | None:
        known = run.values.get(value)
        if known is None:
            return None
        known = np.asarray(known[item] if _is_varying(known, value.type) else known)
        return known[lane] if lanes_of(value.type) is not None else known

    return origin_of_stored(op, stored, number)


def _compute(op: Operation) -> _Step:
    """An op that computes values from values alone."""
    function, operands = function_of(op), tuple(op.operands)
    (result,) = op.results
    if type(op) in DIVISIONS:

        def divide(run: _Run) -> None:
            lhs, rhs = (run.values[operand] for operand in operands)
            if run.mask is None:
                check_division(op, lhs, rhs)
            else:
                check_division(op, *(_active(value, operands[0].type, run.mask) for value in (lhs, rhs)))
            run.values[result] = function(lhs, rhs)

        return divide

    match operands:
        case ():

            def compute(run: _Run) -> None:
                run.values[result] = function()

        case (operand,):

            def compute(run: _Run) -> None:
                run.values[result] = function(run.values[operand])

        case (lhs, rhs):

            def compute(run: _Run) -> None:
                values = run.values
                values[result] = function(values[lhs], values[rhs])

        case _:

            def compute(run: _Run) -> None:
                values = run.values
                values[result] = function(*(values[operand] for operand in operands))

    return compute


def _is_varying(value: Array, type: Attribute) -> bool:
    return value.ndim > (lanes_of(type) is not None)


def _active(value: Array, type: Attribute, mask: Mask) -> Array:
    return value[mask] if _is_varying(value, type) else value


def _block_id(op: Operation) -> _Step:
    assert isinstance(op, low.BlockIdOp)
    dimension, result = op.dimension.data.number, op.result

    def step(run: _Run) -> None:
        run.values[result] = run.block_id(dimension)

    return step


def _thread_id(op: Operation) -> _Step:
    assert isinstance(op, low.ThreadIdOp)
    dimension, result = op.dimension.data.number, op.result

    def step(run: _Run) -> None:
        run.values[result] = run.thread_id(dimension)

    return step


def _barrier(op: Operation) -> _Step:
    def step(run: _Run) -> None:
        if run.mask is not None:
            arrived = run.mask.reshape(-1, run.n_threads)
            partly = arrived.any(axis=1) & ~arrived.all(axis=1)
            if partly.any():
                count = int(arrived[partly][0].sum())
                raise InterpreterError(
                    f"{describe(op)}: only {count} of the {run.n_threads} work-items of a work-group arrive"
                )
        for log in run.logs:
            log.forget(run.mask)

    return step


def _load(op: Operation) -> _Step:
    assert isinstance(op, memref.LoadOp | vector.LoadOp)
    buffer = op.memref if isinstance(op, memref.LoadOp) else op.base
    index, result = _only_index(op, op.indices), op.results[0]
    lanes = lanes_of(result.type)

    def step(run: _Run) -> None:
        run.values[result] = run.memories[buffer].load(op, run.values[index], run.mask, lanes)

    return step


def _store(op: Operation) -> _Step:
    assert isinstance(op, memref.StoreOp | vector.StoreOp)
    buffer, value = (op.memref, op.value) if isinstance(op, memref.StoreOp) else (op.base, op.vector)
    index, lanes = _only_index(op, op.indices), lanes_of(value.type)

    def step(run: _Run) -> None:
        values = run.values
        run.memories[buffer].store(op, values[value], values[index], run.mask, lanes, run.check_races)

    return step


def _only_index(op: Operation, indices: Sequence[SSAValue]) -> SSAValue:
    if len(indices) != 1:
        raise InterpreterError(f"{describe(op)}: {len(indices)} indices, expected one linear index")
    return indices[0]


def _alloca(op: Operation) -> _Step:
    assert isinstance(op, low.AllocaOp)
    result, is_shared = op.memref, op.is_shared
    (size,), dtype = op.type.get_shape(), dtype_of(op.type)

    def step(run: _Run) -> None:
        if run.n_items == 1:
            run.memories[result] = KernelMemory(_undefined((size,), dtype))
        elif is_shared and run.n_threads > 1:
            log = SharedAccessLog(run.groups, size)
            run.logs.append(log)
            copies = _undefined((run.n_groups, size), dtype)
            run.memories[result] = KernelMemory(copies, run.groups, log=log)
        else:
            copies = _undefined((run.n_items, size), dtype)
            run.memories[result] = KernelMemory(copies, np.arange(run.n_items), is_private=True)

    return step


def _undefined(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    if is_floating(dtype):
        return as_undefined(np.full(shape, np.nan).astype(dtype))
    return as_undefined(filled(shape, dtype, 0xA5))


def _broadcast(op: Operation) -> _Step:
    assert isinstance(op, vector.BroadcastOp)
    source, result, lanes = op.source, op.vector, lanes_of(op.vector.type)
    assert lanes is not None
    is_vector = lanes_of(source.type) is not None

    def step(run: _Run) -> None:
        value = np.asarray(run.values[source])
        if not is_vector:
            value = value[..., np.newaxis]
        run.values[result] = np.broadcast_to(value, (*value.shape[:-1], lanes))

    return step


def _reverse(op: Operation) -> _Step:
    assert isinstance(op, low.ReverseOp)
    source, result = op.source, op.result

    def step(run: _Run) -> None:
        run.values[result] = np.asarray(run.values[source])[..., ::-1]

    return step


def _transpose(op: Operation) -> _Step:
    assert isinstance(op, low.TransposeOp)
    rows, columns = tuple(op.rows), tuple(op.columns)

    def step(run: _Run) -> None:
        square = np.stack(np.broadcast_arrays(*(run.values[row] for row in rows)), axis=-1)
        for lane, column in enumerate(columns):
            run.values[column] = square[..., lane, :]

    return step


_COMBINE_FLOATS: dict[CombiningKindFlag, Callable[..., Array]] = {
    **{kind: FUNCTIONS[op] for kind, op in FLOAT_REDUCTIONS.items()},
    CombiningKindFlag.MAXNUMF: numerics.maximum_number,
    CombiningKindFlag.MINNUMF: numerics.minimum_number,
}
_COMBINE_INTEGERS = {kind: FUNCTIONS[op] for kind, op in INTEGER_REDUCTIONS.items()}


def _reduction(op: Operation) -> _Step:
    assert isinstance(op, vector.ReductionOp)
    source, start, result = op.vector, op.acc, op.dest
    kind, lanes = op.kind.data, lanes_of(source.type)
    assert lanes is not None
    table = _COMBINE_FLOATS if is_floating(dtype_of(result.type)) else _COMBINE_INTEGERS
    combine = table.get(kind)
    if combine is None:
        raise InterpreterError(f"{describe(op)}: cannot combine {source.type} by {kind.value}")

    def step(run: _Run) -> None:
        value, width = run.values[source], lanes
        while width > 1:
            width //= 2
            value = combine(value[..., :width], value[..., width:])
        total = value[..., 0]
        run.values[result] = total if start is None else combine(run.values[start], total)

    return step


_ENDS = (scf.YieldOp, scf.ConditionOp)
"""The ops that end a block: those around it read what they give."""


def _control(op: Operation) -> _Step:
    assert isinstance(op, scf.ForOp | scf.IfOp | scf.WhileOp)
    for region in op.regions:
        last = region.blocks.last.last_op if region.blocks.last is not None else None
        if isinstance(last, scf.YieldOp) and any(isinstance(type, MemRefType) for type in last.operand_types):
            raise InterpreterError(f"{describe(op)}: cannot yield a memref")
    return lambda run: run_control(run, op)


STEPS: dict[type[Operation], Callable[[Operation], _Step]] = {
    scf.ForOp: _control,
    scf.IfOp: _control,
    scf.WhileOp: _control,
    memref.LoadOp: _load,
    memref.StoreOp: _store,
    low.AllocaOp: _alloca,
    low.AtomicRmwOp: run_atomic_rmw,
    vector.LoadOp: _load,
    vector.StoreOp: _store,
    vector.BroadcastOp: _broadcast,
    vector.ReductionOp: _reduction,
    low.ReverseOp: _reverse,
    low.TransposeOp: _transpose,
    low.BlockIdOp: _block_id,
    low.ThreadIdOp: _thread_id,
    low.BarrierOp: _barrier,
    low.TileFmaOp: run_tile_fma,
}
"""The ops of bodies that do more than compute values from values, and what makes a step of each."""
