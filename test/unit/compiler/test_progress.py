"""The line that a compile shows on a terminal once it takes long."""

import io
import sys
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
import tenon
from tenon.compiler import progress
from tenon.compiler.progress import CompileWatch, PlainLine, RichLine, open_line, watched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.canonicalize_graph import CanonicalizeGraphPass

TEXT = """
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.add %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""

SHOWN = 10.0
"""Seconds that a line has to come in."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Lines:
    """Notes what lines show."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.open = 0
        self.most_open = 0
        self.has_text = threading.Event()

    def __call__(self) -> "Lines":
        self.open += 1
        self.most_open = max(self.open, self.most_open)
        return self

    def update(self, text: str) -> None:
        self.texts.append(text)
        self.has_text.set()

    def clear(self) -> None:
        self.open -= 1


def test_a_long_compile_shows_its_step():
    lines = Lines()
    watch = CompileWatch(0, lines).of("f")
    watch.before(CanonicalizeGraphPass(), parse_module(TEXT))
    assert lines.has_text.wait(SHOWN)
    watch.end()
    assert lines.texts[0].startswith("compiling @f: canonicalize-graph, ")
    assert lines.open == 0


def test_a_short_compile_shows_nothing():
    lines = Lines()
    watch = CompileWatch(60, lines).of("f")
    watch.note("render")
    watch.end()
    assert not lines.texts


def test_a_compile_without_steps_has_no_thread():
    count = threading.active_count()
    watch = CompileWatch(0)
    assert threading.active_count() == count
    watch.end()


def test_compiles_of_several_threads_have_one_line():
    lines = Lines()
    first, second = CompileWatch(0, lines).of("f"), CompileWatch(0, lines).of("g")
    first.note("render")
    assert lines.has_text.wait(SHOWN)
    second.note("render")
    time.sleep(0.05)
    second.end()
    assert not any("@g" in text for text in lines.texts)
    third = CompileWatch(0, lines).of("h")
    third.note("render")
    first.end()
    deadline = time.monotonic() + SHOWN
    while not any("@h" in text for text in lines.texts) and time.monotonic() < deadline:
        time.sleep(0.01)
    third.end()
    assert any("@h" in text for text in lines.texts)
    assert lines.most_open == 1


def test_a_line_without_rich_is_written_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    line = open_line()
    assert isinstance(line, PlainLine)
    line.update("longer")
    line.update("short")
    line.clear()
    assert capsys.readouterr().err == "\rlonger\rshort \r     \r"


def test_a_line_is_drawn_by_rich_where_it_is_there(monkeypatch: pytest.MonkeyPatch):
    seen: list[Any] = []

    def status(text: str) -> Any:
        return SimpleNamespace(
            start=lambda: seen.append("start"), update=seen.append, stop=lambda: seen.append("stop")
        )

    def console(stderr: bool) -> Any:
        seen.append(stderr)
        return SimpleNamespace(status=status)

    monkeypatch.setitem(sys.modules, "rich", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "rich.console", SimpleNamespace(Console=console))
    line = open_line()
    assert isinstance(line, RichLine)
    line.update("compiling @f")
    line.clear()
    assert seen == [True, "start", "compiling @f", "stop"]


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_compiles_are_shown_on_a_terminal(backend: str, monkeypatch: pytest.MonkeyPatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TENON_CACHE", "0")
    steps: list[str] = []
    names: set[str] = set()

    def note(self: CompileWatch, step: str) -> None:
        steps.append(step)

    def of(self: CompileWatch, name: str) -> CompileWatch:
        names.add(name)
        return self

    monkeypatch.setattr(CompileWatch, "note", note)
    monkeypatch.setattr(CompileWatch, "of", of)
    tenon.compile(TEXT, backend=backend, level="low" if backend == "reference" else None).close()
    assert names == {"twice"}
    assert "canonicalize-graph" in steps
    assert steps[-2:] == ["render", "code generation"] or backend == "reference"
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def begin(*arguments: Any) -> None:
        raise AssertionError("a watch without a terminal")

    monkeypatch.setattr(progress, "CompileWatch", begin)
    with watched():
        pass
    monkeypatch.setattr(sys, "stderr", None)
    with watched():
        pass
    assert capsys.readouterr().err == ""
