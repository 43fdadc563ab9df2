"""Programs of other systems on their way in: text or modules of `stablehlo` become modules of `graph`."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..dialects import context
from ..dialects.modules.parsing import parse_module, verify_module
from ..passes.pass_manager import PassManager

_PREFIXES = ("stablehlo.", "chlo.", "sdy.")


def as_graph(program: ModuleOp | str, filename: str = "<string>") -> ModuleOp | str:
    """
    Returns a program of `stablehlo` as a new module of `graph`, and any other as it is.

    Raises:
        TenonError: the text or an op is wrong, or has no conversion.
    """
    if isinstance(program, ModuleOp):
        return as_graph_module(program)
    if not any(prefix in program for prefix in _PREFIXES):
        return program
    module = parse_module(program, filename)
    verify_module(module)
    return as_graph_module(module)


def as_graph_module(module: ModuleOp) -> ModuleOp:
    """
    Returns a verified module of `stablehlo` as a new one of `graph`, and any other as it is.

    Raises:
        TenonError: an op is wrong, or has no conversion.
    """
    if not any(op.name.startswith(_PREFIXES) for op in module.walk()):
        return module
    module = module.clone()
    PassManager("convert-stablehlo-to-graph", verify_each=False).run(context(), module)
    return module
