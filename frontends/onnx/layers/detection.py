"""What finds objects in images, and terms in texts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...arrays.array import Array
from ..graphs import Context
from ..registry import onnx_op
from ..values import NumpyArray
from .convolutions import padding_of
from .sampling import Images, interpolated


def _corners(boxes: NumpyArray, is_center: bool) -> NumpyArray:
    """Returns boxes as their least and greatest coordinates along two axes."""
    if is_center:
        half = boxes[..., 2:] / 2
        return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], -1)
    pairs = boxes.reshape(*boxes.shape[:-1], 2, 2)
    return np.concatenate([pairs.min(-2), pairs.max(-2)], -1)


def _overlaps(box: NumpyArray, others: NumpyArray) -> NumpyArray:
    """Returns what a box has in common with others, as parts of what they cover together."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    common = np.clip(high - low, 0, None).prod(-1)
    area = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(-1)
    return np.divide(common, area - common, out=np.zeros_like(common), where=area > common)


@onnx_op(
    "NonMaxSuppression",
    since=10,
    known=("boxes", "scores", "most", "iou_threshold", "score_threshold"),
)
def non_max_suppression(
    boxes: Any,
    scores: Any,
    most: Any = None,
    iou_threshold: Any = None,
    score_threshold: Any = None,
    *,
    center_point_box: int = 0,
) -> Any:
    """The boxes of each class in the order of their scores, without those that overlap with better ones."""
    count = 0 if most is None else int(most.reshape(()))
    limit = 0.0 if iou_threshold is None else float(iou_threshold.reshape(()))
    least = -np.inf if score_threshold is None else float(score_threshold.reshape(()))
    corners = _corners(boxes, bool(center_point_box))
    found: list[tuple[int, int, int]] = []
    for image, of_image in enumerate(scores):
        for kind, of_kind in enumerate(of_image):
            order = np.argsort(-of_kind, kind="stable")
            left = order[of_kind[order] > least] if score_threshold is not None else order
            taken = 0
            while len(left) and taken < count:
                best, left = left[0], left[1:]
                found.append((image, kind, int(best)))
                taken += 1
                left = left[_overlaps(corners[image, best], corners[image, left]) <= limit]
    return np.array(found, np.int64).reshape(-1, 3)


@onnx_op("DeformConv", since=19)
def deformable_convolution(
    x: Any,
    kernel: Any,
    offsets: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    dilations: list[int] | None = None,
    group: int = 1,
    kernel_shape: list[int] | None = None,
    offset_group: int = 1,
    pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Array:
    """A convolution whose windows take elements at places that `offsets` moves, interpolated."""
    if len(x.shape) != 4:
        raise TenonError(f"images of two axes are expected (shape {x.shape})")
    steps, apart = strides or [1, 1], dilations or [1, 1]
    sizes = kernel.shape[2:]
    widths = padding_of("NOTSET", pads, x.shape[2:], sizes, steps)
    batch, channels = x.shape[:2]
    n_taps = sizes[0] * sizes[1]
    places = tuple(offsets.shape[2:])
    shape = (batch * offset_group, n_taps, *places)
    moved = tnp.reshape(offsets, (batch * offset_group, n_taps, 2, *places))
    axes: list[Any] = []
    for axis in range(2):
        at: NumpyArray = np.arange(places[axis], dtype=np.int64) * steps[axis] - widths[axis][0]
        taps: NumpyArray = np.arange(n_taps, dtype=np.int64)
        tap = (taps // sizes[1] if axis == 0 else taps % sizes[1]) * apart[axis]
        own = [1, 1]
        own[axis] = places[axis]
        regular = tap.reshape(-1, 1, 1) + at.reshape(own)
        regular = np.broadcast_to(regular, shape[1:]).astype(x.dtype)
        constant = x.trace.constant(np.ascontiguousarray(regular))
        axes.append(tnp.add(moved[:, :, axis], constant))
    images = tnp.reshape(x, (batch * offset_group, channels // offset_group, *x.shape[2:]))
    found = interpolated(Images(images, shape, "zeros", False), axes, "linear")
    if mask is not None:
        found = tnp.multiply(found, tnp.reshape(mask, (*shape, 1)))
    found = tnp.reshape(found, (batch, offset_group, n_taps, *places, channels // offset_group))
    found = tnp.transpose(found, (0, 1, 5, 2, 3, 4))
    rows = tnp.reshape(found, (batch, group, channels // group * n_taps, places[0] * places[1]))
    weights = tnp.reshape(kernel, (group, kernel.shape[0] // group, channels // group * n_taps))
    result = tnp.reshape(tnp.matmul(weights, rows), (batch, kernel.shape[0], *places))
    return result if bias is None else tnp.add(result, tnp.reshape(bias, (kernel.shape[0], 1, 1)))


@onnx_op("TfIdfVectorizer", since=9)
def term_frequencies(
    x: Any,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: list[int],
    ngram_indexes: list[int],
    pool_int64s: list[int] | None = None,
    pool_strings: list[str] | None = None,
    weights: list[float] | None = None,
    context: Context,
) -> Array:
    """How often each of some sequences of numbers is in each row, also with so many others in between."""
    if pool_int64s is None or mode not in ("TF", "IDF", "TFIDF"):
        raise TenonError(f"terms of integers are supported, in the modes TF, IDF and TFIDF (mode {mode!r})")
    float32 = np.dtype(np.float32)
    rows = tnp.reshape(x, (1, x.shape[0])) if len(x.shape) == 1 else x
    starts = [*ngram_counts, len(pool_int64s)]
    columns: list[Any] = []
    for length, (first, end) in enumerate(pairwise(starts), 1):
        terms = np.array(pool_int64s[first:end], np.int64).reshape(-1, length)
        if not len(terms):
            continue
        counts: Any = tnp.zeros((rows.shape[0], len(terms)), dtype=float32)
        if min_gram_length <= length <= max_gram_length:
            for skip in range(max_skip_count + 1 if length > 1 else 1):
                counts = tnp.add(counts, _occurrences(rows, terms, skip + 1, context))
        columns.append(counts)
    order = np.argsort(np.array(ngram_indexes))
    size = max(ngram_indexes) + 1
    if sorted(ngram_indexes) != list(range(size)):
        raise TenonError(f"ngram_indexes are {ngram_indexes}, expected each from 0 on once")
    counts = tnp.take(tnp.concat(columns, axis=1), context.lift(order), axis=1)
    if mode != "TF":
        factors = np.ones(size) if weights is None else np.array(weights)[order]
        given = counts if mode == "TFIDF" else tnp.astype(tnp.greater(counts, 0), float32)
        counts = tnp.multiply(given, context.lift(factors.astype(np.float32)))
    return tnp.reshape(counts, (size,)) if len(x.shape) == 1 else counts


def _occurrences(rows: Any, terms: NumpyArray, step: int, context: Context) -> Any:
    """Returns how often each term is in each row, with elements `step` apart."""
    length = terms.shape[1]
    n_places = rows.shape[1] - (length - 1) * step
    if n_places < 1:
        return tnp.zeros((rows.shape[0], len(terms)), dtype=np.dtype(np.float32))
    found: Any = None
    for k in range(length):
        part = tnp.expand_dims(rows[:, k * step : k * step + n_places], -1)
        equal = tnp.equal(part, context.lift(np.ascontiguousarray(terms[:, k]).astype(rows.dtype)))
        found = equal if found is None else tnp.logical_and(found, equal)
    return tnp.sum(tnp.astype(found, np.dtype(np.float32)), axis=1)
