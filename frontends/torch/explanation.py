"""`tenon.explain` of what torch compiled: its graphs, what was left to torch, and the kernels of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .backend import compiled_by, tenon
from .coverage import LeftToTorch
from .graph_program import GraphProgram
from .library import torch_library


@dataclass(frozen=True)
class GraphExplanation:
    """One graph: `forward`, `backward` or `inference`, what torch runs of it, and its programs."""

    name: str
    left: tuple[LeftToTorch, ...]
    programs: tuple[Any, ...]
    kept: tuple[Any, ...] = ()
    """What makes of parameters and buffers what is kept until they change: the option `keep`."""

    def __str__(self) -> str:
        count = len(self.programs)
        programs = f"{count} program" + ("" if count == 1 else "s")
        lines = [f"{self.name}: {programs}, {len(self.left)} ops left to torch"]
        lines += [f"  {each}" for each in self.left]
        lines += map(str, self.programs)
        if self.kept:
            lines += ["of parameters and buffers, until they change:", *map(str, self.kept)]
        return "\n".join(lines)


@dataclass(frozen=True)
class TorchExplanation:
    """The graphs that torch made of a model, in the order in which it made them."""

    graphs: tuple[GraphExplanation, ...]

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.graphs))


def explanation_of(programs: Sequence[GraphProgram]) -> TorchExplanation:
    """Returns what the compiler did with graphs."""
    return TorchExplanation(
        tuple(
            GraphExplanation(
                each.name,
                tuple(each.left),
                tuple(program.program.executable.explain() for program in each.programs),
                tuple(
                    program.program.preparation.explain()
                    for program in each.programs
                    if program.program.preparation is not None
                ),
            )
            for each in programs
        )
    )


def is_compiled_by_torch(program: Any) -> bool:
    """Returns whether something is what `torch.compile` gives."""
    return hasattr(program, "_torchdynamo_orig_callable") or hasattr(program, "_orig_mod")


def _chosen_for(program: Any) -> Any:
    """Returns what `torch.compile` keeps of how it was called, None where there is nothing of it."""
    context = getattr(program, "dynamo_ctx", None)
    if context is None:
        names, cells = program.__code__.co_freevars, program.__closure__ or ()
        backend = next(
            (cell.cell_contents for name, cell in zip(names, cells, strict=True) if name == "callback"), None
        )
    else:
        backend = context.callback
    # One calls the other: the last is the backend, with what is given to it.
    while backend is not None and not hasattr(backend, "compiler_fn"):
        backend = getattr(backend, "_torchdynamo_orig_backend", None) or getattr(
            backend, "_torchdynamo_orig_callable", None
        )
    return backend


def explain_compiled(program: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> TorchExplanation:
    """
    Returns what is compiled of a model for a call with these arguments. What torch captures is known when it
    runs: a copy of the model is compiled anew, with the options that it was compiled with, and run.
    """
    torch = torch_library()
    original = getattr(program, "_orig_mod", None)
    if original is None:
        original = program._torchdynamo_orig_callable
    if isinstance(original, torch.nn.Module):
        original = deepcopy(original)
    chosen = _chosen_for(program)
    own: dict[str, Any] = {}
    if chosen is not None and chosen.compiler_fn is tenon:
        own = chosen.kwargs.get("options") or {}
    programs: list[GraphProgram] = []

    def backend(module: Any, example_inputs: list[Any], **options: Any) -> Any:
        return compiled_by(module, example_inputs, programs.append, **own)

    dynamic = None if chosen is None else chosen.dynamic
    torch.compile(original, backend=backend, dynamic=dynamic)(*arguments, **named)
    return explanation_of(programs)
