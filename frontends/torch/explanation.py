"""`tenon.explain` of what torch compiled: its graphs, what was left to torch, and the kernels of the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from .backend import compiled_by
from .coverage import LeftToTorch
from .graph_program import GraphProgram
from .library import torch_library


@dataclass(frozen=True)
class GraphExplanation:
    """One graph: `forward`, `backward` or `inference`, what torch runs of it, and its programs."""

    name: str
    left: tuple[LeftToTorch, ...]
    programs: tuple[Any, ...]

    def __str__(self) -> str:
        count = len(self.programs)
        programs = f"{count} program" + ("" if count == 1 else "s")
        lines = [f"{self.name}: {programs}, {len(self.left)} ops left to torch"]
        lines += [f"  {each}" for each in self.left]
        return "\n".join([*lines, *map(str, self.programs)])


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
            )
            for each in programs
        )
    )


def is_compiled_by_torch(program: Any) -> bool:
    """Returns whether something is what `torch.compile` gives."""
    return hasattr(program, "_torchdynamo_orig_callable") or hasattr(program, "_orig_mod")


def explain_compiled(program: Any, arguments: Sequence[Any], named: Mapping[str, Any]) -> TorchExplanation:
    """
    Returns what is compiled of a model for a call with these arguments. What torch captures is known when it
    runs: a copy of the model is compiled anew, and run.
    """
    torch = torch_library()
    original = getattr(program, "_orig_mod", None)
    if original is None:
        original = program._torchdynamo_orig_callable
    if isinstance(original, torch.nn.Module):
        original = deepcopy(original)
    programs: list[GraphProgram] = []

    def backend(module: Any, example_inputs: list[Any], **options: Any) -> Any:
        return compiled_by(module, example_inputs, programs.append)

    torch.compile(original, backend=backend)(*arguments, **named)
    return explanation_of(programs)
