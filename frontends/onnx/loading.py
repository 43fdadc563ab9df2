"""Reads a model: a file, its bytes, or a `ModelProto`. No code is run, and no other file is read."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path
from typing import Any, cast

from ...errors import TenonError
from .external_data import ExternalData
from .package import onnx_package
from .tensors import DTYPES
from .values import GraphInput

OLDEST_OPSET = 7
"""The first version in which operands broadcast as numpy's do. Older models do what their axes say."""

_NEWEST_VERSION = (1 << 31) - 1
"""The greatest version that onnx can be asked for; nothing is known of those of other domains."""


def load_model(source: Any) -> tuple[Any, ExternalData]:
    """
    Returns a `ModelProto`, and what finds its tensors that lie in other files.

    Raises:
        TenonError: there is no such file, it holds no model, or one of an older or a newer version.
        TypeError: it is neither a path, nor bytes, nor a model.
        MissingExtraError: onnx is not installed.
    """
    onnx = onnx_package()
    folder: Path | None = None
    if isinstance(source, str | PathLike):
        path = Path(cast("str | PathLike[str]", source))
        try:
            data = path.read_bytes()
        except OSError as error:
            raise TenonError(f"from_onnx: cannot read {path}: {error.strerror}") from None
        folder = path.parent
        model = _parsed(onnx, data, str(path))
    elif isinstance(source, bytes | bytearray | memoryview):
        data = bytes(cast(bytes, source))
        model = _parsed(onnx, data, f"{len(data)} bytes")
    elif isinstance(source, onnx.ModelProto):
        model = source
    else:
        raise TypeError(f"from_onnx: {type(source).__name__}, expected a path, bytes or a ModelProto")
    _check_text(model)
    _check_versions(onnx, model)
    return model, ExternalData(folder)


def _parsed(onnx: Any, data: bytes, what: str) -> Any:
    decode_error = onnx_package("google.protobuf.message").DecodeError
    try:
        return onnx.ModelProto.FromString(data)
    except (decode_error, RuntimeError, ValueError):
        raise TenonError(f"from_onnx: {what}: no ONNX model") from None


def _check_text(message: Any) -> None:
    """Raises TenonError where a name is no UTF-8: protobuf gives bytes for it then."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_STRING:
            texts: Any = [value] if isinstance(value, str | bytes) else value
            if any(isinstance(text, bytes) for text in texts):
                raise TenonError(f"from_onnx: {field.full_name} is no text")
        elif field.type == field.TYPE_MESSAGE:
            for each in [value] if hasattr(value, "ListFields") else value:
                _check_text(each)


def _check_versions(onnx: Any, model: Any) -> None:
    if not model.HasField("graph"):
        raise TenonError("from_onnx: the model has no graph")
    newest = onnx.defs.onnx_opset_version()
    versions = [each.version for each in model.opset_import if each.domain in ("", "ai.onnx")]
    for each in model.opset_import:
        if not 0 <= each.version <= _NEWEST_VERSION:
            raise TenonError(f"from_onnx: the model is of version {each.version} of '{each.domain}'")
    for version in versions:
        if not 1 <= version <= newest:
            raise TenonError(f"from_onnx: the model is of opset {version}, expected 1 to {newest}")


def graph_inputs(infos: Any) -> list[GraphInput]:
    """
    Returns what a graph says of its inputs or results.

    Raises:
        TenonError: one holds strings, complex numbers or maps, or a sparse tensor.
    """
    return [_graph_input(each.name, each.type) for each in infos]


def _graph_input(name: str, type: Any) -> GraphInput:
    kind = type.WhichOneof("value")
    if kind == "tensor_type":
        number = type.tensor_type.elem_type
        if number and number not in DTYPES:
            from .tensors import type_name

            raise TenonError(f"from_onnx: '{name}' holds {type_name(number)}, which is not supported")
        shape = None
        if type.tensor_type.HasField("shape"):
            shape = tuple([_extent(each) for each in type.tensor_type.shape.dim])
        return GraphInput(name, "tensor", DTYPES.get(number), shape)
    if kind in ("sequence_type", "optional_type"):
        inner = _graph_input(name, getattr(type, kind).elem_type)
        shown = "sequence" if "sequence" in (kind.removesuffix("_type"), inner.kind) else "optional"
        return GraphInput(name, shown, inner.dtype, inner.shape)
    if kind is None:
        return GraphInput(name, "tensor", None, None)
    raise TenonError(f"from_onnx: '{name}' is of {kind.removesuffix('_type')}, which is not supported")


def _extent(dim: Any) -> int | str | None:
    which = dim.WhichOneof("value")
    if which == "dim_value" and dim.dim_value >= 0:
        return int(dim.dim_value)
    return str(dim.dim_param) if which == "dim_param" and dim.dim_param else None


def dim_names(params: list[str]) -> dict[str, str]:
    """Returns a name that `tenon.Dim` takes for each name of a dim, which may be any text."""
    found: dict[str, str] = {}
    for param in params:
        name = re.sub(r"\W", "_", param, flags=re.ASCII)
        name = wanted = name if name.isidentifier() else f"d_{name}"
        number = 0
        while name in found.values():
            number += 1
            name = f"{wanted}_{number}"
        found[param] = name
    return found
