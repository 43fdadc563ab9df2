"""A function of `shard_map` that is called while another one is traced: a region of its program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, Operation, Region, SSAValue

from ...dialects import graph
from ...dialects.dims.expressions import Extent
from ...errors import TenonError
from ..arrays.aval import Aval, aval_of
from ..arrays.tree import flatten, unflatten
from ..sharding.axis_scope import axis_scope
from ..sharding.mesh import Mesh
from ..sharding.sharding import Sharding
from ..tracing.leaves import WEAK, lift
from ..tracing.trace import Trace, TracedArray
from ..tracing.traced_region import TracedRegion

Spread = Callable[[Any], Sequence[Sharding]]
"""Gives the sharding of each leaf of a tree."""


def call_on_parts(
    trace: Trace,
    function: Callable[..., Any],
    mesh: Mesh,
    arguments: tuple[Any, ...],
    in_shardings: Spread,
    out_shardings: Spread,
    name: str,
) -> Any:
    """
    Returns what `function`, called `name`, gives on all ranks of the mesh together, of arrays of a trace, or
    from outside of it, as arrays of the trace. It sees the parts of one rank.

    Raises:
        TenonError: the trace has another mesh, or a dim does not split evenly.
    """
    if trace.mesh not in (None, mesh):
        raise TenonError(f"shard_map: {name}: {mesh}, and @{trace.name} has arrays on {trace.mesh}")
    trace.mesh = mesh
    leaves: list[Any] = []
    structure = flatten(arguments, leaves)
    given: list[TracedArray] = []
    splits: list[Sharding] = []
    numbers: list[int] = []
    for number, (leaf, sharding) in enumerate(zip(leaves, in_shardings(arguments), strict=True)):
        # A Python scalar stays one, which gives way to the dtypes of arrays.
        if type(leaf) not in WEAK or not sharding.is_whole:
            x = lift(trace, leaf, f"shard_map: {name}: an argument")
            check_even(x.aval.shape, sharding, f"{name}: dim", "of an argument")
            given.append(x)
            splits.append(sharding)
            numbers.append(number)
    parts = [_part(x.aval, sharding) for x, sharding in zip(given, splits, strict=True)]
    region = TracedRegion(trace, "a function of shard_map", parts)
    for number, part in zip(numbers, region.arguments, strict=True):
        leaves[number] = part
    with region:
        with axis_scope(mesh):
            result = function(*unflatten(structure, iter(leaves)))
        found: list[Any] = []
        result_structure = flatten(result, found)
        out_splits: list[Sharding] = []
        outputs: list[TracedArray] = []
        for number, (leaf, sharding) in enumerate(zip(found, out_shardings(result), strict=True)):
            if not isinstance(leaf, bool | int | float | complex | str | bytes):
                found[number] = x = lift(trace, leaf, f"shard_map: {name}: its result")
                check_rank(x.ndim, sharding, x.aval.shape, name)
                outputs.append(x)
                out_splits.append(sharding)
    region.finish(outputs)
    inputs = [x.value for x in given]
    all_splits = [sharding.split(x.ndim).split for x, sharding in zip(given, splits, strict=True)]
    for value in _isolated(region.block):
        inputs.append(value)
        all_splits.append(((),) * len(value.type.get_shape()))  # type: ignore[attr-defined]
    wholes = [_whole(x.aval, sharding) for x, sharding in zip(outputs, out_splits, strict=True)]
    op = graph.ManualComputationOp(
        inputs,
        mesh.grid.name,
        all_splits,
        [sharding.split(x.ndim).split for x, sharding in zip(outputs, out_splits, strict=True)],
        [aval.type for aval in wholes],
        region.detached(),
    )
    results = iter(trace.add_all(op, wholes))
    return unflatten(
        result_structure, iter([next(results) if isinstance(x, TracedArray) else x for x in found])
    )


def check_even(shape: Sequence[Extent], sharding: Sharding, what: str, of: str) -> None:
    """Raises TenonError, which says `what` the dim is `of`, where a dim does not split evenly."""
    sharding.check(shape, "shard_map", f"{what.removesuffix(': dim')}: the argument")  # type: ignore[arg-type]
    for dim, (extent, count) in enumerate(zip(shape, sharding.counts(len(shape)), strict=True)):
        if count > 1 and (not isinstance(extent, int) or extent % count):
            raise TenonError(
                f"shard_map: {what} {dim} {of} of shape {tuple(shape)} does not split evenly over "
                f"{' and '.join(sharding.spec[dim])}, {count} ranks (hint: tenon.jit of sharded arguments "
                "takes such)"
            )


def check_rank(rank: int, sharding: Sharding, shape: Sequence[Extent], name: str) -> None:
    """Raises TenonError where a result has fewer dims than its sharding."""
    if len(sharding.spec) > rank:
        raise TenonError(
            f"shard_map: {name}: {sharding} is of {len(sharding.spec)} dims, and a result has shape "
            f"{tuple(shape)}"
        )


def _part(aval: Aval, sharding: Sharding) -> Aval:
    counts = sharding.counts(len(aval.shape))
    shape = [
        extent if count == 1 else extent // count for extent, count in zip(aval.shape, counts, strict=True)
    ]
    return aval_of(aval.dtype, tuple(shape), aval.weak)


def _whole(aval: Aval, sharding: Sharding) -> Aval:
    counts = sharding.counts(len(aval.shape))
    shape = [extent * count for extent, count in zip(aval.shape, counts, strict=True)]
    return aval_of(aval.dtype, tuple(shape))


def _isolated(block: Block) -> list[SSAValue]:
    """
    Gives a block arguments for what its ops read from around it, but for constants, which it gets itself;
    returns what the arguments stand for.
    """
    taken: dict[SSAValue, SSAValue] = {}
    arguments: list[SSAValue] = []
    for op in list(block.walk()):
        for index, value in enumerate(op.operands):
            if value not in taken:
                if _is_within(value, block):
                    continue
                if isinstance(value.owner, graph.ConstantOp):
                    constant = value.owner.clone()
                    first = block.first_op
                    assert first is not None, "a region without ops"
                    block.insert_op_before(constant, first)
                    taken[value] = constant.result
                else:
                    argument = block.insert_arg(value.type, len(block.args))
                    argument.name_hint, argument.location = value.name_hint, op.location
                    taken[value] = argument
                    arguments.append(value)
            op.operands[index] = taken[value]
    return arguments


def _is_within(value: SSAValue, block: Block) -> bool:
    owner: Operation | Block | Region | None = value.owner
    while owner is not None:
        if owner is block:
            return True
        owner = owner.parent
    return False
