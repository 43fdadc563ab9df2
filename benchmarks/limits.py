"""
What the machine can do at most, measured: fused multiply-adds per second, and bytes copied per second by the
size of what is copied. The loops are LLVM IR, so that no library's cleverness is in them.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from llvmlite import binding

Copier = Callable[[int, int, int, int], None]

_CHAINS, _UNROLLED, _PROBE_TURNS = 12, 8, 2000
_COPIED_NBYTES = tuple(1 << power for power in range(14, 28))


@dataclass(frozen=True)
class Limits:
    """What so many threads can do at most."""

    threads: int
    flops_per_second: float
    copied_bytes_per_second: dict[int, float]
    """Bytes read and written, by how many are read and written in all."""

    def bytes_per_second(self, nbytes: int) -> float:
        """Returns the rate for a working set of that size: of the nearest that was measured."""
        nearest = min(self.copied_bytes_per_second, key=lambda size: abs(np.log(size / max(nbytes, 1))))
        return self.copied_bytes_per_second[nearest]

    def least_seconds(self, flops: int, nbytes: int) -> float:
        """Returns what the arithmetic or the traffic takes at least, whichever is more."""
        return max(flops / self.flops_per_second, nbytes / self.bytes_per_second(nbytes))


class Probe:
    """
    Called, it returns the f32 operations per second of independent chains of fused multiply-adds: of several
    threads, each on a CPU of its own, the sum.
    """

    def __init__(self, threads: int = 1) -> None:
        self._lanes = _vector_lanes()
        self._library = _Library(_fma_text(self._lanes) + _copy_text(self._lanes))
        self._run = self._library.function("fma_chains", ctypes.c_int64, ctypes.c_void_p)
        self._values = [_aligned(4096) for _ in range(threads)]
        self._threads = _Threads(threads) if threads > 1 else None

    def __call__(self) -> float:
        if self._threads is None:
            return self._rate(self._values[0])
        return sum(self._threads.map(self._rate, self._values))

    def _rate(self, values: Any) -> float:
        start = perf_counter()
        self._run(_PROBE_TURNS, values.ctypes.data)
        seconds = perf_counter() - start
        return 2 * _PROBE_TURNS * _CHAINS * _UNROLLED * self._lanes / seconds

    def copier(self, name: str) -> Copier:
        """Returns `stream_copy` or `stream_copy_nt`: of target and source addresses, bytes, repetitions."""
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        return self._library.function(name, pointer, pointer, integer, integer)


def measure(threads: int) -> Limits:
    """Returns what `threads` threads reach at best: the machine should be quiet."""
    probe = Probe(threads)
    peak = max(probe() for _ in range(300))
    rates: dict[int, float] = {}
    copiers = [probe.copier(name) for name in ("stream_copy", "stream_copy_nt")]
    workers = _Threads(threads)
    for nbytes in _COPIED_NBYTES:
        half = nbytes // 2 // threads
        pairs = [(_aligned(half), _aligned(half)) for _ in range(threads)]
        rates[nbytes] = max(_copy_rate(copier, pairs, half, workers) for copier in copiers)
    return Limits(threads, peak, rates)


def _copy_rate(
    copy: Copier,
    pairs: list[tuple[Any, Any]],
    half: int,
    workers: _Threads,
) -> float:
    addresses = [(target.ctypes.data, source.ctypes.data) for target, source in pairs]
    count = max(1, (1 << 23) // half)

    def work(pair: tuple[int, int]) -> None:
        copy(*pair, half, count)

    best = 0.0
    for _ in range(7):
        start = perf_counter()
        if len(addresses) == 1:
            work(addresses[0])
        else:
            workers.map(work, addresses)
        best = max(best, 2 * half * count * len(addresses) / (perf_counter() - start))
    return best


class _Threads:
    """So many threads, each on a CPU of its own where the system can pin."""

    def __init__(self, count: int) -> None:
        self._threads = [ThreadPoolExecutor(1) for _ in range(count)]
        if hasattr(os, "sched_setaffinity"):
            cpus = sorted(os.sched_getaffinity(0))
            for thread, cpu in zip(self._threads, itertools.cycle(cpus)):
                # On Linux this is about the calling thread alone.
                thread.submit(os.sched_setaffinity, 0, {cpu}).result()

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Does the work for each item, all at the same time."""
        given = zip(self._threads, items, strict=True)
        return [future.result() for future in [thread.submit(work, item) for thread, item in given]]


def _aligned(nbytes: int) -> Any:
    memory = np.zeros(nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + nbytes]


def _vector_lanes() -> int:
    features = binding.get_host_cpu_features()
    return 16 if features.get("avx512f") else 8 if features.get("avx") else 4


class _Library:
    """LLVM IR, compiled for this processor."""

    def __init__(self, text: str) -> None:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple()
        # Without the first, LLVM prefers vectors of half the width on some processors.
        features = "-prefer-256-bit," + binding.get_host_cpu_features().flatten()
        machine = target.create_target_machine(
            cpu=binding.get_host_cpu_name(), features=features, opt=2, jit=True
        )
        self._engine: Any = binding.create_mcjit_compiler(binding.parse_assembly(text), machine)
        self._engine.finalize_object()

    def function(self, name: str, *kinds: Any) -> Callable[..., None]:
        # The function keeps the engine, which owns the code.
        call = ctypes.CFUNCTYPE(None, *kinds)(self._engine.get_function_address(name))
        engine = self._engine

        def run(*arguments: Any, _engine: Any = engine) -> None:
            call(*arguments)

        return run


def _fma_text(lanes: int) -> str:
    vector, suffix = f"<{lanes} x float>", f"v{lanes}f32"
    lines = ["define void @fma_chains(i64 %n, ptr %p) {", "entry:"]
    for i in range(_CHAINS + 2):
        lines += [f"%p{i} = getelementptr {vector}, ptr %p, i64 {i}", f"%a{i} = load {vector}, ptr %p{i}"]
    lines += ["br label %turn", "turn:", "%i = phi i64 [ 0, %entry ], [ %i.next, %turn ]"]
    lines += [
        f"%x{i}.0 = phi {vector} [ %a{i}, %entry ], [ %x{i}.{_UNROLLED}, %turn ]" for i in range(_CHAINS)
    ]
    for step in range(_UNROLLED):
        lines += [
            f"%x{i}.{step + 1} = call {vector} @llvm.fma.{suffix}({vector} %x{i}.{step}, "
            f"{vector} %a{_CHAINS}, {vector} %a{_CHAINS + 1})"
            for i in range(_CHAINS)
        ]
    lines += ["%i.next = add i64 %i, 1", "%more = icmp slt i64 %i.next, %n"]
    lines += ["br i1 %more, label %turn, label %done", "done:"]
    lines += [f"store {vector} %x{i}.{_UNROLLED}, ptr %p{i}" for i in range(_CHAINS)]
    lines += ["ret void", "}", f"declare {vector} @llvm.fma.{suffix}({vector}, {vector}, {vector})"]
    return "\n".join(lines) + "\n"


def _copy_text(lanes: int) -> str:
    """Copies whole vectors, four at a time; the number of bytes is a multiple of 256 and both are aligned."""
    vector, nbytes = f"<{lanes} x float>", 4 * lanes
    functions: list[str] = []
    for name, mode in (("stream_copy", ""), ("stream_copy_nt", ", !nontemporal !0")):
        lines = [
            f"define void @{name}(ptr %to, ptr %from, i64 %nbytes, i64 %count) {{",
            "entry:",
            "br label %again",
            "again:",
            "%c = phi i64 [ 0, %entry ], [ %c.next, %copied ]",
            "br label %turn",
            "turn:",
            "%i = phi i64 [ 0, %again ], [ %i.next, %turn ]",
        ]
        for k in range(4):
            lines += [
                f"%o{k} = add i64 %i, {k * nbytes}",
                f"%f{k} = getelementptr i8, ptr %from, i64 %o{k}",
                f"%v{k} = load {vector}, ptr %f{k}, align {nbytes}",
            ]
        for k in range(4):
            lines += [
                f"%t{k} = getelementptr i8, ptr %to, i64 %o{k}",
                f"store {vector} %v{k}, ptr %t{k}, align {nbytes}{mode}",
            ]
        lines += [f"%i.next = add i64 %i, {4 * nbytes}", "%more = icmp slt i64 %i.next, %nbytes"]
        lines += ["br i1 %more, label %turn, label %copied", "copied:", "%c.next = add i64 %c, 1"]
        lines += ["%c.more = icmp slt i64 %c.next, %count", "br i1 %c.more, label %again, label %done"]
        lines += ["done:", "ret void", "}"]
        functions.append("\n".join(lines))
    return "\n".join(functions) + "\n!0 = !{i32 1}\n"
