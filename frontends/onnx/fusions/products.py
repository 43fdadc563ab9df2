"""Products and convolutions, with what is done before and behind."""

from __future__ import annotations

from typing import Any

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ..layers.activations import hard_sigmoid, leaky_relu
from ..layers.convolutions import conv
from ..ops.products import gemm
from ..registry import onnx_op
from .activations import DOMAIN


@onnx_op("FusedMatMul", domain=DOMAIN)
@onnx_op("TransposeMatMul", domain=DOMAIN)
def fused_matmul(
    a: Any,
    b: Any,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Any:
    found = tnp.matmul(_turned(a, transA, transBatchA), _turned(b, transB, transBatchB))
    return found if alpha == 1 else tnp.multiply(found, alpha)


def _turned(x: Any, is_transposed: int, is_batch_inside: int) -> Any:
    """Returns matrices; where `is_batch_inside` the first of the last two axes stands before the batch."""
    rank = len(x.shape)
    if is_batch_inside:
        if rank < 3:
            raise TenonError(f"shape {x.shape}, expected axes of a batch")
        x = tnp.permute_dims(x, (*range(1, rank - 1), 0, rank - 1))
    return tnp.matrix_transpose(x) if is_transposed and rank > 1 else x


def _activated(x: Any, name: str, numbers: list[float] | None) -> Any:
    given = numbers or []
    if name == "":
        return x
    if name in ("Relu", "Tanh", "Sigmoid") and not given:
        return {"Relu": nn.relu, "Tanh": tnp.tanh, "Sigmoid": nn.sigmoid}[name](x)
    if name == "LeakyRelu" and len(given) <= 1:
        return leaky_relu(x, alpha=given[0] if given else 0.01)
    if name == "Clip" and len(given) == 2:
        return tnp.clip(x, given[0], given[1])
    if name == "HardSigmoid" and len(given) == 2:
        return hard_sigmoid(x, alpha=given[0], beta=given[1])
    raise TenonError(f"activation {name!r} with the numbers {given} is not supported")


@onnx_op("FusedConv", domain=DOMAIN)
def fused_conv(
    x: Any,
    kernel: Any,
    bias: Any = None,
    added: Any = None,
    *,
    activation: str = "",
    activation_params: list[float] | None = None,
    auto_pad: str = "NOTSET",
    dilations: list[int] | None = None,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Any:
    found: Any = conv(
        x,
        kernel,
        bias,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return _activated(found if added is None else tnp.add(found, added), activation, activation_params)


@onnx_op("FusedGemm", domain=DOMAIN)
def fused_gemm(
    a: Any,
    b: Any,
    c: Any = None,
    *,
    activation: str = "",
    activation_alpha: float = 0.01,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    found = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    return _activated(found, activation, [activation_alpha] if activation == "LeakyRelu" else None)
