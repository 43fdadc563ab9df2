"""Programs of several ranks in the interpreter, at `graph`."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tenon.backends.reference.execute import run_module
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import RankError
from tenon.semantics.errors import InterpreterError
from tenon.semantics.numpy_types import Array
from tenon.semantics.ranks.local_ranks import run_ranks
from tenon.semantics.ranks.local_world import LocalWorld


def program(rank: int | None, body: str, type: str = "tensor<4xf32>", grid: str = "2") -> str:
    attributes = "" if rank is None else f"attributes {{tenon.rank = {rank} : i64}} "
    return f"""
      builtin.module {attributes}{{
        shard.grid @mesh(shape = {grid})
        func.func @f(%x: {type}) -> {type} {{
          {body}
          func.return %y : {type}
        }}
      }}
    """


def run(texts: Sequence[str], inputs: Sequence[Array]) -> list[Array]:
    """Returns the first result of each rank's program for its input."""

    def rank(text: str, array: Array) -> Callable[[LocalWorld], Array]:
        module = parse_module(text, "a.mlir")
        verify_module(module)
        return lambda world: run_module(module, None, [array], world=world)[0]

    return run_ranks([rank(text, array) for text, array in zip(texts, inputs, strict=True)])


def halves(count: int = 2) -> list[Array]:
    return [np.arange(4, dtype=np.float32) + 10 * rank for rank in range(count)]


SUM = "%y = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>"


def test_all_ranks_get_the_sum():
    for result in run([program(rank, SUM) for rank in range(2)], halves()):
        assert result.tolist() == [10.0, 12.0, 14.0, 16.0]


def test_ranks_may_have_programs_of_their_own():
    """Uneven parts, and what only one of the ranks does in between."""
    texts = [
        program(
            0,
            "%z = graph.neg %x : tensor<2xf32> "
            "%g = graph.all_gather %z on @mesh axes = [0] dim = 0 channel = 1 "
            ": tensor<2xf32> -> tensor<3xf32> "
            "%y = graph.reduce_scatter add %g on @mesh axes = [0] dim = 0 channel = 2 "
            ": tensor<3xf32> -> tensor<2xf32>",
            "tensor<2xf32>",
        ),
        program(
            1,
            "%g = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 1 "
            ": tensor<1xf32> -> tensor<3xf32> "
            "%y = graph.reduce_scatter add %g on @mesh axes = [0] dim = 0 channel = 2 "
            ": tensor<3xf32> -> tensor<1xf32>",
            "tensor<1xf32>",
        ),
    ]
    first, second = run(texts, [np.array([1, 2], np.float32), np.array([3], np.float32)])
    assert first.tolist() == [-2.0, -4.0] and second.tolist() == [6.0]


def test_collectives_in_loops_and_branches_meet_each_time():
    body = """
      %r = graph.scan %i = 3 (%c = %x) : (tensor<4xf32>) -> (tensor<4xf32>) {
        %s = graph.all_reduce max %c on @mesh axes = [0] channel = 1 : tensor<4xf32>
        %n = graph.add %s, %c : tensor<4xf32>
        graph.yield %n : tensor<4xf32>
      }
      %t = graph.constant dense<true> : tensor<i1>
      %y = graph.if %t -> (tensor<4xf32>) {
        %p = graph.collective_permute %r on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 2
          : tensor<4xf32> -> tensor<4xf32>
        graph.yield %p : tensor<4xf32>
      } else {
        graph.yield %r : tensor<4xf32>
      }
    """
    found = run([program(rank, body) for rank in range(2)], halves())
    state = halves()
    for _ in range(3):
        most = np.maximum(*state)
        state = [most + each for each in state]
    assert [result.tolist() for result in found] == [state[1].tolist(), state[0].tolist()]


def test_groups_of_a_grid_meet_along_its_axes():
    body = """
      %s = graph.all_reduce add %x on @mesh axes = [1] channel = 1 : tensor<4xf32>
      %y = graph.collective_permute %s on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 2
        : tensor<4xf32> -> tensor<4xf32>
    """
    found = run([program(rank, body, grid="2x2") for rank in range(4)], halves(4))
    assert [result[0] for result in found] == [50.0, 50.0, 10.0, 10.0]


def test_a_rank_knows_where_it_lies():
    body = """
      %i = graph.axis_index on @mesh axis = 1 : tensor<i32>
      %f = graph.cast %i : tensor<i32> -> tensor<f32>
      %y = graph.broadcast %f : tensor<f32> -> tensor<4xf32>
    """
    found = run([program(None, body, grid="2x2")] * 4, halves(4))
    assert [result[0] for result in found] == [0.0, 1.0, 0.0, 1.0]
    module = parse_module(program(3, body, grid="2x2"), "a.mlir")
    assert run_module(module, None, halves()[:1])[0].tolist() == [1.0] * 4
    module = parse_module(program(None, body, grid="2x2"), "a.mlir")
    with pytest.raises(RankError, match=r"graph.axis_index at .* the module is no rank's, and no world"):
        run_module(module, None, halves()[:1])


def test_ranks_that_wait_for_different_collectives_are_found_and_named():
    other = SUM.replace("channel = 1", "channel = 2")
    with pytest.raises(
        RankError,
        match=r"rank 0 begins graph.all_reduce add on channel 1 \(axes = \[0\]\) at a.mlir:5:\d+ where "
        r"rank 1 begins graph.all_reduce add on channel 2 \(axes = \[0\]\) at a.mlir:5:\d+",
    ):
        run([program(0, SUM), program(1, other)], halves())


def test_a_rank_whose_program_has_fewer_collectives_is_found():
    with pytest.raises(RankError, match=r"rank 0 waits for graph.all_reduce .* and rank 1 has ended"):
        run([program(0, SUM), program(1, "%y = graph.neg %x : tensor<4xf32>")], halves())


def test_a_rank_that_raises_is_named_by_what_it_raises():
    wrong = """
      %c = graph.callback @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %y = graph.all_reduce add %c on @mesh axes = [0] channel = 1 : tensor<4xf32>
    """
    with pytest.raises(Exception, match="no function is given for @f"):
        run([program(0, SUM), program(1, wrong)], halves())


def test_a_world_that_the_program_is_not_for_is_an_error():
    module = parse_module(program(0, SUM), "a.mlir")
    with pytest.raises(RankError, match=r"a.mlir:5:\d+: error: graph.all_reduce add on channel 1: no world"):
        run_module(module, None, halves()[:1])
    with pytest.raises(RankError, match=r"the program is for 2 ranks \(2\), the world has 3"):
        run([program(None, SUM)] * 3, halves(3))
    with pytest.raises(RankError, match="the program is that of rank 0, this is rank 1"):
        run([program(0, SUM)] * 2, halves())


def test_an_extent_that_nothing_tells_is_an_error():
    text = program(None, SUM.replace("tensor<4xf32>", "tensor<?xf32>"), "tensor<?xf32>")
    with pytest.raises(InterpreterError, match=r"tensor<\?xf32> has an extent that is not known"):
        run([text] * 2, halves())
