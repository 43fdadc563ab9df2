"""Models in ONNX files as functions of arrays: `tenon.from_onnx`, and `tenon.onnx`, a backend of onnx."""
