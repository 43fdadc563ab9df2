"""
The schedules that a search tries.

A candidate is steps that change the loops, a mapping for each loop, and what is fetched ahead. The space is
walked from some places: the schedule that the default passes give the kernel, and those that they give it
once two loops that stand right inside of one another are exchanged, or one is split. From there one thing is
changed at a time: a number of one mapping or of one step, a step is left out, or another one is added.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from xdsl.dialects import memref
from xdsl.ir import BlockArgument

from ...dialects import sched
from ...dialects.sched import CombineKind, Level, MappingAttr
from ...errors import TenonError
from ...passes.indices.analysis import IndexAnalysis
from ...passes.sched.steps.loop_nests.loops import KernelLoop, buffers_of, loops_of
from ...passes.sched.steps.recipe import recipe_of
from ...passes.sched.steps.schedule import Schedule
from ...passes.sched.steps.steps import Step

SPLITS = (8, 16, 32, 64, 128)
"""The parts that loops are split into."""

LANES = (1, 2, 4, 8, 16)
UNROLLS = (1, 2, 4, 8, 16)
ROWS = (1, 2, 4, 6, 8, 12, 14, 16)
COLUMNS = (8, 16, 32, 48, 64)
DEPTHS = (0, 64, 128, 256, 512)
"""How many steps of a sum in tiles run for all tiles before the next ones; 0 for all."""

_FACTORS = {"split": "factor", "partition": "parts", "prefetch": "distance"}
"""The steps that have a number, and what it is called."""


@dataclass(frozen=True)
class Candidate:
    """
    Steps that change the loops of a kernel, what each loop is then mapped to, by name, if anything, and steps
    that fetch ahead.
    """

    structure: tuple[Step, ...] = ()
    mappings: tuple[tuple[str, MappingAttr], ...] = ()
    ahead: tuple[Step, ...] = ()

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps of the whole schedule."""
        mapped = sorted((name, mapping.words()) for name, mapping in self.mappings if mapping.words())
        steps = [dict(step) for step in self.structure]
        if mapped:
            names, words = zip(*mapped, strict=True)
            steps.append({"step": "map", "axes": list(names), "mappings": list(words), "allow_reorder": True})
        return [*steps, *(dict(step) for step in self.ahead)]

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


def default_candidate(structure: Sequence[Step], mapped: Sequence[sched.KernelOp]) -> Candidate:
    """
    Returns the schedule that the default passes made of a kernel after some changes of its loops, which noted
    what they did. It is those changes alone where that is no schedule of one kernel, and the default passes
    do the rest again.
    """
    if len(mapped) != 1 or isinstance(steps := recipe_of(mapped[0]), str):
        return Candidate(tuple(structure))
    return Candidate(
        (*structure, *(step for step in steps if step["step"] not in ("map", "prefetch"))),
        tuple((name, loop.mapping) for name, loop in _loops(mapped[0]).items() if loop.mapping.words()),
        tuple(step for step in steps if step["step"] == "prefetch"),
    )


def starts(
    kernel: sched.KernelOp, default: Callable[[sched.KernelOp], Sequence[sched.KernelOp]]
) -> Iterator[Candidate]:
    """
    Yields candidates to begin with: the default schedule, each change of the loops with the default schedule
    of that, and then each with one more step. `default` gives what the default passes make of a kernel.
    """
    structures = ((), *_structures(kernel))
    for with_more in (False, True):
        for structure in structures:
            copy = Schedule(kernel.clone())
            try:
                copy.replay(structure)
            except TenonError:
                continue
            for more in _more_steps(copy.kernel) if with_more else (None,):
                whole = structure if more is None else (*structure, more)
                again = Schedule(copy.kernel.clone())
                try:
                    again.replay(whole[len(structure) :])
                    yield default_candidate(whole, default(again.kernel))
                except TenonError:
                    continue


def neighbours(candidate: Candidate, kernel: sched.KernelOp) -> Iterator[Candidate]:
    """Yields the candidates that differ in one mapping or one step."""
    copy = Schedule(kernel.clone())
    copy.replay(candidate.structure)
    loops = _loops(copy.kernel)
    given = dict(candidate.mappings)
    has_tiles = any(mapping.tile.data for mapping in given.values())
    for name, loop in loops.items():
        for mapping in _other_mappings(given.get(name, MappingAttr.get()), loop, has_tiles):
            yield replace(candidate, mappings=tuple({**given, name: mapping}.items()))
    yield from _other_numbers(candidate)
    yield from _with_fewer_steps(candidate, kernel)
    for step in _more_steps(copy.kernel):
        yield from _restructured(candidate, (*candidate.structure, step), kernel)


def _loops(kernel: sched.KernelOp) -> dict[str, sched.AxisOp | sched.ReduceOp]:
    return {
        name: loop
        for name, loop in loops_of(kernel).items()
        if isinstance(loop, sched.AxisOp | sched.ReduceOp)
    }


def _nested(kernel: sched.KernelOp) -> list[tuple[str, str]]:
    """Returns the axes that stand in an axis, by name, after that."""
    loops = loops_of(kernel)
    return [
        (outer, inner)
        for outer, loop in loops.items()
        for inner, other in loops.items()
        if other.parent_op() is loop and isinstance(loop, sched.AxisOp) and isinstance(other, sched.AxisOp)
    ]


def _structures(kernel: sched.KernelOp) -> Iterator[tuple[Step, ...]]:
    """Yields changes of the loops: two exchanged, one split, two of a nest split into tiles."""
    loops, nested = loops_of(kernel), _nested(kernel)
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


def _other_mappings(
    mapping: MappingAttr, loop: sched.AxisOp | sched.ReduceOp, has_tiles: bool
) -> Iterator[MappingAttr]:
    """Yields the mappings that differ from one in one number."""
    level, chunk = mapping.level.data, mapping.chunk.data
    vector, unroll, items, tile = (
        number.data for number in (mapping.vector, mapping.unroll, mapping.items, mapping.tile)
    )
    get = partial(MappingAttr.get, prefetch=bool(mapping.prefetch.data))
    for lanes in LANES:
        if lanes != vector:
            yield get(level, chunk, lanes, unroll, items, tile)
    if isinstance(loop, sched.ReduceOp) and has_tiles:
        for size in DEPTHS:
            if size != tile:
                yield get(level, chunk, vector, unroll, items, size)
    elif not tile:
        for count in UNROLLS:
            if count != unroll:
                yield get(level, chunk, vector, count, items)
    else:
        for size in sorted({*ROWS, *COLUMNS}):
            if size != tile:
                # A group takes whole tiles: about as many iterations as before.
                whole = max(chunk // size, 1) * size if level is Level.BLOCK else chunk
                yield get(level, whole, vector, unroll, items, size)
    if isinstance(loop, sched.AxisOp):
        if level is Level.BLOCK:
            yield get(Level.SERIAL, 1, vector, unroll, items, tile)
        base = chunk if level is Level.BLOCK else vector * unroll
        for size in dict.fromkeys((base * 4, base * 2, base // 2, base // 4, vector * unroll, tile)):
            if size >= 1 and (size != chunk or level is not Level.BLOCK):
                yield get(Level.BLOCK, size, vector, unroll, items, tile)


def _other_numbers(candidate: Candidate) -> Iterator[Candidate]:
    """Yields the candidates in which a step has twice or half the number."""
    for part in ("structure", "ahead"):
        steps: tuple[Step, ...] = getattr(candidate, part)
        for number, step in enumerate(steps):
            name = _FACTORS.get(step["step"], "")
            size = step.get(name, 0)
            for other in (size * 2, size // 2) if isinstance(size, int) and size > 1 else ():
                changed = (*steps[:number], {**step, name: other}, *steps[number + 1 :])
                yield replace(candidate, **{part: changed})


def _with_fewer_steps(candidate: Candidate, kernel: sched.KernelOp) -> Iterator[Candidate]:
    """Yields the candidates without one of the steps."""
    for number in range(len(candidate.ahead)):
        yield replace(candidate, ahead=(*candidate.ahead[:number], *candidate.ahead[number + 1 :]))
    for number in range(len(candidate.structure)):
        rest = (*candidate.structure[:number], *candidate.structure[number + 1 :])
        yield from _restructured(candidate, rest, kernel)


def _restructured(
    candidate: Candidate, structure: tuple[Step, ...], kernel: sched.KernelOp
) -> Iterator[Candidate]:
    """
    Yields a candidate with other changes of the loops, if they are legal, in which loops of the same names
    are mapped as before. Axes that are new, and have none in them, are as wide vectors as there are.
    """
    before, after = Schedule(kernel.clone()), Schedule(kernel.clone())
    before.replay(candidate.structure)
    try:
        after.replay(structure)
    except TenonError:
        return
    known, loops = loops_of(before.kernel), _loops(after.kernel)
    mappings = {name: mapping for name, mapping in candidate.mappings if name in loops}
    lanes = max((mapping.vector.data for _, mapping in candidate.mappings), default=1)
    for name, loop in loops.items():
        is_innermost = not any(op is not loop and op.regions for op in loop.walk())
        if name not in known and isinstance(loop, sched.AxisOp) and is_innermost and lanes > 1:
            mappings[name] = MappingAttr.get(vector=lanes)
    ahead = tuple(step for step in candidate.ahead if step["axis"] in loops)
    yield Candidate(structure, tuple(mappings.items()), ahead)


def _more_steps(kernel: sched.KernelOp) -> Iterator[Step]:
    """
    Yields steps that a kernel may take: buffers that are copied before a loop reads them, as they are or in
    the order of a sum of products, local ones that are computed where they are read, two axes as one, and one
    axis as several, for each of the loops in it.
    """
    buffers, loops, analysis = buffers_of(kernel), loops_of(kernel), IndexAnalysis()
    for name, loop in loops.items():
        inside = list(loop.walk())
        if not any(op is not loop and op.regions for op in inside):
            continue
        products = [op for op in inside if isinstance(op, sched.ReduceOp) and op.kind.data is CombineKind.FMA]
        for buffer, value in buffers.items():
            loads = [op for op in inside if isinstance(op, memref.LoadOp) and op.memref is value]
            if not isinstance(value, BlockArgument):
                yield {"step": "compute_at", "buffer": buffer, "axis": name}
            if not loads:
                continue
            yield {"step": "stage", "axis": name, "buffer": buffer}
            if products and len(loads) == 1:
                moved = set(analysis.address(loads[0]).axes())
                layout = [
                    each
                    for each, other in loops.items()
                    if other in inside
                    and other is not loop
                    and isinstance(other, sched.AxisOp | sched.ReduceOp)
                    and analysis.axis(other) in moved
                ]
                # What is summed over is slow, neighbours are what a vector takes.
                layout.sort(key=lambda each: isinstance(loops[each], sched.AxisOp))
                if layout:
                    yield {"step": "pack", "axis": name, "buffer": buffer, "layout": layout}
        within = [each for each, other in loops.items() if other.parent_op() is loop]
        if isinstance(loop, sched.AxisOp) and len(within) > 1:
            for each in within[1:]:
                yield {"step": "distribute", "axis": name, "at": each}
                yield {"step": "distribute", "axis": name, "at": each, "innermost": True}
    for outer, inner in _nested(kernel):
        yield {"step": "fuse", "axes": [outer, inner]}
