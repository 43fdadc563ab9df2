"""
Which kernels and copies may work in the memory of tensor nodes, and the order that this takes.

A read is a snapshot, so to begin with every read copies its node into a temporary, every write copies its
value into its node, and everything happens in the order of the text. Then, one after the other:

* a read needs no copy where all that read the value can come before the next write of the node
* a write needs no copy where the kernel that computes the value, the loop that carries it, or the branch that
  gives it, can come after all that read what the node held before. A kernel may be one of those itself, if
  each of its iterations reads the very element that it stores; so may a loop, if it begins with what it
  reads, and a branch, each way of which is placed as a loop's body is

Each of these moves items only as far as it must, and is left out where it would need a cycle.

A value that a loop carries is treated as a node is: the body reads it once, at its beginning, and writes it
once, at its end. So is a donated argument that a result takes the place of.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeGuard

from xdsl.ir import Operation, SSAValue

from ....dialects import graph
from ...graph.node_accesses import accessed_nodes
from ...indices.access import Indices
from ...rewriting.incremental_order import IncrementalOrder
from .accesses import Kernel
from .op_kinds import UPDATING_OPS
from .plan import Plan


@dataclass(frozen=True, eq=False)
class ResultCopy:
    """The copy of a value into the buffer of result `number` of its function."""

    number: int
    value: SSAValue


@dataclass(frozen=True, eq=False)
class _Carried:
    """An access to carried value `number` of a loop; it is placed like a node accessed as a whole."""

    number: int

    @property
    def node_name(self) -> str:
        return f"carried value {self.number}"

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        return ()


@dataclass(frozen=True, eq=False)
class CarriedRead(_Carried):
    """What a carried value is when an iteration begins: argument `result` of the loop's body."""

    result: SSAValue


@dataclass(frozen=True, eq=False)
class CarriedWrite(_Carried):
    """What a carried value is for the next iteration."""

    value: SSAValue


Read = graph.ReadOp | CarriedRead
Write = graph.WriteOp | CarriedWrite

Item = Kernel | Read | Write | graph.ControlOp | graph.HostCallOp | ResultCopy
"""
What a program may do: run a kernel, take a snapshot, copy a value into a node, a carried value or a result,
run the regions of an op, or call the host.
"""

_Access = Read | Write | graph.ControlOp

_Maker = Kernel | graph.WhileOp | graph.ScanOp | graph.IfOp
"""What can compute a value right where it is written to."""

_Makers = Kernel | Read | graph.ControlOp | graph.HostCallOp
"""What can make a value."""


@dataclass
class Placement:
    """The items of a program in order, the reads that need no copy, and the writes that kernels do."""

    items: list[Item] = field(default_factory=list[Item])
    direct_reads: set[Read] = field(default_factory=set[Read])
    written: dict[SSAValue, Write] = field(default_factory=dict[SSAValue, Write])
    """The writes of values that are made where they are written to."""
    overwritten: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """For what a kernel or a branch makes in the node that it reads, the value that it reads."""
    updating: set[Kernel] = field(default_factory=set[Kernel])
    """The kernels that update a value which is computed in the node, too, before all of them."""


def place_nodes(
    plan: Plan,
    copies: Sequence[ResultCopy],
    kept: set[SSAValue],
    carried: Sequence[tuple[CarriedRead, CarriedWrite]] = (),
) -> Placement:
    """
    Returns the placement for a planned block whose accesses of nodes are simple (see node_accesses.py).
    `copies` are the results that are not computed in place; the values in `kept` have buffers already;
    `carried` are the values that the loop around the block carries.
    """
    return _Placer(plan, copies, carried).place(kept)


class _Placer:
    def __init__(
        self,
        plan: Plan,
        copies: Sequence[ResultCopy],
        carried: Sequence[tuple[CarriedRead, CarriedWrite]],
    ) -> None:
        self._plan = plan
        positions: dict[Operation, int] = {}
        reads_and_writes: list[graph.ReadOp | graph.WriteOp | graph.ControlOp] = []
        for position, op in enumerate(plan.block.ops):
            positions[op] = position
            if isinstance(op, graph.ReadOp | graph.WriteOp | graph.ControlOp):
                reads_and_writes.append(op)
        placed: list[tuple[int, Item]] = [(positions[kernel.root], kernel) for kernel in plan.kernels]
        placed.extend((positions[op], op) for op in reads_and_writes)
        host_calls = [op for op in plan.block.ops if isinstance(op, graph.HostCallOp)]
        placed.extend((positions[op], op) for op in host_calls)
        placed.sort(key=lambda pair: pair[0])
        begins = [read for read, _ in carried]
        ends = [write for _, write in carried]
        self._items: list[Item] = [*begins, *(item for _, item in placed), *copies, *ends]
        self._numbers = {item: number for number, item in enumerate(self._items)}
        self._order = IncrementalOrder(len(self._items))
        self._control_writes: dict[graph.ControlOp, dict[str, None]] = {}
        self._by_node: dict[str, list[_Access]] = {}
        for op in (*begins, *reads_and_writes, *ends):
            if isinstance(op, graph.ControlOp):
                reads, self._control_writes[op] = accessed_nodes(op)
                for name in dict.fromkeys((*reads, *self._control_writes[op])):
                    self._by_node.setdefault(name, []).append(op)
            else:
                self._by_node.setdefault(op.node_name, []).append(op)
        self._makers: dict[SSAValue, list[_Makers]] = {}
        for kernel in plan.kernels:
            self._makers.setdefault(kernel.root.results[0], []).append(kernel)
        for op in (*begins, *reads_and_writes):
            if isinstance(op, graph.ReadOp | CarriedRead):
                self._makers[op.result] = [op]
            elif isinstance(op, graph.ControlOp):
                self._makers |= {result: [op] for result in op.results}
        for op in host_calls:
            self._makers |= {result: [op] for result in op.results}
        self._readers = self._find_readers()
        self._result = Placement()

    def _writes(self, op: _Access, name: str) -> bool:
        """Returns whether an access changes what node `name` holds."""
        if isinstance(op, graph.ControlOp):
            return name in self._control_writes[op]
        return isinstance(op, graph.WriteOp | CarriedWrite)

    def place(self, kept: set[SSAValue]) -> Placement:
        self._add_fixed_pairs()
        for name, ops in self._by_node.items():
            for position, op in enumerate(ops):
                if isinstance(op, graph.ReadOp | CarriedRead) and self._can_read_in_place(
                    op, name, ops[position + 1 :]
                ):
                    self._result.direct_reads.add(op)
        taken = set(kept)
        for name, ops in self._by_node.items():
            last = max((i for i, op in enumerate(ops) if self._writes(op, name)), default=None)
            write = None if last is None else ops[last]
            if (
                isinstance(write, graph.WriteOp | CarriedWrite)
                and write.value not in taken
                and self._can_write_in_place(write, ops[:last], taken)
            ):
                taken.add(write.value)
        self._result.items = [self._items[number] for number in self._order.items()]
        return self._result

    def _find_readers(self) -> dict[SSAValue, list[int]]:
        """Returns the items that read each value which has a buffer, in ascending order."""
        readers: dict[SSAValue, dict[int, None]] = {}
        for value, accesses in self._plan.accesses.items():
            readers[value] = {self._numbers[access.kernel]: None for access in accesses}
        for item in self._items:
            if isinstance(item, graph.WriteOp | CarriedWrite | ResultCopy):
                readers.setdefault(item.value, {})[self._numbers[item]] = None
            elif isinstance(item, graph.HostCallOp):
                for value in item.operands:
                    readers.setdefault(value, {})[self._numbers[item]] = None
            elif isinstance(item, graph.ControlOp):
                for value in self._plan.used_by(item):
                    readers.setdefault(value, {})[self._numbers[item]] = None
        return {value: sorted(found) for value, found in readers.items()}

    def _add_fixed_pairs(self) -> None:
        """
        Adds what every placement keeps: values are made before they are read, accesses stay in order, and so
        do lines that are printed and collectives.
        """
        pairs = [
            (self._numbers[maker], reader)
            for value, makers in self._makers.items()
            for maker in makers
            for reader in self._readers.get(value, ())
        ]
        for name, ops in self._by_node.items():
            for position, op in enumerate(ops):
                for later in ops[position + 1 :]:
                    if self._writes(op, name) or self._writes(later, name):
                        pairs.append((self._numbers[op], self._numbers[later]))
                    if self._writes(later, name):
                        break
        ordered = [number for number, item in enumerate(self._items) if _keeps_order(item)]
        pairs.extend(pairwise(ordered))
        is_possible = self._order.add(pairs)
        assert is_possible, f"@{self._plan.function.sym_name.data}: values are read before they are made"

    def _can_read_in_place(self, read: Read, name: str, later: Sequence[_Access]) -> bool:
        writes = [op for op in later if self._writes(op, name)]
        if not writes:
            return True
        if any(isinstance(op, graph.WriteOp | CarriedWrite) and op.value is read.result for op in writes):
            # A copy between two parts of one node that may overlap.
            return False
        following = self._numbers[writes[0]]
        readers = self._readers.get(read.result, ())
        return following not in readers and self._order.add((reader, following) for reader in readers)

    def _can_write_in_place(
        self, write: Write, earlier: Sequence[_Access], taken: AbstractSet[SSAValue]
    ) -> bool:
        makers = self._makers.get(write.value, ())
        if len(makers) != 1:
            return False
        (maker,) = makers
        if not _may_make_in_place(maker, write.value):
            return False
        updates = self._updates_before(maker, taken)
        return any(
            self._can_make_in_place(write, earlier, maker, updates[:count])
            for count in range(len(updates), -1, -1)
        )

    def _updates_before(
        self, maker: _Makers, taken: AbstractSet[SSAValue]
    ) -> list[tuple[Kernel, _Maker, SSAValue]]:
        """
        Returns the kernels, from the one that makes a value on, that update what something else makes, each
        with that and what it makes.
        """
        found: list[tuple[Kernel, _Maker, SSAValue]] = []
        while isinstance(maker, Kernel) and isinstance(maker.root, UPDATING_OPS):
            source = maker.root.source
            before = self._makers.get(source, ())
            if source in taken or len(before) != 1 or not _may_make_in_place(before[0], source):
                break
            if not all(
                access.indices == maker.stored
                for access in self._plan.accesses[source]
                if access.kernel is maker
            ):
                break
            found.append((maker, before[0], source))
            maker = before[0]
        return found

    def _can_make_in_place(
        self,
        write: Write,
        earlier: Sequence[_Access],
        maker: _Maker,
        updates: Sequence[tuple[Kernel, _Maker, SSAValue]],
    ) -> bool:
        """
        Returns whether what makes a value, and the updates before it, may do so where it is written to; the
        first of them is the one that stores over what was there.
        """
        first: _Maker = maker
        value = write.value
        if updates:
            _, first, value = updates[-1]
        # The write happens where the value is made, earlier than it stands. All that reads the old contents
        # must run before that, and so must all that reads a value which an update in the chain stores over.
        # `_order` says whether there is such an order.
        number = self._numbers[first]
        pairs: list[tuple[int, int]] = []
        for kernel, _, source in updates:
            readers = self._readers.get(source, ())
            pairs.extend(
                (reader, self._numbers[kernel]) for reader in readers if reader != self._numbers[kernel]
            )
        overwritten: SSAValue | None = None
        for op in earlier:
            if op is first:
                return False
            pairs.append((self._numbers[op], number))
            if not isinstance(op, graph.ReadOp | CarriedRead) or op not in self._result.direct_reads:
                continue
            readers = self._readers.get(op.result, ())
            pairs.extend((reader, number) for reader in readers if reader != number)
            # A kernel may read what it overwrites only element by element, at the index that it stores to.
            if number in readers:
                is_same_place = tuple(op.indices) == tuple(write.indices)
                if overwritten is not None or not is_same_place:
                    return False
                if not self._reads_where_it_stores(first, value, op):
                    return False
                overwritten = op.result
        if not self._order.add(pairs):
            return False
        self._result.written[write.value] = write
        self._result.updating.update(kernel for kernel, *_ in updates)
        if overwritten is not None:
            self._result.overwritten[value] = overwritten
        return True

    def _reads_where_it_stores(self, maker: _Maker, value: SSAValue, read: Read) -> bool:
        """Returns whether what makes `value` may do so over what it reads by `read`."""
        if isinstance(maker, Kernel):
            return self._is_elementwise(maker, read)
        if isinstance(maker, graph.IfOp):
            return read.result is not maker.condition
        begins_with = maker.initial[maker.results.index(value)]
        captured = (other for body in self._plan.bodies[maker] for other in body.captured)
        is_read_once = sum(operand is read.result for operand in maker.operands) == 1
        return begins_with is read.result and is_read_once and read.result not in captured

    def _is_elementwise(self, kernel: Kernel, read: Read) -> bool:
        """
        Returns whether each iteration of `kernel` reads no other elements than those it stores. An update of
        something else does not: that is copied to where it stores before; nor does a kernel that keeps other
        values in its result's memory meanwhile.
        """
        stored = kernel.all_stored
        if kernel.in_result is not None:
            return False
        if isinstance(kernel.root, UPDATING_OPS) and kernel.root.source is not read.result:
            return False
        return all(
            any(_are_equal(access.indices, each) for each in stored)
            for access in self._plan.accesses[read.result]
            if access.kernel is kernel
        )


def _keeps_order(item: Item) -> bool:
    return isinstance(item, graph.PrintOp | graph.CollectiveOp | graph.ControlOp) and any(
        isinstance(op, graph.PrintOp | graph.CollectiveOp) for op in item.walk()
    )


def _may_make_in_place(maker: _Makers, value: SSAValue) -> TypeGuard[_Maker]:
    """Returns whether there are ways to compute `value` right where it is written to."""
    if isinstance(maker, graph.WhileOp | graph.ScanOp):
        return any(result is value for result in maker.results[: len(maker.initial)])
    return isinstance(maker, Kernel | graph.IfOp)


def _are_equal(first: Indices, second: Indices) -> bool:
    return all(a == b or a.low == a.high == b.low == b.high for a, b in zip(first, second, strict=True))
