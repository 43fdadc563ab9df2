"""
Ops of lists of tensors, which torch's optimizers and its clipping of gradients call where `foreach` is on,
written as one op for each tensor: `torch._foreach_add(xs, ys)` is `torch.add(x, y)` of each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from .library import torch_library

_PREFIX = "_foreach_"

_NAMED_ALIKE = (
    *("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac"),
    *("lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign"),
    *("sin", "sinh", "sqrt", "tan", "tanh", "trunc", "clone", "max", "mm"),
    *("add", "clamp_max", "clamp_min", "div", "lerp", "mul", "pow", "sub"),
)
"""Ops that are, for each tensor, what torch has by that name."""


def foreach_ops() -> dict[Any, Callable[..., Any]]:
    """Returns by op of lists the function that computes it with ops of tensors."""
    torch = torch_library()
    functions: dict[str, Callable[..., Any]] = {name: getattr(torch, name) for name in _NAMED_ALIKE}
    functions |= {
        "addcdiv": _addcdiv,
        "addcmul": _addcmul,
        "copy": torch.ops.aten.copy,
        # These two take numbers too.
        "maximum": torch.clamp_min,
        "minimum": torch.clamp_max,
        "norm": _norm,
        "zero": torch.zeros_like,
    }
    found: dict[Any, Callable[..., Any]] = {}
    for name, function in functions.items():
        packet = getattr(torch.ops.aten, _PREFIX + name, None)
        for overload in () if packet is None else packet.overloads():
            if not overload.endswith("out"):
                found[getattr(packet, overload)] = _of_each(function)
    return found


def _of_each(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """Returns a function that calls another one with one element of each list among its arguments."""

    def of_lists(*arguments: Any, **named: Any) -> list[Any]:
        lists: list[Any] = [value for value in arguments if isinstance(value, list | tuple)]
        return [
            function(*(_element(value, place) for value in arguments), **named)
            for place in range(max(map(len, lists)))
        ]

    return of_lists


def _element(value: Any, place: int) -> Any:
    return cast("Sequence[Any]", value)[place] if isinstance(value, list | tuple) else value


def _addcdiv(x: Any, y: Any, z: Any, value: Any = 1) -> Any:
    return torch_library().addcdiv(x, y, z, value=value)


def _addcmul(x: Any, y: Any, z: Any, value: Any = 1) -> Any:
    return torch_library().addcmul(x, y, z, value=value)


def _norm(x: Any, ord: Any = 2, dtype: Any = None) -> Any:
    return torch_library().linalg.vector_norm(x, ord, dtype=dtype)
