"""Which conditions are the same on all ranks: a branch, or a loop, whose is not has no collectives."""

import numpy as np
import pytest
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.pass_manager import PassManager

HEAD = """
shard.grid @mesh(shape = {shape}) {{axis_names = ["x", "y"]}}
{declared}
func.func @f(%x: tensor<4x4xf32> {{tenon.sharding = #shard<axisarray[[0], [1]]>}}, %k: tensor<f32>)
    -> tensor<4x4xf32> {{
  %r = graph.manual_computation on @mesh(%x, %k) split [[[0], [1]], []] to [[[0], [1]]]
    : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32> {{
  ^bb0(%p: {part}, %w: tensor<f32>):
    %s = graph.reduce add %p axes [0, 1] : {part} -> tensor<f32>
    {ops}
    graph.yield %q : {part}
  }}
  func.return %r : tensor<4x4xf32>
}}
"""

IF = """
    %c = graph.lt %v, %w : tensor<f32>
    %q = graph.if %c -> (PART) {{
      %t = graph.all_reduce add %p on @mesh axes = {axes} channel = 9 : PART
      graph.yield %t : PART
    }} else {{
      graph.yield %p : PART
    }}
"""

VALUES = {
    "what a rank has": ("%v = graph.exp %s : tensor<f32>", "xy"),
    "what all have": ("%v = graph.exp %w : tensor<f32>", ""),
    "a sum along x": ("%v = graph.all_reduce add %s on @mesh axes = [0] channel = 1 : tensor<f32>", "y"),
    "a sum along both": ("%v = graph.all_reduce max %s on @mesh axes = [0, 1] channel = 1 : tensor<f32>", ""),
    "a rank's number": (
        """%i = graph.axis_index on @mesh axis = 1 : tensor<i32>
    %v = graph.cast %i : tensor<i32> -> tensor<f32>""",
        "y",
    ),
    "what is gathered along y": (
        """%one = graph.reshape %s : tensor<f32> -> tensor<1xf32>
    %g = graph.all_gather %one on @mesh axes = [1] dim = 0 channel = 1 : tensor<1xf32> -> tensor<2xf32>
    %v = graph.reduce add %g axes [0] : tensor<2xf32> -> tensor<f32>""",
        "x",
    ),
    "a part of a sum": (
        """%two = graph.broadcast %w : tensor<f32> -> tensor<2xf32>
    %h = graph.reduce_scatter add %two on @mesh axes = [0] dim = 0 channel = 1
      : tensor<2xf32> -> tensor<1xf32>
    %v = graph.reshape %h : tensor<1xf32> -> tensor<f32>""",
        "x",
    ),
    "what all send all": (
        "%v = graph.collective_permute %w on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 1 "
        ": tensor<f32> -> tensor<f32>",
        "",
    ),
    "what some send": (
        "%v = graph.collective_permute %w on @mesh axes = [0] pairs = [[0, 1]] channel = 1 "
        ": tensor<f32> -> tensor<f32>",
        "x",
    ),
    "what varies along y, sent along x": (
        """%u = graph.all_reduce add %s on @mesh axes = [0] channel = 1 : tensor<f32>
    %v = graph.collective_permute %u on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 2
      : tensor<f32> -> tensor<f32>""",
        "y",
    ),
    "what a callback makes of what all have": (
        "%v = graph.callback @g(%w) : (tensor<f32>) -> tensor<f32>",
        "",
    ),
    "what a branch gives": (
        """%b = graph.lt %s, %w : tensor<f32>
    %v = graph.if %b -> (tensor<f32>) {
      graph.yield %w : tensor<f32>
    } else {
      graph.yield %w : tensor<f32>
    }""",
        "xy",
    ),
    "rounds of a loop": (
        """%v = graph.while (%a = %w) : (tensor<f32>) {
      %m = graph.lt %a, %s : tensor<f32>
      graph.condition %m
    } do (%a2) {
      %n = graph.add %a2, %a2 : tensor<f32>
      graph.yield %n : tensor<f32>
    }""",
        "xy",
    ),
    "what a loop carries on": (
        """%a, %v = graph.while (%n = %w, %d = %w) : (tensor<f32>, tensor<f32>) {
      %m = graph.lt %n, %w : tensor<f32>
      graph.condition %m
    } do (%n2, %d2) {
      %e = graph.add %n2, %w : tensor<f32>
      graph.yield %e, %s : tensor<f32>, tensor<f32>
    }""",
        "xy",
    ),
    "what a scan hands on": (
        """%o, %v = graph.scan %i = 3 (%a = %w, %b = %w)
      : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
      graph.yield %s, %a : tensor<f32>, tensor<f32>
    }""",
        "xy",
    ),
    "the rounds of a scan": (
        """%v = graph.scan %i = 3 (%a = %w) : (tensor<f32>) -> (tensor<f32>) {
      %n = graph.cast %i : tensor<i64> -> tensor<f32>
      graph.yield %n : tensor<f32>
    }""",
        "",
    ),
}
"""Conditions, and the axes along which they may differ."""


def partitioned(ops: str, shape: tuple[int, int] = (2, 2), rank: int = 0) -> str:
    part = f"tensor<{4 // shape[0]}x{4 // shape[1]}xf32>"
    text = HEAD.format(shape="x".join(map(str, shape)), part=part, ops=ops.replace("PART", part), declared="")
    module = parse_module(text, "program.mlir")
    PassManager(f"propagate-sharding,partition-graph{{rank={rank}}}").run(context(), module)
    return str(module)


def axes_text(axes: str) -> str:
    return str(["xy".index(axis) for axis in axes])


@pytest.mark.parametrize("met", ["x", "y", "xy"])
@pytest.mark.parametrize("name", VALUES)
def test_a_branch_with_a_collective_is_refused_where_ranks_that_meet_in_it_may_differ(name: str, met: str):
    value, axes = VALUES[name]
    ops = value + IF.format(axes=axes_text(met))
    both = [axis for axis in "xy" if axis in met and axis in axes]
    if both:
        with pytest.raises(
            TenonError,
            match=rf"program.mlir:\d+:\d+: error: graph.if: the condition may differ from rank to rank along "
            rf"{', '.join(both)}, and ranks along {', '.join(met)} meet in the graph.all_reduce in it "
            r"\(program.mlir:\d+:\d+\): some would wait for ever \(hint: a psum, pmax or pmin of it is",
        ):
            partitioned(ops)
        return
    assert ("{divergent}" in partitioned(ops)) == bool(axes)


def test_a_branch_without_a_collective_may_differ():
    text = partitioned(
        VALUES["what a rank has"][0]
        + IF.replace("graph.all_reduce add %p on @mesh axes = {axes} channel = 9", "graph.exp %p").format()
    )
    assert "graph.if" in text and "divergent" not in text


@pytest.mark.parametrize("where", ["before", "body"])
def test_a_loop_with_a_collective_is_refused_wherever_that_stands(where: str):
    sums = {"before": "exp %z", "body": "exp %t"} | {
        where: f"all_reduce max {'%z' if where == 'before' else '%t'} on @mesh axes = [0] channel = 3"
    }
    loop = f"""
    %last = graph.while (%z = START) : (tensor<f32>) {{
      %u = graph.{sums["before"]} : tensor<f32>
      %m = graph.lt LEFT, %w : tensor<f32>
      graph.condition %m
    }} do (%t) {{
      %n = graph.{sums["body"]} : tensor<f32>
      graph.yield %n : tensor<f32>
    }}
    %l = graph.broadcast %last : tensor<f32> -> PART
    %q = graph.add %p, %l : PART
    """
    with pytest.raises(TenonError, match=r"graph.while: the condition may differ .* it is the same on all\)"):
        partitioned(loop.replace("START", "%s").replace("LEFT", "%z"))
    # What is the same before the first round, and is made of what is the same, stays so.
    assert "divergent" not in partitioned(loop.replace("START", "%w").replace("LEFT", "%z"))
    if where == "before":
        assert "divergent" in partitioned(
            "%y = graph.all_reduce add %s on @mesh axes = [0] channel = 1 : tensor<f32>"
            + loop.replace("START", "%y").replace("LEFT", "%u")
        )


def test_an_axis_of_one_rank_tells_nobody_apart():
    text = partitioned(VALUES["what a rank has"][0] + IF.format(axes="[1]"), (4, 1))
    assert "{divergent}" in text
    with pytest.raises(TenonError, match="along x, and ranks along x, y meet"):
        partitioned(VALUES["what a rank has"][0] + IF.format(axes="[0, 1]"), (4, 1))


OUTSIDE = """
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @f(%x: tensor<4xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<f32> {
  %c = graph.manual_computation on @mesh(%x) split [[[0]]] to [[]] : (tensor<4xf32>) -> tensor<i1> {
  ^bb0(%p: tensor<2xf32>):
    %s = graph.reduce add %p axes [0] : tensor<2xf32> -> tensor<f32>
    %t = graph.all_reduce add %s on @mesh axes = [0] channel = 1 : tensor<f32>
    %b = graph.lt %s, %t : tensor<f32>
    graph.yield %b : tensor<i1>
  }
  %r = graph.if %c -> (tensor<f32>) {
    %sum = graph.reduce add %x axes [0] : tensor<4xf32> -> tensor<f32>
    graph.yield %sum : tensor<f32>
  } else {
    %one = graph.constant dense<1.0> : tensor<f32>
    graph.yield %one : tensor<f32>
  }
  func.return %r : tensor<f32>
}
"""


def test_what_a_function_of_parts_says_is_the_same_and_is_not_decides_nothing_that_ranks_meet_in():
    """The sum in the branch gets its collective as it is partitioned."""
    run = PassManager("propagate-sharding,partition-graph").run
    with pytest.raises(
        TenonError, match=r"graph\.if: the condition may differ from rank to rank along x, and"
    ):
        run(context(), parse_module(OUTSIDE))
    module = parse_module(OUTSIDE.replace("graph.lt %s, %t", "graph.lt %t, %t"))
    run(context(), module)
    assert "graph.all_reduce" in str(module) and "divergent" not in str(module)


def test_nodes_keep_what_differs():
    text = OUTSIDE.replace("func.func", "graph.tnode @n : tensor<i1>\nfunc.func", 1).replace(
        "  %r = graph.if %c",
        "  graph.write @n, %c : tensor<i1>\n  %d = graph.read @n : tensor<i1>\n  %r = graph.if %d",
    )
    with pytest.raises(
        TenonError, match=r"graph\.if: the condition may differ from rank to rank along x, and"
    ):
        PassManager("propagate-sharding,partition-graph").run(context(), parse_module(text))


def test_divergence_is_said_to_the_end():
    """A branch of which a rank knows the condition stays, and what begins in it is marked at sched too."""
    ops = VALUES["a rank's number"][0] + IF.format(axes="[0]")
    text = partitioned(ops.replace("%w : tensor<f32>\n    %q", "%v : tensor<f32>\n    %q"))
    module = parse_module(text)
    PassManager("canonicalize-graph,convert-graph-to-sched,schedule-collectives").run(context(), module)
    assert "sched.if" in str(module) and "{divergent}" in str(module)
    np.testing.assert_equal(str(parse_module(str(module))), str(module))


def test_sums_that_are_sent_as_one_stay_divergent():
    """The branch differs along y, and its sums are along x."""
    text = (
        OUTSIDE.replace('shape = 2) {axis_names = ["x"]}', 'shape = 2x2) {axis_names = ["x", "y"]}')
        .replace(
            "%b = graph.lt %s, %t : tensor<f32>",
            """%i = graph.axis_index on @mesh axis = 1 : tensor<i32>
    %b = graph.lt %i, %i : tensor<i32>""",
        )
        .replace(
            "    graph.yield %sum : tensor<f32>",
            """    %least = graph.exp %x : tensor<4xf32>
    %other = graph.reduce add %least axes [0] : tensor<4xf32> -> tensor<f32>
    %both = graph.add %sum, %other : tensor<f32>
    graph.yield %both : tensor<f32>""",
        )
    )
    module = parse_module(text)
    PassManager("propagate-sharding,partition-graph").run(context(), module)
    assert str(module).count("{divergent, bundle = 1 : i64}") == 2
    PassManager("canonicalize-graph,convert-graph-to-sched,schedule-collectives").run(context(), module)
    # The two are one.
    assert str(module).count("{divergent}") == 1
