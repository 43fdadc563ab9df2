"""
Factors that torch leaves open, as a learning rate that a schedule changes, written as products of tensors:
torch makes a tensor of an open number where a product has it, and compiles anew for each number where another
op does.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from .library import torch_library


def ops_with_factors() -> dict[Any, Callable[..., Any]]:
    """Returns by op the function that computes it with products, and not where the factor is known."""
    aten = torch_library().ops.aten
    return {
        aten.add.Tensor: _open("alpha", _add),
        aten.sub.Tensor: _open("alpha", _sub),
        aten.addcdiv.default: _open("value", _addcdiv),
        aten.addcmul.default: _open("value", _addcmul),
    }


def _open(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns an op whose factor has a name, for open ones; halves are rounded once, as by torch's own."""

    def with_factor(*tensors: Any, **named: Any) -> Any:
        factor = named.get(name)
        if type(factor).__name__ != "SymFloat":
            return NotImplemented
        known = import_module("torch._prims_common")
        within, dtype = known.elementwise_dtypes(
            *tensors, type_promotion_kind=known.ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
        )
        return function(*(each.to(within) for each in tensors), factor).to(dtype)

    return with_factor


def _add(x: Any, y: Any, factor: Any) -> Any:
    return x + y * factor


def _sub(x: Any, y: Any, factor: Any) -> Any:
    return x - y * factor


def _addcdiv(x: Any, y: Any, z: Any, factor: Any) -> Any:
    return x + y * factor / z


def _addcmul(x: Any, y: Any, z: Any, factor: Any) -> Any:
    return x + y * factor * z
