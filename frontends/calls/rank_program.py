"""A trace of sharded arrays as the program of this rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import TenonError
from ..arrays.aval import Aval, aval_of, dtype_of_type, shape_of_type
from ..arrays.concrete import ConcreteArray
from ..sharding.mesh import Mesh
from ..sharding.sharded_array import ShardedArray
from ..sharding.sharding import sharding_of
from ..tracing.source_lines import with_excerpt
from ..tracing.trace import Trace, TracedArray
from .compiled_trace import CompiledTrace

Wrap = Callable[[Sequence[ConcreteArray]], Sequence[Any]]
"""What makes results of the arrays that a program gives."""


def compiled_for_rank(
    trace: Trace, results: Sequence[TracedArray], allow_gather: bool, **options: Any
) -> tuple[CompiledTrace, Wrap]:
    """
    Returns the program of this rank, which takes and gives its parts, and what makes sharded arrays of them.

    Raises:
        TenonError: an op cannot be partitioned, or not be compiled.
    """
    # Late: most programs are of one rank, and those that are kept need no passes.
    from ...compiler.partitioning import partition

    mesh: Mesh = trace.mesh
    try:
        own = partition(trace.module, mesh.rank, allow_gather)
    except TenonError as error:
        raise with_excerpt(error) from None
    outputs: list[Any] = list(own.function.function_type.outputs)
    avals = [aval_of(dtype_of_type(type), shape_of_type(type)) for type in outputs]
    program = CompiledTrace(trace, avals, own.module, world=mesh.world, **options)
    shardings = [sharding_of(mesh, each) for each in own.result_shardings]
    wholes = [result.aval for result in results]

    def wrap(parts: Sequence[ConcreteArray]) -> list[ShardedArray]:
        return [
            ShardedArray(_whole(aval, part), sharding, part)
            for aval, sharding, part in zip(wholes, shardings, parts, strict=True)
        ]

    return program, wrap


def _whole(aval: Aval, part: ConcreteArray) -> Aval:
    """Returns what stands for the whole of a part: dims that are known at each call only are not split."""
    pairs = zip(aval.shape, part.shape, strict=True)
    return aval_of(aval.dtype, tuple([extent if type(extent) is int else own for extent, own in pairs]))
