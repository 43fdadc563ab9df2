"""
How the kernels of a program are scheduled: by steps that are drawn, or by a database, of drawn entries or as
`tenon.tune` finds them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tenon
from tenon.backends.registry import get_backend
from tenon.compiler.source import ProgramSource
from tenon.compiler.tuning import device_key
from tenon.dialects import low, sched
from tenon.dialects.buffer_size import nbytes_of
from tenon.passes.low.lowering.kernel import lower_kernel
from tenon.passes.sched.steps.database import ScheduleEntry
from tenon.passes.sched.steps.loop_nests.loops import loops_of
from tenon.test.e2e.random_schedules import schedule_at_random
from tenon.tools.tune.database import save_entries
from tenon.tools.tune.kernels import TunableProgram, tunable_program

from .draws import Draws

MOST_KERNELS = 8
"""How many kernels of a program are scheduled at random; the others have their default schedule."""

MOST_STEPS = 14

TUNING_SECONDS = 0.25

Schedules = dict[str, list[dict[str, Any]]]
"""Steps by the names of kernels."""


class DrawnSchedules:
    """Steps for some kernels of `@main` of a module; what is drawn has names, as a program's choices do."""

    def __init__(self, draws: Draws, source: Any, backend: str, target: str | None) -> None:
        self._backend = get_backend(backend, target)
        module, entry = ProgramSource(source, "main").prepared()
        self._program: TunableProgram = tunable_program(module, entry, self._backend)
        # How far a named dim goes is known to the module: it may refuse what is legal on a kernel alone.
        kernels = [kernel for kernel in self._program.kernels if not kernel.op.dims]
        self.steps: Schedules = {}
        with draws.scope("schedule"):
            count = draws.integer("kernels", 1, MOST_KERNELS)
            allows = draws.flag("reorders")
            order = draws.generator("order").permutation(len(kernels))
            most = self._backend.device.max_shared_nbytes // 2
            for number in order[:count]:
                kernel = kernels[number]
                with draws.scope(f"kernel{number}"):
                    drawn = tenon.Schedule(kernel.op.clone())
                    seed = int(draws.generator("steps").integers(1 << 30))
                    # Work-items share buffers where there are barriers.
                    schedule_at_random(drawn, seed, may_reorder=allows, shares=backend != "llvm")
                    # What is left out are the last steps, so that those before are legal.
                    steps = drawn.steps[: draws.integer("steps", 0, MOST_STEPS)]
                    # A device refuses a kernel with larger buffers; what default schedules add has the rest.
                    while steps and _local_nbytes(kernel.op, steps) > most:
                        steps.pop()
                    self.steps[kernel.name] = steps

    @property
    def functions(self) -> dict[str, Callable[[tenon.Schedule], object]]:
        """The steps as functions that do them by the methods of a schedule."""
        return {name: lambda kernel, steps=steps: _do(kernel, steps) for name, steps in self.steps.items()}

    @property
    def recorded(self) -> Schedules:
        """The steps as they were written and read again."""
        return json.loads(json.dumps(self.steps))

    def save(self, path: Path) -> None:
        """Writes a database of the steps."""
        device = device_key(self._backend)
        entries = [
            ScheduleEntry(
                kernel.digest,
                device,
                self._program.name,
                self._program.signature,
                kernel.name,
                tuple(loops_of(kernel.op)),
                tuple(self.steps[kernel.name]),
                2,
                1,
            )
            for kernel in self._program.kernels
            if self.steps.get(kernel.name)
        ]
        save_entries(path, entries, [])


def _local_nbytes(kernel: sched.KernelOp, steps: Sequence[dict[str, Any]]) -> int:
    """Returns the bytes of all buffers that a kernel allocates once it is scheduled so."""
    scheduled = tenon.Schedule(kernel.clone()).replay(steps).kernel
    allocas = [op for op in lower_kernel(scheduled).walk() if isinstance(op, low.AllocaOp)]
    return sum(nbytes_of(op.memref.type) for op in allocas)


def _do(kernel: tenon.Schedule, steps: Sequence[dict[str, Any]]) -> None:
    for step in steps:
        arguments = dict(step)
        name = arguments.pop("step")
        if name == "map":
            mappings = dict(zip(arguments.pop("axes"), arguments.pop("mappings"), strict=True))
            kernel.map(mappings, **arguments)
        elif name in ("reorder", "fuse"):
            getattr(kernel, name)(*arguments.pop("axes"), **arguments)
        else:
            getattr(kernel, name)(**arguments)


def search(source: Any, path: Path, backend: str, target: str | None, seed: int) -> None:
    """Writes a database of what a short search finds."""
    tenon.tune(
        source,
        seconds=TUNING_SECONDS,
        database=path,
        backend=backend,
        entry="main",
        seed=seed,
        progress=False,
        target=target,
    )
