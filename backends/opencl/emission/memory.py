"""Rules for memory and for what is special to vectors."""

from __future__ import annotations

from xdsl.dialects import memref, vector
from xdsl.ir import Attribute, SSAValue

from ....dialects import low
from ....dialects.element_types import is_float, lanes_of
from ....dialects.low.combining import FLOAT_REDUCTIONS, INTEGER_REDUCTIONS
from .arithmetic import COMBINERS
from .kernel import KernelWriter


def load(kernel: KernelWriter, op: memref.LoadOp) -> None:
    kernel.define(op, f"{kernel.expressions[op.memref]}[{kernel.index(op, op.indices)}]")


def store(kernel: KernelWriter, op: memref.StoreOp) -> None:
    array, index = kernel.expressions[op.memref], kernel.index(op, op.indices)
    kernel.line(f"{array}[{index}] = {kernel.expressions[op.value]};")


def vector_load(kernel: KernelWriter, op: vector.LoadOp) -> None:
    kernel.define(op, _vector_at(kernel, op, op.base, op.result.type, "const "))


def vector_store(kernel: KernelWriter, op: vector.StoreOp) -> None:
    kernel.line(f"{_vector_at(kernel, op, op.base, op.vector.type, '')} = {kernel.expressions[op.vector]};")


def _vector_at(
    kernel: KernelWriter, op: vector.LoadOp | vector.StoreOp, base: SSAValue, type: Attribute, const: str
) -> str:
    lanes = lanes_of(type)
    assert lanes is not None, f"{op.name}: {type} is no vector"
    return kernel.vector_at(op, base, kernel.index(op, op.indices), lanes, const)


def alloca(kernel: KernelWriter, op: low.AllocaOp) -> None:
    if not op.is_shared:
        kernel.array(op, "")


def broadcast(kernel: KernelWriter, op: vector.BroadcastOp) -> None:
    lanes = lanes_of(op.vector.type)
    element = kernel.element(op.vector.type, op)
    text = kernel.expressions[op.source]
    if lanes_of(op.source.type) is not None:
        raise kernel.fail(op, f"cannot broadcast {op.source.type} to {op.vector.type}")
    if element == "bool":
        kernel.define(op, f"(int{lanes})({text} ? -1 : 0)", "int")
    else:
        kernel.define(op, f"({element}{lanes})({text})")


def reduction(kernel: KernelWriter, op: vector.ReductionOp) -> None:
    type = op.dest.type
    lanes = lanes_of(op.vector.type)
    assert lanes is not None
    combining = (FLOAT_REDUCTIONS if is_float(type) else INTEGER_REDUCTIONS).get(op.kind.data)
    if combining is None:
        raise kernel.fail(op, f"no rule for {op.kind.data.value} of {op.vector.type}")
    combine = COMBINERS[combining]
    result = kernel.c_type(op.dest, op)
    numbers = kernel.expressions[op.vector]
    values = [f"{numbers}.s{lane:x}" for lane in range(lanes)]
    if op.vector in kernel.masks:
        values = [f"({value} != 0)" for value in values]
    name = kernel.name(op.dest)
    while len(values) > 2:
        half = len(values) // 2
        for lane in range(half):
            combined = combine(kernel, op, type, values[lane], values[lane + half])
            values[lane] = kernel.temporary(result, combined)
        del values[half:]
    combined = combine(kernel, op, type, values[0], values[1])
    if op.acc is not None:
        partial = kernel.temporary(result, combined)
        combined = combine(kernel, op, type, kernel.expressions[op.acc], partial)
    kernel.line(f"{result} {name} = {combined};")
