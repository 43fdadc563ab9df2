"""The ways in which a program is compiled and run."""

from __future__ import annotations

from dataclasses import dataclass

from tenon.backends.llvm.processors import NATIVE, find_processor, host_processor

from .draws import Draws
from .program import Program

MOST_WORK = {"graph": 3_000_000, "sched": 40_000, "low": 20_000}
"""How many scalar operations are interpreted at a level: about half a second of them."""


@dataclass(frozen=True)
class Way:
    """How a program is run; `target` is a backend, or a level that is interpreted."""

    target: str
    route: str
    """`call` and `lower` of `tenon.jit`, or the `module` or `text` that was traced, by `tenon.compile`."""
    threads: int = 1
    """With a routine these are the devices that take turns."""
    is_cached: bool = False
    """Compiled twice, the second time from the cache on disk, and the same bits."""
    is_dynamic: bool = False
    processor: str = NATIVE
    """Whose code llvm makes: schedules differ with the width of vectors."""
    state: str = "none"
    """
    Several steps in which results become arguments: `donated`, `nodes` of an executable, a `routine`, or
    several `devices` that share the work of each step. Or the `ranks` of a mesh, each a thread.
    """
    kernels: str = "default"
    """
    How they are scheduled: by steps that are `drawn`, or were `recorded`; by a database of drawn `entries`,
    or one that was `tuned`.
    """

    def __str__(self) -> str:
        words = [self.target, self.route]
        words += [f"{self.threads} threads"] * (self.threads > 1)
        words += [self.processor] * (self.processor != NATIVE)
        words += ["cached"] * self.is_cached + ["dynamic"] * self.is_dynamic
        words += [self.state] * (self.state != "none")
        words += [self.kernels] * (self.kernels != "default")
        return ", ".join(words)


PROCESSORS = (NATIVE, "x86-64-v3", "x86-64-v2")

KERNELS = ("default", "drawn", "recorded", "entries", "tuned")

TARGETS = ("llvm", "opencl", "graph", "sched", "low")


def draw_way(draws: Draws, program: Program, work: int) -> Way:
    """Draws how a program is run, of which one run takes `work`."""
    with draws.scope("way"):
        target = draws.pick("target", TARGETS, (84, 4, 4, 4, 4))
        if work > MOST_WORK.get(target, work):
            target = "llvm"
        route = draws.pick("route", ("call", "lower", "module", "text"), (2, 4, 2, 2))
        state = draws.pick("state", ("none", "donated", "nodes", "routine"), (80, 8, 7, 5))
        is_dynamic = bool(program.dims) and draws.flag("dynamic", 0.15)
        is_cached = draws.flag("cached", 0.08)
        threads = draws.pick("threads", (1, 2), (3, 1))
        processor = draws.pick("processor", PROCESSORS, (4, 4, 2))
        if target != "llvm" or find_processor(processor).lacking_on(host_processor()):
            processor = NATIVE
        if target not in ("llvm", "opencl"):
            route = "text" if route == "text" else "module"
            is_cached, threads = False, 1
            state = "none" if state in ("donated", "routine") else state
        if target == "opencl":
            threads = 1
        if program.shards is not None and draws.flag("devices", 0.35):
            state = "devices"
        if program.text is not None:
            route, state = "text", "none"
        elif target != "opencl" and draws.flag("ranks", 0.1):
            state = "ranks"
        if state == "donated" and not program.feedback:
            state = "none"
        if state == "donated":
            route = "call"
        if state in ("nodes", "routine", "devices", "ranks"):
            route, is_dynamic = "text", False
        # Programs with ops from outside are not kept on disk: their passes may change.
        if state in ("routine", "devices", "ranks") or program.has_own_ops:
            is_cached = False
        if state == "ranks":
            threads, processor = 1, NATIVE
        kernels = draws.pick("kernels", KERNELS, (85, 5, 3, 5, 2))
        if target not in ("llvm", "opencl") or state not in ("none", "donated"):
            kernels = "default"
        if kernels in ("drawn", "recorded"):
            # Programs that functions schedule are not kept on disk.
            route, state = "text" if route == "text" else "module", "none"
            is_cached = is_cached and kernels == "recorded"
    return Way(target, route, threads, is_cached, is_dynamic, processor, state, kernels)
