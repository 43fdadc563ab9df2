"""Runs `low.tile_fma` for all work-items at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from ....dialects import low
from ....dialects.low.tile import RowRanges, sizes_of_tile
from ....semantics.errors import InterpreterError, describe
from ....semantics.numerics import add_product, nibble
from ....semantics.numpy_types import Array, dtype_of
from .kernel_memory import KernelMemory
from .masked_control import Mask

STEPS_AT_ONCE = 256
"""The most steps of the depth whose elements are loaded at once."""

Offsets = npt.NDArray[np.int64]


class Run(Protocol):
    """What a step of a kernel is told of the work-items."""

    n_items: int
    mask: Mask | None
    check_races: bool
    values: dict[SSAValue, Array]
    memories: dict[SSAValue, KernelMemory]


def run_tile_fma(op: Operation) -> Callable[[Run], None]:
    """Returns what runs `op`. Work-items whose tiles differ in size take their turns."""
    assert isinstance(op, low.TileFmaOp)
    names = sizes_of_tile(op)

    def step(run: Run) -> None:
        outer = run.mask
        for sizes, mask in _turns(run, [np.asarray(run.values[name]) for name in names]):
            run.mask = mask
            _run(op, run, dict(zip(names, sizes, strict=True)))
        run.mask = outer

    return step


def _turns(run: Run, sizes: list[Array]) -> Iterator[tuple[tuple[int, ...], Mask | None]]:
    """Gives each combination of sizes that active work-items have, and the mask of these."""
    if not any(size.ndim for size in sizes):
        yield tuple(int(size) for size in sizes), run.mask
        return
    table = np.stack([np.broadcast_to(size, (run.n_items,)) for size in sizes], axis=1)
    active = np.ones(run.n_items, np.bool_) if run.mask is None else run.mask
    for row in np.unique(table[active], axis=0):
        mask = active & (table == row).all(axis=1)
        yield tuple(int(size) for size in row), None if mask.all() else mask


def _run(op: low.TileFmaOp, run: Run, size: Mapping[SSAValue, int]) -> None:
    columns = op.columns.value.data
    if op.live is not None:
        if size[op.live] > columns:
            raise InterpreterError(f"{describe(op)}: {size[op.live]} live columns of {columns}")
        columns = max(size[op.live], 0)
    if columns == 0:
        return
    count = op.rows.value.data
    if op.live_rows is not None:
        if not count <= 2 * size[op.live_rows] <= 2 * count:
            raise InterpreterError(f"{describe(op)}: {size[op.live_rows]} live rows of {count}")
        count = size[op.live_rows]
    dtype, rows = dtype_of(op.acc.type), np.arange(count)
    acc, acc_at = run.memories[op.acc], run.values[op.acc_at]
    if op.transposed is None:
        starts = [acc_at + row * size[op.acc_row] for row in rows]
    else:
        starts = [acc_at + column * size[op.acc_row] for column in range(columns)]
    if op.accumulates is None:
        sums: Array = np.zeros((len(rows), columns), dtype)
    else:
        sums = np.stack([acc.load(op, start, run.mask, columns) for start in starts], axis=-2)
    extents = [max(size[depth], 0) for depth in op.depths]
    lhs_steps, rhs_steps = ([size[step] for step in steps] for steps in (op.lhs_steps, op.rhs_steps))
    for first in range(0, prod(extents), STEPS_AT_ONCE):
        numbers = np.arange(first, min(first + STEPS_AT_ONCE, prod(extents)))
        at = np.stack(np.unravel_index(numbers, extents))[..., np.newaxis]
        read, taken = rows, None
        if op.ranges is not None:
            taken = _taken(op, op.ranges, size, at[..., 0], rows)
            if not taken.any():
                continue
            at, taken = at[:, taken.any(axis=1)], taken[taken.any(axis=1)]
            # Nothing is read for a row that is left out: it stands for another one of the step.
            read = np.where(taken, rows, taken.argmax(axis=1)[:, np.newaxis])
        lhs_at = read * size[op.lhs_row] + np.tensordot(lhs_steps, at, 1)
        rhs_at = np.arange(columns) + np.tensordot(rhs_steps, at, 1)
        lhs = run.memories[op.lhs].gather(op, run.values[op.lhs_at], lhs_at, run.mask)
        rhs = run.memories[op.rhs].gather(op, run.values[op.rhs_at], rhs_at, run.mask)
        lhs = _converted(lhs, dtype, op.lhs_unsigned is not None)
        if op.rhs_nibbles is not None:
            rhs = nibble(rhs, at[-1].astype(rhs.dtype))
        rhs = _converted(rhs, dtype, op.rhs_unsigned is not None)
        for k in range(at.shape[1]):
            added = add_product(lhs[..., k, :, np.newaxis], rhs[..., k, np.newaxis, :], sums)
            sums = added if taken is None else np.where(taken[k, :, np.newaxis], added, sums)
    written = sums if op.transposed is None else sums.swapaxes(-1, -2)
    for row, start in enumerate(starts):
        acc.store(op, written[..., row, :], start, run.mask, written.shape[-1], run.check_races)


def _taken(
    op: low.TileFmaOp, row_ranges: RowRanges, size: Mapping[SSAValue, int], at: Array, rows: Array
) -> npt.NDArray[np.bool_]:
    """Returns for each step whether each row takes part in it; `at` has a row of numbers for each depth."""
    number, ranges = row_ranges
    first, end = np.asarray(ranges)[at[number]].T[..., np.newaxis]
    taken = (first <= rows) & (rows < end)
    if op.cut:
        taken |= np.asarray([not size[condition] for condition in op.cut])[at[number], np.newaxis]
    return taken


def _converted(elements: Array, dtype: np.dtype[Any], is_unsigned: bool) -> Array:
    if is_unsigned:
        elements = elements.view(f"u{elements.dtype.itemsize}")
    return elements.astype(dtype)
