"""
Functions in plain arithmetic: exp, log, tanh, erf, sin, cos and pow for f32 and f64.

Each function is written once (`exp.py`, `log.py`, ...) against `arithmetic.py`, without branches and without
fused multiply-add, so that it vectorises and has the same bits on every device. f32 is computed in f32 and
integers only. Coefficients come from `benchmarks/accuracy/fit_polynomials.py`.
"""

from collections.abc import Callable

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from .arithmetic import Float
from .erf import erf
from .exp import exp
from .log import log
from .power import power
from .tanh import tanh
from .trigonometry import cos, sin

UNARY_EXPANSIONS: dict[type[Operation], Callable[[Float[SSAValue]], Float[SSAValue]]] = {
    math.ExpOp: exp,
    math.LogOp: log,
    math.TanhOp: tanh,
    math.ErfOp: erf,
    math.SinOp: sin,
    math.CosOp: cos,
}
"""The function for each op of one operand."""

BINARY_EXPANSIONS: dict[type[Operation], Callable[[Float[SSAValue], Float[SSAValue]], Float[SSAValue]]] = {
    math.PowFOp: power,
}
"""The function for each op of two operands."""

ULP_BOUNDS: dict[str, dict[str, float]] = {
    "exp": {"f32": 1.5, "f64": 1.5},
    "log": {"f32": 1.0, "f64": 1.5},
    "tanh": {"f32": 3.0, "f64": 3.0},
    "erf": {"f32": 2.5, "f64": 2.5},
    "sin": {"f32": 2.0, "f64": 2.0},
    "cos": {"f32": 2.0, "f64": 2.0},
    "powf": {"f32": 2.0, "f64": 2.0},
}
"""
The largest error of each function for any operand, in units in the last place of the exact result, without
fast-math. docs/accuracy.md says what was measured.
"""
