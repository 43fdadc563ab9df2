"""What ops of complex numbers become, whose parts are values of their own (`complex_parts.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from ....algorithms.emitter import width_of
from ....dialects import graph, stablehlo
from ....dialects.stablehlo import chlo
from ..complex_parts import Parted
from ..conversion import ComplexRule, Conversion
from ..elementwise import unified
from ..movement import bitcast_convert
from . import functions
from .boundary import paired, unpaired
from .fourier import transform
from .numbers import Complex, Real


def of_numbers(function: Callable[..., Complex | Real], is_widened: bool = True) -> ComplexRule:
    """Returns the rule of a function of numbers, of f32 computed in f64 where it `is_widened`."""

    def rule(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
        given = numbers(c, op, parted)
        element = given[0].re.element
        found = function(*(each.cast(f64) if is_widened else each for each in given))
        return _values(found.cast(element))

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
    real = c.binary(graph.SubOp, product(0, 0), product(1, 1))
    return real, c.binary(graph.AddOp, product(0, 1), product(1, 0))


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


def _greater(x: Complex, y: Complex) -> Complex:
    return x.where(_compared(x, y, "GE"), y)


def _less(x: Complex, y: Complex) -> Complex:
    return x.where(_compared(x, y, "LE"), y)


def _square(z: Complex) -> Complex:
    return z * z


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
    values, element = c.operands(op), c.result_element(op)
    if all((*parted.operands, *parted.results)) and element == c.element(values[0]):
        return values
    (*shape,) = c.shape(values[0])
    if parted.operands[0]:
        both = paired(c, *values)
    else:
        ratio = width_of(element) // width_of(c.element(values[0]))
        both = values[0] if ratio < 2 else c.reshape(values[0], (*shape[:-1], 2, ratio))
    found = bitcast_convert(c, both, c.element(both), element)
    if parted.results[0]:
        return unpaired(c, found)
    ratio = width_of(c.element(both)) // width_of(element)
    return (found if ratio < 2 else c.reshape(found, (*shape, 2 * ratio)),)


def _fft(c: Conversion, op: Operation, parted: Parted) -> Sequence[SSAValue]:
    assert isinstance(op, stablehlo.FftOp), "the rule of that"
    return transform(c, op, c.operands(op))


RULES: dict[type[Operation], ComplexRule] = {
    stablehlo.AbsOp: of_numbers(Complex.abs, is_widened=False),
    stablehlo.Atan2Op: of_numbers(functions.atan2),
    stablehlo.BitcastConvertOp: _bitcast,
    stablehlo.CbrtOp: of_numbers(functions.cbrt),
    stablehlo.CompareOp: _compare,
    stablehlo.ComplexOp: _complex,
    stablehlo.ConvertOp: _convert,
    stablehlo.ConvolutionOp: _bilinear,
    stablehlo.CosineOp: of_numbers(functions.cos),
    stablehlo.DivideOp: of_numbers(Complex.__truediv__, is_widened=False),
    stablehlo.DotGeneralOp: _bilinear,
    stablehlo.DotOp: _bilinear,
    stablehlo.DynamicConvOp: _bilinear,
    stablehlo.DynamicIotaOp: _iota,
    stablehlo.ExponentialMinusOneOp: of_numbers(functions.expm1),
    stablehlo.ExponentialOp: of_numbers(functions.exp, is_widened=False),
    stablehlo.FftOp: _fft,
    stablehlo.GetDimensionSizeOp: _size_of_dim,
    stablehlo.ImagOp: _part(1),
    stablehlo.IotaOp: _iota,
    stablehlo.LogOp: of_numbers(functions.log),
    stablehlo.LogPlusOneOp: of_numbers(functions.log1p),
    stablehlo.LogisticOp: of_numbers(functions.logistic),
    stablehlo.MaximumOp: of_numbers(_greater, is_widened=False),
    stablehlo.MinimumOp: of_numbers(_less, is_widened=False),
    stablehlo.MultiplyOp: of_numbers(Complex.__mul__, is_widened=False),
    stablehlo.PowerOp: of_numbers(functions.power),
    stablehlo.RealOp: _part(0),
    stablehlo.RsqrtOp: of_numbers(functions.rsqrt),
    stablehlo.SignOp: of_numbers(functions.sign, is_widened=False),
    stablehlo.SineOp: of_numbers(functions.sin),
    stablehlo.SqrtOp: of_numbers(functions.sqrt),
    stablehlo.TanOp: of_numbers(functions.tan),
    stablehlo.TanhOp: of_numbers(functions.tanh),
    chlo.AcosOp: of_numbers(functions.acos),
    chlo.AcoshOp: of_numbers(functions.acosh),
    chlo.AsinOp: of_numbers(functions.asin),
    chlo.AsinhOp: of_numbers(functions.asinh),
    chlo.AtanOp: of_numbers(functions.atan),
    chlo.AtanhOp: of_numbers(functions.atanh),
    chlo.ConjOp: of_numbers(Complex.conjugate, is_widened=False),
    chlo.CoshOp: of_numbers(functions.cosh),
    chlo.SinhOp: of_numbers(functions.sinh),
    chlo.SquareOp: of_numbers(_square, is_widened=False),
    chlo.TanOp: of_numbers(functions.tan),
}
