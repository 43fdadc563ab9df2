"""
Splits what reads rows of other ranks from what does not, so that this runs while they are sent.

    %t0 = sched.collective collective_permute ... (%face) to(%halo)
    %t1 = sched.await channel = 1(%face) to(%halo)
    %t2 = sched.launch @f(%x, %halo, %y)

-->

    %t0 = sched.collective collective_permute ... (%face) to(%halo)
    %t1 = sched.await channel = 1(%face) to(%halo)
    %t2 = sched.launch @f_inside(%x, %y)
    %t3 = sched.launch @f_border(%x, %halo, %y)

A kernel that computes, for each index, something of an array and of what lies beside it on other ranks reads
the one or the other as the index has it. Its axes are cut where that changes, the outermost first: a kernel
for those indices that need no other rank, and one for each border. Which launch waits for what follows from
what it reads (`schedule-collectives`, `build-dependencies`).

The innermost axis is cut where there is no other, and where what is split along it leaves no inside else: a
column of a larger array costs about what its cache lines do. A kernel is left whole where its inside would
still read what is awaited, or is less than half of it, or less than `least-elements`, which take no longer
than the launch of another kernel.

Requires: unmapped `sched` kernels. Ensures: what each launch computed is computed by one or several, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, ModuleOp, StringAttr
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import is_trivially_dead
from xdsl.utils.exceptions import PassFailedException

from .....dialects import sched
from .....dialects.modules.hazards import accessed_buffers, item_blocks, items_in
from .....dialects.modules.kernel_access import KernelAccess, access_of, accesses_of
from .....dialects.sched import MappingAttr
from ....indices.analysis import IndexAnalysis
from ....indices.nests import nest_of
from ....rewriting.kernel_names import KernelNames
from .pieces import PieceWriter
from .points import Piece, indices_below, pieces_of

_SERIAL = MappingAttr.get()


@dataclass(frozen=True)
class SplitHalosPass(ModulePass):
    """Splits what reads rows of other ranks at its borders from what does not."""

    name = "split-halos"
    least_elements: int = 4096

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.least_elements < 1:
            raise PassFailedException(f"{self.name}: least-elements {self.least_elements} must be 1 or more")
        if not any(isinstance(each, sched.AwaitOp) for each in op.walk()):
            return
        splitter = _Splitter(op, self.least_elements)
        for program in [each for each in op.ops if isinstance(each, sched.ProgramOp)]:
            for block in item_blocks(program):
                splitter.split_launches(block)
        splitter.erase_unused()


class _Splitter:
    def __init__(self, module: ModuleOp, least_elements: int):
        self.module = module
        self.least_elements = least_elements
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
        self.accesses: dict[str, KernelAccess] = accesses_of(module)
        self.names = KernelNames(module)
        self.parts: dict[tuple[str, frozenset[int]], list[tuple[sched.KernelOp, list[int]]]] = {}
        """By kernel and the arguments that are awaited: its parts, and which arguments each takes."""

    def split_launches(self, block: Block) -> None:
        awaited = set[SSAValue]()
        for item in items_in(block):
            if isinstance(item, sched.AwaitOp):
                awaited.update(item.targets)
                continue
            if awaited and isinstance(item, sched.LaunchOp) and item.token.first_use is None:
                self._split(item, awaited)
            else:
                awaited.difference_update(accessed_buffers(item, self.accesses)[1])

    def erase_unused(self) -> None:
        """Erases kernels that nothing launches any more."""
        launched = {
            op.kernel.root_reference.data for op in self.module.walk() if isinstance(op, sched.LaunchOp)
        }
        for name in {name for name, _ in self.parts} - launched:
            self.kernels[name].detach()
            self.kernels[name].erase()

    def _split(self, launch: sched.LaunchOp, awaited: set[SSAValue]) -> None:
        """Replaces a launch by those of the parts of its kernel, if there are several."""
        name = launch.kernel.root_reference.data
        kernel = self.kernels.get(name)
        read = frozenset(n for n in self.accesses[name].reads if launch.arguments[n] in awaited)
        awaited.difference_update(launch.arguments[n] for n in self.accesses[name].writes)
        if kernel is None or not read:
            return
        parts = self.parts.get((name, read))
        if parts is None:
            parts = self.parts[name, read] = self._parts_of(kernel, read)
        block = launch.parent
        assert block is not None, "a launch that stands nowhere"
        for part, arguments in parts:
            new = sched.LaunchOp(
                part.sym_name.data, [launch.arguments[n] for n in arguments], list(launch.after)
            )
            new.attributes.update(launch.attributes)
            new.location, new.token.name_hint = launch.location, launch.token.name_hint
            block.insert_op_before(new, launch)
        if parts:
            launch.detach()
            launch.erase()

    def _parts_of(
        self, kernel: sched.KernelOp, awaited: frozenset[int]
    ) -> list[tuple[sched.KernelOp, list[int]]]:
        """Adds the parts of a kernel to the module, and returns them, the inside first; none if it is one."""
        least = max(self.least_elements, -(-_n_elements(kernel) // 2))
        parts, inside = list[sched.KernelOp](), list[sched.KernelOp]()
        for cuts_innermost in (False, True):
            parts = _cut(kernel, 0, awaited, cuts_innermost)
            inside = [part for part in parts if not _read(part, awaited)]
            if sum(map(_n_elements, inside)) >= least:
                break
        else:
            return []
        found: list[tuple[sched.KernelOp, list[int]]] = []
        for part in (*inside, *(part for part in parts if part not in inside)):
            where = "inside" if part in inside else "border"
            part.sym_name = StringAttr(self.names.fresh(f"{kernel.sym_name.data}_{where}"))
            found.append((part, _drop_unused(part)))
            self.module.body.block.insert_op_before(part, kernel)
            self.accesses[part.sym_name.data] = access_of(part)
        return found


def _cut(
    kernel: sched.KernelOp, depth: int, awaited: frozenset[int], cuts_innermost: bool
) -> list[sched.KernelOp]:
    """
    Returns kernels that do together what one does, cut along its axes from the one at `depth` on where that
    reads other ones of its awaited arguments; along the innermost one of several only if that is asked for.
    """
    nest = nest_of(kernel)
    if depth >= len(nest) or not _read(kernel, awaited):
        return [kernel]
    axis = nest[depth]
    is_innermost = not any(op is not axis and isinstance(op, sched.AxisOp) for op in axis.walk())
    if axis.mapping != _SERIAL or axis.count is not None or not isinstance(axis.extent, int):
        return [kernel]
    pieces = [] if depth and is_innermost and not cuts_innermost else _pieces(axis, is_innermost)
    parts = [(piece, _part(kernel, depth, piece)) for piece in pieces]
    # Neighbours that read alike stay one, where it is seen of the one too that it reads no more.
    joined: list[tuple[Piece, frozenset[int]]] = []
    for piece, part in parts:
        read = _read(part, awaited)
        if joined and joined[-1][1] == read:
            both = Piece(joined[-1][0].begin, piece.end, True)
            if _read(_part(kernel, depth, both), awaited) == read:
                joined[-1] = both, read
                continue
        joined.append((piece, read))
    if len(joined) < 2:
        return _cut(kernel, depth + 1, awaited, cuts_innermost)
    always = frozenset[int].intersection(*(read for _, read in joined))
    found: list[sched.KernelOp] = []
    for piece, read in joined:
        part = _part(kernel, depth, piece)
        # What is most of the kernel is no border: beside it may be what pads, and reads nothing.
        is_cut = read == always or 2 * _n_elements(part) > _n_elements(kernel)
        found += _cut(part, depth + 1, awaited, cuts_innermost) if is_cut else [part]
    return found


def _pieces(axis: sched.AxisOp, is_innermost: bool) -> list[Piece]:
    """Returns the pieces of an axis between which indices change; one where that is not known."""
    analysis = IndexAnalysis()
    indices = indices_below(axis, analysis)
    return [] if indices is None else pieces_of(analysis.axis(axis), indices, is_innermost)


def _part(kernel: sched.KernelOp, depth: int, piece: Piece) -> sched.KernelOp:
    """Returns a kernel that does a piece of an axis of another one."""
    part = kernel.clone()
    PieceWriter(part, nest_of(part)[depth]).write([Piece(piece.begin, piece.end, True)])
    # What was read before the axis, for some of its indices, may have no use for these.
    for op in reversed(list(part.walk())):
        is_load = isinstance(op, memref.LoadOp) and op.res.first_use is None
        if is_load or is_trivially_dead(op):
            op.detach()
            op.erase()
    return part


def _read(kernel: sched.KernelOp, arguments: Iterable[int]) -> frozenset[int]:
    """Returns which of these arguments a kernel uses."""
    return frozenset(n for n in arguments if kernel.body.block.args[n].first_use is not None)


def _n_elements(kernel: sched.KernelOp) -> int:
    """Returns how many iterations the axes of a kernel have."""
    return prod(axis.extent for axis in nest_of(kernel) if isinstance(axis.extent, int))


def _drop_unused(kernel: sched.KernelOp) -> list[int]:
    """Drops the buffers and constants that a kernel does not use, and returns which arguments it keeps."""
    block = kernel.body.block
    kept = [
        argument.index
        for argument in block.args
        if isinstance(argument.type, IndexType) or argument.first_use is not None
    ]
    for argument in [argument for argument in block.args if argument.index not in kept]:
        block.erase_arg(argument)
    for op in [op for op in block.ops if isinstance(op, arith.ConstantOp) and op.result.first_use is None]:
        op.detach()
        op.erase()
    return kept
