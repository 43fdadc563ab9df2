"""Which of its buffers a kernel reads and writes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from ...dialects import low, sched


@dataclass(frozen=True)
class KernelAccess:
    """The indices of the arguments that a kernel loads from and stores to, in ascending order."""

    reads: tuple[int, ...]
    writes: tuple[int, ...]


def kernels_of(module: ModuleOp) -> dict[str, sched.KernelOp | low.KernelOp]:
    """Returns the kernels of a module by their names."""
    return {op.sym_name.data: op for op in module.body.ops if isinstance(op, sched.KernelOp | low.KernelOp)}


def access_of(kernel: sched.KernelOp | low.KernelOp) -> KernelAccess:
    """Returns which arguments `kernel` reads and writes; its own buffers do not count."""
    entry = kernel.body.block
    reads: set[int] = set()
    writes: set[int] = set()

    def note(indices: set[int], buffer: SSAValue) -> None:
        if isinstance(buffer, BlockArgument) and buffer.owner is entry:
            indices.add(buffer.index)

    for op in kernel.walk():
        match op:
            case memref.LoadOp():
                note(reads, op.memref)
            case memref.StoreOp():
                note(writes, op.memref)
            case vector.LoadOp():
                note(reads, op.base)
            case vector.StoreOp():
                note(writes, op.base)
            case _:
                pass
    return KernelAccess(tuple(sorted(reads)), tuple(sorted(writes)))


def accesses_of(module: ModuleOp) -> dict[str, KernelAccess]:
    """Returns the accesses of every kernel of a module by the kernel's name."""
    return {name: access_of(kernel) for name, kernel in kernels_of(module).items()}
