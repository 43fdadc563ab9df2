"""Donated arguments: results are computed in their memory where that is possible."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.dialects.modules.parsing import parse_module

ADD = """func.func @f(%x: tensor<1000xf32> {tenon.donated}, %y: tensor<1000xf32>) -> tensor<1000xf32> {
  %z = graph.add %x, %y : tensor<1000xf32>
  func.return %z : tensor<1000xf32>
}"""

LOOP = """func.func @f(%x: tensor<8x8xf32> {tenon.donated}, %m: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<f32>) {
  %s = graph.reduce add %x axes [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %y = graph.scan %i = 3 (%c = %x) : (tensor<8x8xf32>) -> (tensor<8x8xf32>) {
    %n = graph.mul %c, %m : tensor<8x8xf32>
    graph.yield %n : tensor<8x8xf32>
  }
  func.return %y, %s : tensor<8x8xf32>, tensor<f32>
}"""

FLIP = """func.func @f(%x: tensor<9xf32> {tenon.donated}) -> tensor<9xf32> {
  %f = graph.flip %x axes [0] : tensor<9xf32>
  %z = graph.add %x, %f : tensor<9xf32>
  func.return %z : tensor<9xf32>
}"""

SWAP = """func.func @f(%x: tensor<9xf32> {tenon.donated}, %y: tensor<9xf32> {tenon.donated})
    -> (tensor<9xf32>, tensor<9xf32>) {
  %a = graph.neg %y : tensor<9xf32>
  %b = graph.exp %x : tensor<9xf32>
  func.return %a, %b : tensor<9xf32>, tensor<9xf32>
}"""


def arrays(*shapes: tuple[int, ...]) -> list[Any]:
    generator = np.random.default_rng(0)
    return [generator.random(shape).astype(np.float32) for shape in shapes]


def test_a_result_takes_the_memory_of_a_donated_argument():
    x, y = arrays((1000,), (1000,))
    expected = x + y
    with tenon.compile(ADD, backend="llvm") as executable:
        found = executable(x, y)
        assert found is x
        np.testing.assert_array_equal(found, expected)
        named = executable(y=y, x=expected.copy())
        np.testing.assert_array_equal(named, expected + y)


def test_a_loop_carries_its_value_in_the_memory_of_a_donated_argument():
    x, m = arrays((8, 8), (8, 8))
    expected = x * m * m * m
    total = x.sum()
    with tenon.compile(LOOP, backend="llvm") as executable:
        text = executable.stages["sched"]
        assert "sched.transfer" not in text
        y, s = executable(x, m)
        assert y is x
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        np.testing.assert_allclose(s, total, rtol=1e-5)


@pytest.mark.parametrize("text", [FLIP, SWAP])
def test_what_would_be_overwritten_too_early_is_not(text: str):
    inputs = arrays((9,), (9,))[: text.count("tenon.donated")]
    expected = [inputs[0] + inputs[0][::-1]] if text is FLIP else [-inputs[1], np.exp(inputs[0])]
    for backend in ("reference", "llvm", "opencl"):
        with tenon.compile(text, backend=backend) as executable:
            found = executable(*[array.copy() for array in inputs])
            for a, b in zip(found if isinstance(found, tuple) else [found], expected, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
def test_what_is_not_the_programs_alone_is_copied(backend: str):
    x, y = arrays((1000,), (1000,))
    kept = x.copy()
    with tenon.compile(ADD, backend=backend) as executable:
        np.testing.assert_array_equal(executable(x, x), kept + kept)
        np.testing.assert_array_equal(x, kept)
        both = np.concatenate([x, y])
        overlapping = executable(both[:1000], both[500:1500])
        np.testing.assert_array_equal(overlapping, x + np.concatenate([x, y])[500:1500])
        np.testing.assert_array_equal(both, np.concatenate([x, y]))
        x.flags.writeable = False
        np.testing.assert_array_equal(executable(x, y), kept + y)
        np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_results_go_to_out_where_it_is_given(backend: str):
    x, y = arrays((1000,), (1000,))
    expected, out = x + y, np.empty(1000, np.float32)
    with tenon.compile(ADD, backend=backend) as executable:
        assert executable(x, y, out=out) is out
        np.testing.assert_array_equal(out, expected)
        with tenon.record_timeline():
            np.testing.assert_array_equal(executable(x.copy(), y), expected)


def test_donated_arguments_are_arguments_with_buffers():
    text = """sched.program @f(%i: index) : (index) -> () attributes {donated = #graph<ints [0]>} {
      sched.return after()
    }"""
    module = parse_module(text)
    with pytest.raises(
        Exception, match=r"sched\.program: donates argument 0 of @f, which is no buffer \(1 arguments\)"
    ):
        module.verify()
