"""What a trace says of how its arrays are split."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.shard import ShardOp

from ...dialects.sharding import Sharding as Split
from ...dialects.sharding import set_shardings
from ...errors import TenonError
from ..tracing.source_lines import user_location
from ..tracing.trace import Trace, TracedArray
from .axis_scope import is_on_parts
from .mesh import Mesh
from .sharding import Sharding


def mesh_of(shardings: Sequence[Sharding | None], name: str) -> Mesh | None:
    """
    Returns the mesh of the arguments of a call of a function. Raises TenonError where they have several.
    """
    meshes = {sharding.mesh for sharding in shardings if sharding is not None}
    if len(meshes) > 1:
        raise TenonError(f"{name}: arguments are of several meshes ({', '.join(sorted(map(repr, meshes)))})")
    return meshes.pop() if meshes else None


def annotate(x: TracedArray, sharding: Sharding, who: str = "shard") -> TracedArray:
    """
    Returns the same array, split in that way.

    Raises:
        TracingError: it is an array of a function of parts.
        TenonError: the trace has another mesh, or the sharding does not fit the array.
    """
    trace, mesh = x.trace, sharding.mesh
    x.check_usable()
    if is_on_parts():
        raise trace.error(f"{who}: the array is the part of one rank (hint: outside of the shard_map)")
    if trace.mesh is not None and trace.mesh != mesh:
        raise TenonError(f"{who}: {mesh}, and @{trace.name} has arrays on {trace.mesh}")
    sharding.check(x.aval.shape, who)
    trace.mesh = mesh
    described = sharding.split(x.ndim).op(mesh.grid)
    described.location = user_location()
    trace.scope.block.add_op(described)
    return trace.add(ShardOp(x.value, described.results[0], None), x.weak, x.aval)


def annotate_arguments(trace: Trace, shardings: Sequence[Sharding | None]) -> None:
    """
    Writes into a finished trace with a mesh how its arguments are split, and the arrays that it reads from
    outside: those that no sharding is known of are whole on every rank.
    """
    mesh: Mesh | None = trace.mesh
    if mesh is None:
        return
    function = trace.module.body.block.last_op
    assert isinstance(function, func.FuncOp), "a trace that ends with no function"
    types = list(function.function_type.inputs)
    given = [*shardings, *[None] * (len(types) - len(shardings))]
    for number, sharding in trace.captured_shardings.items():
        given[trace.argument_count + number] = sharding
    splits: list[Split] = []
    for type, sharding in zip(types, given, strict=True):
        rank = len(type.get_shape())  # type: ignore[attr-defined]
        splits.append(Split.whole(rank) if sharding is None else sharding.split(rank))
    set_shardings(function, splits)
    block = trace.module.body.block
    grid = mesh.grid.op()
    grid.location = trace.location
    assert block.first_op is not None, "a finished trace without ops"
    block.insert_op_before(grid, block.first_op)
