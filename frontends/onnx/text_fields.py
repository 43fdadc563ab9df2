"""Checks that what is text in a model is text: protobuf hands over other bytes as they are."""

from __future__ import annotations

from typing import Any

from ...errors import TenonError

_STRING, _MESSAGE = 9, 11
"""The numbers of types in `FieldDescriptor`."""

_LARGE = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
"""The fields of tensors that hold elements: they are not looked at, which could copy them."""


def check_text(message: Any, where: str = "model") -> None:
    """
    Looks through a message of protobuf and those in it.

    Raises:
        TenonError: a field of text is no UTF-8, which names the place: `model.graph.node[3].op_type`.
    """
    for field in message.DESCRIPTOR.fields:
        if field.type not in (_STRING, _MESSAGE) or field.name in _LARGE:
            continue
        is_repeated = field.is_repeated
        if not is_repeated and not message.HasField(field.name):
            continue
        values = getattr(message, field.name)
        for number, value in enumerate(values if is_repeated else (values,)):
            place = f"{where}.{field.name}{f'[{number}]' if is_repeated else ''}"
            if field.type == _MESSAGE:
                check_text(value, place)
            elif not isinstance(value, str):
                raise TenonError(f"from_onnx: {place} is no text")
