"""In which floats results were computed."""

from __future__ import annotations

import pytest
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.semantics.computed_precision import result_precisions

PROGRAMS = {
    "f32": """func.func @f(%x: tensor<5x64xf32>) -> tensor<5xf64> {
      %s = graph.reduce add %x axes [1] : tensor<5x64xf32> -> tensor<5xf32>
      %d = graph.cast %s : tensor<5xf32> -> tensor<5xf64>
      func.return %d : tensor<5xf64>
    }""",
    "f64": """func.func @f(%x: tensor<8xf16>) -> tensor<f64> {
      %y = graph.reshape %x : tensor<8xf16> -> tensor<2x4xf16>
      %d = graph.cast %y : tensor<2x4xf16> -> tensor<2x4xf64>
      %s = graph.reduce add %d axes [0, 1] : tensor<2x4xf64> -> tensor<f64>
      func.return %s : tensor<f64>
    }""",
    "bf16": """func.func @f(%x: tensor<8xbf16>, %y: tensor<8xf32>) -> tensor<8xf32> {
      %e = graph.exp %x : tensor<8xbf16>
      %z = graph.cast %e : tensor<8xbf16> -> tensor<8xf32>
      %s = graph.add %z, %y : tensor<8xf32>
      func.return %s : tensor<8xf32>
    }""",
    "f16": """func.func @f(%x: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {
      %r = graph.if %c -> (tensor<f32>) {
        %h = graph.cast %x : tensor<f32> -> tensor<f16>
        %s = graph.sqrt %h : tensor<f16>
        %w = graph.cast %s : tensor<f16> -> tensor<f32>
        graph.yield %w : tensor<f32>
      } else {
        graph.yield %x : tensor<f32>
      }
      func.return %r : tensor<f32>
    }""",
    "i64": """func.func @f(%x: tensor<8xf16>) -> tensor<8xi64> {
      %e = graph.exp %x : tensor<8xf16>
      %z = graph.cast %e : tensor<8xf16> -> tensor<8xi64>
      func.return %z : tensor<8xi64>
    }""",
}


@pytest.mark.parametrize("expected", PROGRAMS)
def test_the_float_of_the_fewest_digits_is_found(expected: str):
    module = parse_module(PROGRAMS[expected])
    assert [str(type) for type in result_precisions(find_entry(module, "f"))] == [expected]


def test_of_a_kernel_there_are_none():
    module = parse_module("sched.kernel @k() {\n}")
    assert module.body.block.first_op is not None
    assert result_precisions(module.body.block.first_op) == []
