"""`tenon.onnx`: a backend of onnx."""

# pyright: reportMissingImports=false, reportUnknownVariableType=false

from .frontends.onnx.backend import *  # noqa: F403  (this module is `tenon.onnx`, a sibling of `tenon.frontends`)
from .frontends.onnx.backend import __all__ as __all__
