"""The loops of a kernel by the names that they print with."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref, scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from .....dialects import sched
from ....rewriting.value_names import value_names, values_in

KernelLoop = sched.AxisOp | sched.ReduceOp | scf.ForOp
"""A loop that steps of a schedule name: an axis, a reduction, or a serial loop that a step made."""


def index_of(op: KernelLoop) -> BlockArgument:
    """Returns the index of a loop."""
    return op.body.block.args[0]


def kernel_around(op: Operation) -> sched.KernelOp:
    """Returns the kernel that an op stands in, or is."""
    around: Operation | None = op
    while around is not None and not isinstance(around, sched.KernelOp):
        around = around.parent_op()
    assert around is not None, f"{op.name}: stands in no sched.kernel"
    return around


def loops_of(kernel: sched.KernelOp) -> dict[str, KernelLoop]:
    """Returns the loops of a kernel by name, in the order of the text."""
    names = value_names(kernel)
    return {names[index_of(op)]: op for op in kernel.walk() if isinstance(op, KernelLoop)}


def is_mapped(kernel: sched.KernelOp) -> bool:
    """Returns whether somebody has said how a loop of a kernel runs."""
    return any(
        isinstance(op, sched.AxisOp | sched.ReduceOp) and bool(op.mapping.words()) for op in kernel.walk()
    )


def loop_name(op: KernelLoop) -> str:
    """Returns the name of a loop's index, as printed: `%i`."""
    return f"%{value_names(kernel_around(op))[index_of(op)]}"


def buffers_of(kernel: sched.KernelOp) -> dict[str, SSAValue]:
    """Returns the buffers of a kernel by name: its arguments, and what it allocates."""
    sizes = set(kernel.sizes.values())
    found = [argument for argument in kernel.body.block.args if argument not in sizes]
    found += [op.result for op in kernel.walk() if isinstance(op, sched.AllocOp)]
    names = value_names(kernel)
    return {names[buffer]: buffer for buffer in found}


def describe(op: Operation) -> str:
    """Returns what errors call an op: `sched.axis %i of @f_0`."""
    kernel = kernel_around(op)
    who = f"@{kernel.sym_name.data}"
    if isinstance(op, sched.KernelOp):
        return who
    names = value_names(kernel)
    value: SSAValue | None = op.results[0] if op.results else None
    if isinstance(op, KernelLoop):
        value = index_of(op)
    elif isinstance(op, memref.LoadOp | memref.StoreOp):
        value = op.memref
    name = None if value is None else names.get(value)
    return f"{op.name} of {who}" if name is None else f"{op.name} %{name} of {who}"


def fresh_hint(kernel: sched.KernelOp, wanted: str) -> str:
    """Returns a hint that no value of a kernel has, so that no name changes: `wanted` if it is free."""
    taken = {value.name_hint for value in values_in(kernel)}
    if wanted not in taken:
        return wanted
    for letter in _letters():
        if f"{wanted}_{letter}" not in taken:
            return f"{wanted}_{letter}"
    raise AssertionError("there is always another name")


def _letters() -> Iterator[str]:
    """Yields a, b, ..., z, za, zb, ..."""
    prefix = ""
    while True:
        for letter in "abcdefghijklmnopqrstuvwxyz":
            yield prefix + letter
        prefix += "z"
