"""
Runs `sched` kernels on numpy arrays.

All iterations of a parallel axis are evaluated at once: a value inside of n axes is an array of n dims
(outermost first, an extent of 1 where it is the same for all). A reduction evaluates its body likewise and
then combines in exactly the order that `sched.reduce` defines, so that a kernel and its lowering agree bit
for bit. Axes whose iterations would take too much memory together are evaluated in pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import sched
from ....dialects.dims.expressions import evaluated
from ....semantics.errors import InterpreterError, describe
from ....semantics.numerics import COMBINE, add_product, identity
from ....semantics.numpy_types import dtype_of, storage_dtype
from ..element_watch import element_watch, origin_of_stored
from .masked_control import Mask, run_control
from .scalars import DIVISIONS, evaluate
from .undefined_memory import as_undefined

Array = npt.NDArray[Any]

LANES_LIMIT = 1 << 22
"""The most iterations evaluated at once."""


@dataclass(frozen=True, slots=True)
class _Buffer:
    """Memory of a kernel: `outer` leading dims of `array` belong to the axes around its allocation."""

    array: Array
    outer: int


def run_kernel(kernel: sched.KernelOp, arguments: Sequence[Array]) -> None:
    """
    Runs `kernel` on arrays of the arguments' shapes and storage dtypes, changing them in place.

    Raises InterpreterError, with the op and where it stands, for an index out of bounds or an unknown op.
    """
    sizes = kernel.sizes
    dims = {name: int(arguments[size.index]) for name, size in sizes.items()}
    run = _Run(dims)
    for argument, array in zip(kernel.body.block.args, arguments, strict=True):
        if argument.index < len(sizes):
            run.values[argument] = array
        else:
            run.buffers[argument] = _Buffer(array, 0)
    with np.errstate(all="ignore"):
        run.block(kernel.body.block, ())


class _Run:
    def __init__(self, dims: Mapping[str, int]) -> None:
        self._dims = dims
        self.values: dict[SSAValue, Array] = {}
        self.buffers: dict[SSAValue, _Buffer] = {}
        self.sums: dict[sched.ReduceOp, Array] = {}
        """What reductions in others go on with."""
        self._watch = element_watch()
        self.mask: Mask | None = None
        """Which iterations of the axes around take part; None where all do."""

    def block(self, block: Block, extents: tuple[int, ...]) -> None:
        """Runs the ops of a block inside of axes of the given extents."""
        for op in block.ops:
            match op:
                case sched.AxisOp():
                    self._axis(op, extents)
                case sched.ReduceOp():
                    self.values[op.result] = self._reduce(op, extents, self.sums.pop(op, None))
                case sched.AllocOp():
                    self._alloc(op, extents)
                case memref.LoadOp():
                    where = self._subscripts(op, op.memref, op.indices, extents)
                    array = self.buffers[op.memref].array
                    # An empty buffer is loaded from by iterations that take no part; numpy would refuse to
                    # index it.
                    self.values[op.res] = array[where] if array.size else np.zeros(extents, array.dtype)
                case memref.StoreOp():
                    where = self._subscripts(op, op.memref, op.indices, extents)
                    array = self.buffers[op.memref].array
                    self._store(array, where, op.value, extents)
                    if self._watch is not None and self._watch.has_changed():
                        self._watch.origin = self._origin(op, array, where, extents, self._watch.address)
                case sched.YieldOp() | scf.YieldOp() | scf.ConditionOp():
                    pass
                case scf.ForOp() | scf.IfOp() | scf.WhileOp():
                    run_control(_SerialRun(self, extents), op)
                case _:
                    operands = [self.value(operand, len(extents)) for operand in op.operands]
                    # All iterations are computed at once: one that takes no part must not trap on its
                    # divisor.
                    if self.mask is not None and type(op) in DIVISIONS:
                        operands[1] = np.where(self.mask_at(len(extents)), operands[1], 1)
                    self.values[op.results[0]] = evaluate(op, operands)

    def value(self, value: SSAValue, depth: int) -> Array:
        """The value of a scalar, with a dim for each of `depth` axes."""
        return _deep(np.asarray(self.values[value]), depth)

    def mask_at(self, depth: int) -> Mask:
        """The mask, with a dim for each of `depth` axes."""
        assert self.mask is not None, "all iterations take part"
        return _deep(self.mask, depth)

    def _store(
        self, array: Array, where: tuple[Array, ...], stored: SSAValue, extents: tuple[int, ...]
    ) -> None:
        value = self.value(stored, len(extents))
        if self.mask is None:
            array[where] = value
            return
        mask, value, *at = np.broadcast_arrays(self.mask_at(len(extents)), value, *where)
        array[tuple(index[mask] for index in at)] = value[mask]

    def _origin(
        self,
        op: memref.StoreOp,
        array: Array,
        where: tuple[Array, ...],
        extents: tuple[int, ...],
        address: int,
    ) -> list[str]:
        """Returns what computed the element that a store has put at an address."""
        places = sum(index * stride for index, stride in zip(where, array.strides, strict=True))
        hits = np.broadcast_to(places == address - array.ctypes.data, extents)
        if self.mask is not None:
            hits = hits & self.mask_at(len(extents))
        at = tuple(np.argwhere(hits)[-1])

        def number(value: SSAValue) -> object | None:
            known = self.values.get(value)
            return None if known is None else np.broadcast_to(self.value(value, len(extents)), extents)[at]

        return origin_of_stored(op, op.value, number)

    def _lengths(
        self, op: sched.AxisOp | sched.ReduceOp, extents: tuple[int, ...]
    ) -> Iterator[tuple[int, Mask | None]]:
        """
        Yields how many iterations a loop has: each number with a mask of where it is that, None for
        everywhere. Meanwhile only those iterations of the axes around take part.
        """
        extent = evaluated(op.extent, self._dims)
        if op.count is None:
            yield extent, None
            return
        depth, outer = len(extents), self.mask
        counts = np.clip(self.value(op.count, depth), 0, extent)
        lengths = np.unique(counts if outer is None else _where(self.mask_at(depth), counts))
        for length in lengths.tolist():
            if lengths.size == 1:
                yield length, None
                continue
            mask = counts == length
            self.mask = mask if outer is None else mask & self.mask_at(depth)
            yield length, mask
            self.mask = outer

    def _axis(self, op: sched.AxisOp, extents: tuple[int, ...]) -> None:
        for length, _ in self._lengths(op, extents):
            for begin, end in _pieces(length, extents, 1):
                self.values[op.index] = _index(begin, end, len(extents))
                self.block(op.body.block, (*extents, end - begin))

    def _reduce(self, op: sched.ReduceOp, extents: tuple[int, ...], start: Array | None = None) -> Array:
        """Returns the result; the first partial result starts from `start`."""
        if op.init is not None:
            start = self.value(op.init, len(extents))
        result: Array = np.full(extents, identity(op.kind.data, op.result.type), dtype_of(op.result.type))
        for length, mask in self._lengths(op, extents):
            if op.continued is not None:
                total = self._reduce_dims(op, op.continued, extents, length, start)
            else:
                total = self._combined(op, extents, length, start)
            result = total if mask is None else np.where(mask, total, result)
        return result

    def _combined(
        self, op: sched.ReduceOp, extents: tuple[int, ...], extent: int, start: Array | None
    ) -> Array:
        """Combines `extent` iterations."""
        combine = COMBINE[op.kind.data]
        accumulate = _add_product if op.kind.data.adds_products else combine
        step, items = op.mapping.partials, op.mapping.items.data
        dtype = dtype_of(op.result.type)
        main = extent - extent % step if step > 1 else 0
        sums: Array = np.full((*extents, step), identity(op.kind.data, op.result.type), dtype)
        if start is not None:
            sums[..., 0] = start
        for begin, end in _pieces(main, extents, step):
            values = [value.reshape(*extents, -1, step) for value in self._body(op, extents, begin, end)]
            for number in range(values[0].shape[-2]):
                sums = accumulate(sums, *(value[..., number, :] for value in values))
        if items > 1 and main < extent:
            rest = extent - main
            values = self._body(op, extents, main, extent)
            sums[..., :rest] = accumulate(sums[..., :rest], *values)
            main = extent
        while sums.shape[-1] > 1:
            half = sums.shape[-1] // 2
            sums = combine(sums[..., :half], sums[..., half:])
        total: Array = sums[..., 0]
        for begin, end in _pieces(extent - main, extents, 1):
            values = self._body(op, extents, main + begin, main + end)
            for number in range(values[0].shape[-1]):
                total = accumulate(total, *(value[..., number] for value in values))
        return total

    def _reduce_dims(
        self,
        op: sched.ReduceOp,
        inner: sched.ReduceOp,
        extents: tuple[int, ...],
        extent: int,
        start: Array | None,
    ) -> Array:
        """Returns the result of a reduction over several dims, of which `op` is one around `inner`."""
        total: Array = np.zeros(extents, dtype_of(op.result.type)) if start is None else start
        for number in range(extent):
            self.sums[inner] = total[..., np.newaxis]
            (value,) = self._body(op, extents, number, number + 1)
            total = value[..., 0]
        return total

    def _body(self, op: sched.ReduceOp, extents: tuple[int, ...], begin: int, end: int) -> list[Array]:
        """What the body yields for the indices from `begin` to `end`, as one more dim."""
        self.values[op.index] = _index(begin, end, len(extents))
        inner = (*extents, end - begin)
        self.block(op.body.block, inner)
        return [np.broadcast_to(self.value(value, len(inner)), inner) for value in op.yielded]

    def _alloc(self, op: sched.AllocOp, extents: tuple[int, ...]) -> None:
        type = op.result.type
        assert isinstance(type, MemRefType)
        array = np.zeros((*extents, *type.get_shape()), storage_dtype(type.element_type))
        if array.dtype.kind == "f":
            array.fill(np.nan)  # an element that is read before it is written shows
        self.buffers[op.result] = _Buffer(as_undefined(array), len(extents))

    def _subscripts(
        self, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], extents: tuple[int, ...]
    ) -> tuple[Array, ...]:
        memory = self.buffers[buffer]
        shape = memory.array.shape[memory.outer :]
        depth = len(extents)
        own = [
            np.arange(extent).reshape((-1,) + (1,) * (depth - axis - 1))
            for axis, extent in enumerate(extents[: memory.outer])
        ]
        subscripts = [self.value(index, depth) for index in indices]
        if self.mask is not None:
            mask = self.mask_at(depth)
            subscripts = [np.where(mask, subscript, 0) for subscript in subscripts]
            shape = tuple(extent if mask.any() else 1 for extent in shape)
        for dim, (subscript, extent) in enumerate(zip(subscripts, shape, strict=True)):
            if subscript.size and (subscript.min() < 0 or subscript.max() >= extent):
                wrong = subscript[(subscript < 0) | (subscript >= extent)].flat[0]
                raise InterpreterError(
                    f"{describe(op)}: index {wrong} is out of bounds for dim {dim} of extent {extent}"
                )
        return (*own, *subscripts)


@dataclass(slots=True)
class _SerialRun:
    """Serial code inside of axes of some extents, whose control flow is run."""

    run: _Run
    extents: tuple[int, ...]

    @property
    def mask(self) -> Mask | None:
        return self.run.mask

    @mask.setter
    def mask(self, mask: Mask | None) -> None:
        self.run.mask = mask

    def block(self, block: Block) -> None:
        self.run.block(block, self.extents)

    def value(self, value: SSAValue) -> Array:
        return self.run.value(value, len(self.extents))

    def bind(self, names: Sequence[SSAValue], values: Sequence[Array]) -> None:
        self.run.values.update(zip(names, values, strict=True))

    def active(self, condition: Mask) -> Mask:
        return condition if self.run.mask is None else condition & self.run.mask_at(len(self.extents))

    def merged(self, mask: Mask, chosen: Array, other: Array, type: Attribute) -> Array:
        return np.where(_deep(mask, len(self.extents)), chosen, other)


def _deep(array: Array, depth: int) -> Array:
    """Returns an array with a dim for each of `depth` axes."""
    return array.reshape(array.shape + (1,) * (depth - array.ndim))


def _add_product(total: Array, lhs: Array, rhs: Array) -> Array:
    return add_product(lhs, rhs, total)


def _where(mask: Mask, values: Array) -> Array:
    mask, values = np.broadcast_arrays(mask, values)
    return values[mask]


def _index(begin: int, end: int, axis: int) -> Array:
    return np.arange(begin, end, dtype=np.int64).reshape((1,) * axis + (-1,))


def _pieces(extent: int, extents: tuple[int, ...], step: int) -> list[tuple[int, int]]:
    """Cuts an axis into pieces, whole steps each, that keep the iterations at once below the limit."""
    around = int(np.prod(extents, dtype=np.int64))
    if around == 0:
        return []
    size = max(step, LANES_LIMIT // around // step * step)
    return [(begin, min(begin + size, extent)) for begin in range(0, extent, size)]
