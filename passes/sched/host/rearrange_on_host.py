"""
Copies on the host what a kernel would only copy into another order.

    sched.kernel @f_0(%w: memref<4x6xf32>, %p: memref<2x6x2xf32>) {
      sched.axis %i = 2 { sched.axis %j = 6 { sched.axis %k = 2 {
        ... memref.load %w[%i * 2 + %k, %j] ... memref.store ... %p[%i, %j, %k] } } }
    }
    %t = sched.launch @f_0(%w, %p) after() : memref<4x6xf32>, memref<2x6x2xf32>

-->

    %t = sched.rearrange [2, 6, 2] strides = [12, 1, 6] offset = 0(%w) to(%p) after()
        : (tensor<4x6xf32>) -> tensor<2x6x2xf32>

This is for programs that run once, as what is made of frozen weights does: numpy copies an element in 0.3 to
1.1 ns, and a kernel with registers that are transposed takes about 15 ms to lower and compile, 14 of which
are a quarter of the first call of a net. Kernels that copy more than `MOST_ELEMENTS` in all stay, as threads
share them.

Kernels are taken that store each element of one buffer once, in one nest of axes: an element of another
buffer at a place that grows evenly with each axis, or the sum of it alone.

Requires: programs that a caller runs once. Ensures: results have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import FloatAttr, FunctionType, IndexType, MemRefType, ModuleOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ....dialects import sched
from ....dialects.buffer_size import is_strided, size_of, strides_of
from ....dialects.graph import tensor_of
from ....dialects.modules.kernel_access import launches_of
from ....dialects.rearrangement import Rearrangement
from ...indices.analysis import IndexAnalysis
from ...indices.expressions import Axis, IndexExpr, linearize
from ...indices.nests import whole_nest

MOST_ELEMENTS = 1 << 24
"""Kernels that copy more elements in all stay kernels: numpy copies so many in 5 to 18 ms."""


@dataclass(frozen=True)
class RearrangeOnHostPass(ModulePass):
    """Copies on the host what a kernel would only copy into another order."""

    name = "rearrange-on-host"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        launches = launches_of(op)
        for kernel in list(op.ops):
            if not isinstance(kernel, sched.KernelOp):
                continue
            mine = launches.get(kernel.sym_name.data, [])
            copy = _Copy.of(kernel)
            if copy is None or len(mine) * copy.elements.n_elements > MOST_ELEMENTS:
                continue
            for launch in mine:
                copy.replace(launch)
            kernel.detach()
            kernel.erase()


@dataclass(frozen=True)
class _Copy:
    """What a kernel copies: from which of its arguments to which."""

    source: int
    target: int
    elements: Rearrangement

    @staticmethod
    def of(kernel: sched.KernelOp) -> _Copy | None:
        """Returns what a kernel copies, None where it does more, or copies otherwise."""
        nest = whole_nest(kernel.body.block)
        if not nest or kernel.sizes:
            return None
        body = nest[-1].body.block
        store = body.last_op
        if not isinstance(store, memref.StoreOp):
            return None
        value, is_summed = store.value, False
        if isinstance(value.owner, arith.AddfOp) and _is_zero(value.owner.rhs):
            value, is_summed = value.owner.lhs, True
        load = value.owner
        if not isinstance(load, memref.LoadOp) or not _are_all((load, store, store.value.owner), kernel):
            return None
        source, target = load.memref, store.memref
        if not isinstance(source, BlockArgument) or not isinstance(target, BlockArgument):
            return None
        types = [cast(MemRefType, each.type) for each in (source, target)]
        if source is target or any(map(is_strided, types)):
            return None
        analysis = IndexAnalysis()
        axes = [analysis.axis(axis) for axis in nest]
        read, written = (
            linearize([analysis.expr(index) for index in op.indices], strides_of(type))
            for op, type in zip((load, store), types, strict=True)
        )
        elements = _elements(axes, read, written, size_of(types[1]), is_summed)
        return None if elements is None else _Copy(source.index, target.index, elements)

    def replace(self, launch: sched.LaunchOp) -> None:
        source, target = launch.arguments[self.source], launch.arguments[self.target]
        types = [_tensor(each) for each in (source, target)]
        op = sched.RearrangeOp(
            sched.RearrangementAttr(self.elements),
            FunctionType.from_lists(types[:1], types[1:]),
            [source],
            [target],
            launch.after,
        )
        op.attributes.update(launch.attributes)
        op.location = launch.location
        Rewriter.replace_op(launch, op)


def _is_zero(value: SSAValue) -> bool:
    """Returns whether a value is 0.0, not -0.0."""
    owner = value.owner
    number = owner.value if isinstance(owner, arith.ConstantOp) else None
    return isinstance(number, FloatAttr) and str(number.value.data) == "0.0"


def _are_all(ops: Sequence[object], kernel: sched.KernelOp) -> bool:
    """Returns whether a kernel does nothing else, beside axes and the arithmetic of indices."""
    return all(
        op in ops
        or isinstance(op, sched.KernelOp | sched.AxisOp | arith.ConstantOp)
        or (len(op.results) == 1 and isinstance(op.results[0].type, IndexType) and not op.regions)
        for op in kernel.walk()
    )


def _elements(
    axes: list[Axis], read: IndexExpr, written: IndexExpr, size: object, is_summed: bool
) -> Rearrangement | None:
    """Returns what is copied, None where places are no sums of the axes, or are not all of the target."""
    if any(atom not in axes for place in (read, written) for atom in place.terms) or written.constant != 0:
        return None
    ordered: list[tuple[int, int, int]] = []
    for axis in axes:
        stride, target_stride, extent = read.stride(axis), written.stride(axis), axis.extent
        if not isinstance(stride, int) or not isinstance(target_stride, int) or not isinstance(extent, int):
            return None
        if extent != 1:
            ordered.append((target_stride, extent, stride))
    ordered.sort(reverse=True)
    shape = tuple(extent for _, extent, _ in ordered)
    if prod(shape) != size or not isinstance(read.constant, int):
        return None
    if any(stride != prod(shape[number + 1 :]) for number, (stride, _, _) in enumerate(ordered)):
        return None
    return Rearrangement(shape, tuple(stride for _, _, stride in ordered), read.constant, is_summed)


def _tensor(buffer: SSAValue) -> Any:
    type = cast(MemRefType, buffer.type)
    return tensor_of(type.element_type, type.get_shape())
