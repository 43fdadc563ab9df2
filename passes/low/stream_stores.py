"""
Lets results that no cache can hold go to memory past the caches.

    scf.for %i = %c0 to %c16777216 step %c8 {        scf.for %i = %c0 to %c16777216 step %c8 {
      %v = vector.load %x[%i]                          ...
      %w = arith.addf %v, %ones              -->
      vector.store %w, %y[%i]                          vector.store %w, %y[%i] <{nontemporal = true}>
    }                                                }

A processor reads a line of memory before it stores to a part of it, and what it stores takes the place of
what others left in the caches. With the hint it does neither. That pays where the caches cannot hold what the
kernel touches: what is stored past them must be read from memory.

A store is marked where

- it stores a vector, in loops of known bounds each of which moves it: no element is stored twice but at the
  ends of rows,
- the kernel reads nothing of that buffer,
- each row begins at a line where the first one does, unless rows are long: what is left over at the ends of
  rows is stored as usual, and next to lines that pass the caches by such take 2 to 20 times as long,
- all that the kernel touches is `BEYOND` times the third cache, or `BEYOND_TURNED` times where what it stores
  was transposed: those are whole lines far from each other, which are many misses.

Requires: nothing; it is best last, as other passes take stores apart. Ensures: what the module computes is
unchanged, bit for bit. A backend may pass over the hint, as it must where a vector does not begin at a line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import BoolAttr, MemRefType, ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from ...dialects import low
from ...dialects.buffer_size import known_nbytes
from ...dialects.element_types import NBYTES, element_type_of, lanes_of
from ...dialects.low.constant_integer import constant_integer
from ..indices.analysis import IndexAnalysis
from ..indices.expressions import Opaque
from ..machine.cost import LINE_NBYTES
from ..machine.target import L3_NBYTES, check_positive

BEYOND = 1.5
"""
How many third caches a kernel touches whose results go past them. On a Zen 4 with 32 MiB of it, adding 1 to
f32 takes 0.79 of the time where 64 MiB are read and stored and 0.73 for 128, 0.93 for 32, and 1.4 times as
long for 16; adding two arrays to a third one, all of 16 MiB, 0.73. What computes much (gelu) takes as long.
"""

BEYOND_TURNED = 0.5
"""
The same where what is stored was transposed. On that Zen 4 transposes of 16 to 48 MiB take 0.6 to 0.72 of the
time, of 128 MiB 0.33.
"""

LONG_ROW_NBYTES = 1 << 16
"""
Rows of so many bytes need not be whole lines. On that Zen 4 adding a row to 40 MiB of f64 takes 0.56 to 0.88
of the time where rows are 128 bytes to 16 KiB of whole lines; of 160, 288 and 800 bytes it took 18, 9 and 4
times as long, of 4000 bytes 1.2, of 32 KiB and more it makes no difference.
"""

# By design: rows that are long have a thousandth of their elements there.
END_SHARE = 100
"""What stores less than such a part of a buffer is what is left over at the ends of rows."""

_Access = memref.LoadOp | memref.StoreOp | vector.LoadOp | vector.StoreOp


@dataclass(frozen=True)
class StreamStoresPass(ModulePass):
    """Lets results that no cache can hold go to memory past the caches."""

    name = "stream-stores"
    l3_nbytes: int = L3_NBYTES

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "l3_nbytes")
        for kernel in op.ops:
            if not isinstance(kernel, low.KernelOp) or any(extent != 1 for extent in kernel.block_dims.data):
                continue
            if all(isinstance(extent, int) for extent in kernel.grid.data):
                self._visit(kernel)

    def _visit(self, kernel: low.KernelOp) -> None:
        if sum(known_nbytes(each.type) for each in kernel.body.block.args) < BEYOND_TURNED * self.l3_nbytes:
            return
        touched: defaultdict[SSAValue, int] = defaultdict(int)
        stores: dict[vector.StoreOp, int] = {}
        loaded: set[SSAValue] = set()
        for op in kernel.walk():
            if not isinstance(op, _Access):
                # Tiles add to what they store.
                loaded.update(value for value in op.operands if isa(value.type, MemRefType))
                continue
            buffer, moved = _buffer_of(op), _moved_nbytes(op, kernel)
            touched[buffer] += moved
            if isinstance(op, memref.LoadOp | vector.LoadOp):
                loaded.add(buffer)
            elif isinstance(op, vector.StoreOp) and moved:
                stores[op] = moved
        nbytes = sum(min(moved, known_nbytes(buffer.type)) for buffer, moved in touched.items())
        analysis = IndexAnalysis()
        in_parts = {
            store.base
            for store, moved in stores.items()
            if moved * END_SHARE >= touched[store.base] and not _has_whole_lines(store, analysis)
        }
        for store in stores:
            beyond = BEYOND_TURNED if _is_turned(store) else BEYOND
            if (
                nbytes >= beyond * self.l3_nbytes
                and isinstance(store.base, BlockArgument)
                and store.base not in loaded
                and _is_moved_by_all(store, kernel)
                and store.base not in in_parts
            ):
                store.properties["nontemporal"] = BoolAttr.from_bool(True)


def _buffer_of(op: _Access) -> SSAValue:
    return op.memref if isinstance(op, memref.LoadOp | memref.StoreOp) else op.base


def _loops_around(op: Operation, kernel: low.KernelOp) -> Iterator[Operation]:
    """Yields the ops that an op stands in, up to the kernel."""
    around = op.parent_op()
    while around is not None and around is not kernel:
        yield around
        around = around.parent_op()


def _moved_nbytes(op: _Access, kernel: low.KernelOp) -> int:
    """Returns the bytes that all runs of an access move; 0 where how often it runs is not known."""
    times = prod(extent for extent in kernel.grid.data if isinstance(extent, int))
    for around in _loops_around(op, kernel):
        if not isinstance(around, scf.ForOp):
            return 0
        first, end, step = map(constant_integer, (around.lb, around.ub, around.step))
        if first is None or end is None or step is None:
            return 0
        times *= max(-(-(end - first) // step), 0)
    type = op.results[0].type if op.results else op.operands[0].type
    return times * (lanes_of(type) or 1) * NBYTES[element_type_of(type)]


def _is_turned(store: vector.StoreOp) -> bool:
    """Returns whether the vector is made, in its block, of what was transposed."""
    return any(isinstance(value.owner, low.TransposeOp) for value in _behind([store.vector], store.parent))


def _is_moved_by_all(store: vector.StoreOp, kernel: low.KernelOp) -> bool:
    """Returns whether the place of a store depends on all work-groups and loops around."""
    seen = _behind(store.indices)
    loops = [around for around in _loops_around(store, kernel) if isinstance(around, scf.ForOp)]
    axes = {op.dimension.data for value in seen if isinstance(op := value.owner, low.BlockIdOp)}
    return all(loop.body.block.args[0] in seen for loop in loops) and all(
        kernel.grid.data[dimension.number] == 1 or dimension in axes for dimension in low.Dimension
    )


def _has_whole_lines(store: vector.StoreOp, analysis: IndexAnalysis) -> bool:
    """Returns whether the rows that a store, and the loops around it, go over begin at lines or are long."""
    index = analysis.expr(store.indices[0])
    assert isinstance(index.constant, int), "extents of the kernel are numbers"
    nbytes, lanes = NBYTES[element_type_of(store.vector.type)], lanes_of(store.vector.type) or 1
    # Vectors of half a line come one after the other.
    if index.constant * nbytes % min(lanes * nbytes, LINE_NBYTES):
        return False
    inner = store.parent_op()
    for atom, factor in index.terms.items():
        assert isinstance(factor, int), "extents of the kernel are numbers"
        step = 1
        if isinstance(atom, Opaque) and isinstance(atom.value, BlockArgument):
            loop = atom.value.block.parent_op()
            assert isinstance(loop, scf.ForOp), "no argument of the kernel is an index"
            if loop is inner and factor == 1:
                continue
            step = constant_integer(loop.step) or 1
        apart = factor * step * nbytes
        if apart % LINE_NBYTES and abs(apart) < LONG_ROW_NBYTES:
            return False
    return True


def _behind(values: Sequence[SSAValue], block: Block | None = None) -> set[SSAValue]:
    """Returns values and all that they are computed of, by ops of one block if that is given."""
    seen: set[SSAValue] = set()
    left = list(values)
    while left:
        value = left.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(op := value.owner, Operation) and block in (None, op.parent):
            left += op.operands
    return seen
