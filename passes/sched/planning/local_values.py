"""
Where a value goes that a kernel keeps to itself, and is not computed anew wherever it is read.

A heavy value with one use is hoisted: it is computed once for each iteration of the axes that it depends on.
A value that several stages of a kernel read has a local buffer, filled once for each iteration of the axes
that all its reads share. Both ask for axes that are outermost in the kernel, and both may meet an obstacle.

The search changes nothing: the kernel changes when a plan takes the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation

from ....dialects import graph
from ....dialects.dims.expressions import is_at_least, product, upper_bound
from ....dialects.element_types import NBYTES, element_type_of
from ...indices.access import Indices, shape_of
from ...indices.expressions import Axis, variable
from ...machine.kernel_memory import LOCAL_NBYTES_LIMIT
from .accesses import Access, Kernel, element_count, folded_axes, hint_of, iterations, repetitions
from .op_kinds import FOLDING_OPS, UPDATING_OPS
from .own import OWN_KERNELS

# By design: one thread takes about 1 us for as many elements, no less than a launch costs. One core shows no
# difference (`python -m benchmarks.thresholds`): others would wait meanwhile.
SERIAL_ELEMENTS_LIMIT = 4096
"""Up to this many elements, a kernel whose stages share no parallel axis is still worth one launch."""

# Thirds of a row by 512x1536 take two threads 102 us where the product is a stage of the kernel that reads
# them, 57 us where it is a kernel of its own; by 256x768 8.7 and 7.4 us, by 256x384 as long.
SERIAL_FOLDS_LIMIT = 1 << 17
"""Up to this many elements that a reduction or contraction folds for all of its own, the same."""

# By design: a thread each on processors of 8 cores, and two chunks each on those of 4.
PARALLEL_LIMIT = 8
"""From this many iterations on, the shared outer axes of a kernel's stages keep a device busy."""


@dataclass(frozen=True, slots=True)
class Hoisting:
    """A value is computed once for each iteration of the axes it depends on; `prefix` must be outermost."""

    kernel: Kernel
    prefix: frozenset[Axis] | None
    """None where the value is computed in the loops of the stage that reads it."""

    def take(self) -> None:
        if self.prefix is not None:
            self.kernel.add_prefix(self.prefix)


@dataclass(frozen=True, slots=True)
class LocalBuffer:
    """A value has a buffer of its dims `dims`, filled under the axes of `prefix`, which must be outermost."""

    kernel: Kernel
    prefix: frozenset[Axis]
    dims: tuple[int, ...]
    nbytes: int
    is_in_result: bool
    """Whether it lies in the memory of the kernel's result."""
    first: Indices
    """Where the value is read first."""

    def take(self, op: Operation) -> Access:
        """Gives the value of `op` its buffer; returns the access that fills it."""
        kernel, shape = self.kernel, shape_of(op.results[0], op.name)
        kernel.add_prefix(self.prefix)
        inner = {dim: Axis(shape[dim], hint_of(dim)) for dim in self.dims}
        axes = tuple(inner.values())
        kernel.local_dims[op] = tuple(range(len(shape))) if self.is_in_result else self.dims
        if self.is_in_result:
            kernel.in_result = op
        else:
            kernel.local_nbytes += self.nbytes
        kernel.fill_axes[op] = axes
        indices = tuple(
            variable(inner[dim]) if dim in inner else index for dim, index in enumerate(self.first)
        )
        return Access(kernel, indices, (*(axis for axis in kernel.axes if axis in self.prefix), *axes))


def hoisting(op: Operation, access: Access) -> Hoisting | str:
    """Returns where a heavy op with one use is computed, or why it is nowhere in the kernel that reads it."""
    kernel, dependences = access.kernel, access.dependences()
    prefix = frozenset(axis for axis in dependences if axis in kernel.axes)
    elements = element_count(op.results[0], op.name)
    if len(prefix) < len(dependences):
        repeated = repetitions(access, upper_bound(elements))
        return (
            Hoisting(kernel, None)
            if repeated == 1
            else f"would be computed {repeated} times inside a reduction"
        )
    is_folding = isinstance(op, FOLDING_OPS)
    is_counted = is_folding or any(index.has_elements() for index in access.indices)
    if is_counted and not is_at_least(elements, product(axis.extent for axis in dependences)):
        return f"would be computed more often than it has elements ({elements})"
    if not kernel.accepts_prefix(prefix):
        return "its axes cannot be outermost in the kernel that reads it"
    if is_folding and not _keeps_busy(kernel, prefix, _folds(op)):
        return "the kernel that reads it would have too little to do side by side"
    return Hoisting(kernel, prefix if is_folding or prefix else None)


def local_buffer(op: Operation, accesses: Sequence[Access]) -> LocalBuffer | str:
    """Returns the buffer of a value with several uses in one kernel, or why it cannot have one."""
    kernel, value = accesses[0].kernel, op.results[0]
    shape = shape_of(value, op.name)
    columns = list(zip(*(access.indices for access in accesses), strict=True))
    outer = [
        all(index == column[0] for index in column) and all(axis in kernel.axes for axis in column[0].axes())
        for column in columns
    ]
    prefix = frozenset(
        axis for column, is_outer in zip(columns, outer, strict=True) if is_outer for axis in column[0].axes()
    )
    dims = tuple(dim for dim, is_outer in enumerate(outer) if not is_outer)
    nbytes = prod(upper_bound(shape[dim]) for dim in dims) * NBYTES[element_type_of(value.type)]
    fits = kernel.local_nbytes + nbytes <= LOCAL_NBYTES_LIMIT
    if not fits and not _fits_result(op, kernel, accesses, dims):
        if nbytes > LOCAL_NBYTES_LIMIT:
            return f"a local buffer of {nbytes} bytes would be too large"
        return f"its kernel has {kernel.local_nbytes} bytes of local buffers already"
    if not kernel.accepts_prefix(prefix):
        return "its axes cannot be outermost in the kernel that reads it"
    if not _keeps_busy(kernel, prefix, _folds(op)):
        return "the kernel that reads it would have too little to do side by side"
    if any(
        is_outer and upper_bound(shape[dim]) > 1
        for dim, is_outer in enumerate(outer)
        if dims and dim > dims[-1]
    ):
        return "a local buffer would not be contiguous in the last dim"
    return LocalBuffer(kernel, prefix, dims, nbytes, not fits, accesses[0].indices)


def _keeps_busy(kernel: Kernel, axes: frozenset[Axis], folds: int) -> bool:
    """
    Returns whether stages under `axes` leave enough to do side by side, or little to do at all: few elements,
    and few that a stage `folds` for them.
    """
    total = iterations(kernel.axes)
    if total <= SERIAL_ELEMENTS_LIMIT and folds <= SERIAL_FOLDS_LIMIT:
        return True
    return iterations(axes) >= min(PARALLEL_LIMIT, total)


def _folds(op: Operation) -> int:
    """Returns how many elements a reduction or contraction folds for all of its own, 0 for any other op."""
    if not isinstance(op, FOLDING_OPS):
        return 0
    return upper_bound(element_count(op.results[0], op.name)) * iterations(folded_axes(op))


def _fits_result(op: Operation, kernel: Kernel, accesses: Sequence[Access], dims: Sequence[int]) -> bool:
    """
    Returns whether the value of `op` may lie in the buffer of the kernel's root until the root's elements,
    each computed of the element in its place, take that place.
    """
    root = kernel.root
    if kernel.in_result is not None or type(root) in OWN_KERNELS or isinstance(root, UPDATING_OPS):
        return False
    if isinstance(root, (graph.ConcatOp, *FOLDING_OPS)) or len(dims) != 1 or len(kernel.members[root]) > 1:
        return False
    value, result = op.results[0], root.results[0]
    if element_type_of(value.type) != element_type_of(result.type):
        return False
    if shape_of(value, op.name) != shape_of(result, root.name):
        return False
    at_root = [access for access in accesses if access.loops == kernel.axes]
    return len(at_root) == 1 and at_root[0].indices == kernel.stored
