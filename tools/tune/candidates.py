"""
The schedules that a search tries.

A candidate is steps that change the loops, and a mapping for each loop. The space is walked from some places:
the loops as they are, two that stand right inside of one another exchanged, one split; each with the mapping
that the default passes give such loops. From there one number of one mapping is changed at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...dialects import sched
from ...dialects.sched import Level, MappingAttr
from ...errors import TenonError
from ...passes.sched.steps.loop_nests.loops import KernelLoop, loops_of
from ...passes.sched.steps.schedule import Schedule
from ...passes.sched.steps.steps import Step

SPLITS = (8, 16, 32, 64, 128)
"""The parts that loops are split into."""

LANES = (1, 2, 4, 8, 16)
UNROLLS = (1, 2, 4, 8, 16)
ROWS = (1, 2, 4, 6, 8, 12, 14, 16)
COLUMNS = (8, 16, 32, 48, 64)


@dataclass(frozen=True)
class Candidate:
    """Steps that change the loops of a kernel, and what each loop is then mapped to, by name, if anything."""

    structure: tuple[Step, ...]
    mappings: tuple[tuple[str, MappingAttr], ...]

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps of the whole schedule."""
        mapped = sorted((name, mapping.words()) for name, mapping in self.mappings if mapping.words())
        steps = [dict(step) for step in self.structure]
        if mapped:
            names, words = zip(*mapped, strict=True)
            steps.append({"step": "map", "axes": list(names), "mappings": list(words), "allow_reorder": True})
        return steps

    @property
    def key(self) -> str:
        """Text that is the same for equal candidates only."""
        return json.dumps(self.steps)

    def scheduled(self, kernel: sched.KernelOp) -> sched.KernelOp:
        """
        Returns a copy of a kernel that is scheduled like this.

        Raises:
            TenonError: a step is not legal.
        """
        schedule = Schedule(kernel.clone())
        schedule.replay(self.steps)
        return schedule.kernel


def starts(
    kernel: sched.KernelOp, map_by_default: Callable[[sched.KernelOp], Mapping[str, MappingAttr] | None]
) -> Iterator[Candidate]:
    """
    Yields candidates to begin with: each change of the loops, with the mapping of the default passes, which
    `map_by_default` gives by the loops' names, None where they change the loops too.
    """
    for structure in ((), *_structures(kernel)):
        copy = Schedule(kernel.clone())
        try:
            copy.replay(structure)
        except TenonError:
            continue
        mappings = map_by_default(copy.kernel)
        if mappings is None:
            mappings = {name: loop.mapping for name, loop in _mapped_loops(copy.kernel).items()}
        yield Candidate(tuple(structure), tuple(mappings.items()))


def neighbours(candidate: Candidate, kernel: sched.KernelOp) -> Iterator[Candidate]:
    """Yields the candidates that differ in one number of one mapping."""
    copy = Schedule(kernel.clone())
    copy.replay(candidate.structure)
    loops = _mapped_loops(copy.kernel)
    given = dict(candidate.mappings)
    for name, loop in loops.items():
        for mapping in _other_mappings(given.get(name, MappingAttr.get()), loop):
            changed = {**given, name: mapping}
            yield Candidate(candidate.structure, tuple(changed.items()))


def _mapped_loops(kernel: sched.KernelOp) -> dict[str, sched.AxisOp | sched.ReduceOp]:
    return {
        name: loop
        for name, loop in loops_of(kernel).items()
        if isinstance(loop, sched.AxisOp | sched.ReduceOp)
    }


def _structures(kernel: sched.KernelOp) -> Iterator[tuple[Step, ...]]:
    """Yields changes of the loops: two exchanged, one split, two of a nest split into tiles."""
    loops = loops_of(kernel)
    nested = [
        (outer, inner)
        for outer, loop in loops.items()
        for inner, other in loops.items()
        if other.parent_op() is loop and isinstance(loop, sched.AxisOp) and isinstance(other, sched.AxisOp)
    ]
    for outer, inner in nested:
        yield ({"step": "reorder", "axes": [inner, outer]},)
    for name, loop in loops.items():
        for factor in SPLITS:
            if isinstance(loop, sched.AxisOp) and _is_longer(loop, factor):
                yield ({"step": "split", "axis": name, "factor": factor},)
    for outer, inner in nested:
        for factor in SPLITS:
            if _is_longer(loops[outer], factor) and _is_longer(loops[inner], factor):
                yield (
                    {"step": "split", "axis": outer, "factor": factor},
                    {"step": "split", "axis": inner, "factor": factor},
                    {"step": "reorder", "axes": [f"{outer}_inner", f"{inner}_outer"]},
                )
                yield (
                    {"step": "split", "axis": inner, "factor": factor},
                    {"step": "reorder", "axes": [outer, f"{inner}_outer"]},
                )


def _is_longer(loop: KernelLoop, factor: int) -> bool:
    if not isinstance(loop, sched.AxisOp | sched.ReduceOp):
        return False
    extent = loop.extent
    return not isinstance(extent, int) or extent > factor


def _other_mappings(mapping: MappingAttr, loop: sched.AxisOp | sched.ReduceOp) -> Iterator[MappingAttr]:
    """Yields the mappings that differ from one in one number."""
    level, chunk = mapping.level.data, mapping.chunk.data
    vector, unroll, items, tile = (
        number.data for number in (mapping.vector, mapping.unroll, mapping.items, mapping.tile)
    )
    get = partial(MappingAttr.get, prefetch=bool(mapping.prefetch.data))
    for lanes in LANES:
        if lanes != vector:
            yield get(level, chunk, lanes, unroll, items, tile)
    if not tile:
        for count in UNROLLS:
            if count != unroll:
                yield get(level, chunk, vector, count, items)
    else:
        for size in sorted({*ROWS, *COLUMNS}):
            if size != tile:
                yield get(level, chunk, vector, unroll, items, size)
    if isinstance(loop, sched.AxisOp):
        if level is Level.BLOCK:
            yield get(Level.SERIAL, 1, vector, unroll, items, tile)
        base = chunk if level is Level.BLOCK else vector * unroll
        for size in dict.fromkeys((base * 4, base * 2, base // 2, base // 4, vector * unroll, tile)):
            if size >= 1 and (size != chunk or level is not Level.BLOCK):
                yield get(Level.BLOCK, size, vector, unroll, items, tile)


def default_mappings(
    original: sched.KernelOp, mapped: Sequence[sched.KernelOp]
) -> Mapping[str, MappingAttr] | None:
    """Returns what the loops of a kernel were mapped to, by name; None where they are others than before."""
    if len(mapped) != 1 or list(loops_of(mapped[0])) != list(loops_of(original)):
        return None
    return {name: loop.mapping for name, loop in _mapped_loops(mapped[0]).items()}
