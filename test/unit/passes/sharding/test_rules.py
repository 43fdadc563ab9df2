"""Every op of `graph` can be partitioned, or stands in a list with the reason why not."""

import pytest
from tenon.dialects import graph
from tenon.passes.sharding.rules import RULES, WITH_REGIONS, WITHOUT_A_RULE
from xdsl.ir import Operation

OF_A_MODULE = {
    graph.DimOp: "says what a name means",
    graph.TnodeOp: "is read and written by ops that have rules",
    graph.YieldOp: "ends a region, which is partitioned with its op",
    graph.ConditionOp: "ends a region, which is partitioned with its op",
}
"""The ops that compute nothing, and what becomes of them."""


@pytest.mark.parametrize("op", list(graph.GRAPH.operations), ids=lambda op: op.name)
def test_every_op_has_one_row(op: type[Operation]):
    rows = [op in RULES, op in WITHOUT_A_RULE, op in WITH_REGIONS, op in OF_A_MODULE]
    assert sum(rows) == 1, f"{op.name}: a rule in passes/sharding/rules.py, or a line in WITHOUT_A_RULE"


def test_no_row_is_of_an_op_that_there_is_not():
    assert {*RULES, *WITHOUT_A_RULE, *WITH_REGIONS, *OF_A_MODULE} == set(graph.GRAPH.operations)
