"""
The offset and the lifetime of every buffer of a program, as data, as a table and as a picture.

    memory of @mlp: 20480 bytes in 2 pools, 2 steps
      temporaries: 12800 bytes at most at a time, 12800 bytes without sharing
    ...

A pool or a place is `pool 2 + 0x40`, never an address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from ...backends.interface import BufferLoc
from ...backends.steps import CopyStep, LaunchStep, Step
from ..plan.program_plan import BufferKind, BufferPlan, ProgramPlan
from ..timeline.text import control_text
from ..timeline.text_table import text_table
from .memory_picture import save_picture
from .planned_exchange import PlannedExchange, exchanges_of
from .planned_memory import PlannedBuffer, PlannedPool, reach_of

_IN_POOL = {
    BufferKind.ARGUMENT: "arguments",
    BufferKind.CONSTANT: "constants",
    BufferKind.TEMPORARY: "temporaries",
    BufferKind.RESULT: "results",
    BufferKind.NODE: "nodes",
    BufferKind.MERGE: "merge buffer",
    BufferKind.ROW: "rows",
}


_MOST_LISTED = 6
"""The most buffers that the table names as sharing bytes with one."""

_LIVE_WHILE_USED = (BufferKind.TEMPORARY, BufferKind.RESULT)
"""The kinds of buffers that hold nothing before their first use."""


@dataclass(frozen=True)
class MemoryPlan:
    """
    The memory of one program. `steps` say what runs; `peak_nbytes` is the most that its temporaries hold at
    one step and `unshared_nbytes` what they would take if none shared memory. `exchanges` are what a program
    of one rank sends to the others.
    """

    name: str
    steps: tuple[str, ...]
    buffers: tuple[PlannedBuffer, ...]
    pools: tuple[PlannedPool, ...]
    temporary_nbytes: int
    peak_nbytes: int
    unshared_nbytes: int
    exchanges: tuple[PlannedExchange, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes of all pools."""
        return sum(pool.nbytes for pool in self.pools)

    def live_nbytes(self, step: int) -> int:
        """Returns the bytes, in all pools, of the buffers that hold something at `step`."""
        return sum(b.nbytes for b in self.buffers if b.pool_id is not None and b.is_live(step))

    def to_dict(self) -> dict[str, Any]:
        """Returns the plan as dictionaries, lists, strings and numbers."""
        return asdict(self) | {"nbytes": self.nbytes}

    def save(self, path: str | Path) -> None:
        """
        Draws the plan, steps to the right and bytes upward, in the format that the path's suffix names.

        Raises:
            MissingExtraError: matplotlib is not installed.
            TenonError: the suffix is none that can be drawn, or the file cannot be written.
        """
        save_picture(Path(path), self.name, len(self.steps), self.pools, self.buffers)

    def __str__(self) -> str:
        pools, steps = len(self.pools), len(self.steps)
        lines = [
            f"memory of @{self.name}: {_count(self.nbytes, 'byte')} in {_count(pools, 'pool')}, "
            f"{_count(steps, 'step')}"
        ]
        if self.unshared_nbytes:
            lines.append(
                f"temporaries: {self.temporary_nbytes} bytes, {self.peak_nbytes} live at most, "
                f"{self.unshared_nbytes} without sharing"
            )
        if self.pools:
            header = ("pool", "content", "bytes", "peak", "gaps")
            lines += ["", *text_table(header, "><>>>", [_pool_cells(pool) for pool in self.pools])]
        if self.buffers:
            header = ("buffer", "name", "kind", "place", "bytes", "steps", "shares with")
            lines += ["", *text_table(header, "><<<><<", [_cells(buffer) for buffer in self.buffers])]
        if self.exchanges:
            sent = sum(exchange.sent_nbytes for exchange in self.exchanges)
            lines += ["", f"sent to other ranks: {_count(sent, 'byte')}, if each runs once"]
            header = ("channel", "collective", "sends", "of", "to", "steps", "joined", "for")
            lines += text_table(header, "><><<<><", [_exchange_cells(each) for each in self.exchanges])
        if self.steps:
            lines += ["", *text_table(("step", "runs"), "><", [*map(_step_cells, enumerate(self.steps))])]
        return "\n".join(lines) + "\n"


def memory_plan_of(
    plan: ProgramPlan, locations: Sequence[BufferLoc | None], pool_nbytes: Mapping[int, int]
) -> MemoryPlan:
    """
    Returns where the buffers of `plan` lie: `locations` by number, for static symbols that are 0, None for
    what is in the caller's own arrays; `pool_nbytes` are the sizes of the pools by their ids. A merge buffer
    that no copy has made yet has none. Pools that no buffer lies in are left out.
    """
    end = len(plan.steps)
    places = [
        location if buffer.nbytes else None for buffer, location in zip(plan.buffers, locations, strict=True)
    ]
    pool_ids = sorted({location.pool_id for location in locations if location is not None})
    shared = _shared(plan.buffers, places)
    buffers = tuple(
        PlannedBuffer(
            number,
            f"@{buffer.node}" if buffer.node else buffer.name,
            buffer.kind.value,
            None if place is None else place.pool_id,
            0 if place is None else place.offset,
            buffer.nbytes,
            buffer.indices,
            *_lifetime(buffer, end),
            tuple(shared[number]),
        )
        for number, (buffer, place) in enumerate(zip(plan.buffers, places, strict=True))
    )
    temporaries = [b for b in buffers if b.kind == BufferKind.TEMPORARY.value]
    return MemoryPlan(
        plan.signature.name,
        tuple(map(step_text, plan.steps)),
        buffers,
        tuple(_pool(pool_id, pool_nbytes.get(pool_id, 0), buffers, end) for pool_id in pool_ids),
        plan.temporary_nbytes,
        _peak_nbytes(temporaries, end),
        sum(b.nbytes for b in temporaries),
        exchanges_of(plan),
    )


def step_text(step: Step) -> str:
    """Returns a step in a few words."""
    match step:
        case LaunchStep():
            return f"@{step.kernel}({', '.join(map(str, step.buffers))})"
        case CopyStep():
            return f"copy {step.source} to {step.target}"
        case _:
            return control_text(step)


def _lifetime(buffer: BufferPlan, end: int) -> tuple[int, int] | tuple[None, None]:
    if buffer.lifetime is None:
        return None, None
    return buffer.lifetime if buffer.kind in _LIVE_WHILE_USED else (0, end)


def _shared(buffers: Sequence[BufferPlan], places: Sequence[BufferLoc | None]) -> list[list[int]]:
    """Returns, for each buffer, the others that have bytes in common with it."""
    spans = sorted(
        (place.pool_id, place.offset, place.offset + buffer.nbytes + reach_of(buffer.indices), number)
        for number, (buffer, place) in enumerate(zip(buffers, places, strict=True))
        if place is not None
    )
    shared: list[list[int]] = [[] for _ in buffers]
    under_way: list[tuple[int, int, int]] = []
    for pool_id, start, stop, number in spans:
        under_way = [other for other in under_way if other[0] == pool_id and other[1] > start]
        for _, _, other in under_way:
            shared[number].append(other)
            shared[other].append(number)
        under_way.append((pool_id, stop, number))
    for numbers in shared:
        numbers.sort()
    return shared


def _pool(pool_id: int, nbytes: int, buffers: Sequence[PlannedBuffer], end: int) -> PlannedPool:
    inside = [buffer for buffer in buffers if buffer.pool_id == pool_id]
    kinds = dict.fromkeys(buffer.kind for buffer in inside)
    content = ", ".join(_IN_POOL[BufferKind(kind)] for kind in kinds) or "buffers of no bytes"
    return PlannedPool(pool_id, content, nbytes, _covered_nbytes(inside), _peak_nbytes(inside, end))


def _covered_nbytes(buffers: Sequence[PlannedBuffer]) -> int:
    covered = reached = 0
    for start, stop in sorted((buffer.offset, buffer.end) for buffer in buffers):
        covered += max(stop - max(start, reached), 0)
        reached = max(reached, stop)
    return covered


def _peak_nbytes(buffers: Sequence[PlannedBuffer], end: int) -> int:
    """Returns the most bytes that are live at one step."""
    held: list[PlannedBuffer] = []
    changes = [0] * (end + 2)
    for buffer in buffers:
        if buffer.first_step is None or buffer.last_step is None:
            continue
        if BufferKind(buffer.kind) in _LIVE_WHILE_USED:
            changes[buffer.first_step] += buffer.nbytes
            changes[buffer.last_step + 1] -= buffer.nbytes
        else:
            held.append(buffer)
    return _covered_nbytes(held) + max(accumulate(changes))


def _pool_cells(pool: PlannedPool) -> tuple[str, ...]:
    gaps = f"{100 * pool.fragmentation:.1f}%"
    return str(pool.pool_id), pool.content, str(pool.nbytes), str(pool.peak_nbytes), gaps


def _cells(buffer: PlannedBuffer) -> tuple[str, ...]:
    if buffer.pool_id is not None:
        moves = (f" + {index.stride_nbytes:#x} * {index.symbol}" for index in buffer.moves)
        place = str(BufferLoc(buffer.pool_id, buffer.offset)) + "".join(moves)
    else:
        place = "the caller's" if buffer.nbytes else "-"
    return (
        str(buffer.number),
        buffer.name or "-",
        buffer.kind,
        place,
        str(buffer.nbytes),
        "-" if buffer.first_step is None else f"{buffer.first_step}-{buffer.last_step}",
        _number_list(buffer.shares_with),
    )


def _exchange_cells(exchange: PlannedExchange) -> tuple[str, ...]:
    return (
        str(exchange.channel),
        exchange.name,
        str(exchange.sent_nbytes),
        _number_list(exchange.reads),
        _number_list(exchange.writes),
        f"{exchange.first_step}-{exchange.last_step}",
        str(exchange.joined_nbytes),
        exchange.where or "-",
    )


def _number_list(numbers: Sequence[int]) -> str:
    listed = ", ".join(map(str, numbers[:_MOST_LISTED])) or "-"
    return listed if len(numbers) <= _MOST_LISTED else f"{listed}, ... ({len(numbers)} in all)"


def _step_cells(step: tuple[int, str]) -> tuple[str, str]:
    return str(step[0]), step[1]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
