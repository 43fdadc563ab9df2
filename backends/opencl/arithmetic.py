"""
Rules for arithmetic, comparisons and constants.

A product that may be contracted into the sum or difference that alone uses it is left to `tenon_muladd`.
"""

from __future__ import annotations

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

from ...dialects import low
from ...dialects.element_types import element_type_of, is_float, is_narrow_float, lanes_of
from ...dialects.low.constant_integer import constant_integer
from ...dialects.low.lane_exchange import exchanges
from ...dialects.xdsl_fixes import dense_values
from .kernel import KernelWriter
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

_INDEX = IndexType()

_FLOAT_INFIX: dict[str, str] = {"addf": "+", "subf": "-", "mulf": "*", "divf": "/"}
_WRAPPING_INFIX: dict[str, str] = {"addi": "+", "subi": "-", "muli": "*"}
_BIT_INFIX: dict[str, str] = {"andi": "&", "ori": "|", "xori": "^"}
_DIVISIONS = {"divsi": "/", "remsi": "%", "divui": "/", "remui": "%"}
_SHIFTS = {"shli": "<<", "shrsi": ">>", "shrui": ">>"}
_EXTREMES = {"minsi": "<", "maxsi": ">", "minui": "<", "maxui": ">"}

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
            if element == "bool":
                literals = ["-1" if bit else "0" for bit in elements]
                element = kernel.masks[result] = "int"
            elif is_float(type):
                literals = [float_literal(type, number) for number in elements]
            else:
                literals = [integer_literal(element, int(number)) for number in elements]
            if all(literal == literals[0] for literal in literals):
                literals = literals[:1]
            kernel.define(op, f"({vector_type(element, lanes)})({', '.join(literals)})")
        case _:
            raise kernel.fail(op, f"no C constant for {value}")


def binary(kernel: KernelWriter, op: Operation, kind: str) -> None:
    result = op.results[0]
    if kind == "mulf" and _sum_that_absorbs(op) is not None:
        return
    lhs, rhs = op.operands
    if kind in ("addf", "subf"):
        product = _absorbed_product(op)
        if product is not None:
            _multiply_add(kernel, op, product, kind)
            return
    if kind in _DIVISIONS and _is_safe_divisor(rhs):
        type = arithmetic_type(kernel, op, result.type, integer=True)
        a, b = kernel.expressions[lhs], kernel.expressions[rhs]
        kernel.define(op, _plain_division(kind, type, a, b))
        return
    if lhs in kernel.masks:
        kernel.define(op, _combine_masks(kernel, op, kind, lhs, rhs), kernel.masks[lhs])
        return
    a, b = kernel.expressions[lhs], kernel.expressions[rhs]
    kernel.define(op, combine(kernel, op, kind, result.type, a, b))


def _combine_masks(kernel: KernelWriter, op: Operation, kind: str, lhs: SSAValue, rhs: SSAValue) -> str:
    if kind not in _BIT_INFIX:
        raise kernel.fail(op, f"no arithmetic in {lhs.type}")
    return f"{kernel.expressions[lhs]} {_BIT_INFIX[kind]} {kernel.mask(rhs, kernel.masks[lhs])}"


def _plain_division(kind: str, element: str, a: str, b: str) -> str:
    operator = _DIVISIONS[kind]
    if kind.endswith("si"):
        text = f"{a} {operator} {b}"
        return text if NBITS[element] >= 32 else f"({element})({text})"
    unsigned = UNSIGNED[element]
    return f"({element})(({unsigned}){a} {operator} ({unsigned}){b})"


def arithmetic_type(kernel: KernelWriter, op: Operation, type: Attribute, *, integer: bool) -> str:
    """Returns the C element type, having checked that there is arithmetic in it."""
    element = element_type_of(type)
    spelled = kernel.element(type, op)
    if is_narrow_float(element):
        raise kernel.fail(op, f"no arithmetic in {type} (kernels compute in f32)")
    if element == i1 or is_float(element) == integer:
        raise kernel.fail(op, f"no arithmetic in {type}")
    return spelled


def combine(kernel: KernelWriter, op: Operation, kind: str, type: Attribute, a: str, b: str) -> str:
    """Returns the expression of `kind` on two operands of `type`, which is not a mask."""
    lanes = lanes_of(type)
    if kind in _BIT_INFIX:
        spelled = kernel.element(type, op)
        text = f"{a} {_BIT_INFIX[kind]} {b}"
        is_narrow = lanes is None and spelled in ("char", "short", "bool")
        return f"({spelled})({text})" if is_narrow else text
    if kind in _FLOAT_INFIX:
        arithmetic_type(kernel, op, type, integer=False)
        return f"{a} {_FLOAT_INFIX[kind]} {b}"
    if kind in ("maximumf", "minimumf", "copysign", "remf", "ldexp"):
        spelled = arithmetic_type(kernel, op, type, integer=False)
        helper = {
            "maximumf": kernel.helpers.maximum,
            "minimumf": kernel.helpers.minimum,
            "copysign": kernel.helpers.copysign,
            "remf": kernel.helpers.remainder,
            "ldexp": kernel.helpers.ldexp,
        }[kind]
        return f"{helper(spelled, lanes)}({a}, {b})"
    spelled = arithmetic_type(kernel, op, type, integer=True)
    if kind in _DIVISIONS:
        return f"{kernel.helpers.division(kind, spelled, lanes)}({a}, {b})"
    if kind in _EXTREMES:
        left, right = (a, b) if kind.endswith("si") else (as_unsigned(spelled, lanes, x) for x in (a, b))
        return f"{left} {_EXTREMES[kind]} {right} ? {a} : {b}"
    if element_type_of(type) == _INDEX and kind in _WRAPPING_INFIX:
        # an index that overflows is out of range wherever it is used
        return f"{a} {_WRAPPING_INFIX[kind]} {b}"
    if kind in _SHIFTS:
        return _shift(kind, spelled, lanes, a, b)
    infix = _WRAPPING_INFIX[kind]
    if lanes is None and NBITS[spelled] < 32:
        return f"({spelled})({a} {infix} {b})"
    unsigned = (as_unsigned(spelled, lanes, x) for x in (a, b))
    return as_signed(spelled, lanes, f" {infix} ".join(unsigned))


def _shift(kind: str, element: str, lanes: int | None, a: str, b: str) -> str:
    """Shifts by the amount modulo the width, as OpenCL C does once it has promoted narrow scalars."""
    is_narrow = lanes is None and NBITS[element] < 32
    if is_narrow:
        b = f"({b} & {NBITS[element] - 1})"
    if kind == "shrsi":
        text = f"{a} >> {b}"
        return f"({element})({text})" if is_narrow else text
    amount = b if lanes is None else as_unsigned(element, lanes, b)
    return as_signed(element, lanes, f"{as_unsigned(element, lanes, a)} {_SHIFTS[kind]} {amount}")


def _multiply_add(kernel: KernelWriter, op: Operation, product: Operation, kind: str) -> None:
    result = op.results[0]
    lhs, rhs = op.operands
    spelled = arithmetic_type(kernel, op, result.type, integer=False)
    a, b = (kernel.expressions[factor] for factor in product.operands)
    if product.results[0] is lhs:
        c = kernel.expressions[rhs]
        c = f"-{c}" if kind == "subf" else c
    else:
        c = kernel.expressions[lhs]
        a = f"-{a}" if kind == "subf" else a
    kernel.define(op, f"{kernel.helpers.muladd(spelled, lanes_of(result.type))}({a}, {b}, {c})")


def negf(kernel: KernelWriter, op: arith.NegfOp) -> None:
    arithmetic_type(kernel, op, op.result.type, integer=False)
    kernel.define(op, f"-{kernel.expressions[op.operand]}")


def call(kernel: KernelWriter, op: Operation, function: str) -> None:
    arithmetic_type(kernel, op, op.results[0].type, integer=False)
    kernel.define(op, f"{function}({', '.join(kernel.expressions[operand] for operand in op.operands)})")


def absf(kernel: KernelWriter, op: math.AbsFOp) -> None:
    type = op.result.type
    call(kernel, op, kernel.helpers.absolute(_float_type(kernel, op, type), lanes_of(type)))


def sqrt(kernel: KernelWriter, op: math.SqrtOp) -> None:
    type = op.result.type
    call(kernel, op, kernel.helpers.sqrt(_float_type(kernel, op, type), lanes_of(type)))


def fma(kernel: KernelWriter, op: math.FmaOp) -> None:
    type = op.result.type
    call(kernel, op, kernel.helpers.fma(_float_type(kernel, op, type), lanes_of(type)))


def _float_type(kernel: KernelWriter, op: Operation, type: Attribute) -> str:
    return arithmetic_type(kernel, op, type, integer=False)


def rounding(kernel: KernelWriter, op: Operation, kind: str) -> None:
    type = op.results[0].type
    element = arithmetic_type(kernel, op, type, integer=False)
    call(kernel, op, kernel.helpers.rounding(kind, element, lanes_of(type)))


def cmpf(kernel: KernelWriter, op: arith.CmpfOp) -> None:
    type = op.lhs.type
    element = arithmetic_type(kernel, op, type, integer=False)
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


def _absorbed_product(op: Operation) -> Operation | None:
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
