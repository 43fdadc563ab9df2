"""
Fuses two loops, one right inside of the other, into one over all of their iterations.

    sched.axis %i = 4 {                      sched.axis %i_j = 32 {
      sched.axis %j = 8 {                      %i = arith.divui %i_j, %c8 : index
        ...                        -->         %j = arith.remui %i_j, %c8 : index
      }                                        ...
    }                                        }

An index `i * 8 + j` of a buffer becomes `i_j`.
"""

from __future__ import annotations

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Region

from .....dialects import sched
from ....indices.analysis import IndexAnalysis
from ....scalar.builder import INDEX
from ..loop_nests.code import multiply, writer_at_front, writer_before
from ..loop_nests.errors import refuse
from ..loop_nests.loops import KernelLoop, fresh_hint, kernel_around, loop_name
from ..loop_nests.nest import code_between, nest_of
from ..loop_nests.reassociation import rounds
from ..recipe import note

WHO = "fuse-axes"


def fuse(first: KernelLoop, second: KernelLoop, allow_reorder: bool = False) -> KernelLoop:
    """
    Fuses two loops, which are erased, and returns the one that takes their place.

    Two dims of one sum by `fma` are one dim in the same order, and what does not round combines in any order;
    a sum of sums of floats becomes one sum, in another order, where `allow_reorder` says so.

    Raises:
        ScheduleError: the loops are not perfectly nested, one is mapped or serial, the inner one has a count,
            or a sum would change its order.
    """
    outer, inner = nest_of(WHO, (first, second))
    for op in (outer, inner):
        if isinstance(op, scf.ForOp):
            refuse(WHO, op, "it is serial, expected axes or reductions")
        if words := op.mapping.words():
            refuse(WHO, op, f"it is mapped to {words}, expected a serial one (fuse before mapping)")
    assert not isinstance(outer, scf.ForOp) and not isinstance(inner, scf.ForOp)
    code = code_between(WHO, outer, inner)
    if type(outer) is not type(inner):
        refuse(WHO, inner, f"it is a {inner.name}, and {loop_name(outer)} is a {outer.name}")
    if inner.count is not None:
        refuse(WHO, inner, "it has a count, so its iterations are not the same number each time")
    if isinstance(outer, sched.ReduceOp):
        _check_order(outer, inner, allow_reorder)
    note(outer, "fuse", axes=(outer, inner), allow_reorder=allow_reorder)
    fused = _fused(outer, inner)
    block = fused.body.block
    for op in [*code, *inner.body.block.ops]:
        op.detach()
        block.add_op(op)
    writer = writer_at_front(block, fused)
    size = writer.constant(IndexAnalysis().extent(inner), INDEX)
    for op, op_type in ((outer, arith.DivUIOp), (inner, arith.RemUIOp)):
        op.index.replace_all_uses_with(writer.op(op_type, fused.index, size, hint=op.index.name_hint))
    if isinstance(outer, sched.ReduceOp):
        outer.result.replace_all_uses_with(fused.results[0])
    outer.detach()
    outer.erase()
    return fused


def _check_order(outer: sched.ReduceOp, inner: sched.AxisOp | sched.ReduceOp, allow_reorder: bool) -> None:
    assert isinstance(inner, sched.ReduceOp), "two reductions"
    kind, other = outer.kind.data, inner.kind.data
    if kind is not other:
        refuse(WHO, inner, f"it combines by {other.value}, and {loop_name(outer)} by {kind.value}")
    if inner.init is not None:
        refuse(WHO, inner, f"it starts from a value in each iteration of {loop_name(outer)}")
    if not kind.adds_products and rounds(outer) and not allow_reorder:
        refuse(
            WHO, outer, f"the order in which it combines by {kind.value} would change (hint: allow_reorder)"
        )


def _fused(
    outer: sched.AxisOp | sched.ReduceOp, inner: sched.AxisOp | sched.ReduceOp
) -> sched.AxisOp | sched.ReduceOp:
    """Puts a loop without a body in front of `outer`, over the iterations of both."""
    analysis = IndexAnalysis()
    size = analysis.extent(inner)
    extent = analysis.extent(outer) * size
    writer = writer_before(outer)
    count = None if outer.count is None else multiply(writer, outer.count, size)
    region = Region(Block(arg_types=[INDEX]))
    if isinstance(outer, sched.ReduceOp):
        kind, type = outer.kind.data, outer.result.type
        assert isinstance(inner, sched.ReduceOp), "a reduction goes on with a reduction"
        tile_shape = outer.tile_shape or inner.tile_shape
        fused: sched.AxisOp | sched.ReduceOp = sched.ReduceOp(
            kind, extent, type, None, region, outer.fastmath, count, outer.init, tile_shape
        )
        fused.results[0].name_hint = outer.result.name_hint
    else:
        fused = sched.AxisOp(extent, body=region, count=count)
    names = [op.index.name_hint or "i" for op in (outer, inner)]
    hint = fresh_hint(kernel_around(outer), "_".join(names))
    writer.insert(fused)
    fused.index.name_hint, fused.index.location = hint, outer.index.location
    fused.attributes.update(outer.attributes)
    return fused
