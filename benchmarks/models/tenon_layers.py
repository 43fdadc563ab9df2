"""Tenon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tenon
import tenon.numpy as tnp
from tenon import nn

from .scanned_layers import ScannedLayers


class TenonLayers(ScannedLayers):
    def __init__(self) -> None:
        super().__init__(tnp)

    def conv(self, x: Any, weight: Any, stride: int, padding: int) -> Any:
        return nn.conv(x, weight, strides=stride, padding=padding)

    def upsample(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.with_bias(nn.conv_transpose(x, weight, strides=2), bias)

    def max_pool(self, x: Any, window: int, stride: int, padding: int) -> Any:
        return nn.max_pool(x, window, strides=stride, padding=padding)

    def gelu(self, x: Any) -> Any:
        return nn.gelu(x)

    def relu(self, x: Any) -> Any:
        return nn.relu(x)

    def sigmoid(self, x: Any) -> Any:
        return nn.sigmoid(x)

    def softmax(self, x: Any) -> Any:
        return nn.softmax(x)

    def scan(self, body: Callable[..., Any], initial: Any, inputs: Any) -> Any:
        return tenon.scan(body, initial, inputs)[1]
