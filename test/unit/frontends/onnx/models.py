"""Small models for tests, from the text that onnx parses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

Array = npt.NDArray[Any]


def model_of(text: str, *, opset: int = 21, imports: str = "", functions: str = "") -> onnx.ModelProto:
    """Returns the model of a graph in text: `g (float[n] x) => (float[n] y) { y = Relu(x) }`."""
    header = f'<ir_version: 10, opset_import: ["" : {opset}{imports}]>'
    return onnx.parser.parse_model(f"{header} {text} {functions}")


def normal(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


def with_external_data(model: onnx.ModelProto, folder: Path, location: str, **entries: str) -> Path:
    """Saves a model whose first initializer is said to lie in a file, and returns its path."""
    tensor = model.graph.initializer[0]
    values = onnx.numpy_helper.to_array(tensor)
    for field in ("raw_data", "float_data", "int64_data"):
        tensor.ClearField(field)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=value)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    inside = folder / "weights.bin"
    inside.write_bytes(values.tobytes())
    return path
