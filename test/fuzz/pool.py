"""Workers, and programs that are run in them: a worker that crashes or hangs is a failure of its program."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from types import TracebackType
from typing import Any

from .runner import described

MOST_PROGRAMS = 150
"""How many programs a worker runs before another takes its place, with an empty cache."""

MOST_SECONDS = 300.0
"""How long a program may take: much longer than the largest do on a busy machine."""

ROOT = Path(__file__).parents[2]

Result = dict[str, Any]
"""An `Outcome` as plain data; its status may also be `crashed` or `hung`."""


class Worker:
    """A process of `worker.py`, started when it is first needed, and again after it ended."""

    def __init__(self, most_seconds: float = MOST_SECONDS, environment: dict[str, str] | None = None) -> None:
        self._most_seconds = most_seconds
        self._environment = environment or {}
        self.process: subprocess.Popen[str] | None = None
        """What runs now; None before it is first needed, and after it ended."""
        self._lines: queue.Queue[str] = queue.Queue()
        self._programs = 0
        self._folder: Path | None = None

    def run(self, kind: str, seed: int, given: dict[str, int] | None = None) -> Result:
        """Runs a program, and returns what came of it."""
        if self._programs >= MOST_PROGRAMS:
            self.close()
        if self.process is None:
            self._start()
        assert self.process is not None and self.process.stdin is not None
        self._programs += 1
        asked = {"kind": kind, "seed": seed, "given": given or {}}
        try:
            self.process.stdin.write(json.dumps(asked) + "\n")
            self.process.stdin.flush()
            line = self._lines.get(timeout=self._most_seconds)
        except queue.Empty:
            return self._ended(asked, "hung", f"no answer for {self._most_seconds:.0f} s")
        except BrokenPipeError:
            line = ""
        if not line:
            return self._ended(asked, "crashed", f"exit status {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process, and removes its folder."""
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._programs = 0

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        self._folder = Path(mkdtemp(prefix="tenon-fuzz-"))
        environment = os.environ | {"TENON_CACHE_DIR": str(self._folder / "cache")} | self._environment
        with (self._folder / "stderr").open("w", encoding="utf-8") as errors:
            process = self.process = subprocess.Popen(
                [sys.executable, "-m", "tenon.test.fuzz.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=ROOT,
                env=environment,
            )
        lines = self._lines = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            with process.stdout as answers:
                for line in answers:
                    lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()

    def _ended(self, asked: dict[str, Any], status: str, how: str) -> Result:
        assert self._folder is not None
        said = (self._folder / "stderr").read_text(encoding="utf-8", errors="replace")[-3000:]
        self.close()
        outcome = described(**asked)
        outcome.status, outcome.detail = status, f"{how}\n{said}"
        return outcome.plain()


def run_all(
    programs: Iterator[tuple[str, int]],
    jobs: int,
    noticed: Callable[[Worker, Result], None],
    may_go_on: Callable[[], bool],
) -> None:
    """
    Runs programs, given by kind and seed, in `jobs` workers for as long as it may. `noticed` is called with
    each result and the worker that it is from, by one thread at a time.
    """
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work() -> None:
        with Worker() as worker:
            while may_go_on() and not errors:
                with lock:
                    following = next(programs, None)
                if following is None:
                    return
                result = worker.run(*following)
                with lock:
                    try:
                        noticed(worker, result)
                    except BaseException as error:
                        errors.append(error)
                        return

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
