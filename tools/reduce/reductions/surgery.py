"""Small changes of IR that leave it consistent: signatures, uses, constants, types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, func, memref, vector
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    VectorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.traits import ConstantLike, IsTerminator

from ....dialects import graph, low, sched
from ....dialects.element_types import element_type_of, is_float
from ..search import NotApplicable

_EFFECTS = (
    *(memref.StoreOp, vector.StoreOp, low.AtomicRmwOp, low.BarrierOp),
    *(graph.WriteOp, graph.PrintOp, func.CallOp),
    *sched.ITEMS,
)
"""The ops that do something besides giving results."""


def is_dead(op: Operation) -> bool:
    """Returns whether an op has results that nobody uses, and does nothing else."""
    if not op.results or op.has_trait(IsTerminator) or any(result.uses for result in op.results):
        return False
    return not any(isinstance(inner, _EFFECTS) for inner in op.walk())


def erase(op: Operation) -> list[Operation]:
    """Erases an op whose results nobody uses. Returns the ops whose results nobody uses any more by that."""
    owners = {
        operand.owner: None
        for inner in op.walk()
        for operand in inner.operands
        if isinstance(operand, OpResult) and not _is_in(operand.owner, op)
    }
    op.detach()
    op.erase()
    return [owner for owner in owners if is_dead(owner)]


def _is_in(op: Operation, around: Operation) -> bool:
    here: Operation | None = op
    while here is not None and here is not around:
        here = here.parent_op()
    return here is around


def erase_all(ops: Iterable[Operation]) -> None:
    """Erases ops whose results nobody uses, and all that were there for them only."""
    waiting = list(ops)
    while waiting:
        op = waiting.pop()
        if op.parent is not None:
            waiting += erase(op)


def alike(ops: Iterable[Operation]) -> list[list[Operation]]:
    """Returns the ops in groups of equal name, attributes and types, if there are several, as first met."""
    groups: dict[tuple[object, ...], list[Operation]] = {}
    for op in ops:
        types = (tuple(op.operand_types), tuple(op.result_types))
        key = (op.name, *types, frozenset(op.properties.items()), frozenset(op.attributes.items()))
        groups.setdefault(key, []).append(op)
    return [group for group in groups.values() if len(group) > 1]


def retype(value: SSAValue, type: Attribute) -> None:
    """Gives a value another type."""
    value._type = type  # pyright: ignore[reportPrivateUsage]


def function_around(op: Operation) -> func.FuncOp | None:
    """Returns the function that an op stands in, None for other ops."""
    here: Operation | None = op
    while here is not None and not isinstance(here, func.FuncOp):
        here = here.parent_op()
    return here


def is_called(function: func.FuncOp) -> bool:
    """Returns whether the module of a function calls it."""
    module = function.parent_op()
    name = function.sym_name.data
    return module is not None and any(
        isinstance(op, func.CallOp) and op.callee.string_value() == name for op in module.walk()
    )


def return_of(function: func.FuncOp) -> func.ReturnOp:
    """Returns what ends a function that verifies."""
    last = function.body.block.last_op
    assert isinstance(last, func.ReturnOp), f"@{function.sym_name.data} ends in no func.return"
    return last


def free_functions(module: ModuleOp) -> list[func.FuncOp]:
    """Returns the functions with a body whose type may change, as nobody calls them."""
    return [
        op
        for op in module.body.ops
        if isinstance(op, func.FuncOp) and len(op.body.blocks) == 1 and not is_called(op)
    ]


def add_argument(function: func.FuncOp, type: Attribute, hint: str | None = None) -> BlockArgument:
    """Returns a new argument, the last one, of a function that nobody calls."""
    block = function.body.block
    argument = block.insert_arg(type, len(block.args))
    argument.name_hint = hint
    attributes = function.arg_attrs
    if attributes is not None:
        function.arg_attrs = ArrayAttr([*attributes.data, DictionaryAttr({})])
    _update_type(function)
    return argument


def drop_argument(function: func.FuncOp, argument: BlockArgument) -> None:
    """Erases an argument that nobody uses, of a function that nobody calls."""
    attributes = function.arg_attrs
    if attributes is not None:
        kept = [each for number, each in enumerate(attributes.data) if number != argument.index]
        function.arg_attrs = ArrayAttr(kept)
    function.body.block.erase_arg(argument)
    _update_type(function)


def set_results(function: func.FuncOp, values: Sequence[SSAValue]) -> list[Operation]:
    """
    Makes a function that nobody calls return other values. Returns the ops whose results nobody uses any more
    by that.
    """
    last = return_of(function)
    before = list(last.operands)
    last.operands = values
    function.res_attrs = None
    _update_type(function)
    owners = {value.owner: None for value in before}
    return [owner for owner in owners if isinstance(owner, Operation) and is_dead(owner)]


def _update_type(function: func.FuncOp) -> None:
    returned = [value.type for value in return_of(function).operands]
    taken = [argument.type for argument in function.body.block.args]
    function.function_type = FunctionType.from_lists(taken, returned)


def constant_of(type: Attribute, value: int) -> Operation:
    """
    Returns a new op whose result is a constant of a type: all elements are `value`.

    Raises `NotApplicable` for types without constants.
    """
    element = element_type_of(type)
    if isinstance(type, TensorType):
        tensor = cast("TensorType[Any]", type)
        if not tensor.has_static_shape():
            raise NotApplicable(f"no constants of {type}")
        return graph.ConstantOp(DenseIntOrFPElementsAttr.from_list(tensor, [_number(element, value)]))
    if isinstance(type, VectorType):
        vector_type = cast("VectorType[Any]", type)
        return arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(vector_type, [_number(element, value)]))
    if isinstance(type, IndexType | IntegerType):
        return arith.ConstantOp(IntegerAttr[Any](value, cast(Any, type)))
    if is_float(type):
        return arith.ConstantOp(FloatAttr(float(value), cast(AnyFloat, type)))
    raise NotApplicable(f"no constants of {type}")


def _number(element: Attribute, value: int) -> int | float:
    return float(value) if is_float(element) else value


def is_constant(op: Operation) -> bool:
    """Returns whether an op is a constant."""
    return op.has_trait(ConstantLike)


def move_body(body: Block, arguments: Sequence[SSAValue], before: Operation) -> list[SSAValue]:
    """
    Moves the ops of a body to where another op stands, and returns what its terminator, if it has one, gives.
    """
    for argument, value in zip(body.args, arguments, strict=True):
        argument.replace_all_uses_with(value)
    target = before.parent
    assert target is not None, "an op without a block"
    for op in list(body.ops):
        if op.has_trait(IsTerminator):
            return list(op.operands)
        op.detach()
        target.insert_op_before(op, before)
    return []
