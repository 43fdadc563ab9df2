"""Loops and branches give the interpreter's results at every level and on every backend."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.reference.execute import run_module
from tenon.backends.reference.graph import run_graph
from tenon.dialects import context
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.passes import pipeline
from tenon.passes.sched.mapping.inlining import loop_cost
from tenon.semantics.numpy_types import dtype_of

Array = npt.NDArray[Any]

PROGRAMS: dict[str, str] = {}


def program(name: str, arguments: str, results: str, body: str) -> None:
    returned = ", ".join(results.split("; ")[0].split(" "))
    types = results.split("; ")[1]
    values = ", ".join(f"%{name}" for name in returned.split(", "))
    PROGRAMS[name] = f"func.func @f({arguments}) -> ({types}) {{{body}\n  func.return {values} : {types}\n}}"


COUNT = """
  %zero = graph.constant dense<0> : tensor<i32>
  %one = graph.constant dense<1> : tensor<i32>"""

program(
    "branch",
    "%c: tensor<i1>, %x: tensor<8xf32>",
    "y z; tensor<8xf32>, tensor<i32>",
    """
  %y, %z = graph.if %c -> (tensor<8xf32>, tensor<i32>) {
    %e = graph.exp %x : tensor<8xf32>
    %one = graph.constant dense<1> : tensor<i32>
    graph.yield %e, %one : tensor<8xf32>, tensor<i32>
  } else {
    %two = graph.constant dense<2> : tensor<i32>
    graph.yield %x, %two : tensor<8xf32>, tensor<i32>
  }""",
)

program(
    "branches_that_yield_one_value_twice",
    "%n: tensor<i32>, %x: tensor<8xf32>",
    "y z; tensor<8xf32>, tensor<8xf32>",
    """
  %zero = graph.constant dense<2> : tensor<i32>
  %c = graph.lt %n, %zero : tensor<i32>
  %y, %z = graph.if %c -> (tensor<8xf32>, tensor<8xf32>) {
    %e = graph.exp %x : tensor<8xf32>
    graph.yield %e, %e : tensor<8xf32>, tensor<8xf32>
  } else {
    %t = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
    graph.yield %t, %x : tensor<8xf32>, tensor<8xf32>
  }""",
)

program(
    "while_with_a_condition_on_several_values",
    "%n: tensor<i32>, %x: tensor<8xf32>, %limit: tensor<f32>",
    "k y; tensor<i32>, tensor<8xf32>",
    COUNT
    + """
  %k, %y = graph.while (%i = %zero, %v = %x) : (tensor<i32>, tensor<8xf32>) {
    %a = graph.lt %i, %n : tensor<i32>
    %s = graph.reduce add %v axes [0] : tensor<8xf32> -> tensor<f32>
    %b = graph.lt %s, %limit : tensor<f32>
    %c = graph.and %a, %b : tensor<i1>
    graph.condition %c
  } do (%i, %v) {
    %j = graph.add %i, %one : tensor<i32>
    %w = graph.add %v, %x : tensor<8xf32>
    graph.yield %j, %w : tensor<i32>, tensor<8xf32>
  }""",
)

program(
    "swap",
    "%n: tensor<i32>, %a: tensor<3xf32>, %b: tensor<3xf32>, %c: tensor<3xf32>",
    "x y z; tensor<3xf32>, tensor<3xf32>, tensor<3xf32>",
    COUNT
    + """
  %k, %x, %y, %z = graph.while (%i = %zero, %p = %a, %q = %b, %r = %c)
      : (tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %m = graph.lt %i, %n : tensor<i32>
    graph.condition %m
  } do (%i, %p, %q, %r) {
    %j = graph.add %i, %one : tensor<i32>
    graph.yield %j, %q, %r, %p : tensor<i32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }""",
)

program(
    "fibonacci",
    "%a: tensor<i64>, %b: tensor<i64>",
    "x y all; tensor<i64>, tensor<i64>, tensor<20xi64>",
    """
  %x, %y, %all = graph.scan %i = 20 (%p = %a, %q = %b) : (tensor<i64>, tensor<i64>)
      -> (tensor<i64>, tensor<i64>, tensor<20xi64>) {
    %s = graph.add %p, %q : tensor<i64>
    graph.yield %q, %s, %p : tensor<i64>, tensor<i64>, tensor<i64>
  }""",
)

program(
    "while_without_iterations",
    "%x: tensor<4xf32>",
    "y; tensor<4xf32>",
    """
  %never = graph.constant dense<false> : tensor<i1>
  %y = graph.while (%v = %x) : (tensor<4xf32>) {
    graph.condition %never
  } do (%v) {
    %w = graph.add %v, %v : tensor<4xf32>
    graph.yield %w : tensor<4xf32>
  }""",
)

program(
    "a_condition_that_is_carried",
    "%c: tensor<i1>, %x: tensor<4xf32>",
    "d y; tensor<i1>, tensor<4xf32>",
    """
  %d, %y = graph.while (%m = %c, %v = %x) : (tensor<i1>, tensor<4xf32>) {
    graph.condition %m
  } do (%m, %v) {
    %w = graph.add %v, %v : tensor<4xf32>
    %s = graph.reduce max %w axes [0] : tensor<4xf32> -> tensor<f32>
    %limit = graph.constant dense<100.0> : tensor<f32>
    %more = graph.lt %s, %limit : tensor<f32>
    graph.yield %more, %w : tensor<i1>, tensor<4xf32>
  }""",
)

for direction in ("", "reverse "):
    program(
        f"scan_{direction or 'forward'}".strip(),
        "%x: tensor<10x3xf32>, %z: tensor<3xf32>, %w: tensor<10xi32>",
        "s sums k; tensor<3xf32>, tensor<10x3xf32>, tensor<10xi64>",
        f"""
  %s, %sums, %k = graph.scan %i = 10 {direction}(%c = %z) over (%r = %x, %v = %w)
      : (tensor<3xf32>, tensor<10x3xf32>, tensor<10xi32>)
      -> (tensor<3xf32>, tensor<10x3xf32>, tensor<10xi64>) {{
    %f = graph.cast %v : tensor<i32> -> tensor<f32>
    %g = graph.broadcast %f : tensor<f32> -> tensor<3xf32>
    %t = graph.mul %r, %g : tensor<3xf32>
    %n = graph.add %c, %t : tensor<3xf32>
    %l = graph.cast %v : tensor<i32> -> tensor<i64>
    %q = graph.add %i, %l : tensor<i64>
    graph.yield %n, %n, %q : tensor<3xf32>, tensor<3xf32>, tensor<i64>
  }}""",
    )

program(
    "a_product_is_carried",
    "%m: tensor<6x6xf32>, %x: tensor<6x6xf32>",
    "y; tensor<6x6xf32>",
    """
  %y = graph.scan %i = 5 (%a = %x) : (tensor<6x6xf32>) -> (tensor<6x6xf32>) {
    %p = graph.contract %m, %a maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
        affine_map<(i, j, k) -> (i, j)>] : tensor<6x6xf32>, tensor<6x6xf32> -> tensor<6x6xf32>
    %e = graph.constant dense<0.125> : tensor<6x6xf32>
    %q = graph.mul %p, %e : tensor<6x6xf32>
    graph.yield %q : tensor<6x6xf32>
  }""",
)

program(
    "nested",
    "%x: tensor<4x5xf32>, %n: tensor<i32>",
    "total rows sums; tensor<f32>, tensor<4x5xf32>, tensor<4xf32>",
    COUNT
    + """
  %start = graph.constant dense<0.0> : tensor<f32>
  %total, %rows, %sums = graph.scan %i = 4 (%t = %start) over (%r = %x)
      : (tensor<f32>, tensor<4x5xf32>) -> (tensor<f32>, tensor<4x5xf32>, tensor<4xf32>) {
    %s, %partial = graph.scan %j = 5 reverse (%u = %start) over (%e = %r)
        : (tensor<f32>, tensor<5xf32>) -> (tensor<f32>, tensor<5xf32>) {
      %m, %d = graph.while (%k = %zero, %v = %e) : (tensor<i32>, tensor<f32>) {
        %c = graph.lt %k, %n : tensor<i32>
        graph.condition %c
      } do (%k, %v) {
        %l = graph.add %k, %one : tensor<i32>
        %big = graph.lt %one, %k : tensor<i32>
        %o = graph.if %big -> (tensor<f32>) {
          %a = graph.add %v, %v : tensor<f32>
          graph.yield %a : tensor<f32>
        } else {
          %b = graph.mul %v, %v : tensor<f32>
          graph.yield %b : tensor<f32>
        }
        graph.yield %l, %o : tensor<i32>, tensor<f32>
      }
      %w = graph.add %u, %d : tensor<f32>
      graph.yield %w, %w : tensor<f32>, tensor<f32>
    }
    %y = graph.add %t, %s : tensor<f32>
    graph.yield %y, %partial, %y : tensor<f32>, tensor<5xf32>, tensor<f32>
  }""",
)

program(
    "no_elements",
    "%x: tensor<3x0xf32>, %z: tensor<0xf32>",
    "s y; tensor<0xf32>, tensor<3x0xf32>",
    """
  %s, %y = graph.scan %i = 3 (%c = %z) over (%r = %x) : (tensor<0xf32>, tensor<3x0xf32>)
      -> (tensor<0xf32>, tensor<3x0xf32>) {
    %n = graph.add %c, %r : tensor<0xf32>
    graph.yield %n, %r : tensor<0xf32>, tensor<0xf32>
  }""",
)

program(
    "no_iterations",
    "%x: tensor<0x3xf32>, %z: tensor<3xf32>",
    "s y; tensor<3xf32>, tensor<0x3xf32>",
    """
  %s, %y = graph.scan %i = 0 (%c = %z) over (%r = %x) : (tensor<3xf32>, tensor<0x3xf32>)
      -> (tensor<3xf32>, tensor<0x3xf32>) {
    %n = graph.add %c, %r : tensor<3xf32>
    graph.yield %n, %n : tensor<3xf32>, tensor<3xf32>
  }""",
)

program(
    "captured_values",
    "%x: tensor<4x4xf32>, %b: tensor<4xf32>",
    "y z; tensor<4xf32>, tensor<4xf32>",
    """
  %e = graph.exp %b : tensor<4xf32>
  %t = graph.permute %x [1, 0] : tensor<4x4xf32>
  %first = graph.slice %t offsets [0, 0] sizes [1, 4] strides [1, 1] : tensor<4x4xf32>
  %f = graph.reshape %first : tensor<1x4xf32> -> tensor<4xf32>
  %n = graph.iota axis 0 : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32>
  %y = graph.scan %i = 3 (%c = %half) : (tensor<4xf32>) -> (tensor<4xf32>) {
    %g = graph.mul %c, %e : tensor<4xf32>
    %h = graph.add %g, %f : tensor<4xf32>
    %k = graph.add %h, %n : tensor<4xf32>
    %l = graph.mul %k, %half : tensor<4xf32>
    graph.yield %l : tensor<4xf32>
  }
  %z = graph.add %e, %half : tensor<4xf32>""",
)

program(
    "reversed_state",
    "%x: tensor<7xf32>",
    "y; tensor<7xf32>",
    """
  %y = graph.scan %i = 3 (%c = %x) : (tensor<7xf32>) -> (tensor<7xf32>) {
    %r = graph.flip %c axes [0] : tensor<7xf32>
    %s = graph.add %r, %x : tensor<7xf32>
    graph.yield %s : tensor<7xf32>
  }""",
)

program(
    "what_a_loop_begins_with_is_read_later",
    "%x: tensor<7xf32>",
    "y z e; tensor<7xf32>, tensor<7xf32>, tensor<7xf32>",
    """
  %e = graph.exp %x : tensor<7xf32>
  %d = graph.neg %e : tensor<7xf32>
  %y = graph.scan %i = 3 (%c = %e) : (tensor<7xf32>) -> (tensor<7xf32>) {
    %s = graph.add %c, %d : tensor<7xf32>
    graph.yield %s : tensor<7xf32>
  }
  %z = graph.scan %i = 3 (%c = %y) : (tensor<7xf32>) -> (tensor<7xf32>) {
    %s = graph.add %c, %e : tensor<7xf32>
    graph.yield %s : tensor<7xf32>
  }""",
)

program(
    "loops_that_follow_one_another",
    "%x: tensor<7xf32>",
    "z; tensor<7xf32>",
    """
  %e = graph.exp %x : tensor<7xf32>
  %y = graph.scan %i = 3 (%c = %e) : (tensor<7xf32>) -> (tensor<7xf32>) {
    %s = graph.mul %c, %x : tensor<7xf32>
    graph.yield %s : tensor<7xf32>
  }
  %z = graph.scan %i = 2 (%c = %y) : (tensor<7xf32>) -> (tensor<7xf32>) {
    %s = graph.add %c, %x : tensor<7xf32>
    graph.yield %s : tensor<7xf32>
  }""",
)

program(
    "an_argument_is_what_is_left",
    "%x: tensor<7xf32>, %c: tensor<i1>",
    "y z; tensor<7xf32>, tensor<7xf32>",
    """
  %y = graph.scan %i = 3 (%s = %x) : (tensor<7xf32>) -> (tensor<7xf32>) {
    graph.yield %s : tensor<7xf32>
  }
  %z = graph.if %c -> (tensor<7xf32>) {
    graph.yield %x : tensor<7xf32>
  } else {
    graph.yield %y : tensor<7xf32>
  }""",
)

program(
    "booleans_and_bytes",
    "%x: tensor<5x4xi1>, %z: tensor<4xi1>",
    "s all; tensor<4xi1>, tensor<5x4xi1>",
    """
  %s, %all = graph.scan %i = 5 (%c = %z) over (%r = %x) : (tensor<4xi1>, tensor<5x4xi1>)
      -> (tensor<4xi1>, tensor<5x4xi1>) {
    %n = graph.xor %c, %r : tensor<4xi1>
    graph.yield %n, %n : tensor<4xi1>, tensor<4xi1>
  }""",
)

program(
    "float_counter",
    "%x: tensor<f64>, %step: tensor<f64>",
    "y; tensor<f64>",
    """
  %end = graph.constant dense<2.5> : tensor<f64>
  %y = graph.while (%v = %x) : (tensor<f64>) {
    %c = graph.lt %v, %end : tensor<f64>
    graph.condition %c
  } do (%v) {
    %a = graph.add %v, %step : tensor<f64>
    %half = graph.constant dense<0.5> : tensor<f64>
    %w = graph.add %a, %half : tensor<f64>
    graph.yield %w : tensor<f64>
  }""",
)

program(
    "materialized",
    "%x: tensor<8xf32>",
    "y; tensor<8xf32>",
    """
  %e = graph.exp %x : tensor<8xf32>
  %m = graph.materialize %e : tensor<8xf32>
  %d = graph.detach %m : tensor<8xf32>
  %y = graph.add %d, %x : tensor<8xf32>""",
)

program(
    "an_input_that_is_computed",
    "%x: tensor<6x4xf32>",
    "y s; tensor<4xf32>, tensor<6x4xf32>",
    """
  %t = graph.flip %x axes [0] : tensor<6x4xf32>
  %zero = graph.constant dense<0.0> : tensor<4xf32>
  %y, %s = graph.scan %i = 6 (%c = %zero) over (%r = %t) : (tensor<4xf32>, tensor<6x4xf32>)
      -> (tensor<4xf32>, tensor<6x4xf32>) {
    %p = graph.scan %j = 6 (%q = %r) over (%u = %x) : (tensor<4xf32>, tensor<6x4xf32>) -> (tensor<4xf32>) {
      %v = graph.max %q, %u : tensor<4xf32>
      graph.yield %v : tensor<4xf32>
    }
    %n = graph.add %c, %p : tensor<4xf32>
    graph.yield %n, %c : tensor<4xf32>, tensor<4xf32>
  }""",
)

program(
    "updates_of_a_carried_array",
    "%x: tensor<9x4xf32>, %n: tensor<i64>",
    "k y; tensor<i64>, tensor<9x4xf32>",
    """
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %k, %y = graph.while (%i = %zero, %v = %x) : (tensor<i64>, tensor<9x4xf32>) {
    %m = graph.lt %i, %n : tensor<i64>
    graph.condition %m
  } do (%i, %v) {
    %r = graph.dynamic_slice %v[%i, %zero] sizes [2, 4] : tensor<9x4xf32>[tensor<i64>, tensor<i64>]
    %two = graph.add %r, %r : tensor<2x4xf32>
    %j = graph.add %i, %one : tensor<i64>
    %u = graph.dynamic_update %v[%j, %zero], %two
        : tensor<9x4xf32>[tensor<i64>, tensor<i64>], tensor<2x4xf32>
    graph.yield %j, %u : tensor<i64>, tensor<9x4xf32>
  }""",
)

program(
    "views_of_views_read_inside",
    "%x: tensor<2xi32>, %i: tensor<2xi32>",
    "r; tensor<2xi32>",
    """
  %f = graph.flip %x axes [0] : tensor<2xi32>
  %g = graph.gather %f[%i] axes [0] : tensor<2xi32>[tensor<2xi32>] -> tensor<2xi32>
  %h = graph.gather %f[%g] axes [0] : tensor<2xi32>[tensor<2xi32>] -> tensor<2xi32>
  %r = graph.scan %k = 2 (%c = %x) over () : (tensor<2xi32>) -> (tensor<2xi32>) {
    %u = graph.dynamic_update %h[%k], %c : tensor<2xi32>[tensor<i64>], tensor<2xi32>
    %z = graph.add %c, %u : tensor<2xi32>
    %y = graph.sub %z, %h : tensor<2xi32>
    graph.yield %y : tensor<2xi32>
  }""",
)


def inputs_of(text: str, seed: int = 0) -> list[Array]:
    generator = np.random.default_rng(seed)
    module = parse_module(text, "t.mlir")
    arrays: list[Array] = []
    for argument in find_entry(module, None).body.block.args:
        dtype, shape = dtype_of(argument.type), argument.type.get_shape()  # pyright: ignore
        values = generator.integers(0, 5, shape) if dtype.kind in "iub" else generator.random(shape)
        if dtype.kind == "b":
            values = generator.integers(0, 2, shape)
        arrays.append(np.asarray(values).astype(dtype))
    return arrays


def expected_of(text: str, inputs: list[Array]) -> list[Array]:
    module = parse_module(text, "t.mlir")
    module.verify()
    return run_graph(module, "f", inputs)


def check(found: Any, expected: list[Array], name: str) -> None:
    found = found if isinstance(found, tuple | list) else [found]
    assert len(found) == len(expected)
    for number, (a, b) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=f"{name}: result {number}")


@pytest.fixture(params=[True, False], ids=["inlined", "launched"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loops of small kernels as one kernel, and as items of the program."""
    if not request.param:
        monkeypatch.setattr(loop_cost, "MOST_ELEMENTS", 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_pass_keeps_what_a_program_computes(name: str):
    module = parse_module(PROGRAMS[name], "t.mlir")
    inputs = inputs_of(PROGRAMS[name])
    expected = expected_of(PROGRAMS[name], inputs)
    for passes in pipeline.phases().values():
        for each in passes:
            each.apply(context(), module)
            module.verify()
            assert str(parse_module(str(module), "again.mlir")) == str(module)
            check(run_module(module, None, inputs), expected, f"{name} after {each.name}")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_backends_agree(name: str, backend: str):
    text = PROGRAMS[name]
    executable = tenon.compile(text, backend=backend)
    for seed in (0, 1, 1, 2):
        inputs = inputs_of(text, seed)
        check(executable(*inputs), expected_of(text, inputs), name)
    executable.close()
