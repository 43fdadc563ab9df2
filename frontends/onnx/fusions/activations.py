"""Functions of one number, with what is added before."""

from __future__ import annotations

from typing import Any

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ..layers.activations import gelu
from ..registry import onnx_op

DOMAIN = "com.microsoft"


@onnx_op("Gelu", domain=DOMAIN)
def exact_gelu(x: Any) -> Any:
    return nn.gelu(x)


@onnx_op("BiasGelu", domain=DOMAIN)
def bias_gelu(x: Any, bias: Any) -> Any:
    return nn.gelu(tnp.add(x, bias))


@onnx_op("FastGelu", domain=DOMAIN)
def fast_gelu(x: Any, bias: Any = None) -> Any:
    return gelu(x if bias is None else tnp.add(x, bias), approximate="tanh")


@onnx_op("QuickGelu", domain=DOMAIN)
def quick_gelu(x: Any, *, alpha: float = 1.702) -> Any:
    return tnp.multiply(x, nn.sigmoid(tnp.multiply(x, alpha)))


@onnx_op("BiasSplitGelu", domain=DOMAIN)
def bias_split_gelu(x: Any, bias: Any) -> Any:
    """The first half of the last axis times `gelu` of the second."""
    width = x.shape[-1]
    if not isinstance(width, int) or width % 2:
        raise TenonError(f"shape {x.shape}, expected an even number along the last axis")
    whole = tnp.add(x, bias)
    return tnp.multiply(whole[..., : width // 2], nn.gelu(whole[..., width // 2 :]))
