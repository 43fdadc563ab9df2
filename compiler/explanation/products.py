"""The sums of products of a kernel, as data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from ...dialects import sched
from ...dialects.dims.expressions import DimExpr
from ...passes.indices.analysis import IndexAnalysis, Loop
from ...passes.indices.products import Product, Side, product_of
from ...runtime.reports.explanation import ProductExplanation, ProductSide
from .schedule import names_in


def products_of(kernel: sched.KernelOp, arguments: Sequence[str]) -> tuple[ProductExplanation, ...]:
    """Returns the sums of products in a kernel; `arguments` are names for arguments that have none."""
    analysis, names = IndexAnalysis(), names_in(kernel, arguments)
    found: list[ProductExplanation] = []
    for op in kernel.walk():
        product = product_of(op, analysis) if isinstance(op, sched.ReduceOp) else None
        if product is not None and not _goes_on(product):
            axes = tuple(names[dim.index].removeprefix("%") for dim in product.dims)
            lhs, rhs = (_side(side, product.panels, analysis, names) for side in product.sides)
            found.append(ProductExplanation(axes, product.depth(analysis), (lhs, rhs)))
    return tuple(found)


def _goes_on(product: Product) -> bool:
    """Returns whether a sum is a part of one around it, which has it among its dims."""
    around = product.op.parent_op()
    return isinstance(around, sched.ReduceOp) and around.continued is product.op


def _side(
    side: Side, panels: Sequence[int], analysis: IndexAnalysis, names: dict[SSAValue, str]
) -> ProductSide:
    strides: dict[str, int | str | None] = {}
    panel = None
    around = side.load.parent_op()
    loops: list[Loop] = []
    while around is not None:
        if isinstance(around, Loop):
            loops.insert(0, around)
        around = around.parent_op()
    for loop in loops:
        axis = analysis.axis(loop)
        stride = side.stride(axis)
        if stride != 0:
            name = names[loop.index].removeprefix("%")
            strides[name] = str(stride) if isinstance(stride, DimExpr) else stride
            panel = panel or side.panel(axis, panels)
    return ProductSide(names[side.load.memref], strides, panel)
