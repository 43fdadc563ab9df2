"""
Functions in plain arithmetic: exp, log, tanh and the others of `low.EXPANDED_OPS`, for f32 and f64.

Each function is written once (`exp.py`, `log.py`, ...) against `arithmetic.py`, without branches and without
fused multiply-add, so that it vectorises and has the same bits on every device. f32 is computed in f32 and
integers only. Coefficients come from `benchmarks/accuracy/fit_polynomials.py`.
"""

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from .arcsine import acos, asin
from .arctangent import atan, atan2
from .arithmetic import Float
from .erf import erf
from .exp import exp, exp2
from .expm1 import cosh, expm1, sinh
from .log import log
from .log1p import acosh, asinh, atanh, log1p
from .log_of_base import log2, log10
from .power import power
from .tanh import tanh
from .trigonometry import cos, sin, tan

UNARY_EXPANSIONS: dict[type[Operation], Callable[[Float[SSAValue]], Float[SSAValue]]] = {
    math.ExpOp: exp,
    math.LogOp: log,
    math.TanhOp: tanh,
    math.ErfOp: erf,
    math.SinOp: sin,
    math.CosOp: cos,
    math.ExpM1Op: expm1,
    math.Exp2Op: exp2,
    math.Log1pOp: log1p,
    math.Log2Op: log2,
    math.Log10Op: log10,
    math.TanOp: tan,
    math.AsinOp: asin,
    math.AcosOp: acos,
    math.AtanOp: atan,
    math.SinhOp: sinh,
    math.CoshOp: cosh,
    math.AsinhOp: asinh,
    math.AcoshOp: acosh,
    math.AtanhOp: atanh,
}
"""The function for each op of one operand."""

BINARY_EXPANSIONS: dict[type[Operation], Callable[[Float[SSAValue], Float[SSAValue]], Float[SSAValue]]] = {
    math.PowFOp: power,
    math.Atan2Op: atan2,
}
"""The function for each op of two operands."""

ULP_BOUNDS: dict[str, dict[str, float]] = {
    "exp": {"f32": 1.5, "f64": 1.5},
    "log": {"f32": 1.0, "f64": 1.5},
    "tanh": {"f32": 3.0, "f64": 3.0},
    "erf": {"f32": 2.5, "f64": 2.5},
    "sin": {"f32": 2.0, "f64": 2.0},
    "cos": {"f32": 2.0, "f64": 2.0},
    "expm1": {"f32": 2.0, "f64": 2.5},
    "exp2": {"f32": 1.5, "f64": 1.5},
    "log1p": {"f32": 1.5, "f64": 1.5},
    "log2": {"f32": 1.0, "f64": 1.0},
    "log10": {"f32": 1.0, "f64": 1.0},
    "tan": {"f32": 3.5, "f64": 3.5},
    "asin": {"f32": 2.0, "f64": 2.0},
    "acos": {"f32": 1.5, "f64": 1.5},
    "atan": {"f32": 2.5, "f64": 2.5},
    "sinh": {"f32": 3.0, "f64": 3.0},
    "cosh": {"f32": 2.0, "f64": 2.0},
    "asinh": {"f32": 2.5, "f64": 2.5},
    "acosh": {"f32": 2.5, "f64": 2.5},
    "atanh": {"f32": 3.0, "f64": 3.0},
    "powf": {"f32": 2.0, "f64": 2.0},
    "atan2": {"f32": 2.5, "f64": 2.5},
}
"""
The largest error of each function for any operand, in units in the last place of the exact result, without
fast-math. docs/accuracy.md says what was measured.
"""
