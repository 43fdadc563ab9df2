"""
Runs the tools that lit tests call in processes forked from one that has imported them: most of what a tool
costs on a small file is its imports.

A command is a process of its own all the same, with the arguments, environment, folder, streams and exit
code that lit gave it. Only the start of the interpreter is left out, and with it the seed of hashes, which no
output depends on. A command whose environment the test changes by `env` is started like any other program,
since a library may read it when it is imported.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lit.formats
import lit.TestRunner
from tenon.dialects import DIALECTS
from tenon.passes.registry import TENON_PASSES

WARM_TOOLS = ("tenon-opt", "tenon-run", "filecheck")

_MAINS: dict[str, Callable[[], int | None]] = {}


class WarmToolTest(lit.formats.ShTest):
    """A lit test whose commands that are `WARM_TOOLS` run in forks of the process that runs the test."""

    def execute(self, test: Any, litConfig: Any) -> Any:
        _import_tools()
        popen = partial(_WarmProcess, usual_environment=test.config.environment)
        # The module of lit's shell alone sees it.
        lit.TestRunner.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": popen})
        return super().execute(test, litConfig)


class _WarmProcess(subprocess.Popen[str]):
    def __init__(
        self,
        args: Sequence[str],
        *,
        executable: str,
        env: Mapping[str, str],
        usual_environment: Mapping[str, str],
        **rest: Any,
    ):
        main = _MAINS.get(executable)
        if main is not None and _without_lits_own(env) == _without_lits_own(usual_environment):
            # What runs before the program is loaded is the whole program.
            rest["preexec_fn"] = partial(_run_and_exit, main, [executable, *args[1:]], env)
        super().__init__(args, executable=executable, env=env, **rest)


def _without_lits_own(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the variables but those by which lit tells a command which test it belongs to."""
    return {name: value for name, value in environment.items() if not name.startswith("LIT_")}


def _import_tools() -> None:
    if _MAINS:
        return
    folder = Path(sys.executable).parent
    for point in entry_points(group="console_scripts"):
        if point.name in WARM_TOOLS:
            _MAINS[str(folder / point.name)] = point.load()
    assert len(_MAINS) == len(WARM_TOOLS), f"only {sorted(_MAINS)} are installed"
    for load in (*DIALECTS.values(), *TENON_PASSES.values()):
        load()
    gc.collect()
    gc.freeze()  # What is shared with the forks stays shared.


def _run_and_exit(main: Callable[[], int | None], argv: list[str], env: Mapping[str, str]) -> None:
    """Is the process of a tool, from its first line to its end."""
    status = 1
    try:
        # The process that waits for the program to be loaded has the other end of one of them.
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        os.environ.clear()
        os.environ.update(env)
        sys.argv = argv
        sys.stdin = os.fdopen(0, encoding="utf-8")
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")
        try:
            status = main() or 0
        except SystemExit as end:
            assert end.code is None or isinstance(end.code, int), end.code
            status = end.code or 0
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
        status = 1
    finally:
        os._exit(status)
