"""Reductions of what ops say besides what they compute: attributes, constants, element types, names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    TensorType,
    VectorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, OptionalDef

from ....dialects import graph, sched
from ....dialects.element_types import ELEMENT_TYPES, element_type_of, is_float
from ....dialects.graph import shape_of, tensor_of
from ....semantics.numpy_types import array_of, dense_of, dtype_of
from ..search import Edit, Edits, NotApplicable
from .surgery import constant_of, retype


class DropAttributes(Edits):
    """Drops attributes that ops may have, and properties that they need not have."""

    name = "drop attributes"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop(where: dict[str, Attribute], name: str) -> None:
            where.pop(name, None)

        return [
            lambda where=where, name=name: drop(where, name)
            for op in module.walk()
            for where, name in (
                *((op.attributes, name) for name in op.attributes),
                *((op.properties, name) for name in _optional_properties(op)),
            )
        ]


def _optional_properties(op: Operation) -> list[str]:
    if not isinstance(op, IRDLOperation):
        return []
    known = op.get_irdl_definition().properties
    return [name for name in op.properties if isinstance(known.get(name), OptionalDef)]


class DropNames(Edits):
    """Drops the names of values."""

    name = "drop names"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        def drop() -> None:
            for op in module.walk():
                for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
                    value.name_hint = None

        return [drop]


class SimpleConstants(Edits):
    """Gives all elements of a constant one value."""

    def __init__(self, value: int) -> None:
        self.name = f"constants of {value}"
        self._value = value

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        return [
            lambda op=op: self._change(op)
            for op in module.walk()
            if isinstance(op, graph.ConstantOp | arith.ConstantOp | sched.ConstantOp)
            or (isinstance(op, graph.TnodeOp) and op.initial is not None)
        ]

    def _change(self, op: Operation) -> None:
        match op:
            case sched.ConstantOp():
                op.value = self._dense(op.value.type)
            case graph.TnodeOp():
                op.initial = self._dense(op.type)
            case _:
                op.properties["value"] = constant_of(op.results[0].type, self._value).properties["value"]

    def _dense(self, type: Attribute) -> Any:
        return constant_of(type, self._value).properties["value"]


class SimpleTypes(Edits):
    """Puts f32 in the place of another float type, and i32 in that of another integer type, everywhere."""

    name = "simpler element types"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        used = {element_type_of(value.type) for op in module.walk() for value in op.results}
        used |= {
            element_type_of(value.type)
            for op in module.walk()
            for region in op.regions
            for block in region.blocks
            for value in block.args
        }
        return [
            lambda old=old, new=new: _replace_types(module, old, new)
            for old in ELEMENT_TYPES[:-1]
            if old in used and (new := f32 if is_float(old) else i32) != old
        ]


def _replace_types(module: ModuleOp, old: Attribute, new: Attribute) -> None:
    for op in module.walk():
        for where in (op.properties, op.attributes):
            for name, attribute in where.items():
                where[name] = _replaced(attribute, old, new)
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.args)):
            retype(value, _replaced(value.type, old, new))


def _replaced(attribute: Attribute, old: Attribute, new: Attribute) -> Attribute:
    """Returns a type or a constant with elements of another type."""
    if attribute == old:
        return new
    match attribute:
        case TensorType() if attribute.element_type == old:
            return tensor_of(new, shape_of(cast("TensorType[Any]", attribute)))
        case MemRefType() if attribute.element_type == old:
            return MemRefType(new, attribute.shape, attribute.layout, attribute.memory_space)
        case VectorType() if attribute.element_type == old:
            return VectorType(cast(Any, new), attribute.get_shape())
        case FunctionType():
            return FunctionType.from_lists(
                [_replaced(type, old, new) for type in attribute.inputs],
                [_replaced(type, old, new) for type in attribute.outputs],
            )
        case DenseIntOrFPElementsAttr() if element_type_of(attribute.type) == old:
            type = _replaced(attribute.type, old, new)
            if not isinstance(type, TensorType):
                raise NotApplicable(f"no constant of {type}")
            return dense_of(array_of(attribute).astype(dtype_of(new)), cast("TensorType[Any]", type))
        case IntegerAttr() if attribute.type == old:
            return IntegerAttr(attribute.value.data, cast(Any, new))
        case FloatAttr() if attribute.type == old:
            return FloatAttr(attribute.value.data, cast(Any, new))
        case _:
            return attribute
