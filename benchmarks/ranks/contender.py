"""
One process of a contender: does what the contest tells it, on a connection of its own, and waits without
taking a processor in between.

    python -m benchmarks.ranks.contender tenon localhost:5000 "tenon, mpich"
    python -m benchmarks.ranks.contender jax localhost:5000 "jax, 2 processes" --process 1 \\
        --coordinator localhost:5001
"""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import socket
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from .work import WORK

TOKEN = "TENON_CONTEST_TOKEN"
"""The variable with what a process says first: it was started by the contest."""


def serve(connection: Connection, library: Any) -> None:
    """Does what comes: `prepare` work, `run` a way so many times, give the `parts` of its answer; `end`."""
    calls: dict[str, Callable[[], Any]] = {}
    while True:
        what, *details = connection.recv()
        if what == "end":
            return
        try:
            answer: Any = None
            if what == "prepare":
                calls = library.calls_of(WORK[details[0]])
                answer = list(calls)
            elif what == "run":
                call, count = calls[details[0]], details[1]
                # Whatever ran before left its own data in the caches.
                for _ in range((count + 1) // 2):
                    call()
                start = time.perf_counter()
                for _ in range(count):
                    call()
                answer = (time.perf_counter() - start) / count
            else:
                answer = library.parts_of(calls[details[0]]())
        except Exception:
            # Whatever it was: the contest says so, and ends all others.
            answer = RuntimeError(traceback.format_exc())
        connection.send_bytes(pickle.dumps(answer))


def take_processor(number: int) -> None:
    """Keeps this process on one of the processors that it may use, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {usable[number % len(usable)]})


def main() -> None:
    parser = argparse.ArgumentParser(description="One process of a contender.")
    parser.add_argument("library", choices=("tenon", "jax"))
    parser.add_argument("address", help="host:port of the contest")
    parser.add_argument("name", help="of the contender")
    parser.add_argument("--process", type=int, help="which of two processes of jax")
    parser.add_argument("--coordinator", help="host:port where processes of jax meet")
    options = parser.parse_args()
    if options.process is not None:
        take_processor(options.process)
        jax: Any = importlib.import_module("jax")
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(options.coordinator, 2, options.process)
    library = importlib.import_module(f".{options.library}_work", __package__)
    host, port = options.address.split(":")
    with socket.create_connection((host, int(port))) as joined:
        connection = Connection(joined.detach())
        connection.send_bytes(os.environ[TOKEN].encode())
        connection.send(options.name)
        serve(connection, library)


if __name__ == "__main__":
    main()
