"""Ops that are functions of other ops: those that a model brings, and those that onnx defines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import TenonError
from .package import onnx_package
from .tensors import number_of_dtype
from .values import Value


@dataclass(frozen=True, slots=True)
class ModelFunction:
    """
    A `FunctionProto`, the versions of the domains that its nodes are of, and the attributes that a call may
    leave out.
    """

    proto: Any
    opsets: Mapping[str, int]
    defaults: Mapping[str, Any]


def opsets_of(imports: Sequence[Any]) -> dict[str, int]:
    """Returns the versions of domains that a model or a function imports."""
    return {"" if each.domain == "ai.onnx" else each.domain: each.version for each in imports}


class Functions:
    """The functions of a model, and those of onnx for a version."""

    def __init__(self, protos: Sequence[Any]) -> None:
        self._of_model = {
            (each.domain, each.name, getattr(each, "overload", "")): ModelFunction(
                each, opsets_of(each.opset_import), {other.name: other for other in each.attribute_proto}
            )
            for each in protos
        }
        self._kinds: dict[tuple[str, str, int], dict[str, int]] = {}
        self._of_schema: dict[tuple[str, str, int], ModelFunction | None] = {}

    def of_model(self, domain: str, name: str, overload: str = "") -> ModelFunction | None:
        """Returns the function that a model has for an op, if it has one."""
        return self._of_model.get((domain, name, overload))

    def plain_body(self, domain: str, name: str, version: int) -> ModelFunction | None:
        """Returns what onnx defines an op by, where that does not depend on what it is given."""
        key = domain, name, version
        if key not in self._of_schema:
            schema = schema_of(domain, name, version)
            found = None
            if schema is not None and schema.has_function:
                body = schema.function_body
                found = _defined(schema, body, version)
            self._of_schema[key] = found
        return self._of_schema[key]

    def attribute_kinds(self, domain: str, name: str, version: int) -> Mapping[str, int]:
        """Returns the kinds of an op's attributes by their names: none for an op that onnx lacks."""
        key = domain, name, version
        found = self._kinds.get(key)
        if found is None:
            schema = schema_of(domain, name, version)
            attributes: Any = {} if schema is None else schema.attributes
            found = self._kinds[key] = {each: int(kind.type.value) for each, kind in attributes.items()}
        return found

    def of_schema(
        self,
        node: Any,
        domain: str,
        version: int,
        inputs: Sequence[Value],
        attributes: Mapping[str, Any],
        who: str,
    ) -> ModelFunction:
        """
        Returns what onnx defines an op by.

        Raises:
            TenonError: there is no such op, or it is not defined by others.
        """
        found = self.plain_body(domain, node.op_type, version)
        if found is not None:
            return found
        schema = schema_of(domain, node.op_type, version)
        if schema is None or not schema.has_context_dependent_function:
            raise TenonError(f"{who}: the op is not supported")
        resolved = type(node)()
        resolved.CopyFrom(node)
        del resolved.attribute[:]
        resolved.attribute.extend(attributes.values())
        types = [_type_of(value) for value in inputs]
        text = schema.get_context_dependent_function(resolved.SerializeToString(), types)
        body = onnx_package().FunctionProto.FromString(text)
        return _defined(schema, body, version)


def _defined(schema: Any, body: Any, version: int) -> ModelFunction:
    """Returns a function that onnx defines an op by, whose attributes have the defaults of the op."""
    opsets = opsets_of(body.opset_import) or ({} if schema.domain else {"": version})
    defaults = {
        name: attribute.default_value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.name
    }
    return ModelFunction(body, opsets, defaults)


_LARGEST_VERSION = (1 << 31) - 1


def schema_of(domain: str, name: str, version: int) -> Any:
    """Returns what onnx says of an op in a version of its domain, None where there is no such op."""
    if not 0 < version <= _LARGEST_VERSION:
        return None
    defs = onnx_package("onnx.defs")
    try:
        return defs.get_schema(name, version, domain)
    except defs.SchemaError:
        return None


def _type_of(value: Value) -> bytes:
    """Returns the type of a value as the text of a proto."""
    proto = onnx_package().TypeProto()
    if value is None:
        return proto.SerializeToString()
    if isinstance(value, list):
        first = proto.FromString(_type_of(value[0])) if value else proto
        proto.sequence_type.elem_type.CopyFrom(first)
        return proto.SerializeToString()
    is_extents = value.dtype.kind == "O"
    proto.tensor_type.elem_type = 7 if is_extents else number_of_dtype(value.dtype)
    shape = proto.tensor_type.shape
    for extent in value.shape:
        dim = shape.dim.add()
        if isinstance(extent, int):
            dim.dim_value = extent
    return proto.SerializeToString()
