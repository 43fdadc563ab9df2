"""A trace of sharded arrays as the programs of the ranks that are here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import TenonError
from ..arrays.aval import Aval, aval_of, dtype_of_type, shape_of_type
from ..arrays.concrete import ConcreteArray
from ..sharding.mesh import Mesh
from ..sharding.sharded_array import ShardedArray
from ..sharding.sharding import Sharding, sharding_of
from ..tracing.source_lines import with_excerpt
from ..tracing.trace import Trace, TracedArray
from .compiled_trace import CompiledTrace


@dataclass(frozen=True, eq=False, slots=True)
class RankPrograms:
    """
    The programs of the ranks of a mesh that are here, each of which takes and gives parts: that of this rank,
    or those of all devices.
    """

    mesh: Mesh
    programs: tuple[CompiledTrace, ...]
    shardings: tuple[Sharding, ...]
    """How the results lie on the mesh."""
    wholes: tuple[Aval, ...]

    def run(
        self, leaves: Sequence[Any], values_of: Callable[[Sequence[Any]], list[Any]]
    ) -> list[ShardedArray]:
        """
        Returns the results for arrays and Python scalars, in order; `values_of` gives the plain values of
        those of one rank.

        Raises:
            DeviceError: a device failed.
            RankError: a rank has ended, or failed.
        """

        def part(place: int) -> Callable[[], list[ConcreteArray]]:
            own = [leaf.parts[place] if leaf.__class__ is ShardedArray else leaf for leaf in leaves]
            return lambda: self.programs[place].run(values_of(own))

        group = self.mesh.group
        functions = [part(place) for place in range(len(self.programs))]
        found = [functions[0]()] if group is None else group.run(functions)
        return [
            ShardedArray(_whole(aval, parts[0]), sharding, parts)
            for aval, sharding, parts in zip(
                self.wholes, self.shardings, zip(*found, strict=True), strict=True
            )
        ]


def compiled_for_ranks(
    trace: Trace, results: Sequence[TracedArray], allow_gather: bool, **options: Any
) -> RankPrograms:
    """
    Returns the programs of the ranks that are here.

    Raises:
        TenonError: an op cannot be partitioned, or not be compiled; or the options say another device than
            the mesh.
    """
    mesh: Mesh = trace.mesh
    if mesh.group is None:
        programs = [_compiled(trace, mesh, mesh.rank, allow_gather, **options, world=mesh.world)]
    else:
        _check_options(mesh, **options)
        programs = [
            _compiled(
                trace, mesh, rank, allow_gather, **{**options, "backend": device.backend, "world": world}
            )
            for rank, (device, world) in enumerate(zip(mesh.devices, mesh.group.worlds, strict=True))
        ]
    wholes = tuple(result.aval for result in results)
    return RankPrograms(mesh, tuple(program for program, _ in programs), programs[0][1], wholes)


def _check_options(mesh: Mesh, backend: Any, target: str | None, **_: Any) -> None:
    """Raises TenonError where something else than the devices of a mesh is asked for."""
    own = mesh.devices[0].backend.name
    for what, given, usual in (("backend", backend, ("llvm", own)), ("target", target, (None,))):
        if given not in usual:
            raise TenonError(f"jit: {what}={given!r} is given, and the mesh is of devices of {own}")


def _compiled(
    trace: Trace, mesh: Mesh, rank: int, allow_gather: bool, **options: Any
) -> tuple[CompiledTrace, tuple[Sharding, ...]]:
    # Late: most programs are of one rank, and those that are kept need no passes.
    from ...compiler.partitioning import partition

    try:
        own = partition(trace.module, rank, allow_gather)
    except TenonError as error:
        raise with_excerpt(error) from None
    outputs: list[Any] = list(own.function.function_type.outputs)
    avals = [aval_of(dtype_of_type(type), shape_of_type(type)) for type in outputs]
    program = CompiledTrace(trace, avals, own.module, **options)
    return program, tuple(sharding_of(mesh, each) for each in own.result_shardings)


def _whole(aval: Aval, part: ConcreteArray) -> Aval:
    """Returns what stands for the whole of a part: dims that are known at each call only are not split."""
    pairs = zip(aval.shape, part.shape, strict=True)
    return aval_of(aval.dtype, tuple([extent if type(extent) is int else own for extent, own in pairs]))
