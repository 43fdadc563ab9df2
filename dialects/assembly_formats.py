"""
Ops read their assembly format when they are first parsed or printed.

xDSL 0.74 parses the format of each op when its class is defined, a tenth of what `import tenon.numpy` takes.
A traced function whose program comes from the cache parses and prints no op. Ops of other dialects, users'
own among them, are read when they are defined, so that a wrong format is an error there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.irdl import OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram

LATE_DIALECTS = frozenset(
    (
        *("arith", "builtin", "chlo", "func", "graph", "low", "math", "memref", "scf", "sched"),
        *("sdy", "shard", "stablehlo", "vector"),
    )
)
"""Those whose formats the tests read."""


class UnreadFormat:
    """Stands for the `FormatProgram` of an op until that is asked for."""

    def __init__(self, text: str, op_def: OpDef) -> None:
        self._text, self._op_def = text, op_def
        self._program: FormatProgram | None = None

    @property
    def program(self) -> FormatProgram:
        """Raises ParseError where the format is wrong."""
        if self._program is None:
            self._program = _read(self._text, self._op_def)
        return self._program

    def parse(self, *arguments: Any) -> Any:
        return self.program.parse(*arguments)

    def print(self, *arguments: Any) -> None:
        self.program.print(*arguments)


_read: Callable[[str, OpDef], FormatProgram] = FormatProgram.from_str


def _unread(input: str, op_def: OpDef) -> Any:
    if op_def.name.partition(".")[0] in LATE_DIALECTS:
        return UnreadFormat(input, op_def)
    return _read(input, op_def)


# Here and not in a function that is called: the ops that are imported next are defined with it.
FormatProgram.from_str = staticmethod(_unread)
