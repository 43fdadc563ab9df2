"""
Converts programs of `stablehlo` and `chlo` to `graph`.

    func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %y = stablehlo.multiply %x, %x : tensor<4xf32>
      %s = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      return %s : tensor<f32>
    }

-->

    func.func @f(%x: tensor<4xf32>) -> tensor<f32> {
      %y = graph.mul %x, %x : tensor<4xf32>
      %s = graph.reduce add %y axes [0] : tensor<4xf32> -> tensor<f32>
      func.return %s : tensor<f32>
    }

Calls and composites are put in first; private functions that nothing calls any more go. Locations stay.

Requires: verified `stablehlo`, `chlo`, `func`, and perhaps `graph` ops, in functions of one block. Ensures:
no op of `stablehlo` or `chlo` remains. What has no conversion is an error that lists every such op of the
module, with its count.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects import stablehlo
from ..graph.inline_calls import InlineCallsPass


@dataclass(frozen=True)
class ConvertStablehloToGraphPass(ModulePass):
    """Converts programs of `stablehlo` and `chlo` to `graph`."""

    name = "convert-stablehlo-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from .functions import convert_functions, expand_composites

        if not any(map(is_foreign, op.walk())):
            return
        expand_composites(op)
        InlineCallsPass().apply(ctx, op)
        convert_functions(op)


def is_foreign(op: Operation) -> bool:
    """Returns whether an op is of `stablehlo` or `chlo`."""
    return isinstance(op, stablehlo.StablehloOp)
