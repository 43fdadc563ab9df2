"""Every function of every value of the narrow floats, compiled, against the interpreter of `graph`."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from tenon.backends.reference.comparison import ulp_difference
from tenon.dialects.element_types import NARROW_FLOATS
from tenon.dialects.low import EXPANDED_OPS
from tenon.semantics.numpy_types import dtype_of
from xdsl.dialects import math
from xdsl.ir import Attribute

FUNCTIONS = [op.name.removeprefix("math.") for op in EXPANDED_OPS if op not in (math.PowFOp, math.Atan2Op)]


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("type", NARROW_FLOATS, ids=str)
def test_a_function_is_rounded_once_from_f32(type: Attribute, backend: str):
    dtype = dtype_of(type)
    bits = np.dtype(f"u{dtype.itemsize}")
    values = np.arange(1 << 8 * dtype.itemsize, dtype=np.uint32).astype(bits).view(dtype)
    tensor = f"tensor<{len(values)}x{type}>"
    names = ", ".join(f"%{name}" for name in FUNCTIONS)
    types = ", ".join([tensor] * len(FUNCTIONS))
    lines = "\n".join(f"%{name} = graph.{name} %x : {tensor}" for name in FUNCTIONS)
    text = f"func.func @main(%x: {tensor}) -> ({types}) {{\n{lines}\nfunc.return {names} : {types}\n}}"
    expected = tenon.compile(text, backend="reference")(values)
    computed = tenon.compile(text, backend=backend)(values)
    for name, wanted, found in zip(FUNCTIONS, expected, computed, strict=True):
        if dtype.itemsize == 2:
            assert ulp_difference(found, wanted).max() <= 1, name
        else:
            are_same = (found.view(bits) == wanted.view(bits)) | (np.isnan(found) & np.isnan(wanted))
            assert are_same.all(), (name, values[~are_same], found[~are_same], wanted[~are_same])
