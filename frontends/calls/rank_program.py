"""A trace of sharded arrays as the programs of the ranks that are here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.sharding import Mesh as Grid
from ...dialects.sharding import argument_shardings
from ...errors import CallError, TenonError
from ..arrays.aval import Aval, aval_of, dtype_of_type, shape_of_type
from ..arrays.concrete import ConcreteArray
from ..sharding.mesh import Mesh
from ..sharding.sharded_array import ShardedArray
from ..sharding.sharding import Sharding, sharding_of
from ..tracing.source_lines import with_excerpt
from ..tracing.trace import Captured, Trace
from .compiled_trace import CompiledTrace, array_now


@dataclass(frozen=True, eq=False, slots=True)
class RankPrograms:
    """
    The programs of the ranks of a mesh that are here, each of which takes and gives parts: that of this rank,
    or those of all devices.
    """

    mesh: Mesh
    programs: tuple[CompiledTrace, ...]
    argument_shardings: tuple[Sharding, ...]
    """How the arguments lie on the mesh, captured arrays among them."""
    shardings: tuple[Sharding, ...]
    """How the results lie on it."""
    wholes: tuple[Aval, ...]
    captured: tuple[Captured, ...]
    """The arrays that the function reads from outside, or what reads them."""

    def read_outside(self) -> list[Any]:
        """Returns the arrays that the function reads from outside, sharded or whole, as they are now."""
        return [array_now(each) for each in self.captured]

    def run(
        self, leaves: Sequence[Any], values_of: Callable[[Sequence[Any]], list[Any]]
    ) -> list[ShardedArray]:
        """
        Returns the results for arrays and Python scalars, in order; `values_of` gives the plain values of
        those of one rank.

        Raises:
            CallError: an array that is read from outside is no longer split as it was.
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
    trace: Trace, wholes: Sequence[Aval], allow_gather: bool, **options: Any
) -> RankPrograms:
    """
    Returns the programs of the ranks that are here, of a trace with results of the types `wholes`.

    Raises:
        TenonError: an op cannot be partitioned, or not be compiled; or the options say another device than
            the mesh.
    """
    mesh: Mesh = trace.mesh
    if mesh.group is None:
        programs = [_compiled(trace, mesh, mesh.rank, wholes, allow_gather, **options, world=mesh.world)]
    else:
        _check_options(trace.name, mesh, **options)
        programs = [
            _compiled(
                trace,
                mesh,
                rank,
                wholes,
                allow_gather,
                **{**options, "backend": device.backend, "world": world},
            )
            for rank, (device, world) in enumerate(zip(mesh.devices, mesh.group.worlds, strict=True))
        ]
    _, arguments, results = programs[0]
    captured = trace.captured_arrays()
    return RankPrograms(
        mesh, tuple(each[0] for each in programs), arguments, results, tuple(wholes), captured
    )


def _check_options(name: str, mesh: Mesh, backend: Any, target: str | None, **_: Any) -> None:
    """Raises TenonError where something else than the devices of a mesh is asked for."""
    own = mesh.devices[0].backend.name
    for what, given, usual in (("backend", backend, ("llvm", own)), ("target", target, (None,))):
        if given not in usual:
            raise TenonError(f"{name}: {what}={given!r} is given, and the mesh is of devices of {own}")


def _compiled(
    trace: Trace, mesh: Mesh, rank: int, wholes: Sequence[Aval], allow_gather: bool, **options: Any
) -> tuple[CompiledTrace, tuple[Sharding, ...], tuple[Sharding, ...]]:
    """Returns the program of a rank, and how its arguments and its results lie on the mesh."""
    # Late: most programs are of one rank, and those that are kept need no passes.
    from ...compiler.partitioning import partition

    try:
        own = partition(trace.module, rank, allow_gather)
    except TenonError as error:
        raise with_excerpt(error) from None
    outputs: list[Any] = list(own.function.function_type.outputs)
    avals = [
        aval_of(dtype_of_type(type), shape_of_type(type), whole.weak)
        for type, whole in zip(outputs, wholes, strict=True)
    ]
    captured = list(trace.captured_arrays())
    for number, sharding in trace.captured_shardings.items():
        captured[number] = _PartRead(trace.name, captured[number], sharding, mesh.here.index(rank))
    program = CompiledTrace(trace, avals, own.module, captured, **options)
    grid = Grid.of(own.module)
    assert grid is not None, f"{trace.name}: a program of ranks without a grid"
    arguments, results = (
        tuple(sharding_of(mesh, each, grid) for each in splits)
        for splits in (argument_shardings(own.function), own.result_shardings)
    )
    return program, arguments, results


class _PartRead:
    """Reads what a rank has of an array that is read from outside, as that is now."""

    __slots__ = ("_array", "_name", "_place", "_sharding")

    def __init__(self, name: str, array: Captured, sharding: Sharding, place: int) -> None:
        self._name = name
        self._array = array
        self._sharding = sharding
        self._place = place

    def __call__(self) -> ConcreteArray:
        array = array_now(self._array)
        # A guard has seen it, but what a property gives, or another thread writes, may differ since.
        if not isinstance(array, ShardedArray) or array.sharding != self._sharding:
            found = array.sharding if isinstance(array, ShardedArray) else "not sharded"
            raise CallError(
                f"{self._name}: an array that is read from outside is {found}, expected {self._sharding}"
            )
        return array.parts[self._place]


def _whole(aval: Aval, part: ConcreteArray) -> Aval:
    """Returns what stands for the whole of a part: dims that are known at each call only are not split."""
    pairs = zip(aval.shape, part.shape, strict=True)
    shape = tuple([extent if type(extent) is int else own for extent, own in pairs])
    return aval_of(aval.dtype, shape, aval.weak)
