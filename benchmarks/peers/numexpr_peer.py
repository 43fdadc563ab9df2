"""numexpr: elementwise work only, which it fuses."""

from typing import Any

import numexpr

_GELU = "half * x * (one + tanh(scale * (x + cubic * (x * x * x))))"


def prepare(array: Any) -> Any:
    return array


def gelu(x: Any) -> Any:
    # Python floats would make the whole expression float64.
    one = x.dtype.type(1)
    constants = {"half": one / 2, "one": one, "scale": one * 0.7978845608, "cubic": one * 0.044715}
    return numexpr.evaluate(_GELU, local_dict={"x": x, **constants})


KERNELS = {"gelu": gelu}
