"""Writes what a program is at each step of its compilation into a directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...backends.interface import Backend, MachineCode
from ...backends.steps import CopyStep, LaunchStep
from ...errors import TenonError
from ...passes.instruments.interface import PassInstrument
from ...runtime.executables.device_executable import DeviceExecutable
from ...runtime.executables.executable import Executable
from ...runtime.executables.unlinked_executable import UnlinkedExecutable
from ...runtime.plan.program_plan import BufferKind, BufferPlan, ProgramPlan
from ...runtime.timeline.text import control_text


@dataclass
class StageDump(PassInstrument):
    """
    Writes `00-<level>.mlir`, then `01-<pass>.mlir`, ... after each pass that changed the module; `finish`
    adds the source and the assembly of the kernels, the program's plan, and where its memory is: as a table,
    and as a picture where matplotlib is installed. Files of the same names are overwritten.
    """

    directory: Path
    level: str
    wants_changed = True
    _n_written: int = field(default=0, init=False)

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cannot_write(self.directory, error) from error
        self._write_module(self.level, module)

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        if changed:
            self._write_module(pass_.name, module)

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        self._write_module(f"{pass_.name}-failed", module)

    def finish(self, executable: Executable, backend: Backend | None) -> None:
        """Writes what follows the passes; `backend` is None where the program is interpreted."""
        if backend is None:
            return
        source = executable.source
        self._write(f"kernels{backend.renderer.suffix}", source)
        if isinstance(backend.compiler, MachineCode) and source:
            self._write("kernels.s", backend.compiler.assembly(source, backend.device))
        if isinstance(executable, DeviceExecutable | UnlinkedExecutable):
            self._write("plan.txt", plan_text(executable.program))
        if not isinstance(executable, DeviceExecutable):
            return
        memory_plan = executable.memory_plan()
        self._write("memory.txt", str(memory_plan))
        if find_spec("matplotlib") is not None:
            memory_plan.save(self.directory / "memory.svg")

    def _write_module(self, what: str, module: ModuleOp) -> None:
        self._write(f"{self._n_written:02d}-{what}.mlir", str(module) + "\n")
        self._n_written += 1

    def _write(self, name: str, text: str) -> None:
        path = self.directory / name
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> TenonError:
    return TenonError(f"cannot write {path}: {(error.strerror or str(error)).lower()}")


def plan_text(plan: ProgramPlan) -> str:
    """Returns a plan for people: its buffers with their places, then its steps."""
    lines = [str(plan), "", "buffers"]
    for number, buffer in enumerate(plan.buffers):
        lines.append(f"  {number}: {buffer.kind.value} {_place(buffer)}, {buffer.nbytes} bytes")
    lines.append("steps")
    for step in plan.steps:
        match step:
            case LaunchStep():
                buffers = ", ".join(map(str, step.buffers))
                lines.append(f"  @{step.kernel}({buffers}) grid {list(step.grid)} block {list(step.block)}")
            case CopyStep():
                lines.append(f"  {step.nbytes} bytes from {step.source} to {step.target}")
            case _:
                lines.append(f"  {control_text(step)}")
    lines.append(f"returns {', '.join(map(str, plan.returned)) or 'nothing'}")
    return "\n".join(lines) + "\n"


def _place(buffer: BufferPlan) -> str:
    match buffer.kind:
        case BufferKind.CONSTANT | BufferKind.TEMPORARY:
            return f"+ {buffer.offset:#x}"
        case BufferKind.NODE | BufferKind.MERGE:
            indices = "".join(f" + {index.symbol} * {index.stride_nbytes}" for index in buffer.indices)
            return f"@{buffer.node}{indices}"
        case _:
            return f"{buffer.number}"
