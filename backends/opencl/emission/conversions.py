"""Rules for the ops that change a value's type."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16, i1
from xdsl.ir import Attribute

from ....dialects import low
from ....dialects.element_types import NBYTES, element_type_of, is_narrow_float, lanes_of
from .kernel import KernelWriter
from .types import MASK_ELEMENTS, NBITS, UNSIGNED, as_unsigned, cast, nbytes_of, vector_type


def convert(kernel: KernelWriter, op: low.ConvertOp) -> None:
    kind = op.conversion.data
    source, result = element_type_of(op.source.type), element_type_of(op.result.type)
    to = kernel.element(op.result.type, op)
    lanes = lanes_of(op.source.type)
    a = kernel.expressions[op.source]
    element = kernel.element(op.source.type, op)
    if is_narrow_float(source):
        a, element = f"{kernel.helpers.narrow_to_float(source, lanes)}({a})", "float"
    if is_narrow_float(result):
        _integer_to_narrow(kernel, op, element, lanes, a)
        return
    if kind in (low.Conversion.FPTOSI, low.Conversion.FPTOUI):
        _float_to_integer(kernel, op, element, to, lanes, a)
        return
    if source == i1:
        is_signed = kind in (low.Conversion.SITOFP, low.Conversion.EXTSI)
        kernel.define(op, _from_boolean(kernel, op, to, lanes, a, is_signed))
        return
    if result == i1:
        one, zero = (f"({vector_type(element, lanes)})({x})" for x in (1, 0))
        text = f"({a} & 1) != 0" if lanes is None else f"({a} & {one}) != {zero}"
        kernel.define(op, text, element)
        return
    if kind in (low.Conversion.UITOFP, low.Conversion.EXTUI):
        a = as_unsigned(element, lanes, a)
    kernel.define(op, cast(to, lanes, a))


def _integer_to_narrow(
    kernel: KernelWriter, op: low.ConvertOp, source: str, lanes: int | None, a: str
) -> None:
    result = element_type_of(op.result.type)
    is_signed = op.conversion.data is low.Conversion.SITOFP
    if source == "bool" or NBITS[source] < 24 or result != bf16:
        # float holds every integer up to 2^24, and larger ones overflow the other narrow floats already
        if source == "bool":
            wide = _from_boolean(kernel, op, "float", lanes, a, is_signed)
        else:
            wide = cast("float", lanes, a if is_signed else as_unsigned(source, lanes, a))
        kernel.define(op, f"{kernel.helpers.round_to_narrow('float', result, lanes)}({wide})")
        return
    integer = source if is_signed else UNSIGNED[source]
    a = a if is_signed else as_unsigned(source, lanes, a)
    kernel.define(op, f"{kernel.helpers.integer_to_narrow(integer, result, lanes)}({a})")


def _from_boolean(
    kernel: KernelWriter, op: low.ConvertOp, to: str, lanes: int | None, a: str, is_signed: bool
) -> str:
    if lanes is None:
        return f"({to})(-(int){a})" if is_signed else f"({to}){a}"
    mask = kernel.masks[op.source]
    bits = a if is_signed else f"{a} & ({mask}{lanes})(1)"
    return bits if to == mask else f"convert_{to}{lanes}({bits})"


def _float_to_integer(
    kernel: KernelWriter, op: low.ConvertOp, source: str, to: str, lanes: int | None, a: str
) -> None:
    is_signed = op.conversion.data is low.Conversion.FPTOSI
    if to == "bool":
        limit = f"({vector_type(source, lanes)})({'-1' if is_signed else '1'})"
        kernel.define(op, f"{a} {'<=' if is_signed else '>='} {limit}", MASK_ELEMENTS[source])
        return
    target = to if is_signed else UNSIGNED[to]
    text = f"{kernel.helpers.float_to_integer(source, target, lanes)}({a})"
    kernel.define(op, text if is_signed else f"as_{vector_type(to, lanes)}({text})")


def extf(kernel: KernelWriter, op: arith.ExtFOp) -> None:
    source, result = element_type_of(op.input.type), element_type_of(op.result.type)
    if NBYTES[result] <= NBYTES[source]:
        raise kernel.fail(op, f"cannot extend {op.input.type} to {op.result.type}")
    _change_float(kernel, op, source, result)


def truncf(kernel: KernelWriter, op: arith.TruncFOp) -> None:
    source, result = element_type_of(op.input.type), element_type_of(op.result.type)
    if NBYTES[result] >= NBYTES[source]:
        raise kernel.fail(op, f"cannot truncate {op.input.type} to {op.result.type}")
    _change_float(kernel, op, source, result)


def _change_float(
    kernel: KernelWriter, op: arith.ExtFOp | arith.TruncFOp, source: Attribute, result: Attribute
) -> None:
    lanes = lanes_of(op.result.type)
    element, to = kernel.element(op.input.type, op), kernel.element(op.result.type, op)
    text = kernel.expressions[op.input]
    if is_narrow_float(source):
        text, element = f"{kernel.helpers.narrow_to_float(source, lanes)}({text})", "float"
    if is_narrow_float(result):
        text = f"{kernel.helpers.round_to_narrow(element, result, lanes)}({text})"
    elif to != element:
        text = cast(to, lanes, text)
    kernel.define(op, text)


def bitcast(kernel: KernelWriter, op: arith.BitcastOp) -> None:
    element, to = kernel.element(op.input.type, op), kernel.element(op.result.type, op)
    lanes = lanes_of(op.result.type)
    if "bool" in (element, to) or nbytes_of(element) != nbytes_of(to) or lanes != lanes_of(op.input.type):
        raise kernel.fail(op, f"cannot cast the bits of {op.input.type} to {op.result.type}")
    text = kernel.expressions[op.input]
    kernel.define(op, text if element == to else f"as_{vector_type(to, lanes)}({text})")


def index_cast(kernel: KernelWriter, op: arith.IndexCastOp) -> None:
    text = kernel.expressions[op.input]
    if op.input.type == i1:
        kernel.define(op, f"-(long){text}")
    elif op.result.type == i1:
        kernel.define(op, f"({text} & 1) != 0")
    else:
        kernel.define(op, f"({kernel.element(op.result.type, op)}){text}")
