"""Which of its buffers a kernel reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import IndexType, ModuleOp

from ...errors import TenonError
from .. import low, sched


@dataclass(frozen=True)
class KernelAccess:
    """The indices of the arguments that a kernel loads from and stores to, in ascending order."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


def kernels_of(module: ModuleOp) -> dict[str, sched.KernelOp | low.KernelOp]:
    """
    Returns the kernels of a module by their names.

    Raises:
        TenonError: two kernels have one name.
    """
    kernels: dict[str, sched.KernelOp | low.KernelOp] = {}
    for op in module.body.ops:
        if not isinstance(op, sched.KernelOp | low.KernelOp):
            continue
        if kernels.setdefault(op.sym_name.data, op) is not op:
            raise TenonError(f"{op.name}: @{op.sym_name.data} is the name of two kernels")
    return kernels


def access_of(kernel: sched.KernelOp | low.KernelOp) -> KernelAccess:
    """Returns which arguments `kernel` reads and writes; an argument may be neither."""
    reads: set[int] = set()
    writes: set[int] = set()
    for argument in kernel.body.block.args:
        if isinstance(argument.type, IndexType):
            continue
        for use in argument.uses:
            match use.operation:
                case memref.LoadOp() | vector.LoadOp():
                    reads.add(argument.index)
                case memref.StoreOp() | vector.StoreOp():
                    writes.add(argument.index)
                case low.AtomicRmwOp():
                    reads.add(argument.index)
                    writes.add(argument.index)
                case low.TileFmaOp() as op:
                    is_sum = use.index == op.operands.index(op.acc)
                    if not is_sum or op.accumulates is not None:
                        reads.add(argument.index)
                    if is_sum:
                        writes.add(argument.index)
                case op:
                    raise AssertionError(f"{kernel.name}: {op.name} uses argument {argument.index}")
    return KernelAccess(tuple(sorted(reads)), tuple(sorted(writes)))


def accesses_of(module: ModuleOp) -> dict[str, KernelAccess]:
    """Returns the accesses of every kernel of a module by the kernel's name."""
    return {name: access_of(kernel) for name, kernel in kernels_of(module).items()}


def launches_of(module: ModuleOp) -> dict[str, list[sched.LaunchOp]]:
    """Returns the launches of each kernel of a module, by its name, in the order of the text."""
    found: dict[str, list[sched.LaunchOp]] = {}
    for program in module.ops:
        if isinstance(program, sched.ProgramOp):
            for item in program.walk():
                if isinstance(item, sched.LaunchOp):
                    found.setdefault(item.kernel.root_reference.data, []).append(item)
    return found
