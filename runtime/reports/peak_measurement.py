"""Measures the limits of a backend's device, with kernels of its own."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64

from ...backends.interface import Backend, BufferLoc, CompiledArtifact, Program, workers_of
from ...backends.steps import LaunchStep
from ...dialects.element_types import NBYTES
from ...dialects.modules.parsing import parse_module
from ..memory.slab_pool import slab_pool_of
from .peak_kernels import (
    COPY,
    N_ACCUMULATORS,
    READ,
    STEP,
    STREAM,
    WRITE,
    fma_elements,
    fma_kernel,
    fma_name,
    memory_kernel,
)
from .roofline import MemoryLevel, Roofline

GROUPS_PER_WORKER = 4
"""Work-groups for each worker: those that are done early take over from those that are late."""

ENOUGH_NANOSECONDS = 200_000
"""From this long on a run is measured; shorter ones do more."""

LEAST_TIMES = 32
"""How often a work-group goes over what is to be in a cache, at least: the first time it is not there."""

ROUNDS = 5
"""How often each kernel is measured; the fastest counts."""

MOST_NBYTES = 64 << 20
"""The most bytes that are worked on, however large the last cache is."""

VECTOR_NBYTES = 64
"""The bytes of the vectors that are tried beside those that schedules use: some devices split them well."""

_DIMS = "".join(f"graph.dim @{name} min 1 max {1 << 40}\n" for name in "gnr")
_ELEMENTS = {"f32": f32, "f64": f64}


@dataclass(frozen=True, slots=True)
class _Sizes:
    """A level of memory: what it holds, and the bytes that one work-group, or all of them, work on there."""

    name: str
    limit: int | None
    group_nbytes: int | None
    total_nbytes: int


def measure_roofline(backend: Backend) -> Roofline:
    """
    Returns the limits of a device, measured in about half a second.

    Raises:
        DeviceError: the device failed, or has not enough memory.
        KernelCompileError: its compiler rejected a kernel.
    """
    with _measurement(backend) as measurement:
        return measurement.roofline()


@contextmanager
def _measurement(backend: Backend) -> Generator[_Measurement]:
    pool = slab_pool_of(backend.driver)
    limit = min(MOST_NBYTES, backend.device.max_buffer_nbytes)
    slabs = [pool.allocate(limit // 2) for _ in range(2)]
    try:
        with pool.lock:
            for slab in slabs:
                # Memory that was never written may be one page of zeros.
                backend.driver.memset_zero(slab.at(0), slab.nbytes)
            yield _Measurement(backend, [slab.at(0) for slab in slabs], limit)
    finally:
        pool.free(slabs)


class _Measurement:
    def __init__(self, backend: Backend, places: Sequence[BufferLoc], nbytes: int) -> None:
        """`places` are those of two buffers, of `nbytes` together."""
        self._backend = backend
        self._places = places
        self._nbytes = nbytes
        self._n_workers = workers_of(backend)
        self._groups = GROUPS_PER_WORKER * self._n_workers
        self._elements = {name: type for name, type in _ELEMENTS.items() if backend.device.supports(type)}
        self._widths = sorted({backend.device.vector_nbytes, VECTOR_NBYTES})
        self._lanes = backend.device.vector_nbytes // NBYTES[f32]
        self._artifact = self._compile()

    def roofline(self) -> Roofline:
        """Measures everything."""
        return Roofline(
            self._backend.device.name,
            self._n_workers,
            {name: max(self._gflops(name, width) for width in self._widths) for name in self._elements},
            tuple(self._level(sizes) for sizes in self._levels()),
        )

    def _compile(self) -> CompiledArtifact:
        backend = self._backend
        kernels = [fma_kernel(*kind) for name in self._elements for kind in self._fma_kinds(name)]
        kernels += [memory_kernel(name, self._lanes) for name in (READ, WRITE, COPY, STREAM)]
        module = parse_module(_DIMS + "\n".join(kernels), "<peak kernels>")
        return backend.compiler.compile(backend.renderer.render(module, backend.device), backend.device)

    def _fma_kinds(self, element: str) -> list[tuple[str, int]]:
        return [(element, width // NBYTES[_ELEMENTS[element]]) for width in self._widths]

    def _levels(self) -> Iterator[_Sizes]:
        first, second, last = self._backend.device.cache_nbytes
        n_workers = self._n_workers
        yield _Sizes("L1", n_workers * first, first // 2, self._nbytes)
        yield _Sizes("L2", n_workers * second, second // 2, self._nbytes)
        if last > second:
            yield _Sizes("L3", last, None, min(last // 2, self._nbytes // 2))
        yield _Sizes("memory", None, None, self._nbytes)

    def _gflops(self, element: str, width: int) -> float:
        lanes = width // NBYTES[_ELEMENTS[element]]
        assert fma_elements(lanes) * NBYTES[_ELEMENTS[element]] <= self._nbytes // 2
        flops = 2 * N_ACCUMULATORS * lanes * self._groups
        return self._rate(fma_name(element, lanes), flops, ())

    def _level(self, sizes: _Sizes) -> MemoryLevel:
        copy = self._gbps(COPY, sizes)
        if sizes.limit is None:
            copy = max(copy, self._gbps(STREAM, sizes))
        return MemoryLevel(sizes.name, sizes.limit, self._gbps(READ, sizes), self._gbps(WRITE, sizes), copy)

    def _gbps(self, name: str, sizes: _Sizes) -> float:
        """Returns how many thousand million bytes a second a kernel moves on working sets of this size."""
        n_buffers = 1 if name in (READ, WRITE) else 2
        step = STEP * self._lanes * NBYTES[f32]
        # What one buffer holds bounds all of them.
        wanted = sizes.group_nbytes or sizes.total_nbytes // self._groups
        most = self._nbytes // 2 // self._groups
        steps = max(min(wanted // n_buffers, most) // step, 1)
        moved = self._groups * n_buffers * steps * step
        times = LEAST_TIMES if sizes.group_nbytes is not None else 1
        return self._rate(name, moved, (steps * STEP * self._lanes,), times)

    def _rate(self, kernel: str, work: int, sizes: tuple[int, ...], times: int = 1) -> float:
        """Returns how much a kernel does in a nanosecond that does `work` each of `times` times or more."""
        while True:
            step = LaunchStep(
                kernel,
                (self._groups, 1, 1),
                (1, 1, 1),
                (0, 1),
                # As much as makes it worth all workers.
                nanoseconds=1_000_000_000,
                sizes=(self._groups, *sizes, times),
            )
            program = self._backend.driver.bind(self._artifact, (step,), self._places)
            # The first run of a kernel may compile it.
            taken = min(self._nanoseconds(program), self._nanoseconds(program))
            if taken >= ENOUGH_NANOSECONDS or times >= 1 << 30:
                return times * work / min(taken, *(self._nanoseconds(program) for _ in range(ROUNDS)))
            times *= min(max(2 * ENOUGH_NANOSECONDS // taken, 2), 1024)

    @staticmethod
    def _nanoseconds(program: Program) -> int:
        (time,) = program.run_timed()
        return max(time.end_ns - time.begin_ns, 1)
