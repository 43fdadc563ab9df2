"""
Every op of `graph`, on every element type it takes: each level and each backend gives what the interpreter of
`graph` does, to the last bit where that is defined.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.opencl.emission.declarations import declared
from tenon.backends.reference.comparison import ULPS, assert_close, ulp_difference
from tenon.backends.reference.graph import run_graph
from tenon.backends.registry import get_backend
from tenon.dialects import context
from tenon.dialects.element_types import ELEMENT_TYPES, is_float
from tenon.dialects.graph import GRAPH, ConstantOp, GraphOp
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.canonicalize_graph import CanonicalizeGraphPass
from tenon.passes.low.math import EXPANSIONS
from tenon.passes.pass_manager import PassManager
from tenon.semantics.numpy_types import dense_of
from tenon.test.bits import bits
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from .every_op import Array, Case, Result, case_of
from .stated_bounds import BOUNDS

WAYS: dict[str, dict[str, Any]] = {
    "graph": {"backend": "reference"},
    "canonical": {"backend": "reference", "level": "graph"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}

ELSEWHERE = {"i1": ["graph.iota"], "i32": ["graph.axis_index"]}
"""Ops that a type's case lacks: a count up to 1 at most, and what is known in a rank's program only."""

GRAPH_ULPS = 0.5
"""How far the interpreter of `graph` itself may be off a function, in units in the last place."""

TYPES = pytest.mark.parametrize("type", ELEMENT_TYPES, ids=str)

ON_PROCESSORS = ("f64", "f16")
"""The types of the slice that runs as the code of other processors; f16 is computed in f32."""

ON_BACKENDS = pytest.mark.parametrize(
    ("type", "way"),
    [
        pytest.param(
            type,
            way,
            id=f"{type}-{way}",
            marks=[pytest.mark.processor] if way == "llvm" and str(type) in ON_PROCESSORS else [],
        )
        for way in ("llvm", "opencl")
        for type in ELEMENT_TYPES
    ],
)

cached_case = cache(case_of)


@cache
def compiled(type: Attribute, way: str) -> tenon.Executable:
    return tenon.compile(cached_case(type).text, **WAYS[way])


@cache
def results(type: Attribute, way: str) -> tuple[Array, ...]:
    return compiled(type, way)(*cached_case(type).inputs)


def assert_same_bits(actual: Array, expected: Array, result: Result) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, result.op
    wrong = np.argwhere(bits(actual) != bits(expected))
    if len(wrong):
        index = tuple(wrong[0])
        pytest.fail(f"{result.op}: {len(wrong)} differ, at {index} {actual[index]} for {expected[index]}")


def ulps_allowed(result: Result) -> float:
    """
    Returns how far a result may be off that of the interpreter of `graph`; a sum as often as the root of its
    terms, and not at all where they are so small that every order gives the same.
    """
    name = result.op.removeprefix("graph.").partition(" ")[0]
    if name in ("reduce", "contract") and not result.terms:
        return 0.0
    return BOUNDS[name].get(str(result.element_type), 0.0)


def assert_agrees(case: Case, actual: tuple[Array, ...], expected: tuple[Array, ...], what: str) -> None:
    for result, found, wanted in zip(case.results, actual, expected, strict=True):
        if result.terms:
            assert_close(
                found,
                wanted,
                what=f"{what}: {result.op}",
                element_type=result.element_type,
                terms=result.terms,
                ulps=ulps_allowed(result),
            )
        elif allowed := ulps_allowed(result):
            off = ulp_difference(found, wanted)
            assert off.size == 0 or off.max() <= allowed, f"{what}: {result.op}: {off.max()} ulps"
        else:
            assert_same_bits(found, wanted, result)


def test_docs_state_a_bound_for_every_op_and_float_type() -> None:
    floats = [type for type in ELEMENT_TYPES if is_float(type)]
    taken = {
        op.name.removeprefix("graph."): {
            str(type) for type in floats if type in getattr(op, "ELEMENTS", _EVERY).types
        }
        for op in GRAPH.operations
        if issubclass(op, GraphOp)
    }
    assert {op: set(bounds) for op, bounds in BOUNDS.items()} == taken


def test_docs_state_the_bounds_that_functions_are_expanded_to() -> None:
    names = {"powf": "pow"}
    for op, expansion in EXPANSIONS.items():
        function = op.name.removeprefix("math.")
        for type, bound in expansion.ulps.items():
            assert BOUNDS[names.get(function, function)][type] == bound + GRAPH_ULPS
    assert BOUNDS["contract"] == BOUNDS["reduce"] == {str(type): bound for type, bound in ULPS.items()}


@TYPES
def test_case_has_every_op_that_takes_the_type(type: Attribute) -> None:
    takes = {
        op
        for op in GRAPH.operations
        if issubclass(op, GraphOp) and type in getattr(op, "ELEMENTS", _EVERY).types
    }
    missing = takes - cached_case(type).ops
    assert sorted(op.name for op in missing) == ELSEWHERE.get(str(type), [])


class _EVERY:
    types = frozenset(ELEMENT_TYPES)


@TYPES
@pytest.mark.parametrize("way", ["canonical", "sched", "low"])
def test_every_level_agrees_with_graph(type: Attribute, way: str) -> None:
    assert_agrees(cached_case(type), results(type, way), results(type, "graph"), way)


@TYPES
def test_folding_gives_what_running_gives(type: Attribute) -> None:
    case = cached_case(type)
    module = parse_module(case.text)
    function = module.body.block.first_op
    assert isinstance(function, func.FuncOp)
    block = function.body.block
    for argument, array in zip(list(block.args), case.inputs, strict=True):
        assert isinstance(argument.type, TensorType)
        constant = ConstantOp(dense_of(array, argument.type))
        block.insert_op_before(constant, next(iter(block.ops)))
        argument.replace_all_uses_with(constant.result)
        block.erase_arg(argument)
    function.update_function_type()
    PassManager([CanonicalizeGraphPass()]).run(context(), module)
    assert {op.name for op in block.ops} <= {"graph.constant", "graph.iota", "func.return"}
    assert_agrees(case, tuple(run_graph(module, "main", [])), results(type, "graph"), "folded")


@ON_BACKENDS
def test_every_backend_agrees_with_graph(type: Attribute, way: str) -> None:
    assert_agrees(cached_case(type), results(type, way), results(type, "graph"), way)


@TYPES
def test_no_kernel_calls_what_only_the_header_of_opencl_declares(type: Attribute) -> None:
    assert declared(compiled(type, "opencl").source) is not None


@ON_BACKENDS
def test_every_backend_gives_the_bits_of_low(type: Attribute, way: str) -> None:
    has_same_lanes = get_backend(way).device.vector_nbytes == 32
    for result, found, wanted in zip(
        cached_case(type).results, results(type, way), results(type, "low"), strict=True
    ):
        if has_same_lanes or not result.terms:  # the number of lanes is the order of a sum
            assert_same_bits(found, wanted, result)


@TYPES
def test_low_gives_the_bits_of_sched_but_for_functions(type: Attribute) -> None:
    for result, found, wanted in zip(
        cached_case(type).results, results(type, "low"), results(type, "sched"), strict=True
    ):
        if result.terms or not ulps_allowed(result):
            assert_same_bits(found, wanted, result)
