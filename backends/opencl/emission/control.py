"""Rules for loops, branches, ids and barriers."""

from __future__ import annotations

from xdsl.dialects import scf

from ....dialects import low
from .kernel import KernelWriter


def for_loop(kernel: KernelWriter, op: scf.ForOp) -> None:
    """Every carried value is a variable, declared before the loop and read after it as the result."""
    body = op.body.block
    induction, carried = body.args[0], body.args[1:]
    for argument, result, initial in zip(carried, op.results, op.iter_args, strict=True):
        type = kernel.c_type(argument, op)
        hint = argument.name_hint or result.name_hint
        name = kernel.name(argument, "carried", hint)
        kernel.line(f"{type} {name} = {kernel.like(initial, argument)};")
    lower, upper, step = (kernel.expressions[bound] for bound in (op.lb, op.ub, op.step))
    type = kernel.c_type(induction, op)
    i = kernel.name(induction, "i")
    kernel.line(f"for ({type} {i} = {lower}; {i} < {upper}; {i} += {step}) {{")
    kernel.nested(body, carried)
    kernel.line("}")
    for argument, result in zip(carried, op.results, strict=True):
        # nothing assigns to the variable any more
        kernel.expressions[result] = kernel.expressions[argument]
        if argument in kernel.masks:
            kernel.masks[result] = kernel.masks[argument]


def while_loop(kernel: KernelWriter, op: scf.WhileOp) -> None:
    """
    What is carried into the condition's code, and what that passes on, are variables, declared before the
    loop; the latter are read after it as the results.
    """
    before, body = op.before_region.block, op.after_region.block
    for argument, initial in zip(before.args, op.arguments, strict=True):
        type = kernel.c_type(argument, op)
        name = kernel.name(argument, "carried")
        kernel.line(f"{type} {name} = {kernel.like(initial, argument)};")
    for argument in body.args:
        kernel.line(f"{kernel.c_type(argument, op)} {kernel.name(argument, 'passed')};")
    last = before.last_op
    assert isinstance(last, scf.ConditionOp), "scf.while: the region ends in no scf.condition"
    kernel.line("for (;;) {")
    kernel.nested(before, body.args)
    kernel.inner_line(f"if (!{kernel.expressions[last.condition]}) break;")
    kernel.nested(body, before.args)
    kernel.line("}")
    for argument, result in zip(body.args, op.results, strict=True):
        kernel.expressions[result] = kernel.expressions[argument]


def if_else(kernel: KernelWriter, op: scf.IfOp) -> None:
    """Every result is a variable, declared before and assigned in both branches."""
    for result in op.results:
        kernel.line(f"{kernel.c_type(result, op)} {kernel.name(result)};")
    kernel.line(f"if ({kernel.expressions[op.cond]}) {{")
    kernel.nested(op.true_region.block, op.results)
    otherwise = op.false_region.blocks[0] if op.false_region.blocks else None
    if otherwise is not None and (op.results or not isinstance(otherwise.first_op, scf.YieldOp | None)):
        kernel.line("} else {")
        kernel.nested(otherwise, op.results)
    kernel.line("}")


def work_item_id(kernel: KernelWriter, op: low.BlockIdOp | low.ThreadIdOp, function: str) -> None:
    kernel.define(op, f"(long){function}({op.dimension.data.number})")


def barrier(kernel: KernelWriter, op: low.BarrierOp) -> None:
    kernel.line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")
