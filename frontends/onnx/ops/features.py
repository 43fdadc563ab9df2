"""Ops of `ai.onnx.ml` that choose features, and compare them."""

from __future__ import annotations

from typing import Any

from ... import numpy as tnp
from ..registry import onnx_op

_DOMAIN = "ai.onnx.ml"


@onnx_op("Binarizer", domain=_DOMAIN)
def binarizer(x: Any, *, threshold: float = 0.0) -> Any:
    return tnp.astype(tnp.greater(x, threshold), x.dtype)


@onnx_op("ArrayFeatureExtractor", domain=_DOMAIN)
def array_feature_extractor(x: Any, places: Any) -> Any:
    """Elements along the last axis; of a single row it gives a row too."""
    found = tnp.take(x, tnp.reshape(places, (-1,)), axis=-1)
    return tnp.expand_dims(found, 0) if len(x.shape) == 1 else found
