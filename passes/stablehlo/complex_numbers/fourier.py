"""
Fourier transforms as products with matrices.

A transform of n1 * n2 elements is n2 of n1, a product with roots of one, and n1 of n2 (Cooley and Tukey, An
algorithm for the machine calculation of complex Fourier series, 1965); one of few elements, or of a prime
number, is a product with the matrix of those roots, at the rate of a processor's multiply-adds. A large prime
is a convolution, whose transforms are of a power of two (Bluestein, A linear filtering approach to the
computation of discrete Fourier transform, 1970). Roots are computed in f64, from whole numbers of turns.

Parts lie in an axis of their own in front of the last one: `tensor<...x2xnxf32>`, real numbers in one of 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....algorithms.contraction import dot
from ....dialects import graph, stablehlo
from ....dialects.graph import tensor_of
from ....dialects.stablehlo import FftType
from ..conversion import Conversion

Array = npt.NDArray[np.complex128]

_MATRIX = 32
"""The most elements of a transform that is one product, where it can be made of smaller ones."""

_PRIME_MATRIX = 256
"""The most elements of one that is a product where there are no smaller ones."""


def transform(c: Conversion, op: stablehlo.FftOp, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Returns the parts of transforms along the last dims, of real numbers or of parts of complex ones."""
    lengths = [*(op.ints("fft_length") or ())]
    kind = FftType.FFT if op.fft_type is None else op.fft_type.data
    is_real = kind in (FftType.RFFT, FftType.IRFFT)
    if (is_real and len(values) != (1 if kind is FftType.RFFT else 2)) or (not is_real and len(values) != 2):
        raise VerifyException(f"{op.name}: {kind.value} is not of such numbers")
    shape = c.shape(values[0])
    rank = len(shape)
    if not 1 <= len(lengths) <= min(3, rank):
        raise VerifyException(f"{op.name}: {len(lengths)} lengths, expected 1 to 3, and no more than dims")
    found = c.static(shape[rank - len(lengths) :], "the extent that is transformed")
    wanted = lengths if kind is not FftType.IRFFT else [*lengths[:-1], lengths[-1] // 2 + 1]
    if list(found) != wanted:
        raise VerifyException(f"{op.name}: transforms {list(found)}, expected {wanted}")
    work = _Transform(c, c.element(values[0]), backward=kind in (FftType.IFFT, FftType.IRFFT))
    last, others = rank - 1, range(rank - len(lengths), rank - 1)
    if not all(lengths):
        n = lengths[-1] // 2 + 1 if kind is FftType.RFFT else lengths[-1]
        return [c.full(0.0, c.element(values[0]), (*shape[:last], n))] * (1 if kind is FftType.IRFFT else 2)
    if kind is FftType.RFFT:
        half = lengths[-1] // 2 + 1
        values = [c.part(part, last, 0, half) for part in work.along_last(values, 2)]
    if kind is FftType.FFT or kind is FftType.IFFT:
        values = work.along_last(values, 2)
    for axis in others:
        values = work.along(values, axis)
    if kind is FftType.IRFFT:
        return work.along_last(work.whole(values, lengths[-1]), 1)
    return values


class _Transform:
    """Writes transforms in one direction; those that go back are divided by the number of elements."""

    def __init__(self, c: Conversion, element: Attribute, backward: bool) -> None:
        self._c, self._element = c, element
        self._backward = backward

    def along(self, values: Sequence[SSAValue], axis: int) -> Sequence[SSAValue]:
        """Returns the parts of transforms along an axis, of the parts of complex numbers."""
        c = self._c
        rank = len(c.shape(values[0]))
        order = [*range(axis), *range(axis + 1, rank), axis]
        back = [*range(axis), rank - 1, *range(axis, rank - 1)]
        moved = self.along_last([c.permute(value, order) for value in values], 2)
        return [c.permute(part, back) for part in moved]

    def along_last(self, values: Sequence[SSAValue], n_parts: int) -> Sequence[SSAValue]:
        """Returns the first so many parts of transforms along the last axis."""
        (n,) = self._c.static(self._c.shape(values[0])[-1:], "the extent that is transformed")
        scale = 1.0 / n if self._backward else 1.0
        return self._parted(self._transformed(self._joined(values), n, n_parts, self._backward, scale))

    def whole(self, values: Sequence[SSAValue], n: int) -> Sequence[SSAValue]:
        """Returns the parts of all n elements of what is the conjugate of itself from the other end."""
        c = self._c
        axis = len(c.shape(values[0])) - 1
        rest = n - (n // 2 + 1)
        if not rest:
            return values
        re, im = (c.add(graph.FlipOp(c.part(value, axis, 1, rest), [axis])) for value in values)
        ends = (re, c.unary(graph.NegOp, im))
        return [c.concat([value, end], axis) for value, end in zip(values, ends, strict=True)]

    def _transformed(self, x: SSAValue, n: int, n_parts: int, backward: bool, scale: float) -> SSAValue:
        """Returns transforms of n elements, whose parts lie in front of them, times a number."""
        first = _divisor(n)
        if first is None and n > _PRIME_MATRIX:
            return self._convolved(x, n, n_parts, backward, scale)
        if first is None:
            return self._multiplied(x, n, n_parts, backward, scale)
        c = self._c
        second = n // first
        *outer, before, _ = c.shape(x)
        rank = len(outer)
        rows = c.reshape(x, (*outer, before, first, second))
        # Columns of `second` elements apart, each with its parts: ..., second, parts, first.
        columns = c.permute(rows, [*range(rank), rank + 2, rank, rank + 1])
        columns = self._transformed(columns, first, 2, backward, scale)
        turned = self._turned(columns, first, second, backward)
        found = self._transformed(turned, second, n_parts, backward, 1.0)
        # From ..., first, parts, second: element k1 + first * k2 is the k2-th of the k1-th.
        placed = c.permute(found, [*range(rank), rank + 1, rank + 2, rank])
        return c.reshape(placed, (*outer, n_parts, n))

    def _turned(self, columns: SSAValue, first: int, second: int, backward: bool) -> SSAValue:
        """Returns rows of all columns, each element turned by its number in both, a part of n turns."""
        c = self._c
        roots = _roots(np.outer(np.arange(second), np.arange(first)), first * second, backward)
        re, im = self._times(self._parted(columns), roots)
        rank = len(c.shape(re))
        order = [*range(rank - 2), rank - 1, rank - 2]
        return self._joined([c.permute(part, order) for part in (re, im)])

    def _multiplied(self, x: SSAValue, n: int, n_parts: int, backward: bool, scale: float) -> SSAValue:
        """Returns the product with the matrix of the roots of one."""
        c = self._c
        *outer, before, _ = c.shape(x)
        assert isinstance(before, int), "1 or 2 parts"
        roots = _roots(np.outer(np.arange(n), np.arange(n)), n, backward) * scale
        # What real numbers give to real parts and to imaginary ones, and then what imaginary ones give.
        cosine, sine = roots.real.astype(np.float64), roots.imag.astype(np.float64)
        blocks = [[cosine, sine], [-sine, cosine]]
        matrix = np.block([row[:n_parts] for row in blocks[:before]])
        rows = c.reshape(x, (*outer, before * n))
        axis = len(outer)
        found = dot(c, rows, self._table(matrix), ((), ()), ((axis,), (0,)), c.element(x))
        return c.reshape(found, (*outer, n_parts, n))

    def _convolved(self, x: SSAValue, n: int, n_parts: int, backward: bool, scale: float) -> SSAValue:
        """Returns transforms of a prime number of elements, as convolutions of what is turned by squares."""
        c = self._c
        length = 1 << (2 * n - 2).bit_length()
        numbers = np.arange(n)
        chirp = _roots(numbers * numbers, 2 * n, backward)
        around = np.zeros(length, np.complex128)
        around[:n] = chirp.conj()
        around[length - n + 1 :] = chirp[1:].conj()[::-1]
        values = self._parted(x)
        if len(values) == 1:
            values = [values[0], c.like(0.0, values[0])]
        turned = self._times(values, chirp)
        axis = len(c.shape(turned[0])) - 1
        shape = c.shape(turned[0])[:axis]
        zeros = c.full(0.0, c.element(x), (*shape, length - n))
        padded = self._joined([c.concat([part, zeros], axis) for part in turned])
        spectrum = self._parted(self._transformed(padded, length, 2, False, 1.0))
        product = self._joined(self._times(spectrum, np.fft.fft(around)))
        convolved = self._parted(self._transformed(product, length, 2, True, scale / length))
        found = self._times([c.part(part, axis, 0, n) for part in convolved], chirp)
        return self._joined(found[:n_parts])

    def _times(self, values: Sequence[SSAValue], numbers: Array) -> list[SSAValue]:
        """Returns the parts of a product with complex numbers along the last axes."""
        c = self._c
        re, im = values
        tables = (numbers.real.astype(np.float64), numbers.imag.astype(np.float64))
        cosine, sine = (c.broadcast(self._table(each), c.shape(re)) for each in tables)
        products = [
            c.binary(graph.MulOp, x, y) for x, y in ((re, cosine), (im, sine), (re, sine), (im, cosine))
        ]
        return [c.binary(graph.SubOp, *products[:2]), c.binary(graph.AddOp, *products[2:])]

    def _joined(self, values: Sequence[SSAValue]) -> SSAValue:
        """Returns parts in an axis of their own in front of the last one."""
        c = self._c
        *outer, n = c.shape(values[0])
        return c.concat([c.reshape(value, (*outer, 1, n)) for value in values], len(outer))

    def _parted(self, x: SSAValue) -> list[SSAValue]:
        c = self._c
        *outer, parts, n = c.shape(x)
        assert isinstance(parts, int), "1 or 2 parts"
        return [c.reshape(c.part(x, len(outer), number, 1), (*outer, n)) for number in range(parts)]

    def _table(self, numbers: npt.NDArray[np.float64]) -> SSAValue:
        c = self._c
        type = tensor_of(self._element, numbers.shape)
        data = numbers.astype(np.float32 if self._element == f32 else np.float64).tobytes()
        return c.add(graph.ConstantOp(DenseIntOrFPElementsAttr(type, BytesAttr(data))))


def _roots(turns: npt.NDArray[np.int64], n: int, backward: bool) -> Array:
    """Returns `exp(-2j * pi * turns / n)`, of whole numbers of n-th turns; its conjugate for those back."""
    angles = (turns % n) * (2.0 * math.pi / n)
    return np.cos(angles) + (1j if backward else -1j) * np.sin(angles)


def _divisor(n: int) -> int | None:
    """
    Returns how many elements the first transforms of n are of, None where n are transformed at once: that
    number is near a root of n, as many transforms of `_MATRIX` elements or less give n.
    """
    if n <= _MATRIX:
        return None
    steps = math.ceil(math.log(n) / math.log(_MATRIX) - 1e-9)
    wanted = math.log(n) / max(steps, 2)
    divisors = [d for k in range(2, math.isqrt(n) + 1) if n % k == 0 for d in (k, n // k)]
    if not divisors:
        return None
    return min(divisors, key=lambda d: (abs(math.log(d) - wanted), d))
