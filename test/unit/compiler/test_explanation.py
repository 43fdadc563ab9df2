import json
import re
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.compiler.compile import compile_own
from tenon.compiler.explanation.words import list_text, place_text, rule_words
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.rewriting.value_names import value_names
from tenon.runtime.executables.device_executable import DeviceExecutable
from tenon.runtime.reports.explanation import Explanation

UNMAPPED = (
    "graph-pipeline,convert-graph-to-sched,build-dependencies,plan-memory,analyze-schedule,"
    "convert-sched-to-low,expand-math,simplify-low"
)
"""Passes whose schedules do not change when defaults do."""


def explained(text: str, pipeline: str | None = UNMAPPED, backend: str = "llvm") -> Explanation:
    with tenon.compile(text, pipeline=pipeline, backend=backend, filename="dir/f.mlir") as executable:
        return executable.explain()


def test_what_is_prepared_is_explained_by_itself():
    text = """func.func @f(%w: tensor<64x32xf32> {tenon.frozen}, %x: tensor<64x32xf32>) -> tensor<64x32xf32> {
      %y = graph.exp %w : tensor<64x32xf32>
      %z = graph.mul %x, %y : tensor<64x32xf32>
      func.return %z : tensor<64x32xf32> }"""
    rest, preparation = (
        compile_own(parse_module(text), part=part).explain() for part in ("rest", "preparation")
    )
    assert rest.name == "f" and preparation.name == "f_preparation"
    assert len(rest.prepared) == 1 and not preparation.prepared
    assert rest.prepared[0][0] in str(preparation)


TWO_KERNELS = """\
func.func @f(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<f32>) {
  %one = graph.constant dense<1.0> : tensor<4x8xf32>
  %y = graph.exp %x : tensor<4x8xf32>
  %z = graph.mul %y, %one : tensor<4x8xf32>
  %0 = graph.reduce add %z axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  %1 = graph.broadcast %0 : tensor<4x1xf32> -> tensor<4x8xf32>
  %2 = graph.div %z, %1 : tensor<4x8xf32>
  %3 = graph.reduce add %z axes [0, 1] : tensor<4x8xf32> -> tensor<f32>
  func.return %2, %3 : tensor<4x8xf32>, tensor<f32>
}
"""


TOLD, KEPT = "; about 106 ns together, 207 ns apart", "; about 243 ns together, 326 ns apart"
SPACE = " " * len(TOLD)


def test_an_explanation_is_a_story():
    assert (
        str(explained(TWO_KERNELS))
        == f"""\
@f: 5 operations in 3 kernels

what the passes did:
  canonicalize-graph: drop neutral operand; -1 graph.constant, -1 graph.mul

kernel @f_0 computes %y: 4x8xf32
  %y  exp  4x8xf32  materialized  several-consumers  read by 2 kernels{KEPT}  f.mlir:3
  schedule:
    for i < 4: one after the other
      for j < 8: one after the other
        loads %x, computes exp, stores %y
  cost: 640 operations, 256 bytes moved, 2.5 operations per byte

kernel @f_1 computes %2: 4x8xf32
  %0  reduce add  4x1xf32  local         reduction  combined in registers, once for each (i){TOLD}  f.mlir:5
  %1  broadcast   4x8xf32  virtual       view       a view: only the index changes{SPACE}            f.mlir:6
  %2  div         4x8xf32  materialized  needed     returned by the function{SPACE}                  f.mlir:7
  schedule:
    for i < 4: one after the other
      combine by addf for j < 8: one after the other
        loads %y
      for j_1 < 8: one after the other
        loads %y, computes divf, stores %2
  cost: 64 operations, 256 bytes moved, 0.25 operations per byte

kernel @f_2 computes %3: f32
  %3  reduce add  f32  materialized  needed  returned by the function  f.mlir:8
  schedule:
    combine by addf for i < 4: one after the other
      combine by addf for j < 8: one after the other
        loads %y
    stores %3
  cost: 36 operations, 132 bytes moved, 0.27 operations per byte

not fused:
  @f_0 hands %y (128 bytes) to @f_1 and @f_2: read by 2 kernels{KEPT}

steps:
  @f_0(%x) -> %y
  @f_1(%y) -> %2
  @f_2(%y) -> %3

memory:
  %y: 128 bytes at 0x0 from step 0 to step 2
  temporaries take 128 bytes, 128 if none shared
"""
    )


def test_an_explanation_is_json():
    found = json.loads(explained(TWO_KERNELS).to_json())
    assert found["name"] == "f"
    assert [kernel["name"] for kernel in found["kernels"]] == ["f_0", "f_1", "f_2"]
    assert found["kernels"][1]["ops"][0]["why"] == f"combined in registers, once for each (i){TOLD}"
    assert found["not_fused"][0]["consumers"] == ["f_1", "f_2"]


SCHEDULED = """
sched.kernel @k(%x: memref<64x64xf32>, %y: memref<64x64xf32>) attributes {schedule = "j: a; i: b"} {
  sched.axis %i = 64 block(8) unroll(2) {
    %row = sched.alloc local : memref<64xf32>
    sched.axis %j = 64 vector(8) unroll(4) {
      %v = memref.load %x[%i, %j] : memref<64x64xf32>
      %w = arith.addf %v, %v : f32
      %u = arith.addf %w, %v : f32
      memref.store %u, %row[%j] : memref<64xf32>
    }
    %s = sched.reduce addf %k = 64 vector(8) unroll(2) : f32 {
      %v_1 = memref.load %row[%k] : memref<64xf32>
      sched.yield %v_1 : f32
    }
    sched.axis %l = 64 thread(2) {
      memref.store %s, %y[%i, %l] : memref<64x64xf32>
    }
  }
}
sched.program @f(%x: memref<64x64xf32>) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  %y = sched.buffer global result : memref<64x64xf32>
  %t = sched.launch @k(%x, %y) after() : memref<64x64xf32>, memref<64x64xf32>
  sched.return %y after(%t) : memref<64x64xf32>
}
"""


def test_mappings_are_words_and_reasons_are_told():
    (kernel,) = explained(SCHEDULED, None, "reference").kernels
    assert kernel.schedule == (
        "for i < 64: work-groups of 8, 2 side by side",
        "  local buffer %row: 64 f32, 256 bytes",
        "  for j < 64: vectors of 8, 4 side by side",
        "    loads %x, computes 2 addf, stores %row",
        "  combine by addf for k < 64: vectors of 8, 2 side by side, so 16 partial results",
        "    loads %row",
        "  for l < 64: work-items of 2",
        "    stores %y",
    )
    assert kernel.reasons == ("j: a", "i: b")
    assert kernel.ops == ()


def test_tiles_and_shared_axes_are_words():
    text = SCHEDULED.replace("thread(2)", "items(4) vector(8)").replace("block(8) unroll(2)", "block")
    (kernel,) = explained(text, "analyze-schedule", "reference").kernels
    assert kernel.schedule[0] == "for i < 64: a work-group each"
    assert kernel.schedule[-2] == "  for l < 64: shared by 4 work-items, vectors of 8"


LOOPS = """
func.func @f(%x: tensor<8xf32>, %c: tensor<i1>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %y = graph.scan %i = 10 reverse (%a = %x) over () : (tensor<8xf32>) -> (tensor<8xf32>) {
    %b = graph.exp %a : tensor<8xf32>
    graph.yield %b : tensor<8xf32>
  }
  %z = graph.if %c -> (tensor<8xf32>) {
    %d = graph.neg %y : tensor<8xf32>
    graph.yield %d : tensor<8xf32>
  } else {
    %e = graph.abs %y : tensor<8xf32>
    graph.yield %e : tensor<8xf32>
  }
  func.return %y, %z, %x : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
"""


def test_loops_branches_and_copies_are_steps():
    assert list(explained(LOOPS).steps) == [
        "copy %x to %y: a loop begins with it, and changes its copy",
        "10 times, from the last to the first",
        "  @f_0(%y) -> %y",
        "if %c",
        "  @f_1(%y) -> %z",
        "else",
        "  @f_2(%y) -> %z",
        "copy %x to %x_1: what is returned has a buffer of its own, and no kernel computes it there",
    ]


CHAIN = """
func.func @f(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  %table = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %a = graph.sort %x axis 0 : tensor<8x8xf32>
  %b = graph.sort %a axis 1 : tensor<8x8xf32>
  %c = graph.sort %b axis 0 : tensor<8x8xf32>
  %s = graph.reduce add %c axes [0] : tensor<8x8xf32> -> tensor<8xf32>
  %r = graph.mul %s, %table : tensor<8xf32>
  func.return %r : tensor<8xf32>
}
"""


def test_values_are_called_as_they_are_printed():
    text = """
        func.func @f(%a: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
          %n, %y = graph.while (%i = %a, %x_1 = %x) : (tensor<i32>, tensor<4xf32>) {
            %i_1 = graph.constant dense<10> : tensor<i32>
            %0 = graph.lt %i, %i_1 : tensor<i32>
            graph.condition %0
          } do (%i_2, %x_2) {
            %one = graph.constant dense<1> : tensor<i32>
            %1 = graph.add %i_2, %one : tensor<i32>
            %w = graph.add %x_2, %x_2 : tensor<4xf32>
            graph.yield %1, %w : tensor<i32>, tensor<4xf32>
          }
          func.return %y : tensor<4xf32>
        }
    """
    module = parse_module(text, "f")
    printed = dict.fromkeys(re.findall(r"%(\w+)", str(module)))
    assert list(value_names(module).values()) == list(printed)
    assert {"i", "i_1", "i_2", "x_1", "x_2", "0", "1"} <= printed.keys()


def test_memory_that_is_shared_and_constants_are_told():
    found = explained(CHAIN)
    shared = {temporary.value: temporary.shares_with for temporary in found.temporaries}
    assert any("%c" in others for others in shared.values())
    assert found.temporary_nbytes < found.unshared_nbytes
    assert found.constants == (("%table", 32),)
    lines = str(found).splitlines()
    assert "  %table: a constant of 32 bytes" in lines
    assert any(line.endswith(", shared with %c") for line in lines)
    assert found.not_fused[0].why == "read by graph.sort as a whole"


def test_a_kernel_that_is_launched_twice_is_told_once():
    text = """
    func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
      %a = graph.exp %x : tensor<4x8xf32>
      %b = graph.exp %y : tensor<4x8xf32>
      func.return %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
    }
    """
    (kernel,) = explained(text, None).kernels
    assert next(kernel.lines()) == "kernel @f_0 computes %a: 4x8xf32, launched at 2 places"
    effects = [str(effect) for effect in explained(text, None).passes]
    # What is equal is written once: nothing is left to drop.
    assert effects == []


def test_rules_that_fire_several_times_are_counted():
    text = """
    func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
      %a = graph.neg %x : tensor<8xf32>
      %b = graph.neg %a : tensor<8xf32>
      %c = graph.exp %b : tensor<8xf32>
      %d = graph.neg %c : tensor<8xf32>
      %e = graph.neg %d : tensor<8xf32>
      func.return %e : tensor<8xf32>
    }
    """
    (effect,) = explained(text).passes
    assert str(effect) == "canonicalize-graph: drop inverse (2 times); -4 graph.neg"


def test_an_explanation_is_the_same_each_time_and_on_each_device():
    assert str(explained(LOOPS)) == str(explained(LOOPS))
    pytest.importorskip("pyopencl")
    assert str(explained(LOOPS)) == str(explained(LOOPS, backend="opencl"))


def test_a_program_from_the_cache_is_explained_too():
    first, again = explained(TWO_KERNELS), explained(TWO_KERNELS)
    assert first == again


def test_sizes_that_vary_are_told_by_their_names():
    text = """
    graph.dim @n min 1 max 64
    func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) -> tensor<?x8xf32, #graph.dims<n, 8>> {
      %y = graph.exp %x : tensor<?x8xf32, #graph.dims<n, 8>>
      func.return %y : tensor<?x8xf32, #graph.dims<n, 8>>
    }
    """
    (kernel,) = explained(text).kernels
    assert kernel.schedule[0] == "for i < n: one after the other"


def test_functions_are_explained_for_arguments():
    import tenon.numpy as tnp

    def product(x: Any, y: Any) -> Any:
        return tnp.exp(x) @ y

    x, y = np.ones((4, 8), np.float32), np.ones((8, 2), np.float32)
    found = tenon.explain(product, x, y)
    assert found.name == "product"
    assert found.kernels[0].ops[0].place.startswith("test_explanation.py:")
    jitted = tenon.jit(product)
    assert str(jitted.explain(x, y=y)) == str(found) == str(tenon.explain(jitted, x, y))
    assert str(jitted.lower(x, y).explain()) == str(found)


def test_texts_modules_and_executables_are_explained():
    with tenon.compile(TWO_KERNELS) as executable:
        found = tenon.explain(executable)
    assert [kernel.name for kernel in tenon.explain(TWO_KERNELS).kernels] == ["f_0", "f_1", "f_2"]
    assert len(tenon.explain(parse_module(TWO_KERNELS, "f"), backend="reference").kernels) == 3
    assert found.n_ops == 5


def test_what_cannot_be_explained_is_told():
    with pytest.raises(TypeError) as wrong:
        tenon.explain(TWO_KERNELS, 1, y=2)
    assert str(wrong.value) == "explain: 2 arguments for a program, expected none"
    with pytest.raises(TypeError) as wrong:
        tenon.explain(3)  # pyright: ignore
    assert str(wrong.value) == "explain: 3 is no program, expected a function, a module or an executable"
    with pytest.raises(TenonError) as error:
        tenon.explain(np.exp, backend=object())  # pyright: ignore
    assert str(error.value) == "explain: a function that is not jitted takes the name of a backend"
    with pytest.raises(TenonError) as error:
        explained(TWO_KERNELS, "graph-pipeline", "reference")
    assert str(error.value) == "explain: the passes leave @f at graph, where there are no kernels yet"


def test_an_executable_that_was_put_together_from_parts_knows_nothing():
    with tenon.compile(TWO_KERNELS) as executable:
        assert isinstance(executable, DeviceExecutable)
        executable.explainer = None
        with pytest.raises(TenonError) as error:
            executable.explain()
    assert str(error.value) == "f: nothing is known of how it was compiled"


def test_words():
    assert list_text([]) == ""
    assert list_text(["a"]) == "a"
    assert list_text(["a", "b", "c"]) == "a, b and c"
    assert rule_words("DropNeutralOperand") == "drop neutral operand"
    assert place_text("a/b/f.mlir:3:8") == "f.mlir:3"
    assert place_text("f.mlir:3:8") == "f.mlir:3"
    assert place_text("<string>:3:8") == "<string>:3"
    assert place_text("") == ""


PRODUCT = """
func.func @f(%a: tensor<700x800xf32>, %b: tensor<800x900xf32>) -> tensor<700x900xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : tensor<700x800xf32>, tensor<800x900xf32> -> tensor<700x900xf32>
  func.return %c : tensor<700x900xf32>
}"""


def test_sums_of_products_are_told_with_their_sides():
    explanation = explained(PRODUCT)
    copy, kernel = explanation.kernels[0], explanation.kernels[-1]
    assert copy.products == ()
    (product,) = kernel.products
    lhs, rhs = product.sides
    assert (product.axes, product.depth) == (("k",), 800)
    assert (lhs.buffer, dict(lhs.strides), lhs.panel) == ("%a", {"i": 800, "k": 1}, None)
    assert rhs.strides["j"] is None and rhs.panel == rhs.strides["k"]
    line = (
        f"800 over k of %a[i: 800, k: 1] by {rhs.buffer}[j: uneven, k: {rhs.panel}], in panels of {rhs.panel}"
    )
    assert f"  products:\n    {line}\n" in str(explanation)
    found = json.loads(explanation.to_json())["kernels"][-1]["products"]
    assert found[0]["sides"][0] == {"buffer": "%a", "strides": {"i": 800, "k": 1}, "panel": None}
