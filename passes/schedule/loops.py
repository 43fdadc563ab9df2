"""The loops of a kernel by the names that they print with."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref, scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects import sched

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


def value_names(kernel: sched.KernelOp) -> dict[SSAValue, str]:
    """Returns the names that the named values of a kernel have where it is printed alone."""
    names: dict[SSAValue, str] = {}
    taken: dict[str, int] = {}
    for value in _values(kernel.body.block):
        hint = value.name_hint
        if hint is not None:
            number = taken.get(hint, 0)
            taken[hint] = number + 1
            names[value] = f"{hint}_{number}" if number else hint
    return names


def _values(block: Block) -> Iterator[SSAValue]:
    """Yields the values of a block in the order in which they are printed first."""
    yield from block.args
    for op in block.ops:
        yield from op.results
        for region in op.regions:
            for inner in region.blocks:
                yield from _values(inner)


def loops_of(kernel: sched.KernelOp) -> dict[str, KernelLoop]:
    """Returns the loops of a kernel by name, in the order of the text."""
    names = value_names(kernel)
    return {names.get(index_of(op), "?"): op for op in kernel.walk() if isinstance(op, KernelLoop)}


def loop_name(op: KernelLoop) -> str:
    """Returns the name of a loop's index, as printed: `%i`."""
    return f"%{value_names(kernel_around(op)).get(index_of(op), '?')}"


def buffers_of(kernel: sched.KernelOp) -> dict[str, SSAValue]:
    """Returns the buffers of a kernel by name: its arguments, and what it allocates."""
    sizes = set(kernel.sizes.values())
    found = [argument for argument in kernel.body.block.args if argument not in sizes]
    found += [op.result for op in kernel.walk() if isinstance(op, sched.AllocOp)]
    names = value_names(kernel)
    return {names.get(buffer, "?"): buffer for buffer in found}


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
    taken = {value.name_hint for value in _values(kernel.body.block)}
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
