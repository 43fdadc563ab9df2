"""A backend of onnx, `onnx.backend.base`: what `tenon.onnx` is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .imported import OnnxModel, from_onnx
from .package import onnx_package

__all__ = ["PreparedModel", "is_compatible", "prepare", "run_model", "run_node", "supports_device"]

_DEVICES = {"CPU": "llvm", "OPENCL": "opencl"}
"""The backend of Tenon for each device that onnx may ask for."""


class PreparedModel:
    """A model that was prepared, `onnx.backend.base.BackendRep`: `run` takes a list and gives a tuple."""

    def __init__(self, model: OnnxModel) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """
        Returns the results for inputs in a list, or by name, or of one array.

        Raises:
            TypeError: there are other arguments, which are not known.
            TenonError: the inputs do not fit, or an op does not take what it is given.
        """
        if kwargs:
            raise TypeError(f"run: unknown arguments {sorted(kwargs)}")
        results: Any
        if isinstance(inputs, Mapping):
            results = self.model(**inputs)
        elif isinstance(inputs, list | tuple):
            results = self.model(*inputs)
        else:
            results = self.model(inputs)
        return results if len(self.model.outputs) != 1 else (results,)


def supports_device(device: str) -> bool:
    """Returns whether programs run on a device: `CPU` or `OPENCL`, with a number after a colon or without."""
    return device.partition(":")[0].upper() in _DEVICES


def is_compatible(model: Any, device: str = "CPU", **kwargs: Any) -> bool:
    """Returns whether `prepare` takes a model: whether all of its ops are supported."""
    from .coverage import unsupported_ops

    return supports_device(device) and not unsupported_ops(model)


def prepare(model: Any, device: str = "CPU", **kwargs: Any) -> PreparedModel:
    """
    Returns a model with its programs; `kwargs` are those of `tenon.from_onnx`.

    Raises:
        ValueError: the device is not supported.
        TenonError: the model is wrong or not supported.
    """
    if not supports_device(device):
        raise ValueError(f"prepare: device {device!r}, expected {' or '.join(_DEVICES)}")
    options: dict[str, Any] = {"backend": _DEVICES[device.partition(":")[0].upper()], **kwargs}
    return PreparedModel(from_onnx(model, **options))


def run_model(model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
    """Returns the results of a model for inputs; the arguments are those of `prepare`."""
    return prepare(model, device, **kwargs).run(inputs)


def run_node(
    node: Any,
    inputs: Sequence[Any],
    device: str = "CPU",
    outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
    *,
    opset_version: int | None = None,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """
    Returns the results of one node for inputs, in order. It is of the newest opset, or of `opset_version`.
    """
    onnx = onnx_package()
    given = [name for name in node.input if name]
    array_types = onnx.helper.np_dtype_to_tensor_dtype
    infos = [
        onnx.helper.make_tensor_value_info(name, array_types(array.dtype), array.shape)
        for name, array in zip(given, inputs, strict=True)
    ]
    results = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
    graph = onnx.helper.make_graph([node], "node", infos, results)
    version = opset_version or onnx.defs.onnx_opset_version()
    opsets = [onnx.helper.make_opsetid(node.domain, version)]
    return run_model(onnx.helper.make_model(graph, opset_imports=opsets), list(inputs), device, **kwargs)
