"""How the elements of an op's operands are indexed, given the index of an element of its result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ...dialects import graph
from ...dialects.dims.attributes import DimsAttr
from ...dialects.dims.expressions import (
    DimExpr,
    DimSymbol,
    Extent,
    Quotient,
    Remainder,
    bounded,
    greatest,
    is_at_least,
    lower_bound,
    parts_of,
    row_major,
    symbols_of,
    terms_of,
    without_ones,
)
from ...dialects.element_types import element_type_of
from ...dialects.graph import PadMode
from .expressions import ZERO, IndexExpr, constant, delinearize, element, linearize

Indices = tuple[IndexExpr, ...]


def shape_of(value: SSAValue, who: str) -> tuple[Extent, ...]:
    """
    Returns the shape of a tensor value; named dims have their bounds in it.

    Raises PassFailedException, naming `who`, where an extent has no name or its dim is not declared.
    """
    type = value.type
    assert isinstance(type, TensorType), f"{type} is no tensor"
    type = cast(TensorType, type)
    if isinstance(type.encoding, DimsAttr):
        return _bounded_shape(type, tuple(planned_dims(value.owner).values()), who)
    shape = type.get_shape()
    for dim, extent in enumerate(shape):
        if extent < 0:
            raise _nameless(who, type, dim)
    return shape


def _nameless(who: str, type: Attribute, dim: int) -> PassFailedException:
    return PassFailedException(
        f"{who}: cannot schedule {type} (dim {dim} is dynamic and has no name; hint: "
        "graph.dim @n min 1 max 64, and tensor<?xf32, #graph.dims<n>>)"
    )


@lru_cache(4096)
def _bounded_shape(type: TensorType, declared: tuple[DimSymbol, ...], who: str) -> tuple[Extent, ...]:
    assert isinstance(type.encoding, DimsAttr)
    shape = type.encoding.data
    if DYNAMIC_INDEX in shape:
        raise _nameless(who, type, shape.index(DYNAMIC_INDEX))
    dims = {dim.name: dim for dim in declared}
    for name in symbols_of(shape):
        if name not in dims:
            raise PassFailedException(
                f"{who}: dim {name} of {type} is not declared (hint: graph.dim @{name} min 1 max 64)"
            )
    known = tuple(bounded(extent, dims) for extent in shape)
    _check_quotients(known, who)
    return known


def _check_quotients(extents: Iterable[Extent], who: str) -> None:
    """Refuses quotients and remainders of what may be negative: kernels compute them without signs."""
    for extent in extents:
        for monomial, _ in terms_of(extent):
            for atom in monomial:
                if isinstance(atom, DimSymbol):
                    continue
                if isinstance(atom, Quotient | Remainder) and lower_bound(atom.operand) < 0:
                    raise PassFailedException(
                        f"{who}: cannot schedule an extent {extent} ({atom.operand} may be negative, "
                        f"down to {lower_bound(atom.operand)})"
                    )
                _check_quotients(parts_of(atom), who)


def dims_in(ops: Iterable[Operation]) -> tuple[str, ...]:
    """Returns the named dims that the shapes of the operands and results of some ops are written with."""
    found: set[str] = set()
    for op in ops:
        for value in (*op.operands, *op.results):
            type = value.type
            if isinstance(type, TensorType) and isinstance(type.encoding, DimsAttr):
                found.update(symbols_of(type.encoding.data))
    return tuple(sorted(found))


def with_bounds(extents: tuple[Extent, ...], op: Operation) -> tuple[Extent, ...]:
    """Returns extents that an op is written with; named dims have their bounds in them."""
    if not any(isinstance(extent, DimExpr) for extent in extents):
        return extents
    dims = planned_dims(op)
    known = tuple(bounded(extent, dims) for extent in extents)
    _check_quotients(known, op.name)
    return known


def planned_dims(owner: Operation | Block) -> dict[str, DimSymbol]:
    """
    Returns the dims that the module around declares, as kernels are made for them: with values from 1 up. A
    program in which a dim is 0 is one of its own.
    """
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    dims = {} if op is None else graph.dims_around(op)
    return {name: _planned(dim) for name, dim in dims.items()}


@lru_cache(1024)
def _planned(dim: DimSymbol) -> DimSymbol:
    return DimSymbol(dim.name, max(dim.minimum, 1), max(dim.maximum, 1))


def operand_indices(op: Operation, indices: Indices) -> list[Indices]:
    """
    Returns, for every operand of an elementwise or movement op, the index of the element that the result's
    element at `indices` is made from. An index that may lie outside of its operand, of a pad, is clamped into
    it; whether the element counts is for `kernel_emission` to decide. The operands have elements. A concat is
    not for this function, as not all of its operands need be read: see `joined_at`; nor is what reads several
    elements of one: see `summed_at`.
    """
    match op:
        case graph.BroadcastOp():
            shape = shape_of(op.source, op.name)
            tail = indices[len(indices) - len(shape) :]
            return [tuple(ZERO if extent == 1 else i for extent, i in zip(shape, tail, strict=True))]
        case graph.ReshapeOp():
            source, result = shape_of(op.source, op.name), shape_of(op.result, op.name)
            if without_ones(source) == without_ones(result):
                rest = iter([i for extent, i in zip(result, indices, strict=True) if extent != 1])
                return [tuple(ZERO if extent == 1 else next(rest) for extent in source)]
            return [delinearize(linearize(indices, row_major(result)), source)]
        case graph.PermuteOp():
            moved: list[IndexExpr] = [ZERO] * len(indices)
            for to, dim in enumerate(op.permutation.data):
                moved[dim] = indices[to]
            return [tuple(moved)]
        case graph.SliceOp():
            offsets = with_bounds(op.offsets.data, op)
            steps = zip(indices, offsets, op.strides.data, strict=True)
            return [tuple(i * stride + offset for i, offset, stride in steps)]
        case graph.FlipOp():
            shape = shape_of(op.source, op.name)
            return [
                tuple(
                    constant(shape[dim] - 1) - i if dim in op.axes.data else i
                    for dim, i in enumerate(indices)
                )
            ]
        case graph.PadOp():
            shape = shape_of(op.source, op.name)
            spans = zip(indices, op.low.data, shape, op.steps, strict=True)
            return [
                tuple((i + -low).clamp((n - 1) * step).floordiv(step) for i, low, n, step in spans),
                (),
            ]
        case graph.PadWithOp():
            shape, mode = shape_of(op.source, op.name), op.mode.data
            inside = zip(indices, op.low.data, shape, strict=True)
            return [tuple(padded_index(mode, i + -low, extent) for i, low, extent in inside)]
        case graph.GatherOp():
            shape, axes = shape_of(op.source, op.name), op.axes.data
            count = len(indices) - (len(shape) - len(axes))
            at, rest = indices[:count], iter(indices[count:])
            picked = {
                axis: _picked(index, at, shape[axis] - 1)
                for axis, index in zip(axes, op.indices, strict=True)
            }
            source = tuple(picked[axis] if axis in picked else next(rest) for axis in range(len(shape)))
            return [source, *[at] * len(axes)]
        case graph.DynamicSliceOp():
            starts = box_starts(shape_of(op.source, op.name), op.starts, op.sizes.data)
            return [
                tuple(start + i for start, i in zip(starts, indices, strict=True)),
                *[()] * len(starts),
            ]
        case _:
            return [indices] * len(op.operands)


def joined_at(op: graph.ConcatOp, indices: Indices) -> list[tuple[Extent, SSAValue, Indices]]:
    """
    Returns which inputs the result's element at `indices` may be from: where each begins along the axis, the
    input, and the index of its element, clamped into it.
    """
    axis = op.axis.data
    offset: Extent = 0
    index = indices[axis]
    found: list[tuple[Extent, SSAValue, Indices]] = []
    for operand in op.inputs:
        extent = shape_of(operand, op.name)[axis]
        if is_at_least(offset - 1, index.high):
            break
        if extent != 0 and not is_at_least(index.low, offset + extent):
            inside = (index + offset * -1).clamp(extent - 1)
            found.append((offset, operand, (*indices[:axis], inside, *indices[axis + 1 :])))
        offset += extent
    return found


def summed_at(op: graph.WinogradTransformOp, indices: Indices) -> tuple[IndexExpr, dict[int, list[Indices]]]:
    """
    Returns which sum of its tile the result's element at `indices` is, and for each sum that it may be, by
    its number, the index of each element of the source that this is of, in their order.
    """
    axis = op.axis.data
    which, *rest = indices
    if isinstance(op, graph.WinogradOutputTransformOp):
        which = indices[axis].mod(len(op.SUMS))
        rest = [*indices[:axis], indices[axis].floordiv(len(op.SUMS)), *indices[axis + 1 :]]

    def place(number: int) -> Indices:
        match op:
            case graph.WinogradInputTransformOp():
                return (*rest[:axis], rest[axis] * 2 + number, *rest[axis + 1 :])
            case graph.WinogradFilterTransformOp():
                return (*rest[:axis], constant(number), *rest[axis:])
            case _:
                return (constant(number), *rest)

    return which, {
        number: [place(each) for each, _ in terms]
        for number, terms in enumerate(op.SUMS)
        if not which.is_constant or which == constant(number)
    }


def _picked(index: SSAValue, at: Indices, last: Extent) -> IndexExpr:
    """Returns an element of an index tensor as an index, held between 0 and `last`."""
    if is_plain_iota(index):
        assert isinstance(index.owner, graph.IotaOp)
        return at[index.owner.axis.data].clamp(last)
    return element(index, at, last)


def is_plain_iota(value: SSAValue) -> bool:
    """Returns whether a value is an iota that cannot wrap, so that it is an index as it is."""
    return isinstance(value.owner, graph.IotaOp) and element_type_of(value.type) == i64


def box_starts(shape: Sequence[Extent], starts: Sequence[SSAValue], sizes: Sequence[Extent]) -> Indices:
    """
    Returns where a box of `sizes` in an array of `shape` begins, moved so that it fits. Raises
    PassFailedException where the box may be larger than the array.
    """
    for axis, (extent, size) in enumerate(zip(shape, sizes, strict=True)):
        if not is_at_least(extent, size):
            raise PassFailedException(
                f"graph.dynamic_slice: axis {axis} of {extent} may have less than {size} elements"
            )
    return tuple(
        _box_start(start, extent - size) for extent, start, size in zip(shape, starts, sizes, strict=True)
    )


def _box_start(start: SSAValue, last: Extent) -> IndexExpr:
    """Returns where a box begins along an axis; a constant one is the same expression as that of a slice."""
    owner = start.owner
    if isinstance(owner, graph.ConstantOp) and isinstance(last, int):
        (number,) = owner.value.iter_attrs()
        assert isinstance(number, IntegerAttr), f"{owner.name}: an index that is no integer"
        return constant(min(max(number.value.data, 0), last))
    return element(start, (), last)


def padded_index(mode: PadMode, index: IndexExpr, extent: Extent) -> IndexExpr:
    """Returns the index, of `extent`, of the element that `mode` puts at `index`, which may be outside."""
    last = extent - 1
    if mode is PadMode.EDGE or last == 0:
        return index.clamp(last)
    if index.is_within(extent):
        return index
    period = {PadMode.WRAP: extent, PadMode.SYMMETRIC: extent * 2}.get(mode, greatest(last * 2, 1))
    before = greatest(index.low * -1, 0)
    # So many periods bring the least index to 0 or more; of a period that varies one element is enough.
    periods = -(-before // period) if isinstance(period, int) else before
    place = (index + periods * period).mod(period)
    if mode is PadMode.WRAP:
        return place
    # What is beyond the last element comes back as far as it has gone.
    if mode is PadMode.REFLECT:
        back = (place + last * -1).clamp(last - 1) * 2
    else:
        back = (place + last * -1).clamp(extent) + (place + extent * -1).clamp(last)
    return (place - back).clamp(last)
