"""What ops of complex numbers become, whose parts are values of their own (`complex_parts.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from ....dialects import graph, stablehlo
from ....dialects.stablehlo import chlo
from ..complex_parts import Parted
from ..conversion import ComplexRule, Conversion
from ..elementwise import unified
from ..emitter import width_of
from ..movement import bitcast_convert
from . import functions
from .boundary import paired, unpaired
from .fourier import transform
from .numbers import Complex, Real


def of_complex(function: Callable[[Complex], Complex | Real], is_widened: bool = True) -> ComplexRule:
    """Returns the rule of a function of one number, of f32 computed in f64 where it `is_widened`."""

    def rule(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
        (number,) = numbers(c, op, parted)
        element = number.re.element
        found = function(number.cast(f64) if is_widened else number)
        return _values(found.cast(element))

    return rule


def of_two(function: Callable[[Complex, Complex], Complex | Real], is_widened: bool = False) -> ComplexRule:
    """As `of_complex`, of two numbers."""

    def rule(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
        x, y = numbers(c, op, parted)
        element = x.re.element
        if is_widened:
            x, y = x.cast(f64), y.cast(f64)
        found = function(x, y)
        is_number = isinstance(found, Complex) or found.element == f64
        return _values(found.cast(element) if is_widened and is_number else found)

    return rule


def numbers(c: Conversion, op: Operation, parted: Parted) -> list[Complex]:
    """Returns the operands of an op, real ones with an imaginary part of 0."""
    values = iter(unified(c, c.operands(op)))
    found: list[Complex] = []
    for is_complex in parted.operands:
        re = Real(c, next(values))
        found.append(Complex(re, Real(c, next(values)) if is_complex else re.like(0.0)))
    return found


def _values(found: Complex | Real) -> Sequence[SSAValue]:
    return (found.value,) if isinstance(found, Real) else (found.re.value, found.im.value)


def _bilinear(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    """A product of two operands: of their parts, four of them, or two where one operand is real."""
    left, right = parted.operands
    x = op.operands[: 1 + left]
    y = op.operands[1 + left : 2 + left + right]

    def product(k: int, m: int) -> SSAValue:
        return c.of_parts(op, (x[k], y[m], *op.operands[2 + left + right :]))

    if not left or not right:
        return (product(0, 0), product(1, 0) if left else product(0, 1))
    minus, plus = graph.SubOp, graph.AddOp
    real = c.binary(minus, product(0, 0), product(1, 1))
    return real, c.binary(plus, product(0, 1), product(1, 0))


def _compare(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    """Real parts first, and imaginary ones where those are equal."""
    assert isinstance(op, stablehlo.CompareOp) and op.comparison_direction is not None, "verified"
    x, y = numbers(c, op, parted)
    return (_compared(x, y, op.comparison_direction.data.value).value,)


def _compared(x: Complex, y: Complex, direction: str) -> Real:
    match direction:
        case "EQ":
            return x.re.is_equal(y.re) & x.im.is_equal(y.im)
        case "NE":
            return x.re.is_unequal(y.re) | x.im.is_unequal(y.im)
        case "LT":
            return (x.re < y.re) | (x.re.is_equal(y.re) & (x.im < y.im))
        case "LE":
            return (x.re < y.re) | (x.re.is_equal(y.re) & (x.im <= y.im))
        case "GT":
            return _compared(y, x, "LT")
        case _:
            return _compared(y, x, "LE")


def _convert(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    """Real numbers get an imaginary part of 0; that of complex ones is left out where real ones are asked."""
    parts = [c.cast(value, c.result_element(op)) for value in c.operands(op)]
    if not parted.results[0]:
        return parts[:1]
    return parts if parted.operands[0] else (parts[0], c.like(0.0, parts[0]))


def _complex(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    return unified(c, c.operands(op))


def _part(number: int) -> ComplexRule:
    return lambda c, op, parted: (c.operand(op, number),)


def _size_of_dim(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    return (c.of_parts(op, op.operands[:1]),)


def _iota(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    real = c.of_parts(op, op.operands)
    return real, c.like(0.0, real)


def _bitcast(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    """By way of an array with an axis more, of the two parts, which lie side by side."""
    values = c.operands(op)
    element = c.result_element(op)
    if parted.operands[0] and parted.results[0]:
        if element == c.element(values[0]):
            return values
        both = paired(c, values[0], values[1])
        return unpaired(c, bitcast_convert(c, both, c.element(both), element))
    if parted.operands[0]:
        both = paired(c, values[0], values[1])
        shape = c.shape(both)
        ratio = width_of(c.element(both)) // width_of(element)
        found = bitcast_convert(c, both, c.element(both), element)
        return (found if ratio < 2 else c.reshape(found, (*shape[:-1], 2 * ratio)),)
    (value,), shape = values, c.shape(values[0])
    ratio = width_of(element) // width_of(c.element(value))
    both = value if ratio < 2 else c.reshape(value, (*shape[:-1], 2, ratio))
    return unpaired(c, bitcast_convert(c, both, c.element(both), element))


def _fft(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    assert isinstance(op, stablehlo.FftOp), "the rule of that"
    return transform(c, op, c.operands(op))


RULES: dict[type[Operation], ComplexRule] = {
    stablehlo.AbsOp: of_complex(Complex.abs, is_widened=False),
    stablehlo.Atan2Op: of_two(functions.atan2, is_widened=True),
    stablehlo.BitcastConvertOp: _bitcast,
    stablehlo.CbrtOp: of_complex(functions.cbrt),
    stablehlo.CompareOp: _compare,
    stablehlo.ComplexOp: _complex,
    stablehlo.ConvertOp: _convert,
    stablehlo.ConvolutionOp: _bilinear,
    stablehlo.CosineOp: of_complex(functions.cos),
    stablehlo.DivideOp: of_two(Complex.__truediv__),
    stablehlo.DotGeneralOp: _bilinear,
    stablehlo.DotOp: _bilinear,
    stablehlo.DynamicConvOp: _bilinear,
    stablehlo.DynamicIotaOp: _iota,
    stablehlo.ExponentialMinusOneOp: of_complex(functions.expm1),
    stablehlo.ExponentialOp: of_complex(functions.exp, is_widened=False),
    stablehlo.FftOp: _fft,
    stablehlo.GetDimensionSizeOp: _size_of_dim,
    stablehlo.ImagOp: _part(1),
    stablehlo.IotaOp: _iota,
    stablehlo.LogOp: of_complex(functions.log),
    stablehlo.LogPlusOneOp: of_complex(functions.log1p),
    stablehlo.LogisticOp: of_complex(functions.logistic),
    stablehlo.MaximumOp: of_two(lambda x, y: x.where(_compared(x, y, "GE"), y)),
    stablehlo.MinimumOp: of_two(lambda x, y: x.where(_compared(x, y, "LE"), y)),
    stablehlo.MultiplyOp: of_two(Complex.__mul__),
    stablehlo.PowerOp: of_two(functions.power, is_widened=True),
    stablehlo.RealOp: _part(0),
    stablehlo.RsqrtOp: of_complex(functions.rsqrt),
    stablehlo.SignOp: of_complex(functions.sign, is_widened=False),
    stablehlo.SineOp: of_complex(functions.sin),
    stablehlo.SqrtOp: of_complex(functions.sqrt),
    stablehlo.TanOp: of_complex(functions.tan),
    stablehlo.TanhOp: of_complex(functions.tanh),
    chlo.AcosOp: of_complex(functions.acos),
    chlo.AcoshOp: of_complex(functions.acosh),
    chlo.AsinOp: of_complex(functions.asin),
    chlo.AsinhOp: of_complex(functions.asinh),
    chlo.AtanOp: of_complex(functions.atan),
    chlo.AtanhOp: of_complex(functions.atanh),
    chlo.ConjOp: of_complex(Complex.conjugate, is_widened=False),
    chlo.CoshOp: of_complex(functions.cosh),
    chlo.SinhOp: of_complex(functions.sinh),
    chlo.SquareOp: of_complex(lambda z: z * z, is_widened=False),
    chlo.TanOp: of_complex(functions.tan),
}
