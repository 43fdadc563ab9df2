"""Ops that put elements at other indices and compute none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
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
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...dims.expressions import Extent, bounded, greatest, is_at_least, product
from ..attributes import AxisAttr, ExtentsAttr, IntsAttr
from ..base import MovementOp, check_exact_result, check_result
from ..dim import dims_around, dims_text
from ..types import (
    TENSOR,
    TENSOR_T,
    Computed,
    are_equal_extents,
    check_axes,
    check_one_per_axis,
    difference,
    is_symbolic,
    scalar_like,
    shape_of,
    shape_text,
    tensor_of,
    tensor_type_of,
)

__all__ = [
    "BroadcastOp",
    "ConcatOp",
    "FlipOp",
    "PadOp",
    "PermuteOp",
    "ReshapeOp",
    "SliceOp",
    "concatenated_type",
    "padded_type",
    "permuted_type",
    "sliced_type",
]


def _ints(variable: str) -> VarConstraint[IntsAttr]:
    return VarConstraint(variable, base(IntsAttr))


def _extents(variable: str) -> VarConstraint[ExtentsAttr]:
    return VarConstraint(variable, base(ExtentsAttr))


@irdl_op_definition
class ReshapeOp(MovementOp):
    """
    The same elements in row-major order under another shape.

    ```mlir
    %y = graph.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
    ```
    """

    name = "graph.reshape"
    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result_type: TensorType[Any]):
        Operation.__init__(self, operands=(source,), result_types=(result_type,))

    def verify_(self) -> None:
        source, result = tensor_type_of(self.source, self.name), tensor_type_of(self.result, self.name)
        _check_element_type(self.name, source, result)
        if DYNAMIC_INDEX not in (*shape_of(source), *shape_of(result)):
            before, after = product(shape_of(source)), product(shape_of(result))
            if before != after:
                raise VerifyException(
                    f"{self.name}: cannot reshape {source} to {result} ({before} elements to {after})"
                )


def permuted_type(source: TensorType[Any], permutation: IntsAttr) -> TensorType[Any]:
    """
    Returns the type of `source` with dim k being its dim `permutation[k]`.

    Raises `VerifyException` unless `permutation` has every axis of `source` once.
    """
    who, axes = PermuteOp.name, permutation.data
    check_axes(who, axes, source)
    check_one_per_axis(who, "axes", axes, source)
    shape = shape_of(source)
    return tensor_of(source.element_type, tuple(shape[axis] for axis in axes))


@irdl_op_definition
class PermuteOp(MovementOp):
    """
    Dim k of the result is dim `permutation[k]` of the source.

    ```mlir
    %y = graph.permute %x [1, 0] : tensor<4x8xf32>
    ```

    The result is a `tensor<8x4xf32>`.
    """

    name = "graph.permute"
    source = operand_def(TENSOR_T)
    permutation = prop_def(_ints("PERMUTATION"))
    result = result_def(Computed(permuted_type, ("T", "PERMUTATION")))
    assembly_format = "$source $permutation attr-dict `:` type($source)"

    def __init__(self, source: SSAValue, permutation: Sequence[int] | IntsAttr):
        permutation = IntsAttr.of(permutation)
        result_type = permuted_type(tensor_type_of(source, self.name), permutation)
        Operation.__init__(
            self, operands=(source,), result_types=(result_type,), properties={"permutation": permutation}
        )

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        check_exact_result(
            self,
            permuted_type(source, self.permutation),
            f"{source} permuted by {list(self.permutation.data)}",
        )


@irdl_op_definition
class BroadcastOp(MovementOp):
    """
    Repeats the source along dims that it lacks at the front and dims in which its extent is 1 (numpy's rule:
    shapes are aligned at the last dim).

    ```mlir
    %y = graph.broadcast %x : tensor<4x1xf32> -> tensor<2x4x8xf32>
    ```
    """

    name = "graph.broadcast"
    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, result_type: TensorType[Any]):
        Operation.__init__(self, operands=(source,), result_types=(result_type,))

    def verify_(self) -> None:
        source, result = tensor_type_of(self.source, self.name), tensor_type_of(self.result, self.name)
        _check_element_type(self.name, source, result)
        before, after = shape_of(source), shape_of(result)
        added = len(after) - len(before)
        if added < 0:
            raise VerifyException(
                f"{self.name}: cannot broadcast {source} to {result} (rank {len(before)} to {len(after)})"
            )
        for axis, (extent, wanted) in enumerate(zip(before, after[added:], strict=True)):
            if extent != 1 and not are_equal_extents(extent, wanted):
                raise VerifyException(
                    f"{self.name}: cannot broadcast {source} to {result} "
                    f"(axis {axis} of {extent} to axis {axis + added} of {wanted})"
                )


def padded_type(
    source: TensorType[Any],
    low: IntsAttr,
    high: IntsAttr,
    interior: IntsAttr | None = None,
    who: str = "graph.pad",
) -> TensorType[Any]:
    """
    Returns the type of `source` with `low[k]` and `high[k]` more elements before and after it in dim k, and
    `interior[k]` between each two.

    Raises `VerifyException`, naming `who`, unless there is one of each from 0 up for each axis.
    """
    between = (0,) * source.get_num_dims() if interior is None else interior.data
    for what, values in (("low", low.data), ("high", high.data), ("interior", between)):
        check_one_per_axis(who, what, values, source)
        for axis, value in enumerate(values):
            if value < 0:
                raise VerifyException(f"{who}: {what} of axis {axis} is negative ({value}, source {source})")
    pads = zip(low.data, shape_of(source), high.data, between, strict=True)
    shape: list[Extent] = []
    for before, extent, after, inner in pads:
        if extent == DYNAMIC_INDEX:
            shape.append(extent)
        else:
            gaps = greatest(extent - 1, 0) * inner if inner else 0
            shape.append(before + extent + gaps + after)
    return tensor_of(source.element_type, tuple(shape))


@irdl_op_definition
class PadOp(MovementOp):
    """
    Puts `low[k]` copies of `value` before and `high[k]` after the source in dim k, and `interior[k]` between
    each two of its elements: none if it is not given.

    ```mlir
    %y = graph.pad %x, %v low [0, 1] high [0, 2] : tensor<4x8xf32>
    %z = graph.pad %x, %v low [0, 0] high [0, 0] interior [0, 1] : tensor<4x8xf32>
    ```

    `%v` is a `tensor<f32>`, the results are a `tensor<4x11xf32>` and a `tensor<4x15xf32>`.
    """

    name = "graph.pad"
    source = operand_def(TENSOR)
    value = operand_def(TENSOR)
    low = prop_def(IntsAttr)
    high = prop_def(IntsAttr)
    interior = opt_prop_def(IntsAttr)
    result = result_def(TENSOR)

    def __init__(
        self,
        source: SSAValue,
        value: SSAValue,
        low: Sequence[int] | IntsAttr,
        high: Sequence[int] | IntsAttr,
        interior: Sequence[int] | IntsAttr | None = None,
    ):
        low, high = IntsAttr.of(low), IntsAttr.of(high)
        properties: dict[str, Attribute] = {"low": low, "high": high}
        inner = None if interior is None else IntsAttr.of(interior)
        if inner is not None and (any(inner.data) or len(inner.data) != len(low.data)):
            properties["interior"] = inner
        result_type = padded_type(tensor_type_of(source, self.name), low, high, inner)
        Operation.__init__(self, operands=(source, value), result_types=(result_type,), properties=properties)

    @property
    def steps(self) -> tuple[int, ...]:
        """How far apart in the result two neighbours of the source are, in each dim."""
        if self.interior is None:
            return (1,) * len(self.low.data)
        return tuple(inner + 1 for inner in self.interior.data)

    @classmethod
    def parse(cls, parser: Parser) -> PadOp:
        start = parser.pos
        operands = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        operands.append(parser.parse_unresolved_operand())
        parser.parse_keyword("low")
        low = IntsAttr(IntsAttr.parse_parameter(parser))
        parser.parse_keyword("high")
        high = IntsAttr(IntsAttr.parse_parameter(parser))
        interior = None
        if parser.parse_optional_keyword("interior") is not None:
            interior = IntsAttr(IntsAttr.parse_parameter(parser))
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        try:
            source_type = tensor_type_of(type, cls.name)
            source, value = parser.resolve_operands(operands, (type, scalar_like(source_type)), start)
            op = cls(source, value, low, high, interior)
        except VerifyException as error:
            parser.raise_error(str(error), start)
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.source)
        printer.print_string(", ")
        printer.print_ssa_value(self.value)
        printer.print_string(f" low {list(self.low.data)} high {list(self.high.data)}")
        if self.interior is not None:
            printer.print_string(f" interior {list(self.interior.data)}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.source.type)

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        if self.value.type != scalar_like(source):
            raise VerifyException(
                f"{self.name}: value is {self.value.type}, expected {scalar_like(source)} (source {source})"
            )
        expected = padded_type(source, self.low, self.high, self.interior)
        why = f"{source} padded by {list(self.low.data)} and {list(self.high.data)}"
        if self.interior is not None:
            why += f", inside by {list(self.interior.data)}"
        check_exact_result(self, expected, why)


def sliced_type(
    source: TensorType[Any], offsets: ExtentsAttr, sizes: ExtentsAttr, strides: IntsAttr
) -> TensorType[Any]:
    """
    Returns the type of `sizes[k]` elements of dim k of `source`.

    Raises `VerifyException` unless there is one offset, size and stride for each axis and all that is read
    lies in `source` for some value of its dims; a dim of unknown extent is not checked.
    """
    who = SliceOp.name
    for what, values, least in (
        ("offsets", offsets.data, 0),
        ("sizes", sizes.data, 0),
        ("strides", strides.data, 1),
    ):
        check_one_per_axis(who, what, values, source)
        for axis, value in enumerate(values):
            if is_at_least(least - 1, value):
                raise VerifyException(
                    f"{who}: {what} of axis {axis} is below {least} ({value}, source {source})"
                )
    steps = zip(shape_of(source), offsets.data, sizes.data, strides.data, strict=True)
    for axis, (extent, offset, size, stride) in enumerate(steps):
        end = offset + (size - 1) * stride + 1 if size != 0 else offset
        if extent != DYNAMIC_INDEX and is_at_least(end, extent + 1):
            raise VerifyException(
                f"{who}: axis {axis} is read up to {end} of {extent} "
                f"(offset {offset}, size {size}, stride {stride}, source {source})"
            )
    return tensor_of(source.element_type, sizes.data)


@irdl_op_definition
class SliceOp(MovementOp):
    """
    `sizes[k]` elements of dim k of the source, from `offsets[k]` on, every `strides[k]`th.

    ```mlir
    %y = graph.slice %x offsets [0, 1] sizes [4, 3] strides [1, 2] : tensor<4x8xf32>
    ```

    The result is a `tensor<4x3xf32>`.
    """

    name = "graph.slice"
    source = operand_def(TENSOR_T)
    offsets = prop_def(_extents("OFFSETS"))
    sizes = prop_def(_extents("SIZES"))
    strides = prop_def(_ints("STRIDES"))
    result = result_def(Computed(sliced_type, ("T", "OFFSETS", "SIZES", "STRIDES")))
    assembly_format = (
        "$source `offsets` $offsets `sizes` $sizes `strides` $strides attr-dict `:` type($source)"
    )

    def __init__(
        self,
        source: SSAValue,
        offsets: Sequence[Extent] | ExtentsAttr,
        sizes: Sequence[Extent] | ExtentsAttr,
        strides: Sequence[int] | IntsAttr,
    ):
        offsets, sizes, strides = ExtentsAttr.of(offsets), ExtentsAttr.of(sizes), IntsAttr.of(strides)
        result_type = sliced_type(tensor_type_of(source, self.name), offsets, sizes, strides)
        Operation.__init__(
            self,
            operands=(source,),
            result_types=(result_type,),
            properties={"offsets": offsets, "sizes": sizes, "strides": strides},
        )

    def verify_(self) -> None:
        source = tensor_type_of(self.source, self.name)
        expected = sliced_type(source, self.offsets, self.sizes, self.strides)
        check_exact_result(self, expected, f"sizes {list(self.sizes.data)} of {source}")
        if is_symbolic(source) or is_symbolic(expected):
            self._check_bounds(source)

    def _check_bounds(self, source: TensorType[Any]) -> None:
        """Raises `VerifyException` unless all that is read lies in `source` for all values of its dims."""
        dims = dims_around(self)
        steps = zip(shape_of(source), self.offsets.data, self.sizes.data, self.strides.data, strict=True)
        for axis, (extent, offset, size, stride) in enumerate(steps):
            if extent == DYNAMIC_INDEX:
                continue
            extent, offset, size = (bounded(value, dims) for value in (extent, offset, size))
            end = offset + (size - 1) * stride + 1
            for what, value in (("offset", offset), ("size", size)):
                if not is_at_least(value, 0):
                    raise VerifyException(
                        f"{self.name}: {what} {value} of axis {axis} may be negative "
                        f"({dims_text(value, dims)})"
                    )
            if size != 0 and not is_at_least(extent, end):
                raise VerifyException(
                    f"{self.name}: axis {axis} may be read up to {end} of {extent} "
                    f"({dims_text(end - extent, dims)}, source {source})"
                )


@irdl_op_definition
class FlipOp(MovementOp):
    """
    The source with the order of its elements reversed along `axes`.

    ```mlir
    %y = graph.flip %x axes [0] : tensor<4x8xf32>
    ```
    """

    name = "graph.flip"
    source = operand_def(TENSOR_T)
    axes = prop_def(IntsAttr)
    result = result_def(TENSOR_T)
    assembly_format = "$source `axes` $axes attr-dict `:` type($result)"

    def __init__(self, source: SSAValue, axes: Sequence[int] | IntsAttr):
        Operation.__init__(
            self, operands=(source,), result_types=(source.type,), properties={"axes": IntsAttr.of(axes)}
        )

    def verify_(self) -> None:
        check_axes(self.name, self.axes.data, tensor_type_of(self.source, self.name))


def concatenated_type(inputs: Sequence[TensorType[Any]], axis: AxisAttr) -> TensorType[Any]:
    """
    Returns the type of `inputs` one after the other along `axis`.

    Raises `VerifyException` unless there is one and all agree in element type and all other dims.
    """
    who = ConcatOp.name
    if not inputs:
        raise VerifyException(f"{who}: no inputs, expected one or more")
    first = inputs[0]
    check_axes(who, (axis.data,), first, "input")
    shape = list(shape_of(first))
    for position, type in enumerate(inputs[1:], 1):
        extents = shape_of(type)
        if len(extents) == len(shape):
            along, shape[axis.data] = shape[axis.data], extents[axis.data]
            where = difference(type, tensor_of(first.element_type, tuple(shape)))
            is_unknown = DYNAMIC_INDEX in (along, extents[axis.data])
            shape[axis.data] = DYNAMIC_INDEX if is_unknown else along + extents[axis.data]
        else:
            where = difference(type, first)
        if where is not None:
            raise VerifyException(
                f"{who}: cannot join {type} to {first} along axis {axis.data} (input {position}: {where})"
            )
        for dim, extent in enumerate(extents):
            if shape[dim] == DYNAMIC_INDEX and dim != axis.data:
                shape[dim] = extent
    return tensor_of(first.element_type, tuple(shape))


@irdl_op_definition
class ConcatOp(MovementOp):
    """
    The inputs one after the other along `axis`.

    ```mlir
    %y = graph.concat %a, %b axis 0 : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<6x8xf32>
    ```
    """

    name = "graph.concat"
    inputs = var_operand_def(TENSOR)
    axis = prop_def(AxisAttr)
    result = result_def(TENSOR)
    assembly_format = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($result)"

    def __init__(self, inputs: Sequence[SSAValue], axis: int | AxisAttr):
        axis = axis if isinstance(axis, AxisAttr) else AxisAttr(axis)
        result_type = concatenated_type([tensor_type_of(value, self.name) for value in inputs], axis)
        Operation.__init__(self, operands=inputs, result_types=(result_type,), properties={"axis": axis})

    def verify_(self) -> None:
        types = [tensor_type_of(value, self.name) for value in self.inputs]
        expected = concatenated_type(types, self.axis)
        joined = ", ".join(shape_text(shape_of(type)) for type in types)
        check_result(self, expected, f"{joined} along axis {self.axis.data}")


def _check_element_type(who: str, source: TensorType[Any], result: TensorType[Any]) -> None:
    if source.element_type != result.element_type:
        raise VerifyException(
            f"{who}: cannot change the element type "
            f"({source.element_type} to {result.element_type}, {source} to {result})"
        )
