"""
The text of a failing program, reduced to the fewest ops: `python -m tenon.test.fuzz.reduction` reads what to
make, as JSON, and writes the module as it was traced and, if it fails by itself, what is left of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import tenon
from tenon.tools.reduce import FailsLike, Trial, reduce_module

from .runner import made, text_of
from .tenon_side import TenonSide


def traced(kind: str, seed: int, given: Mapping[str, int]) -> str:
    """Returns the text of a program."""
    program, _ = made(kind, seed, given)
    if program.text is not None:
        return str(tenon.parse_module(text_of(program)))

    def main(*arguments: object) -> object:
        return program.function(TenonSide, arguments)

    return str(tenon.jit(main).lower(*program.inputs).module)


def write(kind: str, seed: int, given: Mapping[str, int], backend: str, folder: Path) -> str:
    """Writes the program and what it is reduced to, and returns a line that says what was found."""
    text = traced(kind, seed, given)
    name = f"{kind}-{seed}"
    (folder / f"{name}.mlir").write_text(text, encoding="utf-8")
    trial = Trial(backend, verify_each=False)
    failure = trial.failure(tenon.parse_module(text))
    if failure is None:
        return f"{name}.mlir: the module by itself does not fail on {backend}"
    least = reduce_module(tenon.parse_module(text), FailsLike(trial, failure))
    (folder / f"{name}.reduced.mlir").write_text(str(least), encoding="utf-8")
    ops = [
        sum(1 for op in module.walk() if op.name.startswith("graph."))
        for module in (tenon.parse_module(text), least)
    ]
    return f"{name}.reduced.mlir: {ops[1]} of {ops[0]} ops, {failure}"


def main() -> None:
    asked = json.loads(sys.stdin.read())
    print(write(**{**asked, "folder": Path(asked["folder"])}))


if __name__ == "__main__":
    main()
