"""Ops that are defined outside of the package: the example's, and what register_op rejects."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.compiler.custom import TENSOR, TENSOR_T, CustomOp, GraphBuilder, graph, register_op
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.pass_manager import PassManager
from tenon.test.unit.library import ROOT
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, result_def, var_result_def

sys.path.insert(0, str(ROOT / "examples" / "custom_op"))
import mine
from tenon.test.unit.everywhere import run_everywhere

EXAMPLE = Path(mine.__file__).parent


TEXT = (EXAMPLE / "program.mlir").read_text(encoding="utf-8")


def test_the_example_gives_the_same_everywhere() -> None:
    x = np.random.default_rng(0).normal(size=1000).astype(np.float32) * 3
    shrunk, counts = run_everywhere(TEXT, x)
    np.testing.assert_array_equal(shrunk, np.sign(x) * np.maximum(np.abs(x) - np.float32(0.5), 0))
    expected = [np.count_nonzero(shrunk.astype(np.int32) == number) for number in range(5)]
    assert counts.tolist() == expected


def test_custom_ops_print_as_they_parse() -> None:
    module = parse_module(TEXT)
    assert str(parse_module(str(module))) == str(module)
    assert "mine.softshrink %x by %t : tensor<1000xf32>, tensor<f32>" in str(module)


def test_an_op_that_is_lowered_is_fused() -> None:
    module = parse_module(TEXT)
    PassManager("graph-pipeline").run(context(), module)
    names = [op.name for op in module.walk()]
    assert "mine.softshrink" not in names and "mine.histogram" in names


def test_the_verifier_is_the_ops_own() -> None:
    text = TEXT.replace("tensor<f32>\n  %n", "tensor<1xf32>\n  %n").replace(
        "%t = graph.constant dense<0.5> : tensor<f32>", "%t = graph.constant dense<0.5> : tensor<1xf32>"
    )
    with pytest.raises(
        TenonError, match=r"mine.softshrink: threshold is tensor<1xf32>, expected tensor<f32>"
    ):
        tenon.compile(text)


@irdl_op_definition
class OnlyInterpretedOp(CustomOp):
    name = "test_custom.only_interpreted"
    source = operand_def(TENSOR_T)
    result = result_def(TENSOR_T)
    assembly_format = "$source attr-dict `:` type($source)"


ONLY_INTERPRETED = """func.func @f(%x: tensor<3xi64>) -> tensor<3xi64> {
  %y = test_custom.only_interpreted %x : tensor<3xi64>
  func.return %y : tensor<3xi64>
}"""


def test_an_op_without_a_lowering_is_interpreted_only() -> None:
    register_op(OnlyInterpretedOp, interpret=lambda op, x: x * 7)
    found = tenon.compile(ONLY_INTERPRETED, backend="reference")(np.arange(3))
    assert found.tolist() == [0, 7, 14]
    with pytest.raises(
        TenonError,
        match=r"test_custom.only_interpreted: cannot schedule \(register_op was given neither lower nor emit",
    ):
        tenon.compile(ONLY_INTERPRETED)


def test_a_result_of_another_dtype_is_reported() -> None:
    register_op(OnlyInterpretedOp, interpret=lambda op, x: x * 0.5)
    with pytest.raises(
        TenonError,
        match=r"test_custom.only_interpreted at .*: its interpreter returned float64, expected int64",
    ):
        tenon.compile(ONLY_INTERPRETED, backend="reference")(np.arange(3))


def test_a_result_of_another_shape_is_reported() -> None:
    register_op(OnlyInterpretedOp, interpret=lambda op, x: x[:2])
    with pytest.raises(TenonError, match=r"the result has shape \[2\] at run time, expected \[3\]"):
        tenon.compile(ONLY_INTERPRETED, backend="reference")(np.arange(3))


def test_what_is_asked_to_be_virtual_but_has_a_kernel_of_its_own_is_refused() -> None:
    text = TEXT.replace(
        "mine.histogram %n :", 'mine.histogram %n {memory_mode = #graph.memory_mode<virtual, "asked">} :'
    ).replace(
        "func.return %y, %h : tensor<1000xf32>, tensor<5xi64>",
        """%g = graph.neg %h : tensor<5xi64>
  func.return %y, %g : tensor<1000xf32>, tensor<5xi64>""",
    )
    with pytest.raises(
        TenonError, match=r"mine.histogram: cannot be virtual \(computed by a kernel of its own"
    ):
        tenon.compile(text)


@irdl_op_definition
class LoweredOp(CustomOp):
    name = "test_custom.lowered"
    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


LOWERED = """func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
  %y = test_custom.lowered %x : tensor<4xf32> -> tensor<f32>
  func.return %y : tensor<f32>
}"""


def compile_lowered(lower: Any) -> Any:
    register_op(LoweredOp, interpret=lambda op, x: x.sum(), lower=lower)
    return tenon.compile(parse_module(LOWERED, "lowered.mlir"))


@pytest.mark.parametrize(
    ("lower", "found"),
    [(lambda builder, op: None, "None"), (lambda builder, op: op.source, "tensor<4xf32>")],
)
def test_what_a_lowering_returns_is_checked(lower: Any, found: str) -> None:
    message = f"test_custom.lowered: its lowering returned {found}, expected tensor<f32>"
    with pytest.raises(TenonError, match=re.escape(message)) as raised:
        compile_lowered(lower)
    assert raised.value.location == "lowered.mlir:2:8"


def test_what_a_lowering_returns_is_taken() -> None:
    def lower(builder: GraphBuilder, op: Any) -> Any:
        return builder.add(graph.ReduceOp(graph.ReduceKind.ADD, op.source, [0]))

    assert compile_lowered(lower)(np.arange(4, dtype=np.float32)) == 6


class NoDefinitionOp(CustomOp):
    name = "test_custom.no_definition"


@irdl_op_definition
class NoDialectOp(CustomOp):
    name = "bare"
    result = result_def(TENSOR)


@irdl_op_definition
class TakenOp(CustomOp):
    name = "graph.taken"
    result = result_def(TENSOR)


@irdl_op_definition
class TwinOp(CustomOp):
    name = "test_custom.only_interpreted"
    result = result_def(TENSOR)


@irdl_op_definition
class ManyResultsOp(CustomOp):
    name = "test_custom.many_results"
    res = var_result_def(TENSOR)


def identity(op: Operation, x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    ("op_class", "message"),
    [
        (NoDefinitionOp, r"register_op: NoDefinitionOp is no op definition \(hint: @irdl_op_definition"),
        (int, "register_op: <class 'int'> is no op that derives from CustomOp"),
        (NoDialectOp, r"register_op: bare has no dialect \(expected a name like mine.bare\)"),
        (TakenOp, "register_op: graph.taken: dialect graph is there already"),
        (TwinOp, r"register_op: test_custom.only_interpreted is registered already \(as OnlyInterpretedOp\)"),
        (ManyResultsOp, "register_op: test_custom.many_results has 1 results, expected one"),
    ],
)
def test_what_is_no_op_of_ones_own_is_refused(op_class: Any, message: str) -> None:
    register_op(OnlyInterpretedOp, interpret=identity)
    with pytest.raises(TenonError, match=message):
        register_op(op_class, interpret=identity)


def test_an_op_is_lowered_in_one_way() -> None:
    with pytest.raises(TenonError, match="has both lower and emit, expected at most one of them"):
        register_op(
            OnlyInterpretedOp, interpret=identity, lower=lambda b, op: op.source, emit=lambda part, op: None
        )


def run_tool(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; from tenon.tools.{arguments[0]} import main; sys.exit(main(sys.argv[1:]))"
    path = os.pathsep.join([str(EXAMPLE), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments[1:]],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        cwd="/",
    )


def test_the_tools_load_modules_that_register_ops() -> None:
    file = str(EXAMPLE / "program.mlir")
    printed = run_tool("tenon_opt", "--load-dialect", "mine", file)
    assert printed.returncode == 0 and "mine.softshrink" in printed.stdout, printed.stderr
    lowered = run_tool("tenon_opt", "--load-dialect", "mine", "-p", "default-pipeline", file)
    assert lowered.returncode == 0 and "low.kernel" in lowered.stdout, lowered.stderr
    ran = run_tool("tenon_run", "--load-dialect", "mine", "--compare", "--print", "none", file)
    assert ran.returncode == 0 and ran.stdout.count("same bits") == 2, ran.stdout + ran.stderr
    unknown = run_tool("tenon_opt", file)
    assert unknown.returncode == 1 and "mine.softshrink" in unknown.stderr


def test_a_module_that_is_not_there_is_reported() -> None:
    for tool in ("tenon_opt", "tenon_run"):
        missing = run_tool(tool, "--load-dialect", "no_such_module", str(EXAMPLE / "program.mlir"))
        assert missing.returncode == 2
        assert "--load-dialect: cannot import 'no_such_module'" in missing.stderr
