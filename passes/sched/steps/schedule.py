"""`tenon.Schedule`: the steps of a schedule, one call each, on one kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from types import NoneType
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException

from ....dialects import sched
from ....dialects.modules.parsing import parse_module, verify_module
from ....errors import TenonError
from ...rewriting.failing_location import failing_location
from ...rewriting.value_names import value_names
from .kernels import kernels_of
from .loop_nests.loops import buffers_of, index_of, loops_of
from .steps import Step, are_steps, run_step


class Schedule:
    """
    A `sched` kernel that is scheduled step by step, in place: a kernel of a module, or the text of a module
    with one kernel. Loops and buffers are named as `print(schedule)` shows them.

    Each step is checked; one that is not legal raises TenonError, which says why, and leaves the kernel as it
    was. Steps keep the bits of every result, but for those with `allow_reorder`, which change the order in
    which sums and products of floats combine.
    """

    def __init__(self, kernel: sched.KernelOp | str) -> None:
        """Raises TenonError for a text that is not valid, or that has not one kernel, and what is neither."""
        _check_kind("the kernel", kernel, "a sched.kernel or the text of one", sched.KernelOp, str)
        if isinstance(kernel, str):
            module = parse_module(kernel)
            verify_module(module)
            kernel = _only_kernel(module)
        self.kernel = kernel
        self._steps: list[dict[str, Any]] = []

    def __repr__(self) -> str:
        return str(self.kernel)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps so far, as data that `json` takes and `replay` does again."""
        return [_copied(step) for step in self._steps]

    @property
    def keeps_order(self) -> bool:
        """Whether all steps so far keep the bits of results: none was told that it may change an order."""
        return not any(step.get("allow_reorder") for step in self._steps)

    def axes(self) -> list[str]:
        """The names of the loops, in the order of the text."""
        return list(loops_of(self.kernel))

    def buffers(self) -> list[str]:
        """The names of the buffers: arguments first, then those that the kernel allocates."""
        return list(buffers_of(self.kernel))

    def replay(self, steps: Sequence[Step]) -> Schedule:
        """Does steps that another schedule of the same kernel recorded."""
        if not are_steps(steps):
            raise TenonError(f"schedule: the steps are {steps!r}, expected a list of objects")
        for step in steps:
            self._run(step)
        return self

    def split(
        self, axis: str, factor: int, *, allow_reorder: bool = False, serial: bool = False
    ) -> tuple[str, str]:
        """
        Splits a loop at parts of `factor` iterations, and returns the names of the outer and the inner one.
        The inner one has a count if the factor does not divide the extent. A reduction goes on in its order:
        by `fma` in another one, else in a serial loop where the order shows, or where `serial` says so; such
        a loop can come to stand around other axes.
        """
        step: dict[str, Any] = {"step": "split", "axis": axis, "factor": factor}
        outer, inner = self._named(step | {"serial": True} if serial else step, allow_reorder)
        return outer, inner

    def reorder(self, *axes: str, allow_reorder: bool = False) -> None:
        """Puts loops that stand right inside of one another in the order given, the first the outermost."""
        self._named({"step": "reorder", "axes": list(axes)}, allow_reorder)

    def fuse(self, outer: str, inner: str, *, allow_reorder: bool = False) -> str:
        """Fuses two loops, one right inside of the other, and returns the name of the loop over both."""
        (name,) = self._named({"step": "fuse", "axes": [outer, inner]}, allow_reorder)
        return name

    def map(self, mappings: Mapping[str, str], *, allow_reorder: bool = False) -> None:
        """
        Says how loops run: `schedule.map({"i": "block(4)", "j": "vector(8)"})`. All are checked together; a
        reduction of floats in lanes changes its order.
        """
        _check_kind("what map takes", mappings, "words by axis", Mapping)
        step = {"step": "map", "axes": list(mappings), "mappings": list(mappings.values())}
        self._named(step, allow_reorder)

    def partition(
        self,
        axis: str,
        *,
        parts: int = 0,
        multiple: int | None = None,
        branch: bool = False,
        outer: bool = False,
    ) -> list[str]:
        """
        Cuts an axis where pads, rolls and concatenations begin and end, and returns the names of the loops
        that run in its place. With `branch` it stays one axis, which branches; with `parts` the longest piece
        runs in parts of about so many iterations, a multiple of `multiple` (64). `outer` says that it is
        around what may be a vector, so that short pieces count too.
        """
        step: dict[str, Any] = {"step": "partition", "axis": axis}
        given = {"parts": parts, "multiple": multiple or 0, "branch": branch, "outer": outer}
        return self._named(step | {name: value for name, value in given.items() if value})

    def prefetch(self, axis: str, buffer: str, distance: int, *, level: int = 1, rows: int = 1) -> None:
        """
        Has what a loop loads of a buffer fetched `distance` elements before it is needed, into the first
        cache, or with `level` 2 into the second one. Register tiles of fewer than `rows` rows fetch nothing.
        """
        given = {"level": level, "rows": rows}
        told = {name: number for name, number in given.items() if number != 1}
        self._named({"step": "prefetch", "axis": axis, "buffer": buffer, "distance": distance, **told})

    def distribute(
        self, axis: str, at: str, *, after: bool = False, innermost: bool = False
    ) -> tuple[str, str]:
        """
        Gives what stands in an axis before the loop `at`, or with `after` up to it, an axis of its own, and
        returns the names of the two. Values that go from one to the other are kept in local buffers. A local
        buffer of the axis gets a dim for its iterations, the first or, with `innermost`, the last one.
        """
        step: dict[str, Any] = {"step": "distribute", "axis": axis, "at": at}
        given = {"after": after, "innermost": innermost}
        first, second = self._named(step | {name: True for name, value in given.items() if value})
        return first, second

    def compute_at(self, buffer: str, axis: str) -> list[str]:
        """
        Computes a local buffer inside of the loop that reads it, as much as one iteration needs, and returns
        the names of the loops that do. `distribute` is the inverse.
        """
        return self._named({"step": "compute_at", "buffer": buffer, "axis": axis})

    def stage(self, axis: str, buffer: str, *, scope: str = "local") -> list[str]:
        """
        Copies the part of a buffer that one iteration of a loop reads into a local buffer first, and returns
        the names of the loops that copy. Work-items of a group (`items`) have a `shared` one together.
        """
        step = {"step": "stage", "axis": axis, "buffer": buffer}
        return self._named(step if scope == "local" else step | {"scope": scope})

    def pack(self, axis: str, buffer: str, layout: Sequence[str], *, scope: str = "local") -> list[str]:
        """
        The same, into a buffer with a dim for each loop of `layout`, in that order: so it is read element by
        element where the last of them is the innermost loop.
        """
        # A text is a sequence too, of its letters, but no list of names.
        names: object = layout if isinstance(layout, str | NoneType) else list(layout)
        step: dict[str, Any] = {"step": "pack", "axis": axis, "buffer": buffer, "layout": names}
        return self._named(step if scope == "local" else step | {"scope": scope})

    def _named(self, step: dict[str, Any], allow_reorder: bool = False) -> list[str]:
        return self._run(step | {"allow_reorder": True} if allow_reorder else step)

    def _run(self, step: Step) -> list[str]:
        try:
            loops = run_step(self.kernel, step)
        except DiagnosticException as error:
            raise TenonError(str(error), location=failing_location(error)) from error
        self._steps.append(_copied(step))
        names = value_names(self.kernel)
        return [names[index_of(loop)] for loop in loops]


Scheduling = Callable[[Schedule], object] | Sequence[Step]
"""How a kernel is to be scheduled: by a function that is given its schedule, or by recorded steps."""


def _check_kind(what: str, value: object, expected: str, *kinds: type) -> None:
    if not isinstance(value, kinds):
        raise TenonError(f"schedule: {what} is {value!r}, expected {expected}")


def _copied(step: Step) -> dict[str, Any]:
    return {key: deepcopy(value) for key, value in step.items()}


def _only_kernel(module: ModuleOp) -> sched.KernelOp:
    kernels = kernels_of(module)
    if len(kernels) != 1:
        raise TenonError(f"schedule: {len(kernels)} kernels, expected one ({', '.join(kernels) or 'none'})")
    (kernel,) = kernels.values()
    return kernel
