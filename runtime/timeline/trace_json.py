"""Writes a timeline in Chrome's trace event format, which Perfetto reads too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from .spans import HOST, Flow, Span, Track

_NS_PER_US = 1000


def trace_json(spans: Sequence[Span], flows: Sequence[Flow], start_ns: int) -> str:
    """
    Returns the trace, one event per line, with times in microseconds since `start_ns`. Each process is a
    group of rows, the host's first and the others in the order they came up. Spans of one track that overlap
    without one holding the other get rows of their own, because a viewer stacks what is in one row.
    """
    rows = _rows(spans)
    numbers = _Numbers()
    for track in dict.fromkeys([*(span.track for span in spans), *_ends(flows)]):
        numbers.of(track, 0)
    events = [
        {
            "ph": "X",
            "name": span.name,
            "cat": span.category.value,
            **numbers.of(span.track, row),
            "ts": (span.begin_ns - start_ns) / _NS_PER_US,
            "dur": (span.end_ns - span.begin_ns) / _NS_PER_US,
            "args": dict(span.args),
        }
        for span, row in zip(spans, rows, strict=True)
    ]
    placed: dict[Track, list[tuple[Span, int]]] = {}
    for span, row in zip(spans, rows, strict=True):
        placed.setdefault(span.track, []).append((span, row))
    for number, flow in enumerate(flows):
        common = {"name": flow.name, "cat": "flow", "id": number}
        source = _source_of(placed.get(flow.source, ()), flow.source_ns)
        target = _target_of(placed.get(flow.target, ()), flow.target_ns)
        for phase, track, (row, time_ns) in (
            ({"ph": "s"}, flow.source, source),
            ({"ph": "f", "bp": "e"}, flow.target, target),
        ):
            ts = (time_ns - start_ns) / _NS_PER_US
            events.append({**phase, **common, **numbers.of(track, row), "ts": ts})
    lines = ",\n".join(json.dumps(event, default=str) for event in [*numbers.metadata(), *events])
    return f'{{"displayTimeUnit": "ns", "traceEvents": [\n{lines}\n]}}\n'


def _ends(flows: Sequence[Flow]) -> list[Track]:
    return [track for flow in flows for track in (flow.source, flow.target)]


def _rows(spans: Sequence[Span]) -> list[int]:
    """Returns the row, within its track, of each span: the first where it nests with what is there."""
    rows = [0] * len(spans)
    open_ends: dict[Track, list[list[int]]] = {}
    for index in sorted(range(len(spans)), key=lambda i: (spans[i].begin_ns, -spans[i].end_ns)):
        span = spans[index]
        stacks = open_ends.setdefault(span.track, [])
        row = next((row for row, stack in enumerate(stacks) if _takes(stack, span)), len(stacks))
        if row == len(stacks):
            stacks.append([])
        stacks[row].append(span.end_ns)
        rows[index] = row
    return rows


def _takes(stack: list[int], span: Span) -> bool:
    """Drops the ends that `span` begins after, and returns whether it is within what is still open."""
    while stack and stack[-1] <= span.begin_ns:
        stack.pop()
    return not stack or span.end_ns <= stack[-1]


def _source_of(placed: Sequence[tuple[Span, int]], time_ns: int) -> tuple[int, int]:
    """
    Returns the row and the time that an arrow begins at: in the shortest span under way at `time_ns`, or else
    in the last that ended before. A viewer takes a span's end for being outside.
    """
    around = [(_length(span), row) for span, row in placed if _holds(span, time_ns)]
    if around:
        return min(around)[1], time_ns
    before = [(span.end_ns, -_length(span), row) for span, row in placed if span.end_ns < time_ns]
    if before:
        end_ns, length, row = max(before)
        return row, end_ns - min(1, -length)
    return 0, time_ns


def _target_of(placed: Sequence[tuple[Span, int]], time_ns: int) -> tuple[int, int]:
    """
    Returns the row and the time that an arrow ends at: in the shortest span under way at `time_ns`, or else
    in the first that begins after.
    """
    around = [(_length(span), row) for span, row in placed if _holds(span, time_ns)]
    if around:
        return min(around)[1], time_ns
    after = [(span.begin_ns, -_length(span), row) for span, row in placed if span.begin_ns > time_ns]
    if after:
        begin_ns, _, row = min(after)
        return row, begin_ns
    return 0, time_ns


def _holds(span: Span, time_ns: int) -> bool:
    return span.begin_ns <= time_ns < span.end_ns


def _length(span: Span) -> int:
    return span.end_ns - span.begin_ns


class _Numbers:
    """The numbers of processes and threads. Threads' are unique in the trace, as viewers expect."""

    def __init__(self) -> None:
        self._processes: dict[str, int] = {HOST: 1}
        self._threads: dict[tuple[Track, int], int] = {}

    def of(self, track: Track, row: int) -> Mapping[str, int]:
        process = self._processes.setdefault(track.process, len(self._processes) + 1)
        thread = self._threads.setdefault((track, row), len(self._threads) + 1)
        return {"pid": process, "tid": thread}

    def metadata(self) -> list[dict[str, object]]:
        """Returns the events that name the processes and threads in use, and order them."""
        used = {track.process for track, _ in self._threads}
        events: list[dict[str, object]] = []
        for name, process in self._processes.items():
            if name in used:
                common: dict[str, object] = {"ph": "M", "pid": process}
                events.append({**common, "name": "process_name", "args": {"name": name}})
                events.append({**common, "name": "process_sort_index", "args": {"sort_index": process}})
        for (track, row), thread in self._threads.items():
            common = {"ph": "M", "pid": self._processes[track.process], "tid": thread}
            label = track.thread if row == 0 else f"{track.thread} ({row + 1})"
            events.append({**common, "name": "thread_name", "args": {"name": label}})
            events.append({**common, "name": "thread_sort_index", "args": {"sort_index": thread}})
        return events
