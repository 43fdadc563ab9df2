"""`tenon.explain`: what the compiler does with a function or a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..backends.interface import Backend
from ..compiler.compile import compile
from ..errors import TenonError
from ..frontends.jit.jit import Jitted, jit
from ..frontends.torch.explanation import TorchExplanation, explain_compiled, is_compiled_by_torch
from ..frontends.torch.exported import TorchFunction
from ..runtime.executables.executable import Executable
from ..runtime.reports.explanation import Explanation


def explain(
    program: Executable | ModuleOp | str | Callable[..., Any],
    /,
    *arguments: Any,
    backend: str | Backend = "llvm",
    target: str | None = None,
    **named: Any,
) -> Explanation | TorchExplanation:
    """
    Returns what the compiler does with a program: which ops are in which kernel, and why not in one, how each
    kernel is scheduled and why, what is copied, and what shares memory. Printed it is a story; the same
    program gives the same text. Nothing is run.

    The program is an executable, a module or its text, a jitted function, or one that is to be jitted; those
    of the last two kinds take the arguments of a call. `backend` and `target`, as in
    `tenon.compile`, are for modules and for functions that are not jitted. What `from_torch` gives is
    explained as it is; for what `torch.compile` gives, a copy of the model is compiled for a call with the
    arguments, and run: what torch captures is only known then.

    Raises:
        TenonError: it cannot be compiled, or the passes leave no kernels.
        TypeError: it is none of these, or the arguments do not fit.
    """
    if isinstance(program, Executable | ModuleOp | str):
        if arguments or named:
            raise TypeError(f"explain: {len(arguments) + len(named)} arguments for a program, expected none")
        if isinstance(program, Executable):
            return program.explain()
        with compile(program, backend=backend, target=target) as executable:
            return executable.explain()
    if isinstance(program, TorchFunction):
        return program.explain()
    if is_compiled_by_torch(program):
        return explain_compiled(program, arguments, named)
    if not callable(program):
        raise TypeError(f"explain: {program!r} is no program, expected a function, a module or an executable")
    jitted: Any = program
    if not isinstance(program, Jitted):
        if not isinstance(backend, str):
            raise TenonError("explain: a function that is not jitted takes the name of a backend")
        jitted = jit(program, backend=backend, target=target)
    return jitted.explain(*arguments, **named)
