"""
Writes the program of one rank of a mesh.

    shard.grid @mesh(shape = 2) {axis_names = ["x"]}
    func.func @f(%x: tensor<4x8xf32> {tenon.sharding = #shard<axisarray[[], [0]]>}) -> (tensor<4xf32>) {
      %split = shard.sharding @mesh split_axes = [[], [0]] : !shard.sharding
      %x_split = shard.shard %x to %split : tensor<4x8xf32>
      %s = graph.reduce add %x_split axes [1] : tensor<4x8xf32> -> tensor<4xf32>
      ...
    }

-->

    shard.grid @mesh(shape = 2) {axis_names = ["x"]}
    func.func @f(%x: tensor<4x4xf32> {tenon.sharding = #shard<axisarray[[], [0]]>}) -> (tensor<4xf32>) {
      %0 = graph.reduce add %x axes [1] : tensor<4x4xf32> -> tensor<4xf32>
      %s = graph.all_reduce add %0 on @mesh axes = [0] channel = 1 : tensor<4xf32>
      func.return %s : tensor<4xf32>
    }

Extents and offsets are numbers: each rank has its own text, and no masks at its borders. What collectives
there are, and in which order, does not depend on the rank; small sums that need nothing of one another have
the attribute `bundle`, and are sent as one. The module says which rank it is of, in its
attribute `tenon.rank`.

A branch or a loop of a manual computation may have a condition that differs from rank to rank. Where ranks
that exchange something in it may differ so, that is an error: some would wait for ever. Where groups of ranks
may, each as a whole, what they exchange has the attribute `divergent`: not all ranks begin it.

Requires: annotations of all values, as propagate-sharding leaves them; a value without one is whole on every
rank. Ensures: no op of `shard` but the grid; types are those of the parts of the rank. What cannot be
partitioned is an error that names the op.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.dialects.shard import ShardOp
from xdsl.ir import Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...dialects.graph.collectives import RANK
from ...dialects.sharding import (
    Mesh,
    Sharding,
    argument_shardings,
    checked_sharding,
    result_shardings,
    said_by,
    set_shardings,
)
from .bundles import bundle
from .halos import hulls_of, spans_of
from .part import Wants
from .partitioner import Partitioner
from .parts.read_in_place import read_in_place
from .parts.views import VIEWS
from .program import Asker, RankProgram
from .rules import extents
from .varying import check_conditions, varying_conditions


@dataclass(frozen=True)
class PartitionGraphPass(ModulePass):
    """Writes the program of one rank of a mesh."""

    name = "partition-graph"
    rank: int = 0

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        mesh = mesh_to_partition(op, self.name)
        if not 0 <= self.rank < mesh.size:
            raise PassFailedException(
                f"{self.name}: rank {self.rank} is none of the {mesh.size} ranks of @{mesh.name}"
            )
        channels = 0
        for function in [each for each in op.ops if isinstance(each, func.FuncOp)]:
            if not function.is_declaration:
                channels = _partition(function, mesh, self.rank, channels)
        op.attributes[RANK] = IntegerAttr(self.rank, i64)


def mesh_to_partition(module: ModuleOp, who: str) -> Mesh:
    """
    Returns the mesh that a pass partitions a module for.

    Raises PassFailedException where there is none, or the module is the program of one rank already.
    """
    mesh = Mesh.of(module)
    if mesh is None:
        raise PassFailedException(f"{who}: the module has no shard.grid")
    if (rank := module.attributes.get(RANK)) is not None:
        raise PassFailedException(f"{who}: the module is partitioned: {RANK} = {rank}")
    return mesh


Together = Mapping[Asker, Mapping[Wants, Wants]]
"""What is made or sent with what, by who asks for it."""


def homes_of(function: func.FuncOp, mesh: Mesh) -> dict[SSAValue, Sharding]:
    """Returns how the values of a function are split, as its annotations say."""
    homes: dict[SSAValue, Sharding] = {}
    for argument, sharding in zip(function.body.block.args, argument_shardings(function), strict=True):
        if sharding is not None:
            homes[argument] = checked_sharding(sharding, argument, mesh, function)
    for op in function.walk():
        if not isinstance(op, ShardOp):
            continue
        sharding = said_by(op, mesh)
        homes[op.result] = sharding
        if op.annotate_for_users is None:
            homes[op.src] = sharding
    return homes


def _partition(function: func.FuncOp, mesh: Mesh, rank: int, channels: int) -> int:
    """Replaces a function by that of a rank, and returns the number of its last channel."""
    body = function.body.block
    lazy = read_in_place(body, VIEWS)
    conditions = varying_conditions(function, mesh, {})
    check_conditions(conditions, mesh)
    homes, last = homes_of(function, mesh), body.last_op
    assert isinstance(last, func.ReturnOp), "a function that ends in no func.return"
    said = result_shardings(function)
    results = [
        homes.get(value, Sharding.whole(len(extents(value))))
        if sharding is None
        else checked_sharding(sharding, value, mesh, function)
        for value, sharding in zip(last.operands, said, strict=True)
    ]

    def written(hulls: Together, spans: Together) -> RankProgram:
        program = RankProgram(mesh, rank, homes, VIEWS, lazy, channels, hulls, spans)
        for argument in body.args:
            new = program.block.insert_arg(
                program.local_type(argument, program.home(argument)), len(program.block.args)
            )
            new.location, new.name_hint = argument.location, argument.name_hint
            program.note(argument, new)
        Partitioner(program, conditions).write(body)
        program.location = last.location
        pairs = zip(last.operands, results, strict=True)
        program.write(func.ReturnOp(*[program.at(value, home) for value, home in pairs]))
        return program

    def again(program: RankProgram, hulls: Together, spans: Together) -> RankProgram:
        # What is read is known now, and that some of it is better made or sent together.
        Region(program.block).drop_all_references()
        return written(hulls, spans)

    program, spans = written({}, {}), dict[Asker, Mapping[Wants, Wants]]()
    for asker, asked in program.asked_padded.items():
        if found := spans_of(asked):
            spans[asker] = found
    if spans:
        program = again(program, {}, spans)
    hulls = {
        asker: found
        for asker, asked in program.asked.items()
        if (found := hulls_of(asked, program.wants(asker[1])))
    }
    if hulls:
        program = again(program, hulls, spans)
    bundle(program.sums)
    set_shardings(function, [program.home(argument) for argument in body.args], results)
    function.detach_region(function.body)
    function.add_region(Region(program.block))
    function.update_function_type()
    return program.last_channel
