"""
Cuts an axis where pads, rolls and concatenations begin and end, so that most of it runs without borders.

    sched.axis %i = 100 {                    sched.axis %i = 1 { ... }
      ... clamp(%i - 1) ...         -->      sched.axis %i_1 = 98 { ... %i_1 ... }
    }                                        sched.axis %i_2 = 1 { ... }

With `branch` it stays one axis, which branches; with `parts` its longest piece is an axis over parts of about
so many iterations, of which the first and the last do what is before and after it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf

from .....dialects import sched
from ....indices.analysis import IndexAnalysis
from ..borders.pieces import WHOLE_LANES, PieceWriter
from ..borders.points import LEAST_LANES, Piece, indices_below, joined_pieces, pieces_of
from ..loop_nests.errors import refuse
from ..loop_nests.loops import KernelLoop, kernel_around
from ..recipe import note

WHO = "partition-axis"


def partition(
    axis: KernelLoop, parts: int = 0, multiple: int = WHOLE_LANES, branch: bool = False, outer: bool = False
) -> list[KernelLoop]:
    """
    Cuts an axis, which is erased but for a branch, and returns the loops that run in its place. Short pieces
    are left joined where the axis may be a vector; `outer` says that it is around what is one. Parts are a
    multiple of `multiple` iterations, if there are as many.

    Raises:
        ScheduleError: it is no axis, or a mapped one; it has a count or no known extent; what is read in it
            is not clamped so that one can tell; `parts` or `multiple` is out of range; or there are both
            parts and a branch.
    """
    if not isinstance(axis, sched.AxisOp):
        refuse(WHO, axis, "it is no axis, whose iterations may run apart")
    if words := axis.mapping.words():
        refuse(WHO, axis, f"it is mapped to {words}, expected a serial one (partition before mapping)")
    if axis.count is not None or not isinstance(axis.extent, int) or axis.extent < 1:
        refuse(WHO, axis, "its iterations are not a known number")
    if parts < 0 or multiple < 1 or (parts and branch):
        refuse(
            WHO,
            axis,
            f"parts {parts} of a multiple of {multiple} (expected 0 or more of 1 or more, and no branch)",
        )
    pieces = pieces_along(axis, outer)
    if pieces is None:
        refuse(WHO, axis, "where its indices begin and end is not known")
    if parts > longest_piece(pieces).extent:
        refuse(WHO, axis, f"parts of {parts}, where the longest piece has {longest_piece(pieces).extent}")
    if branch and len(pieces) == 1:
        refuse(WHO, axis, "nothing begins or ends along it, so there is no branch")
    return cut(axis, pieces, parts, multiple, branch, outer)


def pieces_along(axis: sched.AxisOp, outer: bool = False) -> list[Piece] | None:
    """
    Returns the pieces that an axis can be cut into; None where that is not known. Short ones are apart only
    around an axis that combines nothing, where they are little code.
    """
    analysis = IndexAnalysis()
    indices = indices_below(axis, analysis)
    if indices is None:
        return None
    combines = any(isinstance(op, sched.ReduceOp) for op in axis.walk())
    least = 1 if outer and not combines else LEAST_LANES
    return joined_pieces(pieces_of(analysis.axis(axis), indices, is_innermost=not outer), least)


def longest_piece(pieces: Sequence[Piece]) -> Piece:
    """Returns the longest piece without borders."""
    return max(pieces, key=lambda piece: piece.is_linear * piece.extent)


def cut(
    axis: sched.AxisOp,
    pieces: Sequence[Piece],
    parts: int = 0,
    multiple: int = WHOLE_LANES,
    branch: bool = False,
    outer: bool = False,
) -> list[KernelLoop]:
    """Cuts an axis into its pieces, as `partition` does, which says what else there is."""
    arguments = {
        "parts": parts or False,
        "multiple": parts > 0 and multiple,
        "branch": branch,
        "outer": outer,
    }
    note(axis, "partition", axis=axis, **arguments)
    writer = PieceWriter(kernel_around(axis), axis)
    if branch:
        taken = writer.write_branches(longest_piece(pieces))
        return [axis, *_axes_in(taken)]
    if parts:
        return [writer.write_in_parts(pieces, longest_piece(pieces), parts, multiple)]
    return [*writer.write(pieces)]


def _axes_in(branch: scf.IfOp) -> list[sched.AxisOp]:
    """Returns the axes right in the branch without borders."""
    return [op for op in branch.true_region.block.ops if isinstance(op, sched.AxisOp)]
