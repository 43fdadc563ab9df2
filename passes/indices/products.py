"""
Sums of products: what the two sides are, where they lie, and how their addresses go along an axis.

    %s = sched.reduce fma %c = 64 : f32 {            Product: dims (%c, %t), sides
      %t = sched.reduce fma %k = 3 : f32 {             %x[%c * 100 + %i + %k]
        %v = memref.load %x[%c, %i + %k]               %w[%j * 192 + %c * 3 + %k]
        %w = memref.load %w[%j, %c, %k]
        sched.yield %v, %w : f32
      }
      sched.yield %t : f32
    }

Passes that schedule such sums, and those that lower them, see them here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, memref
from xdsl.ir import Operation, SSAValue

from ...dialects import sched
from ...dialects.buffer_size import size_of
from ...dialects.dims.expressions import Extent, upper_bound
from ...dialects.element_types import NBYTES, element_type_of
from ...dialects.low import Conversion, ConvertOp
from ...dialects.low.nibbles import nibble_of
from ...dialects.low.tile import SUM_TYPES, holds
from .analysis import IndexAnalysis
from .expressions import Axis, IndexExpr, Leaf, opaque, variable


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that a sum multiplies: what is loaded, maybe widened then, and where it lies."""

    load: memref.LoadOp
    address: IndexExpr
    is_of_nibbles: bool = False
    """Whether it is loaded as bytes, of which the innermost dim takes the lower and then the upper bits."""

    @property
    def nbytes(self) -> int:
        """Bytes of one element."""
        return NBYTES[element_type_of(self.load.memref.type)]

    @property
    def buffer_nbytes(self) -> int:
        """Bytes of the buffer that it is loaded from, at most."""
        return upper_bound(size_of(self.load.memref.type)) * self.nbytes

    def panel(self, axis: Axis, widths: Sequence[int]) -> int | None:
        """
        Returns which of the widths of panels is how many iterations of an axis go evenly before it goes on
        elsewhere: the widest one. None where all of them go evenly, or none does.
        """
        if self.stride(axis) is not None:
            return None
        return next(
            (width for width in sorted(widths, reverse=True) if self.stride(axis, width) is not None), None
        )

    def stride(self, axis: Axis, run: int | None = None) -> Extent | None:
        """
        Returns by how much the address grows along an axis, inside of `run` iterations where that is given;
        None where it does not grow evenly.
        """
        if run is None:
            return self.address.stride(axis)
        number, lane = Axis(1 << 31, axis.hint), Axis(run, axis.hint)

        def replacement(leaf: Leaf) -> IndexExpr:
            if leaf is axis:
                return variable(number) * run + variable(lane)
            if isinstance(leaf, Axis):
                return variable(leaf)
            # What is held for each iteration differs from lane to lane.
            along = tuple(
                part for each in leaf.along for part in ((number, lane) if each is axis else (each,))
            )
            return opaque(leaf.value, along)

        return self.address.substitute(replacement).stride(lane)


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products: its outermost reduction, all of them outermost first, and its two sides."""

    op: sched.ReduceOp
    dims: tuple[sched.ReduceOp, ...]
    sides: tuple[Side, Side]

    @property
    def nbytes(self) -> int:
        """Bytes of the wider of what is multiplied."""
        return max(side.nbytes for side in self.sides)

    @property
    def sum_nbytes(self) -> int:
        """Bytes of the sum."""
        return NBYTES[self.op.result.type]

    @property
    def tile_shape(self) -> sched.TileShapeAttr | None:
        """The tile that was chosen for it, if one was."""
        return next((dim.tile_shape for dim in self.dims if dim.tile_shape is not None), None)

    @property
    def panels(self) -> tuple[int, ...]:
        """The widths of the panels that its sides lie in."""
        return () if self.tile_shape is None else self.tile_shape.panels

    def is_linear(self, analysis: IndexAnalysis) -> bool:
        """Returns whether both sides go evenly along all dims, and no dim's count depends on another one."""
        axes = [analysis.axis(dim) for dim in self.dims]
        if any(side.stride(axis) is None for side in self.sides for axis in axes):
            return False
        return not self.counting_axes(analysis).intersection(axes)

    def counting_axes(self, analysis: IndexAnalysis) -> frozenset[Axis]:
        """Returns the axes that the counts of the dims depend on."""
        counts = [dim.count for dim in self.dims if dim.count is not None]
        return frozenset[Axis]().union(*(analysis.expr(count).axes() for count in counts))

    def depth(self, analysis: IndexAnalysis) -> int:
        """Returns how many products are added up, at most."""
        return prod(analysis.most(dim) for dim in self.dims)

    def column_side(self, axis: Axis, run: int | None) -> int | None:
        """Returns which side is contiguous along an axis, where the other one stays, and is of no nibbles."""
        strides = [side.stride(axis, run) for side in self.sides]
        if sorted(map(str, strides)) != ["0", "1"] or self.sides[strides.index(0)].is_of_nibbles:
            return None
        return strides.index(1)


def product_of(op: sched.ReduceOp, analysis: IndexAnalysis) -> Product | None:
    """
    Returns the sum of products that a reduction is: of two values that are loaded, over its own dim and those
    right inside of it, from 0 on, with nothing but their addresses beside.
    """
    dims = dims_of(op)
    if op.result.type not in SUM_TYPES or not op.kind.data.adds_products or op.init is not None:
        return None
    loads = [loaded(value) or loaded_nibble(value, dims, analysis) for value in dims[-1].yielded]
    for number, dim in enumerate(dims):
        inner = dims[min(number + 1, len(dims) - 1)]
        if any(each is not inner and _does_more(each) for each in dim.body.block.ops):
            return None
    lhs, rhs = loads
    if lhs is None or rhs is None:
        return None
    first, second = (
        Side(load, analysis.address(load), loaded(value) is None)
        for load, value in zip((lhs, rhs), dims[-1].yielded, strict=True)
    )
    return None if first.is_of_nibbles and second.is_of_nibbles else Product(op, dims, (first, second))


def products_in(axis: sched.AxisOp, analysis: IndexAnalysis) -> list[Product]:
    """Returns the sums of products right in an axis; none where there is another loop, or a local buffer."""
    found: list[Product] = []
    for op in axis.body.block.ops:
        if isinstance(op, sched.ReduceOp):
            product = product_of(op, analysis)
            if product is None:
                return []
            found.append(product)
        elif op.regions or isinstance(op, sched.AllocOp):
            return []
    return found


def dims_of(op: sched.ReduceOp) -> tuple[sched.ReduceOp, ...]:
    """Returns a reduction and those that go on with it right inside, outermost first."""
    dims = [op]
    while (inner := dims[-1].continued) is not None:
        dims.append(inner)
    return tuple(dims)


def loaded(value: SSAValue) -> memref.LoadOp | None:
    """Returns what loads a value, which may be converted then to a type that holds it exactly."""
    source = widened(value)
    return source.owner if isinstance(source.owner, memref.LoadOp) else None


def widened(value: SSAValue) -> SSAValue:
    """Returns what a value was before it was converted to a type that holds it exactly, if it was."""
    owner = value.owner
    if isinstance(owner, arith.ExtFOp):
        return owner.input
    if isinstance(owner, ConvertOp) and holds(value.type, owner.source.type):
        return owner.source
    return value


def loaded_nibble(
    value: SSAValue, dims: Sequence[sched.ReduceOp], analysis: IndexAnalysis
) -> memref.LoadOp | None:
    """
    Returns what loads the bytes that a value is four bits of, which may be converted then: the lower ones and
    then the upper ones along the innermost of several dims, of 2 steps, along which the bytes stay.
    """
    owner, source = value.owner, value
    if isinstance(owner, ConvertOp) and holds(value.type, owner.source.type):
        source = owner.source
    parts = nibble_of(source)
    if parts is None or len(dims) < 2 or dims[-1].count is not None or dims[-1].extent != 2:
        return None
    byte, number = parts
    load, axis = byte.owner, analysis.axis(dims[-1])
    if not isinstance(load, memref.LoadOp) or analysis.address(load).stride(axis) != 0:
        return None
    is_lower_first = isinstance(number.owner, arith.IndexCastOp) and analysis.expr(
        number.owner.input
    ) == variable(axis)
    return load if is_lower_first else None


def is_unsigned(value: SSAValue) -> bool:
    """Returns whether what loads a value loads integers that are read as unsigned."""
    owner = value.owner
    return isinstance(owner, ConvertOp) and owner.conversion.data in (Conversion.UITOFP, Conversion.EXTUI)


def forget_panels(around: Operation | None) -> None:
    """
    Drops the tile that was chosen for a sum, and those around it, where it loads no longer from what lies in
    the panels of that tile.
    """
    while isinstance(around, sched.ReduceOp):
        if around.tile_shape is not None and not around.reads_panels(around.tile_shape):
            around.tile_shape = None
        around = around.parent_op()


def _does_more(op: Operation) -> bool:
    return bool(op.regions) or isinstance(op, memref.StoreOp)
