"""
Replaces vectors by as many scalars, for backends that have no rules for them.

    %v = vector.load %x[%i] : memref<8xf32>, vector<2xf32>
    %d = arith.addf %v, %v : vector<2xf32>

-->

    %v = memref.load %x[%i] : memref<8xf32>
    %i_1 = arith.addi %i, %c1 : index
    %v_1 = memref.load %x[%i_1] : memref<8xf32>
    %d = arith.addf %v, %v : f32
    %d_1 = arith.addf %v_1, %v_1 : f32

Values that loops carry and branches yield become scalars too. A broadcast and a transposition leave no op
behind; a reduction combines the scalars in the order that it has for lanes.

Requires: nothing. Ensures: no vector remains in a kernel; what the module computes is unchanged, bit for bit.
Raises PassFailedException for an op on vectors that kernels do not know.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...dialects import low
from ...dialects.element_types import element_type_of, is_float, lanes_of
from ...dialects.low.combining import FLOAT_REDUCTIONS, INTEGER_REDUCTIONS
from ...dialects.xdsl_fixes import dense_values, is_splat
from .kernel_front import KernelFront

_LANE_BY_LANE = frozenset(
    op for op in low.BODY_OPS if op.name.partition(".")[0] in (arith.Arith.name, math.Math.name)
) | {low.SelectOp, low.ConvertOp, low.RemfOp, low.LdexpOp}

_CONTROL = (scf.ForOp, scf.IfOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)


@dataclass(frozen=True)
class ExpandVectorsPass(ModulePass):
    """Replaces vectors by as many scalars."""

    name = "expand-vectors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, low.KernelOp):
                expansion = _Expansion(KernelFront(kernel.body.block))
                expansion.expand_block(kernel.body.block)
                expansion.finish()


@dataclass
class _Expansion:
    """The scalars of each vector of a kernel, and the ops that they take the place of."""

    front: KernelFront
    scalars: dict[SSAValue, list[SSAValue]] = field(default_factory=dict[SSAValue, list[SSAValue]])
    replaced: list[Operation] = field(default_factory=list[Operation])

    def expand_block(self, block: Block) -> None:
        for argument in list(block.args):
            lanes = lanes_of(argument.type)
            if lanes is None:
                continue
            element = element_type_of(argument.type)
            place = argument.index + 1
            self.scalars[argument] = [block.insert_arg(element, place + lane) for lane in range(lanes)]
            for scalar in self.scalars[argument]:
                scalar.name_hint = argument.name_hint
        for op in list(block.ops):
            self._expand(op)

    def finish(self) -> None:
        """Erases the vectors, which nothing uses any more."""
        for op in reversed(self.replaced):
            op.detach()
            op.erase()
        for value in self.scalars:
            if isinstance(value, BlockArgument):
                value.block.erase_arg(value)
        self.front.insert()

    def _expand(self, op: Operation) -> None:
        values = (*op.operands, *op.results)
        has_vector = any(lanes_of(value.type) is not None for value in values)
        if isinstance(op, _CONTROL):
            for region in op.regions:
                for block in region.blocks:
                    self.expand_block(block)
            if has_vector:
                self._expand_control(op)
            return
        if not has_vector:
            return
        rule = _RULES.get(type(op))
        if rule is not None:
            rule(self, op)
        elif type(op) in _LANE_BY_LANE:
            self._lane_by_lane(op)
        else:
            raise PassFailedException(f"{op.name}: expand-vectors has no rule for it (not an op of kernels)")
        self.replaced.append(op)

    def _expand_control(self, op: Operation) -> None:
        """Puts an op in the place of `op` that takes and gives scalars; its regions are those of `op`."""
        types = [
            element_type_of(result.type) for result in op.results for _ in range(lanes_of(result.type) or 1)
        ]
        new = type(op).create(
            operands=[scalar for operand in op.operands for scalar in self.scalars.get(operand, [operand])],
            result_types=types,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=[op.detach_region(region) for region in list(op.regions)],
        )
        self._insert(new, op)
        found = iter(new.results)
        for result in op.results:
            lanes = lanes_of(result.type)
            scalars: list[SSAValue] = [next(found) for _ in range(lanes or 1)]
            for scalar in scalars:
                scalar.name_hint = result.name_hint
            if lanes is None:
                result.replace_all_uses_with(scalars[0])
            else:
                self.scalars[result] = scalars
        self.replaced.append(op)

    def _lane_by_lane(self, op: Operation) -> None:
        (result,) = op.results
        element, lanes = element_type_of(result.type), lanes_of(result.type) or 1
        self.scalars[result] = [
            self._value(
                type(op).create(
                    operands=[self.scalars[operand][lane] for operand in op.operands],
                    result_types=[element],
                    properties=dict(op.properties),
                    attributes=dict(op.attributes),
                ),
                op,
            )
            for lane in range(lanes)
        ]

    def constant(self, op: Operation) -> None:
        assert isinstance(op, arith.ConstantOp), f"{op.name} is no constant"
        value = op.value
        assert isinstance(value, DenseIntOrFPElementsAttr), f"a vector is {value}"
        numbers = dense_values(value)
        distinct = numbers[:1] if is_splat(value) else numbers
        scalars = [self._value(_constant(number, value.get_element_type()), op) for number in distinct]
        self.scalars[op.result] = scalars * (len(numbers) // len(scalars))

    def load(self, op: Operation) -> None:
        assert isinstance(op, vector.LoadOp), f"{op.name} is no load"
        places = self._places(op.indices[0], lanes_of(op.result.type) or 1, op)
        loads = [memref.LoadOp.get(op.base, [place]) for place in places]
        loads[0].attributes.update(op.attributes)
        self.scalars[op.result] = [self._value(load, op) for load in loads]

    def store(self, op: Operation) -> None:
        assert isinstance(op, vector.StoreOp), f"{op.name} is no store"
        scalars = self.scalars[op.vector]
        places = self._places(op.indices[0], len(scalars), op)
        for scalar, place in zip(scalars, places, strict=True):
            self._insert(memref.StoreOp.get(scalar, op.base, [place]), op)

    def broadcast(self, op: Operation) -> None:
        (result,) = op.results
        self.scalars[result] = [op.operands[0]] * (lanes_of(result.type) or 1)

    def reverse(self, op: Operation) -> None:
        self.scalars[op.results[0]] = self.scalars[op.operands[0]][::-1]

    def transpose(self, op: Operation) -> None:
        rows = [self.scalars[row] for row in op.operands]
        for number, column in enumerate(op.results):
            self.scalars[column] = [row[number] for row in rows]

    def reduce(self, op: Operation) -> None:
        """Combines the upper half of the lanes into the lower half until one is left, and the accumulator."""
        assert isinstance(op, vector.ReductionOp), f"{op.name} is no reduction"
        combiners = FLOAT_REDUCTIONS if is_float(op.dest.type) else INTEGER_REDUCTIONS
        combiner = combiners.get(op.kind.data)
        if combiner is None:
            raise PassFailedException(f"{op.name}: cannot combine {op.vector.type} by {op.kind.data.value}")
        flags = {"fastmath": op.fastmath} if is_float(op.dest.type) else {}

        def combine(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
            one = combiner.create(operands=(lhs, rhs), result_types=(lhs.type,), properties=dict(flags))
            return self._value(one, op)

        scalars = self.scalars[op.vector]
        while len(scalars) > 1:
            half = len(scalars) // 2
            scalars = [combine(*pair) for pair in zip(scalars[:half], scalars[half:], strict=True)]
        op.dest.replace_all_uses_with(scalars[0] if op.acc is None else combine(op.acc, scalars[0]))

    def _places(self, first: SSAValue, lanes: int, op: Operation) -> list[SSAValue]:
        """Returns the indices of as many neighbouring elements."""
        places = [first]
        for lane in range(1, lanes):
            distance = self.front.index(lane, op.location)
            places.append(self._value(arith.AddiOp(first, distance), op))
        return places

    def _value(self, new: Operation, op: Operation) -> SSAValue:
        self._insert(new, op)
        new.results[0].name_hint = op.results[0].name_hint if op.results else "at"
        return new.results[0]

    def _insert(self, new: Operation, op: Operation) -> None:
        """Puts `new` before `op`, which it is written for."""
        block = op.parent
        assert block is not None, f"{op.name} stands in no block"
        new.location = op.location
        block.insert_op_before(new, op)


def _constant(number: float, type: Attribute) -> Operation:
    value: Attribute
    if isinstance(type, AnyFloat):
        value = FloatAttr(float(number), type)
    else:
        assert isinstance(type, IntegerType | IndexType), f"a constant of {type}"
        value = IntegerAttr(int(number), cast("IntegerType | IndexType", type), truncate_bits=True)
    return arith.ConstantOp.create(result_types=(value.type,), properties={"value": value})


_RULES: dict[type[Operation], Callable[[_Expansion, Operation], None]] = {
    arith.ConstantOp: _Expansion.constant,
    vector.LoadOp: _Expansion.load,
    vector.StoreOp: _Expansion.store,
    vector.BroadcastOp: _Expansion.broadcast,
    vector.ReductionOp: _Expansion.reduce,
    low.ReverseOp: _Expansion.reverse,
    low.TransposeOp: _Expansion.transpose,
}
