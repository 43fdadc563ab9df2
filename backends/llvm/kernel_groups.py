"""The kernels of a source text, by how LLVM is to compile them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .limits import NEEDS_STRENGTH_REDUCTION, SCALAR_LOOPS

_BEGIN_OF_BODY, _END_OF_FUNCTION = " {\n", "\n}\n"
"""What stands in the text of a function before its body and behind it, and nowhere else."""

_FUNCTION_OF_ALL = re.compile(r"^define internal [^@\n]*(@apart\.\d+)\(.*?^ \}\n?", re.MULTILINE | re.DOTALL)
"""A function that kernels share, which ends in a line of its own kind."""


@dataclass(frozen=True)
class KernelGroups:
    """
    The text of some of the kernels each, with the declarations and what they share; empty where there are
    none. `scalar` have no vectors, and their loops are left to LLVM's middle end; `stepping` need its loop
    strength reduction, as those do, and `plain` do not.
    """

    scalar: str
    stepping: str
    plain: str

    @property
    def reduce_strength(self) -> bool:
        """Whether some kernel needs strength reduction."""
        return bool(self.scalar or self.stepping)

    def apart(self) -> list[KernelGroups]:
        """Returns those that need strength reduction, and the others, if there are such."""
        parts = replace(self, plain=""), KernelGroups("", "", self.plain)
        return [part for part in parts if part.reduce_strength or part.plain]


def group_kernels(source: str) -> KernelGroups:
    """Returns the kernels of a text; a kernel is a function and the one after it, which calls it."""
    functions = source.split(_END_OF_FUNCTION)
    declarations = functions.pop()
    if not functions:
        return KernelGroups("", "", source)
    groups: dict[str, list[str]] = {SCALAR_LOOPS: [], NEEDS_STRENGTH_REDUCTION: [], "": []}
    for number in range(0, len(functions), 2):
        kernel = [f"{function}{_END_OF_FUNCTION}" for function in functions[number : number + 2]]
        head, _, _ = kernel[0].partition(_BEGIN_OF_BODY)
        groups[next(mark for mark in groups if mark in head)] += kernel
    return KernelGroups(*(_text(group, declarations) for group in groups.values()))


def _text(functions: Sequence[str], declarations: str) -> str:
    if not functions:
        return ""
    text = "".join(functions)
    shared = {found[1]: found[0] for found in _FUNCTION_OF_ALL.finditer(declarations)}
    used: dict[str, None] = {}
    waiting = [text]
    while waiting:
        looked_at = waiting.pop()
        for name in shared:
            if name not in used and f"{name}(" in looked_at:
                used[name] = None
                waiting.append(shared[name].partition("\n")[2])

    def kept(found: re.Match[str]) -> str:
        return found[0] if found[1] in used else ""

    return text + _FUNCTION_OF_ALL.sub(kept, declarations)
