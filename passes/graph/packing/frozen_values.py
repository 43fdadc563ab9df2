"""Which values of a function are made of frozen arguments, and of nothing that changes between calls."""

from __future__ import annotations

from collections.abc import Container, Iterable
from math import prod

from xdsl.dialects import func
from xdsl.ir import BlockArgument, Operation, SSAValue

from ....dialects import graph
from ....dialects.graph.types import tensor_type_of
from ....dialects.modules.argument_marks import FROZEN
from ...rewriting.op_effects import is_movable
from .loop_invariants import is_in_loops_only, viewed


def frozen_arguments(function: func.FuncOp) -> list[BlockArgument]:
    """Returns the arguments of a function that have the same elements at each call."""
    attributes = function.arg_attrs
    if attributes is None or function.is_declaration:
        return []
    pairs = zip(function.body.block.args, attributes.data, strict=True)
    return [argument for argument, each in pairs if FROZEN in each.data]


def frozen_values(functions: Iterable[Operation]) -> dict[SSAValue, int]:
    """
    Returns the values outside of loops and branches that are made of frozen arguments and constants, and of
    one frozen argument at least. Each has the number of elements of the largest one that it is made of.
    """
    found: dict[SSAValue, int] = {}
    for function in functions:
        if isinstance(function, func.FuncOp) and (arguments := frozen_arguments(function)):
            for argument in arguments:
                found[argument] = n_elements(argument)
            constants: set[SSAValue] = set()
            for op in function.body.block.ops:
                if not isinstance(op, graph.GraphOp) or op.regions or not is_movable(op):
                    continue
                if all(value in found or value in constants for value in op.operands):
                    sizes = [found[value] for value in op.operands if value in found]
                    if not tensor_type_of(op.results[0], op.name).has_static_shape():
                        continue
                    if sizes:
                        found[op.results[0]] = max(sizes)
                    else:
                        constants.add(op.results[0])
    return found


def is_frozen(op: Operation, value: SSAValue, frozen: Container[SSAValue]) -> bool:
    """
    Returns whether an operand of an op is one of `frozen`, or a view of one, and what is made of it before
    the op is moved out of all that is around it: out of loops, but not out of branches.
    """
    return (value in frozen or viewed(value) in frozen) and is_in_loops_only(op)


def n_elements(value: SSAValue) -> int:
    """Returns how many elements a value of numbers of them has."""
    return prod(tensor_type_of(value, "frozen").get_shape())
