"""
Marks products of a matrix with its own transpose, whose elements on either side of the diagonal are equal.

    %c = graph.contract %a, %a maps [(i, j, k) -> (i, k), (i, j, k) -> (j, k), (i, j, k) -> (i, j)]
        : tensor<512x64xf32>, tensor<512x64xf32> -> tensor<512x512xf32>

-->

    %c = graph.contract %a, %a maps [...] {symmetric}
        : tensor<512x64xf32>, tensor<512x64xf32> -> tensor<512x512xf32>

The element at (j, i) adds up the same products in the same order as the one at (i, j), so that both have the
same bits. Register tiles below the diagonal are left out, and what is above it is stored twice.

Requires: nothing; contractions of numbers that are products of one value with itself, and whose maps are one
another with the last two dims of the result exchanged. Ensures: what the module computes is unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir.affine import AffineExpr
from xdsl.passes import ModulePass

from ...dialects import graph
from ...dialects.graph import Combination, ReduceKind, iteration_extents
from ...dialects.graph.symmetric import SYMMETRIC


@dataclass(frozen=True)
class MarkSymmetricProductsPass(ModulePass):
    """Marks products of a matrix with its own transpose."""

    name = "mark-symmetric-products"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for contraction in op.walk():
            if isinstance(contraction, graph.ContractOp) and _is_symmetric(contraction):
                contraction.attributes[SYMMETRIC] = UnitAttr()


def _is_symmetric(op: graph.ContractOp) -> bool:
    if len(op.inputs) != 2 or op.inputs[0] is not op.inputs[1] or len(op.result_dims) < 2:
        return False
    if op.accumulate.data is not ReduceKind.ADD or op.combine.data is not Combination.MUL:
        return False
    first, second = op.result_dims[-2:]
    extents = iteration_extents(op)
    if not isinstance(extents[first], int) or extents[first] != extents[second]:
        return False
    dims = [AffineExpr.dimension(dim) for dim in range(len(extents))]
    dims[first], dims[second] = dims[second], dims[first]
    lhs, rhs = op.operand_maps
    exchanged = tuple(expr.replace_dims_and_symbols(dims, []) for expr in lhs.results)
    return lhs != rhs and exchanged == rhs.results
