"""`tenon.export`: programs as files that need no Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..compiler.compile import compile
from ..compiler.export.export import Exported, export_executable
from ..compiler.export.opencl_export import export_for_opencl
from ..errors import TenonError
from ..frontends.jit.jit import Jitted, jit
from ..frontends.jit.lowered import Lowered
from ..frontends.onnx.imported import OnnxModel
from ..frontends.onnx.program import compiled_for_calls
from ..frontends.stablehlo.jax_compile import JaxCompiled
from ..frontends.stablehlo.jax_export import JaxFunction
from ..runtime.executables.executable import Executable

BACKENDS = ("llvm", "opencl")


def export(
    program: Executable | Lowered | JaxFunction | OnnxModel | ModuleOp | str | Callable[..., Any],
    path: str | PathLike[str],
    /,
    *arguments: Any,
    backend: str = "llvm",
    target: str | None = None,
    weights: str = "inside",
    constants: Mapping[str, Any] | None = None,
    name: str | None = None,
    **named: Any,
) -> Exported:
    """
    Writes a program as files that are used without Python: `path.h`, `path.o` and the shared library
    `path.so`, whose functions begin with the last part of `path`, or with `name`. Same program, same bytes.
    See docs/export.md.

    The program is an executable, a module or its text, what `jitted.lower` or `tenon.from_jax` gave, a jitted
    function, one of `tenon.jax_compile`, or one that is to be jitted; functions take arguments of a call
    after `path`. Of a model that `tenon.from_onnx` gave, the dims that it names are dims of the exported
    program, and inputs of a call follow `path` only where axes have no name. Arrays that a function reads
    from outside are held by the library, as they are now, and so are `constants`, arguments of an executable
    or a module by their names.

    `target` names the processor that code is made for, as in `tenon.compile`; without a linker for it there
    is no `path.so`, and `note` of what is returned says so. With `weights="file"` constants are written to
    `path.weights`, which a caller maps. `backend="opencl"` writes `path.cl`, `path.c` and `path.h` for
    OpenCL.

    Raises:
        TenonError: it cannot be compiled, asks something of the host, has tensor nodes or static symbols, or
            a file cannot be written.
        TypeError: it is no program, or the arguments do not fit.
    """
    if backend not in BACKENDS:
        raise TenonError(f"export: backend {backend!r} is not one of {', '.join(BACKENDS)}")
    if backend == "opencl" and (target is not None or weights != "inside"):
        raise TenonError("export: backend 'opencl' takes neither target nor weights")
    _check_constants(constants)

    def written(executable: Executable, held: Mapping[str, Any]) -> Exported:
        if backend == "opencl":
            return export_for_opencl(executable, path, constants=held, name=name)
        return export_executable(executable, path, constants=held, target=target, weights=weights, name=name)

    if isinstance(program, Executable | ModuleOp | str):
        _check_no_arguments(arguments, named)
        if isinstance(program, Executable):
            return written(program, constants or {})
        with compile(program, target=target) as executable:
            return written(executable, constants or {})
    if constants:
        raise TenonError("export: constants are for executables and modules (hint: a function reads arrays)")
    executable, held = _compiled(program, arguments, named, backend, target)
    names = executable.argument_names
    return written(executable, dict(zip(names[len(names) - len(held) :], held, strict=True)))


def _compiled(
    program: object, arguments: tuple[Any, ...], named: Mapping[str, Any], backend: str, target: str | None
) -> tuple[Executable, Sequence[Any]]:
    """Returns the program of a function, and the values of its last arguments, which do not change."""
    if isinstance(program, OnnxModel):
        inputs = program.bound(arguments, named) if arguments or named else ()
        return compiled_for_calls(program, inputs, backend=backend, target=target)
    lowered: Lowered | JaxFunction
    if isinstance(program, Lowered | JaxFunction):
        _check_no_arguments(arguments, named)
        lowered = program
    elif isinstance(program, JaxCompiled):
        lowered = program.function_for(*arguments, **named)
    elif callable(program):
        jitted: Any = program if isinstance(program, Jitted) else jit(program)
        lowered = jitted.lower(*arguments, **named)
    else:
        raise TypeError(f"export: {program!r} is no program, expected a function, a module or an executable")
    compiled = lowered.compiled_for(backend, target)
    return compiled.executable, compiled.fixed_values


def _check_no_arguments(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
    if arguments or named:
        raise TypeError(f"export: {len(arguments) + len(named)} arguments for a program, expected none")


def _check_constants(constants: object) -> None:
    if constants is not None and not isinstance(constants, Mapping):
        raise TenonError(f"export: constants are {constants!r}, expected arrays by the names of arguments")
