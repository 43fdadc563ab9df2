"""What composite ops stand for computes what they mean, on every element type and on values at the edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tenon.backends.reference.comparison import assert_close
from tenon.backends.reference.graph import run_graph
from tenon.dialects import context
from tenon.dialects.element_types import ELEMENT_TYPES, is_float
from tenon.dialects.graph import GRAPH, CompositeOp, CustomOp
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.decompose_composites import DecomposeCompositesPass
from tenon.passes.graph.decompositions import COMPOSITE_NAMES, RULES
from tenon.passes.machine.target import DEFAULT_TARGET
from tenon.passes.pass_manager import PassError, PassManager
from tenon.passes.pipeline import sched_passes
from tenon.semantics.numpy_types import dtype_of, is_floating
from xdsl.dialects.builtin import ModuleOp, TensorType, i1
from xdsl.ir import Attribute

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Composite:
    """
    One composite op with its operands: `words` after its name, of arguments `%0`, `%1`, ... of the shapes
    `operands`; `T` is the element type in `words`, `operands` and `result`.
    """

    op: str
    words: str
    operands: tuple[str, ...]
    result: str
    terms: int = 0
    """How many terms are summed for an element, 0 where the op is exact."""

    def text(self, type: Attribute) -> str:
        def typed(text: str) -> str:
            return text.replace("T", str(type))

        arguments = ", ".join(f"%a{n}: tensor<{typed(each)}>" for n, each in enumerate(self.operands))
        types = ", ".join(f"tensor<{typed(each)}>" for each in self.operands)
        result = f"tensor<{typed(self.result)}>"
        return (
            f"func.func @f({arguments}) -> {result} {{\n"
            f"  %r = graph.{self.op} {typed(self.words)} : {types} -> {result}\n"
            f"  func.return %r : {result}\n}}"
        )

    def __str__(self) -> str:
        return f"{self.op} {self.words} {' '.join(self.operands)}"


CASES = (
    *(
        Composite("arg_reduce", f"{kind} %a0 axis {axis}", (shape,), result)
        for kind in ("max", "min")
        for axis, shape, result in (
            ("1", "7x13xT", "7xi64"),
            ("0 keep", "7x13xT", "1x13xi64"),
            ("1", "3x5x2xT", "3x2xi64"),
            ("0", "1xT", "i64"),
            ("0", "3x0xT", "0xi64"),
            ("1", "0x3xT", "0xi64"),
        )
    ),
    *(
        Composite("logsumexp", f"%a0 axes {axes}", (shape,), result, terms)
        for axes, shape, result, terms in (
            ("[1]", "7x13xT", "7xT", 13),
            ("[0, 2] keep", "5x7x3xT", "1x7x1xT", 15),
            ("[]", "4xT", "4xT", 1),
            ("[0]", "0x3xT", "3xT", 1),
            ("[0]", "1xT", "T", 1),
        )
    ),
)


def takes(case: Composite) -> Sequence[Attribute]:
    (op,) = [op for op in GRAPH.operations if op.name == f"graph.{case.op}"]
    kind = getattr(op, "ELEMENTS", None)
    return [type for type in ELEMENT_TYPES if kind is None or type in kind.types]


CASES_AND_TYPES = [pytest.param(case, type, id=f"{case} {type}") for case in CASES for type in takes(case)]


def values(type: TensorType[Any], rng: np.random.Generator, edges: bool) -> Array:
    """Returns random elements; with `edges` NaN, infinities, both zeros, extremes, and many duplicates."""
    dtype, shape = dtype_of(type.element_type), type.get_shape()
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if is_floating(dtype):
        with np.errstate(all="ignore"):
            plain = (rng.standard_normal(shape) * 8).astype(dtype)
            if not edges:
                return plain
            some = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 1e30, -1e30]).astype(dtype)
        if rng.integers(2):
            some = some[1:]
        return np.where(rng.integers(0, 3, shape) == 0, plain, rng.choice(some, shape))
    info = np.iinfo(dtype)
    some = np.array([info.min, info.max, 0, 1, info.min + 1], dtype)
    return rng.choice(some, shape) if edges else rng.integers(0, 5, shape).astype(dtype)


def decomposed(text: str) -> ModuleOp:
    module = parse_module(text)
    PassManager([DecomposeCompositesPass()]).run(context(), module)
    return module


def test_every_composite_has_a_rule_and_every_rule_a_case():
    composites = {op for op in GRAPH.operations if issubclass(op, CompositeOp)}
    assert composites == {op for op in RULES if not issubclass(op, CustomOp)}
    assert {f"graph.{case.op}" for case in CASES} == set(COMPOSITE_NAMES)


@pytest.mark.parametrize(("case", "type"), CASES_AND_TYPES)
def test_decomposition_computes_what_the_op_means(case: Composite, type: Attribute):
    text = case.text(type)
    module, other = parse_module(text), decomposed(text)
    assert not any(op.name in COMPOSITE_NAMES for op in other.walk())
    function = module.body.block.first_op
    assert function is not None
    rng = np.random.default_rng(7)
    for attempt in range(6):
        inputs: list[Array] = []
        for argument in function.regions[0].block.args:
            assert isinstance(argument.type, TensorType)
            inputs.append(values(argument.type, rng, edges=attempt > 1))
        (expected,), (found,) = run_graph(module, "f", inputs), run_graph(other, "f", inputs)
        result = TensorType(type, ()) if case.terms else None
        if result is not None and is_float(type):
            assert_close(found, expected, what=str(case), element_type=type, terms=case.terms)
        else:
            assert found.dtype == expected.dtype and found.shape == expected.shape
            assert found.tobytes() == expected.tobytes(), (inputs, found, expected)


@pytest.mark.parametrize("type", [type for type in ELEMENT_TYPES if type != i1], ids=str)
def test_arg_reduce_is_numpys(type: Attribute):
    rng = np.random.default_rng(3)
    for edges in (False, True, True, True):
        x = values(TensorType(type, (9, 17)), rng, edges)
        wide = x.astype(np.float64) if x.dtype.kind in "fV" else x
        for kind, find in (("max", np.argmax), ("min", np.argmin)):
            module = parse_module(
                f"func.func @f(%x: tensor<9x17x{type}>) -> tensor<9xi64> {{\n"
                f"  %i = graph.arg_reduce {kind} %x axis 1 : tensor<9x17x{type}> -> tensor<9xi64>\n"
                "  func.return %i : tensor<9xi64>\n}"
            )
            (found,) = run_graph(module, "f", [x])
            np.testing.assert_array_equal(found, find(wide, axis=1))


def test_logsumexp_is_numpys_logaddexp_of_all():
    rng = np.random.default_rng(4)
    module = parse_module(
        "func.func @f(%x: tensor<6x17xf64>) -> tensor<6xf64> {\n"
        "  %y = graph.logsumexp %x axes [1] : tensor<6x17xf64> -> tensor<6xf64>\n"
        "  func.return %y : tensor<6xf64>\n}"
    )
    x = rng.standard_normal((6, 17)) * 100 + 1000
    x[1] = -np.inf
    x[2, 3] = np.inf
    x[3, 5] = np.nan
    x[4, :-1] = -np.inf
    x[5, 1], x[5, 2] = np.inf, -np.inf
    (found,) = run_graph(module, "f", [x])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, np.logaddexp.reduce(x, axis=1), rtol=1e-14)


def test_memory_mode_of_a_composite_is_that_of_its_last_op():
    module = decomposed(
        "func.func @f(%x: tensor<4xf32>) -> tensor<i64> {\n"
        '  %i = graph.arg_reduce max %x axis 0 {memory_mode = #graph.memory_mode<materialized, "told">}'
        " : tensor<4xf32> -> tensor<i64>\n"
        "  func.return %i : tensor<i64>\n}"
    )
    told = [op.name for op in module.walk() if "memory_mode" in op.attributes]
    assert told == ["graph.cast"]


def test_sched_pipeline_refuses_a_composite():
    module = parse_module(CASES[0].text(ELEMENT_TYPES[0]))
    message = r"verify-stage: ops remain that this stage must not have: graph.arg_reduce \(1\)"
    with pytest.raises(PassError, match=message):
        PassManager(sched_passes(DEFAULT_TARGET)).run(context(), module)
