"""What `tenon-opt` says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import version

from ...passes.named_pipelines import NAMED_PIPELINES
from ...passes.registry import ALL_PASSES

_OF_XDSL = {
    "cse": "Merges ops that compute the same value.",
    "dce": "Erases ops without effects whose results are not used.",
    "licm": "Moves ops out of loops whose operands do not change there.",
}
"""What xDSL's passes without a docstring do."""


def pass_names() -> tuple[str, ...]:
    """Returns what the text of pipelines can name: passes that work on Tenon's dialects, and pipelines."""
    return (*sorted(ALL_PASSES), *NAMED_PIPELINES)


def list_passes() -> str:
    """
    Returns one line for each pass that works on Tenon's dialects, then for each named pipeline: its name
    and the first sentence of its docstring.
    """
    lines: list[str] = []
    for name, load in sorted(ALL_PASSES.items()):
        lines.append(f"{name} - {_OF_XDSL.get(name) or _first_sentence(load())}\n")
    for name, pipeline in NAMED_PIPELINES.items():
        lines.append(f"{name} - {_first_sentence(pipeline)}\n")
    return "".join(lines)


def _first_sentence(documented: object) -> str:
    text = " ".join((documented.__doc__ or "").split())
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def list_dialects(names: Iterable[str]) -> str:
    """Returns mlir-opt's list of dialects."""
    return f"Available Dialects: {', '.join(sorted(names))}\n"


def versions() -> str:
    """Returns the versions of Tenon and of xDSL, in one line."""
    return f"tenon {version('tenon')} (xdsl {version('xdsl')})\n"
