"""
Shows what the numbers in passes are worth: times workloads with other values of them.

    python -m benchmarks.thresholds                     lists the numbers, with the values that are tried
    python -m benchmarks.thresholds chunks.LEAST_CHUNK  times one, or several

Each row is a workload whose code depends on the number, each column how many times as fast another value is:
above 1 it would be better there. Contenders take turns; medians are compared.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.backends.cache.place import SWITCH
from tenon.backends.llvm.device import cpu_device
from tenon.compiler.target import target_of
from tenon.passes.machine.tile_shape import tile_shape
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from xdsl.dialects.builtin import ModuleOp

from .harness import format_table, time_interleaved
from .peers.tenon_peer import conv2d, make_constant, traced
from .workloads import WORKLOADS
from .workloads.workload import Array, Workload

Number = int | float


@dataclass(frozen=True)
class Program:
    """Work that is no part of the contest: a function of f32 arrays of some shapes."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    constants: int = 0
    """How many of the arrays, the last ones, are constants."""
    fastmath: str = ""


@dataclass(frozen=True)
class Threshold:
    """A number of a module of `passes`, other values of it, and the work that shows what it is worth."""

    module: str
    name: str
    tried: tuple[Number, ...]
    workloads: tuple[str, ...] = ()
    """Parts of the names of workloads."""
    programs: tuple[Program, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.module.rpartition('.')[2]}.{self.name}"

    @property
    def value(self) -> Number:
        return getattr(import_module(f"tenon.passes.{self.module}"), self.name)


def _repeated(x: Any, times: int) -> Any:
    return tnp.repeat(x, times, axis=1)


def _chain(x: Any) -> Any:
    y = x
    for _ in range(1600):
        y = y * x + tnp.abs(y)
    return y


def _stencil(x: Any) -> Any:
    v = tnp.sqrt(x * x + 1.0) * 0.5 + x
    return sum((tnp.roll(v, step, axis=0) for step in range(1, 8)), start=v)


def _convolution(x: Any, w: Any) -> Any:
    return nn.conv(x, w, padding=1)


def _depthwise(x: Any, w: Any) -> Any:
    return nn.conv(x, w, padding=1, groups=16)


def row_sums(a: Any, b: Any) -> Any:
    return tnp.sum(tnp.exp(a @ b), axis=1)


def _product(a: Any, b: Any) -> Any:
    return a @ b


def softmax(x: Any) -> Any:
    return nn.softmax(x, axis=1)


def column_softmax(x: Any) -> Any:
    return nn.softmax(x, axis=0)


def onto_transpose(x: Any) -> Any:
    return x.T * x.sum(axis=0)[:, None]


def _column_norm(x: Any) -> Any:
    centered = x - x.mean(axis=0)
    return centered / tnp.sqrt((centered * centered).mean(axis=0) + 1e-5)


def _greatest_and_sum(x: Any) -> Any:
    return tnp.max(x), tnp.sum(x)


def _masked_mean(x: Any, y: Any) -> Any:
    inside = (x >= 0.25) & (x < 0.5)
    return tnp.sum(tnp.where(inside, y, 0.0)) / tnp.sum(inside)


def _variances(x: Any) -> Any:
    return tnp.var(x, axis=1)


def _normalized(x: Any) -> Any:
    return x / (1.0 + tnp.sum(x * x))


def _channels_last(x: Any, w: Any) -> Any:
    return nn.relu(conv2d(x, w, layout="NHWC", groups=1, padding=1))


_TRANSFORMED = tuple(
    Program(
        f"{n} of {extent}x{extent} of {inputs}, {outputs} channels",
        _channels_last,
        ((n, extent, extent, inputs), (3, 3, inputs, outputs)),
        constants=1,
        fastmath="reassoc nnan ninf",
    )
    for n, extent, inputs, outputs in (
        (1, 56, 16, 16),
        (1, 56, 64, 16),
        (1, 56, 32, 32),
        (8, 56, 32, 32),
        (1, 128, 48, 48),
        (8, 56, 64, 64),
        (1, 14, 256, 256),
        (1, 7, 512, 512),
        (2, 7, 512, 512),
        (4, 7, 512, 512),
    )
)
"""Convolutions that may be by sums of tiles."""

_CHUNKS = "sched.mapping.contractions.chunks"
_FEW = "sched.mapping.contractions.few_rows"
_SHAPE = "machine.tile_shape"
_PANELS = "graph.packing.pack_panels"
_LARGE = ("matmul 1024", "matmul 2048", "matmul 4096", "matmul 1000", "MLP")
_SMALL = ("matmul 256", "matmul 257", "matmul 512", "1x1", "batched")

_HELD = tuple(
    Program(f"matmul {m}x{n}x{k}", _product, ((m, k), (k, n)))
    for m, n, k in ((96, 512, 512), (256, 400, 400), (440, 440, 440), (600, 600, 600))
)
"""Products of a matrix that the second cache has room for."""


def _iterated(h: Any, w: Any) -> Any:
    return tenon.fori_loop(0, 16, lambda _, h: tnp.tanh((h @ w.T)[:, : h.shape[1]]), h)


_ITERATED = tuple(
    Program(f"16 products of {m}x{k} by {n}x{k}", _iterated, ((m, k), (n, k)))
    for m, n, k in ((1, 512, 512), (4, 512, 512), (12, 512, 512), (2, 2048, 1024), (8, 2048, 1024))
)

_FEW_IN_PANELS = tuple(
    Program(f"matmul {m}x{n}x{k}, constant weights", _product, ((m, k), (k, n)), constants=1)
    for m, n, k in ((2, 3072, 768), (4, 3072, 768), (6, 8192, 2048), (8, 8192, 2048))
)
_FEW_ROWS = tuple(
    Program(f"matmul {m}x{n}x{k}", _product, ((m, k), (k, n)))
    for m, n, k in ((1, 2000, 8000), (2, 2000, 8000), (8, 2000, 8000), (8, 12000, 4000), (16, 2000, 8000))
)

_RULES = "sched.planning.fusion_rules"
_LOCAL = "sched.planning.local_values"
_CONSTANT_ROW = (
    Program("matmul 1x3072x768, constant weights", _product, ((1, 768), (768, 3072)), constants=1),
)
_CHAINED = Program("1600 sums of products", _chain, ((64, 64),))
_MUCH_WEIGHT = (
    Program("3x3 of 512 channels of 7x7", _convolution, ((1, 512, 7, 7), (512, 512, 3, 3))),
    Program("3x3 of 512 channels of 8 images of 7x7", _convolution, ((8, 512, 7, 7), (512, 512, 3, 3))),
)
_FEW_CHANNELS = Program("3x3 of 16 channels of 700 images", _convolution, ((700, 16, 14, 14), (16, 16, 3, 3)))
_STENCIL = Program("8 reads of a value", _stencil, ((512, 512),))
_WINDOWS = (
    Program("windows of 3x3, 512x512", _depthwise, ((1, 16, 512, 512), (16, 1, 3, 3))),
    Program("windows of 3x3, 56x56", _depthwise, ((1, 16, 56, 56), (16, 1, 3, 3))),
)
_PRODUCTS = (
    Program("sums of rows of 64x64x64", row_sums, ((64, 64), (64, 64))),
    Program("sums of rows of 16x16x64", row_sums, ((16, 64), (64, 16))),
    Program("sums of rows of 8x8x16", row_sums, ((8, 16), (16, 8))),
    Program("sums of rows of 4x4x8", row_sums, ((4, 8), (8, 4))),
    Program("sums of rows of 16x16x8", row_sums, ((16, 8), (8, 16))),
    Program("sums of rows of 2x128x128", row_sums, ((2, 128), (128, 128))),
)
_CHOICES = (
    Program("softmax of columns", column_softmax, ((512, 512),)),
    Program("sums of columns onto the transpose", onto_transpose, ((512, 512),)),
    Program("layer norm of columns", _column_norm, ((512, 512),)),
)
_LONG_ROWS = Program("softmax of rows of 48 KB", softmax, ((32, 12000),))
_ALL_SUMS = (
    Program("one sum of 64x64", _normalized, ((64, 64),)),
    Program("one sum of 512x512", _normalized, ((512, 512),)),
)


def _in_thirds(x: Any, w: Any) -> Any:
    first, second, third = tnp.split(x @ w, 3, axis=-1)
    return first * tnp.tanh(second) + third


_THIRDS = tuple(
    Program(f"thirds of 1x{depth} by {depth}x{columns}", _in_thirds, ((1, depth), (depth, columns)), 1)
    for depth, columns in ((128, 384), (256, 768), (512, 1536))
)


def _added_up(x: Any) -> Any:
    """A sum for each of 1000 bins: of elements from a few quick ops, and of others from 50."""
    bins = (tnp.abs(x) * 250).astype(np.int32)
    polynomial = x
    for _ in range(25):
        polynomial = polynomial * x + 0.5
    zeros = tnp.zeros((1000,), dtype=x.dtype)
    return zeros.at[bins].add(x * x), zeros.at[bins].add(polynomial)


def _loop_of_rows(x: Any) -> Any:
    """Each row from the one before: some kernels of as many elements as a row has."""

    def body(i: Any, carried: Any) -> Any:
        y, row = carried
        row = row * 0.5 + x[i]
        return y.at[i].set(row / (1.0 + tnp.sum(row * row))), row

    return tenon.fori_loop(0, x.shape[0], body, (x, x[0]))[0]


def _rotated_rows(x: Any) -> Any:
    """Rows rotated with the next by angles of a recurrence: many kernels of one element, few of a row."""

    def body(i: Any, carried: Any) -> Any:
        y, f, g = carried
        r = tnp.sqrt(f * f + g * g)
        c, s = f / r, g / r
        one, other = y[i], y[i + 1]
        y = y.at[i].set(c * one + s * other)
        return y.at[i + 1].set(c * other - s * one), 1.0 + g * s, 0.5 - f * c

    return tenon.fori_loop(0, x.shape[0] - 1, body, (x, 1.0, 0.5))[0]


def _mirrored(x: Any) -> Any:
    return tenon.fori_loop(0, 100, lambda _, v: v * 0.5 + v[::-1], x)


def _sorted(x: Any) -> Any:
    return tnp.sort(x)


def _sorted_rows(x: Any) -> Any:
    return tnp.sort(x, axis=1)


def _sorted_powers(x: Any) -> Any:
    return tnp.sort(tnp.exp(40.0 * x))


def _found(x: Any, values: Any) -> Any:
    return tnp.searchsorted(tnp.cumulative_sum(tnp.abs(x)), values * 100.0)


def _shortest(x: Any) -> Any:
    return tenon.fori_loop(0, x.shape[0], lambda k, y: tnp.minimum(y, y[:, k][:, None] + y[k]), x)


def _sum_of_weighted(x: Any, w: Any) -> Any:
    return tnp.sum(x * w)


def _sum_of_products(x: Any, y: Any) -> Any:
    return tnp.sum(x * y)


def _matrix_by_vector(a: Any, x: Any) -> Any:
    return a @ x


def _both_sides(a: Any, x: Any) -> Any:
    return a @ x, x @ a


def _next_state(m: Any, v: Any, g: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * (g * g)
    return m * v, m, v


def _multiples(x: Any, *others: Any) -> Any:
    return tuple(x * float(number) + other for number, other in enumerate(others))


_MERGED = tuple(
    Program(f"three states of {n}", _next_state, ((n,),) * 3) for n in (4000, 30000, 250000, 2000000)
)
_STORED = tuple(Program(f"ten results of {n}", _multiples, ((n,),) * 11) for n in (30000, 250000))
_SORTS = tuple(
    Program(f"sort of {n}", _sorted, ((n,),)) for n in (32, 100, 1000, 10000, 20000, 100000, 1000000)
)
_SORTED_ROWS = tuple(
    Program(f"sorts of {rows} rows of {n}", _sorted_rows, ((rows, n),))
    for rows, n in ((4, 50), (48, 50), (4, 200), (48, 200), (48, 400), (48, 1000))
)
_SORTED_POWERS = tuple(
    Program(f"sort of {n} powers", _sorted_powers, ((n,),)) for n in (20000, 100000, 1000000)
)
_SEARCHES = tuple(Program(f"search of {n} in {n}", _found, ((n,), (n,))) for n in (100, 10000, 100000))
_BINS = tuple(Program(f"{n} elements in 1000 bins", _added_up, ((n,),)) for n in (8192, 400_000))
_ROTATED = tuple(Program(f"rotated rows of {n}", _rotated_rows, ((1000, n),)) for n in (100, 500, 2000))
_ROWS = tuple(Program(f"rows of {n}", _loop_of_rows, ((1000, n),)) for n in (1, 16, 256, 1000))
_TO_AND_FRO = tuple(Program(f"100 steps of {n}", _mirrored, ((n,),)) for n in (1, 16, 200, 600, 65536))
_PATHS = tuple(Program(f"paths of {n}", _shortest, ((n, n),)) for n in (40, 200, 600))
_PERMUTED = tuple(
    Program(f"{'x'.join(map(str, shape))} backwards", lambda x: tnp.permute_dims(x, (2, 1, 0)), (shape,))
    for shape in ((256, 256, 9), (512, 64, 28), (64, 40, 49), (128, 30, 100), (64, 40, 1001))
)
"""Permutations whose last dim fills no whole squares."""

_REPEATED = tuple(
    Program(f"each of 512x1024 {n} times", partial(_repeated, times=n), ((512, 1024),)) for n in (5, 7, 8)
)
"""Elements that come several times in a row."""

_TALL = tuple(
    Program(f"{n}x{m} by a vector", _matrix_by_vector, ((n, m), (m,)))
    for n, m in ((60_000, 128), (20_000, 300), (8_000, 1_000), (3_000, 4_000))
)
_BOTH_SIDES = tuple(
    Program(f"{n}x{n} from both sides", _both_sides, ((n, n), (n,))) for n in (200, 500, 1000, 2000, 6000)
)

_GREATEST = tuple(
    Program(f"greatest and sum of {m}x{n}", _greatest_and_sum, ((m, n),))
    for m, n in ((4000, 64), (2000, 128), (1500, 256), (800, 384), (600, 512))
)

_MASKED = tuple(
    Program(f"masked mean of {'x'.join(map(str, shape))}", _masked_mean, (shape, shape))
    for shape in ((300, 500, 6), (100_000, 8), (6000, 50), (2000, 128), (600, 512))
)
_VARIANCES = tuple(
    Program(f"variances of {256_000 // n} rows of {n}", _variances, ((256_000 // n, n),))
    for n in (14, 28, 63, 90, 120, 150, 400)
)

_SUMS = tuple(
    Program(f"sum of {n} products", _sum_of_products, ((n,), (n,)))
    for n in (1 << 15, 1 << 16, 1 << 17, 1 << 20)
)

_WEIGHTED_SUMS = tuple(
    Program(f"weighted sum of {m}x{n}", _sum_of_weighted, ((m, n), (n,)))
    for m, n in ((8, 200_000), (32, 50257), (100, 50257), (128, 8192), (200, 8192), (512, 2048))
)

THRESHOLDS: tuple[Threshold, ...] = (
    Threshold("graph.split_reductions", "LEAST_ELEMENTS", (1 << 15, 1 << 16, 1 << 18), (), _SUMS),
    Threshold("graph.split_reductions", "ENOUGH_PARTS", (4, 16, 128, 256), (), _WEIGHTED_SUMS),
    Threshold(
        "graph.split_reductions", "LEAST_IN_PART", (1 << 12, 1 << 13, 1 << 15), (), (*_SUMS, *_WEIGHTED_SUMS)
    ),
    Threshold("sched.planning.own.sorting.network_sort", "MOST_EXTENT", (100, 1000), (), _SORTED_ROWS),
    Threshold("sched.planning.own.sorting.vector_sort", "MOST_NBYTES", (1 << 14, 1 << 17), (), _SORTS),
    Threshold("sched.planning.own.sorting.bucket_sort", "MOST_OF_A_GROUP", (2048, 8192), (), _SORTS),
    Threshold("sched.planning.own.sorting.bucket_sort", "MOST_BITS", (12, 14), (), _SORTS),
    Threshold("sched.planning.own.sorting.bucket_sort", "ELEMENTS_OF_A_KEY", (8, 128), (), _SORTS),
    Threshold("sched.planning.own.sorting.digit_sort", "LEAST_BITS", (7, 9, 11), (), _SORTED_POWERS),
    Threshold("sched.planning.own.sorting.digit_sort", "MOST_BITS", (8, 9, 10, 12), (), _SORTED_POWERS),
    Threshold("sched.planning.own.sorting.digit_sort", "MOST_BITS_OF_TWO", (0, 22, 26), (), _SORTED_POWERS),
    Threshold("sched.planning.own.sorting.digit_sort", "BLOCK", (16, 64), (), _SORTED_POWERS),
    Threshold(
        "sched.planning.own.sorting.few_values", "LEAST_EXTENT", (1 << 14, 1 << 30), (), _SORTED_POWERS
    ),
    Threshold("sched.planning.own.search_sorted", "LANES", (1, 4, 8, 16), (), _SEARCHES),
    Threshold("sched.mapping.inlining.loop_cost", "MOST_ELEMENTS", (0, 128, 4096), (), (*_ROWS, *_ROTATED)),
    Threshold("sched.mapping.inlining.loop_cost", "MOST_OF_ONE", (128, 512, 8192), (), (*_ROWS, *_ROTATED)),
    Threshold("sched.mapping.inlining.inline_elements", "MOST_OPS", (0, 1 << 30), (), _BINS),
    Threshold("sched.mapping.merge_launches", "MOST_BUFFERS", (0, 12), (), (*_MERGED, *_STORED)),
    Threshold("sched.mapping.map_axes", "STORED_NBYTES", (64, 256), (), (*_MERGED, *_STORED)),
    Threshold("sched.mapping.map_axes", "MANY_VECTORS", (1, 1 << 30), (), (*_MERGED, *_STORED)),
    Threshold("graph.loops.double_buffer_loops", "LEAST_NBYTES", (0, 256, 1 << 30), (), _TO_AND_FRO),
    Threshold("graph.loops.copy_carried_parts", "LEAST_SHARE", (1, 64, 1 << 30), (), _PATHS),
    Threshold("graph.loops.share_matrix_reads", "LEAST_SHARE_OF_L2", (0, 1, 1 << 10), (), _BOTH_SIDES),
    Threshold("graph.loops.share_matrix_reads", "BLOCK_SHARE_OF_L2", (2, 4, 32), (), _BOTH_SIDES),
    Threshold("graph.loops.share_matrix_reads", "MOST_THREADS", (0,), (), _BOTH_SIDES),
    Threshold("sched.mapping.map_axes", "ROWS_AT_ONCE", (1, 2, 8), (), _BOTH_SIDES),
    Threshold("sched.mapping.map_axes", "FEW_SQUARES", (0, 1, 1 << 20), (), _PERMUTED),
    Threshold("sched.planning.axes.interleaved", "MOST_APART", (4, 8), (), _REPEATED),
    Threshold("sched.mapping.map_axes", "SHORT_ROW_NBYTES", (0, 1 << 30), (), _TALL),
    Threshold(_SHAPE, "LATENCY", (4, 12), (*_SMALL, "matmul 1024")),
    Threshold(_SHAPE, "ONCE", (0.95, 1.0), (*_SMALL, "matmul 1024")),
    Threshold(_SHAPE, "ABOUT", (1.0, 1.02), (*_SMALL, "matmul 1024")),
    Threshold(_SHAPE, "MOST_ROWS", (12, 20), (*_SMALL, "matmul 1024", "matmul 1x1024")),
    Threshold(_SHAPE, "LEAST_ROWS_IN_ONE_PLACE", (4, 8), ("matmul 512", "matmul 1024")),
    Threshold(_SHAPE, "REGISTERS_FOR_A_SUM", (1, 4), ("matmul 1x1024",), _CONSTANT_ROW),
    Threshold(_CHUNKS, "WORK_OF_A_GROUP", (1 << 18, 1 << 22), (*_SMALL, "attention")),
    Threshold(_CHUNKS, "GROUPS_OF_A_THREAD", (4, 16), (*_SMALL, "matmul 1024")),
    Threshold(_CHUNKS, "MOST_NBYTES_OF_CHUNKS", (1 << 19, 3 << 19, 1 << 21), _LARGE),
    Threshold(_CHUNKS, "LEAST_CHUNK", (64, 256), _LARGE),
    Threshold(_CHUNKS, "PRIVATE_SUMS", (64 * 64, 128 * 128), ("gelu", "MLP")),
    Threshold(_CHUNKS, "PRIVATE_SUMS_OF_BLOCKS", (64 * 192, 64 * 512), ("gelu", "MLP")),
    Threshold(_CHUNKS, "LEAST_BLOCKS", (2, 4), _LARGE),
    Threshold(_FEW, "STEPS", (8, 32), ("matmul 1x1024", "matmul 8x1024")),
    Threshold(_FEW, "WORK_OF_A_GROUP", (1 << 21, 1 << 25), ("matmul 1x1024", "matmul 8x1024")),
    Threshold(_FEW, "GROUPS_OF_A_THREAD", (2, 8), ("matmul 1x1024", "matmul 8x1024")),
    Threshold(_FEW, "SHARED_WORK", (1 << 17, 1 << 20), ("matmul 1x1024", "matmul 8x1024")),
    Threshold(_FEW, "MANY_ROWS", (32, 192), ("matmul 8x1024", "MLP")),
    Threshold(_FEW, "FAR_NBYTES", (256, 8192), ("matmul 1x1024", "matmul 8x1024")),
    Threshold(_FEW, "AHEAD_NBYTES", (1 << 11, 1 << 13), ("matmul 1x1024", "matmul 8x1024")),
    Threshold(_FEW, "PANEL_AHEAD_NBYTES", (1 << 10, 1 << 12), (), _FEW_IN_PANELS),
    Threshold(_FEW, "MOST_ROWS_OF_SECOND", (2, 8), (), _FEW_IN_PANELS),
    Threshold(_FEW, "STEPS_AHEAD", (16, 48), ("matmul 8x1024",), _FEW_ROWS),
    Threshold(_FEW, "LEAST_NBYTES_OF_ROWS", (0, 1 << 14), (), _FEW_ROWS),
    Threshold("sched.mapping.contractions.dots", "LEAST_DEPTH", (4, 32), ("A B^T", "attention")),
    Threshold(_PANELS, "LEAST_ITERATIONS", (1 << 12, 1 << 18), _SMALL),
    Threshold(_PANELS, "LEAST_USES", (32, 256), (*_SMALL, "matmul 1024")),
    Threshold(_PANELS, "LARGE_SHARE", (2, 8), _SMALL, _HELD),
    Threshold(_PANELS, "LEAST_USES_OF_HELD", (96, 384), programs=_HELD),
    Threshold(_PANELS, "LEAST_USES_OF_TRANSPOSED", (4, 64), ("A^T B", "A B^T", "attention")),
    Threshold(_PANELS, "LEAST_USES_OF_TRANSPOSED_IN_LOOPS", (16, 256), programs=_ITERATED),
    Threshold(_PANELS, "LEAST_ROWS_IN_LOOPS", (1, 16), programs=_ITERATED),
    Threshold(_PANELS, "LEAST_USES_OF_TRANSPOSED_ROWS", (32, 512), ("A^T B",)),
    Threshold(_PANELS, "PACKED_ROWS", (4, 16), ("A^T B",)),
    Threshold(_PANELS, "LEAST_NBYTES_OF_CONSTANT", (1 << 12, 1 << 18), ("constant",)),
    Threshold("graph.packing.pack_operands", "LEAST_ITERATIONS", (1 << 12, 1 << 18), ("attention", "A B^T")),
    Threshold("graph.packing.pack_operands", "LEAST_USES", (4, 64), ("attention", "A B^T")),
    Threshold("graph.packing.pack_convolutions", "LEAST_IN_BLOCK", (8, 32), ("conv2d",)),
    Threshold("graph.packing.lay_channels_last", "LEAST_PLACE_NBYTES", (256, 2048), ("conv2d",)),
    Threshold("graph.packing.pack_convolutions", "LARGE_PLACE_NBYTES", (256, 4096), ("conv2d",)),
    Threshold("graph.packing.pack_convolutions", "LEAST_PRODUCTS", (1 << 12, 1 << 18), ("conv2d",)),
    Threshold("graph.packing.pack_convolutions", "LEAST_USES", (2, 16), ("conv2d",)),
    Threshold("graph.packing.winograd_convolutions", "LEAST_CHANNELS", (16, 64), programs=_TRANSFORMED),
    Threshold("graph.packing.winograd_convolutions", "LEAST_CHANNELS_FAR", (32, 64), programs=_TRANSFORMED),
    Threshold("graph.packing.winograd_convolutions", "LEAST_TILES_FAR", (16, 64), programs=_TRANSFORMED),
    Threshold("sched.mapping.tile_convolutions", "LEAST_CHANNELS", (4, 16), ("conv2d",)),
    Threshold("sched.mapping.tile_convolutions", "AHEAD_NBYTES", (1024, 2048, 8192), (), _MUCH_WEIGHT),
    Threshold("sched.mapping.stage_images", "MOST_ROWS_COPIED", (1.25, 3.0), ("conv2d",)),
    Threshold("sched.mapping.skip_padding", "LEAST_SHARE", (0.01, 1.0), ("conv2d",)),
    Threshold("sched.mapping.skip_padding", "LEAST_LEFT_OUT", (0, 1 << 40), ("conv2d",), _MUCH_WEIGHT),
    Threshold("sched.mapping.skip_padding", "LEAST_DEPTH", (0, 1 << 20), (), (_FEW_CHANNELS, *_MUCH_WEIGHT)),
    Threshold("sched.mapping.collapse_axes", "LEAST_ROW_NBYTES", (0, 1 << 30), (), _GREATEST),
    Threshold("sched.mapping.collapse_axes", "LEAST_ROW", (1, 1 << 30), (), _MASKED),
    Threshold("machine.partial_results", "LEAST", (8, 32), (), _VARIANCES),
    Threshold("sched.mapping.tile_columns", "ROWS_AT_ONCE", (4, 16), ("axis 0",)),
    Threshold("sched.mapping.tile_columns", "VECTORS_AT_ONCE", (4, 16), ("axis 0",)),
    Threshold("sched.mapping.map_axes", "MANY_ROWS", (16, 256), ("axis",)),
    Threshold("sched.mapping.map_axes", "STORED_PIECE_NBYTES", (64, 256), ("transpose",)),
    Threshold("sched.mapping.map_axes", "READ_PIECE_NBYTES", (1024, 4096), ("transpose",)),
    Threshold("sched.mapping.prefetch_rows", "AHEAD_NBYTES", (2048, 8192), ("softmax", "layernorm", "norm")),
    Threshold("sched.mapping.prefetch_rows", "NEAR_NBYTES", (1024, 4096), ("axis 2",), _TALL),
    Threshold("sched.mapping.prefetch_rows", "MUCH_FLOPS", (0, 1 << 20), ("50257", "axis")),
    Threshold(_RULES, "KERNEL_OPS_LIMIT", (1 << 30,), (), (_CHAINED,)),
    Threshold(_RULES, "RECOMPUTE_LIMIT", (99,), (), (_STENCIL,)),
    Threshold(_RULES, "INSIDE_OF_ROWS", (1 << 30,), (), _WINDOWS),
    Threshold(_RULES, "INSIDE_OF_VECTORS", (1,), (), _WINDOWS),
    Threshold("sched.planning.product_tiles", "LEAST_TILED_EXTENT", (1,), (), _PRODUCTS),
    Threshold(
        "sched.planning.product_tiles", "LEAST_TILED_PRODUCTS", (0, 1 << 12, 1 << 15, 1 << 60), (), _PRODUCTS
    ),
    Threshold(_RULES, "CHEAPER", (0.0, 1.0), (), (_STENCIL, *_CHOICES)),
    Threshold("machine.kernel_memory", "LOCAL_NBYTES_LIMIT", (1 << 20,), (), (_LONG_ROWS,)),
    Threshold(_LOCAL, "SERIAL_ELEMENTS_LIMIT", (0, 1 << 60), (), _ALL_SUMS),
    Threshold(_LOCAL, "SERIAL_FOLDS_LIMIT", (0, 1 << 60), (), _THIRDS),
    Threshold(
        "sched.mapping.prefetch_rows", "SMALL_L1_NBYTES", (0, 1 << 20), ("softmax", "layernorm", "norm")
    ),
    Threshold("sched.mapping.prefetch_rows", "LONG_NBYTES", (8192, 32768), ("softmax", "layernorm", "norm")),
)
"""The numbers that are there because they were measured."""

BY_DESIGN: Mapping[str, str] = {
    "carry_older_values.LARGEST": "numbers of 32 bits hold what is less",
    "carry_older_values.MOST_PAIRS": "a slice makes two masks, and an end that is held in the array",
    "cost.OPERATION_PS": "16 products added up one after the other took 7.9 ns for 64 bytes, AVX-512",
    "cost.LATENCY": "cycles of an addition, by x86 processors of today",
    "cost.LINE_NBYTES": "a cache line of x86",
    "cost.LINE_PS": "a sum of 256 KiB took 0.9 ns for 64 bytes, AVX-512",
    "cost.FAR_LINE_PS": "a sum of 128 MiB took 4.3 ns for 64 bytes, and a pass that stores 11 ns",
    "cost.GROUP_PS": "a call and the loop around it; it orders what the tuner tries",
    "cost.LAUNCH_PS": "a step of a program; one that is shared with threads takes 1 us more",
    "fusion_cost.DIVISION": "its unit is busy as long: 1 / x took 3.4 ns for 64 bytes, x + 1 2.3",
    "fusion_cost.SPILLED": "a store and a load of what a square of registers leaves no room for",
    "fusion_cost.NBYTES_OF_LOCAL": "what counts as being in the first cache",
    "fusion_cost.MOST_OPERANDS": "how much of a program is looked through for one value",
    "inline_shared_elements.MOST_OPS": "a few comparisons, which cost less than to load what they give",
    "inline_shared_elements.MOST_REDUCTIONS": "so many have room for their partial results in one loop",
    "multiply_nibbles.MOST_ROWS": "rows of two register tiles, each of which unpacks all numbers",
    "widen_rows.LEAST_ROWS": "as many as a contraction has that is a kernel of its own",
    "widen_rows.LEAST_USES": "a store and a load of each element are lost in so many products of it",
    "target.VECTOR_NBYTES": "what is scheduled for where nobody says",
    "target.L1_NBYTES": "what is scheduled for where nobody says",
    "target.L2_NBYTES": "what is scheduled for where nobody says",
    "target.L3_NBYTES": "as that of the device that nothing is known of",
    "target.N_THREADS": "what is scheduled for where nobody says",
    "partial_results.MANY": "four vectors of eight lanes, so that no sum waits for the one before",
    "partial_results.SEVERAL": "half of MANY: partial results are combined in halves",
    "partial_results.FEW": "half of SEVERAL, likewise",
    "kernel_stages._ANY_NUMBER": "a prime, a factor of no extent, for a number that is not known",
    "tile_shape.WAY_NBYTES": "a page: the first cache finds a place by what addresses are in one",
    "tile_shape.VECTORS_OF_CHANNELS": "what is loaded of the image is used for two vectors of weights",
    "kernel_memory.BLOCKS_NBYTES_LIMIT": "what LOCAL_NBYTES_LIMIT leaves of all that a kernel may have",
    "kernel_memory.IMAGE_NBYTES_LIMIT": "a quarter of a second cache of 384 KiB, and of larger ones no more",
    "contraction.LEAST_COLUMNS": "four floats are the narrowest vector",
    "pack_operands.LEAST_LANES": "four floats are the narrowest vector",
    "pack_convolutions.LEAST_CHANNELS": "as for tile-convolutions, which maps what is packed",
    "pack_convolutions.MOST_CHANNELS": "twice LEAST_IN_BLOCK: blocks are from one to the other",
    "kernel_stages.LEAST_ROWS": "a tile has so many rows where vectors have 64 bytes",
    "local_values.PARALLEL_LIMIT": "a unit of work for each thread of a processor of 8 cores",
    "product_tiles.MOST_VALUES_BETWEEN": "a norm, an activation and a residual are some ten ops",
    "product_tiles.MOST_OPS_BEFORE": "what is folded beside a product is made of arguments or results",
    "plan.DEPENDENCE_LIMIT": "how much of a program is looked through for one value",
    "plan.PART_READS_LIMIT": "no difference was seen on one core: it bounds what a kernel reads in vain",
    "few_rows.OPEN_AHEAD_NBYTES": "models with named dims, which are not among these programs",
    "tiles.TILE": "rows and columns that a sort moves at once",
    "split_borders.ROWS": "as many as map-axes unrolls",
    "double_buffer_loops.MOST_OPS": "as much again is compiled: a part of a second",
    "map_axes.LEAST_TALL": "a line of each is 32 KiB, a whole first cache of most processors",
    "map_axes.READ_LINES_NBYTES": "four lines: the panels that are stored to at once are few",
    "digit_sort.SPARE_BITS": "one pair of 32 elements in no order is equal in the window, at most",
    "digit_sort.MOST_INSERTIONS": "a move by insertion that is foretold wrongly takes as long as a digit",
    "sort_numbers.POSITION_BITS": "half of a number of 64 bits",
    "network.LANES_NBYTES": "of the widest vectors there are",
    "bucket_sort.SAMPLES": "one that is half of a row is seen twice among eight, but for once in 28",
    "bucket_sort.LEAST_BITS": "1024 keys are counted in less time than the shortest long row is read in",
    "bucket_sort.BITS_OF_EXPONENTS": "what is 2**127 below the greatest number is zero beside it",
    "vector_sort.MOST_EXTENT_OF_WIDE": "as fast as by digits, with vectors of 32 bytes",
    "row_order.BLOCK": "a few vectors: of a row in no order no more is looked at",
    "few_values.MOST_VALUES": "the table lies in the first cache, and is left early where there are more",
    "few_values.LEAST_SHARE": "what is looked up in vain takes a fiftieth of the time of a sort",
    "few_values.FREE_PLACES": "the next free place is next to the first one mostly",
    "kernel_memory.STRIPS_NBYTES_LIMIT": "half of what a kernel may have; the rest is for a value a column",
    "separate_preparation.MOST_GROWTH": "what is kept of an array takes no more than twice its memory",
    "handovers.MOST_ACCESSES": "half of the 16 sums of a tile, which are as many matrices",
    "winograd_convolutions._PRODUCTS": "F(2 x 2, 3 x 3) has so many for each tile",
    "interleaved.MOST_HEAVY": "rules of planning: more reads of a value in one kernel are by way of a buffer",
    "elements.MOST_OPS": "how much of a program is looked through for one result",
    "interleaved.MOST_TOGETHER": "as many as LLVM interleaves",
    "tile_sums.MOST_OPS": "what follows a convolution are a bias, a residual and an activation",
    "fusion_cost.LEFT_BY_MASK": "triangles, and rows that get fewer, are half of a matrix",
    "masks.MOST_OPS": "the mask of a box is five ops, of a box with a border around it seven",
    "loop_cost.MOST_STEPS": "a tenth of a second in which nothing interrupts a kernel",
    "share_matrix_reads.LEAST_ROWS": "each sum of a column is loaded and stored once for so many rows",
    "arg_reduce.LEAST_IN_PART": "a part is read in 1 us where all elements take 20 us or more",
    "arg_reduce.MOST_PARTS": "as many extrema are looked at one by one, in 1 us",
    "arg_reduce._LAST_I32": "the greatest index of 32 bits",
    "arg_reduce._LAST_I64": "the greatest index of 64 bits",
    "relax_maxima.MOST_OPS": "a logarithm or a reciprocal, a cast, a reshape, a broadcast and one more",
    "split_reductions.MOST_PARTS": "several for each of the units of a large GPU",
    "narrow_loops.MOST_SPLIT": "as many elements as a work-group has, which one thread computes",
    "narrow_loops.LEAST_PARTS": "as many partial results as a short reduction has",
    "merge_launches.MOST_OPS": "how much is compiled as one loop: LLVM takes more than linear time",
    "merge_launches.MOST_ITEMS_BACK": "reductions beside one another, and what combines their parts",
    "merge_launches.CACHED_SHARE": "what is read again shares the second cache with what is stored",
    "merge_launches.WORTH": "launches that share one of six arrays took 0.88 to 1.1 of the time as one",
    "loop_cost.LONG_OPS": "what they take as scalars, over what quick ops take",
    "loop_kernel.MOST_PAUSES": "their numbers are signed bytes",
    "loop_cost.MOST_OPS": "how much is compiled as one function: LLVM takes more than linear time",
}
"""The other numbers, and why they are what they are."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thresholds", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODULE.NAME")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args(arguments)
    known = {threshold.key: threshold for threshold in THRESHOLDS}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"{', '.join(unknown)}: not one of {', '.join(known)}")
    if not options.names:
        rows = [("number", "is", "tried", "on")]
        rows += [
            (
                key,
                f"{each.value:g}",
                " ".join(f"{value:g}" for value in each.tried),
                ", ".join(each.workloads),
            )
            for key, each in known.items()
        ]
        print(format_table(rows))
    # What is kept is found by the program, which does not tell what the numbers were.
    os.environ[SWITCH] = "0"
    for name in options.names:
        print(format_table(compare(known[name], options.rounds)), flush=True)
    return 0


def compare(threshold: Threshold, rounds: int) -> list[tuple[str, ...]]:
    """Returns how many times as fast each other value is, on the workloads whose code it changes."""
    rows = [(f"{threshold.key} = {threshold.value:g}", *(f"{value:g}" for value in threshold.tried))]
    chosen = [each for each in WORKLOADS if any(part in each.name for part in threshold.workloads)]
    for work in (*chosen, *threshold.programs):
        ratios = _ratios(threshold, work, rounds)
        if ratios is not None:
            rows.append((work.name, *ratios))
    return rows


def _ratios(threshold: Threshold, work: Workload | Program, rounds: int) -> tuple[str, ...] | None:
    """Returns the current value's time over that of each other value, None where no code changes."""
    given = arguments_of(work)
    programs: dict[str, tenon.Executable] = {}
    for value in (threshold.value, *threshold.tried):
        with changed(threshold, value):
            passes = [each for phase in phases(target_of(cpu_device())).values() for each in phase]
            programs[f"{value:g}"] = tenon.compile(module_of(work), pipeline=PassManager(passes))
    current, *others = programs
    # The kernels, and the program that runs them.
    texts = {
        value: (program.stages["source"], str(program.stages["low"])) for value, program in programs.items()
    }
    if all(texts[value] == texts[current] for value in others):
        return None
    calls = {value: _Call(program, given) for value, program in programs.items()}
    times = time_interleaved(calls, rounds)
    return tuple(
        "=" if texts[value] == texts[current] else f"{times[current].median / times[value].median:.3f}"
        for value in others
    )


def arguments_of(work: Workload | Program) -> list[Array]:
    """Returns what a program of some work is called with."""
    if isinstance(work, Workload):
        return [array for name, array in work.arguments().items() if name not in work.constants]
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in work.shapes]
    return arrays[: len(arrays) - work.constants]


def module_of(work: Workload | Program) -> ModuleOp:
    if isinstance(work, Workload):
        return traced(work, work.arguments())
    given = [np.zeros(shape, np.float32) for shape in work.shapes]
    function = tenon.jit(lambda *values: work.function(*values), name="work", fastmath=work.fastmath)
    module = function.lower(*given).module
    for number in range(len(given) - 1, len(given) - 1 - work.constants, -1):
        # Numbers that differ: equal ones would be one scalar.
        values = np.random.default_rng(number).standard_normal(given[number].shape, np.float32)
        make_constant(module, number, values)
    return module


@dataclass(frozen=True)
class _Call:
    program: tenon.Executable
    arguments: Sequence[object]

    def __call__(self) -> object:
        return self.program(*self.arguments)


@contextmanager
def changed(threshold: Threshold, value: Number) -> Iterator[None]:
    """Has a number another value meanwhile, wherever it was imported to."""
    owner, before = f"tenon.passes.{threshold.module}", threshold.value
    users = [
        module
        for name, module in list(sys.modules.items())
        if name == owner
        or (name.startswith("tenon.passes.") and _imports(vars(module), threshold.name, before, owner))
    ]
    for module in users:
        setattr(module, threshold.name, value)
    tile_shape.cache_clear()
    try:
        yield
    finally:
        for module in users:
            setattr(module, threshold.name, before)
        tile_shape.cache_clear()


def _imports(names: Mapping[str, object], name: str, value: Number, owner: str) -> bool:
    """Returns whether a module has a number from its owner: the name, the value, and something else of it."""
    if names.get(name) != value:
        return False
    return any(getattr(each, "__module__", None) == owner for each in names.values())


if __name__ == "__main__":
    raise SystemExit(main())
