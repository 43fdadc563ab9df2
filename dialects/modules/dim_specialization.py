"""Replaces named dims of a module by numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FunctionType, MemRefType, ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from .. import graph
from ..dims.attributes import DimExprAttr, DimsAttr, dims_of_space, length_attribute
from ..dims.expressions import DimExpr, DimSymbol, Extent, bounded, dim, lower_bound, substituted
from ..graph import ExtentsAttr
from ..graph.types import tensor_of


def specialize(module: ModuleOp, values: Mapping[str, int]) -> None:
    """Replaces the dims in `values` in all functions of a module at `graph`, and their declarations."""
    for op in list(module.walk()):
        if isinstance(op, graph.DimOp) and op.sym_name.data in values:
            op.detach()
            op.erase()
            continue
        _specialize_op(op, values)


def vanishing_extents(module: ModuleOp) -> tuple[DimExpr, ...]:
    """
    Returns the extents of values of a module that are 0 for some sizes, such as n - 1, each once. Indices
    into axes without elements have no place to be moved to: programs for all sizes leave those sizes out.
    """
    dims = graph.dims_of(module)
    found: dict[DimExpr, None] = {}
    for op in module.walk():
        values = (*op.results, *(argument for region in op.regions for argument in region.blocks[0].args))
        for value in values:
            type: Attribute = value.type
            if isinstance(type, TensorType) and isinstance(type.encoding, DimsAttr):
                for extent in type.encoding.data:
                    if isinstance(extent, DimExpr) and lower_bound(bounded(extent, dims)) <= 0:
                        found[extent] = None
    return tuple(found)


def _specialize_op(op: Operation, values: Mapping[str, int]) -> None:
    for name, attribute in op.properties.items():
        new = _specialized(attribute, values)
        if new is not attribute:
            op.properties[name] = new
    for result in op.results:
        _retype(result, values)
    for region in op.regions:
        for block in region.blocks:
            _retype_arguments(block, values)


def _retype_arguments(block: Block, values: Mapping[str, int]) -> None:
    for argument in block.args:
        _retype(argument, values)


def _retype(value: SSAValue, values: Mapping[str, int]) -> None:
    new = _specialized(value.type, values)
    if new is not value.type:
        value._type = new  # pyright: ignore[reportPrivateUsage]


def _specialized(attribute: Attribute, values: Mapping[str, int]) -> Attribute:
    """Returns an attribute without the dims in `values`; the same one where it has none."""
    # The same object tells the caller that nothing changed, without a comparison of attributes.
    match attribute:
        case TensorType():
            encoding = attribute.encoding
            if isinstance(encoding, DimsAttr):
                tensor = cast(TensorType[Any], attribute)
                return tensor_of(tensor.element_type, _extents(encoding.data, values))
        case MemRefType():
            assert dims_of_space(attribute.memory_space) is None, f"{attribute} in a module at graph"
        case ExtentsAttr():
            extents = _extents(attribute.data, values)
            return attribute if extents == attribute.data else ExtentsAttr(extents)
        case DimExprAttr():
            (length,) = _extents((attribute.data,), values)
            return attribute if length == attribute.data else length_attribute(length)
        case FunctionType():
            inputs, outputs = attribute.inputs.data, attribute.outputs.data
            new = [_specialized(type, values) for type in (*inputs, *outputs)]
            if any(found is not old for found, old in zip(new, (*inputs, *outputs), strict=True)):
                return FunctionType.from_lists(new[: len(inputs)], new[len(inputs) :])
        case ArrayAttr():
            elements = [_specialized(element, values) for element in attribute.data]
            if any(new is not old for new, old in zip(elements, attribute.data, strict=True)):
                return ArrayAttr(elements)
        case _:
            pass
    return attribute


def _extents(extents: Sequence[Extent], values: Mapping[str, int]) -> tuple[Extent, ...]:
    def value_of(symbol: DimSymbol) -> Extent:
        return values.get(symbol.name, dim(symbol.name))

    return tuple(substituted(extent, value_of) for extent in extents)
