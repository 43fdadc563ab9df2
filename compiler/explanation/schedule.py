"""The schedule of a kernel as a tree of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects import arith, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import low, sched
from ...dialects.buffer_size import nbytes_of
from ...dialects.element_types import element_type_of
from ...passes.indices.analysis import Loop
from ...passes.rewriting.value_names import value_names
from .words import axis_text, list_text

_SILENT = (sched.YieldOp, scf.YieldOp, scf.ConditionOp, arith.ConstantOp, low.ConvertOp)
"""Ops that a schedule does not mention."""


def schedule_lines(kernel: sched.KernelOp, arguments: Sequence[str]) -> tuple[str, ...]:
    """
    Returns a line for each axis, local buffer and run of scalar code of a kernel, indented by what is around
    it. `arguments` are names for those of its arguments that have none.
    """
    return tuple(_lines(kernel.body.block, names_in(kernel, arguments), ""))


def names_in(kernel: sched.KernelOp, arguments: Sequence[str]) -> dict[SSAValue, str]:
    """Returns what the values of a kernel are called; `arguments` are names for those that have none."""
    names = {value: f"%{name}" for value, name in value_names(kernel).items()}
    for argument, name in zip(kernel.body.block.args, arguments, strict=True):
        if argument.name_hint is None:
            names[argument] = name
    return names


def _lines(block: Block, names: dict[SSAValue, str], indent: str) -> Iterator[str]:
    scalar: list[Operation] = []
    for op in block.ops:
        if not isinstance(op, Loop | sched.AllocOp | scf.ForOp | scf.WhileOp | scf.IfOp):
            scalar.append(op)
            continue
        yield from _scalar_line(scalar, names, indent)
        scalar = []
        match op:
            case sched.AllocOp():
                yield f"{indent}{_alloc_text(op, names)}"
            case sched.AxisOp() | sched.ReduceOp():
                name = names[op.index].removeprefix("%")
                yield f"{indent}{axis_text(op, name)}"
                yield from _lines(op.body.block, names, f"{indent}  ")
            case scf.ForOp():
                yield f"{indent}a loop, one after the other"
                yield from _lines(op.body.block, names, f"{indent}  ")
            case scf.WhileOp():
                yield f"{indent}a loop while a condition holds"
                yield from _lines(op.after_region.block, names, f"{indent}  ")
            case _:
                assert isinstance(op, scf.IfOp)
                yield f"{indent}where a condition holds"
                for number, region in enumerate(region for region in op.regions if region.blocks):
                    if number:
                        yield f"{indent}else"
                    yield from _lines(region.block, names, f"{indent}  ")
    yield from _scalar_line(scalar, names, indent)


def _alloc_text(op: sched.AllocOp, names: dict[SSAValue, str]) -> str:
    type = op.result.type
    shape = "x".join(str(extent) for extent in type.get_shape()) or "1"
    kind = "local" if op.scope.data is sched.Scope.LOCAL else "shared"
    return f"{kind} buffer {names[op.result]}: {shape} {element_type_of(type)}, {nbytes_of(type)} bytes"


def _scalar_line(ops: list[Operation], names: dict[SSAValue, str], indent: str) -> Iterator[str]:
    loads: dict[str, None] = {}
    stores: dict[str, None] = {}
    computed: dict[str, int] = {}
    for op in ops:
        if isinstance(op, memref.LoadOp):
            loads[names[op.memref]] = None
        elif isinstance(op, memref.StoreOp):
            stores[names[op.memref]] = None
        elif not isinstance(op, _SILENT) and not _is_index(op):
            name = op.name.rpartition(".")[2]
            computed[name] = computed.get(name, 0) + 1
    done: list[str] = []
    if loads:
        done.append(f"loads {list_text(list(loads))}")
    if computed:
        words = [name if count == 1 else f"{count} {name}" for name, count in computed.items()]
        done.append(f"computes {list_text(words)}")
    if stores:
        done.append(f"stores {list_text(list(stores))}")
    if done:
        yield f"{indent}{', '.join(done)}"


def _is_index(op: Operation) -> bool:
    return bool(op.results) and all(str(result.type) == "index" for result in op.results)
