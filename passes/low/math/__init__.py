"""
Functions in plain arithmetic: exp, log, tanh and the others of `low.EXPANDED_OPS`, for f32 and f64.

Each function is written once (`exp.py`, `log.py`, ...) against `arithmetic.py`, without branches and without
fused multiply-add, so that it vectorises and has the same bits on every device. f32 is computed in f32 and
integers only. Coefficients come from `benchmarks/accuracy/fit_polynomials.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import math
from xdsl.ir import Operation

from .arcsine import acos, asin
from .arctangent import atan, atan2
from .erf import erf
from .exp import exp, exp2
from .expm1 import cosh, expm1, sinh
from .log import log
from .log1p import acosh, asinh, atanh, log1p
from .log_of_base import log2, log10
from .power import power
from .tanh import tanh
from .trigonometry import cos, sin, tan


@dataclass(frozen=True, slots=True)
class Expansion:
    """How a function is written out, and its largest error without fast-math for any operand."""

    function: Callable[..., Any]
    """Takes a `Float` for each operand, and returns one."""
    ulps: Mapping[str, float]
    """In units in the last place of the exact result. docs/accuracy.md says what was measured."""


EXPANSIONS: dict[type[Operation], Expansion] = {
    math.ExpOp: Expansion(exp, {"f32": 1.5, "f64": 1.5}),
    math.LogOp: Expansion(log, {"f32": 1.0, "f64": 1.5}),
    math.TanhOp: Expansion(tanh, {"f32": 3.0, "f64": 3.0}),
    math.ErfOp: Expansion(erf, {"f32": 2.5, "f64": 2.5}),
    math.SinOp: Expansion(sin, {"f32": 2.0, "f64": 2.0}),
    math.CosOp: Expansion(cos, {"f32": 2.0, "f64": 2.0}),
    math.ExpM1Op: Expansion(expm1, {"f32": 2.0, "f64": 2.5}),
    math.Exp2Op: Expansion(exp2, {"f32": 1.5, "f64": 1.5}),
    math.Log1pOp: Expansion(log1p, {"f32": 1.5, "f64": 1.5}),
    math.Log2Op: Expansion(log2, {"f32": 1.0, "f64": 1.0}),
    math.Log10Op: Expansion(log10, {"f32": 1.0, "f64": 1.0}),
    math.TanOp: Expansion(tan, {"f32": 3.5, "f64": 3.5}),
    math.AsinOp: Expansion(asin, {"f32": 2.0, "f64": 2.0}),
    math.AcosOp: Expansion(acos, {"f32": 1.5, "f64": 1.5}),
    math.AtanOp: Expansion(atan, {"f32": 2.5, "f64": 2.5}),
    math.SinhOp: Expansion(sinh, {"f32": 3.0, "f64": 3.0}),
    math.CoshOp: Expansion(cosh, {"f32": 2.0, "f64": 2.0}),
    math.AsinhOp: Expansion(asinh, {"f32": 2.5, "f64": 2.5}),
    math.AcoshOp: Expansion(acosh, {"f32": 2.5, "f64": 2.5}),
    math.AtanhOp: Expansion(atanh, {"f32": 3.0, "f64": 3.0}),
    math.PowFOp: Expansion(power, {"f32": 2.0, "f64": 2.0}),
    math.Atan2Op: Expansion(atan2, {"f32": 2.5, "f64": 2.5}),
}
"""The expansion of each op of `low.EXPANDED_OPS`, whose operands it takes."""
