"""
Converts programs of `stablehlo`, `chlo` and `sdy` to `graph`.

    func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %y = stablehlo.multiply %x, %x : tensor<4xf32>
      %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      return %s : tensor<f32>
    }

-->

    func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
      %y = graph.mul %x, %x : tensor<4xf32>
      %s = graph.reduce add %y axes [0] : tensor<4xf32> -> tensor<f32>
      func.return %s : tensor<f32>
    }

Calls and composites are put in first; private functions that nothing calls any more go. Locations stay.

Requires: verified `stablehlo`, `chlo`, `sdy`, `func`, and perhaps `graph` ops, in functions of one block.
Ensures: no op of `stablehlo`, `chlo` or `sdy` remains. What has no conversion is an error that lists every
such op of the module, with its count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, ModuleOp, NameLoc, SymbolRefAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import DimSymbol
from ...dialects.element_types import ELEMENT_TYPES
from ...dialects.graph import dims_of
from ...dialects.modules.entry import check_single_block
from ...dialects.modules.parsing import location_text
from ...dialects.stablehlo import chlo
from ...errors import TenonError
from ..graph.inline_calls import InlineCallsPass, is_private
from .argument_dims import argument_types
from .complex_numbers.boundary import bounded_type, paired, unpaired
from .complex_parts import part_type, take_apart
from .conversion import Conversion, element_of
from .device_grid import DeviceGrid
from .devices.hlo_shardings import read_old_shardings
from .devices.shardings import drop_void_annotations, write_grid, write_shardings
from .narrow_types import carried, wrapped
from .reduction import DYNAMIC_REDUCE_WINDOW
from .rules import RULES
from .sorting import APPROXIMATE_TOP_K


@dataclass(frozen=True)
class ConvertStablehloToGraphPass(ModulePass):
    """Converts programs of `stablehlo`, `chlo` and `sdy` to `graph`."""

    name = "convert-stablehlo-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not any(map(is_foreign, op.walk())):
            return
        expand_composites(op)
        InlineCallsPass().apply(ctx, op)
        convert_functions(op)


def is_foreign(op: Operation) -> bool:
    """Returns whether an op is of `stablehlo`, `chlo` or `sdy`."""
    return isinstance(op, stablehlo.StablehloOp | stablehlo.sdy.MeshOp)


def expand_composites(module: ModuleOp) -> None:
    """Replaces composites by calls of the functions that say their meaning, or by an op of it."""
    types = {op.sym_name.data: op.function_type for op in module.ops if isinstance(op, func.FuncOp)}
    replaced = set[str]()
    for op in list(module.walk()):
        if not isinstance(op, stablehlo.CompositeOp):
            continue
        name = op.decomposition.string_value() if isinstance(op.decomposition, SymbolRefAttr) else ""
        inputs = [operand.type for operand in op.operands]
        if types.get(name) != FunctionType.from_lists(inputs, list(op.result_types)):
            raise TenonError(
                f"{op.name}: decomposition is no function of its operands and results",
                location=location_text(op.location),
            )
        assert isinstance(op.decomposition, SymbolRefAttr), "its name is that of a function"
        known = _known_op(op)
        if known is not None:
            replaced.add(name)
        call = known or func.CallOp(op.decomposition, op.operands, list(op.result_types))
        call.location = op.location
        block = op.parent
        assert block is not None, "in no block"
        block.insert_op_before(call, op)
        for old, new in zip(op.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        op.detach()
        op.erase()
    called = {op.callee.string_value() for op in module.walk() if isinstance(op, func.CallOp)}
    for op in list(module.ops):
        if isinstance(op, func.FuncOp) and op.sym_name.data in replaced - called and is_private(op):
            op.detach()
            op.erase()


def _known_op(op: stablehlo.CompositeOp) -> Operation | None:
    """Returns the op that a composite stands for, where that is known to say more than its decomposition."""
    name = op.composite_name.data if op.composite_name is not None else ""
    attributes = op.composite_attributes
    if name != "chlo.top_k" or not isinstance(attributes, DictionaryAttr) or len(op.operands) != 1:
        return None
    said = attributes.data
    if set(said) != {"k"}:
        return None
    return chlo.TopKOp.create(operands=op.operands, result_types=op.result_types, properties={"k": said["k"]})


def convert_functions(module: ModuleOp) -> None:
    """
    Converts all functions of a module.

    Raises:
        TenonError: an op is wrong, or has no conversion; the message lists all of those.
    """
    dims = dims_of(module)
    declared = set(dims)
    computations = taken_computations(module)
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    read_old_shardings(module)
    drop_void_annotations(module)
    devices = DeviceGrid.of(module)
    conversions = [_convert(function, dims, devices, computations) for function in functions]
    for name, symbol in dims.items():
        if name not in declared:
            made = graph.DimOp(name, symbol.minimum, symbol.maximum)
            made.location = functions[0].location
            module.body.block.insert_op_before(made, functions[0])
    total = Conversion(Block(), RULES)
    for conversion in conversions:
        total.unsupported_ops += Counter(conversion.unsupported_ops)
        total.first_place = total.first_place or conversion.first_place
    total.check_supported()
    write_grid(module, devices)
    for conversion in conversions:
        for who, op in conversion.unverified:
            try:
                op.verify_()
            except VerifyException as error:
                text = " ".join(str(error).split())
                raise TenonError(f"{who}: {text}", location=location_text(op.location)) from error


def taken_computations(module: ModuleOp) -> dict[str, Region]:
    """
    Takes the functions out of a module that reduce windows along named dims, or compare elements for calls
    that ask for the greatest, and returns their bodies, as those of ops of `stablehlo`, by their names. One
    with such calls itself stays.
    """
    calls = [
        op
        for op in module.walk()
        if isinstance(op, stablehlo.CustomCallOp) and op.target in (DYNAMIC_REDUCE_WINDOW, APPROXIMATE_TOP_K)
    ]
    names = {name for call in calls for name in call.computations}
    found: dict[str, Region] = {}
    for op in list(module.ops):
        if not isinstance(op, func.FuncOp) or op.is_declaration or op.sym_name.data not in names:
            continue
        if any(op.is_ancestor(call) for call in calls):
            continue
        check_single_block(op)
        body = found[op.sym_name.data] = op.detach_region(op.body)
        op.detach()
        op.erase()
        last = body.block.last_op
        assert last is not None, "a function ends in what it returns"
        end = stablehlo.ReturnOp.create(operands=last.operands)
        end.location = last.location
        body.block.add_op(end)
        last.detach()
        last.erase()
    return found


def _returned_types(block: Block) -> list[Attribute]:
    """Returns the types of what the end of a function returns."""
    last = block.last_op
    assert last is not None, "a function ends in what it returns"
    return [value.type for value in last.operands]


def _convert(
    function: func.FuncOp,
    dims: dict[str, DimSymbol],
    devices: DeviceGrid | None,
    computations: Mapping[str, Region],
) -> Conversion:
    check_single_block(function)
    old = function.body.block
    types = argument_types(function, dims)
    block = Block(arg_types=[carried(bounded_type(type)) for type in types])
    for argument, before in zip(block.args, old.args, strict=True):
        argument.location, argument.name_hint = before.location, _name_of(before)
    declared, returned = [argument.type for argument in old.args], _returned_types(old)
    parted = take_apart(old)
    conversion = Conversion(block, RULES, dims, devices, computations, parted)
    for number, argument in enumerate(block.args):
        if element_of(argument.type) not in ELEMENT_TYPES:
            conversion.unsupported_ops[f"func.func (argument {number} is {argument.type})"] += 1
            conversion.first_place = conversion.first_place or function.location
    if devices is not None and any(part_type(type) is not None for type in (*declared, *returned)):
        conversion.unsupported_ops["func.func (complex numbers of several devices)"] += 1
        conversion.first_place = conversion.first_place or function.location
    if conversion.unsupported_ops:
        return conversion
    arguments: list[SSAValue] = []
    for argument, type in zip(block.args, declared, strict=True):
        if part_type(type) is not None:
            arguments += unpaired(conversion, argument)
        else:
            # What a caller gives need not be in the range of a narrow type.
            arguments.append(wrapped(conversion, argument, element_of(type) or argument.type))
    last = conversion.convert_block(old, arguments)
    conversion.location, values = last.location, iter(conversion.operands(last))
    results = [
        next(values) if part_type(type) is None else paired(conversion, next(values), next(values))
        for type in returned
    ]
    end = func.ReturnOp(*results)
    end.location = last.location
    block.add_op(end)
    function.detach_region(function.body)
    function.add_region(Region(block))
    types = [value.type for value in results]
    function.properties["function_type"] = FunctionType.from_lists([arg.type for arg in block.args], types)
    # What else jax says of its arguments and results means nothing to other passes.
    write_shardings(function, devices)
    return conversion


def _name_of(argument: BlockArgument) -> str | None:
    """Returns the name of an argument: the one that its location has, as jax writes it."""
    location = argument.location
    if isinstance(location, NameLoc) and location.desc.data.isidentifier():
        return location.desc.data
    return argument.name_hint
