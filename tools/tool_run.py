"""Turns what a tool raises into its exit code and what the user reads."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from ..errors import TenonError
from .exit_codes import BROKEN_PIPE, DIAGNOSTICS, INTERNAL, INTERRUPTED, SUCCESS
from .plugins import outside_fault


class ToolRun:
    """
    A context in which a tool runs. `exit_code` says afterwards how it went: an error of the user's was
    printed in one line, so was a file, or a stream, that failed, and a bug, of Tenon or of what was loaded
    from outside, after `report_bug` wrote a reproducer and returned how to run it. A closed pipe and an
    interrupt are quiet.
    """

    def __init__(self, tool: str):
        self.tool = tool
        self.exit_code = SUCCESS
        self.debug = False
        self.report_bug: Callable[[], str | None] = lambda: None

    def __enter__(self) -> ToolRun:
        # What a caller has closed is None.
        sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")
        sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        match error:
            case None:
                return False
            # argparse has printed its message.
            case SystemExit():
                return False
            case KeyboardInterrupt():
                self.exit_code = INTERRUPTED
            case BrokenPipeError():
                _drop_output()
                self.exit_code = BROKEN_PIPE
            case TenonError():
                self.exit_code = DIAGNOSTICS
                print(f"{self.tool}: error: {error}" if not error.location else error, file=sys.stderr)
            case OSError():
                self.exit_code = DIAGNOSTICS
                what = f"cannot use {error.filename}" if error.filename else "input or output failed"
                print(f"{self.tool}: error: {what}: {reason_of(error)}", file=sys.stderr)
                if not error.filename:
                    _drop_output()
            case _:
                self.exit_code = INTERNAL
                self._print_bug(error)
        return True

    def _print_bug(self, error: BaseException) -> None:
        if self.debug:
            traceback.print_exception(error)
        notes = [note for note in getattr(error, "__notes__", ()) if "\n" not in note]
        summary = " ".join([type(error).__name__ + ":", *str(error).split("\n", 1)[:1], *notes])
        place = outside_fault(error)
        if place is None:
            print(f"{self.tool}: internal error: {summary}", file=sys.stderr)
        else:
            print(f"{self.tool}: error outside of Tenon: {summary}{place}", file=sys.stderr)
        for detail in getattr(error, "details", ()):
            print(f"{self.tool}: note: {detail}", file=sys.stderr)
        if rerun := self.report_bug():
            print(f"{self.tool}: to reproduce: {rerun}", file=sys.stderr)


def reason_of(error: OSError) -> str:
    """Returns what the system says went wrong, as messages write it."""
    return (error.strerror or str(error)).lower()


def _drop_output() -> None:
    """Lets what standard output has not taken yet go nowhere, also at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
