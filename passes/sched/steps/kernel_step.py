"""What the passes that do one step of a schedule have in common."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .kernels import find_kernel
from .steps import run_step


@dataclass(frozen=True)
class KernelStep(ModulePass):
    """Does the step `step` to a kernel; the options beside `kernel` are the step's arguments."""

    step: ClassVar[str]
    kernel: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        kernel = find_kernel(self.name, op, values.pop("kernel"))
        run_step(kernel, {"step": self.step, **{name: _plain(value) for name, value in values.items()}})


def _plain(value: str | int | tuple[str, ...]) -> str | int | list[str]:
    return list(value) if isinstance(value, tuple) else value
