"""`tenon.shard_map`: a function of what each rank has, with collectives that it names itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from ...dialects import graph
from ...dialects.graph.collectives import RANK
from ...errors import TenonError
from ..arrays.aval import aval_of
from ..arrays.concrete import ConcreteArray
from ..arrays.tree import flatten, unflatten
from ..calls.guards import Guard
from ..calls.versions import TracedCall
from ..sharding.axis_scope import axis_scope, is_on_parts
from ..sharding.mesh import Mesh
from ..sharding.placing import shard
from ..sharding.program_digest import check_same_program
from ..sharding.replicas import check_replicas
from ..sharding.sharded_array import ShardedArray
from ..sharding.sharding import PartitionSpec, Sharding, sharding
from ..tracing.leaves import WEAK
from ..tracing.source_lines import with_excerpt
from ..tracing.trace import Trace, current_trace
from .call_signature import CallSignature
from .jit import Jitted
from .manual_call import call_on_parts, check_even, check_rank


def shard_map(
    function: Callable[..., Any], mesh: Mesh, in_specs: Any, out_specs: Any, **options: Any
) -> ShardMapped:
    """
    Returns a function of sharded arrays, made of one of their parts: each rank calls `function` with what it
    has of the arguments, and what that gives are its parts of the results. In it `psum`, `all_gather`,
    `reduce_scatter`, `all_to_all`, `permute` and `axis_index` name axes of the mesh. It is compiled as by
    `jit`, which takes the `options`.

        def total(x):
            return tenon.psum(tnp.sum(x), "x")

        sums = tenon.shard_map(total, mesh, tenon.PartitionSpec("x"), tenon.PartitionSpec())

    `in_specs` and `out_specs` are a `PartitionSpec` for all, or trees of them like those of the arguments (a
    tuple, one for each) and of the result. Arguments that have another sharding are resharded; of those that
    are not sharded each rank takes its part. All ranks must call it.

    Raises:
        TypeError: the mesh or a spec is none, or the function is none.
        ValueError: a spec names an axis that the mesh has not, or twice.
    """
    return ShardMapped(function, mesh, in_specs, out_specs, options)


class ShardMapped:
    """A function of `shard_map`."""

    def __init__(
        self,
        function: Callable[..., Any],
        mesh: Mesh,
        in_specs: Any,
        out_specs: Any,
        options: Mapping[str, Any],
    ) -> None:
        if not isinstance(mesh, Mesh):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"shard_map: {mesh!r} is not a mesh")
        self.mesh = mesh
        self._in_specs = _shardings(in_specs, mesh, "in_specs")
        self._out_specs = _shardings(out_specs, mesh, "out_specs")
        self.local: Jitted = (
            LocalFunction(function, self, **options)
            if mesh.group is None
            else _FunctionOfAll(function, self, **options)
        )
        """The function of the parts, as a compiled one; on devices the one of all, on whole arrays."""
        functools.update_wrapper(self, function)

    def __call__(self, /, *arguments: Any) -> Any:
        """
        Runs the function on all ranks.

        Raises:
            TenonError: a dim does not split evenly, or arguments and `in_specs` have other structures.
            RankError: ranks have other programs, or one has ended or failed.
        """
        trace = current_trace()
        if trace is not None:
            return self.on_whole(trace, arguments)
        leaves: list[Any] = []
        structure = flatten(arguments, leaves)
        specs = self.in_shardings(arguments)
        check_replicas(
            self.mesh, self.local.name, [leaf for leaf in leaves if isinstance(leaf, ShardedArray)]
        )
        if self.mesh.group is not None:
            placed = [self._placed(leaf, spec) for leaf, spec in zip(leaves, specs, strict=True)]
            return self.local(*unflatten(structure, iter(placed)))
        parts = [self._part(leaf, spec) for leaf, spec in zip(leaves, specs, strict=True)]
        result = self.local(*unflatten(structure, iter(parts)))
        found: list[Any] = []
        structure = flatten(result, found)
        specs = _spread(self._out_specs, result, "out_specs")
        wholes = [self._whole(part, spec) for part, spec in zip(found, specs, strict=True)]
        return unflatten(structure, iter(wholes))

    def on_whole(self, trace: Trace, arguments: tuple[Any, ...]) -> Any:
        """Returns what the function gives on all ranks, as arrays of a trace."""
        if is_on_parts():
            raise trace.error(
                f"shard_map: {self.local.name} is called in a function of parts, of which each rank runs its "
                "own (hint: call the function itself there)"
            )
        return call_on_parts(
            trace,
            self.local.function,
            self.mesh,
            arguments,
            self.in_shardings,
            lambda tree: _spread(self._out_specs, tree, "out_specs"),
            self.local.name,
        )

    def in_shardings(self, arguments: Any) -> list[Sharding]:
        """Returns how each leaf of the arguments is split. Raises TenonError where they do not fit."""
        return _spread(self._in_specs, arguments, "in_specs")

    def _part(self, leaf: Any, spec: Sharding) -> Any:
        placed = self._placed(leaf, spec)
        return placed.local if isinstance(placed, ShardedArray) else placed

    def _placed(self, leaf: Any, spec: Sharding) -> Any:
        """Returns an argument as its spec says, but for a Python scalar, which all ranks have."""
        if type(leaf) in WEAK and spec.is_whole:
            return leaf
        if not isinstance(leaf, ShardedArray) or leaf.sharding != spec:
            leaf = shard(leaf, spec)
        check_even(leaf.shape, spec, f"{self.local.name}: dim", "of an argument")
        return leaf

    def _whole(self, part: Any, spec: Sharding) -> Any:
        if not isinstance(part, ConcreteArray):
            return part
        check_rank(part.ndim, spec, part.shape, self.local.name)
        counts = spec.counts(part.ndim)
        shape = tuple([extent * count for extent, count in zip(part.shape, counts, strict=True)])
        return ShardedArray(aval_of(part.dtype, shape), spec, [part])

    def __repr__(self) -> str:
        return f"<shard_map {self.local.name} on {self.mesh}>"


@dataclass(frozen=True, slots=True)
class _Place:
    """Stands for an array among the arguments."""

    number: int


class LocalFunction(Jitted):
    """A jitted function of the parts that a rank has."""

    def __init__(self, function: Callable[..., Any], mapped: ShardMapped, **options: Any) -> None:
        super().__init__(function, **(_DEFAULTS | options))
        self._mapped = mapped
        self.mesh = mapped.mesh
        self.options["world"] = mapped.mesh.world

    def declarations(self) -> Sequence[Operation]:
        return [self.mesh.grid.op(), *super().declarations()]

    def trace(self, signature: CallSignature, guards: Sequence[Guard] = ()) -> TracedCall:
        call = super().trace(signature, guards)
        call.trace.module.attributes[RANK] = IntegerAttr(self.mesh.rank, i64)
        self._check_conditions(call.trace, signature)
        return call

    def _check_conditions(self, trace: Trace, signature: CallSignature) -> None:
        """
        Looks at the branches and loops that ranks may differ in.

        Raises:
            TenonError: some ranks would wait for ever for what others do not send.
        """
        function = trace.module.body.block.last_op
        assert isinstance(function, func.FuncOp), f"{self.name}: a trace that ends with no function"
        # Late: most programs are of one rank, and those that are kept need no passes.
        if not any(isinstance(op, graph.ControlOp) for op in function.walk()):
            return
        from ...compiler.partitioning import check_parts

        numbers = [_Place(number) for number in range(len(signature.avals))]
        arguments, _ = self.parameters.arguments_of(signature, numbers)
        leaves: list[Any] = []
        flatten(arguments, leaves)
        splits: dict[SSAValue, tuple[int, ...]] = {
            function.body.block.args[leaf.number]: spec.split(len(signature.avals[leaf.number].shape)).axes
            for leaf, spec in zip(leaves, self._mapped.in_shardings(arguments), strict=True)
            if isinstance(leaf, _Place)
        }
        try:
            check_parts(function, self.mesh.grid, splits)
        except TenonError as error:
            raise with_excerpt(error) from None

    def check_traced(self, call: TracedCall) -> None:
        check_same_program(self.mesh, call.trace.module, self.name)

    def _run_inside(self, trace: Trace, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        with axis_scope(self.mesh):
            return super()._run_inside(trace, arguments, named)


class _FunctionOfAll(Jitted):
    """
    A jitted function of whole arrays that calls one of parts: on devices, where one program is written for
    all, which is partitioned as others are.
    """

    def __init__(self, function: Callable[..., Any], mapped: ShardMapped, **options: Any) -> None:
        super().__init__(function, **(_DEFAULTS | options))
        self._mapped = mapped

    def _run_inside(self, trace: Trace, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        return self._mapped.on_whole(trace, tuple(arguments))


_DEFAULTS: dict[str, Any] = {
    "static_argnums": (),
    "static_argnames": (),
    "donate_argnums": (),
    "dynamic": {},
    "specialize": {},
    "backend": "llvm",
    "pipeline": None,
    "name": None,
    "target": None,
    "fastmath": (),
    "allow_gather": False,
}


def _shardings(specs: Any, mesh: Mesh, what: str) -> Any:
    """Returns a tree of specs as one of shardings."""
    if isinstance(specs, PartitionSpec):
        return sharding(mesh, *specs.parts)
    if isinstance(specs, Sharding):
        if specs.mesh != mesh:
            raise TypeError(f"shard_map: {what} has a sharding of {specs.mesh}, expected one of {mesh}")
        return specs
    if isinstance(specs, tuple | list):
        items = cast("Sequence[Any]", specs)
        return tuple([_shardings(each, mesh, what) for each in items])
    if isinstance(specs, dict):
        named = cast("dict[Any, Any]", specs)
        return {key: _shardings(each, mesh, what) for key, each in named.items()}
    if specs is None:
        return None
    raise TypeError(f"shard_map: {what} has {specs!r}, expected a PartitionSpec, or a tree of them")


def _spread(specs: Any, tree: Any, what: str) -> list[Sharding]:
    """Returns the sharding of each leaf of a tree. Raises TenonError where the specs are of another one."""
    if isinstance(specs, Sharding):
        leaves: list[Any] = []
        flatten(tree, leaves)
        return [specs] * len(leaves)
    if tree is None and specs is None:
        return []
    if isinstance(specs, tuple) and isinstance(tree, tuple | list):
        items, each_spec = cast("Sequence[Any]", tree), cast("tuple[Any, ...]", specs)
        if len(items) == len(each_spec):
            pairs = zip(each_spec, items, strict=True)
            return [found for spec, item in pairs for found in _spread(spec, item, what)]
    if isinstance(specs, dict) and isinstance(tree, dict):
        named, of_specs = cast("dict[Any, Any]", tree), cast("dict[Any, Any]", specs)
        if named.keys() == of_specs.keys():
            return [found for key in sorted(named) for found in _spread(of_specs[key], named[key], what)]
    raise TenonError(
        f"shard_map: {what} is {_shown(specs)}, which does not fit {_shown(tree)} there "
        "(hint: one PartitionSpec for all, or a tree like it)"
    )


def _shown(value: Any) -> str:
    kind: Any = value.__class__
    items = cast("Sequence[Any]", value)
    several = f" of {len(items)}" if isinstance(value, tuple | list | dict) else ""
    return f"a {kind.__name__}{several}"
