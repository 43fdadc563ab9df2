"""Steps of optimisers, by the formulas of `ai.onnx.preview.training`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....errors import TenonError
from ... import numpy as tnp
from ..registry import onnx_op

_DOMAIN = "ai.onnx.preview.training"


def _stepped(step: Callable[..., tuple[Any, ...]], arrays: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    """
    Returns what a step makes of each of several tensors. All tensors come first, then all gradients, and so
    on, `count` arrays for a tensor; results are in the same order.
    """
    n_tensors, left = divmod(len(arrays), count)
    if left or not n_tensors:
        raise TenonError(f"{len(arrays)} inputs for tensors, expected {count} for each")
    made = [step(*arrays[k::n_tensors]) for k in range(n_tensors)]
    return tuple(found for each in zip(*made, strict=True) for found in each)


def _regularised(x: Any, gradient: Any, coefficient: float) -> Any:
    return tnp.add(tnp.multiply(x, coefficient), gradient)


@onnx_op("Adagrad", domain=_DOMAIN)
def adagrad(
    rate: Any,
    count: Any,
    *arrays: Any,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> Any:
    decayed = tnp.divide(rate, tnp.add(tnp.multiply(tnp.astype(count, rate.dtype), decay_factor), 1))

    def step(x: Any, gradient: Any, squares: Any) -> tuple[Any, ...]:
        gradient = _regularised(x, gradient, norm_coefficient)
        total = tnp.add(squares, tnp.multiply(gradient, gradient))
        adaptive = tnp.add(tnp.sqrt(total), epsilon)
        return tnp.subtract(x, tnp.divide(tnp.multiply(decayed, gradient), adaptive)), total

    return _stepped(step, arrays, 3)


@onnx_op("Adam", domain=_DOMAIN)
def adam(
    rate: Any,
    count: Any,
    *arrays: Any,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> Any:
    times = tnp.astype(count, rate.dtype)
    raised = [tnp.subtract(1, tnp.pow(tnp.full_like(rate, each), times)) for each in (beta, alpha)]
    adjusted = tnp.divide(tnp.multiply(rate, tnp.sqrt(raised[0])), raised[1])
    adjusted = tnp.where(tnp.greater(count, 0), adjusted, rate)

    def step(x: Any, gradient: Any, mean: Any, squares: Any) -> tuple[Any, ...]:
        gradient = _regularised(x, gradient, norm_coefficient)
        mean = tnp.add(tnp.multiply(mean, alpha), tnp.multiply(gradient, 1 - alpha))
        squares = tnp.add(
            tnp.multiply(squares, beta), tnp.multiply(tnp.multiply(gradient, gradient), 1 - beta)
        )
        moved = tnp.divide(tnp.multiply(adjusted, mean), tnp.add(tnp.sqrt(squares), epsilon))
        return tnp.multiply(tnp.subtract(x, moved), 1 - norm_coefficient_post), mean, squares

    return _stepped(step, arrays, 4)


@onnx_op("Momentum", domain=_DOMAIN)
def momentum(
    rate: Any, count: Any, *arrays: Any, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> Any:
    if mode not in ("standard", "nesterov"):
        raise TenonError(f"mode is {mode!r}, expected standard or nesterov")
    # The first step takes the gradient as it is.
    share = tnp.where(tnp.greater(count, 0), tnp.full_like(rate, beta), tnp.ones_like(rate))

    def step(x: Any, gradient: Any, velocity: Any) -> tuple[Any, ...]:
        gradient = _regularised(x, gradient, norm_coefficient)
        velocity = tnp.add(tnp.multiply(velocity, alpha), tnp.multiply(share, gradient))
        along = velocity
        if mode == "nesterov":
            along = tnp.add(gradient, tnp.multiply(velocity, alpha))
        return tnp.subtract(x, tnp.multiply(rate, along)), velocity

    return _stepped(step, arrays, 3)
