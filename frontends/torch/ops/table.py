"""The table of ATen's ops: for each name the function over traced arrays that it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from ....errors import TenonError

F = TypeVar("F", bound=Callable[..., Any])

Traced: TypeAlias = Any
"""A traced array, which functions of `tenon.numpy` give in a trace; they are typed to give any array."""

DEFAULT_FLOAT: ContextVar[str] = ContextVar("DEFAULT_FLOAT", default="float32")
"""The dtype that torch makes of integers where an op gives floats: `torch.get_default_dtype()`."""


class NotCoveredError(TenonError):
    """An op, or a way to call it, that is left to torch. The message says why."""


class Wanted(NamedTuple):
    """What torch says that an op gives; its extents may be expressions of dims."""

    dtype: np.dtype[Any]
    shape: tuple[Any, ...]


class Layout(NamedTuple):
    """How an operand lies in memory: the order of its axes, whether there are gaps, and where it begins."""

    order: tuple[int, ...]
    has_gaps: bool
    offset: Any


class AtenOp(NamedTuple):
    """A function over traced arrays, and the names of its parameters."""

    function: Callable[..., Any]
    parameters: frozenset[str]


TABLE: dict[str, AtenOp] = {}
"""By names as torch prints them, `add.Tensor`; ops of another namespace have it in front, `prims::iota`."""


def aten(*names: str) -> Callable[[F], F]:
    """
    Enters a function for ops of these names. It gets the arguments of the op: tensors as traced arrays,
    dtypes as numpy's, symbolic integers as extents. It is not told of devices, layouts and memory formats,
    unless it has parameters for them. Where it has a parameter `wanted` that is what torch says the op gives,
    a `Wanted` or a tuple of them, and where it has a parameter `layouts` the `Layout` of each tensor. `fits`
    is whether torch sees to it at each call that the third argument is along no axis longer than the fourth.
    """

    def entered(function: F) -> F:
        op = AtenOp(function, frozenset(inspect.signature(function).parameters))
        for name in names:
            assert name not in TABLE, f"{name} is in the table already"
            TABLE[name] = op
        return function

    return entered
