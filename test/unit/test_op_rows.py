"""Every elementwise op of `graph` has all parts of its row; what one lacks is named with its file."""

import importlib
import inspect
import pkgutil
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import tenon.nn
import tenon.numpy
from tenon.dialects import graph, low, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError
from tenon.frontends.arrays.aval import aval_of
from tenon.frontends.tracing.trace import Trace
from tenon.passes.low.math import EXPANSIONS
from tenon.passes.scalar.rules import RULES
from tenon.semantics.tensor_ops import RULES as MEANINGS
from xdsl.ir import Attribute, Dialect, Operation

ROWS = [op for op in graph.GRAPH.operations if issubclass(op, graph.ElementwiseOp)]

DTYPES = [np.dtype(name) for name in ("float32", "int32", "bool")]

WITHOUT_A_FUNCTION = {
    graph.FmaOp: "numpy has no such function",
    graph.BitcastOp: "numpy has views of memory instead",
}
"""Ops that no function of tenon.numpy or tenon.nn is written with, and why."""


def lacking(op: type[graph.ElementwiseOp]) -> list[str]:
    """Returns the parts that an op has not, each with the file where it goes."""
    families = op.__mro__[: op.__mro__.index(graph.ElementwiseOp)]
    own = {name for family in families for name in vars(family)}
    path = f"{op.__module__.removeprefix('tenon.').replace('.', '/')}.py"
    has = {
        f"a docstring: its class in {path}": bool((op.__doc__ or "").strip()),
        f"an example: EXAMPLE of its family, or its docstring, in {path}": bool(op.EXAMPLE)
        or "```mlir" in (op.__doc__ or ""),
        f"ELEMENTS: its class in {path}": "ELEMENTS" in own,
        f"IS_HEAVY: its class in {path}": "IS_HEAVY" in own,
        "a meaning: ELEMENTWISE in semantics/numerics.py": op in MEANINGS,
        "scalar code: MATH in its class, or RULES in passes/scalar/rules.py": op in RULES,
        "a function: frontends/numpy/elementwise.py": op in traced_ops() or op in WITHOUT_A_FUNCTION,
    }
    if op.MATH is not None:
        has["a count of its MATH: FLOPS, or EXPANDED_OPS, in dialects/low/__init__.py"] = op.MATH in low.FLOPS
    if op.MATH in low.EXPANDED_OPS:
        has["an expansion of its MATH: EXPANSIONS in passes/low/math/__init__.py"] = op.MATH in EXPANSIONS
    return [part for part, is_there in has.items() if not is_there]


@cache
def traced_ops() -> set[type[Operation]]:
    """Returns the ops that functions of one to three arrays are made of."""
    found: set[type[Operation]] = set()
    for module in (tenon.numpy, tenon.nn):
        for function in (getattr(module, name) for name in module.__all__):
            for dtype in DTYPES:
                for count in (1, 2, 3):
                    found |= _ops_of(function, dtype, count)
    return found


def _ops_of(function: Any, dtype: np.dtype[Any], count: int) -> set[type[Operation]]:
    with Trace("f") as trace:
        arguments = [trace.argument(aval_of(dtype, (2, 2)), "x") for _ in range(count)]
        try:
            function(*arguments)
        except (TenonError, TypeError, ValueError, IndexError, AttributeError):
            return set()  # not a function of so many arrays, or of this dtype
        return {type(op) for op in trace.block.ops}


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_an_elementwise_op_has_every_part(op: type[graph.ElementwiseOp]):
    missing = "; ".join(lacking(op))
    assert not missing, f"{op.name} lacks {missing}"


def test_what_is_forgotten_is_named_with_its_file():
    class NothingOp(graph.UnaryOp):
        name = "graph.nothing"

    files = " ".join(lacking(NothingOp))
    for part in (
        "a docstring",
        "ELEMENTS",
        "IS_HEAVY",
        "semantics/numerics.py",
        "passes/scalar/rules.py",
        "frontends/numpy/elementwise.py",
    ):
        assert part in files


@pytest.mark.parametrize("op", [op for op in ROWS if op.EXAMPLE], ids=lambda op: op.name)
def test_the_example_of_a_family_holds_for_each_op(op: type[graph.ElementwiseOp]):
    """The text is parsed, verified, and printed as it was."""
    result, _, rest = op.example().partition(" = ")
    words, _, type = rest.partition(" : ")
    names = [word.strip(",") for word in words.split()[1:]]
    arguments = ", ".join(f"{name}: {type}" for name in names)
    module = parse_module(f"func.func @f({arguments}) {{\n  {op.example()}\n  func.return\n}}")
    verify_module(module)
    made = next(each for each in module.walk() if isinstance(each, op))
    assert f"{result} = {rest}" in str(module)
    assert str(made.operands[0].type) == type


@pytest.mark.parametrize("package", [graph, sched, low], ids=lambda package: package.__name__)
def test_a_dialect_has_every_op_and_attribute_of_its_modules(package: ModuleType):
    (dialect,) = (value for value in vars(package).values() if isinstance(value, Dialect))
    known = {*dialect.operations, *dialect.attributes}
    for information in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{information.name}")
        for value in vars(module).values():
            if not inspect.isclass(value) or not issubclass(value, Operation | Attribute):
                continue
            if getattr(value, "name", "").startswith(f"{dialect.name}."):
                path = f"dialects/{dialect.name}/{information.name}.py"
                assert value in known, f"{value.__name__} is not in `__all__` of {path}"
