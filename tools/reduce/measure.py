"""How large a module is. A search that only accepts smaller ones comes to an end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, ModuleOp, TensorType, VectorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import IsTerminator

from ...dialects import graph, low, sched
from ...dialects.element_types import element_type_of

_CONSTANTS = (graph.ConstantOp, arith.ConstantOp)

_SHAPED = (TensorType, MemRefType, VectorType)

_USUAL = {name: rank for rank, name in enumerate(("f32", "i32", "index", "i1", "i64", "f64"))}
"""Element types, simplest first; the others come after them."""

_UNKNOWN = 4096
"""What an extent counts for that is known at run time only: more than numbers that it may be replaced by."""


@dataclass(frozen=True, order=True)
class Measure:
    """
    How large a module is; of two modules the one that has less of the first part in which they differ is
    smaller: ops with regions, ops that compute, extents of all kinds added up, ops, values that go into and
    out of regions, element types (simple ones count less), the length of the text, and the text.
    """

    nested: int
    computing: int
    extents: int
    ops: int
    passed: int
    types: int
    length: int
    text: str

    @staticmethod
    def of(module: ModuleOp, text: str) -> Measure:
        """Returns the measure of a module whose text is `text`."""
        nested = computing = extents = ops = passed = types = 0
        for op in module.walk():
            ops += 1
            nested += bool(op.regions)
            computing += not isinstance(op, _CONSTANTS)
            extents += sum(_numbers_of(op))
            if op.has_trait(IsTerminator):
                passed += len(op.operands)
            for value in _values_of(op):
                extents += sum(_UNKNOWN if extent < 0 else extent for extent in _shape_of(value.type))
                types += _USUAL.get(str(element_type_of(value.type)), len(_USUAL))
            passed += sum(len(block.args) for region in op.regions for block in region.blocks)
        return Measure(nested, computing, extents, ops, passed, types, len(text), text)


def _values_of(op: Operation) -> Iterator[SSAValue]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield from block.args


def _shape_of(type: Attribute) -> tuple[int, ...]:
    return type.get_shape() if isinstance(type, _SHAPED) else ()


def _numbers_of(op: Operation) -> Iterator[int]:
    """Yields the numbers of an op that say how much it does."""
    match op:
        case sched.AxisOp() | sched.ReduceOp():
            extents = (op.extent,)
        case sched.ForOp() | graph.ScanOp():
            extents = (op.trip_count,)
        case low.KernelOp():
            extents = (*op.grid.data, *op.block_dims.data)
        case arith.ConstantOp(value=IntegerAttr() as number) if isinstance(number.type, IndexType):
            extents = (abs(number.value.data),)
        case _:
            extents = ()
    for extent in extents:
        if isinstance(extent, int):
            yield extent
