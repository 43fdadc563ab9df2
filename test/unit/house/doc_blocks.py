"""
The code blocks of the documentation: how they are found, and what they should say.

A comment right above a block says where its text comes from:

    <!-- output: tenon-opt -p cse examples/softmax.mlir -->   what a command prints
    <!-- exit 1: tenon-opt examples/wrong.mlir -->            the same of a command that fails
    <!-- printed -->                                          what the Python block before it prints
    <!-- file: examples/softmax.mlir -->                      a whole file
    <!-- source: passes/graph/inline_calls.py#InlineCallsPass -->   a thing of a Python file
    <!-- in: passes/pipeline.py -->                           lines of a file, indented there as they may be

`python test/unit/house/doc_blocks.py` rewrites all blocks but those of the last kind.
"""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tenon.test.unit.library import ROOT

DOCUMENTS = sorted(
    {
        path
        for pattern in ("*.md", "docs/*.md", "docs/api/*.md", "*/README.md", "examples/*/README.md")
        for path in ROOT.glob(pattern)
    }
)

_BLOCK = re.compile(
    r"(?:^<!-- (?P<origin>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)

_SHOWN_FOLDERS = ("examples", "benchmarks", "docs", "test", "passes", "dialects")


@dataclass(frozen=True)
class Block:
    """One fenced block. `start` and `end` are where its text lies in the document."""

    document: Path
    line: int
    language: str
    origin: str
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def blocks_of(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [
        Block(
            document,
            text.count("\n", 0, match.start("text")),
            match["language"],
            match["origin"] or "",
            match["text"],
            *match.span("text"),
        )
        for match in _BLOCK.finditer(text)
    ]


def scratch_checkout(directory: Path) -> None:
    """Makes a directory look like the repository's root to commands, which may write into it."""
    for folder in _SHOWN_FOLDERS:
        (directory / folder).symlink_to(ROOT / folder, target_is_directory=True)


def run_command(command: str, directory: Path) -> tuple[int, str]:
    """Returns the exit status of a shell command and what it printed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {name: value for name, value in os.environ.items() if name != "TENON_TARGET"}
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env={**environment, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return result.returncode, result.stdout


def run_python(block: Block, directory: Path, names: dict[str, Any]) -> str:
    """Returns what a Python block prints. `names` has what the blocks before it left, and gets its own."""
    printed = io.StringIO()
    with chdir(directory), redirect_stdout(printed):
        exec(compile(block.text, str(block), "exec"), names)
    return printed.getvalue()


def source_of(path: Path, name: str) -> str:
    """Returns the text of a definition at the top level of a Python file."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        names = [getattr(node, "name", "")]
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        if name in names:
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            return "".join(lines[first - 1 : node.end_lineno])
    raise LookupError(f"{path}: no {name}")


def stands_in(block: Block, path: Path) -> bool:
    """Returns whether the lines of a block stand in a file, at whatever indentation."""
    wanted = [line.strip() for line in block.text.splitlines()]
    found = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    return any(found[i : i + len(wanted)] == wanted for i in range(len(found)))


def expected_text(block: Block, printed: str, directory: Path) -> str | None:
    """Returns what a block should say, or None where nothing says that. `printed` is for `printed` blocks."""
    kind, _, rest = block.origin.partition(":")
    rest = rest.strip()
    match kind:
        case "output" | "exit 1":
            status, output = run_command(rest, directory)
            assert status == (kind == "exit 1"), f"{block}: {rest}: exit status {status}\n{output}"
            return output
        case "printed":
            return printed
        case "file":
            return (ROOT / rest).read_text(encoding="utf-8")
        case "source":
            path, _, name = rest.partition("#")
            return textwrap.dedent(source_of(ROOT / path, name))
        case "in":
            assert stands_in(block, ROOT / rest), f"{block}: these lines are not in {rest}"
            return None
        case _:
            return None


def checked_blocks(document: Path, directory: Path) -> Iterator[tuple[Block, str]]:
    """Runs the blocks of a document in order; yields those that should say something, and what."""
    printed = ""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(document):
        if block.language == "python" and not block.origin:
            printed = run_python(block, directory, names)
        expected = expected_text(block, printed, directory)
        if expected is not None:
            yield block, expected


def _update(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    with TemporaryDirectory() as name:
        directory = Path(name)
        scratch_checkout(directory)
        for block, expected in reversed(list(checked_blocks(document, directory))):
            text = text[: block.start] + expected + text[block.end :]
    document.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for changed in DOCUMENTS:
        _update(changed)
