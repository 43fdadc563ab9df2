"""Functions of `stablehlo` as functions of `graph`."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, NameLoc, SymbolRefAttr
from xdsl.ir import Block, BlockArgument, Region
from xdsl.utils.exceptions import VerifyException

from ...dialects import stablehlo
from ...dialects.element_types import ELEMENT_TYPES
from ...dialects.modules.entry import check_single_block
from ...dialects.modules.parsing import location_text
from ...errors import TenonError
from .conversion import Conversion, element_of
from .rules import RULES


def expand_composites(module: ModuleOp) -> None:
    """Replaces composites by calls of the functions that say their meaning."""
    for op in list(module.walk()):
        if not isinstance(op, stablehlo.CompositeOp):
            continue
        if not isinstance(op.decomposition, SymbolRefAttr):
            raise TenonError(f"{op.name}: decomposition is no function", location=location_text(op.location))
        call = func.CallOp(op.decomposition, op.operands, list(op.result_types))
        call.location = op.location
        block = op.parent
        assert block is not None, "in no block"
        block.insert_op_before(call, op)
        for old, new in zip(op.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()


def convert_functions(module: ModuleOp) -> None:
    """
    Converts all functions of a module.

    Raises:
        TenonError: an op is wrong, or has no conversion; the message lists all of those.
    """
    conversions = [_convert(op) for op in module.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    total = Conversion(Block(), RULES)
    for conversion in conversions:
        total.unsupported_ops += Counter(conversion.unsupported_ops)
        total.first_place = total.first_place or conversion.first_place
    total.check_supported()
    for conversion in conversions:
        for who, op in conversion.unverified:
            try:
                op.verify_()
            except VerifyException as error:
                text = " ".join(str(error).split())
                raise TenonError(f"{who}: {text}", location=location_text(op.location)) from error


def _convert(function: func.FuncOp) -> Conversion:
    check_single_block(function)
    old = function.body.block
    block = Block(arg_types=[argument.type for argument in old.args])
    for argument, before in zip(block.args, old.args, strict=True):
        argument.location, argument.name_hint = before.location, _name_of(before)
    conversion = Conversion(block, RULES)
    for number, argument in enumerate(block.args):
        if element_of(argument.type) not in ELEMENT_TYPES:
            conversion.unsupported_ops[f"func.func (argument {number} is {argument.type})"] += 1
            conversion.first_place = conversion.first_place or function.location
    if conversion.unsupported_ops:
        return conversion
    last = conversion.convert_block(old, block.args)
    results = conversion.operands(last)
    end = func.ReturnOp(*results)
    end.location = last.location
    block.add_op(end)
    function.detach_region(function.body)
    function.add_region(Region(block))
    types = [value.type for value in results]
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in block.args], types)
    # What jax says of its arguments and results means nothing to other passes.
    function.properties.pop("arg_attrs", None)
    function.properties.pop("res_attrs", None)
    return conversion


def _name_of(argument: BlockArgument) -> str | None:
    """Returns the name of an argument: the one that its location has, as jax writes it."""
    location = argument.location
    if isinstance(location, NameLoc) and location.desc.data.isidentifier():
        return location.desc.data
    return argument.name_hint
