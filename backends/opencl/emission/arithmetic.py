"""
Rules for arithmetic, comparisons and constants.

A product that may be contracted into the sum or difference that alone uses it is left to `tenon_muladd`.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    i1,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import low
from ....dialects.element_types import element_type_of, is_float, is_narrow_float, lanes_of
from ....dialects.low.constant_integer import constant_integer
from ....dialects.low.lane_exchange import exchanges
from ....dialects.xdsl_fixes import dense_values
from .helpers import Helpers
from .kernel import KernelWriter, Rule
from .types import (
    MASK_ELEMENTS,
    NBITS,
    UNSIGNED,
    as_signed,
    as_unsigned,
    float_literal,
    integer_literal,
    vector_type,
)

Combine = Callable[[KernelWriter, Operation, Attribute, str, str], str]
"""
Returns what an op makes of two operands of a type, given as expressions, as one that may bind loosely. An
error names the op that is given.
"""

_INDEX = IndexType()

_CMPF = (
    "{false}",
    "{a} == {b}",
    "{a} > {b}",
    "{a} >= {b}",
    "{a} < {b}",
    "{a} <= {b}",
    "({a} < {b}) | ({a} > {b})",
    "({a} == {a}) & ({b} == {b})",
    "!(({a} < {b}) | ({a} > {b}))",
    "!({a} <= {b})",
    "!({a} < {b})",
    "!({a} >= {b})",
    "!({a} > {b})",
    "{a} != {b}",
    "({a} != {a}) | ({b} != {b})",
    "{true}",
)
"""By the number of the predicate, on scalars and vectors alike."""

_CMPI = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FIRST_UNSIGNED_CMPI = 6


def constant(kernel: KernelWriter, op: arith.ConstantOp) -> None:
    result, value = op.result, op.value
    element = kernel.element(result.type, op)
    lanes = lanes_of(result.type)
    match value:
        case IntegerAttr():
            if element == "bool":
                kernel.expressions[result] = "true" if value.value.data else "false"
            else:
                kernel.expressions[result] = integer_literal(element, value.value.data)
        case FloatAttr():
            kernel.expressions[result] = float_literal(value.type, value.value.data)
        case DenseIntOrFPElementsAttr() if lanes is not None:
            elements = dense_values(value)
            type = element_type_of(result.type)
            # OpenCL C has no vectors of bool: its comparisons give integers, all bits set for true.
            if element == "bool":
                literals = ["-1" if bit else "0" for bit in elements]
                element = kernel.masks[result] = "int"
            elif is_float(type):
                literals = [float_literal(type, number) for number in elements]
            else:
                literals = [integer_literal(element, int(number)) for number in elements]
            # A cast of a scalar to a vector is a splat; 64 equal literals only make the text long.
            if all(literal == literals[0] for literal in literals):
                literals = literals[:1]
            kernel.define(op, f"({vector_type(element, lanes)})({', '.join(literals)})")
        case _:
            raise kernel.fail(op, f"no C constant for {value}")


def _float_infix(operator: str) -> Combine:
    def combine(kernel: KernelWriter, op: Operation, type: Attribute, a: str, b: str) -> str:
        float_type(kernel, op, type)
        return f"{a} {operator} {b}"

    return combine


def _float_helper(helper: Callable[[Helpers, str, int | None], str]) -> Combine:
    def combine(kernel: KernelWriter, op: Operation, type: Attribute, a: str, b: str) -> str:
        return f"{helper(kernel.helpers, float_type(kernel, op, type), lanes_of(type))}({a}, {b})"

    return combine


def _bits(operator: str) -> Combine:
    """Bit by bit, on masks too."""

    def combine(kernel: KernelWriter, op: Operation, type: Attribute, a: str, b: str) -> str:
        element, text = kernel.element(type, op), f"{a} {operator} {b}"
        is_narrow = lanes_of(type) is None and element in ("char", "short", "bool")
        return f"({element})({text})" if is_narrow else text

    return combine


def _wrapping(operator: str) -> Combine:
    """In the unsigned type; an index that overflows is out of range wherever it is used."""

    def combine(kernel: KernelWriter, op: Operation, type: Attribute, a: str, b: str) -> str:
        element, lanes = integer_type(kernel, op, type), lanes_of(type)
        if element_type_of(type) == _INDEX:
            return f"{a} {operator} {b}"
        if lanes is None and NBITS[element] < 32:
            return f"({element})({a} {operator} {b})"
        a, b = as_unsigned(element, lanes, a), as_unsigned(element, lanes, b)
        return as_signed(element, lanes, f"{a} {operator} {b}")

    return combine


def _shift(operator: str, *, signed: bool = False) -> Combine:
    """Shifts by the amount modulo the width, as OpenCL C does once it has promoted narrow scalars."""

    def combine(kernel: KernelWriter, op: Operation, type: Attribute, a: str, b: str) -> str:
        element, lanes = integer_type(kernel, op, type), lanes_of(type)
        is_narrow = lanes is None and NBITS[element] < 32
        if is_narrow:
            b = f"({b} & {NBITS[element] - 1})"
        if signed:
            text = f"{a} {operator} {b}"
            return f"({element})({text})" if is_narrow else text
        amount = b if lanes is None else as_unsigned(element, lanes, b)
        return as_signed(element, lanes, f"{as_unsigned(element, lanes, a)} {operator} {amount}")

    return combine


def _division(kind: str) -> Combine:
    def combine(kernel: KernelWriter, op: Operation, type: Attribute, a: str, b: str) -> str:
        element = integer_type(kernel, op, type)
        return f"{kernel.helpers.division(kind, element, lanes_of(type))}({a}, {b})"

    return combine


def _extremum(operator: str, *, signed: bool) -> Combine:
    def combine(kernel: KernelWriter, op: Operation, type: Attribute, a: str, b: str) -> str:
        element, lanes = integer_type(kernel, op, type), lanes_of(type)
        left, right = (a, b) if signed else (as_unsigned(element, lanes, x) for x in (a, b))
        return f"{left} {operator} {right} ? {a} : {b}"

    return combine


COMBINERS: dict[type[Operation], Combine] = {
    arith.AddfOp: _float_infix("+"),
    arith.SubfOp: _float_infix("-"),
    arith.MulfOp: _float_infix("*"),
    arith.DivfOp: _float_infix("/"),
    arith.MaximumfOp: _float_helper(Helpers.maximum),
    arith.MinimumfOp: _float_helper(Helpers.minimum),
    math.CopySignOp: _float_helper(Helpers.copysign),
    low.RemfOp: _float_helper(Helpers.remainder),
    low.LdexpOp: _float_helper(Helpers.ldexp),
    arith.AddiOp: _wrapping("+"),
    arith.SubiOp: _wrapping("-"),
    arith.MuliOp: _wrapping("*"),
    arith.AndIOp: _bits("&"),
    arith.OrIOp: _bits("|"),
    arith.XOrIOp: _bits("^"),
    arith.ShLIOp: _shift("<<"),
    arith.ShRSIOp: _shift(">>", signed=True),
    arith.ShRUIOp: _shift(">>"),
    arith.DivSIOp: _division("divsi"),
    arith.DivUIOp: _division("divui"),
    arith.RemSIOp: _division("remsi"),
    arith.RemUIOp: _division("remui"),
    arith.MinSIOp: _extremum("<", signed=True),
    arith.MinUIOp: _extremum("<", signed=False),
    arith.MaxSIOp: _extremum(">", signed=True),
    arith.MaxUIOp: _extremum(">", signed=False),
}
"""Ops of two operands of the result's type."""


def binary(kernel: KernelWriter, op: Operation) -> None:
    """Writes an op of `COMBINERS`."""
    lhs, rhs = op.operands
    a, b = kernel.expressions[lhs], kernel.like(rhs, lhs)
    kernel.define(op, COMBINERS[type(op)](kernel, op, op.results[0].type, a, b), kernel.masks.get(lhs))


def product(kernel: KernelWriter, op: arith.MulfOp) -> None:
    if _sum_that_absorbs(op) is None:
        binary(kernel, op)


def total(kernel: KernelWriter, op: arith.AddfOp | arith.SubfOp) -> None:
    """Writes a sum or a difference, with the product that it takes in."""
    absorbed = _absorbed_product(op)
    if absorbed is None:
        binary(kernel, op)
        return
    type = op.result.type
    sign = "-" if isinstance(op, arith.SubfOp) else ""
    a, b = (kernel.expressions[factor] for factor in absorbed.operands)
    if absorbed.result is op.lhs:
        c = f"{sign}{kernel.expressions[op.rhs]}"
    else:
        a, c = f"{sign}{a}", kernel.expressions[op.lhs]
    muladd = kernel.helpers.muladd(float_type(kernel, op, type), lanes_of(type))
    kernel.define(op, f"{muladd}({a}, {b}, {c})")


def division(operator: str, *, signed: bool) -> Rule:
    """Divisions of integers, without a helper where the divisor is known to be harmless."""

    def rule(kernel: KernelWriter, op: Operation) -> None:
        lhs, rhs = op.operands
        if not _is_safe_divisor(rhs):
            binary(kernel, op)
            return
        element = integer_type(kernel, op, op.results[0].type)
        a, b = kernel.expressions[lhs], kernel.expressions[rhs]
        if not signed:
            unsigned = UNSIGNED[element]
            a, b = f"({unsigned}){a}", f"({unsigned}){b}"
        text = f"{a} {operator} {b}"
        kernel.define(op, text if signed and NBITS[element] >= 32 else f"({element})({text})")

    return rule


def float_type(kernel: KernelWriter, op: Operation, type: Attribute) -> str:
    """Returns the C element type, having checked that it is one of floats that there is arithmetic in."""
    return _arithmetic_type(kernel, op, type, is_integer=False)


def integer_type(kernel: KernelWriter, op: Operation, type: Attribute) -> str:
    """Returns the C element type, having checked that it is one of integers that there is arithmetic in."""
    return _arithmetic_type(kernel, op, type, is_integer=True)


def _arithmetic_type(kernel: KernelWriter, op: Operation, type: Attribute, *, is_integer: bool) -> str:
    element = element_type_of(type)
    spelled = kernel.element(type, op)
    if is_narrow_float(element):
        raise kernel.fail(op, f"no arithmetic in {type} (kernels compute in f32)")
    if element == i1 or is_float(element) == is_integer:
        raise kernel.fail(op, f"no arithmetic in {type}")
    return spelled


def negf(kernel: KernelWriter, op: arith.NegfOp) -> None:
    float_type(kernel, op, op.result.type)
    kernel.define(op, f"-{kernel.expressions[op.operand]}")


def call(helper: Callable[[Helpers, str, int | None], str]) -> Rule:
    """Calls of a function on floats of one type."""

    def rule(kernel: KernelWriter, op: Operation) -> None:
        type = op.results[0].type
        function = helper(kernel.helpers, float_type(kernel, op, type), lanes_of(type))
        kernel.define(op, f"{function}({', '.join(kernel.expressions[operand] for operand in op.operands)})")

    return rule


def rounding(kind: str) -> Rule:
    return call(lambda helpers, element, lanes: helpers.rounding(kind, element, lanes))


def cmpf(kernel: KernelWriter, op: arith.CmpfOp) -> None:
    type = op.lhs.type
    element = float_type(kernel, op, type)
    mask = MASK_ELEMENTS[element]
    lanes = lanes_of(type)
    is_true, is_false = ("true", "false") if lanes is None else (f"({mask}{lanes})({x})" for x in (-1, 0))
    a, b = kernel.expressions[op.lhs], kernel.expressions[op.rhs]
    template = _CMPF[op.predicate.value.data]
    kernel.define(op, template.format(a=a, b=b, true=is_true, false=is_false), mask)


def cmpi(kernel: KernelWriter, op: arith.CmpiOp) -> None:
    type = op.lhs.type
    element = kernel.element(type, op)
    lanes = lanes_of(type)
    predicate = op.predicate.value.data
    a, b = kernel.expressions[op.lhs], kernel.expressions[op.rhs]
    if element == "bool" and lanes is None:
        if 2 <= predicate < _FIRST_UNSIGNED_CMPI:
            # read as signed, true is -1
            a, b = b, a
    else:
        if op.lhs in kernel.masks:
            element = kernel.masks[op.lhs]
            b = kernel.mask(op.rhs, element)
        if predicate >= _FIRST_UNSIGNED_CMPI:
            a, b = as_unsigned(element, lanes, a), as_unsigned(element, lanes, b)
    kernel.define(op, f"{a} {_CMPI[predicate]} {b}", element if lanes is not None else None)


def select(kernel: KernelWriter, op: low.SelectOp) -> None:
    condition, on_true, on_false = op.operands
    lanes = lanes_of(op.result.type)
    a, b = kernel.expressions[on_true], kernel.expressions[on_false]
    mask = None
    if lanes is None:
        test = kernel.expressions[condition]
    else:
        mask = kernel.masks.get(on_true)
        if mask is not None:
            b = kernel.mask(on_false, mask)
        element = mask or MASK_ELEMENTS[kernel.element(op.result.type, op)]
        test = kernel.mask(condition, element)
    kernel.define(op, f"{test} ? {a} : {b}", mask)


def reverse(kernel: KernelWriter, op: low.ReverseOp) -> None:
    order = "".join(f"{lane:x}" for lane in reversed(range(lanes_of(op.result.type) or 1)))
    kernel.define(op, f"{kernel.expressions[op.source]}.s{order}", kernel.masks.get(op.source))


def transpose(kernel: KernelWriter, op: low.TransposeOp) -> None:
    type = kernel.c_type(op.columns[0], op)
    values = [kernel.expressions[row] for row in op.rows]
    n = len(values)
    for first, second, *lanes in exchanges(n):
        pair = values[first], values[second]
        elements = [", ".join(f"{pair[lane // n]}.s{lane % n:x}" for lane in chosen) for chosen in lanes]
        values[first], values[second] = (kernel.temporary(type, f"({type})({text})") for text in elements)
    kernel.expressions.update(zip(op.columns, values, strict=True))


def _is_safe_divisor(value: SSAValue) -> bool:
    """Returns whether dividing by `value` can neither trap nor overflow: a constant, not 0 and not -1."""
    return constant_integer(value) not in (None, 0, -1) and value.type != i1


def _may_contract(op: Operation) -> bool:
    fastmath = op.properties.get("fastmath")
    return isinstance(fastmath, arith.FastMathFlagsAttr) and FastMathFlag.ALLOW_CONTRACT in fastmath.data


def _absorbed_product(op: Operation) -> arith.MulfOp | None:
    """Returns the product that the sum or difference `op` takes in, the left one if it could be either."""
    if not _may_contract(op):
        return None
    for operand in op.operands:
        product = operand.owner
        if (
            isinstance(product, arith.MulfOp)
            and _may_contract(product)
            and product.parent is op.parent
            and operand.has_one_use()
        ):
            return product
    return None


def _sum_that_absorbs(product: Operation) -> Operation | None:
    """Returns the sum or difference that computes `product` along with it."""
    result = product.results[0]
    if not _may_contract(product) or not result.has_one_use():
        return None
    user = next(iter(result.uses)).operation
    is_sum = isinstance(user, arith.AddfOp | arith.SubfOp)
    return user if is_sum and _absorbed_product(user) is product else None
