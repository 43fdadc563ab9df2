"""Control flow, tuples, and calls of custom code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.emitter import yield_of
from ...algorithms.matrices import stacked_types
from ...dialects import graph, stablehlo
from ...dialects.graph import tensor_of
from ...dialects.graph.control import COUNTER
from ...dialects.graph.types import check_axes
from ...dialects.stablehlo import chlo
from .conversion import Conversion, Rule
from .reduction import DYNAMIC_REDUCE_WINDOW, dynamic_reduce_window
from .sorting import APPROXIMATE_TOP_K, approximate_top_k


def _while(c: Conversion, op: stablehlo.WhileOp) -> Sequence[SSAValue]:
    carried = c.operands(op)
    types = [value.type for value in carried]
    before = c.region(op.regions[0], types, lambda found: graph.ConditionOp(found[0]), 1)
    body = c.region(op.regions[1], types, yield_of)
    return c.put(graph.WhileOp(carried, before, body)).results


def _scan(c: Conversion, op: chlo.ScanOp) -> Sequence[SSAValue]:
    """As `graph.scan`, whose slices are along axis 0, and which has what is carried first."""
    n = len(op.operands) - op.n_carried
    values, axis = c.operands(op), op.number("dimension", 0)
    inputs, initial = values[:n], values[n:]
    for each in inputs:
        check_axes(op.name, (axis,), c.type(each), "operand")
    lengths = {c.shape(each)[axis] for each in inputs}
    length = next(iter(lengths), op.number("scan_dim_size", 0))
    if len(lengths) > 1:
        raise VerifyException(f"{op.name}: inputs are {', '.join(str(c.type(each)) for each in inputs)}")
    stacks = [
        c.permute(each, [axis, *(k for k in range(len(c.shape(each))) if k != axis)]) for each in inputs
    ]
    types = [each.type for each in initial]
    slices = [tensor_of(c.element(each), c.shape(each)[1:]) for each in stacks]
    inner = Block(arg_types=[COUNTER, *types, *slices])
    carried, given = inner.args[1 : 1 + len(types)], inner.args[1 + len(types) :]
    n_outputs = len(op.results) - len(types)

    def write() -> list[SSAValue]:
        found = c.inline(op.regions[0].block, [*given, *carried], len(op.results))
        return [*found[n_outputs:], *found[:n_outputs]]

    body = c.nested(write, yield_of, inner)
    outputs = stacked_types(body, length)[len(types) :]
    made = c.put(
        graph.ScanOp(length, initial, stacks, [*types, *outputs], body, op.number("is_reverse", 0) != 0)
    )
    last, found = list(made.results[: len(types)]), made.results[len(types) :]
    moved = [
        c.permute(each, [*range(1, axis + 1), 0, *range(axis + 1, len(c.shape(each)))]) for each in found
    ]
    return [*moved, *last]


def _if(c: Conversion, op: stablehlo.IfOp) -> Sequence[SSAValue]:
    return _either(c, c.operand(op, 0), c.region(op.regions[0], (), yield_of), op.regions[1:])


def _either(c: Conversion, condition: SSAValue, then: Region, others: Sequence[Region]) -> Sequence[SSAValue]:
    last = then.block.last_op
    assert last is not None, "no graph.yield"
    types: list[Attribute] = [value.type for value in last.operands]
    otherwise = c.region(others[0], (), yield_of)
    return c.put(graph.IfOp(condition, types, then, otherwise)).results


def _case(c: Conversion, op: stablehlo.CaseOp) -> Sequence[SSAValue]:
    """One branch after the other, the last one for all other numbers."""
    number = c.operand(op, 0)
    if c.element(number) != i32 or c.shape(number):
        raise VerifyException(f"{op.name}: {c.type(number)} is not tensor<i32>")
    return _cases(c, number, op.regions, 0)


def _cases(c: Conversion, number: SSAValue, regions: Sequence[Region], at: int) -> Sequence[SSAValue]:
    if at + 1 == len(regions):
        return c.inline(regions[at].block, ())
    condition = c.binary(graph.EqOp, number, at)
    then = c.region(regions[at], (), yield_of)
    last = then.block.last_op
    assert last is not None, "no graph.yield"
    types: list[Attribute] = [value.type for value in last.operands]
    otherwise = c.nested(lambda: list(_cases(c, number, regions, at + 1)), yield_of)
    return c.put(graph.IfOp(condition, types, then, otherwise)).results


_TRANSPARENT = frozenset(
    (
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "annotate_device_placement",
        "LayoutConstraint",
    )
)
"""Custom calls that say where values are, and give them as they are."""


SHAPE_ASSERTION = "shape_assertion"
"""The custom call that says what holds for the extents of arguments."""


def _custom_call(c: Conversion, op: stablehlo.CustomCallOp) -> Sequence[SSAValue]:
    if op.target in _TRANSPARENT and [value.type for value in op.operands] == list(op.result_types):
        return c.operands(op)
    if op.target == SHAPE_ASSERTION:
        # The dims that the function is written with are such that it holds.
        return ()
    if op.target == DYNAMIC_REDUCE_WINDOW:
        return dynamic_reduce_window(c, op)
    if op.target == APPROXIMATE_TOP_K:
        return approximate_top_k(c, op)
    if op.target.startswith("lapack_"):
        # Imported where it is needed: few programs are of linear algebra.
        from .linear_algebra import lapack_call

        made = lapack_call(c, op)
        if made is not None:
            return made
    if "indices_of_shape_operands" in op.attributes:
        raise c.unsupported(f"@{op.target} of a shape that is known at run time only")
    raise c.unsupported(f"@{op.target}")


def _tuple(c: Conversion, op: stablehlo.TupleOp) -> SSAValue:
    c.tuples[op.results[0]] = c.operands(op)
    return c.operand(op, 0) if op.operands else c.scalar(0, i32)


def _get_tuple_element(c: Conversion, op: stablehlo.GetTupleElementOp) -> SSAValue:
    parts, index = c.tuples.get(op.operands[0], ()), op.number("index", 0)
    if not 0 <= index < len(parts):
        raise c.unsupported("of a tuple from elsewhere")
    return parts[index]


RULES: dict[type[Operation], Rule] = {
    chlo.ScanOp: _scan,
    stablehlo.CaseOp: _case,
    stablehlo.CustomCallOp: _custom_call,
    stablehlo.GetTupleElementOp: _get_tuple_element,
    stablehlo.IfOp: _if,
    stablehlo.TupleOp: _tuple,
    stablehlo.WhileOp: _while,
}
