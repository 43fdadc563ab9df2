"""Attributes of nodes as Python has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import TenonError
from .tensors import TensorReader

_FLOAT, _INT, _STRING, _TENSOR, _GRAPH = 1, 2, 3, 4, 5
_FLOATS, _INTS, _STRINGS, _TENSORS, _GRAPHS = 6, 7, 8, 9, 10
_TYPE = 13


def resolved_attributes(node: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """
    Returns the `AttributeProto`s of a node by name. One that refers to an attribute of the function that the
    node lies in is what `given` has for that; it is left out where a call does not give it.
    """
    found: dict[str, Any] = {}
    for each in node.attribute:
        if each.ref_attr_name:
            referred = given.get(each.ref_attr_name)
            if referred is not None:
                found[each.name] = referred
        else:
            found[each.name] = each
    return found


def attribute_value(attribute: Any, reader: TensorReader, who: str) -> Any:
    """
    Returns the value of an attribute: a number, text, a list of them, a numpy array; a graph and a type are
    protos.

    Raises:
        TenonError: it is of another kind, or text that is no UTF-8.
    """
    kind = attribute.type
    if kind == _FLOAT:
        return float(attribute.f)
    if kind == _INT:
        return int(attribute.i)
    if kind == _STRING:
        return _text(attribute.s, attribute.name, who)
    if kind == _TENSOR:
        return reader.read(attribute.t, f"{who}: attribute '{attribute.name}'")
    if kind == _GRAPH:
        return attribute.g
    if kind == _TYPE:
        return attribute.tp
    if kind == _FLOATS:
        return [float(each) for each in attribute.floats]
    if kind == _INTS:
        return [int(each) for each in attribute.ints]
    if kind == _STRINGS:
        return [_text(each, attribute.name, who) for each in attribute.strings]
    if kind == _TENSORS:
        return [reader.read(each, f"{who}: attribute '{attribute.name}'") for each in attribute.tensors]
    if kind == _GRAPHS:
        return list(attribute.graphs)
    raise TenonError(f"{who}: attribute '{attribute.name}' is of a kind that is not supported ({kind})")


def _text(value: bytes, name: str, who: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise TenonError(f"{who}: attribute '{name}' is no text") from None
