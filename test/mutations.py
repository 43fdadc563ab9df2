"""What campaigns of changed inputs share: flags, how long and in how much memory one may run, and crashes."""

from __future__ import annotations

import argparse
import os
import queue
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]

SECONDS = 20
"""How long one input may take."""

_NBYTES = 8 << 30
_KILLED_AFTER = 60.0


_INTERESTING = (0, 1, 2, 7, 8, 16, 0x7F, 0x80, 0xFF)


def mutated_bytes(data: bytes, seed: int) -> bytes:
    """Returns the bytes with one to four changes: bits turned, bytes set, cut out, repeated or put in."""
    draw = random.Random(seed)
    found = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(found) or 1)
        length = draw.choice((1, 1, 2, 4, 16))
        kind = draw.randrange(5)
        if kind == 0 and found:
            found[place] ^= 1 << draw.randrange(8)
        elif kind == 1 and found:
            found[place] = draw.choice(_INTERESTING)
        elif kind == 2:
            del found[place : place + length]
        elif kind == 3:
            found[place:place] = found[place : place + length]
        else:
            found[place:place] = bytes(draw.choice(_INTERESTING) for _ in range(length))
    return bytes(found)


class TooLongError(Exception):
    """An input takes longer than some seconds."""


@contextmanager
def limited_time() -> Iterator[None]:
    """Raises TooLongError where the body takes longer than some seconds."""

    def expired(*_: Any) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _described(outcome: Callable[[int], str], seed: int) -> tuple[str, str]:
    """Returns what comes of an input, `failure` for an exception that is left, and where that came from."""
    try:
        return outcome(seed), ""
    except (Exception, RecursionError) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        text = " ".join(str(error).split())[:300]
        return "failure", f"{type(error).__name__}: {text} ({place.filename}:{place.lineno})"


def campaign_parser(
    description: str | None, kinds: Sequence[str], flag: str = "kinds"
) -> argparse.ArgumentParser:
    """Returns a parser with the flags of all campaigns. The one that picks some of the kinds is `flag`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1000, help="how many changes of each (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument(f"--{flag}", dest="kinds", nargs="*", choices=list(kinds), default=list(kinds))
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(flag=flag)
    return parser


def run_campaigns(chosen: argparse.Namespace, script: str, outcome: Callable[[str, int], str]) -> int:
    """
    Runs the seeds of each kind that is chosen, in processes of `script`, and in those the ones that are asked
    for. Returns what `script` exits with: 1 where some failed.
    """
    if chosen.work:
        os.environ["TENON_CACHE"] = "0"
        os.environ["TENON_CACHE_DIR"] = tempfile.gettempdir()
        _work(partial(outcome, chosen.kinds[0]))
        return 0
    failures = 0
    for kind in chosen.kinds:
        command = [sys.executable, script, f"--{chosen.flag}", kind, "--work"]
        failures += _campaign(command, kind, range(chosen.seed, chosen.seed + chosen.count))
    return 1 if failures else 0


def _work(outcome: Callable[[int], str]) -> None:
    """Answers each seed of the standard input with a line: what came of it, and why."""
    resource.setrlimit(resource.RLIMIT_AS, (_NBYTES, _NBYTES))
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        print(*_described(outcome, int(line)), sep="\t", file=answers, flush=True)


def _campaign(command: list[str], name: str, seeds: range) -> int:
    """
    Runs the seeds in a process of `command`, in another one after a crash, and prints what fails and how
    many did what. Returns how many failed.
    """
    found: Counter[str] = Counter()
    start = time.perf_counter()
    worker = _Worker(command)
    for seed in seeds:
        what, why = worker.ask(seed)
        found[what] += 1
        if what == "failure":
            print(f"{name}, seed {seed}: {why}", flush=True)
    worker.close()
    counts = ", ".join(f"{count} {what}" for what, count in sorted(found.items()))
    print(f"{name}: {counts} ({time.perf_counter() - start:.0f} s)", flush=True)
    return found["failure"]


class _Worker:
    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._start()

    def _start(self) -> None:
        process = self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        lines = self._lines = queue.Queue[str]()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()

    def ask(self, seed: int) -> tuple[str, str]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{seed}\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=_KILLED_AFTER)
            why = "" if line else f"the process ended: {self._process.wait()}"
        except queue.Empty:
            line, why = "", f"no answer for {_KILLED_AFTER:.0f} s"
        except BrokenPipeError:
            line, why = "", f"the process ended: {self._process.wait()}"
        if line:
            what, _, why = line.rstrip("\n").partition("\t")
            return what, why
        self.close()
        self._start()
        return "failure", why

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
