"""What a host program does, read from its op once, so that a call touches no IR."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp, i1
from xdsl.ir import SSAValue

from ..dialects import low, sched
from ..dialects.buffer_size import nbytes_of
from ..dialects.entry import argument_names
from ..dialects.kernel_access import access_of
from ..errors import TenonError
from .signature import Signature


class BufferKind(Enum):
    """Whose memory a buffer is: the caller's, the program's constants', its temporaries', or a result's."""

    ARGUMENT = "argument"
    CONSTANT = "constant"
    TEMPORARY = "temporary"
    RESULT = "result"


@dataclass(frozen=True)
class BufferPlan:
    """
    One buffer. `offset` is its place among the constants or the temporaries; `number` is its number among the
    arguments or the results.
    """

    kind: BufferKind
    nbytes: int
    offset: int = 0
    number: int = 0


@dataclass(frozen=True)
class LaunchStep:
    """Runs a kernel on the buffers of these numbers."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    buffers: tuple[int, ...]


@dataclass(frozen=True)
class TransferStep:
    """Copies one buffer to another."""

    source: int
    target: int
    nbytes: int


@dataclass(frozen=True)
class SyncStep:
    """Waits for everything before it."""


Step = LaunchStep | TransferStep | SyncStep


@dataclass(frozen=True)
class ProgramPlan:
    """
    A program as data. `returned` are the numbers of the buffers that hold the results; a result's buffer is
    in the memory of the first result that returns it. `constants` are the bytes of the constant pool.
    """

    signature: Signature
    buffers: tuple[BufferPlan, ...]
    steps: tuple[Step, ...]
    returned: tuple[int, ...]
    constants: npt.NDArray[np.uint8]
    temporary_nbytes: int

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The kernels that the program launches, each once, in the order of their first launches."""
        return tuple(dict.fromkeys(step.kernel for step in self.steps if isinstance(step, LaunchStep)))

    def __str__(self) -> str:
        n_launches = sum(isinstance(step, LaunchStep) for step in self.steps)
        return (
            f"{len(self.kernel_names)} kernels, {n_launches} launches, {self.constants.nbytes} bytes of "
            f"constants, {self.temporary_nbytes} bytes of temporaries"
        )


def plan_program(module: ModuleOp, program: sched.ProgramOp) -> ProgramPlan:
    """
    Returns what `program` does, a program of a module of `low` kernels. Launches that run nothing, and
    transfers of no bytes, are left out.

    Raises:
        TenonError: the program was not lowered this far, its memory is not planned, or it writes to an
        argument.
    """
    return _Planner(module, program).plan()


class _Planner:
    def __init__(self, module: ModuleOp, program: sched.ProgramOp) -> None:
        self._program = program
        self._name = program.sym_name.data
        self._kernels: Mapping[str, low.KernelOp] = {
            op.sym_name.data: op for op in module.body.ops if isinstance(op, low.KernelOp)
        }
        self._stores = {name: access_of(kernel).writes for name, kernel in self._kernels.items()}
        self._buffers: list[BufferPlan] = []
        self._numbers: dict[SSAValue, int] = {}
        self._constants: list[tuple[int, npt.NDArray[np.uint8]]] = []

    def plan(self) -> ProgramPlan:
        program = self._program
        last = program.body.block.last_op
        assert isinstance(last, sched.ReturnOp), f"@{self._name} ends in no sched.return"
        results: dict[SSAValue, int] = {}
        for number, buffer in enumerate(last.buffers):
            results.setdefault(buffer, number)
        for argument in program.body.block.args:
            self._add(argument, BufferKind.ARGUMENT, number=argument.index)
        steps: list[Step] = []
        for op in program.body.block.ops:
            match op:
                case sched.BufferOp():
                    self._add_buffer(op, results)
                case sched.ConstantOp():
                    self._add_constant(op)
                case sched.LaunchOp():
                    if 0 not in (step := self._launch(op)).grid:
                        steps.append(step)
                case sched.TransferOp():
                    self._check_target(op.target, op.name)
                    if nbytes := nbytes_of(op.source.type):
                        source, target = self._numbers[op.source], self._numbers[op.target]
                        steps.append(TransferStep(source, target, nbytes))
                case sched.SyncOp():
                    steps.append(SyncStep())
                case _:
                    pass
        temporaries = (b.offset + b.nbytes for b in self._buffers if b.kind is BufferKind.TEMPORARY)
        return ProgramPlan(
            Signature.of(self._name, argument_names(program), program.function_type),
            tuple(self._buffers),
            tuple(steps),
            tuple(self._numbers[buffer] for buffer in last.buffers),
            self._constant_bytes(),
            max(temporaries, default=0),
        )

    def _add(self, buffer: SSAValue, kind: BufferKind, offset: int = 0, number: int = 0) -> None:
        self._numbers[buffer] = len(self._buffers)
        self._buffers.append(BufferPlan(kind, nbytes_of(buffer.type), offset, number))

    def _add_buffer(self, op: sched.BufferOp, results: Mapping[SSAValue, int]) -> None:
        if op.result.first_use is None:
            return
        if op.role.data is sched.Role.RESULT:
            if op.result not in results:
                raise TenonError(f"{op.name}: result {_label(op.result)} of @{self._name} is not returned")
            self._add(op.result, BufferKind.RESULT, number=results[op.result])
        elif op.slab is None:
            raise TenonError(
                f"{op.name}: {_label(op.result)} of @{self._name} has no slab (hint: run plan-memory)"
            )
        else:
            self._add(op.result, BufferKind.TEMPORARY, offset=op.slab.offset.data)

    def _add_constant(self, op: sched.ConstantOp) -> None:
        if op.slab is None:
            raise TenonError(
                f"{op.name}: {_label(op.result)} of @{self._name} has no slab (hint: run plan-memory)"
            )
        self._constants.append((op.slab.offset.data, _stored_bytes(op)))
        self._add(op.result, BufferKind.CONSTANT, offset=op.slab.offset.data)

    def _launch(self, op: sched.LaunchOp) -> LaunchStep:
        name = op.kernel.root_reference.data
        kernel = self._kernels.get(name)
        if kernel is None:
            raise TenonError(f"{op.name}: @{name} is no low.kernel (hint: run convert-sched-to-low)")
        for index in self._stores[name]:
            self._check_target(op.arguments[index], f"{op.name}: @{name}")
        grid, block = kernel.grid.data, kernel.block_dims.data
        return LaunchStep(
            name,
            (grid[0], grid[1], grid[2]),
            (block[0], block[1], block[2]),
            tuple(self._numbers[argument] for argument in op.arguments),
        )

    def _check_target(self, buffer: SSAValue, who: str) -> None:
        kind = self._buffers[self._numbers[buffer]].kind
        if kind in (BufferKind.ARGUMENT, BufferKind.CONSTANT):
            raise TenonError(f"{who}: writes to {kind.value} {_label(buffer)} of @{self._name}")

    def _constant_bytes(self) -> npt.NDArray[np.uint8]:
        end = max((offset + data.nbytes for offset, data in self._constants), default=0)
        memory = np.zeros(end, np.uint8)
        for offset, data in self._constants:
            memory[offset : offset + data.nbytes] = data
        return memory


def _stored_bytes(op: sched.ConstantOp) -> npt.NDArray[np.uint8]:
    """Returns the bytes of a constant as kernels see them; xDSL keeps a true as the byte 0xff."""
    data: npt.NDArray[np.uint8] = np.frombuffer(op.value.data.data, np.uint8)
    return (data != 0).view(np.uint8) if op.value.get_element_type() == i1 else data


def _label(buffer: SSAValue) -> str:
    return f"'{buffer.name_hint}'" if buffer.name_hint else "a buffer without a name"
