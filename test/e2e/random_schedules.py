"""
Random schedules of kernels: steps with random arguments, of which those that are illegal are left out.

Each is drawn from a seed, so that a failure gives the same steps again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from tenon import Schedule, TenonError

FACTORS = (1, 2, 3, 4, 5, 7, 8, 16)
WORDS = ("vector(2)", "vector(4)", "vector(8)", "unroll(2)", "unroll(4)", "vector(4) unroll(2)", "serial")
ITEMS = ("items(4)", "items(3) vector(2)")
KINDS = (
    "split",
    "split",
    "reorder",
    "fuse",
    "distribute",
    "compute_at",
    "stage",
    "pack",
    "partition",
    "prefetch",
)
LEVELS = ("block", "block(3)", "thread", "thread(2)")


def schedule_at_random(
    schedule: Schedule, seed: int, steps: int = 8, may_reorder: bool = False, shares: bool = True
) -> None:
    """
    Does as many steps as are legal of those that are drawn; mappings are drawn last. With `shares` work-items
    may share axes, for which a device needs barriers.
    """
    random = Random(seed)
    if not schedule.axes():
        return
    for _ in range(random.randint(1, steps)):
        _try_step(schedule, random, may_reorder)
    if random.random() < 0.5:
        _try_tile(schedule, random)
    for axis in schedule.axes():
        if random.random() < 0.6:
            _try_mapping(schedule, axis, random, may_reorder, (*WORDS, *ITEMS) if shares else WORDS)


def _try_step(schedule: Schedule, random: Random, may_reorder: bool) -> None:
    """Draws a kind of step and then arguments for it, a few times, until they are legal."""
    kind = random.choice(KINDS)
    for _ in range(6):
        try:
            _step(schedule, kind, random, may_reorder and random.random() < 0.5)
        except TenonError:
            continue
        return


def _step(schedule: Schedule, kind: str, random: Random, allow: bool) -> None:
    axes, buffers = schedule.axes(), schedule.buffers()
    axis, other = random.choice(axes), random.choice(axes)
    match kind:
        case "split":
            serial = random.random() < 0.2
            schedule.split(axis, random.choice(FACTORS), allow_reorder=allow, serial=serial)
        case "reorder":
            count = min(len(axes), random.randint(2, 4))
            start = random.randrange(len(axes) - count + 1)
            schedule.reorder(*random.sample(axes[start : start + count], count), allow_reorder=allow)
        case "fuse":
            schedule.fuse(axis, other, allow_reorder=allow)
        case "distribute":
            schedule.distribute(axis, other, after=random.random() < 0.5)
        case "compute_at":
            schedule.compute_at(random.choice(buffers), axis)
        case "stage":
            schedule.stage(axis, random.choice(buffers), scope=random.choice(("local", "local", "shared")))
        case "partition":
            form = random.choice(
                ({}, {"outer": True}, {"branch": True}, {"parts": random.randint(1, 40), "multiple": 4})
            )
            schedule.partition(axis, **form)
        case "prefetch":
            schedule.prefetch(axis, random.choice(buffers), random.choice((1, 64, 1 << 20)))
        case _:
            layout = random.sample(axes, min(len(axes), random.randint(1, 3)))
            scope = random.choice(("local", "local", "shared"))
            schedule.pack(axis, random.choice(buffers), layout, scope=scope)


def _try_tile(schedule: Schedule, random: Random) -> None:
    """Makes two loops, one right after the other in the text, the dims of a register tile."""
    axes = schedule.axes()
    for row, column in pairwise(axes):
        words = [f"tile({random.randint(1, 6)})", f"tile({random.choice((2, 4, 8, 16))})"]
        try:
            schedule.map({row: words[0], column: words[1]})
        except TenonError:
            continue


def _try_mapping(
    schedule: Schedule, axis: str, random: Random, may_reorder: bool, choices: Sequence[str]
) -> None:
    level = random.choice(LEVELS) if random.random() < 0.4 else ""
    words = random.choice(choices)
    wanted = [f"{level} {words}" if level and words != "serial" else level or words, words, "unroll(2)"]
    for mapping in wanted:
        try:
            schedule.map({axis: mapping}, allow_reorder=may_reorder)
        except TenonError:
            continue
        return
