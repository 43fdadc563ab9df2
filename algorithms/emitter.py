"""Writes `graph` ops at the end of a block, with the location of what they are written for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseIntOrFPElementsAttr,
    IntegerType,
    LocationAttr,
    Signedness,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import graph
from ..dialects.dims.expressions import Extent
from ..dialects.element_types import is_float
from ..dialects.graph import tensor_of
from ..dialects.graph.types import is_symbolic, shape_of, tensor_type_of

_OF_A_GRID = graph.CollectiveOp | graph.AxisIndexOp | graph.ManualComputationOp


class Emitter:
    """Owns the block that ops are put into. What an op names wrongly is its own `VerifyException`."""

    def __init__(self, block: Block, who: str) -> None:
        self.block = block
        self.location: LocationAttr = UNKNOWN_LOC
        self.who = who
        """What is being written, for messages."""
        self.unverified: list[tuple[str, Operation]] = []
        """
        Ops over named dims, whose bounds are known only where the block stands in the module, and ops that
        name its grid.
        """

    def put(self, op: Operation) -> Operation:
        """Puts an op at the end of the block, and verifies it."""
        op.location = self.location
        if isinstance(op, _OF_A_GRID) or any(
            isinstance(value.type, TensorType) and is_symbolic(self.type(value)) for value in op.operands
        ):
            self.unverified.append((self.who, op))
        else:
            op.verify_()
        self.block.add_op(op)
        return op

    def add(self, op: Operation) -> SSAValue:
        """Puts an op with one result at the end of the block, and returns that."""
        return self.put(op).results[0]

    def type(self, value: SSAValue) -> TensorType[Any]:
        return tensor_type_of(value, self.who)

    def shape(self, value: SSAValue) -> tuple[Extent, ...]:
        return shape_of(self.type(value))

    def element(self, value: SSAValue) -> Attribute:
        return self.type(value).element_type

    def static_shape(self, value: SSAValue) -> tuple[int, ...]:
        """Returns the extents of a value, which must be numbers here."""
        return self.static(self.shape(value), "the shape")

    def static(self, shape: Sequence[Extent], what: str) -> tuple[int, ...]:
        """Returns extents that must be numbers here."""
        found = tuple(extent for extent in shape if isinstance(extent, int) and extent >= 0)
        if len(found) != len(shape):
            raise self.unsupported(f"{what} is known at run time only")
        return found

    def unsupported(self, why: str) -> Unsupported:
        """Returns the error for what has no conversion."""
        return Unsupported(self.who, why)

    def constant(self, values: Sequence[int | float], element: Attribute, shape: Sequence[int]) -> SSAValue:
        type = tensor_of(element, tuple(shape))
        return self.add(graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, list(values))))

    def scalar(self, value: int | float, element: Attribute) -> SSAValue:
        if not is_float(element):
            if not math.isfinite(value) or value != int(value):
                raise VerifyException(f"{self.who}: elements are {element}, expected floats")
            value = int(value)
        else:
            value = float(value)
        if is_unsigned(element):
            value = int(value) & ((1 << width_of(element)) - 1)
        return self.constant((value,), element, ())

    def full(self, value: int | float, element: Attribute, shape: Sequence[Extent]) -> SSAValue:
        """Returns `value` at each element of a shape."""
        return self.broadcast(self.scalar(value, element), shape)

    def like(self, value: int | float, x: SSAValue) -> SSAValue:
        """Returns `value` for each element of `x`."""
        return self.full(value, self.element(x), self.shape(x))

    def broadcast(self, x: SSAValue, shape: Sequence[Extent]) -> SSAValue:
        extents, outer = self.shape(x), len(shape) - len(self.shape(x))
        if extents == tuple(shape):
            return x
        if extents == tuple(shape[outer:]) and all(extent == 1 for extent in shape[:outer]):
            # Nothing is repeated: products see through a reshape to the order that their result is read in.
            return self.reshape(x, shape)
        return self.add(graph.BroadcastOp(x, tensor_of(self.element(x), tuple(shape))))

    def along(self, x: SSAValue, dims: Sequence[int], shape: Sequence[Extent]) -> SSAValue:
        """Returns `x` repeated to `shape`, where its dim k is dim `dims[k]`."""
        if len(dims) != len(self.shape(x)):
            raise VerifyException(f"{self.who}: {self.type(x)} is not of {len(dims)} dims")
        order = sorted(range(len(dims)), key=lambda k: dims[k])
        if order != list(range(len(dims))):
            x = self.permute(x, order)
        extents = dict(zip((dims[k] for k in order), self.shape(x), strict=True))
        first = min(extents, default=len(shape))
        return self.broadcast(self.reshape(x, [extents.get(k, 1) for k in range(first, len(shape))]), shape)

    def reshape(self, x: SSAValue, shape: Sequence[Extent]) -> SSAValue:
        if self.shape(x) == tuple(shape):
            return x
        return self.add(graph.ReshapeOp(x, tensor_of(self.element(x), tuple(shape))))

    def permute(self, x: SSAValue, permutation: Sequence[int]) -> SSAValue:
        if list(permutation) == list(range(len(self.shape(x)))):
            return x
        return self.add(graph.PermuteOp(x, permutation))

    def cast(self, x: SSAValue, element: Attribute) -> SSAValue:
        if self.element(x) == element:
            return x
        return self.add(graph.CastOp(x, tensor_of(element, self.shape(x))))

    def bitcast(self, x: SSAValue, element: Attribute) -> SSAValue:
        if self.element(x) == element:
            return x
        return self.add(graph.BitcastOp(x, tensor_of(element, self.shape(x))))

    def slice(
        self,
        x: SSAValue,
        offsets: Sequence[Extent],
        sizes: Sequence[Extent],
        strides: Sequence[int] | None = None,
    ) -> SSAValue:
        steps = (1,) * len(sizes) if strides is None else strides
        if tuple(sizes) == self.shape(x) and all(step == 1 for step in steps):
            return x
        return self.add(graph.SliceOp(x, offsets, sizes, steps))

    def part(self, x: SSAValue, axis: int, offset: Extent, size: Extent, stride: int = 1) -> SSAValue:
        """Returns `size` elements of one axis, and all of the others."""
        shape = self.shape(x)
        return self.slice(
            x,
            [offset if k == axis else 0 for k in range(len(shape))],
            [size if k == axis else extent for k, extent in enumerate(shape)],
            [stride if k == axis else 1 for k in range(len(shape))],
        )

    def concat(self, values: Sequence[SSAValue], axis: int) -> SSAValue:
        if len(values) == 1:
            return values[0]
        return self.add(graph.ConcatOp(values, axis))

    def iota(self, axis: int, element: Attribute, shape: Sequence[Extent]) -> SSAValue:
        return self.add(graph.IotaOp(axis, tensor_of(element, tuple(shape))))

    def unary(self, op: type[graph.UnaryOp] | type[graph.PredicateOp], x: SSAValue) -> SSAValue:
        return self.add(op(x))

    def binary(
        self, op: type[graph.BinaryOp] | type[graph.CompareOp], x: SSAValue, y: SSAValue | int | float
    ) -> SSAValue:
        """Returns what an op makes of two values, or of a value and a number."""
        return self.add(op(x, y if isinstance(y, SSAValue) else self.like(y, x)))

    def select(self, condition: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.add(graph.SelectOp(condition, x, y))

    def reduce(self, kind: graph.ReduceKind, x: SSAValue, axes: Sequence[int]) -> SSAValue:
        return self.add(graph.ReduceOp(kind, x, axes)) if axes else x

    def nested(
        self,
        write: Callable[[], list[SSAValue]],
        end: Callable[[list[SSAValue]], Operation],
        inner: Block | None = None,
    ) -> Region:
        """Returns a region of the ops that `write` puts, which ends as `end` says of what it returns."""
        around, location, who = self.block, self.location, self.who
        self.block = Block() if inner is None else inner
        try:
            results = write()
            self.location, self.who = location, who
            self.put(end(results))
            return Region(self.block)
        finally:
            self.block, self.location, self.who = around, location, who


def yield_of(values: list[SSAValue]) -> Operation:
    """Returns what ends a region."""
    return graph.YieldOp(values)


class Unsupported(Exception):
    """What has no conversion: the op, and why, if there is more to say."""

    def __init__(self, who: str, why: str = "") -> None:
        super().__init__(f"{who}: {why}")
        self.who, self.why = who, why


def with_sign(element: Attribute, signedness: Signedness) -> IntegerType:
    """Returns the integer type of the width of an element type with this sign."""
    return IntegerType(width_of(element), signedness)


def width_of(element: Attribute) -> int:
    """Returns the width of an element type in bits."""
    return cast(Any, element).bitwidth


def is_unsigned(element: Attribute) -> bool:
    """Returns whether an element type is of integers without a sign."""
    return isinstance(element, IntegerType) and cast(Any, element).signedness.data is Signedness.UNSIGNED


def is_bool(element: Attribute) -> bool:
    return element == i1
