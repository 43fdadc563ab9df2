"""Transforms of signals: sums of products with waves, whose real and imaginary parts are the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ...numpy.arguments.axes import axis_of
from ..graphs import Context
from ..registry import onnx_op
from ..tensors import dtype_of_number
from ..values import NumpyArray, check_count, ints


def _waves(length: int, count: int, inverse: bool) -> tuple[NumpyArray, NumpyArray]:
    """Returns the real and the imaginary parts of waves, of which each has `length` elements."""
    check_count("a transform", length * count)
    # The product is taken modulo the length first, as the angle of a large one is not exact.
    turns = np.outer(np.arange(length), np.arange(count)) % length / length
    angles = (2 if inverse else -2) * np.pi * turns
    factor = 1 / length if inverse else 1.0
    return np.cos(angles) * factor, np.sin(angles) * factor


def _transformed(x: Any, length: int, inverse: bool, onesided: bool, context: Context) -> Any:
    """Returns the transform along the axis before the last, which has `length` elements."""
    rows = tnp.swapaxes(x, -1, -2)
    is_back = inverse and onesided
    count = length // 2 + 1 if onesided and not inverse else length
    if is_back:
        rows = _whole(rows, length)
    cosines, sines = (context.lift(each.astype(x.dtype)) for each in _waves(length, count, inverse))
    real = rows[..., 0, :]
    parts = [tnp.matmul(real, cosines), tnp.matmul(real, sines)]
    if x.shape[-1] == 2:
        imaginary = rows[..., 1, :]
        parts[0] = tnp.subtract(parts[0], tnp.matmul(imaginary, sines))
        parts[1] = tnp.add(parts[1], tnp.matmul(imaginary, cosines))
    return tnp.expand_dims(parts[0], -1) if is_back else tnp.stack(parts, axis=-1)


def _whole(rows: Any, length: int) -> Any:
    """Returns the spectrum of a real signal of which the first half is given: the rest are its conjugates."""
    if rows.shape[-2] != 2:
        raise TenonError("the inverse of one side of a spectrum needs real and imaginary parts")
    n_rest = length - rows.shape[-1]
    rest = tnp.flip(rows[..., 1 : n_rest + 1], axis=-1)
    turned = tnp.stack([rest[..., 0, :], tnp.negative(rest[..., 1, :])], axis=-2)
    return tnp.concat([rows, turned], axis=-1)


def _fitted(x: Any, axis: int, length: int) -> Any:
    """Returns `x` cut, or with zeros behind, so that an axis has so many elements."""
    extent = x.shape[axis]
    if extent >= length:
        return x[(*[slice(None)] * axis, slice(0, length))]
    widths = [(0, 0)] * len(x.shape)
    widths[axis] = (0, length - extent)
    return tnp.pad(x, widths)


@onnx_op("DFT", since=20, known=("dft_length", "axis"))
def discrete_fourier_transform(
    x: Array,
    dft_length: Any = None,
    axis: Any = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
    context: Context,
) -> Array:
    rank = len(x.shape)
    place = axis_of("DFT", -2 if axis is None else int(ints(axis)[0]), rank)
    if place == rank - 1 or x.shape[-1] not in (1, 2):
        raise TenonError(f"axis {place} of shape {x.shape}, whose last axis has one part or two")
    if onesided and not inverse and x.shape[-1] == 2:
        raise TenonError("one side of the spectrum of complex numbers is not all of it")
    default = 2 * (x.shape[place] - 1) if inverse and onesided else x.shape[place]
    length = default if dft_length is None else int(ints(dft_length)[0])
    if length < 1:
        raise TenonError(f"a transform of {length} elements")
    kept = length // 2 + 1 if inverse and onesided else length
    rows = tnp.moveaxis(_fitted(x, place, kept), place, -2)
    found = _transformed(rows, length, bool(inverse), bool(onesided), context)
    return tnp.moveaxis(found, -2, place)


@onnx_op("DFT", since=17, known=("dft_length",))
def discrete_fourier_transform_along(
    x: Array,
    dft_length: Any = None,
    *,
    axis: int = 1,
    inverse: int = 0,
    onesided: int = 0,
    context: Context,
) -> Array:
    return discrete_fourier_transform(
        x, dft_length, np.array(axis), inverse=inverse, onesided=onesided, context=context
    )


@onnx_op("STFT", since=17, known=("frame_step", "frame_length"))
def short_time_fourier_transform(
    x: Any,
    frame_step: Any,
    window: Any = None,
    frame_length: Any = None,
    *,
    onesided: int = 1,
    context: Context,
) -> Array:
    """The transforms of frames that begin so many elements apart, each times the window."""
    if window is None and frame_length is None:
        raise TenonError("expected a window or frame_length")
    step = int(ints(frame_step)[0])
    length: int = 0 if window is None else window.shape[0]
    length = length if frame_length is None else int(ints(frame_length)[0])
    if step < 1 or not 1 <= length <= x.shape[1]:
        raise TenonError(f"frames of {length} elements, {step} apart, of shape {x.shape}")
    n_frames = (x.shape[1] - length) // step + 1
    places: NumpyArray = np.arange(n_frames, dtype=np.int64)
    places = places[:, None] * step + np.arange(length)
    frames: Any = tnp.take(x, context.lift(places), axis=1)
    if window is not None:
        frames = tnp.multiply(frames, tnp.reshape(window, (length, 1)))
    one_side = bool(onesided) and x.shape[-1] == 1
    return _transformed(frames, length, False, one_side, context)


@onnx_op(
    "MelWeightMatrix",
    since=17,
    known=("n_mel_bins", "dft_length", "sample_rate", "lower_hertz", "upper_hertz"),
)
def mel_weights(
    n_mel_bins: Any,
    dft_length: Any,
    sample_rate: Any,
    lower_hertz: Any,
    upper_hertz: Any,
    *,
    output_datatype: int = 1,
) -> Any:
    """Triangles on the spectrum, equally wide on the mel scale: each rises where the one before falls."""
    count, length, rate = (int(ints(each)[0]) for each in (n_mel_bins, dft_length, sample_rate))
    low, high = (2595 * np.log10(1 + float(each.reshape(())) / 700) for each in (lower_hertz, upper_hertz))
    n_bins = length // 2 + 1
    check_count("MelWeightMatrix", n_bins * max(count, 1))
    mels = low + np.arange(count + 2) * ((high - low) / (count + 2))
    edges = np.floor((length + 1) * (700 * (10 ** (mels / 2595) - 1)) / rate).astype(np.int64)
    bins = np.arange(n_bins)[:, None]
    first, middle, last = edges[:-2], edges[1:-1], edges[2:]
    rising = (bins - first) / np.maximum(middle - first, 1)
    falling = (last - bins) / np.maximum(last - middle, 1)
    weights = np.where((bins >= first) & (bins <= middle), rising, 0.0)
    weights = np.where((bins == middle) & (first == middle), 1.0, weights)
    weights = np.where((bins >= middle) & (bins < last), falling, weights)
    return weights.astype(dtype_of_number(output_datatype, "MelWeightMatrix"))
