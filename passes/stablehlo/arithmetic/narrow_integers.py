"""
Integers of 2 and 4 bits, which `graph` has no types for.

They are carried in integers of 8 bits that hold the same numbers: i4 in an i8 of -8 to 7, ui2 in a ui8 of 0
to 3. What moves elements, compares or chooses among them is as it is over their carriers. Where a result may
leave the range, its low bits are taken, as in arithmetic of so many bits. What reads single bits has rules of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerType, Signedness, TensorType, i8
from xdsl.ir import Operation, SSAValue

from ....algorithms.emitter import Emitter, is_unsigned, width_of
from ....dialects import graph, stablehlo
from ....dialects.element_types import ui8
from ....dialects.graph import tensor_of
from ....dialects.stablehlo import chlo, sdy
from ..conversion import Conversion, Rule, element_of
from ..elementwise import leading_zeros, popcnt, unified
from ..narrow_types import carrier_of, wrapped

_MOVING: tuple[type[Operation], ...] = (
    *(stablehlo.AndOp, stablehlo.OrOp, stablehlo.XorOp, stablehlo.MaximumOp, stablehlo.MinimumOp),
    *(stablehlo.ClampOp, stablehlo.CompareOp, stablehlo.SelectOp, stablehlo.SignOp),
    *(stablehlo.BroadcastInDimOp, stablehlo.ConcatenateOp, stablehlo.PadOp, stablehlo.ReshapeOp),
    *(stablehlo.ReverseOp, stablehlo.SliceOp, stablehlo.TransposeOp, stablehlo.OptimizationBarrierOp),
    *(stablehlo.DynamicSliceOp, stablehlo.DynamicUpdateSliceOp, stablehlo.DynamicBroadcastInDimOp),
    *(stablehlo.DynamicPadOp, stablehlo.DynamicReshapeOp, stablehlo.RealDynamicSliceOp),
    *(stablehlo.DynamicGatherOp, stablehlo.GatherOp, stablehlo.GetDimensionSizeOp),
    *(stablehlo.SortOp, chlo.TopKOp, stablehlo.CaseOp, stablehlo.IfOp, stablehlo.WhileOp, stablehlo.MapOp),
    *(stablehlo.TupleOp, stablehlo.GetTupleElementOp, sdy.ReshardOp, sdy.ShardingConstraintOp),
)
"""Ops whose results are in the range where their operands are."""

_COMPUTING: tuple[type[Operation], ...] = (
    *(stablehlo.AbsOp, stablehlo.AddOp, stablehlo.DivideOp, stablehlo.MultiplyOp, stablehlo.NegateOp),
    *(stablehlo.NotOp, stablehlo.PowerOp, stablehlo.RemainderOp, stablehlo.SubtractOp, chlo.SquareOp),
    *(stablehlo.ConvertOp, stablehlo.IotaOp, stablehlo.DynamicIotaOp, stablehlo.ShiftLeftOp),
    *(stablehlo.DotOp, stablehlo.DotGeneralOp, stablehlo.ConvolutionOp),
    *(stablehlo.ReduceOp, stablehlo.ReduceWindowOp, stablehlo.ScatterOp, stablehlo.SelectAndScatterOp),
)
"""Ops whose results over the carriers are right in the low bits."""


def rules_of(rules: Mapping[type[Operation], Rule]) -> dict[type[Operation], Rule]:
    """Returns what each op becomes that takes or gives narrow integers; others have no conversion of them."""
    constant = rules[stablehlo.ConstantOp]

    def carried_constant(c: Conversion, op: stablehlo.ConstantOp) -> Sequence[SSAValue] | SSAValue:
        return constant(c, _carried_constant(op))

    found: dict[type[Operation], Rule] = {op: rules[op] for op in _MOVING}
    found |= {op: _wrapping(rules[op]) for op in _COMPUTING}
    found |= {op: _wrapping(rule) for op, rule in _OF_BITS.items()}
    found[stablehlo.BitcastConvertOp] = rules[stablehlo.BitcastConvertOp]
    found[stablehlo.ConstantOp] = carried_constant
    return found


def _wrapping(rule: Rule) -> Rule:
    """Returns the rule that gives the low bits of what `rule` gives."""

    def wrapping(c: Conversion, op: Operation) -> Sequence[SSAValue]:
        made = rule(c, op)
        results = (made,) if isinstance(made, SSAValue) else tuple(made)
        return [
            wrapped(c, value, element_of(result.type) or i8)
            for value, result in zip(results, op.results, strict=False)
        ]

    return wrapping


def _low_bits(c: Emitter, x: SSAValue, width: int) -> SSAValue:
    """Returns the bits of a carrier as a number without a sign."""
    return c.binary(graph.AndOp, c.bitcast(x, ui8), (1 << width) - 1)


def _of_bits(function: Callable[[Emitter, SSAValue, int], SSAValue]) -> Rule:
    """Returns the rule of an op of one value, written by a function of its bits and its width."""

    def rule(c: Conversion, op: Operation) -> SSAValue:
        element = element_of(op.operands[0].type)
        assert element is not None, "a tensor"
        x, width = c.operand(op, 0), width_of(element)
        return c.bitcast(function(c, _low_bits(c, x, width), width), c.element(x))

    return rule


def _shift_right(signedness: Signedness) -> Rule:
    """
    Returns the rule of the right shift of the bits as integers of this sign. An amount is one without a sign,
    and beyond the width as it is beyond that of the carrier: nothing is left but the sign.
    """

    def rule(c: Conversion, op: Operation) -> SSAValue:
        x, y = unified(c, c.operands(op))
        element = element_of(op.operands[0].type)
        assert element is not None, "a tensor"
        width, carrier = width_of(element), c.element(x)
        bits, amount = _low_bits(c, x, width), _low_bits(c, y, width)
        if signedness is Signedness.SIGNLESS:
            value = wrapped(c, c.bitcast(bits, i8), IntegerType(width))
            return c.bitcast(c.binary(graph.ShrOp, value, c.bitcast(amount, i8)), carrier)
        return c.bitcast(c.binary(graph.ShrOp, bits, amount), carrier)

    return rule


def _mulhi(c: Conversion, op: Operation) -> SSAValue:
    """The upper half of the product, all of which the carrier holds."""
    element = element_of(op.operands[0].type)
    assert element is not None, "a tensor"
    product = c.binary(graph.MulOp, *unified(c, c.operands(op)))
    return c.binary(graph.ShrOp, product, width_of(element))


_OF_BITS: dict[type[Operation], Rule] = {
    stablehlo.CountLeadingZerosOp: _of_bits(
        lambda c, bits, width: c.binary(graph.SubOp, leading_zeros(c, bits), 8 - width)
    ),
    stablehlo.PopcntOp: _of_bits(lambda c, bits, width: popcnt(c, bits)),
    stablehlo.ShiftRightArithmeticOp: _shift_right(Signedness.SIGNLESS),
    stablehlo.ShiftRightLogicalOp: _shift_right(Signedness.UNSIGNED),
    chlo.MulhiOp: _mulhi,
}


def _carried_constant(op: stablehlo.ConstantOp) -> stablehlo.ConstantOp:
    """Returns a constant of carriers: bytes, of which the low bits are what is meant."""
    value = op.value
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return op
    dense = cast("DenseIntOrFPElementsAttr[Any]", value)
    type = cast(TensorType[Any], dense.type)
    element = type.element_type
    width, half = width_of(element), 1 << (width_of(element) - 1)
    mask = (1 << width) - 1
    low = (byte & mask for byte in range(256))
    table = bytes(each if is_unsigned(element) or each < half else (each - mask - 1) & 255 for each in low)
    carried = DenseIntOrFPElementsAttr(
        tensor_of(carrier_of(element), type.get_shape()), BytesAttr(dense.data.data.translate(table))
    )
    made = stablehlo.ConstantOp.create(result_types=[op.results[0].type], properties={"value": carried})
    made.location = op.location
    return made
