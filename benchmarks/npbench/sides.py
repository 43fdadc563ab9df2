"""What `on_arrays` is written over: a library with numpy's names, its loops, and its convolution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Side:
    """A library; loops have the signatures of `tenon`, which are those of `jax.lax`."""

    np: Any
    fori_loop: Callable[..., Any]
    scan: Callable[..., Any]
    while_loop: Callable[..., Any]
    convolve: Callable[[Any, Any], Any]
    """Of images (batch, rows, columns, channels) with kernels (rows, columns, inputs, outputs), unpadded."""


def numpy_side() -> Side:
    """Returns numpy, which has no loops to compile: kernels with loops have an `on_numpy`."""

    def convolve(images: Any, kernel: Any) -> Any:
        windows = np.lib.stride_tricks.sliding_window_view(images, kernel.shape[:2], axis=(1, 2))
        return np.tensordot(windows, kernel, axes=((4, 5, 3), (0, 1, 2)))

    return Side(np, _none, _none, _none, convolve)


def tenon_side() -> Side:
    """Returns Tenon."""
    import tenon
    import tenon.numpy as tnp
    from tenon import nn

    def convolve(images: Any, kernel: Any) -> Any:
        x, w = tnp.permute_dims(images, (0, 3, 1, 2)), tnp.permute_dims(kernel, (3, 2, 0, 1))
        return tnp.permute_dims(nn.conv(x, w), (0, 2, 3, 1))

    return Side(tnp, tenon.fori_loop, tenon.scan, tenon.while_loop, convolve)


def jax_side() -> Side:
    """Returns jax."""
    import jax
    import jax.numpy as jnp

    def convolve(images: Any, kernel: Any) -> Any:
        return jax.lax.conv_general_dilated(
            images, kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    return Side(jnp, jax.lax.fori_loop, jax.lax.scan, jax.lax.while_loop, convolve)


def _none(*_: Any) -> Any:
    raise AssertionError("numpy has no compiled loops")
