"""Compiles a kernel alone, runs it on arrays of its own, and times it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute

from ...backends.interface import Backend, BufferLoc, Program
from ...backends.reference.comparison import differences
from ...backends.steps import LaunchStep
from ...compiler.lowering import located_failures
from ...dialects import sched
from ...dialects.buffer_size import size_of
from ...dialects.dims.expressions import evaluated
from ...dialects.element_types import NBYTES, element_type_of
from ...dialects.modules.kernel_access import access_of
from ...passes.sched.steps.loop_nests.reassociation import rounds
from ...runtime.memory.slab_pool import Slab, slab_pool_of
from ...semantics.numpy_types import dtype_of
from .kernels import TunableKernel, TunableProgram

Array = npt.NDArray[Any]


class Bench(Protocol):
    """What a search measures with: compiled kernels are whatever it makes of scheduled ones."""

    @property
    def default(self) -> Any:
        """The kernel with its default schedule, compiled."""
        ...

    def compiled(self, kernel: sched.KernelOp) -> Any:
        """
        Returns a kernel that is scheduled, ready to run.

        Raises:
            TenonError: it cannot be compiled.
        """
        ...

    def difference(self, compiled: Any) -> str | None:
        """Returns how its results differ from those of the default schedule, None where they agree."""
        ...

    def nanoseconds(self, compiled: Any) -> int:
        """Returns how long one run takes."""
        ...


@dataclass(frozen=True, slots=True)
class _Buffer:
    """An argument of a kernel: where it is, and what it holds before a run."""

    place: BufferLoc
    content: Array
    element: Attribute


class KernelBench:
    """
    Runs one kernel of a program, for some values of its dims, on random arrays. Owns their memory on the
    device until `close`. Used by one thread.
    """

    def __init__(
        self,
        program: TunableProgram,
        kernel: TunableKernel,
        backend: Backend,
        sizes: Mapping[str, int],
        seed: int = 0,
    ) -> None:
        self._program = program
        self._backend = backend
        self._sizes = sizes
        self._expected_ns = kernel.expected_ns
        self._dims = tuple(sizes[name.data] for name in kernel.op.dims or ())
        self._written = tuple(n - len(self._dims) for n in access_of(kernel.op).writes)
        self._is_exact = not any(isinstance(op, sched.ReduceOp) and rounds(op) for op in kernel.op.walk())
        self._terms = _most_terms(kernel.op, sizes)
        self._pool = slab_pool_of(backend.driver)
        self._slabs: list[Slab] = []
        generator = np.random.default_rng(seed)
        try:
            self._buffers = [
                self._buffer(argument.type, generator)
                for argument in kernel.op.body.block.args
                if not isinstance(argument.type, IndexType)
            ]
            self.default = self.compiled(kernel.op)
            """As `Bench.default`."""
            self._expected = self._results(self.default)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Gives the memory back."""
        self._pool.free(self._slabs)
        self._slabs = []

    def compiled(self, kernel: sched.KernelOp) -> Program:
        """As `Bench.compiled`."""
        module, lowered = self._program.lowered(kernel)
        backend = self._backend
        with located_failures():
            source = backend.renderer.render(module, backend.device)
        artifact = backend.compiler.compile(source, backend.device)
        x, y, z = (evaluated(extent, self._sizes) for extent in lowered.grid.data)
        across, down, deep = (evaluated(extent, self._sizes) for extent in lowered.block_dims.data)
        step = LaunchStep(
            lowered.sym_name.data,
            (x, y, z),
            (across, down, deep),
            tuple(range(len(self._buffers))),
            nanoseconds=self._expected_ns,
            sizes=self._dims,
        )
        return backend.driver.bind(artifact, (step,), [buffer.place for buffer in self._buffers])

    def difference(self, compiled: Program) -> str | None:
        """As `Bench.difference`: bit for bit, but where reductions of floats may be in another order."""
        for number, found, expected in zip(
            self._written, self._results(compiled), self._expected, strict=True
        ):
            different = differences(
                found,
                expected,
                element_type=self._buffers[number].element,
                terms=self._terms,
                exact=self._is_exact,
            )
            if different is not None:
                return str(different)
        return None

    def nanoseconds(self, compiled: Program) -> int:
        """As `Bench.nanoseconds`."""
        with self._pool.lock:
            (time,) = compiled.run_timed()
        return max(time.end_ns - time.begin_ns, 1)

    def _buffer(self, type: Attribute, generator: np.random.Generator) -> _Buffer:
        element = element_type_of(type)
        dtype = dtype_of(element)
        count = evaluated(size_of(type), self._sizes)
        content = _random_array(dtype, count, generator)
        slab = self._pool.allocate(max(count * NBYTES[element], 1))
        self._slabs.append(slab)
        return _Buffer(slab.at(0), content, element)

    def _results(self, program: Program) -> list[Array]:
        """Runs a kernel on what the arrays hold at first, and returns those that it writes."""
        driver = self._backend.driver
        with self._pool.lock:
            for buffer in self._buffers:
                if buffer.content.size:
                    driver.copy_to_device(buffer.place, buffer.content)
            program.run()
            driver.synchronize()
            results: list[Array] = []
            for number in self._written:
                buffer = self._buffers[number]
                result = np.empty_like(buffer.content)
                if result.size:
                    driver.copy_from_device(result, buffer.place)
                results.append(result)
        return results


def _random_array(dtype: np.dtype[Any], count: int, generator: np.random.Generator) -> Array:
    """
    Returns floats from 0.5 to 1.5, whose sums cancel nothing, or integers from 0 to 7; of a byte 0 and 1, as
    it may be a boolean.
    """
    if dtype.kind in "iub":
        return generator.integers(0, 2 if dtype.itemsize == 1 else 8, count).astype(dtype)
    return generator.uniform(0.5, 1.5, count).astype(dtype)


def _most_terms(kernel: sched.KernelOp, sizes: Mapping[str, int]) -> int:
    """Returns how many terms the reductions of a kernel combine at most, nested ones together."""
    most = 1
    for op in kernel.walk():
        terms, around = 1, op
        while isinstance(around, sched.ReduceOp):
            terms *= evaluated(around.extent, sizes)
            parent = around.parent_op()
            assert parent is not None, "a reduction outside of a kernel"
            around = parent
        most = max(most, terms)
    return most
