"""
Separates what a function makes of frozen arguments into a function that runs once.

    func.func @f(%x: tensor<64x512xf32>, %w: tensor<512x1024xf32> {tenon.frozen}) -> tensor<64x1024xf32> {
      %r = graph.reshape %w : tensor<512x1024xf32> -> tensor<512x64x16xf32>
      %w_panels = graph.permute %r [1, 0, 2] {memory_mode = ...} : tensor<512x64x16xf32>
      ... %w_panels ...
    }

-->

    func.func @f(%x: tensor<64x512xf32>, %w: tensor<512x1024xf32> {tenon.frozen},
        %w_panels: tensor<64x512x16xf32> {tenon.frozen}) -> tensor<64x1024xf32> {
      ... %w_panels ...
    }
    func.func @f_preparation(%w: tensor<512x1024xf32> {tenon.frozen}) -> tensor<64x512x16xf32> {
      %r = graph.reshape %w : tensor<512x1024xf32> -> tensor<512x64x16xf32>
      %w_panels = graph.permute %r [1, 0, 2] {memory_mode = ...} : tensor<512x64x16xf32>
      func.return %w_panels : tensor<64x512x16xf32>
    }

Who calls `@f` gives it what `@f_preparation` has made of the same arrays. What is prepared is what a call
would compute or copy: views of frozen arguments stay, and so does what has more elements than twice the
argument that it is made of, as a bias for each row.

Requires: `inline-calls`. Ensures: results are those before; a function of whose frozen arguments nothing is
made is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ...dialects import graph
from ...dialects.modules.argument_marks import FROZEN
from ...dialects.modules.entry import preparation_name
from .packing.frozen_values import frozen_arguments, frozen_values, n_elements
from .same_bits import is_same_bits

MOST_GROWTH = 2
"""How many elements what is prepared may have for each one that it is made of: panels are filled up."""

_PARTS = ("rest", "preparation", "both")

_FROZEN = DictionaryAttr({FROZEN: UnitAttr()})


@dataclass(frozen=True)
class SeparatePreparationPass(ModulePass):
    """Separates what a function makes of frozen arguments into a function that runs once."""

    name = "separate-preparation"
    # Which of the two functions stays: rest, preparation or both.
    part: str = "both"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.part not in _PARTS:
            raise PassFailedException(f"{self.name}: part '{self.part}' is not one of {', '.join(_PARTS)}")
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and frozen_arguments(function):
                _separate(function, self.part)


def _separate(function: func.FuncOp, part: str) -> None:
    frozen = frozen_values([function])
    prepared = _prepared(function, frozen)
    if not prepared:
        return
    module = function.parent
    assert module is not None, "a function that stands nowhere"
    if part != "rest":
        module.insert_op_after(_preparation(function, prepared), function)
    if part == "preparation":
        function.detach()
        function.erase()
        return
    block = function.body.block
    for value in prepared:
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint, argument.location = value.name_hint, function.location
        value.replace_all_uses_with(argument)
    for op in reversed(list(block.ops)):
        if any(result in frozen for result in op.results) and all(r.first_use is None for r in op.results):
            op.detach()
            op.erase()
    assert function.arg_attrs is not None, "a function with frozen arguments"
    function.properties["arg_attrs"] = ArrayAttr([*function.arg_attrs.data, *[_FROZEN] * len(prepared)])
    outputs = list(function.function_type.outputs)
    function.properties["function_type"] = FunctionType.from_lists(
        [each.type for each in block.args], outputs
    )


def _prepared(function: func.FuncOp, frozen: dict[SSAValue, int]) -> list[SSAValue]:
    """Returns what is worth to be prepared of what the rest of a function needs, in the order of the ops."""
    arguments: set[SSAValue] = set(frozen_arguments(function))
    found: dict[SSAValue, None] = {}
    seen: set[SSAValue] = set()
    needed: list[SSAValue] = []
    for op in function.body.walk():
        if not any(result in frozen for result in op.results):
            needed += [value for value in op.operands if value in frozen]
    while needed:
        value = needed.pop()
        if value in seen or value in arguments:
            continue
        seen.add(value)
        owner = value.owner
        assert isinstance(owner, Operation), "a frozen value that no op makes"
        if not _is_view(owner) and n_elements(value) <= MOST_GROWTH * frozen[value]:
            found[value] = None
        else:
            needed += [operand for operand in owner.operands if operand in frozen]
    return [result for op in function.body.block.ops for result in op.results if result in found]


def _is_view(op: Operation) -> bool:
    """Returns whether an op only says at which index its source is read."""
    if is_same_bits(op) or isinstance(op, graph.NibbleOp):
        # Two numbers in a byte take less to read than each in its own.
        return True
    views = graph.ReshapeOp | graph.PermuteOp | graph.BroadcastOp | graph.SliceOp | graph.FlipOp
    return isinstance(op, views) and "memory_mode" not in op.attributes


def _preparation(function: func.FuncOp, prepared: Sequence[SSAValue]) -> func.FuncOp:
    """Returns a function of all frozen arguments that gives what is prepared of them."""
    arguments = frozen_arguments(function)
    block = Block(arg_types=[argument.type for argument in arguments])
    values: dict[SSAValue, SSAValue] = {}
    for argument, new in zip(arguments, block.args, strict=True):
        new.name_hint, new.location = argument.name_hint, argument.location
        values[argument] = new
    wanted: set[Operation] = set()
    waiting = [value.owner for value in prepared]
    while waiting:
        op = waiting.pop()
        if isinstance(op, Operation) and op not in wanted:
            wanted.add(op)
            waiting += [operand.owner for operand in op.operands]
    for op in function.body.block.ops:
        if op in wanted:
            block.add_op(op.clone(values))
    returned = func.ReturnOp(*[values[value] for value in prepared])
    returned.location = function.location
    block.add_op(returned)
    type = FunctionType.from_lists([each.type for each in block.args], [value.type for value in prepared])
    new = func.FuncOp(preparation_name(function.sym_name.data), type, Region([block]))
    new.properties["arg_attrs"] = ArrayAttr([_FROZEN] * len(arguments))
    new.location = function.location
    return new
