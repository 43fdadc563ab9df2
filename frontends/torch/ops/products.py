"""Products of matrices. Those of halves are added up in float32, as torch does, and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import nn
from ... import numpy as tnp
from .promotion import BOOL, FLOAT32, HALVES, as_dtype, computed_in
from .table import NotCoveredError, Traced, aten


@aten("mm.default", "bmm.default", "mv.default", "dot.default", "vdot.default", "matmul.default")
def mm(x: Traced, y: Traced) -> Traced:
    return as_dtype(_product(x, y), x.dtype)


def _product(x: Traced, y: Traced) -> Traced:
    """Returns a product of matrices in the dtype that it is computed in."""
    if x.dtype == BOOL:
        raise NotCoveredError("a product of booleans")
    wide = {"preferred_element_type": FLOAT32} if x.dtype in HALVES else {}
    return tnp.matmul(x, y, **wide)


@aten("addmm.default", "baddbmm.default", "addmv.default")
def addmm(x: Traced, y: Traced, z: Traced, *, beta: Any = 1, alpha: Any = 1) -> Traced:
    product = _product(y, z)
    if alpha != 1:
        product = product * as_dtype(alpha, product.dtype)
    if beta == 0:
        return as_dtype(product, x.dtype)
    added = as_dtype(x, product.dtype)
    if beta != 1:
        added = added * as_dtype(beta, product.dtype)
    return as_dtype(added + product, x.dtype)


@aten("_softmax.default")
def softmax(x: Traced, dim: int, half_to_float: bool) -> Traced:
    if half_to_float:
        raise NotCoveredError("half_to_float, which processors do not have")
    if not x.shape:
        return tnp.ones_like(x)
    return as_dtype(nn.softmax(as_dtype(x, computed_in(x.dtype)), axis=dim), x.dtype)


@aten("_safe_softmax.default")
def safe_softmax(x: Traced, dim: int, dtype: Any = None) -> Traced:
    """A softmax that is 0 where all that it is over is minus infinity."""
    of = dtype or x.dtype
    value = as_dtype(x, computed_in(of))
    nothing = tnp.all(tnp.equal(value, as_dtype(float("-inf"), value.dtype)), axis=dim, keepdims=True)
    return as_dtype(tnp.where(nothing, as_dtype(0, value.dtype), nn.softmax(value, axis=dim)), of)


@aten("_log_softmax.default")
def log_softmax(x: Traced, dim: int, half_to_float: bool) -> Traced:
    if half_to_float:
        raise NotCoveredError("half_to_float, which processors do not have")
    if not x.shape:
        return tnp.zeros_like(x)
    return as_dtype(nn.log_softmax(as_dtype(x, computed_in(x.dtype)), axis=dim), x.dtype)


@aten("_cdist_forward.default")
def cdist(x: Traced, y: Traced, p: float, compute_mode: int | None) -> Traced:
    apart = tnp.abs(tnp.expand_dims(x, -2) - tnp.expand_dims(y, -3))
    if p == 0:
        return tnp.sum(as_dtype(tnp.not_equal(apart, 0), x.dtype), axis=-1)
    if p == 1:
        return tnp.sum(apart, axis=-1)
    if p == 2:
        return tnp.sqrt(tnp.sum(apart * apart, axis=-1))
    if np.isinf(p):
        return tnp.max(apart, axis=-1)
    return tnp.pow(tnp.sum(tnp.pow(apart, p), axis=-1), 1 / p)
