"""The layouts of floats are those of ml_dtypes, and rounding by them is exact where it decides."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tenon.dialects.element_types import ELEMENT_TYPES, NARROW_FLOATS, is_float
from tenon.dialects.float_layout import LAYOUTS, Rounding
from tenon.semantics.numpy_types import dtype_of
from xdsl.dialects.builtin import f8E4M3FN, f16, f32, f64
from xdsl.ir import Attribute

finfo: Any = ml_dtypes.finfo  # pyright: ignore[reportUnknownMemberType]


def test_every_float_type_has_a_layout() -> None:
    assert set(LAYOUTS) == {type for type in ELEMENT_TYPES if is_float(type)}


@pytest.mark.parametrize("type", LAYOUTS, ids=str)
def test_layouts_are_those_of_ml_dtypes(type: Attribute) -> None:
    layout, dtype = LAYOUTS[type], dtype_of(type)
    information = finfo(dtype)
    assert (layout.nbits, layout.n_mantissa_bits) == (information.bits, information.nmant)
    unsigned = np.dtype(f"u{dtype.itemsize}")

    def value(bits: int) -> float:
        return float(np.array(bits, unsigned).view(dtype))

    assert value(layout.bias << layout.n_mantissa_bits) == 1.0
    assert value(layout.least_special - 1) == float(information.max)
    assert np.isinf(value(layout.least_special)) == layout.has_infinity
    assert np.isnan(value(layout.quiet_nan))
    assert np.signbit(value(layout.sign))


@pytest.mark.parametrize("narrow", NARROW_FLOATS, ids=str)
@pytest.mark.parametrize("wide", [f32, f64], ids=str)
def test_overflow_is_where_the_next_number_would_be(wide: Attribute, narrow: Attribute) -> None:
    rounding = Rounding(LAYOUTS[wide], LAYOUTS[narrow])
    dtype = dtype_of(wide)
    overflow = float(np.array(rounding.overflow, f"u{dtype.itemsize}").view(dtype))
    information = finfo(dtype_of(narrow))
    greatest = float(information.max)
    if narrow == f8E4M3FN:
        assert overflow == 480.0
    elif np.isfinite(overflow):
        assert overflow == 2.0 ** np.ceil(np.log2(greatest))
    else:
        assert LAYOUTS[wide].n_exponent_bits == LAYOUTS[narrow].n_exponent_bits


def test_the_magic_number_is_worth_the_least_subnormal_in_its_last_bit() -> None:
    rounding = Rounding(LAYOUTS[f32], LAYOUTS[f16])
    magic = np.array(rounding.magic, np.uint32).view(np.float32)
    assert np.spacing(magic) == 2.0**-24
    assert np.array(rounding.least_normal, np.uint32).view(np.float32) == 2.0**-14
