"""The ops of a block, one after the other, as the program of one rank has them."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.shard import ShardingOp, ShardOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ...dialects import graph
from ...dialects.sharding import Sharding
from .manual import write_manual
from .parts.localize import LOCALIZE, same
from .parts.op_at_rank import Axes, OpAtRank, Partial
from .program import RankProgram
from .rule import FactorKind, Rule
from .rules import rule_of
from .varying import Axes as VaryingAxes
from .varying import check_condition

_MADE_WHERE_READ = ShardingOp | graph.ConstantOp | graph.IotaOp


class Partitioner:
    """Writes ops into the program of a rank."""

    def __init__(self, program: RankProgram, conditions: Mapping[Operation, VaryingAxes]) -> None:
        """`conditions` has the branches and loops whose conditions may differ, and along which axes."""
        self.program = program
        self._conditions = conditions

    def write(self, block: Block) -> None:
        """Writes the ops of a block, but for the one that ends it."""
        for op in block.ops:
            self.program.location = op.location
            match op:
                case ShardingOp() | ShardOp() | func.ReturnOp() | graph.YieldOp() | graph.ConditionOp():
                    pass
                case graph.ScanOp():
                    self._scan(op)
                case graph.WhileOp():
                    self._while(op)
                case graph.IfOp():
                    self._if(op)
                case graph.ManualComputationOp():
                    write_manual(op, self.program)
                case graph.PrintOp():
                    self._print(op)
                case _ if self.program.view_of(op) is None:
                    self._op(op)
                case _:
                    # Written where it is read.
                    pass

    def _op(self, op: Operation) -> None:
        program, rule = self.program, rule_of(op)
        at = OpAtRank(program, op, rule, self._axes(op, rule))
        if len(op.results) != 1:
            self._note_all(op, at)
            return
        (result,) = op.results
        value = LOCALIZE.get(type(op), same)(at)
        native, home = at.result_sharding, program.home(result)
        if isinstance(value, Partial):
            value, native = self._combined(at, value, native, home)
        program.note(result, program.resharded(value, program.shape(result), native, home))

    def _note_all(self, op: Operation, at: OpAtRank) -> None:
        new = at.copied(at.operands, [result.type for result in op.results])
        program = self.program
        program.write(new)
        for result, value in zip(op.results, new.results, strict=True):
            whole = Sharding.whole(len(program.shape(result)))
            program.note(result, program.resharded(value, program.shape(result), whole, program.home(result)))

    def _print(self, op: graph.PrintOp) -> None:
        """What is printed is printed once: by rank 0. All ranks fetch it."""
        at = OpAtRank(self.program, op, rule := rule_of(op), self._axes(op, rule))
        operands = at.operands
        if self.program.rank == 0:
            self.program.write(at.copied(operands, []))

    def _axes(self, op: Operation, rule: Rule) -> tuple[Axes, ...]:
        """
        Returns the axes that split each factor: as the operands say, and what only the result has as its home
        says.
        """
        program = self.program
        found: list[Axes] = [()] * len(rule.factors)
        used: set[int] = set()

        def take(value: SSAValue, dim: int, factor: int | None) -> None:
            axes = program.home(value).split[dim]
            if factor is None or found[factor] or not axes or used & set(axes):
                return
            if rule.factors[factor].kind is not FactorKind.WHOLE:
                found[factor] = axes
                used.update(axes)

        for number, dim in rule.whole_dims():
            if axes := program.home(op.operands[number]).split[dim]:
                raise PassFailedException(
                    f"{op.name}: dim {dim} of operand {number} is split over axes "
                    f"{program.mesh.axes_text(axes)} and must be whole (allow_gather gathers it)"
                )
        for number, (value, dims) in enumerate(zip(op.operands, rule.operands, strict=True)):
            for dim, factor in enumerate(dims):
                if (number, dim) not in rule.loose:
                    take(value, dim, factor)
        for value, dims in zip(op.results, rule.results, strict=True):
            for dim, factor in enumerate(dims):
                if factor is not None and rule.factors[factor].kind is FactorKind.PARALLEL:
                    take(value, dim, factor)
        return tuple(found)

    def _combined(
        self, at: OpAtRank, partial: Partial, native: Sharding, home: Sharding
    ) -> tuple[SSAValue, Sharding]:
        """Returns partial results combined, scattered where they are to be split, and how they are then."""
        program, value = self.program, partial.value
        left, split = list(at.reduced), list(native.split)
        shape = program.shape(at.op.results[0])
        for dim, wanted in enumerate(home.split):
            more = wanted[len(split[dim]) :] if wanted[: len(split[dim])] == split[dim] else ()
            count = next((at for at, axis in enumerate(more) if axis not in left), len(more))
            axes = more[:count]
            if axes:
                split[dim] = (*split[dim], *axes)
                extent = program.local_extent(shape[dim], split[dim])
                op = graph.ReduceScatterOp(
                    partial.kind, value, program.mesh.name, axes, dim, program.channel(), extent
                )
                value = program.add(op)
                left = [axis for axis in left if axis not in axes]
        if left:
            total = graph.AllReduceOp(partial.kind, value, program.mesh.name, left, program.channel())
            program.sums.append((total, at.op))
            value = program.add(total)
        return (value if partial.finish is None else partial.finish(value)), Sharding(tuple(split))

    def _read_before(self, op: Operation) -> None:
        """Writes what the regions of an op read from outside, so that it is there once and for all."""
        for inner in op.walk():
            for value in inner.operands:
                owner = value.owner
                is_inside = (
                    op.is_ancestor(owner)
                    if isinstance(owner, Operation)
                    else ((around := owner.parent_op()) is not None and op.is_ancestor(around))
                )
                if not is_inside and not isinstance(owner, _MADE_WHERE_READ):
                    self.program.local(value)

    def _arguments(self, arguments: list[BlockArgument]) -> Block:
        """Returns a block that takes this rank's parts of the arguments of another."""
        program = self.program
        block = Block(arg_types=[program.local_type(each, program.home(each)) for each in arguments])
        for old, new in zip(arguments, block.args, strict=True):
            new.location, new.name_hint = old.location, old.name_hint
        return block

    def _region(self, source: Block, results: list[Sharding]) -> Block:
        """Returns a block with what a region does, which ends with the operands of its last op split so."""
        program, block = self.program, self._arguments(list(source.args))
        with program.inside(block):
            for old, new in zip(source.args, block.args, strict=True):
                program.note(old, new)
            self.write(source)
            last = source.last_op
            assert last is not None, "a region that ends in nothing"
            program.location = last.location
            values = [
                program.at(value, sharding) for value, sharding in zip(last.operands, results, strict=True)
            ]
            program.write(
                graph.ConditionOp(values[0]) if isinstance(last, graph.ConditionOp) else graph.YieldOp(values)
            )
        return block

    def _end(self, old: Operation, new: Operation) -> None:
        new.location = old.location
        new.attributes = old.attributes.copy()
        self.program.block.add_op(new)
        if old in self._conditions:
            check_condition(old, new, self._conditions[old], self.program.mesh)
        for before, after in zip(old.results, new.results, strict=True):
            after.name_hint = before.name_hint
            self.program.note(before, after)

    def _scan(self, op: graph.ScanOp) -> None:
        program = self.program
        self._read_before(op)
        carried = [program.home(value) for value in op.carried]
        stacked = [Sharding(program.home(value).split[1:]) for value in op.stacks]
        initial = [program.at(value, home) for value, home in zip(op.initial, carried, strict=True)]
        inputs = [
            program.at(value, Sharding(((), *program.home(row).split)))
            for value, row in zip(op.inputs, op.slices, strict=True)
        ]
        body = self._region(op.body.block, [*carried, *stacked])
        types = [program.local_type(value, program.home(value)) for value in op.results]
        self._end(
            op, graph.ScanOp(op.trip_count, initial, inputs, types, Region(body), op.reverse is not None)
        )

    def _while(self, op: graph.WhileOp) -> None:
        program = self.program
        self._read_before(op)
        carried = [program.home(value) for value in op.body.block.args]
        initial = [program.at(value, home) for value, home in zip(op.initial, carried, strict=True)]
        before = self._region(op.before.block, [Sharding(())])
        body = self._region(op.body.block, carried)
        self._end(op, graph.WhileOp(initial, Region(before), Region(body)))

    def _if(self, op: graph.IfOp) -> None:
        program = self.program
        self._read_before(op)
        condition = program.local(op.condition)
        homes = [program.home(value) for value in op.results]
        then, other = (self._region(region.block, homes) for region in (op.then_region, op.else_region))
        types = [program.local_type(value, home) for value, home in zip(op.results, homes, strict=True)]
        self._end(op, graph.IfOp(condition, types, Region(then), Region(other)))
