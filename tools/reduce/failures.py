"""What can be wrong with a module, and when two failures are the same."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from traceback import walk_tb
from typing import Any

from xdsl.utils.str_enum import StrEnum

_OP = re.compile(r"\b(?:builtin|func|arith|math|scf|memref|vector|graph|sched|low)\.\w+")

_MOST_CHARACTERS = 400
"""How much of an exception's message is kept: it may quote all of a module."""


class FailureKind(StrEnum):
    """What kind of thing went wrong."""

    CRASH = "crash"
    TIMEOUT = "timeout"
    ERROR = "error"
    INVALID = "invalid module"
    SEMANTICS = "changed semantics"
    NUMBERS = "wrong numbers"


@dataclass(frozen=True)
class Failure:
    """
    Something that is wrong: its kind, `where` it happened (a pass, the compilation, the run), `what` it is as
    far as that stays in a smaller module (a signal; the type of an exception, an op that it names and who
    raised it), and the `message` for people.
    """

    kind: FailureKind
    where: str
    what: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind.value} in {self.where}: {self.message}"

    def is_like(self, other: Failure) -> bool:
        """Returns whether two failures are of the same class: all but the message is equal."""
        return (self.kind, self.where, self.what) == (other.kind, other.where, other.what)

    def to_json(self) -> dict[str, str]:
        return asdict(self)

    @staticmethod
    def from_json(fields: dict[str, Any]) -> Failure:
        return Failure(FailureKind(fields["kind"]), fields["where"], fields["what"], fields["message"])

    @staticmethod
    def of_error(kind: FailureKind, where: str, error: BaseException) -> Failure:
        """Returns the failure that an exception is, with its type, the op that it names and who raised it."""
        named = _OP.search(str(error))
        op = f" about {named[0]}" if named else ""
        message = " ".join(str(error).split())[:_MOST_CHARACTERS]
        return Failure(
            kind,
            where,
            f"{type(error).__name__}{op} from {_raised_by(error)}",
            f"{type(error).__name__}: {message}" if message else type(error).__name__,
        )


def _raised_by(error: BaseException) -> str:
    """Returns the file and the function that raised the first cause of an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    name = "nowhere"
    for frame, _ in walk_tb(error.__traceback__):
        code = frame.f_code
        name = f"{Path(code.co_filename).stem}.{code.co_qualname}"
    return name
