"""The line that a compile shows on a terminal once it takes long: what is compiled, and which step runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any, Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ..passes.instruments.interface import PassInstrument

LONG_SECONDS = 2.0
"""How long a compile shows nothing."""

_UPDATE_SECONDS = 0.2


class Line(Protocol):
    """One line of the standard error that is written over."""

    def update(self, text: str) -> None: ...

    def clear(self) -> None: ...


class PlainLine:
    """A line without `rich`."""

    def __init__(self) -> None:
        self._width = 0

    def update(self, text: str) -> None:
        sys.stderr.write(f"\r{text:<{self._width}}")
        sys.stderr.flush()
        self._width = len(text)

    def clear(self) -> None:
        """Takes the line away."""
        sys.stderr.write(f"\r{'':<{self._width}}\r")
        sys.stderr.flush()


class RichLine:
    """A line that `rich` draws."""

    def __init__(self, console: Any) -> None:
        self._status = console.Console(stderr=True).status("")
        self._status.start()

    def update(self, text: str) -> None:
        self._status.update(text)

    def clear(self) -> None:
        """Takes the line away."""
        self._status.stop()


def open_line() -> Line:
    """Returns a line of `rich` where it is installed, else a plain one."""
    try:
        # Checked by hand: it need not be installed.
        console = import_module("rich.console")
    except ImportError:
        return PlainLine()
    return RichLine(console)


class CompileWatch(PassInstrument):
    """
    Knows which step of a compile runs. A thread shows it from `seconds` on, begun by the first step: what is
    kept on disk takes none.
    """

    _one_line = Lock()
    """Compiles of several threads have one line together."""

    def __init__(self, seconds: float = LONG_SECONDS, open_line: Callable[[], Line] = open_line) -> None:
        self._seconds, self._open_line = seconds, open_line
        self._begin = monotonic()
        self._text = ""
        self._name = ""
        self._thread: Thread | None = None
        self._ended = Event()

    def of(self, name: str) -> CompileWatch:
        """Returns the watch, which is told the name of the function."""
        self._name = name
        return self

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self.note(pass_.name)

    def note(self, step: str) -> None:
        """Is told which step runs from now on."""
        self._text = f"compiling @{self._name}: {step}"
        if self._thread is None:
            self._thread = Thread(target=self._show, name="tenon-compile-line", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Takes the line away, if there is one."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _show(self) -> None:
        wait = self._seconds
        while not self._ended.wait(wait):
            if self._one_line.acquire(blocking=False):
                break
            wait = _UPDATE_SECONDS
        else:
            return
        try:
            line = self._open_line()
            try:
                line.update(self._now())
                while not self._ended.wait(_UPDATE_SECONDS):
                    line.update(self._now())
            finally:
                line.clear()
        finally:
            self._one_line.release()

    def _now(self) -> str:
        return f"{self._text}, {monotonic() - self._begin:.1f} s"


_current: ContextVar[CompileWatch | None] = ContextVar("the compile of this thread", default=None)


@contextmanager
def watched() -> Generator[None]:
    """Has what is compiled inside shown where that takes long and the standard error is a terminal."""
    if _current.get() is not None or sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    watch = CompileWatch()
    token = _current.set(watch)
    try:
        yield
    finally:
        _current.reset(token)
        watch.end()


def watching_instruments(name: str) -> tuple[PassInstrument, ...]:
    """Returns what tells the compile that is watched, if one is, of the passes of a function."""
    watch = _current.get()
    return () if watch is None else (watch.of(name),)


def note_step(name: str, step: str) -> None:
    """Tells the compile that is watched, if one is, of another step of a function."""
    watch = _current.get()
    if watch is not None:
        watch.of(name).note(step)
