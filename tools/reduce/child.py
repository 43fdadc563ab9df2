"""
Runs a function in a child process, which may crash, hang or leave what it likes in memory.

A child is a fork: it has the modules that are imported and the IR as it is, so that a trial costs a few
milliseconds more than the work itself, and each begins from the same state.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import monotonic
from typing import Any, NoReturn

from ...errors import TenonError

Note = Callable[[str], None]
"""Takes what the child is about to do, in words."""

_LAST_NBYTES = 4096
"""How much of what a child printed is looked at for its last words."""


_QUIET_PACKAGES = ("tenon", "xdsl", "llvmlite", "numpy", "ml_dtypes")
"""The packages that have no threads, devices or such of their own just because they are imported."""


@dataclass(frozen=True)
class Finished:
    """The child has returned `value`, which is of JSON's types."""

    value: Any


@dataclass(frozen=True)
class Died:
    """The child ended, by a signal or with an exit code, while it did `doing`; `said` is its last line."""

    how: str
    doing: str
    said: str


@dataclass(frozen=True)
class TimedOut:
    """The child did not end in time; it was at `doing`."""

    doing: str


def call_in_child(work: Callable[[Note], Any], timeout: float) -> Finished | Died | TimedOut:
    """
    Returns how `work` went in a fork of this process, which is killed after `timeout` seconds. What it prints
    is not shown.

    Raises:
        TenonError: this system has no forks.
    """
    if not hasattr(os, "fork"):
        raise TenonError("reduce: trials are forks, which this system does not have (hint: Linux or macOS)")
    with tempfile.TemporaryFile() as output:
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        with warnings.catch_warnings():
            # Python warns of threads: those of numpy and of Tenon's pools are none that the child needs.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(reading)
            _work_and_exit(work, writing, output.fileno())
        os.close(writing)
        try:
            text, is_whole = _read(reading, monotonic() + timeout)
        finally:
            os.close(reading)
            status = _end(child)
        output.seek(max(0, output.seek(0, os.SEEK_END) - _LAST_NBYTES))
        said = output.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    doing = ""
    for line in text.splitlines():
        match json.loads(line):
            case {"value": value}:
                return Finished(value)
            case {"imported": [*names]}:
                # So the children to come need not do it again.
                for name in names:
                    import_module(name)
            case {"doing": str() as doing}:
                pass
            case {"bug": bug}:
                raise AssertionError(f"a trial is no function that can fail, but: {bug}")
            case other:
                raise AssertionError(f"a child says {other}")
    return Died(_how(status), doing, said) if is_whole else TimedOut(doing)


def _work_and_exit(work: Callable[[Note], Any], writing: int, output: int) -> NoReturn:
    """What the child does. It tells by lines of JSON what it is at, and at last what came of it."""

    def say(line: dict[str, Any]) -> None:
        os.write(writing, (json.dumps(line) + "\n").encode())

    try:
        # A group of its own, for what it starts in turn.
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # It would tell of a crash on the standard error that the parent began with.
        faulthandler.disable()
        _leave_no_core()
        for stream in (1, 2):
            os.dup2(output, stream)
        imported = set(sys.modules)
        value = work(lambda doing: say({"doing": doing}))
        say({"imported": [name for name in sys.modules if name not in imported and _is_ours(name)]})
        say({"value": value})
    except BaseException:
        say({"bug": traceback.format_exc()})
    finally:
        # Nothing of the parent's is to be flushed or closed here.
        os._exit(0)


def _is_ours(module: str) -> bool:
    """Returns whether to import a module does nothing that a fork may not have done before."""
    return module.split(".")[0] in _QUIET_PACKAGES


def _leave_no_core() -> None:
    import resource

    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(reading: int, deadline: float) -> tuple[str, bool]:
    """Returns what a child wrote, and whether that is all: it has not ended where `deadline` comes first."""
    parts: list[bytes] = []
    poll = select.poll()
    poll.register(reading, select.POLLIN | select.POLLHUP)
    while (left := deadline - monotonic()) > 0:
        if not poll.poll(left * 1000):
            continue
        part = os.read(reading, 1 << 16)
        if not part:
            return _complete(parts), True
        parts.append(part)
    return _complete(parts), False


def _complete(parts: list[bytes]) -> str:
    """Returns the whole lines: the last one may have been cut by a crash."""
    return b"".join(parts).decode().rpartition("\n")[0]


def _end(child: int) -> int:
    """Kills what is left of a child, and of what it started, and returns its status."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        names = {each.value: each.name for each in signal.Signals}
        return names.get(number, f"signal {number}")
    return f"exit code {os.waitstatus_to_exitcode(status)}"
