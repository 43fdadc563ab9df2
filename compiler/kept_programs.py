"""
Programs on disk: what a compile makes of a text or a module, found by everything that it depends on.

An entry holds the plan of a program and the digest of its source, under which `backends/cache/code.py` has
the machine code. What it takes to make the texts of the stages is not kept: the passes run again when one is
asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from threading import Lock
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from ..backends.cache.code import makes_images, source_digest
from ..backends.cache.fingerprint import library_fingerprint
from ..backends.cache.frame import Record
from ..backends.cache.place import cache_folder
from ..backends.interface import Backend
from ..dialects import CUSTOM_DIALECTS
from ..dialects.modules.canonical_text import canonical_text
from ..passes.pass_manager import PassManager
from ..runtime.plan.lowered_program import LoweredProgram
from ..runtime.plan.plan_codec import decode, encode
from ..runtime.plan.program_plan import ProgramPlan
from ..runtime.plan.stages import Stages, stage_makers

_OWN_PACKAGES = (f"{__name__.partition('.')[0]}.", "xdsl.")


_READ_FILES = ("apply-schedules",)
"""The passes of which a pipeline's text does not say all: they read files."""


class CacheInfo(NamedTuple):
    """What the cache on disk did for this process, and how much is in it."""

    hits: int
    """Programs that earlier compiles had left there."""
    misses: int
    nbytes: int
    max_nbytes: int
    folder: str | None
    """Where it is; None where there is none."""


class LookupCounts(NamedTuple):
    """How many programs that were looked for were there, and how many were not."""

    hits: int = 0
    misses: int = 0


class _Lookups:
    """Counts the programs that are looked for; any thread may."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.counts = LookupCounts()

    def note(self, hit: bool) -> None:
        with self.lock:
            hits, misses = self.counts
            self.counts = LookupCounts(hits + hit, misses + (not hit))

    def forget_lock(self) -> None:
        """In the child of a fork: who holds the lock is not here."""
        self.lock = Lock()


_LOOKUPS = _Lookups()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOOKUPS.forget_lock)


def cache_info() -> CacheInfo:
    """
    Returns how many programs of this process came from the cache on disk and how many were compiled though
    they may be kept there, the bytes that are in it now, and the most that may be.
    """
    folder = cache_folder()
    nbytes = 0 if folder is None else folder.nbytes()
    limit = 0 if folder is None else folder.max_nbytes
    return CacheInfo(*lookup_counts(), nbytes, limit, None if folder is None else str(folder.path))


def keeps_programs_for(backend: Backend) -> bool:
    """Returns whether programs for a backend may be kept: it compiles to bytes, and is Tenon's own."""
    return makes_images(backend.compiler) and _is_own(backend.renderer)


def program_key(
    program: ModuleOp | str,
    backend: Backend,
    pipeline: PassManager | str | None,
    instruments: Sequence[object],
    *options: object,
) -> str | None:
    """
    Returns what a program is kept under; `options` are all else that it depends on, and print as what they
    are. None where it is not kept: the cache is off, somebody wants to see the passes run, or passes, ops or
    a backend are not Tenon's, so that what they do may change.
    """
    if cache_folder() is None or instruments:
        return None
    if not keeps_programs_for(backend):
        return None
    compiler = backend.compiler
    assert makes_images(compiler), f"nothing is kept of {compiler!r}"
    if isinstance(pipeline, PassManager):
        if pipeline.instruments or not all(map(_is_own, pipeline.passes)):
            return None
        pipeline = str(pipeline)
    if pipeline is not None and any(name in pipeline for name in _READ_FILES):
        return None
    if isinstance(program, str):
        if any(f"{dialect}." in program for dialect in CUSTOM_DIALECTS):
            return None
        content = program
    else:
        if CUSTOM_DIALECTS and _has_custom_op(program):
            return None
        content = canonical_text(program, hints=True)
    digest = blake2b(digest_size=32)
    what = (
        library_fingerprint(),
        type(program) is str,
        backend.name,
        compiler.fingerprint(backend.device),
        pipeline,
        options,
    )
    digest.update(repr(what).encode())
    digest.update(content.encode())
    return f"program-{digest.hexdigest()}"


def load_program(key: str, texts: Callable[[], Mapping[str, str]]) -> LoweredProgram | None:
    """
    Returns what is kept under a key, None where there is nothing. `texts` makes the texts of its stages, and
    is called when one is asked for.
    """
    folder = cache_folder()
    record = None if folder is None else folder.load(key)
    if folder is None or record is None:
        return None
    try:
        plan, code_digest, stages, vanishing = decode(record.data, record.sections)
    except (TypeError, ValueError):
        folder.discard(key)
        return None
    stages = Stages(stage_makers(stages, texts))
    return LoweredProgram(plan, stages, None, code_digest, key=key, vanishing=vanishing)


def store_program(lowered: LoweredProgram, backend: Backend) -> None:
    """Keeps a program that was compiled, if it has a key and does not come from there."""
    folder = cache_folder()
    if folder is None or lowered.key is None or lowered.module is None:
        return
    sections: list[bytes] = []
    plan = _without_places(lowered.plan)
    data = encode((plan, lowered.code_digest, tuple(lowered.stages), lowered.vanishing), sections)
    about = f"@{lowered.name} for {backend.device.name}: {lowered.plan}"
    folder.store(lowered.key, Record(data, tuple(sections), about))


def _without_places(plan: ProgramPlan) -> ProgramPlan:
    """Returns a plan without the lines that its collectives are of: who finds it may have other ones."""
    calls = [
        call if call.collective is None else replace(call, collective=replace(call.collective, where=""))
        for call in plan.host_calls
    ]
    return replace(plan, host_calls=tuple(calls))


def note_lookup(*, hit: bool) -> None:
    """Counts a program that was looked for."""
    _LOOKUPS.note(hit)


def lookup_counts() -> LookupCounts:
    """Returns how many programs were there, and how many were not, in this process so far."""
    return _LOOKUPS.counts


def digest_of_source(source: str) -> str:
    """Returns the digest that a lowered program has, empty for no source."""
    return source_digest(source) if source else ""


def _is_own(value: object) -> bool:
    return f"{type(value).__module__}.".startswith(_OWN_PACKAGES)


def _has_custom_op(module: ModuleOp) -> bool:
    return any(op.name.partition(".")[0] in CUSTOM_DIALECTS for op in module.walk())
