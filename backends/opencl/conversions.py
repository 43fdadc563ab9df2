"""Rules for the ops that change a value's type."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16, f16, i1

from ...dialects import low
from ...dialects.element_types import element_type_of, lanes_of
from .kernel import KernelWriter
from .types import MASK_ELEMENTS, UNSIGNED, as_unsigned, cast, nbytes_of, vector_type


def convert(kernel: KernelWriter, op: low.ConvertOp) -> None:
    kind = op.conversion.data
    source, result = element_type_of(op.source.type), element_type_of(op.result.type)
    for type in (op.source.type, op.result.type):
        if element_type_of(type) in (f16, bf16):
            raise kernel.fail(op, f"no arithmetic in {type} (kernels compute in f32)")
    to = kernel.element(op.result.type, op)
    lanes = lanes_of(op.source.type)
    a = kernel.expressions[op.source]
    element = kernel.element(op.source.type, op)
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
    lanes = lanes_of(op.result.type)
    element, to = kernel.element(op.input.type, op), kernel.element(op.result.type, op)
    text = kernel.expressions[op.input]
    if source in (f16, bf16):
        text = f"{kernel.helpers.half_to_float(str(source), lanes)}({text})"
        element = "float"
    if result in (f16, bf16) or (to == element and source not in (f16, bf16)):
        raise kernel.fail(op, f"cannot extend {op.input.type} to {op.result.type}")
    kernel.define(op, text if to == element else cast(to, lanes, text))


def truncf(kernel: KernelWriter, op: arith.TruncFOp) -> None:
    result = element_type_of(op.result.type)
    lanes = lanes_of(op.result.type)
    element, to = kernel.element(op.input.type, op), kernel.element(op.result.type, op)
    text = kernel.expressions[op.input]
    if element == "ushort" or to == element or to == "double":
        raise kernel.fail(op, f"cannot truncate {op.input.type} to {op.result.type}")
    if result in (f16, bf16):
        kernel.define(op, f"{kernel.helpers.round_to_half(element, str(result), lanes)}({text})")
    else:
        kernel.define(op, cast(to, lanes, text))


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
