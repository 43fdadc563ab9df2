"""Which iterations of an axis touch the same elements of a buffer."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Operation, SSAValue

from .....dialects import sched
from .....dialects.dims.expressions import Extent
from .....dialects.low.constant_integer import constant_integer
from ....indices.analysis import IndexAnalysis, Loop
from ....indices.expressions import Atom, Axis, Clamp, FloorDiv, IndexExpr, Mod, Opaque
from ....rewriting.value_names import value_names
from .loops import kernel_around

_EQUAL = 0
"""The predicate `eq` of `arith.cmpi`."""

Access = memref.LoadOp | memref.StoreOp


def accesses_in(ops: Iterable[Operation]) -> list[Access]:
    """Returns the loads and stores of ops and of what is in their regions."""
    return [inner for op in ops for inner in op.walk() if isinstance(inner, Access)]


def is_inside(op: Operation, around: Operation) -> bool:
    """Returns whether an op is another one or stands in it."""
    parent: Operation | None = op
    while parent is not None and parent is not around:
        parent = parent.parent_op()
    return parent is around


def carried_dependence(
    loop: sched.AxisOp, scope: Operation, first: Iterable[Access], second: Iterable[Access]
) -> str | None:
    """
    Returns what is wrong if an access of `first` in one iteration of `loop` may touch an element that one of
    `second` touches in another, and one of them stores; None if none can. All values that are computed inside
    of `scope`, which is around the loop or the loop itself, may differ between the two iterations.
    """
    analysis = IndexAnalysis()
    others = list(second)
    for access in first:
        for other in others:
            if access.memref is not other.memref or not _is_outside(access.memref, loop):
                continue
            if isinstance(access, memref.LoadOp) and isinstance(other, memref.LoadOp):
                continue
            if not _are_apart(analysis, loop, scope, access, other):
                return _text(loop, access, other)
    return None


def overwritten(loop: Loop) -> str | None:
    """Returns what is wrong if all iterations of an axis store one and the same element, None if none do."""
    analysis = IndexAnalysis()
    axis = analysis.axis(loop)
    for access in accesses_in([loop]):
        if (
            isinstance(access, memref.StoreOp)
            and axis.extent != 1
            and _is_outside(access.memref, loop)
            and analysis.address(access).stride(axis) == 0
            and not _happens_once(access, loop)
        ):
            return _text(loop, access, access)
    return None


def _happens_once(access: Access, loop: Loop) -> bool:
    """Returns whether only one iteration of an axis does an access: a branch asks for its number."""
    op: Operation | None = access
    while op is not None and op is not loop:
        around = op.parent_op()
        if isinstance(around, scf.IfOp) and op.parent_region() is around.true_region:
            asked = around.cond.owner
            if (
                isinstance(asked, arith.CmpiOp)
                and asked.predicate.value.data == _EQUAL
                and asked.lhs is loop.index
                and constant_integer(asked.rhs) is not None
            ):
                return True
        op = around
    return False


def _is_outside(buffer: SSAValue, loop: Loop) -> bool:
    owner = buffer.owner
    return not isinstance(owner, sched.AllocOp) or not is_inside(owner, loop)


def _text(loop: Loop, access: Access, other: Access) -> str:
    names = value_names(kernel_around(loop))
    buffer, index = names[access.memref], names[loop.index]
    if isinstance(access, memref.StoreOp) and isinstance(other, memref.StoreOp):
        return f"two iterations of %{index} may store the same element of %{buffer}"
    return f"one iteration of %{index} may read an element of %{buffer} that another one stores"


def _are_apart(
    analysis: IndexAnalysis, loop: sched.AxisOp, scope: Operation, access: Access, other: Access
) -> bool:
    """Returns whether no two iterations touch the same element: one of the subscripts always differs."""
    axis = analysis.axis(loop)
    if axis.extent == 1:
        return True
    pairs = [
        (analysis.expr(here), analysis.expr(there))
        for here, there in zip(access.indices, other.indices, strict=True)
    ]
    pairs.append((analysis.address(access), analysis.address(other)))
    return any(_differ(analysis, axis, scope, here, there) for here, there in pairs)


def _differ(analysis: IndexAnalysis, axis: Axis, scope: Operation, here: IndexExpr, there: IndexExpr) -> bool:
    stride = here.stride(axis)
    if not isinstance(stride, int) or stride == 0 or there.stride(axis) != stride:
        return False
    along = IndexExpr({axis: stride}, 0)
    common, varying = known_part(analysis, scope, here - along)
    other_common, other_varying = known_part(analysis, scope, there - along)
    distance = common - other_common
    if not distance.is_constant:
        return False
    most = distance.constant + (varying.high - other_varying.low)
    least = distance.constant + (varying.low - other_varying.high)
    if not isinstance(most, int) or not isinstance(least, int):
        return False
    return -abs(stride) < least and most < abs(stride)


def known_part(
    analysis: IndexAnalysis, scope: Operation, expr: IndexExpr, with_scope: bool = False
) -> tuple[IndexExpr, IndexExpr]:
    """Returns the part of an index that is known before `scope`, `with_scope` in its body, and the rest."""
    known: dict[Atom, Extent] = {}
    rest: dict[Atom, Extent] = {}
    for atom, factor in expr.terms.items():
        part = known if is_known_at(analysis, scope, atom, with_scope) else rest
        part[atom] = factor
    return IndexExpr(known, expr.constant), IndexExpr(rest, 0)


def is_known_at(analysis: IndexAnalysis, scope: Operation, atom: Atom, with_scope: bool = False) -> bool:
    """
    Returns whether part of an index is known before `scope`; `with_scope`, in its body, where its own index
    is known too.
    """
    match atom:
        case Axis():
            loop = analysis.loop(atom)
            return (with_scope and loop is scope) or not is_inside(loop, scope)
        case Opaque(value, _):
            if with_scope and isinstance(scope, scf.ForOp) and value is scope.body.block.args[0]:
                return True
            owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
            return owner is None or not is_inside(owner, scope)
        case FloorDiv() | Mod() | Clamp():
            return all(is_known_at(analysis, scope, inner, with_scope) for inner in atom.operand.terms)
        case _:
            return False
