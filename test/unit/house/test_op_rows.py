"""Every elementwise op of `graph` has all parts of its row; what one lacks is named with its file."""

import importlib
import inspect
import pkgutil
from types import ModuleType

import pytest
from tenon.dialects import graph, low, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low.math import EXPANSIONS
from tenon.passes.scalar.rules import RULES
from tenon.semantics.tensor_ops import RULES as MEANINGS
from tenon.test.e2e import random_elementwise
from tenon.test.unit.library import reference_of_ops
from xdsl.ir import Attribute, Dialect, Operation

ROWS = [op for op in graph.GRAPH.operations if issubclass(op, graph.ElementwiseOp)]

WITHOUT_A_FUNCTION = {
    graph.BitcastOp: "numpy has views of memory instead",
    graph.CastOp: "tenon.numpy.astype, which takes a dtype beside the array",
    graph.FmaOp: "numpy has no such function",
    graph.NibbleOp: "tenon.numpy.unpack_int4, which gives both numbers of each byte",
    graph.RecipOp: "tenon.nn.sigmoid is made of it, and rules make it of divisions",
    graph.TruncdivOp: "tenon.numpy.reciprocal of integers is made of it",
}
"""Ops that no function of tenon.numpy is, and why."""


def lacking(op: type[graph.ElementwiseOp]) -> list[str]:
    """Returns the parts that an op has not, each with the file where it goes."""
    functions = reference_of_ops().functions()
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
        "a function: elementwise.py or predicates.py in frontends/numpy/": op in functions
        or op in WITHOUT_A_FUNCTION,
        "what it is in random programs: ROWS, or OWN_STEPS, in test/e2e/random_elementwise.py": op
        in random_elementwise.ROWS
        or op in random_elementwise.OWN_STEPS,
    }
    if op.MATH is not None:
        has["a count of its MATH: FLOPS, or EXPANDED_OPS, in dialects/low/__init__.py"] = op.MATH in low.FLOPS
    if op.MATH in low.EXPANDED_OPS:
        has["an expansion of its MATH: EXPANSIONS in passes/low/math/__init__.py"] = op.MATH in EXPANSIONS
    return [part for part, is_there in has.items() if not is_there]


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
        "in frontends/numpy/",
        "test/e2e/random_elementwise.py",
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
    for information in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        module = importlib.import_module(information.name)
        for value in vars(module).values():
            if not inspect.isclass(value) or not issubclass(value, Operation | Attribute):
                continue
            if getattr(value, "name", "").startswith(f"{dialect.name}."):
                assert value in known, f"{value.__name__} is not in `__all__` of {information.name}"
