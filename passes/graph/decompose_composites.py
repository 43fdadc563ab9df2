"""
Writes composite ops out in the ops that `convert-graph-to-sched` knows.

    %i = graph.arg_reduce max %x axis 1 : tensor<4x8xi32> -> tensor<4xi64>

-->

    %extremum = graph.reduce max %x axes [1] keep : tensor<4x8xi32> -> tensor<4x1xi32>
    %0 = graph.broadcast %extremum : tensor<4x1xi32> -> tensor<4x8xi32>
    %hit = graph.eq %x, %0 : tensor<4x8xi32>
    %index = graph.iota axis 1 : tensor<4x8xi32>
    %1 = graph.constant dense<2147483647> : tensor<i32>
    %2 = graph.broadcast %1 : tensor<i32> -> tensor<4x8xi32>
    %candidate = graph.select %hit, %index, %2 : tensor<4x8xi32>
    %first = graph.reduce min %candidate axes [1] : tensor<4x8xi32> -> tensor<4xi32>
    %i = graph.cast %first : tensor<4xi32> -> tensor<4xi64>

The rules are in passes/graph/decompositions, one file for each op. A rule may use other composite ops;
these are written out too.

Requires: nothing. Ensures: no composite op remains; results are those of the interpreter, exactly where no
function or sum of floats is involved.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from ...dialects import graph
from .builder import GraphBuilder
from .decompositions import RULES


@dataclass(frozen=True)
class DecomposeCompositesPass(ModulePass):
    """Replaces every composite op by the ops that it stands for."""

    name = "decompose-composites"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        waiting = [inner for inner in op.walk() if type(inner) in RULES]
        while waiting:
            waiting = [inner for each in waiting for inner in _decompose(each) if type(inner) in RULES]


def _decompose(op: Operation) -> list[Operation]:
    """Replaces `op` and returns the ops that are there instead."""
    builder = GraphBuilder(op)
    result = op.results[0]
    value = RULES[type(op)](builder, op)
    assert value.type == result.type, f"{op.name}: decomposed into {value.type}, not {result.type}"
    if builder.inserted and value.owner is builder.inserted[-1]:
        value.name_hint = result.name_hint
        for name, attribute in op.attributes.items():
            builder.inserted[-1].attributes[name] = attribute
    result.replace_all_uses_with(value)
    sources = [operand.owner for operand in op.operands]
    op.detach()
    op.erase()
    for source in sources:
        _drop_unread(source)
    return builder.inserted


def _drop_unread(op: Operation | Block) -> None:
    """Takes a reshape out that a rule has looked through: ranks would bring their parts to it."""
    while isinstance(op, graph.ReshapeOp) and not op.result.uses:
        before = op.source.owner
        op.detach()
        op.erase()
        op = before
