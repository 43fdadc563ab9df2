"""Inserts the ops of a `low` kernel: scalars, vectors and loops, and where later code can still be put."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from xdsl.dialects import arith, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects import low
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import is_float, width_of
from ....dialects.low.rare import set_rare
from ...indices.expressions import IndexExpr
from ...scalar.builder import INDEX, ConstantPool, ScalarBuilder

NO_OVERFLOW: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
"""The properties of an integer op that wraps."""


Bounds = tuple[SSAValue, SSAValue, SSAValue]
"""Where a loop begins, where it ends, and its step."""

LoopBody = Callable[[SSAValue, Sequence[SSAValue]], list[SSAValue]]
"""Writes a loop's body, given the index and the carried values, and returns what it carries on."""


@cache
def vector_type(element_type: Attribute, lanes: int) -> VectorType[Any]:
    return VectorType(element_type, [lanes])


def constant_value(op: arith.ConstantOp) -> int | float:
    """Returns the number that a scalar constant is."""
    assert isinstance(op.value, IntegerAttr | FloatAttr), f"{op.name}: {op.value} is no number"
    return op.value.value.data


@dataclass(eq=False, slots=True)
class InsertionPoint:
    """A block being filled; code known to be invariant in what comes later is still inserted at its end."""

    builder: ScalarBuilder
    depth: int
    indices: dict[IndexExpr, SSAValue] = field(default_factory=dict)
    broadcasts: dict[tuple[SSAValue, int], SSAValue] = field(default_factory=dict)


class KernelWriter:
    """Fills the body of `op`, at the innermost insertion point."""

    __slots__ = ("block", "constants", "homes", "points", "top")

    def __init__(self, op: low.KernelOp):
        self.block = op.body.block
        self.constants = ConstantPool(self.block, op.location, op.sizes)
        self.top = InsertionPoint(ScalarBuilder(self.block, None, self.constants), 0)
        self.points: list[InsertionPoint] = [self.top]
        self.homes: dict[SSAValue, InsertionPoint] = {}
        """Where each value was computed; nothing for arguments and constants."""

    @property
    def point(self) -> InsertionPoint:
        return self.points[-1]

    def index_constants(self, first: Extent, second: Extent, third: int) -> Bounds:
        get = self.constants.get
        return get(first, INDEX), get(second, INDEX), get(third, INDEX)

    def insert(self, op: Operation, location: LocationAttr, hint: str | None = None) -> Operation:
        self.point.builder.location = location
        return self.point.builder.insert(op, hint)

    def insert_at_front(self, op: Operation, location: LocationAttr, hint: str | None) -> SSAValue:
        """Inserts an op with one result before all others of the kernel."""
        self.top.builder.location = op.location = location
        first = self.block.first_op
        if first is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, first)
        op.results[0].name_hint = hint
        return op.results[0]

    def alloca(self, type: MemRefType[Any], location: LocationAttr, hint: str | None) -> SSAValue:
        """Allocates memory at the front: inside of a loop it would grow the stack in each iteration."""
        op = low.AllocaOp(type)
        return self.insert_at_front(op, location, hint)

    def emit(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        location: LocationAttr,
        hint: str | None = None,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Inserts an op with one result."""
        op = op_type.create(operands=operands, result_types=(result_type,), properties=dict(properties or {}))
        value = self.insert(op, location, hint).results[0]
        self.homes[value] = self.point
        return value

    def as_vector(self, value: SSAValue, lanes: int) -> SSAValue:
        """Broadcasts a scalar, in the block that it was computed in; a vector is left as it is."""
        if isinstance(value.type, VectorType):
            return value
        home = self.homes.get(value, self.top)
        known = home.broadcasts.get((value, lanes))
        if known is None:
            known = home.broadcasts[value, lanes] = self._broadcast(value, lanes, home)
            self.homes[known] = home
        return known

    def _broadcast(self, value: SSAValue, lanes: int, home: InsertionPoint) -> SSAValue:
        if isinstance(value.owner, arith.ConstantOp):
            return self.dense((constant_value(value.owner),), value.type, lanes, value.name_hint)
        op = vector.BroadcastOp.create(operands=(value,), result_types=(vector_type(value.type, lanes),))
        return home.builder.insert(op, value.name_hint).results[0]

    def dense(
        self, numbers: Sequence[int | float], element_type: Attribute, lanes: int, hint: str | None
    ) -> SSAValue:
        """Returns a constant vector of `numbers`, or of one number in all lanes; integers wrap."""
        if not is_float(element_type):
            half = 1 << (width_of(element_type) - 1)
            numbers = [(int(number) + half) % (2 * half) - half for number in numbers]
        dense = DenseIntOrFPElementsAttr.from_list(vector_type(element_type, lanes), numbers)
        return self.constants.dense(dense, hint)

    def number(self, number: int | float, type: Attribute, lanes: int) -> SSAValue:
        """Returns a constant, in all lanes if there are several; integers wrap."""
        if lanes > 1:
            return self.dense([number], type, lanes, "start")
        if not is_float(type):
            half = 1 << (width_of(type) - 1)
            number = (int(number) + half) % (2 * half) - half
        return self.constants.get(number, type)

    def loop(
        self,
        bounds: Bounds,
        carried: Sequence[SSAValue],
        body: LoopBody,
        location: LocationAttr,
        hint: str | None,
        carried_hint: str | None = None,
        is_rare: bool = False,
    ) -> list[SSAValue]:
        """
        Inserts an `scf.for` and returns its results; `carried` is what it begins with. The hints name the
        index and the carried values; `is_rare` says that it hardly ever runs.
        """
        block = Block(arg_types=[INDEX, *(value.type for value in carried)])
        loop = scf.ForOp.create(
            operands=(*bounds, *carried),
            result_types=[value.type for value in carried],
            regions=[Region(block)],
        )
        if is_rare:
            set_rare(loop)
        point = self.point
        with self.open(loop, location):
            self.fill(block, lambda arguments: body(arguments[0], arguments[1:]), location)
        for argument in block.args[1:]:
            argument.name_hint = carried_hint or argument.name_hint
        block.args[0].name_hint = hint
        for result in loop.results:
            result.name_hint = carried_hint
            self.homes[result] = point
        return list(loop.results)

    @contextmanager
    def open(self, op: Operation, location: LocationAttr) -> Generator[None, None, None]:
        """Inserts an op with regions, which are filled meanwhile; what they find invariant goes before it."""
        self.insert(op, location)
        builder = self.point.builder
        anchor, builder.anchor = builder.anchor, op
        yield
        builder.anchor = anchor

    def fill(
        self,
        block: Block,
        body: Callable[[Sequence[SSAValue]], list[SSAValue]],
        location: LocationAttr,
        terminator: type[Operation] = scf.YieldOp,
    ) -> None:
        """Writes a block of the innermost op; `body` is given its arguments and returns what it yields."""
        inner = InsertionPoint(ScalarBuilder(block, None, self.constants), self.point.depth + 1)
        self.points.append(inner)
        for argument in block.args:
            argument.location = location
            self.homes.setdefault(argument, inner)
        self.insert(terminator.create(operands=body(block.args)), location)
        self.points.pop()
