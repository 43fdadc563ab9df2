"""How every value of a function is split, and what each op reads in another way."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func
from xdsl.dialects.shard import ShardingOp, ShardOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph
from ....dialects.sharding import Mesh, Sharding
from ..manual import ops_over_mesh, shardings_of
from ..rule import Rule
from ..rules import RULES, WITH_REGIONS, WITHOUT_A_RULE, extents, rule_of
from ..ties import carried_arguments, is_stack
from .choices import Chooser
from .hints import Hints
from .pins import Pins


class Decisions:
    """
    Decides in the order of the program: `homes` says how each value is split, `reasons` why, and `reads` how
    an op reads an operand, an (op, number), where that is another way.
    """

    def __init__(self, mesh: Mesh, function: func.FuncOp, pins: Pins, allow_gather: bool) -> None:
        self.mesh = mesh
        self.function = function
        self.homes: dict[SSAValue, Sharding] = {}
        self.reasons: dict[SSAValue, str] = {}
        self.reads: dict[tuple[Operation, int], Sharding] = {}
        self.results: list[Sharding] = []
        self._pins = pins
        self._allow_gather = allow_gather
        self._pinned_values = self._pinned()
        self._hints = Hints(mesh, self._pinned_values)

    def _pinned(self) -> dict[SSAValue, Sharding]:
        """What is annotated, the results of the function included where their values are not."""
        pinned = dict(self._pins.values)
        last = self.function.body.block.last_op
        assert last is not None, "a function that ends in nothing"
        for value, sharding in zip(last.operands, self._pins.results, strict=True):
            if sharding is not None and not is_stack(value):
                pinned.setdefault(value, sharding)
        return pinned

    def decide(self) -> None:
        """Raises PassFailedException for an op that cannot be partitioned as it is asked to."""
        ops = [op for op in ops_over_mesh(self.function) if not isinstance(op, ShardingOp | _ENDS)]
        self._hints.spread(ops)
        block = self.function.body.block
        for argument in block.args:
            self._settle(argument, self._hints.of(argument), "as its readers want it")
        self._decide_block(block)
        last = block.last_op
        assert last is not None, "a function that ends in nothing"
        for number, (value, said) in enumerate(zip(last.operands, self._pins.results, strict=True)):
            self.results.append(self.homes[value] if said is None else said)
            self._read(last, number, self.results[-1])

    def _settle(self, value: SSAValue, sharding: Sharding, reason: str) -> None:
        if value in self._pinned_values:
            sharding, reason = self._pinned_values[value], "annotated"
        self.homes[value] = sharding
        self.reasons[value] = reason if not sharding.is_whole or reason == "annotated" else "whole"

    def _read(self, op: Operation, number: int, sharding: Sharding) -> None:
        """Notes that an op reads an operand split so."""
        if self.homes[op.operands[number]] != sharding:
            self.reads[op, number] = sharding

    def _decide_block(self, block: Block) -> None:
        for op in block.ops:
            match op:
                case ShardOp():
                    self._settle(op.result, self._pinned_values[op.result], "annotated")
                case _ if isinstance(op, ShardingOp | _ENDS):
                    pass
                case graph.ManualComputationOp():
                    self._read_manual(op)
                case _ if isinstance(op, WITH_REGIONS):
                    self._decide_regions(op)
                case func.CallOp():
                    raise PassFailedException(f"{op.name}: cannot be partitioned (hint: run inline-calls)")
                case _:
                    self._decide_op(op)

    def _decide_regions(self, op: Operation) -> None:
        for result, arguments in zip(op.results, carried_arguments(op), strict=True):
            self._settle_carried(result, arguments)
        for region in op.regions:
            for argument in region.block.args:
                if argument not in self.homes:
                    self._settle(argument, self._hints.of(argument), "as its readers want it")
            self._decide_block(region.block)
        self._read_regions(op)

    def _settle_carried(self, result: SSAValue, arguments: Sequence[SSAValue]) -> None:
        """Decides how a result is split, and the arguments of regions that become it."""
        carried = [result, *arguments]
        said = [self._pinned_values[value] for value in carried if value in self._pinned_values]
        home = said[0] if said else self._hints.of(result)
        if is_stack(result):
            home = Sharding(((), *home.split[1:]))
        for value in carried:
            self.homes[value] = home
            self.reasons[value] = "annotated" if said else "whole" if home.is_whole else "carried"

    def _read_regions(self, op: Operation) -> None:
        """Notes how operands and what is yielded are read to be split as the values that they become."""
        carried = [self.homes[result] for result in op.results]
        if isinstance(op, graph.ScanOp):
            count = len(op.initial)
            for number, row in enumerate(op.slices, count):
                if axes := self.homes[op.operands[number]].split[0]:
                    self._check_gather(op, number, 0, axes)
                self._read(op, number, Sharding(((), *self.homes[row].split)))
            carried = [*carried[:count], *(Sharding(home.split[1:]) for home in carried[count:])]
        if isinstance(op, graph.ScanOp | graph.WhileOp):
            for number, home in enumerate(carried[: len(op.initial)]):
                self._read(op, number, home)
        for region in op.regions:
            last = region.block.last_op
            if isinstance(last, graph.YieldOp):
                for number, home in enumerate(carried):
                    self._read(last, number, home)

    def _read_manual(self, op: graph.ManualComputationOp) -> None:
        for number, sharding in enumerate(shardings_of(op.in_splits, self.mesh)):
            self._read(op, number, sharding)
        for result, sharding in zip(op.results, shardings_of(op.out_splits, self.mesh), strict=True):
            self._settle(result, sharding, "annotated")

    def _check_gather(self, op: Operation, number: int, dim: int, axes: tuple[int, ...]) -> None:
        if not self._allow_gather:
            why = WITHOUT_A_RULE.get(type(op))
            if why is None and type(op) not in RULES and not isinstance(op, WITH_REGIONS):
                why = "it has no rule"
            raise PassFailedException(
                f"{op.name}: dim {dim} of operand {number} is split over axes {self.mesh.axes_text(axes)} "
                f"and must be whole ({'' if why is None else f'{why}; '}allow_gather gathers it)"
            )

    def _decide_op(self, op: Operation) -> None:
        rule = rule_of(op)
        homes = [self.homes[value] for value in op.operands]
        self._check_whole(op, rule, homes)
        result = op.results[0] if len(op.results) == 1 else None
        hint = None if result is None else self._hints.of(result)
        chooser = Chooser(self.mesh, op, rule, homes, hint, result in self._pinned_values)
        choices = chooser.choices()
        best = choices[0]
        for number, dims in enumerate(rule.operands):
            needed = best.sharding(dims)
            split = tuple(
                home if (number, dim) in rule.loose and not _is_elsewhere(home, needed, dim) else want
                for dim, (home, want) in enumerate(zip(homes[number].split, needed.split, strict=True))
            )
            self._read(op, number, Sharding(split))
        reason = _reason(op, [choice.nbytes for choice in choices])
        for value in op.results:
            found = best.result if value is result and best.result is not None else None
            self._settle(value, found or Sharding.whole(len(extents(value))), reason)

    def _check_whole(self, op: Operation, rule: Rule, homes: list[Sharding]) -> None:
        for number, dim in rule.whole_dims():
            if axes := homes[number].split[dim]:
                self._check_gather(op, number, dim, axes)


_ENDS = func.ReturnOp | graph.YieldOp | graph.ConditionOp
"""What ends a block: it reads values as they are wanted outside."""


def _is_elsewhere(axes: tuple[int, ...], needed: Sharding, dim: int) -> bool:
    """Returns whether an axis is needed to split another dim."""
    return any(axis in other for at, other in enumerate(needed.split) if at != dim for axis in axes)


def _reason(op: Operation, nbytes: list[float]) -> str:
    if not op.operands:
        return "as its readers want it"
    others = sorted({round(each) for each in nbytes[1:]})
    best = round(nbytes[0])
    more = [each for each in others if each > best]
    if more:
        return f"sends {best} bytes, another way {more[0]}"
    return f"sends {best} bytes" if best else "as its operands"
