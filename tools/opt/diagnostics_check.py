"""
Compares the errors that happen with those that comments announce, as mlir-opt's `--verify-diagnostics` does.

    %y = graph.neg %x : tensor<f32>   // expected-error {{substring of the message}}
    // expected-error@+1 {{on the next line}}    also @-2, @above, @below, @unknown
    // expected-error-re@+1 {{axis {{[0-9]+}} of %x}}    what stands in inner braces is a regular expression

`@above` and `@below` mean the nearest line that is no such comment itself. Regular expressions are Python's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import TenonError
from ..diagnostics import Diagnostic

_EXPECTED = re.compile(
    r"//\s*expected-(?P<kind>error|warning|remark|note)(?P<is_re>-re)?"
    r"\s*(?:@(?P<where>[+-]\d+|above|below|unknown))?\s*(?P<count>\d+)?"
    r"\s*\{\{(?P<message>(?(is_re)(?:\{\{.*?\}\}|.)*?|.*?))\}\}"
)

_IN_BRACES = re.compile(r"\{\{(.*?)\}\}")


@dataclass(frozen=True)
class Expectation:
    """
    An announced diagnostic: its kind, a part of its message and a pattern of that, its line (0: no known
    place); where it is announced.
    """

    kind: str
    message: str
    pattern: re.Pattern[str]
    line: int
    announced_at: tuple[int, int]

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Returns whether an error is the announced one."""
        is_there = self.kind == "error" and self.line == diagnostic.line
        return is_there and self.pattern.search(diagnostic.message) is not None


def read_expectations(text: str, file: str) -> list[Expectation]:
    """
    Returns what the comments in `text` announce, in order; a count announces the same diagnostic that
    often.

    Raises `TenonError` for what is no regular expression.
    """
    lines = text.split("\n")
    expectations: list[Expectation] = []
    for number, line in enumerate(lines, 1):
        for match in _EXPECTED.finditer(line):
            target = _target_line(match["where"], number, lines)
            place = number, match.start() + 1
            try:
                pattern = _pattern(match["message"], match["is_re"] is not None)
            except re.error as error:
                raise TenonError(
                    f"expected-{match['kind']}-re: not a regular expression ({error})",
                    location=f"{file}:{place[0]}:{place[1]}",
                ) from error
            expectation = Expectation(match["kind"], match["message"], pattern, target, place)
            expectations += [expectation] * int(match["count"] or 1)
    return expectations


def _pattern(message: str, is_re: bool) -> re.Pattern[str]:
    """Returns what finds a message: as it is, or with regular expressions in braces."""
    parts = _IN_BRACES.split(message) if is_re else [message]
    texts = (f"(?:{part})" if number % 2 else re.escape(part) for number, part in enumerate(parts))
    return re.compile("".join(texts))


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


def check_diagnostics(
    text: str, file: str, found: Sequence[Diagnostic], only_expected: bool = False
) -> list[Diagnostic]:
    """
    Returns what is wrong: errors in `found` that `text` does not announce, unless there may be more than the
    expected ones, then announced ones that did not happen. An announcement stands for one error.

    Raises `TenonError` for an announcement that cannot be read.
    """
    missing = read_expectations(text, file)
    wrong: list[Diagnostic] = []
    for diagnostic in found:
        expectation = next((each for each in missing if each.matches(diagnostic)), None)
        if expectation is None and only_expected:
            continue
        if expectation is None:
            message = f"unexpected error: {diagnostic.message}"
            wrong.append(Diagnostic(message, diagnostic.file, diagnostic.line, diagnostic.column))
        else:
            missing.remove(expectation)
    for expectation in missing:
        message = f'expected {expectation.kind} "{expectation.message}" was not produced'
        wrong.append(Diagnostic(message, file, *expectation.announced_at))
    return wrong
