"""
Ops whose indices are values: gather, scatter, dynamic_slice, dynamic_update.

No index reads or writes outside: gather and the dynamic ops move it into range, scatter drops what it would
write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ...dims.expressions import Extent, is_at_least
from ..attributes import IntsAttr, ScatterKind, ScatterKindAttr
from ..base import GraphOp, MovementOp, check_exact_result, check_result
from ..types import (
    ANY,
    INTEGERS,
    NUMBERS,
    TENSOR,
    TENSOR_T,
    Computed,
    are_equal_extents,
    check_axes,
    check_one_per_axis,
    difference,
    shape_of,
    shape_text,
    tensor_of,
    tensor_type_of,
)

__all__ = [
    "DynamicSliceOp",
    "DynamicUpdateOp",
    "GatherOp",
    "ScatterOp",
    "dynamic_slice_type",
    "gathered_type",
]


def _check_index_types(who: str, types: Sequence[TensorType[Any]]) -> tuple[int, ...]:
    """Returns the shape of index tensors. Raises `VerifyException` unless all are integers of one shape."""
    shape = shape_of(types[0])
    for position, type in enumerate(types):
        INTEGERS.check(f"{who}: index {position}", type)
        found = shape_of(type)
        if len(found) != len(shape) or not all(map(are_equal_extents, found, shape)):
            raise VerifyException(
                f"{who}: indices 0 and {position} have shapes {shape_text(shape)} and {shape_text(found)}, "
                "expected one shape"
            )
    return tuple(
        next((extent for extent in column if extent != DYNAMIC_INDEX), DYNAMIC_INDEX)
        for column in zip(*(shape_of(type) for type in types), strict=True)
    )


def _check_indices(
    who: str, source: TensorType[Any], indices: Sequence[TensorType[Any]], axes: IntsAttr
) -> tuple[int, ...]:
    """Returns the shape of the indices of `axes`, one tensor for each of them, at least one."""
    check_axes(who, axes.data, source)
    if not indices:
        raise VerifyException(f"{who}: no indices, expected one or more (source {source})")
    if len(indices) != len(axes.data):
        raise VerifyException(
            f"{who}: {len(indices)} indices for {len(axes.data)} axes "
            f"(axes {list(axes.data)}, source {source})"
        )
    return _check_index_types(who, indices)


def gathered_type(
    source: TensorType[Any], indices: Sequence[TensorType[Any]], axes: IntsAttr, who: str = "graph.gather"
) -> TensorType[Any]:
    """
    Returns the type of what `indices` pick along `axes` of `source`: their shape, then the dims of `source`
    that are not in `axes`.

    Raises `VerifyException`, naming `who`, unless there is one index tensor for each of `axes`, all of
    integers and of one shape, and `axes` are axes of `source`, each at most once.
    """
    shape = _check_indices(who, source, indices, axes)
    rest = tuple(extent for axis, extent in enumerate(shape_of(source)) if axis not in axes.data)
    return tensor_of(source.element_type, (*shape, *rest))


def _types(values: Sequence[SSAValue], who: str) -> list[TensorType[Any]]:
    return [tensor_type_of(value, who) for value in values]


@irdl_op_definition
class GatherOp(MovementOp):
    """
    Elements of the source at indices that are values. The index tensors, one for each of `axes`, have one
    shape S, of any rank; the result has the shape S followed by the dims of the source that are not in
    `axes`, in order. An index out of range is moved into it: below 0 to 0, above the last to the last.

    ```mlir
    %y = graph.gather %x[%i, %j] axes [0, 2]
        : tensor<4x8x5xf32>[tensor<3xi64>, tensor<3xi64>] -> tensor<3x8xf32>
    ```

    An axis without elements can be indexed only where the result has none either.
    """

    name = "graph.gather"
    source = operand_def(TENSOR)
    indices = var_operand_def(TENSOR)
    axes = prop_def(IntsAttr)
    result = result_def(TENSOR)
    assembly_format = (
        "$source `[` $indices `]` `axes` $axes attr-dict "
        "`:` type($source) `[` type($indices) `]` `->` type($result)"
    )

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue], axes: Sequence[int] | IntsAttr):
        axes = IntsAttr.of(axes)
        result_type = gathered_type(tensor_type_of(source, self.name), _types(indices, self.name), axes)
        Operation.__init__(
            self, operands=(source, *indices), result_types=(result_type,), properties={"axes": axes}
        )

    def verify_(self) -> None:
        source, indices = tensor_type_of(self.source, self.name), _types(self.indices, self.name)
        expected = gathered_type(source, indices, self.axes)
        check_result(
            self, expected, f"{shape_text(shape_of(indices[0]))} of axes {list(self.axes.data)} of {source}"
        )
        shape = shape_of(source)
        for axis in self.axes.data:
            if shape[axis] == 0 and 0 not in shape_of(expected):
                raise VerifyException(
                    f"{self.name}: axis {axis} has no elements to gather (source {source}, result {expected})"
                )


_SCATTER_ELEMENTS = {kind: ANY if kind is ScatterKind.SET else NUMBERS for kind in ScatterKind}


@irdl_op_definition
class ScatterOp(GraphOp):
    """
    The source with `updates` put at indices that are values, or combined with what is there (`add`, `mul`,
    `max`, `min`). The index tensors, one for each of `axes`, have one shape S; `updates` has the shape S
    followed by the dims of the source that are not in `axes`, in order: what `graph.gather` would return.

    An update whose index is out of range, negative ones included, is dropped. Updates of one element are
    applied in row-major order of S: of several `set` the last wins, floats are added in that order, each sum
    rounded to the element type. NaN wins in max and min.

    ```mlir
    %y = graph.scatter add %x[%i], %u axes [0]
        : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
    ```

    The result is a `tensor<4x8xf32>`.
    """

    name = "graph.scatter"
    kind = prop_def(ScatterKindAttr)
    source = operand_def(TENSOR_T)
    indices = var_operand_def(TENSOR)
    updates = operand_def(TENSOR)
    axes = prop_def(IntsAttr)
    result = result_def(TENSOR_T)
    assembly_format = (
        "$kind $source `[` $indices `]` `,` $updates `axes` $axes attr-dict "
        "`:` type($source) `[` type($indices) `]` `,` type($updates)"
    )

    def __init__(
        self,
        kind: ScatterKind | ScatterKindAttr,
        source: SSAValue,
        indices: Sequence[SSAValue],
        updates: SSAValue,
        axes: Sequence[int] | IntsAttr,
    ):
        kind = kind if isinstance(kind, ScatterKindAttr) else ScatterKindAttr(kind)
        Operation.__init__(
            self,
            operands=(source, *indices, updates),
            result_types=(source.type,),
            properties={"kind": kind, "axes": IntsAttr.of(axes)},
        )

    def verify_(self) -> None:
        source, indices = tensor_type_of(self.source, self.name), _types(self.indices, self.name)
        _SCATTER_ELEMENTS[self.kind.data].check(f"{self.name} {self.kind.data.value}", source)
        expected = gathered_type(source, indices, self.axes, self.name)
        found = tensor_type_of(self.updates, self.name)
        if (where := difference(found, expected)) is not None:
            raise VerifyException(
                f"{self.name}: updates are {found}, expected {expected} ({where}; "
                f"{shape_text(shape_of(indices[0]))} of axes {list(self.axes.data)} of {source})"
            )


def _check_starts(who: str, source: TensorType[Any], starts: Sequence[TensorType[Any]]) -> None:
    """Raises `VerifyException` unless there is one index of rank 0 for each axis of `source`."""
    rank = len(shape_of(source))
    if len(starts) != rank:
        raise VerifyException(f"{who}: {len(starts)} indices for rank {rank} (source {source})")
    for position, type in enumerate(starts):
        INTEGERS.check(f"{who}: index {position}", type)
        if shape_of(type):
            raise VerifyException(f"{who}: index {position} is {type}, expected rank 0 (source {source})")


def _check_fits(who: str, source: TensorType[Any], sizes: Sequence[Extent], what: str) -> None:
    for axis, (size, extent) in enumerate(zip(sizes, shape_of(source), strict=True)):
        if DYNAMIC_INDEX not in (size, extent) and is_at_least(size, extent + 1):
            raise VerifyException(
                f"{who}: axis {axis} of {what} has {size} elements, the source has {extent} "
                f"({what} {shape_text(sizes)}, source {source})"
            )


def dynamic_slice_type(source: TensorType[Any], sizes: IntsAttr) -> TensorType[Any]:
    """
    Returns the type of a box of `sizes` elements of `source`.

    Raises `VerifyException` unless there is one size from 0 up for each axis, and none is beyond its extent.
    """
    who = DynamicSliceOp.name
    check_one_per_axis(who, "sizes", sizes.data, source)
    for axis, size in enumerate(sizes.data):
        if size < 0:
            raise VerifyException(f"{who}: sizes of axis {axis} is below 0 ({size}, source {source})")
    _check_fits(who, source, sizes.data, "slice")
    return tensor_of(source.element_type, sizes.data)


@irdl_op_definition
class DynamicSliceOp(MovementOp):
    """
    A box of `sizes` elements of the source that begins at indices that are values: one integer of rank 0 for
    each axis. A start is moved so that the box fits: to 0 if it is below, to the extent less the size if it
    is above.

    ```mlir
    %y = graph.dynamic_slice %x[%i, %j] sizes [1, 8] : tensor<4x8xf32>[tensor<i64>, tensor<i64>]
    ```

    The result is a `tensor<1x8xf32>`.
    """

    name = "graph.dynamic_slice"
    source = operand_def(TENSOR_T)
    starts = var_operand_def(TENSOR)
    sizes = prop_def(VarConstraint("SIZES", base(IntsAttr)))
    result = result_def(Computed(dynamic_slice_type, ("T", "SIZES")))
    assembly_format = (
        "$source `[` $starts `]` `sizes` $sizes attr-dict `:` type($source) `[` type($starts) `]`"
    )

    def __init__(self, source: SSAValue, starts: Sequence[SSAValue], sizes: Sequence[int] | IntsAttr):
        sizes = IntsAttr.of(sizes)
        result_type = dynamic_slice_type(tensor_type_of(source, self.name), sizes)
        Operation.__init__(
            self, operands=(source, *starts), result_types=(result_type,), properties={"sizes": sizes}
        )

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        _check_starts(self.name, source, _types(self.starts, self.name))
        expected = dynamic_slice_type(source, self.sizes)
        check_exact_result(self, expected, f"sizes {list(self.sizes.data)} of {source}")


@irdl_op_definition
class DynamicUpdateOp(GraphOp):
    """
    The source with a box of it replaced by `update`. The box begins at indices that are values, one integer
    of rank 0 for each axis, moved so that it fits, as those of `graph.dynamic_slice`. With `strides` it has
    every `strides[k]`th element of axis k.

    ```mlir
    %y = graph.dynamic_update %x[%i, %j], %row
        : tensor<4x8xf32>[tensor<i64>, tensor<i64>], tensor<1x8xf32>
    %z = graph.dynamic_update %x[%i, %j], %some strides [1, 2]
        : tensor<4x8xf32>[tensor<i64>, tensor<i64>], tensor<1x4xf32>
    ```

    The result is a `tensor<4x8xf32>`.
    """

    name = "graph.dynamic_update"
    source = operand_def(TENSOR_T)
    starts = var_operand_def(TENSOR)
    update = operand_def(TENSOR)
    strides = opt_prop_def(IntsAttr)
    result = result_def(TENSOR_T)
    assembly_format = (
        "$source `[` $starts `]` `,` $update (`strides` $strides^)? attr-dict "
        "`:` type($source) `[` type($starts) `]` `,` type($update)"
    )

    def __init__(
        self,
        source: SSAValue,
        starts: Sequence[SSAValue],
        update: SSAValue,
        strides: Sequence[int] | None = None,
    ):
        Operation.__init__(self, operands=(source, *starts, update), result_types=(source.type,))
        if strides is not None and any(stride != 1 for stride in strides):
            self.strides = IntsAttr.of(strides)

    @property
    def steps(self) -> tuple[int, ...]:
        """How far apart the elements of the box are along each axis."""
        rank = len(shape_of(tensor_type_of(self.source, self.name)))
        return (1,) * rank if self.strides is None else tuple(self.strides.data)

    @property
    def spans(self) -> tuple[Extent, ...]:
        """How many elements there are along each axis from the first of the box to the last."""
        return self.spans_of(shape_of(tensor_type_of(self.update, self.name)))

    def spans_of(self, sizes: Sequence[Extent]) -> tuple[Extent, ...]:
        """Returns the same for an update of `sizes`, whose dims may have bounds."""
        return tuple(
            size if step == 1 or size in (0, DYNAMIC_INDEX) else (size - 1) * step + 1
            for size, step in zip(sizes, self.steps, strict=True)
        )

    def verify_(self) -> None:
        source, update = tensor_type_of(self.source, self.name), tensor_type_of(self.update, self.name)
        _check_starts(self.name, source, _types(self.starts, self.name))
        if update.element_type != source.element_type:
            raise VerifyException(
                f"{self.name}: update is {update}, expected elements of {source.element_type} "
                f"(source {source})"
            )
        sizes, shape = shape_of(update), shape_of(source)
        if len(sizes) != len(shape):
            raise VerifyException(
                f"{self.name}: update has rank {len(sizes)}, the source has {len(shape)} "
                f"(update {update}, source {source})"
            )
        if self.strides is not None:
            check_one_per_axis(self.name, "strides", self.strides.data, source)
            for axis, stride in enumerate(self.strides.data):
                if stride < 1:
                    raise VerifyException(
                        f"{self.name}: strides of axis {axis} is below 1 ({stride}, source {source})"
                    )
        _check_fits(self.name, source, self.spans, "update")
