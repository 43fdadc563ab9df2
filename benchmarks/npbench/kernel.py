"""What a kernel of NPBench is, and how its functions are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..contest import DisagreementError

Array = npt.NDArray[Any]
Size = Mapping[str, Any]

SIZES = ("tiny", "S", "M")
"""NPBench's own S and M, and one that takes no time, for tests."""


@dataclass(frozen=True)
class Kernel:
    """
    One kernel. Its functions take the arguments in order, and the sizes named in `static` by keyword. They
    change no argument.
    """

    name: str
    sizes: Mapping[str, Size]
    """By the names in `SIZES`."""
    inputs: Callable[[np.random.Generator, Size], Mapping[str, Any]]
    """Makes the arguments."""
    on_arrays: Callable[..., Any]
    """The kernel for libraries with numpy's names and loops of their own, whose `Side` comes first."""
    on_numpy: Callable[..., Any] | None = None
    """The kernel as users of numpy write it; None where that is `on_arrays`."""
    on_jax: Callable[..., Any] | None = None
    """What users of jax write differently from `on_arrays`; takes the `Side` first too."""
    loops: Callable[..., Any] | None = None
    """The kernel as loops over elements, which numba compiles."""
    static: tuple[str, ...] = ()
    tolerance: float = 1e-9
    """How far off a float may be, as a share of the largest one of its array; integers are exact."""
    chaotic_share: float = 0.0
    """The share of elements that may be anything, where the last bit of an input decides what they are."""

    def arguments(self, size: str) -> dict[str, Any]:
        """Returns new arguments, the same ones each time."""
        return dict(self.inputs(np.random.default_rng(42), self.sizes[size]))

    def options(self, size: str) -> dict[str, Any]:
        """Returns what functions take by keyword."""
        return {name: self.sizes[size][name] for name in self.static}


def sizes(tiny: Size, small: Size, medium: Size) -> dict[str, Size]:
    """Returns the sizes by name."""
    return dict(zip(SIZES, (tiny, small, medium), strict=True))


def uniform(
    dtype: type = np.float64, **shapes: Sequence[str] | float
) -> Callable[[np.random.Generator, Size], Mapping[str, Any]]:
    """
    Returns what makes arrays of numbers from 0 up to below 1, whose extents are sizes by name. A number
    stands for itself.
    """

    def inputs(generator: np.random.Generator, size: Size) -> Mapping[str, Any]:
        return {
            name: shape
            if isinstance(shape, float)
            else generator.random([size[each] for each in shape]).astype(dtype)
            for name, shape in shapes.items()
        }

    return inputs


def uniform_complex(generator: np.random.Generator, shape: Sequence[int]) -> Array:
    """Returns complex numbers whose parts are from 0 up to below 1."""
    return generator.random(shape) + 1j * generator.random(shape)


def parts(value: Any) -> Any:
    """Returns a complex array as the pair of its parts, anything else as it is."""
    if isinstance(value, np.ndarray) and np.iscomplexobj(value):
        return np.ascontiguousarray(value.real), np.ascontiguousarray(value.imag)
    return value


def check(kernel: Kernel, who: str, answer: Any, right: Any) -> None:
    """
    Checks an answer against numpy's: one array, or a tuple, in which pairs may stand for complex arrays.

    Raises:
        DisagreementError: the number of arrays, a shape or a kind of dtype is another one, or an element is
            too far off.
    """
    actual, expected = _flat(answer), _flat(right)
    if len(actual) != len(expected):
        raise DisagreementError(f"{kernel.name}: {who} gives {len(actual)} arrays, expected {len(expected)}")
    for number, (one, other) in enumerate(zip(actual, expected, strict=True)):
        if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
            raise DisagreementError(
                f"{kernel.name}: {who} gives {one.dtype}{list(one.shape)} as result {number}, "
                f"expected {other.dtype}{list(other.shape)}"
            )
        if not one.size:
            continue
        with np.errstate(over="ignore"):
            difference = np.abs(one - other) if other.dtype.kind == "f" else (one != other)
        limit = kernel.tolerance * float(np.max(np.abs(other))) if other.dtype.kind == "f" else 0
        wrong = ~(difference <= limit) & ~_both_nan(one, other)
        if np.count_nonzero(wrong) > kernel.chaotic_share * one.size:
            raise DisagreementError(
                f"{kernel.name}: {who} is off by up to {float(np.max(np.abs(difference))):g} in "
                f"{np.count_nonzero(wrong)} of {one.size} elements of result {number} (allowed {limit:g})"
            )


def _both_nan(one: Array, other: Array) -> Any:
    return (one != one) & (other != other)


def _flat(value: Any) -> list[Array]:
    if isinstance(value, tuple | list):
        return [array for each in value for array in _flat(each)]
    array = np.asarray(value)
    return _flat(parts(array)) if np.iscomplexobj(array) and array.ndim else [array]
