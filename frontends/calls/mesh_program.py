"""A program that was written elsewhere, and says itself how its arrays are split, on the ranks of a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...compiler.compile import Executable
from ...dialects.modules.entry import Entry, argument_names
from ...dialects.sharding import Mesh as Grid
from ...dialects.sharding import Sharding as Split
from ...dialects.sharding import argument_shardings, set_shardings
from ...errors import CallError, TenonError
from ...runtime.process_bound import ProcessBound
from ..arrays.aval import Aval, aval_of, dtype_of_type, shape_of_type
from ..arrays.concrete import NumpyArray, as_concrete
from ..sharding.mesh import Mesh
from ..sharding.placing import reshard, shard
from ..sharding.program_digest import check_same_program
from ..sharding.replicas import check_replicas
from ..sharding.sharded_array import ShardedArray
from ..sharding.sharding import Sharding
from ..tracing.leaves import values_of
from ..tracing.trace import Trace, TracedArray
from .rank_program import compiled_for_ranks


class MeshProgram(ProcessBound):
    """
    A program of `graph` with a grid, compiled for the ranks of a mesh, or for its devices: called with
    arrays, sharded or whole, it gives sharded ones. All ranks make it, and call it in the same order.
    """

    COPY_HINT = "pickle the text of the program, and compile it there"

    def __init__(
        self,
        module: ModuleOp,
        entry: Entry,
        mesh: Mesh,
        weights: Sequence[NumpyArray] = (),
        name: str | None = None,
        allow_gather: bool = False,
        **options: Any,
    ) -> None:
        """
        `entry` is the function of `module`, which is the program's from here on, and `weights` are its last
        arguments, which do not change: each rank has all of them. Errors call it `name`, `allow_gather` is
        that of `jit`.

        Raises:
            TypeError: the mesh is none.
            TenonError: the program is for other ranks than the mesh has, for one rank, or it cannot be
                partitioned or compiled; or this rank has no part in the mesh.
            RankError: ranks have other programs.
        """
        self.name = name or entry.sym_name.data
        if not isinstance(mesh, Mesh):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{self.name}: {mesh!r} is not a mesh (hint: tenon.Mesh)")
        if not isinstance(entry, func.FuncOp):
            raise TenonError(
                f"{self.name}: a program at sched is that of one rank (hint: partition at graph)"
            )
        self.mesh = mesh
        # As in a trace the function comes last.
        entry.detach()
        module.body.block.add_op(entry)
        _bring_grid(module, mesh, self.name)
        n_arguments = len(entry.body.block.args) - len(weights)
        # As what a jitted function reads from outside: all ranks have it.
        whole = [Split.whole(weight.ndim) for weight in weights]
        set_shardings(entry, [*argument_shardings(entry)[:n_arguments], *whole])
        trace = _trace_of(module, entry, self.name, weights)
        trace.mesh = mesh
        check_same_program(mesh, module, self.name)
        types = entry.function_type
        self._avals = [_aval_of(type) for type in types.inputs.data[:n_arguments]]
        self._names = argument_names(entry)[:n_arguments]
        results = [_aval_of(type) for type in types.outputs.data]
        self._ranks = compiled_for_ranks(trace, results, allow_gather, **options)
        self.argument_shardings: tuple[Sharding, ...] = self._ranks.argument_shardings[:n_arguments]
        """How the arguments lie on the mesh: as the program says, or as follows from what it says."""
        self.result_shardings: tuple[Sharding, ...] = self._ranks.shardings
        """How the results lie on it."""
        self.executable: Executable = self._ranks.programs[0].executable
        """The program of this rank, or of the first device: it takes parts, and then what does not change."""
        self.fixed_values: Sequence[Any] = self._ranks.programs[0].fixed_values
        """What that takes besides the arguments of a call."""

    def __call__(self, *arguments: Any) -> Any:
        """
        Returns the result of the program, a sharded array, or a tuple of them where it has several. A sharded
        argument that lies otherwise than the program has it is resharded; of one that is not sharded, which
        all ranks have, each takes its part.

        Raises:
            CallError: there are too many arguments or too few, or one has another dtype or shape.
            TypeError: an argument is no array.
            TenonError: an argument is of another world or other devices, or has too few elements for all
                ranks.
            DeviceError: a device failed.
            RankError: a rank has ended, or failed.
        """
        results = self.run(arguments)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, arguments: Sequence[Any]) -> list[ShardedArray]:
        """Returns the results of a call, in a list. Raises as a call does."""
        if len(arguments) != len(self._avals):
            raise CallError(f"{self.name}: {len(arguments)} arguments, expected {len(self._avals)}")
        # All are looked at before the first is sent.
        checked = [self._checked(number, value) for number, value in enumerate(arguments)]
        placed = [
            _placed(value, sharding) for value, sharding in zip(checked, self.argument_shardings, strict=True)
        ]
        check_replicas(self.mesh, self.name, placed)
        check_replicas(self.mesh, self.name, self._ranks.read_outside(), "weight")
        return self._ranks.run(placed, _values)

    def _checked(self, number: int, value: Any) -> Any:
        """Returns an argument as an array. Raises CallError where it has another dtype or shape."""
        # Arrays of numpy stay as they are: of one that is mapped from a file a rank reads its part only.
        is_array = isinstance(value, ShardedArray | np.ndarray)
        array = cast("Any", value) if is_array else as_concrete(value)
        dtype, expected = array.dtype.newbyteorder("="), self._avals[number]
        if dtype != expected.dtype or not _fits(array.shape, expected.shape):
            extents = ", ".join(map(str, array.shape))
            raise CallError(
                f"{self.name}: argument '{self._names[number]}' is {dtype}[{extents}], expected {expected}"
            )
        return array

    def __repr__(self) -> str:
        return f"<program {self.name} on {self.mesh}>"


def _bring_grid(module: ModuleOp, mesh: Mesh, name: str) -> None:
    """
    Has a program for one device a grid of one rank. Raises TenonError where the grid of a program is not the
    mesh; axes of one rank, which split nothing, may be there or not.
    """
    grid = Grid.of(module)
    if grid is None:
        if mesh.size == 1:
            first = module.body.block.first_op
            assert first is not None, f"{name}: a module without ops"
            own = mesh.grid.op()
            own.location = first.location
            module.body.block.insert_op_before(own, first)
            return
        raise TenonError(
            f"{name}: the program is for one device, it says of no array how that is split, and the mesh is "
            f"{mesh}"
        )
    if _axes(grid) != _axes(mesh.grid):
        axes = ", ".join(f"{each}={extent}" for each, extent in _axes(grid)) or "one rank"
        raise TenonError(
            f"{name}: the program is for a mesh of {axes}, and the mesh is {mesh} "
            f"(hint: tenon.Mesh({grid.shape}, {grid.axis_names}))"
        )


def _axes(grid: Grid) -> list[tuple[str, int]]:
    return [pair for pair in zip(grid.axis_names, grid.shape, strict=True) if pair[1] > 1]


def _trace_of(module: ModuleOp, function: func.FuncOp, name: str, weights: Sequence[NumpyArray]) -> Trace:
    """Returns a program as a finished trace that reads frozen `weights` from outside."""
    trace = Trace(name)
    trace.module, trace.block = module, function.body.block
    for number, weight in enumerate(weights):
        value = trace.block.args[len(trace.block.args) - len(weights) + number]
        array = as_concrete(weight)
        trace.captured.append((array, TracedArray(trace, trace.scope, value, array.aval)))
        trace.frozen.append(number)
    return trace


def _aval_of(type: Any) -> Aval:
    return aval_of(dtype_of_type(type), shape_of_type(type))


def _fits(shape: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Returns whether a shape is the expected one, in which named dims are any extent."""
    return len(shape) == len(expected) and all(
        extent == wanted or not isinstance(wanted, int)
        for extent, wanted in zip(shape, expected, strict=True)
    )


def _placed(value: Any, sharding: Sharding) -> Any:
    """Returns an argument as the program takes it; what all ranks have whole they have already."""
    if isinstance(value, ShardedArray):
        return reshard(value, sharding)
    return value if sharding.is_whole else shard(value, sharding)


def _values(leaves: Sequence[Any]) -> list[Any]:
    return [values_of(leaf) for leaf in leaves]
