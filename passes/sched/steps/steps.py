"""
Steps of a schedule as data: `{"step": "split", "axis": "i", "factor": 8}`.

A step names loops and buffers as the kernel prints them at that point. Values are strings, numbers, booleans
and lists of strings, so that a schedule is JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException, VerifyException

from ....dialects import sched
from ....dialects.sched import Scope
from ...low.lowering.kernel import lower_kernel
from .borders.pieces import WHOLE_LANES
from .loop_nests.errors import ScheduleError
from .loop_nests.loops import KernelLoop, buffers_of, loops_of
from .primitives.compute_at import WHO as COMPUTE_AT
from .primitives.compute_at import compute_at
from .primitives.distribute import WHO as DISTRIBUTE
from .primitives.distribute import distribute
from .primitives.fuse import WHO as FUSE
from .primitives.fuse import fuse
from .primitives.map import WHO as MAP
from .primitives.map import map_axes
from .primitives.pack import WHO as PACK
from .primitives.pack import pack
from .primitives.partition import WHO as PARTITION
from .primitives.partition import partition
from .primitives.prefetch import WHO as PREFETCH
from .primitives.prefetch import prefetch
from .primitives.reorder import WHO as REORDER
from .primitives.reorder import reorder
from .primitives.split import WHO as SPLIT
from .primitives.split import split
from .primitives.stage import WHO as STAGE
from .primitives.stage import stage

Step = Mapping[str, Any]
"""One step: its name under `step`, and its arguments by name."""


def are_steps(value: object) -> TypeGuard[Sequence[Step]]:
    """Returns whether a value is a list of steps, which may be wrong ones."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        return False
    return all(isinstance(step, Mapping) for step in cast(Sequence[object], value))


def find_loop(who: str, op: sched.KernelOp, name: str) -> KernelLoop:
    """Returns the loop of a kernel that a name stands for. Raises ScheduleError for another name."""
    loops = loops_of(op)
    found = loops.get(name)
    if found is None:
        known = ", ".join(f"%{loop}" for loop in loops) or "none"
        raise ScheduleError(f"{who}: @{op.sym_name.data} has no axis %{name} (its axes: {known})")
    return found


def find_buffer(who: str, op: sched.KernelOp, name: str) -> SSAValue:
    """Returns the buffer of a kernel that a name stands for. Raises ScheduleError for another name."""
    buffers = buffers_of(op)
    found = buffers.get(name)
    if found is None:
        known = ", ".join(f"%{buffer}" for buffer in buffers) or "none"
        raise ScheduleError(f"{who}: @{op.sym_name.data} has no buffer %{name} (its buffers: {known})")
    return found


def _split(
    kernel: sched.KernelOp, axis: str, factor: int, allow_reorder: bool, serial: bool
) -> Sequence[KernelLoop]:
    return split(find_loop(SPLIT, kernel, axis), factor, allow_reorder, serial)


def _reorder(kernel: sched.KernelOp, axes: Sequence[str], allow_reorder: bool) -> Sequence[KernelLoop]:
    return reorder([find_loop(REORDER, kernel, axis) for axis in axes], allow_reorder)


def _fuse(kernel: sched.KernelOp, axes: Sequence[str], allow_reorder: bool) -> Sequence[KernelLoop]:
    if len(axes) != 2:
        raise ScheduleError(f"{FUSE}: @{kernel.sym_name.data}: {len(axes)} axes, expected 2")
    first, second = (find_loop(FUSE, kernel, axis) for axis in axes)
    return [fuse(first, second, allow_reorder)]


def _map(
    kernel: sched.KernelOp, axes: Sequence[str], mappings: Sequence[str], allow_reorder: bool
) -> Sequence[KernelLoop]:
    if len(axes) != len(mappings):
        raise ScheduleError(
            f"{MAP}: @{kernel.sym_name.data}: {len(axes)} axes and {len(mappings)} mappings, expected as many"
        )
    loops = [find_loop(MAP, kernel, axis) for axis in axes]
    map_axes(list(zip(loops, mappings, strict=True)), allow_reorder)
    return loops


def _stage(kernel: sched.KernelOp, axis: str, buffer: str, scope: str) -> Sequence[KernelLoop]:
    where = _scope(STAGE, kernel, scope)
    return stage(find_loop(STAGE, kernel, axis), find_buffer(STAGE, kernel, buffer), where)


def _pack(
    kernel: sched.KernelOp, axis: str, buffer: str, layout: Sequence[str], scope: str
) -> Sequence[KernelLoop]:
    where = _scope(PACK, kernel, scope)
    loops = [find_loop(PACK, kernel, name) for name in layout]
    return pack(find_loop(PACK, kernel, axis), find_buffer(PACK, kernel, buffer), loops, where)


def _scope(who: str, op: sched.KernelOp, scope: str) -> Scope:
    if scope not in (Scope.LOCAL, Scope.SHARED):
        raise ScheduleError(f"{who}: @{op.sym_name.data}: scope '{scope}' is not local or shared")
    return Scope(scope)


def _distribute(
    kernel: sched.KernelOp, axis: str, at: str, after: bool, innermost: bool
) -> Sequence[KernelLoop]:
    outer, inner = find_loop(DISTRIBUTE, kernel, axis), find_loop(DISTRIBUTE, kernel, at)
    return distribute(outer, inner, after, innermost)


def _compute_at(kernel: sched.KernelOp, buffer: str, axis: str) -> Sequence[KernelLoop]:
    return compute_at(find_buffer(COMPUTE_AT, kernel, buffer), find_loop(COMPUTE_AT, kernel, axis))


def _partition(
    kernel: sched.KernelOp, axis: str, parts: int, multiple: int, branch: bool, outer: bool
) -> Sequence[KernelLoop]:
    return partition(find_loop(PARTITION, kernel, axis), parts, multiple, branch, outer)


def _prefetch(
    kernel: sched.KernelOp, axis: str, buffer: str, distance: int, level: int, rows: int
) -> Sequence[KernelLoop]:
    loop, place = find_loop(PREFETCH, kernel, axis), find_buffer(PREFETCH, kernel, buffer)
    return prefetch(loop, place, distance, level, rows)


@dataclass(frozen=True)
class _Rule:
    """A kind of step: the types of its arguments, the optional ones with their default, and what does it."""

    run: Callable[..., Sequence[KernelLoop]]
    required: Mapping[str, type]
    optional: Mapping[str, Any]


_RULES: dict[str, _Rule] = {
    "split": _Rule(_split, {"axis": str, "factor": int}, {"allow_reorder": False, "serial": False}),
    "reorder": _Rule(_reorder, {"axes": list}, {"allow_reorder": False}),
    "fuse": _Rule(_fuse, {"axes": list}, {"allow_reorder": False}),
    "map": _Rule(_map, {"axes": list, "mappings": list}, {"allow_reorder": False}),
    "distribute": _Rule(_distribute, {"axis": str, "at": str}, {"after": False, "innermost": False}),
    "compute_at": _Rule(_compute_at, {"buffer": str, "axis": str}, {}),
    "stage": _Rule(_stage, {"axis": str, "buffer": str}, {"scope": "local"}),
    "partition": _Rule(
        _partition, {"axis": str}, {"parts": 0, "multiple": WHOLE_LANES, "branch": False, "outer": False}
    ),
    "prefetch": _Rule(_prefetch, {"axis": str, "buffer": str, "distance": int}, {"level": 1, "rows": 1}),
    "pack": _Rule(_pack, {"axis": str, "buffer": str, "layout": list}, {"scope": "local"}),
}


_MOVES_LOOPS = {"split": SPLIT, "reorder": REORDER}
"""Steps that can put a loop where its mapping, or that of another one, is not possible."""


def run_step(op: sched.KernelOp, step: Step) -> Sequence[KernelLoop]:
    """
    Does one step to a kernel and returns the loops that it made or changed.

    Raises:
        ScheduleError: the step is none, an argument is missing, unknown or of a wrong type, or the step is
            not legal; the kernel is then as it was.
    """
    arguments = dict(step)
    name = arguments.pop("step", None)
    rule = _RULES.get(name) if isinstance(name, str) else None
    if rule is None:
        raise ScheduleError(f"schedule: {name!r} is no step, expected one of {', '.join(_RULES)}")
    types = {**rule.required, **{key: type(value) for key, value in rule.optional.items()}}
    for key, value in arguments.items():
        expected = types.get(key)
        if expected is None:
            raise ScheduleError(f"schedule: step '{name}' takes {', '.join(types)}, found '{key}'")
        if type(value) is not expected or (expected is list and not all(type(v) is str for v in value)):
            text = "a list of str" if expected is list else expected.__name__
            raise ScheduleError(f"schedule: '{key}' of step '{name}' is {value!r}, expected {text}")
    for key in rule.required:
        if key not in arguments:
            raise ScheduleError(f"schedule: step '{name}' lacks '{key}'")
    given = {**rule.optional, **arguments}
    if name in _MOVES_LOOPS and _is_mapped(op) and _refusal(op) is None:
        return _run_mapped(op, _MOVES_LOOPS[name], lambda: rule.run(op, **given))
    return rule.run(op, **given)


def _is_mapped(op: sched.KernelOp) -> bool:
    return any(
        isinstance(loop, sched.AxisOp | sched.ReduceOp) and loop.mapping != sched.MappingAttr.get()
        for loop in loops_of(op).values()
    )


def _refusal(op: sched.KernelOp) -> str | None:
    """Returns why a kernel cannot run as its loops are mapped, if it cannot."""
    try:
        op.verify()
        lower_kernel(op)
    except (PassFailedException, VerifyException) as error:
        return str(error)
    return None


def _run_mapped(
    op: sched.KernelOp, who: str, run: Callable[[], Sequence[KernelLoop]]
) -> Sequence[KernelLoop]:
    """Runs a step that moves loops of a kernel which can run as they are mapped, and must still after it."""
    before = op.clone()
    loops = run()
    refusal = _refusal(op)
    if refusal is None:
        return loops
    op.detach_region(op.body).erase()
    op.add_region(before.detach_region(before.body))
    raise ScheduleError(f"{who}: @{op.sym_name.data}: {refusal} (hint: map the loops after it)")
