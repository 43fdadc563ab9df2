"""Ops that combine many elements into one: reduce, contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import DYNAMIC_INDEX, AffineMapAttr, ArrayAttr, TensorType, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineMap
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ..dims.expressions import DimSymbol, Extent, bounded, is_at_least, where_positive
from ..element_types import NBYTES, compute_type
from .attributes import (
    Combination,
    CombinationAttr,
    ExtentsAttr,
    IntsAttr,
    ReduceKind,
    ReduceKindAttr,
)
from .base import GraphOp, check_fastmath, check_result, fastmath_properties
from .dim import dims_around
from .index_map import LinearIndex, linear_index
from .tile import TileAttr, verify_tile
from .types import (
    BITS,
    NUMBERS,
    TENSOR,
    are_equal_extents,
    check_axes,
    shape_of,
    shape_text,
    tensor_of,
    tensor_type_of,
)

__all__ = ["ContractOp", "ReduceOp", "iteration_extents", "reduced_type"]

_KEEP = UnitAttr()

_LEAST_SUM_NBYTES = 4
"""Bytes of the narrowest type that a register tile adds up in."""

REDUCE_ELEMENTS = {kind: BITS if kind in (ReduceKind.AND, ReduceKind.OR) else NUMBERS for kind in ReduceKind}
"""The element types that each kind of reduction takes."""


def reduced_type(
    source: TensorType[Any], axes: IntsAttr, keep: bool, who: str = "graph.reduce"
) -> TensorType[Any]:
    """
    Returns the type of `source` without the dims `axes`, or with extents of 1 there if `keep`.

    Raises `VerifyException`, naming `who`, unless `axes` are axes of `source`, each at most once.
    """
    check_axes(who, axes.data, source)
    reduced = axes.data
    shape = [1 if axis in reduced else extent for axis, extent in enumerate(shape_of(source))]
    if not keep:
        shape = [extent for axis, extent in enumerate(shape) if axis not in reduced]
    return tensor_of(source.element_type, tuple(shape))


@irdl_op_definition
class ReduceOp(GraphOp):
    """
    Combines all elements along `axes`, in an order that is not part of the program. The reduced dims go, or
    stay with an extent of 1 under `keep`. The result is the identity of `kind` for no elements, and the
    source for no axes. A sum of floats starts from 0.0, whatever there is to add: of -0.0 alone it is 0.0.
    NaN wins in max and min.

    ```mlir
    %s = graph.reduce add %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
    ```
    """

    name = "graph.reduce"
    IS_HEAVY: ClassVar = True
    kind = prop_def(ReduceKindAttr)
    source = operand_def(TENSOR)
    axes = prop_def(IntsAttr)
    keep = opt_prop_def(UnitAttr)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(TENSOR)
    assembly_format = (
        "$kind $source `axes` $axes (`keep` $keep^)? (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        kind: ReduceKind | ReduceKindAttr,
        source: SSAValue,
        axes: Sequence[int] | IntsAttr,
        keep: bool = False,
        fastmath: FastMathFlagsAttr | None = None,
    ):
        axes = IntsAttr.of(axes)
        properties: dict[str, Attribute] = {
            "kind": kind if isinstance(kind, ReduceKindAttr) else ReduceKindAttr(kind),
            "axes": axes,
            **fastmath_properties(fastmath),
        }
        if keep:
            properties["keep"] = _KEEP
        result_type = reduced_type(tensor_type_of(source, self.name), axes, keep)
        Operation.__init__(self, operands=(source,), result_types=(result_type,), properties=properties)

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        REDUCE_ELEMENTS[self.kind.data].check(f"{self.name} {self.kind.data.value}", source)
        check_fastmath(self, source)
        keep = self.keep is not None
        why = f"{source} {'with 1 for' if keep else 'without'} axes {list(self.axes.data)}"
        check_result(self, reduced_type(source, self.axes, keep), why)


_ADD = ReduceKindAttr(ReduceKind.ADD)
_MUL = CombinationAttr(Combination.MUL)
_BITWISE = (Combination.AND, Combination.OR, Combination.XOR)


@irdl_op_definition
class ContractOp(GraphOp):
    """
    Combines one element of each operand at every point of an iteration space, and accumulates what has the
    same index in the result. `maps` say, for each operand and then the result, at which index a point reads
    or accumulates: an index of an operand is a sum of iteration dims with constant factors, those of the
    result are distinct dims. `bounds` are the extents of all dims; they may be left out where each dim is
    an index by itself somewhere. No index may lie outside of its operand: `graph.pad` comes before.

    The operands are cast to the element type of the result first. `accumulate` is the kind of a reduction,
    `add` unless told otherwise, and starts from its identity, sums of floats from 0.0; `combine` is `mul`
    unless told otherwise. One operand alone is not combined: a reduction of windows. Types narrower than f32
    are computed in f32 and rounded once; integers wrap; NaN wins in max and min.

    `tile` is the register tile that a sum of products, in floats or in integers of 32 or 64 bits, is to run
    in, which changes no result: the dims that are its rows, if they are chosen, and its columns, how many it
    has of each, and whether an operand lies `in panels` of as many. These are the last index of their
    operand.

    ```mlir
    %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
    %y = graph.contract %x maps [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (i)>] bounds [4, 3]
        accumulate max : tensor<9xf32> -> tensor<4xf32>
    %t = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>] tile [d0 = 2, d1 = 2 in panels]
        : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
    ```
    """

    name = "graph.contract"
    IS_HEAVY: ClassVar = True
    inputs = var_operand_def(TENSOR)
    maps = prop_def(ArrayAttr[AffineMapAttr])
    bounds = opt_prop_def(ExtentsAttr)
    accumulate = prop_def(ReduceKindAttr, default_value=_ADD)
    combine = prop_def(CombinationAttr, default_value=_MUL)
    tile = opt_prop_def(TileAttr)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(TENSOR)
    assembly_format = (
        "$inputs `maps` $maps (`bounds` $bounds^)? (`accumulate` $accumulate^)? (`combine` $combine^)? "
        "(`tile` $tile^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($inputs) `->` type($result)"
    )

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        maps: Sequence[AffineMap | AffineMapAttr] | ArrayAttr[AffineMapAttr],
        result_type: TensorType[Any],
        *,
        bounds: Sequence[Extent] | ExtentsAttr | None = None,
        accumulate: ReduceKind | ReduceKindAttr = _ADD,
        combine: Combination | CombinationAttr = _MUL,
        tile: TileAttr | None = None,
        fastmath: FastMathFlagsAttr | None = None,
    ):
        if not isinstance(maps, ArrayAttr):
            maps = ArrayAttr([AffineMapAttr(each) if isinstance(each, AffineMap) else each for each in maps])
        properties: dict[str, Attribute] = {
            "maps": maps,
            "accumulate": ReduceKindAttr(accumulate) if isinstance(accumulate, ReduceKind) else accumulate,
            "combine": CombinationAttr(combine) if isinstance(combine, Combination) else combine,
            **fastmath_properties(fastmath),
        }
        if bounds is not None:
            properties["bounds"] = ExtentsAttr.of(bounds)
        if tile is not None:
            properties["tile"] = tile
        Operation.__init__(self, operands=inputs, result_types=(result_type,), properties=properties)

    @property
    def operand_maps(self) -> tuple[AffineMap, ...]:
        return tuple(attribute.data for attribute in self.maps.data[:-1])

    @property
    def result_map(self) -> AffineMap:
        return self.maps.data[-1].data

    @property
    def result_dims(self) -> tuple[int, ...]:
        """The iteration dim of each axis of the result."""
        return tuple(expr.position for expr in self.result_map.results if isinstance(expr, AffineDimExpr))

    def verify_(self) -> None:
        result = tensor_type_of(self.result, self.name)
        self._check_elements(result)
        check_fastmath(self, result)
        count = len(self.inputs)
        if len(self.maps.data) != count + 1:
            names = ", ".join((*_NAMES[count], "result"))
            raise VerifyException(f"{self.name}: {len(self.maps.data)} maps, expected {count + 1} ({names})")
        num_dims = self.result_map.num_dims
        for what, value, map in self._indexed():
            self._check_map(what, map, num_dims, tensor_type_of(value, self.name))
        used = {
            dim
            for map in self.operand_maps
            for expr in map.results
            for dim, _ in LinearIndex.of(expr).factors
        }
        if len(used) != num_dims:
            missing = next(dim for dim in range(num_dims) if dim not in used)
            who = "neither lhs nor rhs" if count == 2 else "no operand"
            raise VerifyException(f"{self.name}: dim d{missing} indexes {who} (maps {self._maps_text()})")
        extents = self._checked_extents(num_dims)
        self._check_ranges(extents)
        if self.tile is not None:
            self._check_adds_products(result)
            verify_tile(self.name, self.tile, self.operand_maps, self.result_dims, extents)

    def _check_adds_products(self, result: TensorType[Any]) -> None:
        """Raises `VerifyException` unless the op adds products of two, in a type that tiles add up in."""
        kind, combine, count = self.accumulate.data, self.combine.data, len(self.inputs)
        is_sum = kind is ReduceKind.ADD and combine is Combination.MUL and count == 2
        if not is_sum or NBYTES[compute_type(result.element_type)] < _LEAST_SUM_NBYTES:
            raise VerifyException(
                f"{self.name}: a tile adds products of two in 32 or 64 bits, not {kind.value} of "
                f"{combine.value} of {count} operands for {result.element_type}"
            )

    def _check_elements(self, result: TensorType[Any]) -> None:
        count = len(self.inputs)
        if count not in _NAMES:
            raise VerifyException(f"{self.name}: {count} operands, expected 1 or 2")
        kind, combine = self.accumulate.data, self.combine.data
        REDUCE_ELEMENTS[kind].check(f"{self.name} accumulate {kind.value}", result)
        if count == 1 and combine is not Combination.MUL:
            raise VerifyException(f"{self.name}: cannot combine {combine.value} with one operand")
        if count == 2:
            elements = BITS if combine in _BITWISE else NUMBERS
            elements.check(f"{self.name} combine {combine.value}", result)

    def _indexed(self) -> list[tuple[str, SSAValue, AffineMap]]:
        """What each map indexes: its name in diagnostics, and the value."""
        names = (*_NAMES[len(self.inputs)], "result")
        maps = [attribute.data for attribute in self.maps.data]
        return list(zip(names, (*self.inputs, self.result), maps, strict=True))

    def _check_map(self, what: str, map: AffineMap, num_dims: int, type: TensorType[Any]) -> None:
        if map.num_dims != num_dims or map.num_symbols:
            raise VerifyException(
                f"{self.name}: map of {what} has {map.num_dims} dims and {map.num_symbols} symbols, "
                f"expected {num_dims} dims and 0 symbols ({map})"
            )
        if len(map.results) != type.get_num_dims():
            raise VerifyException(
                f"{self.name}: map of {what} has {len(map.results)} results for rank {type.get_num_dims()} "
                f"({map}, {type})"
            )
        indices = [linear_index(expr) for expr in map.results]
        if any(index is None for index in indices):
            raise VerifyException(
                f"{self.name}: map of {what} is not of sums of dims with constant factors ({map})"
            )
        if what == "result":
            dims = [index.plain_dim for index in indices if index is not None]
            if None in dims or len(set(dims)) != len(dims):
                raise VerifyException(f"{self.name}: map of {what} is not of distinct dims ({map})")

    def _checked_extents(self, num_dims: int) -> tuple[Extent, ...]:
        known: dict[int, tuple[Extent, _Place | None]] = {}
        if self.bounds is not None:
            bounds = self.bounds.data
            if len(bounds) != num_dims:
                raise VerifyException(
                    f"{self.name}: {len(bounds)} bounds for {num_dims} dims "
                    f"(bounds {list(bounds)}, maps {self._maps_text()})"
                )
            known = {dim: (extent, None) for dim, extent in enumerate(bounds)}
            for dim, extent in enumerate(bounds):
                if is_at_least(-1, extent):
                    raise VerifyException(f"{self.name}: bound of dim d{dim} is negative ({extent})")
        for what, value, map in self._indexed():
            type = tensor_type_of(value, self.name)
            for axis, (expr, extent) in enumerate(zip(map.results, shape_of(type), strict=True)):
                dim = LinearIndex.of(expr).plain_dim
                if dim is not None:
                    self._note_extent(known, dim, extent, (axis, what, type))
        for dim in range(num_dims):
            if dim not in known:
                raise VerifyException(
                    f"{self.name}: nothing tells the extent of dim d{dim}, bounds are needed "
                    f"(maps {self._maps_text()})"
                )
        return tuple(known[dim][0] for dim in range(num_dims))

    def _note_extent(
        self, extents: dict[int, tuple[Extent, _Place | None]], dim: int, extent: Extent, where: _Place
    ) -> None:
        known = extents.get(dim)
        if known is not None and not are_equal_extents(known[0], extent):
            places = f"{_place_text(known[1])}, {_place_text(where)}"
            raise VerifyException(f"{self.name}: dim d{dim} is both {known[0]} and {extent} ({places})")
        if known is None or known[0] == DYNAMIC_INDEX:
            extents[dim] = (extent, where)

    def _check_ranges(self, extents: tuple[Extent, ...]) -> None:
        """Raises `VerifyException` unless all that is read is in its operand, for all values of its dims."""
        if 0 in extents:
            return
        # Nothing is read where one of them is 0.
        extents = tuple(each if each == DYNAMIC_INDEX else where_positive(each) for each in extents)
        dims: dict[str, DimSymbol] | None = None
        for what, value, map in self._indexed()[:-1]:
            type = tensor_type_of(value, self.name)
            for axis, (expr, extent) in enumerate(zip(map.results, shape_of(type), strict=True)):
                index = LinearIndex.of(expr)
                read = [extents[dim] for dim, _ in index.factors]
                if index.plain_dim is not None or DYNAMIC_INDEX in (extent, *read):
                    continue
                low, high = index.range(extents)
                if not isinstance(low, int) or not isinstance(high, int) or not isinstance(extent, int):
                    dims = dims_around(self) if dims is None else dims
                    low, high, extent = (bounded(each, dims) for each in (low, high, extent))
                if not (is_at_least(low, 0) and is_at_least(extent, high + 1)):
                    raise VerifyException(
                        f"{self.name}: index {axis} of {what} is from {low} to {high}, outside of its "
                        f"{extent} elements ({expr} for extents {shape_text(extents)}, {what} {type})"
                    )

    def _maps_text(self) -> str:
        return ", ".join(str(attribute.data) for attribute in self.maps.data)


_NAMES: dict[int, tuple[str, ...]] = {1: ("source",), 2: ("lhs", "rhs")}
"""What diagnostics call the operands, by how many there are."""

_Place = tuple[int, str, TensorType[Any]]
"""An axis of an operand or of the result: its number, whose it is, and that one's type."""


def _place_text(place: _Place | None) -> str:
    """Returns what told an extent; None are the bounds."""
    return "bounds" if place is None else "axis {} of {} {}".format(*place)


def iteration_extents(op: ContractOp) -> tuple[Extent, ...]:
    """Returns the extent of each iteration dim of a verified op."""
    if op.bounds is not None:
        return op.bounds.data
    extents: dict[int, Extent] = {}
    for value, attribute in zip((*op.inputs, op.result), op.maps.data, strict=True):
        for expr, extent in zip(
            attribute.data.results, shape_of(tensor_type_of(value, op.name)), strict=True
        ):
            dim = LinearIndex.of(expr).plain_dim
            if dim is not None and extents.get(dim, DYNAMIC_INDEX) == DYNAMIC_INDEX:
                extents[dim] = extent
    return tuple(extents[dim] for dim in range(op.result_map.num_dims))
