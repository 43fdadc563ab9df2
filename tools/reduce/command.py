"""Questions that a command answers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ...errors import TenonError
from ..tool_run import reason_of
from .trial import TIMEOUT


@dataclass(frozen=True)
class CommandSucceeds:
    """
    True where a command, which is run without a shell and with the file of a module as its last argument,
    exits with status 0 within `timeout` seconds.

    A call raises `TenonError` where the command cannot be run at all.
    """

    command: Sequence[str]
    timeout: float = TIMEOUT

    def __call__(self, module: ModuleOp) -> bool:
        with tempfile.TemporaryDirectory(prefix="tenon-reduce-") as folder:
            file = Path(folder) / "module.mlir"
            file.write_text(f"{module}\n", encoding="utf-8")
            try:
                process = subprocess.Popen(
                    [*self.command, str(file)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise TenonError(f"--test: cannot run {self.command[0]}: {reason_of(error)}") from error
            try:
                return process.wait(self.timeout) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                # What it has started may go on without it.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
