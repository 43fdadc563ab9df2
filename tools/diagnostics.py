"""Diagnostics as the tools print them: `file:line:col: error: ...`, the source line and a caret."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import ProgramError, TenonError

_LINE_LIMIT = 240
"""The most characters of a source line that are shown."""

_LOCATION = re.compile(r"(?P<file>.*):(?P<line>\d+):(?P<column>\d+)", re.DOTALL)


@dataclass(frozen=True)
class Diagnostic:
    """
    An error at a place in a file; `line` and `column` count from 1 and are 0 where the place is not known.
    """

    message: str
    file: str
    line: int = 0
    column: int = 0

    @staticmethod
    def all_of(error: TenonError, file: str) -> list[Diagnostic]:
        """Returns the diagnostics of an error, more than one for a `ProgramError`; see `from_error`."""
        errors = [error.first, *error.others] if isinstance(error, ProgramError) else [error]
        return [Diagnostic.from_error(each, file) for each in errors]

    @staticmethod
    def from_error(error: TenonError, file: str) -> Diagnostic:
        """Returns the diagnostic of an error that was met in `file`, in which its location may be unknown."""
        if error.location and (match := _LOCATION.fullmatch(error.location)):
            return Diagnostic(error.message, match["file"], int(match["line"]), int(match["column"]))
        return Diagnostic(error.message, file)

    def format(self, file: str, text: str) -> str:
        """Returns the lines to print; `text` is the contents of `file`."""
        if not self.line:
            return f"{self.file}: error: {self.message}\n"
        header = f"{self.file}:{self.line}:{self.column}: error: {self.message}\n"
        lines = text.split("\n")
        if self.file != file or self.line > len(lines):
            return header
        source, before = _excerpt(lines[self.line - 1].rstrip("\r"), self.column - 1)
        indent = "".join("\t" if char == "\t" else " " for char in source[:before])
        return f"{header}{source}\n{indent.ljust(before)}^\n"


def _excerpt(line: str, before: int) -> tuple[str, int]:
    """Returns a line, or of a long one what is near place `before`, and where in that the place is."""
    if len(line) <= _LINE_LIMIT:
        return line, before
    start = max(0, min(before - _LINE_LIMIT // 2, len(line) - _LINE_LIMIT))
    end = start + _LINE_LIMIT
    left, right = "..." if start else "", "..." if end < len(line) else ""
    return left + line[start:end] + right, before - start + len(left)
