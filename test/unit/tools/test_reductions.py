"""What is left of modules of every level, when a question in this process is asked about them."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from tenon.backends.reference.execute import run_module
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.instruments.random_inputs import random_inputs
from tenon.passes.pass_manager import PassManager
from tenon.tools.reduce import Progress, reduce_module
from xdsl.dialects.builtin import ModuleOp

LAYER = """\
func.func @f(%a: tensor<6x40xf32>, %b: tensor<40x24xf32>, %c: tensor<24xf32>) -> tensor<6x24xf32> {
  %0 = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : tensor<6x40xf32>, tensor<40x24xf32> -> tensor<6x24xf32>
  %1 = graph.broadcast %c : tensor<24xf32> -> tensor<6x24xf32>
  %2 = graph.add %0, %1 : tensor<6x24xf32>
  %3 = graph.exp %2 : tensor<6x24xf32>
  %4 = graph.reduce add %3 axes [1] keep : tensor<6x24xf32> -> tensor<6x1xf32>
  %5 = graph.broadcast %4 : tensor<6x1xf32> -> tensor<6x24xf32>
  %6 = graph.div %3, %5 : tensor<6x24xf32>
  func.return %6 : tensor<6x24xf32>
}
"""


def module_of(text: str, pipeline: str = "") -> ModuleOp:
    module = parse_module(text)
    verify_module(module)
    PassManager(pipeline).run(context(), module)
    return module


def body_of(module: ModuleOp) -> str:
    """Returns the lines in the module."""
    lines = str(module).splitlines()[1:-1]
    return "\n".join(line.removeprefix("  ") for line in lines)


def left(module: ModuleOp, question: Callable[[str], bool]) -> str:
    reduced = reduce_module(module, lambda smaller: question(str(smaller)))
    verify_module(reduced)
    assert str(parse_module(str(reduced))) == str(reduced)
    return body_of(reduced)


def test_300_ops_are_reduced_to_the_one_in_few_trials():
    names = ["abs", "tanh", "exp", "neg"] * 75
    names[211] = "sin"
    lines = [f"  %{n + 1} = graph.{name} %{n} : tensor<64x48xbf16>" for n, name in enumerate(names)]
    text = "\n".join(
        [
            "func.func @f(%0: tensor<64x48xbf16>) -> tensor<64x48xbf16> {",
            *lines,
            f"  func.return %{len(names)} : tensor<64x48xbf16>",
            "}",
        ]
    )
    progress: list[Progress] = []
    reduced = reduce_module(
        parse_module(text), lambda module: "graph.sin" in str(module), report=progress.append
    )
    assert body_of(reduced) == (
        "func.func @f(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {\n"
        "  %1 = graph.sin %0 : tensor<1x1xf32>\n"
        "  func.return %1 : tensor<1x1xf32>\n"
        "}"
    )
    assert progress[-1].n_trials < 60
    assert progress[-1].n_ops == 3


def test_what_hangs_together_stays():
    chain = re.compile(r"%(\w+) = graph.contract.* graph.add %\1,", re.DOTALL)
    text = left(module_of(LAYER), lambda text: chain.search(text) is not None)
    assert text == (
        "func.func @f(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {\n"
        "  %1 = graph.contract %0, %0 maps [affine_map<(d0, d1, d2) -> (d0, d2)>, "
        "affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] : "
        "tensor<1x1xf32>, tensor<1x1xf32> -> tensor<1x1xf32>\n"
        "  %2 = graph.add %1, %0 : tensor<1x1xf32>\n"
        "  func.return %2 : tensor<1x1xf32>\n"
        "}"
    )


def test_a_kernel_of_axes_is_reduced_to_the_op_that_matters():
    module = module_of(LAYER, "graph-pipeline,sched-pipeline")
    assert left(module, lambda text: "math.exp" in text) == (
        "sched.kernel @f_1() {\n  %0 = arith.constant 0.000000e+00 : f32\n  %1 = math.exp %0 : f32\n}"
    )


def test_a_mapping_is_kept_where_it_matters():
    module = module_of(LAYER, "graph-pipeline,sched-pipeline")
    assert left(module, lambda text: "vector(8)" in text) == (
        "sched.kernel @f_0() {\n  sched.axis %0 = 1 vector(8) {\n  }\n}"
    )


def test_a_kernel_of_loops_is_reduced_to_the_op_that_matters():
    module = module_of(LAYER, "default-pipeline")
    assert left(module, lambda text: "vector.store" in text) == (
        "low.kernel @f_1() grid [1, 1, 1] block [1, 1, 1] {\n"
        "  %0 = arith.constant dense<0.000000e+00> : vector<8xf32>\n"
        "  %1 = low.alloca : memref<8xf32>\n"
        "  %2 = arith.constant 0 : index\n"
        "  vector.store %0, %1[%2] : memref<8xf32>, vector<8xf32>\n"
        "}"
    )


PROGRAM = """\
sched.kernel @a(%x: memref<6x8xf32>, %y: memref<6x8xf32>) {
  sched.axis %i = 6 block {
    sched.axis %j = 8 vector(8) {
      %v = memref.load %x[%i, %j] : memref<6x8xf32>
      %d = arith.addf %v, %v : f32
      memref.store %d, %y[%i, %j] : memref<6x8xf32>
    }
  }
}
sched.program @f(%x: memref<6x8xf32>) : (tensor<6x8xf32>) -> tensor<6x8xf32> {
  %s = sched.buffer global temporary : memref<6x8xf32>
  %t = sched.buffer global temporary : memref<6x8xf32>
  %y = sched.buffer global result : memref<6x8xf32>
  %0 = sched.launch @a(%x, %s) after() : memref<6x8xf32>, memref<6x8xf32>
  %1 = sched.transfer %s to %t after(%0) : memref<6x8xf32>
  %2 = sched.launch @a(%t, %y) after(%1) : memref<6x8xf32>, memref<6x8xf32>
  sched.return %y after(%2) : memref<6x8xf32>
}
"""


def test_a_launch_gets_what_it_reads_as_an_argument_and_returns_what_it_writes():
    def question(text: str) -> bool:
        """Answers whether a program computes 2 or 4 times its argument."""
        module = parse_module(text)
        programs = [op for op in module.body.ops if isinstance(op, sched.ProgramOp)]
        if not programs or not programs[0].function_type.outputs.data:
            return False
        inputs = random_inputs(programs[0].function_type, 0)
        result, *_ = run_module(module, "f", inputs)
        return any(np.array_equal(result, n * x) for n in (2, 4) for x in inputs)

    assert left(module_of(PROGRAM), question) == (
        "sched.kernel @a(%0: memref<1x1xf32>, %1: memref<1x1xf32>) {\n"
        "  %2 = arith.constant 0 : index\n"
        "  %3 = arith.constant 0 : index\n"
        "  %4 = memref.load %0[%2, %3] : memref<1x1xf32>\n"
        "  %5 = arith.addf %4, %4 : f32\n"
        "  memref.store %5, %1[%2, %3] : memref<1x1xf32>\n"
        "}\n"
        "sched.program @f(%0: memref<1x1xf32>) : (tensor<1x1xf32>) -> tensor<1x1xf32> {\n"
        "  %1 = sched.buffer global result : memref<1x1xf32>\n"
        "  %2 = sched.launch @a(%0, %1) after() : memref<1x1xf32>, memref<1x1xf32>\n"
        "  sched.return %1 after() : memref<1x1xf32>\n"
        "}"
    )


def test_a_copy_between_two_launches_is_cut_out():
    text = left(module_of(PROGRAM), lambda text: "sched.transfer" in text)
    assert text == (
        "sched.program @f(%0: memref<1x1xf32>) : (tensor<1x1xf32>) -> () {\n"
        "  %1 = sched.buffer global result : memref<1x1xf32>\n"
        "  %2 = sched.transfer %0 to %1 after() : memref<1x1xf32>\n"
        "  sched.return after()\n"
        "}"
    )


ONE_OP = {
    "reshape": (
        "%x: tensor<1x33x96xf32>",
        "%0 = graph.reshape %x : tensor<1x33x96xf32> -> tensor<33x12x8xf32>",
        "tensor<33x12x8xf32>",
        "tensor<1x1x1xf32> -> tensor<1x1x1xf32>",
    ),
    "permute": (
        "%x: tensor<5x7xf32>",
        "%0 = graph.permute %x [1, 0] : tensor<5x7xf32>",
        "tensor<7x5xf32>",
        "[1, 0] : tensor<1x1xf32>",
    ),
    "pad": (
        "%x: tensor<5x7xf32>, %v: tensor<f32>",
        "%0 = graph.pad %x, %v low [1, 2] high [0, 0] interior [1, 0] : tensor<5x7xf32>",
        "tensor<10x9xf32>",
        "low [1, 2] high [0, 0] : tensor<1x1xf32>",
    ),
    "slice": (
        "%x: tensor<9x7xf32>",
        "%0 = graph.slice %x offsets [3, 0] sizes [3, 7] strides [2, 1] : tensor<9x7xf32>",
        "tensor<3x7xf32>",
        "offsets [0, 0] sizes [1, 1] strides [2, 1] : tensor<1x1xf32>",
    ),
    "dynamic_slice": (
        "%x: tensor<9x7xf32>, %i: tensor<i64>",
        "%0 = graph.dynamic_slice %x[%i, %i] sizes [4, 7] : tensor<9x7xf32>[tensor<i64>, tensor<i64>]",
        "tensor<4x7xf32>",
        "sizes [1, 1] : tensor<1x1xf32>[tensor<i32>, tensor<i32>]",
    ),
    "concat": (
        "%x: tensor<4x8xf32>, %y: tensor<2x8xf32>",
        "%0 = graph.concat %x, %y axis 0 : tensor<4x8xf32>, tensor<2x8xf32> -> tensor<6x8xf32>",
        "tensor<6x8xf32>",
        "tensor<1x1xf32>, tensor<1x1xf32> -> tensor<2x1xf32>",
    ),
    "contract": (
        "%x: tensor<33xf32>",
        "%0 = graph.contract %x maps [affine_map<(i, k) -> (i * 2 + k)>, affine_map<(i, k) -> (i)>] "
        "bounds [16, 3] accumulate max : tensor<33xf32> -> tensor<16xf32>",
        "tensor<16xf32>",
        "bounds [1, 1] accumulate max : tensor<1xf32> -> tensor<1xf32>",
    ),
    "gather": (
        "%x: tensor<4x8x5xf32>, %i: tensor<3xi64>",
        "%0 = graph.gather %x[%i, %i] axes [0, 2] : tensor<4x8x5xf32>[tensor<3xi64>, tensor<3xi64>] "
        "-> tensor<3x8xf32>",
        "tensor<3x8xf32>",
        "tensor<1x1x1xf32>[tensor<1xi32>, tensor<1xi32>] -> tensor<1x1xf32>",
    ),
    "scatter": (
        "%x: tensor<4x8xf32>, %i: tensor<3xi64>, %u: tensor<3x8xf32>",
        "%0 = graph.scatter add %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>",
        "tensor<4x8xf32>",
        "axes [0] : tensor<1x1xf32>[tensor<1xi32>], tensor<1x1xf32>",
    ),
    "scan": (
        "%x: tensor<8xf32>, %r: tensor<10x8xf32>",
        "%y, %0 = graph.scan %i = 10 (%s = %x) over (%row = %r) : (tensor<8xf32>, tensor<10x8xf32>) -> "
        "(tensor<8xf32>, tensor<10x8xf32>) {\n"
        "    %n = graph.add %s, %row : tensor<8xf32>\n"
        "    graph.yield %n, %n : tensor<8xf32>, tensor<8xf32>\n  }",
        "tensor<10x8xf32>",
        "= 1 (",
    ),
    "while": (
        "%x: tensor<8xf32>, %c: tensor<i1>",
        "%0 = graph.while (%a = %x) : (tensor<8xf32>) {\n    graph.condition %c\n  } do (%b) {\n"
        "    %n = graph.exp %b : tensor<8xf32>\n    graph.yield %n : tensor<8xf32>\n  }",
        "tensor<8xf32>",
        ": (tensor<1xf32>) {",
    ),
    "if": (
        "%x: tensor<8xf32>, %c: tensor<i1>",
        "%0 = graph.if %c -> (tensor<8xf32>) {\n    graph.yield %x : tensor<8xf32>\n  } else {\n"
        "    %n = graph.exp %x : tensor<8xf32>\n    graph.yield %n : tensor<8xf32>\n  }",
        "tensor<8xf32>",
        "-> (tensor<1xf32>) {",
    ),
    "constant": (
        "",
        "%0 = graph.constant dense<[[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<2x3xf32>",
        "tensor<2x3xf32>",
        "dense<0.000000e+00> : tensor<1x1xf32>",
    ),
}


@pytest.mark.parametrize("name", ONE_OP)
def test_extents_that_belong_together_become_small_together(name):
    arguments, op, type, expected = ONE_OP[name]
    text = f"func.func @f({arguments}) -> {type} {{\n  {op}\n  func.return %0 : {type}\n}}"
    assert expected in left(module_of(text), lambda text: f"graph.{name} " in text)


@pytest.mark.parametrize(
    ("arguments", "op", "type"),
    [
        (ONE_OP["if"][0], ONE_OP["if"][1], "tensor<8xf32>"),
        (ONE_OP["while"][0], ONE_OP["while"][1], "tensor<8xf32>"),
        (
            ONE_OP["scan"][0],
            ONE_OP["scan"][1].replace("graph.add %s", "graph.exp %s").replace(", %row :", " :"),
            "tensor<10x8xf32>",
        ),
    ],
    ids=["if", "while", "scan"],
)
def test_regions_are_unwrapped(arguments, op, type):
    text = f"func.func @f({arguments}) -> {type} {{\n  {op}\n  func.return %0 : {type}\n}}"
    assert left(module_of(text), lambda text: "graph.exp" in text) == (
        "func.func @f(%0: tensor<1xf32>) -> tensor<1xf32> {\n"
        "  %1 = graph.exp %0 : tensor<1xf32>\n"
        "  func.return %1 : tensor<1xf32>\n"
        "}"
    )


def test_dims_nodes_calls_and_what_is_not_used_go():
    text = left(
        module_of(
            "graph.dim @n min 1 max 64\n"
            "graph.tnode @w : tensor<8xf64> = dense<3.0>\n"
            "func.func private @g(%x: tensor<?x8xf64, #graph.dims<n, 8>>)"
            " -> tensor<?x8xf64, #graph.dims<n, 8>> {\n"
            "  %0 = graph.exp %x : tensor<?x8xf64, #graph.dims<n, 8>>\n"
            "  func.return %0 : tensor<?x8xf64, #graph.dims<n, 8>>\n"
            "}\n"
            "func.func @f(%x: tensor<?x8xf64, #graph.dims<n, 8>>) -> tensor<?x8xf64, #graph.dims<n, 8>> {\n"
            "  %w = graph.read @w : tensor<8xf64>\n"
            "  %0 = graph.broadcast %w : tensor<8xf64> -> tensor<?x8xf64, #graph.dims<n, 8>>\n"
            "  %1 = graph.add %x, %0 : tensor<?x8xf64, #graph.dims<n, 8>>\n"
            "  %2 = func.call @g(%1) : (tensor<?x8xf64, #graph.dims<n, 8>>)"
            " -> tensor<?x8xf64, #graph.dims<n, 8>>\n"
            "  func.return %2 : tensor<?x8xf64, #graph.dims<n, 8>>\n"
            "}\n"
        ),
        lambda text: "graph.add" in text and "graph.exp" in text,
    )
    assert text == (
        "func.func @f(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {\n"
        "  %1 = graph.add %0, %0 : tensor<1x1xf32>\n"
        "  %2 = graph.exp %1 : tensor<1x1xf32>\n"
        "  func.return %2 : tensor<1x1xf32>\n"
        "}"
    )


def test_named_dims_of_kernels_stay():
    module = module_of(
        "graph.dim @n min 1 max 64\n"
        "sched.kernel @k(%n: index, %x: memref<?x8xf32, {dims = #graph.dims<n, 8>}>) dims [n] {\n"
        "  sched.axis %i = n vector(8) {\n"
        "  }\n"
        "}\n"
    )
    assert left(module, lambda text: "= n vector(8)" in text) == (
        "sched.kernel @k(%0: index) dims [n] {\n  sched.axis %1 = n vector(8) {\n  }\n}"
    )


def test_a_word_that_another_one_needs_stays_with_it():
    module = module_of(
        "sched.kernel @k(%x: memref<64xf32>, %y: memref<64xf32>) {\n"
        "  sched.axis %i = 64 block(4) tile(4) prefetch vector(4) {\n"
        "  }\n"
        "}\n"
    )
    assert left(module, lambda text: "prefetch" in text) == (
        "sched.kernel @k() {\n  sched.axis %0 = 1 tile(4) prefetch {\n  }\n}"
    )
