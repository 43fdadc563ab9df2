"""
Compares the errors that happen with those that comments announce, as mlir-opt's `--verify-diagnostics` does.

    %y = graph.neg %x : tensor<f32>   // expected-error {{substring of the message}}
    // expected-error@+1 {{on the next line}}    also @-2, @above, @below, @unknown

`@above` and `@below` mean the nearest line that is no such comment itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .diagnostics import Diagnostic

_EXPECTED = re.compile(
    r"//\s*expected-(?P<kind>error|warning|remark|note)"
    r"\s*(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*(?P<count>\d+)?\s*\{\{(?P<message>.*?)\}\}"
)


@dataclass(frozen=True)
class Expectation:
    """
    An announced diagnostic: its kind, a part of its message, its line (0: no known place); where it is
    announced.
    """

    kind: str
    message: str
    line: int
    announced_at: tuple[int, int]

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Returns whether an error is the announced one."""
        return self.kind == "error" and self.line == diagnostic.line and self.message in diagnostic.message


def read_expectations(text: str) -> list[Expectation]:
    """
    Returns what the comments in `text` announce, in order; a count announces the same diagnostic that
    often.
    """
    lines = text.split("\n")
    expectations: list[Expectation] = []
    for number, line in enumerate(lines, 1):
        for match in _EXPECTED.finditer(line):
            target = _target_line(match["where"], number, lines)
            expectation = Expectation(match["kind"], match["message"], target, (number, match.start() + 1))
            expectations += [expectation] * int(match["count"] or 1)
    return expectations


def _target_line(where: str | None, number: int, lines: Sequence[str]) -> int:
    match where:
        case None:
            return number
        case "unknown":
            return 0
        case "above" | "below":
            step = -1 if where == "above" else 1
            target = number + step
            while 1 <= target <= len(lines) and _EXPECTED.search(lines[target - 1]):
                target += step
            return target
        case _:
            return number + int(where)


def check_diagnostics(text: str, file: str, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """
    Returns what is wrong: errors in `found` that `text` does not announce, then announced ones that did not
    happen. An announcement stands for one error.
    """
    missing = read_expectations(text)
    wrong: list[Diagnostic] = []
    for diagnostic in found:
        expectation = next((each for each in missing if each.matches(diagnostic)), None)
        if expectation is None:
            message = f"unexpected error: {diagnostic.message}"
            wrong.append(Diagnostic(message, diagnostic.file, diagnostic.line, diagnostic.column))
        else:
            missing.remove(expectation)
    for expectation in missing:
        message = f'expected {expectation.kind} "{expectation.message}" was not produced'
        wrong.append(Diagnostic(message, file, *expectation.announced_at))
    return wrong
