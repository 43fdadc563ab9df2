"""Scalar code of functions that are made of others is within its bounds; that of neighbours is exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.dialects import graph
from tenon.dialects.element_types import NARROW_FLOATS
from tenon.semantics import numerics
from tenon.semantics.numpy_types import dtype_of
from tenon.test.unit.ulps import ELEMENT_TYPES, bit_patterns, edges, errors_in_ulps

Array = npt.NDArray[Any]

HYPOT_ULPS = 1.5
LOGADDEXP_ULPS = 3.0


def run(op: str, element_type: str, x: Array, y: Array, backend: str) -> Array:
    type = f"tensor<{len(x)}x{element_type}>"
    text = f"""func.func @main(%x: {type}, %y: {type}) -> {type} {{
      %z = graph.{op} %x, %y : {type}
      func.return %z : {type}
    }}"""
    level = {"level": "low"} if backend == "reference" else {}
    return tenon.compile(text, backend=backend, **level)(x, y)


def operands(element_type: str) -> tuple[Array, Array]:
    """All pairs of edges, any bit patterns, numbers of about one size, and numbers near the extremes."""
    x, y = (grid.ravel() for grid in np.meshgrid(edges(element_type), edges(element_type)))
    information = np.finfo(x.dtype)
    random = np.random.default_rng(0)
    count = 1 << 14
    height = random.uniform(-1, 1, count)
    ratio = np.concatenate([random.uniform(-3, 3, count // 2), 2.0 ** random.uniform(-60, 60, count // 2)])
    least = random.integers(-(1 << 12), 1 << 12, (2, count)).astype(x.dtype) * information.smallest_subnormal
    largest = random.uniform(-1, 1, (2, count)).astype(x.dtype) * information.max
    spread = np.ldexp(height, random.integers(int(information.minexp), int(information.maxexp), count))
    return (
        np.concatenate(
            [x, bit_patterns(element_type, count, 1), height, least[0], largest[0], spread], dtype=x.dtype
        ),
        np.concatenate(
            [y, bit_patterns(element_type, count, 2), height * ratio, least[1], largest[1], spread * ratio],
            dtype=x.dtype,
            casting="unsafe",
        ),
    )


@pytest.mark.parametrize("backend", ["reference", "llvm", "opencl"])
@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_hypot_is_within_its_bound(element_type: str, backend: str):
    with np.errstate(all="ignore"):
        x, y = operands(element_type)
        exact = np.hypot(x.astype(np.longdouble), y.astype(np.longdouble))
    errors = errors_in_ulps(run("hypot", element_type, x, y, backend), exact)
    worst = int(np.argmax(errors))
    assert errors[worst] <= HYPOT_ULPS, (x[worst], y[worst], errors[worst])


@pytest.mark.parametrize("backend", ["reference", "llvm", "opencl"])
@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_logaddexp_is_within_its_bound_of_the_result_or_of_a_half(element_type: str, backend: str):
    random = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        x, y = operands(element_type)
        near = random.uniform(-3, 3, (2, 1 << 14))
        x, y = np.concatenate([x, near[0]], dtype=x.dtype), np.concatenate([y, near[1]], dtype=x.dtype)
        exact = np.logaddexp(x.astype(np.longdouble), y.astype(np.longdouble))
    found = run("logaddexp", element_type, x, y, backend)
    errors = errors_in_ulps(found, exact)
    # near 0 what counts is the unit of a half
    is_small = np.abs(exact) < 0.5
    half = np.finfo(x.dtype).eps / 4
    with np.errstate(invalid="ignore"):
        errors = np.where(is_small, np.abs(found - exact) / half, errors)
    worst = int(np.argmax(errors))
    assert errors[worst] <= LOGADDEXP_ULPS, (x[worst], y[worst], found[worst], errors[worst])


@pytest.mark.parametrize("backend", ["reference", "llvm", "opencl"])
@pytest.mark.parametrize("element_type", ["f16", "bf16", "f8E5M2", "f8E4M3FN", "f8E4M3"])
def test_every_narrow_float_has_its_neighbours(element_type: str, backend: str):
    (dtype,) = (dtype_of(type) for type in NARROW_FLOATS if str(type) == element_type)
    bits = np.dtype(f"u{dtype.itemsize}")
    values = np.arange(1 << 8 * dtype.itemsize, dtype=np.uint32).astype(bits).view(dtype)
    with np.errstate(all="ignore"):
        for target in (np.nan, 0.0, 1.0, -448.0, np.inf, -np.inf):
            targets = np.full(len(values), target).astype(dtype)
            found = run("nextafter", element_type, values, targets, backend)
            expected = numerics.ELEMENTWISE[graph.NextafterOp](values, targets)
            is_same = (found.view(bits) == expected.view(bits)) | (np.isnan(found) & np.isnan(expected))
            assert is_same.all(), (target, values[~is_same][:5], found[~is_same][:5])
