"""What is shown while a search runs: a line that `rich` draws, where that is there, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol


class Progress(Protocol):
    """Is told what is searched and how many seconds have passed."""

    def update(self, text: str, seconds: float) -> None: ...


class Silent:
    """Shows nothing."""

    def update(self, text: str, seconds: float) -> None:
        pass


class PlainLine:
    """One line of the standard error that is written over."""

    def __init__(self, total_seconds: float) -> None:
        self._total = total_seconds
        self._width = 0

    def update(self, text: str, seconds: float) -> None:
        line = f"tuning {seconds:.1f} of {self._total:g} s: {text}"
        sys.stderr.write(f"\r{line:<{self._width}}")
        sys.stderr.flush()
        self._width = len(line)

    def clear(self) -> None:
        """Takes the line away."""
        sys.stderr.write(f"\r{'':<{self._width}}\r")
        sys.stderr.flush()


@contextmanager
def shown_progress(is_wanted: bool | None, total_seconds: float) -> Generator[Progress]:
    """
    Gives what shows progress on the standard error: `rich` where it is installed, else a plain line. None
    shows it where that is a terminal.
    """
    if is_wanted is None:
        is_wanted = sys.stderr.isatty()
    if not is_wanted:
        yield Silent()
        return
    try:
        # Checked by hand: it need not be installed.
        console: Any = import_module("rich.console")
        drawing: Any = import_module("rich.progress")
    except ImportError:
        line = PlainLine(total_seconds)
        try:
            yield line
        finally:
            line.clear()
        return
    columns = (
        drawing.TextColumn("tuning"),
        drawing.BarColumn(),
        drawing.TimeElapsedColumn(),
        drawing.TextColumn("{task.description}"),
    )
    with drawing.Progress(*columns, console=console.Console(stderr=True), transient=True) as rich:
        task = rich.add_task("", total=total_seconds)

        class Drawn:
            def update(self, text: str, seconds: float) -> None:
                rich.update(task, description=text, completed=min(seconds, total_seconds))

        yield Drawn()
