"""
Tensors of torch as numpy arrays and back, without a copy: in the order in which their elements lie in memory,
which is a permutation of the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from ...semantics.numpy_types import BF16
from .extents import expression_of, is_symbolic
from .library import torch_library

DType = np.dtype[Any]


@cache
def dtypes() -> dict[Any, DType]:
    """Returns numpy's dtype for each of torch's that there are arrays of."""
    torch = torch_library()
    names = ["bool", *(f"{kind}{bits}" for kind in ("uint", "int") for bits in (8, 16, 32, 64))]
    names += [f"float{bits}" for bits in (16, 32, 64)]
    found = {getattr(torch, name): np.dtype(name) for name in names}
    return found | {
        torch.bfloat16: BF16,
        torch.float8_e5m2: np.dtype(ml_dtypes.float8_e5m2),
        torch.float8_e4m3fn: np.dtype(ml_dtypes.float8_e4m3fn),
    }


@cache
def _bits(dtype: Any) -> Any:
    """Returns the dtype of torch whose numpy arrays hold a tensor, None for its own."""
    torch = torch_library()
    return {
        torch.bfloat16: torch.int16,
        torch.float8_e5m2: torch.uint8,
        torch.float8_e4m3fn: torch.uint8,
    }.get(dtype)


@cache
def _torch_dtype(dtype: DType) -> Any:
    return {mine: its for its, mine in dtypes().items()}[dtype]


def memory_order(shape: Sequence[Any], strides: Sequence[Any]) -> tuple[int, ...]:
    """
    Returns the axes from the slowest to the fastest in memory, where a tensor fills its memory without gaps;
    else the axes in their order, as it is copied then. Extents and strides may be symbolic.
    """
    rank = len(shape)
    plain = tuple(range(rank))
    order: list[int] = []
    step: Any = 1
    left = [axis for axis in plain if not _is(shape[axis], 1)]
    while left:
        inner = [axis for axis in left if _is(strides[axis], step)]
        if not inner:
            return plain
        order.insert(0, inner[-1])
        left.remove(inner[-1])
        step = step * shape[inner[-1]]
    if order == sorted(order):
        return plain
    ones = [axis for axis in plain if _is(shape[axis], 1)]
    return (*ones, *order)


def has_gaps(tensor: Any) -> bool:
    """Returns whether a tensor's elements, in whatever order, are not all of its memory: it is copied."""
    return not tensor.permute(memory_order(tensor.shape, tensor.stride())).is_contiguous()


def _is(extent: Any, value: Any) -> bool:
    """Returns whether two extents are known to be equal, without a guard for symbolic ones."""
    first, second = (expression_of(each) if is_symbolic(each) else each for each in (extent, value))
    return bool(first == second)


def values_of(tensor: Any, order: tuple[int, ...] | None) -> np.ndarray[Any, Any]:
    """Returns a tensor's elements with its axes in `order`, in its own memory wherever they lie so."""
    tensor = tensor.detach()
    if order is not None:
        tensor = tensor.permute(order)
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    bits = _bits(tensor.dtype)
    if bits is None:
        return tensor.numpy()
    return tensor.view(bits).numpy().view(dtypes()[tensor.dtype])


def tensor_of(values: np.ndarray[Any, Any], order: tuple[int, ...] | None) -> Any:
    """Returns a tensor in the memory of a numpy array, whose axes are in `order`."""
    torch = torch_library()
    its = _torch_dtype(values.dtype)
    bits = _bits(its)
    if bits is None:
        tensor = torch.from_numpy(values)
    else:
        tensor = torch.from_numpy(values.view(np.int16 if bits is torch.int16 else np.uint8)).view(its)
    if order is None:
        return tensor
    back = [0] * len(order)
    for place, axis in enumerate(order):
        back[axis] = place
    return tensor.permute(back)
