"""
`tenon.compile_many`: several programs at once.

Passes are Python, of which one thread runs at a time: what helps is other processes, which leave what they
compile in the cache on disk, where this one finds it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Mapping
from threading import Thread
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..backends.cache.place import cache_folder
from ..errors import TenonError
from ..runtime.executables.executable import Executable
from .compile import compile

PROGRAMS_EACH = 16
"""For how many programs a process is worth its start, which takes as long as some dozen small ones."""

START = "import sys; sys.path[:] = {path!r}; from tenon.compiler.compile_worker import main; main()"


def compile_many(
    programs: Iterable[ModuleOp | str], *, processes: int | None = None, **options: Any
) -> list[Executable]:
    """
    Compiles several programs, each as `compile` does with these options, and returns their executables in
    the same order. Other processes, as many as `processes` says with this one, compile some of them into the
    cache on disk; by default there is one for each processor, and for every 16 programs. Where the cache is
    off, or an option is no text or number, this process compiles all.

    Raises:
        TenonError: `processes` is not a number above 0, or what `compile` raises for the first program that
            is wrong. The executables of those before it are closed then.
    """
    _check_processes(processes)
    given = list(programs)
    if processes is None:
        processes = min(os.cpu_count() or 1, 1 + len(given) // PROGRAMS_EACH)
    executables: dict[int, Executable] = {}
    left = deque(range(len(given)))
    workers = _workers(min(processes, len(given)) - 1, given, left, options)
    try:
        # From the front; the others take from the back.
        while left:
            try:
                number = left.popleft()
            except IndexError:
                break
            executables[number] = compile(given[number], **options)
        for worker in workers:
            worker.end()
        for number, program in enumerate(given):
            if number not in executables:
                executables[number] = compile(program, **options)
    except BaseException:
        left.clear()
        for executable in executables.values():
            executable.close()
        raise
    finally:
        for worker in workers:
            worker.stop()
    return [executables[number] for number in range(len(given))]


def _check_processes(count: object) -> None:
    if count is not None and (not isinstance(count, int) or count < 1):
        raise TenonError(f"compile_many: processes {count!r}, expected a number above 0")


def _workers(
    count: int, programs: list[ModuleOp | str], left: deque[int], options: Mapping[str, Any]
) -> list[_Worker]:
    """Returns the other processes, none where they cannot be told the options or leave nothing."""
    if count < 1 or cache_folder() is None:
        return []
    try:
        text = json.dumps(options)
    except TypeError:
        return []
    return [_Worker(programs, left, text) for _ in range(count)]


class _Worker:
    """A process that compiles programs into the cache, one after the other, as long as there are some."""

    def __init__(self, programs: list[ModuleOp | str], left: deque[int], options: str) -> None:
        self._programs, self._left, self._options = programs, left, options
        self._process = subprocess.Popen(
            [sys.executable, "-c", START.format(path=sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._is_ready = False
        self._thread = Thread(target=self._run, name="tenon-compile-many", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Waits for the program that it is at, if it has begun one."""
        if self._is_ready:
            self._thread.join()

    def stop(self) -> None:
        self._process.kill()
        self._thread.join()
        self._process.communicate()

    def _run(self) -> None:
        """Feeds the process. What it fails at is compiled, and told, by the caller."""
        told, heard = self._process.stdin, self._process.stdout
        assert told is not None and heard is not None, "the process was started with pipes"
        # A line when it is ready, and one after each program; none once it has ended.
        while heard.readline():
            self._is_ready = True
            try:
                program = self._programs[self._left.pop()]
                kind = "text" if isinstance(program, str) else "module"
                told.write(f"{kind} {json.dumps(str(program))} {self._options}\n")
                told.flush()
            except (IndexError, OSError):
                return
