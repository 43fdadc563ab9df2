"""
The integers that floats were made of, where a model dequantises them: ops which multiply such floats multiply
integers instead, and QuantizeLinear rounds sums of integers. The formulas are those of onnxruntime's ops.

A value stays the array of floats that it is. `Forms` knows beside it what DequantizeLinear made it of, or
which sums of products it is; `form_op` says what an op is on such values. Floats that nobody reads then leave
nothing in a program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from .values import NumpyArray, Value

F = TypeVar("F", bound="FormRule")


@dataclass(frozen=True, slots=True)
class Codes:
    """Floats that are integers less a zero point, times a scale; both are as DequantizeLinear takes them."""

    integers: Value
    scale: Value
    zero: Value
    axis: int
    block_size: int

    @property
    def is_single(self) -> bool:
        """Returns whether all integers have one scale."""
        return tuple(self.scale.shape) in ((), (1,)) and not self.block_size

    def axis_of(self, rank: int) -> int | None:
        """Returns the axis that there is a scale for each index of; None for one scale, and for blocks."""
        return None if self.is_single or self.block_size else self.axis % max(rank, 1)

    def has_same_scale(self, scale: Value, zero: Value) -> bool:
        """Returns whether a scale and a zero point that are known are the own ones."""
        return all(
            one is other or _are_equal(one, other) for one, other in ((self.scale, scale), (self.zero, zero))
        )


@dataclass(frozen=True, slots=True)
class Sums:
    """Floats that are sums in int32 times factors."""

    total: Any
    factor: Any


Form = Codes | Sums


@dataclass(frozen=True, slots=True)
class FormCall:
    """A node with inputs that have forms."""

    op: str
    inputs: Sequence[Value]
    forms: Sequence[Form | None]
    attributes: Mapping[str, Any]
    plain: Callable[[Sequence[Value]], Value]
    """Returns what the op gives for some inputs by its usual rule."""
    lift: Callable[[Value], Any]

    def input(self, number: int) -> Value:
        return self.inputs[number] if number < len(self.inputs) else None

    def codes(self, number: int) -> Codes | None:
        """Returns the integers that an input was made of."""
        form = self.forms[number] if number < len(self.forms) else None
        return form if isinstance(form, Codes) else None


FormRule = Callable[[FormCall], "tuple[Value, Form | None] | None"]

_RULES: dict[str, FormRule] = {}


def form_op(*names: str) -> Callable[[F], F]:
    """
    Registers a function as what ops of ONNX's own domain are where inputs have forms; DequantizeLinear is
    always. It returns the result and its form, or None where the op is what it usually is.
    """

    def made(function: F) -> F:
        _RULES.update(dict.fromkeys(names, function))
        return function

    return made


def find_form_rule(domain: str, name: str) -> FormRule | None:
    """Returns what an op is on values that have forms."""
    return None if domain else _RULES.get(name)


class Forms:
    """What is known of values besides their floats, by their ids; they are kept as long."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[Value, Form]] = {}

    def of(self, values: Sequence[Value]) -> list[Form | None]:
        return [self._found.get(id(value), (None, None))[1] for value in values]

    def note(self, value: Value, form: Form | None) -> None:
        if form is not None:
            self._found[id(value)] = value, form


def _are_equal(one: Value, other: Value) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return False
    first, second = cast(NumpyArray, one), cast(NumpyArray, other)
    is_one = first.size == second.size == 1 and first.dtype == second.dtype
    return is_one and bool((first.ravel() == second.ravel()).all())
