"""What is shown while a search runs: a line that `rich` draws, where that is there, on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


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
def shown_progress(is_wanted: bool | None, total_seconds: float) -> Iterator[Progress]:
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
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress
    except ImportError:
        line = PlainLine(total_seconds)
        try:
            yield line
        finally:
            line.clear()
        return
    columns = (TextColumn("tuning"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as rich:
        task = rich.add_task("", total=total_seconds)

        class Drawn:
            def update(self, text: str, seconds: float) -> None:
                rich.update(task, description=text, completed=min(seconds, total_seconds))

        yield Drawn()
