"""
Schedules that were found by measuring, as a file of JSON that people can read.

    {"format": "tenon tuning", "version": 2, "entries": [
      {"kernel": "91c0...", "device": "llvm znver4 64", "program": "f", "signature": "() -> tensor<4xf32>",
       "name": "f_0", "axes": ["i", "j"],
       "steps": [{"step": "map", "axes": ["i"], "mappings": ["block(8)"]}],
       "default_ns": 1200, "tuned_ns": 800}
    ]}

`kernel` is a digest of what the kernel computes before it is scheduled: an entry is for that very kernel,
whatever it is called, and whatever properties schedules may have by now. Version 1 had the digest of all of
its text. A file is checked when it is read: others may have written it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, cast

from ....dialects import sched
from ....errors import TenonError
from .kernel_key import kernel_meaning

FORMAT = "tenon tuning"
VERSION = 2

MOST_NBYTES = 16 << 20
"""The largest file that is read."""

MOST_STEPS = 64
"""The most steps of a schedule."""

MOST_NUMBER = 1 << 20
"""The largest number in a step: more would only take long to refuse."""

MOST_UNROLL = 64
"""The most steps that may be written out side by side."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_FIELDS: dict[str, type] = {
    "kernel": str,
    "device": str,
    "program": str,
    "signature": str,
    "name": str,
    "axes": list,
    "steps": list,
    "default_ns": int,
    "tuned_ns": int,
}


class TuningError(TenonError):
    """A database of schedules cannot be read or written, or does not fit what it is used for."""


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """
    The schedule of one kernel on one device. `program` and `name` are what they were called, `signature` is
    the program's type, `axes` are the names of the kernel's loops that the steps use, the times those that
    were measured, in nanoseconds.
    """

    kernel: str
    device: str
    program: str
    signature: str
    name: str
    axes: tuple[str, ...]
    steps: tuple[Mapping[str, Any], ...]
    default_ns: int
    tuned_ns: int

    @property
    def gain(self) -> float:
        """How many times as fast the schedule was as the default one."""
        return self.default_ns / self.tuned_ns if self.tuned_ns else 1.0

    def as_json(self) -> dict[str, Any]:
        """Returns the entry as `json` writes it."""
        return {
            "kernel": self.kernel,
            "device": self.device,
            "program": self.program,
            "signature": self.signature,
            "name": self.name,
            "axes": list(self.axes),
            "steps": [dict(step) for step in self.steps],
            "default_ns": self.default_ns,
            "tuned_ns": self.tuned_ns,
        }


def kernel_digest(kernel: sched.KernelOp) -> str:
    """Returns what a kernel is known by: a digest of what it computes, with which loops."""
    return blake2b(kernel_meaning(kernel).encode(), digest_size=32).hexdigest()


def database_text(entries: Sequence[ScheduleEntry]) -> str:
    """Returns a database as text, sorted by program, name, device and kernel."""
    ordered = sorted(entries, key=lambda e: (e.program, e.name, e.device, e.kernel))
    lines = ",\n".join(f"    {json.dumps(entry.as_json())}" for entry in ordered)
    inside = f"\n{lines}\n  " if lines else ""
    return f'{{"format": "{FORMAT}", "version": {VERSION},\n  "entries": [{inside}]}}\n'


def read_database(path: Path) -> tuple[str, tuple[ScheduleEntry, ...]]:
    """
    Returns a digest of a file's bytes, and the entries in it.

    Raises:
        TuningError: the file cannot be read, or is no database of this version.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_NBYTES + 1)
    except OSError as error:
        raise TuningError(f"{path}: cannot read the database ({error.strerror or error})") from error
    if len(data) > MOST_NBYTES:
        raise TuningError(f"{path}: more than {MOST_NBYTES} bytes, too many for a database of schedules")
    return blake2b(data, digest_size=32).hexdigest(), parse_database(str(path), data)


def parse_database(who: str, data: bytes) -> tuple[ScheduleEntry, ...]:
    """Returns the entries of a database. Raises `TuningError` where it is none; errors begin with `who`."""
    try:
        found: Any = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise TuningError(f"{who}: no JSON ({error})") from error
    if not isinstance(found, dict) or cast("dict[str, Any]", found).get("format") != FORMAT:
        raise TuningError(f'{who}: no database of schedules (expected "format": "{FORMAT}")')
    content = cast("dict[str, Any]", found)
    version, entries = content.get("version"), content.get("entries")
    if version is True or version != VERSION:
        raise TuningError(
            f"{who}: version {version!r} of the format, expected {VERSION} (hint: remove it and tune again)"
        )
    if not isinstance(entries, list):
        raise TuningError(f"{who}: entries is no list")
    parsed = [_entry(f"{who}: entry {n}", entry) for n, entry in enumerate(cast("list[Any]", entries))]
    seen: dict[tuple[str, str], int] = {}
    for number, entry in enumerate(parsed):
        before = seen.setdefault((entry.kernel, entry.device), number)
        if before != number:
            raise TuningError(f"{who}: entries {before} and {number} are for one kernel on one device")
    return tuple(parsed)


def _entry(who: str, found: Any) -> ScheduleEntry:
    if not isinstance(found, dict):
        raise TuningError(f"{who}: no object")
    fields = cast("dict[str, Any]", found)
    for name, type_ in _FIELDS.items():
        if type(fields.get(name)) is not type_:
            raise TuningError(f"{who}: {name} is {_short(fields.get(name))}, expected {type_.__name__}")
    if unknown := next((name for name in fields if name not in _FIELDS), None):
        raise TuningError(f"{who}: has {_short(unknown)}, expected {', '.join(_FIELDS)}")
    if not _DIGEST.fullmatch(fields["kernel"]):
        raise TuningError(f"{who}: kernel is {_short(fields['kernel'])}, expected 64 hexadecimal digits")
    if not all(type(axis) is str for axis in fields["axes"]):
        raise TuningError(f"{who}: axes is {_short(fields['axes'])}, expected names")
    if min(fields["default_ns"], fields["tuned_ns"]) < 0:
        raise TuningError(f"{who}: times {fields['default_ns']} and {fields['tuned_ns']} are negative")
    steps: list[Any] = fields["steps"]
    if len(steps) > MOST_STEPS:
        raise TuningError(f"{who}: {len(steps)} steps, more than {MOST_STEPS}")
    for step in steps:
        _check_step(who, step)
    checked: dict[str, Any] = {
        **fields,
        "axes": tuple(fields["axes"]),
        "steps": tuple(dict(step) for step in steps),
    }
    return ScheduleEntry(**checked)


def _check_step(who: str, step: Any) -> None:
    """Raises where a step is no object, or has numbers so large that it would take long to refuse them."""
    if not isinstance(step, dict):
        raise TuningError(f"{who}: step {_short(step)} is no object")
    for value in cast("dict[str, Any]", step).values():
        values = cast("list[Any]", value) if isinstance(value, list) else [value]
        for item in values:
            if isinstance(item, int) and abs(item) > MOST_NUMBER:
                raise TuningError(f"{who}: step {_short(step)} has {_short(item)}, more than {MOST_NUMBER}")
            if not isinstance(item, str):
                continue
            if len(item) > 256 or any(len(number) > 7 for number in re.findall(r"\d+", item)):
                raise TuningError(f"{who}: step {_short(step)} has numbers that are too large")
            if any(int(number) > MOST_UNROLL for number in re.findall(r"unroll\s*\(\s*(\d+)", item)):
                raise TuningError(f"{who}: step {_short(step)} unrolls by more than {MOST_UNROLL}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
