"""The functions of a module that can be run: `func.func`s over tensors, and `sched.program`s."""

from __future__ import annotations

from difflib import get_close_matches

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation

from ...errors import TenonError
from .. import low, sched
from .kernel_access import kernels_of
from .level import IRLevel
from .parsing import location_text

Entry = func.FuncOp | sched.ProgramOp


def preparation_name(name: str) -> str:
    """Returns the name of the function that prepares for `name` what that takes besides its arguments."""
    return f"{name}_preparation"


def entries_of(module: ModuleOp) -> list[Entry]:
    """Returns the functions with a body and the programs of a module, in their order."""
    return [
        op
        for op in module.body.ops
        if isinstance(op, sched.ProgramOp) or (isinstance(op, func.FuncOp) and not op.is_declaration)
    ]


def find_entry(module: ModuleOp, name: str | None) -> Entry:
    """
    Returns the entry of a module called `name`, or for None the only one.

    Raises:
        TenonError: there is none, there is none of that name, there are several and no name was given, or the
            one found has control flow.
    """
    entries = entries_of(module)
    names = [entry.sym_name.data for entry in entries]
    listed = ", ".join(f"@{found}" for found in names)
    if not entries:
        raise TenonError("the module has no function to run")
    if name is None:
        if len(entries) > 1:
            raise TenonError(f"the module has {len(entries)} functions ({listed}); say which one to run")
        name = names[0]
    if name not in names:
        nearest = get_close_matches(name, names, n=1, cutoff=0.6)
        hint = f", did you mean @{nearest[0]}?" if nearest else ""
        raise TenonError(f"there is no function @{name} (functions: {listed}){hint}")
    entry = entries[names.index(name)]
    if isinstance(entry, func.FuncOp):
        check_single_block(entry)
    return entry


def check_single_block(function: func.FuncOp) -> None:
    """Raises TenonError, with the place, where a function has control flow."""
    if (n_blocks := len(function.body.blocks)) != 1:
        raise TenonError(
            f"{function.name}: @{function.sym_name.data} has {n_blocks} blocks, expected one",
            location=location_text(function.location),
        )


def level_of(module: ModuleOp, entry: Entry) -> IRLevel:
    """Returns the level that `entry` is at: a program is at `low` where all kernels that it launches are."""
    if isinstance(entry, func.FuncOp):
        return IRLevel.GRAPH
    kernels = kernels_of(module)
    is_low = all(isinstance(kernels[name], low.KernelOp) for name in _launched(entry))
    return IRLevel.LOW if is_low else IRLevel.SCHED


def _launched(program: sched.ProgramOp) -> dict[str, None]:
    """Returns the names of the kernels that a program launches, in order."""
    return {op.kernel.root_reference.data: None for op in program.walk() if isinstance(op, sched.LaunchOp)}


def called_functions(module: ModuleOp, function: func.FuncOp) -> list[func.FuncOp]:
    """Returns `function` and those that it calls, and that they call."""
    functions = {op.sym_name.data: op for op in module.body.ops if isinstance(op, func.FuncOp)}
    found = {function: None}
    waiting = [function]
    while waiting:
        for op in waiting.pop().walk():
            if isinstance(op, func.CallOp):
                callee = functions.get(op.callee.string_value())
                if callee is not None and callee not in found:
                    found[callee] = None
                    waiting.append(callee)
    return list(found)


def argument_names(entry: Entry) -> tuple[str, ...]:
    """
    Returns the names of the arguments as written, `arg0`, `arg1`, ... where there are none; a name that was
    taken by an earlier argument gets a number.
    """
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for argument in entry.body.block.args:
        wanted = name = argument.name_hint or f"arg{argument.index}"
        while name in names:
            numbers[wanted] = number = numbers.get(wanted, 0) + 1
            name = f"{wanted}_{number}"
        names[name] = None
    return tuple(names)


def keep_only(module: ModuleOp, entry: Entry) -> None:
    """
    Erases the functions and programs that `entry` does not call, and the kernels it does not launch. What it
    calls becomes private.
    """
    launched = _launched(entry) if isinstance(entry, sched.ProgramOp) else {}
    kept: set[Operation] = {entry}
    if isinstance(entry, func.FuncOp):
        kept.update(called_functions(module, entry))
    erased: list[Operation] = []
    for op in module.body.ops:
        match op:
            case sched.KernelOp() | low.KernelOp():
                if op.sym_name.data not in launched:
                    erased.append(op)
            case func.FuncOp() | sched.ProgramOp():
                if op not in kept:
                    erased.append(op)
                elif isinstance(op, func.FuncOp) and op is not entry:
                    op.properties["sym_visibility"] = StringAttr("private")
            case _:
                pass
    for op in erased:
        op.detach()
        op.erase()
