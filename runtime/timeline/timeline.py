"""
Records what happens when, and where: compiles, allocations, transfers, kernels and waits, for each stream.

    with tenon.record_timeline() as timeline:
        routine.run(i=3).sync()
    timeline.save("trace.json")     # for ui.perfetto.dev or chrome://tracing

While nothing is recorded, `active()` is None and costs one look-up; what reports spans asks it first.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, current_thread
from time import perf_counter_ns

from ...backends.steps import CopyStep, HostStep, LaunchStep, Step, StepTime, SyncStep
from ...errors import TenonError
from .spans import HOST, Category, Flow, Span, Track
from .step_cost import StepCost
from .text import control_text
from .trace_json import trace_json


def host_track() -> Track:
    """Returns the track of the thread that calls."""
    return Track(HOST, current_thread().name)


@dataclass(eq=False)
class Timeline:
    """
    Spans and arrows, in the order they were reported. Any thread may report and read; nothing blocks. It
    keeps what is reported to it after the recording ended, for work that was queued before.
    """

    start_ns: int = field(default_factory=perf_counter_ns)
    _spans: list[Span] = field(default_factory=list[Span])
    _flows: list[Flow] = field(default_factory=list[Flow])

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(self._spans)

    @property
    def flows(self) -> tuple[Flow, ...]:
        return tuple(self._flows)

    def add(
        self, name: str, category: Category, track: Track, begin_ns: int, end_ns: int, **args: object
    ) -> None:
        """Reports work that was measured elsewhere."""
        assert begin_ns <= end_ns, f"span '{name}' ends {begin_ns - end_ns} ns before it begins"
        self._spans.append(Span(name, category, track, begin_ns, end_ns, args))

    def add_flow(self, name: str, source: Track, source_ns: int, target: Track, target_ns: int) -> None:
        """Reports that `target` at `target_ns` went on after what `source` had done at `source_ns`."""
        self._flows.append(Flow(name, source, source_ns, target, target_ns))

    @contextmanager
    def span(
        self, name: str, category: Category, track: Track | None = None, **args: object
    ) -> Generator[None]:
        """Reports what is done inside, also where it fails; on the calling thread's track by default."""
        track = track or host_track()
        begin_ns = perf_counter_ns()
        try:
            yield
        finally:
            self.add(name, category, track, begin_ns, perf_counter_ns(), **args)

    def to_json(self) -> str:
        """Returns the timeline in Chrome's trace event format, which Perfetto reads too."""
        return trace_json(self.spans, self.flows, self.start_ns)

    def save(self, path: str | Path) -> None:
        """
        Writes `to_json()`.

        Raises:
            TenonError: the file cannot be written.
        """
        try:
            Path(path).write_text(self.to_json(), encoding="utf-8")
        except OSError as error:
            raise TenonError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error


CURRENT: list[Timeline | None] = [None]
"""
What `active` returns, for those that count nanoseconds. The list stays: machine code looks into it.
"""
_lock = Lock()
_NOTHING = nullcontext()


def active() -> Timeline | None:
    """Returns the timeline that is being recorded, by whatever thread."""
    return CURRENT[0]


@contextmanager
def record_timeline() -> Generator[Timeline]:
    """
    Records what all threads of the process do until the end of the `with`. Kernels are then timed one by one,
    which makes programs run somewhat slower. Work that is queued inside and not waited for may miss the end.

    Raises:
        TenonError: a timeline is being recorded already.
    """
    timeline = Timeline()
    with _lock:
        if CURRENT[0] is not None:
            raise TenonError("record_timeline: a timeline is being recorded already")
        CURRENT[0] = timeline
    try:
        yield timeline
    finally:
        CURRENT[0] = None


def span(
    name: str, category: Category, track: Track | None = None, **args: object
) -> AbstractContextManager[None]:
    """Returns `Timeline.span` of the timeline being recorded; without one, a context that does nothing."""
    timeline = CURRENT[0]
    return _NOTHING if timeline is None else timeline.span(name, category, track, **args)


def report_steps(
    timeline: Timeline,
    track: Track,
    steps: Sequence[Step],
    times: Sequence[StepTime],
    start_ns: int,
    costs: Sequence[StepCost | None] | None = None,
) -> None:
    """
    Reports the steps of one timed run, one span each: `times` are those of `Program.run_timed`, `start_ns` is
    when it was called, `costs` what each step costs, where that is known. A sync is a wait.
    """
    for number, (step, time) in enumerate(zip(steps, times, strict=True)):
        begin_ns, end_ns = start_ns + time.begin_ns, start_ns + time.end_ns
        args: dict[str, object] = {"step": number}
        match step:
            case LaunchStep():
                name, category = f"@{step.kernel}", Category.KERNEL
                args |= {"grid": list(step.grid), "block": list(step.block)}
                if costs is not None and (cost := costs[number]) is not None:
                    args |= {"flops": cost.flops, "nbytes": cost.nbytes}
            case CopyStep():
                name, category = "copy", Category.TRANSFER
                args["nbytes"] = step.nbytes
            case SyncStep():
                name, category = "sync", Category.WAIT
            case HostStep():
                name, category = step.what, Category.HOST
            case _:
                name, category = control_text(step), Category.CONTROL
        if time.n_runs != 1 and isinstance(step, LaunchStep | CopyStep | HostStep):
            args["runs"] = time.n_runs
        timeline.add(name, category, track, begin_ns, end_ns, **args)
