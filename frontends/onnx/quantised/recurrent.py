"""Recurrent layers whose weights are integers of 8 bits: onnxruntime's DynamicQuantizeLSTM."""

from __future__ import annotations

from typing import Any

from ....errors import TenonError
from ... import numpy as tnp
from ..layers.recurrent import lstm_of
from ..registry import onnx_op
from .linear import FLOAT32, dynamically_quantised, is_single
from .products import integer_product


def _product(weights: Any, scale: Any, zero: Any, number: int) -> Any:
    """
    Returns a function that quantises rows of floats by their bounds, and multiplies them by the weights of a
    direction, which have the axes direction, input and gate.
    """
    w = weights[number]
    scales: Any = tnp.reshape(scale, ()) if is_single(scale) else scale[number]
    zeros: Any = zero if zero is None or is_single(zero) else zero[number]

    def product(x: Any) -> Any:
        lead, depth = x.shape[:-1], x.shape[-1]
        codes, x_scale, x_zero = dynamically_quantised(x)
        total = integer_product(tnp.reshape(codes, (-1, depth)), w, x_zero, zeros)
        factor = tnp.multiply(x_scale, scales)
        return tnp.reshape(tnp.multiply(tnp.astype(total, FLOAT32), factor), (*lead, w.shape[1]))

    return product


@onnx_op("DynamicQuantizeLSTM", domain="com.microsoft", either=("kernel_zero", "recurrence_zero"))
def dynamic_quantize_lstm(
    x: Any,
    kernel: Any,
    recurrence: Any,
    bias: Any = None,
    lengths: Any = None,
    initial: Any = None,
    initial_cell: Any = None,
    peepholes: Any = None,
    kernel_scale: Any = None,
    kernel_zero: Any = None,
    recurrence_scale: Any = None,
    recurrence_zero: Any = None,
    *,
    activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None,
    activations: list[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
) -> tuple[Any, ...]:
    """
    An LSTM whose inputs, all steps together, and whose hidden state, in each step, are quantised as by
    DynamicQuantizeLinear. Weights have the axes direction, input and gate, a scale for all of a direction or
    for each gate of it.
    """
    if kernel_scale is None or recurrence_scale is None:
        raise TenonError("weights without scales")
    for each in (kernel, recurrence):
        if each.dtype.name not in ("int8", "uint8") or len(each.shape) != 3:
            raise TenonError(
                f"weights are {each.dtype} of shape {each.shape}, expected int8 or uint8, 3 axes"
            )

    def of_inputs(number: int) -> Any:
        return _product(kernel, kernel_scale, kernel_zero, number)

    def of_state(number: int) -> Any:
        return _product(recurrence, recurrence_scale, recurrence_zero, number)

    return lstm_of(
        x,
        (tnp.swapaxes(kernel, 1, 2), tnp.swapaxes(recurrence, 1, 2)),
        bias,
        lengths,
        initial,
        initial_cell,
        peepholes,
        numbers=(activation_alpha, activation_beta),
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
        products=(of_inputs, of_state),
    )
