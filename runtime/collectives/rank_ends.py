"""
How ranks end: a rank that raises ends all, one that ends early tells those that wait for it, and that one is
killed a witness on its machine says.
"""

from __future__ import annotations

import atexit
import mmap
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from .waits import Wait

_GOODBYE, _WAITING, _WAITING_IN = 1, 2, 3
"""
Tags of messages: how many collectives a rank has begun in all; for which one it waits; and in which world,
with what it has begun in others.
"""

_MOST_TEXT = 256
"""The most bytes of what a rank says that it waits for."""

_POLL_SECONDS = 0.005

_FLUSH_SECONDS = 0.2


class RankEnds:
    """
    What the ranks of a world tell one another besides their collectives. One for each process, which it lives
    as long as; `look` and `tell` may be called by any thread.
    """

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self.comm = mpi.COMM_WORLD.Dup()
        self.rank: int = self.comm.Get_rank()
        self.size: int = self.comm.Get_size()
        self.begun = 0
        """How many collectives this rank has begun."""
        self.history = 0
        """A checksum of those of programs, arrays and checkpoints, which is that of all ranks."""
        self.ended: dict[int, int] = {}
        """By rank, how many collectives those had begun that have ended."""
        self.waiting: dict[int, tuple[int, str]] = {}
        """By rank, the number of the collective that it said it waits for, and what that is."""
        self.waits: dict[int, Wait] = {}
        """By rank, what it said last that it waits for."""
        self.is_leaving = False
        self._told: set[int] = set()
        """The ranks that know that this one leaves."""
        self._marks: mmap.mmap | None = None
        self._sent: list[tuple[Any, Any]] = []
        self._lock = threading.Lock()
        self._former_hook = sys.excepthook
        atexit.register(self._leave)
        if self.size > 1:
            sys.excepthook = self._raised
            self._start_witness()

    def abort(self, reason: str) -> None:
        """Prints one line, and ends all ranks."""
        self._mark()
        sys.stdout.flush()
        os.write(2, f"tenon: {reason}\n".encode())
        # Launchers drop what they have not read yet when ranks abort.
        time.sleep(_FLUSH_SECONDS)
        self.mpi.COMM_WORLD.Abort(1)

    def look(self) -> None:
        """Takes what others have sent."""
        with self._lock:
            status = self.mpi.Status()
            while self.comm.Iprobe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG, status):
                source = status.Get_source()
                text = np.empty(status.Get_count(self.mpi.BYTE), np.uint8)
                self.comm.Recv([text, self.mpi.BYTE], source, status.Get_tag())
                if status.Get_tag() == _WAITING_IN:
                    self.waits[source] = Wait.of(text.tobytes())
                    continue
                number = int(text[:8].view(np.int64)[0])
                if status.Get_tag() == _GOODBYE:
                    self.ended[source] = number
                else:
                    self.waiting[source] = number, text[8:].tobytes().decode(errors="replace")

    def tell(self, ranks: Iterable[int], number: int, what: str) -> None:
        """Tells others for which collective this rank waits; one that has ended answers that it has."""
        self._send(ranks, _WAITING, number, what)

    def _send(self, ranks: Iterable[int], tag: int, number: int, what: str = "") -> None:
        self._send_text(ranks, tag, np.array([number], np.int64).tobytes() + what.encode()[:_MOST_TEXT])

    def tell_all(self, wait: Wait) -> None:
        """Tells all others what this rank waits for."""
        self._send_text(range(self.size), _WAITING_IN, wait.message)

    def _send_text(self, ranks: Iterable[int], tag: int, text: bytes) -> None:
        message = np.frombuffer(text, np.uint8)
        with self._lock:
            self._sent = [(request, kept) for request, kept in self._sent if not request.Test()]
            for other in ranks:
                if other != self.rank:
                    # Done once it is received: MPI must not end with messages under way.
                    self._sent.append((self.comm.Issend([message, self.mpi.BYTE], other, tag), message))

    def _raised(
        self, kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        """Takes the place of `sys.excepthook`: a rank that raises would leave the others waiting."""
        self._former_hook(kind, error, traceback)
        sys.stderr.flush()
        text = " ".join(str(error).split())
        self.abort(f"rank {self.rank} ended all ranks: {kind.__name__}: {text}")

    def _leave(self) -> None:
        """
        Waits until all leave: MPI is ended by all together. Those that say meanwhile that they wait for this
        rank are told that it has ended.
        """
        if self.mpi.Is_finalized():
            return
        self.is_leaving = True
        self._mark()
        sys.stdout.flush()
        own = np.array([self.begun, self.history], np.int64)
        found = np.empty((self.size, 2), np.int64)
        self._answer_until(self.comm.Iallgather([own, self.mpi.INT64_T], [found, self.mpi.INT64_T]))
        while self._sent:
            self._sent = [(request, kept) for request, kept in self._sent if not request.Test()]
            self._answer()
        self._answer_until(self.comm.Ibarrier())
        is_other = (found[:, 0] == self.begun) & (found[:, 1] != self.history)
        if differing := np.flatnonzero(is_other).tolist():
            # MPI gave them some numbers, which may have been used.
            self.abort(
                f"rank {self.rank} has begun other collectives than ranks {', '.join(map(str, differing))}: "
                "what they gave is wrong"
            )
        self.mpi.Finalize()

    def _answer_until(self, request: Any) -> None:
        while not request.Test():
            self._answer()

    def _answer(self) -> None:
        """Tells those that wait for this rank that it leaves, and lets some time pass."""
        self.look()
        asking = self.waiting.keys() - self._told
        self._send(asking, _GOODBYE, self.begun)
        self._told |= asking
        time.sleep(_POLL_SECONDS)

    def _start_witness(self) -> None:
        """Has the first rank of each machine start what notices that a rank there is killed."""
        here = (socket.gethostname(), _machine())
        near = [rank for rank, place in enumerate(self.comm.allgather(here)) if place == here]
        folder = ""
        if near[0] == self.rank and len(near) > 1 and hasattr(select, "epoll") and here[1]:
            folder = tempfile.mkdtemp(prefix="tenon-ranks-")
            Path(folder, "marks").write_bytes(bytes(self.size))
            for rank in near:
                os.mkfifo(f"{folder}/{rank}")
            script = str(Path(__file__).with_name("witness.py"))
            # Of a session of its own, it outlives the ranks that the launcher kills.
            witness = subprocess.Popen(
                [sys.executable, "-I", "-S", script, folder, *map(str, near)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
            assert witness.stdout is not None, "a pipe that was asked for"
            with witness.stdout:
                witness.stdout.read(1)
            # Nobody waits for it: it ends with the first rank.
            witness.returncode = 0
        folder = self.comm.allgather(folder)[near[0]]
        if folder:
            os.open(f"{folder}/{self.rank}", os.O_WRONLY)
            with Path(folder, "marks").open("r+b") as file:
                self._marks = mmap.mmap(file.fileno(), self.size)

    def _mark(self) -> None:
        """Notes that this rank ends by itself, so that nobody says that it was killed."""
        if self._marks is not None:
            self._marks[self.rank] = 1


def _machine() -> str:
    """Returns what tells machines apart, and containers on one that have files of their own."""
    try:
        return str(Path("/proc/self/ns/mnt").readlink()) + Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return ""
