"""What `partition-graph` and `propagate-sharding` refuse, where a module has no place to show it."""

import pytest
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.pass_manager import PassManager

FUNCTION = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"


def run(pipeline: str, text: str) -> str:
    module = parse_module(text)
    PassManager(pipeline).run(context(), module)
    return str(module)


@pytest.mark.parametrize("name", ["propagate-sharding", "partition-graph"])
def test_a_program_without_a_mesh_is_refused(name: str):
    with pytest.raises(TenonError, match=f"{name}: the module has no shard.grid"):
        run(name, FUNCTION)


@pytest.mark.parametrize("again", ["propagate-sharding", "partition-graph{rank=1}"])
def test_the_program_of_a_rank_is_not_partitioned_again(again: str):
    # Without a collective: nothing but the attribute says that its arguments are parts already.
    text = """shard.grid @mesh(shape = 2)
    func.func @f(%x: tensor<8xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<8xf32> {
      %y = graph.exp %x : tensor<8xf32>
      func.return %y : tensor<8xf32>
    }"""
    with pytest.raises(TenonError, match=r"the module is partitioned: tenon.rank = 1"):
        run(f"propagate-sharding,partition-graph{{rank=1}},{again}", text)


@pytest.mark.parametrize("name", ["propagate-sharding", "partition-graph"])
@pytest.mark.parametrize("place", ["argument", "result"])
@pytest.mark.parametrize(
    ("sharding", "reason"),
    [
        ("#shard<axisarray[[1]]>", "%x is split over axis 1 of a mesh of rank 1"),
        ("#shard<axisarray[[-1]]>", "%x is split over axis -1 of a mesh of rank 1"),
        ("#shard<axisarray[[0, 0]]>", "%x is split over axis axis0 twice"),
        ("#shard<axisarray[[0], []]>", "%x has rank 1, its sharding 2 dims"),
        ('"axis0"', '@f: tenon.sharding of PLACE 0 is "axis0", expected #shard<axisarray'),
        ("[[0]]", "@f: tenon.sharding of PLACE 0 is .*, expected #shard<axisarray"),
    ],
)
def test_an_attribute_that_says_no_sharding_of_its_value_is_refused_by_both_passes(
    name: str, place: str, sharding: str, reason: str
):
    said = f"{{tenon.sharding = {sharding}}}"
    argument, result = (said, "") if place == "argument" else ("", said)
    text = f"""shard.grid @mesh(shape = 2)
    func.func @f(%x: tensor<4xf32> {argument}) -> (tensor<4xf32> {result}) {{
      func.return %x : tensor<4xf32>
    }}"""
    with pytest.raises(TenonError, match=reason.replace("PLACE", place)):
        run(name, text)


@pytest.mark.parametrize("rank", [4, 100])
def test_a_rank_that_the_mesh_has_not_is_refused(rank: int):
    with pytest.raises(TenonError, match=f"rank {rank} is none of the 4 ranks of @mesh"):
        run(f"partition-graph{{rank={rank}}}", f"shard.grid @mesh(shape = 2x2)\n{FUNCTION}")


def test_a_value_that_nothing_annotates_is_whole():
    text = run("partition-graph{rank=1}", f"shard.grid @mesh(shape = 2)\n{FUNCTION}")
    assert "%x: tensor<4xf32>" in text and "tenon.rank = 1" in text


def test_an_op_that_is_split_where_it_must_be_whole_is_named_without_propagation_too():
    text = """shard.grid @mesh(shape = 2)
    func.func @f(%x: tensor<3x4xf32> {tenon.sharding = #shard<axisarray[[], [0]]>}) -> tensor<12xf32> {
      %y = graph.reshape %x : tensor<3x4xf32> -> tensor<12xf32>
      func.return %y : tensor<12xf32>
    }"""
    with pytest.raises(
        TenonError, match=r"graph.reshape: dim 1 of operand 0 is split over axes axis0 and must be"
    ):
        run("partition-graph", text)


ROLL = """shard.grid @mesh(shape = 4)
    func.func @f(%x: tensor<12x5xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<12x5xf32> {
      %last = graph.slice %x offsets [11, 0] sizes [1, 5] strides [1, 1] : tensor<12x5xf32>
      %others = graph.slice %x offsets [0, 0] sizes [11, 5] strides [1, 1] : OTHERS
      %y = graph.concat %last, %others axis 0 : tensor<1x5xf32>, tensor<11x5xf32> -> tensor<12x5xf32>
      func.return %y : tensor<12x5xf32>
    }"""


def test_a_roll_along_a_split_dim_is_one_collective():
    text = run("propagate-sharding,partition-graph", ROLL.replace("OTHERS", "tensor<12x5xf32>"))
    assert text.count("graph.collective_permute") == 1
    assert "pairs = [[3, 0], [0, 1], [1, 2], [2, 3]]" in text


def test_slices_of_several_values_are_fetched_one_by_one():
    text = ROLL.replace("OTHERS", "tensor<12x5xf32>").replace(
        "%others = graph.slice %x", "%e = graph.exp %x : tensor<12x5xf32>\n      %others = graph.slice %e"
    )
    assert run("propagate-sharding,partition-graph", text).count("graph.collective_permute") == 2


def test_a_gather_that_counts_along_a_split_dim_sends_nothing():
    text = """shard.grid @mesh(shape = 2)
    func.func @f(%x: tensor<5x4xf32> {tenon.sharding = #shard<axisarray[[0], []]>},
                 %i: tensor<5x3xi64> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<5x3xf32> {
      %row = graph.iota axis 0 : tensor<5x3xi64>
      %y = graph.gather %x[%row, %i] axes [0, 1]
        : tensor<5x4xf32>[tensor<5x3xi64>, tensor<5x3xi64>] -> tensor<5x3xf32>
      func.return %y : tensor<5x3xf32>
    }"""
    done = run("propagate-sharding,partition-graph{rank=1}", text)
    assert "on @mesh" not in done and "graph.iota axis 0 : tensor<2x3xi64>" in done


def test_channels_are_numbered_through_all_functions():
    one = """func.func @NAME(%x: tensor<4xf32> {tenon.sharding = #shard<axisarray[[0]]>})
      -> (tensor<4xf32> {tenon.sharding = #shard<axisarray[[]]>}) { func.return %x : tensor<4xf32> }"""
    functions = "\n".join(one.replace("NAME", name) for name in "ab")
    text = run("propagate-sharding,partition-graph", f"shard.grid @mesh(shape = 2)\n{functions}")
    assert "channel = 1" in text and "channel = 2" in text


def test_what_propagation_says_is_what_it_says_again():
    text = """shard.grid @mesh(shape = 2)
    func.func @f(%x: tensor<4x6xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<4xf32> {
      %y = graph.reduce add %x axes [0] : tensor<4x6xf32> -> tensor<6xf32>
      %z = graph.reduce add %x axes [1] : tensor<4x6xf32> -> tensor<4xf32>
      func.return %z : tensor<4xf32>
    }"""
    once = run("propagate-sharding", text)
    again = run("propagate-sharding", once)
    assert once.count("shard.shard ") == again.count("shard.shard ")
    assert run("partition-graph", once) == run("partition-graph", again)


def test_a_call_has_to_be_inlined():
    text = f"""shard.grid @mesh(shape = 2)
    {FUNCTION}
    func.func @g(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %y = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }}"""
    with pytest.raises(TenonError, match=r"func.call: cannot be partitioned \(hint: run inline-calls\)"):
        run("propagate-sharding", text)


def test_nodes_are_whole_on_every_rank():
    text = """shard.grid @mesh(shape = 2)
    graph.tnode @w : tensor<3x4xf32> = dense<1.0>
    func.func @f(%x: tensor<4xf32> {tenon.sharding = #shard<axisarray[[0]]>}, %i: index) -> tensor<4xf32> {
      %w = graph.read @w[%i] : tensor<4xf32>
      %y = graph.add %x, %w : tensor<4xf32>
      graph.write @w[%i], %VALUE : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    done = run("propagate-sharding,partition-graph", text.replace("VALUE", "w"))
    assert "graph.slice %w offsets [0] sizes [2]" in done
    with pytest.raises(TenonError, match=r"graph.write: dim 0 of operand 1 is split"):
        run("propagate-sharding", text.replace("VALUE", "y"))


def test_a_pad_by_elements_beside_a_named_dim_keeps_the_padded_dim_whole():
    text = """shard.grid @mesh(shape = 2)
    graph.dim @n min 1 max 64
    func.func @f(%x: tensor<?x6x4xf32, #graph.dims<n, 6, 4>> {tenon.sharding = #shard<axisarray[SPLIT]>})
        -> tensor<?x8x4xf32, #graph.dims<n, 8, 4>> {
      %y = graph.pad_with edge %x low [0, 1, 0] high [0, 1, 0] : tensor<?x6x4xf32, #graph.dims<n, 6, 4>>
      func.return %y : tensor<?x8x4xf32, #graph.dims<n, 8, 4>>
    }"""
    done = run("propagate-sharding,partition-graph", text.replace("SPLIT", "[], [], [0]"))
    assert "graph.pad_with edge %x" in done and "tensor<?x6x2xf32" in done
    with pytest.raises(TenonError, match=r"graph.pad_with: dim 1 of operand 0 is split over axes axis0"):
        run("propagate-sharding", text.replace("SPLIT", "[], [0], []"))


@pytest.mark.parametrize("name", ["propagate-sharding", "partition-graph"])
def test_a_sharding_that_nothing_says_is_refused(name: str):
    text = """shard.grid @mesh(shape = 2)
    func.func @f(%x: tensor<4xf32>, %s: !shard.sharding) -> tensor<4xf32> {
      %y = shard.shard %x to %s : tensor<4xf32>
      func.return %y : tensor<4xf32>
    }"""
    with pytest.raises(TenonError, match=r"shard.shard: its sharding is given by no shard.sharding"):
        run(name, text)
