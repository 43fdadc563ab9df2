"""
The work that the work-items of a group share.

Code outside of the axes that they share is run by all of them alike: each computes the same values, but only
the first one stores them. A barrier stands before code in which one work-item may see the store of
another. The barriers stand in code that all run alike, so that none of them is missed.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cached_property

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, LocationAttr, MemRefType, i1, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ....dialects import low, sched
from ....dialects.low.alloca import SHARED
from ....dialects.sched import Level, Scope
from ...indices.analysis import Loop
from ...indices.expressions import IndexExpr
from ...scalar.builder import INDEX
from .indices import IndexWriter
from .work_items import WorkItems
from .writer import KernelWriter

_Accesses = tuple[frozenset[SSAValue], frozenset[SSAValue]]
"""The buffers that are read, and those that are written."""


class GroupSharing:
    """The work-items of one kernel, and what they did since they last waited for one another."""

    def __init__(
        self, kernel: sched.KernelOp, items: WorkItems, writer: KernelWriter, indices: IndexWriter
    ) -> None:
        self.items = items
        self._kernel = kernel
        self._writer = writer
        self._around: list[Loop] = []
        self._read: set[SSAValue] = set()
        self._written: set[SSAValue] = set()
        self._accesses: dict[Operation, _Accesses] = {}
        self._shared: dict[Operation, bool] = {}
        self._scratch: dict[Attribute, SSAValue] = {}
        self._ids: dict[low.Dimension, SSAValue] = {}
        self._exprs: dict[low.Dimension, IndexExpr] = {}
        for dimension, extent in items.extents.items():
            op = low.ThreadIdOp.create(
                result_types=(INDEX,), properties={"dimension": low.DimensionAttr(dimension)}
            )
            value = writer.insert_at_front(op, kernel.location, f"item_{dimension.value}")
            self._ids[dimension] = value
            self._exprs[dimension] = indices.bind(value, extent, f"item_{dimension.value}")

    def item(self, op: Loop) -> IndexExpr:
        """Returns the number of this work-item along the dimension of an axis."""
        return self._exprs[self.items.axes[op]]

    def item_value(self, op: Loop) -> SSAValue:
        return self._ids[self.items.axes[op]]

    @property
    def is_uniform(self) -> bool:
        """Whether all work-items run what is lowered now."""
        return not self._around

    @contextmanager
    def inside(self, op: Loop) -> Generator[None, None, None]:
        """Code that is lowered meanwhile is inside of an axis that work-items share."""
        self._around.append(op)
        yield
        self._around.pop()

    @contextmanager
    def block(self, block: Block) -> Generator[None, None, None]:
        """A block that all work-items run is lowered meanwhile; it may run several times, or not at all."""
        read, written = set(self._read), set(self._written)
        self._begin(block)
        yield
        self._read |= read
        self._written |= written

    def statement(self, op: Operation) -> None:
        """Waits, if need be, before an op that all work-items run; one with shared axes in it waits there."""
        if self._contains_shared(op):
            return
        reads, writes = self._accesses_of(op)
        if reads & self._written or writes & (self._written | self._read):
            self.barrier(op.location)
        self._read |= reads
        self._written |= writes

    def _begin(self, block: Block) -> None:
        """Waits at the beginning of an iteration where that may see what others of the one before store."""
        op = block.parent_op()
        if not isinstance(op, Loop | scf.ForOp | scf.WhileOp) or not self._contains_shared(op):
            return
        if isinstance(op, Loop) and op.mapping.level.data is Level.BLOCK and op.mapping.chunk.data == 1:
            return
        for inner in op.walk():
            if isinstance(inner, sched.ReduceOp) and inner in self.items.axes:
                self._read.add(self.scratch_for(inner))
        reads, writes = self._accesses_of(op)
        if reads & writes or (writes and not isinstance(op, Loop)):
            self.barrier(op.location)

    def barrier(self, location: LocationAttr) -> None:
        self._writer.insert(low.BarrierOp.create(), location)
        self._read.clear()
        self._written.clear()

    @contextmanager
    def exchange(self, op: sched.ReduceOp) -> Generator[SSAValue, None, None]:
        """Work-items hand partial results to one another meanwhile, through the memory that this gives."""
        scratch = self.scratch_for(op)
        if scratch in self._read:
            self.barrier(op.location)
        yield scratch
        self._read.add(scratch)

    def scratch_for(self, op: sched.ReduceOp) -> SSAValue:
        """Returns shared memory for one partial result of each work-item that shares a reduction."""
        element_type: Attribute = op.result.type
        known = self._scratch.get(element_type)
        if known is None:
            size = op.mapping.items.data
            type = MemRefType(element_type, [size], memory_space=SHARED)
            known = self._scratch[element_type] = self._writer.alloca(type, op.location, "partials")
        return known

    def store(self, op: memref.StoreOp, write: Callable[[], None]) -> None:
        """Writes a store, by the first of those work-items only that all store the same."""
        missing = self._idle_dimensions()
        if not missing or not self._is_visible(op.memref):
            write()
            return
        location, constants = op.location, self._writer.constants
        condition: SSAValue | None = None
        for dimension in missing:
            is_first = self._writer.emit(
                arith.CmpiOp,
                (self._ids[dimension], constants.get(0, INDEX)),
                i1,
                location,
                "is_first",
                {"predicate": IntegerAttr(0, i64)},
            )
            if condition is not None:
                is_first = self._writer.emit(arith.AndIOp, (condition, is_first), i1, location, "is_first")
            condition = is_first
        self.when(condition, write, location)

    def when(self, condition: SSAValue | None, write: Callable[[], None], location: LocationAttr) -> None:
        """Has only the work-items for which a condition holds run what `write` writes."""
        assert condition is not None, "no condition"
        block = Block()
        new = scf.IfOp.create(operands=(condition,), regions=[Region(block), Region()])

        def body(_: object) -> list[SSAValue]:
            write()
            return []

        with self._writer.open(new, location):
            self._writer.fill(block, body, location)

    def check_alloc(self, op: sched.AllocOp) -> None:
        """
        Raises PassFailedException for a buffer of each work-item that several of them store to, and for one
        of all work-items inside of an axis that they share.
        """
        if op.scope.data is Scope.SHARED:
            if self._around:
                hint = self._around[-1].index.name_hint
                raise PassFailedException(
                    f"{op.name}: a shared buffer cannot stand under axis %{hint} (its work-items share it)"
                )
            return
        for use in op.result.uses:
            user = use.operation
            loop = self._shared_around(user, op)
            if loop is not None:
                raise PassFailedException(
                    f"{op.name}: a local buffer cannot be accessed by the work-items that share axis "
                    f"%{loop.index.name_hint} (make it shared)"
                )

    def _shared_around(self, op: Operation, alloc: sched.AllocOp) -> Loop | None:
        parent = op.parent_op()
        while parent is not None and parent is not alloc.parent_op():
            if parent in self.items.axes and isinstance(parent, Loop):
                return parent
            parent = parent.parent_op()
        return None

    def _idle_dimensions(self) -> list[low.Dimension]:
        """Returns the dimensions along which all work-items do the same."""
        used = {self.items.axes[op] for op in self._around}
        return [dimension for dimension in self.items.extents if dimension not in used]

    def _contains_shared(self, op: Operation) -> bool:
        """Returns whether work-items share an axis inside of `op`, which is none itself."""
        known = self._shared.get(op)
        if known is None:
            known = op not in self.items.axes and any(
                inner in self.items.axes for region in op.regions for inner in region.walk()
            )
            self._shared[op] = known
        return known

    def _accesses_of(self, op: Operation) -> _Accesses:
        known = self._accesses.get(op)
        if known is None:
            reads: set[SSAValue] = set()
            writes: set[SSAValue] = set()
            for inner in op.walk():
                if isinstance(inner, memref.LoadOp | memref.StoreOp) and inner.memref in self._exchanged:
                    (reads if isinstance(inner, memref.LoadOp) else writes).add(inner.memref)
            known = self._accesses[op] = frozenset(reads), frozenset(writes)
        return known

    @cached_property
    def _exchanged(self) -> frozenset[SSAValue]:
        """The buffers that all work-items see and that the kernel both reads and writes."""
        ops = [op for op in self._kernel.walk() if isinstance(op, memref.LoadOp | memref.StoreOp)]
        read = {op.memref for op in ops if isinstance(op, memref.LoadOp)}
        written = {op.memref for op in ops if isinstance(op, memref.StoreOp)}
        return frozenset(buffer for buffer in read & written if self._is_visible(buffer))

    @staticmethod
    def _is_visible(buffer: SSAValue) -> bool:
        """Returns whether all work-items of a group see one and the same buffer."""
        if isinstance(buffer, BlockArgument):
            return True
        owner = buffer.owner
        return isinstance(owner, sched.AllocOp) and owner.scope.data is Scope.SHARED
