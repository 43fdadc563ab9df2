"""
Which kernels and copies may work in the memory of tensor nodes, and the order that this takes.

A read is a snapshot, so to begin with every read copies its node into a temporary, every write copies its
value into its node, and everything happens in the order of the text. Then, one after the other:

* a read needs no copy where all that read the value can come before the next write of the node
* a write needs no copy where the kernel that computes the value can come after all that read what the node
  held before. The kernel may be one of those itself, if each of its iterations reads the very element that it
  stores

Each of these moves items only as far as it must, and is left out where it would need a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ...dialects import graph
from .access import Indices
from .incremental_order import IncrementalOrder
from .kernel_planning import Kernel, Plan


@dataclass(frozen=True, eq=False)
class ResultCopy:
    """The copy of a value into the buffer of result `number` of its function."""

    number: int
    value: SSAValue


Item = Kernel | graph.ReadOp | graph.WriteOp | ResultCopy
"""What a program may do: run a kernel, take a snapshot, copy a value into a node or into a result."""


@dataclass
class Placement:
    """The items of a program in order, the reads that need no copy, and the writes that kernels do."""

    items: list[Item] = field(default_factory=list[Item])
    direct_reads: set[graph.ReadOp] = field(default_factory=set[graph.ReadOp])
    written: dict[Kernel, graph.WriteOp] = field(default_factory=dict[Kernel, graph.WriteOp])
    overwritten: dict[Kernel, SSAValue] = field(default_factory=dict[Kernel, SSAValue])
    """For a kernel that reads the node it writes, the value that it reads."""


def place_nodes(plan: Plan, copies: Sequence[ResultCopy], kept: set[SSAValue]) -> Placement:
    """
    Returns the placement for a planned function whose accesses of nodes are simple (see node_accesses.py).
    `copies` are the results that are not computed in place; the values in `kept` have buffers already.
    """
    return _Placer(plan, copies).place(kept)


class _Placer:
    def __init__(self, plan: Plan, copies: Sequence[ResultCopy]) -> None:
        self._plan = plan
        positions: dict[Operation, int] = {}
        accesses: list[graph.ReadOp | graph.WriteOp] = []
        for position, op in enumerate(plan.function.body.block.ops):
            positions[op] = position
            if isinstance(op, graph.ReadOp | graph.WriteOp):
                accesses.append(op)
        placed: list[tuple[int, Item]] = [(positions[kernel.root], kernel) for kernel in plan.kernels]
        placed.extend((positions[op], op) for op in accesses)
        placed.sort(key=lambda pair: pair[0])
        self._items: list[Item] = [*(item for _, item in placed), *copies]
        self._numbers = {item: number for number, item in enumerate(self._items)}
        self._order = IncrementalOrder(len(self._items))
        self._by_node: dict[str, list[graph.ReadOp | graph.WriteOp]] = {}
        for op in accesses:
            self._by_node.setdefault(op.node_name, []).append(op)
        self._makers: dict[SSAValue, Kernel | graph.ReadOp] = {
            kernel.root.results[0]: kernel for kernel in plan.kernels
        }
        self._makers |= {op.result: op for op in accesses if isinstance(op, graph.ReadOp)}
        self._readers = self._find_readers()
        self._result = Placement()

    def place(self, kept: set[SSAValue]) -> Placement:
        self._add_fixed_pairs()
        for ops in self._by_node.values():
            for position, op in enumerate(ops):
                if isinstance(op, graph.ReadOp) and self._can_read_in_place(op, ops[position + 1 :]):
                    self._result.direct_reads.add(op)
        taken = set(kept)
        for ops in self._by_node.values():
            last = max((i for i, op in enumerate(ops) if isinstance(op, graph.WriteOp)), default=None)
            write = None if last is None else ops[last]
            if (
                isinstance(write, graph.WriteOp)
                and write.value not in taken
                and self._can_write_in_place(write, ops[:last])
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
            if isinstance(item, graph.WriteOp | ResultCopy):
                readers.setdefault(item.value, {})[self._numbers[item]] = None
        return {value: sorted(found) for value, found in readers.items()}

    def _add_fixed_pairs(self) -> None:
        """Adds what every placement keeps: values are made before they are read, accesses stay in order."""
        pairs = [
            (self._numbers[maker], reader)
            for value, maker in self._makers.items()
            for reader in self._readers.get(value, ())
        ]
        for ops in self._by_node.values():
            for position, op in enumerate(ops):
                for later in ops[position + 1 :]:
                    if isinstance(op, graph.WriteOp) or isinstance(later, graph.WriteOp):
                        pairs.append((self._numbers[op], self._numbers[later]))
                    if isinstance(later, graph.WriteOp):
                        break
        is_possible = self._order.add(pairs)
        assert is_possible, f"@{self._plan.function.sym_name.data}: values are read before they are made"

    def _can_read_in_place(self, read: graph.ReadOp, later: Sequence[graph.ReadOp | graph.WriteOp]) -> bool:
        writes = [op for op in later if isinstance(op, graph.WriteOp)]
        if not writes:
            return True
        if any(write.value is read.result for write in writes):
            # A copy between two parts of one node that may overlap.
            return False
        following = self._numbers[writes[0]]
        return self._order.add((reader, following) for reader in self._readers.get(read.result, ()))

    def _can_write_in_place(
        self, write: graph.WriteOp, earlier: Sequence[graph.ReadOp | graph.WriteOp]
    ) -> bool:
        kernel = self._makers.get(write.value)
        if not isinstance(kernel, Kernel):
            return False
        number = self._numbers[kernel]
        pairs: list[tuple[int, int]] = []
        overwritten: SSAValue | None = None
        for op in earlier:
            pairs.append((self._numbers[op], number))
            if not isinstance(op, graph.ReadOp) or op not in self._result.direct_reads:
                continue
            readers = self._readers.get(op.result, ())
            pairs.extend((reader, number) for reader in readers if reader != number)
            if number in readers:
                is_same_place = tuple(op.indices) == tuple(write.indices)
                if overwritten is not None or not is_same_place or not self._is_elementwise(kernel, op):
                    return False
                overwritten = op.result
        if not self._order.add(pairs):
            return False
        self._result.written[kernel] = write
        if overwritten is not None:
            self._result.overwritten[kernel] = overwritten
        return True

    def _is_elementwise(self, kernel: Kernel, read: graph.ReadOp) -> bool:
        """Returns whether each iteration of `kernel` reads no other element than the one it stores."""
        stored = kernel.members[kernel.root][0].indices
        return all(
            _are_equal(access.indices, stored)
            for access in self._plan.accesses[read.result]
            if access.kernel is kernel
        )


def _are_equal(first: Indices, second: Indices) -> bool:
    return all(a == b or a.low == a.high == b.low == b.high for a, b in zip(first, second, strict=True))
