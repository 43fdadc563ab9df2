"""One program of openxla's tests: what it computes and expects, as a function that gives both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tenon
from tenon.dialects import stablehlo
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError
from xdsl.dialects import func
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, FunctionType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from .check_dialect import CheckOp, context_with_checks
from .comparison import MAX_ULPS, TOLERANCE, Check

LEFT_OUT = ("!quant", "quantized")
"""What the text of a program has that is of types that Tenon does not have."""


@dataclass(frozen=True)
class Outcome:
    """How a program went: `passed`, `left out`, `wrong`, `unsupported`, `no check` or `rejected`, and why."""

    kind: str
    reason: str = ""


def run_file(path: Path, backend: str) -> Iterator[tuple[str, Outcome]]:
    """Yields the name and the outcome of each function of a file that has checks."""
    for number, text in enumerate(path.read_text(errors="replace").split("// -----\n")):
        name = path.name if number == 0 else f"{path.name}#{number}"
        if not any(check in text for check in ("check.expect", "check.")):
            continue
        if "// expected-error" in text or any(word in text for word in LEFT_OUT):
            yield name, Outcome("left out")
            continue
        yield from _run_text(text, name, backend)


def _run_text(text: str, name: str, backend: str) -> Iterator[tuple[str, Outcome]]:
    try:
        module = parse_module(text, name, ctx=context_with_checks())
        verify_module(module)
    except TenonError as error:
        yield name, Outcome("rejected", error.message)
        return
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    checked = [each.sym_name.data for each in functions if any(map(_is_check, each.body.block.ops))]
    for function in checked:
        label = name if len(checked) == 1 else f"{name}:{function}"
        yield label, run_function(module.clone(), function, backend)


def run_function(module: ModuleOp, name: str, backend: str) -> Outcome:
    """Returns how a function of a module goes, which may be changed."""
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    checks = _give_what_is_checked(functions[name])
    try:
        with tenon.compile(module, backend=backend, entry=name) as executable:
            results = executable()
    except TenonError as error:
        kind = "unsupported" if "no conversion" in error.message else "rejected"
        return Outcome(kind, error.message)
    for number, check in enumerate(checks):
        where = check.difference(*results[2 * number : 2 * number + 2])
        if where is not None:
            return Outcome("wrong", where)
    return Outcome("passed")


def _is_check(op: Operation) -> bool:
    return isinstance(op, CheckOp) or (
        isinstance(op, stablehlo.CustomCallOp) and op.target.startswith("check.")
    )


def _give_what_is_checked(function: func.FuncOp) -> list[Check]:
    """Has a function give the values of its checks in pairs, and returns these."""
    block, checks, values = function.body.block, list[Check](), list[SSAValue]()
    for op in list(block.ops):
        if not _is_check(op):
            continue
        checks.append(_check_of(op))
        values += op.operands
        if isinstance(op, CheckOp) and isinstance(op.value, DenseIntOrFPElementsAttr):
            constant = stablehlo.ConstantOp.create(
                result_types=[op.value.type], properties={"value": op.value}
            )
            block.insert_op_before(constant, op)
            values.append(constant.results[0])
        op.detach()
        op.erase()
    last = block.last_op
    assert last is not None, "a function ends in a return"
    block.insert_op_before(func.ReturnOp(*values), last)
    last.detach()
    last.erase()
    inputs = [argument.type for argument in block.args]
    function.properties["function_type"] = FunctionType.from_lists(inputs, [each.type for each in values])
    function.properties.pop("res_attrs", None)
    return checks


def _check_of(op: Operation) -> Check:
    name = op.target if isinstance(op, stablehlo.CustomCallOp) else op.name
    kind = name.removeprefix("check.expect_").removesuffix("_const")
    tolerance, ulps = TOLERANCE, MAX_ULPS
    if isinstance(op, CheckOp):
        options = {**op.attributes, **op.properties}
        if isinstance(told := options.get("tolerance"), FloatAttr):
            tolerance = told.value.data
        if isinstance(told := options.get("max_ulp_difference"), IntegerAttr):
            ulps = told.value.data
    return Check(kind, tolerance, ulps)
