"""Which sums of all ranks are sent as one."""

from tenon.dialects import context, graph
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from xdsl.dialects.builtin import IntegerAttr


def bundles(body: str, results: str, width: int = 4) -> list[int | None]:
    """Returns the bundles of the sums of a program, in the order of its text."""
    type = f"tensor<8x{width}xf32>"
    module = parse_module(f"""shard.grid @mesh(shape = 2)
    func.func @f(%x: {type} {{tenon.sharding = #shard<axisarray[[0], []]>}}) -> ({results}) {{
      {body.replace("WIDTH", str(width))}
    }}""")
    PassManager("propagate-sharding,partition-graph{rank=1}").run(context(), module)
    found = [op.attributes.get("bundle") for op in module.walk() if isinstance(op, graph.AllReduceOp)]
    return [each.value.data if isinstance(each, IntegerAttr) else None for each in found]


SUM = "%{0} = graph.reduce {1} %{2} axes [0] : tensor<8xWIDTHxf32> -> tensor<WIDTHxf32>"


def test_sums_that_need_nothing_of_one_another_are_one():
    body = "\n".join(
        [
            SUM.format("a", "add", "x"),
            "%e = graph.exp %x : tensor<8x4xf32>",
            SUM.format("b", "add", "e"),
            "func.return %a, %b : tensor<4xf32>, tensor<4xf32>",
        ]
    )
    assert bundles(body, "tensor<4xf32>, tensor<4xf32>") == [1, 1]


def test_a_sum_that_needs_another_waits_for_it():
    body = "\n".join(
        [
            SUM.format("a", "add", "x"),
            "%r = graph.broadcast %a : tensor<4xf32> -> tensor<8x4xf32>",
            "%d = graph.sub %x, %r : tensor<8x4xf32>",
            SUM.format("b", "add", "d"),
            "func.return %a, %b : tensor<4xf32>, tensor<4xf32>",
        ]
    )
    assert bundles(body, "tensor<4xf32>, tensor<4xf32>") == [None, None]


def test_sums_of_different_kinds_are_sent_apart():
    body = "\n".join(
        [
            SUM.format("a", "add", "x"),
            SUM.format("b", "max", "x"),
            "func.return %a, %b : tensor<4xf32>, tensor<4xf32>",
        ]
    )
    assert bundles(body, "tensor<4xf32>, tensor<4xf32>") == [None, None]


def test_what_is_large_is_sent_apart():
    body = "\n".join(
        [
            SUM.format("a", "add", "x"),
            "%e = graph.exp %x : tensor<8xWIDTHxf32>",
            SUM.format("b", "add", "e"),
            "func.return %a, %b : tensor<WIDTHxf32>, tensor<WIDTHxf32>",
        ]
    )
    for width, expected in ((1 << 14, [1, 1]), ((1 << 14) + 1, [None, None])):
        assert bundles(body, f"tensor<{width}xf32>, tensor<{width}xf32>", width) == expected
