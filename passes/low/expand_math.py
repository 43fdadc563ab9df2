"""
Replaces exp, log, sin and the other functions of floats by plain arithmetic.

    %y = math.exp %x : f32

-->

    %rounded = math.fma %x, %log2_e, %rounder : f32
    ...
    %y = arith.mulf %almost, %second_factor : f32

The functions are in `passes/low/math/`, their accuracy in docs/accuracy.md. Constants go to the front of the
kernel, each once. Every backend and the interpreter compute the same bits, as multiply-adds are fused by
definition (`math.fma`); fast-math flags ask for nothing that the expansions could give.

Requires: operands of f32, f64 or 1-d vectors of them. Ensures: no op of `low.EXPANDED_OPS` remains in a
kernel. Raises PassFailedException for another operand type, and for an op of `math` that kernels do not know.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.dialects.math import ExpOp, Math
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...dialects.element_types import element_type_of, lanes_of
from ...dialects.float_layout import F32, F64, FloatLayout
from ...dialects.low import BODY_OPS, EXPANDED_OPS, KernelOp
from .kernel_front import KernelFront
from .math import EXPANSIONS
from .math.arithmetic import Float
from .math.emitter import Emitter, KernelConstants
from .math.exponentials import expansion_of_exp

_FORMATS: dict[Attribute, FloatLayout] = {f32: F32, f64: F64}

_UNKNOWN_OPS = frozenset(Math.operations) - frozenset(BODY_OPS)


@dataclass(frozen=True)
class ExpandMathPass(ModulePass):
    """Replaces exp, log, sin and the other functions of floats by plain arithmetic."""

    name = "expand-math"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.walk():
            if isinstance(kernel, KernelOp):
                _expand_kernel(kernel)


def _expand_kernel(kernel: KernelOp) -> None:
    found: list[Operation] = []
    for op in kernel.body.walk():
        if type(op) in EXPANDED_OPS:
            found.append(op)
        elif type(op) in _UNKNOWN_OPS:
            raise PassFailedException(f"expand-math: no expansion of {op.name} (not an op of kernels)")
    if not found:
        return
    front = KernelFront(kernel.body.block)
    constants = KernelConstants(front)
    for op in found:
        _replace(op, constants)
    front.insert()


def _replace(op: Operation, constants: KernelConstants) -> None:
    result = op.results[0]
    format = _FORMATS.get(element_type_of(result.type))
    if format is None:
        raise PassFailedException(
            f"expand-math: no expansion of {op.name} on {result.type} (need f32 or f64)"
        )
    emitter = Emitter(op, format, lanes_of(result.type), constants)
    operands = [Float(emitter, operand) for operand in op.operands]
    function = expansion_of_exp(op) if isinstance(op, ExpOp) else EXPANSIONS[type(op)].function
    value: SSAValue = function(*operands).value
    block = op.parent
    assert block is not None, f"{op.name} stands in no block"
    block.insert_ops_before(emitter.ops, op)
    value.name_hint = result.name_hint or value.name_hint
    result.replace_all_uses_with(value)
    op.detach()
    op.erase()
