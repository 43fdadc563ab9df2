"""
Takes complex values apart: each becomes two values, its real and its imaginary parts, wherever values stand.

    %z = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xcomplex<f32>>) -> tensor<3x2xcomplex<f32>>

-->

    %z_re = stablehlo.transpose %x_re, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %z_im = stablehlo.transpose %x_im, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>

Ops that do the same to both parts are written twice; loops, branches and regions carry twice as many values.
Any other op has the parts of its operands and gives those of its results: what it says of complex numbers is
a rule of its own (`complex_numbers/rules.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import BytesAttr, ComplexType, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from ...dialects import stablehlo
from ...dialects.stablehlo import sdy

Pair = tuple[SSAValue, SSAValue]
"""The real parts and the imaginary parts of complex numbers."""


@dataclass(frozen=True)
class Parted:
    """Which operands and results of an op are complex numbers, before they were taken apart."""

    operands: tuple[bool, ...]
    results: tuple[bool, ...]


def part_type(type: Attribute) -> TensorType[Any] | None:
    """Returns the type of the parts of a tensor of complex numbers, None for another type."""
    if not isinstance(type, TensorType):
        return None
    tensor = cast(TensorType[Any], type)
    if not isinstance(tensor.element_type, ComplexType):
        return None
    element = cast(ComplexType[Any], tensor.element_type).element_type
    return TensorType(element, tensor.shape, tensor.encoding)


def take_apart(block: Block) -> dict[Operation, Parted]:
    """
    Takes all complex values of a block apart, its arguments and those in regions too. Returns the ops that
    have the parts of complex numbers without being the same for both.
    """
    work = _Parting()
    work.part_block(block)
    work.drop_what_was()
    return work.parted


class _Parting:
    def __init__(self) -> None:
        self.parted: dict[Operation, Parted] = {}
        self._pairs: dict[SSAValue, Pair] = {}
        self._done_ops: list[Operation] = []
        self._done_arguments: list[BlockArgument] = []

    def part_block(self, block: Block, group: int = 1) -> None:
        """Takes a block apart whose arguments are of one type in groups of so many."""
        arguments = block.args
        for begin in range(0, len(arguments), group):
            self._part_arguments(block, arguments[begin : begin + group])
        for op in list(block.ops):
            self._part(op)

    def _part_arguments(self, block: Block, arguments: Sequence[BlockArgument]) -> None:
        """Puts the real parts of arguments, and then the imaginary ones, behind them."""
        type = part_type(arguments[0].type)
        if type is None:
            return
        parts: list[BlockArgument] = []
        for name in ("re", "im"):
            for argument in arguments:
                part = block.insert_arg(type, arguments[-1].index + 1 + len(parts))
                part.location, part.name_hint = argument.location, _hint(argument, name)
                parts.append(part)
        for argument, re, im in zip(arguments, parts, parts[len(arguments) :], strict=False):
            self._pairs[argument] = (re, im)
            self._done_arguments.append(argument)

    def drop_what_was(self) -> None:
        """Erases what was taken apart, which nothing reads any more."""
        for op in reversed(self._done_ops):
            op.detach()
            op.erase(safe_erase=False)
        for argument in self._done_arguments:
            argument.block.erase_arg(argument, safe_erase=False)

    def _part(self, op: Operation) -> None:
        operands = tuple(part_type(value.type) is not None for value in op.operands)
        results = tuple(part_type(value.type) is not None for value in op.results)
        if not any((*operands, *results)):
            for region in op.regions:
                self._part_region(op, region)
            return
        if isinstance(op, stablehlo.ConstantOp):
            made = _constant_parts(op)
        elif _is_same_for_parts(op):
            made = [self._with_part(op, number) for number in range(2)]
        else:
            self._part_whole(op, Parted(operands, results))
            return
        for each in made:
            self._put(each, op)
        for number, result in enumerate(op.results):
            self._pairs[result] = (made[0].results[number], made[1].results[number])
        self._done_ops.append(op)

    def _part_whole(self, op: Operation, parted: Parted) -> None:
        """Writes an op with the parts of its operands and results, and of the arguments of its regions."""
        made = type(op).create(
            operands=[part for value in op.operands for part in self._pairs.get(value, (value,))],
            result_types=[each for type in op.result_types for each in _types(type)],
            properties=op.properties,
            attributes=op.attributes,
            regions=[op.detach_region(region) for region in list(op.regions)],
        )
        self._put(made, op)
        new = iter(made.results)
        for result, is_complex in zip(op.results, parted.results, strict=True):
            if is_complex:
                self._pairs[result] = (next(new), next(new))
            else:
                kept = next(new)
                kept.name_hint = result.name_hint
                result.replace_all_uses_with(kept)
        self._done_ops.append(op)
        for region in made.regions:
            self._part_region(made, region)
        if not isinstance(made, _CARRYING):
            self.parted[made] = parted

    def _part_region(self, op: Operation, region: Region) -> None:
        for block in region.blocks:
            self.part_block(block, 2 if isinstance(op, stablehlo.SortOp) else 1)

    def _with_part(self, op: Operation, number: int) -> Operation:
        """Returns an op of the real parts, or of the imaginary ones, of its operands."""
        made = type(op).create(
            operands=[self._pairs[value][number] if value in self._pairs else value for value in op.operands],
            result_types=[part_type(type) or type for type in op.result_types],
            properties=op.properties,
            attributes=op.attributes,
            regions=[region.clone() for region in op.regions],
        )
        for region in made.regions:
            for value in (*region.block.args, *(result for each in region.walk() for result in each.results)):
                value._type = part_type(value.type) or value.type  # pyright: ignore[reportPrivateUsage]
        return made

    def _put(self, made: Operation, op: Operation) -> None:
        block = op.parent
        assert block is not None, "in no block"
        made.location = op.location
        for inner, outer in zip(made.walk(), op.walk(), strict=False):
            inner.location = outer.location
        block.insert_op_before(made, op)


_CARRYING = (
    stablehlo.EndOp
    | stablehlo.WhileOp
    | stablehlo.IfOp
    | stablehlo.CaseOp
    | stablehlo.ReduceOp
    | stablehlo.ReduceWindowOp
    | stablehlo.ScatterOp
    | stablehlo.SortOp
    | stablehlo.OptimizationBarrierOp
    | func.ReturnOp
)
"""Ops of any number of values, of which parts are more."""

_SAME = (
    stablehlo.AddOp
    | stablehlo.AllGatherOp
    | stablehlo.AllToAllOp
    | stablehlo.BroadcastInDimOp
    | stablehlo.CollectiveBroadcastOp
    | stablehlo.CollectivePermuteOp
    | stablehlo.ConcatenateOp
    | stablehlo.DynamicBroadcastInDimOp
    | stablehlo.DynamicGatherOp
    | stablehlo.DynamicPadOp
    | stablehlo.DynamicReshapeOp
    | stablehlo.DynamicSliceOp
    | stablehlo.DynamicUpdateSliceOp
    | stablehlo.GatherOp
    | stablehlo.NegateOp
    | stablehlo.PadOp
    | stablehlo.RealDynamicSliceOp
    | stablehlo.ReshapeOp
    | stablehlo.ReverseOp
    | stablehlo.SelectOp
    | stablehlo.SetDimensionSizeOp
    | stablehlo.SliceOp
    | stablehlo.SubtractOp
    | stablehlo.TransposeOp
    | sdy.ReshardOp
    | sdy.ShardingConstraintOp
)
"""Ops that do the same to both parts."""

_COMBINING = (
    stablehlo.ReduceOp
    | stablehlo.ReduceWindowOp
    | stablehlo.ScatterOp
    | stablehlo.AllReduceOp
    | stablehlo.ReduceScatterOp
)
"""Ops that do so where their region adds, or takes one of its elements as it is."""


def _is_same_for_parts(op: Operation) -> bool:
    if isinstance(op, _SAME):
        return True
    if not isinstance(op, _COMBINING) or len(op.results) != 1:
        return False
    first, last = op.regions[0].block.first_op, op.regions[0].block.last_op
    assert first is not None and last is not None, "verified"
    if first is last:
        return True
    return isinstance(first, stablehlo.AddOp) and first.next_op is last and first.results == last.operands


def _types(type: Attribute) -> Sequence[Attribute]:
    part = part_type(type)
    return (type,) if part is None else (part, part)


def _hint(value: SSAValue, part: str) -> str | None:
    return None if value.name_hint is None else f"{value.name_hint}_{part}"


def _constant_parts(op: stablehlo.ConstantOp) -> list[Operation]:
    """Returns the constants of the parts; the bytes of a complex number are those of both, one by one."""
    value = op.value
    assert isinstance(value, DenseIntOrFPElementsAttr), "a constant of complex numbers"
    type = part_type(op.results[0].type)
    assert type is not None, "of complex numbers"
    raw = cast("DenseIntOrFPElementsAttr[Any]", value).data.data
    numbers = np.frombuffer(raw, f"V{type.element_type.size}")
    made: list[Operation] = []
    for number in range(2):
        data = BytesAttr(numbers[number::2].tobytes())
        dense: DenseIntOrFPElementsAttr[Any] = DenseIntOrFPElementsAttr(type, data)
        made.append(stablehlo.ConstantOp.create(result_types=(type,), properties={"value": dense}))
    return made
